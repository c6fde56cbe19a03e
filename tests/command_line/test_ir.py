# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket ir: on dumps that MindSpore printed, against their own counting lines, the copies that its pass made, the peaks
that its profiler measured, and an order that is worked out here."""
import json
import re
import unittest

from harness import DATA, ROOT, ToolTest, main
from test_graph import reduction

DUMPS = DATA / "mindspore"
# Peaks of one step that MindSpore's CPU profiler measured, in bytes.
WITHOUT, SELECT, SELECT_RESHAPE, FULL = 83427840, 77660672, 66126336, 44810240


def dump(name):
    return DUMPS / f"{name}.ir"


def parts(text):
    """The comma-separated parts of a list, commas in brackets aside."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [p.strip() for p in out if p.strip()]


def edges_of(text):
    """Count of nodes, and pairs that must run in order: operands; of a weight readers and those that update it."""
    number, tuples, edges, readers, writer, count = {}, {}, set(), {}, {}, 0
    statements = re.findall(r"^  (?:%(\d+)\([^\n]*?\) = )?(\w+)\((.*)\n      : (.*)\n", text, re.M)
    for name, op, rest, types in statements:
        depth, end = 1, 0
        while depth:
            depth += (rest[end] in "([{") - (rest[end] in ")]}")
            end += 1
        operands, types = parts(rest[:end - 1]), parts(types.split(" -> ")[0][1:-1])
        if op == "MakeTuple":
            tuples[name] = operands
        if op == "TupleGetItem" and operands[0][1:] in tuples:
            operands, types = [tuples[operands[0][1:]][int(operands[1][4:-1])]], []
        edges.update((number[o], count) for o in operands if o in number)
        updates = {"Adam": 3, "PrimFunc_Assign": 1, "PrimFunc_AssignAdd": 1}.get(op, 0)
        touched = [re.search(r"ref_key=([^,>]*)", t)[1] for t in types if t.startswith("<Ref[")]
        for weight in touched:
            if weight in writer:
                edges.add((writer[weight], count))
        for weight in touched[:updates]:
            edges.update((r, count) for r in readers.get(weight, ()))
        for weight in touched:
            readers.setdefault(weight, set()).add(count)
        for weight in touched[:updates]:
            writer[weight], readers[weight] = count, set()
        if name:
            number[f"%{name}"] = count
        count += 1
    return count, {(a, b) for a, b in edges if a != b}


