#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/python/plans.ipynb runs, and prints what it has stored. `test_notebook.py --record` stores what it prints."""
import pathlib
import sys
import unittest

import nbclient
import nbformat

path = pathlib.Path(__file__).resolve().parents[2] / "examples/python/plans.ipynb"


def cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell):
    return "".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)


def executed():
    notebook = nbformat.read(path, as_version=4)
    return nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3",
                                   resources={"metadata": {"path": str(path.parent)}}).execute()


class Notebook(unittest.TestCase):
    def test_it_prints_what_it_has_stored(self):
        for stored, now in zip(cells(nbformat.read(path, as_version=4)), cells(executed()), strict=True):
            self.assertEqual(printed(now), printed(stored), now.source)

    def test_cells_are_short(self):
        for cell in cells(nbformat.read(path, as_version=4)):
            self.assertLessEqual(len(cell.source.splitlines()), 5, cell.source)


def record():
    notebook = executed()
    for cell in cells(notebook):
        cell.metadata = {}
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        unittest.main()
