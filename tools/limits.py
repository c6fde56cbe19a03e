#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How large an input may be: for each limit of the tool the time and the memory at it, and the sentence beyond it.

    tools/limits.py [--tool HOCKET]            prints the tables of docs/limits.md
    tools/limits.py --record [--tool HOCKET]   writes them into that page
    tools/limits.py --check [--tool HOCKET]    only the sentences, against those of the page: times are not compared

`./dev limits` builds the tool and runs this.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "limits.md"
MODEL, TRAINING = (str(ROOT / "examples/data/llama-2-13b" / name) for name in ("config.json", "training.json"))
COMPUTE = {"kind": "compute", "cost": {"type": "affine", "fixed_us": 1, "us_per_row": 1}}
FAST = {"kind": "compute", "cost": {"type": "affine", "fixed_us": 1, "us_per_row": 1e-9}}
COMM = {"kind": "comm", "cost": {"type": "affine", "fixed_us": 1, "us_per_row": 1}}


class Files:
    """Inputs of a given size, written when they are asked for."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def write(self, name, *parts):
        """In parts, since a child begins with the memory of this process, as far as the system counts."""
        path = self.folder / name
        with open(path, "w", encoding="ascii") as file:
            for part in parts:
                file.writelines([part] if isinstance(part, str) else part)
        return str(path)

    def tiling(self, **fields):
        problem = {"version": 1, "rows": 4096, "phases": [COMPUTE, COMM]} | fields
        return self.write("problem.json", json.dumps(problem))

    def table(self, points):
        numbers = lambda: (f"{i}," for i in range(1, points))
        return self.write("problem.json", '{"version":1,"rows":4096,"phases":[{"kind":"compute","cost":{"type":"table","rows":[',
                          numbers(), f'{points}],"us":[', numbers(), f'{points}]}}}},', json.dumps(COMM), "]}")

    def samples(self, count):
        return self.write("samples.csv", "size,time_us\n", (f"{i},{i + i % 7}\n" for i in range(1, count + 1)))

    def split(self, layers):
        runs = [{"count": layers, "time_us": 1000, "weights_bytes": 1, "levels": [{"bytes": 1}]}]
        return self.write("split.json", json.dumps({"version": 1, "ranks": 8, "micro_batches": 16, "capacity_gib": 80,
                                                    "layers": runs}))

    def ops(self, count):
        rows = (f"{i},0,compute,{i - 1 if i else ''},{i}\n" for i in range(count))
        return self.write("ops.csv", "op,stream,kind,reads,writes\n", rows)

    def edges(self, count):
        return self.write("edges.csv", "source,target\n", (f"{i},{i + 1}\n" for i in range(count)))

    def pairs(self, count):
        return self.write("pairs.csv", "source,target\n", (f"{i % 99},{(i * 7) % 99}\n" for i in range(count)))

    def model(self, layers):
        config = json.loads(pathlib.Path(MODEL).read_text()) | {"num_hidden_layers": layers}
        return self.write("config.json", json.dumps(config))

    def gibibyte_of_pairs(self):
        line = "12,34\n"
        head = "source,target\n"
        rows = ((1 << 30) - len(head)) // len(line)
        return self.write("pairs.csv", head, (line * 1000 for _ in range(rows // 1000)))

    def memory_record(self, count):
        rows = (f"{1795635275078269233 + i},{i % 977},1073741824,{i % 977}\n" for i in range(count))
        return self.write("record.csv", "Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)\n", rows)

    def kernels(self, count):
        rows = (f"1,{i},16,MatMul{i % 64},MatMulV3,AI_CORE,{1699529622790614 + 10 * i}.8,8.5,1.5,24\n" for i in range(count))
        return self.write("kernel_details.csv", "Step Id,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),"
                          "Duration(us),Wait Time(us),Block Dim\n", rows)

    def log(self, count):
        rows = (f" iteration {i}/ {count} | elapsed time per iteration (ms): 5.0 | global batch size: 2048 |\n"
                for i in range(1, count + 1))
        return self.write("training.log", rows)

    def dump(self, ops):
        """A dump of MindSpore's IR: a chain of ops."""
        of = "(<Tensor[Float32], (8, 8)>) -> (<Tensor[Float32], (8, 8)>)"
        rows = (f"  %{i}(CNode_{i}) = ReLU({f'%{i - 1}' if i else '%para1_x'})\n      : {of}\n"
                f"      # Fullname with scope: (Default/network/ReLU-op{i})\n" for i in range(ops))
        return self.write("step.ir", "# IR entry: @main\n# Total subgraphs: 1\n\n# Total params: 1\n# Params:\n"
                          "%para1_x: <Tensor[Float32], (8, 8)> : [8, 8]\n\nsubgraph @main() {\n", rows,
                          f"  Return(%{ops - 1})\n      : (<Tensor[Float32], (8, 8)>)\n}}\n")

    def dump_with_marks(self, ops):
        """Half of it a forward pass of ops that read any two earlier ones, all marked; half a backward pass of it."""
        chance = random.Random(3)
        of = "(<Tensor[Int8], (8, 1024)>) -> (<Tensor[Int8], (8, 1024)>)"
        first = ops // 2

        def row(i):
            forward = i < first
            if forward:
                reads = f"%{chance.randrange(i)}, %{chance.randrange(i)}" if i else "%para1_x"
            else:
                reads = f"%{chance.randrange(first)}, %{i - 1}"
            return (f"  %{i}(CNode_{i}) = {'Mul' if forward else 'MulGrad'}({reads}) {{instance name: op{i}}} "
                    f"{'cnode_attrs: {recompute: Bool(1)}' if forward else ''}\n      : {of}\n"
                    f"      # Fullname with scope: ({'' if forward else 'Gradients/'}Default/layers-CellList/{i // 50}-Layer/op{i})\n")
        return self.write("step.ir", "# IR entry: @main\n# Total subgraphs: 1\n\n# Total params: 1\n# Params:\n"
                          "%para1_x: <Tensor[Int8], (8, 1024)> : [8, 1024]\n\nsubgraph @main() {\n", map(row, range(ops)),
                          f"  Return(%{ops - 1})\n      : (<Tensor[Int8], (8, 1024)>)\n}}\n")

    def doubling(self, graphs):
        """A dump whose graphs call the next one twice."""
        of = "(<Tensor[Int8], (8)>)"
        def graph(g):
            calls = "".join(f"  %{k}(n{g}_{k}) = call @g{g + 1}()\n      : () -> {of}\n" for k in range(2)) if g < graphs else \
                f"  %0(n{g}) = Exp(I64(1))\n      : {of} -> {of}\n"
            return f"subgraph @{f'g{g}' if g else 'main'}() {{\n{calls}  Return(%{1 if g < graphs else 0})\n      : {of}\n}}\n\n"
        return self.write("step.ir", f"# IR entry: @main\n# Total subgraphs: {graphs + 1}\n\n", map(graph, range(graphs + 1)))

    def schedule(self, micro_batches):
        row = lambda s: ",".join([f"{s}F{j}" for j in range(micro_batches)] + [f"{s}B{j}" for j in range(micro_batches)])
        return self.write("schedule.csv", row(0) + "\n" + row(1) + "\n")


