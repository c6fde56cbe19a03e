# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What holds for every command: streams, exit statuses, --help, --out, and the same bytes twice."""
import json
import os
import re
import subprocess
import unittest

from harness import CONFIGS, DATA, EXAMPLES, PLAN, TILING, ToolTest, _options, hocket, main, without_times

TABLE = DATA / "pipeline" / "megatron__1f1b__p4_v1_m8.csv"
SMALL = DATA / "graph" / "gpt_small.ops.csv"
SHAPE = ("--ranks", 4, "--chunks", 2, "--micro-batches", 9)
ONE = ("1f1b", "--ranks", 4, "--micro-batches", 9)


class Every(ToolTest):
    def commands(self):
        """Every command that has data on stdout, once in each form."""
        pairs = self.file("pairs.csv", "source,target\n0,5\n5,0\n")
        edges = self.file("edges.csv", "source,target\n2,0\n0,5\n2,5\n")
        samples = self.file("samples.csv", "size,time_us\n128,20\n256,30\n1024,90\n")
        training = self.file("training.json", json.dumps({"sequence": 1024, "global_batch": 8, "step_seconds": 1, "peak_tflops": 300}))
        parallel = self.file("parallel.json", json.dumps({"pp": 2, "tp": 2}))
        for rules in ("data", "ordered"):
            yield "graph", "prune", "--ops", SMALL, "--rules", rules
            yield "graph", "sync", "--ops", SMALL, "--rules", rules
            yield "graph", "reaches", "--ops", SMALL, "--pairs", pairs, "--rules", rules
        for index in ("auto", "dense", "persistent", "none"):
            yield "graph", "prune", "--edges", edges, "--index", index
        yield "graph", "sync", "--ops", EXAMPLES / "ops" / "transformer_base.ops.csv", "--streams", 3
        yield "graph", "reaches", "--edges", edges, "--pairs", pairs
        for form in ("torch", "json"):
            yield "pipeline", "list", "interleaved", *SHAPE, "--format", form
        yield "pipeline", "simulate", "interleaved", *SHAPE
        yield "pipeline", "simulate", "--table", TABLE
        yield "pipeline", "check", "--table", TABLE
        yield "pipeline", "buffers", "interleaved", *SHAPE
        yield "pipeline", "buffers", "--table", TABLE, "--pools", "kind"
        for show in ("pieces", "requests", "rules", "ranks"):
            yield "pipeline", "prefill", "--ranks", 3, "--tokens", "900,400", "--per-token", 2, "--fixed", 50, "--align", 16, "--show", show
        for form in ("svg", "trace", "ascii"):
            yield "pipeline", "draw", "interleaved", *SHAPE, "--format", form
            yield "pipeline", "draw", "--table", TABLE, "--format", form
        for policy in ("auto", "documented", "documented-min", "one-plus-n", "lot", "exact", "uniform", "none"):
            yield "tiling", "solve", "--problem", TILING, "--policy", policy
        yield "tiling", "fit", "--samples", samples
        for form in ("text", "json", "latex"):
            for config in (CONFIGS / "gpt2.json", CONFIGS / "mixtral-8x7b-v0.1.json"):
                yield "cost", "report", "--model", config, "--format", form
            yield "cost", "report", "--model", CONFIGS / "llama-2-7b.json", "--training", training, "--parallel", parallel, "--format", form

    def test_twice_the_same_and_out_writes_what_stdout_gets(self):
        for words in self.commands():
            with self.subTest(words=" ".join(map(str, words))):
                first, second = self.ok(*words), self.ok(*words)
                self.assertTrue(first.out.endswith(b"\n"))
                self.assertEqual(first.out, second.out)
                self.assertEqual(without_times(first.err), without_times(second.err))
                out = self.folder / "out"
                third = self.ok(*words, "--out", out)
                self.assertEqual(third.out, b"")
                self.assertEqual(out.read_bytes(), first.out)
                self.assertEqual(without_times(third.err), without_times(first.err))

    def test_plan_twice_the_same(self):
        folders = []
        for name in ("one", "two"):
            done = self.ok("plan", PLAN, "--out", self.folder / name)
            files = {p.name: p.read_bytes() for p in sorted((self.folder / name).iterdir())}
            folders.append((done.out, done.err, files))
        self.assertEqual(*folders)

    def test_standard_input_is_one_file(self):
        self.refused("cost", "report", "--model", "-", "--training", "-", stdin=(CONFIGS / "gpt2.json").read_bytes(), says="standard input was read already")

    def test_the_folder_one_stands_in_does_not_matter(self):
        here = self.ok("graph", "prune", "--ops", SMALL).out
        self.file("ops.csv", SMALL.read_bytes())
        self.assertEqual(self.ok("graph", "prune", "--ops", "ops.csv", cwd=self.folder).out, here)

    def test_the_language_one_speaks_does_not_matter(self):
        words = [_options.tool, "tiling", "solve", "--problem", str(TILING)]
        outputs = {subprocess.run(words, capture_output=True, check=True, env={**os.environ, "LC_ALL": language}).stdout
                   for language in ("C", "de_DE.UTF-8", "C.UTF-8")}
        self.assertEqual(len(outputs), 1)

    def test_a_place_that_cannot_be_written(self):
        self.file("file", "x")
        places = [self.folder, self.folder / "no" / "such" / "folder", self.folder / "file" / "below", "/proc/version"]
        if os.path.exists("/dev/full"):
            places.append("/dev/full")
        for words in self.commands():
            with self.subTest(words=" ".join(map(str, words))):
                self.refused(*words, "--out", places[len(words) % len(places)], says="cannot write")
        for place in places:
            self.refused("graph", "prune", "--ops", SMALL, "--out", place, says="cannot write")

    def test_a_reader_that_goes_away(self):
        for words in (*self.commands(), ("plan", PLAN, "--out", self.folder / "plan")):
            with self.subTest(words=" ".join(map(str, words))):
                reading, writing = os.pipe()
                os.close(reading)
                with open(writing, "wb") as pipe:
                    done = hocket(*words, stdout=pipe)
                self.assertEqual((done.code, done.err), (141, ""), done)  # 128 + SIGPIPE

    def test_a_full_disk(self):
        if os.path.exists("/dev/full"):
            with open("/dev/full", "wb") as full:
                self.refused("graph", "prune", "--ops", SMALL, stdout=full, says="cannot write to standard output")

    def test_a_closed_standard_output(self):
        done = subprocess.run(["/bin/sh", "-c", '"$0" graph prune --ops "$1" >&-', _options.tool, str(SMALL)], capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (1, b"hocket: cannot write to standard output\n"))


