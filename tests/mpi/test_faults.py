#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank that dies in the middle of a training step: the job ends in bounded time, and the survivors say why.

    test_faults.py MPIEXEC TRAINING_MPI
"""
import subprocess
import sys
import time
import unittest

MPIEXEC, PROGRAM = sys.argv[1:3]
LIMIT = 2  # seconds: the time limit of a wait in the program's dying mode
BOUND = 30  # seconds for the whole job, on a loaded machine; it takes about LIMIT + 2


def is_open_mpi():
    version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False)
    return "Open MPI" in version.stdout or "OpenRTE" in version.stdout


def job(how, *options, victim=2):
    """Runs the job; its output, exit status and seconds. A job that outlives BOUND is a failure (TimeoutExpired)."""
    start = time.monotonic()
    done = subprocess.run([MPIEXEC, *options, "-n", "4", PROGRAM, "die", str(victim), how], timeout=BOUND,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode(errors="replace"), done.returncode, time.monotonic() - start


class Faults(unittest.TestCase):
    def speaks(self, output, victim):
        self.assertIn(f"rank {victim} dies now", output)
        # A neighbour names the dead rank and what it waited for.
        self.assertRegex(output, rf"rank \d, step \d+: waiting for rank {victim}: the peer did not answer within the time "
                                 r"limit \((activations|gradients) of stage \d, micro-batch \d\)")
        self.assertNotIn("\nok\n", output)

    def test_a_rank_that_stops_answering(self):
        # No launcher can see this: the survivors' own time limit ends the job, the stopped process included.
        output, status, seconds = job("hang")
        self.speaks(output, 2)
        self.assertNotEqual(status, 0)
        self.assertGreater(seconds, LIMIT)

    def test_a_killed_rank_ends_the_job(self):
        output, status, _ = job("kill")
        self.assertIn("rank 2 dies now", output)
        self.assertNotEqual(status, 0)
        if is_open_mpi():
            self.assertRegex(output, r"rank 2 .*exited on signal 9")

    def test_a_killed_rank_with_a_launcher_that_does_not_care(self):
        if not is_open_mpi():
            self.skipTest("the option is Open MPI's")
        output, _, _ = job("kill", "--enable-recovery", victim=1)
        self.speaks(output, 1)

    def test_a_rank_that_leaves_without_a_word(self):
        output, status, _ = job("exit", victim=3)
        self.assertIn("rank 3 dies now", output)
        self.assertNotEqual(status, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
