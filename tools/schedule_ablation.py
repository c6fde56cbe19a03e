#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The 70 schedule questions on which the engines of the search are judged, and how good a tool answers them.

    python3 tools/schedule_ablation.py --tool build/dev/examples/hocket_cli/hocket            distance from the record
    python3 tools/schedule_ablation.py --tool hocket --record                                 writes the record anew

The record, tests/data/planner/schedules.csv, holds each question whole, so that tests and benchmarks read it without
this script.
"""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

RECORD = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "planner" / "schedules.csv"
COLUMNS = (("no cap", 0), ("p*v, even", 0), ("p*v, uneven", 30), ("random cap, even", 0), ("random cap, uneven", 30))
QUESTIONS_EACH = 14
BUDGET = 400_000
TIMES = ("forward", "input_grad", "weight_grad")


class Numbers:
    """A linear congruential generator (Knuth's MMIX): the same numbers under every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


def questions():
    numbers = Numbers(22)
    for column, percent in COLUMNS:
        for index in range(QUESTIONS_EACH):
            ranks = 2 + index % 7
            chunks = 1 + numbers.below(4 if ranks <= 4 else 3)
            placement = "v" if chunks > 1 and numbers.below(2) else "loop"
            micro_batches = ranks + numbers.below(2 * ranks + 1)
            backward = "split" if numbers.below(2) else "whole"
            uneven = 30 if column == "no cap" and index % 2 else percent
            cap = ranks * chunks
            if column.startswith("random"):
                cap = chunks + numbers.below(ranks * chunks - chunks + 1)
            times = {key: [100 - uneven + numbers.below(2 * uneven + 1) for _ in range(ranks * chunks)] for key in TIMES}
            yield {"column": column, "ranks": ranks, "chunks": chunks, "micro_batches": micro_batches,
                   "placement": placement, "backward": backward, "cap": "" if column == "no cap" else cap,
                   **{key: " ".join(map(str, value)) for key, value in times.items()}, "hop": 10 * numbers.below(2)}


def answer(tool, question, budget):
    """(makespan, lower bound) by `hocket pipeline search`."""
    times = {key: [int(t) for t in question[key].split()] for key in TIMES}
    if question["backward"] == "whole":
        times["backward"] = [a + b for a, b in zip(times.pop("input_grad"), times.pop("weight_grad"))]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as costs:
        json.dump({"version": 1, **times, "hop": int(question["hop"])}, costs)
        costs.flush()
        words = [tool, "pipeline", "search", "--ranks", question["ranks"], "--chunks", question["chunks"],
                 "--micro-batches", question["micro_batches"], "--placement", question["placement"],
                 "--backward", question["backward"], "--costs", costs.name, "--budget", budget]
        if question["cap"] != "":
            words += ["--memory-cap", question["cap"]]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    return tuple(int(re.search(rf"\b{key}=(\d+)", done.stderr)[1]) for key in ("makespan", "lower_bound"))


def record(tool, budget):
    with RECORD.open("w", newline="") as out:
        writer = None
        for question in questions():
            makespan, bound = answer(tool, question, budget)
            row = {**question, "makespan": makespan, "lower_bound": bound}
            if writer is None:
                writer = csv.DictWriter(out, row, lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            out.flush()


def compare(tool, budget):
    print("| questions | above the record, mean | worst | above its own bound, mean | worst |\n|---|---|---|---|---|")
    rows = list(csv.DictReader(RECORD.open()))
    for column, _ in COLUMNS:
        worse, gaps = [], []
        for row in rows:
            if row["column"] != column:
                continue
            makespan, bound = answer(tool, row, budget)
            worse.append(100 * (makespan / int(row["makespan"]) - 1))
            gaps.append(100 * (makespan / bound - 1))
        cells = [sum(worse) / len(worse), max(worse), sum(gaps) / len(gaps), max(gaps)]
        print(f"| {column} | " + " | ".join(f"{cell:.2f} %" for cell in cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="the command-line tool")
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--record", action="store_true", help="write the tool's answers down")
    options = parser.parse_args()
    (record if options.record else compare)(options.tool, options.budget)
    return 0


if __name__ == "__main__":
    sys.exit(main())
