// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/muon_memory.hpp>
#include <hocket/cost/model/peak_memory.hpp>
#include <hocket/cost/model/rank_layers.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

// Which layers of a list stand on which pipeline rank, and what that rank holds.
namespace hocket::inline HOCKET_ABI::cost {

namespace detail {
/// Ulysses gives each context-parallel rank whole heads.
constexpr void check_heads(std::int64_t heads, std::int64_t kv_heads, const parallel& p,
                           std::vector<named_division>& out) {
  out.push_back({heads, p.tp, "attention heads over tp"});
  if (kv_heads > 0) out.push_back({(std::max)(kv_heads, p.tp), (std::min)(kv_heads, p.tp), "kv heads over tp"});
  if (p.cp_exchange != context_exchange::all_to_all) return;
  out.push_back({heads / p.tp, p.cp, "heads of a rank over cp"});
  if (kv_heads > 0) out.push_back({(std::max)(kv_heads / p.tp, std::int64_t{1}), p.cp, "kv heads of a rank over cp"});
}
constexpr void check_sizes(const attention& x, const parallel& p, std::vector<named_division>& out) {
  check_heads(x.heads, x.kv_heads, p, out);
}
constexpr void check_sizes(const latent_attention& x, const parallel& p, std::vector<named_division>& out) {
  check_heads(x.heads, 0, p, out);
}
constexpr void check_sizes(const compressed_attention& x, const parallel& p, std::vector<named_division>& out) {
  check_heads(x.heads, 0, p, out);
}
constexpr void check_sizes(const native_sparse_attention& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.heads, p.tp, "attention heads over tp"});
  if (x.kv_heads > 0) out.push_back({(std::max)(x.kv_heads, p.tp), (std::min)(x.kv_heads, p.tp), "kv heads over tp"});
}
constexpr void check_sizes(const gated_delta& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.value_heads, p.tp, "value heads of linear attention over tp"});
}
constexpr void check_sizes(const mamba2& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.heads, p.tp, "state-space heads over tp"});
}
constexpr void check_sizes(const feed_forward& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.ffn, p.tp, "ffn over tp"});
}
constexpr void check_sizes(const mixture& x, const parallel& p, std::vector<named_division>& out) {
  out.push_back({x.experts, p.ep, "experts over ep"});
  out.push_back({x.expert_ffn, p.etp, "expert ffn over etp"});
}
template <class Other>
constexpr void check_sizes(const Other&, const parallel&, std::vector<named_division>&) {}
}  // namespace detail

/// Whether a list, a step and its spread fit together: as check_spread of a model. That every stage has a layer is for
/// those to ask who deal layers out evenly: check_even_stages.
/// Errors: errc::indivisible, errc::out_of_range, each naming the sizes. O(runs x blocks).
[[nodiscard]] constexpr result<void> check(const layer_list& list, const training& t, const parallel& p) {
  if (const auto ok = check(list); !ok) return ok;
  if (const auto ok = check_packing(list, t); !ok) return ok;
  if (const auto ok = check_spread(list.sizes, t, p); !ok) return ok;
  std::vector<detail::named_division> divisions;
  const auto ok = detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t) -> result<void> {
    for (const block& b : blocks) {
      if (const auto* x = std::get_if<attention>(&b.what); x != nullptr && x->kv_heads < 1 && !x->shared_kv)
        return error{errc::out_of_range, x->kv_heads, 1, x->heads}.with("kv_heads");
      std::visit([&](const auto& sizes) { detail::check_sizes(sizes, p, divisions); }, b.what);
    }
    return {};
  });
  if (!ok) return ok;
  return detail::check_whole(divisions);
}

namespace detail {
/// What the last stage has beside its layers, in the parameters that a token uses: modules and heads.
struct stage_weights {
  integer layer = 1, beside_last = 0;
};
constexpr stage_weights weights_of_stages(const layer_list& list) {
  stage_weights out;
  if (list.layers.empty()) return out;
  const layer_blocks blocks = all_weights(list.layers.back().blocks);
  const block_setting all{.on_rank = {.layers = 1}, .sizes = list.sizes};
  const auto dense = sum_over(blocks, all, &block_terms::parameters, false),
             expert = sum_over(blocks, all, &block_terms::expert_parameters, false),
             idle = sum_over(blocks, all, &block_terms::idle_parameters, false);
  if (!dense || !expert || !idle) return out;
  const rational used = *dense + *expert - *idle;
  if (!used.ok() || used.ceiling().num() < 1) return out;
  out.layer = used.ceiling().num();
  const integer modules = list.sizes.prediction_heads;
  out.beside_last = modules * out.layer + integer(list.sizes.vocabulary) * list.sizes.hidden * (1 + modules);
  return out;
}
}  // namespace detail

