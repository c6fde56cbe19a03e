// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/cost/model/step_time.hpp>

#include <concepts>
#include <span>
#include <utility>
#include <vector>

// Seconds of the layers of a list, and of a step.
namespace hocket::inline HOCKET_ABI::cost {

namespace detail {
/// One layer as its formulas see it: a step of one micro-batch. Kernels of attention skip what is masked; separate
/// products compute it.
constexpr block_setting setting_of_layer(const layer_list& list, const training& t, const parallel& p,
                                         const recompute_choice& how) {
  block_setting all{.on_rank = {.layers = 1},
                    .sizes = list.sizes,
                    .training = t,
                    .parallel = p,
                    .counted = {.attention = t.flash_attention ? attention_count::window : attention_count::full},
                    .replayed = how.operations};
  all.training.global_batch = t.micro_batch;
  all.parallel.recompute = how.level;
  return all;
}
}  // namespace detail

/// Time of one such layer and one micro-batch under a recompute choice. Linear attention counts as attention, also for
/// what its kernels form again in the backward pass. What its ranks pass on under context parallelism is not counted.
/// Errors: errc::undefined_value if a rate that is needed is 0. Complexity: one pass over the formulas.
///
///     time_of_layer(list, list.layers[0].blocks, t, p, machines::b200_fitted.rates)->total()
template <class Hardware = machine>
[[nodiscard]] result<layer_time> time_of_layer(const layer_list& list, const layer_blocks& blocks, const training& t,
                                               const parallel& p, const Hardware& on,
                                               const recompute_choice& how = {}) {
  detail::require_hardware<Hardware>();
  const block_setting all = detail::setting_of_layer(list, t, p, how);
  layer_time took;
  detail::layer_numbers x;
  for (const block& b : blocks)
    visit_block(b, all, [&](const block_terms& lists, const numbers_view& numbers) {
      const auto cp = static_cast<double>(p.cp);
      detail::add_times(lists.forward, numbers, on, t, p, cp, took);
      detail::add_times(lists.whole_step, numbers, on, t, p, 3 * cp,
                        took);  // of both passes: the forward pass is a third
      detail::add_times(lists.moved, numbers, on, t, p, 1, took);
      for (const auto* sent : {&lists.tensor_transfers, &lists.context_transfers, &lists.expert_transfers})
        detail::add_transfers(*sent, numbers, on, p, x);
    });
  took.backward += detail::scores_again(took, t);
  const machine host = host_of(on);
  const seconds gaps(detail::kernels_of(blocks, host, p) * host.kernel_seconds);
  took.forward += gaps;
  took.backward += gaps;
  result<rational> kept = rational(0);
  if (p.offload_activations) kept = layer_activation_bytes(list, blocks, t, all.parallel, how.operations);
  if (!kept) return kept.error();
  detail::settle_communication(kept, all.parallel, on, x, took);
  const double sum = took.total().count();
  if (!(sum - sum == 0)) return error{errc::undefined_value}.with("seconds of a layer: a rate is 0");
  return took;
}

/// Time of the head, the loss and the joint inputs of prediction modules for one micro-batch, on the last rank.
/// Errors: as time_of_layer.
template <class Hardware = machine>
[[nodiscard]] result<layer_time> time_of_head(const layer_list& list, const training& t, const parallel& p,
                                              const Hardware& on) {
  detail::require_hardware<Hardware>();
  setting all =
      detail::setting_of_ends(list, {.first = false, .last = true}, t, p, {.attention = attention_count::window});
  all.training.global_batch = t.micro_batch;
  all.parallel.recompute = recompute::none;
  const layer_time took = detail::time_of_ends(all, on);
  const double sum = took.total().count();
  if (!(sum - sum == 0)) return error{errc::undefined_value}.with("seconds of the head: a rate is 0");
  return took;
}

/// Time of one boundary tensor from a pipeline rank to the next, as far as nothing hides it: of the widest boundary.
/// Nothing without a pipeline. Complexity: O(runs of equal layers).
template <class Hardware = machine>
[[nodiscard]] seconds time_of_hop(const layer_list& list, const training& t, const parallel& p, const Hardware& on) {
  setting ends = detail::setting_of_ends(list, {}, t, p, {});
  std::int64_t streams = list.sizes.streams;
  for (const repeated_layer& each : list.layers) streams = (std::max)(streams, streams_behind(list.sizes, each.blocks));
  ends.sizes.hidden = list.sizes.hidden * streams;
  return detail::hop_of(ends, on) / 2;  // there and back
}

/// Predicts the time of one training step of a list whose layers stand on ranks and are recomputed as their runs say.
/// Errors: those of check and of time_of_layer; errc::bad_shape unless there are pp ranks.
/// Complexity: one pass over the formulas per run.
template <class Hardware = machine>
[[nodiscard]] result<step_prediction> predict_step(const layer_list& list, const training& t, const parallel& p,
                                                   const Hardware& on, std::span<const rank_layers> ranks) {
  detail::require_hardware<Hardware>();
  if (const auto fits = check(list, t, p); !fits) return fits.error();
  if constexpr (std::same_as<Hardware, machine>)
    if (const auto sound = check(on); !sound) return sound.error();
  const error bad_shape{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(ranks.size())};
  if (static_cast<std::int64_t>(ranks.size()) != p.pp) return bad_shape.with("ranks");
  setting ends = detail::setting_of_ends(list, {}, t, p, {});
  ends.sizes.hidden = list.sizes.hidden * list.sizes.streams;
  const machine host = host_of(on);
  step_prediction out;
  detail::rank_sums sums;
  std::vector<rank_parameters> parameters;
  seconds hop_of_busiest{};
  for (const rank_layers& here : ranks) {
    layer_time took;
    double kernels = 0;
    const auto held_parameters = count_rank_parameters(list, here, p);
    if (!held_parameters) return held_parameters.error();
    parameters.push_back(*held_parameters);
    for (const rank_run& each : here.layers) {
      const auto one = time_of_layer(list, each.blocks, t, p, on, each.how);
      if (!one) return one.error();
      took += static_cast<double>(each.count) * *one;
      kernels += static_cast<double>(each.count) * detail::kernels_of(each.blocks, host, p);
    }
    if (here.ends.last) {
      const auto head = time_of_head(list, t, p, on);
      if (!head) return head.error();
      took += *head;
      kernels += host.launches;
    }
    if (!here.layers.empty())  // all residual streams go to the next stage
      ends.sizes.hidden = list.sizes.hidden * streams_behind(list.sizes, here.layers.back().blocks);
    const seconds hop = detail::hop_of(ends, on);
    detail::add_rank(took, kernels, hop, p, sums, out);
    if (out.busiest + 1 == out.rank_times.size()) hop_of_busiest = hop;
  }
  const auto traffic = detail::traffic_of({.sizes = list.sizes, .training = t, .parallel = p}, on, parameters, out);
  return detail::finish(std::move(out), sums, traffic, hop_of_busiest, t, p, on);
}

/// The same where all layers are recomputed alike, as p says.
/// @param stage_sizes  as in layers_of_ranks
/// Errors: those of check, of layers_of_ranks, of time_of_layer. Complexity: one pass over the formulas per run.
///
///     predict_step(list, t, p, machines::b200_fitted.rates)->tokens_per_second_per_device
template <class Hardware = machine>
[[nodiscard]] result<step_prediction> predict_step(const layer_list& list, const training& t, const parallel& p,
                                                   const Hardware& on, std::span<const std::int64_t> stage_sizes = {}) {
  if (const auto fits = check(list, t, p); !fits) return fits.error();
  const auto ranks = layers_of_ranks(list, p, stage_sizes);
  if (!ranks) return ranks.error();
  return predict_step(list, t, p, on, std::span<const rank_layers>(*ranks));
}

}  // namespace hocket::inline HOCKET_ABI::cost
