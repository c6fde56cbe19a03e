# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket pipeline: closed forms, a small simulator written here, and the schedules of other systems."""
import csv
import json
import os
import re
import unittest
import xml.etree.ElementTree

from harness import DATA, ToolTest, hocket, main

PIPELINE = DATA / "pipeline"
NAMES = ("gpipe", "1f1b", "eager-1f1b", "interleaved", "looped-bfs", "zb-h1", "zb-h2", "interleaved-zb")
V_NAMES = ("zbv", "v-half", "v-min", "dualpipev")


def table_of(text):
    """Per rank the list of (stage, op, micro_batch)."""
    ranks = []
    for line in text.splitlines():
        found = re.findall(r"(\d+)(F|B|I|W)(\d+)", line)
        ranks.append([(int(s), op, int(m)) for s, op, m in found])
    return ranks


def simulate(ranks, forward, backward, input_grad=1, weight_grad=1, hop=0):
    """Makespan, busy and finish per rank. None if the lists deadlock."""
    time = {"F": forward, "B": backward, "I": input_grad, "W": weight_grad}
    stages = 1 + max(s for r in ranks for s, _, _ in r)
    where = {s: i for i, r in enumerate(ranks) for s, _, _ in r}
    end, at, clock, busy = {}, [0] * len(ranks), [0] * len(ranks), [0] * len(ranks)
    moved = True
    while moved:
        moved = False
        for r, actions in enumerate(ranks):
            while at[r] < len(actions):
                s, op, m = actions[at[r]]
                needs = []
                if op == "F" and s > 0:
                    needs = [(s - 1, "F", m)]
                elif op in "BI":
                    needs = [(s, "F", m)] + ([(s + 1, "BI", m)] if s + 1 < stages else [])
                elif op == "W":
                    needs = [(s, "I", m)]
                start = clock[r]
                for t, kinds, n in needs:
                    done = [end[(t, k, n)] for k in kinds if (t, k, n) in end]
                    if not done:
                        break
                    start = max(start, done[0] + (hop if where[t] != r else 0))
                else:
                    clock[r] = end[(s, op, m)] = start + time[op]
                    busy[r] += time[op]
                    at[r] += 1
                    moved = True
                    continue
                break
    if any(at[r] < len(a) for r, a in enumerate(ranks)):
        return None
    return max(clock), busy, clock


