# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""report.html: that it holds the plan's numbers and no text of an input breaks out of it; how it looks and works in a
browser, where Chromium is installed; and that its colours can be told apart."""
import base64
import html.parser
import itertools
import json
import os
import re
import subprocess
import unittest

import chromium
import harness
from harness import CONFIGS, PLAN, ROOT, ToolTest, main
from palette import BLINDNESS, contrast, distance

STYLE = ROOT / "examples" / "hocket_cli" / "report" / "report.css"
LARGEST = 1_500_000
HOSTILE = "</script><script>alert(1)</script><!--<script> \"'&<img src=https://example.invalid/x onerror=alert(2)> \\u003c {{data}} ]]>"


class Reader(html.parser.HTMLParser):
    """The elements of a page, and the content of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.title, self.inside = [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside == "title":
            self.title += data


def bars_of(t):
    """Every lane's bars: (start, length, kind, chunk, id, micro-batch), in ticks. By the words of page_bars.hpp."""
    numbers, words, first = iter(t["lane_bars"]), [], 0
    for x in numbers:
        if x >= 0:
            words.append(x)
            continue
        back = next(numbers)
        for _ in range(-x):
            words.append(words[-back])
    for lane in t["lanes"]:
        clock, last, bars = 0, {}, []
        own, first = words[first:first + lane["bars"]], first + lane["bars"]
        for gap, length, kind, chunk, number, step in (t["words"][w] for w in own):
            same = (kind, chunk, number)
            last[same] = last.get(same, -1) + step
            bars.append((clock + gap, length, t["kinds"][kind], chunk, number, last[same]))
            clock += gap + length
        yield bars


def huge(value):
    """A plan of 16 million passes: too many to draw."""
    value["training"]["global_batch"] = 2 * 10**6
    value["training"]["machine"] = "guide_device"
    del value["pipeline"]["micro_batches"]
    value.pop("step_seconds", None)


class ReportTest(ToolTest):
    def page(self, name="plan", change=lambda value: None):
        """The page of the example's plan with a change, its document, and report.json beside it."""
        value = json.loads(PLAN.read_text())
        value["model"] = str(PLAN.parent / value["model"])
        value["graph"]["ops"] = str((PLAN.parent / value["graph"]["ops"]).resolve())
        change(value)
        out = self.folder / name
        self.ok("plan", self.file(name + ".json", json.dumps(value)), "--out", out)
        text = (out / "report.html").read_text("utf-8")
        reader = Reader(text)
        return out / "report.html", reader, json.loads(reader.scripts[0]), json.loads((out / "report.json").read_text())

    def thousand_ranks(self, micro_batches=32):
        """A plan with 1,024 pipeline ranks: 65,536 bars with 32 micro-batches."""
        config = json.loads((PLAN.parent / "config.json").read_text())
        config["num_hidden_layers"] = 1024
        model = self.file("config.json", json.dumps(config))

        def change(value):
            value["model"] = str(model)
            value["parallel"] = {"tp": 1, "pp": 1024, "vp": 1, "dp": 1, "zero": 0}
            value["training"]["global_batch"] = micro_batches
            value["cluster"]["devices"] = 1024
            value["pipeline"] = {"schedule": "1f1b"}
            value.pop("step_seconds")
        return self.page("thousand", change)


class Document(ReportTest):
    def test_it_says_what_the_other_reports_say(self):
        path, reader, page, report = self.page()
        self.assertEqual(page["title"], report["title"])
        self.assertLessEqual(path.stat().st_size, LARGEST)
        for key in ("makespan_us", "lower_bound_us", "bubble", "hop_us"):
            self.assertEqual(page["pipeline"][key], report["pipeline"][key])
        self.assertEqual([(r["static_bytes"], r["peak_bytes"]) for r in page["memory"]["ranks"]],
                         [(r["static_bytes"], r["peak_bytes"]) for r in report["cost"]["memory"]])
        for rank in page["memory"]["ranks"]:  # each of the parts is rounded up
            self.assertAlmostEqual(rank["static_bytes"] + rank["kept_bytes"] + rank["moment_bytes"], rank["peak_bytes"], delta=2)
        for key in ("ops", "streams", "edges_before", "edges_after", "edges_between_streams", "waits"):
            self.assertEqual(page["graph"][key], report["dependencies"][key])
        self.assertEqual(page["tiles"]["tiles"], report["fused_operator"]["tiles"])
        self.assertEqual(sum(len(g["terms"]) for g in page["cost"]["groups"]), len(report["cost"]["terms"]))
        for rank in page["memory"]["ranks"]:
            self.assertEqual(len(rank["kinds"]), len(page["memory"]["kinds"]))
            self.assertAlmostEqual(sum(rank["kinds"]), rank["peak_bytes"], delta=7)
            self.assertAlmostEqual(sum(rank["kinds"][:3]), rank["static_bytes"], delta=3)
        self.assertEqual(page["memory"]["fullest_kinds"], page["memory"]["ranks"][page["memory"]["fullest"]]["kinds"])

    def test_the_parts_of_the_step_are_all_of_it(self):
        def exchanged(value):
            """A slow data-parallel link, so that the exchange is most of the step."""
            rates = {"gemm_flops": 3e14, "attention_flops": 2e14, "memory_bytes": 2e12, "tensor_bytes": 1e11, "pipeline_bytes": 5e10,
                     "data_bytes": 1e8, "host_bytes": 4e10}
            value["training"]["machine"] = {"name": "test", "source": "test"} | rates
            value.pop("step_seconds", None)

        def measured(value):
            exchanged(value)
            value["step_seconds"] = 4000
        for name, change, whole in (("bare", lambda v: v.pop("step_seconds", None), "pipeline"), ("known", lambda v: v.update(step_seconds=90), "measured"),
                                    ("short", lambda v: v.update(step_seconds=0.5), "pipeline"), ("exchanged", exchanged, "predicted"), ("both", measured, "measured")):
            with self.subTest(name=name):
                _, _, page, report = self.page(name, change)
                w = page["waterfall"]
                parts = {p["name"]: p["us"] for p in w["parts"]}
                self.assertEqual(w["whole_is"], whole)
                self.assertAlmostEqual(sum(parts.values()), w["whole_us"], places=3)
                if name != "short":
                    self.assertAlmostEqual(w["whole_us"] / 1e6, page["step_seconds"], places=9)
                pipeline = sum(us for part, us in parts.items() if part in ("forward", "backward", "computed again", "collectives in layers, exposed")
                               or part.startswith("idle"))
                self.assertAlmostEqual(pipeline, report["pipeline"]["makespan_us"], places=3)
                if name in ("exchanged", "both"):
                    said = {p["name"]: p["seconds"] * 1e6 for p in report["predicted_step"]["parts"]}
                    for part in ("data-parallel exchange, exposed", "optimizer"):
                        self.assertAlmostEqual(parts[part], said[part], places=3)
                    self.assertGreater(parts["data-parallel exchange, exposed"], parts["forward"] + parts["backward"])
                    self.assertGreater(parts["collectives in layers, exposed"], 0)

    def test_memory_over_time_has_the_peak_of_each_rank(self):
        for page, report in (self.page()[2:], self.thousand_ranks()[2:]):
            for rank in page["memory_over_time"]["ranks"]:
                peak = report["cost"]["memory"][rank["rank"]]["peak_bytes"]
                self.assertAlmostEqual(max(m[1] for m in rank["moments"]), peak, delta=2)
                self.assertEqual(max(m[2] for m in rank["moments"]), report["pipeline"]["per_rank"][rank["rank"]]["peak_in_flight"])
                self.assertEqual(rank["moments"][-1][2], 0)

    def test_the_plan_is_among_the_schedules_and_the_front_is_one(self):
        _, _, page, report = self.page()
        rows = page["schedules"]["rows"]
        own = [r for r in rows if (r["schedule"], r["groups"], r["chunks"], r["micro_batches"]) == ("interleaved", "balanced", 2, 9)]
        self.assertEqual([(r["makespan_us"], r["bytes"]) for r in own],
                         [(report["pipeline"]["makespan_us"], max(r["peak_bytes"] for r in report["cost"]["memory"]))])
        self.assertGreaterEqual(len({r["schedule"] for r in rows}), 12)
        for r in rows:  # by the definition, over all pairs
            beaten = any(o["micro_batches"] == r["micro_batches"] and o["makespan_us"] <= r["makespan_us"] and o["bytes"] <= r["bytes"]
                         and (o["makespan_us"], o["bytes"]) != (r["makespan_us"], r["bytes"]) for o in rows)
            self.assertEqual(r["pareto"], r["fits"] and not beaten, r)
            self.assertGreaterEqual(r["makespan_us"], r["lower_bound_us"])

    def test_a_change_is_what_the_tool_says_when_the_file_is_changed(self):
        _, _, page, report = self.page()
        changes = {c["what"]: c for c in page["changes"]["all"]}
        self.assertAlmostEqual(page["changes"]["now"]["step_seconds"], report["pipeline"]["makespan_us"] / 1e6, places=9)
        edits = {"recompute full": lambda v: v["parallel"].update(recompute="full"),
                 "schedule interleaved, groups last": lambda v: (v["pipeline"].update(groups="last"), v["pipeline"].pop("kappa")),
                 "1 chunk a rank": lambda v: v["parallel"].update(vp=1),
                 "search for the schedule": lambda v: v.update(pipeline={}),
                 "global batch 36: twice the micro-batches": lambda v: (v["training"].update(global_batch=36), v["pipeline"].pop("micro_batches"))}
        for i, (what, edit) in enumerate(edits.items()):
            with self.subTest(what=what):
                other = self.page(f"edit{i}", edit)[3]
                self.assertAlmostEqual(changes[what]["step_seconds"], other["pipeline"]["makespan_us"] / 1e6, places=9)
                self.assertEqual(changes[what]["bytes"], max(r["peak_bytes"] for r in other["cost"]["memory"]))
                batch = 2 if "twice" in what else 1
                ratio = other["pipeline"]["makespan_us"] / report["pipeline"]["makespan_us"] / batch
                self.assertAlmostEqual(changes[what]["time"], ratio - 1, places=9)
        # What each change says to write into the file is the change.
        def merged(value, edit):
            for key, x in edit.items():
                if isinstance(x, dict):
                    merged(value.setdefault(key, {}), x)
                elif x is None:
                    value.pop(key, None)
                else:
                    value[key] = x
        for i, change in enumerate(report["changes"]["all"][::3]):
            with self.subTest(edit=change["what"]):
                other = self.page(f"pasted{i}", lambda v: merged(v, change["edit"]))[3]
                self.assertAlmostEqual(change["step_seconds"], other["pipeline"]["makespan_us"] / 1e6, places=9)
        zbv = next(r for r in page["schedules"]["rows"] if (r["schedule"], r["chunks"], r["micro_batches"]) == ("zbv", 2, 9))
        self.assertAlmostEqual(changes["schedule zbv"]["step_seconds"], zbv["makespan_us"] / 1e6, places=9)
        best = [page["changes"]["all"][i] for i in page["changes"]["best"]]
        self.assertLessEqual(len(best), 3)
        self.assertEqual(len({c["family"] for c in best}), len(best))
        fastest = min((c for c in changes.values() if c["fits"]), key=lambda c: c["time"])
        if fastest["time"] < -0.001:
            self.assertEqual(best[0]["time"], fastest["time"])

    def test_what_does_not_fit_is_helped_to_fit(self):
        _, _, page, _ = self.page("tight", lambda v: v["cluster"].update(memory_gib=20))
        self.assertFalse(page["changes"]["now"]["fits"])
        self.assertGreater(page["memory"]["over"], 0)
        best = [page["changes"]["all"][i] for i in page["changes"]["best"]]
        self.assertTrue(best)
        for c in best:
            self.assertTrue(c["fits"] or c["bytes"] < page["changes"]["now"]["bytes"])

    def test_the_densest_part_is_the_densest(self):
        _, _, page, _ = self.page()
        done = self.ok("graph", "prune", "--ops", json.loads(self.folder.joinpath("plan.json").read_text())["graph"]["ops"], "--rules", "ordered")
        _, edges = done.rows
        ops = page["graph"]["densest"]["ops"]
        inside = lambda first: sum(1 for a, b in edges if a >= first and b < first + len(ops))
        counts = [inside(first) for first in range(page["graph"]["ops"] - len(ops) + 1)]
        self.assertEqual(len(page["graph"]["densest"]["kept"]), max(counts))
        self.assertEqual(counts[ops[0]["op"]], max(counts))
        self.assertEqual(sum(page["graph"]["kept_by_part"]), len(edges))
        kept = {tuple(e) for e in page["graph"]["densest"]["kept"]}
        self.assertFalse(kept & {tuple(e) for e in page["graph"]["densest"]["pruned"]})

    def test_no_text_breaks_out(self):
        plain = self.page("plain")[1]
        path, reader, page, _ = self.page("hostile", lambda v: v.update(title=HOSTILE))
        self.assertEqual(page["title"], HOSTILE)
        self.assertEqual(reader.title, HOSTILE + " · hocket")
        self.assertEqual(reader.elements, plain.elements)
        self.assertEqual(len(reader.scripts), 2)
        self.assertNotIn("<", reader.scripts[0])
        odd = self.page("odd", lambda v: v.update(title="\U0001F600 ü \u00a0"))
        self.assertEqual(odd[2]["title"], "\U0001F600 ü \u00a0")

    def test_every_bar_of_the_lanes_is_there(self):
        for name, change in (("plan", lambda v: None), ("searched", lambda v: v.update(pipeline={}))):
            with self.subTest(name=name):
                path, _, page, _ = self.page(name, change)
                events = json.loads((path.parent / "trace.json").read_text())["traceEvents"]
                for number, lane in enumerate(bars_of(page["timeline"])):
                    told = [(round(e["ts"] * 1000), round(e["dur"] * 1000), e["cat"], e["args"]["chunk"], e["args"]["id"], e["args"]["micro_batch"])
                            for e in events if e["ph"] == "X" and e["tid"] == number]
                    self.assertEqual(lane, sorted(told))
                    self.assertGreater(len(lane), 10)

    def test_a_thousand_ranks_are_thinned_out(self):
        path, _, page, report = self.thousand_ranks()
        self.assertLessEqual(path.stat().st_size, LARGEST)
        t = page["timeline"]
        self.assertEqual((t["lane_count"], t["bars"]), (1024, 1024 * 64))
        self.assertEqual([lane["number"] for lane in t["lanes"]], list(range(1024)))  # all of them: they are alike
        self.assertEqual(len(page["memory"]["ranks"]), 1024)
        for lane, bars in zip(t["lanes"], bars_of(t)):
            self.assertEqual(len(bars), 64)
            self.assertEqual(sum(b[1] for b in bars), round(1000 * report["pipeline"]["per_rank"][lane["number"]]["busy_us"]))

    def test_files_of_a_large_plan_stay_small_and_say_what_they_leave_out(self):
        path, _, page, report = self.thousand_ranks(512)
        sizes = {name: (path.parent / name).stat().st_size for name in ("report.html", "timeline.svg", "trace.json")}
        self.assertLessEqual(sizes["report.html"], LARGEST)
        self.assertLessEqual(sizes["timeline.svg"], 8 << 20)
        self.assertLessEqual(sizes["trace.json"], 32 << 20)
        told = (path.parent / "report.txt").read_text()
        sentences = dict(re.findall(r"^(timeline\.svg|trace\.json): (.*)$", told, re.M))
        self.assertIn("1048576 bars on 1024 lanes", sentences["timeline.svg"])
        self.assertIn(sentences["timeline.svg"], (path.parent / "timeline.svg").read_text())
        trace = json.loads((path.parent / "trace.json").read_text())
        self.assertEqual(trace["otherData"]["left_out"], sentences["trace.json"])
        lanes = int(re.search(r"all of (\d+) lanes", sentences["trace.json"])[1])
        self.assertEqual(sum(e["name"] == "thread_name" for e in trace["traceEvents"]), lanes)
        self.assertEqual(sum(e["ph"] == "X" for e in trace["traceEvents"]), 1024 * lanes)
        self.assertNotIn("trace.json: ", (self.page()[0].parent / "report.txt").read_text())

    def test_open_says_why_it_does_not(self):
        quiet = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        done = subprocess.run([harness._options.tool, "plan", PLAN, "--out", self.folder / "opened", "--open"], env=quiet, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"no desktop to open \S+report\.html on: ")


class Palette(unittest.TestCase):
    def test_colours_can_be_read_and_told_apart(self):
        themes = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)) for block in re.findall(r"\{([^{}]*--page: #[^{}]*--forward[^{}]*)\}", STYLE.read_text())]
        self.assertEqual(len(themes), 2)  # light and dark, each in one place
        self.assertEqual(themes[0].keys(), themes[1].keys())
        fills = ("forward", "backward", "input-grad", "weight-grad", "communication", "recompute", "states")
        for c in themes:
            for ink, ground in itertools.product(("text", "muted"), ("page", "surface", "raised")):
                self.assertGreaterEqual(contrast(c[ink], c[ground]), 4.5, (ink, ground))
            for ink in ("good", "bad", "accent"):
                self.assertGreaterEqual(contrast(c[ink], c["surface"]), 4.5, ink)
            for fill in fills:
                self.assertGreaterEqual(contrast(c[fill], c["surface"]), 3, fill)
            for (a, b), blindness in itertools.product(itertools.combinations((*fills, "wait"), 2), BLINDNESS):
                self.assertGreaterEqual(distance(c[a], c[b], blindness), 15, (a, b, blindness))

    def test_the_measures_are_right(self):
        self.assertAlmostEqual(contrast("#000000", "#ffffff"), 21)
        self.assertAlmostEqual(contrast("#777777", "#ffffff"), 4.48, places=2)  # WCAG's own example of nearly enough
        self.assertLess(distance("#a0522d", "#556b2f", "deuteranopia"), distance("#a0522d", "#556b2f"))
        self.assertGreater(distance("#0072b2", "#e69f00", "deuteranopia"), 60)


