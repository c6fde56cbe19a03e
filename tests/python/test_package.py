#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package as it is installed: its answers are the tool's, its refusals sentences, its memory flat.

    HOCKET=build/dev/examples/hocket_cli/hocket python -m unittest discover -s tests/python
"""
import copy
import csv
import ctypes
import gc
import importlib.metadata
import io
import json
import os
import pathlib
import pickle
import random
import re
import subprocess
import tempfile
import threading
import unittest

import numpy as np

import hocket
from hocket import _c

root = pathlib.Path(__file__).resolve().parents[2]
tool = os.environ.get("HOCKET", str(root / "build/dev/examples/hocket_cli/hocket"))


def told(*arguments, **files):
    """What the tool prints, as text. files: NAME=text becomes a file, and {NAME} in the arguments its path."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, text in files.items():
            paths[name] = pathlib.Path(folder) / name
            paths[name].write_text(text)
        return subprocess.run([tool, *(a.format(**paths) for a in arguments)], capture_output=True, text=True, check=True).stdout


def rows(text):
    return np.array([[int(x) for x in row] for row in list(csv.reader(io.StringIO(text)))[1:]])


def random_program(seed, ops=60, variables=12):
    chance = random.Random(seed)
    def some():
        return sorted(chance.sample(range(variables), chance.randrange(4)))
    return [some() for _ in range(ops)], [some()[:1] for _ in range(ops)]


def ops_csv(reads, writes, kinds=None):
    lines = [f"{n},{n % 3},{kinds[n] if kinds else 'compute'},{' '.join(map(str, r))},{' '.join(map(str, w))}"
             for n, (r, w) in enumerate(zip(reads, writes))]
    return "op,stream,kind,reads,writes\n" + "\n".join(lines) + "\n"


