# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket cost report: published totals to the last digit, and the three formats against each other."""
import csv
import json
import pathlib
import math
import re
import unittest
from fractions import Fraction

from harness import CONFIGS, DATA, EXAMPLES, PLAN, ToolTest, main

# Where models.csv calls a model by another name than its config here.
NAMES = {"llama-2-7b": "llama2-7b", "llama-2-13b": "llama2-13b", "llama-2-70b": "llama2-70b", "llama-3-8b": "llama3-8b",
         "mixtral-8x7b-v0.1": "mixtral-8x7b"}
# From the models' pages; not in models.csv.
PUBLISHED = {"mistral-7b-v0.1": 7241732096, "qwen2-7b": 7615616512}


class Report(ToolTest):
    def json_of(self, *words):
        return json.loads(self.ok("cost", "report", *words, "--format", "json").text)

    def test_total_and_peak_say_what_they_are(self):
        training = self.file("t2.json", '{"sequence": 4096, "micro_batch": 2, "global_batch": 64, "machine": "guide_device"}')
        parallel = self.file("p2.json", '{"tp": 1, "pp": 2, "vp": 2, "dp": 2, "recompute": "full", "zero": 1}')
        words = ("cost", "report", "--model", PLAN.parent / "config.json", "--training", training, "--parallel", parallel)
        text = self.ok(*words, "--format", "text").text
        memory = json.loads(self.ok(*words, "--format", "json").text)["memory"]
        self.assertLess(memory[1]["peak_bytes"], memory[1]["total_bytes"])  # why the words are needed
        self.assertIn("total: the sum of each part's own largest bytes", text)
        gib = [f"{m['peak_bytes'] / 2**30:.2f}" for m in memory]
        self.assertIn("peak: all that is there at one moment, also what lives only then; the largest such moment, by rank: " + ", ".join(gib) + " GiB", text)
        self.assertIn("whether a rank fits goes by its peak", text)

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

    def test_a_config_of_two_halves_is_refused_with_the_value(self):
        config = json.loads((CONFIGS / "llama-2-7b.json").read_text(encoding="utf-8"))
        for changes, says in (({"architectures": ["MistralForCausalLM"]}, '"architectures" is ["MistralForCausalLM"], which its model_type does not allow'),
                              ({"model_type": 7}, 'unknown architecture "7"')):
            self.refused("cost", "report", "--model", self.file("m.json", json.dumps({**config, **changes})), says=says)

    def test_what_is_wrong_with_the_model_is_not_blamed_on_the_step(self):
        config = json.loads((CONFIGS / "llama-2-7b.json").read_text(encoding="utf-8"))
        huge = self.file("m.json", json.dumps({**config, "intermediate_size": 2147483647, "hidden_size": 2147483616, "num_hidden_layers": 1048576}))
        self.refused("cost", "report", "--model", huge, "--training", self.file("t.json", "{\"sequence\": 4096}"), says="m.json: parameters")

    def test_models_whose_layers_differ(self):
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))
        record = records["qwen3_next, other"]
        model = self.file("m.json", json.dumps(record["config"]))
        training = self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 8}))
        ways = self.file("p.json", json.dumps({"tp": 2, "pp": 2, "dp": 2}))
        for words in ((), ("--training", training), ("--training", training, "--parallel", ways)):
            value = self.json_of("--model", model, *words)
            self.assertEqual(value["parameters"]["total"], record["total"])
            self.assertEqual(sum(t["value"] for t in value["terms"] if t["group"].startswith("parameters")), record["total"])
            if words:
                forward = sum(t["value"] for t in value["terms"] if t["group"].startswith("forward FLOPs"))
                self.assertEqual(value["flops"]["per_step"], 3 * forward)
        self.assertEqual([rank["layers"] for rank in value["memory"]], [5, 5])
        self.assertIn("delta rule", self.ok("cost", "report", "--model", model, "--training", training).text)
        self.ok("cost", "report", "--model", model, "--training", training, "--format", "latex")
        whole = self.file("w.json", json.dumps({"model_type": "qwen3_5_moe", "text_config": records["qwen3_5_moe_text, other"]["config"]}))
        self.assertEqual(self.json_of("--model", whole)["parameters"]["total"], records["qwen3_5_moe_text, other"]["total"])
        timed = self.file("s.json", json.dumps({"sequence": 4096, "global_batch": 8, "machine": "b200_fitted"}))
        step = self.json_of("--model", model, "--training", timed, "--parallel", ways)["step"]
        self.assertAlmostEqual(sum(step["parts"].values()) - step["parts"].get("communication_hidden", 0), step["seconds"], delta=1e-6 * step["seconds"])
        self.refused("cost", "report", "--model", model, "--training", training, "--parallel",
                     self.file("q.json", json.dumps({"tp": 3})), says="over tp")

    def test_a_rank_has_its_own_copy_of_shared_weights(self):
        record = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))["zamba2, other"]
        model = self.file("m.json", json.dumps(record["config"]))
        training = self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 8}))
        h, f, vocabulary = 1024, 4096, 32000
        # Layers 1, 3 and 4 share queries, keys, values of 2 h, an output, norms and an FFN; a tied embedding is the head.
        shared = 3 * (2 * h) * (2 * h) + 2 * h * h + 3 * h + 3 * h * f
        for pp, copies in ((1, 0), (2, shared + vocabulary * h), (3, 2 * shared + vocabulary * h)):
            memory = self.json_of("--model", model, "--training", training, "--parallel", self.file("p.json", json.dumps({"pp": pp})))["memory"]
            self.assertEqual(sum(rank["static_bytes"] for rank in memory), 18 * (record["total"] + copies))

    def test_a_list_of_layers_that_cannot_be_read_says_why(self):
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))

        def refused(record, says, **changes):
            config = {**records[record]["config"], **changes}
            config = {k: v for k, v in config.items() if v != "absent"}
            self.refused("cost", "report", "--model", self.file("m.json", json.dumps(config)), says=says)
        refused("kimi_linear, other", "m.json: the config has no field \"kv_lora_rank\"", kv_lora_rank="absent")
        refused("kimi_linear, other", "\"hidden_size\" is \"2048\", but must be a whole number", hidden_size="2048")
        for classes in (["LlamaForCausalLM"], ["GPT2LMHeadModel"], ["KimiLinearForCausalLM", "DeepseekV3ForCausalLM"],
                        ["NemotronHForCausalLM"], [7], "KimiLinearForCausalLM"):
            refused("kimi_linear, other", "which its model_type does not allow", architectures=classes)
        refused("kimi_linear, other", "\"first_k_dense_replace\" is 99, but the other fields imply",
                mlp_layer_types="absent", first_k_dense_replace=99)
        refused("deepseek_v4, other", "hc_mult is 1000000, but must lie in [1, 64]", hc_mult=1000000)
        refused("nemotron_h, other", "\"layers_block_type\" is [], but must be a list", layers_block_type=[], num_hidden_layers="absent")
        refused("lfm2, other", "m.json: the config's layer_types \"foo\" (layer 0) is no kind of layer that its model_type has",
                layer_types=["foo"] + records["lfm2, other"]["config"]["layer_types"][1:])
        refused("nemotron_h, other", "hybrid_override_pattern \"Q\" (layer 5)", layers_block_type="absent", num_hidden_layers=4, hybrid_override_pattern="MEM*-Q")
        inner = {**records["qwen3_5_moe_text, other"]["config"], "hidden_size": "1"}
        whole = self.file("w.json", json.dumps({"model_type": "qwen3_5_moe", "hidden_size": 7, "text_config": inner}))
        self.refused("cost", "report", "--model", whole, says="w.json: \"hidden_size\" is \"1\", but must be a whole number")
        self.refused("cost", "report", "--model", self.file("u.json", json.dumps({"model_type": "bert"})), says="bert")

    def test_a_list_of_layers_with_its_own_class_and_prediction_modules(self):
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))
        record = records["deepseek_v32, other"]
        for classes in (["DeepseekV32ForCausalLM"], ["SomebodysForCausalLM"], []):
            model = self.file("m.json", json.dumps({**record["config"], "architectures": classes, "num_nextn_predict_layers": 2}))
            self.assertEqual(self.json_of("--model", model)["parameters"]["total"], record["total"])
            self.assertIn("num_nextn_predict_layers = 0: the 2 given are no part of the size", self.ok("cost", "report", "--model", model).text)

    def test_prediction_modules_of_a_list_and_of_numbers(self):
        """The last rank has a layer more, its joint input and norms; the published size stays."""
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))
        lists = self.file("m.json", json.dumps(records["deepseek_v32, other"]["config"]))
        parallel = self.file("p.json", json.dumps({"pp": 2}))
        for model in (lists, CONFIGS / "mixtral-8x7b-v0.1.json", CONFIGS / "llama-2-7b.json"):
            def report(**more):
                training = self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 4, **more}))
                return self.json_of("--model", model, "--training", training, "--parallel", parallel)
            without, none, two = report(), report(predictions=0), report(predictions=2)
            self.assertEqual(none, without)
            self.assertEqual(two["parameters"], without["parameters"])
            if json.loads(pathlib.Path(model).read_text())["num_hidden_layers"] % 2 == 0:
                self.assertEqual(two["memory"][0]["static_bytes"], without["memory"][0]["static_bytes"])
                self.assertGreater(two["memory"][1]["static_bytes"], without["memory"][1]["static_bytes"])
            else:  # the stage of the modules gets fewer layers for them
                self.assertGreater(two["memory"][0]["static_bytes"], without["memory"][0]["static_bytes"])
            total = lambda r: sum(rank["static_bytes"] for rank in r["memory"])
            self.assertGreater(total(two), total(without))
            self.assertGreater(two["flops"]["per_step"], without["flops"]["per_step"])

    def test_muon(self):
        """Bytes by hand: Llama 2 7B has 32 layers of 4 matrices of 4096 x 4096 and 3 of 4096 x 11008."""
        records = json.loads((DATA / "cost" / "layer_families.json").read_text(encoding="utf-8"))
        matrices, others = 32 * (4 * 4096 * 4096 + 3 * 4096 * 11008), 2 * 32000 * 4096 + 65 * 4096
        training = self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 8, "optimizer": "muon"}))
        words = ("--model", CONFIGS / "llama-2-7b.json", "--training", training)
        def static(*more, **sizes):
            return self.json_of(*words, "--parallel", self.file("p.json", json.dumps(sizes)), *more)["memory"][0]["static_bytes"]
        self.assertEqual(static(), 14 * matrices + 18 * others)
        self.assertEqual(static(dp=4), 14 * matrices + 18 * others)
        self.assertEqual(static(dp=4, zero=1), 6 * (matrices + others) + (8 * matrices + 12 * others) // 4)
        self.assertEqual(static(tp=2, dp=4, zero=1), 6 * (matrices // 2 + 16000 * 8192 + 65 * 4096) +
                         (8 * matrices // 2 + 12 * (16000 * 8192 + 65 * 4096)) // 4)
        self.assertIn("one moment for each matrix", self.ok("cost", "report", *words).text)
        refused = lambda says, **sizes: self.refused("cost", "report", *words, "--parallel", self.file("p.json", json.dumps(sizes)), says=says)
        refused("zero with Muon is 2, but must lie in [0, 1]", dp=4, zero=2)
        refused("recompute lists by stage do not go with \"optimizer\": \"muon\"", recompute=[4])
        timed = self.file("m.json", json.dumps({"sequence": 4096, "optimizer": "muon", "machine": "b200_fitted"}))
        self.refused("cost", "report", *words[:3], timed, says="\"optimizer\" is muon, of whose updates no seconds are predicted")
        self.refused("planner", "layout", *words, "--parallel", self.file("p.json", "{}"), says="\"optimizer\" is muon, whose states only")
        for name in ("deepseek_v32, other", "qwen3_next, other", "kimi_linear, other", "nemotron_h, other"):
            model = self.file("m.json", json.dumps(records[name]["config"]))
            adam = self.file("a.json", json.dumps({"sequence": 4096, "global_batch": 8}))
            spread = ("--parallel", self.file("p.json", json.dumps({"dp": 4, "ep": 2, "zero": 1})))
            by_muon, by_adam = (self.json_of("--model", model, "--training", x, *spread)["memory"][0] for x in (training, adam))
            self.assertEqual(by_muon["activation_bytes"], by_adam["activation_bytes"])
            self.assertLess(by_muon["static_bytes"], by_adam["static_bytes"])

    def test_above_the_peak(self):
        training = self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 16, "step_seconds": 1e-2, "peak_tflops": 312}))
        model = CONFIGS / "llama-2-7b.json"
        self.assertIn("above the peak", self.ok("cost", "report", "--model", model, "--training", training).text)
        self.assertIn("above the peak", self.json_of("--model", model, "--training", training)["flops"]["mfu"]["text"])

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

    def test_types_with_block_scales_worked_out_here(self):
        h, f, layers, s, parameters = 5120, 13824, 40, 4096, 13015864320
        model = EXAMPLES / "llama-2-13b" / "config.json"
        parallel = self.file("p.json", json.dumps({"dp": 8, "zero": 1}))
        report = lambda words, **types: self.json_of("--model", model, "--training", self.file("t.json", json.dumps(
            {"sequence": s, "global_batch": 8, **types})), *words)
        plain = report(())["memory"][0]
        # Bits of a number and of its part of a scale: of 8 bits for 32 or 16 numbers, of 32 bits for 128 or 128 x 128.
        for name, weights, rows in (("mxfp8", Fraction(33, 4), Fraction(33, 4)), ("mxfp6", Fraction(25, 4), Fraction(25, 4)),
                                    ("mxfp4", Fraction(17, 4), Fraction(17, 4)), ("nvfp4", Fraction(9, 2), Fraction(9, 2)),
                                    ("fp8_block128", 8 + Fraction(1, 512), Fraction(33, 4))):
            with self.subTest(name):
                self.assertEqual(report((), weights=name)["memory"][0]["static_bytes"], math.ceil(parameters * (weights / 8 + 16)))
                self.assertEqual(report((), gradients=name)["memory"][0]["static_bytes"], math.ceil(parameters * (weights / 8 + 14)))
                # Of each layer the inputs of the products of attention, of the FFN, and of its last one.
                kept = report((), activations=name)["memory"][0]["activation_bytes"]
                self.assertEqual(plain["activation_bytes"] - kept, layers * s * (2 * h + f) * (2 - rows / 8))
                step = {t["name"]: t["value"] for t in report(("--parallel", parallel), weights=name)["terms"]
                        if t["group"] == "sent over data-parallel ranks, per step"}
                self.assertAlmostEqual(step["weights from their shards"], float(parameters * weights / 8 * 7 / 8), delta=1)
        line = next(t for t in report((), weights="mxfp8")["terms"] if t["name"] == "weights")
        self.assertEqual((line["formula"], line["numbers"]), ("c_w*N_r", f"33/32*{parameters}"))
        line = next(t for t in report((), activations="nvfp4")["terms"] if t["name"] == "FFN input")
        self.assertEqual(line["numbers"], f"9/16*{s}*1*{h}")
        for types, says in (({"moments": "mxfp8"}, '"moments" is "mxfp8", but must be one of: none, fp8, bf16, fp16, fp32, fp64'),
                            ({"master": "nvfp4"}, '"master" is "nvfp4", but must be one of: none'),
                            ({"weights": "mxfp9"}, "mxfp4, nvfp4, fp8_block128"),
                            ({"weights": "mxfp8", "workspace": "megatron_te"}, "buffers of the type of the weights are not known for mxfp8")):
            self.refused("cost", "report", "--model", model, "--training", self.file("t.json", json.dumps({"sequence": s, **types})), says=says)

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

    def evaluated(self, term):
        """The printed numbers as arithmetic; names of parts (kappa) are already put in."""
        text = re.sub(r"\^", "**", term["numbers"])
        return eval(text, {"__builtins__": {}}, {"min": min, "max": max, "ceil": math.ceil, "A": math.nan})  # pylint: disable=eval-used

    def test_seconds_taken_apart(self):
        model = EXAMPLES / "llama-2-13b" / "config.json"
        machine = {"name": "mine", "source": "a test", "gemm_flops": 2e14, "attention_flops": 1e14, "memory_bytes": 1e12,
                   "tensor_bytes": 2e11, "pipeline_bytes": 2e10, "data_bytes": 4e10, "data_overlap": 0.5,
                   "load_seconds": 0.25, "post_seconds": 0.125}
        training = {"sequence": 4096, "global_batch": 64, "machine": machine}
        parallel = {"tp": 4, "pp": 2, "dp": 2, "sequence_parallel": True, "zero": 1}
        words = lambda t, p: ("--model", model, "--training", self.file("t.json", json.dumps(t)), "--parallel", self.file("p.json", json.dumps(p)))
        value = self.json_of(*words(training, parallel))
        step, terms = value["step"], value["terms"]
        parts = step["parts"]
        self.assertEqual(step["machine"], {"name": "mine", "source": "a test", "worst_error": 0})
        self.assertAlmostEqual(sum(v for k, v in parts.items() if k != "communication_hidden"), step["seconds"], places=9)
        self.assertEqual((parts["data_loading"], parts["post_processing"]), (0.25, 0.125))
        self.assertAlmostEqual(step["tokens_per_second_per_device"] * step["seconds"] * 16 / (64 * 4096), 1, places=9)
        # Every printed line comes to its printed value (six digits of each number are printed).
        timed = [t for t in terms if t["unit"] in ("second", "token/second")]
        self.assertGreater(len(timed), 30)
        for term in timed:
            self.assertTrue(term["source"] and term["formula"], term)
            self.assertAlmostEqual(self.evaluated(term), term["value"], delta=1e-4 * abs(term["value"]) + 1e-9, msg=str(term))
        # One product by hand: 2 b s h 3h FLOPs over 4 ranks at 2e14.
        of = lambda group, name: next(t["value"] for t in terms if t["group"] == group and t["name"] == name)
        layer = "seconds of a layer, per micro-batch"
        self.assertAlmostEqual(of(layer, "queries, keys and values"), 2 * 4096 * 5120 * 3 * 5120 / 4 / 2e14, places=12)
        forward = sum(t["value"] for t in terms if t["group"] == layer and "B*" in t["formula"] or t["group"] == layer and t["formula"].endswith("/M"))
        self.assertAlmostEqual(of(layer, "backward, T_b"), 2 * forward + of(layer, "attention core") / 2, places=9)
        # The lines of the last group are the parts.
        last = {t["name"]: t["value"] for t in terms if t["group"] == "seconds of a step"}
        self.assertAlmostEqual(last["forward and backward"], parts["forward_backward"], places=12)
        self.assertAlmostEqual(last["bubble"], parts["bubble"], places=12)
        optimizer = sum(t["value"] for t in terms if t["group"] == "seconds of the optimizer")
        self.assertAlmostEqual(optimizer, parts["optimizer"], places=12)
        done = self.ok("cost", "report", *words(training, parallel))
        self.assertAlmostEqual(float(done.summary["step_seconds"]), step["seconds"], delta=1e-5 * step["seconds"])
        for word in ("data loading", "forward and backward", "scheduling", "bubble", "tokens/s per device", "a test"):
            self.assertIn(word, done.text)
        tex = self.ok("cost", "report", *words(training, parallel), "--format", "latex").text
        self.assertIn("\\cdot 10^{14}", tex)
        short = self.file("short.json", json.dumps({"sequence": 128, "machine": "b200_fitted"}))
        small = self.ok("cost", "report", "--model", CONFIGS / "gpt2.json", "--training", short, "--format", "latex").text
        self.assertIn("\\cdot 10^{-6}", small)
        self.assertNotRegex(small, r"10\^\{-?0")
        self.assertNotRegex(tex, r"\de[+-]\d")
        # Two copies hide tensor-parallel collectives; the host's link is slower than the device's memory.
        copies = self.json_of(*words(training, {**parallel, "copies": 2}))["step"]
        self.assertLess(copies["seconds"], step["seconds"])
        self.assertGreater(copies["parts"]["communication_hidden"], parts["communication_hidden"])
        offloaded = self.json_of(*words({**training, "machine": {**machine, "host_bytes": 2e10}},
                                        {**parallel, "offload_optimizer": True, "offload_activations": True}))
        self.assertGreater(offloaded["step"]["parts"]["optimizer"], 10 * parts["optimizer"])
        self.assertLess(offloaded["memory"][0]["total_bytes"], value["memory"][0]["total_bytes"] // 2)

    def test_shipped_machines_and_measured_rows(self):
        with open(DATA / "cost" / "simumax_b200_measured.csv", encoding="utf-8") as file:
            row = next(r for r in csv.DictReader(file) if r["case"].startswith("llama3_70b_tp2_pp1_dp4_l12_mbc8"))
        model = self.file("config.json", json.dumps({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8192, "num_attention_heads": 64,
            "num_key_value_heads": 8, "intermediate_size": 28672, "num_hidden_layers": 12, "vocab_size": 128256,
            "tie_word_embeddings": False, "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
            "max_position_embeddings": 8192, "rms_norm_eps": 1e-5}))
        training = self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 32, "fused_loss": True,
                                                   "workspace": "megatron_te", "machine": "b200_fitted"}))
        parallel = self.file("p.json", json.dumps({"tp": 2, "dp": 4, "sequence_parallel": True, "zero": 1}))
        value = self.json_of("--model", model, "--training", training, "--parallel", parallel)
        self.assertLess(abs(value["step"]["seconds"] * 1e3 / float(row["real_ms"]) - 1), 0.08)
        self.assertLess(abs(value["memory"][0]["peak_bytes"] / 2**30 / float(row["real_alloc_gib"]) - 1), 0.015)
        self.assertIn("7.4 %", self.ok("cost", "report", "--model", model, "--training", training, "--parallel", parallel).text)
        for name in ("a100_peak", "guide_device"):
            other = self.file("t.json", json.dumps({"sequence": 4096, "machine": name}))
            self.assertGreater(self.json_of("--model", model, "--training", other)["step"]["seconds"], 0)

    def test_operations_computed_again(self):
        model = EXAMPLES / "llama-2-13b" / "config.json"
        training = self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 8, "machine": "a100_peak"}))
        report = lambda parallel: self.json_of("--model", model, "--training", training, "--parallel",
                                               self.file("p.json", json.dumps({"tp": 4, "pp": 2, **parallel})))
        plain, again = report({}), report({"replay": ["norm", "activation"]})
        # A layer no longer keeps the inputs of both projections after norms (2sh each) and the activation's output.
        kept = lambda value: sum(t["value"] for t in value["terms"] if t["group"] == "kept by one layer" and t["divided_by"] == "1*cp")
        self.assertEqual(kept(plain) - kept(again), 2 * 2 * 4096 * 5120)
        self.assertNotIn("FFN activation, output", [t["name"] for t in again["terms"] if t["group"] == "kept by one layer"])
        for rank in (0, 1):
            self.assertLess(again["memory"][rank]["activation_bytes"], plain["memory"][rank]["activation_bytes"])
            self.assertLess(again["memory"][rank]["peak_bytes"], plain["memory"][rank]["peak_bytes"])
        self.assertGreater(again["step"]["seconds"], plain["step"]["seconds"])
        self.assertEqual(again["flops"]["per_step"], plain["flops"]["per_step"])
        # A list adds to what is done again anyway: naming one operation never keeps more.
        def kept(*names, **sizes):
            some = {"tp": 2, "sequence_parallel": True, **sizes}
            return report({**some, "replay": list(names)} if names else some)["memory"][0]["activation_bytes"]
        self.assertLess(kept("activation"), kept())
        self.assertLess(kept("activation", "norm"), kept("activation"))
        self.assertGreater(kept("-gather"), kept())
        self.assertEqual(kept("gather"), kept())
        products = report({"replay": ["qkv"]})["flops"]
        self.assertEqual(products["hardware_per_step"] - products["per_step"], 2 * 8 * 4096 * 40 * 5120 * 3 * 5120)
        for bad in ("norm", ["norms"], [1], {"norm": True}):
            self.refused("cost", "report", "--model", model, "--training", training, "--parallel",
                         self.file("p.json", json.dumps({"replay": bad})), says="replay")

    def test_recompute_by_stage_and_layer(self):
        model = EXAMPLES / "llama-2-13b" / "config.json"
        s, h, f = 4096, 5120, 13824
        base = {"sequence": s, "global_batch": 128, "attention_count": "causal_half", "machine": "guide_device",
                "step_seconds": 12.8, "peak_tflops": 380}
        spread = {"pp": 2, "dp": 8}
        def words(training, parallel):
            return ("--model", model, "--training", self.file("t.json", json.dumps({**base, **training})),
                    "--parallel", self.file("p.json", json.dumps({**spread, **parallel})))
        plain = self.json_of(*words({}, {}))
        # The guide's last plan: 4 whole layers of the first stage; SiLU and Mul of all others.
        silu_mul = ["feed_forward\\.mul", "feed_forward\\.w1\\.activation", "feed_forward\\.w1\\.reshape",
                    "feed_forward\\.w2\\.reshape"]
        lists = {"recompute": [4, 0], "select_recompute": silu_mul}
        value = self.json_of(*words(lists, {}))
        forward = 2 * s * h * (4 * h + 3 * f) + 4 * h * s * s // 2
        self.assertEqual(value["flops"]["hardware_per_step"] - value["flops"]["per_step"], 128 * 4 * forward)
        self.assertEqual([(row["stage"], row["layers"], row["recompute"]) for row in value["stages"]],
                         [(0, 4, "full"), (0, 16, "activation"), (1, 20, "activation")])
        kept = [row["kept_bytes"] for row in value["stages"]]
        self.assertEqual(kept[0], 2 * s * h)
        everything = sum(t["value"] for t in plain["terms"] if t["group"] == "kept by one layer")
        self.assertEqual(kept[1:], [everything - 2 * s * f] * 2)
        # Two micro-batches in flight on the first rank, one on the last.
        saved = [a["activation_bytes"] - b["activation_bytes"] for a, b in zip(plain["memory"], value["memory"])]
        self.assertEqual(saved[0], 2 * (4 * (everything - kept[0]) + 16 * 2 * s * f) - everything)
        self.assertEqual(saved[1], 20 * 2 * s * f)
        ratio = value["flops"]["hfu"]["ratio"] / value["flops"]["mfu"]["ratio"]
        self.assertAlmostEqual(ratio, value["flops"]["hardware_per_step"] / value["flops"]["per_step"], places=12)
        self.assertGreater(value["step"]["seconds"], plain["step"]["seconds"])
        # Without the reshapes, the guide's list frees nothing where linear cells take three dimensions.
        note = r"nothing is freed: add feed_forward\.w1\.reshape and feed_forward\.w2\.reshape"
        self.assertNotIn("nothing is freed", self.ok("cost", "report", *words(lists, {})).text)
        self.assertIn(note, self.ok("cost", "report", *words({**lists, "select_recompute": silu_mul[:2]}, {})).text)
        self.assertNotIn("nothing is freed", self.ok("cost", "report", *words({**lists, "select_recompute": ["activation"]}, {})).text)
        # The same in the parallel file, with our own names, and by layer.
        for same in ({"recompute": [4, 0], "select_recompute": ["activation"]},
                     {"recompute": [[3, 0, 1, 2], []], "select_recompute": {"activation": [20, 20]}},
                     {"recompute": [4, 0], "select_recompute": {name: [20, [*range(20)]] for name in silu_mul}}):
            self.assertEqual(self.json_of(*words({}, same)), value)
        self.assertEqual(self.json_of(*words({"recompute": True}, {}))["memory"],
                         self.json_of(*words({}, {"recompute": "full"}))["memory"])
        done = self.ok("cost", "report", *words(lists, {}))
        self.assertRegex(done.text, r"\n  0 +16 .* activation\n  1 +20 .* activation\n")
        self.assertIn("recompute full", done.text)
        self.assertIn("1 & 20 & ", self.ok("cost", "report", *words(lists, {}), "--format", "latex").text)
        # Every line of seconds still adds up to the step.
        last = {t["name"]: t["value"] for t in value["terms"] if t["group"] == "seconds of a step"}
        on_rank = sum(t["value"] for t in value["terms"] if t["group"] == "seconds of a micro-batch on the busiest rank"
                      and t["name"].endswith("compute"))
        self.assertAlmostEqual(last["forward and backward"], 16 * on_rank, places=9)
        for bad, says in (({"recompute": [4, 0, 0]}, "\"recompute\" has 3 entries, but there are 2 pipeline stages"),
                          ({"recompute": [21, 0]}, "\"recompute[0]\" is 21, but stage 0 has 20 layers"),
                          ({"recompute": [0, [20]]}, "\"recompute[1]\" names layer 20, but stage 1 has 20 layers"),
                          ({"recompute": [-1, 0]}, "whole numbers"), ({"recompute": [0.5, 0]}, "whole numbers"),
                          ({"recompute": 4}, "recompute"), ({"select_recompute": "norm"}, "select_recompute"),
                          ({"select_recompute": ["gelu"]}, "select_recompute.gelu"), ({"select_recompute": [1]}, "names"),
                          ({"select_recompute": {"norm": [20]}}, "\"select_recompute.norm\" has 1 entries"),
                          ({"select_recompute": {"norm": [20, 1 << 40]}}, "whole numbers"),
                          ({"select_recompute": ["feed_forward.mul"]}, "feed_forward.w1.activation")):
            self.refused("cost", "report", *words(bad, {}), says=says)
            self.refused("cost", "report", *words({}, bad), says=says)
        self.refused("cost", "report", *words({"recompute": [4, 0]}, {"recompute": [4, 0]}), says="say it once")
        self.refused("cost", "report", *words({"recompute": [4, 0]}, {"recompute": "full"}), says="say it once")
        # Operations by name count towards the hardware's FLOPs.
        named = self.json_of(*words({}, {"replay": ["qkv"]}))["flops"]
        self.assertAlmostEqual(named["hfu"]["ratio"] / named["mfu"]["ratio"], named["hardware_per_step"] / named["per_step"])

    def test_experts_need_ranks_to_share_them(self):
        words = ("--model", CONFIGS / "mixtral-8x7b-v0.1.json", "--training", self.file("t.json", json.dumps({"sequence": 4096, "global_batch": 8})))
        refused = lambda parallel, says: self.refused("cost", "report", *words, "--parallel", self.file("p.json", json.dumps(parallel)), says=says)
        refused({"ep": 8}, "ranks of a stage over ep x etp: 1 is not divisible by 8")
        refused({"ep": 4, "etp": 4, "dp": 8}, "8 is not divisible by 16")
        refused({"pp": 16, "vp": 4}, "layers for pp x vp stages is 32")
        self.ok("cost", "report", *words, "--parallel", self.file("p.json", json.dumps({"ep": 8, "dp": 4, "tp": 2})))

    def test_a_config_of_the_wrong_type_is_named_with_its_value(self):
        config = json.loads((CONFIGS / "llama-2-7b.json").read_text())
        for key, value, says in (("hidden_size", "4096", '"hidden_size" is "4096", but must be a whole number'),
                                 ("vocab_size", 1.5, '"vocab_size" is 1.5, but must be a whole number'),
                                 ("vocab_size", 1 << 63, '"vocab_size" is 9223372036854775808, but must be a whole number'),
                                 ("tie_word_embeddings", "x", '"tie_word_embeddings" is "x", but must be true or false')):
            self.refused("cost", "report", "--model", self.file("c.json", json.dumps({**config, key: value})), says=says)
        self.refused("cost", "report", "--model", self.file("c.json", "[]"), says="the config must be an object")

    def test_context_parallelism(self):
        model = CONFIGS / "llama-3-8b.json"
        training = self.file("t.json", json.dumps({"sequence": 8192, "machine": "a100_peak"}))
        def sent(parallel):
            value = self.json_of("--model", model, "--training", training, "--parallel",
                                 self.file("p.json", json.dumps({"cp": 4, **parallel})))
            return sum(t["value"] for t in value["terms"] if t["group"] == "sent by one layer and micro-batch")
        keys_values, queries = 2 * 2 * 2048 * 8 * 128, 2 * 2048 * 32 * 128
        self.assertEqual(sent({}), 9 * keys_values)
        self.assertEqual(sent({"cp_comm_type": "all_gather"}), 9 * keys_values)
        self.assertEqual(sent({"cp_comm_type": "a2a"}), 2 * (2 * queries + keys_values) * 3 // 4)
        for bad, says in (({"cp": 16, "cp_comm_type": "a2a"}, "kv heads of a rank over cp"), ({"cp_comm_type": "ulysses"}, "a2a")):
            self.refused("cost", "report", "--model", model, "--training", training, "--parallel",
                         self.file("p.json", json.dumps(bad)), says=says)

    def test_a_layer_with_a_window_sees_the_pairs_within_it(self):
        training = self.file("t.json", json.dumps({"sequence": 8192, "machine": "a100_peak"}))
        config = json.loads((CONFIGS / "mistral-7b-v0.1.json").read_text())
        def seconds(window):
            model = self.file("c.json", json.dumps({**config, "sliding_window": window}))
            terms = self.json_of("--model", model, "--training", training)["terms"]
            return {t["name"]: t["value"] for t in terms if t["group"] == "seconds of a layer, per micro-batch"}
        of, whole = seconds(4096), seconds(None)
        pairs = 4096 * 8192 - 4096 * 4095 // 2
        self.assertAlmostEqual(of["attention core"] / whole["attention core"], pairs / (8192 * 8193 // 2), places=9)
        self.assertEqual(of["attention output"], whole["attention output"])

    def test_the_summary_names_what_it_counts(self):
        model = EXAMPLES / "llama-2-13b" / "config.json"
        words = ("--model", model, "--training", self.file("t.json", json.dumps({"sequence": 4096})), "--parallel",
                 self.file("p.json", json.dumps({"pp": 4, "recompute": "full"})))
        summary, memory = self.ok("cost", "report", *words).summary, self.json_of(*words)["memory"]
        self.assertEqual(int(summary["max_bytes_per_rank"]), max(r["total_bytes"] for r in memory))
        self.assertEqual(int(summary["peak_bytes_per_rank"]), max(r["peak_bytes"] for r in memory))

    def test_packed_documents(self):
        model = EXAMPLES / "llama-2-13b" / "config.json"
        flops = lambda extra: self.json_of("--model", model, "--training", self.file("t.json", json.dumps(
            {"sequence": 4096, "attention_count": "full", **extra})))["flops"]["per_step"]
        self.assertEqual(flops({}) - flops({"document_lengths": [1024, 3072]}),
                         3 * 2 * 2 * 40 * 5120 * (4096**2 - 1024**2 - 3072**2))
        # Within a window as long as every document, only the documents' borders count.
        mistral = CONFIGS / "mistral-7b-v0.1.json"
        windowed = lambda count, lengths: self.json_of("--model", mistral, "--training", self.file("t.json", json.dumps(
            {"sequence": 8192, "attention_count": count, "document_lengths": lengths})))["flops"]["per_step"]
        self.assertEqual(windowed("window", [1024] * 8), windowed("causal_exact", [1024] * 8))
        beyond = sum(1 for x in range(8000) for y in (x - 4096,) if y >= 0 for _ in range(y + 1))
        self.assertEqual(windowed("causal_exact", [8000, 192]) - windowed("window", [8000, 192]), 3 * 2 * 2 * 32 * 4096 * beyond)

    def test_latex_is_balanced(self):
        for path in CONFIGS.glob("*.json"):
            done = self.ok("cost", "report", "--model", path, "--training",
                           self.file("t.json", json.dumps({"sequence": 1024, "machine": "a100_peak"})), "--format", "latex").text
            self.assertEqual(done.count("\\begin{"), done.count("\\end{"))
            self.assertEqual(done.replace("\\{", "").count("{"), done.replace("\\}", "").count("}"))
            self.assertEqual(done.replace("\\$", "").count("$") % 2, 0)

    def test_parallel_needs_training(self):
        self.misused("cost", "report", "--model", CONFIGS / "gpt2.json", "--parallel", self.file("p.json", "{}"), says="--training")


if __name__ == "__main__":
    main()
