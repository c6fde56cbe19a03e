#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands that the pages show, and compares what they print with what the pages say they print.

    tools/check_commands.py --tool build/dev/examples/hocket_cli/hocket [--record] [PAGE…]

A command is a line `$ …` of a ```text block; the lines below it are its output, with standard error if it fails. A line
of only `…` stands for any lines. Long lines may be wrapped. The commands of a page run one after the other in a folder of their own,
which has examples/, tests/ and an empty docs/images/: a picture that they write there must be the one that is committed.
--record writes what was printed into the pages, and pictures into docs/images.

Other lines `hocket …` of blocks show usage. They must succeed on example files of the names that the pages use (program.csv,
config.json, …); what stands in brackets is left out, and of alternatives a|b the first is taken. Lines with files that
there is no example of are passed over.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pages

BLOCK = re.compile(r"(?ms)^```text\n(\$ .*?)^```$")
SECONDS = 120
LLAMA = "examples/data/llama-2-13b"
EXAMPLES = {"config.json": f"{LLAMA}/config.json", "training.json": f"{LLAMA}/training.json", "cluster.json": f"{LLAMA}/cluster.json",
            "parallel.json": '{"tp": 2, "pp": 4, "dp": 2}\n', "program.csv": "op,stream,kind,reads,writes,us\n0,0,compute,,1,5\n1,1,compute,1,2,7\n",
            "edges.csv": "source,target\n0,1\n", "pairs.csv": "source,target\n0,1\n", "theirs.csv": "0F0,0B0\n1F0,1B0\n",
            "samples.csv": "size,time_us\n" + "".join(f"{n},{10 + n / 100}\n" for n in (128, 256, 512, 1024, 2048, 4096, 8192))}


def commands(text):
    """(start, end, command, output) of each: start and end are those of the output."""
    for block in BLOCK.finditer(text):
        for m in re.finditer(r"(?ms)^\$ ((?:[^\n]*\\\n)*[^\n]*)\n(.*?)(?=^\$ |\Z)", block[1]):
            yield block.start(1) + m.start(2), block.start(1) + m.end(2), m[1], m[2]


def alike(expected, printed):
    """Equal but for durations, for where lines are wrapped, and for what `…` leaves out."""
    def words(text):
        return " ".join(re.sub(r"\btime_us=\d+", "time_us=", text).split())

    parts = [re.escape(words(part)) for part in re.split(r"(?m)^ *…$", expected)]
    return re.fullmatch(".*".join(rf"(?<!\S){part}(?!\S)" if part else "" for part in parts), words(printed)) is not None


def usages(text):
    """(offset, command) of the other lines `hocket …` of blocks, ready to run."""
    for block in re.finditer(r"(?ms)^```(?:text|sh)?\n(?!\$ )(.*?)^```$", text):
        for m in re.finditer(r"(?m)^(?:\./dev )?(hocket .*)$", block[1]):
            command = re.sub(r"\s#.*|\[[^\]]*\]", "", m[1])
            yield block.start(1) + m.start(), re.sub(r"(\w+)(?:\|\w+)+", r"\1", command).strip()


def wrong_usages(root, tool, page, text):
    """What is wrong with the usage lines of a page, and how many were run."""
    findings, ran = [], 0
    for offset, command in usages(text):
        named = re.findall(r"(?<!--out )(?<!--critical-path )\b[\w/.-]+\.(?:csv|json)\b", command)
        if any(n not in EXAMPLES and not (root / n).is_file() for n in named):
            continue
        ran += 1
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            environment = folder_for(root, tool, at)
            for name, content in EXAMPLES.items():
                if content.startswith("examples/"):
                    (at / name).symlink_to(root / content)
                else:
                    (at / name).write_text(content, encoding="utf-8")
            done = subprocess.run(["bash", "-c", command], cwd=at, env=environment, capture_output=True, text=True, timeout=SECONDS,
                                  stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                findings.append(f"{page}:{pages.line_of(text, offset)}: `{command}` fails: {done.stderr.strip()}")
    return findings, ran


def folder_for(root, tool, at):
    """Where commands run: links to what they read, and a folder bin with the tool."""
    for name in ("examples", "tests", "README.md"):
        (at / name).symlink_to(root / name)
    (at / "docs/images").mkdir(parents=True)
    (at / "bin").mkdir()
    (at / "bin/hocket").symlink_to(tool)
    return os.environ | {"PATH": f"{at / 'bin'}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


def run_page(root, tool, page, record):
    """What is wrong with the commands of a page, and how many there are."""
    text = (root / page).read_text(encoding="utf-8")
    findings, ran = wrong_usages(root, tool, page, text)
    changes, found = [], list(commands(text))
    if not found:
        return findings, ran
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        environment = folder_for(root, tool, at)
        for start, end, command, expected in found:
            done = subprocess.run(["bash", "-c", command], cwd=at, env=environment, capture_output=True, text=True,
                                  timeout=SECONDS, stdin=subprocess.DEVNULL)
            printed = done.stdout if done.returncode == 0 else done.stdout + done.stderr
            if not alike(expected, printed):
                findings.append(f"{page}:{pages.line_of(text, start)}: `{command}` prints\n{printed}instead of\n{expected}")
                changes.append((start, end, printed))
        for picture in sorted((at / "docs/images").iterdir()):
            committed = root / "docs/images" / picture.name
            if not committed.is_file() or committed.read_bytes() != picture.read_bytes():
                findings.append(f"{page}: its commands write another docs/images/{picture.name} than the one that is there")
                if record:
                    shutil.copy(picture, committed)
    if record:
        for start, end, printed in reversed(changes):
            text = text[:start] + printed + text[end:]
        (root / page).write_text(text, encoding="utf-8")
    return findings, ran + len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", type=pathlib.Path, required=True)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("pages", nargs="*")
    options = parser.parse_args()
    root, count, found = options.root.resolve(), 0, []
    for page in options.pages or pages.reachable(root):
        findings, ran = run_page(root, options.tool.resolve(), page, options.record)
        found += findings
        count += ran
    for finding in found:
        print(finding)
    print(f"{count} commands, {len(found)} findings")
    return 1 if found and not options.record else 0


if __name__ == "__main__":
    sys.exit(main())