class Told(ReportTest):
    """What a reader would look for and not find, and what was measured."""

    def test_what_was_not_tried(self):
        said = lambda name, change: self.page(name, change)[2]["changes"]
        without = said("without", lambda v: None)
        self.assertEqual(len(without["not_tried"]), 1)
        self.assertIn('no machine is given', without["not_tried"][0])
        self.assertFalse({"zero", "parallel sizes"} & {x["family"] for x in without["all"]})
        with_machine = said("with", lambda v: v["training"].update(machine="guide_device"))
        self.assertEqual(with_machine["not_tried"], ["ep and etp: the model has no experts."])
        self.assertIn("parallel sizes", {x["family"] for x in with_machine["all"]})
        self.assertIn("cp 2, dp 1", {x["what"] for x in with_machine["all"]})
        timed = said("timed", lambda v: v["pipeline"].update(forward_us=1000, backward_us=2000))
        self.assertIn("the passes are measured", timed["not_tried"][0])

    def priced(self, value):
        value["training"]["machine"] = "guide_device"
        value.pop("step_seconds", None)

    def test_one_page_has_one_predicted_step(self):
        edits = {"recompute full": lambda v: v["parallel"].update(recompute="full"),
                 "1 chunk a rank": lambda v: v["parallel"].update(vp=1),
                 "search for the schedule": lambda v: v.update(pipeline={})}
        _, _, page, _ = self.page("priced", self.priced)
        for i, (what, edit) in enumerate({"": lambda v: None, **edits}.items()):
            with self.subTest(what=what):
                other = self.page(f"priced{i}", lambda v: (self.priced(v), edit(v)))[2]
                self.assertEqual(other["step_is"], "predicted")
                self.assertAlmostEqual(other["step_seconds"], other["changes"]["now"]["step_seconds"], places=12)
                self.assertAlmostEqual(other["step_seconds"], other["predicted_step"]["seconds"], places=12)
                self.assertAlmostEqual(other["step_seconds"], sum(p["seconds"] for p in other["predicted_step"]["parts"]), places=9)
                if what:
                    tried = next(c for c in page["changes"]["all"] if c["what"] == what)
                    self.assertAlmostEqual(tried["step_seconds"], other["step_seconds"], places=9)

    def test_offload_is_what_the_planner_says(self):
        rates = {"gemm_flops": 3e14, "attention_flops": 2e14, "memory_bytes": 2e12, "tensor_bytes": 1e11, "pipeline_bytes": 5e10,
                 "data_bytes": 2e10, "host_bytes": 4e10}
        sizes = {"tp": 2, "vp": 1, "dp": 2, "sequence_parallel": True, "zero": 1}
        training = {"sequence": 4096, "micro_batch": 1, "global_batch": 16, "machine": {"name": "test", "source": "test"} | rates}
        name = "keep, recompute or offload by kind of tensor"

        def change(value, pp, recompute, gib):
            value.update(training=training, parallel={**sizes, "pp": pp, "recompute": recompute}, pipeline={"schedule": "1f1b"})
            value["cluster"].update(devices=4 * pp, memory_gib=gib)
            value.pop("step_seconds", None)
        for pp, recompute, gib, tried in ((1, "full", 140, True), (4, "none", 26, True), (4, "none", 80, False), (4, "full", 3, False)):
            with self.subTest(pp=pp, recompute=recompute, gib=gib):
                path, _, page, _ = self.page(f"move{pp}{recompute}{gib}", lambda v: change(v, pp, recompute, gib))
                found = [c for c in page["changes"]["all"] if c["what"] == name]
                self.assertEqual(bool(found), tried)
                text = (path.parent / "report.txt").read_text()
                self.assertEqual(name in text, tried)
                if not tried:
                    continue
                said = json.loads(self.ok("planner", "offload", "--model", PLAN.parent / "config.json", "--training", self.file("t.json", json.dumps(training)),
                                          "--parallel", self.file("p.json", json.dumps({**sizes, "pp": pp})), "--memory-gib", gib, "--json").text)
                self.assertEqual(found[0]["bytes"], max(s["held_bytes"] + s["beside_bytes"] for s in said["stages"]))
                self.assertTrue(found[0]["fits"])
                step = next(c["step_seconds"] for c in said["choices"] if c["choice"] == "chosen")
                self.assertAlmostEqual(found[0]["step_seconds"] / step, 1, delta=1e-6 if pp == 1 else 0.02)
                self.assertIn(f"takes {found[0]['step_seconds']:.6f} s a step", text)

    def test_experts_are_tried_on_other_sizes(self):
        def mixture(value):
            self.priced(value)
            value["model"] = str(CONFIGS / "mixtral-8x7b-v0.1.json")
            value["parallel"].update(ep=2)
        changes = self.page("mixture", mixture)[2]["changes"]
        self.assertEqual(changes["not_tried"], [])
        self.assertEqual({c["what"] for c in changes["all"] if c["family"] == "expert sizes"}, {"ep 1", "ep 4", "etp 2"})

    def test_it_says_when_nothing_that_was_tried_fits(self):
        for gib, says in ((64, False), (4, True)):
            with self.subTest(gib=gib):
                path, _, page, _ = self.page(f"room{gib}", lambda v, gib=gib: (self.priced(v), v["cluster"].update(memory_gib=gib)))
                fits = [c["fits"] for c in (page["changes"]["now"], *page["changes"]["all"])]
                self.assertEqual(page["changes"]["nothing_fits"], not any(fits))
                self.assertEqual(page["changes"]["nothing_fits"], says)
                self.assertEqual("Nothing that was tried fits" in (path.parent / "report.txt").read_text(), says)

    def measured(self):
        log = self.file("log.txt", " step:[ 1/ 9], per_step_time: 9000ms\n step:[ 2/ 9], per_step_time: 2000ms\n")
        self.ok("plan", PLAN, "--out", self.folder / "measured", "--measured", log, "--peak-tflops", "312")
        path = self.folder / "measured" / "report.html"
        return path, json.loads(Reader(path.read_text("utf-8")).scripts[0])

    def test_what_was_measured(self):
        _, page = self.measured()
        self.assertEqual(page["measured"], json.loads((self.folder / "measured" / "report.json").read_text())["measured"])
        self.assertNotIn("measured", self.page()[2])

    @unittest.skipUnless(chromium.BROWSER, chromium.MISSING)
    def test_both_are_shown(self):
        path, page = self.measured()
        with chromium.Page() as b:
            for size in chromium.SIZES:
                b.size(size)
                b.open(path)
                self.assertEqual((b.complaints, b.ask(TOO_WIDE)), ([], []))
                self.assertIn(page["changes"]["not_tried"][0], b.ask("document.getElementById('overview').textContent"))
                shown = b.ask("document.getElementById('measured').textContent")
                for words in ("2.00 s", "log.txt", "measured MFU"):
                    self.assertIn(words.lower(), shown.lower())
                self.assertEqual(b.ask("document.querySelectorAll('#measured tbody tr').length"), len(page["measured"]["compared"]))
                self.assertRegex(b.ask("document.querySelector('.helps').textContent"), r"in the plan file: \w+|hocket pipeline list \w+")

    @unittest.skipUnless(chromium.BROWSER, chromium.MISSING)
    def test_a_utilization_that_cannot_be_and_a_whole_command(self):
        path, _, page, report = self.page("absurd", lambda v: (v.update(step_seconds=0.001), v["cluster"].update(memory_gib=200)))
        text = (path.parent / "report.txt").read_text()
        warning = re.search(r"MFU .*\): (above the peak, .*)", text)[1]
        with chromium.Page() as b:
            b.open(path)
            self.assertEqual(b.complaints, [])
            self.assertIn(warning, b.ask("document.querySelector('.figures').textContent"))
            command = re.search(r"hocket (pipeline list \S+ --ranks \d+ --chunks \d+ --micro-batches \d+)", b.ask("document.querySelector('.helps').textContent"))
        self.assertEqual((page["sizes"]["chunks"], page["sizes"]["micro_batches"]), (2, 9))
        self.assertTrue(command)
        lanes = [line for line in self.ok(*command[1].split()).text.splitlines() if line]
        self.assertEqual(len(lanes), len(report["pipeline"]["per_rank"]))