/// Layers of each stage in model order where nothing is said of them. Where they divide, all have the same. Else the
/// last stage, which has heads and prediction modules beside its layers, gets as many as keep the heaviest stage
/// lightest; of the others the first have one more, and the first has none if there are too few.
/// Errors: those of check_even_stages. O(runs + stages).
///
///     // 61 layers and a prediction module in 16 stages: 15 of 4, and 1 beside the module and two heads.
///     dealt_stages(deepseek_v3, {.pp = 16})->back() == 1;
[[nodiscard]] constexpr result<std::vector<std::int64_t>> dealt_stages(const layer_list& list, const parallel& p) {
  const std::int64_t stages = p.pp * p.vp, all = list.layer_count();
  if (const auto ok = check_even_stages(all, p); !ok) return ok.error();
  std::int64_t last = all / stages;
  if (all % stages != 0) {
    const detail::stage_weights weight = detail::weights_of_stages(list);
    const auto heaviest_of_last = [&](std::int64_t layers) { return layers * weight.layer + weight.beside_last; };
    const auto heaviest_of_others = [&](std::int64_t on_last) {
      return (all - on_last + stages - 2) / (stages - 1) * weight.layer;
    };
    const auto heaviest = [&](std::int64_t on_last) {
      return (std::max)(heaviest_of_last(on_last), heaviest_of_others(on_last));
    };
    // The last stage grows with its layers, the others shrink: the best is where they cross, or just before.
    std::int64_t from = 0, to = last;
    while (from < to) {
      const std::int64_t middle = from + (to - from) / 2;
      if (heaviest_of_last(middle) >= heaviest_of_others(middle)) to = middle;
      else from = middle + 1;
    }
    last = from > 0 && heaviest(from - 1) < heaviest(from) ? from - 1 : from;
  }
  const std::int64_t others = stages - 1, rest = all - last;
  std::vector<std::int64_t> out;
  if (others > 0 && rest < others) out.push_back(0);
  const auto begun = static_cast<std::int64_t>(out.size());
  for (std::int64_t s = begun; s < others; ++s) {
    const std::int64_t here = others - begun;
    out.push_back(rest / here + (s - begun < rest % here ? 1 : 0));
  }
  out.push_back(last);
  return out;
}

/// The layers of every rank: stage s of pp x vp has stage_sizes[s] layers, rank i the stages i, i + pp, ….
/// @param stage_sizes  layers of each stage in model order; empty: as dealt_stages has them
/// @param operations   what each layer computes again beside the level of p
/// Errors: errc::bad_shape unless there are pp x vp sizes; errc::contradictory_field if they are not the list's layers,
/// errc::out_of_range for a negative one, and without sizes those of check_even_stages. O(runs + stages).
[[nodiscard]] constexpr result<std::vector<rank_layers>> layers_of_ranks(const layer_list& list, const parallel& p,
                                                                         std::span<const std::int64_t> stage_sizes = {},
                                                                         const replay_set& operations = {}) {
  const recompute_choice how{p.recompute, operations};
  const std::int64_t stages = p.pp * p.vp, all = list.layer_count();
  if (!stage_sizes.empty() && static_cast<std::int64_t>(stage_sizes.size()) != stages)
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(stage_sizes.size())}.with("stage sizes");
  std::vector<std::int64_t> dealt;
  if (stage_sizes.empty()) {
    auto even = dealt_stages(list, p);
    if (!even) return even.error();
    dealt = std::move(*even);
    stage_sizes = dealt;
  }
  std::vector<rank_layers> out(static_cast<std::size_t>(p.pp));
  for (std::int64_t rank = 0; rank < p.pp; ++rank)
    out[static_cast<std::size_t>(rank)].ends = {.first = rank == 0, .last = rank == p.pp - 1, .rank = rank};
  if (!list.front.empty()) out.front().layers.push_back({list.front, 1, how, run_place::front});
  std::size_t run = 0;
  std::int64_t used = 0, placed = 0;  // layers of the run, and of the list, that have a stage
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    std::int64_t left = stage_sizes[static_cast<std::size_t>(stage)];
    if (left < 0) return error{errc::out_of_range, left, 0, all}.with("layers of a stage");
    rank_layers& on = out[static_cast<std::size_t>(stage % p.pp)];
    placed += left;
    on.layer_count += left;
    while (left > 0 && run < list.layers.size()) {
      const std::int64_t here = (std::min)(left, list.layers[run].count - used);
      on.layers.push_back({list.layers[run].blocks, here, how});
      left -= here;
      used += here;
      if (used == list.layers[run].count) {
        ++run;
        used = 0;
      }
    }
  }
  if (placed != all) return error{errc::contradictory_field, placed, all}.with("layers of the stages");
  for (const repeated_layer& each : list.predictions)
    out.back().layers.push_back({each.blocks, each.count, how, run_place::prediction});
  if (!list.back.empty()) out.back().layers.push_back({list.back, 1, how, run_place::back});
  return out;
}

