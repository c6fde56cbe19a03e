// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/partition.hpp>
#include <hocket/cost/model/peak_memory.hpp>
#include <hocket/cost/model/step_time.hpp>
#include <hocket/planner/strategy/strategy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What one layer costs under one way to cut and recompute it, from the formulas of `cost`, evaluated once.
struct layer_prices {
  bool known = false;
  double dense = 0, experts = 0, head = 0;  // seconds of a micro-batch on its rank, visible
  double dense_compute = 0, experts_compute = 0, head_compute = 0;
  double dense_bytes = 0, experts_bytes = 0;  // kept per micro-batch
  double dense_whole = 0, experts_whole = 0;  // transient, if layers are recomputed whole
  double first_bytes_each = 0, last_bytes = 0;
  double inside = 0;  // for a moment of a layer's backward, whatever is sharded
  double hop = 0;
  double forward_share = 0;  // of a layer's time, its forward
};

/// Parameters of a rank, by what it holds: linear in its layers.
struct parameter_prices {
  bool known = false;
  double dense = 0, dense_layer_experts = 0, experts_dense = 0, experts_expert = 0;  // of a dense, of an experts layer
  double first = 0, last = 0, both = 0;
};

/// Bytes and transfers of one parameter under one sharding.
struct state_prices {
  double whole_dense = 0, whole_experts = 0;                        // of a layer's shards, for a moment of its backward
  double whole_last = 0;                                            // of the head's, while the loss is computed
  double buffers_dense = 0, buffers_experts = 0, buffers_last = 0;  // of the framework
  double bytes_dense = 0, bytes_expert = 0, sent_dense = 0, sent_expert = 0, moved_dense = 0, moved_expert = 0;
  double more_dense = 0, more_expert = 0;  // sent for each micro-batch after the first
};

/// A rank that may be the fullest or the slowest: ranks with equal layers differ only in what they hold in flight, and
/// the first of them holds most.
struct rank_shape {
  double layers = 0, moe = 0;
  std::int64_t rank = 0;
  bool first = false, last = false;
};

/// A step of more nanoseconds than 64 bits hold.
inline constexpr std::chrono::nanoseconds too_long = (std::chrono::nanoseconds::max)();
[[nodiscard]] inline error step_too_long() noexcept {
  constexpr std::int64_t max_seconds = too_long / std::chrono::seconds(1);
  return error{errc::limit_exceeded, max_seconds + 1, max_seconds}.with("seconds of a step");
}

[[nodiscard]] inline cost::setting setting_of(const cost::model& m, const cost::training& t, const cost::parallel& p) {
  return {.model = m, .training = t, .parallel = p};
}

[[nodiscard]] inline result<layer_prices> prices_of_layers(const cost::model& m, const cost::training& t,
                                                           const cost::parallel& p, const cost::machine& on,
                                                           const cost::replay_set& replay) {
  using cost::layer_kind;
  layer_prices out;
  const cost::recompute_choice how{p.recompute, replay};
  const auto time = [&](layer_kind kind, double& total, double& compute) -> result<void> {
    const auto took = cost::time_of_layer(m, t, p, on, kind, kind == layer_kind::head ? cost::recompute_choice{} : how);
    if (!took) return took.error();
    total = took->total().count();
    compute = took->compute().count();
    if (kind != layer_kind::head) out.forward_share = took->forward / took->total();
    return {};
  };
  if (m.moe_layers > 0)
    if (const auto ok = time(layer_kind::experts, out.experts, out.experts_compute); !ok) return ok.error();
  if (m.layers > m.moe_layers)
    if (const auto ok = time(layer_kind::dense, out.dense, out.dense_compute); !ok) return ok.error();
  if (const auto ok = time(layer_kind::head, out.head, out.head_compute); !ok) return ok.error();
  cost::parallel whole = p;
  whole.recompute = cost::recompute::none;
  for (const bool moe : {false, true}) {
    const auto kept = cost::layer_activation_bytes(m, t, p, moe, replay);
    if (!kept) return kept.error();
    (moe ? out.experts_bytes : out.dense_bytes) = kept->real();
    if (p.recompute != cost::recompute::full) continue;
    const auto all = cost::layer_activation_bytes(m, t, whole, moe, replay);
    if (!all) return all.error();
    (moe ? out.experts_whole : out.dense_whole) = all->real();
  }
  cost::setting all = setting_of(m, t, p);
  const auto ends = [&](bool first, bool last, std::int64_t passes) {
    all.on_rank = {.layers = 1, .first = first, .last = last};
    all.in_flight.embedding_passes = passes;
    const auto bytes = cost::rank_total(cost::end_tensor_terms, numbers_of(all));
    return bytes ? bytes->real() : 0.0;
  };
  out.first_bytes_each = ends(true, false, 1);
  out.last_bytes = ends(false, true, 0);
  const auto here = numbers_of(all);
  const auto in_ffn = cost::rank_total(cost::ffn_transient_terms, here),
             in_attention = cost::rank_total(cost::attention_transient_terms, here);
  for (const auto* x : {&in_ffn, &in_attention})
    if (!*x) return x->error();
  out.inside = (std::max)(in_ffn->real(), in_attention->real());
  cost::for_each_term(cost::pipeline_transfer_terms, here,
                      [&](const auto& x) { out.hop += cost::real(x.formula, here) / on.pipeline_bytes; });
  out.known = true;
  return out;
}

