# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket graph: against reductions that other programs computed, and against a search written here."""
import pathlib
import random
import re
import tempfile
import unittest

from harness import DATA, EXAMPLES, ROOT, ToolTest, hocket, main

GRAPH = DATA / "graph"


def ops_of(path):
    """Per op: stream, kind, reads, writes."""
    ops = []
    for line in path.read_text().splitlines()[1:]:
        _, stream, kind, reads, writes = line.split(",")
        ops.append((int(stream), kind, set(map(int, reads.split())), set(map(int, writes.split()))))
    return ops


def rule_edges(ops, ordered):
    """Every pair of ops that the rules order directly, from their definition: each op against the last writers, the
    readers since, and (ordered) the last op of its chain."""
    edges, writer, readers, last = set(), {}, {}, {}
    for op, (_, kind, reads, writes) in enumerate(ops):
        for v in reads:
            if v in writer:
                edges.add((writer[v], op))
        for v in writes:
            if v in writer:
                edges.add((writer[v], op))
            edges.update((r, op) for r in readers.get(v, ()) if r != op)
        if ordered and kind in ("collective", "random"):
            if kind in last:
                edges.add((last[kind], op))
            last[kind] = op
        for v in reads:
            readers.setdefault(v, set()).add(op)
        for v in writes:
            writer[v], readers[v] = op, set()
    return {(a, b) for a, b in edges if a != b}


def reachable_sets(count, edges):
    """Bit sets of what each node reaches, itself excluded. Edges must ascend."""
    after = [0] * count
    into = {}
    for a, b in edges:
        into.setdefault(a, []).append(b)
    for a in range(count - 1, -1, -1):
        for b in into.get(a, ()):
            after[a] |= after[b] | 1 << b
    return after


def reduction(count, edges):
    after = reachable_sets(count, edges)
    successors = {}
    for a, b in edges:
        successors.setdefault(a, set()).add(b)
    return sorted((a, b) for a, b in edges if not any(after[c] >> b & 1 for c in successors[a] if c != b))


