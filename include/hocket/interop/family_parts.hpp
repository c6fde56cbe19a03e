// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/layer_fields.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// What readers of families are written with, beyond the fields: which layers, and pieces of a layer.
namespace hocket::inline HOCKET_ABI::hugging_face::detail {

struct family {
  std::string_view type;  ///< model_type, literal
  void (*read)(layer_fields& in);
  std::int64_t dense_first = 0;  ///< layers before the mixtures, where a config does not say: as transformers 5.24
};

inline cost::norms after_mixer() { return {.place = cost::norm_place::between}; }
inline std::size_t index(std::int64_t at) { return static_cast<std::size_t>(at); }
inline constexpr std::int64_t max_streams = 64;  // copies of the stream: their cube is a number of weights
inline bool each(std::int64_t at, std::int64_t period) { return (at + 1) % period == 0; }

inline cost::attention with_window(cost::attention a, std::int64_t window) {
  a.window = window;
  return a;
}
inline std::vector<bool> all(const layer_fields& in, bool value) {
  return std::vector<bool>(index(in.layers()), value);
}

inline bool any(const std::vector<bool>& of) { return std::find(of.begin(), of.end(), true) != of.end(); }
inline bool every(const std::vector<bool>& of) { return std::find(of.begin(), of.end(), false) == of.end(); }

/// Sources of a layer's two mixes where each `period` layers are a block (Kimi K3): the finished sums, and the running
/// one. A layer that begins a block has finished the sum before it, of the embedding alone at first.
inline void mix_sources(cost::layer_blocks& blocks, std::int64_t at, std::int64_t period) {
  const bool begins = at % period == 0;
  blocks.push_back(cost::attention_residuals{.sources = (at + period - 1) / period + 1, .count = 1});
  blocks.push_back(cost::attention_residuals{.sources = at / period + 2, .count = 1, .closes_block = begins});
}

/// The same blocks as part `number` of a stack that runs several times.
inline cost::layer_blocks numbered(const cost::layer_blocks& blocks, std::int64_t number, bool elsewhere = false) {
  cost::layer_blocks out;
  for (const cost::block& b : blocks)
    out.push_back(std::visit([&](const auto& sizes) { return cost::block(sizes, elsewhere, number); }, b.what));
  return out;
}
/// The same with the weights of an earlier pass.
inline cost::layer_blocks weights_of(const cost::layer_blocks& blocks, std::int64_t number) {
  return numbered(blocks, number, true);
}
inline bool every_is(const std::vector<std::string>& words, std::string_view word) {
  return std::all_of(words.begin(), words.end(), [&](const std::string& each) { return each == word; });
}

}  // namespace hocket::inline HOCKET_ABI::hugging_face::detail
