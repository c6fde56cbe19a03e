# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket ranks: verdicts and witnesses of programs of public threads, and what is wrong with a file."""
import json
import sys

from harness import ROOT, ToolTest, hocket, main

sys.path.insert(0, str(ROOT / "tools"))
import deadlock_page  # noqa: E402

DEADLOCKS = ROOT / "examples/deadlocks"


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


if __name__ == "__main__":
    main()