class Order(ToolTest):
    def test_counts_are_those_of_the_dump(self):
        for path in sorted(DUMPS.glob("*.ir")):
            text = path.read_text()
            if not text.startswith("# IR entry") or "number of cnodes" not in text:  # version 2.0 does not count
                continue
            with self.subTest(path.name):
                done = self.ok("ir", "summary", path)
                self.assertEqual(done.summary["nodes"], re.search(r"number of cnodes: (\d+)", text)[1])
                self.assertEqual(done.summary["graphs"], re.search(r"Total subgraphs: (\d+)", text)[1])
                self.assertEqual(done.summary["parameters"], re.search(r"Total params: (\d+)", text)[1])
                listed = json.loads(self.ok("ir", "summary", path, "--format", "json").text)
                self.assertEqual(sum(listed["primitives"].values()), listed["nodes"])

    def test_reduction_of_real_dumps(self):
        for name in ("select_fp32", "tensor_parallel", "pipeline_rank0"):
            with self.subTest(name):
                ops = self.folder / "ops.csv"
                self.ok("ir", "ops", dump(name), "--out", ops)
                count, edges = edges_of(dump(name).read_text())
                kept = self.ok("graph", "prune", "--ops", ops).rows[1]
                self.assertEqual(kept, reduction(count, edges))

    def test_calls_are_followed(self):
        """The 133 graphs of a dump before inlining: each op as often as the calls that lead to it."""
        text = dump("type_inference").read_text()
        bodies = dict(re.findall(r"^subgraph @(\S+?)[ (].*?{\n(.*?)^}", text, re.M | re.S))
        expanded = {}

        def expand(name):
            if name not in expanded:
                expanded[name] = {}
                for op in re.findall(r"^  (?:%\d+\(\S*?\) = )?([^ #:]\S*?(?: @\S+?)?)\((?!@\d+_\S*:)", bodies[name], re.M):
                    bound = re.fullmatch(r"%\d+", op) and re.search(rf"^  {op}\(\S*\) = Partial\(@([^,)]+)", bodies[name], re.M)
                    called = re.fullmatch(r"call @(\S+)|.*\[@@(\S+)\]", f"call @{bound[1]}" if bound else op)
                    inner = expand(called[1] or called[2]) if called else {} if op == "Return" else {op.removeprefix("PrimFunc_"): 1}
                    for key, count in inner.items():
                        expanded[name][key] = expanded[name].get(key, 0) + count
            return expanded[name]

        expected = expand(re.search(r"# IR entry: @(\S+)", text)[1]) | {"Return": 1}
        done = self.ok("ir", "ops", dump("type_inference"), "--format", "json")
        found = {}
        for op in json.loads(done.text)["ops"]:
            found[op["primitive"]] = found.get(op["primitive"], 0) + 1
        unresolved = {op: expected.pop(op) for op in list(expected) if op[0] in "%$"}
        self.assertEqual(found.pop("call", 0), sum(unresolved.values()))
        self.assertEqual(found, expected)
        self.assertEqual(done.summary["calls_remaining"], str(sum(unresolved.values())))

    def test_rings_are_the_groups(self):
        done = self.ok("ir", "ops", dump("tensor_parallel"), "--format", "json")
        ops = json.loads(done.text)
        text = dump("tensor_parallel").read_text()
        groups = re.findall(r"\) = (?:AllReduce|AllGather|ReduceScatter)\(.*?[{ ]group: (\"[^\"]*\")", text)
        self.assertEqual([ops["rings"][op["ring"]] for op in ops["ops"] if op["kind"] == "collective"], groups)
        table = self.ok("ir", "ops", dump("tensor_parallel"))
        self.assertTrue(table.text.startswith("op,stream,kind,reads,writes,rings\n"))
        kept = {rules: self.ok("graph", "prune", "--rules", rules, "--ops", self.file("ops.csv", table.text)).summary["edges"]
                for rules in ("data", "ordered")}
        # The collectives of a group are chained, unless one depends on the one before it anyhow.
        self.assertLess(int(kept["data"]), int(kept["ordered"]))
        self.assertLessEqual(int(kept["ordered"]) - int(kept["data"]), len(groups) - len(set(groups)))

    def test_branches_and_constants_of_several_lines(self):
        """Loss scaling decides at run time whether the optimizer runs; small constants are printed row by row."""
        for name in ("loss_scale", "control_flow"):
            text = dump(name).read_text()
            self.assertIn("[@FuncUnion(", text)
            for command in ("summary", "ops", "recompute", "peak", "collectives"):
                with self.subTest(f"{command} {name}"):
                    done = self.ok("ir", command, dump(name))
            self.assertGreater(int(done.summary["calls_remaining"]), 0)
            self.assertGreater(int(done.summary["ops_left_out"]), 0)

    def test_standard_input(self):
        data = dump("bootstrap").read_bytes()
        self.assertEqual(self.ok("ir", "summary", "-", stdin=data).summary["nodes"], "3")


