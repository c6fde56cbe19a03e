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
# Major and minor version, and what differs from a compiler without options; a patch release changes no name.
NAMESPACE = r"v\d+_\d+((?:_ndebug|_own_assert)?(?:_no_exceptions)?(?:_no_int128)?)"
found = {match.group(1): match.group(2) for match in re.finditer(rf"hocket::({NAMESPACE})::message", symbols)}
modes = set(found.values())
expected = {"", "_ndebug", "_own_assert", "_no_exceptions", "_no_int128"}
stray = sorted(set(re.findall(r"hocket::(?!v\d+_\d+[a-z_0-9]*::)(\w+)[(<]", symbols)))
if modes != expected:
    sys.exit(f"expected hocket::message once in each of {sorted(expected)}, found {sorted(found)}")
if stray:
    sys.exit(f"these names of namespace hocket lie outside the inline namespace: {', '.join(stray)}")
print(f"ok: {', '.join(sorted(found))}")
