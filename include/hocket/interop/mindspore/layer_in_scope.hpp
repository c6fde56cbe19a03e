// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace hocket::inline HOCKET_ABI::mindspore {

/// The layer that a scope names.
struct layer_view {
  std::string_view number;  ///< its number in the list of layers; empty outside layers
  std::string_view inside;  ///< the rest of the scope, within the layer; of a scope without layers all of it
};

/// `.../layers-CellList/3-DecoderLayer/attention-Attention` is number `3` and inside `attention-Attention`. The first
/// list of the scope counts: lists within a layer, such as experts, are parts of it. Cells that cut a batch into
/// micro-batches (`micro_inputs-CellList/0-_MicroBatch`) also stand in a list, and are not layers.
/// Complexity: O(length of the scope).
///
///     find_layer("Default/layers-CellList/12-Layer/add-Add").number == "12";
[[nodiscard]] constexpr layer_view find_layer(std::string_view scope) noexcept {
  bool in_list = false;
  for (std::string_view rest = scope; !rest.empty();) {
    const std::size_t end = (std::min)(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix((std::min)(end + 1, rest.size()));
    const std::size_t dash = part.find('-');
    const std::string_view number = dash == part.npos ? std::string_view{} : part.substr(0, dash);
    const bool is_number = !number.empty() && number.find_first_not_of("0123456789") == number.npos;
    if (in_list && is_number && !part.ends_with("-_MicroBatch")) return {number, rest};
    in_list = part.ends_with("-CellList") || part.ends_with("-SequentialCell");
  }
  return {{}, scope};
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
