#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which lines and branches of the headers do the tests run through?

    tools/coverage.py PROFILES OUT PATH PROGRAM…     the headers below PATH, by what the programs left in PROFILES

clang counts by place in the source, so a template counts as run where one of its instantiations was, in any program. A
branch is a side of a condition: true or false; what is decided while compiling has none. Not counted are assertions, which
end the program, comparisons that the compiler writes, and lines without code. Functions that only the compiler runs, as
most formulas are, show as not run. What was not run is listed in OUT.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

LINE = re.compile(r" *(\d+)\| *([\d.kMGTPE]*)\|(.*)")
NO_CODE = re.compile(r" *(//.*|[{}();]*|else|default:|public:|private:)$")
NOT_COUNTED = re.compile(r"HOCKET_ASSERT|operator==.*= default;")
BRANCH = re.compile(r" +\|  Branch \((\d+):(\d+)\): \[True: ([\d.kMGTPE]+), False: ([\d.kMGTPE]+)\]")


class Header:
    """Times that each line was run, and sides that each condition took, the instantiations of a template together."""

    def __init__(self):
        self.lines, self.sides, self.text = {}, {}, {}

    def read(self, row):
        if match := LINE.match(row):
            number = int(match[1])
            self.text[number] = match[3].strip()
            if match[2] and not NO_CODE.match(match[3]):
                self.lines[number] = self.lines.get(number, False) or match[2] != "0"
        elif match := BRANCH.match(row):
            place = int(match[1]), int(match[2])
            if NOT_COUNTED.search(self.text[place[0]]):
                return
            for side, count in (("true", match[3]), ("false", match[4])):
                key = place + (side,)
                self.sides[key] = self.sides.get(key, False) or count != "0"

    def uncovered(self):
        """One row a line: the line was not run, or a condition in a line that was run never had this value."""
        for number, run in sorted(self.lines.items()):
            if not run:
                yield number, "not run"
                continue
            missing = [f"{column} never {side}" for (line, column, side), seen in sorted(self.sides.items())
                       if line == number and not seen]
            if missing:
                yield number, "column " + ", ".join(missing)


def percent(part, whole):
    return f"{100 * part / whole:5.1f} %" if whole else "      -"


def row_of(name, headers):
    lines = [run for header in headers for run in header.lines.values()]
    sides = [seen for header in headers for seen in header.sides.values()]
    return (f"{name:52} {sum(lines):6} of {len(lines):6} lines {percent(sum(lines), len(lines))}"
            f"  {sum(sides):6} of {len(sides):6} branches {percent(sum(sides), len(sides))}")


def read(report, headers):
    """Adds what `llvm-cov show` prints: the path in a line of its own before each header."""
    current = None
    for row in report.splitlines():
        if row.startswith("/") and row.endswith(":"):
            current = headers.setdefault(row[:-1], Header())
        elif current is not None:
            current.read(row)


def main():
    profiles, out, path = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    counts = profiles / "all.profdata"
    subprocess.run(["llvm-profdata-19", "merge", "-sparse", "-o", counts, *profiles.glob("*.profraw")], check=True)

    # One program at a time: of several, llvm-cov takes a function that the first one does not use as never run.
    def show(program):
        command = ["llvm-cov-19", "show", "--show-branches=count", "--show-instantiations=false",
                   f"-instr-profile={counts}", program, "-sources", path]
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode != 0 and "no coverage data found" not in answer.stderr:  # a program in C has none
            sys.exit(f"coverage.py: {answer.stderr.strip()}")
        return answer.stdout

    headers = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for report in pool.map(show, sys.argv[4:]):
            read(report, headers)
    with open(out, "w", encoding="utf-8") as file:
        for name, header in sorted(headers.items()):
            place = pathlib.Path(name).relative_to(path.parent)
            print(row_of(str(place), [header]))
            for number, what in header.uncovered():
                file.write(f"{place}:{number}: {what}: {header.text[number]}\n")
    print(row_of("all", headers.values()))


if __name__ == "__main__":
    main()
