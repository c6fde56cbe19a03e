#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libc++ 19 and libc++abi from Debian's packages, unpacked into build/libcxx_packages for the preset libcxx. They are not
# installed: Debian's versions of libc++ exclude each other, and another may be needed here.
set -euo pipefail
folder=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)/build/libcxx_packages
archive=usr/lib/llvm-19/lib/libc++.a
[ ! -e "$folder/$archive" ] || exit 0
mkdir -p "$folder"
cd "$folder"
apt-get download libc++-19-dev libc++abi-19-dev
for package in ./*.deb; do dpkg -x "$package" .; done
[ -e "$archive" ]
