# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of ranks run for real: a process for each rank, Gloo for the calls, a thread for each stream. What
`hocket ranks check` calls a hang hangs, what it calls safe finishes, with random delays before each call."""
import csv
import json
import os
import pathlib
import queue
import random
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import torch
import torch.distributed as dist

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = os.environ.get("HOCKET", str(ROOT / "build/dev/examples/hocket_cli/hocket"))
DEADLOCKS = ROOT / "examples/deadlocks"
MOST_RANKS = 8
LOOKED_AT = 4.0  # seconds without an end that are a hang; a run that ends takes some milliseconds
# Slots and hardware queues are a device's: there are none here. Otherwise NCCL's host goes on at once, Gloo's waits.
MACHINES = {"gloo": ("--machine", "gloo"), "nccl": ("--machine", "nccl", "--slots", 0)}


def numbers(cell):
    """Ranks as the file has them: 3, 0-7, 0-6/2, with spaces between."""
    out = []
    for word in cell.split():
        span, _, step = word.partition("/")
        first, _, last = span.partition("-")
        out += range(int(first), int(last or first) + 1, int(step or 1))
    return out


class Program:
    def __init__(self, path):
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        rows = list(csv.DictReader(lines))
        self.groups = [(row["communicator"], numbers(row["rank"])) for row in rows if row["op"] == "communicator"]
        self.world = 1 + max(r for row in rows for r in numbers(row["rank"]))
        self.lists = [[] for _ in range(self.world)]
        for row in rows:
            if row["op"] == "communicator":
                continue
            row = {key: value for key, value in row.items() if value}
            for rank in numbers(row["rank"]):
                self.lists[rank].append(row)

    def uses_a_communicator_on_two_streams(self):
        for ops in self.lists:
            streams = {}
            for row in ops:
                if "communicator" in row and streams.setdefault(row["communicator"], row.get("stream", "0")) != row.get("stream", "0"):
                    return True
        return False


class Stream:
    """Does what it is given in order, in a thread of its own."""

    def __init__(self, delay):
        self.given = queue.SimpleQueue()
        self.delay = delay
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            self.delay()
            self.given.get()()

    def put(self, work):
        """@return an event that is set when the work is done"""
        done = threading.Event()

        def both():
            work()
            done.set()

        self.given.put(both)
        return done


class Rank:
    def __init__(self, rank, program, store, enqueue_returns, seed):
        self.rank = rank
        self.ops = program.lists[rank]
        self.enqueue_returns = enqueue_returns
        self.chance = random.Random(seed * 1000 + rank)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=program.world)
        self.groups = {"world": dist.group.WORLD}
        for name, members in program.groups:
            group = dist.new_group(members)
            if rank in members:
                self.groups[name] = group
        self.streams, self.events = {}, {}

    def delay(self):
        time.sleep(self.chance.choice((0, 0, 0.002, 0.01)))

    def run(self):
        threads = [threading.Thread(target=self.run_thread, args=(t,), daemon=True)
                   for t in sorted({row.get("thread", "0") for row in self.ops})]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.synchronize()

    def run_thread(self, thread):
        together = None  # calls of an open group
        for row in self.ops:
            if row.get("thread", "0") != thread:
                continue
            self.delay()
            kind = row["op"]
            if kind == "group_begin":
                together = []
            elif together is not None and kind != "group_end":
                together.append(row)
            elif kind == "group_end":
                self.enqueue(together[0], lambda rows=together: self.call_together(rows))
                together = None
            else:
                self.do(kind, row)

    def stream(self, row):
        number = row.get("stream", "0")
        if number not in self.streams:
            self.streams[number] = Stream(self.delay)
        return self.streams[number]

    def synchronize(self):
        for done in [s.put(lambda: None) for s in list(self.streams.values())]:
            done.wait()

    def do(self, kind, row):
        if kind == "record":
            self.events[row["event"]] = self.stream(row).put(lambda: None)
        elif kind == "wait":  # without a record before it there is nothing to wait for
            if row["event"] in self.events:
                self.stream(row).put(self.events[row["event"]].wait)
        elif kind == "synchronize_stream":
            self.stream(row).put(lambda: None).wait()
        elif kind == "synchronize_event":
            if row["event"] in self.events:
                self.events[row["event"]].wait()
        elif kind == "synchronize_device":
            self.synchronize()
        elif kind == "compute":
            self.stream(row).put(self.delay)
        else:
            self.enqueue(row, lambda: self.call_together([row]))

    def enqueue(self, row, work):
        done = self.stream(row).put(work)
        blocking = row.get("blocking", "0" if self.enqueue_returns else "1")
        if blocking == "1":
            done.wait()

    def call_together(self, rows):
        for work in [self.start(row) for row in rows]:
            work.wait()

    def peer(self, row):
        peer = row.get("peer", "0")
        return self.rank + int(peer) if peer[0] in "+-" else int(peer)

    def start(self, row):
        kind, group = row["op"].removesuffix("_v"), self.groups[row.get("communicator", "world")]
        size = min(int(row.get("count", "1")) or 1, 4096)
        tensor, many = torch.ones(size), group.size()
        several = lambda: [torch.ones(size) for _ in range(many)]
        if kind in ("send", "receive"):
            call = dist.isend if kind == "send" else dist.irecv
            return call(tensor, self.peer(row), group=group, tag=int(row.get("tag", "0")))
        if kind == "all_reduce":
            return dist.all_reduce(tensor, group=group, async_op=True)
        if kind == "all_gather":
            return dist.all_gather(several(), tensor, group=group, async_op=True)
        if kind == "reduce_scatter":
            return dist.reduce_scatter(tensor, several(), group=group, async_op=True)
        if kind == "all_to_all":
            return dist.all_to_all_single(torch.ones(size * many), torch.ones(size * many), group=group, async_op=True)
        if kind == "barrier":
            return dist.barrier(group=group, async_op=True)
        root, here = self.peer(row), self.peer(row) == self.rank
        if kind == "broadcast":
            return dist.broadcast(tensor, root, group=group, async_op=True)
        if kind == "reduce":
            return dist.reduce(tensor, root, group=group, async_op=True)
        if kind == "gather":
            return dist.gather(tensor, several() if here else None, root, group=group, async_op=True)
        return dist.scatter(tensor, several() if here else None, root, group=group, async_op=True)


def run(program, enqueue_returns, seed):
    """Whether all ranks come to their ends."""
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(program.world):
            child = os.fork()
            if child == 0:
                try:
                    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                    here = Rank(rank, program, dist.FileStore(f"{folder}/store", program.world), enqueue_returns, seed)
                    pathlib.Path(folder, f"ready{rank}").touch()
                    here.run()
                    pathlib.Path(folder, f"done{rank}").touch()
                    time.sleep(60)  # others may still need its connections
                finally:
                    os._exit(1)
            children.append(child)
        try:
            come = lambda what: len(list(pathlib.Path(folder).glob(what + "*"))) == program.world
            start = time.monotonic()
            while not come("ready"):
                if time.monotonic() > start + 60:
                    raise RuntimeError("the process group was not made within a minute")
                time.sleep(0.02)
            start = time.monotonic()
            while not come("done") and time.monotonic() < start + LOOKED_AT:
                time.sleep(0.02)
            return come("done")
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
            for child in children:
                os.waitpid(child, 0)


class OnGloo(unittest.TestCase):
    def test_deadlocks(self):
        torch.set_num_threads(1)
        tried = {"safe": 0, "hangs": 0, "may hang": 0, "mismatch": 0}
        for path in sorted(DEADLOCKS.glob("*.csv")):
            program = Program(path)
            if program.world > MOST_RANKS or program.uses_a_communicator_on_two_streams():
                continue
            for machine, words in MACHINES.items():
                said = subprocess.run([TOOL, "ranks", "check", path, *map(str, words), "--json"], capture_output=True, text=True)
                verdict = json.loads(said.stdout)["verdict"]
                with self.subTest(program=path.stem, machine=machine, verdict=verdict):
                    tried[verdict] += 1
                    runs = 3 if verdict == "safe" else 1
                    ended = [run(program, machine == "nccl", seed) for seed in range(runs)]
                    if verdict == "safe":
                        self.assertEqual(ended, [True] * runs)
                    elif verdict == "hangs" or (verdict == "mismatch" and "never comes" in said.stdout):
                        self.assertEqual(ended, [False])
        self.assertGreater(min(tried["safe"], tried["hangs"], tried["mismatch"]), 3, tried)
        print(f"\n{tried}")


if __name__ == "__main__":
    unittest.main()