class Listing(ToolTest):
    def shapes(self):
        for name in NAMES:
            chunked = name in ("interleaved", "looped-bfs", "interleaved-zb")
            for ranks, chunks, micro_batches in ((1, 1, 1), (2, 1, 3), (4, 1, 4), (4, 1, 9), (4, 2, 9), (3, 3, 8)):
                if chunked or chunks == 1:
                    yield name, ranks, chunks, micro_batches

    def test_torch_and_json_say_the_same_and_are_complete(self):
        for name, ranks, chunks, micro_batches in self.shapes():
            with self.subTest(name=name, ranks=ranks, chunks=chunks, micro_batches=micro_batches):
                words = ("pipeline", "list", name, "--ranks", ranks, "--chunks", chunks, "--micro-batches", micro_batches)
                done = self.ok(*words, "--format", "torch")
                table = table_of(done.text)
                self.assertEqual(len(table), ranks)
                flat = [a for r in table for a in r]
                self.assertEqual(len(flat), len(set(flat)))
                every = {(s, m) for s in range(ranks * chunks) for m in range(micro_batches)}
                self.assertEqual({(s, m) for s, op, m in flat if op == "F"}, every)
                self.assertEqual({(s, m) for s, op, m in flat if op in "BI"}, every)
                self.assertEqual({a[::2] for a in flat if a[1] == "I"}, {a[::2] for a in flat if a[1] == "W"})
                self.assertEqual(int(done.summary["actions"]), len(flat))
                self.assertIsNotNone(simulate(table, 1, 2))
                as_json = self.ok(*words, "--format", "json")
                value = json.loads(as_json.text)
                self.assertEqual(value["version"], 1)
                self.assertEqual(as_json.summary["fingerprint"], done.summary["fingerprint"])

    def test_what_pytorch_and_megatron_run(self):
        def compute(text):
            return [[a for a in rank] for rank in table_of(text)]

        for file, name, ranks, chunks, micro_batches in (
                ("torch__GPipe__p4_v1_m8", "gpipe", 4, 1, 8), ("torch__LoopedBFS__p4_v3_m5", "looped-bfs", 4, 3, 5),
                ("megatron__1f1b__p4_v1_m9", "1f1b", 4, 1, 9), ("torch__Interleaved1F1B__p4_v3_m12", "interleaved", 4, 3, 12)):
            with self.subTest(file):
                ours = self.ok("pipeline", "list", name, "--ranks", ranks, "--chunks", chunks, "--micro-batches", micro_batches)
                self.assertEqual(compute(ours.text), compute((PIPELINE / f"{file}.csv").read_text()))

    def test_v_schedules_slices_and_both_directions(self):
        for name in V_NAMES:
            with self.subTest(name):
                table = table_of(self.ok("pipeline", "list", name, "--ranks", 4, "--micro-batches", 9).text)
                flat = [a for r in table for a in r]
                self.assertEqual(len(flat), len(set(flat)))
                every = {(s, m) for s in range(8) for m in range(9)}
                self.assertEqual({(s, m) for s, op, m in flat if op == "F"}, every)
                self.assertEqual({(s, m) for s, op, m in flat if op in "BI"}, every)
                self.assertEqual([sorted({s for s, _, _ in r}) for r in table], [[0, 7], [1, 6], [2, 5], [3, 4]])
                done = self.ok("pipeline", "simulate", name, "--ranks", 4, "--micro-batches", 9)
                if name != "dualpipev":  # which runs pairs at once
                    self.assertEqual(int(done.summary["makespan"]), simulate(table, 1, 2)[0])
        for name, file, words in (("zbv", "torch__ZBVZeroBubble__p4_v2_m12", ("--ranks", 4, "--micro-batches", 12)),
                                  ("v-half", "zb__Vhalf__p5_v2_m10", ("--ranks", 5, "--micro-batches", 10)),
                                  ("v-min", "zb__Vmin__p8_v2_m16", ("--ranks", 8, "--micro-batches", 16)),
                                  ("dualpipev", "torch__DualPipeV__p4_v2_m8", ("--ranks", 4, "--micro-batches", 8))):
            with self.subTest(file):
                ours = self.ok("pipeline", "list", name, *words)
                self.assertEqual(table_of(ours.text), table_of((PIPELINE / f"{file}.csv").read_text()))
        for name, file, words in (("seq-1f1b", "zb__Seq1F1B__p4_v1_m8_s2", ("--micro-batches", 8, "--slices", 2)),
                                  ("dualpipe", "dualpipe__DualPipe__p4_m10", ("--micro-batches", 10))):
            with self.subTest(file):
                ours = self.ok("pipeline", "list", name, "--ranks", 4, *words)
                self.assertEqual(ours.text.replace("\r\n", "\n").strip(), (PIPELINE / f"{file}.csv").read_text().replace("d0:", "").strip())

    def test_groups_by_hop_time_and_memory(self):
        words = ("interleaved", "--ranks", 8, "--chunks", 2, "--micro-batches", 19, "--forward", 10, "--backward", 20)

        def makespan_and_peak(*more):
            done = self.ok("pipeline", "simulate", *words, *more)
            return int(done.summary["makespan"]), max(r[4] for r in done.rows[1])

        self.assertEqual(makespan_and_peak("--groups", "auto"), (1350, 16))
        self.assertEqual(makespan_and_peak("--groups", "auto", "--hop", 1), makespan_and_peak("--groups", "balanced", "--hop", 1))
        for cap in (16, 18, 20, 30):
            self.assertLessEqual(makespan_and_peak("--groups", "auto", "--hop", 1, "--memory-cap", cap)[1], cap)
        self.assertEqual(makespan_and_peak("--groups", "least-memory", "--memory-cap", 15), (1350 + 30, 15))
        self.refused("pipeline", "list", *words, "--groups", "least-memory", "--memory-cap", 14)
        self.refused("pipeline", "list", *words, "--groups", "balanced", "--memory-cap", 14)

    def test_compare_agrees_with_simulate(self):
        done = self.ok("pipeline", "compare", "--ranks", "4,8", "--chunks", 2, "--micro-batches", "9,19", "--hop", 2)
        header, *lines = done.text.splitlines()
        rows = [[int(x) if x.isdigit() else x for x in line.split(",")] for line in lines]
        self.assertEqual(header, "ranks,chunks,micro_batches,groups,kappa,peak,lower_bound,makespan,makespan_with_hops,exposed")
        self.assertEqual(len(rows), 40)
        self.assertEqual(done.summary, {"shapes": "4", "rows": "40"})
        best = {}
        for p, v, m, groups, kappa, peak, bound, makespan, hops, exposed in rows:
            shape = ("interleaved", "--ranks", p, "--chunks", v, "--micro-batches", m, "--forward", 10, "--backward", 20)
            shape += ("--groups", groups) if groups == "auto" else ("--groups", groups, "--kappa", kappa)
            if makespan == "deadlock":
                self.assertEqual((p, groups, kappa), (8, "paper", 2))
                self.refused("pipeline", "simulate", *shape)
                continue
            if groups != "auto":
                self.assertEqual(int(self.ok("pipeline", "simulate", *shape).summary["makespan"]), makespan)
            moving = self.ok("pipeline", "simulate", *shape, "--hop", 2)
            self.assertEqual(int(moving.summary["makespan"]), hops)
            self.assertEqual(max(r[4] for r in moving.rows[1]), peak)
            self.assertEqual(exposed, hops - makespan)
            self.assertGreaterEqual(makespan, bound)
            best.setdefault((p, m), []).append(hops)
            if groups == "auto":
                self.assertEqual(hops, min(best[p, m]))
        self.refused("pipeline", "compare", "--ranks", 0, "--micro-batches", 4)
        self.misused("pipeline", "compare", "--ranks", "4,x", "--micro-batches", 4)

    def test_a_wrong_name_or_option_says_what_is_known(self):
        shape = ("--ranks", 4, "--micro-batches", 8)
        self.misused("pipeline", "list", "zbw", *shape, says="known are gpipe, 1f1b")
        self.misused("pipeline", "list", "1f1b", *shape, "--kappa", 2, says="no kappa")
        self.misused("pipeline", "list", "1f1b", *shape, "--slices", 2, says="no slices")
        self.misused("pipeline", "list", "1f1b", *shape, "--groups", "last", says="no groups")
        self.misused("pipeline", "list", "zbv", *shape, "--memory-cap", 4, says="no memory cap")
        self.misused("pipeline", "list", "interleaved", *shape, "--groups", "3,x", says="expected balanced")
        for name, more in (("zbv", ("--chunks", 3)), ("dualpipev", ("--chunks", 1)), ("1f1b", ("--chunks", 2))):
            self.refused("pipeline", "list", name, *shape, *more)
        self.refused("pipeline", "list", "dualpipe", "--ranks", 3, "--micro-batches", 8)
        self.refused("pipeline", "list", "dualpipev", "--ranks", 4, "--micro-batches", 7)
        self.refused("pipeline", "list", "seq-1f1b", *shape, "--slices", 0)

    def test_every_group_rule(self):
        for groups in ("balanced", "last", "first", "paper", "least-memory", "4,5", "3,3,3"):
            with self.subTest(groups):
                words = ("interleaved", "--ranks", 4, "--chunks", 2, "--micro-batches", 8 if groups == "paper" else 9, "--groups", groups)
                if groups == "3,3,3":  # smaller than the ranks: whatever it says, it must not deadlock
                    continue
                table = table_of(self.ok("pipeline", "list", *words).text)
                makespan = simulate(table, 1, 1)[0]
                self.assertEqual(int(self.ok("pipeline", "simulate", *words, "--backward", 1).summary["makespan"]), makespan)


