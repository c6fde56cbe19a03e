// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/layer_list.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// The letters of Megatron-LM's hybrid patterns for the layers of a list. There, each mixer and each FFN is a layer of
// its own; configs of most models count both as one.
namespace hocket::inline HOCKET_ABI::interop {

/// The letter of a block: M Mamba, G gated delta net, * attention, - FFN, E mixture of experts; a space for what goes
/// with another block, ? for one that no pattern has. O(1).
[[nodiscard]] inline char letter_of(const cost::block& b) {
  struct letters {
    char operator()(const cost::mamba2&) const { return 'M'; }
    char operator()(const cost::mamba&) const { return 'M'; }
    char operator()(const cost::gated_delta&) const { return 'G'; }
    char operator()(const cost::attention&) const { return '*'; }
    char operator()(const cost::latent_attention&) const { return '*'; }
    char operator()(const cost::feed_forward&) const { return '-'; }
    char operator()(const cost::mixture&) const { return 'E'; }
    char operator()(const cost::norms&) const { return ' '; }
    char operator()(const cost::projection&) const { return ' '; }
    char operator()(const cost::table&) const { return ' '; }
    char operator()(const cost::block_indexer&) const { return ' '; }
    char operator()(const cost::compressed_attention&) const { return '?'; }
    char operator()(const cost::native_sparse_attention&) const { return '?'; }
    char operator()(const cost::kimi_delta&) const { return '?'; }
    char operator()(const cost::lightning_attention&) const { return '?'; }
    char operator()(const cost::short_convolution&) const { return '?'; }
    char operator()(const cost::hyper_connections&) const { return '?'; }
    char operator()(const cost::attention_residuals&) const { return '?'; }
    char operator()(const cost::alternating_updates&) const { return '?'; }
    char operator()(const cost::per_layer_input&) const { return '?'; }
  };
  return std::visit(letters{}, b.what);
}
/// The letters of a layer in order, one for each mixer and FFN. O(blocks).
[[nodiscard]] inline std::string letters_of(const cost::layer_blocks& blocks) {
  std::string out;
  for (const cost::block& b : blocks)
    if (const char one = letter_of(b); one != ' ') out += one;
  return out;
}
/// A layer in parts that begin with a norm each: what follows a mixer or an FFN goes with it. O(blocks).
[[nodiscard]] inline std::vector<cost::layer_blocks> sub_layers_of(const cost::layer_blocks& blocks) {
  std::vector<cost::layer_blocks> out(1);
  bool has_letter = false;
  for (const cost::block& b : blocks) {
    const auto* norm = std::get_if<cost::norms>(&b.what);
    const bool begins = norm != nullptr && norm->place != cost::norm_place::behind;
    if (begins && has_letter) {
      out.emplace_back();
      has_letter = false;
    }
    has_letter = has_letter || letter_of(b) != ' ';
    out.back().push_back(b);
  }
  return out;
}
/// The letters of all layers. Errors: errc::unknown_layer, naming the first layer that no pattern can say, such as one
/// whose norm feeds attention and FFN in parallel. O(layers).
[[nodiscard]] inline result<std::string> letters_of(const cost::layer_list& list) {
  std::string out;
  std::int64_t layer = 0;
  for (const cost::repeated_layer& each : list.layers) {
    std::string letters;
    for (const cost::layer_blocks& part : sub_layers_of(each.blocks)) {
      const std::string one = letters_of(part);
      if (one.size() != 1 || one == "?") return error{errc::unknown_layer, layer};
      letters += one;
    }
    for (std::int64_t n = 0; n < each.count; ++n) out += letters;
    layer += each.count;
  }
  return out;
}
/// The same model with a layer for each letter, as the pattern counts them. Then a stage may end between the attention
/// and the FFN of a config's layer. Layers of one letter stay as they are. O(layers).
///
///     by_sub_layer(llama).layer_count() == 2 * llama.layer_count()
[[nodiscard]] inline cost::layer_list by_sub_layer(const cost::layer_list& list) {
  cost::layer_list out = list;
  out.layers.clear();
  for (const cost::repeated_layer& each : list.layers) {
    const auto parts = sub_layers_of(each.blocks);
    for (std::int64_t n = 0; n < (parts.size() == 1 ? 1 : each.count); ++n)
      for (const cost::layer_blocks& part : parts) out.add(part, parts.size() == 1 ? each.count : 1);
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::interop