class Prune(ToolTest):
    def test_golden_reductions(self):
        for name in ("gpt_small", "gpt_two_steps_6391"):
            for rules in ("data", "ordered"):
                expected = (GRAPH / f"{name}.reduction.{rules}.csv").read_bytes()
                for index in ("auto", "dense", "persistent", "none"):
                    with self.subTest(name=name, rules=rules, index=index):
                        done = self.ok("graph", "prune", "--ops", GRAPH / f"{name}.ops.csv", "--rules", rules, "--index", index)
                        self.assertEqual(done.out, expected)
                        self.assertEqual(int(done.summary["kept"]), expected.count(b"\n") - 1)
                        self.assertEqual(done.summary["index"], "persistent" if index == "auto" else index)
                        self.assertEqual(set(done.summary), {"nodes", "edges", "kept", "reachable_mean", "index", "bytes", "time_us"})

    def test_help_lists_every_column_of_an_ops_file(self):
        columns = {line.split()[0] for line in hocket("graph", "--help").out.decode().splitlines() if line.startswith("    ")}
        program = (ROOT / "include/hocket/text/ops_csv.hpp").read_text()
        required = re.search(r'ops_csv_header = "([^"]*)"', program)[1].split(",")
        optional = re.findall(r'"(\w+)"', re.search(r"ops_csv_columns\[\] = \{([^}]*)\}", program)[1])
        self.assertEqual(len(required) + len(optional), 12)
        self.assertEqual([c for c in (*required, *optional) if c not in columns], [])

    def test_data_is_the_default(self):
        done = self.ok("graph", "prune", "--ops", GRAPH / "gpt_small.ops.csv")
        self.assertEqual(done.out, (GRAPH / "gpt_small.reduction.data.csv").read_bytes())

    def test_counts_of_the_large_program(self):
        large = GRAPH / "gpt_two_steps_6391.ops.csv"
        for rules, before in (("data", 15993), ("ordered", 16291)):
            summary = self.ok("graph", "prune", "--ops", large, "--rules", rules).summary
            self.assertEqual((summary["nodes"], int(summary["edges"])), ("6391", before))

    def test_captured_steps_against_the_definition(self):
        for path in sorted((EXAMPLES / "ops").glob("*.ops.csv")):
            ops = ops_of(path)
            for rules in ("data", "ordered"):
                with self.subTest(ops=path.name, rules=rules):
                    done = self.ok("graph", "prune", "--ops", path, "--rules", rules)
                    header, rows = done.rows
                    self.assertEqual(header, "source,target")
                    self.assertEqual(rows, reduction(len(ops), rule_edges(ops, rules == "ordered")))

    def test_edges_in_any_order_with_duplicates(self):
        rng = random.Random(1)
        for count in (2, 7, 40, 120):
            for density in (0.05, 0.3, 0.9):
                edges = [(a, b) for a in range(count) for b in range(a + 1, count) if rng.random() < density] or [(0, 1)]
                names = list(range(count))
                rng.shuffle(names)
                given = [(names[a], names[b]) for a, b in edges for _ in range(rng.choice((1, 1, 2)))]
                rng.shuffle(given)
                text = "source,target\n" + "".join(f"{a},{b}\n" for a, b in given)
                path = self.file("edges.csv", text)
                expected = sorted((names[a], names[b]) for a, b in reduction(count, edges))
                for index in ("auto", "dense", "persistent", "none"):
                    with self.subTest(count=count, density=density, index=index):
                        done = self.ok("graph", "prune", "--edges", path, "--index", index)
                        self.assertEqual(done.rows[1], expected)
                        self.assertEqual(int(done.summary["edges"]), len(edges))

    def test_optional_columns(self):
        ops = self.file("ops.csv", "op,stream,kind,reads,writes,rings,starts,aliases,write_ranges\n"
                        "0,0,io,,1,,1,,\n1,1,collective,2,,3,0,2=1,\n2,0,collective,,,4,0,,5:0-8\n"
                        "3,1,collective,,,3 4,0,,5:7-9\n4,0,compute,,,,0,,5:8-12\n")
        expected = {"data": [(0, 1), (2, 3), (3, 4)], "ordered": [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]}
        for rules, kept in expected.items():
            for index in ("auto", "dense", "none"):
                with self.subTest(rules=rules, index=index):
                    self.assertEqual(self.ok("graph", "prune", "--ops", ops, "--rules", rules, "--index", index).rows[1], kept)
        self.assertEqual(self.ok("graph", "sync", "--ops", ops).out.splitlines()[1:], [b"0,1,0,1", b"2,3,0,1", b"3,4,1,0"])
        theirs = self.file("theirs.csv", "source,target\n0,1\n2,3\n")
        done = hocket("graph", "compare", "--ops", ops, "--theirs", theirs)
        self.assertEqual((done.code, done.out.splitlines()[1:]), (1, [b"missing_order,3,4,ours,3 4"]))
        for bad, says in (("5:8-8", 'line 6, column 9: "5:8-8" is no range of bytes'), ("5:8", '"5:8" is no range of bytes')):
            text = ops.read_text().replace("5:8-12", bad)
            self.refused("graph", "prune", "--ops", self.file("bad.csv", text), says=says)
        self.refused("graph", "prune", "--ops", self.file("bad.csv", "op,stream,kind,reads,writes,color\n"),
                     says='column 6: "color" is not understood')
        self.refused("graph", "prune", "--ops", self.file("bad.csv", "op,stream,kind,reads,writes,rings,rings\n"),
                     says='line 1, column 7: the table has "rings" already, as column 6')

    def test_bit_rows_of_too_many_ops(self):
        edges = self.file("edges.csv", "source,target\n0,131072\n")
        self.refused("graph", "prune", "--edges", edges, "--index", "dense",
                     says="131073 ops are too many for --index dense, which holds at most 131072")
        self.ok("graph", "prune", "--edges", edges)

    def test_line_ends_do_not_matter(self):
        plain = (GRAPH / "gpt_small.ops.csv").read_bytes()
        expected = (GRAPH / "gpt_small.reduction.data.csv").read_bytes()
        for name, content in (("crlf", plain.replace(b"\n", b"\r\n")), ("bom", b"\xef\xbb\xbf" + plain), ("bare", plain.rstrip(b"\n"))):
            with self.subTest(name):
                self.assertEqual(self.ok("graph", "prune", "--ops", self.file("ops.csv", content)).out, expected)
        self.assertEqual(self.ok("graph", "prune", "--ops", "-", stdin=plain).out, expected)

    def test_a_program_without_ops(self):
        for index in ("auto", "dense", "persistent", "none"):
            done = self.ok("graph", "prune", "--ops", self.file("ops.csv", "op,stream,kind,reads,writes\n"), "--index", index)
            self.assertEqual(done.out, b"source,target\n")

    def test_a_cycle_is_printed_and_is_one(self):
        path = self.file("cycle.csv", "source,target\n0,1\n1,2\n2,3\n3,1\n3,4\n")
        edges = {(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)}
        for index in ("auto", "dense", "persistent", "none"):
            done = self.refused("graph", "prune", "--edges", path, "--index", index, says="cycle")
            cycle = [int(word) for word in done.err.rsplit(": ", 1)[1].split(" -> ")]
            self.assertEqual(cycle[0], cycle[-1])
            self.assertEqual(len(cycle), 4)
            for edge in zip(cycle, cycle[1:]):
                self.assertIn(edge, edges)
        self.refused("graph", "prune", "--edges", self.file("self.csv", "source,target\n5,5\n"))


