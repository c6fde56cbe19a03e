# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the committed op graphs must be, checked without PyTorch: python3 -m unittest discover -s tests/capture"""
import csv
import pathlib
import re
import unittest

from reference import dependencies, parse_ops, reduction

OPS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "ops"
KINDS = ("compute", "collective", "random", "io")


def table():
    """The rows of the table of examples/data/ops/README.md: file -> numbers in the order of its columns."""
    rows = {}
    for line in (OPS / "README.md").read_text(encoding="utf-8").splitlines():
        found = re.match(r"\|\s*`(\S+)\.ops\.csv`\s*\|([\d,| ]+)\|$", line)
        if found:
            rows[found.group(1)] = [int(cell.replace(",", "")) for cell in found.group(2).split("|")]
    return rows


class Committed(unittest.TestCase):
    def test_every_file_is_described(self):
        self.assertEqual(sorted(table()), sorted(p.name[:-len(".ops.csv")] for p in OPS.glob("*.ops.csv")))
        self.assertEqual(len(table()), 3)

    def test_each_file(self):
        for name, (ops_count, compute, collective, random, io, edges, kept) in table().items():
            with self.subTest(name):
                path = OPS / f"{name}.ops.csv"
                self.assertLess(path.stat().st_size, 2_000_000)
                self.assertLess((OPS / f"{name}.names.csv").stat().st_size, 2_000_000)
                ops = parse_ops(path.read_text(encoding="ascii"))
                self.assertEqual(len(ops), ops_count)
                self.assertEqual([sum(op.kind == kind for op in ops) for kind in KINDS],
                                 [compute, collective, random, io])
                names = list(csv.DictReader((OPS / f"{name}.names.csv").read_text(encoding="ascii").splitlines()))
                rows = [row for row in names if row["what"] == "op"]
                variables = [row for row in names if row["what"] == "variable"]
                self.assertEqual([int(row["id"]) for row in rows], list(range(len(ops))))
                self.assertEqual({v for op in ops for v in op.reads + op.writes}, set(range(len(variables))))

                # Whatever is read before it is written is an input of the step. Values never are.
                written = set()
                for index, op in enumerate(ops):
                    for v in op.reads:
                        if v not in written:
                            self.assertIn(variables[v]["phase"],
                                          ("parameter", "optimizer", "buffer", "batch", "gradient"), (index, v))
                    written |= set(op.writes)
                # Each parameter and its two moments are written in place, by the optimizer, after being read.
                by_name = {row["name"]: int(row["id"]) for row in variables}
                parameters = [row for row in variables if row["phase"] == "parameter"]
                self.assertTrue(parameters)
                for row in parameters:
                    for v in (int(row["id"]), by_name[f"exp_avg({row['name']})"],
                              by_name[f"exp_avg_sq({row['name']})"]):
                        writers = [i for i, op in enumerate(ops) if v in op.writes]
                        self.assertTrue(writers)
                        self.assertEqual({rows[i]["phase"] for i in writers}, {"optimizer"})
                # One data-parallel all-reduce a bucket and step, between its copy-in and its copy-out.
                buckets = [int(row["id"]) for row in variables if row["phase"] == "bucket"]
                reduced = [op for op in ops if op.kind == "collective" and op.stream == 1]
                self.assertEqual(len(reduced) % len(buckets), 0)
                self.assertEqual(sorted(op.writes[0] for op in reduced),
                                 sorted(buckets * (len(reduced) // len(buckets))))

                before = dependencies(ops)
                after, _ = reduction(before)
                self.assertEqual(sum(map(len, before)), edges)
                self.assertEqual(sum(map(len, after)), kept)


if __name__ == "__main__":
    unittest.main()