class Recompute(ToolTest):
    def report(self, name):
        done = self.ok("ir", "recompute", dump(name), "--format", "json")
        text = self.ok("ir", "recompute", dump(name)).text
        self.assertIn("kept bytes, not the fall of the peak", text)
        return json.loads(done.text)

    def test_the_copies_that_mindspore_made(self):
        for name, marked, copies in (("select_fp16", 17, 11), ("select_reshape_fp16", 21, 17), ("select_fp32", 8, 4),
                                     ("select_reshape_fp32", 12, 10)):
            with self.subTest(name):
                r = self.report(name)
                self.assertEqual((r["marked"], r["copies"], r["other_copies"], r["computed_again"]),
                                 (marked, copies, 0, copies))
                for mark in r["marks"]:
                    self.assertEqual(mark["duplicated"], mark["outcome"] == "computed_again", mark)
                self.assertEqual(dump(name).read_text().count("duplicated: Bool(1)"), copies)

    def test_whole_layers(self):
        r = self.report("full_fp32")
        self.assertEqual(r["copies"], 124)
        self.assertEqual(r["computed_again"] + r["other_copies"], 124)
        for mark in r["marks"]:
            self.assertEqual(mark["duplicated"], mark["outcome"] == "computed_again", mark)

    def test_freed_bytes_and_the_measured_fall_of_the_peak(self):
        r = self.report("select_fp32")
        self.assertEqual((r["kept_bytes"]["freed"], r["cpu_peak_bytes"]["falls"]), (5767168, WITHOUT - SELECT))
        r = self.report("select_reshape_fp32")
        self.assertEqual((r["kept_bytes"]["freed"], r["peak_bytes"]["falls"]), (11534336, 11534336))
        self.assertEqual(r["cpu_peak_bytes"]["falls"], WITHOUT - SELECT_RESHAPE)
        r = self.report("full_fp32")
        # The pool rounds sizes up to 512 bytes; one rounding differs.
        self.assertAlmostEqual(r["cpu_peak_bytes"]["falls"], WITHOUT - FULL, delta=512)

    def test_values_without_a_type_are_said_to_count_nothing(self):
        text = dump("plain_fp32").read_text()
        every = self.file("every.ir", re.sub(r"^      : \(.*\n", "", text, flags=re.M))
        typed = re.compile(r"^(  %1\(.*\n      : .*) -> \(<Tensor.*\n", re.M)
        self.assertEqual(len(typed.findall(text)), 1)
        one = self.file("one.ir", typed.sub(r"\1 -> (<null>)\n", text))
        symbol = self.file("symbol.ir", typed.sub(r"\1 -> (<Tensor[Float32], (-1, 128, 256)>)\n", text))
        says = "# {} values have no type or size that is known, and count 0 bytes\n"
        for path, count in ((dump("plain_fp32"), 0), (one, 1), (symbol, 1)):
            for command in ("peak", "recompute"):
                self.assertEqual(json.loads(self.ok("ir", command, path, "--format", "json").text)["unknown_sizes"], count)
                self.assertEqual(says.format(count) in self.ok("ir", command, path).text, count > 0)
        # Each op that is not looked through has one result here.
        ops = json.loads(self.ok("ir", "ops", every, "--format", "json").text)["ops"]
        passed_on = ("Load", "UpdateState", "Depend", "MakeTuple", "TupleGetItem", "Return")
        expected = sum(op["primitive"] not in passed_on for op in ops)
        found = json.loads(self.ok("ir", "peak", every, "--format", "json").text)["unknown_sizes"]
        self.assertTrue(0 < found <= expected, (found, expected))
        self.assertIn("no value\n" + says.format(found), self.ok("ir", "peak", every).text)

    def test_the_peaks_themselves(self):
        """What is left is the same everywhere: the step's inputs and constants, and the rounding of small sizes."""
        for name, measured in (("select_fp32", SELECT), ("select_reshape_fp32", SELECT_RESHAPE), ("full_fp32", FULL)):
            peak = self.report(name)["cpu_peak_bytes"]
            self.assertLess(0, measured - peak["with"])
            self.assertLess(measured - peak["with"], 38000)
            self.assertEqual(WITHOUT - peak["without"], 37368)

    def test_whole_cells_are_one_word(self):
        r = self.report("full_fp32")
        self.assertTrue(r["whole_cells"])
        self.assertEqual((r["layers"], r["micro_batches"]), (["0", "1"], 1))
        self.assertEqual(r["recompute_config"], "recompute_config:\n  recompute: True\n")

    def test_whole_cells_of_some_layers_are_a_number(self):
        """Two of four layers: their number, and what MindSpore turned off, which no mark can bring back."""
        r = self.report("two_of_four_layers")
        self.assertTrue(r["whole_cells"])
        self.assertEqual((r["layers"], r["whole_layers"]), (["0", "1", "2", "3"], ["0", "1"]))
        self.assertEqual(r["recompute_config"],
                         "recompute_config:\n  recompute: [2]  # the first layers of this stage; of 4 in the dump\n")
        lines = dump("two_of_four_layers").read_text().splitlines()
        off = [i + 1 for i, line in enumerate(lines) if "recompute: Bool(0)" in line]
        self.assertEqual([n["line"] for n in r["turned_off"]], off)
        self.assertEqual(len(off), 2)
        self.assertFalse({m["line"] for m in r["missing"]} & set(off))
        text = self.ok("ir", "recompute", dump("two_of_four_layers")).text
        self.assertIn("add of layer 1: not computed again: MindSpore turned its mark off\n", text)
        self.assertIn("\nrecompute_config:\n  recompute: [2]", text)
        # Layers that are not the first ones have no number.
        other = dump("two_of_four_layers").read_text()
        for a, b in (("0", "x"), ("2", "0"), ("x", "2")):
            other = other.replace(f"layers-CellList/{a}-", f"layers-CellList/{b}-")
        config = json.loads(self.ok("ir", "recompute", self.file("other.ir", other), "--format", "json").text)["recompute_config"]
        self.assertIn("recompute: False  # layers 2, 1 are not the first ones", config)

    def test_a_mark_without_a_copy_is_not_from_before_the_pass(self):
        r = self.report("mark_without_copy")
        self.assertEqual((r["marked"], r["copies"], r["computed_again"]), (1, 0, 0))
        self.assertFalse(r["before_add_recomputation"])
        self.assertEqual(r["marks"][0]["kept_by"]["primitive"], "Reshape")
        self.assertNotIn("before add_recomputation", self.ok("ir", "recompute", dump("mark_without_copy")).text)
        # The pass writes the mark into the node, too.
        text = dump("mark_without_copy").read_text().replace("cnode_attrs: {recompute: Bool(1)}", "")
        early = self.file("early.ir", text)
        self.assertIn("(it is from before add_recomputation)", self.ok("ir", "recompute", early).text)

    def test_a_dump_of_version_2_0(self):
        r = self.report("select_version_2_0")
        text = dump("select_version_2_0").read_text()
        copies = text.count("duplicated: true")
        self.assertEqual((r["marked"], r["copies"], r["computed_again"]), (4, copies, copies))

    def test_micro_batches_are_no_layers(self):
        self.assertIn("/micro_inputs-CellList/1-_MicroBatch/", dump("pipeline_rank4").read_text())
        r = self.report("pipeline_rank4")
        self.assertEqual((r["layers"], r["micro_batches"]), (["1"], 2))

    def test_a_pattern_of_some_layers_is_counted(self):
        text = dump("select_fp32").read_text()
        lines = text.split("\n")
        # The marks of layer 1 go: a statement is followed by its types and its scope.
        for i, line in enumerate(lines):
            if "recompute: Bool(1)" in line and any("/1-DecoderLayer/" in after for after in lines[i:i + 4]):
                lines[i] = line.replace("recompute: Bool(1)", "recompute: Bool(0)")
        done = self.ok("ir", "recompute", self.file("some.ir", "\n".join(lines)), "--format", "json")
        r = json.loads(done.text)
        self.assertEqual({tuple(p["layers"]) for p in r["marked_patterns"]}, {("0",)})
        self.assertIn("of this one, 2 are in the dump\n", r["recompute_config"])
        self.assertIn(r"    'feed_forward\.mul': [1]" + "\n", r["recompute_config"])

    def test_the_reshape_of_the_guide(self):
        r = self.report("select_fp32")
        mul = [m for m in r["marks"] if m["pattern"] == r"feed_forward\.mul"]
        self.assertEqual([m["outcome"] for m in mul], ["kept_behind"] * 2)
        self.assertEqual({m["kept_by"]["primitive"] for m in mul}, {"Reshape"})
        self.assertEqual({m["kept_by"]["pattern"] for m in mul}, {r"feed_forward\.w2\.reshape"})
        frees = [m["frees"] for m in r["missing"] if m["pattern"] == r"feed_forward\.w2\.reshape"]
        self.assertEqual(frees, [2883584] * 2)
        self.assertTrue(r["further_is_fewest"])
        self.assertIn(r"feed_forward\.w2\.reshape", [p["pattern"] for p in r["further_patterns"]])
        self.assertRegex(r["recompute_config"], r"(?s)\Arecompute_config:\n  recompute: False\n  select_recompute: \['.*'\]\n\Z")
        self.assertIn(r"'feed_forward\.w2\.reshape'", r["recompute_config"])

    def test_a_mark_with_the_reshape_frees_it(self):
        r = self.report("select_reshape_fp32")
        self.assertEqual([m["outcome"] for m in r["marks"] if m["pattern"] == r"feed_forward\.mul"], ["computed_again"] * 2)

    def test_a_dump_without_marks(self):
        done = self.ok("ir", "recompute", dump("tensor_parallel"))
        self.assertEqual((done.summary["marked"], done.summary["freed_bytes"]), ("0", "0"))


