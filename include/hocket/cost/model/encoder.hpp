// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_cost.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

/// An encoder of images or sound in front of a language model: a list of layers of its own, without vocabulary. Each
/// item (an image, a clip) has as many tokens as it is large, and attends to itself alone.
///
///     cost::encoder siglip{.layers = {.sizes = {.hidden = 768, .positions = 196, .norm_weights = 2}}};
///     siglip.layers.front = {cost::projection{.input = 3 * 16 * 16, .outputs = 768, .bias = true}};
struct encoder {
  layer_list layers;
  std::int64_t merged = 1;  ///< tokens that become one of the language model
  bool frozen = false;      ///< not trained: no backward pass, and nothing is kept for one
};

/// What the items of one micro-batch cost in an encoder.
struct encoder_cost {
  rational flops;                          ///< forward and backward; of a frozen one, forward alone
  rational again;                          ///< what is computed once more in the backward pass
  rational saved_bytes;                    ///< on one rank, with all layers there
  std::int64_t tokens = 0, passed_on = 0;  ///< of all items; those that the language model gets
  std::int64_t longest = 0;                ///< tokens of the largest item
};

namespace detail {
inline result<void> add_items(const encoder& e, std::int64_t length, std::int64_t items, const training& t,
                              const parallel& p, const convention& counted, encoder_cost& out) {
  training one = t;
  one.sequence = length;
  one.micro_batch = one.global_batch = 1;
  one.squared_lengths = one.windowed_pairs = 0;
  const auto flops = count_flops(e.layers, one, p, counted);
  if (!flops) return flops.error();
  const rational times(items);
  out.flops = out.flops + times * (e.frozen ? flops->model_step / rational(3) : flops->model_step);
  if (e.frozen) return {};
  out.again = out.again + times * (flops->hardware_step - flops->model_step);
  return for_each_run(e.layers, [&](const layer_blocks& blocks, std::int64_t count) -> result<void> {
    const auto kept = layer_activation_bytes(e.layers, blocks, one, p);
    if (!kept) return kept.error();
    out.saved_bytes = out.saved_bytes + times * rational(count) * *kept;
    return {};
  });
}
}  // namespace detail

/// The cost of the items of one micro-batch, exact for any mix of lengths: the sum over the items, each a sequence of
/// its own. Parameters are count_parameters(e.layers). The attention of encoders sees all positions, so that `counted`
/// is the full count unless the caller says otherwise.
/// @param token_counts  tokens of each item, before they are merged
/// @param t  bytes of its types; sequence and batch sizes are not read
/// Errors: those of check; errc::out_of_range for an item without tokens, or with more than learned positions;
/// errc::indivisible for one whose tokens cannot be merged. Complexity: one pass over the formulas per length.
///
///     const std::int64_t patches[] = {1024, 256, 256};
///     cost::cost_of_encoder(siglip, patches, t, {})->flops;
[[nodiscard]] inline result<encoder_cost> cost_of_encoder(const encoder& e, std::span<const std::int64_t> token_counts,
                                                          const training& t, const parallel& p,
                                                          const convention& counted = {
                                                              .attention = attention_count::full}) {
  if (const auto ok = check(e.layers); !ok) return ok.error();
  const std::int64_t most = e.layers.sizes.positions > 0 ? e.layers.sizes.positions : detail::max_size;
  if (e.merged < 1) return error{errc::out_of_range, e.merged, 1, detail::max_size}.with("merged");
  std::vector<std::int64_t> sorted(token_counts.begin(), token_counts.end());
  std::sort(sorted.begin(), sorted.end());
  encoder_cost out;
  for (std::size_t at = 0; at < sorted.size();) {
    const std::int64_t length = sorted[at];
    if (length < 1 || length > most) return error{errc::out_of_range, length, 1, most}.with("tokens of an item");
    if (length % e.merged != 0) return error{errc::indivisible, length, e.merged}.with("tokens of an item over merged");
    std::int64_t items = 0;
    for (; at < sorted.size() && sorted[at] == length; ++at) ++items;
    if (const auto ok = detail::add_items(e, length, items, t, p, counted, out); !ok) return ok.error();
    out.tokens += items * length;
    out.longest = length;
  }
  out.passed_on = out.tokens / e.merged;
  if (!out.flops.ok() || !out.again.ok() || !out.saved_bytes.ok()) return error{errc::overflow}.with("an encoder");
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::cost