class Simulation(ToolTest):
    def test_the_published_makespans(self):
        for ranks, micro_batches, makespan in ((4, 9, "42"), (8, 19, "90")):
            done = self.ok("pipeline", "simulate", "interleaved", "--ranks", ranks, "--chunks", 2, "--micro-batches",
                           micro_batches, "--forward", 1, "--backward", 1)
            self.assertEqual(done.summary["makespan"], makespan)
            self.assertEqual(set(done.summary), {"makespan", "lower_bound", "bubble"})

    def test_against_the_simulator_here(self):
        for name in NAMES:
            for ranks, micro_batches in ((1, 1), (2, 5), (4, 4), (4, 11), (5, 7)):
                for costs in ((1, 2, 1, 1, 0), (3, 5, 2, 3, 1), (7, 4, 3, 1, 2)):
                    with self.subTest(name=name, ranks=ranks, micro_batches=micro_batches, costs=costs):
                        shape = (name, "--ranks", ranks, "--chunks", 2 if "i" == name[0] or name == "looped-bfs" else 1,
                                 "--micro-batches", micro_batches)
                        forward, backward, input_grad, weight_grad, hop = costs
                        done = self.ok("pipeline", "simulate", *shape, "--forward", forward, "--backward", backward,
                                       "--input-grad", input_grad, "--weight-grad", weight_grad, "--hop", hop)
                        table = table_of(self.ok("pipeline", "list", *shape).text)
                        makespan, busy, finish = simulate(table, *costs)
                        header, rows = done.rows
                        self.assertEqual(header, "rank,busy,idle,finish,peak_in_flight")
                        self.assertEqual([r[:4] for r in rows],
                                         [(r, busy[r], makespan - busy[r], finish[r]) for r in range(ranks)])
                        self.assertEqual(int(done.summary["makespan"]), makespan)
                        self.assertLessEqual(int(done.summary["lower_bound"]), makespan)
                        bubble = 1 - sum(busy) / (ranks * makespan)
                        self.assertAlmostEqual(float(done.summary["bubble"]), bubble, places=5)

    def test_tables_of_other_systems(self):
        with open(PIPELINE / "index.tsv", encoding="utf-8") as file:
            index = list(csv.DictReader(file, delimiter="\t"))
        judged = 0
        for row in index:
            if row["coverage"] != "ok" or row["execution"] != "ok":
                continue
            with self.subTest(row["file"]):
                done = self.ok("pipeline", "simulate", "--table", PIPELINE / row["file"])
                self.assertEqual(done.summary["makespan"], row["makespan"])
                self.assertEqual("/".join(str(r[2]) for r in done.rows[1]), row["idle_per_rank"])
                self.assertEqual("/".join(str(r[4]) for r in done.rows[1]), row["peak_per_rank"])
                self.assertEqual(self.ok("pipeline", "check", "--table", PIPELINE / row["file"]).out, b"ok\n")
                judged += 1
        self.assertGreater(judged, 50)

    def test_wrong_tables_of_other_systems(self):
        for name in ("torch__1F1B__p4_v1_m4", "paddle__static_VPP__p4_v3_m13"):
            self.refused("pipeline", "check", "--table", PIPELINE / f"{name}.csv")

    def test_the_default_backward_is_both_halves(self):
        shape = ("1f1b", "--ranks", 4, "--micro-batches", 8)
        plain = self.ok("pipeline", "simulate", *shape)
        self.assertEqual(plain.out, self.ok("pipeline", "simulate", *shape, "--backward", 2).out)
        self.assertEqual(plain.out, self.ok("pipeline", "simulate", *shape, "--input-grad", 1, "--weight-grad", 1).out)


