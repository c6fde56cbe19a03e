// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/mindspore/ir_program.hpp>
#include <hocket/interop/mindspore/layer_in_scope.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::mindspore {

/// Where in the model a node belongs, from its scope and its instance name.
struct ir_place {
  std::string layer;    ///< its number in the list of layers; empty outside layers
  std::string pattern;  ///< as MindFormers' select_recompute names it: feed_forward\.w1\.reshape
  /// The dump does not tell the op's own name, or the parallel passes gave it another one: the pattern ends with its
  /// primitive in small letters, which is the usual name.
  bool guessed = false;
};

/// `Default/.../layers-CellList/0-DecoderLayer/feed_forward-FeedForward/w1-Linear/Reshape-op1` with the instance name
/// `reshape` is `feed_forward\.w1\.reshape` of layer 0. O(length of the scope).
[[nodiscard]] inline ir_place place_of(const ir_program& program, std::size_t n) {
  ir_place out;
  std::string_view scope = program.scope(n);
  if (program.node(n).has_full_name) scope = scope.substr(0, scope.rfind('/') == scope.npos ? 0 : scope.rfind('/'));
  const layer_view layer = find_layer(scope);
  out.layer = layer.number;
  scope = layer.inside;
  while (!scope.empty()) {
    const std::size_t end = (std::min)(scope.find('/'), scope.size());
    const std::string_view part = scope.substr(0, end);
    scope.remove_prefix((std::min)(end + 1, scope.size()));
    const std::size_t dash = part.rfind('-');
    if (dash != part.npos) out.pattern += (out.pattern.empty() ? "" : "\\.") + std::string(part.substr(0, dash));
  }
  std::string name(program.instance(n));
  for (const std::string_view put_in : {"redistribution_op_", "forward_op_", "grad", "virtual_div"})
    out.guessed = out.guessed || name.starts_with(put_in);
  if (name.empty() || out.guessed) {
    out.guessed = true;
    name = program.primitive(n);
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  out.pattern += (out.pattern.empty() ? "" : "\\.") + name;
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
