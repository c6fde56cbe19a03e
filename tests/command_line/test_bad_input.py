# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong files of every form: exit 1, one sentence, nothing on stdout, in bounded time and memory."""
import copy
import json
import math
import os
import random
import unittest

from harness import CONFIGS, DATA, PLAN, TILING, ToolTest, hocket, main

SMALL = DATA / "graph" / "gpt_small.ops.csv"
OPS = "op,stream,kind,reads,writes\n"
EDGES = "source,target\n"
TRAINING = {"version": 1, "sequence": 1024, "micro_batch": 1, "global_batch": 8}

# Content that is wrong in every form.
NOISE = {
    "empty": b"",
    "one byte": b"\x00",
    "line ends": b"\n\n\r\n",
    "binary": bytes(random.Random(7).randrange(256) for _ in range(5000)),
    "zeros": bytes(100_000),
    "utf-16": "source,target\n0,1\n".encode("utf-16"),
    "bom alone": b"\xef\xbb\xbf",
    "a png": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "one long line": b"x" * 1_000_000,
    "commas": b"," * 100_000,
    "brackets": b"[" * 100_000,
    "braces": b'{"a":' * 100_000,
    "nested": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "bad utf-8": b'{"version": 1, "a\xff\xfe": 3}',
    "a terminal's commands": b"\x1b[31m\x07\x08,\x7f\n",
    "null": b"null",
    "a number": b"3",
    "an array": b"[]",
    "an empty object": b"{}",
}