namespace detail {
/// What the formulas of one layer read that is recomputed in this way.
[[nodiscard]] constexpr block_setting setting_of_layer(const layer_list& list, const recompute_choice& how,
                                                       const training& t, parallel p, const convention& counted) {
  p.recompute = how.level;
  return {.on_rank = {.layers = 1},
          .sizes = list.sizes,
          .training = t,
          .parallel = p,
          .counted = counted,
          .replayed = how.operations};
}
}  // namespace detail

/// FLOPs that one layer of a run does again, over all sequences of a step. Errors: errc::undefined_value.
[[nodiscard]] constexpr result<rational> flops_again(const layer_list& list, const rank_run& run, const training& t,
                                                     const parallel& p, const convention& counted) {
  const auto flops = detail::flops_of_run(run.blocks, detail::setting_of_layer(list, run.how, t, p, counted));
  if (!flops) return flops.error();
  return flops->again;
}

namespace detail {
/// The sets of weights that a rank's blocks take from blocks of other ranks.
constexpr layer_blocks copies_on(const rank_layers& on) {
  layer_blocks sets;
  for (const rank_run& each : on.layers) add_shared(each.blocks, sets);
  std::erase_if(sets, [&](const block& set) {
    for (const rank_run& each : on.layers)
      for (const block& b : each.blocks)
        if (!b.weights_elsewhere && b.shares_with(set)) return true;
    return false;
  });
  return sets;
}
}  // namespace detail

/// Parameters that one rank holds of a list: of weights that blocks of another rank have counted, its own copy. Errors:
/// errc::undefined_value, errc::overflow.
[[nodiscard]] constexpr result<rank_parameters> count_rank_parameters(const layer_list& list, const rank_layers& on,
                                                                      const parallel& p) {
  const setting ends = detail::setting_of_ends(list, on.ends, {}, p, {});
  const auto of_ends = rank_total(end_parameter_terms, numbers_of(ends));
  if (!of_ends) return of_ends.error();
  detail::parameter_sum sum{*of_ends, 0};
  for (const rank_run& each : on.layers) {
    const auto some = detail::sum_parameters(list, each.blocks, each.count, p);
    if (!some) return some.error();
    sum += *some;
  }
  const auto copies = detail::sum_parameters(list, detail::copies_on(on), 1, p);
  if (!copies) return copies.error();
  sum += *copies;
  return detail::rounded(sum);
}

/// FLOPs of a step, forward and backward, and with what the layers of each rank do again as their runs say.
/// Errors: those of check; errc::undefined_value. Complexity: one pass over the formulas per run.
///
///     count_flops(list, t, p, convention::megatron(), *layers_of_ranks(list, p))->hardware_step
[[nodiscard]] constexpr result<flop_count> count_flops(const layer_list& list, const training& t, const parallel& p,
                                                       const convention& counted, std::span<const rank_layers> ranks) {
  auto out = count_flops(list, t, p, counted);
  if (!out) return out.error();
  parallel ends = p;
  rational sum = 0;
  for (const rank_layers& on : ranks)
    for (const rank_run& run : on.layers) {
      const auto again = flops_again(list, run, t, p, counted);
      if (!again) return again.error();
      sum = sum + rational(run.count) * *again;
      if (run.place == run_place::prediction) ends.recompute = run.how.level;
    }
  const auto heads = detail::flops_of_ends(list, t, ends, counted);
  if (!heads) return heads.error();
  out->hardware_step = out->model_step + sum + heads->again;
  if (!out->hardware_step.ok()) return error{errc::undefined_value}.with("FLOPs of a step");
  return out;
}

/// FLOPs of the forward pass of one rank, over all sequences of a step; of what is counted for both passes together, a
/// third. Errors: errc::undefined_value. Complexity: one pass over the formulas per run.
[[nodiscard]] inline result<rational> forward_flops_of_rank(const layer_list& list, const rank_layers& on,
                                                            const training& t, const parallel& p,
                                                            const convention& counted) {
  auto sum = rank_total(end_flop_terms, numbers_of(detail::setting_of_ends(list, on.ends, t, p, counted)));
  if (!sum) return sum.error();
  for (const rank_run& each : on.layers) {
    const block_setting all{
        .on_rank = {.layers = each.count}, .sizes = list.sizes, .training = t, .parallel = p, .counted = counted};
    const auto forward = detail::sum_over(each.blocks, all, &block_terms::forward, true);
    const auto both = detail::sum_over(each.blocks, all, &block_terms::whole_step, true);
    if (!forward) return forward.error();
    if (!both) return both.error();
    *sum = *sum + *forward + *both / rational(3);
  }
  return *sum;
}

