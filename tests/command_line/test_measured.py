# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--measured of cost report and plan, the account of the peak's bytes, and the chapter that walks the tuning guide."""
import json
import re
import unittest

import harness
from harness import DATA, ROOT, ToolTest, main

MEASURED = DATA / "measured"
CHAPTER = ROOT / "docs" / "tuning_guide.md"
PLAIN, FULL = 83427840, 44810240  # peaks that MindSpore's CPU profiler measured, in bytes


def grouped(number):
    return f"{int(number):,}" if number else ""


class Account(ToolTest):
    """Each byte between the predicted and the measured peak, from the terms of the report and what the dump has alive."""

    def report(self, *options):
        done = self.ok("cost", "report", "--model", MEASURED / "model.json", "--training", MEASURED / "training.json",
                       "--format", "json", *options)
        report = json.loads(done.text)
        # Both norms of a layer have a line, of the same bytes.
        terms = {t["name"]: t["value"] for t in report["terms"] if not t["group"].startswith("kept of a sequence")}
        return report, terms, report["measured"]["compared"][0]

    def alive(self, name):
        peak = json.loads(self.ok("ir", "peak", "--cpu", DATA / "mindspore" / f"{name}.ir", "--format", "json").text)

        def bytes_of(primitive, pattern=".*", phase=".*"):
            found = [g for g in peak["alive"] if re.fullmatch(primitive, g["primitive"]) and re.fullmatch(pattern, g["pattern"]) and
                     re.fullmatch(phase, g["phase"])]
            for g in found:
                peak["alive"].remove(g)  # each byte once
            return sum(g["bytes"] for g in found)
        return peak, bytes_of

    def rows(self):
        plain, terms, one = self.report("--measured", MEASURED / "plain_fp32_memory.txt")
        full, _, two = self.report("--parallel", MEASURED / "full.json", "--measured", MEASURED / "full_fp32_memory.txt")
        self.assertEqual((one["measured"], two["measured"]), (PLAIN, FULL))
        states = terms["weights"] + terms["optimizer moments"]
        for report, compared in ((plain, one), (full, two)):
            self.assertEqual(compared["predicted"], report["memory"][0]["peak_bytes"] - states)
        p, of_plain = self.alive("plain_fp32")
        f, of_full = self.alive("full_fp32")
        layer_input, norms = terms["norms, inputs"], terms["attention input"] + terms["FFN input"]
        ffn = terms["FFN activation, output"]
        # What the report has, and is there: taken out, so that the rest is what it has not.
        same_plain = of_plain("Softmax") + of_plain("MatMul", r"feed_forward.*") + of_plain("SiLU") + of_plain("Mul", r"feed_forward\\\.mul") + \
            of_plain("Add|Gather") + of_plain("Transpose") + of_plain("MatMul", r".*lm_head.*")
        held = {"softmax output": 2, "FFN activation, inputs": 2, "FFN activation, first factor": 2, "FFN activation, output": 2,
                "norms, inputs": 4, "queries": 2, "attention output": 2}
        self.assertEqual(same_plain, sum(terms[k] * n for k, n in held.items()) + terms["final norm, input"] + terms["logits"])
        same_full = of_full("Softmax|SiLU|Add|Gather|Transpose|MatMul", phase="recomputed|forward")
        self.assertEqual(same_full, terms["softmax output"] + terms["FFN activation, inputs"] + terms["FFN activation, first factor"] +
                         2 * terms["norms, inputs"] + terms["queries"] + terms["attention output"])
        gradients = terms["gradients"]
        rows = [("predicted, without weights and optimizer states", one["predicted"], two["predicted"])]
        rows.append(("gradients of weights that are not there at that moment", -gradients,
                     of_full("MatMul|SumExt", phase="backward") - gradients))
        rows.append(("gone by then: the other layer's input, this one's counted twice, the output of the activation", 0,
                     -2 * layer_input - ffn))
        rows.append(("keys and values, repeated for each head", of_plain("Tile") - 2 * terms["keys and values"],
                     of_full("Tile") - terms["keys and values"]))
        rows.append(("norms before their weights, kept beside the result", of_plain("Mul", r".*norm.*") - 2 * norms - terms["head input"],
                     of_full("Mul", r".*norm\\\.mul", "recomputed") - norms))
        rows.append(("backward ops that start early: SiLUGrad's sigmoid, and 2x of the norms' squares",
                     of_plain("SiLUGrad's sigmoid") + of_plain("Muls"), of_full("SiLUGrad's sigmoid") + of_full("Muls")))
        rows.append(("inside the backward pass: gradients of the FFN and of the layer's output", 0,
                     of_full("Mul|SiLUGrad|AddN", r"(network|feed_forward).*", "backward")))
        rows.append(("the loss: its gradient and labels, less a copy in 32 bits",
                     of_plain("SoftmaxCrossEntropyWithLogits|OneHot") - terms["logits in 32 bits"], 0))
        rows.append(("workspace of the kernel that runs", p["workspace_bytes"], f["workspace_bytes"]))
        rows.append(("small results: square roots, the loss", of_plain(".*"), of_full(".*")))
        self.assertEqual((p["alive"], f["alive"]), ([], []))
        rows.append(("inputs, constants, rounding of sizes", PLAIN - p["peak_bytes"], FULL - f["peak_bytes"]))
        self.assertEqual((sum(r[1] for r in rows), sum(r[2] for r in rows)), (PLAIN, FULL))
        rows.append(("measured", PLAIN, FULL))
        return [f"| {name} | {grouped(a)} | {grouped(b)} |" for name, a, b in rows]

    def test_nothing_is_left_over(self):
        rows = self.rows()
        self.assertIn("\n".join(rows) + "\n", CHAPTER.read_text(), "\n" + "\n".join(rows))


