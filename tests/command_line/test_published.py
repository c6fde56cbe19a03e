# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket cost fit: published runs beside what is predicted of them, and a machine fitted to runs."""
import csv
import io
import json
import unittest

from harness import DATA, ToolTest, main

RUNS = DATA / "published" / "runs.json"


class Published(ToolTest):
    def table(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.ok("cost", "fit", *arguments).text)))

    def test_published_runs_lie_where_the_page_says(self):
        rows = self.table("--runs", RUNS)
        self.assertEqual(len(rows), len(json.loads(RUNS.read_text())["runs"]))
        errors = {"dense": [], "mixture": []}
        for r in rows:
            model = json.loads((RUNS.parent / r["model"]).read_text())
            mixture = any(key in model for key in ("num_experts", "num_local_experts", "n_routed_experts"))
            measured, predicted = float(r["measured_s"]), float(r["predicted_s"])
            self.assertAlmostEqual(100 * (predicted / measured - 1), float(r["error_percent"]), delta=0.3)
            errors["mixture" if mixture else "dense"].append(abs(predicted / measured - 1))
        mean = {kind: sum(list_) / len(list_) for kind, list_ in errors.items()}
        self.assertLess(mean["dense"], 0.08)
        self.assertLess(mean["mixture"], 0.20)
        self.assertLess(max(errors["dense"] + errors["mixture"]), 0.60)
        by_machine = self.table("--runs", RUNS, "--by-machine")
        self.assertEqual(sum(int(r["runs"]) for r in by_machine), len(rows))

    def one_run(self, **training):
        return {"model": str(RUNS.parent / "configs" / "llama2-7b.json"), "source": "here",
                "training": {"sequence": 4096, "global_batch": 128, **training},
                "parallel": {"dp": 8, "zero": 1}, "step_seconds": 4.0}

    def file_of(self, *runs):
        return self.file("runs.json", json.dumps({"runs": list(runs)}))

    def test_cost_report_says_the_same_seconds(self):
        run = self.one_run(machine="h100_sxm", precision="fp8")
        row = self.table("--runs", self.file_of(run))[0]
        training = self.file("training.json", json.dumps(run["training"]))
        parallel = self.file("parallel.json", json.dumps(run["parallel"]))
        report = self.ok("cost", "report", "--model", run["model"], "--training", training, "--parallel", parallel)
        self.assertAlmostEqual(float(report.summary["step_seconds"]), float(row["predicted_s"]), places=3)
        # --machine takes the place of the file's.
        on_a100 = self.file("bf16.json", json.dumps({**run["training"], "precision": "bf16"}))
        same = [self.ok("cost", "report", "--model", run["model"], "--training", on_a100, "--parallel", parallel,
                        "--machine", machine).summary["step_seconds"] for machine in ("h100_sxm", "a100_sxm_80")]
        self.assertLess(float(same[0]), float(same[1]))

    def test_each_model_is_judged_by_a_fit_to_the_others(self):
        of = lambda name, seconds: {**self.one_run(machine="h100_sxm"), "model": str(RUNS.parent / "configs" / name), "step_seconds": seconds}
        runs = [of("llama2-7b.json", 9.0), of("llama3-8b.json", 10.0), of("llama3-8b.json", 10.5)]
        done = self.ok("cost", "fit", "--hold-out", "--runs", self.file_of(*runs))
        rows = list(csv.DictReader(io.StringIO(done.text)))
        self.assertEqual([(r["family"], int(r["runs"])) for r in rows], [("H100", 1), ("H100", 2)])
        self.assertEqual(done.summary["held_out_runs"], "3")
        self.assertLess(max(float(r["mean_error_percent"]) for r in rows), 60)
        self.refused("cost", "fit", "--hold-out", "--runs", self.file_of(runs[0]), says="no two models ran on one family")
        self.refused("cost", "fit", "--hold-out", "--by-machine", "--runs", self.file_of(runs[0]), code=2, says="--hold-out fits by itself")

    def test_a_fit_finds_the_machine_that_made_the_runs(self):
        slow = {"name": "slow", "source": "test", "gemm_flops": 3e14, "memory_bytes": 1e12, "data_bytes": 2e10}
        runs = []
        for batch in (64, 128, 256):
            for sequence in (2048, 4096, 8192):
                run = self.one_run(machine=slow)
                run["training"].update(sequence=sequence, global_batch=batch)
                runs.append(run)
        for run, row in zip(runs, self.table("--runs", self.file_of(*runs))):
            run["step_seconds"] = float(row["predicted_s"])
            run["training"]["machine"] = {**slow, "gemm_flops": 9e14, "memory_bytes": 3e12, "attention_flops": 3e14}
        fitted = self.ok("cost", "fit", "--runs", self.file_of(*runs), "--rates", "gemm_flops,memory_bytes")
        found = json.loads(fitted.text)
        self.assertAlmostEqual(found["gemm_flops"] / 3e14, 1, delta=0.01)
        self.assertAlmostEqual(found["memory_bytes"] / 1e12, 1, delta=0.01)
        self.assertEqual(found["data_bytes"], 2e10)
        # What it prints is a machine.
        machine = self.file("machine.json", fitted.text)
        rows = self.table("--runs", self.file_of(*runs), "--machine", machine)
        for row in rows:
            self.assertLess(abs(float(row["error_percent"])), 0.2)

    def test_mistakes(self):
        run = self.one_run(machine="h100_sxm")
        def refused(says, *arguments, **changes):
            self.refused("cost", "fit", "--runs", self.file_of({**run, **changes}), *arguments, says=says)
        refused("one of the two", tokens_per_second_per_device=1)
        refused("h100_sxm", training={**run["training"], "machine": "h1000"})
        refused("nvfp4_flops", training={**run["training"], "precision": "nvfp4"})
        refused("no \"machine\"", training={"sequence": 1, "global_batch": 8})
        refused("measured steps", "--rates", "gemm_flops,memory_bytes")
        links = {"name": "x", "source": "y", "gemm_flops": 1e15, "memory_bytes": 1e12,
                 "links": [{"ranks": 8, "bytes": 1e11}, {"ranks": 8, "bytes": 1e10}]}
        refused("links[1].ranks", training={**run["training"], "machine": links})
        two = self.file_of(run, self.one_run(machine="h200"))
        self.refused("cost", "fit", "--runs", two, "--rates", "gemm_flops", says="several machines")
        self.misused("cost", "fit", "--runs", two, "--rates", "speed", says="gemm_flops")
        self.misused("cost", "fit", "--runs", two, "--machine", "fast", says="h100_sxm")


if __name__ == "__main__":
    main()