/// Bytes of the states of some blocks on one rank. Errors: errc::undefined_value, errc::overflow. O(blocks).
[[nodiscard]] inline result<rational> static_bytes(const layer_list& list, const layer_blocks& blocks,
                                                   const training& t, const parallel& p) {
  const auto sum = detail::sum_parameters(list, blocks, 1, p);
  if (!sum) return sum.error();
  const auto parameters = detail::rounded(*sum);
  if (!parameters) return parameters.error();
  return static_bytes(*parameters, t, p);
}
/// The sets of weights that several layers of a list work with: a rank holds a copy of each that it needs. O(blocks).
[[nodiscard]] constexpr layer_blocks shared_weights(const layer_list& list) { return detail::shared_sets(list); }
/// A layer without those sets. O(blocks).
[[nodiscard]] constexpr layer_blocks own_of_layer(const layer_list& list, const layer_blocks& blocks) {
  return detail::without_sets(blocks, detail::shared_sets(list));
}

/// What a rank holds in flight at its peak.
struct held_share {
  rational layers = 1;                ///< micro-batches, as a share of its layers: chunks in flight over vp
  std::int64_t embedding_passes = 1;  ///< micro-batches that passed the embedding on this rank
};
/// What 1F1B holds there. Errors: errc::undefined_value.
[[nodiscard]] constexpr result<held_share> held_share_by_1f1b(const training& t, const parallel& p,
                                                              std::int64_t rank) noexcept {
  const setting all{.on_rank = {.rank = rank}, .training = t, .parallel = p};
  const auto chunks = exact(chunks_in_flight, numbers_of(all));
  if (!chunks) return chunks.error();
  const rational batches = rational(t.global_batch) / rational(t.micro_batch * p.dp);
  return held_share{*chunks / rational(p.vp), static_cast<std::int64_t>((batches < *chunks ? batches : *chunks).num())};
}

/// What one rank holds at its peak.
struct list_memory {
  rank_parameters parameters;
  rational static_bytes, activation_bytes;  ///< states; saved tensors of all passes in flight and of the ends
  memory_peak peak;
};

namespace detail {
/// Weights, gradients and states of Muon; `all` has the parameters of the rank.
inline result<rational> static_bytes_with_muon(const layer_list& list, const rank_layers& on, const setting& all) {
  training without = all.training;  // what is not of the optimizer
  without.muon = false;
  without.master_bytes = without.moment_bytes = 0;
  const auto rest = static_bytes(all.parameters, without, all.parallel);
  if (!rest) return rest;
  std::vector<rank_run> layers = on.layers;
  if (const layer_blocks copies = copies_on(on); !copies.empty()) layers.push_back({copies, 1});
  const auto states = muon_states_of_rank(list, layers, on.ends.last, all.parameters, all.training, all.parallel);
  if (!states) return states;
  return *rest + *states;
}
/// Sums and maxima over the layers of a rank.
struct rank_sizes {
  layer_parameters largest;
  layer_bytes bytes;
  rational moment = 0;  ///< bytes inside the layer that needs most for a moment
};
/// Whole passes of layers, dealt out from the last layer on: all of them together are the share, rounded up.
class whole_passes {
 public:
  constexpr explicit whole_passes(const rational& share) : share_(share) {}
  /// Of the next layers, from behind.
  [[nodiscard]] constexpr rational of(std::int64_t count) {
    layers_ += count;
    const rational before = passes_;
    passes_ = (share_ * rational(layers_)).ceiling();
    return passes_ - before;
  }