class Files(ToolTest):
    def readers(self):
        """Every way to name an input file: the words before and after it."""
        pairs = self.file("good_pairs.csv", EDGES + "0,1\n")
        training = self.file("good_training.json", json.dumps(TRAINING))
        model = CONFIGS / "gpt2.json"
        return {
            "prune --ops": (("graph", "prune", "--ops"), ()),
            "prune --ops none": (("graph", "prune", "--index", "none", "--ops"), ()),
            "prune --edges": (("graph", "prune", "--edges"), ()),
            "prune --edges none": (("graph", "prune", "--index", "none", "--edges"), ()),
            "sync --ops": (("graph", "sync", "--ops"), ()),
            "reaches --ops": (("graph", "reaches", "--pairs", pairs, "--ops"), ()),
            "reaches --pairs": (("graph", "reaches", "--ops", SMALL, "--pairs"), ()),
            "check --table": (("pipeline", "check", "--table"), ()),
            "simulate --table": (("pipeline", "simulate", "--table"), ()),
            "draw --table": (("pipeline", "draw", "--format", "svg", "--table"), ()),
            "solve --problem": (("tiling", "solve", "--problem"), ()),
            "fit --samples": (("tiling", "fit", "--samples"), ()),
            "report --model": (("cost", "report", "--model"), ()),
            "report --training": (("cost", "report", "--model", model, "--training"), ()),
            "report --parallel": (("cost", "report", "--model", model, "--training", training, "--parallel"), ()),
            "plan": (("plan",), ("--out", self.folder / "out")),
        }

    def test_noise(self):
        right = {("report --parallel", "an empty object")}  # everything has a default
        for name, (before, after) in self.readers().items():
            for noise, content in NOISE.items():
                with self.subTest(reader=name, noise=noise):
                    path = self.file("noise", content)
                    if (name, noise) in right:
                        self.ok(*before, path, *after)
                    else:
                        self.refused(*before, path, *after)

    def test_files_that_are_none(self):
        unreadable = self.file("unreadable", "x")
        unreadable.chmod(0)
        for name, (before, after) in self.readers().items():
            for path in (self.folder / "missing", self.folder, unreadable / "below", "a" * 5000, self.folder / "line\nend"):
                with self.subTest(reader=name, path=str(path)[:50]):
                    self.refused(*before, path, *after)
            self.refused(*before, "", *after, code=2)  # an unset variable of a script
            if os.geteuid() != 0:
                self.refused(*before, unreadable, *after)

    def test_a_version_to_come(self):
        for name, content in (("solve --problem", json.loads(TILING.read_text())), ("report --training", TRAINING),
                              ("report --parallel", {}), ("plan", json.loads(PLAN.read_text()))):
            before, after = self.readers()[name]
            for version in (2, 0, -1, "1", None, [1], 1.5, 2**63, {"a": 1}):
                with self.subTest(reader=name, version=version):
                    path = self.file("version.json", json.dumps({**content, "version": version}))
                    self.refused(*before, path, *after, says="version")

    def test_every_cut_of_a_json_file(self):
        for name, content in (("solve --problem", TILING.read_bytes()), ("report --model", (CONFIGS / "gpt2.json").read_bytes()),
                              ("report --training", json.dumps(TRAINING).encode())):
            before, after = self.readers()[name]
            content = content.rstrip()
            for length in range(0, len(content), max(1, len(content) // 40)):
                with self.subTest(reader=name, length=length):
                    self.refused(*before, self.file("cut.json", content[:length]), *after)

    def test_a_field_twice(self):
        for name, content in (("solve --problem", TILING.read_text()), ("report --model", (CONFIGS / "gpt2.json").read_text()),
                              ("report --training", json.dumps(TRAINING))):
            before, after = self.readers()[name]
            key, value = next(iter(json.loads(content).items()))
            twice = content.rstrip().rstrip("}") + f", {json.dumps(key)}: {json.dumps(value)}}}"
            self.refused(*before, self.file("twice.json", twice), *after, says="twice")

    def test_json_line_ends_and_marks_do_not_matter(self):
        before, after = self.readers()["solve --problem"]
        plain = TILING.read_bytes()
        expected = self.ok(*before, TILING).out
        for content in (plain.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + plain, plain.strip(), plain + b"\n\n"):
            self.assertEqual(self.ok(*before, self.file("p.json", content), *after).out, expected)

    def test_random_bytes_changed(self):
        """Whatever a damaged file makes the tool say, it says it in its own words."""
        rng = random.Random(11)
        problem = TILING.read_bytes()
        table = (DATA / "pipeline" / "megatron__interleaved__p2_v2_m5_N3.csv").read_bytes()
        ops = b"".join(SMALL.read_bytes().splitlines(True)[:40])
        model = (CONFIGS / "mixtral-8x7b-v0.1.json").read_bytes()
        for name, content in (("solve --problem", problem), ("check --table", table), ("prune --ops", ops), ("report --model", model)):
            before, after = self.readers()[name]
            for number in range(60):
                damaged = bytearray(content)
                for _ in range(rng.choice((1, 1, 2, 8))):
                    at = rng.randrange(len(damaged))
                    if rng.random() < 0.5:
                        damaged[at] = rng.choice(b"0123456789-.,eE[]{}\"\n \x00\xff") if rng.random() < 0.8 else rng.randrange(256)
                    else:
                        del damaged[at]
                path = self.file("damaged", bytes(damaged))
                with self.subTest(reader=name, number=number):
                    if hocket(*before, path, *after).code == 0:
                        self.ok(*before, path, *after)
                    else:
                        self.refused(*before, path, *after)


class Csv(ToolTest):
    def test_ops(self):
        row = "0,0,compute,,1\n"
        for content in (
                OPS.replace("kind", "kindd") + row, OPS.upper() + row, row, " " + OPS + row, OPS + "1,0,compute,,1\n",
                OPS + row + row, OPS + row + "2,0,compute,,\n", OPS + "0,0,compute,\n", OPS + "0,0,compute,,,\n",
                OPS + "0,0,Compute,,\n", OPS + "0,0,,,\n", OPS + "0,-1,compute,,\n", OPS + "0,1.5,compute,,\n",
                OPS + "0,99999999999999999999,compute,,\n", OPS + "0,4294967295,compute,,\n", OPS + "0,4294967294,compute,,\n",
                OPS + "0,0,compute,-1,\n", OPS + "0,0,compute,1;2,\n", OPS + "0,0,compute,1e3,\n", OPS + "0,0,compute,0x10,\n",
                OPS + "0,0,compute,4294967295,\n", OPS + "0,0,compute,+1,\n", OPS + "0,0,compute,nan,\n", OPS + "0,0,compute,1\t2,\n",
                OPS + "0, 0,compute,,\n", OPS + '"0",0,compute,,\n', OPS + "\n" + row, OPS + row + "\n" + "1,0,compute,,\n",
                OPS.replace("\n", "\r") + row, OPS + "0,0,compute,\x1b[31m,\n", OPS + "0,0," + "c" * 100_000 + ",,\n",
                OPS + "0,0,compute,\uff11,\n"):
            with self.subTest(content[:80]):
                self.refused("graph", "prune", "--ops", self.file("ops.csv", content), says="ops.csv")

    def test_a_variable_number_may_be_huge(self):
        self.ok("graph", "prune", "--ops", self.file("ops.csv", OPS + "0,0,compute,,4294967294\n1,0,io,4294967294,\n"))

    def test_edges(self):
        for content in (
                EDGES + "0\n", EDGES + "0,1,2\n", EDGES + "0,-1\n", EDGES + "0,16777216\n", EDGES + "4294967295,0\n",
                EDGES + "18446744073709551616,0\n", EDGES + "0,1.0\n", EDGES + "a,b\n", EDGES + "0,\n", EDGES + "0 1\n",
                EDGES + "0;1\n", EDGES + "0,0\n", EDGES + "0,1\n1,0\n", EDGES + "0,1\n\n1,2\n", "from,to\n0,1\n", "0,1\n",
                EDGES + "".join(f"{i},{(i + 1) % 5000}\n" for i in range(5000))):
            for index in ("auto", "none"):
                with self.subTest(content=content[:60], index=index):
                    self.refused("graph", "prune", "--index", index, "--edges", self.file("edges.csv", content), says="edges.csv")

    def test_pairs(self):
        for content in (EDGES + "0,361000\n", EDGES + "4294967295,0\n", EDGES + "0\n", EDGES + "0,x\n", "0,1\n"):
            with self.subTest(content[:60]):
                self.refused("graph", "reaches", "--ops", SMALL, "--pairs", self.file("pairs.csv", content), says="pairs.csv")

    def test_what_the_first_line_must_be(self):
        edges = self.file("edges.csv", EDGES + "0,1\n")
        for noise in ("", "\n", "\ufeff", "0,1\n", "Source,Target\n0,1\n", "source, target\n0,1\n", "x\ry\n"):
            with self.subTest(noise):
                path = self.file("noise.csv", noise)
                for before in (("prune", "--edges"), ("prune", "--index", "none", "--edges"), ("compare", "--edges", edges, "--theirs"),
                               ("reaches", "--edges", edges, "--pairs")):
                    self.refused("graph", *before, path, says=" is not understood: the first line must be source,target")
                for command in ("prune", "sync"):
                    self.refused("graph", command, "--ops", path, says="the first line must be op,stream,kind,reads,writes")

    def test_samples(self):
        header = "size,time_us,repeats\n"
        for content in (
                header, "size,time_us\n", header + "1,2\n", header + "1,2,3,4\n", header + "-1,2,3\n", header + "1,-2,3\n",
                header + "nan,2,3\n", header + "1,inf,3\n", header + "1,1e999,3\n", header + "1e999,1,3\n", header + "1,2,-3\n",
                header + "1,2,0\n", header + "1,2,1.5\n", header + "0,2,1\n", header + "1,2,99999999999\n", header + "1,,1\n",
                header + "1,2,1\n\n2,3,1\n", header + "0x10,1,1\n", header + "1,1,1\n" * 100_001, "size,us\n1,2\n",
                header + "1e300,1e300,1\n1e301,1e301,1\n" + "1,1e-320,1\n"):
            with self.subTest(content[:60]):
                path = self.file("samples.csv", content)
                done = hocket("tiling", "fit", "--samples", path)
                if done.code == 0:  # a size of 0, a single sample, extreme numbers: then the answer must be finite
                    for number in json.loads(self.ok("tiling", "fit", "--samples", path).text)["cost"]["us"]:
                        self.assertTrue(math.isfinite(number))
                    self.assertNotRegex(content, r"nan|inf|e999|[\n,]-\d|99999999999|\n\n|0x")
                else:
                    self.refused("tiling", "fit", "--samples", path, says="samples.csv")

    def test_tables(self):
        for content in (
                "0F0,0B0,0X0\n", "0F\n", "F0\n", "0F0,0B0,\x1b[31m\n", "0F-1,0B-1\n", "0f0,0b0\n", "65536F0,65536B0\n",
                "65535F0,65535B0\n", "0F2097152,0B2097152\n", "0F99999999999999999999\n", "0F0.99999,0B0\n", "(0F0;0B0\n",
                "(0F0;0B0)OVERLAP\n", "((0F0;0B0)OVERLAP_F_B\n", "()OVERLAP_F_B\n", ";\n", "d2:0F0\n", "0F0 0B0\n", "0F0,0B0\n2F0,2B0\n",
                "0F0,0F0,0B0\n", "0F0\n", "0B0\n", ",,,\n", "\n" * 70_000, "0F0,0I0\n", "0F0,0W0\n", "0F0,0B0,0W0\n",
                "0F0,0B0\r0F1,0B1", "0F0,0B0,1UNSHARD\n"):
            for command in ("check", "simulate", "draw"):
                with self.subTest(content=content[:60], command=command):
                    self.refused("pipeline", command, "--table", self.file("table.csv", content), says="table.csv")


class Json(ToolTest):
    def with_change(self, base, path, value):
        changed = copy.deepcopy(base)
        at = changed
        for key in path[:-1]:
            at = at[key]
        if value is ...:
            del at[path[-1]]
        else:
            at[path[-1]] = value
        # json.dumps writes NaN and Infinity, as Python programs do: not JSON.
        return self.file("changed.json", json.dumps(changed))

    def test_tiling_problem(self):
        base = json.loads(TILING.read_text())
        compute, comm = ("phases", 0, "cost"), ("phases", 1, "cost")
        nan, inf, huge = math.nan, math.inf, 10**400
        cases = [
            (("rows",), v) for v in (..., 0, -1, 1.5, "4096", None, True, [], {}, nan, inf, -inf, huge, 2**63, 2**64, 2**62, 1e300)
        ] + [(("align",), v) for v in (0, -128, 4096.5, 2**62, "128", None)] + [
            (("max_tiles",), v) for v in (0, -1, 2**31, 2**62, "16")
        ] + [(("phases",), v) for v in (..., [], {}, None, [None], [[]], [base["phases"][0]] * 100, 7)] + [
            (("phases", 0, "kind"), v) for v in (..., "comp", None, 0)
        ] + [((*compute,), v) for v in (..., {}, None, 3, {"type": "cubic"}, {"type": ["affine"]}, {"type": {"a": {}}})] + [
            ((*compute, "us_per_row"), v) for v in (..., -1, nan, inf, huge, "0.2", None, 1e300)
        ] + [((*compute, "fixed_us"), v) for v in (-1e300, 1e300, nan, "0")] + [((*compute, "min_rows"), v) for v in (-1, 1e300)] + [
            ((*comm, "bytes_per_row"), v) for v in (..., 0, -1, nan, "1")
        ] + [((*comm, "pieces"), v) for v in (..., [], {}, [{}] * 2, [{"coefficients": []}], [{"coefficients": [1, 2, 3, 4, 5, 6, 7, 8, 9]}],
                                             [{"coefficients": ["1"]}], [{"coefficients": [1]}] * 17, [{"below": 8, "coefficients": [1]}] * 2,
                                             [{"below": -1, "coefficients": [1]}, {"coefficients": [1]}])] + [
            (("overlap",), v) for v in (1.15, [], {"compute": -1}, {"compute": 0}, {"compute": nan}, {"computer": 1}, {"comm": 1e300})
        ] + [(("shape",), v) for v in ([], {"k": -1}, {"k": 2**62, "n": 2**62, "element_bytes": 2**62}, {"m": 1}, {"k": "3"})] + [
            (("row",), 4096), (("Rows",), 4096), (("phase",), []), (("phases", 0, "type"), "x"), ((*compute, "us_per_rows"), 1)
        ]
        table = {"type": "table", "rows": [128, 256], "us": [1, 2]}
        cases += [((*compute,), {**table, **v}) for v in (
            {"rows": []}, {"rows": [128]}, {"rows": [256, 128]}, {"rows": [128, 128]}, {"us": [2, 1]}, {"us": [-1, 2]}, {"us": [1, nan]},
            {"rows": ["128", 256]}, {"rows": None}, {"us": [1, 1e308]}, {"below": 3}, {"rows": [-5, 256]})]
        accepted = 0
        for path, value in cases:
            with self.subTest(path=path, value=str(value)[:60]):
                file = self.with_change(base, path, value)
                for policy in ("auto", "documented", "exact"):
                    done = hocket("tiling", "solve", "--problem", file, "--policy", policy)
                    if done.code == 0:  # unusual, yet a problem: then the answer must be one
                        answer = json.loads(self.ok("tiling", "solve", "--problem", file, "--policy", policy).text)
                        self.assertEqual(sum(answer["tiles"]), json.loads(file.read_text())["rows"])
                        self.assertGreaterEqual(answer["predicted_us"], 0)
                        accepted += 1
                    else:
                        self.refused("tiling", "solve", "--problem", file, "--policy", policy, says="changed.json")
        self.assertLess(accepted, len(cases))

    MACHINE = {"name": "mine", "source": "measured", "gemm_flops": 3e14, "memory_bytes": 2e12}

    def bad_machines(self):
        for key, values in {
                "name": (..., 3, "\x1b[31m"), "source": (..., "", None), "gemm_flops": (..., 0, -1, math.nan, 1e300, 1e-300, "3e14"),
                "memory_bytes": (..., 0, math.inf), "data_overlap": (-0.1, 1.1, "0"), "load_seconds": (-1, 1e300), "launches": (-1,),
                "peak": (1,)}.items():
            for value in values:
                machine = {**self.MACHINE, key: value}
                yield {k: v for k, v in machine.items() if v is not ...}

    def test_machine(self):
        ways = self.file("parallel.json", json.dumps({"dp": 2}))
        training = self.file("training.json", json.dumps({**TRAINING, "machine": self.MACHINE}))
        self.refused("cost", "report", "--model", CONFIGS / "gpt2.json", "--training", training, "--parallel", ways, says="data_bytes")
        slow = {**self.MACHINE, "gemm_flops": 1, "memory_bytes": 1}
        self.ok("cost", "report", "--model", CONFIGS / "gpt2.json",
                "--training", self.file("slow.json", json.dumps({**TRAINING, "machine": slow})))

    def test_training(self):
        for path, values in {
                "sequence": (..., 0, -1, 2**31, 1.5, "1024", None, math.nan, 10**400), "micro_batch": (0, -1, 2**31, None),
                "global_batch": (0, -8, 2**31, 2**64, "8"), "weights": ("none", "bf17", 2, None), "gradients": ("", []),
                "activations": ("none", {}), "optimizer": ("adamw", 1), "flash_attention": (1, "yes", None),
                "attention_count": ("half", None), "recompute_count": ("maybe",), "padded_vocabulary": (0, 1, -1, 2**40), "predictions": (-1, 65, 1.5, "1"),
                "step_seconds": (0, -1, math.inf, 1.0, "1"), "peak_tflops": (1.0, 0), "Sequence": (1,), "seq": (1,),
                "wide_norm": (1, None), "fused_loss": ("true",), "fused_activation": (0,), "workspace": ("te", 1, None),
                "document_lengths": (None, [], [1023], [0, 1024], [1024.5], [-1, 1025], ["1024"], [math.nan], [1] * 70_000, {}),
                "machine": ("h9000", "", None, 7, [], {}, *self.bad_machines())}.items():
            for value in values:
                with self.subTest(field=path, value=str(value)[:60]):
                    file = self.with_change(TRAINING, (path,), value)
                    self.refused("cost", "report", "--model", CONFIGS / "gpt2.json", "--training", file, says="changed.json")

    def test_parallel(self):
        training = self.file("training.json", json.dumps(TRAINING))
        for path, values in {
                "tp": (0, -1, 2**31, 1.5, "2", 5, 7, 2**31 - 1), "pp": (0, 15, 2**31 - 1, None), "vp": (0, 15, 2**31 - 1),
                "dp": (0, -1, 3, 2**31 - 1), "cp": (0, 7, 2**31 - 1), "ep": (0, -1), "zero": (-1, 4, 1.5, "1"), "copies": (0, 3, -1, 2**31, 1.5, 1025),
                "offload_optimizer": (1, "yes", None), "offload_activations": (0, "no"),
                "sequence_parallel": (1, "true"), "recompute": ("all", 1, None), "TP": (2,)}.items():
            for value in values:
                with self.subTest(field=path, value=str(value)[:60]):
                    file = self.with_change({}, (path,), value)
                    self.refused("cost", "report", "--model", CONFIGS / "gpt2.json", "--training", training, "--parallel", file,
                                 says="changed.json")
        every = {key: 2**31 - 1 for key in ("tp", "pp", "vp", "dp", "cp", "ep", "etp")}
        self.refused("cost", "report", "--model", CONFIGS / "gpt2.json", "--training", training,
                     "--parallel", self.file("changed.json", json.dumps(every)))

    def test_model(self):
        for name in ("gpt2", "llama-2-70b", "mixtral-8x7b-v0.1", "qwen2-7b"):
            base = json.loads((CONFIGS / f"{name}.json").read_text())
            sizes = [k for k in base if k in ("vocab_size", "n_embd", "n_head", "n_layer", "hidden_size", "num_attention_heads",
                                              "num_hidden_layers", "intermediate_size", "num_key_value_heads", "num_local_experts",
                                              "num_experts_per_tok")]
            self.assertGreaterEqual(len(sizes), 4)
            for key in sizes:
                for value in (..., 0, -1, 1.5, "7", None, [], {}, math.nan, 2**63, 2**62, 2**31, 10**400):
                    with self.subTest(model=name, field=key, value=str(value)[:60]):
                        file = self.with_change(base, (key,), value)
                        done = hocket("cost", "report", "--model", file)
                        if done.code == 0:  # an optional field; or a huge model whose numbers still fit
                            self.ok("cost", "report", "--model", file)
                            self.assertTrue(value in (..., None) or (isinstance(value, int) and value > 0), str(done))
                        else:
                            self.refused("cost", "report", "--model", file, says="changed.json")
            for value in (..., "", "bert", 3, None, ["llama"], "\x1b[31m\n" * 1000, "\u4e2d" * 100):
                with self.subTest(model=name, model_type=str(value)[:60]):
                    base_without = {k: v for k, v in base.items() if k != "architectures"}
                    self.refused("cost", "report", "--model", self.with_change({**base_without, "model_type": ""}, ("model_type",), value))


class Sizes(ToolTest):
    """Numbers as large as the options take: an answer or one sentence, in bounded time and memory."""

    def test_shapes(self):
        big = 2**63 - 1
        for name in ("gpipe", "1f1b", "eager-1f1b", "interleaved", "looped-bfs", "zb-h1", "zb-h2", "interleaved-zb"):
            for ranks, chunks, micro_batches in ((0, 1, 1), (1, 0, 1), (1, 1, 0), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (100_000, 1, 8),
                                                 (4, 65, 8), (big, 1, 1), (1, big, 1), (1, 1, big), (big, big, big), (65_536, 2, 8),
                                                 (4, 1, 2_097_153), (65_536, 1, 2_097_152)):
                for command in ("list", "simulate", "draw"):
                    with self.subTest(name=name, command=command, shape=(ranks, chunks, micro_batches)):
                        self.refused("pipeline", command, name, "--ranks", ranks, "--chunks", chunks, "--micro-batches", micro_batches)

    def test_a_picture_nobody_can_look_at(self):
        for form in ("svg", "trace", "ascii"):
            self.refused("pipeline", "draw", "1f1b", "--ranks", 4, "--micro-batches", 2_097_152, "--format", form, says="too many to draw")

    def test_times(self):
        big = 2**63 - 1
        for option in ("--forward", "--backward", "--input-grad", "--weight-grad", "--hop"):
            done = hocket("pipeline", "simulate", "zb-h1", "--ranks", 4, "--micro-batches", 8, option, big)
            if option != "--backward":  # zb-h1 has none
                self.assertEqual(done.code, 1, done)
                self.refused("pipeline", "simulate", "zb-h1", "--ranks", 4, "--micro-batches", 8, option, big)
            self.ok("pipeline", "simulate", "1f1b", "--ranks", 4, "--micro-batches", 8, option, 0)

    def test_options_that_do_nothing_are_named(self):
        shape = ("--ranks", 4, "--micro-batches", 8)
        for words, unused in ((("zb-h1", *shape, "--backward", 20), "--backward"), (("zb-h1", *shape), None),
                              (("1f1b", *shape, "--backward", 3), None), (("1f1b", *shape, "--input-grad", 2), None),
                              (("1f1b", *shape, "--backward", 12, "--input-grad", 1, "--weight-grad", 1), "--input-grad,--weight-grad")):
            for command in ("simulate", "draw"):
                self.assertEqual(self.ok("pipeline", command, *words).summary.get("unused"), unused, words)
        table = self.file("table.csv", self.ok("pipeline", "list", "1f1b", "--ranks", 2, "--micro-batches", 2, "--format", "torch").out)
        self.ok("pipeline", "simulate", "--table", table, "--backward", 3)
        for option in (("--ranks", 3), ("--chunks", 5), ("--micro-batches", 77), ("--groups", "balanced"), ("--slices", 1)):
            self.assertEqual(hocket("pipeline", "simulate", "--table", table, *option).code, 2, option)
        edges = self.file("edges.csv", EDGES + "0,1\n")  # whose rules nobody knows
        for command in (("prune",), ("reaches", "--pairs", edges), ("compare", "--theirs", edges)):
            for rules in ("data", "ordered"):
                self.misused("graph", *command, "--edges", edges, "--rules", rules, says="--rules")
        self.misused("graph", "compare", "--edges", edges, "--theirs", edges, "--limit", -1, says="--limit")

    def test_all_costs_zero(self):
        for command in ("simulate", "draw"):
            self.ok("pipeline", command, "1f1b", "--ranks", 2, "--micro-batches", 2, "--forward", 0, "--backward", 0)

    def test_idle_cells_are_counted_before_they_are_written(self):
        shape = ("pipeline", "list", "looped-bfs", "--ranks", 65536, "--micro-batches", 1)
        self.refused(*shape, says="idle cells")
        self.ok(*shape, "--format", "json")

    def test_a_row_for_each_of_a_million_ranks(self):
        config = json.loads((CONFIGS / "gpt2.json").read_text())
        model = self.file("deep.json", json.dumps({**config, "n_layer": 2**20}))
        training = self.file("training.json", json.dumps(TRAINING))
        parallel = self.file("parallel.json", json.dumps({"pp": 2**20}))
        self.refused("cost", "report", "--model", model, "--training", training, "--parallel", parallel, says="stages")

    def test_a_step_that_no_machine_can_take(self):
        for step in ({"step_seconds": 1e-300, "peak_tflops": 1e-300}, {"step_seconds": 1, "peak_tflops": 1e300}):
            training = self.file("training.json", json.dumps({**TRAINING, **step}))
            self.refused("cost", "report", "--model", CONFIGS / "gpt2.json", "--training", training, says="peak_tflops")


if __name__ == "__main__":
    main()
