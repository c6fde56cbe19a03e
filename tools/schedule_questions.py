#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""70 questions for the schedule search, and how well a tool answers them.

    python3 tools/schedule_questions.py --tool hocket                                distance from the record
    python3 tools/schedule_questions.py --tool hocket --seed 23 --against OTHER      from another tool, on other questions
    python3 tools/schedule_questions.py --tool hocket --record                       writes the record anew

The record, tests/data/planner/schedules.csv, holds each question whole, so that tests and benchmarks read it without
this script. `./dev bench planner/schedule_table` prints what each engine of the search is worth on it.
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
RECORDED_SEED = 22
TIMES = ("forward", "input_grad", "weight_grad")


class Numbers:
    """A linear congruential generator (Knuth's MMIX): the same numbers under every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


def questions(seed):
    numbers = Numbers(seed)
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


def answered(tool, seed, budget):
    """Each question with the tool's answer."""
    for question in questions(seed):
        makespan, bound = answer(tool, question, budget)
        yield {**question, "makespan": makespan, "lower_bound": bound}


def record(rows):
    with RECORD.open("w", newline="") as out:
        writer = None
        for row in rows:
            if writer is None:
                writer = csv.DictWriter(out, row, lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            out.flush()


def compare(ours, theirs):
    """Prints how far the makespans of ours are above theirs, and above the bounds of ours."""
    above = {column: [] for column, _ in COLUMNS}
    gaps = {column: [] for column, _ in COLUMNS}
    for our, their in zip(ours, theirs, strict=True):
        above[our["column"]].append(100 * (our["makespan"] / int(their["makespan"]) - 1))
        gaps[our["column"]].append(100 * (our["makespan"] / our["lower_bound"] - 1))
    print("| questions | above theirs, mean | worst | above its own bound, mean | worst |\n|---|---|---|---|---|")
    for column, _ in COLUMNS:
        cells = [sum(above[column]) / QUESTIONS_EACH, max(above[column]), sum(gaps[column]) / QUESTIONS_EACH, max(gaps[column])]
        print(f"| {column} | " + " | ".join(f"{cell:.2f} %" for cell in cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="the command-line tool")
    parser.add_argument("--against", metavar="TOOL", help="compare with the answers of this tool, not with the record")
    parser.add_argument("--seed", type=int, default=RECORDED_SEED, help="of the questions; the record has those of %(default)s")
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--record", action="store_true", help="write the tool's answers down")
    options = parser.parse_args()
    if options.seed != RECORDED_SEED and (options.record or not options.against):
        parser.error(f"only the questions of seed {RECORDED_SEED} are recorded: say --against TOOL")
    ours = answered(options.tool, options.seed, options.budget)
    if options.record:
        record(ours)
    elif options.against:
        compare(ours, answered(options.against, options.seed, options.budget))
    else:
        compare(ours, csv.DictReader(RECORD.open()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