class Reaches(ToolTest):
    def test_every_pair_of_a_program(self):
        ops = ops_of(GRAPH / "gpt_small.ops.csv")
        for rules in ("data", "ordered"):
            after = reachable_sets(len(ops), rule_edges(ops, rules == "ordered"))
            some = range(0, len(ops), 7)
            pairs = [(a, b) for a in some for b in some]
            path = self.file("pairs.csv", "source,target\n" + "".join(f"{a},{b}\n" for a, b in pairs))
            done = self.ok("graph", "reaches", "--ops", GRAPH / "gpt_small.ops.csv", "--rules", rules, "--pairs", path)
            header, rows = done.rows
            self.assertEqual(header, "source,target,reaches")
            self.assertEqual([r[:2] for r in rows], pairs)
            for a, b, yes in rows:
                if a != b:
                    self.assertEqual(yes, after[a] >> b & 1, (a, b))

    def test_edges(self):
        edges = self.file("edges.csv", "source,target\n3,1\n1,0\n2,0\n")
        pairs = self.file("pairs.csv", "source,target\n3,0\n0,3\n2,1\n1,0")
        self.assertEqual(self.ok("graph", "reaches", "--edges", edges, "--pairs", pairs).rows[1],
                         [(3, 0, 1), (0, 3, 0), (2, 1, 0), (1, 0, 1)])


