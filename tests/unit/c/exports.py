#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shared library exports what hocket.h declares and nothing else, and the C test calls each of these functions.

    exports.py LIBRARY HEADER TEST.c…
"""
import pathlib
import re
import subprocess
import sys


def main(library, header, *tests):
    text = pathlib.Path(header).read_text()
    declared = set(re.findall(r"^HOCKET_C_API [^;]*?\b(hocket_\w+)\(", text, re.M))
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    exported -= {name for name in exported if name.startswith(("__asan", "__ubsan", "__sanitizer"))}
    called = set(re.findall(r"\b(hocket_\w+)\(", "".join(pathlib.Path(t).read_text() for t in tests)))
    wrong = [f"{name} is exported, but not declared" for name in sorted(exported - declared)]
    wrong += [f"{name} is declared, but not exported" for name in sorted(declared - exported)]
    wrong += [f"{name} is not called by the C test" for name in sorted(declared - called)]
    print("\n".join(wrong) or f"{len(declared)} functions")
    return 1 if wrong or len(declared) < 50 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