def pipeline(what, schedule, **options):
    words = ["pipeline", what, schedule]
    for name, value in options.items():
        words += ["--" + name.replace("_", "-"), str(value)]
    return words


def cases(f):
    """What is limited, the limit, a command at it (None: as large as the machine allows), and one beyond it."""
    solve = lambda path, *more: ["tiling", "solve", "--problem", path, *more]
    return [
        ("any file", "1 GiB, no zero byte",
         lambda: ["graph", "reaches", "--edges", f.edges(100), "--pairs", f.gibibyte_of_pairs()], lambda: ["tiling", "fit", "--samples", "/dev/zero"]),
        ("ops of a graph with `--index dense`", "131,072",
         lambda: ["graph", "prune", "--index", "dense", "--ops", f.ops(131072)],
         lambda: ["graph", "prune", "--index", "dense", "--ops", f.ops(131073)]),
        ("streams", "65,536", lambda: ["graph", "sync", "--streams", "65536", "--ops", f.ops(65536)],
         lambda: ["graph", "sync", "--streams", "65537", "--ops", f.ops(1)]),
        ("chunks of a rank", "64", lambda: pipeline("simulate", "interleaved", ranks=8, chunks=64, micro_batches=64),
         lambda: pipeline("simulate", "interleaved", ranks=8, chunks=65, micro_batches=64)),
        ("stages of a pipeline", "65,536", lambda: pipeline("simulate", "1f1b", ranks=65536, micro_batches=2),
         lambda: pipeline("simulate", "1f1b", ranks=65537, micro_batches=2)),
        ("micro-batches", "2,097,152", lambda: pipeline("simulate", "1f1b", ranks=1, micro_batches=2097152),
         lambda: pipeline("simulate", "1f1b", ranks=1, micro_batches=2097153)),
        ("slices of a micro-batch", "65,536",
         lambda: pipeline("simulate", "seq-1f1b", ranks=2, micro_batches=2, slices=65536),
         lambda: pipeline("simulate", "seq-1f1b", ranks=2, micro_batches=2, slices=65537)),
        ("ranks × micro-batches of v-half and v-min", "131,072",
         lambda: pipeline("simulate", "v-half", ranks=64, micro_batches=2048),
         lambda: pipeline("simulate", "v-half", ranks=64, micro_batches=2049)),
        ("actions of a list", "67,108,864", None, lambda: pipeline("list", "1f1b", ranks=64, micro_batches=1048576)),
        ("actions of a picture", "1,048,576", None,
         lambda: pipeline("draw", "1f1b", ranks=8, micro_batches=65537, format="svg")),
        ("stages × micro-batches of a search", "4,194,304", None,
         lambda: ["pipeline", "search", "--ranks", "64", "--micro-batches", "65537"]),
        ("rows of a tiling", "2⁵³", lambda: solve(f.tiling(rows=1 << 53, phases=[FAST])), lambda: solve(f.tiling(rows=(1 << 53) + 1))),
        ("tiles", "256", lambda: solve(f.tiling(rows=65536, max_tiles=256)), lambda: solve(f.tiling(max_tiles=257))),
        ("phases", "8", lambda: solve(f.tiling(phases=[COMPUTE, COMM] * 4)), lambda: solve(f.tiling(phases=[COMM] * 9))),
        ("units of an exact tiling", "4,096", None,
         lambda: solve(f.tiling(rows=4097, align=1), "--policy", "exact")),
        ("states of an exact tiling", "2,097,152",
         lambda: solve(f.tiling(rows=3000, align=1, phases=[COMPUTE, COMM] * 4), "--policy", "exact"),
         lambda: solve(f.tiling(rows=4096, align=1), "--policy", "exact")),
        ("points of a cost table", "1,000,000", lambda: solve(f.table(1000000)), lambda: solve(f.table(1000001))),
        ("samples of a fit", "1,000,000", lambda: ["tiling", "fit", "--samples", f.samples(1000000)],
         lambda: ["tiling", "fit", "--samples", f.samples(1000001)]),
        ("sizes of a fit by pieces", "2,000", lambda: ["tiling", "fit", "--pieces", "8", "--samples", f.samples(2000)],
         lambda: ["tiling", "fit", "--pieces", "8", "--samples", f.samples(2001)]),
        ("layers of a model", "1,048,576", lambda: ["cost", "report", "--model", f.model(1 << 20), "--training", TRAINING],
         lambda: ["cost", "report", "--model", f.model((1 << 20) + 1)]),
        ("layers of a split", "4,096", lambda: ["planner", "split", "--problem", f.split(4096)],
         lambda: ["planner", "split", "--problem", f.split(4097)]),
        ("ops of a dump with its calls followed", "2²⁰, and 256 for each of the dump", lambda: ["ir", "peak", f.doubling(20)],
         lambda: ["ir", "peak", f.doubling(25)]),
    ]


