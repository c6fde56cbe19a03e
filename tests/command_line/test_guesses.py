# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""First guesses: what people type before they read the help works, or is answered with the right call.

first_guesses.txt holds sixty, written down before the help was read. Each has its answer here: what stands on standard
output where it works, or what the one sentence on standard error names.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import DATA, EXAMPLES, SECONDS, TILING, ToolTest, _options, environment, hocket, main

GUESSES = [line for line in (pathlib.Path(__file__).parent / "first_guesses.txt").read_text().splitlines()
           if line.startswith("hocket")]
RUN = r"rank,busy,idle,finish,peak_in_flight\n0,"
USAGE = r"(?s)Usage: hocket .*Subcommands:"
PLAN = r"(?s)Pipeline: .*Memory of each pipeline rank"
FIRST_PLAN = r"(?s)Assumed, .*  sequence +4096 tokens  \(--sequence\)\n.*\n64 devices: tp .*Memory of each pipeline rank"
CALL = r"(?s)Usage: hocket "

# What works: exit 0, and what standard output then holds.
WORKS = {
    "hocket": USAGE,
    "hocket help": USAGE,
    "hocket -h": USAGE,
    "hocket -V": r"\A\d+\.\d+\.\d+\n\Z",
    "hocket version": r"\A\d+\.\d+\.\d+\n\Z",
    "hocket --list": USAGE,
    "hocket help plan": CALL + "plan ",
    "hocket help pipeline simulate": CALL + "pipeline simulate ",
    "hocket pipeline schedules": r"(?m)^1f1b +1  one forward(.|\n)*^dualpipev ",
    "hocket machines": r"(?m)^h100_sxm +\d+ +79 +8  H100 SXM: ",
    "hocket pipeline simulate 1f1b --ranks 4 --microbatches 8": RUN,
    "hocket pipeline simulate 1f1b -p 4 -m 8": RUN,
    "hocket pipeline simulate 1f1b -p4 -m8": RUN,
    "hocket pipeline simulate 1F1B --pp 4 --micro_batches 8": RUN,
    "hocket pipeline simulate GPipe --pp 4 --num-microbatches 8": RUN + r"24,9,33,8\n",
    "hocket pipeline simulate interleaved -p 4 -v 2 -m 8": RUN + "48,",
    "hocket pipeline simulate vpp --pp 4 --vpp 2 -m 8": RUN + "48,",
    "hocket pipeline simulate ScheduleInterleaved1F1B -p 4 -v 2 -m 8": RUN + "48,",
    "hocket pipeline simulate ZBVZeroBubble -p 4 -m 8": RUN + "48,",
    "hocket pipeline simulate 1f1b --pipeline-model-parallel-size 4 --num-microbatches 8": RUN,
    "hocket pipeline draw 1f1b -p 4 -m 8": r"\A<svg",
    "hocket pipeline draw 1f1b -p 4 -m 8 -o picture.svg": r"\A\Z",
    "hocket pipeline draw schedule.csv": r"\A<svg",
    "hocket pipeline check schedule.csv": r"\Aok\n\Z",
    "hocket pipeline simulate schedule.csv": RUN,
    "hocket pipeline compare -p 4 -m 8": r"(?m)\Aranks,.*\n4,2,8,balanced,",
    "hocket pipeline compare 1f1b gpipe -p 4 -m 8": r"\Aschedule,.*\n1f1b,4,1,8,4,.*\ngpipe,4,1,8,8,.*\n\Z",
    "hocket pipeline list 1f1b -p 4 -m 8": r"0F0,0F1,0F2,0F3,",
    "hocket plan plan.json": PLAN,
    "hocket plan plan.json -o out": PLAN,
    "hocket plan config.json --devices 64 --machine h100_sxm": FIRST_PLAN,
    "hocket plan config.json --gpus 64 --machine H100": FIRST_PLAN,
    "hocket plan config.json --devices 64 --machine a100 --seq-length 4096 --global-batch-size 512":
        r"(?s)Assumed, .*A100 SXM 80 GB\n64 devices: .*global batch 512 x 4096 tokens",
    "hocket plan --init": r"\Afile\nplan.json\n\Z",
    "hocket plan init": r"\Afile\nplan.json\n\Z",
    "hocket cost report config.json": r"(?s)parameters",
    "hocket graph prune ops.csv": r"\Asource,target\n",
    "hocket graph sync ops.csv --streams 4": r"\Arecorder,waiter,",
    "hocket tiling solve problem.json": r'"tiles"',
    "hocket tiling fit samples.csv": r'"type"',
    "hocket completion bash": r"complete -F _hocket hocket",
}
# What does not: the exit status, and the words that the one sentence then holds.
NAMES_THE_CALL = {
    "hocket pipeline": (2, "hocket pipeline needs one of list, simulate"),
    "hocket pipeline simulate zero-bubble -p 4 -m 8": (2, "did you mean zb-h1, zb-h2, interleaved-zb or zbv?"),
    "hocket pipeline simulate 1f1 -p 4 -m 8": (2, "did you mean 1f1b?"),
    "hocket pipeline simulate 1f1b --rank 4 --micro-batches 8": (2, "--rank 4; did you mean --ranks?"),
    "hocket pipeline simulat 1f1b -p 4 -m 8": (2, "did you mean hocket pipeline simulate?"),
    "hocket pipline simulate 1f1b -p 4 -m 8": (2, "did you mean hocket pipeline?"),
    "hocket simulate 1f1b -p 4 -m 8": (2, "did you mean hocket pipeline simulate?"),
    "hocket draw 1f1b -p 4 -m 8": (2, "did you mean hocket pipeline draw"),
    "hocket pipeline draw 1f1b -p 4 -m 8 -o picture.png": (1, "apt-get install librsvg2-bin"),
    "hocket pipeline draw 1f1b -p 4 -m 8 --format png": (2, "--format png needs --out FILE.png"),
    "hocket pipeline simulate 1f1b -p 4 -m 8 -o json": (2, "--json prints JSON"),
    "hocket plan config.json": (2, "add --devices N and --machine NAME"),
    "hocket plan config.json --devices 64 --machine h100_smx": (2, "did you mean h100_sxm?"),
    "hocket plan meta-llama/Llama-2-13b-hf --devices 64 --machine h100_sxm":
        (1, "save https://huggingface.co/meta-llama/Llama-2-13b-hf/raw/main/config.json"),
    "hocket cost config.json": (2, "hocket cost report config.json"),
    "hocket cost report config.json --tp 2 --pp 4": (2, "the JSON file of --parallel"),
    "hocket planner search --model config.json --devices 64": (2, "hocket plan config.json --devices 64 --machine"),
    "hocket planner search config.json --devices 64 --machine h100_sxm":
        (2, "hocket plan config.json --devices 64 --machine"),
    "hocket profile report.nsys-rep": (1, "give a trace of torch.profiler"),
}


