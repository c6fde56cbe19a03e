#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a host's translation unit pays for hocket: processor time of the compiler and size of the code, of the host's
# headers alone and with the adapter, `dependencies` or a dag, and `reaches`. It needs what `./dev host NAME` has left.
#
#   examples/hosts/unit_cost.sh [onnx] [ggml] [xla]       without names: those whose headers are there
# shellcheck source=SCRIPTDIR/host.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/host.sh"
hosts=$root/examples/hosts
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
tensorflow=$(echo "$root"/build/hosts/xla-tensorflow/lib/python3*/site-packages/tensorflow/include)
ggml=$root/build/hosts/ggml-sources

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
    *) echo "unit_cost: there is no host $1 (onnx, ggml, xla)" >&2 && exit 2 ;;
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
[ $# -gt 0 ] || set -- onnx ggml xla
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
