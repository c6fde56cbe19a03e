# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the built tool as a stranger would: arguments in, exit status and two streams out.

    python3 tests/command_line/test_graph.py --tool build/dev/examples/hocket_cli/hocket [--unlimited] [unittest arguments]
"""
import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
EXAMPLES = ROOT / "examples" / "data"
CONFIGS = DATA / "cost" / "configs"
PLAN = EXAMPLES / "llama-2-13b" / "plan.json"
TILING = EXAMPLES / "tiling_document.json"

SECONDS = 60
BYTES = 4 << 30

_options = argparse.Namespace(tool=None, unlimited=False)


class Done:
    """What one run of the tool left behind."""

    def __init__(self, words, done):
        self.words, self.code, self.out = words, done.returncode, done.stdout
        self.err = done.stderr.decode("utf-8", "backslashreplace")

    @property
    def text(self):
        return self.out.decode("utf-8")

    @property
    def rows(self):
        """A CSV: its header, and its rows as tuples of numbers."""
        lines = self.text.splitlines()
        return lines[0], [tuple(int(cell) for cell in line.split(",")) for line in lines[1:]]

    @property
    def summary(self):
        """The key=value words of the summary line."""
        return dict(word.split("=", 1) for word in self.err.split() if "=" in word)

    def __str__(self):
        return f"hocket {' '.join(self.words)}\nexit {self.code}\nstdout: {self.out[:500]!r}\nstderr: {self.err[:2000]!r}"


def _limit():
    if not _options.unlimited:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def environment(**more):
    """That of the tests, without the defaults that the reader of these lines may have set for the tool."""
    return {**os.environ, "XDG_CONFIG_HOME": "/nonexistent", **more}


def hocket(*words, stdin=b"", cwd=None, stdout=subprocess.PIPE, env=None, seconds=SECONDS):
    words = [str(w) for w in words]
    done = subprocess.run([_options.tool, *words], input=stdin, stdout=stdout, stderr=subprocess.PIPE, cwd=cwd,
                          timeout=seconds, preexec_fn=_limit, env=env or environment())
    return Done(words, done)


class ToolTest(unittest.TestCase):
    """A folder for files, and the three ways a command may end."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def ok(self, *words, **how):
        """Data on stdout, exactly one summary line on stderr, exit 0."""
        done = hocket(*words, **how)
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.err, r"\A[^\n]+\n\Z", done)
        self.assertTrue(done.summary, done)
        return done

    def refused(self, *words, code=1, says=None, **how):
        """Nothing on stdout, exactly one sentence on stderr, exit 1 (bad input) or 2 (wrong usage)."""
        done = hocket(*words, **how)
        self.assertEqual(done.code, code, done)
        self.assertIn(done.out, (b"", None), done)
        self.assertRegex(done.err, r"\Ahocket: [^\n\x00-\x1f]+\n\Z", done)
        self.assertLess(len(done.err), 1500, done)
        for leak in ("json.exception", "std::", "what()", "terminate", "basic_", "Assertion", "hocket: hocket", "Sanitizer"):
            self.assertNotIn(leak, done.err.replace(str(self.folder), ""), done)
        if says is not None:
            self.assertIn(says, done.err, done)
        return done

    def misused(self, *words, says=None):
        return self.refused(*words, code=2, says=says)


def without_times(line):
    return re.sub(r"\btime_us=\d+", "time_us=", line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True, type=os.path.abspath, help="the built binary")
    parser.add_argument("--unlimited", action="store_true", help="do not limit the tool's memory")
    _, rest = parser.parse_known_args(namespace=_options)
    unittest.main(module="__main__", argv=[sys.argv[0], *rest])
