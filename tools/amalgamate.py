#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes everything in hocket::hocket as one header, for Compiler Explorer and for trying things out.

    tools/amalgamate.py --out build/single/hocket.hpp

The headers are those of HOCKET_HEADERS in cmake/headers.cmake, each once, in an order in which each comes after what it
includes. Nothing else is changed: includes of the standard library and conditional code stay where they are.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](hocket/[^>"]+)[>"].*\n', re.M)


def header_list(root):
    text = re.sub(r"#.*", "", (root / "cmake/headers.cmake").read_text())
    return re.search(r"set\(HOCKET_HEADERS\s*([^)]*)\)", text)[1].split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    headers = header_list(options.root)
    texts = {h: (options.root / "include" / h).read_text(encoding="utf-8") for h in headers}

    ordered, open_ones = [], []

    def visit(header):
        if header in ordered:
            return
        if header in open_ones:
            sys.exit(f"{header} includes itself through {' -> '.join(open_ones)}")
        if header not in texts:
            sys.exit(f"{open_ones[-1]} includes {header}, which HOCKET_HEADERS does not list")
        open_ones.append(header)
        for other in OWN_INCLUDE.findall(texts[header]):
            visit(other)
        open_ones.pop()
        ordered.append(header)

    for header in headers:
        visit(header)

    parts = re.findall(r"#define HOCKET_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", texts["hocket/version.hpp"])
    out = ["// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
           f"// hocket {'.'.join(parts)} in one file, written by tools/amalgamate.py: change the headers, not this.",
           "#pragma once", ""]
    for header in ordered:
        text = OWN_INCLUDE.sub("", texts[header])
        text = re.sub(r"^(// SPDX-License-Identifier: .*|#pragma once)\n", "", text, flags=re.M)
        out += [f"// ---- {header} " + "-" * max(0, 100 - len(header)), text.strip("\n"), ""]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(out), encoding="utf-8")
    print(f"{options.out}: {len(ordered)} headers, {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
