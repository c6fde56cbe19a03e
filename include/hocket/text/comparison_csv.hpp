// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/compare.hpp>
#include <hocket/text/detail/csv_scanner.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::text {

/// `difference,source,target,path_in,path` and one row per difference, in the order given: difference is missing_order,
/// extra_order or redundant_edge; path_in is ours or theirs; path is node numbers separated by spaces. It leads from
/// source to target, or, where the other graph has the opposite order, from target to source.
/// Complexity: linear in the text.
///
///     redundant_edge,0,2,theirs,0 1 2        their edges 0 -> 1 and 1 -> 2 make 0 -> 2 needless
[[nodiscard]] inline std::string write_comparison_csv(const graph::comparison& result) {
  std::string out = "difference,source,target,path_in,path\n";
  for (const graph::difference& d : result.first) {
    out += graph::to_string(d.kind);
    out += ',';
    detail::append_number(out, d.pair.source);
    out += ',';
    detail::append_number(out, d.pair.target);
    out += d.path_is_ours() ? ",ours," : ",theirs,";
    for (std::size_t i = 0; i < d.path.size(); ++i) {
      if (i != 0) out += ' ';
      detail::append_number(out, d.path[i]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text
