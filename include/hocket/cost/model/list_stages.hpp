// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/peak_memory.hpp>

#include <algorithm>
#include <span>
#include <vector>

// Which layers of a list stand on which pipeline rank, and what that rank holds.
namespace hocket::inline HOCKET_ABI::cost {

/// What one pipeline rank has of a list, in model order.
struct rank_layers {
  std::vector<repeated_layer> layers;  ///< front, layers, predictions and back
  std::int64_t layer_count = 0;        ///< of the model's layers alone
  part ends;                           ///< whether it is the first, the last, and its number
};

namespace detail {
inline void check_sizes(const attention& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.heads, p.tp, "attention heads over tp"});
  if (x.kv_heads > 0) out.push_back({(std::max)(x.kv_heads, p.tp), (std::min)(x.kv_heads, p.tp), "kv heads over tp"});
}
inline void check_sizes(const latent_attention& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.heads, p.tp, "attention heads over tp"});
}
inline void check_sizes(const compressed_attention& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.heads, p.tp, "attention heads over tp"});
}
inline void check_sizes(const native_sparse_attention& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.heads, p.tp, "attention heads over tp"});
  if (x.kv_heads > 0) out.push_back({(std::max)(x.kv_heads, p.tp), (std::min)(x.kv_heads, p.tp), "kv heads over tp"});
}
inline void check_sizes(const gated_delta& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.value_heads, p.tp, "value heads of linear attention over tp"});
}
inline void check_sizes(const mamba2& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.heads, p.tp, "state-space heads over tp"});
}
inline void check_sizes(const feed_forward& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.ffn, p.tp, "ffn over tp"});
}
inline void check_sizes(const mixture& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.experts, p.ep, "experts over ep"});
  out.push_back({x.expert_ffn, p.etp, "expert ffn over etp"});
}
template <class Other>
void check_sizes(const Other&, const parallel&, std::vector<named_division>&) {}

/// Pairs of packed documents are told for one window; choices of a sparse attention and chunks are not told at all.
inline result<void> check_packing(const layer_list& list, const training& t) {
  if (t.squared_lengths == 0) return {};
  std::int64_t window = 0;
  bool told = true;
  static_cast<void>(for_each_run(list, [&](const layer_blocks& blocks, std::int64_t) -> result<void> {
    for (const block& b : blocks) {
      if (const auto* x = std::get_if<latent_attention>(&b.what)) told = told && x->selected == 0;
      if (std::holds_alternative<compressed_attention>(b.what)) told = false;
      if (std::holds_alternative<native_sparse_attention>(b.what)) told = false;
      const auto* x = std::get_if<attention>(&b.what);
      if (x == nullptr || x->window == 0) continue;
      told = told && !x->chunked && (window == 0 || window == x->window) && t.windowed_pairs > 0;
      window = x->window;
    }
    return {};
  }));
  if (told) return {};
  return error{errc::invalid_argument, t.squared_lengths}.with(
      "squared_lengths with windows or choices of several kinds");
}
}  // namespace detail

/// Whether a list, a step and its spread fit together: as check of a model.
/// Errors: errc::indivisible, errc::out_of_range, each naming the sizes. O(runs x blocks).
[[nodiscard]] inline result<void> check(const layer_list& list, const training& t, const parallel& p) {
  if (const auto ok = check(list); !ok) return ok;
  if (const auto ok = detail::check_packing(list, t); !ok) return ok;
  // The ends, and all that does not depend on blocks, as of a model with as many layers.
  model ends = detail::ends_of(list);
  ends.layers = list.layer_count();
  ends.heads = ends.kv_heads = p.tp * p.cp;
  if (const auto ok = check(ends, t, p); !ok) return ok;
  std::vector<detail::named_division> divisions;
  const auto ok = detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t) -> result<void> {
    for (const block& b : blocks)
      std::visit([&](const auto& sizes) { detail::check_sizes(sizes, p, divisions); }, b.what);
    return {};
  });
  if (!ok) return ok;
  return detail::check_whole(divisions);
}

/// The layers of every rank: stage s of pp x vp has stage_sizes[s] layers, rank i the stages i, i + pp, ….
/// @param stage_sizes  layers of each stage in model order; empty: dealt out evenly, the first stages one more
/// Errors: errc::bad_shape unless there are pp x vp sizes; errc::contradictory_field if they are not the list's layers,
/// errc::out_of_range for a negative one. O(runs + stages).
[[nodiscard]] inline result<std::vector<rank_layers>> layers_of_ranks(const layer_list& list, const parallel& p,
                                                                      std::span<const std::int64_t> stage_sizes = {}) {
  const std::int64_t stages = p.pp * p.vp, all = list.layer_count();
  if (!stage_sizes.empty() && static_cast<std::int64_t>(stage_sizes.size()) != stages)
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(stage_sizes.size())}.with("stage sizes");
  std::vector<rank_layers> out(static_cast<std::size_t>(p.pp));
  for (std::int64_t rank = 0; rank < p.pp; ++rank)
    out[static_cast<std::size_t>(rank)].ends = {.first = rank == 0, .last = rank == p.pp - 1, .rank = rank};
  if (!list.front.empty()) out.front().layers.push_back({list.front, 1});
  std::size_t run = 0;
  std::int64_t used = 0, dealt = 0;  // layers of the run, and of the list, that have a stage
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    std::int64_t left = stage_sizes.empty() ? all / stages + (stage < all % stages ? 1 : 0)
                                            : stage_sizes[static_cast<std::size_t>(stage)];
    if (left < 0) return error{errc::out_of_range, left, 0, all}.with("layers of a stage");
    rank_layers& on = out[static_cast<std::size_t>(stage % p.pp)];
    dealt += left;
    on.layer_count += left;
    while (left > 0 && run < list.layers.size()) {
      const std::int64_t here = (std::min)(left, list.layers[run].count - used);
      on.layers.push_back({list.layers[run].blocks, here});
      left -= here;
      used += here;
      if (used == list.layers[run].count) {
        ++run;
        used = 0;
      }
    }
  }
  if (dealt != all) return error{errc::contradictory_field, dealt, all}.with("layers of the stages");
  for (const repeated_layer& each : list.predictions) out.back().layers.push_back(each);
  if (!list.back.empty()) out.back().layers.push_back({list.back, 1});
  return out;
}

