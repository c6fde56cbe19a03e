#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python of README.md and docs/languages.md runs as it stands there."""
import pathlib
import re
import unittest

root = pathlib.Path(__file__).resolve().parents[2]


class Pages(unittest.TestCase):
    def test_blocks_run(self):
        for name, count in (("docs/languages.md", 2), ("README.md", 1)):
            blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", (root / name).read_text())
            self.assertEqual(len(blocks), count, name)
            names = {}
            for block in blocks:
                exec(compile(block, name, "exec"), names)


if __name__ == "__main__":
    unittest.main()