class Sync(ToolTest):
    def check(self, path, rules, expected_waits=None):
        ops = ops_of(path)
        edges = rule_edges(ops, rules == "ordered")
        done = self.ok("graph", "sync", "--ops", path, "--rules", rules)
        header, waits = done.rows
        self.assertEqual(header, "recorder,waiter,record_stream,wait_stream")
        for recorder, waiter, record_stream, wait_stream in waits:
            self.assertEqual((record_stream, wait_stream), (ops[recorder][0], ops[waiter][0]))
            self.assertNotEqual(record_stream, wait_stream)
        # Streams are queues: with the waits, every edge of the program must be kept, and no wait is superfluous.
        queues, last = set(), {}
        for op, (stream, *_) in enumerate(ops):
            if stream in last:
                queues.add((last[stream], op))
            last[stream] = op
        pairs = {w[:2] for w in waits}
        after = reachable_sets(len(ops), queues | pairs)
        for a, b in edges:
            self.assertTrue(after[a] >> b & 1, (a, b))
        self.assertEqual(len(pairs), len(waits))
        kept = set(reduction(len(ops), queues | edges)) - queues
        self.assertEqual(pairs, kept)  # the reduction of order and queues is the unique fewest set
        if expected_waits is not None:
            self.assertEqual(len(waits), expected_waits)
        self.assertEqual(int(done.summary["waits"]), len(waits))

    def test_data(self):
        self.check(GRAPH / "gpt_small.ops.csv", "data")

    def test_ordered(self):
        self.check(GRAPH / "gpt_small.ops.csv", "ordered")

    def test_the_large_program_needs_1008_waits(self):
        counts = {rules: int(self.ok("graph", "sync", "--ops", GRAPH / "gpt_two_steps_6391.ops.csv", "--rules", rules).summary["waits"])
                  for rules in ("data", "ordered")}
        self.assertIn(1008, counts.values())

    def test_assigned_streams(self):
        for streams in (1, 2, 4, 64):
            done = self.ok("graph", "sync", "--ops", GRAPH / "gpt_small.ops.csv", "--streams", streams)
            used = {s for row in done.rows[1] for s in row[2:]}
            self.assertTrue(all(s < streams for s in used))
            if streams == 1:
                self.assertEqual(done.rows[1], [])

    def test_assigned_streams_are_a_program(self):
        with tempfile.TemporaryDirectory() as folder:
            assigned = pathlib.Path(folder) / "assigned.csv"
            ops = GRAPH / "gpt_small.ops.csv"
            chosen = self.ok("graph", "sync", "--ops", ops, "--streams", 4, "--assigned", assigned)
            again = self.ok("graph", "sync", "--ops", assigned)
            self.assertEqual(again.out, chosen.out)
            self.assertEqual({op[0] for op in ops_of(assigned)}, {0, 1, 2, 3})
            self.assertEqual([op[1:] for op in ops_of(assigned)], [op[1:] for op in ops_of(ops)])
        self.misused("graph", "sync", "--ops", ops, "--assigned", "x.csv", says="--streams")



class Order(ToolTest):
    def program(self, seed, ops=60):
        """Ops with times; every fifth is a collective, which data alone would leave free to move."""
        draw = random.Random(seed)
        lines = ["op,stream,kind,reads,writes,us"]
        for op in range(ops):
            reads = " ".join(str(draw.randrange(op)) for _ in range(min(op, draw.randrange(3))))
            kind = "collective" if op % 5 == 4 else "compute"
            lines.append(f"{op},0,{kind},{reads},{op},{draw.randrange(1, 100)}")
        return lines

    def check(self, lines, streams, ordered, *more):
        done = self.ok("graph", "order", "--ops", self.file("ops.csv", "\n".join(lines) + "\n"), "--streams", streams, *more)
        header, rows = done.rows
        self.assertEqual(header, "position,op,stream,start_us")
        us = [int(line.split(",")[5]) for line in lines[1:]]
        self.assertEqual(sorted(op for _, op, _, _ in rows), list(range(len(us))))
        self.assertEqual([position for position, *_ in rows], list(range(len(us))))
        start, position, free = {}, {}, {}
        for at, op, stream, begin in rows:
            self.assertLess(stream, streams)
            self.assertGreaterEqual(begin, free.get(stream, 0))  # a stream runs one op at a time, as issued
            free[stream] = begin + us[op]
            start[op], position[op] = begin, at
        ops = [(0, kind, set(map(int, reads.split())), set(map(int, writes.split())))
               for _, _, kind, reads, writes, _ in (line.split(",") for line in lines[1:])]
        for a, b in rule_edges(ops, ordered):
            self.assertLess(position[a], position[b])
            self.assertLessEqual(start[a] + us[a], start[b])
        said = {key: int(done.summary[key]) for key in ("makespan_us", "lower_bound_us", "given_us")}
        self.assertEqual(said["makespan_us"], max(start[op] + us[op] for op in start))
        self.assertLessEqual(said["lower_bound_us"], said["makespan_us"])
        self.assertLessEqual(said["makespan_us"], said["given_us"])
        self.assertGreaterEqual(said["lower_bound_us"] * streams, sum(us))
        return said

    def test_orders_keep_the_rules_and_are_never_slower(self):
        faster = 0
        for seed in range(12):
            lines = self.program(seed)
            for streams in (1, 2, 4):
                said = self.check(lines, streams, True)
                faster += said["makespan_us"] < said["given_us"]
                self.check(lines, streams, False, "--rules", "data")
        self.assertGreater(faster, 12)

    def test_mistakes(self):
        lines = self.program(1, 6)
        without = self.file("plain.csv", "\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n")
        self.refused("graph", "order", "--ops", without, "--streams", 2, says="no column us")
        self.misused("graph", "order", "--ops", without, "--streams", 0, says="--streams")