class Check(ToolTest):
    def table(self, *rows):
        return self.file("table.csv", "".join(",".join(row) + "\n" for row in rows))

    def test_a_listed_schedule_is_sound(self):
        for name in NAMES:
            table = self.folder / "table.csv"
            self.ok("pipeline", "list", name, "--ranks", 3, "--micro-batches", 5, "--format", "torch", "--out", table)
            self.assertEqual(self.ok("pipeline", "check", "--table", table).out, b"ok\n")
            self.assertEqual(self.ok("pipeline", "simulate", "--table", table).out,
                             self.ok("pipeline", "simulate", name, "--ranks", 3, "--micro-batches", 5).out)

    def test_each_action_missing_doubled_or_on_another_rank(self):
        rows = [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]]
        self.ok("pipeline", "check", "--table", self.table(*rows))
        for r in range(2):
            for i in range(4):
                with self.subTest(rank=r, step=i):
                    without = [list(row) for row in rows]
                    without[r].pop(i)
                    self.refused("pipeline", "check", "--table", self.table(*without))
                    doubled = [list(row) for row in rows]
                    doubled[r].insert(i, rows[r][i])
                    self.refused("pipeline", "check", "--table", self.table(*doubled))
                    moved = [list(row) for row in rows]
                    moved[1 - r].append(moved[r].pop(i))
                    self.refused("pipeline", "check", "--table", self.table(*moved))

    def test_a_deadlock_names_its_cycle(self):
        table = self.table(["0F0", "0B0", "0F1", "0B1"], ["1F1", "1F0", "1B0", "1B1"])
        for command in ("check", "simulate", "draw"):
            done = self.refused("pipeline", command, "--table", table)
            self.assertIn("rank 0 stands before 0B0 and waits for 1B0 of rank 1", done.err)
            self.assertIn("rank 1 stands before 1F1 and waits for 0F1 of rank 0", done.err)

    def test_a_cycle_names_slices_and_halves_as_the_list_does(self):
        done = self.refused("pipeline", "check", "--table", self.table(["0F0.1", "0F0.0", "0B0.1", "0B0.0"]))
        self.assertIn("rank 0 stands before 0F0.1 and waits for 0F0.0 of rank 0", done.err)
        done = self.refused("pipeline", "check", "--table", self.table(["0F0", "0W0", "0I0"]))
        self.assertIn("rank 0 stands before 0W0 and waits for 0I0 of rank 0", done.err)

    def test_backward_before_forward(self):
        self.refused("pipeline", "check", "--table", self.table(["0B0", "0F0"]))


