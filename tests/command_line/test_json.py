# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--json of every command: one object, with the same numbers as the text and the summary line."""
import json
import math
import re
import unittest

from harness import CONFIGS, DATA, EXAMPLES, PLAN, ROOT, TILING, ToolTest, hocket, main

LLAMA = EXAMPLES / "llama-2-13b"
SHAPE = ("--ranks", 4, "--chunks", 2, "--micro-batches", 9)
SMALL = DATA / "graph" / "gpt_small.ops.csv"
TABLE = DATA / "pipeline" / "megatron__1f1b__p4_v1_m8.csv"
DUMP = DATA / "mindspore" / "select_fp32.ir"
NO_DATA = {("completion",), ("manual",)}  # a script and a page are text and nothing else
# What a text is printed in, beside the unit of the JSON: GiB, percent, milli-, micro-, tera-; a forward of three.
SCALES = (1, 100, 1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9, 1e-12, 2 ** -30, 1 / 3)


def value(word):
    """A word of a summary line or a cell of a CSV, as --json must show it."""
    if word in ("", "yes", "no"):
        return {"": None, "yes": True, "no": False}[word]
    try:
        return json.loads(word) if re.match(r"-?\d", word) else word
    except ValueError:
        return word


def numbers_in(x):
    """Every number of a JSON value, also of its texts: formulas and sentences hold some."""
    if isinstance(x, dict):
        for key, member in x.items():
            yield from numbers_in(key)
            yield from numbers_in(member)
    elif isinstance(x, list):
        yield float(len(x))
        for key in {k for one in x if isinstance(one, dict) for k in one}:  # a text may say what a column adds up to
            column = [one.get(key) for one in x if isinstance(one, dict)]
            yield sum(v for v in column if isinstance(v, (int, float)))
        for member in x:
            yield from numbers_in(member)
    elif isinstance(x, str):
        yield from (float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", x))
    elif isinstance(x, (int, float)) and not isinstance(x, bool):
        yield abs(float(x))


class Json(ToolTest):
    def commands(self):
        """Words of every command, by its name; "text" commands have numbers in prose."""
        pairs = self.file("pairs.csv", "source,target\n0,5\n5,0\n")
        samples = self.file("samples.csv", "size,time_us\n128,20\n256,30\n1024,90\n")
        theirs = self.file("theirs.csv", self.ok("graph", "prune", "--ops", SMALL).text)
        training = self.file("training.json", json.dumps({"sequence": 1024, "global_batch": 8, "step_seconds": 1, "peak_tflops": 300}))
        fast = self.file("fast.json", json.dumps({"sequence": 1024, "global_batch": 8, "machine": "b200_fitted"}))
        parallel = self.file("parallel.json", json.dumps({"pp": 2, "tp": 2}))
        rates = {"gemm_flops": 4e14, "attention_flops": 2e14, "memory_bytes": 2e12, "tensor_bytes": 1e11, "pipeline_bytes": 5e10, "host_bytes": 4e10}
        moves = self.file("moves.json", json.dumps({"sequence": 4096, "global_batch": 8, "machine": {"name": "test", "source": "test"} | rates}))
        return {
            ("graph", "prune"): ("--ops", SMALL), ("graph", "sync"): ("--ops", SMALL),
            ("graph", "order"): ("--ops", self.file("timed.csv", "op,stream,kind,reads,writes,us\n0,0,compute,,1,5\n1,0,compute,1,2,6\n"), "--streams", 2),
            ("graph", "reaches"): ("--ops", SMALL, "--pairs", pairs), ("graph", "compare"): ("--ops", SMALL, "--theirs", theirs),
            ("pipeline", "list"): ("interleaved", *SHAPE), ("pipeline", "simulate"): ("interleaved", *SHAPE, "--details"),
            ("pipeline", "check"): ("--table", TABLE), ("pipeline", "draw"): ("interleaved", *SHAPE),
            ("pipeline", "buffers"): ("interleaved", *SHAPE), ("pipeline", "ranks"): ("interleaved", *SHAPE, "--tensor", 2),
            ("pipeline", "prefill"): ("--ranks", 2, "--tokens", "90,40", "--per-token", 1, "--fixed", 5, "--align", 8),
            ("pipeline", "compare"): ("--ranks", "2,4", "--micro-batches", "4,5"), ("pipeline", "schedules"): (),
            ("pipeline", "search"): ("--ranks", 3, "--micro-batches", 4, "--memory-cap", 3, "--budget", 1000),
            ("tiling", "solve"): ("--problem", TILING), ("tiling", "fit"): ("--samples", samples),
            ("ranks", "check"): (ROOT / "examples/deadlocks/megatron-lm-865.csv",), ("ranks", "machines"): (),
            ("ranks", "draw"): (ROOT / "examples/deadlocks/nccl-574.csv",), ("ranks", "repair"): (ROOT / "examples/deadlocks/nccl-574.csv",), ("ranks", "hang"): (ROOT / "examples/hangs/ends",),
            ("cost", "report"): ("--model", CONFIGS / "llama-2-7b.json", "--training", training, "--parallel", parallel),
            ("cost", "fit"): ("--runs", DATA / "published" / "runs.json"),
            ("planner", "split"): ("--problem", LLAMA / "split.json"),
            ("planner", "layout"): ("--model", LLAMA / "config.json", "--training", fast, "--parallel", parallel),
            ("planner", "offload"): ("--model", LLAMA / "config.json", "--training", moves, "--parallel", parallel, "--memory-gib", 64),
            ("planner", "batches"): ("--model", LLAMA / "config.json", "--training", fast, "--parallel", parallel, "--lengths", "doublings:64-1024"),
            ("planner", "search"): ("--model", LLAMA / "config.json", "--training", LLAMA / "training.json", "--cluster", LLAMA / "cluster.json", "--top", 1000),
            ("plan",): (PLAN, "--out", self.folder / "plan"),
            ("ir", "summary"): (DUMP,), ("ir", "ops"): (DUMP,), ("ir", "recompute"): (DUMP,), ("ir", "peak"): (DUMP,), ("ir", "collectives"): (DUMP,),
            ("profile",): (DATA / "ascend" / "kernel_details.csv", "--top", 100000),
            ("doctor",): (), ("machines",): ()}

    def leaves(self, *words):
        listed = hocket(*words, "--help").text.partition("Subcommands:\n")[2]
        found = [(*words, name) for name in re.findall(r"^  (\S+)  ", listed, re.M)]
        return [leaf for f in found for leaf in self.leaves(*f)] if found else [words]

    def object_of(self, done):
        def no_constant(word):
            raise ValueError(word + " is no JSON")
        return json.loads(done.text, parse_constant=no_constant)

    def test_every_command_is_here(self):
        self.assertEqual(set(self.commands()) | NO_DATA, set(self.leaves()))

    def test_one_object_with_the_summary_of_the_text(self):
        for name, words in self.commands().items():
            with self.subTest(command=" ".join(name)):
                text, answer = self.ok(*name, *words), self.ok(*name, *words, "--json")
                self.assertEqual(text.summary.keys(), answer.summary.keys())
                got = self.object_of(answer)
                self.assertIsInstance(got, dict)
                self.assertEqual((got.get("version", 1), got["command"]), (1, " ".join(name)))
                wanted = {k: v if k == "fingerprint" else value(v) for k, v in answer.summary.items()}
                self.assertEqual(got["summary"], wanted)
                out = self.folder / "out.json"
                if name != ("plan",):
                    self.ok(*name, *words, "--json", "--out", out)
                    again = json.loads(out.read_text())
                    for one in (got, again):
                        one["summary"].pop("time_us", None)
                    self.assertEqual(again, got)

    def test_rows_are_those_of_the_csv(self):
        for name in (("graph", "prune"), ("graph", "sync"), ("graph", "reaches"), ("graph", "compare"), ("pipeline", "simulate"), ("pipeline", "buffers"), ("pipeline", "compare"), ("pipeline", "prefill")):
            with self.subTest(command=" ".join(name)):
                words = self.commands()[name]
                header, *lines = self.ok(*name, *words).text.splitlines()
                rows = [dict(zip(header.split(","), map(value, line.split(",")))) for line in lines]
                self.assertGreater(len(rows) + (name == ("graph", "compare")), 0)
                self.assertEqual(self.object_of(self.ok(*name, *words, "--json"))["rows"], rows)

    def test_no_number_of_a_text_is_missing(self):
        prose = (("cost", "report"), ("planner", "split"), ("planner", "layout"), ("planner", "search"), ("plan",), ("ir", "summary"), ("ir", "peak"), ("ir", "collectives"),
                 ("profile",), ("doctor",))
        for name in prose:
            with self.subTest(command=" ".join(name)):
                words = self.commands()[name]
                text = self.ok(*name, *words).text
                known = sorted(set(numbers_in(self.object_of(self.ok(*name, *words, "--json")))))
                missing = []
                # But for shares, which follow from two numbers, and the lengths that the plan's own file gives.
                text = re.sub(r"rows, k \d+, n \d+|[\d.]+ %", "", text)
                for token in set(re.findall(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|[.,]\w)", text)):
                    number = float(token.replace(",", ""))
                    decimals = len(token.partition(".")[2])
                    close = 0.5000001 * 10.0 ** -decimals
                    if not any(abs(number - x * scale) <= close + 1e-9 * abs(number) for x in known for scale in SCALES):
                        missing.append(token)
                self.assertEqual(missing, [])

    def test_it_goes_without_format(self):
        done = self.misused("planner", "split", "--problem", LLAMA / "split.json", "--json", "--format", "text")
        self.assertIn("--json", done.err)

    def test_digits_are_kept(self):
        edges = self.file("edges.csv", "source,target\n0,1\n")
        self.assertTrue(self.ok("graph", "prune", "--edges", edges, "--json").text.endswith("}\n"))
        done = self.ok("pipeline", "simulate", "1f1b", "--ranks", 1, "--micro-batches", 1, "--forward", 2 ** 60 + 1, "--backward", 1, "--json")
        self.assertIn(f'"makespan":{2 ** 60 + 2},', done.text)  # more than a double holds
        self.assertTrue(math.isclose(self.object_of(done)["summary"]["bubble"], 0, abs_tol=1e-9))


if __name__ == "__main__":
    main()
