#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The CUDA backend for real: compiles a host program and a .cu with nvcc, links the static CUDA runtime, runs both. On a
# machine without a device they say why there is none, and that is all that can be checked; with one, everything in
# benchmarks/device runs.
#   tools/device_check.sh [FOLDER]      FOLDER for the programs and the report; default build/device
# The last line is "ok: …" or "skipped: …"; the exit status is not 0 if something failed.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
out=${1:-build/device}

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || {
  echo "skipped: nvcc is not installed"
  exit 0
}
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
mkdir -p "$out"

# The host program does without nvcc: any C++20 compiler, the runtime's header and archive.
include=$toolkit/include lib=$toolkit/lib64
for path in "$toolkit"/targets/*/include; do
  if [ -e "$path/cuda_runtime_api.h" ]; then include=$path lib=${path%/include}/lib; fi
done
if [ ! -e "$lib/libcudart_static.a" ]; then lib=$toolkit/lib64; fi
"${CXX:-g++}" -std=c++20 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I include -isystem "$include" \
  benchmarks/device/probe.cpp -o "$out/probe" "$lib/libcudart_static.a" -lpthread -ldl -lrt
status=0
"$out/probe" || status=$?
[ "$status" = 0 ] || [ "$status" = 77 ] || {
  echo "failed: the host program returned $status"
  exit 1
}
# CUDA graphs as a host's graphs: examples/hosts/cuda_graph.
"${CXX:-g++}" -std=c++20 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I include -isystem "$include" \
  examples/hosts/cuda_graph/main.cpp -o "$out/cuda_graph" "$lib/libcudart_static.a" -lpthread -ldl -lrt
status=0
"$out/cuda_graph" times || status=$?
[ "$status" = 0 ] || [ "$status" = 77 ] || {
  echo "failed: the CUDA graphs returned $status"
  exit 1
}
if ! ls "$lib"/libcublas.so* >/dev/null 2>&1; then
  echo "skipped: the host program ran; cuBLAS is not installed, so the rest is not compiled"
  exit 0
fi
"$nvcc" -std=c++20 -O2 -I include -Xcompiler -Wall,-Wextra -cudart static benchmarks/device/device_check.cu \
  -o "$out/device_check" -L"$lib" -lcublas -Xlinker "-rpath,$lib"
status=0
"$out/device_check" >"$out/report.txt" || status=$?
case $status in
  0)
    cat "$out/report.txt"
    echo "ok: the report is $out/report.txt"
    ;;
  77) echo "ok: compiled, linked and run; $(tail -n 1 "$out/report.txt")" ;;
  *)
    cat "$out/report.txt"
    echo "failed: the device program returned $status"
    exit 1
    ;;
esac