class Collectives(ToolTest):
    def report(self, path, *options):
        done = self.ok("ir", "collectives", path, "--format", "json", *options)
        listed = json.loads(done.text)
        counted = {reason: sum(c["reason"] == reason for c in listed["collectives"]) for reason in listed["totals"]}
        for reason, count in counted.items():
            self.assertEqual((listed["totals"][reason]["count"], int(done.summary[reason])), (count, count))
        return listed["collectives"], counted

    def test_the_guides_example(self):
        found, counted = self.report(dump("guide_wo_linear"))
        self.assertEqual(counted["partial_sums"], 1)
        self.assertEqual((found[0]["ranks"], found[0]["bytes"], found[0]["producer"]), ([0, 1, 2, 3], 2048 * 4096 * 2, "MatMul"))
        self.assertEqual((found[0]["in_strategy"], found[0]["layer"]), ("((1, 4), (1,4))", "1"))

    def test_a_product_that_needs_none(self):
        text = dump("guide_wo_linear").read_text().replace("in_strategy: ((1, 4), (1,4))", "in_strategy: ((1, 1), (4, 1))")
        found, _ = self.report(self.file("a.ir", text))
        self.assertEqual(found[0]["reason"], "not_explained")
        self.assertIn("each rank has its whole part", found[0]["why"])
        text = dump("guide_wo_linear").read_text().replace("(0, 1, 2, 3)", "(0, 1)")
        found, _ = self.report(self.file("a.ir", text))
        self.assertEqual(found[0]["reason"], "not_explained")
        self.assertIn("it needs one of 4 ranks", found[0]["why"])

    def test_tensor_parallel_step(self):
        found, counted = self.report(dump("tensor_parallel"))
        self.assertEqual(counted, {"partial_sums": 9, "gradient_mirror": 21, "optimizer_shards": 0, "sequence_shards": 0, "redistribution": 3, "stage_border": 0, "not_explained": 0})
        gathered = [c for c in found if c["primitive"] == "AllGather"]
        self.assertEqual((gathered[0]["layout_before"], gathered[0]["layout_behind"]), ("((2, 4), ())", "((2, 1), (2, 1))"))
        text = dump("tensor_parallel").read_text()
        self.assertEqual(len(found), len(re.findall(r"\) = (?:AllReduce|AllGather|ReduceScatter)\(", text)))

    def test_sequence_parallel_step(self):
        """What norms hold by rows is gathered for column-parallel products; their sums are read by a slice alone."""
        found, counted = self.report(dump("sequence_parallel"))
        gathers = [c for c in found if c["reason"] == "sequence_shards" and not c["backward"]]
        for c in gathers:
            self.assertRegex(c["why"], r"gives \(2, 4, 1\), MatMul \(\(2, 1\), \(4, 1\)\) wants \(2, 1\)")
        self.assertEqual((len(gathers), counted["sequence_shards"]), (3, 6))
        self.assertEqual((counted["redistribution"], counted["not_explained"]), (3, 0))
        lines = dump("sequence_parallel").read_text().splitlines()
        sliced = [c for c in found if "only_slice_line" in c]
        self.assertEqual(len(sliced), 2)
        for c in sliced:
            self.assertEqual((c["primitive"], c["reason"]), ("AllReduce", "partial_sums"))
            self.assertIn("StridedSlice(", lines[c["only_slice_line"] - 1])
        self.assertIn("a ReduceScatter would do, with half the bytes\n", self.ok("ir", "collectives", dump("sequence_parallel")).text)

    def test_optimizer_parallel_step(self):
        found, counted = self.report(dump("optimizer_parallel"))
        text = dump("optimizer_parallel").read_text()
        gathers = len(re.findall(r"\) = AllGather\(.*parallel_optimizer", text))
        scatters = len(re.findall(r"\) = ReduceScatter\(.*grad_parallel_optimizer", text))
        self.assertEqual((gathers, scatters), (12, 12))
        self.assertEqual(counted, {"partial_sums": 1, "gradient_mirror": 9, "optimizer_shards": 24, "sequence_shards": 0, "redistribution": 0,
                                   "stage_border": 0, "not_explained": 0})
        self.assertEqual(found[0]["why"], "gathers net.tok_embeddings.weight, of which each rank holds a part")

    def test_pipeline_step(self):
        found, counted = self.report(dump("pipeline_rank0"))
        self.assertEqual((counted["stage_border"], counted["not_explained"]), (4, 0))
        between = [c for c in found if c["primitive"] in ("Send", "Receive")]
        self.assertEqual({c["bytes"] for c in between}, {4 * 128 * 256 * 2})
        self.assertEqual({(c["peer"], c["ranks"]) for c in between}, {(4, None)})
        self.assertIn(", to rank 4, from Add", self.ok("ir", "collectives", dump("pipeline_rank0")).text)

    def test_the_op_behind_a_cast_wants_another_layout(self):
        found, _ = self.report(dump("pipeline_rank4"))
        moved = [c for c in found if c["reason"] == "redistribution"]
        whys = {c["why"].split("layouts")[1] for c in moved}
        self.assertEqual(whys, {
            " do not fit: MatMul ((2, 1), (2, 1)) gives (2, 2), SoftmaxCrossEntropyWithLogits ((2, 1), (2, 1)) wants (2, 1)",
            " do not fit: FloorDiv ((2, 2), (), ()) gives (2, 2), SoftmaxCrossEntropyWithLogits ((2, 1), (2, 1)) wants (2, 1)"})

    def test_what_a_piece_does_not_tell_is_unknown(self):
        piece = self.file("piece.ir", "%0(x) = AllReduce(%para1_x) {instance name: all_reduce}\n")
        text = self.ok("ir", "collectives", piece, "--gb-per-s", "50").text
        self.assertIn("AllReduce of unknown bytes, unknown ranks\n", text)
        self.assertIn("not_explained: 1, unknown bytes", text)
        listed = json.loads(self.ok("ir", "collectives", piece, "--gb-per-s", "50", "--format", "json").text)
        self.assertEqual([listed["collectives"][0][key] for key in ("bytes", "ranks", "rank_count")], [None] * 3)
        self.assertNotIn("time_us", listed["collectives"][0])
        self.assertEqual(listed["totals"]["not_explained"]["unknown"], 1)

    def test_times_on_a_ring(self):
        found, _ = self.report(dump("guide_wo_linear"), "--gb-per-s", "50", "--latency-us", "4")
        self.assertAlmostEqual(found[0]["time_us"], 2 * 3 * 4 + 2 * 3 / 4 * 16777216 / 50e3, places=6)
        self.misused("ir", "collectives", dump("guide_wo_linear"), "--latency-us", "4")
        for what in ("nan", "-1", "inf", "1x"):
            self.misused("ir", "collectives", dump("guide_wo_linear"), "--gb-per-s", what)
            self.misused("ir", "collectives", dump("guide_wo_linear"), "--gb-per-s", "50", "--latency-us", what)


