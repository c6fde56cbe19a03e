#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a host's translation unit pays for hocket: processor time of the compiler and size of the code, of the host's
# headers alone and with the adapter, `dependencies` or a dag, and `reaches`. It needs what `./dev host NAME` has left.
#
#   examples/hosts/unit_cost.sh [HOST…]     onnx, ggml, xla, mlir, paddle, cuda_graph; without names: all that are there
# shellcheck source=SCRIPTDIR/host.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/host.sh"
hosts=$root/examples/hosts
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
tensorflow=$(echo "$root"/build/hosts/xla-tensorflow/lib/python3*/site-packages/tensorflow/include)
ggml=$root/build/hosts/ggml-sources
paddle=$(echo "$root"/build/hosts/paddle-python/lib/python3*/site-packages/paddle)
cuda=$(dirname "$(ls /usr/local/cuda/include/cuda_runtime_api.h 2>/dev/null || echo "$root/tests/fakes/include/x")")

# describe HOST: sets header (of the host), adapter, graph (its type), question, flags.
describe() {
  question='const auto deps = hocket::graph::dependencies(g); return deps && deps->reaches(0, 1);'
  case $1 in
    onnx)
      header='<onnx/onnx_pb.h>' adapter=onnx_access.hpp graph='onnx::GraphProto'
      flags=(-DONNX_ML=1 -DONNX_NAMESPACE=onnx) ;;
    ggml)
      header='<ggml-impl.h>' adapter=ggml_access.hpp graph=ggml_cgraph
      flags=(-I "$ggml/include" -I "$ggml/src") ;;
    xla)
      header='"xla/hlo/ir/hlo_computation.h"' adapter=hlo_access.hpp graph='xla::HloComputation'
      question='const auto d = hocket::graph::dag<>::make(g, hlo_order(g)); return d && d->reaches(0, 1);'
      flags=(-isystem "$tensorflow" -isystem "$tensorflow/external/highwayhash"
        -isystem "$tensorflow/external/farmhash_archive/src") ;;
    mlir)
      header='<mlir/IR/Block.h>' adapter=mlir_access.hpp graph=mlir::Block
      flags=(-fno-rtti -isystem /usr/lib/llvm-19/include) ;;
    paddle)
      header='"drop_in.hpp"' adapter=paddle_access.hpp graph=example::instruction_list
      question='const auto deps = hocket::graph::dependencies(g, example::storage_access(g)); return deps && deps->reaches(0, 1);'
      flags=(-isystem "$paddle/include" -isystem "$paddle/include/third_party") ;;
    cuda_graph)
      header='<cuda_runtime_api.h>' adapter=cuda_graph_access.hpp graph=CUgraph_st
      question='const auto c = cuda_graph::read(const_cast<CUgraph_st*>(&g)); const auto d = hocket::graph::dag<>::make(*c); return d && d->reaches(0, 1);'
      flags=(-isystem "$cuda") ;;
    *) echo "unit_cost: there is no host $1 (onnx, ggml, xla, mlir, paddle, cuda_graph)" >&2 && exit 2 ;;
  esac
}

# compile NAME: processor seconds and bytes of code; nothing if it does not compile.
compile() {
  local TIMEFORMAT=%U seconds
  seconds=$({ time g++ -std=c++20 -O2 -DNDEBUG -w -I "$root/include" -I "$hosts/$host" "${flags[@]}" -c "$work/$1.cpp" \
    -o "$work/$1.o" 2>"$work/errors"; } 2>&1) || return 1
  echo "$seconds $(size "$work/$1.o" | awk 'NR == 2 { print $1 }')"
}

printf 'host,seconds_alone,seconds_with,text_bytes_alone,text_bytes_with\n'
[ $# -gt 0 ] || set -- onnx ggml xla mlir paddle cuda_graph
for host in "$@"; do
  describe "$host"
  printf '#include %s\nbool first(const %s& g) { return &g != nullptr; }\n' "$header" "$graph" >"$work/alone.cpp"
  printf '#include <hocket/graph.hpp>\n#include "%s"\nbool first(const %s& g) { %s }\n' \
    "$adapter" "$graph" "$question" >"$work/with.cpp"
  if ! alone=$(compile alone); then
    echo "unit_cost: the headers of $host are not here; ./dev host $host fetches them" >&2
    continue
  fi
  with=$(compile with) || { head -n 3 "$work/errors" >&2 && exit 1; }
  echo "$host,${alone% *},${with% *},${alone#* },${with#* }"
done
