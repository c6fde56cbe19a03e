# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket profile: on files that profilers wrote, against sums that are worked out here."""
import csv
import json
import math
import unittest
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
        one = self.json(runs, "--step", "2")
        self.assertEqual(one["steps"], found["steps"][1:])
        self.refused("profile", runs, "--step", "3", says="no op belongs to step 3")

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
