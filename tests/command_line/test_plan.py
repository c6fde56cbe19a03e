# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket plan: every file is there, can be read by those it is for, and all say the same."""
import json
import re
import unittest
import xml.etree.ElementTree

from harness import DATA, EXAMPLES, PLAN, ROOT, ToolTest, main

FILES = {"report.html", "report.txt", "report.json", "timeline.svg", "trace.json", "schedule.csv", "tiles.svg"}


class Plan(ToolTest):
    def changed(self, change):
        """The example's plan with one change, and absolute file names."""
        value = json.loads(PLAN.read_text())
        value["model"] = str(PLAN.parent / value["model"])
        value["graph"]["ops"] = str((PLAN.parent / value["graph"]["ops"]).resolve())
        change(value)
        return self.file("plan.json", json.dumps(value))

    def test_the_readme_shows_what_the_demo_prints(self):
        said = self.ok("plan", ROOT / "examples/data/llama-2-13b/plan.json", "--out", self.folder / "demo").text.replace(f"{ROOT}/", "")
        shown = (ROOT / "README.md").read_text().split("The demo prints\n\n```text\n")[1].split("```")[0]
        self.assertIn(shown, said)

    def test_a_schedule_that_is_left_open(self):
        def open_choice(value):
            for key in ("schedule", "groups", "kappa"):
                value["pipeline"].pop(key, None)
        def interleaved(value):
            open_choice(value)
            value["pipeline"]["schedule"] = "interleaved"
        reports = []
        for change in (open_choice, interleaved):
            out = self.folder / change.__name__
            self.ok("plan", self.changed(change), "--out", out)
            reports.append(json.loads((out / "report.json").read_text())["pipeline"])
            self.ok("pipeline", "check", "--table", out / "schedule.csv")
        found, usual = reports
        calls = json.loads((out / "report.json").read_text())["calls"]
        self.assertIn(calls["verdict"], ("safe", "may hang", "not proved"))
        self.assertTrue(calls["told"].startswith(calls["verdict"] + ": "))
        self.assertIn("calls of all ranks     " + calls["summary"], (out / "report.txt").read_text())
        self.assertIn("found_by", found)
        self.assertNotIn("found_by", usual)
        self.assertLessEqual(found["makespan_us"], usual["makespan_us"])
        for a, b in zip(found["per_rank"], usual["per_rank"]):
            self.assertLessEqual(a["peak_in_flight"], b["peak_in_flight"])
        def one_chunk(value):
            open_choice(value)
            value["parallel"]["vp"] = 1
            value["cluster"]["links"]["pipeline"]["latency_us"] = 5000  # holding more would hide it
        out = self.folder / "one_chunk"
        self.ok("plan", self.changed(one_chunk), "--out", out)
        per_rank = json.loads((out / "report.json").read_text())["pipeline"]["per_rank"]
        self.assertEqual([r["peak_in_flight"] for r in per_rank], [4, 3, 2, 1])  # no more than 1F1B
        def groups_alone(value):
            open_choice(value)
            value["pipeline"]["groups"] = "last"
        self.refused("plan", self.changed(groups_alone), "--out", self.folder / "no", says="groups")

    def test_sizes_and_recompute_that_are_left_open(self):
        def ask(name, change, **parallel):
            def open_all(value):
                value["training"]["machine"] = "guide_device"
                value["training"]["global_batch"] = 32
                value["pipeline"] = {"schedule": "interleaved"}
                value.pop("step_seconds")
                value["parallel"] = parallel
                change(value)
            done = self.ok("plan", self.changed(open_all), "--out", self.folder / name)
            report = json.loads((self.folder / name / "report.json").read_text())
            return done, report, report.get("chosen")

        def none_given(value):
            del value["parallel"], value["training"]["micro_batch"]
        done, report, free = ask("free", none_given)
        keys = {"tp", "pp", "vp", "cp", "zero", "recompute", "sequence_parallel", "copies", "micro_batch"}
        self.assertEqual(set(free["open"]), keys)  # no "ep": the model has no experts
        self.assertEqual(free["open"]["tp"] * free["open"]["pp"] * free["open"]["cp"] * free["dp"], 16)
        self.assertEqual(free["held_fixed"], "sequences 32")
        # An object that names no layout fixes what it names, and leaves the rest open.
        _, _, but_zero = ask("zero", lambda v: None, zero=1)
        self.assertEqual(set(but_zero["open"]), keys - {"zero", "micro_batch"})
        self.assertIn("zero 1", but_zero["held_fixed"])
        self.assertGreaterEqual(but_zero["step_seconds"], free["step_seconds"])
        self.assertEqual(free["named"], free["fitting"] + sum(free["rejected"].values()))
        self.assertEqual((report["pipeline"]["ranks"], report["pipeline"]["chunks"]), (free["open"]["pp"], free["open"]["vp"]))
        self.assertEqual(done.summary["fits"], "yes")
        self.assertIn("Chosen, because the file leaves it open", done.text)
        self.assertRegex(done.text, rf"  recompute +{free['open']['recompute']}\n")

        # What is given is kept; the choice is no slower than any one that it could have been.
        fixed = {k: v for k, v in free["open"].items() if k != "micro_batch"}
        for tp in (1, 2, 4, 8):
            for pp in (1, 2, 4) if tp < 8 else (1, 2):
                with self.subTest(tp=tp, pp=pp):
                    rest = dict(tp=tp, pp=pp, vp="search", zero="search", recompute="search", sequence_parallel="search", copies="search")
                    _, one, some = ask(f"tp{tp}pp{pp}", lambda v: v["training"].update(micro_batch="search"), **rest)
                    self.assertEqual((one["pipeline"]["ranks"], some["dp"], set(some["open"])), (pp, 16 // (tp * pp), keys - {"tp", "pp", "cp"}))
                    self.assertLessEqual(free["step_seconds"], some["step_seconds"])
                    if (tp, pp, 1) == (fixed["tp"], fixed["pp"], fixed["cp"]):
                        self.assertEqual(some["step_seconds"], free["step_seconds"])
        # Little memory: layers are computed again, and the report says so.
        tight = dict(fixed, tp=2, pp=4, vp=1, cp=1, zero=1, copies=1, sequence_parallel=True, recompute="search")
        small = lambda v: v["cluster"].update(memory_gib=24)
        _, report, chosen = ask("tight", small, **tight)
        self.assertEqual(chosen["open"], {"recompute": "by_stage"})
        self.assertLess(chosen["step_seconds"], chosen["all_layers_alike"]["step_seconds"])
        self.assertGreater(chosen["rejected"]["a rank needs more memory than a device has"], 0)
        self.assertTrue(all(rank["fits"] for rank in report["memory"]))

    def test_sizes_are_chosen_for_their_own_splits(self):
        before = None
        for gib in (14, 16, 18, 20, 28, 40, 64):  # more memory is never a slower plan
            def change(value):
                del value["parallel"], value["training"]["micro_batch"], value["step_seconds"]
                value["training"].update(machine="guide_device", global_batch=256)
                value["cluster"].update(memory_gib=gib, reserve_gib=0)
                value["pipeline"] = {}
            with self.subTest(gib=gib):
                out = self.folder / f"gib{gib}"
                done = self.ok("plan", self.changed(change), "--out", out)
                report = json.loads((out / "report.json").read_text())
                chosen, ranks = report["chosen"], report["cost"]["memory"]
                self.assertEqual(done.summary["fits"], "yes")
                self.assertAlmostEqual(chosen["step_seconds"], report["cost"]["step"]["seconds"], places=9)
                self.assertEqual(chosen["bytes"], max(int(rank["peak_bytes"]) for rank in ranks))
                self.assertLessEqual(chosen["bytes"], gib << 30)
                self.assertLessEqual(chosen["step_seconds"], chosen["all_layers_alike"]["step_seconds"] * 1.0001)
                if before is not None:
                    self.assertLessEqual(chosen["step_seconds"], before)
                before = chosen["step_seconds"]
                if gib == 16:  # recomputing some layers beats every choice that recomputes all alike
                    self.assertLess(chosen["step_seconds"], 0.95 * chosen["all_layers_alike"]["step_seconds"])

    def open_sizes(self, name, **pipeline):
        """The report where sizes are open, and what the pipeline gives."""
        def change(value):
            value["training"].update(machine="guide_device", global_batch=64, micro_batch="search")
            value["parallel"], value["pipeline"] = {key: "search" for key in ("tp", "pp", "vp", "zero", "recompute")}, pipeline
            value.pop("step_seconds")
        text = self.ok("plan", self.changed(change), "--out", self.folder / name).text
        return text, json.loads((self.folder / name / "report.json").read_text())

    def test_sizes_agree_with_the_pipeline_that_is_given(self):
        _, free = self.open_sizes("free")
        for stages in (4, 8):
            _, report = self.open_sizes(f"stages{stages}", split=[40 // stages] * stages)
            ranks, chunks = report["pipeline"]["ranks"], report["pipeline"]["chunks"]
            self.assertEqual((ranks * chunks, len(report["split"]["stages"])), (stages, stages))
            self.assertGreater(free["chosen"]["named"], report["chosen"]["named"])
            self.assertEqual(report["chosen"]["named"], report["chosen"]["fitting"] + sum(report["chosen"]["rejected"].values()))
        _, report = self.open_sizes("batches", micro_batches=16)
        open_sizes = report["chosen"]["open"]
        self.assertEqual(report["pipeline"]["micro_batches"], 16)
        self.assertEqual(64 // (open_sizes["micro_batch"] * report["chosen"]["dp"]), 16)
        self.assertGreaterEqual(report["chosen"]["step_seconds"], free["chosen"]["step_seconds"])
        # A choice that agrees by itself is the same choice.
        pipeline = free["pipeline"]
        _, same = self.open_sizes("same", micro_batches=pipeline["micro_batches"])
        self.assertEqual(same["chosen"]["open"], free["chosen"]["open"])
        def none(value):
            value["training"]["machine"] = "guide_device"
            del value["parallel"]
            value["pipeline"] = {"split": [13, 13, 14]}
        self.refused("plan", self.changed(none), "--out", self.folder / "no", says="divides the 16 devices and has the 3 stages of \"pipeline.split\"")
        def empty(value):
            none(value)
            value["pipeline"]["split"] = []
        self.refused("plan", self.changed(empty), "--out", self.folder / "no", says="\"pipeline.split\" is empty")

    def test_what_was_chosen_from_stands_in_both_reports(self):
        text, report = self.open_sizes("open")
        chosen = report["chosen"]
        self.assertIn(f"the leanest            {chosen['leanest']['step_seconds']:9.3f} s with {chosen['leanest']['bytes'] / 2 ** 30:.2f} GiB", text)
        self.assertIn(f"{chosen['split_by_themselves']:9} sizes, those quick or lean if all layers are alike; {chosen['splits_that_fit']} fit", text)
        self.assertGreater(chosen["splits_that_fit"], 0)
        more = chosen["with_more_memory"]
        self.assertIn(f"with more memory       {more['step_seconds']:9.3f} s with {more['bytes'] / 2 ** 30:.2f} GiB", text)
        self.assertLess(more["step_seconds"], chosen["all_layers_alike"]["step_seconds"])
        self.assertLess(report["memory_limit_bytes"], more["bytes"])

    def test_an_even_split_by_name_takes_the_same_times(self):
        runs = []
        for number, split in enumerate(("even", [10] * 4)):
            def change(value, split=split):
                value["training"]["machine"] = "guide_device"
                value["parallel"]["vp"], value["pipeline"] = 1, {"schedule": "1f1b", "split": split}
            text = self.ok("plan", self.changed(change), "--out", self.folder / f"even{number}").text
            self.assertIn("predicted from the rates of the machine", text)
            runs.append(json.loads((self.folder / f"even{number}" / "report.json").read_text())["pipeline"])
        self.assertEqual(*runs)

    def test_open_choices_that_cannot_be(self):
        def change(value, **more):
            value["training"]["machine"] = "guide_device"
            value["parallel"]["tp"] = "search"
            value["parallel"].pop("dp")
        def refuse(number, says, also):
            def both(value):
                change(value)
                also(value)
            out = self.folder / f"no{number}"
            self.refused("plan", self.changed(both), "--out", out, says=says)
            self.assertFalse(out.exists())
        refuse(1, "training.machine", lambda v: v["training"].pop("machine"))
        refuse(2, "parallel.dp", lambda v: v["parallel"].update(dp=2))
        refuse(3, "more memory", lambda v: v["cluster"].update(memory_gib=3))
        refuse(4, "parallel.etp", lambda v: v["parallel"].update(etp="find"))
        refuse(7, "divides the 16 devices and has \"pipeline.micro_batches\" 9", lambda v: v["parallel"].update(pp=3))
        refuse(5, "devices_per_node", lambda v: v["cluster"].update(devices_per_node=0))
        refuse(6, "tensor_bytes", lambda v: v["training"].update(machine={
            "name": "slow", "source": "none", "gemm_flops": 1e14, "memory_bytes": 1e12, "data_bytes": 1e10, "pipeline_bytes": 1e10}))

    def test_muon(self):
        """The states are those of cost report; what would need predicted seconds or other splits is refused."""
        def by(optimizer):
            return lambda v: v["training"].update(optimizer=optimizer, predictions=1)
        reports = []
        for optimizer in ("adam", "muon"):
            self.ok("plan", self.changed(by(optimizer)), "--out", self.folder / optimizer)
            reports.append(json.loads((self.folder / optimizer / "report.json").read_text()))
        adam, muon = reports
        for key in ("makespan_us", "lower_bound_us", "per_rank"):
            self.assertEqual(adam["pipeline"][key], muon["pipeline"][key])
        self.assertEqual(adam["cost"]["parameters"], muon["cost"]["parameters"])
        plan = json.loads(PLAN.read_text())
        training = self.file("t.json", json.dumps({**plan["training"], "optimizer": "muon", "predictions": 1}))
        cost = json.loads(self.ok("cost", "report", "--model", PLAN.parent / "config.json", "--training", training, "--parallel",
                                  self.file("p.json", json.dumps(plan["parallel"])), "--format", "json").text)
        self.assertEqual([m["static_bytes"] for m in muon["cost"]["memory"]], [m["static_bytes"] for m in cost["memory"]])
        for a, b in zip(adam["cost"]["memory"], muon["cost"]["memory"]):
            self.assertEqual(a["activation_bytes"], b["activation_bytes"])
            self.assertLess(b["static_bytes"], a["static_bytes"])
        def refused(says, change):
            def both(value):
                by("muon")(value)
                change(value)
            self.refused("plan", self.changed(both), "--out", self.folder / "no", says=says)
        refused("of whose updates no seconds are predicted", lambda v: v["training"].update(machine="guide_device"))
        refused("must say every size", lambda v: (v["parallel"].update(pp="search"), v["parallel"].pop("dp")))
        refused("zero with Muon is 3, but must lie in [0, 1]", lambda v: v["parallel"].update(zero=3))

    def test_an_even_split_has_a_layer_on_every_stage(self):
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))
        model = self.file("m.json", json.dumps(records["qwen3_next, other"]["config"]))  # 10 layers
        for name, says in (("even", "layers for pp x vp stages is 10, but must lie in [14, "), ([1] * 10, "is [1,1,1,1,1,1,1,1,1,1]: 10 numbers, but pp x vp is 16 stages")):
            def change(value):
                value["model"] = str(model)
                value["parallel"].update(pp=8, dp=1)
                value["training"]["global_batch"] = 9
                value["pipeline"]["split"] = name
            self.refused("plan", self.changed(change), "--out", self.folder / "no", says=says)

    def test_a_plan_and_a_cost_report_have_one_number(self):
        training = {"sequence": 4096, "micro_batch": 1, "global_batch": 64, "machine": "h100_sxm"}
        for parallel in ({"tp": 4, "dp": 4}, {"tp": 2, "pp": 4, "dp": 2}, {"pp": 4, "vp": 2, "dp": 4}, {"pp": 8, "vp": 3, "dp": 2},
                         {"tp": 2, "pp": 8, "recompute": "full"}):
            def change(value):
                for key in ("graph", "fused_operator", "step_seconds"):
                    value.pop(key, None)
                vp = parallel.get("vp", 1)
                value.update(training=training, parallel=parallel, cluster={"devices": 16, "memory_gib": 80},
                             pipeline={"schedule": "1f1b"} if vp == 1 else {"schedule": "interleaved", "kappa": 2})
            with self.subTest(parallel=parallel):
                plan = self.changed(change)
                self.ok("plan", plan, "--out", self.folder / "one")
                report = json.loads((self.folder / "one" / "report.json").read_text())
                files = []
                for name, value in (("training", training), ("parallel", parallel)):
                    path = self.folder / f"{name}.json"
                    path.write_text(json.dumps(value))
                    files += [f"--{name}", path]
                model = json.loads(plan.read_text())["model"]
                alone = json.loads(self.ok("cost", "report", "--model", model, *files, "--format", "json").out)
                self.assertAlmostEqual(report["predicted_step"]["seconds"] / alone["step"]["seconds"], 1, places=7)
                self.assertEqual(report["cost"]["step"]["seconds"], report["predicted_step"]["seconds"])
                self.assertEqual([m["peak_bytes"] for m in report["memory"]], [m["peak_bytes"] for m in alone["memory"]])

    def test_a_machine_of_the_command_takes_the_place_of_the_file_s(self):
        seconds = []
        for name, in_file, words in (("file", "h100_sxm", []), ("option", "guide_device", ["--machine", "h100_sxm"]),
                                     ("other", "h100_sxm", ["--machine", "b200"])):
            plan = self.changed(lambda v: v["training"].update(machine=in_file))
            self.ok("plan", plan, *words, "--out", self.folder / name)
            seconds.append(json.loads((self.folder / name / "report.json").read_text())["predicted_step"]["seconds"])
        self.assertEqual(seconds[0], seconds[1])
        self.assertLess(seconds[2], seconds[0])
        self.misused("plan", plan, "--machine", "h99", "--out", self.folder / "no")

    def test_a_split_that_is_open(self):
        def two_stages(value, vp=1, **pipeline):
            value["training"] = {"sequence": 4096, "micro_batch": 2, "global_batch": 256, "weights": "bf16", "gradients": "bf16",
                                 "optimizer": "adam", "machine": "guide_device"}
            value["parallel"] = {"tp": 1, "pp": 2, "vp": vp, "zero": 1, "recompute": "search"}
            value["cluster"]["memory_gib"] = 57.2
            value["pipeline"] = pipeline
            value.pop("step_seconds")
        def report(name, change):
            text = self.ok("plan", self.changed(change), "--out", self.folder / name).text
            return text, json.loads((self.folder / name / "report.json").read_text())
        for vp in (1, 2):
            with self.subTest(vp=vp):
                text, whole = report(f"open{vp}", lambda v: two_stages(v, vp))
                split = whole["split"]
                self.assertTrue(split["searched"])
                self.assertEqual(sum(s["layers"] for s in split["stages"]), 40)
                for stage, time in zip(split["stages"], whole["pipeline"]["stages"]):
                    self.assertEqual(sum(stage["layers_at"].values()), stage["layers"])
                    self.assertEqual(time["layers"], stage["layers"])
                self.assertTrue(all(m["fits"] for m in whole["memory"]))
                self.assertLessEqual(split["step_seconds"], split["even_split_seconds"])
                self.assertLessEqual(split["lower_bound_seconds"], split["step_seconds"] * 1.000001)
                self.assertAlmostEqual(split["step_seconds"], whole["pipeline"]["makespan_us"] / 1e6, delta=split["step_seconds"] * 0.01)
                self.assertIn("Split of the layers: searched for", text)
                for line in split["mind_formers"].splitlines():
                    self.assertIn(line, text)
                # The lists to paste are the numbers.
                full = [[0, 0] for _ in range(vp)]
                for s in split["stages"]:
                    full[s["chunk"]][s["rank"]] = s["layers_at"]["full"]
                self.assertIn(f"recompute: {full if vp > 1 else full[0]}\n", split["mind_formers"])
                # Given back, the same split takes the same levels: nothing else was assumed.
                layers = [s["layers"] for s in split["stages"]]
                _, again = report(f"given{vp}", lambda v: two_stages(v, vp, split=layers))
                self.assertFalse(again["split"]["searched"])
                if vp == 1:
                    self.assertEqual(again["split"]["stages"], split["stages"])
        _, even = report("even", lambda v: two_stages(v, split="even"))
        self.assertNotIn("split", even)
        # All layers whole fits, too, but is slower than what the planner found.
        self.assertGreater(even["pipeline"]["makespan_us"], report("open", two_stages)[1]["pipeline"]["makespan_us"])

    def test_an_even_split_by_hand_is_the_even_split(self):
        for level in ("none", "full"):
            reports = []
            for number, split in enumerate(("even", [5] * 8)):
                def change(value, split=split, level=level):
                    value["pipeline"]["split"] = split
                    value["parallel"]["recompute"] = level
                out = self.folder / f"{level}{number}"
                self.ok("plan", self.changed(change), "--out", out)
                reports.append(json.loads((out / "report.json").read_text()))
            by_rule, by_hand = reports
            self.assertEqual(by_rule["pipeline"], by_hand["pipeline"])
            self.assertEqual(by_rule["cost"]["memory"], by_hand["cost"]["memory"])
            self.assertEqual(by_rule["cost"]["flops"], by_hand["cost"]["flops"])
        def refuse(number, split, says, also=lambda v: None):
            def change(value):
                value["pipeline"]["split"] = split
                also(value)
            self.refused("plan", self.changed(change), "--out", self.folder / f"bad{number}", says=says)
        refuse(1, [5] * 7, "is [5,5,5,5,5,5,5]: 7 numbers, but pp x vp is 8 stages")
        refuse(2, [5] * 7 + [4], "39 layers, but the model has 40")
        refuse(3, [0] + [5] * 7, "pipeline.split")
        refuse(4, "odd", "pipeline.split")
        refuse(5, "search", "training.machine")
        refuse(6, "search", "measured", lambda v: (v["training"].update(machine="guide_device"),
                                                   v["pipeline"].update(forward_us=1, backward_us=2)))
        refuse(7, [5.5] * 8, "whole numbers")

    def test_no_op_graph(self):
        with_graph, without = self.folder / "with", self.folder / "without"
        self.ok("plan", PLAN, "--out", with_graph)
        done = self.ok("plan", self.changed(lambda v: v.pop("graph")), "--out", without)
        self.assertNotIn("waits", done.summary)
        self.assertIn("makespan_us", done.summary)
        whole, part = (json.loads((out / "report.json").read_text()) for out in (with_graph, without))
        whole.pop("dependencies")
        self.assertEqual(part, whole)
        self.assertNotIn('"graph":', (without / "report.html").read_text())

    def test_one_predicted_step(self):
        out = self.folder / "step"
        self.ok("plan", self.changed(lambda v: v["training"].update(machine="guide_device")), "--out", out)
        report, text = json.loads((out / "report.json").read_text()), (out / "report.txt").read_text()
        step = report["predicted_step"]
        self.assertAlmostEqual(sum(part["seconds"] for part in step["parts"]), step["seconds"], 9)
        self.assertAlmostEqual(step["parts"][0]["seconds"], report["pipeline"]["makespan_us"] / 1e6, 9)
        self.assertRegex(text, rf"Step, predicted for {step['machine']}\n(  .*%\n)+  step +{step['seconds']:.4f} s\n")
        page = re.search(r'"predicted_step":(\{.*?\]\})', (out / "report.html").read_text()).group(1)
        self.assertEqual(json.loads(page), step)

    def test_the_example(self):
        out = self.folder / "made" / "here"
        done = self.ok("plan", PLAN, "--out", out)
        self.assertEqual({p.name for p in out.iterdir()}, FILES)
        text = (out / "report.txt").read_text()
        report = json.loads((out / "report.json").read_text())
        summary = done.summary
        self.assertEqual(report["version"], 1)
        self.assertTrue({"dependencies", "pipeline", "memory", "fused_operator", "cost"} <= set(report))
        self.assertTrue({"parameters", "flops", "memory", "terms"} <= set(report["cost"]))
        self.assertTrue(text.startswith(done.text))

        # The graph, against the commands that answer the same question alone.
        ops = EXAMPLES / "ops" / "llama2_13b_stage.ops.csv"
        graph = report["dependencies"]
        pruned = self.ok("graph", "prune", "--ops", ops, "--rules", "ordered").summary
        waits = self.ok("graph", "sync", "--ops", ops, "--rules", "ordered").summary
        self.assertEqual((graph["ops"], graph["edges_before"], graph["edges_after"], graph["waits"]),
                         tuple(int(n) for n in (pruned["nodes"], pruned["edges"], pruned["kept"], waits["waits"])))
        self.assertEqual((summary["edges"], summary["kept"], summary["waits"]), (pruned["edges"], pruned["kept"], waits["waits"]))
        for words, number in (("edges before pruning", graph["edges_before"]), ("edges after pruning", graph["edges_after"]),
                              ("event waits needed", graph["waits"])):
            self.assertRegex(text, rf"{words} +{number}\b")

        # The pipeline.
        pipeline = report["pipeline"]
        self.assertEqual((pipeline["ranks"], pipeline["chunks"], pipeline["micro_batches"], len(pipeline["stages"])), (4, 2, 9, 8))
        self.assertEqual(summary["makespan_us"], f"{pipeline['makespan_us']:.1f}")
        self.assertEqual(summary["lower_bound_us"], f"{pipeline['lower_bound_us']:.1f}")
        self.assertEqual(summary["bubble"], f"{pipeline['bubble']:.4f}")
        self.assertLessEqual(pipeline["lower_bound_us"], pipeline["makespan_us"])
        self.assertIn(f"{pipeline['makespan_us'] / 1e3:.3f} ms", text)
        for rank in pipeline["per_rank"]:
            self.assertAlmostEqual(rank["busy_us"] + rank["idle_us"], pipeline["makespan_us"], places=2)
        idle = sum(r["idle_us"] for r in pipeline["per_rank"])
        self.assertAlmostEqual(pipeline["bubble"], idle / (4 * pipeline["makespan_us"]), places=9)
        listed = self.ok("pipeline", "list", "interleaved", "--ranks", 4, "--chunks", 2, "--micro-batches", 9, "--format", "torch")
        self.assertEqual((out / "schedule.csv").read_bytes(), listed.out)
        self.ok("pipeline", "check", "--table", out / "schedule.csv")

        # The tiles, memory and cost.
        problem = self.file("problem.json", json.dumps(json.loads(PLAN.read_text())["fused_operator"]))
        solved = json.loads(self.ok("tiling", "solve", "--problem", problem).text)
        self.assertEqual(report["fused_operator"], solved)
        self.assertIn(" + ".join(map(str, solved["tiles"])), text)
        cost = report["cost"]
        self.assertEqual(summary["parameters"], str(cost["parameters"]["total"]))
        self.assertEqual(cost["parameters"]["total"], 13015864320)
        self.assertEqual(summary["flops_per_step"], str(cost["flops"]["per_step"]))
        self.assertEqual(int(summary["max_bytes_per_rank"]), max(r["total_bytes"] for r in cost["memory"]))
        fits = [r["total_bytes"] <= report["memory_limit_bytes"] for r in cost["memory"]]
        self.assertEqual([r["fits"] for r in report["memory"]], fits)
        self.assertEqual(summary["fits"], "yes" if all(fits) else "no")
        mfu = cost["flops"]["per_step"] / (1.8 * 16 * 376e12)
        self.assertAlmostEqual(cost["flops"]["mfu"]["ratio"], mfu, places=12)
        self.assertIn(f"MFU {100 * mfu:.1f} %", text)

        # The pictures.
        for name in ("timeline.svg", "tiles.svg"):
            self.assertEqual(xml.etree.ElementTree.fromstring((out / name).read_bytes()).tag, "{http://www.w3.org/2000/svg}svg")
        trace = json.loads((out / "trace.json").read_text())
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        spans = [e for e in events if e["ph"] == "X"]
        self.assertGreaterEqual(len(spans), 4 * 2 * 9 * 2)
        self.assertAlmostEqual(max(e["ts"] + e["dur"] for e in spans), pipeline["makespan_us"], delta=1)

    def test_without_a_fused_operator_there_are_no_tiles(self):
        plan = self.changed(lambda v: v.pop("fused_operator"))
        out = self.folder / "out"
        self.ok("plan", plan, "--out", out)
        self.assertEqual({p.name for p in out.iterdir()}, FILES - {"tiles.svg"})
        self.assertNotIn("fused_operator", json.loads((out / "report.json").read_text()))

    def test_too_little_memory_is_said(self):
        done = self.ok("plan", self.changed(lambda v: v["cluster"].update(memory_gib=32)), "--out", self.folder / "out")
        self.assertEqual(done.summary["fits"], "no")
        self.assertRegex(done.text, r"NO\n")

    def test_the_verdict_goes_by_the_peak_and_the_reserve(self):
        GIB = 1 << 30
        def sharded(**cluster):
            def change(v):
                v["parallel"] = {"tp": 1, "pp": 2, "vp": 1, "dp": 8, "zero": 3}
                v["training"]["global_batch"] = 144
                v["pipeline"] = {"schedule": "1f1b"}
                v.pop("step_seconds")
                v["cluster"].update(cluster)
            return self.changed(change)
        out = self.folder / "out"
        self.ok("plan", sharded(memory_gib=100), "--out", out)
        report = json.loads((out / "report.json").read_text())
        ranks = report["cost"]["memory"]
        peak, total = (max(r[key] for r in ranks) for key in ("peak_bytes", "total_bytes"))
        self.assertGreater(peak, total)  # with ZeRO 3 a layer's weights are gathered for a moment
        self.assertEqual((report["memory_limit_bytes"], report["memory_reserve_bytes"]), (100 * GIB, 2 * GIB))
        for cluster, fits in (({"memory_gib": peak / GIB + 2.001}, "yes"), ({"memory_gib": peak / GIB + 1.999}, "no"),
                              ({"memory_gib": peak / GIB + 0.001, "reserve_gib": 0}, "yes"),
                              ({"memory_gib": (peak + total) / 2 / GIB, "reserve_gib": 0}, "no"),
                              ({"memory_gib": peak / GIB + 4, "reserve_gib": 5}, "no")):
            with self.subTest(cluster=cluster):
                done = self.ok("plan", sharded(**cluster), "--out", out)
                self.assertEqual(done.summary["fits"], fits)
                memory = json.loads((out / "report.json").read_text())["memory"]
                self.assertEqual(all(r["fits"] for r in memory), fits == "yes")
                self.assertEqual(max(r["peak_bytes"] for r in memory), peak)
                self.assertRegex(done.text, "rank 0 needs most, in the backward pass of a layer: .* GiB are " + ("left" if fits == "yes" else "missing"))
        self.refused("plan", sharded(memory_gib=2), "--out", out, says='"cluster.memory_gib"')
        self.refused("plan", sharded(memory_gib=20, reserve_gib=20), "--out", out, says='"cluster.reserve_gib"')
        self.refused("plan", sharded(memory_gib=20, reserve_gib=-1), "--out", out, says='"cluster.reserve_gib"')

    def test_every_schedule(self):
        for name in ("1f1b", "gpipe"):
            def change(v):
                v["pipeline"] = {"schedule": name}
                v["parallel"]["vp"] = 1
            with self.subTest(name):
                out = self.folder / name
                self.ok("plan", self.changed(change), "--out", out)
                self.assertEqual((out / "schedule.csv").read_bytes(),
                                 self.ok("pipeline", "list", name, "--ranks", 4, "--micro-batches", 9, "--format", "torch").out)

    def test_open_sizes_are_for_what_the_named_schedule_holds(self):
        for named in ({"schedule": "gpipe"}, {"schedule": "1f1b", "kappa": 2}, {"schedule": "interleaved", "kappa": 2}):
            for gib in (24, 40):
                def change(v):
                    v["training"].update(machine="guide_device", global_batch=64)
                    v.pop("step_seconds")
                    v["pipeline"], v["cluster"]["memory_gib"] = dict(named, split="even"), gib
                    v["parallel"] = dict.fromkeys(("tp", "pp", "zero", "recompute", "sequence_parallel", "copies"), "search")
                    v["parallel"]["vp"] = 1
                with self.subTest(named=named, gib=gib):
                    done = self.ok("plan", self.changed(change), "--out", self.folder / f"{named['schedule']}{gib}")
                    self.assertEqual(done.summary["fits"], "yes")

    def test_names_and_values_of_what_is_refused(self):
        def refuse(says, change):
            self.refused("plan", self.changed(change), "--out", self.folder / "no", says=says)
        refuse("\"pipeline.schedule\" is \"zigzag\", but must be one of: gpipe, 1f1b", lambda v: v["pipeline"].update(schedule="zigzag"))
        refuse("\"pipeline.groups\" is \"most\", but must be one of: balanced", lambda v: v["pipeline"].update(groups="most"))
        refuse("ns of the forward pass of stage 0: 9200000000000000000 exceeds", lambda v: v["pipeline"].update(forward_us=1e30, backward_us=1))
        refuse("ns of a hop between two ranks: 9200000000000000000 exceeds", lambda v: v["cluster"]["links"]["pipeline"].update(latency_us=1e30))
        refuse("\"title\" is \"two\\nlines\", but must be one line", lambda v: v.update(title="two\nlines"))
        refuse("\"step_seconds\" is 1e-300 and \"peak_tflops\" is", lambda v: v.update(step_seconds=1e-300))
        self.assertFalse((self.folder / "no").exists())

    def test_a_wild_title_stays_text(self):
        title = "<script>&\"'\\ \u00fc\u4e2d " + "x" * 600
        out = self.folder / "out"
        self.ok("plan", self.changed(lambda v: v.update(title=title)), "--out", out)
        self.assertEqual(json.loads((out / "report.json").read_text())["title"], title)
        self.assertTrue((out / "report.txt").read_text(encoding="utf-8").startswith(title + "\n"))
        picture = (out / "timeline.svg").read_bytes()
        self.assertNotIn(b"<script", picture)
        xml.etree.ElementTree.fromstring(picture)

    def test_a_model_of_unequal_layers(self):
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))
        model = self.file("m.json", json.dumps(records["kimi_linear, other"]["config"]))

        def planned(name, change=lambda v: None, says=None):
            def all_changes(value):
                value["model"] = str(model)
                value["parallel"] = {"tp": 2, "pp": 4, "dp": 2}
                value["cluster"]["devices"] = 16
                value["pipeline"] = {"schedule": "1f1b"}
                value.pop("step_seconds", None)
                change(value)
            out = self.folder / name
            plan = self.changed(all_changes)
            if says is not None:
                return self.refused("plan", plan, "--out", out, says=says)
            self.ok("plan", plan, "--out", out)
            return json.loads((out / "report.json").read_text())

        # Memory is that of `cost report` under 1F1B; stages are those of the layers, in order.
        by_flops = planned("even")
        layers = [stage["layers"] for stage in by_flops["pipeline"]["stages"]]
        count = records["kimi_linear, other"]["config"]["num_hidden_layers"]
        self.assertEqual(sum(layers), count)
        self.assertLessEqual(max(layers[:3]) - min(layers[:3]), 1)
        self.assertLessEqual(layers[3], layers[0])  # beside the head
        training = json.loads(PLAN.read_text())["training"]
        cost = json.loads(self.ok("cost", "report", "--model", model, "--training", self.file("t.json", json.dumps(training)),
                                  "--parallel", self.file("p.json", json.dumps({"tp": 2, "pp": 4, "dp": 2})), "--format", "json").text)
        self.assertEqual([rank["total_bytes"] for rank in by_flops["cost"]["memory"]], [rank["total_bytes"] for rank in cost["memory"]])
        self.assertEqual(by_flops["cost"]["parameters"]["total"], records["kimi_linear, other"]["total"])

        def with_machine(value):
            value["training"]["machine"] = "b200_fitted"
        timed = planned("timed", with_machine)
        self.assertNotEqual([s["forward_us"] for s in timed["pipeline"]["stages"]], [s["forward_us"] for s in by_flops["pipeline"]["stages"]])
        self.assertGreater(timed["cost"]["step"]["seconds"], 0)

        def uneven(value):
            with_machine(value)
            value["pipeline"]["split"] = [count - 3, 1, 1, 1]
        self.assertEqual([s["layers"] for s in planned("uneven", uneven)["pipeline"]["stages"]], [count - 3, 1, 1, 1])

        def searched(value):
            with_machine(value)
            value["pipeline"]["split"] = "search"
        # A split of its own, no slower than the even one, and sizes, each chosen for the layers as they are.
        by_itself = planned("searched", searched)
        self.assertEqual(sum(s["layers"] for s in by_itself["split"]["stages"]), count)
        self.assertLessEqual(by_itself["split"]["step_seconds"], by_itself["split"].get("even_seconds", float("inf")))
        given = planned("given", lambda v: (with_machine(v), v["pipeline"].update(split=[s["layers"] for s in by_itself["split"]["stages"]])))
        self.assertEqual(given["cost"]["memory"], by_itself["cost"]["memory"])
        self.assertEqual(given["cost"]["step"], by_itself["cost"]["step"])

        def open_sizes(value):
            searched(value)
            value["parallel"] = {"tp": "search", "pp": "search", "vp": "search", "recompute": "search"}
        chosen = planned("chosen", open_sizes)
        self.assertGreater(chosen["chosen"]["evaluated"], 0)
        self.assertTrue(all(rank["total_bytes"] <= 64 * 2**30 for rank in chosen["cost"]["memory"]))
        planned("p", lambda v: v["parallel"].update(tp=64), says="tp")

    def test_required_fields_are_those_of_the_document(self):
        rows = re.findall(r"^\| `([a-z_.]+)` \| (required; )?", (ROOT / "docs" / "plan.md").read_text(), re.M)
        required = [name for name, word in rows if word]
        self.assertGreaterEqual(len(required), 4)
        for name in required:
            with self.subTest(name=name):
                *path, last = name.split(".")

                def drop(value):
                    for key in path:
                        value = value[key]
                    value.pop(last)
                self.refused("plan", self.changed(drop), "--out", self.folder / "x", says=f'"{name}" is missing')

    def test_refusals_name_the_field(self):
        def drop(*path):
            def change(v):
                for key in path[:-1]:
                    v = v[key]
                del v[path[-1]]
            return change

        def put(value, *path):
            def change(v):
                for key in path[:-1]:
                    v = v[key]
                v[path[-1]] = value
            return change

        cases = [(drop(field), field) for field in ("model", "training", "parallel", "cluster")]
        cases += [(drop("cluster", field), f"cluster.{field}") for field in ("devices", "memory_gib", "peak_tflops", "links")]  # no machine says the last two
        cases += [
            (put(17, "cluster", "devices"), "devices"), (put(-1, "cluster", "memory_gib"), "memory_gib"),
            (put(1e300, "cluster", "memory_gib"), "memory_gib"),
            (put({}, "cluster", "peak_tflops"), "peak_tflops"), (put(1e-300, "cluster", "peak_tflops", "bf16"), None),
            (put(2, "cluster", "efficiency"), "efficiency"), (put(-1, "cluster", "links", "pipeline", "latency_us"), "latency_us"),
            (put(1e300, "cluster", "links", "pipeline", "latency_us"), None),
            (put(2**31 - 1, "parallel", "tp"), None), (put(2**31 - 1, "parallel", "pp"), None),
            (put(2**31 - 1, "parallel", "vp"), None), (put(3, "parallel", "pp"), None), (put(41, "parallel", "vp"), None),
            (put(7, "parallel", "zero"), "parallel.zero"), (put("some", "parallel", "recompute"), "parallel.recompute"),
            (put(19, "training", "global_batch"), "global_batch"), (put(2**31, "training", "sequence"), "training.sequence"),
            (put("bf17", "training", "weights"), "training.weights"), (put(0, "training", "micro_batch"), "micro_batch"),
            (put(5, "training", "weights"), "training.weights"),
            (put(8, "pipeline", "micro_batches"), "micro_batches"), (put("zigzag", "pipeline", "schedule"), "pipeline.schedule"),
            (put("odd", "pipeline", "groups"), "pipeline.groups"), (put(3, "pipeline", "kappa"), "pipeline.kappa"),
            (put(1.0, "pipeline", "forward_us"), "backward_us"), (put("nowhere.csv", "graph", "ops"), "nowhere.csv"),
            (put("loose", "graph", "rules"), "graph.rules"), (put("nowhere.json", "model"), "nowhere.json"),
            (put([], "title"), "title"), (put(0, "step_seconds"), "step_seconds"), (put(2, "version"), "version"),
            (put("1", "version"), "version"), (put(1, "modell"), "modell"), (put(0, "fused_operator", "rows"), None),
            (put([], "fused_operator", "phases"), "phases"), (put(None, "fused_operator"), "fused_operator"),
        ]
        for number, (change, field) in enumerate(cases):
            with self.subTest(number=number, field=field):
                out = self.folder / f"out{number}"
                self.refused("plan", self.changed(change), "--out", out, says=field)
                self.assertFalse(out.exists())  # a failed call changes nothing

    def test_a_plan_too_large_to_draw(self):
        def change(v):
            v["training"]["global_batch"] = 2 * 10**6
            del v["pipeline"]["micro_batches"]
        done = self.ok("plan", self.changed(change), "--out", self.folder / "large")
        self.assertIn("timeline.svg, trace.json, schedule.csv: 16000000 actions are too many to draw", done.text)
        self.assertEqual({x.name for x in (self.folder / "large").iterdir()}, {"report.html", "report.json", "report.txt", "tiles.svg"})
        report = json.loads((self.folder / "large" / "report.json").read_text())
        self.assertGreaterEqual(report["pipeline"]["makespan_us"], report["pipeline"]["lower_bound_us"])
        self.assertTrue(report["memory"])

    def test_out_that_cannot_be_a_folder(self):
        self.refused("plan", PLAN, "--out", self.file("file", "x"))
        self.refused("plan", PLAN, "--out", "/proc/nowhere")


if __name__ == "__main__":
    main()