 private:
  rational share_, passes_ = 0;
  std::int64_t layers_ = 0;
};
constexpr result<rational> moment_of(const layer_blocks& blocks, const block_setting& all) {
  rational most = 0;
  for (const block& b : blocks) {
    const auto inside = sum_over({b}, all, &block_terms::moment, true);
    if (!inside) return inside.error();
    if (most < *inside) most = *inside;
  }
  return most;
}
/// Bytes that one layer of a run keeps of one micro-batch, as its choice says.
constexpr result<rational> kept_by(const layer_list& list, const rank_run& run, const training& t, parallel p) {
  p.recompute = run.how.level;
  return layer_activation_bytes(list, run.blocks, t, p, run.how.operations);
}
constexpr result<rank_sizes> sizes_of(const layer_list& list, const rank_layers& on, const training& t,
                                      const parallel& p, const rational& share) {
  rank_sizes out;
  const block_setting one_layer{.on_rank = {.layers = 1}, .sizes = list.sizes, .training = t, .parallel = p};
  rational largest_pass = 0;
  for (const rank_run& each : on.layers) {
    const auto sum = sum_parameters(list, all_weights(each.blocks), 1, p);
    if (!sum) return sum.error();
    const auto one = rounded(*sum);
    if (!one) return one.error();
    if (one->dense + one->expert > out.largest.layer_dense + out.largest.layer_expert)
      out.largest = {one->dense, one->expert};
    const auto inside = moment_of(each.blocks, one_layer);
    if (!inside) return inside.error();
    if (out.moment < *inside) out.moment = *inside;
    if (each.how.level != recompute::full) continue;
    rank_run whole = each;
    whole.how.level = recompute::none;
    const auto made = kept_by(list, whole, t, p);
    if (!made) return made.error();
    if (out.bytes.again < *made) out.bytes.again = *made;
  }
  whole_passes passes(share);
  for (auto each = on.layers.rbegin(); each != on.layers.rend(); ++each) {
    const auto kept = kept_by(list, *each, t, p);
    if (!kept) return kept.error();
    out.bytes.kept = out.bytes.kept + passes.of(each->count) * *kept;
    if (largest_pass < *kept) largest_pass = *kept;
  }
  if (!out.bytes.kept.ok()) return error{errc::undefined_value}.with("activations");
  out.bytes.kept = kept_on_device(p, out.bytes.kept, largest_pass);
  return out;
}
}  // namespace detail

/// Memory of one pipeline rank whose layers are recomputed as each run says.
/// @param in_flight  what a schedule holds at its peak; held_share_by_1f1b for 1F1B
/// Errors: errc::undefined_value, errc::overflow, with Muon those of muon_states_of_rank. Complexity: one pass over the
/// formulas per run.
[[nodiscard]] constexpr result<list_memory> memory_of_rank(const layer_list& list, const rank_layers& on,
                                                           const training& t, const parallel& p,
                                                           const held_share& in_flight) {
  const auto layers = detail::sizes_of(list, on, t, p, in_flight.layers);
  if (!layers) return layers.error();
  const auto parameters = count_rank_parameters(list, on, p);
  if (!parameters) return parameters.error();
  setting all = detail::setting_of_ends(list, on.ends, t, p, {});
  all.parameters = *parameters;
  all.in_flight.embedding_passes = in_flight.embedding_passes;
  all.largest_layer = layers->largest;
  const auto states = t.muon ? detail::static_bytes_with_muon(list, on, all) : result<rational>(rational(0));
  if (!states) return states.error();
  all.training.muon = false;
  auto peak = detail::peak_of(all, layers->bytes, layers->moment);
  const auto kept = detail::with_ends(layers->bytes, all);
  if (!peak) return peak.error();
  if (!kept) return kept.error();
  if (t.muon) peak->static_bytes = *states;
  return list_memory{*parameters, peak->static_bytes, *kept, *peak};
}

/// Bytes of one pipeline rank, the busiest of its tensor- and data-parallel group.
struct rank_memory {
  part on_rank;
  held in_flight;
  rank_parameters parameters;
  rational static_bytes, activation_bytes;
  memory_peak peak;  ///< what fits goes by
  /// The sum of each part's own largest bytes, whether or not they are there together.
  [[nodiscard]] constexpr rational total_bytes() const noexcept { return static_bytes + activation_bytes; }
};

/// memory_of_rank as a row of a report. Errors and complexity: as there.
[[nodiscard]] inline result<rank_memory> memory_row(const layer_list& list, const rank_layers& on, const training& t,
                                                    const parallel& p, const held_share& share) {
  const auto memory = memory_of_rank(list, on, t, p, share);
  if (!memory) return memory.error();
  rank_memory row;
  row.on_rank = on.ends;
  row.on_rank.layers = on.layer_count;
  row.in_flight.layer_passes = static_cast<std::int64_t>((share.layers * rational(on.layer_count)).ceiling().num());
  row.in_flight.embedding_passes = share.embedding_passes;
  row.parameters = memory->parameters;
  row.static_bytes = memory->static_bytes;
  row.activation_bytes = memory->activation_bytes;
  row.peak = memory->peak;
  return row;
}

}  // namespace hocket::inline HOCKET_ABI::cost
