// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/machine.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/layer_cost.hpp>
#include <hocket/cost/model/partition.hpp>
#include <hocket/cost/model/static_memory.hpp>
#include <hocket/cost/model/step_parts.hpp>

#include <concepts>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost::letters {

/// Bytes that the optimizer reads and writes on one rank: each gradient and weight once, each master weight and moment
/// twice, of its shard. `split` as in static_memory_terms; terms whose state lives on the host go over its link.
/// Needs: rank_parameters, training, parallel.
inline constexpr auto optimizer_byte_terms = [] {
  using detail::static_memory::expert_replicas, detail::static_memory::from_level_1, detail::static_memory::replicas;
  using detail::static_memory::state;
  return terms(state("optimizer traffic", (c_g + c_w + 2 * c_m + 2 * c_o) * N_r, literal(1), from_level_1(replicas)),
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
  std::vector<layer_time> rank_times;  ///< per micro-batch, by pipeline rank
  std::size_t busiest = 0;
  step_numbers numbers;                                    ///< what the parts were computed from
  rank_parameters exchange_parameters, update_parameters;  ///< of the ranks that send and update most
  double tokens_per_second_per_device = 0;
  [[nodiscard]] seconds step_time() const noexcept { return parts.total(); }
};

namespace detail {
/// The time of every rank for one micro-batch, and what is largest among them.
struct rank_sums {
  double all_ranks_seconds = 0;
  std::int64_t most_layers = 0;
};
/// A hop to the next stage and back.
template <class Hardware>
seconds hop_of(const setting& all, const Hardware& on) {
  seconds hop{};
  if (all.parallel.pp == 1) return hop;
  const auto numbers = numbers_of(all);
  for_each_term(pipeline_transfer_terms, numbers, [&](const term_view& x) { hop += time_of(on, item_of(x)); });
  return hop;
}
/// Adds a rank. Each chunk sends to the next and back; the last rank's last chunk sends nothing on.
inline void add_rank(layer_time rank, std::int64_t layers, seconds hop, const parallel& p, rank_sums& sums,
                     step_prediction& out) {
  if (p.pp > 1) rank.exposed += hop * static_cast<double>(p.vp);
  sums.all_ranks_seconds += rank.total().count();
  out.rank_times.push_back(rank);
  if (rank.total() > out.rank_times[out.busiest].total()) out.busiest = out.rank_times.size() - 1;
  sums.most_layers = layers > sums.most_layers ? layers : sums.most_layers;
}
template <class Hardware>
result<rank_sums> add_rank_times(const setting& all, const Hardware& on, const std::vector<stage_layers>& stages,
                                 step_prediction& out) {
  const parallel& p = all.parallel;
  const seconds hop = hop_of(all, on);
  rank_sums sums;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    layer_time rank;
    std::int64_t layers = 0;
    for (const layer_group& group : stages[i]) {
      const auto one = time_of_layer(all.model, all.training, p, on, group.kind, group.how);
      if (!one) return one.error();
      rank += static_cast<double>(group.count) * *one;
      if (group.kind != layer_kind::embedding) layers += group.count;
    }
    add_rank(rank, layers, hop, p, sums, out);
  }
  return sums;
}

/// The part of the model that a list of layers is: even_parts says which rank it is on.
inline part part_with(const model& m, part on_rank, const stage_layers& layers) {
  on_rank.layers = on_rank.moe_layers = 0;
  for (const layer_group& g : layers) {
    if (!is_layer(g.kind)) continue;
    on_rank.layers += g.count;
    if (has_experts(m, g.kind)) on_rank.moe_layers += g.count;
  }
  return on_rank;
}

/// What happens once per step, for the rank with most weights: gradients and weights over the data-parallel group, and
/// the bytes that the optimizer moves.
struct step_traffic {
  double exchange_seconds = 0, moved_bytes = 0;
};
/// @param ranks  parameters of each
template <class Hardware>
step_traffic traffic_of(setting all, const Hardware& on, std::span<const rank_parameters> ranks, step_prediction& out) {
  step_traffic most;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    all.parameters = ranks[i];
    const auto numbers = numbers_of(all);
    double sent = 0, moved = 0;
    for_each_term(data_transfer_terms, numbers, [&](const term_view& x) {
      const work_item item = item_of(x);
      if (item.bytes.value > 0) sent += time_of(on, item).count();
    });
    for_each_term(optimizer_byte_terms, numbers,
                  [&](const term_view& x) { moved += x.amount().real() / x.ranks().real(); });
    if (i == 0 || sent > most.exchange_seconds) {
      most.exchange_seconds = sent;
      out.exchange_parameters = ranks[i];
    }
    if (i == 0 || moved > most.moved_bytes) {
      most.moved_bytes = moved;
      out.update_parameters = ranks[i];
    }
  }
  return most;
}
template <class Hardware>
result<step_traffic> add_step_traffic(const setting& all, const Hardware& on, const std::vector<stage_layers>& stages,
                                      step_prediction& out) {
  const std::vector<part> held_parts = even_parts(all.model, all.parallel);
  std::vector<rank_parameters> ranks;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto n = count_rank_parameters(all.model, all.parallel, part_with(all.model, held_parts[i], stages[i]));
    if (!n) return n.error();
    ranks.push_back(*n);
  }
  return traffic_of(all, on, ranks, out);
}

