# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket planner split: the tuning guide's story, the MindFormers lists, pictures, and what is refused."""
import json
import re
import unittest
import xml.etree.ElementTree

from harness import DATA, EXAMPLES, ToolTest, main

SPLIT = EXAMPLES / "llama-2-13b" / "split.json"


class Split(ToolTest):
    def plan(self, change=lambda problem: None):
        problem = json.loads(SPLIT.read_text())
        change(problem)
        path = self.file("split.json", json.dumps(problem))
        return problem, json.loads(self.ok("planner", "split", "--problem", path, "--format", "json").text)

    def recomputed(self, problem, plan):
        """Step time and memory again, from the file and the levels alone."""
        times, fits, layer = [], True, 0
        run = problem["layers"][0]
        for r, stage in enumerate(plan["stages"]):
            levels = [run["levels"][k] for k in stage["levels"]]
            layer += len(levels)
            ends = [problem["every"]] + [problem["first"]] * (r == 0) + [problem["last"]] * (r == problem["ranks"] - 1)
            times.append(run["time_us"] * len(levels) + sum(x["extra_us"] for x in levels) +
                         sum(x.get("time_us", 0) for x in ends))
            held = min(problem["micro_batches"], problem["ranks"] - r)
            size = run["weights_bytes"] * len(levels) + held * sum(x["bytes"] for x in levels) + sum(x.get("bytes", 0) for x in ends)
            self.assertEqual(size, plan["ranks"][r]["bytes"])
            fits = fits and size <= plan["ranks"][r]["capacity_bytes"]
        self.assertEqual(layer, run["count"])
        return (sum(times) + (problem["micro_batches"] - 1) * max(times)) * 1e-6, fits

    def test_the_guides_story(self):
        problem, plan = self.plan()
        seconds, fits = self.recomputed(problem, plan)
        self.assertTrue(fits)
        self.assertAlmostEqual(seconds, plan["step_seconds"], 6)  # of two ranks, the sum is what the run takes
        self.assertLess(plan["step_seconds"] / plan["lower_bound_seconds"], 1.001)
        story = {x["name"]: x for x in plan["other_choices"]}
        at = lambda x, level: [s["layers_at"][level] for s in x["stages"]]
        full = story["every layer full, even split"]
        self.assertEqual(at(full, "full"), [20, 20])
        self.assertAlmostEqual(full["tokens_per_second_per_device"], 2136, 0)
        guide = story["selective or more on every layer, even split"]
        self.assertEqual(at(guide, "full"), [4, 0])  # the guide's recompute: [4, 0]
        self.assertEqual(at(guide, "selective"), [16, 20])
        self.assertLess(abs(guide["tokens_per_second_per_device"] / 2562 - 1), 0.06)  # what the guide measured
        self.assertIn("why_not", story["every layer selective, even split"])
        times = [x["step_seconds"] for x in plan["other_choices"] if "step_seconds" in x]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertLessEqual(plan["step_seconds"], times[-1])
        price = plan["price_of_memory"]
        self.assertGreater(price["seconds_on_every_rank"], 0)
        self.assertEqual(price["seconds_on_one_rank"][1], 0)

    def test_lists_for_mind_formers(self):
        def as_in_the_guide(problem):
            problem["split"] = [20, 20]
            for run in problem["layers"]:
                del run["levels"][0]
        _, plan = self.plan(as_in_the_guide)
        self.assertEqual(plan["mind_formers"],
                         "recompute_config:\n  recompute: [4, 0]\n  select_recompute: ['feed_forward\\.mul', "
                         "'feed_forward\\.w1\\.activation', 'feed_forward\\.w1\\.reshape', 'feed_forward\\.w2\\.reshape']\n")
        _, plan = self.plan()
        # A count is of the first layers of a stage, those recomputed whole included, as `cost report` reads it.
        at = plan["stages"][0]["layers_at"]
        self.assertTrue(at["full"] > 0 and at["selective"] > 0 and at["none"] > 0)
        self.assertIn(f"  recompute: [{at['full']}, 0]\n", plan["mind_formers"])
        self.assertIn(f"    'feed_forward\\.mul': [{at['full'] + at['selective']}, 0]\n", plan["mind_formers"])
        # Two levels that are whole; chunks.
        def chunks(problem):
            problem.update(schedule="interleaved", chunks=2, micro_batches=16)
            problem["layers"][0]["levels"].append({"name": "and more", "bytes": 1 << 20, "extra_us": 30000, "whole": True})
        _, plan = self.plan(chunks)
        whole = [[0, 0], [0, 0]]
        for stage in plan["stages"]:
            whole[stage["chunk"]][stage["rank"]] = stage["layers_at"]["full"] + stage["layers_at"]["and more"]
        self.assertGreater(sum(sum(x) for x in whole), 0)
        self.assertIn(f"  recompute: {whole}\n", plan["mind_formers"])
        self.assertIn("    pp_interleave_num: 2\n", plan["mind_formers"])
        # Layers that differ: what the lists cannot say is said.
        def uneven(problem):
            first, last = problem["layers"][0], json.loads(json.dumps(problem["layers"][0]))
            first["count"], last["count"] = 2, 38
            for level in first["levels"]:
                level["bytes"] //= 100
            problem["layers"].append(last)
        _, plan = self.plan(uneven)
        self.assertEqual(plan["stages"][0]["levels"][:2], [0, 0])
        self.assertIn("# no such lists say all that is computed again", plan["mind_formers"])
        def nameless(problem):
            del problem["layers"][0]["levels"][1]["select"]
        _, plan = self.plan(nameless)
        self.assertIn("# no such lists say all that is computed again", plan["mind_formers"])
        self.assertIn("stages 0\n", plan["mind_formers"])
        self.assertNotIn("#", self.plan()[1]["mind_formers"])
        def quote(problem):
            problem["layers"][0]["levels"][1]["select"] = ["a'b"]
        _, plan = self.plan(quote)
        self.assertIn("    'a''b': [", plan["mind_formers"])  # YAML's way to write it

    def test_text_and_picture(self):
        text = self.ok("planner", "split", "--problem", SPLIT).text
        for words in ("simulated without hops", "Price of memory", "For MindFormers", "recompute: ["):
            self.assertIn(words, text)
        many = json.loads(SPLIT.read_text())
        many["ranks"], many["layers"][0]["count"], many["capacity_gib"] = 32, 40, 1000
        text = self.ok("planner", "split", "--problem", self.file("many.json", json.dumps(many))).text
        self.assertIn("full [0 on each of 32]", text)  # not a line of 32 numbers
        picture = self.ok("planner", "split", "--problem", SPLIT, "--format", "svg").text
        xml.etree.ElementTree.fromstring(picture)
        self.assertIn("capacity", picture)

    def test_schedules_give_the_counts(self):
        seconds = {}
        for schedule in ("1f1b", "eager-1f1b", "zb-h1", "zb-h2"):
            def change(problem, schedule=schedule):
                problem["schedule"], problem["capacity_gib"] = schedule, 64
            seconds[schedule] = self.plan(change)[1]["step_seconds"]
        self.assertGreater(seconds["zb-h1"], seconds["1f1b"])  # the last rank holds two as well
        self.assertGreater(seconds["zb-h2"], seconds["zb-h1"])  # the first holds three
        def chunks(problem):
            problem["chunks"], problem["schedule"] = 2, "interleaved"
        _, plan = self.plan(chunks)
        self.assertEqual(len(plan["stages"]), 4)

    def test_v_schedules_give_the_counts(self):
        again, seconds = {}, {}
        for schedule in ("zbv", "v-half", "v-min", "interleaved-zb"):
            def change(problem, schedule=schedule):
                problem.update(schedule=schedule, chunks=2, ranks=4, micro_batches=16, capacity_gib=64)
            _, plan = self.plan(change)
            self.assertEqual(len(plan["stages"]), 8)
            self.assertEqual([s["rank"] for s in plan["stages"]],
                             [0, 1, 2, 3] * 2 if schedule == "interleaved-zb" else [0, 1, 2, 3, 3, 2, 1, 0])
            seconds[schedule] = plan["step_seconds"]
            again[schedule] = sum(rank["again_us"] for rank in plan["ranks"])
        self.assertLessEqual(again["v-min"], again["zbv"])  # holds less, so recomputes less
        self.assertLess(seconds["zbv"], seconds["v-min"])  # and idles more

    def test_two_directions_and_slices(self):
        def change(problem, **more):
            problem.update(ranks=4, micro_batches=16, **more)
        problem, plan = self.plan(lambda p: change(p, schedule="dualpipe", capacity_gib=[60, 64, 64, 57.2]))
        self.assertTrue(plan["ranks_are_pairs"])
        self.assertEqual([s["rank"] for s in plan["stages"]], [0, 1, 1, 0])
        self.assertEqual(len(plan["ranks"]), 2)
        self.assertEqual(plan["ranks"][0]["capacity_bytes"], int(57.2 * 2 ** 30))  # the smaller of ranks 0 and 3
        # Both ranks of a pair hold both stages; embedding and head are on the first pair.
        run = problem["layers"][0]
        layers = [sum(s["layers"] for s in plan["stages"] if s["rank"] == r) for r in (0, 1)]
        self.assertEqual(sum(layers), run["count"])
        listed = json.loads(self.ok("pipeline", "list", "dualpipe", "--ranks", 4, "--micro-batches", 16, "--format", "json").text)
        self.assertEqual(len(listed["lists"]), 4)
        _, v = self.plan(lambda p: change(p, schedule="dualpipev", chunks=2))
        self.assertEqual([s["rank"] for s in v["stages"]], [0, 1, 2, 3, 3, 2, 1, 0])
        # A slice is held in place of a micro-batch: with four of them ranks hold less, and recompute less.
        _, whole = self.plan(lambda p: change(p, schedule="1f1b", capacity_gib=50))
        _, four = self.plan(lambda p: change(p, schedule="seq-1f1b", slices=4, capacity_gib=50))
        _, one = self.plan(lambda p: change(p, schedule="seq-1f1b", capacity_gib=50))
        again = lambda x: sum(r["again_us"] for r in x["ranks"])
        self.assertEqual(one["step_seconds"], whole["step_seconds"])
        self.assertLess(4 * again(four), again(whole))
        self.assertLess(four["step_seconds"], whole["step_seconds"])

    def test_stages_kept_alike(self):
        def change(problem, **more):
            problem.update(chunks=2, schedule="interleaved", micro_batches=16, **more)
        _, free = self.plan(change)
        _, alike = self.plan(lambda p: change(p, most_on_stage=10))
        self.assertEqual([s["layers"] for s in alike["stages"]], [10] * 4)
        self.assertLessEqual(free["step_seconds"], alike["step_seconds"])

    def test_the_bound_stands_beside_the_plan(self):
        def change(problem, **more):
            problem.update(ranks=4, chunks=4, micro_batches=16, capacity_gib=0.8, schedule="interleaved", **more)
            problem["layers"] = [{"time_us": 50 + i * 37 % 23, "weights_bytes": (20 + i * 11 % 7) << 20,
                                  "levels": [{"name": "none", "bytes": (40 + i * 13 % 9) << 20},
                                             {"name": "full", "bytes": 4 << 20, "extra_us": 19 + i % 5}]} for i in range(20)]
            for beside in ("every", "first", "last"):
                del problem[beside]
        for objective, bound, value in (("step_time", "lower_bound_seconds", "step_seconds"),
                                        ("slowest_rank", "slowest_rank_lower_bound_us", "slowest_rank_us")):
            with self.subTest(objective=objective):
                _, plan = self.plan(lambda p: change(p, objective=objective))
                self.assertLessEqual(plan[bound], plan[value])
                self.assertEqual(plan["proved"], plan[bound] == plan[value])
                done = self.ok("planner", "split", "--problem", self.folder / "split.json")
                if objective == "step_time":
                    self.assertEqual(done.summary["bound_s"], f"{plan[bound]:.6f}")
                    self.assertIn(f"Step {plan['step_seconds']:.3f} s", done.text)
                else:
                    self.assertEqual(done.summary["bound_ms"], f"{plan[bound] / 1e3:.6f}")

    def test_a_plan_for_several_chunks_is_simulated(self):
        equal = {"version": 1, "ranks": 16, "chunks": 2, "micro_batches": 64, "capacity_gib": 1000,
                 "layers": [{"count": 128, "time_us": 60, "weights_bytes": 1 << 20,
                             "levels": [{"name": "none", "bytes": 1 << 24}, {"name": "full", "bytes": 1 << 20, "extra_us": 20}]}]}
        def ask(**more):
            path = self.file("equal.json", json.dumps(dict(equal, **more)))
            done = self.ok("planner", "split", "--problem", path)
            plan = json.loads(self.ok("planner", "split", "--problem", path, "--format", "json").text)
            if "simulated_seconds" in plan:
                self.assertEqual(done.summary["simulated_s"], f"{plan['simulated_seconds']:.6f}")
                self.assertEqual(plan["simulated_seconds"], plan["step_seconds"])
                self.assertIn(f"Step {plan['step_seconds']:.3f} s", done.text)
            else:
                self.assertNotIn("simulated", done.text)
            return done.text, plan
        # Stages of four layers: the same as the schedule with these times.
        text, plan = ask()
        run = self.ok("pipeline", "simulate", "interleaved", "--ranks", 16, "--chunks", 2, "--micro-batches", 64,
                      "--forward", 80000, "--backward", 160000)
        self.assertAlmostEqual(plan["simulated_seconds"], int(run.summary["makespan"]) * 1e-9, 9)
        # Little memory: a limit on the stages cannot make a run shorter that is itself the shortest found.
        text, plan = ask(capacity_gib=1)
        _, alike = ask(capacity_gib=1, most_on_stage=4)
        self.assertLessEqual(plan["step_seconds"], alike["step_seconds"])
        # What lies beside the layers takes its time, too.
        _, more = ask(last={"time_us": 60})
        self.assertGreater(more["simulated_seconds"], 64 * 60e-6 * 9)
        # Lists that take long to run are not run.
        self.assertNotIn("simulated_seconds", ask(micro_batches=20000)[1])

    def test_infeasible_names_the_stage_and_the_bytes(self):
        problem = json.loads(SPLIT.read_text())
        problem["capacity_gib"] = 20
        path = self.file("split.json", json.dumps(problem))
        self.refused("planner", "split", "--problem", path, says="lacks")

    def test_no_time_is_no_rate(self):
        def change(problem):
            problem["last"]["time_us"] = problem["layers"][0]["time_us"] = 0
            for level in problem["layers"][0]["levels"]:
                level["extra_us"] = 0
        _, plan = self.plan(change)
        self.assertEqual(plan["step_seconds"], 0)
        self.assertNotIn("tokens_per_second_per_device", plan)

    def test_bad_problems(self):
        def refused(change, says):
            problem = json.loads(SPLIT.read_text())
            change(problem)
            self.refused("planner", "split", "--problem", self.file("bad.json", json.dumps(problem)), says=says)
        refused(lambda p: p.pop("layers"), "layers")
        refused(lambda p: p.update(ranks=0), "ranks")
        refused(lambda p: p.update(ranks=41), "41 ranks, 1 chunks and 128 micro-batches is not possible: it has fewer")
        refused(lambda p: p.update(tokens=1e300), "\"tokens\" is 1e+300")
        refused(lambda p: p.update(schedule="zigzag"), "schedule")
        refused(lambda p: p.update(capacity_bytes=5), "not both")
        refused(lambda p: p.update(capacity_gib=[1]), "1 numbers for 2 ranks")
        refused(lambda p: p["layers"][0].update(levels=[]), "levels")
        refused(lambda p: p["layers"][0]["levels"][1].update(name=p["layers"][0]["levels"][0]["name"]), "another level")
        refused(lambda p: p["layers"][0].update(time_us=-1), "time_us")
        refused(lambda p: p.update(split=[40]), "split")
        refused(lambda p: p.update(split=[20, 21]), "\"split\" is [20,21]: 41 layers, but \"layers\" has 40")
        refused(lambda p: p.update(micro_batches=10 ** 7), "micro_batches")
        refused(lambda p: p.update(slices=2), "only for seq-1f1b")
        refused(lambda p: p.update(schedule="seq-1f1b", slices=0), "slices")
        refused(lambda p: p.update(schedule="dualpipe", ranks=3), "even p")
        refused(lambda p: p.update(schedule="dualpipev", chunks=2, micro_batches=3), "at least 2p")
        refused(lambda p: p.update(most_on_stage=19), "\"most_on_stage\" is 19, but must be at least 20: 40 layers on 2 stages")
        refused(lambda p: p.update(split=[]), "\"split\" is empty")
        refused(lambda p: p.update(title="two\nlines"), "\"title\" is \"two\\nlines\", but must be one line")
        refused(lambda p: p["layers"][0]["levels"][0].update(name="\x1b[2J"), "levels[0].name")
        refused(lambda p: p["layers"][0]["levels"][1].update(select=["a\nb"]), "holds \"a\\nb\", but must hold patterns")
        refused(lambda p: p.update(most_on_stage=0), "most_on_stage")


