# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same question, the same answer: a grid of questions through the tool, each with the fingerprint of its answer.

A change of form (moved headers, other names, a simpler algorithm) leaves tests/data/answers/answers.csv alone. A change
of an answer rewrites its row, and says in the commit what it changed and why that is right:

    python3 tests/command_line/test_answers.py --tool build/dev/examples/hocket_cli/hocket --record

Plans that a search finds are not pinned to the digit: tests/data/answers/plans.csv holds how good they were when
recorded. None may be more than 5 % worse, nor all of them together more than 1 % on average.
"""
import csv
import hashlib
import itertools
import json
import re
import sys
import unittest

import harness
from harness import CONFIGS, DATA, EXAMPLES, PLAN, TILING, ToolTest, main

ANSWERS = DATA / "answers" / "answers.csv"
PLANS = DATA / "answers" / "plans.csv"
SCHEDULES = ("gpipe", "1f1b", "eager-1f1b", "interleaved", "looped-bfs", "seq-1f1b", "zb-h1", "zb-h2", "interleaved-zb",
             "zbv", "v-half", "v-min", "dualpipe", "dualpipev")
WORST, MEAN = 1.05, 1.01


class Numbers:
    """A linear congruential generator (Knuth's MMIX): the same numbers under every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


def random_ops(seed, count, variables):
    numbers = Numbers(seed)
    pick = lambda most: " ".join(str(numbers.below(variables)) for _ in range(numbers.below(most)))
    kinds = ("compute", "compute", "compute", "collective", "random", "io")
    rows = [f"{n},{numbers.below(4)},{kinds[numbers.below(6)]},{pick(4)},{pick(3)}" for n in range(count)]
    return "op,stream,kind,reads,writes\n" + "\n".join(rows) + "\n"


def random_edges(seed, count, edges):
    """Acyclic, in no order: a hidden order of the nodes decides which way an edge goes."""
    numbers = Numbers(seed)
    place = list(range(count))
    for i in range(count - 1, 0, -1):
        j = numbers.below(i + 1)
        place[i], place[j] = place[j], place[i]
    rows = set()
    for _ in range(edges):
        a, b = numbers.below(count), numbers.below(count)
        if a != b:
            rows.add((a, b) if place[a] < place[b] else (b, a))
    return "source,target\n" + "".join(f"{a},{b}\n" for a, b in sorted(rows, key=lambda e: (e[1] * 7919 + e[0]) % 1009))


def random_pairs(seed, count, pairs):
    numbers = Numbers(seed)
    return "source,target\n" + "".join(f"{numbers.below(count)},{numbers.below(count)}\n" for _ in range(pairs))


def graph_cases(file):
    programs = {"gpt_small": DATA / "graph" / "gpt_small.ops.csv",
                "gpt2_small": EXAMPLES / "ops" / "gpt2_small.ops.csv",
                "llama2_13b_stage": EXAMPLES / "ops" / "llama2_13b_stage.ops.csv"}
    for seed, count, variables in ((1, 20, 6), (2, 60, 20), (3, 300, 40), (4, 1000, 400), (5, 2500, 100)):
        programs[f"random_{count}"] = file(f"ops{seed}.csv", random_ops(seed, count, variables))
    for name, path in programs.items():
        for rules in ("data", "ordered"):
            yield f"prune {name} {rules}", ("graph", "prune", "--ops", path, "--rules", rules)
        yield f"sync {name}", ("graph", "sync", "--ops", path)
        for streams in (1, 2, 5):
            yield f"sync {name} {streams} streams", ("graph", "sync", "--ops", path, "--streams", streams)
        pairs = file(f"pairs_{name}.csv", random_pairs(7, 20, 200))
        yield f"reaches {name}", ("graph", "reaches", "--ops", path, "--pairs", pairs)
    for index in ("dense", "persistent", "none"):
        yield f"prune random_1000 {index}", ("graph", "prune", "--ops", programs["random_1000"], "--index", index)
    for seed, count, edges in ((11, 12, 20), (12, 80, 300), (13, 700, 3000), (14, 3500, 9000)):
        path = file(f"edges{seed}.csv", random_edges(seed, count, edges))
        pairs = file(f"pairs{seed}.csv", random_pairs(seed, count, 300))
        for index in ("auto", "dense", "persistent", "none"):
            yield f"prune edges_{count} {index}", ("graph", "prune", "--edges", path, "--index", index)
        yield f"reaches edges_{count}", ("graph", "reaches", "--edges", path, "--pairs", pairs)


def shape_options(name, ranks, chunks, micro_batches):
    words = [name, "--ranks", ranks, "--micro-batches", micro_batches]
    if name in ("interleaved", "looped-bfs", "interleaved-zb"):
        words += ["--chunks", chunks]
    if name == "seq-1f1b":
        words += ["--slices", 2]
    return words


def pipeline_cases(file):
    shapes = ((1, 2, 3), (2, 2, 4), (3, 2, 7), (4, 2, 8), (4, 3, 9), (8, 2, 20))
    for name, (p, v, m) in itertools.product(SCHEDULES, shapes):
        words = shape_options(name, p, v, m)
        about = f"{name} {p}x{v}x{m}"
        yield f"list {about}", ("pipeline", "list", *words)
        yield f"simulate {about}", ("pipeline", "simulate", *words, "--forward", 3, "--input-grad", 4, "--weight-grad", 2,
                                    "--hop", 1, "--details")
    for groups in ("balanced", "last", "first", "paper", "least-memory", "auto", "3,4,2", "5,4"):
        words = shape_options("interleaved", 4, 2, 9) + ["--groups", groups]
        for kappa in (1, 2):
            yield f"list groups {groups} kappa {kappa}", ("pipeline", "list", *words, "--kappa", kappa)
            yield f"simulate groups {groups} kappa {kappa}", ("pipeline", "simulate", *words, "--kappa", kappa, "--hop", 1)
    for name, comms in itertools.product(("1f1b", "interleaved", "zbv", "dualpipev"),
                                         ("eager", "just-in-time", "deferred", "grouped", "barrier")):
        yield f"list {name} {comms}", ("pipeline", "list", *shape_options(name, 4, 2, 8), "--comms", comms)
    for extra in (("--unshard", 3), ("--offload", 2), ("--merge",), ("--recompute",), ("--optimizer",), ("--reduce-grad",),
                  ("--format", "json"), ("--overlap",)):
        for name in ("interleaved", "zbv"):
            about = " ".join(str(w) for w in extra)
            yield f"list {name} {about}", ("pipeline", "list", *shape_options(name, 4, 2, 8), *extra)
    for form, name in itertools.product(("svg", "trace", "ascii"), ("interleaved", "zbv", "gpipe")):
        yield f"draw {name} {form}", ("pipeline", "draw", *shape_options(name, 3, 2, 6), "--format", form)
    for name in ("interleaved", "zb-h1"):
        yield f"simulate {name} links", ("pipeline", "simulate", *shape_options(name, 4, 2, 8), "--transfer", 2, "--hop", 1,
                                         "--activation-bytes", 100)


def tiling_problem(numbers):
    rows = 128 * (1 + numbers.below(40)) + (numbers.below(128) if numbers.below(3) == 0 else 0)
    kinds = ("compute", "comm") if numbers.below(2) else ("comm", "compute")
    phases = [{"kind": kind, "cost": {"type": "affine", "fixed_us": numbers.below(60), "us_per_row": (1 + numbers.below(90)) / 256,
                                      "min_rows": 128 * numbers.below(3)}} for kind in kinds]
    if numbers.below(3) == 0:
        phases.append(phases[0])
    return {"version": 1, "rows": rows, "align": 128, "max_tiles": 2 + numbers.below(15), "phases": phases,
            "overlap": {"compute": 1 + numbers.below(30) / 100, "comm": 1 + numbers.below(30) / 100}}


def tiling_cases(file):
    for policy in ("auto", "documented", "documented-min", "one-plus-n", "lot", "exact", "uniform", "none", "pinned"):
        yield f"tiling document {policy}", ("tiling", "solve", "--problem", TILING, "--policy", policy)
    for seed in range(40):
        path = file(f"tiling{seed}.json", json.dumps(tiling_problem(Numbers(100 + seed))))
        yield f"tiling {seed}", ("tiling", "solve", "--problem", path)
        if seed < 8:
            for policy in ("lot", "one-plus-n", "exact", "uniform"):
                yield f"tiling {seed} {policy}", ("tiling", "solve", "--problem", path, "--policy", policy)
    numbers = Numbers(77)
    samples = "size,time_us\n" + "".join(f"{128 * i},{20 + 3 * i + numbers.below(8)}\n" for i in range(1, 30))
    yield "tiling fit", ("tiling", "fit", "--samples", file("samples.csv", samples))


def cost_cases(file):
    training = EXAMPLES / "llama-2-13b" / "training.json"
    for config in sorted(CONFIGS.glob("*.json")):
        yield f"cost {config.stem}", ("cost", "report", "--model", config, "--format", "json")
        for recompute in ("none", "selective", "full"):
            parallel = file(f"parallel_{recompute}.json", json.dumps(
                {"version": 1, "tp": 4, "pp": 4, "vp": 2, "dp": 2, "sequence_parallel": True, "zero": 1, "recompute": recompute}))
            yield f"cost {config.stem} {recompute}", ("cost", "report", "--model", config, "--training", training,
                                                      "--parallel", parallel, "--format", "json")
    model = EXAMPLES / "llama-2-13b" / "config.json"
    for form in ("text", "latex"):
        yield f"cost as {form}", ("cost", "report", "--model", model, "--training", training, "--format", form)


def search_cases(file):
    """(name, command, key of the summary that counts): plans found by search."""
    even = {"version": 1, "forward": 10, "input_grad": 10, "weight_grad": 10, "hop": 0}
    for placement, (p, v, m), cap in itertools.product(("loop", "v"), ((2, 2, 4), (4, 2, 8), (4, 1, 8), (6, 2, 9)), ("none", "pv", "low")):
        if placement == "v" and v == 1:
            continue
        numbers = Numbers(p * 100 + m)
        uneven = dict(even, **{k: [7 + numbers.below(7) for _ in range(p * v)] for k in ("forward", "input_grad", "weight_grad")})
        for kind, costs in (("even", even), ("uneven", uneven)):
            path = file(f"costs_{kind}_{p}_{v}.json", json.dumps(costs))
            words = ["pipeline", "search", "--ranks", p, "--chunks", v, "--micro-batches", m, "--costs", path,
                     "--placement", placement, "--budget", 100000]
            if cap != "none":
                words += ["--memory-cap", p * v if cap == "pv" else max(v, p * v * 2 // 3)]
            yield f"schedule {placement} {p}x{v}x{m} {kind} cap {cap}", words, "makespan"
    split = json.loads((EXAMPLES / "llama-2-13b" / "split.json").read_text())
    changes = {"as it is": {}, "four ranks": {"ranks": 4}, "eight ranks": {"ranks": 8, "micro_batches": 16},
               "interleaved": {"schedule": "interleaved", "chunks": 2, "micro_batches": 16},
               "four ranks interleaved": {"ranks": 4, "schedule": "interleaved", "chunks": 2, "micro_batches": 16},
               "zb-h1": {"ranks": 4, "schedule": "zb-h1"}, "zbv": {"ranks": 4, "schedule": "zbv", "chunks": 2, "micro_batches": 16},
               "roomy": {"capacity_gib": 200}}
    for name, change in changes.items():
        path = file(f"split_{name.replace(' ', '_')}.json", json.dumps({**split, **change}))
        yield f"split {name}", ("planner", "split", "--problem", path, "--format", "json"), "step_seconds"


def fingerprint(done):
    """Of everything that a user sees, but for times and for the words of --help."""
    root = str(harness.ROOT)
    summary = re.sub(r"\b(time_us|seconds|bytes)=\S+", "", done.err.replace(root, ""))
    return hashlib.sha256(f"{done.code}\n{done.text.replace(root, '')}\n{summary}".encode()).hexdigest()[:16]


def quality(done, key):
    return float(done.summary[key]) if key in done.summary else float(json.loads(done.text)[key])


class Answers(ToolTest):
    longMessage = False

    def run_all(self):
        for cases in (graph_cases, pipeline_cases, tiling_cases, cost_cases):
            for name, words in cases(self.file):
                done = harness.hocket(*words)
                done.err = done.err.replace(str(self.folder), "")
                yield name, words, fingerprint(done)
        done = harness.hocket("plan", PLAN, "--out", self.folder / "plan")
        for path in sorted((self.folder / "plan").iterdir()):
            if path.name == "report.html":  # a page: test_report.py holds its numbers to the plan's
                continue
            yield f"plan {path.name}", ("plan", PLAN), hashlib.sha256(path.read_bytes().replace(str(harness.ROOT).encode(), b"")).hexdigest()[:16]

    def run_searches(self):
        for name, words, key in search_cases(self.file):
            yield name, words, quality(self.ok(*words), key)

    def test_answers(self):
        recorded = {row["question"]: row["answer"] for row in csv.DictReader(ANSWERS.open())}
        asked = set()
        for name, words, answer in self.run_all():
            asked.add(name)
            with self.subTest(name):
                self.assertEqual(answer, recorded.get(name), f"another answer to: hocket {' '.join(map(str, words))}")
        self.assertEqual(asked, set(recorded))

    def test_plans_found_by_search(self):
        recorded = {row["question"]: float(row["value"]) for row in csv.DictReader(PLANS.open())}
        ratios = []
        for name, words, value in self.run_searches():
            ratios.append(value / recorded[name])
            with self.subTest(name):
                self.assertLessEqual(value, recorded[name] * WORST, f"{value} for {recorded[name]}: {name}")
        self.assertEqual(len(ratios), len(recorded))
        self.assertLessEqual(sum(ratios) / len(ratios), MEAN)


class Record(Answers):
    """Not a test: writes the answers of this tool down."""

    def test_answers(self):
        with ANSWERS.open("w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(("question", "answer"))
            writer.writerows((name, answer) for name, _, answer in self.run_all())

    def test_plans_found_by_search(self):
        with PLANS.open("w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(("question", "value"))
            writer.writerows((name, f"{value:.9g}") for name, _, value in self.run_searches())


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase(Record if recording else Answers)


if __name__ == "__main__":
    recording = "--record" in sys.argv
    if recording:
        sys.argv.remove("--record")
    main()