class Lowering(ToolTest):
    MODELS = ("buffered", "rendezvous", "stream", "batched")

    def test_lowered_files_are_pytorchs_byte_for_byte(self):
        for file, words in (("torch__Interleaved1F1B__p4_v2_m8", ("interleaved", 8)), ("torch__Interleaved1F1B__p4_v2_m10", ("interleaved", 10)),
                            ("torch__LoopedBFS__p4_v2_m8", ("looped-bfs", 8)), ("torch__ZBVZeroBubble__p4_v2_m8", ("zbv", 8)),
                            ("torch__DualPipeV__p4_v2_m10", ("dualpipev", 10))):
            with self.subTest(file):
                done = self.ok("pipeline", "list", words[0], "--ranks", 4, "--chunks", 2, "--micro-batches", words[1],
                               "--unshard", 3, "--reduce-grad", "--comms", "eager")
                self.assertEqual(done.out, (PIPELINE / f"{file}.comms.csv").read_bytes())

    def test_every_way_to_insert_transfers_is_safe(self):
        table = self.folder / "table.csv"
        for schedule in ("1f1b", "zb-h1", "zbv", "dualpipe"):
            for comms in ("eager", "just-in-time", "grouped", "barrier"):
                with self.subTest(schedule=schedule, comms=comms):
                    self.ok("pipeline", "list", schedule, "--ranks", 4, "--micro-batches", 8, "--comms", comms, "--out", table)
                    self.assertEqual(self.ok("pipeline", "check", "--table", table, "--communication", "all").out, b"ok\n")

    def test_pairs_that_wait_for_themselves_are_refused_with_their_cycle(self):
        done = self.refused("pipeline", "list", "interleaved", "--ranks", 4, "--chunks", 2, "--micro-batches", 3, "--overlap", "--comms", "eager")
        self.assertRegex(done.err, r"rank 0 stands before 4B0 and waits for 5B0 of rank 1")

    def test_a_list_in_the_papers_order_says_that_it_deadlocks(self):
        words = ("pipeline", "list", "interleaved", "--ranks", 8, "--chunks", 2, "--micro-batches", 19, "--groups")
        self.assertEqual(self.ok(*words, "paper").summary["deadlocks"], "yes")
        self.assertNotIn("deadlocks", self.ok(*words, "last").summary)

    def test_a_list_that_only_buffers_can_save(self):
        table = self.folder / "table.csv"
        self.ok("pipeline", "list", "1f1b", "--ranks", 4, "--micro-batches", 8, "--comms", "deferred", "--out", table)
        self.ok("pipeline", "check", "--table", table, "--communication", "buffered")
        done = self.refused("pipeline", "check", "--table", table, "--communication", "all")
        self.assertIn("table.csv under rendezvous: the schedule deadlocks", done.err)
        done = self.refused("pipeline", "check", "--table", table, "--communication", "rendezvous")
        self.assertRegex(done.err, r"rank \d stands before \d(SEND|RECV)_[FB]\d and waits for \d(SEND|RECV)_[FB]\d of rank \d")

    def test_a_table_of_other_systems_is_lowered(self):
        lowered = self.folder / "lowered.csv"
        done = self.ok("pipeline", "list", "--table", PIPELINE / "paddle__dy_interleave__p4_v2_m9.csv", "--comms", "grouped", "--recompute",
                       "--offload", 2, "--optimizer", "--post-validation", "--out", lowered)
        self.assertGreater(int(done.summary["actions"]), 4 * 36)
        self.assertEqual(self.ok("pipeline", "check", "--table", lowered, "--communication", "all").out, b"ok\n")
        stuck = PIPELINE / "paddle__static_VPP__p4_v3_m13.csv"
        self.refused("pipeline", "list", "--table", stuck, "--comms", "eager")

    def test_where_idle_time_comes_from(self):
        done = self.ok("pipeline", "simulate", "1f1b", "--ranks", 4, "--micro-batches", 8, "--hop", 3, "--transfer", 2, "--details")
        header, rows = done.rows
        self.assertEqual(header, "rank,busy,idle,finish,peak_in_flight,warm_up,steady,drain,dependency,communication")
        for rank, busy, idle, finish, peak, warm_up, steady, drain, dependency, communication in rows:
            self.assertEqual(warm_up + steady + drain, idle)
            self.assertEqual(dependency + communication, idle)
        self.assertGreater(sum(r[-1] for r in rows), 0)

    def test_bytes_that_are_held(self):
        for name, chunks in (("interleaved", 2), ("1f1b", 1), ("zb-h1", 1)):
            shape = ("pipeline", "simulate", name, "--ranks", 4, "--chunks", chunks, "--micro-batches", 9)
            plain = self.ok(*shape)
            done = self.ok(*shape, "--activation-bytes", 1000)
            self.assertEqual(done.rows[0], "rank,busy,idle,finish,peak_in_flight,peak_bytes")
            self.assertEqual([r[:5] for r in done.rows[1]], [r[:5] for r in plain.rows[1]])
            self.assertEqual([r[5] for r in done.rows[1]], [1000 * r[4] for r in done.rows[1]])
            self.assertEqual(done.summary, plain.summary)
        done = self.ok("pipeline", "simulate", "1f1b", "--ranks", 3, "--micro-batches", 5, "--activation-bytes", "7,5,3", "--details")
        self.assertEqual(done.rows[0], "rank,busy,idle,finish,peak_in_flight,warm_up,steady,drain,dependency,communication,peak_bytes")
        self.assertEqual([r[-1] for r in done.rows[1]], [3 * 7, 2 * 5, 1 * 3])
        self.misused("pipeline", "simulate", "1f1b", "--ranks", 3, "--micro-batches", 5, "--activation-bytes", "7,5", says="one for each of the 3 stages")
        for wrong in ("-1", "x", "1,,2"):
            self.misused("pipeline", "simulate", "1f1b", "--ranks", 3, "--micro-batches", 5, "--activation-bytes", wrong)

    def test_the_critical_path_is_a_chain_to_the_end(self):
        file = self.folder / "path.csv"
        for name, more in (("1f1b", ()), ("interleaved", ("--chunks", 2)), ("zbv", ()), ("dualpipev", ()), ("zb-h1", ("--transfer", 2)),
                           ("seq-1f1b", ("--slices", 3))):
            with self.subTest(name):
                done = self.ok("pipeline", "simulate", name, "--ranks", 4, "--micro-batches", 9, "--hop", 1, *more, "--critical-path", file)
                with open(file, encoding="utf-8", newline="") as text:
                    rows = list(csv.DictReader(text))
                self.assertEqual(rows[0]["start"], "0")
                self.assertEqual(rows[-1]["finish"], done.summary["makespan"])
                listed = self.ok("pipeline", "list", name, "--ranks", 4, "--micro-batches", 9, *(more if "--transfer" not in more else ()))
                for row in rows:
                    self.assertRegex(row["action"], r"^\d+[FBIW]\d+" + (r"\.\d+$" if "--slices" in more else "$"))
                    self.assertIn(row["action"], listed.text.splitlines()[int(row["rank"])])
                link = 1 + (2 if "--transfer" in more else 0)
                for before, after in zip(rows, rows[1:]):
                    gap = int(after["start"]) - int(before["finish"])
                    if before["rank"] == after["rank"]:
                        self.assertEqual(gap, 0)
                    else:
                        self.assertGreaterEqual(gap, link)
        self.refused("pipeline", "simulate", "1f1b", "--ranks", 4, "--micro-batches", 9, "--critical-path", self.folder / "no" / "path.csv")

    def test_wrong_words(self):
        for words in (("list", "1f1b", "--ranks", 2, "--micro-batches", 2, "--comms", "sometimes"),
                      ("list", "1f1b", "--ranks", 2, "--micro-batches", 2, "--unshard", 0),
                      ("check", "--table", self.file("t.csv", "0F0,0B0\n"), "--communication", "telepathy"),
                      ("simulate", "1f1b", "--ranks", 2, "--micro-batches", 2, "--pair", 0)):
            self.misused("pipeline", *words)