class BadInput(ToolTest):
    def test_files_that_are_no_dump(self):
        self.refused("ir", "summary", self.folder / "none.ir", says="cannot read")
        csv = self.file("kernel_details.csv", "Step Id,Device_id,Name\n1,0,MatMul\n")
        for command in ("summary", "ops", "recompute", "collectives"):
            self.refused("ir", command, csv, says='line 1, column 1: "Step Id,Device_id,Name" is not understood')
            self.refused("ir", command, DATA / "ascend" / "kernel_details.csv", says="it is a profiler's table: hocket profile reads it")
            self.refused("ir", command, self.file("empty.ir", ""), says="ends in line 0")

    def test_truncated_dumps(self):
        data = dump("select_fp32").read_bytes()
        for share in (0.1, 0.5, 0.9, 0.999):
            cut = self.file("cut.ir", data[:int(len(data) * share)])
            for command in ("summary", "recompute"):
                self.refused("ir", command, cut, says="line ")

    def test_what_a_scan_misread(self):
        text = dump("guide_wo_linear").read_text()
        for right, wrong, says in (("{instance name: matmul}", "{instance name: matmul)", "line 1, column"),
                                   ("I64(0)", "164(0)", "line 1, column"),
                                   ('"hccl_world_group"', '"hcel_world_group"', "line 5, column"),
                                   ("in_strategy", "in strategy", "line 1, column"),
                                   ("(equiv_loss)", "(equiv_loss))", "line 1, column")):
            self.refused("ir", "collectives", self.file("scan.ir", text.replace(right, wrong, 1)), says=says)


if __name__ == "__main__":
    main()
