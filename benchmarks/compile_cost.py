# SPDX-License-Identifier: Apache-2.0
"""What compiling hocket/cost.hpp takes: processor seconds of the compiler, the least of a few runs, without code
generation tricks (-O0 -c). Run it from the root of the repository:

    python3 benchmarks/compile_cost.py [--runs 3] [g++ clang++-19 …]
"""
import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = (("the header alone", ["-DHOCKET_HEADER_ALONE"], "-"), ("every formula evaluated", [], "2"),
         ("and reports, predictions, text", ["-DHOCKET_EVERYTHING"], "-"))


def seconds(command):
    """Processor time of the command and what it starts; the compiler runs in this process's children alone."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compilers", nargs="*", default=["g++"])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for compiler in options.compilers:
            for what, flags, must in CASES:
                command = [compiler, "-std=c++20", "-O0", "-I", str(ROOT / "include"), *flags, "-c",
                           str(ROOT / "benchmarks" / "compile_cost.cpp"), "-o", os.path.join(folder, "out.o")]
                least = min(seconds(command) for _ in range(options.runs))
                print(f"cost/compile  {compiler:10} {what:32} {least:6.2f} s   must <= {must}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