class Help(ToolTest):
    def walk(self, *words):
        """The words of every sub-command, from the help texts themselves."""
        done = hocket(*words, "--help")
        self.assertEqual((done.code, done.err), (0, ""), done)
        self.assertIn("Usage:", done.text)
        listed = done.text.partition("Subcommands:\n")[2]
        for line in listed.splitlines():
            found = re.fullmatch(r"  (\S+) +(.*)", line)
            if found:
                yield *words, found[1]
                yield from self.walk(*words, found[1])

    def test_help_everywhere(self):
        commands = set(self.walk())
        for expected in ("graph prune", "graph sync", "graph reaches", "graph compare", "pipeline list", "pipeline simulate",
                         "pipeline check", "pipeline draw", "pipeline buffers", "pipeline prefill", "pipeline search", "tiling solve", "tiling fit", "cost report",
                         "planner split", "planner search", "plan", "machines", "pipeline schedules"):
            self.assertIn(tuple(expected.split()), commands)
        for words in sorted(commands):
            short = hocket(*words, "-h")
            self.assertEqual((short.code, short.err), (0, ""))
            self.assertEqual(short.out, hocket(*words, "--help").out)
            leaf = len(words) == 2 or words[0] in ("plan", "profile", "doctor", "completion", "manual", "machines")
            if leaf:
                self.assertIn("--out", short.text)
                if words[0] not in ("doctor", "manual", "machines") and words not in (("ranks", "machines"), ("pipeline", "schedules")):
                    self.misused(*words)  # each needs something
                self.misused(*words, "--no-such-option")
            else:
                self.misused(*words)

    def test_version(self):
        done = hocket("--version")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertRegex(done.text, r"\A\d+\.\d+\.\d+\n\Z")

    def test_wrong_usage(self):
        for words in (
                ("nope",), ("graph", "nope"), ("--ops", "x"), ("graph", "prune", "--ops"),
                ("graph", "prune", "--ops", SMALL, "--edges", SMALL), ("graph", "prune", "--ops", SMALL, "extra"),
                ("graph", "prune", "--ops", SMALL, "--index", "fast"), ("graph", "prune", "--ops", SMALL, "--rules", ""),
                ("graph", "prune", "--ops", SMALL, "--ops", SMALL), ("graph", "reaches", "--ops", SMALL),
                ("graph", "sync", "--ops", SMALL, "--streams", "0"), ("graph", "sync", "--ops", SMALL, "--streams", "-1"),
                ("graph", "sync", "--ops", SMALL, "--streams", "two"), ("graph", "sync", "--ops", SMALL, "--streams", "9" * 40),
                ("pipeline", "list", "zigzag", *SHAPE), ("pipeline", "list", *SHAPE), ("pipeline", "list", "1f1b"),
                ("pipeline", "list", "1f1b", "--ranks", "4.5", "--micro-batches", 4), ("pipeline", "list", "1f1b", "--ranks", "", "--micro-batches", 4),
                ("pipeline", "list", "interleaved", *SHAPE, "--format", "xml"), ("pipeline", "list", "interleaved", *SHAPE, "--groups", "3,,4"),
                ("pipeline", "list", "interleaved", *SHAPE, "--groups", "0,9"), ("pipeline", "list", "interleaved", *SHAPE, "--kappa", 3),
                ("pipeline", "list", "1f1b", "--ranks", 4, "--micro-batches", 4, "--kappa", 2),
                ("pipeline", "simulate", "1f1b", "--ranks", 4, "--micro-batches", 4, "--forward", "-1"),
                ("pipeline", "simulate", "1f1b", "--ranks", 4, "--micro-batches", 4, "--hop", "1e3"),
                ("pipeline", "simulate", "1f1b", *SHAPE, "--table", TABLE), ("pipeline", "simulate"), ("pipeline", "draw"),
                ("pipeline", "draw", "--table", TABLE, "--format", "png"), ("pipeline", "check"),
                ("pipeline", "buffers"), ("pipeline", "buffers", *ONE, "--pools", "all"), ("pipeline", "buffers", *ONE, "--comms", "none"),
                ("pipeline", "buffers", *ONE, "--lookahead", 2), ("pipeline", "buffers", *ONE, "--gradient-bytes", 2),
                ("pipeline", "buffers", *ONE, "--border-bytes", -1), ("pipeline", "list", *ONE, "--lookahead", 2),
                ("tiling", "solve", "--problem", TILING, "--policy", "best"), ("cost", "report"), ("plan",), ("plan", PLAN, "--open")):
            with self.subTest(words=" ".join(map(str, words))):
                self.misused(*words)

    def test_schedules_by_name_exist(self):
        for name in ("gpipe", "1f1b", "eager-1f1b", "interleaved", "looped-bfs", "seq-1f1b", "zb-h1", "zb-h2", "interleaved-zb",
                     "zbv", "v-half", "v-min", "dualpipe", "dualpipev"):
            self.ok("pipeline", "list", name, "--ranks", 4, "--micro-batches", 8, "--format", "torch")


if __name__ == "__main__":
    main()
