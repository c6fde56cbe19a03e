// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/machine.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/layer_cost.hpp>
#include <hocket/cost/model/static_memory.hpp>
#include <hocket/cost/model/step_parts.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <span>
#include <string_view>
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

/// A predicted step: its parts on the busiest pipeline rank, the time of every rank for one micro-batch, the
/// throughput.
struct step_prediction {
  step_parts parts;
  std::vector<layer_time> rank_times;  ///< per micro-batch, by pipeline rank
  std::size_t busiest = 0;
  step_numbers numbers;                                    ///< what the parts were computed from
  rank_parameters exchange_parameters, update_parameters;  ///< of the ranks that send and update most
  double tokens_per_second_per_device = 0;
  std::string_view simulated{};  ///< literal: the schedule whose simulation gave the pipeline; empty: closed form
  [[nodiscard]] seconds step_time() const noexcept { return parts.total(); }
};

namespace detail {
/// The time of every rank for one micro-batch, and what is largest among them.
struct rank_sums {
  double all_ranks_seconds = 0;
  double kernels = 0;
};
/// A hop to the next stage and back.
template <class Hardware>
seconds hop_of(const setting& all, const Hardware& on) {
  seconds hop{};
  if (all.parallel.pp == 1) return hop;
  const auto numbers = numbers_of(all);
  for_each_term(pipeline_transfer_terms, numbers,
                [&](const term_view& x) { hop += time_of(on, item_of(x, all.parallel)); });
  return (1 - overlap_of(on, axis::pipeline)) * hop;
}
/// Adds a rank. Each chunk sends to the next and back; the last rank's last chunk sends nothing on.
inline void add_rank(layer_time rank, double kernels, seconds hop, const parallel& p, rank_sums& sums,
                     step_prediction& out) {
  if (p.pp > 1) rank.exposed += hop * static_cast<double>(p.vp);
  sums.all_ranks_seconds += rank.total().count();
  out.rank_times.push_back(rank);
  if (rank.total() > out.rank_times[out.busiest].total()) out.busiest = out.rank_times.size() - 1;
  sums.kernels = (std::max)(sums.kernels, kernels);
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
      const work_item item = item_of(x, all.parallel);
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
/// How late the slowest of so many devices is expected to be, in parts of their time: the largest of W normal draws.
/// Source: Cramer 1946, "Mathematical Methods of Statistics", section 28.6 (its leading term).
[[nodiscard]] inline double lateness_of(double spread, std::int64_t devices) noexcept {
  return spread * std::sqrt(2 * std::log(static_cast<double>(devices)));
}
inline step_parts parts_of(const step_numbers& x, const parallel& p, const training& t, bool simulated) {
  const environment numbers(x, p, t);
  return {.data_loading = seconds(x.load_seconds),
          .forward_backward = seconds(real(forward_backward_seconds, numbers)),
          .optimizer = seconds(x.update_seconds),
          .post_processing = seconds(x.post_seconds),
          .communication_exposed = seconds(real(exposed_seconds_of_step, numbers)),
          .communication_hidden = seconds(real(hidden_seconds_of_step, numbers)),
          .scheduling = seconds(real(scheduling_seconds, numbers)),
          .bubble = seconds(simulated ? real(bubble_seconds, numbers) : real(bubble_of_equal_stages, numbers))};
}
/// What follows from the numbers once the time of the pipeline is known.
inline result<step_prediction> settle(step_prediction out, const training& t, const parallel& p) {
  out.parts = parts_of(out.numbers, p, t, !out.simulated.empty());
  const double whole = out.parts.total().count();
  if (!(whole - whole == 0)) return error{errc::undefined_value}.with("seconds of a step: a rate is 0");
  out.numbers.step_seconds = whole;
  out.tokens_per_second_per_device = real(tokens_per_second_and_device, environment(out.numbers, p, t));
  return out;
}
/// The step, once its ranks and what happens once per step are known.
template <class Hardware>
result<step_prediction> finish(step_prediction out, const rank_sums& ranks, const step_traffic& traffic, seconds hop,
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
                 .hop_seconds = hop.count() * static_cast<double>(p.vp),
                 .rank_seconds = busiest.total().count(),
                 .all_ranks_seconds = ranks.all_ranks_seconds,
                 .exchange_seconds = traffic.exchange_seconds,
                 .update_seconds = time_of(on, states).count(),
                 .load_seconds = host.load_seconds,
                 .post_seconds = host.post_seconds,
                 .launch_seconds = host.launch_seconds,
                 .kernels = ranks.kernels,
                 .data_overlap = overlap_of(on, axis::data),
                 .lateness = lateness_of(host.spread, p.devices()),
                 .devices = p.devices()};
  out.numbers.pipeline_seconds = real(pipeline_of_equal_stages, environment(out.numbers, p, t));
  return settle(std::move(out), t, p);
}
}  // namespace detail

/// A predicted step whose pipeline was simulated: its time takes the place of the closed form, which holds for equal
/// stages. Hops between stages are part of it, so they leave the exposed communication.
/// @param pipeline  until the last rank is done
/// @param schedule  literal: what was simulated
/// Errors: errc::undefined_value if that is no number of seconds. Complexity: O(1).
[[nodiscard]] inline result<step_prediction> with_pipeline(step_prediction predicted, const training& t,
                                                           const parallel& p, seconds pipeline,
                                                           std::string_view schedule) {
  step_numbers& x = predicted.numbers;
  x.exposed_seconds = (std::max)(0.0, x.exposed_seconds - x.hop_seconds);
  x.hop_seconds = 0;
  x.pipeline_seconds = pipeline.count();
  predicted.simulated = schedule;
  return detail::settle(std::move(predicted), t, p);
}

}  // namespace hocket::inline HOCKET_ABI::cost
