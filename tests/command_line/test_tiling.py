# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket tiling: the document's answer, and every answer against a cost model written here."""
import csv
import itertools
import json
import math
import unittest

from harness import DATA, TILING, ToolTest, main

POLICIES = ("auto", "documented", "documented-min", "one-plus-n", "lot", "exact", "uniform", "none", "pinned")


def cost(c, rows):
    if c["type"] == "affine":
        return c.get("fixed_us", 0) + c["us_per_row"] * max(rows, c.get("min_rows", 0))
    if c["type"] == "piecewise":
        x = rows * c["bytes_per_row"] / 1048576
        for piece in c["pieces"]:
            if "below" not in piece or x < piece["below"]:
                return sum(k * x ** i for i, k in enumerate(piece["coefficients"]))
    if c["type"] == "alpha_beta":
        return c.get("alpha_us", 0) + rows * c["bytes_per_row"] / (c["gb_per_s"] * 1000)
    if c["type"] == "roofline":
        block_rows, block_columns, cores = c.get("block_rows", 128), c.get("block_columns", 256), c.get("cores", 1)
        blocks = math.ceil(rows / block_rows) * math.ceil(c["n"] / block_columns)
        work = math.ceil(blocks / cores) * cores * 2 * block_rows * block_columns * c["k"] / (c["tflops"] * 1e6)
        moved = c.get("element_bytes", 2) * (c["k"] * c["n"] + rows * (c["k"] + c["n"]))
        return c.get("launch_us", 0) + max(work, moved / (c["gb_per_s"] * 1e3) if "gb_per_s" in c else 0)
    points = list(zip(c["rows"], c["us"]))
    if rows <= points[0][0]:
        return None  # below a table the rule is the library's own
    for (a, ta), (b, tb) in zip(points, points[1:]):
        if rows <= b:
            return ta + (tb - ta) * (rows - a) / (b - a)
    return None


def makespan(problem, tiles):
    """Each phase takes the tiles in order; a tile goes through the phases in order."""
    factors = problem.get("overlap", {})
    free = [0.0] * len(problem["phases"])
    for rows in tiles:
        ready = 0.0
        for i, phase in enumerate(problem["phases"]):
            factor = factors.get(phase["kind"], 1) if len(tiles) > 1 else 1
            free[i] = ready = max(free[i], ready) + factor * cost(phase["cost"], rows)
    return ready


