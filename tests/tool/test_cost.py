# SPDX-License-Identifier: Apache-2.0
"""hocket cost report: published totals to the last digit, and the three formats against each other."""
import csv
import json
import unittest

from harness import CONFIGS, DATA, EXAMPLES, ToolTest, main

# Where models.csv calls a model by another name than its config here.
NAMES = {"llama-2-7b": "llama2-7b", "llama-2-13b": "llama2-13b", "llama-2-70b": "llama2-70b", "llama-3-8b": "llama3-8b",
         "mixtral-8x7b-v0.1": "mixtral-8x7b"}
# From the models' pages; not in models.csv.
PUBLISHED = {"mistral-7b-v0.1": 7241732096, "qwen2-7b": 7615616512}


class Report(ToolTest):
    def json_of(self, *words):
        return json.loads(self.ok("cost", "report", *words, "--format", "json").text)

    def test_published_parameter_counts(self):
        with open(DATA / "cost" / "models.csv", encoding="utf-8") as file:
            models = {row["name"]: row for row in csv.DictReader(file)}
        configs = sorted(CONFIGS.glob("*.json"))
        self.assertGreaterEqual(len(configs), 8)
        for path in configs:
            with self.subTest(path.stem):
                row = models.get(NAMES.get(path.stem, path.stem))
                total = int(row["published"]) if row else PUBLISHED[path.stem]
                value = self.json_of("--model", path)
                self.assertEqual(value["parameters"]["total"], total)
                if row:
                    self.assertEqual(value["parameters"]["active"], int(row["computed_active"]))
                self.assertEqual(sum(t["value"] for t in value["terms"] if t["group"] == "parameters"), total)
                done = self.ok("cost", "report", "--model", path)
                self.assertEqual(done.summary["parameters"], str(total))
                self.assertIn(f"{total:,}", done.text)

    def test_text_is_the_default(self):
        self.assertEqual(self.ok("cost", "report", "--model", CONFIGS / "gpt2.json").out,
                         self.ok("cost", "report", "--model", CONFIGS / "gpt2.json", "--format", "text").out)

    def test_a_step_in_numbers_worked_out_here(self):
        training = self.file("training.json", json.dumps({
            "version": 1, "sequence": 4096, "micro_batch": 1, "global_batch": 18, "weights": "bf16", "gradients": "fp32",
            "optimizer": "adam", "attention_count": "causal_half"}))
        parallel = self.file("parallel.json", json.dumps({"tp": 2, "pp": 4, "dp": 2, "sequence_parallel": True, "zero": 1}))
        model = EXAMPLES / "llama-2-13b" / "config.json"
        h, f, layers, vocabulary, s, batch = 5120, 13824, 40, 32000, 4096, 18
        forward = 2 * batch * s * (layers * (4 * h * h + 3 * h * f) + h * vocabulary) + 2 * batch * layers * 2 * h * s * s // 2
        for words in (("--training", training), ("--training", training, "--parallel", parallel)):
            value = self.json_of("--model", model, *words)
            self.assertEqual(value["flops"]["per_step"], 3 * forward)
            self.assertEqual(value["flops"]["per_token"] * batch * s, 3 * forward)
            self.assertIn("causal_half", value["flops"]["convention"])
            self.assertEqual(len(value["memory"]), 4 if len(words) > 2 else 1)
            for rank, row in enumerate(value["memory"]):
                self.assertEqual(row["rank"], rank)
                self.assertEqual(row["static_bytes"] + row["activation_bytes"], row["total_bytes"])
            for term in value["terms"]:
                self.assertTrue({"name", "formula", "value", "unit", "source"} <= set(term))
                self.assertTrue(term["formula"] and term["unit"] and term["source"])
            done = self.ok("cost", "report", "--model", model, *words)
            self.assertEqual(done.summary["flops_per_step"], str(3 * forward))
            self.assertEqual(int(done.summary["max_bytes_per_rank"]), max(r["total_bytes"] for r in value["memory"]))
        whole = self.json_of("--model", model, "--training", training)["memory"][0]
        self.assertEqual(whole["static_bytes"], (2 + 4 + 4 + 8) * 13015864320)  # weights, gradients, master copy, moments

    def test_communication_worked_out_here(self):
        training = self.file("training.json", json.dumps({"sequence": 4096, "global_batch": 16}))
        parallel = self.file("parallel.json", json.dumps({"tp": 4, "pp": 2, "dp": 2, "sequence_parallel": True, "zero": 1}))
        value = self.json_of("--model", EXAMPLES / "llama-2-13b" / "config.json", "--training", training, "--parallel", parallel)
        sent = [t for t in value["terms"] if t["group"] == "sent by one layer and micro-batch"]
        stream = 2 * 4096 * 5120  # bytes of one micro-batch between layers
        # Gathered twice and cut again twice in each pass, and what is saved in parts gathered twice: 10 times 3/4.
        self.assertEqual(sum(t["value"] for t in sent), 10 * stream * 3 // 4)
        between = [t["value"] for t in value["terms"] if t["group"] == "sent between stages, per micro-batch"]
        self.assertEqual(between, [stream // 4, stream // 4])
        step = {t["name"]: t["value"] for t in value["terms"] if t["group"] == "sent over data-parallel ranks, per step"}
        self.assertEqual(step["gradients to their shards"], 2 * step["weights from their shards"])  # 4 bytes, and 2

    def test_latex_is_balanced(self):
        for path in CONFIGS.glob("*.json"):
            done = self.ok("cost", "report", "--model", path, "--format", "latex").text
            self.assertEqual(done.count("\\begin{"), done.count("\\end{"))
            self.assertEqual(done.replace("\\{", "").count("{"), done.replace("\\}", "").count("}"))
            self.assertEqual(done.replace("\\$", "").count("$") % 2, 0)

    def test_parallel_needs_training(self):
        self.misused("cost", "report", "--model", CONFIGS / "gpt2.json", "--parallel", self.file("p.json", "{}"), says="--training")


if __name__ == "__main__":
    main()