class Compared(ToolTest):
    def training(self, **fields):
        return self.file("training.json", json.dumps(json.loads((MEASURED / "training.json").read_text()) | fields))

    def test_seconds_of_a_machine_beside_a_log(self):
        training = self.training(machine="guide_device", peak_tflops=100, step_seconds=1)
        log = self.file("log.txt", "".join(f" step:[ {i}/ 9], per_step_time: {ms}ms, train_throughput_per_npu: 0.5T\n"
                                           for i, ms in ((1, 9000), (2, 200), (3, 400), (4, 300))))
        done = self.ok("cost", "report", "--model", MEASURED / "model.json", "--training", training, "--format", "json",
                       "--measured", log, MEASURED / "plain_fp32_memory.txt", "--peak-tflops", "2")
        report = json.loads(done.text)
        compared = report["measured"]["compared"]
        self.assertEqual([c["quantity"] for c in compared], ["step", "memory at the peak", "FLOP/s of a device"])
        self.assertAlmostEqual(compared[0]["predicted"], report["step"]["seconds"])
        self.assertAlmostEqual(compared[0]["measured"], 0.3)
        self.assertAlmostEqual(compared[0]["difference"], 0.3 - report["step"]["seconds"])
        self.assertAlmostEqual(compared[2]["predicted"], report["flops"]["per_step"] / report["step"]["seconds"])
        mfu = report["measured"]["utilization"][0]
        self.assertAlmostEqual(mfu["ratio"], report["flops"]["per_step"] / 0.3 / 2e12)
        self.assertTrue(mfu["text"].startswith("MFU ") and "attention causal_exact" in mfu["text"], mfu)
        self.assertTrue(report["measured"]["utilization"][-1]["text"].startswith("HFU "))
        self.assertEqual(len({u["text"] for u in report["measured"]["utilization"]}), 4)

    def test_parts_of_a_step(self):
        table = self.file("step_trace_time.csv", "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
                          "Communication(Not Overlapped and Exclude Receive),Preparing\n1,100000,50000,0,50000,20000,170000,0,50000,0\n")
        report = json.loads(self.ok("cost", "report", "--model", MEASURED / "model.json", "--training",
                                    self.training(machine="guide_device"), "--format", "json", "--measured", table).text)
        by = {c["quantity"]: c for c in report["measured"]["compared"]}
        parts = report["step"]["parts"]
        self.assertAlmostEqual(by["computing"]["predicted"], parts["forward_backward"] + parts["optimizer"] + parts["post_processing"])
        self.assertAlmostEqual(by["free"]["predicted"], parts["scheduling"] + parts["data_loading"])
        self.assertAlmostEqual(by["step"]["measured"], 0.17)
        sizes = [abs(c["difference"]) for c in report["measured"]["compared"] if c["unit"] == "second"]
        self.assertEqual(sizes, sorted(sizes, reverse=True))

    def test_a_whole_plan(self):
        log = self.file("log.txt", " step:[ 1/ 9], per_step_time: 9000ms\n step:[ 2/ 9], per_step_time: 2000ms\n")
        done = self.ok("plan", harness.PLAN, "--out", self.folder / "plan", "--measured", log, "--peak-tflops", "312")
        report = json.loads((self.folder / "plan" / "report.json").read_text())
        compared = report["measured"]["compared"]
        self.assertAlmostEqual(compared[0]["predicted"], float(done.summary["makespan_us"]) / 1e6)
        self.assertAlmostEqual(compared[0]["measured"], 2)
        for text in (done.text, (self.folder / "plan" / "report.txt").read_text()):
            self.assertEqual(text.count("predicted beside measured"), 1)
            self.assertIn("  measured MFU ", text)

    def test_a_model_of_unequal_layers(self):
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))
        model = self.file("m.json", json.dumps(records["kimi_linear, other"]["config"]))
        log = self.file("log.txt", "per_step_time: 9000ms\nper_step_time: 2000ms\n")
        ratios = {}
        for counted in ("causal_half", "full"):
            training = self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 8, "attention_count": counted}))
            report = json.loads(self.ok("cost", "report", "--model", model, "--training", training, "--format", "json",
                                        "--measured", log, "--peak-tflops", "100").text)
            compared = {c["quantity"]: c for c in report["measured"]["compared"]}
            self.assertAlmostEqual(compared["step"]["measured"], 2)
            found = {u["text"].split(" (")[0].split()[0] + u["text"].split("attention ")[1].split(",")[0]: u["ratio"]
                     for u in report["measured"]["utilization"]}
            ratios[counted] = found
            self.assertAlmostEqual(report["flops"]["per_step"] / 2 / 100e12, report["measured"]["utilization"][0]["ratio"])
        own = lambda text: next(v for k, v in ratios[text].items() if k.startswith("MFU"))
        self.assertIn(own("full"), ratios["causal_half"].values())  # each convention is told under the other
        self.assertIn(own("causal_half"), ratios["full"].values())

    def test_what_is_refused(self):
        def refused(*files, says, training=MEASURED / "training.json"):
            self.refused("cost", "report", "--model", MEASURED / "model.json", "--training", training, "--measured", *files, says=says)
        refused(DATA / "ascend" / "cpu_op_type_info_0.csv", says="it tells totals, and nothing of a step")
        refused(ROOT / "README.md", says="neither a profiler's file nor a log with step times")
        log = " iteration 1/ 9 | elapsed time per iteration (ms): 5.0 | global batch size: 16 |\n"
        refused(self.file("a.log", log), says="it measured steps of 16 sequences, and predicted is one of 8")
        one = self.file("one.log", "per_step_time: 5ms\n")
        two = self.file("two.log", "per_step_time: 5ms\n" * 2)
        refused(one, two, says="it measured 2 steps, and ")
        refused(self.file("b.log", "a\nper_step_time: soon\n"), says="line 2, column 16")
        refused(self.folder / "none.log", says="cannot read")
        refused(one, two, one, says="are one file: give it once")
        refused(one, self.folder / "." / ".." / self.folder.name / "one.log", says="are one file: give it once")
        refused(self.file("zero.log", "per_step_time: 0ms\n" * 3), says="zero.log: the text ends in line 3, before a step time above 0 ms")
        for peak in ("nan", "-1", "0", "1e10", "inf", "a"):
            self.misused("cost", "report", "--model", MEASURED / "model.json", "--training", MEASURED / "training.json", "--measured", one,
                         "--peak-tflops", peak)
        self.misused("cost", "report", "--model", MEASURED / "model.json", "--measured", one)
        self.misused("cost", "report", "--model", MEASURED / "model.json", "--training", MEASURED / "training.json", "--measured", one,
                     "--measured-rank", "1")
        self.misused("cost", "report", "--model", MEASURED / "model.json", "--training", MEASURED / "training.json", "--measured", one,
                     "--format", "latex")


if __name__ == "__main__":
    main()