[[nodiscard]] inline result<parameter_prices> prices_of_parameters(const cost::model& m, const cost::parallel& p) {
  parameter_prices out;
  const auto count = [&](std::int64_t layers, std::int64_t moe, bool first,
                         bool last) -> result<cost::rank_parameters> {
    return cost::count_rank_parameters(m, p, cost::part{layers, moe, 0, first, last, 0});
  };
  const auto none = count(0, 0, false, false), dense = count(1, 0, false, false), moe = count(1, 1, false, false),
             first = count(0, 0, true, false), last = count(0, 0, false, true), both = count(0, 0, true, true);
  for (const auto* x : {&none, &dense, &moe, &first, &last, &both})
    if (!*x) return x->error();
  const auto less = [&](const cost::rank_parameters& x) { return static_cast<double>(x.dense - none->dense); };
  out.dense = less(*dense);
  out.experts_dense = less(*moe);
  out.experts_expert = static_cast<double>(moe->expert);
  out.first = less(*first);
  out.last = less(*last);
  out.both = less(*both);
  out.known = true;
  return out;
}

[[nodiscard]] inline result<state_prices> prices_of_states(const cost::model& m, const cost::training& t,
                                                           const cost::parallel& p, const parameter_prices& n) {
  state_prices out;
  for (const bool experts : {false, true}) {
    cost::setting all = setting_of(m, t, p);
    all.largest_layer = {static_cast<std::int64_t>(experts ? n.experts_dense : n.dense),
                         static_cast<std::int64_t>(experts ? n.experts_expert : 0)};
    all.on_rank.last = false;
    const auto here = numbers_of(all);
    const auto whole = cost::rank_total(cost::transient_terms, here),
               buffers = cost::rank_total(cost::workspace_terms, here);
    all.on_rank.last = true;
    const auto at_loss = numbers_of(all);
    const auto with_last = cost::rank_total(cost::workspace_terms, at_loss),
               head = cost::rank_total(cost::head_transient_terms, at_loss);
    for (const auto* x : {&whole, &buffers, &with_last, &head})
      if (!*x) return x->error();
    (experts ? out.whole_experts : out.whole_dense) = whole->real();
    (experts ? out.buffers_experts : out.buffers_dense) = buffers->real();
    out.buffers_last = with_last->real() - buffers->real();
    out.whole_last = head->real();
  }
  constexpr std::int64_t many = std::int64_t{1} << 40;  // one parameter, without the rounding of small numbers
  for (const bool expert : {false, true}) {
    cost::setting all = setting_of(m, t, p);
    all.parameters = expert ? cost::rank_parameters{0, many} : cost::rank_parameters{many, 0};
    const auto bytes = cost::static_bytes(all.parameters, t, p);
    if (!bytes) return bytes.error();
    double sent[2] = {}, moved = 0;
    for (const std::int64_t micro_batches : {1, 2}) {
      all.training.micro_batch = 1;
      all.training.global_batch = micro_batches * p.dp;
      const auto then = numbers_of(all);
      double& sum = sent[micro_batches - 1];
      cost::for_each_term(cost::data_transfer_terms, then, [&](const auto& x) { sum += cost::real(x.formula, then); });
    }
    const auto here = numbers_of(all);
    cost::for_each_term(cost::optimizer_byte_terms, here,
                        [&](const auto& x) { moved += cost::real(x.formula, here) / cost::real(x.split, here); });
    const auto one = static_cast<double>(many);
    (expert ? out.bytes_expert : out.bytes_dense) = bytes->real() / one;
    (expert ? out.sent_expert : out.sent_dense) = sent[0] / one;
    (expert ? out.more_expert : out.more_dense) = (sent[1] - sent[0]) / one;
    (expert ? out.moved_expert : out.moved_dense) = moved / one;
  }
  return out;
}