class Search(ToolTest):
    SHAPE = ("--ranks", 4, "--chunks", 2, "--micro-batches", 8)

    def test_a_schedule_under_a_cap(self):
        done = self.ok("pipeline", "search", *self.SHAPE, "--placement", "v", "--memory-cap", 6)
        self.assertEqual((done.summary["makespan"], done.summary["proved"]), ("53", "yes"))
        table = self.file("found.csv", done.text)
        again = self.ok("pipeline", "simulate", "--table", table)
        self.assertEqual(again.summary["makespan"], "53")
        self.assertLessEqual(max(row[4] for row in again.rows[1]), 6)
        self.ok("pipeline", "check", "--table", table)

    def test_costs_and_forms(self):
        costs = self.file("costs.json", json.dumps({"forward": [3, 2.0, 2, 4], "backward": 5.0, "hop": 1}))
        done = self.ok("pipeline", "search", "--ranks", 4, "--micro-batches", 6, "--costs", costs, "--backward", "whole",
                       "--format", "json", "--memory-cap", "4,3,2,1")
        found = json.loads(done.text)
        self.assertEqual(len(found["lists"]), 4)
        self.assertLessEqual(found["lower_bound"], found["makespan"])
        self.assertEqual((found["lower_bound"], found["makespan"], found["proved"]),
                         (int(done.summary["lower_bound"]), int(done.summary["makespan"]), done.summary["proved"] == "yes"))
        self.assertAlmostEqual(found["gap"], float(done.summary["gap"]), 6)
        self.assertEqual(found["found_by"].replace(" ", "-"), done.summary["from"])

    def test_what_is_refused(self):
        self.refused("pipeline", "search", *self.SHAPE, "--memory-cap", 1, says="cap")
        self.misused("pipeline", "search", *self.SHAPE, "--memory-cap", "4,4", says="2 numbers for 4 ranks")
        self.misused("pipeline", "search", *self.SHAPE, "--memory-cap", "many", says="holds \"many\"")
        self.misused("pipeline", "search", *self.SHAPE, "--memory-cap", "99999999999",
                     says="holds \"99999999999\", but must be one number up to 1073741823")
        beyond = "99999999999999999999"
        for words in (("search",), ("list", "1f1b")):
            for option in ("--ranks", "--chunks", "--micro-batches"):
                shape = {"--ranks": 4, "--chunks": 1, "--micro-batches": 8, option: beyond}
                self.misused("pipeline", *words, *(x for pair in shape.items() for x in pair), says=beyond + " does not fit 64 bits")
        self.misused("pipeline", "search", *self.SHAPE, "--costs", "", says="behind \"--costs\", is empty")
        both = self.file("both.json", json.dumps({"forward": 1, "backward": 2, "input_grad": 1, "weight_grad": 1}))
        for backward in ("split", "whole"):
            self.refused("pipeline", "search", *self.SHAPE, "--costs", both, "--backward", backward, says="not both")
        self.misused("pipeline", "search", "--ranks", 4)
        bad = self.file("costs.json", json.dumps({"forward": [1, 2], "input_grad": 1, "weight_grad": 1}))
        self.refused("pipeline", "search", *self.SHAPE, "--costs", bad, says="2 times for 8 stages")
        bad = self.file("costs.json", json.dumps({"forward": [1] * 7 + [0.5], "input_grad": 1, "weight_grad": 1}))
        self.refused("pipeline", "search", *self.SHAPE, "--costs", bad, says="\"forward\" holds 0.5, but must hold whole")
        bad = self.file("costs.json", json.dumps({"forward": 1.5, "input_grad": 1, "weight_grad": 1}))
        self.refused("pipeline", "search", *self.SHAPE, "--costs", bad, says="\"forward\" is 1.5, but must be a whole")
        self.refused("pipeline", "search", "--ranks", 100000, "--micro-batches", 4)


