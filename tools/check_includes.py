#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks "Who may include whom" on what the compiler really opens (-M), header by header.

Our own headers must stay within their component's rule; headers of hocket::hocket must open nothing beyond hocket and the
standard library; and no header may name a standard header that is heavy or does I/O. The last is read from our own text,
because libstdc++ itself opens parts of <functional> or <ranges> behind light headers.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# component -> components it may include, besides itself and core
DIRECT = {
    "core": set(),
    "curve": set(),
    "timeline": set(),
    "graph": set(),
    "pipeline": {"timeline"},
    "tiling": {"curve", "timeline"},
    "cost": {"curve", "timeline"},
    "launch": {"timeline"},
    "ranks": {"graph", "timeline"},
    "planner": {"cost", "pipeline", "curve", "graph"},
}
COMPONENTS = set(DIRECT) | {"text", "testing", "interop"}
INCLUDED_BY_NONE = {"testing", "interop"}
# First word of launch/bridges/NAME.hpp, or of launch/detail/NAME.hpp that bridges share -> the component it may include.
BRIDGES = {"graph": "graph", "tiling": "tiling", "pipeline": "pipeline", "device": "pipeline"}
NEEDS_THIRD_PARTY = {"cost", "planner"}  # so neither the umbrella hocket.hpp nor text may reach them

HEAVY = {"ranges", "iostream", "functional", "regex"}
NO_IO = {"cstdio", "stdio.h", "filesystem", "fstream", "iomanip", "istream", "ostream", "sstream", "streambuf", "print"}
LAST_WORDS = "hocket/core/result.hpp"  # prints a sentence before it ends the program, and nothing else
THREADS = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "semaphore", "latch", "barrier",
           "stop_token"}


def component_of(header):
    """hocket/graph/dag.hpp and hocket/graph.hpp belong to graph; config.hpp, version.hpp and core.hpp to core."""
    name = header.split("/")[1].removesuffix(".hpp")
    if name in ("config", "version"):
        return "core"
    return name


def allowed(header):
    """The components whose headers this header may open, itself or through others."""
    component = component_of(header)
    if component == "hocket":
        return COMPONENTS - INCLUDED_BY_NONE - NEEDS_THIRD_PARTY
    if component in ("interop", "testing"):
        return COMPONENTS
    if component == "text":
        return COMPONENTS - INCLUDED_BY_NONE
    direct = set(DIRECT[component])
    bridge = re.match(r"hocket/launch/(?:bridges|detail)/([a-z]+)", header)
    if bridge and bridge[1] in BRIDGES:
        direct.add(BRIDGES[bridge[1]])
    elif header == "hocket/launch.hpp":
        direct |= set(BRIDGES.values())
    reached, queue = {component, "core"}, list(direct)
    while queue:
        c = queue.pop()
        if c not in reached:
            reached.add(c)
            queue += DIRECT[c]
    return reached


def header_lists(path):
    """HOCKET_…HEADERS of cmake/headers.cmake as {list name: [header, …]}."""
    text = re.sub(r"#.*", "", path.read_text())
    return {m[1]: m[2].split() for m in re.finditer(r"set\((HOCKET_\w*HEADERS)\s*([^)]*)\)", text)}


def opened_files(compiler, include, source, stand_ins=None):
    """Every file that the compiler opens for `source`, as real paths. `stand_ins`: a folder of vendors' headers."""
    command = [compiler, "-std=c++20", "-M", "-x", "c++", "-I", str(include), str(source)]
    if stand_ins is not None:
        command += ["-isystem", str(stand_ins)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    words = done.stdout.replace("\\\n", " ").split(":", 1)[1].split()
    return {os.path.realpath(w) for w in words} - {os.path.realpath(source)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="a checkout (the tests pass small wrong ones)")
    options = parser.parse_args()
    include = options.root.resolve() / "include"
    lists = header_lists(options.root / "cmake" / "headers.cmake")
    standard_only = set(lists["HOCKET_HEADERS"])
    vendors = set(lists.get("HOCKET_VENDOR_HEADERS", ()))
    headers = [h for names in lists.values() for h in names]
    with tempfile.TemporaryDirectory() as folder:
        probe = pathlib.Path(folder) / "standard.cpp"
        probe.write_text((ROOT / "tests/headers/standard_headers.hpp").read_text().replace("#pragma once\n", ""))
        standard = opened_files(options.compiler, include, probe)

    findings = []

    def check(header):
        out = []
        component = component_of(header)
        if component not in COMPONENTS | {"hocket"}:
            return [f"{header}: {component} is no component of DESIGN.md"]
        stand_ins = options.root.resolve() / "tests/fakes/include" if header in vendors else None
        opened = opened_files(options.compiler, include, include / header, stand_ins)
        ours = sorted(os.path.relpath(f, include) for f in opened if f.startswith(f"{include}/"))
        may = allowed(header)
        for other in ours:
            if component_of(other) not in may:
                out.append(f"{header} reaches {other}, but {component} may only include {', '.join(sorted(may))}")
        if header in standard_only:
            foreign = sorted(f for f in opened if not f.startswith(f"{include}/") and f not in standard)
            if foreign:
                out.append(f"{header} belongs to hocket::hocket, but opens {len(foreign)} files that are neither ours "
                           f"nor the standard library's, first {foreign[0]}")
            for other in ours:
                if other not in standard_only:
                    out.append(f"{header} belongs to hocket::hocket, but reaches {other}, which does not")
        text = (include / header).read_text()
        for name in re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", text, re.M):
            if name in HEAVY and component not in ("interop", "cost", "planner"):
                out.append(f"{header} includes <{name}>, which is too heavy for a hot header")
            if name in NO_IO and component not in ("interop", "testing") and header != LAST_WORDS:
                out.append(f"{header} includes <{name}>, but headers do no I/O")
            if name in THREADS and component not in ("launch", "interop", "testing"):
                out.append(f"{header} includes <{name}>, but only launch has threads")
        if re.search(r"\bgetenv\b", text):
            out.append(f"{header} reads an environment variable")
        return out

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for found in pool.map(check, headers):
            findings += found
    for line in findings:
        print(line)
    print(f"{len(headers)} headers, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