class BadTables(ToolTest):
    """One sentence that names the cell."""

    def test_sentences(self):
        for text, sentence in (
                ("", "line 1 holds no action"), ("0F0,0X0\n", 'line 1, cell 2: unknown token "0X0"'),
                ("0F0,0B0\n0F1\n", "line 2, cell 1: stage 0 also runs on line 1, but a stage lives on one rank"),
                ("0F0,0B0\n1F0,1B0,1F\n", 'line 2, cell 3: unknown token "1F"'),
                ("ForwardPass(0) SendActivation(0)\n", 'line 1, cell 1: "ForwardPass(0) SendActivation(0)" is no action'),
                ("f0_vp0;b0_vp0\n", 'line 1, cell 1: "f0_vp0;b0_vp0" is no action'),
                ("0F0,0B0,1F0,1B0\n2F0,2B0\n", "stages do not divide evenly over ranks"),
                ("0F0,0B0,1F0,1B0,2F0,2B0\n3F0,3B0\n", "ranks hold different numbers of stages"),
                ("0F0,0B0\n1F0\n", "rank 1 never runs the backward of stage 1 for micro-batch 0"),
                ("0F3000000,0B0\n", 'line 1, cell 1: unknown token "0F3000000"')):
            with self.subTest(text):
                done = self.refused("pipeline", "check", "--table", self.file("bad.csv", text))
                self.assertIn(sentence, done.err)

    def test_shapes(self):
        for words, sentence in ((("--ranks", 4, "--micro-batches", 0), "each must be at least 1"),
                                (("--ranks", 65_536, "--chunks", 2, "--micro-batches", 4), "at most 65536 stages"),
                                (("--ranks", 4, "--chunks", 65, "--micro-batches", 4), "at most 64 chunks"),
                                (("--ranks", 4, "--micro-batches", 2_097_153), "at most 2097152 micro-batches")):
            self.assertIn(sentence, self.refused("pipeline", "simulate", "interleaved", *words).err)