class Strategies(ToolTest):
    FILES = ("--model", EXAMPLES / "llama-2-13b" / "config.json", "--training", EXAMPLES / "llama-2-13b" / "training.json")
    CLUSTER = EXAMPLES / "llama-2-13b" / "cluster.json"

    def test_front_and_counts(self):
        found = json.loads(self.ok("planner", "search", *self.FILES, "--cluster", self.CLUSTER, "--format", "json").text)
        front = found["front"]
        for a, b in zip(front, front[1:]):
            self.assertLess(a["step_seconds"], b["step_seconds"])
            self.assertGreater(a["bytes"], b["bytes"])
        for x in front:
            self.assertEqual(x["tp"] * x["cp"] * x["pp"] * x["dp"], 16)
            self.assertLessEqual(x["bytes"], 57.2 * 2 ** 30)
        rejected = found["rejected"]
        memory = rejected["a rank needs more memory than a device has"]
        self.assertEqual(found["named"], found["evaluated"] + sum(rejected.values()) - memory)
        self.assertEqual(found["fitting"], found["evaluated"] - memory)

    def test_text_and_picture(self):
        text = self.ok("planner", "search", *self.FILES, "--cluster", self.CLUSTER).text
        self.assertIn("the 32 fastest are simulated", text)
        xml.etree.ElementTree.fromstring(
            self.ok("planner", "search", *self.FILES, "--cluster", self.CLUSTER, "--format", "svg").text)

    def test_numbers_of_devices(self):
        args = ("planner", "search", *self.FILES, "--cluster", self.CLUSTER)
        found = json.loads(self.ok(*args, "--devices", "8,16", "--format", "json").text)
        front = found["front"]
        for i, a in enumerate(front):
            self.assertEqual(a["tp"] * a["cp"] * a["pp"] * a["dp"], a["devices"])
            for b in front[:i] + front[i + 1:]:
                self.assertFalse(b["devices"] <= a["devices"] and b["step_seconds"] <= a["step_seconds"] and
                                 b["bytes"] <= a["bytes"], (a, b))
        alone = json.loads(self.ok(*args, "--format", "json").text)
        self.assertEqual(min(x["step_seconds"] for x in front), min(x["step_seconds"] for x in alone["front"]))
        self.assertEqual([x["devices"] for x in found["counts"]], [8, 16])
        self.assertIn("16 devices: ", self.ok(*args, "--devices", "up-to").text)
        for bad, word in (("4,32", "32"), ("0", "0"), ("8,", ""), ("8,many", "many"), ("99999999999999999999", "99999999999999999999")):
            self.misused(*args, "--devices", bad, says=f'--devices holds "{word}", but must be up-to, or numbers from 1 to the cluster\'s 16')
        self.misused(*args, "--devices", "4,8,4", says="holds 4 twice")
        # What --top leaves out is said, for each number of devices.
        whole, some = (self.ok(*args, "--devices", "8,16", "--top", n).text for n in (1000, 1))
        self.assertNotIn("more (--top)", whole)
        rows = [sum(x["devices"] == n for x in front) for n in (8, 16)]
        self.assertEqual([int(x) for x in re.findall(r"\.\.\. (\d+) more \(--top\)", some)], [n - 1 for n in rows if n > 1])
        self.assertIn(f"... {len(alone['front']) - 1} more (--top)", self.ok(*args, "--top", 1).text)
        picture = xml.etree.ElementTree.fromstring(self.ok(*args, "--devices", "8,16", "--format", "svg").text)
        dots = [x for x in picture.iter() if x.tag.endswith("circle")]
        self.assertEqual(len(dots), len(found["front"]))
        self.assertEqual({int(x[0].text.split()[0]) for x in dots}, {x["devices"] for x in found["front"]})

    def test_what_is_refused(self):
        cluster = json.loads(self.CLUSTER.read_text())

        def refused(change, says):
            one = json.loads(json.dumps(cluster))
            change(one)
            self.refused("planner", "search", *self.FILES, "--cluster", self.file("c.json", json.dumps(one)), says=says)
        refused(lambda c: c.update(memory_gib=3), "none of")
        refused(lambda c: c.update(memory_gib=2), "\"memory_gib\" leaves nothing for training")
        refused(lambda c: c.update(devices=0), "devices")
        refused(lambda c: c.update(devices=997), "the global batch does not divide")
        refused(lambda c: c["rates"].pop("gemm_tflops"), "gemm_tflops")
        refused(lambda c: c.update(space={"zero": [4]}), "zero")
        refused(lambda c: c.update(space={"chunks": [0]}), "\"space.chunks\" holds 0, but must hold whole numbers from 1 to 1000000")
        refused(lambda c: c.update(space={"chunks": [1, 2 ** 40]}), "holds 1099511627776, but must")
        for key in ("tensor", "context"):
            refused(lambda c, key=key: c.update(space={key: [9]}), "no sizes of \"space.tensor\" and \"space.context\" divide the 16 devices")
        training = json.loads(self.FILES[3].read_text())
        def training_file(**more):
            return self.file("t.json", json.dumps(dict(training, **more)))
        self.refused("planner", "search", *self.FILES[:3], training_file(machine="guide_device"), "--cluster", self.CLUSTER,
                     says="t.json: \"machine\" has no meaning here")
        self.refused("planner", "search", *self.FILES[:3], training_file(sequence=2 ** 31 - 1, global_batch=2 ** 31 - 1),
                     "--cluster", self.CLUSTER, says="t.json")
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))
        model = self.file("m.json", json.dumps(records["kimi_linear, other"]["config"]))
        found = json.loads(self.ok("planner", "search", "--model", model, *self.FILES[2:], "--cluster", self.CLUSTER, "--format", "json").text)
        self.assertGreater(found["evaluated"], 0)
        self.assertGreater(len(found["front"]), 0)
        refused(lambda c: c.update(space={"tensor": []}), "tensor")
        refused(lambda c: c.update(space={"copies": [1, 1]}), "\"space.copies\" holds 1 twice")
        refused(lambda c: c.update(memory_gib=1e-300), "\"memory_gib\" is 1e-300")
        refused(lambda c: c["rates"].update(gemm_tflops=1e-300), "\"rates.gemm_tflops\" is 1e-300")
        refused(lambda c: c["rates"].update(pipeline_gb_per_s=0), "\"rates.pipeline_gb_per_s\" is 0")
        refused(lambda c: c["rates"].update(data_overlap=3), "\"rates.data_overlap\" is 3")

    def test_a_cluster_of_a_shipped_machine(self):
        model = DATA / "published" / "configs" / "qwen3-30b-a3b.json"
        training = lambda **more: self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 256, **more}))
        cluster = lambda **more: self.file("c.json", json.dumps({"devices": 64, "memory_gib": 80, **more}))
        words = lambda t, c, *more: ("planner", "search", "--model", model, "--training", t, "--cluster", c, "--format", "json", *more)
        ask = lambda t, c, *more: json.loads(self.ok(*words(t, c, *more)).text)["front"]
        named = ask(training(), cluster(machine="h100_sxm"))
        self.assertEqual(named, ask(training(), cluster(), "--machine", "h100_sxm"))
        self.assertEqual(named, ask(training(), cluster(machine="a100_sxm_80"), "--machine", "h100_sxm"))
        self.assertEqual(named, ask(training(machine="h100_sxm"), cluster()))
        self.refused(*words(training(machine="h100_sxm"), cluster(machine="h100_sxm")), says="t.json: \"machine\" has no meaning here")
        # No strategy is faster than reading the experts' weights once in each of the three products of a pass.
        for x in named:
            experts = 48 * 128 * 3 * 2048 * 768 / x["ep"] / x["pp"]
            batches = 256 / x["micro_batch"] / x["dp"]
            self.assertGreater(x["step_seconds"], 3 * 2 * experts * batches / 3.35e12)
        self.assertLess(ask(training(precision="fp8"), cluster(machine="h100_sxm"))[0]["step_seconds"], named[0]["step_seconds"])
        self.refused(*words(training(precision="nvfp4"), cluster(machine="h100_sxm")), says="nvfp4")
        self.refused(*words(training(), cluster(machine="h100_sxm", rates={})), says="rates")
        self.refused(*words(training(), cluster(machine="h1")), says="h100_sxm")

    def test_layouts(self):
        files = ["--model", self.FILES[1], "--training", self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 32, "machine": "b200_fitted"})),
                 "--parallel", self.file("p.json", json.dumps({"tp": 2, "pp": 4, "vp": 2}))]
        found = self.ok("planner", "layout", *files, "--format", "megatron")
        layout = found.text.strip()
        step = lambda text: float(self.ok("planner", "layout", text, *files).summary["makespan_us"])
        self.assertLessEqual(float(found.summary["makespan_us"]), step("E(t*5|)*7,t*5L"))
        self.assertLess(float(found.summary["makespan_us"]), step("E(t*5|)*6,t*4|t*6L"))
        self.assertLessEqual(float(found.summary["lower_bound_us"]), float(found.summary["makespan_us"]))
        self.assertEqual(found.summary["proved"], "no")
        def same(given, chosen):  # the bound is said where a layout is chosen
            self.assertEqual(given.summary.items() - chosen.summary.items(), set())
            self.assertEqual(chosen.summary.keys() - given.summary.keys(), {"lower_bound_us", "proved"})
        self.assertTrue(self.ok("planner", "layout", layout, *files).text.startswith(f"layout {layout}\n"))
        for form in ("mindformers", "torchtitan", "bridge"):  # each form is read as it is printed
            text = self.ok("planner", "layout", layout, *files, "--format", form).text
            alone = text.strip().removeprefix("offset: ")
            name = {"mindformers": "offset", "torchtitan": "module_fqns_per_model_part", "bridge": "pipeline_model_parallel_layout"}[form]
            for given in (text, alone, f"{name}: {alone}", json.dumps({name: json.loads(alone)})):
                again = self.ok("planner", "layout", given, *files, "--format", "megatron")
                self.assertEqual(again.text.strip(), layout)
                same(again, found)
        as_json = json.loads(self.ok("planner", "layout", layout, *files, "--format", "json").text)
        self.assertEqual(str(max(r["peak_bytes"] for r in as_json["ranks"])), found.summary["peak_bytes_per_rank"])
        self.assertEqual(f"{max(s['time_us'] for s in as_json['stages']):.3f}", found.summary["slowest_stage_us"])
        self.assertTrue(all(s["time_us"] == round(s["time_us"], 3) for s in as_json["stages"]))
        refused = lambda text, says: self.refused("planner", "layout", text, *files, says=says)
        refused("E(t*5|)*7,t*4L", "layout: the layout has 39 layers, but the model has 40")
        refused("Etx|L", "x at character: 2")
        refused("E(t*10|)*3,t*10L", "has 4 stages, but pp x vp of")
        refused("E(t*5|)*7,t*5mL", "layout: has 1 prediction modules, but the model has 0: --predictions says how many")
        refused("[1, \"a\"]", "no number, no module name, character: 4")
        refused("[1, 2]", "the offsets add up to 3, but must add up to 0: 40 layers over 2 stages leave that many")
        refused("E(t*5|)*7,t*5", "the layout has no L, the loss")
        refused("{\"offsets\": [1, -1]}", "the layout has no offset or module_fqns_per_model_part")
        refused("{\"offset\": 3}", "no list")
        refused("[[\"tok_embeddings\", \"layers.0\"]]", "the layout has no norm: it follows the last layer")
        refused("offset: 1-", "layout")
        refused("[]", "stages of offset")

        # A model whose layers differ.
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))
        model = self.file("m.json", json.dumps(records["kimi_linear, other"]["config"]))
        words = ["--model", model, *files[2:4], "--parallel", self.file("q.json", json.dumps({"pp": 2, "vp": 2}))]
        layout = self.ok("planner", "layout", *words, "--format", "megatron").text.strip()
        self.ok("planner", "layout", layout, *words)
        # The peaks are those of cost report.
        spread = self.file("c.json", json.dumps({"pp": 2, "dp": 2, "cp": 2}))
        for name in ("gemma3_text, default", "deepseek_v2, default", "glm4_moe, other", "qwen3_next, other"):
            common = ["--model", self.file("m2.json", json.dumps(records[name]["config"])), *files[2:4], "--parallel", spread, "--format", "json"]
            report = json.loads(self.ok("cost", "report", *common).text)["memory"]
            given = f"Et*{report[0]['layers']}|t*{report[1]['layers']}L"
            priced = json.loads(self.ok("planner", "layout", given, *common).text)
            self.assertEqual([r["peak_bytes"] for r in priced["ranks"]], [r["peak_bytes"] for r in report], name)
        # Memory decides, too, where it is told: what is printed of such a layout fits.
        one_chunk = ["--parallel", self.file("s.json", json.dumps({"tp": 2, "pp": 4}))]
        peak = lambda *more: int(self.ok("planner", "layout", *files[:4], *one_chunk, *more).summary["peak_bytes_per_rank"])
        free = peak()
        for gib in (free / 2**30 + 2, free / 2**30 - 3):
            self.assertLessEqual(peak("--memory-gib", str(gib)), gib * 2**30)
        self.refused("planner", "layout", *files[:4], *one_chunk, "--memory-gib", "3", says="no layout fits into 3.000 GiB a rank by 1F1B, 2.000 of them in reserve: the least that one needs is ")
        said = self.refused("planner", "layout", *files[:4], *one_chunk, "--memory-gib", "3").err
        least = float(re.search(r"the least that one needs is ([0-9.]+) GiB", said)[1])
        self.assertLessEqual(peak("--memory-gib", f"{least}"), least * 2**30)
        self.refused("planner", "layout", *files[:4], *one_chunk, "--memory-gib", f"{least - 0.002}", says=f"the least that one needs is {least:.3f} GiB")
        self.refused("planner", "layout", *files, "--memory-gib", "50", says="memory of layouts with several chunks")
        # A hybrid pattern: a letter per layer, which must be the model's.
        hybrid = self.file("h.json", json.dumps(records["nemotron_h, other"]["config"]))
        common = ["--model", hybrid, *files[2:4], "--parallel", self.file("r.json", json.dumps({"pp": 2}))]
        pattern = self.ok("planner", "layout", *common, "--format", "hybrid").text.strip()
        self.assertEqual(pattern.count("|"), 1)
        self.assertEqual(self.ok("planner", "layout", pattern, *common, "--format", "hybrid").text.strip(), pattern)
        same(self.ok("planner", "layout", pattern, *common), self.ok("planner", "layout", *common))
        first = "E" if pattern[0] != "E" else "*"
        self.refused("planner", "layout", first + pattern[1:], *common, says=f"layout: layer 0 is {first}, but the model has {pattern[0]}")
        with_modules = self.ok("planner", "layout", pattern + f"/{pattern[0]}/{pattern[0]}", *common, "--format", "hybrid").text.strip()
        self.assertEqual(with_modules, pattern + f"/{pattern[0]}/{pattern[0]}")
        # Modules of other layers than the last: only the pattern says which, and it is what is printed to paste.
        last = pattern.rstrip("|")[-1]
        other = next(c for c in pattern if c not in ("|", last))
        alike = self.ok("planner", "layout", pattern + f"/{last}", *common)
        strung = self.ok("planner", "layout", pattern + f"/{last}", *common, "--format", "megatron").text.strip()
        self.assertEqual(self.ok("planner", "layout", strung, *common, "--predictions", "1").summary, alike.summary)
        text = self.ok("planner", "layout", pattern + f"/{other}", *common)
        self.assertTrue(text.text.startswith(f"layout {pattern}/{other}\n"))
        self.assertEqual(json.loads(self.ok("planner", "layout", pattern + f"/{other}", *common, "--format", "json").text)["layout"], f"{pattern}/{other}")
        self.refused("planner", "layout", pattern + f"/{other}", *common, "--format", "megatron", says="--format hybrid does")
        # A wrong letter is named with its place, whatever else stands there.
        for at, wrong in ((1, "X"), (len(pattern) - 1, "q"), (2, "t")):
            self.refused("planner", "layout", pattern[:at] + wrong + pattern[at + 1:], *common, says=f"layout: {wrong} at character: {at} is not allowed here")
        self.refused("planner", "layout", "M-|M", *files, says="layout: layer 0 is M, but the model has *")
        # Of models whose layers are a mixer and an FFN the pattern has both: a stage may end between them.
        both = ["--model", self.file("q3.json", json.dumps(records["qwen3_next, other"]["config"])), *files[2:4], "--parallel", self.file("r2.json", json.dumps({"pp": 2}))]
        pattern = self.ok("planner", "layout", "Et*4|t*6L", *both, "--format", "hybrid")
        self.assertEqual(pattern.text.strip(), "GEGEGE*E|GEGEGE*EGEGE")
        whole = self.ok("planner", "layout", "Et*4|t*6L", *both)
        by_sub_layer = self.ok("planner", "layout", pattern.text.strip(), *both).summary
        rounded = lambda summary: summary | {"makespan_us": round(float(summary["makespan_us"]))}  # each part, to nanoseconds
        self.assertEqual(rounded(by_sub_layer), rounded(whole.summary))
        within = self.ok("planner", "layout", "GEGEGE*|EGEGEGE*EGEGE", *both).summary
        self.assertGreater(float(within["slowest_stage_us"]), float(whole.summary["slowest_stage_us"]))
        # Python's lists of words, as recipes write them.
        recipe = '[["embedding"] + ["decoder"] * 5] + [["decoder"] * 5] * 6 + [["decoder"] * 5 + ["loss"]]'
        self.assertEqual(self.ok("planner", "layout", recipe, *files, "--format", "megatron").text.strip(), "Et*5|(t*5|)*6,t*5L")
        refused('[["embedding", "decoder"], ["encoder", "loss"]]', "unknown word of a layout, character: 28")
        # Stages may be empty, and then there may be more of them than layers: only an even split has a layer on each.
        three = {"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 3, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 4096}
        short = ["--model", self.file("three.json", json.dumps(three)), *files[2:4], "--parallel", self.file("six.json", json.dumps({"pp": 6}))]
        for given in ("Et||t|t||L", "E|t|t|t||L", "E|t*3||||L"):
            priced = json.loads(self.ok("planner", "layout", given, *short, "--format", "json").text)
            self.assertEqual(len(priced["ranks"]), 6)
            self.assertEqual([s["time_us"] == 0 for s in priced["stages"]], [s in ("", "E") for s in given.replace("t*3", "ttt").split("|")])
        found = self.ok("planner", "layout", *short)
        self.assertLessEqual(float(found.summary["slowest_stage_us"]), float(self.ok("planner", "layout", "E|t|t|t||L", *short).summary["slowest_stage_us"]))
        self.ok("planner", "layout", "E|t|t|t||m*5L", *short, "--predictions", "5")  # more modules than layers, too
        for command in (("cost", "report"), ("planner", "batches", "--lengths", "uniform:64-128"), ("planner", "offload", "--memory-gib", "40")):
            self.refused(*command, *short, says="layers for pp x vp stages is 3, but must lie in [4, ")
        # Prediction modules stand on one stage of the last chunk.
        words += ["--predictions", "2"]
        layout = self.ok("planner", "layout", *words, "--format", "megatron").text.strip()
        stages = layout.replace(",", "").split("|")
        self.assertEqual(layout.count("mm"), 1)
        self.assertIn("mm", stages[-1] + stages[-2])
        self.ok("planner", "layout", layout, *words)
        self.refused("planner", "layout", layout, *words, "--format", "mindformers", says="prediction modules in offset")
        self.refused("planner", "layout", layout, *words[:-1], "1", says="layout: has 2 prediction modules, but the model has 1: --predictions")


class Batches(ToolTest):
    """Micro-batches that differ: equal ones are the uniform path, lists and draws, robust choices, what is refused."""

    def files(self, **sizes):
        training = {"sequence": 4096, "global_batch": 16, "machine": "b200_fitted"} | sizes.pop("training", {})
        return ("--model", EXAMPLES / "llama-2-13b" / "config.json", "--training", self.file("t.json", json.dumps(training)),
                "--parallel", self.file("p.json", json.dumps({"pp": 4, "dp": 2, "tp": 2} | sizes)))

    def of(self, lengths, *options, **sizes):
        return json.loads(self.ok("planner", "batches", *self.files(**sizes), "--lengths", lengths, *options, "--json").text)

    def test_equal_lengths_are_the_uniform_path(self):
        for sizes in ({}, {"vp": 2}):
            x = self.of("uniform:4096-4096", **sizes)
            self.assertEqual(x["chosen_seconds"], x["listed_seconds"])
            self.assertEqual(x["chosen_seconds"], x["alike_seconds"])
        plan = self.ok("plan", EXAMPLES / "llama-2-13b" / "plan.json", "--out", self.folder / "plan", "--lengths",
                       "uniform:4096-4096", "--json")
        x = json.loads(plan.text)
        self.assertEqual(x["lengths"]["chosen_us"], x["lengths"]["listed_us"])
        self.assertLess(abs(x["lengths"]["chosen_us"] - x["summary"]["makespan_us"]), 1)

    def test_lists_and_draws(self):
        listed = [[1024, 3072], [4096]] * 8
        x = self.of(self.file("l.json", json.dumps(listed)))
        self.assertEqual([m["documents"] for m in x["micro_batches"]], listed)
        self.assertEqual(sorted(j for run in x["runs"] for j in run["order"]), list(range(16)))
        self.assertLess(x["lower_bound_seconds"], x["chosen_seconds"] + 1e-12)
        self.assertLess(x["chosen_seconds"], x["listed_seconds"] + 1e-12)
        flat = self.of(self.file("l.json", json.dumps([n for m in listed for n in m])))
        self.assertEqual(flat["runs"], x["runs"])
        drawn, same, other = (self.of("doublings:128-4096", "--seed", seed) for seed in (3, 3, 4))
        self.assertEqual(drawn, same)
        self.assertNotEqual(drawn["micro_batches"], other["micro_batches"])
        steps = self.of("doublings:128-4096", "--steps", 3, "--keep-steps")
        for run in steps["runs"]:
            self.assertEqual({j // 16 for j in run["order"]}, {run["step"]})

    def test_draws_without_a_limit_of_memory_are_shown_in_the_text(self):
        text = self.ok("planner", "batches", *self.files(), "--lengths", "doublings:128-4096", "--draws", 3).text
        self.assertRegex(text, r"mean s +worst s +fit .*\n.* 3 +0\.00  best")

    def test_robust_choices(self):
        x = self.of("doublings:128-4096", "--draws", 3, "--memory-gib", 34)
        best = [c for c in x["choices"] if c["best_mean"]]
        self.assertEqual(len(best), 1)
        fitting = [c for c in x["choices"] if c["fitting_draws"] == 3]
        self.assertEqual(best[0]["mean_seconds"], min(c["mean_seconds"] for c in fitting))
        self.assertTrue(all(c["lacking_bytes"] == 0 for c in fitting))
        self.assertLess(len(fitting), len(x["choices"]))
        self.assertTrue(all(r["peak_bytes"] <= 34 * 2 ** 30 for r in x["ranks"]))
        self.assertGreater(sum(best[0]["whole"]), 0)

    def test_refused(self):
        refused = lambda says, *options: self.refused("planner", "batches", *self.files(), *options, says=says)
        refused("--lengths must say how long")
        refused("must be uniform:A-B", "--lengths", "uniform:5")
        refused("must end no lower", "--lengths", "uniform:5-4")
        refused("has 1 micro-batches, but", "--lengths", self.file("one.json", "[[1]]"))
        refused("-3 must be a whole number", "--lengths", self.file("bad.json", "[-3]"))
        refused("must hold [least, most, weight]", "--lengths", self.file("h.json", '{"ranges": [[1, 2]]}'))
        refused("--draws: ", "--lengths", self.file("one.json", "[[1]]"), "--draws", 2)
        refused("--seed: ", "--lengths", self.file("one.json", "[[1]]"), "--seed", 2)
        refused("--tokens: ", "--lengths", self.file("one.json", "[[1]]"), "--tokens", 8)
        refused("no choice fits every draw into 3.00 GiB, 2.00 of them in reserve", "--lengths", "uniform:64-128", "--memory-gib", 3)
        refused("e.json: is [], but must be a list of one document or more", "--lengths", self.file("e.json", "[]"))
        refused("e.json: micro-batch 1 is [], but must be a list of one document or more", "--lengths", self.file("e.json", "[[1], []]"))
        refused("--lengths uniform:1-2, up to 2147483647 tokens a micro-batch: drawn documents: 1048577 exceeds the limit of 1048576",
                "--lengths", "uniform:1-2", "--tokens", 2**31 - 1)
        packed = self.files(training={"document_lengths": [1024, 3072]})
        self.refused("planner", "batches", *packed, "--lengths", "uniform:64-128", says="t.json: \"document_lengths\" and --lengths both say")
        # What belongs to --lengths means nothing without it.
        for command in (("planner", "batches", *self.files()), ("plan", EXAMPLES / "llama-2-13b" / "plan.json", "--out", self.folder / "plan")):
            for option in (("--tokens", 64), ("--seed", 1), ("--steps", 2), ("--keep-steps",)):
                self.misused(*command, *option, says=f"{option[0]} requires --lengths")
        plan = json.loads((EXAMPLES / "llama-2-13b" / "plan.json").read_text())
        plan.update(model=str(EXAMPLES / "llama-2-13b" / "config.json"))
        plan["training"]["document_lengths"] = [1024, 3072]
        del plan["graph"]
        self.refused("plan", self.file("plan.json", json.dumps(plan)), "--out", self.folder / "plan", "--lengths", "uniform:64-128",
                     says="plan.json: \"document_lengths\" and --lengths both say")

    def test_what_is_computed_again(self):
        """With equal lengths the peaks are those of cost report and of layout, whatever is computed again."""
        listed = self.file("equal.json", json.dumps([[4096]] * 16))
        peaks = []
        for again in ({}, {"recompute": "selective"}, {"recompute": "full"}, {"replay": ["activation"]}, {"replay": ["norm", "qkv"]},
                      {"recompute": "full", "replay": ["activation"]}):
            files = self.files(**again)
            report = json.loads(self.ok("cost", "report", *files, "--format", "json").text)
            layout = json.loads(self.ok("planner", "layout", "Et*10|(t*10|)*2t*10L", *files, "--format", "json").text)
            batches = json.loads(self.ok("planner", "batches", *files, "--lengths", listed, "--json").text)
            wanted = [r["peak_bytes"] for r in report["memory"]]
            self.assertEqual([r["peak_bytes"] for r in layout["ranks"]], wanted, again)
            self.assertTrue(all(abs(a["peak_bytes"] - b) <= 8 for a, b in zip(batches["ranks"], wanted)), again)
            peaks.append(wanted[0])
        self.assertEqual(len(set(peaks)), 5)  # flash attention keeps no scores: selective saves nothing
        self.refused("planner", "layout", *self.files(select_recompute=["activation"]), says="select_recompute")
        self.refused("planner", "batches", *self.files(recompute=[1]), "--lengths", listed, says="recompute")

    def test_memory_is_a_number(self):
        """nan is no memory; a layout that is given must fit, too."""
        for command in (("layout",), ("batches", "--lengths", "uniform:64-128")):
            self.misused("planner", *command, *self.files(), "--memory-gib", "nan", says="nan is not a number of GiB")
        self.refused("planner", "layout", "Et*10|(t*10|)*2t*10L", *self.files(), "--memory-gib", 3, says="and --memory-gib is 3.000, 2.000 of them in reserve")
        self.refused("planner", "layout", "Et*10|(t*10|)*2t*10L", *self.files(), "--memory-gib", 2, says="--reserve-gib is 2.000, which leaves nothing of --memory-gib 2.000")
        self.refused("planner", "layout", "Et*10|(t*10|)*2t*10L", *self.files(), "--reserve-gib", 1, code=2, says="--memory-gib")

    def test_times_are_whole_nanoseconds(self):
        """A product with 1e-9 would print 0.30000000000000004 and the like."""
        x = self.of("doublings:128-4096", "--draws", 2, "--memory-gib", 40)
        times = [x[f"{key}_seconds"] for key in ("listed", "chosen", "lower_bound", "alike")]
        times += [run["seconds"] for run in x["runs"]] + [c["worst_seconds"] for c in x["choices"]]
        self.assertTrue(all(t == round(t, 9) for t in times), times)


class Offload(ToolTest):
    """Keep, compute again or offload: sums of the table, never worse than one way alone, what is pasted and refused."""

    def files(self, memory, host=4e10, **sizes):
        rates = {"gemm_flops": 4e14, "attention_flops": 2e14, "memory_bytes": 2e12, "tensor_bytes": 1e11,
                 "pipeline_bytes": 5e10, "data_bytes": 5e10} | ({"host_bytes": host} if host else {})
        training = {"sequence": 4096, "global_batch": 16, "machine": {"name": "test", "source": "test"} | rates}
        return ("--model", EXAMPLES / "llama-2-13b" / "config.json", "--training", self.file("t.json", json.dumps(training)),
                "--parallel", self.file("p.json", json.dumps({"pp": 4, "tp": 2} | sizes)), "--memory-gib", memory)

    def test_what_is_chosen_is_not_given(self):
        self.refused("planner", "offload", *self.files(40, recompute="full"), says='leave "recompute" out')
        self.refused("planner", "offload", *self.files(40, offload_activations=True), says='leave "offload_activations" out')

    def test_stages(self):
        x = json.loads(self.ok("planner", "offload", *self.files(40), "--json").text)
        times = {c["choice"]: c.get("step_seconds") for c in x["choices"]}
        self.assertIsNone(times["keep"])
        others = [t for way, t in times.items() if t is not None and way != "chosen"]
        self.assertTrue(others)
        self.assertLessEqual(times["chosen"], min(others))
        for stage in x["stages"]:
            held = copies = again = 0
            for c in stage["tensors"]:
                self.assertEqual(c["keep"] + c["again"] + c["move"], c["layers"])
                staged = min(2, stage["in_flight"] * c["move"])
                held += c["bytes"] * (stage["in_flight"] * c["keep"] + staged + (c["again"] > 0))
                copies += c["move"] * c["copy_us"]
                again += c["again"] * c["again_us"]
                self.assertAlmostEqual(c["copy_us"], 2 * c["bytes"] / 4e10 * 1e6, places=2)
            self.assertEqual(held, stage["held_bytes"])
            self.assertLessEqual(held, stage["capacity_bytes"])
            self.assertAlmostEqual(stage["extra_us"], again + max(0, copies - stage["may_hide_us"]), places=1)
            self.assertLessEqual(stage["lower_bound_us"], stage["extra_us"])
        self.pasted(x)
        slow = json.loads(self.ok("planner", "offload", *self.files(40, host=1e7), "--json").text)
        self.assertEqual(sum(c["move"] for s in slow["stages"] for c in s["tensors"]), 0)

    def pasted(self, x):
        """Layers of the pasted lists are those that the tables count, and no layer does both."""
        parts = {"attention": "attention\\.flash_attention", "qkv": "attention\\.wk\\.matmul", "ffn_in": "feed_forward\\.w3\\.matmul",
                 "activation": "feed_forward\\.mul", "norm": "ffn_norm\\.norm", "output": "attention\\.wo\\.matmul"}
        again = dict(re.findall(r"(?m)^    '(.*)': \[(.*)\]$", x["mindformers"]))
        moved = dict(re.findall(r"op_name: '(.*)'\n      backward_prefetch: 1\n      layers: \[(.*)\]", x["mindformers"]))
        numbers = lambda text: [int(n) for n in text.split(", ")] if text else []
        self.assertTrue(moved)
        for by, part in parts.items():
            rows = [(s["stage"], c) for s in x["stages"] for c in s["tensors"] if c["by"] == by]
            begins = lambda stage: 10 * stage  # 40 layers on 4 stages
            self.assertEqual(numbers(again.get(part, "")), [begins(s) + l for s, c in rows for l in range(c["again"])], by)
            self.assertEqual(numbers(moved.get(part, "")), [begins(s) + c["again"] + l for s, c in rows for l in range(c["move"])], by)
        modules = {"attention": "attn_proj", "qkv": "core_attn", "norm": "qkv_linear", "output": "mlp_norm"}
        listed = re.search(r"--offload-modules (.*)", x["megatron"])
        for by, module in modules.items():
            moves = any(c["move"] for s in x["stages"] for c in s["tensors"] if c["by"] == by)
            self.assertEqual(moves, listed is not None and module in listed[1].split(), by)

    def test_without_swap_lists_count_layers_of_stages(self):
        x = json.loads(self.ok("planner", "offload", *self.files(40, host=1e7), "--json").text)
        count = lambda by: [sum(c["again"] for c in s["tensors"] if c["by"] == by) for s in x["stages"]]
        self.assertTrue(sum(count("norm")) + sum(count("activation")))
        self.assertNotIn("swap", x["mindformers"])
        for by, part in (("norm", "attention_norm\\.norm"), ("activation", "feed_forward\\.mul")):
            line = f"    '{part}': {count(by)}\n"
            self.assertEqual(line in x["mindformers"], sum(count(by)) > 0, line)

    def test_refused(self):
        refused = lambda says, *options: self.refused("planner", "offload", *options, says=says)
        refused("has no \"host_bytes\"", *self.files(40, host=0))
        refused("one chunk a rank only", *self.files(40, vp=2))
        refused("lack", *self.files(5))


if __name__ == "__main__":
    main()
