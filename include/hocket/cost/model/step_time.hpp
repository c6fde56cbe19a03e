// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/check_machine.hpp>
#include <hocket/cost/model/bubble.hpp>
#include <hocket/cost/model/layer_cost.hpp>
#include <hocket/cost/model/partition.hpp>
#include <hocket/cost/model/static_memory.hpp>
#include <hocket/cost/model/step_parts.hpp>

#include <concepts>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost::letters {

/// Bytes that the optimizer reads and writes on one rank: each gradient and weight once, each master weight and moment
/// twice, of its shard. `split` as in static_memory_terms; terms whose state lives on the host go over its link.
/// Needs: rank_parameters, training, parallel.
inline constexpr auto optimizer_byte_terms = [] {
  using detail::static_memory::expert_replicas, detail::static_memory::from_level_1, detail::static_memory::replicas;
  using detail::static_memory::state;
  return terms(state("optimizer traffic", (c_g + c_w + 2 * c_m + 2 * c_o) * N_r, literal<units::pure>(1),
                     from_level_1(replicas)),
               state("optimizer traffic, experts", (c_g + c_w + 2 * c_m + 2 * c_o) * N_e, N_e / element,
                     from_level_1(expert_replicas)));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {
using letters::optimizer_byte_terms;

/// So many layers of a kind on one pipeline rank, all recomputed alike.
struct layer_group {
  layer_kind kind = layer_kind::dense;
  std::int64_t count = 0;
  recompute_choice how{};
  friend constexpr bool operator==(const layer_group&, const layer_group&) = default;
};
/// What one pipeline rank works on, in order: a plan per stage and layer.
using stage_layers = std::vector<layer_group>;

/// The layers of each rank when they are dealt out evenly (even_parts), recomputed as `p` and `operations` say.
[[nodiscard]] inline std::vector<stage_layers> even_stages(const model& m, const parallel& p,
                                                           const replay_set& operations = {}) {
  std::vector<stage_layers> stages;
  const recompute_choice how{p.recompute, operations};
  for (const part& held_part : even_parts(m, p)) {
    stage_layers on_rank;
    const std::int64_t predicts = held_part.last ? m.mtp_layers : 0;
    const std::int64_t moe = held_part.moe_layers - (m.moe_layers > 0 ? predicts : 0);
    if (held_part.first) on_rank.push_back({layer_kind::embedding, 1, {}});
    if (const std::int64_t dense = held_part.layers - predicts - moe; dense > 0)
      on_rank.push_back({layer_kind::dense, dense, how});
    if (moe > 0) on_rank.push_back({layer_kind::experts, moe, how});
    if (predicts > 0) on_rank.push_back({layer_kind::prediction, predicts, how});
    if (held_part.last) on_rank.push_back({layer_kind::head, 1, {}});
    stages.push_back(std::move(on_rank));
  }
  return stages;
}

/// A predicted step: its parts on the busiest pipeline rank, the time of every rank for one micro-batch, the
/// throughput.
struct step_prediction {
  step_parts parts;
  std::vector<layer_seconds> rank_seconds;  ///< per micro-batch, by pipeline rank
  std::size_t busiest = 0;
  step_numbers numbers;                                    ///< what the parts were computed from
  rank_parameters exchange_parameters, update_parameters;  ///< of the ranks that send and update most
  double tokens_per_second_per_device = 0;
  [[nodiscard]] double seconds() const noexcept { return parts.total(); }
};

/// Predicts the time of one training step from the formulas and the rates of a machine.
/// One micro-batch takes t_i on rank i; 1F1B takes m max t_i, plus the others' t_i / vp once to fill and drain: the
/// bubble. Data-parallel transfers and the optimizer come after, as far as they are not hidden.
/// @param stages  the layers of each pipeline rank with their recompute; empty: even_stages
/// Errors: those of check, also of the machine; errc::bad_shape unless stages is empty or has pp entries;
/// errc::undefined_value if a rate that is needed is 0. Complexity: one pass over the formulas per layer group.
///
///     const auto step = hocket::cost::predict_step(m, t, p, hocket::cost::machines::b200_fitted.rates);
///     step->parts.forward_backward, step->parts.bubble, step->tokens_per_second_per_device
template <class Numbers = numbers_of_setting, hardware Hardware = machine>
[[nodiscard]] result<step_prediction> predict_step(const model& m, const training& t, const parallel& p,
                                                   const Hardware& on, std::vector<stage_layers> stages = {}) {
  if (const auto fits = check(m, t, p); !fits) return fits.error();
  if constexpr (std::same_as<Hardware, machine>)
    if (const auto sound = check(on); !sound) return sound.error();
  if (stages.empty()) stages = even_stages(m, p);
  if (static_cast<std::int64_t>(stages.size()) != p.pp)
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(stages.size())}.with("stages");
  step_prediction out;
  setting all{
      .on_rank = {}, .in_flight = {}, .parameters = {}, .model = m, .training = t, .parallel = p, .counted = {}};
  double hop = 0;
  if (p.pp > 1) {
    const Numbers numbers(numbers_of(all));
    for_each_term<pipeline_transfer_terms>(
        numbers, [&](const detail::counted_term& x) { hop += seconds_of(on, detail::item_of(x)); });
  }
  double sum = 0;
  std::int64_t most_layers = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    layer_seconds rank;
    std::int64_t layers = 0;
    for (const layer_group& group : stages[i]) {
      const auto one = seconds_of_layer<Numbers>(m, t, p, on, group.kind, group.how);
      if (!one) return one.error();
      rank += static_cast<double>(group.count) * *one;
      if (group.kind != layer_kind::embedding) layers += group.count;
    }
    // Each chunk sends to the next and back; the last rank's last chunk sends nothing on.
    rank.exposed += p.pp > 1 ? hop * static_cast<double>(p.vp) : 0;
    sum += rank.total();
    out.rank_seconds.push_back(rank);
    if (rank.total() > out.rank_seconds[out.busiest].total()) out.busiest = i;
    most_layers = layers > most_layers ? layers : most_layers;
  }
  const layer_seconds& busiest = out.rank_seconds[out.busiest];
  // Once per step: gradients and weights over the data-parallel group, and the optimizer, for the rank with most
  // weights.
  const std::vector<part> held_parts = even_parts(m, p);
  double exchange = 0, update = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    part here = held_parts[i];
    here.layers = here.moe_layers = 0;
    for (const layer_group& g : stages[i]) {
      const bool ends = g.kind == layer_kind::embedding || g.kind == layer_kind::head;
      here.layers += ends ? 0 : g.count;
      here.moe_layers +=
          g.kind == layer_kind::experts || (g.kind == layer_kind::prediction && m.moe_layers > 0) ? g.count : 0;
    }
    const auto n = count_rank_parameters<Numbers>(m, p, here);
    if (!n) return n.error();
    all.parameters = *n;
    const Numbers numbers(numbers_of(all));
    double sent = 0, moved = 0;
    for_each_term<data_transfer_terms>(numbers, [&](const detail::counted_term& x) {
      const work_item item = detail::item_of(x);
      sent += item.bytes > 0 ? seconds_of(on, item) : 0;
    });
    for_each_term<optimizer_byte_terms>(
        numbers, [&](const detail::counted_term& x) { moved += x.amount().value().real() / x.ranks().value().real(); });
    if (i == 0 || sent > exchange) exchange = sent, out.exchange_parameters = *n;
    if (i == 0 || moved > update) update = moved, out.update_parameters = *n;
  }
  work_item states;
  states.bytes = update, states.to_host = p.offload_optimizer;
  const machine host = host_of(on);
  step_numbers& x = out.numbers;
  x = {.compute_seconds = busiest.compute(),
       .exposed_seconds = busiest.exposed,
       .hidden_seconds = busiest.hidden,
       .rank_seconds = busiest.total(),
       .all_ranks_seconds = sum,
       .exchange_seconds = exchange,
       .update_seconds = seconds_of(on, states),
       .load_seconds = host.load_seconds,
       .post_seconds = host.post_seconds,
       .launch_seconds = host.launch_seconds,
       .launches = host.launches,
       .data_overlap = overlap_of(on, axis::data),
       .most_layers = most_layers,
       .devices = p.devices()};
  const environment numbers(x, p, t);
  step_parts& parts = out.parts;
  parts.data_loading = x.load_seconds, parts.optimizer = x.update_seconds, parts.post_processing = x.post_seconds;
  parts.forward_backward = real(forward_backward_seconds, numbers);
  parts.communication_exposed = real(exposed_seconds_of_step, numbers);
  parts.communication_hidden = real(hidden_seconds_of_step, numbers);
  parts.bubble = real(bubble_seconds, numbers);
  parts.scheduling = real(scheduling_seconds, numbers);
  if (const double whole = parts.total(); !(whole - whole == 0))
    return error{errc::undefined_value}.with("seconds of a step: a rate is 0");
  x.step_seconds = parts.total();
  out.tokens_per_second_per_device = real(tokens_per_second_and_device, numbers);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::cost