class Draw(ToolTest):
    def test_svg_is_xml_with_a_bar_for_each_action(self):
        for name, micro_batches in (("1f1b", 8), ("interleaved", 9), ("zb-h1", 8)):
            done = self.ok("pipeline", "draw", name, "--ranks", 4, "--micro-batches", micro_batches, "--format", "svg")
            root = xml.etree.ElementTree.fromstring(done.out)
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            shapes = sum(1 for e in root.iter() if e.tag.endswith(("rect", "path", "use")))
            self.assertGreater(shapes, 4)
            self.assertNotIn(b"<script", done.out)
        done = self.ok("pipeline", "draw", "seq-1f1b", "--ranks", 2, "--micro-batches", 3, "--slices", 4)
        self.assertIn("3 micro-batches of 4 slices", done.text)

    def test_trace_is_what_viewers_read(self):
        actions = 0
        done = self.ok("pipeline", "draw", "interleaved", "--ranks", 4, "--chunks", 2, "--micro-batches", 9, "--format", "trace",
                       "--backward", 1)
        value = json.loads(done.text)
        events = value["traceEvents"] if isinstance(value, dict) else value
        end, lanes = 0, set()
        for event in events:
            self.assertIn("ph", event)
            self.assertIn("name", event)
            self.assertIn("pid", event)
            if event["ph"] == "X":
                self.assertGreaterEqual(event["ts"], 0)
                self.assertGreater(event["dur"], 0)
                end = max(end, event["ts"] + event["dur"])
                lanes.add(event["tid"])
                actions += 1
        self.assertEqual(actions, 4 * 2 * 9 * 2)
        self.assertEqual(len(lanes), 4)
        self.assertGreater(end, 0)
        for lane in lanes:  # on one rank nothing overlaps
            spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["tid"] == lane)
            for (_, before), (after, _) in zip(spans, spans[1:]):
                self.assertLessEqual(before, after)

    def test_ascii_is_ascii_with_a_line_for_each_rank(self):
        # A picture that leaves something out says so, not in the file alone.
        large = ["pipeline", "draw", "1f1b", "--ranks", 64, "--micro-batches", 300]
        for form, begins in (("svg", "38400 bars on 64 lanes are more than 30000"), ("ascii", None)):
            done = hocket(*large, "--format", form)
            self.assertEqual(done.code, 0)
            said = [line for line in done.err.splitlines() if line.startswith("the picture is not whole: ")]
            self.assertEqual(len(said), begins is not None)
            if begins:
                self.assertIn(begins, said[0])
                self.assertIn(said[0].removeprefix("the picture is not whole: "), done.text)
        done = self.ok("pipeline", "draw", "1f1b", "--ranks", 4, "--micro-batches", 8, "--format", "ascii")
        self.assertTrue(done.out.isascii())
        self.assertGreaterEqual(done.text.count("\n"), 4)

    def test_names_are_escaped(self):
        hostile = self.file("<b>&\"'.csv", "0F0,0B0\n")
        for picture in ("svg", "trace"):
            done = self.ok("pipeline", "draw", "--table", hostile, "--format", picture)
            if picture == "svg":
                text = "".join(xml.etree.ElementTree.fromstring(done.out).itertext())
            else:
                text = json.dumps(json.loads(done.text), ensure_ascii=False).replace('\\"', '"')
            self.assertIn("<b>&\"'.csv", text)

    def test_a_file_name_that_is_no_text_leaves_the_picture_readable(self):
        latin = self.file(os.fsdecode(b"caf\xe9.csv"), "0F0,0B0\n")
        xml.etree.ElementTree.fromstring(self.ok("pipeline", "draw", "--table", latin).out)
        json.loads(self.ok("pipeline", "draw", "--table", latin, "--format", "trace").out.decode())

    def test_a_trace_of_long_times(self):
        done = self.ok("pipeline", "draw", "gpipe", "--ranks", 1, "--micro-batches", 1, "--forward", 10**18, "--format", "trace")
        forward = [e for e in json.loads(done.text)["traceEvents"] if e["name"] == "F0"]
        self.assertEqual(forward[0]["dur"], 10**18)


if __name__ == "__main__":
    main()