class Solve(ToolTest):
    def solve(self, problem, policy="auto"):
        path = self.file("problem.json", json.dumps(problem))
        return json.loads(self.ok("tiling", "solve", "--problem", path, "--policy", policy).text)

    def test_the_document(self):
        done = self.ok("tiling", "solve", "--problem", TILING, "--policy", "documented")
        self.assertEqual(json.loads(done.text)["tiles"], [512, 896, 896, 896, 896])

    def test_auto_is_the_default_and_standard_input_is_read(self):
        with_name = self.ok("tiling", "solve", "--problem", TILING, "--policy", "auto").out
        self.assertEqual(self.ok("tiling", "solve", "--problem", TILING).out, with_name)
        self.assertEqual(self.ok("tiling", "solve", "--problem", "-", stdin=TILING.read_bytes()).out, with_name)

    def test_every_policy_keeps_its_word(self):
        problem = json.loads(TILING.read_text())
        answers = {p: self.solve(problem, p) for p in POLICIES}
        for policy, answer in answers.items():
            with self.subTest(policy):
                self.assertEqual(set(answer) - {"two_runs"}, {"version", "tiles", "predicted_us", "serial_us", "lower_bound_us", "policy", "flags"})
                self.assertEqual(sum(answer["tiles"]), problem["rows"])
                self.assertTrue(all(t > 0 for t in answer["tiles"]))
                self.assertLessEqual(sum(t % problem["align"] != 0 for t in answer["tiles"]), 1)
                self.assertAlmostEqual(answer["predicted_us"], makespan(problem, answer["tiles"]), delta=0.01)
                self.assertAlmostEqual(answer["serial_us"], makespan(problem, [problem["rows"]]), delta=0.01)
                self.assertLessEqual(answer["lower_bound_us"], answer["predicted_us"])
                if policy != "auto":
                    self.assertEqual(answer["policy"], policy)
        self.assertEqual(answers["none"]["tiles"], [4096])
        self.assertLessEqual(max(answers["uniform"]["tiles"]) - min(answers["uniform"]["tiles"]), problem["align"])
        self.assertLessEqual(len(answers["exact"]["tiles"]), problem["max_tiles"])
        for policy in POLICIES:
            if len(answers[policy]["tiles"]) <= problem["max_tiles"]:
                self.assertGreaterEqual(answers[policy]["predicted_us"] + 1e-3, answers["exact"]["predicted_us"], policy)
        for policy in ("documented", "uniform", "none"):
            self.assertLessEqual(answers["auto"]["predicted_us"], answers[policy]["predicted_us"] + 1e-3)

    def test_exact_against_every_tiling(self):
        for rows, fixed, slope, factor in ((640, 3, 0.1, 1.15), (768, 20, 0.05, 1.0), (1024, 1, 0.02, 1.3), (768, 0, 0.2, 1.15)):
            problem = {"version": 1, "rows": rows, "align": 128, "max_tiles": 8,
                       "phases": [{"kind": "compute", "cost": {"type": "affine", "fixed_us": fixed, "us_per_row": slope}},
                                  {"kind": "comm", "cost": {"type": "affine", "fixed_us": 10, "us_per_row": 0.08}}],
                       "overlap": {"compute": 1, "comm": factor}}
            units = rows // 128
            best = min(makespan(problem, [128 * t for t in parts]) for n in range(1, units + 1)
                       for parts in itertools.product(range(1, units + 1), repeat=n) if sum(parts) == units) if units <= 6 else None
            exact, auto = self.solve(problem, "exact"), self.solve(problem)
            if best is not None:
                self.assertAlmostEqual(exact["predicted_us"], best, delta=0.01)
            self.assertGreaterEqual(auto["predicted_us"] + 1e-3, exact["predicted_us"])
            self.assertLessEqual(exact["lower_bound_us"], exact["predicted_us"])

    def test_documented_on_published_shapes(self):
        compared = 0
        document = json.loads(TILING.read_text())
        with open(DATA / "tiling" / "documented_rule.csv", encoding="utf-8") as file:
            for row in itertools.islice(csv.DictReader(file), 0, None, 20):
                if row["max_note"] or row["min_note"]:
                    continue
                rows, k, n = int(row["M"]), int(row["K"]), int(row["N"])
                compute, comm = document["phases"]
                problem = dict(document, rows=rows, shape={"k": k, "n": n, "element_bytes": 2}, phases=[
                    {"kind": "compute", "cost": {"type": "affine", "fixed_us": 0, "min_rows": 128,
                                                 "us_per_row": float(row["mm_us"]) / rows}},
                    {"kind": "comm", "cost": dict(comm["cost"], bytes_per_row=2 * n)}])
                tiles = []
                for part in row["max_tiles"].split("+"):
                    length, _, times = part.partition("x")
                    tiles += [int(length)] * int(times or 1)
                with self.subTest(row["name"]):
                    self.assertEqual(self.solve(problem, "documented")["tiles"], tiles)
                compared += 1
        self.assertGreater(compared, 1)


class Costs(ToolTest):
    """Cost types beyond those of the document's example, against the formulas above."""

    ROOFLINE = {"type": "roofline", "k": 3072, "n": 8192, "tflops": 313, "launch_us": 6, "cores": 20, "gb_per_s": 1200}
    ALPHA_BETA = {"type": "alpha_beta", "alpha_us": 12, "gb_per_s": 75, "bytes_per_row": 16384}

    def problem(self, compute=None, comm=None, **fields):
        problem = {"version": 1, "rows": 4096, "overlap": {"comm": 1.15}, **fields, "phases": [
            {"kind": "compute", "cost": compute or self.ROOFLINE}, {"kind": "comm", "cost": comm or self.ALPHA_BETA}]}
        return problem, self.file("problem.json", json.dumps(problem))

    def test_roofline_and_alpha_beta(self):
        memory_bound = dict(self.ROOFLINE, gb_per_s=100)
        coarse = dict(self.ROOFLINE, block_rows=256, block_columns=128, cores=48, element_bytes=4)
        for compute in (self.ROOFLINE, memory_bound, coarse, {k: v for k, v in self.ROOFLINE.items() if k != "gb_per_s"}):
            for policy in ("auto", "exact", "one-plus-n", "uniform"):
                problem, path = self.problem(compute)
                answer = json.loads(self.ok("tiling", "solve", "--problem", path, "--policy", policy).text)
                self.assertAlmostEqual(answer["predicted_us"], makespan(problem, answer["tiles"]), delta=0.01)
                self.assertAlmostEqual(answer["serial_us"], makespan(problem, [4096]), delta=0.01)
                self.assertLessEqual(answer["predicted_us"], answer["serial_us"])
                if compute is not memory_bound:  # where every further tile reads the weights again, not all pay
                    self.assertLess(answer["predicted_us"], answer["serial_us"])

    def test_a_domain_flags_what_lies_outside(self):
        for cost in (self.ALPHA_BETA, self.ROOFLINE, {"type": "affine", "us_per_row": 0.2},
                     {"type": "piecewise", "bytes_per_row": 10000, "pieces": [{"coefficients": [5, 20]}]}):
            for domain, outside in (([128, 4096], False), ([1, 100], True), ([4097, 5000], True)):
                _, path = self.problem(comm=dict(cost, domain=domain))
                answer = json.loads(self.ok("tiling", "solve", "--problem", path).text)
                self.assertEqual("extrapolated" in answer["flags"], outside, (cost, domain))

    def test_costs_that_are_none(self):
        for field, value in (("tflops", 0), ("tflops", "fast"), ("k", 0), ("n", 1.5), ("cores", 0), ("gb_per_s", -1),
                             ("launch_us", -1), ("block_rows", 0), ("waves", 3), ("domain", [2, 1])):
            _, path = self.problem(dict(self.ROOFLINE, **{field: value}))
            self.refused("tiling", "solve", "--problem", path, says=field)
        for field, value in (("gb_per_s", 0), ("alpha_us", -1), ("bytes_per_row", 0), ("beta", 1), ("domain", [1])):
            _, path = self.problem(comm=dict(self.ALPHA_BETA, **{field: value}))
            self.refused("tiling", "solve", "--problem", path, says=field)
        for cost, field in ((self.ROOFLINE, "tflops"), (self.ALPHA_BETA, "bytes_per_row")):
            _, path = self.problem({k: v for k, v in cost.items() if k != field})
            self.refused("tiling", "solve", "--problem", path, says=field)
        _, path = self.problem({"type": "linear"})
        self.refused("tiling", "solve", "--problem", path, says='roofline or alpha_beta, but its type is "linear"')
        for value in (0, -0.5):
            document = json.loads(TILING.read_text())
            document["overlap"] = {"comm": value}
            path = self.file("factor.json", json.dumps(document))
            self.refused("tiling", "solve", "--problem", path, says=f'"overlap.comm" is {value}, but must be above 0')
        _, path = self.problem({"type": "affine", "us_per_row": -0.25})
        self.refused("tiling", "solve", "--problem", path, says="is -0.25, but must not be negative")


