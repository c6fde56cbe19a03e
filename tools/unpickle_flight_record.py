#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes pickles of PyTorch's Flight Recorder as JSON next to them, for `hocket ranks hang`.

Usage: unpickle_flight_record.py FILE...    nccl_trace_rank_3 becomes nccl_trace_rank_3.json

A pickle may run code of whoever wrote it. This reader takes none that names a class or a function: a record is made of
dictionaries, lists, numbers and texts alone.
"""
import json
import pathlib
import pickle
import sys


class PlainData(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it names {module}.{name}, which a flight record does not")


def main(paths):
    for path in map(pathlib.Path, paths):
        try:
            with path.open("rb") as file:
                record = PlainData(file).load()
            text = json.dumps(record)
        except (OSError, pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError) as why:
            sys.exit(f"{path}: not a flight record: {why}")
        target = path.with_name(path.name + ".json")
        target.write_text(text + "\n")
        print(target)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