def readers(f):
    """A form, what its docstring says, a size, and the command that reads it."""
    return [
        ("ops CSV", "O(bytes)", 100000, lambda n: ["graph", "prune", "--index", "none", "--ops", f.ops(n)]),
        ("edges CSV", "O(bytes)", 100000, lambda n: ["graph", "prune", "--index", "none", "--edges", f.edges(n)]),
        ("pairs CSV", "O(bytes)", 100000,
         lambda n: ["graph", "reaches", "--edges", f.edges(100), "--pairs", f.pairs(n)]),
        ("schedule table", "O(bytes)", 50000, lambda n: ["pipeline", "check", "--table", f.schedule(n)]),
        ("samples CSV, and the fit", "O(n log n)", 50000, lambda n: ["tiling", "fit", "--samples", f.samples(n)]),
        ("memory record", "O(bytes)", 50000, lambda n: ["profile", f.memory_record(n)]),
        ("kernel_details CSV, and the profile", "O(n log n)", 20000, lambda n: ["profile", f.kernels(n)]),
        ("log of a training", "O(bytes)", 50000, lambda n: ["cost", "report", "--model", MODEL, "--training", TRAINING, "--measured", f.log(n)]),
        ("dump of MindSpore's IR, and its ops", "O(bytes)", 20000, lambda n: ["ir", "ops", f.dump(n)]),
        ("the same, and what is recomputed", "O(bytes)", 20000, lambda n: ["ir", "recompute", f.dump(n)]),
        ("at random with marks, and what is recomputed", "O(bytes), mostly", 20000, lambda n: ["ir", "recompute", f.dump_with_marks(n)]),
        ("the chain, and the peak of memory", "O(bytes)", 20000, lambda n: ["ir", "peak", f.dump(n)]),
        ("tiling JSON, a table", "O(bytes)", 50000, lambda n: ["tiling", "solve", "--problem", f.table(n)]),
    ]