class Forms(ToolTest):
    """The fields of a problem that restrict or re-time its tilings."""

    def setUp(self):
        super().setUp()
        self.problem = json.loads(TILING.read_text())

    def solve(self, policy="auto", **fields):
        path = self.file("problem.json", json.dumps(dict(self.problem, **fields)))
        return json.loads(self.ok("tiling", "solve", "--problem", path, "--policy", policy).text)

    def test_formats_and_orders(self):
        exact = {f: self.solve("exact", format=f) for f in ("any", "two-runs", "one-plus-n", "uniform")}
        times = [exact[f]["predicted_us"] for f in ("any", "two-runs", "one-plus-n", "uniform")]
        self.assertEqual(times, sorted(times))
        self.assertLess(times[0], times[-1])
        for form, answer in exact.items():
            runs = [k for k, _ in itertools.groupby(answer["tiles"])]
            self.assertTrue(form == "any" or len(runs) <= 2, form)
            self.assertLessEqual(answer["predicted_us"], self.solve(format=form)["predicted_us"] + 1e-3)
            self.assertAlmostEqual(answer["predicted_us"], makespan(self.problem, answer["tiles"]), delta=0.01)
        first, last = (self.solve(shorter=end)["tiles"] for end in ("first", "last"))
        self.assertEqual(first, sorted(first))
        self.assertEqual(last, sorted(last, reverse=True))

    def test_contention_by_rate_is_never_slower_than_fixed_factors(self):
        fixed, rate = self.solve(), self.solve(contention="while-both")
        self.assertLessEqual(rate["predicted_us"], fixed["predicted_us"])
        path = self.file("rate.json", json.dumps(dict(self.problem, contention="while-both")))
        self.refused("tiling", "solve", "--problem", path, "--policy", "exact", says="contention")

    def test_ready_times_and_groups(self):
        late = [dict(self.problem["phases"][0]), dict(self.problem["phases"][1], ready_us=5000)]
        self.assertGreaterEqual(self.solve(phases=late)["predicted_us"], 5000)
        grouped = [dict(self.problem["phases"][0], groups=8), self.problem["phases"][1]]
        alone = self.solve("none")["predicted_us"]
        self.assertAlmostEqual(self.solve("none", phases=grouped)["predicted_us"], alone, delta=0.01)  # a pure rate
        fixed = dict(self.problem["phases"][0]["cost"], fixed_us=5)
        grouped = [dict(self.problem["phases"][0], groups=8, cost=fixed), self.problem["phases"][1]]
        self.assertAlmostEqual(self.solve("none", phases=grouped)["predicted_us"], alone + 40, delta=0.01)

    def test_pinned_lengths_stay_when_rows_change(self):
        tiles = [self.solve("pinned", rows=rows)["tiles"] for rows in (1000, 3000, 5000)]
        for shorter, longer in itertools.pairwise(tiles):
            self.assertEqual(longer[:len(shorter) - 1], shorter[:-1])

    def test_a_picture_of_before_and_after(self):
        path = self.file("picture.svg", "")
        self.ok("tiling", "solve", "--problem", TILING, "--svg", path)
        with open(path, encoding="utf-8") as file:
            picture = file.read()
        for words in ("<svg", "uncut: compute", "cut: communication", "4096 rows"):
            self.assertIn(words, picture)

    def test_fields_that_are_none(self):
        for field, value in (("format", "three-runs"), ("shorter", "middle"), ("contention", "sometimes")):
            path = self.file("bad.json", json.dumps(dict(self.problem, **{field: value})))
            self.refused("tiling", "solve", "--problem", path, says=field)
        for field, value in (("groups", 0), ("ready_us", -1), ("groups", "8")):
            phases = [dict(self.problem["phases"][0], **{field: value}), self.problem["phases"][1]]
            path = self.file("bad.json", json.dumps(dict(self.problem, phases=phases)))
            self.refused("tiling", "solve", "--problem", path)


