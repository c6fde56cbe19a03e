# SPDX-License-Identifier: Apache-2.0
"""What compiling hocket/cost.hpp takes, and a proof with hocket/pipeline.hpp: processor seconds of the compiler, the
least of a few runs, without code generation tricks (-O0 -c). Run it from the root of the repository:

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
WHOLE = "-DHOCKET_WHOLE_PIPELINE"
CASES = (("cost", "the header alone", ["-DHOCKET_HEADER_ALONE"], "-"), ("cost", "every formula evaluated", [], "2"),
         ("cost", "and reports, predictions, text", ["-DHOCKET_EVERYTHING"], "-"),
         ("pipeline", "the header alone", [WHOLE, "-DHOCKET_HEADER_ALONE"], "-"),
         ("pipeline", "and a proof of 4,096 actions", [WHOLE], "1"),
         ("pipeline", "that proof, its own headers only", [], "1"))


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
            for component, what, flags, must in CASES:
                command = [compiler, "-std=c++20", "-O0", "-I", str(ROOT / "include"), *flags, "-c",
                           str(ROOT / "benchmarks" / f"compile_{component}.cpp"), "-o", os.path.join(folder, "out.o")]
                least = min(seconds(command) for _ in range(options.runs))
                print(f"{component}/compile".ljust(17) + f"{compiler:10} {what:32} {least:6.2f} s   must <= {must}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
