#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user's compiler pays for a header.

    tools/check_compile_cost.py            the gate: two deterministic counts against tests/data/compile_cost/figures.csv
    tools/check_compile_cost.py --lines    only the first of the counts, which needs no clang
    tools/check_compile_cost.py --record   writes that file anew
    tools/check_compile_cost.py --table    times beside <regex>, <ranges>, Boost.Graph and Hana, as a Markdown table

Counted are the lines that g++ -E prints, and the classes and functions that clang++-19 instantiates, each as a multiple of
the same count for <regex> alone: so the counts hold for more than one version of the standard library. A count may grow by
5 % over its record. Times are user seconds of -fsyntax-only, interleaved, the least of three.
"""
import argparse
import collections
import csv
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ROOT / "tests/data/compile_cost/figures.csv"
UNIT = "regex"
TOLERANCE = 1.05
# Header -> the most that its time may be, in times of <regex>.
HEADERS = {
    "hocket/hocket.hpp": 4, "hocket/planner.hpp": 4, "hocket/launch.hpp": 2.5, "hocket/graph.hpp": 2.5, "hocket/cost.hpp": 2,
    "hocket/pipeline.hpp": 2, "hocket/tiling.hpp": 2, "hocket/text.hpp": 2, "hocket/timeline.hpp": 2, "hocket/curve.hpp": 2,
    "hocket/core.hpp": 2, "hocket/ranks.hpp": 2.5,
}
PEERS = ["ranges", "boost/graph/adjacency_list.hpp", "boost/hana.hpp"]
PROGRAMS = {"every_formula": "every formula of cost evaluated", "proved_schedule": "2,048 actions proved in a static_assert"}
COUNTS = ("lines", "instantiations")


def source_of(name, folder):
    """A file that includes the header, or the program of that name."""
    if name in PROGRAMS:
        return ROOT / "benchmarks/compile" / f"{name}.cpp"
    path = pathlib.Path(folder) / (re.sub(r"\W", "_", name) + ".cpp")
    path.write_text(f"#include <{name}>\n")
    return path


def compile_command(compiler, *flags):
    return [compiler, "-std=c++20", "-I", str(ROOT / "include"), *map(str, flags)]


def lines(compiler, source):
    text = subprocess.run(compile_command(compiler, "-E", source), capture_output=True, text=True, check=True).stdout
    return sum(1 for line in text.split("\n") if line.strip() and not line.startswith("#"))


def instantiations(compiler, source, folder):
    trace = pathlib.Path(folder) / "trace.json"
    subprocess.run(compile_command(compiler, "-O0", "-c", source, "-o", f"{folder}/out.o", f"-ftime-trace={trace}",
                                   "-ftime-trace-granularity=0"), check=True)
    kinds = collections.Counter(e["name"] for e in json.loads(trace.read_text())["traceEvents"])
    return kinds["InstantiateClass"] + kinds["InstantiateFunction"]


def counts(names, gcc, clang, folder):
    """{name: {count: multiple of <regex>}}; without clang only lines."""
    rows = collections.defaultdict(dict)
    unit = source_of(UNIT, folder)
    of_unit = lines(gcc, unit), instantiations(clang, unit, folder) if clang else 0
    for name in names:
        source = source_of(name, folder)
        rows[name]["lines"] = lines(gcc, source) / of_unit[0]
        if clang:
            rows[name]["instantiations"] = instantiations(clang, source, folder) / of_unit[1]
        elif name in PROGRAMS:
            subprocess.run(compile_command(gcc, "-fsyntax-only", source), check=True)
    return rows


def grown(now, record):
    for name, row in now.items():
        for count, value in row.items():
            before = record.get(name, {}).get(count)
            if before is None:
                yield f"{name} has no {count} in {FIGURES.relative_to(ROOT)}: run tools/check_compile_cost.py --record"
            elif value > TOLERANCE * float(before):
                yield f"{name}: {count} are {value:.2f} times those of <{UNIT}>, on record are {before}: include less, or --record"


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def table(gcc, clang, runs, folder):
    names = [UNIT, *PEERS, *HEADERS, *PROGRAMS]
    least = dict.fromkeys(names, float("inf"))
    for _ in range(runs):
        for name in names:
            least[name] = min(least[name], user_seconds(compile_command(gcc, "-fsyntax-only", source_of(name, folder))))
    counted = counts(names, gcc, clang, folder)
    print(f"| what | time | times `<{UNIT}>` | most | lines | instantiations |\n|---|---|---|---|---|---|")
    for name in names:
        ratio, most = least[name] / least[UNIT], HEADERS.get(name)
        label = PROGRAMS.get(name, f"`<{name}>`")
        many = f"{counted[name]['instantiations']:.2f}" if clang else ""
        print(f"| {label} | {least[name]:.2f} s | {ratio:.2f} | {most or ''}{' MISSED' if most and ratio > most else ''} |"
              f" {counted[name]['lines']:.2f} | {many} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    clang = None if options.lines else shutil.which("clang++-19")
    with tempfile.TemporaryDirectory() as folder:
        if options.table:
            return table(options.compiler, clang, options.runs, folder)
        now = counts([*HEADERS, *PROGRAMS], options.compiler, clang, folder)
    if options.record:
        if not clang:
            sys.exit("a record needs clang++-19, too")
        with open(FIGURES, "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["name", *COUNTS])
            out.writerows([name, *(f"{row[c]:.2f}" for c in COUNTS)] for name, row in now.items())
        return 0
    with open(FIGURES, newline="") as file:
        record = {row["name"]: row for row in csv.DictReader(file)}
    findings = list(grown(now, record))
    for finding in findings:
        print(finding)
    print(f"{len(now)} headers and programs, {len(findings)} findings{'' if clang else ' (lines only)'}")
    return 1 if findings else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(f"this does not compile: {' '.join(failed.cmd)}")