@unittest.skipUnless(chromium.BROWSER, chromium.MISSING)
class InTheBrowser(ReportTest):
    def open(self, browser, path):
        browser.open(path)
        self.assertEqual(browser.complaints, [])

    def clean(self, browser, path):
        """No complaint, and nothing asked for but the page itself."""
        browser.settle()
        self.assertEqual(browser.complaints, [])
        self.assertEqual({r for r in browser.requests if not r.startswith("data:")}, {path.resolve().as_uri()})

    def test_it_fits_every_size(self):
        path, _, page, _ = self.page()
        with chromium.Page() as b:
            for size in chromium.SIZES:
                for scheme in ("light", "dark"):
                    with self.subTest(size=size, scheme=scheme):
                        b.size(size)
                        b.scheme(scheme)
                        self.open(b, path)
                        self.assertEqual(b.ask("document.querySelectorAll('main section').length"), 9)
                        self.assertEqual(b.ask(TOO_WIDE), [])
                        self.assertIn("It fits", b.ask("document.getElementById('answer').textContent"))
                        ink = b.ask("getComputedStyle(document.body).color")
                        self.assertEqual(ink, "rgb(20, 32, 46)" if scheme == "light" else "rgb(232, 237, 243)")
                        # No two words of a picture lie on each other, and none leaves the page.
                        self.assertEqual(b.ask(OVERLAPS), [])
            self.clean(b, path)
            b.ask("document.querySelector('svg').innerHTML += '<text x=\"50\" y=\"50\">left</text><text x=\"52\" y=\"51\">right</text>'")
            self.assertIn('"left" lies on "right"', b.ask(OVERLAPS))  # what must be found is found
            b.ask("fetch('https://example.invalid/').catch(() => 1)")
            self.assertNotEqual(b.complaints, [])  # the page's own policy refuses it, and that is noticed

    def test_every_control_works(self):
        path, _, page, _ = self.page()
        with chromium.Page() as b:
            b.size("wide")
            b.scheme("light")
            self.open(b, path)
            view = lambda: b.ask("hocketTimeline.view")
            whole = view()
            b.ask("document.querySelector('#timeline [aria-label=\"Zoom in\"]').click()")
            self.assertAlmostEqual(view()[1] - view()[0], (whole[1] - whole[0]) / 2, delta=1)
            before = view()
            b.ask("document.querySelector('#timeline [aria-label=Later]').click()")
            self.assertGreater(view()[0], before[0])
            b.ask("document.querySelector('#timeline [aria-label=Earlier]').click()")
            self.assertAlmostEqual(view()[0], before[0], delta=1)
            b.ask("document.querySelector('#timeline [aria-label=\"Show all\"]').click()")
            self.assertEqual(view(), whole)
            self.pointer(b, page, view)
            self.keyboard(b, page, view)
            self.filters(b, page)
            self.details_and_theme(b, page)
            self.clean(b, path)

    def pointer(self, b, page, view):
        x, y = b.ask("(() => { const c = hocketTimeline.canvas; c.scrollIntoView({block: 'center', behavior: 'instant'}); const r = c.getBoundingClientRect();"
                     " const lane = hocketTimeline.lanes[0]; return [r.left + (hocketTimeline.xOf(lane.start[0]) + hocketTimeline.xOf(lane.end[0])) / 2, r.top + 36]; })()")
        b.mouse("mouseMoved", x, y)
        b.settle()
        self.assertRegex(b.ask("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent"), r"rank 0\nforward of micro-batch 0")
        b.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300, modifiers=2)
        b.settle()
        zoomed = view()
        self.assertLess(zoomed[1] - zoomed[0], page["timeline"]["makespan"] * 0.6)
        b.mouse("mousePressed", x + 200, y, button="left", buttons=1, clickCount=1)
        b.mouse("mouseMoved", x + 60, y, button="left", buttons=1)
        b.mouse("mouseReleased", x + 60, y, button="left", clickCount=1)
        b.settle()
        self.assertGreater(view()[0], zoomed[0])

    def keyboard(self, b, page, view):
        b.ask("hocketTimeline.all(); hocketTimeline.canvas.focus()")
        for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
            b.press(key)
        said = b.ask("document.querySelector('#timeline .said').textContent")
        self.assertRegex(said, r"^rank 1 · (forward|backward) of micro-batch \d")
        b.press("+")
        self.assertLess(view()[1] - view()[0], page["timeline"]["makespan"])
        b.press("0")
        b.press("End")
        self.assertIn("backward", b.ask("document.querySelector('#timeline .said').textContent"))
        b.press("Tab")  # out of it again
        self.assertNotEqual(b.ask("document.activeElement === hocketTimeline.canvas"), True)

    def filters(self, b, page):
        rows = page["schedules"]["rows"]
        count = lambda: b.ask("document.querySelectorAll('#schedules tbody tr').length")
        pick = lambda key, value: b.ask(f"(() => {{ const x = document.getElementById('by-{key}'); x.value = '{value}'; x.dispatchEvent(new Event('change')); }})()")
        for m, v, g in itertools.product(sorted({r["micro_batches"] for r in rows}), ("all", *sorted({r["chunks"] for r in rows})), ("all", "last")):
            pick("micro_batches", m)
            pick("chunks", v)
            pick("groups", g)
            wanted = [r for r in rows if r["micro_batches"] == m and v in ("all", r["chunks"]) and (g == "all" or r["groups"] in ("", g))]
            self.assertEqual(count(), len(wanted), (m, v, g))
            self.assertEqual(b.ask("document.querySelectorAll('#schedules .dot').length"), len(wanted))
        b.ask("(() => { const x = document.querySelector('#memory select'); x.value = '2'; x.dispatchEvent(new Event('change')); })()")
        self.assertIn("rank 2 is highlighted", b.ask("document.querySelector('#memory svg').getAttribute('aria-label')"))
        arcs = lambda: b.ask("document.querySelectorAll('#graph .arc').length")
        d = page["graph"]["densest"]
        self.assertEqual(arcs(), len(d["kept"]) + len(d["pruned"]))
        b.ask("document.getElementById('show-pruned').click()")
        self.assertEqual(arcs(), len(d["kept"]))

    def details_and_theme(self, b, page):
        opened = "document.querySelectorAll('#formulas details[open]').length"
        self.assertEqual(b.ask(opened), 0)
        b.ask("document.getElementById('open-all').click()")
        self.assertEqual(b.ask(opened), len(page["cost"]["groups"]) + sum(len(g["terms"]) for g in page["cost"]["groups"]))
        ground = lambda: b.ask("getComputedStyle(document.body).backgroundColor")
        seen = [ground()]
        for _ in range(3):
            b.ask("document.getElementById('theme').click()")
            seen.append(ground())
        self.assertEqual(seen, ["rgb(245, 246, 248)", "rgb(245, 246, 248)", "rgb(15, 20, 27)", "rgb(245, 246, 248)"])

    def test_it_prints(self):
        path, *_ = self.page()
        with chromium.Page() as b:
            b.scheme("dark")
            self.open(b, path)
            pdf = base64.b64decode(b.call("Page.printToPDF", printBackground=True)["data"])
            self.assertTrue(pdf.startswith(b"%PDF"))
            self.assertGreater(len(pdf), 30_000)
            self.assertEqual(b.ask("document.querySelectorAll('details[open]').length"), 0)  # as it was before
            self.clean(b, path)

    def test_hostile_text_is_shown_as_text(self):
        path, *_ = self.page("hostile", lambda v: v.update(title=HOSTILE))
        with chromium.Page() as b:
            self.open(b, path)
            self.assertEqual(b.ask("document.getElementById('title').textContent"), HOSTILE)
            self.assertEqual(b.ask("document.querySelectorAll('img').length"), 0)
            self.clean(b, path)

    def test_idle_time_is_drawn_idle_at_every_zoom(self):
        path, _, page, report = self.thousand_ranks(128)
        every = list(bars_of(page["timeline"]))
        bars = [every[i * 1023 // 63] for i in range(64)]  # what is drawn at first
        makespan = page["timeline"]["makespan"]
        with chromium.Page() as b:
            b.size("wide")
            b.scheme("light")
            self.open(b, path)
            dense = set()
            for middle, share in ((0.5, 1), (0.2, 0.3), (0.7, 0.1), (0.4, 0.02), (0.6, 0.02), (0.9, 0.004), (0.1, 0.001)):
                span = makespan * share
                begin = max(0, middle * makespan - span / 2)
                with self.subTest(begin=begin, span=span):
                    drawn = b.ask(f"hocketTimeline.data.marks = []; hocketTimeline.show({begin}, {span}); {BUSY}")
                    overlap = lambda bar: max(0, min(bar[0] + bar[1], begin + span) - max(bar[0], begin))
                    wanted = [sum(map(overlap, lane)) / span for lane in bars]
                    self.assertAlmostEqual(sum(drawn) / len(drawn), sum(wanted) / len(wanted), delta=0.005)
                    self.assertLess(max(abs(x - y) for x, y in zip(drawn, wanted)), 0.03)  # numbers stand in some bars
                    if share == 1:
                        self.assertAlmostEqual(sum(drawn) / len(drawn), 1 - report["pipeline"]["bubble"], delta=0.01)
                    dense.add(b.ask("hocketTimeline.dense.textContent !== ''"))
            self.assertEqual(dense, {True, False})  # shares of time, and bars once they can be seen
            self.clean(b, path)

    def test_shares_of_the_overview_are_all_of_it(self):
        path, _, page, _ = self.page("tight", lambda v: v["cluster"].update(memory_gib=20))
        with chromium.Page() as b:
            b.size("wide")
            self.open(b, path)
            legends = b.ask("[...document.querySelectorAll('#overview .shares .legend')].map(x => [...x.querySelectorAll('b')].map(y => parseFloat(y.textContent)))")
            self.assertAlmostEqual(sum(legends[0]), 100, delta=0.05 * len(legends[0]))
            gib = lambda key: page["memory"][key] / 2**30
            self.assertAlmostEqual(sum(legends[1]), gib("fullest_peak_bytes") + gib("reserve"), delta=0.05 * len(legends[1]))
            mark, wide = b.ask("(() => { const m = document.querySelector('.mark-of-limit'); return [m.offsetLeft, m.parentNode.clientWidth]; })()")
            self.assertAlmostEqual(mark / wide, 20 / (gib("fullest_peak_bytes") + gib("reserve")), delta=0.01)
            self.clean(b, path)

    def test_a_thousand_ranks_stay_usable(self):
        path, _, page, _ = self.thousand_ranks()
        with chromium.Page() as b:
            b.size("phone")
            self.open(b, path)
            self.assertRegex(b.ask("document.getElementById('thinned').textContent"), r"^Ranks drawn: 64 of 1,024, evenly spaced")
            self.assertEqual(b.ask(TOO_WIDE), [])
            b.ask("hocketTimeline.canvas.focus()")
            b.press("ArrowRight")
            self.assertIn("rank 0", b.ask("document.querySelector('#timeline .said').textContent"))
            self.assertLess(b.ask("document.querySelectorAll('*').length"), 20_000)
            # A reader chooses others: the bars are theirs.
            self.assertEqual(b.ask("document.querySelectorAll('#thinned option').length"), 17)
            b.ask("(() => { const s = document.querySelector('#thinned select'); s.value = '5'; s.dispatchEvent(new Event('change')); })()")
            self.assertEqual(b.ask("hocketTimeline.data.lanes.map(lane => lane.number)"), list(range(256, 320)))
            every = list(bars_of(page["timeline"]))
            self.assertEqual(b.ask("[...hocketTimeline.lanes[7].start]"), [bar[0] for bar in every[263]])
            self.assertEqual(b.ask(TOO_WIDE), [])
            b.ask("hocketTimeline.canvas.focus()")
            b.press("ArrowRight")
            self.assertIn("rank 256", b.ask("document.querySelector('#timeline .said').textContent"))
            self.clean(b, path)

    def test_a_plan_too_large_to_draw_shows_the_rest(self):
        path, _, page, report = self.page("huge", huge)
        self.assertNotIn("timeline", page)
        self.assertFalse((path.parent / "timeline.svg").exists())
        with chromium.Page() as b:
            for size in chromium.SIZES:
                b.size(size)
                self.open(b, path)
                self.assertEqual(b.ask(TOO_WIDE), [])
                self.assertIn("are too many to draw", b.ask("document.getElementById('timeline').textContent"))
                self.assertEqual(b.ask("document.querySelectorAll('#timeline canvas').length"), 0)
                self.assertRegex(b.ask("document.getElementById('answer').textContent"), "fit")
                # Where the time goes, memory by rank, changes and schedules are there all the same.
                legends = b.ask("[...document.querySelectorAll('#overview .shares .legend')].map(x => [...x.querySelectorAll('b')].map(y => parseFloat(y.textContent)))")
                self.assertAlmostEqual(sum(legends[0]), 100, delta=0.05 * len(legends[0]))
                for part in ("memory", "step", "changes"):
                    self.assertGreater(b.ask(f"document.getElementById('{part}').textContent.length"), 100, part)
            self.clean(b, path)


# What share of each lane is painted busy: every pixel as a mixture of idle, forward and backward.
BUSY = """(() => {
  const t = hocketTimeline, rgb = name => [1, 3, 5].map(i => parseInt(colour(name).slice(i, i + 2), 16));
  const idle = rgb("raised"), f = rgb("forward").map((x, i) => x - idle[i]), g = rgb("backward").map((x, i) => x - idle[i]);
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2], ff = dot(f, f), fg = dot(f, g), gg = dot(g, g), det = ff * gg - fg * fg;
  const copy = new OffscreenCanvas(t.canvas.width, t.canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(t.canvas, 0, 0);
  const left = t.gutter, wide = t.width - t.gutter - 8, tall = t.tall();
  return t.lanes.map((_, lane) => {
    const pixels = copy.getImageData(left, AXIS + lane * t.pitch, wide, tall).data;
    let busy = 0;
    for (let at = 0; at < pixels.length; at += 4) {
      const p = [0, 1, 2].map(i => pixels[at + i] - idle[i]), pf = dot(p, f), pg = dot(p, g);
      busy += Math.max(0, Math.min(1, (gg * pf - fg * pg + ff * pg - fg * pf) / det));
    }
    return busy / (pixels.length / 4);
  });
})()"""
TOO_WIDE = """(() => {
  const most = document.documentElement.clientWidth, root = document.documentElement;
  const found = [...document.querySelectorAll("body *")].filter(e => !e.closest("nav, .scroll, #tip, .skip") && e.getBoundingClientRect().right > most + 1);
  return [...found.map(e => e.tagName + ": " + e.textContent.slice(0, 60)), ...(innerWidth > most ? [`${innerWidth} pixels for ${most}`] : [])];
})()"""
OVERLAPS = """(() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].map(t => [t.getBoundingClientRect(), t.textContent]);
    for (const [b, words] of texts) if (b.left < -1 || b.right > document.documentElement.clientWidth + 1) found.push("outside: " + words);
    for (let i = 0; i < texts.length; ++i) for (let j = i + 1; j < texts.length; ++j) {
      const [a, s] = texts[i], [b, t] = texts[j];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1.5 && high > 0.35 * Math.min(a.height, b.height)) found.push(`"${s}" lies on "${t}"`);
    }
  }
  return found;
})()"""

if __name__ == "__main__":
    main()
