# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each mode's copy of hocket::message must be a symbol of its own: one per inline namespace, and no unversioned one."""
import argparse
import re
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--nm", default="nm")
parser.add_argument("program")
options = parser.parse_args()

symbols = subprocess.run([options.nm, "-C", options.program], check=True, capture_output=True, text=True).stdout
found = set(re.findall(r"hocket::(v\d+_\d+_\d+_a\d_e\d_w\d)::message", symbols))
modes = {name[name.index("_a") + 1:] for name in found}
expected = {"a0_e1_w1", "a1_e1_w1", "a2_e1_w1", "a1_e0_w1", "a1_e1_w0"}
stray = sorted(set(re.findall(r"hocket::(?!v\d+_\d+_\d+_a\d_e\d_w\d::)(\w+)[(<]", symbols)))
if modes != expected:
    sys.exit(f"expected hocket::message once in each of {sorted(expected)}, found {sorted(found)}")
if stray:
    sys.exit(f"these names of namespace hocket lie outside the inline namespace: {', '.join(stray)}")
print(f"ok: {', '.join(sorted(found))}")