def run(tool, words):
    """Status, last line of stderr, seconds of processor time, peak in MiB."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([tool, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = usage.ru_utime + usage.ru_stime
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
    return child.returncode, lines[-1] if lines else "", seconds, usage.ru_maxrss / 1024


def sentence_beyond(tool, folder, words):
    status, line, _, _ = run(tool, words)
    line = re.sub(re.escape(str(folder)) + "/", "", line).removeprefix("hocket: ").replace("|", "\\|")
    if status not in (1, 2):
        sys.exit(f"limits: {' '.join(words)} ends with status {status}: {line}")
    return line


def round_up(value, digits=2):
    return f"{value:.{digits}g}" if value < 100 else f"{value:,.0f}"


def limits_table(tool, folder, f, measure):
    rows = ["| what | at most | processor time at it, s | memory, MiB | beyond it |", "|---|---|---|---|---|"]
    for what, limit, at, beyond in cases(f):
        cells = ["", ""]
        if measure and at is not None:
            status, line, seconds, peak = run(tool, at())
            if status != 0:
                sys.exit(f"limits: {what} at its limit ends with status {status}: {line}")
            cells = [round_up(seconds), round_up(peak)]
        rows.append(f"| {what} | {limit} | {cells[0]} | {cells[1]} | {sentence_beyond(tool, folder, beyond())} |")
    return rows


def readers_table(tool, f):
    rows = ["| form | complexity | n | s at n | s at 4n | times | MiB at 4n |", "|---|---|---|---|---|---|---|"]
    for form, complexity, n, command in readers(f):
        first = min(run(tool, command(n))[2] for _ in range(2))
        words = command(4 * n)
        second, peak = min(run(tool, words)[2:] for _ in range(2))
        rows.append(f"| {form} | {complexity} | {n:,} | {round_up(first)} | {round_up(second)} | "
                    f"{second / first:.1f} | {round_up(peak)} |")
    return rows


def between(text, name, rows):
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, rest = text.split(begin, 1)
    return head + begin + "\n" + "\n".join(rows) + "\n\n" + end + rest.split(end, 1)[1]


def sentences_of(rows):
    return {row.split(" | ")[0]: row.split(" | ", 4)[4] for row in rows[2:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=str(ROOT / "build/dev/examples/hocket_cli/hocket"))
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        f = Files(folder)
        limits = limits_table(options.tool, folder, f, measure=not options.check)
        text = PAGE.read_text()
        if options.check:
            shown = [line for line in text.split("limits -->")[1].splitlines() if line.startswith("|")]
            wanted, found = sentences_of(shown), sentences_of(limits)
            wrong = [f"{what} |\n  page: {wanted.get(what)}\n  tool: {said}" for what, said in found.items()
                     if wanted.get(what) != said]
            print("\n".join(wrong) or f"{len(found)} limits, as the page says")
            sys.exit(1 if wrong or len(wanted) != len(found) else 0)
        complexity = readers_table(options.tool, f)
    if options.record:
        PAGE.write_text(between(between(text, "limits", limits), "readers", complexity))
    print("\n".join(limits + [""] + complexity))


if __name__ == "__main__":
    main()
