#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles the headers of hocket::hocket as CUDA with nvcc >= 13, all in one .cu. Needs no GPU.
#   tools/check_cuda_headers.sh [--each]     --each: then each alone, which takes minutes; tests/headers does it with g++
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || {
  echo "skipped: nvcc is not installed"
  exit 0
}
release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
if ((release < 13)); then
  echo "skipped: nvcc $release is older than 13"
  exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mapfile -t headers < <(sed -n '/^set(HOCKET_HEADERS/,/^)/s/^ *\(hocket\/.*\.hpp\)$/\1/p' cmake/headers.cmake)
[ ${#headers[@]} -gt 0 ] || {
  echo "failed: no headers listed in cmake/headers.cmake"
  exit 1
}

compile() {
  "$nvcc" -std=c++20 -x cu -I include -Xcompiler -Wall,-Wextra -Werror all-warnings -c "$1" -o "$1.o" || {
    echo "failed: nvcc rejects $2"
    return 1
  }
}

printf '#include <%s>\n' "${headers[@]}" >"$folder/together.cu"
compile "$folder/together.cu" "the ${#headers[@]} headers together"
if [ "${1-}" = --each ]; then
  alone() {
    local source=$folder/${1//\//_}.cu
    printf '#include <%s>\n' "$1" >"$source"
    compile "$source" "$1"
  }
  export -f alone compile
  export folder nvcc
  printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I '{}' bash -c 'alone {}' || exit 1
fi
echo "ok: ${#headers[@]} headers as CUDA, nvcc $release"
