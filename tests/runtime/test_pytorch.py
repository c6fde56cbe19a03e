# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our lists on PyTorch's pipeline runtime: they load, they train, and every gradient equals that of one process.

    HOCKET=build/dev/examples/hocket_cli/hocket python3 -m unittest discover -s tests/runtime      (needs PyTorch)
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import torch
from torch.distributed.pipelining import schedules

HERE = pathlib.Path(__file__).resolve().parent
TOOL = os.environ.get("HOCKET", str(HERE.parents[1] / "build" / "dev" / "examples" / "hocket_cli" / "hocket"))
RANKS = 4
SECONDS = 400


def listed(folder, name, *words):
    path = folder / f"{name}.csv"
    done = subprocess.run([TOOL, "pipeline", "list", *map(str, words), "--out", path], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.stderr}")
    return path


def shape(schedule, chunks, micro_batches, *more):
    return (schedule, "--ranks", RANKS, "--chunks", chunks, "--micro-batches", micro_batches, *more)


#   name: (shape, micro-batches). What PyTorch itself cannot build is marked.
COMPUTE_ONLY = {
    "interleaved m 9": shape("interleaved", 2, 9),                                       # refused: 9 mod 2 groups
    "interleaved m 13, 3 chunks": shape("interleaved", 3, 13),                           # refused
    "least memory m 9": shape("interleaved", 2, 9, "--groups", "least-memory"),          # not there
    "interleaved zero bubble m 9": shape("interleaved-zb", 2, 9),                        # refused
    "zbv m 9": shape("zbv", 2, 9),
    "dualpipev m 9": shape("dualpipev", 2, 9),
    "1f1b m 3": shape("1f1b", 1, 3),                                                     # refused: fewer than ranks
    "zero bubble h1": shape("zb-h1", 1, 6),                                              # not there
    "zero bubble h2": shape("zb-h2", 1, 8),                                              # not there
    "v-half": shape("v-half", 2, 8),                                                     # not there
}
# Lowered by us: the runtime inserts nothing. The first is what it would insert itself. "deferred", which is PyTorch's own
# option, is left out: gloo matches sends and receives of two ranks by their order alone, deferring changes the order of
# the receives only, and dualpipev then trains on the wrong data without a word. `pipeline check` refuses such a list.
COMPUTE_COMMS = {
    "as PyTorch": (*shape("interleaved", 2, 9), "--unshard", 3, "--reduce-grad", "--comms", "eager"),
    "receives just in time": (*shape("interleaved", 2, 9), "--reduce-grad", "--comms", "just-in-time"),
    "grouped zbv": (*shape("zbv", 2, 9), "--reduce-grad", "--comms", "grouped"),
}


def stages_of(path):
    return [sorted({int(s) for s in re.findall(r"(\d+)F\d", line)}) for line in path.read_text().splitlines()]


def job(name, path, words, form):
    return {"name": name, "csv": str(path), "format": form, "stages": stages_of(path),
            "micro_batches": int(words[words.index("--micro-batches") + 1])}


class Runtime(unittest.TestCase):
    def test_gradients_equal_those_of_one_process(self):
        with tempfile.TemporaryDirectory() as name:
            folder, jobs = pathlib.Path(name), []
            for form, lists in (("compute_only", COMPUTE_ONLY), ("compute_comms", COMPUTE_COMMS)):
                for title, words in lists.items():
                    jobs.append(job(title, listed(folder, title.replace(" ", "_"), *words), words, form))
            problems = folder / "jobs.json"
            problems.write_text(json.dumps(jobs))
            done = subprocess.run([sys.executable, HERE / "trainer.py", problems], capture_output=True, text=True, timeout=SECONDS)
            self.assertEqual(done.returncode, 0, done.stderr[-4000:])
            results = json.loads(done.stdout.splitlines()[-1])
        for entry in jobs:
            with self.subTest(entry["name"]):
                self.assertEqual(results[entry["name"]], [])

    def test_what_pytorch_refuses_to_build(self):
        class Stage:  # as much of a stage as the generator looks at
            is_first, is_last, has_backward, device, num_stages = False, False, True, torch.device("cpu"), 8
            submod = torch.nn.Linear(1, 1)

            def __init__(self, index):
                self.stage_index, self.group_rank, self.group_size, self.stage_index_to_group_rank = index, 0, 4, None

        for kind in (schedules.ScheduleInterleaved1F1B, schedules.ScheduleInterleavedZeroBubble):
            with self.assertRaisesRegex(ValueError, "multiple of|number of rounds"):
                kind([Stage(0), Stage(4)], 9, loss_fn=torch.nn.MSELoss())


class Loader(unittest.TestCase):
    """What PyTorch's loader cannot take, and what it says."""

    def tokens(self, *words):
        with tempfile.TemporaryDirectory() as name:
            path = listed(pathlib.Path(name), "list", *words)
            return [cell for line in path.read_text().splitlines() for cell in line.split(",") if cell]

    def test_two_directions(self):
        cells = self.tokens("dualpipe", "--ranks", 4, "--micro-batches", 8)
        second = next(c for c in cells if c.startswith("d1:"))
        with self.assertRaisesRegex(RuntimeError, f"Invalid action string: {second}, should be formatted as"):
            schedules._Action.from_str(second)

    def test_slices_are_read_as_something_else(self):
        cells = self.tokens("seq-1f1b", "--ranks", 2, "--micro-batches", 2, "--slices", 2)
        sliced = next(c for c in cells if c.endswith(".1"))
        self.assertEqual(str(schedules._Action.from_str(sliced)), sliced[:-2])  # no error: the slice is dropped

    def test_tokens_of_ours(self):
        for token in ("0RECOMPUTE3", "0OFFLOAD3", "0RELOAD3", "0OPTIMIZER", "0POST_VALIDATION"):
            with self.assertRaisesRegex(RuntimeError, f"Invalid action string: {token}"):
                schedules._Action.from_str(token)


if __name__ == "__main__":
    unittest.main()