inline step_parts parts_of(const step_numbers& x, const parallel& p, const training& t) {
  const environment numbers(x, p, t);
  return {.data_loading = seconds(x.load_seconds),
          .forward_backward = seconds(real(forward_backward_seconds, numbers)),
          .optimizer = seconds(x.update_seconds),
          .post_processing = seconds(x.post_seconds),
          .communication_exposed = seconds(real(exposed_seconds_of_step, numbers)),
          .communication_hidden = seconds(real(hidden_seconds_of_step, numbers)),
          .scheduling = seconds(real(scheduling_seconds, numbers)),
          .bubble = seconds(real(bubble_seconds, numbers))};
}
/// The step, once its ranks and what happens once per step are known.
template <class Hardware>
result<step_prediction> finish(step_prediction out, const rank_sums& ranks, const step_traffic& traffic,
                               const training& t, const parallel& p, const Hardware& on) {
  if (t.muon) return error{errc::invalid_argument, p.devices()}.with("Muon in predicted seconds, devices");
  const layer_time& busiest = out.rank_times[out.busiest];
  work_item states;
  states.bytes.value = traffic.moved_bytes;
  states.to_host = p.offload_optimizer;
  const machine host = host_of(on);
  out.numbers = {.compute_seconds = busiest.compute().count(),
                 .exposed_seconds = busiest.exposed.count(),
                 .hidden_seconds = busiest.hidden.count(),
                 .rank_seconds = busiest.total().count(),
                 .all_ranks_seconds = ranks.all_ranks_seconds,
                 .exchange_seconds = traffic.exchange_seconds,
                 .update_seconds = time_of(on, states).count(),
                 .load_seconds = host.load_seconds,
                 .post_seconds = host.post_seconds,
                 .launch_seconds = host.launch_seconds,
                 .launches = host.launches,
                 .data_overlap = overlap_of(on, axis::data),
                 .most_layers = ranks.most_layers,
                 .devices = p.devices()};
  out.parts = parts_of(out.numbers, p, t);
  const double whole = out.parts.total().count();
  if (!(whole - whole == 0)) return error{errc::undefined_value}.with("seconds of a step: a rate is 0");
  out.numbers.step_seconds = whole;
  out.tokens_per_second_per_device = real(tokens_per_second_and_device, environment(out.numbers, p, t));
  return out;
}
}  // namespace detail

/// Predicts the time of one training step from the formulas and the rates of a machine.
/// One micro-batch takes t_i on rank i; 1F1B takes m max t_i, plus the others' t_i / vp once to fill and drain: the
/// bubble. Data-parallel transfers and the optimizer come after, as far as they are not hidden.
/// @param stages  the layers of each pipeline rank with their recompute; empty: even_stages
/// Errors: those of check, also of the machine; errc::bad_shape unless stages is empty or has pp entries;
/// errc::undefined_value if a rate that is needed is 0. Complexity: one pass over the formulas per layer group.
///
///     const auto step = hocket::cost::predict_step(m, t, p, hocket::cost::machines::b200_fitted.rates);
///     step->parts.forward_backward, step->parts.bubble, step->tokens_per_second_per_device
template <class Hardware = machine>
[[nodiscard]] result<step_prediction> predict_step(const model& m, const training& t, const parallel& p,
                                                   const Hardware& on, std::vector<stage_layers> stages = {}) {
  detail::require_hardware<Hardware>();
  if (const auto fits = check(m, t, p); !fits) return fits.error();
  if constexpr (std::same_as<Hardware, machine>)
    if (const auto sound = check(on); !sound) return sound.error();
  if (stages.empty()) stages = even_stages(m, p);
  if (static_cast<std::int64_t>(stages.size()) != p.pp)
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(stages.size())}.with("stages");
  step_prediction out;
  const setting all{.model = m, .training = t, .parallel = p};
  const auto ranks = detail::add_rank_times(all, on, stages, out);
  if (!ranks) return ranks.error();
  const auto traffic = detail::add_step_traffic(all, on, stages, out);
  if (!traffic) return traffic.error();
  return detail::finish(std::move(out), *ranks, *traffic, t, p, on);
}

}  // namespace hocket::inline HOCKET_ABI::cost
