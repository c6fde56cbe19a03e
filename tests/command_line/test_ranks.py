# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket ranks: verdicts and witnesses of programs of public threads, and what is wrong with a file."""
import json
import pickle
import subprocess
import sys
import xml.etree.ElementTree

from harness import ROOT, ToolTest, hocket, main

sys.path.insert(0, str(ROOT / "tools"))
import deadlock_page  # noqa: E402

DEADLOCKS = ROOT / "examples/deadlocks"
RECORDS = ROOT / "examples/hangs"


class Check(ToolTest):
    def test_programs_of_public_threads(self):
        programs = sorted(DEADLOCKS.glob("*.csv"))
        self.assertGreaterEqual(len(programs), 25)
        for path in programs:
            with self.subTest(program=path.stem):
                text = path.read_text()
                machine, verdict = deadlock_page.field(text, "machine"), deadlock_page.field(text, "verdict")
                done = hocket("ranks", "check", path, "--machine", machine)
                self.assertEqual(done.code, 0 if verdict == "safe" else 1)
                self.assertTrue(done.text.startswith(verdict + ": "), done.text)
                answer = json.loads(hocket("ranks", "check", path, "--machine", machine, "--json").text)
                self.assertEqual((answer["verdict"], answer["told"]), (verdict, done.text))
                self.assertEqual(bool(answer["cycle"]), verdict in ("hangs", "may hang"))
                self.assertEqual("mismatch" in answer, verdict == "mismatch")
                picture = xml.etree.ElementTree.fromstring(self.ok("ranks", "draw", path, "--machine", machine).text)
                arrows = [x for x in picture.iter("{http://www.w3.org/2000/svg}path") if "marker-end" in x.attrib]
                if verdict != "mismatch":  # of those it shows a call that never comes
                    self.assertEqual(len(arrows), len(answer["cycle"]))
                for a, b in zip(answer["cycle"], answer["cycle"][1:] + answer["cycle"][:1]):
                    self.assertEqual(a["waits_for"], b["who"])

    def test_the_page_is_what_the_tool_says(self):
        page = deadlock_page.page(lambda *words: hocket(*words).text)
        self.assertEqual((ROOT / "docs/deadlocks.md").read_text(), page)

    def test_a_repaired_program_is_safe(self):
        for name in ("rccl-2191", "torchrec-4149", "nccl-784", "pytorch-189454"):
            with self.subTest(program=name):
                out = self.folder / "repaired.csv"
                self.ok("ranks", "repair", DEADLOCKS / f"{name}.csv", "--repaired", out)
                self.assertTrue(self.ok("ranks", "check", out).text.startswith("safe: "))

    def test_slots_decide(self):
        path = DEADLOCKS / "nccl-574.csv"
        self.assertTrue(self.ok("ranks", "check", path, "--slots", 2).text.startswith("safe: "))
        self.assertTrue(self.ok("ranks", "check", path, "--slots", 0).text.startswith("safe: "))
        self.assertTrue(self.ok("ranks", "check", path, "--machine", "nccl-implicit-order").text.startswith("safe: "))

    def test_a_pipeline_on_a_mesh(self):
        mesh = ("--ranks", 4, "--micro-batches", 4, "--tensor", 2, "--data", 2)
        job = self.folder / "job.csv"
        for schedule in ("1f1b", "interleaved", "zbv"):
            with self.subTest(schedule=schedule):
                self.ok("pipeline", "ranks", schedule, *mesh, "--out", job)
                for machine, slots in (("nccl", 0), ("gloo", 0), ("mpi", 0)):
                    done = hocket("ranks", "check", job, "--machine", machine, "--slots", slots)
                    self.assertTrue(done.text.startswith("safe: "), done.text)
        # Rank 1 sends a gradient before it takes the activation that rank 0 sends first.
        lists = self.file("lists.csv", "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                       "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n")
        for communicators, verdict in (("pipeline", "hangs"), ("pair", "hangs"), ("direction", "safe")):
            self.ok("pipeline", "ranks", "--table", lists, "--communicators", communicators, "--out", job)
            done = hocket("ranks", "check", job, "--slots", 0)
            self.assertTrue(done.text.startswith(verdict + ": "), done.text)
        self.assertEqual(hocket("pipeline", "ranks", "1f1b", "--ranks", 4, "--micro-batches", 4, "--data", 3, "--expert", 2).code, 1)
        self.assertEqual(hocket("pipeline", "ranks", "1f1b", "--ranks", 4, "--micro-batches", 4, "--tensor", 0).code, 2)

    def test_bad_input(self):
        for text, sentence in (("rank,op\n0,allreduce\n", 'line 2, column 2: "allreduce" is no op of a rank'),
                               ("rank,op\n0-1000000000,compute\n", "exceeds the limit of 1048575 (rank)"),
                               ("rank,op,peer\n0,send,5\n", "the peer or root is not a member"),
                               ("op,rank\n", "the first line must be rank,op and any of communicator stream"),
                               ("rank,op,communicator\n0 1,communicator,a\n1 2,communicator,a\n2,barrier,a\n", 'rank 1 is twice a member of communicator "a"')):
            with self.subTest(text=text):
                done = hocket("ranks", "check", self.file("bad.csv", text))
                self.assertEqual(done.code, 1)
                self.assertIn(sentence, done.err)
        self.assertEqual(hocket("ranks", "check", DEADLOCKS / "nccl-574.csv", "--machine", "nccl9").code, 2)


class Hang(ToolTest):
    """Dumps of PyTorch's Flight Recorder, recorded over Gloo (examples/hangs), and in the form that NCCL's have."""

    def why(self, *files):
        done = hocket("ranks", "hang", *files, "--json")
        answer = json.loads(done.text)
        self.assertEqual(hocket("ranks", "hang", *files).text, answer["told"])
        self.assertEqual(done.code, 0 if answer["why"] == "nothing open" else 1)
        return answer

    def test_jobs_over_gloo(self):
        answer = self.why(RECORDS / "skips")
        self.assertEqual((answer["why"], answer["absent"], answer["waiting"]), ("never comes", [2], [0, 1, 3]))
        self.assertEqual((answer["calls"][0]["call"], answer["calls"][0]["group"]), ("all_gather", "dp"))
        # Nothing that is left says that rank 2 is a member of dp, for Gloo writes no members.
        cut = self.why(RECORDS / "cut")
        self.assertEqual((cut["why"], cut["perhaps"], cut["waiting"]), ("all came", [2], [0, 1, 3]))
        for path in (RECORDS / "cut").iterdir():
            record = json.loads(path.read_text())
            record["pg_config"] = {"3": {"name": "3", "desc": "dp", "ranks": "[0, 1, 2, 3]"}}
            self.file(path.name, json.dumps(record))
        self.assertEqual(self.why(*self.folder.glob("gloo_rank_*.json"))["absent"], [2])
        crossed = self.why(RECORDS / "crossed")
        self.assertEqual(crossed["why"], "cycle")
        self.assertEqual({(c["rank"], c["group"]) for c in crossed["calls"]}, {(2, "tp1"), (3, "dp")})
        kinds = self.why(RECORDS / "kinds")
        self.assertEqual((kinds["why"], {c["call"] for c in kinds["calls"]}), ("mismatch", {"all_reduce", "broadcast"}))
        self.assertEqual(self.why(RECORDS / "ends")["why"], "nothing open")
        some = [RECORDS / "skips" / f"gloo_rank_{r}.json" for r in (3, 0, 1)]
        self.assertEqual((self.why(*some)["why"], self.why(*some)["perhaps"]), ("all came", []))

    def dump(self, rank, *entries, members="[2, 5]", first=0):
        made = []
        for i, (kind, number, state, *more) in enumerate(entries):
            made.append({"record_id": first + i, "process_group": ["7", "pipe"], "collective_seq_id": number, "p2p_seq_id": 1,
                         "profiling_name": f"nccl:{kind}", "time_created_ns": 10**18 + i, "input_sizes": [[4, 2]],
                         "input_dtypes": ["Half"], "output_sizes": [[8]], "state": state, "retired": state == "completed",
                         "is_p2p": kind.startswith(("send", "recv")), **(more[0] if more else {})})
        dump = {"version": "2.10", "entries": made, "pg_config": {"7": {"name": "7", "desc": "pipe", "ranks": members}}}
        return self.file(f"nccl_trace_rank_{rank}.json", json.dumps(dump))

    def test_the_form_of_nccl(self):
        reduce = ("all_reduce", 1, "completed")
        a = self.dump(2, reduce, ("all_reduce", 2, "started"))
        self.assertEqual(self.why(a)["without_record"], [5])
        b = self.dump(5, reduce, ("all_reduce", 2, "scheduled"))
        self.assertIn("It started on rank 2 alone", self.why(a, b)["told"])
        # Transfers are matched by pair: rank 5's second receive has no send.
        a = self.dump(2, ("send 0->1", 0, "completed"), reduce)
        b = self.dump(5, ("recv 1<-0", 0, "completed"), reduce, ("recv 1<-0", 0, "scheduled"))
        answer = self.why(a, b)
        self.assertEqual((answer["why"], answer["absent"], answer["calls"][0]["group"]), ("never comes", [2], "ranks 2 to 5"))
        # Sizes: what goes into an all_reduce, what comes out of a reduce_scatter, nothing of an all_to_all.
        other = {"input_sizes": [[3]]}
        for kind, why in (("all_reduce", "mismatch"), ("_reduce_scatter_base", "all came"), ("all_to_all", "all came")):
            a, b = self.dump(2, (kind, 1, "started")), self.dump(5, (kind, 1, "started", other))
            self.assertEqual(self.why(a, b)["why"], why, kind)
        # Two groups of a mesh's dimension have one name and description, and other members.
        mine, theirs = self.dump(0, reduce, members="[0, 1]"), self.dump(1, reduce, members="[0, 1]")
        third = self.dump(2, ("all_gather", 1, "started"), members="[2, 3]")
        answer = self.why(mine, theirs, third, self.dump(3, members="[2, 3]"))
        self.assertEqual((answer["why"], answer["absent"], answer["calls"][0]["group"]), ("never comes", [3], "pipe of ranks 2, 3"))
        # Calls that were coalesced share a number, and differ from each other.
        pair = [("all_gather_coalesced_a", 1, "completed"), ("all_gather_b", 1, "completed", {"input_sizes": [[64]]})]
        self.assertEqual(self.why(self.dump(2, *pair), self.dump(5, *pair))["why"], "nothing open")
        self.assertEqual(self.why(self.dump(2, *pair), self.dump(5, *pair[:1], pair[0]))["why"], "mismatch")
        # Records that were cut off do not say which transfers belong together.
        a = self.dump(2, ("send 0->1", 0, "scheduled"), ("all_reduce", 9, "completed"), first=40)
        b = self.dump(5, ("all_reduce", 10, "scheduled"), first=40)
        self.assertIn("Sends and receives are left out", self.why(a, b)["told"])

    def test_pickles_become_json(self):
        record = json.loads((RECORDS / "skips" / "gloo_rank_0.json").read_text())
        path = self.folder / "trace_0"
        path.write_bytes(pickle.dumps(record))
        run = lambda: subprocess.run([sys.executable, ROOT / "tools/unpickle_flight_record.py", path], capture_output=True, text=True)
        self.assertEqual(run().stdout, f"{path}.json\n")
        self.assertEqual(json.loads((self.folder / "trace_0.json").read_text()), record)
        for bad in (pickle.dumps(subprocess.run), pickle.dumps(record)[:40], b"", b"{}"):
            path.write_bytes(bad)
            self.assertIn("not a flight record", run().stderr)

    def test_what_is_no_record(self):
        good = RECORDS / "ends" / "gloo_rank_0.json"
        self.refused("ranks", "hang", self.file("record.json", good.read_text()), says="the name must hold the rank")
        self.refused("ranks", "hang", good, self.file("again_0.json", good.read_text()), says="two flight records of a rank: 0")
        self.refused("ranks", "hang", self.file("a_1.json", "{}"), says="entries of a flight record")
        self.refused("ranks", "hang", self.file("a_1.json", '{"entries": [3]}'), says="an entry of a flight record")
        self.refused("ranks", "hang", self.file("a_1.json", '{"entries": [{}]}'), says="process_group of a flight record")
        self.refused("ranks", "hang", self.file("a_1.json", '{"entries": [{"process_group": ["0", "x"]}]}'), says="collective_seq_id")
        (self.folder / "empty").mkdir()
        self.refused("ranks", "hang", self.folder / "empty", says="no .json file is in this folder")
        self.refused("ranks", "hang", self.folder / "none_3.json", says="cannot read")


if __name__ == "__main__":
    main()
