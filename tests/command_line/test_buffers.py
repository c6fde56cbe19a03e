# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket pipeline buffers: slots counted anew from the lists that the tool prints, and what PyTorch's developers counted."""
import csv
import io
import json
import re

from harness import DATA, ToolTest, main

PIPELINE = DATA / "pipeline"


def tokens_of(text):
    """Per rank the list of (stage, op, micro_batch), sends and receives included."""
    pattern = re.compile(r"(\d+)(F|B|I|W|SEND_F|RECV_F|SEND_B|RECV_B)(\d+)")
    ranks = []
    for line in text.splitlines():
        cells = [pattern.fullmatch(cell) for cell in line.split(",") if cell]
        ranks.append([(int(c[1]), c[2], int(c[3])) if c else (None, "", None) for c in cells])
    return ranks


def reads(op, gradient, late):
    """Whether an action of this kind reads what came."""
    if op == "F":
        return not gradient
    return late or (gradient and op in "BI")


def contents(rank, activations, gradients):
    """(token, stage, gradient, posted, last use) of each receive of a list."""
    found = []
    for step, (stage, op, micro_batch) in enumerate(rank):
        if op not in ("RECV_F", "RECV_B"):
            continue
        gradient = op == "RECV_B"
        late = (gradients if gradient else activations) == "backward"
        last = max(i for i, (s, o, m) in enumerate(rank)
                   if (s, m) == (stage, micro_batch) and o in ("F", "B", "I", "W") and reads(o, gradient, late))
        found.append((f"{stage}{op}{micro_batch}", stage, gradient, step, last))
    return found


def most_at_once(group):
    return max((sum(p <= x[3] <= l for _, _, _, p, l in group) for x in group), default=0)


def slots(rank, activations, gradients):
    """Per stage and kind, per kind, and for the rank."""
    all_of_rank = contents(rank, activations, gradients)
    def pools(key):
        return sum(most_at_once([x for x in all_of_rank if key(x) == k]) for k in {key(x) for x in all_of_rank})
    return pools(lambda x: (x[1], x[2])), pools(lambda x: x[2]), pools(lambda x: 0)


