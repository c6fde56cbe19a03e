# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the `run` scripts of the hosts share; source it. A host that cannot be had ends the script with a sentence and
# status 77.
# shellcheck shell=bash
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
install=${HOCKET_INSTALL:-yes}

skip() {
  echo "skipped: $*"
  exit 77
}

# debian PACKAGE…: installs Debian packages.
debian() {
  local name as_root=() missing=()
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$install" = yes ] || skip "${missing[*]} is not installed"
  command -v apt-get >/dev/null || skip "there is no apt-get to install ${missing[*]}"
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  mkdir -p "$root/build"
  {
    "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 update || true
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y \
      --no-install-recommends "${missing[@]}"
  } >"$root/build/hosts-install.log" 2>&1 </dev/null || skip "${missing[*]} cannot be installed (build/hosts-install.log)"
}

# python_packages FOLDER GIB REQUIREMENT…: a virtual environment with packages from PyPI, which need so much disk.
python_packages() {
  local venv=$1 gib=$2 free
  if [ ! -x "$venv/bin/python" ]; then
    [ "$install" = yes ] || skip "${*:3} is not installed in $venv"
    debian python3-venv
    mkdir -p "$(dirname "$venv")"
    free=$(df --output=avail -k "$(dirname "$venv")" | tail -n 1)
    ((free > gib * 1024 * 1024)) || skip "${*:3} needs $gib GB of free disk"
    python3 -m venv "$venv"
  fi
  [ "$install" = yes ] || return 0
  timeout 900 "$venv/bin/pip" install --quiet --no-cache-dir "${@:3}" >"$root/build/hosts-install.log" 2>&1 ||
    skip "${*:3} cannot be installed (build/hosts-install.log)"
}

# pytorch_packages: PyTorch in the folder $pytorch. It is large, so tests/runtime and tests/capture use the same.
pytorch=$root/build/venv-pytorch
pytorch_packages() {
  local wanted
  mapfile -t wanted < <(grep -v '^#' "$root/tools/requirements-capture.txt")
  python_packages "$pytorch" 10 "${wanted[@]}"
}

# hocket_package VENV: the Python package of this checkout, built and put into a virtual environment.
hocket_package() {
  debian g++ cmake ninja-build libboost-dev nlohmann-json3-dev
  python_packages "$1" 1 numpy "scikit-build-core>=0.10"
  if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  # A compiler that fails is no reason to skip.
  "$1/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps "$root" >&2
}

# build_host NAME [CMAKE OPTIONS…]: builds the folder with that name into build/hosts/NAME.
build_host() {
  local folder=$root/build/hosts/$1 log=$root/build/hosts-$1.log
  mkdir -p "$root/build"
  {
    cmake -S "$root/examples/hosts/$1" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "${@:2}" && cmake --build "$folder"
  } >"$log" 2>&1 </dev/null || {
    tail -n 40 "$log" >&2
    exit 1
  }
}
