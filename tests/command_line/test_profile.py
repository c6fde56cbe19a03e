# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket profile: on files that profilers wrote, against sums that are worked out here."""
import csv
import gzip
import io
import json
import math
import re
import shutil
import sqlite3
import unittest
import zlib
from decimal import Decimal

from harness import DATA, ROOT, ToolTest, hocket, main

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
        with sqlite3.connect(database) as empty:
            empty.execute("CREATE TABLE CANN_API (startNs INTEGER)")
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
        self.refused("profile", self.folder / "profile", "--trace", self.folder / "x", says="are for one rank, but the folders hold 3")
        self.assertIn("rank 1 is slow: it computes for 4.000 ms, 3.000 ms (300.0 %) longer than the others; they wait 2.000 ms "
                      "longer in collectives\n", done.text)
        self.assertEqual([r["rank"] for r in ranks], [0, 1, 2])
        self.refused("profile", self.folder / "profile", KERNELS, says="give files of one rank, or folders of ranks")

    def gloo(self, folder):
        """What PyTorch's traces of two ranks over Gloo say, worked out plainly: by rank and step computing, exposed and own."""
        out = {}
        for rank in (0, 1):
            with gzip.open(PROFILES / folder / f"rank{rank}.pt.trace.json.gz") as file:
                events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
            ns = lambda us: round(Decimal(str(us)) * 1000)
            piece = lambda e: (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]))
            asks = [piece(e) for e in events if e["name"].startswith("c10d::")]
            network = [piece(e) for e in events if e["name"].startswith("gloo:")]
            ops = [piece(e) for e in events if e.get("cat") == "cpu_op" and not e["name"].startswith("c10d::")]
            marks = sorted((piece(e)[0], int(e["name"].split("#")[1])) for e in events if e["name"].startswith("ProfilerStep#"))
            moments = sorted({t for p in asks + network + ops for t in p} | {m for m, _ in marks})
            steps = {}
            for first, step in marks:
                until = min((m for m, _ in marks if m > first), default=moments[-1] + 1)
                inside = lambda pieces: [p for p in pieces if first <= p[0] < until]
                asked, net, own = inside(asks), inside(network), inside(ops)
                begin = min(p[0] for p in net + own)
                end = max(p[1] for p in net + own)
                computing = exposed = 0
                for a, b in zip(moments, moments[1:]):
                    covers = lambda pieces: any(p[0] <= a and b <= p[1] for p in pieces)
                    if covers(own) and not covers(asked):
                        computing += b - a
                    elif covers(net):
                        exposed += b - a
                steps[step] = {"span": end - begin, "computing": computing, "exposed": exposed, "own": end - begin - exposed}
            out[rank] = steps
        return out

    def mean(self, steps, part):
        """Without steps beyond Tukey's fence that are a twentieth above the median."""
        spans = sorted(s["span"] for s in steps.values())
        last, quarter = len(spans) - 1, len(spans) // 4
        lower, median, upper = spans[quarter], spans[last // 2], spans[last - quarter]
        kept = [s[part] for s in steps.values()
                if not (s["span"] > upper + (upper - lower) * 3 // 2 and s["span"] - median > median // 20)]
        return sum(kept) / len(kept) / 1000

    def test_who_is_slow_over_gloo(self):
        plain = self.gloo("gloo_slow")
        done = self.ok("profile", PROFILES / "gloo_slow")
        found = self.json(PROFILES / "gloo_slow")
        for rank in (0, 1):
            one = found["ranks"][rank]
            self.assertEqual((one["rank"], one["steps"]), (rank, 5))
            for part in ("span", "computing", "exposed"):
                self.assertAlmostEqual(one[f"{part}_us"], self.mean(plain[rank], part), delta=0.01)
        slow = found["slow_ranks"]
        self.assertEqual([(s["name"], s["part"]) for s in slow], [("rank 1", "computing")])
        last = sum(plain[1][s]["own"] > plain[0][s]["own"] for s in plain[0])
        self.assertEqual((slow[0]["longest_in"], slow[0]["steps"]), (last, 5))
        # Both processes have one clock: who comes last is seen in the traces as they are.
        starts = []
        for rank in (0, 1):
            with gzip.open(PROFILES / "gloo_slow" / f"rank{rank}.pt.trace.json.gz") as file:
                starts.append(sorted(e["ts"] for e in json.load(file)["traceEvents"] if e["name"] == "gloo:all_reduce"))
        self.assertTrue(all(a < b for a, b in zip(*starts)))
        self.assertEqual(found["ranks"][1]["collectives"]["last"], 5)
        ahead = found["ranks"][1]["clock"]["ahead_us"]
        waits = sum(b - a for a, b in zip(*starts)) - 5 * ahead
        self.assertAlmostEqual(found["ranks"][0]["collectives"]["waits_us"], waits, delta=0.1)
        self.assertIn("rank 1: 5 of 5, waited for", done.text)
        svg = self.folder / "ranks.svg"
        self.ok("profile", PROFILES / "gloo_slow", "--svg", svg)
        for step, times in plain[1].items():
            self.assertIn(f"rank 1, step {step}: {times['own'] / 1e6:.3f}".rstrip("0").rstrip("."), svg.read_text())

    def test_clocks_that_differ_and_ranks_that_are_missing(self):
        for rank, shift in ((0, 0), (1, 1234567)):
            with gzip.open(PROFILES / "gloo_slow" / f"rank{rank}.pt.trace.json.gz") as file:
                trace = json.load(file)
            trace["distributedInfo"]["world_size"] = 4
            for e in trace["traceEvents"]:
                e["ts"] = float(Decimal(str(e["ts"])) + shift) if "ts" in e else 0
            folder = self.folder / "run"
            folder.mkdir(exist_ok=True)
            (folder / f"rank{rank}.pt.trace.json").write_text(json.dumps(trace))
        found, before = self.json(self.folder / "run"), self.json(PROFILES / "gloo_slow")
        self.assertEqual(found["missing_ranks"], [2, 3])
        shift = found["ranks"][1]["clock"]["ahead_us"] - before["ranks"][1]["clock"]["ahead_us"]
        self.assertAlmostEqual(shift, 1234567, delta=1)
        self.assertAlmostEqual(found["ranks"][0]["collectives"]["waits_us"], before["ranks"][0]["collectives"]["waits_us"], delta=2)
        text = self.ok("profile", self.folder / "run").text
        self.assertRegex(text, r"the clock of rank 1 is 123\d\.\d+ ms ahead of that of rank 0, by 5 collectives")
        self.assertIn("ranks without a profile: 2, 3\n", text)
        shutil.copy(self.folder / "run" / "rank1.pt.trace.json", self.folder / "run" / "rank3.pt.trace.json")
        self.refused("profile", self.folder / "run", says="two profiles are of rank 1: give those of one run")

    def test_stages_of_a_pipeline(self):
        row = "1,a,MatMul,AI_CORE,5,{},1,,\n1,b,hcom_receive_,HCCL,{},{},2,,\n"
        for rank, computing in enumerate((1000, 1000, 3000, 4000)):
            text = HEADER + row.format(computing, 5 + computing, 5000 - computing)
            self.folder_of(f"run/rank_{rank}", texts={"kernel_details.csv": text})
        run = self.folder / "run"
        self.assertIn("its stages are not told: --stages N", self.ok("profile", run).text)
        text = self.ok("profile", run, "--stages", "2").text
        self.assertIn("rank 3 is slow: it computes for 4.000 ms, 1.000 ms (33.3 %) longer than the others of stage 1", text)
        self.assertIn("stage 1 is the longest: 2.000 ms (200.0 %) more than the others", text)
        self.assertNotIn("rank 2 is slow", text)
        self.refused("profile", run, "--stages", "3", says="--stages 3: ")

    def test_many_steps_are_one_table(self):
        rows = "".join(f"{i},a,MatMul,AI_CORE,{10000 * i},{9000 if i == 700 else 1000 + i % 10},1,,\n" for i in range(1, 801))
        path = self.file("kernels.csv", HEADER + rows)
        text = self.ok("profile", path).text
        self.assertLess(text.count("\n"), 60)
        self.assertIn("  step                          1.005      1.000      1.002      1.007      9.000\n", text)
        self.assertIn("far above the others: step 700, 9.000 ms", text)
        self.assertEqual(len(self.json(path)["steps"]), 800)

    def test_links_of_many_ranks(self):
        for rank in range(4):
            links = {f"{rank}-{to}": {"Transport Type": "HCCS", "Transit Size(MB)": 10,
                                      "Transit Time(ms)": 4 if (rank, to) == (2, 3) else 1} for to in range(4) if to != rank}
            runs = {f"hcom_allReduce__1_{i}@g": {"Communication Bandwidth Info": {
                "HCCS": {"Transit Size(MB)": 4, "Transit Time(ms)": 2 if rank == 2 else 1}}} for i in range(3)}
            self.folder_of(f"run/rank_{rank}", texts={
                "kernel_details.csv": HEADER + "1,a,MatMul,AI_CORE,5,10,1,,\n",
                "communication.json": json.dumps({"step": {"collective": runs}}),
                "communication_matrix.json": json.dumps({"step": {"collective": {"hcom_allReduce__1-total@g": links}}})})
        svg = self.folder / "links.svg"
        done = self.ok("profile", self.folder / "run", "--links-svg", svg)
        self.assertIn("the link 2 -> 3  HCCS is slow: 2.50 GB/s, its like reach 10.00 GB/s", done.text)
        self.assertIn("HCCS from 2,097,152 bytes: 4.00 GB/s in 12 runs; 2.00 GB/s on rank 2: slow\n", done.text)
        self.assertEqual(done.summary["slow_links"], "1")
        self.assertIn("from 2, to 3: 2.5 GB/s", svg.read_text())
        self.assertEqual(svg.read_text().count("<title>"), 12)
        self.refused("profile", KERNELS, "--links-svg", svg, says="there are no links to draw")

    def test_two_measurements_side_by_side(self):
        before, after = self.gloo("gloo_slow"), self.gloo("gloo_even")
        trace = lambda folder: PROFILES / folder / "rank1.pt.trace.json.gz"
        found = self.json(trace("gloo_slow"), "--against", trace("gloo_even"))
        for side, steps in (("before", before[1]), ("after", after[1])):
            for part in ("span", "computing", "exposed"):
                self.assertAlmostEqual(found[side][f"{part}_us"], self.mean(steps, part), delta=0.01)
        first = found["operators"][0]
        self.assertEqual((first["type"], first["calls_before"], first["calls_after"]), ("aten::matmul", 12, 6))
        each = first["before_us"] / 12
        self.assertAlmostEqual(first["change_by_calls_us"], -6 * each, delta=0.01)
        changes = [abs(o["change_us"]) for o in found["operators"]]
        self.assertEqual(changes, sorted(changes, reverse=True))
        text = self.ok("profile", trace("gloo_slow"), "--against", trace("gloo_even")).text
        self.assertIn("the biggest part is computing:", text)
        ranks = self.json(PROFILES / "gloo_slow", "--against", PROFILES / "gloo_even")["ranks"]
        self.assertEqual(ranks[1]["before"], found["before"])
        self.assertIn("2 ranks before, 2 after, 2 in both", self.ok("profile", PROFILES / "gloo_slow", "--against",
                                                                    PROFILES / "gloo_even").text)
        same = self.json(KERNELS, "--against", KERNELS, "--by", "shape")
        self.assertEqual(same["before"], same["after"])
        self.assertEqual({o["change_us"] for o in same["operators"]}, {0})
        self.refused("profile", KERNELS, "--against", PROFILES / "cpu_op_type_info_0.csv", says="holds neither runs of ops nor times of steps")
        self.refused("profile", KERNELS, "--against", KERNELS, "--svg", self.folder / "x.svg", says="--against compares two measurements")

    def database(self, path, rows, collectives=(), steps=(), rank=None, groups=None, text_names=False):
        """A database as torch_npu writes it; rows of (name, type, core, start, duration, stream, shapes,
        and perhaps formats, types, output shapes) in nanoseconds."""
        path.parent.mkdir(parents=True, exist_ok=True)
        ids = {}
        name = lambda text: text if text_names else ids.setdefault(text, len(ids))
        with sqlite3.connect(path) as db:
            db.executescript("""CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
                CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
                  globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
                CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER, blockDim INTEGER, taskType INTEGER,
                  opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, outputShapes INTEGER);
                CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER,
                  groupName INTEGER, opId INTEGER, opType INTEGER);
                CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
                CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
                CREATE TABLE META_DATA (name TEXT, value TEXT);
                CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER);
                CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER);""")
            for i, (op, kind, core, start, duration, stream, shapes, *more) in enumerate(rows):
                formats, types, outputs = (name(m) for m in more) if more else (None, None, None)
                db.execute("INSERT INTO TASK VALUES (?, ?, 0, 0, ?, 0, 0, 0, ?, ?, 0)", (start, start + duration, i, stream, i))
                db.execute("INSERT INTO COMPUTE_TASK_INFO VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)",
                           (name(op), i, name(core), name(kind), formats, types, name(shapes), outputs))
            # A task that only waits: it has no row in COMPUTE_TASK_INFO.
            db.execute("INSERT INTO TASK VALUES (0, 10, 0, 0, 99999, 0, 0, 0, 1, 1, 0)")
            for op, start, duration, group in collectives:
                db.execute("INSERT INTO COMMUNICATION_OP VALUES (?, ?, ?, 0, ?, 1, NULL)", (name(op), start, start + duration, name(group)))
            db.executemany("INSERT INTO STEP_TIME VALUES (?, ?, ?)", steps)
            db.execute("INSERT INTO MEMORY_RECORD VALUES (?, 5, 1000, 4000)", (name("PTA"),))
            if rank is not None:
                db.execute("INSERT INTO RANK_DEVICE_MAP VALUES (?, 0)", (rank,))
            if groups is not None:
                db.execute("INSERT INTO META_DATA VALUES ('parallel_group_info', ?)", (json.dumps(groups),))
            db.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", [(i, text) for text, i in ids.items()])

    def has_databases(self):
        empty = self.folder / "empty.db"
        with sqlite3.connect(empty) as db:
            db.execute("CREATE TABLE A (a INTEGER)")
        return "without SQLite" not in hocket("profile", empty).err

    def test_a_database_is_as_the_table_it_was_made_of(self):
        if not self.has_databases():
            self.skipTest("this hocket was built without SQLite")
        ns = lambda text: int(Decimal(text) * 1000)
        computing, network = [], []
        for r in self.rows:
            start, duration = ns(r["Start Time(us)"]), ns(r["Duration(us)"])
            if r["Accelerator Core"] == "HCCL":
                network.append((r["Name"], start, duration, "group"))
            else:
                computing.append((r["Name"], r["Type"], r["Accelerator Core"], start, duration, 1, r["Input Shapes"],
                                  r["Input Formats"], r["Input Data Types"], r["Output Shapes"]))
        begin = min(r[3] for r in computing) - 10**9
        for text_names in (False, True):
            path = self.folder / f"run{text_names}" / "ascend_pytorch_profiler_3.db"
            self.database(path, computing[::-1], network, [(1, begin, begin + 10**10)], rank=3, text_names=text_names)
            for given in (path, path.parent):
                found, table = self.json(given), self.json(KERNELS)
                for key in ("steps", "gaps", "exposed"):
                    self.assertEqual(found[key], table[key])
                self.assertEqual(found["operators"], table["operators"])
                self.assertEqual(found["memory"], {"peak_allocated_bytes": 1000, "peak_reserved_bytes": 4000})
                self.assertEqual(found["unused_files"], ["table CANN_API"])
        # Beside the table itself the table is read.
        shutil.copy(KERNELS, path.parent)
        self.assertIn("# not used: ascend_pytorch_profiler_3.db\n", self.ok("profile", path.parent).text)
        done = self.ok("profile", path, KERNELS)
        self.assertEqual(done.summary["ops"], "591")

    def test_databases_of_many_ranks(self):
        if not self.has_databases():
            self.skipTest("this hocket was built without SQLite")
        for rank in range(4):
            slow = 500 if rank == 2 else 0
            rows, network, steps, at = [], [], [], 10**9 + 10**6 * rank  # each rank's clock is 1 ms later
            for step in range(5):
                steps.append((step, at - 10, at + 2000))
                rows.append((f"m{step}", "MatMul", "AI_CORE", at, 1000 + slow, 1, "2,3;3,4"))
                network.append((f"hcom_allReduce__445_{step}", at + 1000 + slow, 1000 - slow, "g"))
                at += 3000
            self.database(self.folder / "run" / f"h_{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / f"ascend_pytorch_profiler_{rank}.db",
                          rows, network, steps, rank=rank,
                          groups={"x": {"group_name": "pp", "group_rank": 0, "global_ranks": [rank % 2, rank % 2 + 2]}})
        found = self.json(self.folder / "run")
        self.assertEqual([(r["rank"], r["stage"], r["steps"]) for r in found["ranks"]], [(0, 0, 5), (1, 0, 5), (2, 1, 5), (3, 1, 5)])
        self.assertEqual([r["clock"]["ahead_us"] for r in found["ranks"][1:]], [1000, 2000, 3000])
        self.assertEqual([r["collectives"]["last"] for r in found["ranks"]], [0, 0, 5, 0])
        self.assertEqual([r["collectives"]["waited_for_us"] for r in found["ranks"]], [0, 0, 2.5, 0])
        self.assertEqual([s["name"] for s in found["slow_ranks"]], ["rank 2"])
        text = self.ok("profile", self.folder / "run").text
        self.assertIn("rank 2 is slow: it computes for 0.002 ms, 0.001 ms (50.0 %) longer than the others of stage 1", text)
        self.assertEqual(text.count("CANN_API"), 1)

    def test_databases_that_are_refused(self):
        if not self.has_databases():
            self.skipTest("this hocket was built without SQLite")
        path = self.folder / "msprof_1.db"
        self.database(path, [("a", "T", "AI_CORE", 100, 10, 1, "")])
        whole = path.read_bytes()
        with sqlite3.connect(path) as db:
            db.execute("INSERT INTO TASK VALUES (1, 2, 7, 0, 5, 0, 0, 0, 1, 1, 0)")
        self.refused("profile", path, says="holds the devices 0, 7: give a database of one device")
        path.write_bytes(whole)
        with sqlite3.connect(path) as db:
            db.execute("UPDATE TASK SET endNs = 50 WHERE startNs = 100")
        self.refused("profile", path, says="a task runs from 100 to 50 ns")
        path.write_bytes(whole[:len(whole) // 2])
        self.refused("profile", path, says="the database cannot be read: ")
        path.write_bytes(whole[:100] + b"\xff" * 60 + whole[160:])
        self.refused("profile", path, says="the database cannot be read: ")
        empty = self.folder / "none.db"
        with sqlite3.connect(empty) as db:
            db.execute("CREATE TABLE A (a INTEGER)")
        self.refused("profile", empty, says="the database has none of a profiler's tables")

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