/// What one rank holds at its peak.
struct list_memory {
  rank_parameters parameters;
  rational static_bytes, activation_bytes;  ///< states; saved tensors of all passes in flight and of the ends
  memory_peak peak;
};

namespace detail {
/// Sums and maxima over the layers of a rank.
struct rank_sizes {
  rank_parameters all;
  layer_parameters largest;
  rational kept = 0, again = 0;  ///< by one micro-batch in all layers; made again in the largest
};
inline result<rank_sizes> sizes_of(const layer_list& list, const rank_layers& on, const training& t, const parallel& p,
                                   const replay_set& replayed) {
  rank_sizes out;
  parallel whole = p;
  whole.recompute = recompute::none;
  for (const repeated_layer& each : on.layers) {
    const auto all = count_rank_parameters(list, each.blocks, each.count, p),
               one = count_rank_parameters(list, each.blocks, 1, p);
    if (!all) return all.error();
    if (!one) return one.error();
    out.all.dense += all->dense;
    out.all.expert += all->expert;
    if (one->dense + one->expert > out.largest.layer_dense + out.largest.layer_expert)
      out.largest = {one->dense, one->expert};
    const auto kept = layer_activation_bytes(list, each.blocks, t, p, replayed),
               made = layer_activation_bytes(list, each.blocks, t, whole, replayed);
    if (!kept) return kept.error();
    if (!made) return made.error();
    out.kept = out.kept + rational(each.count) * *kept;
    if (p.recompute == recompute::full && out.again < *made) out.again = *made;
  }
  if (!out.kept.ok()) return error{errc::undefined_value}.with("activations");
  return out;
}
}  // namespace detail

/// Memory of one pipeline rank.
/// @param passes  micro-batches whose tensors the rank keeps at its peak, as a share of its layers: chunks in flight
///                over vp. 1F1B's are held_share_by_1f1b.
/// The moment inside attention and FFN (buffers of a framework, blocks that arrive under context parallelism) is not
/// counted.  Errors: errc::undefined_value, errc::overflow. Complexity: one pass over the formulas per run.
[[nodiscard]] inline result<list_memory> memory_of_rank(const layer_list& list, const rank_layers& on,
                                                        const training& t, const parallel& p, const rational& passes,
                                                        const replay_set& replayed = {}) {
  const auto layers = detail::sizes_of(list, on, t, p, replayed);
  if (!layers) return layers.error();
  setting ends = detail::setting_of_ends(list, on.ends, t, p, {});
  const auto own = count_rank_parameters(ends.model, p, ends.on_rank);
  if (!own) return own.error();
  list_memory out;
  out.parameters = {layers->all.dense + own->dense, layers->all.expert + own->expert};
  const auto fixed = static_bytes(out.parameters, t, p);
  if (!fixed) return fixed.error();
  const rational held = p.offload_activations && rational(2) < passes ? rational(2) : passes;
  ends.in_flight.embedding_passes = static_cast<std::int64_t>(passes.ceiling().num());
  ends.largest_layer = layers->largest;
  const auto end_tensors = rank_total(end_tensor_terms, numbers_of(ends)),
             buffers = rank_total(workspace_terms, numbers_of(ends)),
             head = rank_total(head_transient_terms, numbers_of(ends)),
             shards = rank_total(transient_terms, numbers_of(ends));
  for (const auto* r : {&end_tensors, &buffers, &head, &shards})
    if (!*r) return r->error();
  const rational kept = layers->kept * held;
  out.static_bytes = *fixed;
  out.activation_bytes = kept + *end_tensors + layers->again;
  out.peak = {*fixed, kept, *buffers, *end_tensors + *head, *shards + layers->again};
  return out;
}

/// Chunks in flight of a 1F1B pipeline over chunks per rank. Errors: errc::undefined_value.
[[nodiscard]] constexpr result<rational> held_share_by_1f1b(const training& t, const parallel& p,
                                                            std::int64_t rank) noexcept {
  const setting all{.on_rank = {.rank = rank}, .training = t, .parallel = p};
  const auto chunks = exact(chunks_in_flight, numbers_of(all));
  if (!chunks) return chunks.error();
  return *chunks / rational(p.vp);
}

}  // namespace hocket::inline HOCKET_ABI::cost