/// The ranks of an even split that can be the fullest or the slowest.
[[nodiscard]] inline std::vector<rank_shape> shapes_of(const cost::model& m, const cost::parallel& p) {
  std::vector<rank_shape> shapes;
  for (const cost::part& x : cost::even_parts(m, p)) {
    bool seen = false;
    for (const rank_shape& s : shapes)
      seen = seen || (s.layers == static_cast<double>(x.layers) && s.moe == static_cast<double>(x.moe_layers) &&
                      s.first == x.first && s.last == x.last);
    if (!seen)
      shapes.push_back({static_cast<double>(x.layers), static_cast<double>(x.moe_layers), x.rank, x.first, x.last});
  }
  return shapes;
}

/// Time and memory of a strategy from its parts: the sums of cost::predict_step and of the memory report, over the few
/// ranks that can be the slowest or the fullest. Zero-bubble schedules idle while the pipeline fills, not while it
/// drains: of the bubble, the forwards' share remains.
template <held_policy H>
[[nodiscard]] strategy_cost price_of(const strategy& s, const cost::model& m, const cost::training& t,
                                     const cost::machine& on, const layer_prices& layer, const parameter_prices& n,
                                     const state_prices& state, const std::vector<rank_shape>& shapes,
                                     const H& chunks_held) {
  const cost::parallel& p = s.how;
  const std::int64_t micro_batches = t.global_batch / (s.micro_batch * p.dp);
  const auto batches = static_cast<double>(micro_batches);
  const auto vp = static_cast<double>(p.vp), pp = static_cast<double>(p.pp);
  const double hop = p.pp > 1 ? layer.hop * vp : 0;
  const auto moe_layers = static_cast<double>(m.moe_layers), dense_layers = static_cast<double>(m.layers) - moe_layers;
  const double sum = dense_layers * layer.dense + moe_layers * layer.experts + layer.head + pp * hop;
  double busiest = 0, most_layers = 0, bytes = 0, exchange = 0, update = 0;
  for (const rank_shape& x : shapes) {
    const double dense = x.layers - x.moe;
    const double time = dense * layer.dense + x.moe * layer.experts + (x.last ? layer.head : 0) + hop;
    busiest = time > busiest ? time : busiest;
    const double launched = x.layers + (x.last ? 1 : 0);
    most_layers = launched > most_layers ? launched : most_layers;
    const double own = dense * n.dense + x.moe * n.experts_dense +
                       (x.first  ? (x.last ? n.both : n.first)
                        : x.last ? n.last
                                 : 0);
    const double expert = x.moe * n.experts_expert;
    const double sent = own * (state.sent_dense + (batches - 1) * state.more_dense) +
                        expert * (state.sent_expert + (batches - 1) * state.more_expert),
                 moved = own * state.moved_dense + expert * state.moved_expert;
    exchange = sent > exchange ? sent : exchange;
    update = moved > update ? moved : update;
    // As cost::peak_memory: what lives through the step, and the larger of two moments.
    const auto held = static_cast<double>(chunks_held(s, micro_batches, x.rank));
    const double passes = std::ceil(held * x.layers / vp), moe_passes = std::ceil(held * x.moe / vp);
    const bool experts = x.moe > 0 && (x.moe == x.layers || n.experts_dense + n.experts_expert > n.dense);
    double here = own * state.bytes_dense + expert * state.bytes_expert + (passes - moe_passes) * layer.dense_bytes +
                  moe_passes * layer.experts_bytes + (experts ? state.buffers_experts : state.buffers_dense);
    if (x.first) here += layer.first_bytes_each * (batches < held ? batches : held);
    if (x.last) here += state.buffers_last;
    const double backward = (experts ? state.whole_experts : state.whole_dense) + layer.inside +
                            (x.moe > 0 ? layer.experts_whole : layer.dense_whole);
    const double loss = x.last ? layer.last_bytes + state.whole_last : 0;
    here += loss > backward ? loss : backward;
    bytes = here > bytes ? here : bytes;
  }
  const double bubble = (sum - busiest) / vp * (s.zero_bubble ? layer.forward_share : 1);
  const double device =
      batches * busiest + bubble + (1 - on.data_overlap) * (exchange > 0 ? exchange / on.data_bytes : 0);
  const double launched = 2 * batches * most_layers * on.launches * on.launch_seconds;
  const double seconds =
      (launched > device ? launched : device) + update / on.memory_bytes + on.load_seconds + on.post_seconds;
  constexpr double max_count = 9.2e18;  // bytes beyond fit nowhere; a step beyond is an error of those who ask
  return {seconds * 1e9 < max_count ? std::chrono::nanoseconds(std::llround(seconds * 1e9)) : too_long,
          hocket::bytes(static_cast<std::int64_t>(std::ceil(bytes < max_count ? bytes - 1e-3 : max_count)))};
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
