// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/reflect.hpp>
#include <hocket/cost/model/communication.hpp>
#include <hocket/cost/model/in_flight.hpp>

/// How seconds of layers add up to a step: the formulas that predict_step evaluates and a report prints.
namespace hocket::inline HOCKET_ABI::cost {

namespace detail {
// Seconds of one layer and micro-batch, by what takes them.
struct layer_numbers {
  double compute_seconds = 0, wire_seconds = 0, context_seconds = 0;  // compute; tensor-, context-parallel transfers
  double expert_seconds = 0, offload_seconds = 0;
  double tensor_overlap = 0, context_overlap = 0, expert_overlap = 0, host_overlap = 1;
  double forward_seconds = 0, attention_seconds = 0, backward_seconds = 0, again_seconds = 0;
  double exposed_seconds = 0, hop_seconds = 0, kept_bytes = 0;
  std::int64_t layer_count = 1;
};
}  // namespace detail

/// What a step's parts are computed from: seconds on the busiest rank, for one micro-batch where not said otherwise.
struct step_numbers {
  double compute_seconds = 0, exposed_seconds = 0, hidden_seconds = 0;
  double hop_seconds = 0;                           ///< the part of exposed_seconds that is hops between stages
  double rank_seconds = 0, all_ranks_seconds = 0;   ///< compute and exposed: of the busiest rank, of all together
  double pipeline_seconds = 0;                      ///< per step: until the last rank is done
  double exchange_seconds = 0, update_seconds = 0;  ///< per step: data-parallel transfers, optimizer
  double load_seconds = 0, post_seconds = 0;        ///< per step
  double launch_seconds = 0, kernels = 0;           ///< of one kernel; of the rank that launches most, per pass
  double data_overlap = 0;
  double lateness = 0;  ///< of the slowest device, as a part of its compute
  std::int64_t devices = 1;
  double step_seconds = 0;
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::detail::layer_numbers, compute_seconds, wire_seconds, context_seconds,
                     expert_seconds, offload_seconds, tensor_overlap, context_overlap, expert_overlap, host_overlap,
                     forward_seconds, attention_seconds, backward_seconds, again_seconds, exposed_seconds, hop_seconds,
                     kept_bytes, layer_count);
HOCKET_DETAIL_STRUCT(hocket::cost::step_numbers, compute_seconds, exposed_seconds, hidden_seconds, hop_seconds,
                     rank_seconds, all_ranks_seconds, pipeline_seconds, exchange_seconds, update_seconds, load_seconds,
                     post_seconds, launch_seconds, kernels, data_overlap, lateness, devices, step_seconds);

namespace hocket::inline HOCKET_ABI::cost::letters {

inline constexpr auto T_k = named<units::seconds>("compute_seconds", "T_k");
inline constexpr auto T_c = named<units::seconds>("wire_seconds", "T_c");
inline constexpr auto T_cp = named<units::seconds>("context_seconds", "T_cp");
inline constexpr auto T_e = named<units::seconds>("expert_seconds", "T_e");
inline constexpr auto T_o = named<units::seconds>("offload_seconds", "T_o");
inline constexpr auto T_f = named<units::seconds>("forward_seconds", "T_f");
inline constexpr auto T_a = named<units::seconds>("attention_seconds", "T_a");
inline constexpr auto T_b = named<units::seconds>("backward_seconds", "T_b");
inline constexpr auto T_g = named<units::seconds>("again_seconds", "T_g");
inline constexpr auto T_x = named<units::seconds>("exposed_seconds", "T_x");
inline constexpr auto T_h = named<units::seconds>("hidden_seconds", "T_h");
inline constexpr auto T_s = named<units::seconds>("hop_seconds", "T_s");
inline constexpr auto T_r = named<units::seconds>("rank_seconds", "T_r");
inline constexpr auto T_m = named<units::seconds>("pipeline_seconds", "T_m");
inline constexpr auto T_all = named<units::seconds>("all_ranks_seconds", "T_all");
inline constexpr auto T_d = named<units::seconds>("exchange_seconds", "T_d");
inline constexpr auto T_u = named<units::seconds>("update_seconds", "T_u");
inline constexpr auto T_l = named<units::seconds>("load_seconds", "T_l");
inline constexpr auto T_p = named<units::seconds>("post_seconds", "T_p");
inline constexpr auto t_k = named<units::seconds>("launch_seconds", "t_k");
inline constexpr auto A = named<units::bytes>("kept_bytes", "A");
inline constexpr auto o_t = named("tensor_overlap", "o_t");
inline constexpr auto o_c = named("context_overlap", "o_c");
inline constexpr auto z_l = named("lateness", "z_l");
inline constexpr auto n_k = named("kernels", "n_k");
inline constexpr auto n_l = named("layer_count", "n_l");

/// Flash attention forms its scores a third time in the backward pass (arXiv:2205.14135): five products for two. The
/// FLOP conventions do not count that, the clock does.
inline constexpr auto scores_formed_again = flash * T_a / 2;
/// Communication of one layer that stays visible. Collectives between dependent operations: but for what copies and the
/// machine's overlap hide. The exchanges of context and experts: as far as they do not overlap. Together they hide no
/// more than there is compute. What goes to the host shows beyond the compute that it hides behind.
inline constexpr auto exposed_of_layer =
    greatest(exposed_of_copies(T_k, (1 - o_t) * T_c) + (1 - o_c) * T_cp + (1 - o_e) * T_e, T_c + T_cp + T_e - T_k) +
    greatest(0 * second, T_o - o_h * T_k);

/// The parts of a step (step_parts.hpp). Need: step_numbers, parallel, training.
inline constexpr auto forward_backward_seconds = micro_batches * T_k;
/// Micro-batches behind whose passes transfers over the data-parallel group can hide: behind all of them where they
/// happen for every micro-batch. Else behind the last for gradients and the first for weights; with several chunks a
/// chunk is done once its last group of micro-batches is, so behind a group.
inline constexpr auto hiding_micro_batches =
    choose(zero_level, 1, 1, micro_batches, micro_batches) * choose(least(vp, 2) - 1, 1, least(pp, micro_batches));
inline constexpr auto exchange_exposed =
    greatest((1 - o_d) * T_d, T_d - least(hiding_micro_batches, micro_batches) * T_k);
/// All wait for the slowest device: its lateness shows in collectives.
inline constexpr auto exposed_seconds_of_step = micro_batches * T_x + exchange_exposed + z_l * micro_batches * T_k;
inline constexpr auto hidden_seconds_of_step = micro_batches * T_h + T_d - exchange_exposed;
/// The pipeline in closed form: exact where all stages take the same time and hops take none.
inline constexpr auto bubble_of_equal_stages = (T_all - T_r) / vp;
inline constexpr auto pipeline_of_equal_stages = micro_batches * T_r + bubble_of_equal_stages;
/// The busiest rank waits for other stages as long as it does not compute and sends nothing.
inline constexpr auto bubble_seconds = greatest(0 * second, T_m - micro_batches * (T_k + T_x));
/// The host launches every kernel of every layer and pass; only what the device does not cover shows.
inline constexpr auto scheduling_seconds =
    greatest(0 * second, 2 * micro_batches * n_k * t_k - (T_m + exchange_exposed + z_l * micro_batches * T_k));
inline constexpr auto tokens_per_second_and_device = token * (B * s) / (T * W);

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {
using letters::bubble_of_equal_stages, letters::bubble_seconds, letters::exposed_of_layer,
    letters::exposed_seconds_of_step, letters::forward_backward_seconds, letters::hidden_seconds_of_step,
    letters::pipeline_of_equal_stages, letters::scheduling_seconds, letters::scores_formed_again,
    letters::tokens_per_second_and_device;
}  // namespace hocket::inline HOCKET_ABI::cost