class Buffers(ToolTest):
    def lists(self, *words):
        return tokens_of(self.ok("pipeline", "list", *words, "--format", "torch").text)

    def test_slots_are_what_is_held_at_once(self):
        for schedule, ranks, chunks, micro_batches in (("1f1b", 4, 1, 8), ("interleaved", 4, 2, 9), ("zbv", 3, 2, 7), ("gpipe", 3, 1, 4),
                                                       ("interleaved-zb", 4, 3, 8), ("v-half", 4, 2, 8)):
            shape = (schedule, "--ranks", ranks, "--chunks", chunks, "--micro-batches", micro_batches)
            for comms in (("eager",), ("just-in-time",), ("just-in-time", "--lookahead", 3), ("deferred",), ("barrier",)):
                lists = self.lists(*shape, "--comms", *comms)
                for activations, gradients in (("backward", "backward"), ("use", "use"), ("use", "backward"), ("backward", "use")):
                    with self.subTest(shape=shape, comms=comms, held=(activations, gradients)):
                        done = self.ok("pipeline", "buffers", *shape, "--comms", *comms, "--activations", activations, "--gradients", gradients)
                        header, rows = done.rows
                        self.assertEqual(header, "rank,receives,slots_by_stage_and_kind,slots_by_kind,slots_by_rank")
                        for r, row in enumerate(rows):
                            self.assertEqual(row, (r, len(contents(lists[r], activations, gradients)), *slots(lists[r], activations, gradients)))
                        self.assertEqual([int(x) for x in done.summary.values()], [sum(column) for column in list(zip(*rows))[1:]])

    def test_pytorchs_lists(self):
        for name, sums in (("Interleaved1F1B__p4_v4_m8", (112, 69, 67)), ("ZBVZeroBubble__p4_v2_m8", (43, 43, 33)),
                           ("DualPipeV__p4_v2_m8", (39, 38, 33))):
            done = self.ok("pipeline", "buffers", "--table", PIPELINE / f"torch__{name}.comms.csv")
            self.assertEqual(tuple(int(x) for x in list(done.summary.values())[1:]), sums)
        done = self.ok("pipeline", "buffers", "interleaved", "--ranks", 4, "--chunks", 4, "--micro-batches", 32, "--unshard", 3, "--reduce-grad")
        self.assertEqual([row[2:] for row in done.rows[1]], [(22, 14, 14), (30, 20, 20), (28, 17, 17), (32, 18, 16)])

    def test_assignment_keeps_contents_apart(self):
        shape = ("interleaved", "--ranks", 4, "--chunks", 2, "--micro-batches", 9)
        lists = self.lists(*shape, "--comms", "eager")
        for pools in ("stage-and-kind", "kind", "rank"):
            file = self.folder / "assignment.csv"
            done = self.ok("pipeline", "buffers", *shape, "--pools", pools, "--assignment", file)
            by_pool = {int(row["pool"]): row for row in csv.DictReader(io.StringIO(done.text))}
            free, seen = {}, set()
            for row in csv.DictReader(io.StringIO(file.read_text())):
                rank, step, last = int(row["rank"]), int(row["step"]), int(row["last_use"])
                stage, op, micro_batch = lists[rank][step]
                self.assertEqual(row["receive"], f"{stage}{op}{micro_batch}")
                self.assertIn((row["receive"], stage, op == "RECV_B", step, last), contents(lists[rank], "backward", "backward"))
                pool = by_pool[int(row["pool"])]
                self.assertEqual(int(pool["rank"]), rank)
                self.assertLess(int(row["slot"]), int(pool["slots"]))
                if pools == "stage-and-kind":
                    self.assertEqual((pool["stage"], pool["kind"]), (str(stage), "gradients" if op == "RECV_B" else "activations"))
                slot = (row["pool"], row["slot"])
                self.assertEqual(row["after"], str(free[slot]) if slot in free else "")
                self.assertLess(free.get(slot, -1), step)
                free[slot] = last
                seen.add((rank, step))
            self.assertEqual(seen, {(r, i) for r, rank in enumerate(lists) for i, x in enumerate(rank) if x[1].startswith("RECV")})

    def test_bytes(self):
        shape = ("1f1b", "--ranks", 4, "--micro-batches", 8)
        plain = self.ok("pipeline", "buffers", *shape).rows[1]
        header, rows = self.ok("pipeline", "buffers", *shape, "--border-bytes", 10).rows
        self.assertEqual(header, "rank,receives,slots_by_stage_and_kind,bytes_by_stage_and_kind,slots_by_kind,bytes_by_kind,slots_by_rank,bytes_by_rank")
        for row, still in zip(rows, plain):
            self.assertEqual(row, (still[0], still[1], still[2], 10 * still[2], still[3], 10 * still[3], still[4], 10 * still[4]))
        done = self.ok("pipeline", "buffers", *shape, "--border-bytes", "100,10,1", "--gradient-bytes", "7,5,3", "--pools", "stage-and-kind")
        for row in csv.DictReader(io.StringIO(done.text)):
            each = (7, 5, 3)[int(row["stage"])] if row["kind"] == "gradients" else (100, 10, 1)[int(row["stage"]) - 1]
            self.assertEqual(int(row["bytes"]), each * int(row["slots"]))
            self.assertEqual(row["bytes"], row["least_bytes"])

    def test_two_directions_and_slices(self):
        done = self.ok("pipeline", "buffers", "dualpipe", "--ranks", 4, "--micro-batches", 8, "--pools", "stage-and-kind")
        self.assertTrue(any(row["stage"].startswith("d1:") for row in csv.DictReader(io.StringIO(done.text))))
        file = self.folder / "assignment.csv"
        self.ok("pipeline", "buffers", "seq-1f1b", "--ranks", 3, "--micro-batches", 4, "--slices", 2, "--assignment", file)
        self.assertIn("1RECV_F0.1", file.read_text())

    def test_json(self):
        data = json.loads(self.ok("pipeline", "buffers", "1f1b", "--ranks", 2, "--micro-batches", 3, "--json").text)
        self.assertEqual(data["version"], 1)

    def test_refused(self):
        one = ("1f1b", "--ranks", 4, "--micro-batches", 8)
        self.assertIn("number of activation sizes is 2", self.refused("pipeline", "buffers", *one, "--border-bytes", "1,2").err)
        wrong = self.file("wrong.csv", "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n")
        self.assertIn("comes before what it needs", self.refused("pipeline", "buffers", "--table", wrong).err)
        self.assertIn("deadlocks", self.refused("pipeline", "buffers", "interleaved", "--ranks", 8, "--chunks", 2, "--micro-batches", 19, "--groups", "paper").err)
        # Transfers that are deferred end only where they do not hold the rank.
        loop = ("interleaved", "--ranks", 4, "--chunks", 2, "--micro-batches", 8)
        for model in ("rendezvous", "stream", "batched"):
            self.ok("pipeline", "buffers", *loop, "--comms", "just-in-time", "--lookahead", 2, "--communication", model)
            self.assertIn("deadlocks", self.refused("pipeline", "buffers", *loop, "--comms", "deferred", "--communication", model).err)
        self.ok("pipeline", "buffers", *loop, "--comms", "deferred", "--communication", "buffered")


if __name__ == "__main__":
    main()