class Guesses(ToolTest):
    def setUp(self):
        super().setUp()
        llama = EXAMPLES / "llama-2-13b"
        self.file("config.json", (llama / "config.json").read_bytes())
        self.file("ops.csv", (EXAMPLES / "ops" / "gpt2_small.ops.csv").read_bytes())
        plan = json.loads((llama / "plan.json").read_text())
        plan["graph"]["ops"] = "ops.csv"
        self.file("plan.json", json.dumps(plan))
        self.file("schedule.csv", (DATA / "pipeline" / "megatron__1f1b__p4_v1_m8.csv").read_bytes())
        self.file("problem.json", TILING.read_bytes())
        self.file("samples.csv", "size,time_us\n128,20\n256,30\n1024,90\n")
        self.file("report.nsys-rep", b"NSYS\0")

    def run_guess(self, guess):
        if "init" in guess:
            (self.folder / "plan.json").unlink()
        bare = environment(PATH="/nonexistent")  # no rsvg-convert
        return hocket(*guess.split()[1:], cwd=self.folder, env=bare, seconds=4 * SECONDS)  # some search

    def test_each_of_sixty_is_answered(self):
        self.assertEqual(len(GUESSES), 60)
        self.assertEqual(set(GUESSES), set(WORKS) | set(NAMES_THE_CALL))
        for guess in GUESSES:
            with self.subTest(guess=guess):
                self.setUp()
                done = self.run_guess(guess)
                if guess in WORKS:
                    self.assertEqual(done.code, 0, done)
                    self.assertRegex(done.text, WORKS[guess])
                else:
                    code, says = NAMES_THE_CALL[guess]
                    self.assertEqual(done.code, code, done)
                    self.assertEqual(done.out, b"")
                    self.assertRegex(done.err, r"\Ahocket: [^\n]+\n\Z")
                    self.assertIn(says, done.err)

    def same(self, guess, call):
        """Two calls that print the same bytes."""
        one, two = (hocket(*words.split(), cwd=self.folder) for words in (guess, call))
        self.assertEqual((one.code, two.code), (0, 0), f"{one}\n{two}")
        self.assertEqual(one.out, two.out)

    def test_other_names_mean_the_options(self):
        plain = "pipeline simulate interleaved --ranks 4 --chunks 2 --micro-batches 8"
        for guess in ("pipeline simulate vpp -p 4 -v 2 -m 8", "pipeline simulate Interleaved_1F1B --pp 4 --vpp 2 --microbatches 8",
                      "pipeline simulate interleaved --pipeline-model-parallel-size=4 --num-virtual-stages-per-pipeline-rank=2 --NUM_MICROBATCHES=8"):
            self.same(guess, plain)
        for name, schedule in (("ScheduleGPipe", "gpipe"), ("ScheduleLoopedBFS", "looped-bfs"), ("ScheduleInterleavedZeroBubble", "interleaved-zb"),
                               ("ScheduleZBVZeroBubble", "zbv"), ("ScheduleDualPipeV", "dualpipev"), ("Eager1F1B", "eager-1f1b"), ("ZB_H1", "zb-h1")):
            self.same(f"pipeline list {name} -p 4 -m 8", f"pipeline list {schedule} -p 4 -m 8")
        for guess, call in (("pipeline check schedule.csv", "pipeline check --table schedule.csv"),
                            ("pipeline simulate schedule.csv --hop 1", "pipeline simulate --table schedule.csv --hop 1"),
                            ("graph prune ops.csv", "graph prune --ops ops.csv"), ("cost report config.json", "cost report --model config.json"),
                            ("tiling solve problem.json", "tiling solve --problem problem.json"), ("tiling fit samples.csv", "tiling fit --samples samples.csv"),
                            ("pipeline search -p 3 -m 4 --budget 100 --whole-backward", "pipeline search --ranks 3 --micro-batches 4 --budget 100 --backward whole")):
            self.same(guess, call)

    def test_an_option_of_that_name_goes_first(self):
        # --config names defaults for every command, and a layout's sizes are no ranks.
        self.misused("cost", "report", self.folder / "config.json", "--pp", 2, says="--parallel")
        config = self.folder / "config.json"
        for words in (("--config", config, "cost", "report", config), ("cost", "report", config, "--config", config)):
            self.refused(*words, says="config.json:1: ")

    def test_unknown_words_stand_in_the_order_typed(self):
        self.misused("pipeline", "check", "schedule.csv", "one", "--two", "3", says="not expected: one --two 3 (--help")

    def test_nothing_is_suggested_that_is_not_near(self):
        for words in (("quux",), ("pipeline", "simulate", "1f1b", "-p", 4, "-m", 8, "--quux"), ("pipeline", "simulate", "zigzag", "-p", 4, "-m", 8)):
            self.assertNotIn("did you mean", self.misused(*words).err)
        done = self.misused("pipeline", "compare", "zbx", "-p", 4, "-m", 8, says="did you mean zbv?")
        self.assertIn('"zbx"', done.err)

    def test_schedules_are_those_that_there_are(self):
        rows = json.loads(self.ok("pipeline", "schedules", "--json").text)["schedules"]
        names = [row["schedule"] for row in rows]
        known = re.search(r"The schedule by name: ([^\n]+(?:\n +[^\n]+)*?)\n\n", hocket("pipeline", "list", "--help").text)
        self.assertEqual(names, re.findall(r"[\w-]+", known[1]))
        for row in rows:
            for other in filter(None, row["also"].split(", ")):
                chunks = "2" if row["chunks"] != "1" else "1"
                self.same(f"pipeline list {other} -p 4 -v {chunks} -m 8", f"pipeline list {row['schedule']} -p 4 -v {chunks} -m 8")

    def test_all_schedules_are_compared_on_one_model(self):
        done = self.ok("pipeline", "compare", "all", "-p", "4,5", "-m", 8, "--forward", 3, "--backward", 6, "--hop", 1)
        scale = int(done.summary["scale"])
        header, *lines = done.text.splitlines()
        names = header.split(",")
        rows = [dict(zip(names, line.split(","))) for line in lines]
        self.assertEqual(len(rows), 28)
        for row in rows:
            with self.subTest(row=row):
                v, p = int(row["chunks"]), row["ranks"]
                if row["impossible"]:
                    self.assertIn((row["schedule"], p), (("dualpipe", "5"), ("dualpipev", "5")))  # p even, and m at least 2p
                    continue
                times = ("--forward", 3 * scale // v, "--backward", 6 * scale // v, "--input-grad", 3 * scale // v, "--weight-grad", 3 * scale // v, "--hop", scale)
                ran = self.ok("pipeline", "simulate", row["schedule"], "-p", p, "-v", v, "-m", 8, *times)
                self.assertEqual([row[key] for key in ("makespan", "lower_bound", "bubble")], [ran.summary[key] for key in ("makespan", "lower_bound", "bubble")])
                self.assertEqual(int(row["peak"]), max(r[4] for r in ran.rows[1]))
                self.assertEqual(sum(r[1] for r in ran.rows[1]), int(p) * 8 * 9 * scale)  # the same work by each

    def test_machines_are_those_that_there_are(self):
        rows = json.loads(self.ok("machines", "--json").text)["machines"]
        said = self.misused("plan", self.folder / "config.json", "--devices", 8, "--machine", "x").err
        self.assertEqual([row["machine"] for row in rows], re.search(r"nor one of ([\w, ]+)", said)[1].split(", "))
        for row in rows:
            self.assertGreater(row["gemm_tflops"], 50)
            self.assertIn(type(row["memory_gib"]), (int, type(None)))

    @unittest.skipIf(os.name == "nt", "a shell script")
    def test_png_is_drawn_by_rsvg_convert(self):
        fake = self.file("rsvg-convert", '#!/bin/sh\n[ "$1" = --format=png ] && [ "$2" = --output ] && cat > "$3"\n')
        fake.chmod(0o755)
        env = environment(PATH=f"{self.folder}:{os.environ['PATH']}")
        words = ("pipeline", "draw", "1f1b", "-p", 4, "-m", 8)
        done = hocket(*words, "-o", self.folder / "a.png", env=env)
        self.assertEqual((done.code, done.out), (0, b""), done)
        self.assertIn("makespan=33", done.err)
        self.assertEqual((self.folder / "a.png").read_bytes(), hocket(*words, "--format", "svg").out)
        fake.write_text("#!/bin/sh\nexit 1\n")
        self.refused(*words, "-o", self.folder / "b.png", env=env, says="could not write")

    @unittest.skipUnless(shutil.which("rsvg-convert"), "no rsvg-convert")
    def test_png_is_a_png(self):
        done = hocket("pipeline", "draw", "1f1b", "-p", 4, "-m", 8, "-o", self.folder / "a.png")
        self.assertEqual(done.code, 0, done)
        self.assertEqual((self.folder / "a.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_the_name_of_a_file_says_its_form(self):
        words = ("pipeline", "draw", "1f1b", "-p", 4, "-m", 8)
        for name, form in (("a.svg", "svg"), ("a.json", "trace"), ("a.txt", "ascii"), ("a", "svg")):
            self.ok(*words, "--out", self.folder / name)
            self.assertEqual((self.folder / name).read_bytes(), self.ok(*words, "--format", form).out, name)
        self.ok(*words, "--out", self.folder / "a.json", "--format", "svg")
        self.assertTrue((self.folder / "a.json").read_bytes().startswith(b"<svg"))


class FirstPlan(ToolTest):
    def config(self):
        return self.file("config.json", (EXAMPLES / "llama-2-13b" / "config.json").read_bytes())

    def test_what_is_assumed_is_said_and_is_what_was_planned(self):
        config = self.config()
        done = self.ok("plan", config, "--devices", 16, "--machine", "h100_sxm")
        assumed = dict(re.findall(r"^  ([a-z ]+?)  +(.*)  \(.*\)$", done.text.partition("\n\n")[0], re.M))
        self.assertEqual(assumed, {"sequence": "4096 tokens", "global batch": "1024 sequences", "precision": "bf16", "devices a node": "8",
                                   "states": "weights bf16, gradients fp32, adam with fp32 moments", "memory": "79 GiB a device, 2 of them in reserve"})
        whole = self.file("whole.json", json.dumps({
            "title": "config.json on 16 x H100 SXM", "model": "config.json", "cluster": {"devices": 16, "memory_gib": 79, "reserve_gib": 2, "devices_per_node": 8},
            "training": {"sequence": 4096, "global_batch": 1024, "weights": "bf16", "gradients": "fp32", "optimizer": "adam", "precision": "bf16", "machine": "h100_sxm"}}))
        self.assertEqual(self.ok("plan", whole).text, done.text.partition("\n\n")[2])
        answer = json.loads(self.ok("plan", config, "--devices", 16, "--machine", "h100_sxm", "--json").text)
        self.assertEqual(answer["assumed"], assumed)

    def test_what_is_said_is_not_assumed(self):
        said = ("--sequence", 2048, "--global-batch", 96, "--precision", "fp8", "--memory-gib", 60)
        done = self.ok("plan", self.config(), "--devices", 12, "--machine", "h100", *said)
        head = done.text.partition("\n\n")[0]
        for name in ("sequence", "global batch", "precision", "memory"):
            self.assertNotIn(f"  {name} ", head)
        self.assertIn("global batch 96 x 2048 tokens", done.text)
        self.assertRegex(done.text, r"Memory of each pipeline rank at its peak, GiB: of 60\.0")

    def test_a_short_model_gets_a_short_sequence(self):
        done = self.ok("plan", DATA / "cost" / "configs" / "gpt2.json", "--devices", 8, "--machine", "a100")
        self.assertIn("global batch 1024 x 1024 tokens", done.text)

    def test_options_replace_what_a_plan_says(self):
        plan = json.loads((EXAMPLES / "llama-2-13b" / "plan.json").read_text())
        for key in ("graph", "fused_operator", "parallel", "pipeline", "step_seconds"):
            plan.pop(key)
        plan["training"].pop("micro_batch")
        plan["training"]["machine"] = "h100_sxm"
        plan["cluster"] = {"devices": 16}
        self.config()
        file = self.file("plan.json", json.dumps(plan))
        plan["cluster"] = {"devices": 8, "memory_gib": 139}
        plan["training"].update(sequence=2048, global_batch=64, machine="h200")
        other = self.file("other.json", json.dumps(plan))
        self.assertEqual(self.ok("plan", file, "--devices", 8, "--sequence", 2048, "--global-batch", 64, "--machine", "h200").out, self.ok("plan", other).out)

    def test_no_folder_no_files(self):
        self.config()
        self.ok("plan", self.folder / "config.json", "--devices", 8, "--machine", "h100", cwd=self.folder)
        self.assertEqual(os.listdir(self.folder), ["config.json"])
        self.misused("plan", self.folder / "config.json", "--devices", 8, "--machine", "h100", "--open", says="--out")

    def test_init_writes_a_plan_that_runs(self):
        self.ok("plan", "--init", cwd=self.folder)
        self.assertEqual(sorted(os.listdir(self.folder)), ["config.json", "plan.json"])
        self.ok("plan", "plan.json", cwd=self.folder)
        plan = json.loads((self.folder / "plan.json").read_text())
        self.assertGreater(len(plan["notes"]), 4)
        self.refused("plan", "--init", cwd=self.folder, says="plan.json is there already")

    def test_init_of_a_model_says_the_same(self):
        config = self.config()
        more = ("--devices", 16, "--machine", "h200", "--global-batch", 64)
        self.ok("plan", "--init", config, *more, "--out", self.folder / "new")
        self.assertEqual(os.listdir(self.folder / "new"), ["plan.json"])
        first = self.ok("plan", config, *more).text
        self.assertEqual(self.ok("plan", self.folder / "new" / "plan.json").text, first.partition("\n\n")[2])

    def test_a_machine_without_memory(self):
        self.misused("plan", self.config(), "--devices", 8, "--machine", "guide_device", says="--memory-gib")
        self.ok("plan", self.config(), "--devices", 16, "--machine", "guide_device", "--memory-gib", 57)

    def test_all_missing_fields_at_once(self):
        def missing(plan):
            return self.refused("plan", self.file("p.json", json.dumps(plan))).err
        self.config()
        for name in ("model", "training.sequence", "cluster.devices", "cluster.memory_gib", "cluster.peak_tflops", "cluster.links"):
            self.assertIn(f'"{name}"', missing({}))
        named = missing({"model": "config.json", "training": {"machine": "h100_sxm"}})
        self.assertIn('these fields are missing: "training.sequence", "cluster.devices"\n', named)
        self.assertIn('"cluster.devices", "cluster.memory_gib"\n', missing({"model": "config.json", "training": {"sequence": 1, "machine": "guide_device"}}))
        self.assertIn('"cluster.devices" is missing', missing({"model": "config.json", "training": {"sequence": 4096, "machine": "h100_sxm"}, "cluster": {}}))


if __name__ == "__main__":
    main()
