#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/deadlocks.md from the programs of examples/deadlocks and what the tool says about each.

    tools/deadlock_page.py --tool build/dev/examples/hocket_cli/hocket    the page on standard output
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = """# Deadlocks

Programs of public threads, as small as they can be and still show what happened there: the files are in
[examples/deadlocks](../examples/deadlocks), and `hocket ranks check` says what stands below each title. What the words
mean, and why a verdict holds, is in [ranks](ranks.md). `tools/deadlock_page.py` writes this page.
"""


def field(text, key):
    return re.search(rf"^# {key}: (.*)$", text, re.M)[1]


def page(ask, folder=ROOT / "examples/deadlocks"):
    """The text of the page; ask(words) is what the tool prints on standard output."""
    def answer(command):
        return ask("ranks", command, path, "--machine", machine)

    parts = [HEAD]
    for path in sorted(folder.glob("*.csv")):
        text = path.read_text()
        machine, verdict = field(text, "machine"), field(text, "verdict")
        title = text.splitlines()[0].removeprefix("# ")
        parts.append(f"## {path.stem}: {verdict}\n\n{title}. [Thread]({field(text, 'thread')}), "
                     f"[program](../examples/deadlocks/{path.name}), machine `{machine}`.\n\n"
                     f"```text\n{answer('check')}```\n")
        if verdict in ("hangs", "may hang"):
            parts.append(f"Repair:\n\n```text\n{answer('repair')}```\n")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", type=pathlib.Path, required=True)
    tool = parser.parse_args().tool
    sys.stdout.write(page(lambda *words: subprocess.run([tool, *words], capture_output=True, text=True).stdout))


if __name__ == "__main__":
    main()