class Fit(ToolTest):
    def test_a_fit_is_a_cost_that_solve_reads(self):
        samples = self.file("samples.csv", "size,time_us,repeats\n128,20,3\n256,30,3\n512,29,1\n1024,80,3\n4096,300,3\n")
        done = json.loads(self.ok("tiling", "fit", "--samples", samples).text)
        us = done["cost"]["us"]
        self.assertEqual(us, sorted(us))
        self.assertEqual(len(us), len(done["cost"]["rows"]))
        problem = {"version": 1, "rows": 4096, "phases": [{"kind": "compute", "cost": done["cost"]}, {"kind": "comm", "cost": done["cost"]}]}
        answer = json.loads(self.ok("tiling", "solve", "--problem", self.file("p.json", json.dumps(problem))).text)
        self.assertEqual(sum(answer["tiles"]), 4096)

    def test_samples_that_hardly_measure_one_thing(self):
        absurd = self.file("absurd.csv", "size,time_us\n1,5\n2,1e9\n3,0.001\n4,7\n")
        self.assertIn("mean_error=0.5000", self.ok("tiling", "fit", "--samples", absurd).err)
        self.assertIn("(doubtful", self.ok("tiling", "fit", "--samples", absurd).err)
        headless = self.file("headless.csv", "128,20\n256,30\n")
        self.refused("tiling", "fit", "--samples", headless, says="the first line must be size,time_us")

    def test_pieces_repairs_and_advice(self):
        rows = [(128 * i, (20 + 0.1 * 128 * i) if i < 8 else 300 + 0.02 * 128 * i) for i in range(1, 17)] + [(256, 900), (256, 45)]
        samples = self.file("samples.csv", "size,time_us\n" + "".join(f"{r},{t}\n" for r, t in rows))
        done = json.loads(self.ok("tiling", "fit", "--samples", samples, "--pieces", "4", "--advise", "3").text)
        self.assertEqual(done["cost"]["type"], "piecewise")
        self.assertIn(len(done["cost"]["pieces"]), (2, 3, 4))
        self.assertLess(done["mean_error"], 0.01)
        self.assertIn("merged", [r["kind"] for r in done["repairs"]])
        self.assertTrue(896 < done["measure_next"][0] < 1024)
        problem = {"version": 1, "rows": 2048, "phases": [{"kind": "compute", "cost": done["cost"]}, {"kind": "comm", "cost": done["cost"]}]}
        answer = json.loads(self.ok("tiling", "solve", "--problem", self.file("p.json", json.dumps(problem))).text)
        self.assertAlmostEqual(answer["serial_us"], 2 * (300 + 0.02 * 2048), delta=3)
        self.assertEqual(done["cost"]["domain"], [128, 2048])
        self.assertNotIn("extrapolated", answer["flags"])
        problem["rows"] = 128 * 400
        answer = json.loads(self.ok("tiling", "solve", "--problem", self.file("p.json", json.dumps(problem))).text)
        self.assertIn("extrapolated", answer["flags"])

    def test_samples_that_are_none(self):
        for text, says in (("1,2\n", "number of samples"), ("1,2\n2,0\n", "sample 2"), ("1,2\n1,90\n2,90\n", "contradict")):
            self.refused("tiling", "fit", "--samples", self.file("bad.csv", "size,time_us\n" + text), says=says)

    def test_line_ends(self):
        plain = "size,time_us\n128,20.5\n256,31\n"
        expected = self.ok("tiling", "fit", "--samples", self.file("a.csv", plain)).out
        for content in (plain.rstrip("\n"), plain.replace("\n", "\r\n"), "\ufeff" + plain):
            self.assertEqual(self.ok("tiling", "fit", "--samples", self.file("b.csv", content)).out, expected)


if __name__ == "__main__":
    main()
