# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket profile: on files that profilers wrote, against sums that are worked out here."""
import csv
import gzip
import io
import json
import math
import re
import shutil
import unittest
import zlib
from decimal import Decimal

from harness import DATA, ROOT, ToolTest, main

PROFILES = DATA / "ascend"
KERNELS = PROFILES / "kernel_details.csv"
HEADER = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Stream ID,Input Shapes,Output Shapes\n"


def union(pieces):
    """Total length of intervals, those that overlap once."""
    total, until = Decimal(0), None
    for start, finish in sorted(pieces):
        start = start if until is None else max(start, until)
        if finish > start:
            total += finish - start
        until = finish if until is None else max(until, finish)
    return total


class Profile(ToolTest):
    def setUp(self):
        super().setUp()
        with open(KERNELS, newline="") as table:
            self.rows = list(csv.DictReader(table))

    def json(self, *words):
        return json.loads(self.ok("profile", *words, "--format", "json").text)

    def test_a_step_taken_apart(self):
        pieces = {True: [], False: []}
        for r in self.rows:
            start = Decimal(r["Start Time(us)"])
            pieces[r["Accelerator Core"] == "HCCL"].append((start, start + Decimal(r["Duration(us)"])))
        computing, both = union(pieces[False]), union(pieces[True] + pieces[False])
        everything = pieces[True] + pieces[False]
        span = max(f for _, f in everything) - min(s for s, _ in everything)
        step = self.json(KERNELS)["steps"][0]
        self.assertEqual(step["step"], 1)
        self.assertAlmostEqual(step["computing_us"], float(computing), 3)
        self.assertAlmostEqual(step["exposed_us"], float(both - computing), 3)
        self.assertAlmostEqual(step["idle_us"], float(span - both), 3)
        text = self.ok("profile", KERNELS).text
        for words in ("communication, exposed      345.405 ms  66.8 %", "idle: scheduling            122.309 ms",
                      "computing                    49.172 ms"):
            self.assertIn(words, text)

    def test_totals_by_type_and_shape(self):
        sums = {}
        for r in self.rows:
            sums.setdefault(r["Type"], []).append(Decimal(r["Duration(us)"]))
        found = self.json(KERNELS)["operators"]
        by_type = {}
        for o in found:
            calls, total = by_type.get(o["type"], (0, 0))
            by_type[o["type"]] = (calls + o["calls"], total + o["total_us"])
        self.assertEqual({t: c for t, (c, _) in by_type.items()}, {t: len(d) for t, d in sums.items()})
        for name, durations in sums.items():
            self.assertAlmostEqual(by_type[name][1], float(sum(durations)), 3)
        products = [o for o in self.json(KERNELS, "--by", "shape")["operators"] if o["type"] == "MatMul"]
        for o in products:
            a, b = ([int(n) for n in s.split(",")] for s in o["input_shapes"].split(";"))
            inner = set(a) & set(b)
            self.assertEqual(len(inner), 1)
            flops = 2 * math.prod(a) * math.prod(b) / inner.pop() * o["calls"]
            self.assertAlmostEqual(o["flops_per_second"] / (flops / o["total_us"] * 1e6), 1, 9)

    def test_gaps_and_exposed_collectives(self):
        found = self.json(KERNELS, "--gap-us", "0")
        self.assertAlmostEqual(sum(g["length_us"] for g in found["gaps"]), found["steps"][0]["idle_us"], 2)
        self.assertAlmostEqual(sum(e["exposed_us"] for e in found["exposed"]), found["steps"][0]["exposed_us"], 2)
        self.assertEqual(found["exposed"][0]["collective"]["name"], "hcom_broadcast__445_0")
        long = self.json(KERNELS, "--gap-us", "1000")["gaps"]
        self.assertEqual(long, [g for g in found["gaps"] if g["length_us"] >= 1000])

    def test_samples_are_those_that_a_fit_reads(self):
        rows = "".join(f"1,m{i},MatMulV3,AI_CORE,{1000 * i},{20 + m // 64},0,\"{m},512;512,256\",\"{m},256\"\n"
                       for i, m in enumerate((1024, 256, 512, 768, 2048)))
        table = self.file("kernels.csv", HEADER + rows)
        out = self.folder / "samples.csv"
        self.ok("profile", table, "--samples", out, "--samples-of", "MatMulV3", "--out", self.folder / "report.txt")
        self.assertEqual(out.read_text(), "size,time_us\n256,24.000\n512,28.000\n768,32.000\n1024,36.000\n2048,52.000\n")
        fitted = json.loads(self.ok("tiling", "fit", "--samples", out).text)
        self.assertEqual(fitted["cost"]["rows"], [256, 512, 768, 1024, 2048])
        self.assertEqual(fitted["cost"]["us"], [24, 28, 32, 36, 52])
        asked = ("profile", KERNELS, "--samples", out, "--samples-of")
        self.refused(*asked, "MatMul", says="--samples-shape K,N: 1536,12288 (2 runs)")
        self.ok(*asked, "MatMul", "--samples-shape", "12288,4608")
        self.assertEqual(out.read_text().splitlines()[1].split(",")[0], "4096")
        self.refused(*asked, "MatMul", "--samples-shape", "1,2", says="there is none, but there are")
        self.refused(*asked, "hcom_allReduce_", says="add communication.json")
        self.refused(*asked, "Cast", says="no run of Cast has shapes of a matrix product")
        self.refused(*asked, "Nothing", says="there are BatchMatMul, MatMul")
        self.misused("profile", KERNELS, "--samples", out)
        self.misused("profile", KERNELS, "--samples-of", "MatMul")

    def test_samples_of_a_collective(self):
        runs = {f"hcom_allReduce__1_{i}@g": {
            "Communication Time Info": {"Start Timestamp(us)": 5, "Elapse Time(ms)": 0.01 + mb / 100,
                                        "Transit Time(ms)": 1},
            "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": mb, "Transit Time(ms)": 1},
                                             "SDMA": {"Transit Size(MB)": mb, "Transit Time(ms)": 1}}}
            for i, mb in enumerate((4, 1, 2))}
        path = self.file("communication.json", json.dumps({"step": {"collective": runs}}))
        out = self.folder / "samples.csv"
        done = self.ok("profile", path, "--samples", out, "--samples-of", "hcom_allReduce_", "--bytes-per-row", "1000")
        self.assertEqual(out.read_text(), "size,time_us\n1000,20.000\n2000,30.000\n4000,50.000\n")
        self.assertIn("moves 4,000,000 bytes in 1.000 ms, 4.00 GB/s", done.text)
        self.ok("tiling", "fit", "--samples", out)

    def test_links_between_ranks(self):
        links = {"0-1": {"Transport Type": "HCCS", "Transit Size(MB)": 12, "Transit Time(ms)": 3},
                 "0-8": {"Transport Type": "RDMA", "Transit Size(MB)": 6, "Transit Time(ms)": 6}}
        one = {"0-1": {"Transport Type": "HCCS", "Transit Size(MB)": 4, "Transit Time(ms)": 1}}
        path = self.file("communication_matrix.json", json.dumps(
            {"step1": {"p2p": {}, "collective": {"hcom_allReduce__1-total@g": links, "hcom_allReduce__1-top1@g": one}}}))
        text = self.ok("profile", path).text
        self.assertIn("0 -> 8  RDMA: 6,000,000 bytes in 6.000 ms, 1.00 GB/s\n", text)
        self.assertIn("0 -> 1  HCCS: 12,000,000 bytes in 3.000 ms, 4.00 GB/s\n", text)
        self.assertEqual([(l["from"], l["to"], l["bytes"]) for l in self.json(path)["links"]], [(0, 8, 6000000), (0, 1, 12000000)])

    def test_communication_of_a_cluster(self):
        text = self.ok("profile", PROFILES / "cluster_communication.json").text
        self.assertIn("121.737 ms  hcom_broadcast__501_0 of rank 0: waits 115.961, moves 85,312 bytes in 0.008 ms", text)

    def test_a_run_on_a_cpu_beside_its_dump(self):
        runs = PROFILES / "cpu_op_execute_timestamp_0.txt"
        done = self.ok("profile", runs, "--ir", DATA / "mindspore/select_fp16.ir", "--format", "json")
        found = json.loads(done.text)
        self.assertEqual([s["step"] for s in found["steps"]], [1, 2])
        self.assertEqual([s["ops"] for s in found["steps"]], [689, 689])
        lines = (DATA / "mindspore/select_fp16.ir").read_text().splitlines()
        self.assertGreater(len(found["joined"]), 100)
        for one in found["joined"]:
            said = lines[one["line"] - 1]
            self.assertRegex(said, rf"= (PrimFunc_)?{one['type']}\(")
            scope = next(s for s in lines[one["line"]:one["line"] + 6] if "Fullname with scope" in s)
            self.assertIn(f"({one['name']})", scope)
        self.refused("profile", KERNELS, "--ir", DATA / "mindspore/select_fp16.ir", says="has its full scope in this dump")
        one = self.json(runs, "--ir", DATA / "mindspore/select_fp16.ir", "--step", "2")
        self.assertEqual(one["steps"], found["steps"][1:])
        self.refused("profile", runs, "--step", "3", says="no op belongs to step 3")

    def test_what_was_recomputed(self):
        """An op and its copy have the same scope: only the dump tells them apart, and then to the nanosecond."""
        runs, path = PROFILES / "cpu_op_execute_timestamp_full.txt", DATA / "mindspore/full_fp32.ir"
        is_copy, statement = {}, ""
        for line in path.read_text().splitlines():
            statement = line if line.startswith("  %") else statement
            if scope := re.fullmatch(r"      # Fullname with scope: \((.*)\)", line):
                is_copy[scope[1]] = "duplicated: Bool(1)" in statement
        sums = dict.fromkeys(("undecided", "copies", "originals"), Decimal(0))
        for line in runs.read_text().splitlines():
            name, _, times = line.split(";")
            took = sum(Decimal(t.split(",")[1]) for t in times.split())
            if name.startswith("recompute_"):
                sums["undecided"] += took
                sums["copies" if is_copy[name] else "originals"] += took
        total = lambda found, phase: sum(s["computing_by_phase_us"][phase] for s in found["steps"]) / 1000
        alone = self.json(runs)
        # An op of the loss may run beside one of a layer, and a moment counts once.
        self.assertAlmostEqual(total(alone, "forward or recomputed"), float(sums["undecided"]), delta=1)
        self.assertEqual(total(alone, "recomputed"), 0)
        self.assertIn("--ir DUMP tells them apart", self.ok("profile", runs).text)
        joined = self.json(runs, "--ir", path)
        self.assertAlmostEqual(total(joined, "recomputed"), float(sums["copies"]), delta=1)
        self.assertEqual(total(joined, "forward or recomputed"), 0)
        self.assertNotIn("--ir DUMP", self.ok("profile", runs, "--ir", path).text)

    def folder_of(self, name, *files, texts={}):
        folder = self.folder / name
        folder.mkdir(parents=True)
        for file in files:
            shutil.copy(PROFILES / file, folder)
        for file, text in texts.items():
            (folder / file).write_text(text)
        return folder

    def test_a_folder_is_read_as_a_profiler_wrote_it(self):
        run = self.folder / "host_1_2_ascend_ms"
        self.folder_of("host_1_2_ascend_ms/ASCEND_PROFILER_OUTPUT", "kernel_details.csv",
                       texts={"l2_cache.csv": "a,b\n1,2\n", "trace_view.json": "[]"})
        self.folder_of("host_1_2_ascend_ms/FRAMEWORK", "cpu_op_type_info_0.csv")
        for given in (run, run / "ASCEND_PROFILER_OUTPUT", self.folder):
            found = self.json(given)
            self.assertEqual(found["steps"], self.json(KERNELS)["steps"])
        self.assertEqual(len(self.json(run)["totals"]), 32)
        self.assertIn("# not used: l2_cache.csv, trace_view.json\n", self.ok("profile", run).text)
        # What a shell makes of FOLDER/*: tables that are not known, and no text, are set aside.
        database = run / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler.db"
        database.write_bytes(b"SQLite format 3\0")
        files = sorted((run / "ASCEND_PROFILER_OUTPUT").iterdir())
        done = self.ok("profile", *files)
        self.assertEqual(done.summary["ops"], "591")
        self.assertIn("# not used: ascend_pytorch_profiler.db, l2_cache.csv, trace_view.json\n", done.text)
        self.refused("profile", self.folder_of("empty", texts={"a.csv": "a,b\n"}), says="no file of a known profiler is in this folder")
        self.refused("profile", run / "ASCEND_PROFILER_OUTPUT" / "l2_cache.csv", says="no table of a known profiler begins with")
        self.refused("profile", KERNELS, self.folder / "none.csv", says="cannot read")

    def test_compressed_traces(self):
        """PyTorch writes .pt.trace.json.gz: of every kind of block, of several members, cut off and damaged."""
        events = [{"ph": "X", "cat": "kernel", "name": f"k{i % 7}", "pid": 0, "tid": 7, "ts": 1000 + 10 * i, "dur": 5 + i % 3}
                  for i in range(3000)]
        text = json.dumps({"traceEvents": events}).encode()
        plain = self.json(self.file("a.json", text.decode()))

        def packed(data, **how):
            stream = zlib.compressobj(wbits=31, **how)
            return stream.compress(data) + stream.flush()
        half = len(text) // 2
        named = io.BytesIO()
        with gzip.GzipFile("trace.json", "wb", fileobj=named) as file:
            file.write(text)
        forms = [packed(text, level=level) for level in (0, 1, 6, 9)]
        forms += [packed(text, strategy=zlib.Z_FIXED), packed(text, strategy=zlib.Z_HUFFMAN_ONLY), named.getvalue(),
                  packed(text[:half]) + packed(text[half:], level=0)]
        path = self.folder / "host.1.pt.trace.json.gz"
        for data in forms:
            path.write_bytes(data)
            self.assertEqual(self.json(path), plain)
        (self.folder / "run").mkdir()
        (self.folder / "run" / "host.2.pt.trace.json.gz").write_bytes(forms[0])
        self.assertEqual(self.json(self.folder / "run"), plain)
        for length in (0, 1, 9, 12, 40, len(forms[2]) // 2, len(forms[2]) - 9, len(forms[2]) - 1):
            path.write_bytes(forms[2][:length])
            self.refused("profile", path, says="the compressed data ends early")
        for at in (0, 2, 11, 200, len(forms[2]) - 6, len(forms[2]) - 2):
            damaged = bytearray(forms[2])
            damaged[at] ^= 0x55
            path.write_bytes(damaged)
            self.refused("profile", path, says="the compressed data")
        path.write_bytes(packed(b"\0" * 1000))
        self.refused("profile", path, says="holds a zero byte, so it is no text")

    def test_ranks_side_by_side(self):
        rows = "1,a,MatMul,AI_CORE,5,{},1,,\n1,b,hcom_allReduce_,HCCL,{},{},2,,\n"
        for rank, computing in enumerate((1000, 4000, 2000)):
            text = HEADER + rows.format(computing, 5 + computing, 5000 - computing)
            self.folder_of(f"profile/rank_{rank}/profiler", texts={"kernel_details.csv": text})
        done = self.ok("profile", self.folder / "profile")
        self.assertEqual(done.summary["ranks"], "3")
        self.assertIn(f"      5.000      4.000      1.000      0.000      0.000      0.000      1  {self.folder}/profile/rank_1\n", done.text)
        self.assertIn("      5.000      4.000      4.000      0.000      0.000      0.000         most\n", done.text)
        ranks = self.json(self.folder / "profile")["ranks"]
        self.assertEqual([r["computing_us"] for r in ranks], [1000, 4000, 2000])
        self.assertEqual([r["exposed_us"] for r in ranks], [4000, 1000, 3000])
        one = self.folder / "profile" / "rank_2"
        self.assertEqual(self.json(one)["steps"][0]["computing_us"], 2000)
        self.refused("profile", self.folder / "profile", "--svg", self.folder / "x.svg", says="are for one rank, but the folders hold 3")
        self.refused("profile", self.folder / "profile", KERNELS, says="give files of one rank, or folders of ranks")

    def test_tables_of_other_kinds(self):
        done = self.ok("profile", PROFILES / "cluster_step_trace_time.csv", PROFILES / "cpu_op_type_info_0.csv",
                       PROFILES / "cpu_ms_memory_record_0.txt")
        self.assertIn("rank 0                       80.310    683.731      5.525    990.605", done.text)
        with open(PROFILES / "cpu_ms_memory_record_0.txt", newline="") as table:
            most = max(int(r["Total Allocated(Byte)"]) for r in csv.DictReader(table))
        self.assertIn(f"at most {most:,} bytes allocated", done.text)
        self.assertEqual(done.summary["totals"], "32")
        trace = self.json(PROFILES / "trace_view.json")
        self.assertAlmostEqual(trace["steps"][0]["computing_us"], 1788.25, 1)
        self.assertAlmostEqual(trace["profiler_steps"][0]["computing_us"], 1788.25, 1)

    def test_pictures(self):
        svg, trace = self.folder / "step.svg", self.folder / "step.json"
        self.ok("profile", KERNELS, "--svg", svg, "--trace", trace)
        drawn = svg.read_text()
        for words in ("hatched: exposed", "exposed communication · hcom_broadcast__445_0", "step 1", "stream 16",
                      "url(#exposed)", "nothing runs"):
            self.assertIn(words, drawn)
        events = json.loads(trace.read_text())["traceEvents"]
        exposed = sum(e["dur"] for e in events if e.get("args", {}).get("exposed"))
        self.assertAlmostEqual(exposed, 345405.4, 1)
        idle = sum(e["dur"] for e in events if e.get("name") == "nothing runs" and e["ph"] == "X")
        self.assertAlmostEqual(idle, 122308.56, 1)
        names = {e["name"] for e in events if e["ph"] == "X"}
        self.assertTrue({r["Name"] for r in self.rows} <= names)
        self.refused("profile", PROFILES / "cpu_op_type_info_0.csv", "--svg", svg, says="nothing to draw")

    def test_hours_of_hidden_communication(self):
        path = self.file("long.csv", HEADER + "1,a,MatMul,AI_CORE,5,10000000000,1,,\n1,b,hcom_allReduce_,HCCL,5,10000000000,2,,\n")
        self.assertIn("communication hidden beside it 10000000.000 ms\n", self.ok("profile", path).text)

    def test_files_that_do_not_belong_together(self):
        runs = PROFILES / "cpu_op_execute_timestamp_0.txt"
        self.refused("profile", KERNELS, runs, says="they do not belong to one run")
        self.refused("profile", KERNELS, KERNELS, says="both hold runs of ops: give one of them")
        trace = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "Ascend Hardware"}},
                 {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": "1699529623165249.2", "dur": 1}]
        path = self.file("trace.json", json.dumps(trace))
        self.assertEqual(self.ok("profile", path, KERNELS).summary["ops"], "591")  # the table says more

    def test_what_is_refused(self):
        refused = lambda name, text, says: self.refused("profile", self.file(name, text), says=says)
        refused("a.csv", "", "ends in line 0")
        refused("a.csv", HEADER, "there are no rows below the names of columns")
        refused("a.csv", "source,target\n0,1\n", "no table of a known profiler begins with")
        refused("a.csv", HEADER + "1,a,T,AI_CORE,5,N/A,0,,\n", 'line 2, column 6: "N/A" is no decimal number')
        refused("a.csv", HEADER + "1,a,T,AI_CORE,5,1", "line 2: expected 9 columns, found 6")
        refused("a.csv", HEADER.replace("Type", "Name"), 'line 1, column 3: the table has "Name" already, as column 2')
        self.refused("profile", DATA / "mindspore" / "plain_fp32.ir", says="it is a dump of MindSpore's IR: hocket ir reads it")
        refused("a.json", "[]", "the trace has no events of a device")
        refused("a.json", '[{"ph": "X"', "the text ends in line 1")
        text = KERNELS.read_text()
        for part in (3, 5, 7):
            refused("cut.csv", text[:len(text) * part // 8], "line ")
        self.misused("profile")
        self.misused("profile", KERNELS, "--gap-us", "nan")
        self.misused("profile", KERNELS, "--by", "name")


if __name__ == "__main__":
    main()