class OrderBytes(ToolTest):
    """graph order with the column bytes, against an allocator that logs what is alive."""

    def program(self, seed, ops=40):
        """Ops with times and sizes. Some write in place, some write a variable anew, some results nobody reads."""
        draw = random.Random(seed)
        lines = ["op,stream,kind,reads,writes,us,bytes"]
        variables = 0
        for op in range(ops):
            reads = {draw.randrange(max(0, variables - 12), variables) for _ in range(min(variables, draw.randrange(3)))}
            old = sorted(reads) if draw.random() < 0.2 else [draw.randrange(variables)] if variables and draw.random() < 0.1 else []
            writes = old[:1] or [variables]
            variables += not old
            kind = "collective" if op % 7 == 6 else "compute"
            sizes = " ".join(str(draw.randrange(1, 1000)) for _ in writes)
            lines.append(f"{op},0,{kind},{' '.join(map(str, reads))},{' '.join(map(str, writes))},{draw.randrange(1, 100)},{sizes}")
        return lines

    @staticmethod
    def values(rows):
        """Each value: its bytes, the ops that touch it, was it there before, does it stay."""
        values, now, first_read = [], {}, set()
        for op, _, _, reads, writes, _, sizes in rows:
            op, reads, writes = int(op), reads.split(), writes.split()
            for v in reads:
                if v not in now:
                    now[v] = {"bytes": 0, "ops": [], "before": True, "stays": True}
                    first_read.add(v)
                    values.append(now[v])
                now[v]["ops"].append(op)
                now[v]["stays"] = False
            for v, size in zip(writes, map(int, sizes.split())):
                if v not in reads:
                    if v in now:
                        now[v]["stays"] = False
                    now[v] = {"bytes": 0, "ops": [], "before": False, "stays": True}
                    values.append(now[v])
                now[v]["bytes"] = max(now[v]["bytes"], size)
                now[v]["ops"].append(op)
                now[v]["stays"] = True
        for v in first_read:
            now[v]["stays"] = True
        return values

    @staticmethod
    def peak(values, start, us, order):
        """At the start of each op: what has begun, and has an op still to end or stays."""
        place = {op: at for at, op in enumerate(order)}
        most = sum(v["bytes"] for v in values if v["before"])
        for op in order:
            alive = 0
            for v in values:
                begun = v["before"] or any(place[x] <= place[op] for x in v["ops"])
                ended = all(place[x] < place[op] and start[x] + us[x] <= start[op] for x in v["ops"])
                alive += v["bytes"] if begun and (v["stays"] or not ended) else 0
            most = max(most, alive)
        return most

    def check(self, lines, streams, *more):
        rows = [line.split(",") for line in lines[1:]]
        holds = self.folder / "holds.csv"
        done = self.ok("graph", "order", "--ops", self.file("ops.csv", "\n".join(lines) + "\n"), "--streams", streams, "--holds", holds, *more)
        us = [int(row[5]) for row in rows]
        order = [op for _, op, _, _ in done.rows[1]]
        start = {op: begin for _, op, _, begin in done.rows[1]}
        said = {key: int(value) for key, value in done.summary.items() if key != "proved"}
        self.assertEqual(said["peak_bytes"], self.peak(self.values(rows), start, us, order))
        self.assertLessEqual(said["least_bytes"], said["peak_bytes"])
        # Issued in this order, with these waits, each op starts when it says.
        ops = [(0, row[2], set(map(int, row[3].split())), set(map(int, row[4].split()))) for row in rows]
        before = [*rule_edges(ops, True), *(tuple(map(int, line.split(","))) for line in holds.read_text().splitlines()[1:])]
        self.assertEqual(said["holds"], len(holds.read_text().splitlines()) - 1)
        ends, free = {}, {}
        for _, op, stream, begin in done.rows[1]:
            at = max([free.get(stream, 0), *(ends[a] for a, b in before if b == op)])
            self.assertEqual(at, begin)
            ends[op] = free[stream] = at + us[op]
        self.assertEqual(said["makespan_us"], max(ends.values()))
        return said

    def test_peaks_are_those_of_an_allocator(self):
        tighter = 0
        for seed in range(8):
            lines = self.program(seed)
            for streams in (1, 2, 4):
                free = self.check(lines, streams)
                self.assertLessEqual(free["makespan_us"], free["given_us"])
                cap = free["given_bytes"]
                capped = self.check(lines, streams, "--memory-gib", f"{(cap + 0.5) / 2**30:.15f}")
                self.assertLessEqual(capped["peak_bytes"], cap)
                self.assertLessEqual(capped["makespan_us"], capped["given_us"])
                small = self.check(lines, streams, "--most-us", free["given_us"])
                self.assertLessEqual(small["makespan_us"], free["given_us"])
                self.assertLessEqual(small["peak_bytes"], cap)
                tighter += small["peak_bytes"] < cap
        self.assertGreater(tighter, 8)

    def test_front(self):
        path = self.file("ops.csv", "\n".join(self.program(3)) + "\n")
        header, rows = self.ok("graph", "order", "--ops", path, "--streams", 2, "--front").rows
        self.assertEqual(header, "makespan_us,peak_bytes,holds")
        self.assertGreater(len(rows), 2)
        for (t0, b0, _), (t1, b1, _) in zip(rows, rows[1:]):
            self.assertLess(t0, t1)
            self.assertGreater(b0, b1)

    def test_a_small_program_is_proved(self):
        path = self.file("ops.csv", "op,stream,kind,reads,writes,us,bytes\n0,0,compute,,1,4,10\n1,0,compute,1,2,4,1\n2,0,compute,,3,4,10\n3,0,compute,3,4,4,1\n")
        done = self.ok("graph", "order", "--ops", path, "--streams", 2)
        self.assertEqual((done.summary["makespan_us"], done.summary["peak_bytes"], done.summary["proved"]), ("8", "22", "time"))
        done = self.ok("graph", "order", "--ops", path, "--streams", 2, "--memory-gib", 12.5 / 2**30)
        self.assertEqual((done.summary["makespan_us"], done.summary["peak_bytes"], done.summary["proved"]), ("16", "12", "both"))
        self.refused("graph", "order", "--ops", path, "--streams", 2, "--memory-gib", 11.5 / 2**30,
                     says="a cap of 11 bytes is too low: the smallest order found needs 12, and none less than 12")
        self.refused("graph", "order", "--ops", path, "--streams", 2, "--most-us", 7,
                     says="a cap of 7 is too short: the fastest order found takes 8, and none less than 8")

    def test_mistakes(self):
        lines = self.program(1, 6)
        for cell, says in (("-1", "line 2, column 7"), ("1 2", "2 sizes are given, but the op writes 1 variables"), ("9223372036854775808", "line 2, column 7"), ("1.5", "line 2, column 7")):
            bad = self.file("bad.csv", "\n".join([lines[0], lines[1].rsplit(",", 1)[0] + "," + cell, *lines[2:]]) + "\n")
            self.refused("graph", "order", "--ops", bad, "--streams", 2, says=says)
        without = self.file("plain.csv", "\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n")
        for more in (("--memory-gib", 1), ("--most-us", 1), ("--front",)):
            self.refused("graph", "order", "--ops", without, "--streams", 2, *more, says="no column bytes")
        good = self.file("good.csv", "\n".join(lines) + "\n")
        self.misused("graph", "order", "--ops", good, "--streams", 2, "--memory-gib", 1, "--front", says="--front")
        self.misused("graph", "order", "--ops", good, "--streams", 2, "--memory-gib", -1, says="--memory-gib")
        huge = self.file("huge.csv", "op,stream,kind,reads,writes,us,bytes\n" + "".join(f"{op},0,compute,,{op},1,9223372036854775807\n" for op in range(2)))
        self.refused("graph", "order", "--ops", huge, "--streams", 1, says="sum of the bytes")


if __name__ == "__main__":
    main()
