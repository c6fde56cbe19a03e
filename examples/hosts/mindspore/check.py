# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks hocket about what MindSpore wrote, and compares the answers with what it counted, copied and measured itself.

    check.py HOCKET FOLDER
"""
import json
import pathlib
import re
import subprocess
import sys

hocket, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*words):
    done = subprocess.run([hocket, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"hocket {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def ask(*words):
    return json.loads(run(*words, "--format", "json"))


def require(true, what):
    if not true:
        raise SystemExit(f"wrong: {what}")


def one(pattern):
    found = sorted(folder.glob(pattern))
    require(found, f"MindSpore wrote no {pattern}")
    return found[-1]


def counts(name):
    """Each dump of each pass has the nodes that it says; what is no dump of the IR is refused."""
    read = 0
    for dump in sorted((folder / name).glob("*.ir")):
        text = dump.read_text()
        said = re.search(r"Total number of cnodes: (\d+)", text)
        if not text.startswith("# IR entry") or not said:
            continue
        require(ask("ir", "summary", dump)["nodes"] == int(said[1]), f"nodes of {dump}")
        read += 1
    require(read > 10, f"dumps in {name}")
    return read


def recomputation(name):
    """What is said to be computed again has a copy in the dump, and no other mark has."""
    dump = one(f"{name}/*_validate_*.ir")
    report = ask("ir", "recompute", dump)
    copies = dump.read_text().count("duplicated: Bool(1)")
    require(report["copies"] == copies, f"copies of {dump}")
    require(report["computed_again"] + report["other_copies"] == copies, f"copies of {dump} that are expected")
    for mark in report["marks"]:
        require(mark["duplicated"] == (mark["outcome"] == "computed_again"), f"{dump}: {mark}")
    return len(report["marks"]), copies


def collectives(name):
    totals = ask("ir", "collectives", one(f"{name}/*_validate_*.ir"))["totals"]
    require(totals["not_explained"]["count"] == 0, f"collectives of {name}: {totals}")
    return {reason: total["count"] for reason, total in totals.items() if total["count"]}


def order(name):
    """The ops of a step have an order, and the reduction of it is accepted."""
    table = folder / f"{name}.csv"
    run("ir", "ops", one(f"{name}/*_validate_*.ir"), "--out", table)
    return len(run("graph", "prune", "--rules", "ordered", "--ops", table).splitlines()) - 1


def peak(name):
    """The peak of the dump in the order in which it runs is the measured one, but for inputs and constants."""
    record = one(f"profile_{name}/*/FRAMEWORK/cpu_ms_memory_record_0.txt")
    measured = max(int(row.split(",")[1]) for row in record.read_text().splitlines()[1:])
    expected = ask("ir", "peak", "--cpu", one(f"{name}/*_validate_*.ir"))["peak_bytes"]
    require(0 <= measured - expected < 1 << 17, f"peak of {name}: {expected} of the dump, {measured} measured")
    return measured, expected


def main():
    for name in ("plain", "full", "tensor", "pipeline"):
        print(f"{name}: {counts(name)} dumps of passes; {order(name)} pairs of ops in order")
    for name in ("full", "tensor", "pipeline"):
        print("{}: {} ops marked for recomputation, {} copies".format(name, *recomputation(name)))
    for name in ("tensor", "pipeline"):
        print(f"{name}: collectives {collectives(name)}")
    for name in ("plain", "full"):
        print("{}: peak measured {:,} bytes, of the dump {:,}".format(name, *peak(name)))
    print("mindspore host: all as MindSpore counted, copied and measured")


if __name__ == "__main__":
    main()