class Graphs(unittest.TestCase):
    def test_edges_are_those_of_the_tool(self):
        for seed in range(6):
            reads, writes = random_program(seed)
            deps = hocket.dependencies(reads, writes)
            theirs = rows(told("graph", "prune", "--ops", "{ops}", ops=ops_csv(reads, writes)))
            np.testing.assert_array_equal(deps.edges, theirs)
            self.assertEqual(deps.edges.dtype, np.uint32)
            self.assertGreaterEqual(deps.rule_edge_count, len(theirs))

    def test_views_meet_where_numpy_says_so(self):
        chance = random.Random(5)
        memory = np.zeros((12, 12), np.int16)

        def part():
            return tuple(slice(*sorted(chance.sample(range(13), 2)), chance.choice((1, 2, 3))) for _ in range(2))

        def view(array):
            return hocket.View(0, array.ctypes.data, array.itemsize, array.shape, [s // array.itemsize for s in array.strides])

        parts = [memory[part()][::chance.choice((1, -1))] for _ in range(40)]
        deps = hocket.dependencies([[] for _ in parts], [[view(one)] for one in parts])
        met = np.array([[np.shares_memory(a, b) for b in parts] for a in parts])
        order = np.triu(met, 1)
        for middle in range(len(parts)):  # what must run before what, by the way of others
            order |= np.outer(order[:, middle], order[middle])
        self.assertTrue(order.any() and not order[np.triu_indices(len(parts), 1)].all())
        ops = np.arange(len(parts))
        np.testing.assert_array_equal(deps.reaches(ops[:, None], ops) & ~np.eye(len(parts), dtype=bool), order)

    def test_waits_are_those_of_the_tool(self):
        for seed in range(6):
            reads, writes = random_program(seed)
            program = hocket.Program(reads, writes)
            deps = program.dependencies()
            for plan, words in ((deps.plan(streams=4), ["--streams", "4"]),
                                (deps.plan(stream_of=[n % 3 for n in range(60)]), [])):
                theirs = rows(told("graph", "sync", "--ops", "{ops}", *words, ops=ops_csv(reads, writes)))
                np.testing.assert_array_equal(plan.waits, theirs[:, :2])
                np.testing.assert_array_equal(plan.streams[plan.waits[:, 0]], theirs[:, 2])
                self.assertLessEqual(len(plan.waits), plan.cross_stream_edge_count)
                self.assertIsNone(program.check(plan.streams, plan.waits))
                for i in range(len(plan.waits)):  # the fewest: none can go
                    earlier, later = program.check(plan.streams, np.delete(plan.waits, i, 0))
                    self.assertTrue(deps.reaches(earlier, later))

    def test_chains_are_those_of_the_tool(self):
        reads, writes = random_program(3)
        kinds = [("compute", "random", "collective")[n % 3] for n in range(60)]
        pairs = "source,target\n" + "".join(f"{a},{b}\n" for a in range(60) for b in range(60))
        deps = hocket.dependencies(reads, writes, kinds, chains=("random", "collectives"))
        theirs = rows(told("graph", "reaches", "--ops", "{ops}", "--pairs", "{pairs}", pairs=pairs, ops=ops_csv(reads, writes)))
        data = hocket.dependencies(reads, writes).reaches(np.arange(60)[:, None], np.arange(60))
        np.testing.assert_array_equal(data.ravel(), theirs[:, 2] == 1)
        chained = deps.reaches(np.arange(60)[:, None], np.arange(60))
        self.assertTrue((chained >= data).all() and chained[1, 4] and chained[2, 5])

    def test_a_path_and_a_reason(self):
        deps = hocket.dependencies([[], [7], []], [[7], [8], [8]])
        self.assertEqual(deps.path(0, 2).tolist(), [0, 1, 2])
        self.assertEqual(deps.path(2, 0).tolist(), [])
        self.assertEqual(deps.why(0, 1), ("read after write", 7))
        self.assertIs(deps.reaches(0, 2), True)
        self.assertEqual(hocket.Graph.from_edges(3, [(0, 1), (1, 2), (0, 2)]).edges.tolist(), [[0, 1], [1, 2]])

    def test_bytes_and_durations(self):
        deps = hocket.dependencies([[], [(0, 4, 8)], [(0, 8, 12)]], [[(0, 0, 8)], [], []])
        self.assertEqual(deps.edges.tolist(), [[0, 1]])
        plan = deps.plan(streams=2, durations_ns=[5, 7, 9])
        self.assertEqual(plan.duration_ns, 12)
        self.assertIsNone(deps.plan(streams=2).duration_ns)
        self.assertEqual(hocket.dependencies([], []).plan(streams=1).waits.shape, (0, 2))


class Schedules(unittest.TestCase):
    def test_lists_and_runs_are_those_of_the_tool(self):
        for name in hocket.schedule_names:
            for ranks, batches in ((2, 4), (4, 8)):
                words = ["pipeline", "{}", name, "--ranks", str(ranks), "--micro-batches", str(batches)]
                words += ["--chunks", "2"] if "interleaved" in name or name == "looped-bfs" else []
                ours = hocket.schedule(name, ranks, batches, chunks=2 if "--chunks" in words else 0)
                self.assertEqual(ours.csv().split(), told(*[w.replace("{}", "list") for w in words]).split())
                theirs = rows(told(*[w.replace("{}", "simulate") for w in words], "--hop", "1", "--forward", "3"))
                run = ours.simulate(forward_ticks=3, hop_ticks=1)
                np.testing.assert_array_equal(np.array(run.ranks.tolist()), theirs[:, 1:])
                self.assertEqual(run.makespan_ticks, max(run.ranks["finish_ticks"]))
                ours.check()
                again = hocket.parse_schedule(ours.csv())
                self.assertEqual(again.fingerprint, ours.fingerprint)
                np.testing.assert_array_equal(again[1], ours[1])

    def test_a_list(self):
        steps = hocket.schedule("1f1b", 2, 3)[1]
        self.assertEqual(hocket.action_names[steps["kind"]].tolist(), ["forward", "backward"] * 3)
        self.assertEqual(steps["micro_batch"].tolist(), [0, 0, 1, 1, 2, 2])
        self.assertEqual(steps["stage"].tolist(), [1] * 6)


class Ranks(unittest.TestCase):
    def test_answers_are_those_of_the_tool(self):
        for name, mesh in (("1f1b", {"tensor": 2}), ("interleaved", {"tensor": 2, "data": 2, "expert": 2})):
            program = hocket.schedule(name, 4, 4).program(**mesh)
            words = [w for size, n in mesh.items() for w in (f"--{size}", str(n))]
            self.assertEqual(program, told("pipeline", "ranks", name, "--ranks", "4", "--micro-batches", "4", *words))
            ours = hocket.check_ranks(program, slots=3)
            self.assertEqual((ours.verdict, ours.told), ("safe", told("ranks", "check", "{p}", "--slots", "3", p=program)))
        crossed = "rank,op,communicator\n0-1,communicator,a\n0,all_reduce,a\n1,barrier,a\n"
        self.assertEqual(hocket.check_ranks(crossed, "gloo").verdict, "mismatch")

    def test_recorded_hangs_are_told_as_by_the_tool(self):
        for folder in ("skips", "crossed", "kinds", "cut", "ends"):
            files = sorted((root / "examples/hangs" / folder).glob("*.json"))
            dumps = {rank: file.read_text() for rank, file in enumerate(files)}
            theirs = subprocess.run([tool, "ranks", "hang", *files], capture_output=True, text=True, check=False).stdout
            self.assertEqual(hocket.explain_hang(dumps), theirs)
            self.assertEqual(hocket.explain_hang({r: json.loads(d) for r, d in dumps.items()}), hocket.explain_hang(dumps))
        with self.assertRaises(TypeError):
            hocket.explain_hang([])


class Tilings(unittest.TestCase):
    def test_plans_are_those_of_the_tool(self):
        chance = random.Random(5)
        for policy in ("auto", "exact", "uniform", "one-plus-n", "lot", "none"):
            fixed, slope, latency, link = (round(chance.uniform(*x), 3) for x in ((1, 30), (0.1, 0.5), (1, 30), (0.1, 0.5)))
            problem = {"rows": 4096, "align": 128, "max_tiles": 12, "overlap": {"compute": 1.1, "comm": 1.1}, "phases": [
                {"kind": "compute", "cost": {"type": "affine", "fixed_us": fixed, "us_per_row": slope, "min_rows": 200}},
                {"kind": "comm", "cost": {"type": "affine", "fixed_us": latency, "us_per_row": link}}]}
            theirs = json.loads(told("tiling", "solve", "--problem", "{p}", "--policy", policy, p=json.dumps(problem)))
            ours = hocket.tile(4096, [hocket.compute(fixed, slope, min_rows=200, overlap=1.1),
                                      hocket.comm(latency, link, overlap=1.1)], max_tiles=12, policy=policy)
            self.assertEqual(ours.tiles.tolist(), theirs["tiles"])
            self.assertEqual((ours.predicted_us, ours.serial_us, ours.lower_bound_us, ours.policy, list(ours.flags)),
                             tuple(theirs[k] for k in ("predicted_us", "serial_us", "lower_bound_us", "policy", "flags")))

    def test_samples_are_fitted_as_by_the_tool(self):
        sizes, us = [128, 256, 512, 1024, 2048, 4096, 256], [12.0, 15, 14, 40, 71, 150, 17]
        samples = "size,time_us\n" + "".join(f"{s},{t}\n" for s, t in zip(sizes, us))
        cost = json.loads(told("tiling", "fit", "--samples", "{s}", s=samples))["cost"]
        problem = {"rows": 4096, "phases": [{"kind": "compute", "cost": cost}, {"kind": "comm", "cost": cost}]}
        theirs = json.loads(told("tiling", "solve", "--problem", "{p}", p=json.dumps(problem)))
        measured = np.array(sizes), np.array(us)
        ours = hocket.tile(4096, [hocket.compute(samples=measured), hocket.comm(samples=measured)])
        self.assertEqual((ours.tiles.tolist(), ours.predicted_us), (theirs["tiles"], theirs["predicted_us"]))

    def test_the_documented_rule(self):
        ours = hocket.tile(4096, [hocket.compute(6, 0.2), hocket.comm(20, 0.25)], policy="documented", product=(3072, 8192, 2))
        self.assertEqual(sum(ours.tiles), 4096)


class Costs(unittest.TestCase):
    folder = root / "examples/data/llama-2-13b"

    def test_reports_are_those_of_the_tool(self):
        model, training, parallel = self.folder / "config.json", self.folder / "training.json", '{"tp":2,"pp":4,"dp":2}'
        theirs = told("cost", "report", "--model", str(model), "--format", "json")
        self.assertEqual(hocket.cost_report(model), json.loads(theirs))
        theirs = told("cost", "report", "--model", str(model), "--training", str(training), "--parallel", "{p}", "--format", "json",
                      p=parallel)
        ours = hocket.cost_report(json.loads(model.read_text()), training, json.loads(parallel))
        self.assertEqual(ours, json.loads(theirs))
        self.assertEqual(len(ours["memory"]), 4)

    def test_a_plan_is_that_of_the_tool_and_has_the_number_of_its_cost_report(self):
        model, training = self.folder / "config.json", {"sequence": 4096, "global_batch": 16, "machine": "h100_sxm"}
        parallel = {"tp": 2, "pp": 4, "dp": 2}
        plan = {"model": "config.json", "training": training, "parallel": parallel, "cluster": {"devices": 16, "memory_gib": 80},
                "pipeline": {"schedule": "1f1b"}}
        ours = hocket.plan_step(plan, model)
        report = hocket.cost_report(model, training, parallel)
        self.assertAlmostEqual(ours["predicted_step"]["seconds"] / report["step"]["seconds"], 1, places=7)
        self.assertEqual([m["peak_bytes"] for m in ours["memory"]], [m["peak_bytes"] for m in report["memory"]])
        self.assertEqual(ours["cost"]["flops"], report["flops"])


class Refusals(unittest.TestCase):
    def test_ranks(self):
        plan = hocket.schedule("1f1b", 4, 4)
        self.refused("tensor is 0", lambda: plan.program(tensor=0))
        self.refused("tensor", lambda: plan.program(tensor=2 ** 32 + 1))
        self.refused("not known", lambda: hocket.check_ranks(plan.program(), "ncl"))
        self.refused("slots is -5", lambda: hocket.check_ranks(plan.program(), slots=-5))

    def refused(self, words, act, kind=ValueError):
        with self.assertRaises(kind) as caught:
            act()
        self.assertIn(words, str(caught.exception))

    def test_graphs(self):
        deps = hocket.dependencies([[], [0]], [[0], []])
        program = hocket.Program([[], [0]], [[0], []])
        self.refused("2 ops read, but 1 write", lambda: hocket.dependencies([[], []], [[]]))
        self.refused("1 have kinds", lambda: hocket.dependencies([[], []], [[], []], ["io"]))
        self.refused("'printing' is none of", lambda: hocket.dependencies([[]], [[]], ["printing"]))
        self.refused("'everything' is none of", lambda: hocket.dependencies([[]], [[]], chains="everything"))
        self.refused("whole numbers", lambda: hocket.dependencies([[0.5]], [[]]))
        self.refused("whole numbers", lambda: hocket.dependencies([["x"]], [[]]))
        self.refused("from 0 to", lambda: hocket.dependencies([[-1]], [[]]))
        self.refused("whole numbers", lambda: hocket.dependencies([[2**64]], [[]]))
        self.refused("(space, first_byte, end_byte)", lambda: hocket.dependencies([[(0, 1)]], [[]]))
        self.refused("(space, first_byte, end_byte)", lambda: hocket.dependencies([[1, (0, 1, 2)]], [[]]))
        view = hocket.View(0, 64, 4, (4,), (1,))
        for words, touched in (
                ("access 1 of op 0 is no View", [view, 7]),
                ("access 0 of op 0 has 1 sizes, but 2 strides", [view._replace(strides=(1, 1))]),
                ("item_bytes is 0", [view._replace(item_bytes=0)]),
                ("a size is negative", [view._replace(sizes=(-1,))]),
                ("more than 16 dimensions", [view._replace(sizes=(1,) * 17, strides=(1,) * 17)]),
                ("ends beyond the address space", [view._replace(first_byte=2**64 - 8)]),
                ("first_bytes must be from 0 to", [view._replace(first_byte=-1)])):
            self.refused(words, lambda: hocket.dependencies([touched], [[]]))
        self.refused("its first byte is not before", lambda: hocket.dependencies([[(0, 8, 8)]], [[]]))
        self.refused("close a cycle of 2: ", lambda: hocket.Graph.from_edges(2, [(0, 1), (1, 0)]))
        self.refused("from 0 to", lambda: hocket.Graph.from_edges(2, [(0, 2**32)]))
        self.refused("node 9", lambda: deps.reaches(0, 9))
        self.refused("node 9", lambda: deps.path(9, 0))
        self.refused("no kept edge from 1 to 0", lambda: deps.why(1, 0))
        self.refused("made of edges", lambda: hocket.Graph.from_edges(2, [(0, 1)]).why(0, 1))
        self.refused("either streams", lambda: deps.plan())
        self.refused("either streams", lambda: deps.plan(streams=2, stream_of=[0, 0]))
        self.refused("streams is 0", lambda: deps.plan(streams=0))
        self.refused("one number for each of 2 ops", lambda: deps.plan(stream_of=[0]))
        self.refused("one number for each of 2 ops", lambda: deps.plan(streams=2, durations_ns=[1]))
        self.refused("duration of op 1", lambda: deps.plan(streams=2, durations_ns=[1, -1]))
        self.refused("70000", lambda: deps.plan(stream_of=[0, 70000]))
        self.refused("1 streams were given for 2 ops", lambda: program.check([0], []))
        self.refused("program order", lambda: program.check([0, 1], [(1, 0)]))

    def test_schedules(self):
        self.refused("known are gpipe", lambda: hocket.schedule("zbw", 4, 8))
        self.refused("groups", lambda: hocket.schedule("gpipe", 4, 8, groups="paper"))
        self.refused("at least 1", lambda: hocket.schedule("gpipe", 0, 8))
        self.refused("0X0", lambda: hocket.parse_schedule("0X0"))
        self.refused(" stands before ", hocket.schedule("interleaved", 5, 7, chunks=2, groups="paper").check)
        self.refused(" stands before ", hocket.schedule("interleaved", 5, 7, chunks=2, groups="paper").simulate)
        self.refused("-1", lambda: hocket.schedule("gpipe", 4, 8).simulate(forward_ticks=-1))
        self.refused("no rank 4", lambda: hocket.schedule("gpipe", 4, 8)[4], IndexError)

    def test_tilings_and_costs(self):
        one = [hocket.compute(1, 1)]
        self.refused("rows is 0", lambda: hocket.tile(0, one))
        self.refused("number of phases", lambda: hocket.tile(1024, []))
        self.refused('no tiling policy "best"', lambda: hocket.tile(1024, one, policy="best"))
        self.refused("affine curve", lambda: hocket.tile(1024, [hocket.compute(-1, 1)]))
        self.refused("overlap is 0", lambda: hocket.tile(1024, [hocket.compute(1, 1, overlap=0)]))
        self.refused("two lists of one length", lambda: hocket.tile(1024, [hocket.comm(samples=([1, 2], [3]))]))
        self.refused("k", lambda: hocket.tile(1024, one, product=(0, 1, 2)))
        self.refused("model", lambda: hocket.cost_report("{"))
        self.refused("training", lambda: hocket.cost_report(Costs.folder / "config.json", {}))
        self.refused('"graph" names a file', lambda: hocket.plan_step({"graph": {}}, Costs.folder / "config.json"))
        self.refused("parallel needs training", lambda: hocket.cost_report(Costs.folder / "config.json", None, {}))


class Misuse(unittest.TestCase):
    def refused(self, kind, words, act):
        with self.assertRaises(kind) as caught:
            act()
        self.assertIn(words, str(caught.exception))

    def handles(self):
        deps = hocket.dependencies([[], [0], [0]], [[0], [], []])
        return {"Program": hocket.Program([[], [0]], [[0], []]), "Graph": deps, "Plan": deps.plan(streams=2),
                "Schedule": hocket.schedule("1f1b", 2, 3)}

    def look(self, name, handle):
        return {"Program": lambda: len(handle), "Graph": lambda: handle.edges.tolist(), "Plan": lambda: handle.waits.tolist(),
                "Schedule": lambda: handle.csv()}[name]()

    def test_a_copy_outlives_what_it_was_made_of(self):
        for copied in (copy.copy, copy.deepcopy, lambda one: copy.deepcopy([one, one])[1]):
            for name, handle in self.handles().items():
                seen = self.look(name, handle)
                other = copied(handle)
                del handle
                gc.collect()
                hocket.schedule("zbv", 3, 5).csv()  # something else where the memory was
                self.assertEqual(self.look(name, other), seen)

    def test_what_shares_a_handle_destroys_it_once(self):
        for name, handle in self.handles().items():
            seen = self.look(name, handle)
            other = object.__new__(type(handle))
            vars(other).update(vars(handle))
            if hasattr(handle, "__del__"):
                handle.__del__()
            del handle
            gc.collect()
            self.assertEqual(self.look(name, other), seen)

    def test_handles_are_not_pickled_and_not_mistaken_for_each_other(self):
        made = self.handles()
        for name, handle in made.items():
            self.refused(TypeError, "cannot be pickled", lambda: pickle.dumps(handle))
            if name != "Program":
                self.refused(TypeError, f"a {name} is made by", lambda: type(handle)("hocket_graph_from_edges", 1))
        self.refused(TypeError, "a handle of the kind program is needed, not Graph",
                     lambda: hocket.Program.dependencies(made["Graph"]))
        self.refused(TypeError, "a handle of the kind graph is needed, not Plan",
                     lambda: _c.call("hocket_graph_edges", made["Plan"], *np.empty((2, 0), np.uint32)))
        self.refused(TypeError, "not NoneType", lambda: _c.call("hocket_schedule_check", None, None, 0, None))
        self.refused(TypeError, "not int", lambda: _c.call("hocket_schedule_check", 64, None, 0, None))

    def test_integers_do_not_wrap(self):
        deps, steps = hocket.dependencies([[], [0]], [[0], []]), hocket.schedule("1f1b", 2, 3)
        one = [hocket.compute(1, 1)]
        for words, act in (
                ("ranks is 18446744073709551617", lambda: hocket.schedule("1f1b", 2**64 + 1, 3)),
                ("chunks is 18446744073709551617", lambda: hocket.schedule("1f1b", 2, 3, chunks=2**64 + 1)),
                ("micro_batches is 36893488147419103235", lambda: hocket.schedule("1f1b", 2, 2**65 + 3)),
                ("kappa is 4294967297", lambda: hocket.schedule("interleaved", 2, 4, chunks=2, kappa=2**32 + 1)),
                ("memory_cap is", lambda: hocket.schedule("interleaved", 2, 4, chunks=2, memory_cap=2**64 + 8)),
                ("slices is", lambda: hocket.schedule("seq-1f1b", 2, 4, slices=2**64 + 2)),
                ("forward_ticks is 18446744073709551617", lambda: steps.simulate(forward_ticks=2**64 + 1)),
                ("backward_ticks is -1", lambda: steps.simulate(backward_ticks=-1)),
                ("backward_ticks is 18446744073709551615", lambda: steps.simulate(backward_ticks=2**64 - 1)),
                ("hop_ticks is", lambda: steps.simulate(hop_ticks=-2**64)),
                ("streams is 4294967299", lambda: deps.plan(streams=2**32 + 3)),
                ("streams is -1", lambda: deps.plan(streams=-1)),
                ("source is 4294967296", lambda: deps.path(2**32, 1)),
                ("target is -1", lambda: deps.path(0, -1)),
                ("source is 4294967296", lambda: deps.why(2**32, 1)),
                ("node_count is 18446744073709551619", lambda: hocket.Graph.from_edges(2**64 + 3, [(0, 1)])),
                ("node_count is -1", lambda: hocket.Graph.from_edges(-1, [(0, 1)])),
                ("rows is", lambda: hocket.tile(2**64 + 1024, one)),
                ("align_rows is", lambda: hocket.tile(1024, one, align_rows=2**64 + 128)),
                ("max_tiles is", lambda: hocket.tile(1024, one, max_tiles=2**64 + 4)),
                ("k is", lambda: hocket.tile(1024, one, product=(2**64 + 1, 1, 2))),
                ("the kind of a phase is", lambda: hocket.tile(1024, [one[0]._replace(kind=2**32)])),
                ("too large for a double", lambda: hocket.tile(1024, [hocket.compute(10**400)])),
                ("waits must be rows of two", lambda: hocket.Program([[], [0]], [[0], []]).check([0, 1], [[0, 1, 0]])),
                ("edges must be rows of two", lambda: hocket.Graph.from_edges(4, [[0, 1, 2], [1, 2, 3]])),
                ("the name holds a zero character", lambda: hocket.schedule("1f1b\0x", 2, 3)),
                ("groups holds a zero", lambda: hocket.schedule("interleaved", 2, 4, chunks=2, groups="paper\0x")),
                ("the policy holds a zero", lambda: hocket.tile(1024, one, policy="auto\0x")),
                ("model holds a zero", lambda: hocket.cost_report("{}\0x")),
                ("samples must be numbers", lambda: hocket.tile(1024, [hocket.comm(samples=(["1", "2"], ["3", "4"]))]))):
            self.refused(ValueError, words, act)
        self.refused(ValueError, "a number is 4294967296", lambda: _c.call("hocket_graph_path", deps, 2**32, 1, np.empty(2, np.uint32), 2,
                                                                         ctypes.byref(ctypes.c_size_t())))

    def test_what_is_no_number_is_no_number(self):
        deps, steps = hocket.dependencies([[], [0]], [[0], []]), hocket.schedule("1f1b", 2, 3)
        for words, act in (
                ("ranks must be a whole number, and is '4'", lambda: hocket.schedule("1f1b", ranks="4", micro_batches=4)),
                ("micro_batches must be a whole number, and is 4.0", lambda: hocket.schedule("1f1b", 4, 4.0)),
                ("hop_ticks must be a whole number", lambda: steps.simulate(hop_ticks=0.5)),
                ("streams must be a whole number", lambda: deps.plan(streams="2")),
                ("source must be a whole number", lambda: deps.path(None, 1)),
                ("rows must be a whole number", lambda: hocket.tile(1024.0, [hocket.compute(1, 1)])),
                ("fixed_us must be a number, and is '6'", lambda: hocket.tile(1024, [hocket.compute("6", 1)])),
                ("phase 0 is a tuple", lambda: hocket.tile(1024, [(0, 1, 1, 0, None, 1)])),
                ("the name must be a text", lambda: hocket.schedule(7, 2, 3)),
                ("interpreted as an integer", lambda: steps[0.5])):
            self.refused(TypeError, words, act)
        self.assertEqual(len(hocket.schedule("1f1b", np.int16(2), np.uint64(3))[np.int8(0)]), 6)


def once():
    """Some of everything, as a value to compare."""
    reads, writes = random_program(1, ops=20)
    program = hocket.Program(reads, writes)
    plan = program.dependencies().plan(streams=3)
    steps = hocket.schedule("zbv", 3, 5)
    tiles = hocket.tile(2048, [hocket.compute(6, 0.2), hocket.comm(samples=([128, 2048], [20, 600]))])
    try:
        hocket.schedule("no", 1, 1)
    except ValueError as why:
        sentence = str(why)
    return (plan.waits.tolist(), program.check(plan.streams, plan.waits[1:]), steps.csv(), steps[2].tolist(),
            steps.simulate().makespan_ticks, tiles.tiles.tolist(), tiles.predicted_us, sentence)


class Whole(unittest.TestCase):
    def test_types_are_those_of_the_header(self):
        text = re.sub(r"/\*.*?\*/", "", (root / "bindings/c/include/hocket/hocket.h").read_text(), flags=re.S)
        declared = {name: (result, parameters.split(",") if parameters.strip() != "void" else [])
                    for result, name, parameters in re.findall(r"^HOCKET_C_API ([^;]*?)(hocket_\w+)\(([^;]*)\);", text, re.M)}
        for name, types in _c.STATUS.items():
            result, parameters = declared[name]
            self.assertEqual((result.strip(), len(parameters)), ("hocket_status", len(types) + 1), name)
        for name, (_, types) in _c.PLAIN.items():
            self.assertEqual(len(declared[name][1]), len(types), name)
            self.assertNotEqual(declared[name][0].strip(), "hocket_status")

    def test_version(self):
        text = (root / "include/hocket/version.hpp").read_text()
        numbers = [re.search(rf"#define HOCKET_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(hocket.__version__, ".".join(numbers))
        self.assertEqual(importlib.metadata.version("hocket"), hocket.__version__)

    def test_memory_is_flat(self):
        def resident():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for _ in range(300):
            once()
        before = resident()
        rounds = 2500  # some 45 calls of the library each
        for _ in range(rounds):
            once()
        self.assertLess(resident() - before, 1 << 20)

    def test_threads(self):
        expected, found = once(), []
        reads, writes = random_program(2, ops=300)
        shared = hocket.dependencies(reads, writes)
        waits = shared.plan(streams=4).waits.tolist()
        def work():
            for _ in range(20):
                found.append(once() == expected and shared.plan(streams=4).waits.tolist() == waits)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, [True] * 160)


if __name__ == "__main__":
    unittest.main()
