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

/// What a layer of one kind costs under one way to cut and recompute it.
struct kind_prices {
  double seconds = 0;  // of a micro-batch on its rank, visible
  double bytes = 0;    // kept per micro-batch
  double whole = 0;    // transient, if layers are recomputed whole
  double moment = 0;   // inside it, for a moment of its backward, whatever is sharded
  double hop = 0;      // of what it passes on to the next stage and gets back
};
/// The same of all kinds and of the ends, from the formulas of `cost`, evaluated once.
struct layer_prices {
  bool known = false;
  std::vector<kind_prices> kinds;
  double head = 0;  // seconds
  double first_bytes_each = 0, last_bytes = 0;
  double forward_share = 0;  // of a layer's time, its forward
};

/// Parameters of a rank, by what it holds: linear in its layers.
struct parameter_prices {
  struct kind {
    double dense = 0, expert = 0;              // that count with the layer
    double layer_dense = 0, layer_expert = 0;  // that it works with: also a block's that another layer counts
  };
  std::vector<kind> kinds;
  double first = 0, last = 0, both = 0;  // of the ends
};

/// Bytes and transfers of one parameter under one sharding.
struct state_prices {
  double bytes_dense = 0, bytes_expert = 0, sent_dense = 0, sent_expert = 0, moved_dense = 0, moved_expert = 0;
  double more_dense = 0, more_expert = 0;    // sent for each micro-batch after the first
  double whole_dense = 0, whole_expert = 0;  // of the largest layer's, for a moment of its backward
  double buffers_dense = 0;                  // of the framework, for the largest layer's
  double buffers_last = 0, whole_last = 0;   // the framework's for the head; the head's, while the loss is computed
};

/// A rank that may be the fullest or the slowest: ranks with equal layers differ only in what they hold in flight, and
/// the first of them holds most.
struct rank_shape {
  std::size_t begin = 0, end = 0;  // of its layers among all counts
  double layers = 0;               // of the model's
  double copies = 1;               // ranks of this shape
  std::int64_t rank = 0;
  bool first = false, last = false;
};
/// Layers of one kind in a row.
struct kind_count {
  std::size_t kind = 0;
  double count = 0;
  friend constexpr bool operator==(const kind_count&, const kind_count&) = default;
};
/// The ranks of an even split that can be the fullest or the slowest.
struct rank_shapes {
  std::vector<rank_shape> ranks;
  std::vector<kind_count> counts;  // of each rank from behind, as whole passes are dealt out
  std::vector<kind_count> all;     // of the model

  /// Adds a rank, unless one with the same layers and ends is there.
  void add(rank_shape next, const std::vector<kind_count>& layers) {
    for (rank_shape& x : ranks)
      if (x.first == next.first && x.last == next.last && x.layers == next.layers &&
          std::equal(counts.begin() + static_cast<std::ptrdiff_t>(x.begin),
                     counts.begin() + static_cast<std::ptrdiff_t>(x.end), layers.begin(), layers.end())) {
        ++x.copies;
        return;
      }
    next.begin = counts.size();
    counts.insert(counts.end(), layers.begin(), layers.end());
    next.end = counts.size();
    ranks.push_back(next);
  }
};

/// A step of more nanoseconds than 64 bits hold.
inline constexpr std::chrono::nanoseconds endless_step = (std::chrono::nanoseconds::max)();
[[nodiscard]] inline error step_too_long() noexcept {
  constexpr std::int64_t max_seconds = endless_step / std::chrono::seconds(1);
  return error{errc::limit_exceeded, max_seconds + 1, max_seconds}.with("seconds of a step");
}

/// Prices of what stands beside the layers.
/// @param ends  the model or, for a list, its ends
inline void price_ends(cost::setting ends, layer_prices& out) {
  const auto tensors = [&](bool first, bool last, std::int64_t passes) {
    ends.on_rank = {.first = first, .last = last};
    ends.in_flight.embedding_passes = passes;
    const auto bytes = cost::rank_total(cost::end_tensor_terms, numbers_of(ends));
    return bytes ? bytes->real() : 0.0;
  };
  out.first_bytes_each = tensors(true, false, 1);
  out.last_bytes = tensors(false, true, 0);
}
/// Seconds of a boundary tensor on its way to the next stage and back.
/// @param all  with all that stages pass on as its model's width
[[nodiscard]] inline double price_of_hop(const cost::setting& all, const cost::machine& on) {
  const auto here = numbers_of(all);
  double hop = 0;
  cost::for_each_term(cost::pipeline_transfer_terms, here,
                      [&](const auto& x) { hop += cost::real(x.formula, here) / on.pipeline_bytes; });
  return hop;
}

[[nodiscard]] inline result<state_prices> prices_of_states(const cost::setting& ends) {
  state_prices out;
  constexpr std::int64_t many = std::int64_t{1} << 40;  // one parameter, without the rounding of small numbers
  constexpr auto one = static_cast<double>(many);
  for (const bool expert : {false, true}) {
    cost::setting all = ends;
    all.on_rank.last = false;
    all.parameters = expert ? cost::rank_parameters{0, many} : cost::rank_parameters{many, 0};
    all.largest_layer = {all.parameters.dense, all.parameters.expert};
    const auto bytes = cost::static_bytes(all.parameters, all.training, all.parallel);
    const auto layer = numbers_of(all);
    const auto whole = cost::rank_total(cost::transient_terms, layer),
               buffers = cost::rank_total(cost::workspace_terms, layer);
    for (const auto* x : {&bytes, &whole, &buffers})
      if (!*x) return x->error();
    double sent[2] = {}, moved = 0;
    for (const std::int64_t micro_batches : {1, 2}) {
      all.training.micro_batch = 1;
      all.training.global_batch = micro_batches * all.parallel.dp;
      const auto then = numbers_of(all);
      double& sum = sent[micro_batches - 1];
      cost::for_each_term(cost::data_transfer_terms, then, [&](const auto& x) { sum += cost::real(x.formula, then); });
    }
    const auto here = numbers_of(all);
    cost::for_each_term(cost::optimizer_byte_terms, here,
                        [&](const auto& x) { moved += cost::real(x.formula, here) / cost::real(x.split, here); });
    (expert ? out.bytes_expert : out.bytes_dense) = bytes->real() / one;
    (expert ? out.sent_expert : out.sent_dense) = sent[0] / one;
    (expert ? out.more_expert : out.more_dense) = (sent[1] - sent[0]) / one;
    (expert ? out.moved_expert : out.moved_dense) = moved / one;
    (expert ? out.whole_expert : out.whole_dense) = whole->real() / one;
    if (!expert) out.buffers_dense = buffers->real() / one;
  }
  cost::setting head = ends;
  head.largest_layer = {};
  const auto numbers = numbers_of(head);
  const auto buffers = cost::rank_total(cost::workspace_terms, numbers),
             whole = cost::rank_total(cost::head_transient_terms, numbers);
  if (!buffers) return buffers.error();
  if (!whole) return whole.error();
  out.buffers_last = buffers->real();
  out.whole_last = whole->real();
  return out;
}

/// How the layers of a model are priced: specialised for each form of a model.
template <class Model>
struct priced;

/// A model by its numbers of layers: of one kind, or without experts and with.
template <>
struct priced<cost::model> {
  [[nodiscard]] static result<void> check(const cost::model& m) { return cost::check(m); }
  [[nodiscard]] static result<void> check(const cost::model& m, const cost::training& t, const cost::parallel& p) {
    return cost::check(m, t, p);
  }
  [[nodiscard]] static cost::model without_predictions(cost::model m) {
    m.mtp_layers = 0;
    return m;
  }
  [[nodiscard]] static std::int64_t layer_count(const cost::model& m) { return m.layers; }
  [[nodiscard]] static bool has_experts(const cost::model& m) { return m.moe_layers > 0; }
  [[nodiscard]] static bool experts_divide(const cost::model& m, std::int64_t ep) { return m.experts % ep == 0; }
  [[nodiscard]] static cost::setting ends_of(const cost::model& m, const cost::training& t, const cost::parallel& p) {
    return {.model = m, .training = t, .parallel = p};
  }
  /// Whether each of its kinds has experts.
  [[nodiscard]] static std::vector<bool> kinds_of(const cost::model& m) {
    std::vector<bool> kinds;
    if (m.layers > m.moe_layers) kinds.push_back(false);
    if (m.moe_layers > 0) kinds.push_back(true);
    return kinds;
  }

  [[nodiscard]] static result<layer_prices> prices_of_layers(const cost::model& m, const cost::training& t,
                                                             const cost::parallel& p, const cost::machine& on,
                                                             const cost::replay_set& replay) {
    using cost::layer_kind;
    layer_prices out;
    cost::parallel whole = p;
    whole.recompute = cost::recompute::none;
    for (const bool experts : kinds_of(m)) {
      kind_prices& one = out.kinds.emplace_back();
      const auto took =
          cost::time_of_layer(m, t, p, on, experts ? layer_kind::experts : layer_kind::dense, {p.recompute, replay});
      const auto kept = cost::layer_activation_bytes(m, t, p, experts, replay),
                 all = cost::layer_activation_bytes(m, t, whole, experts, replay);
      const cost::setting here{
          .on_rank = {.layers = 1, .moe_layers = experts ? 1 : 0}, .model = m, .training = t, .parallel = p};
      const auto numbers = numbers_of(here);
      const auto in_ffn = cost::rank_total(cost::ffn_transient_terms, numbers),
                 in_attention = cost::rank_total(cost::attention_transient_terms, numbers);
      if (!took) return took.error();
      for (const auto* x : {&kept, &all, &in_ffn, &in_attention})
        if (!*x) return x->error();
      one.seconds = took->total().count();
      one.bytes = kept->real();
      if (p.recompute == cost::recompute::full) one.whole = all->real();
      one.moment = (std::max)(in_ffn->real(), in_attention->real());
      if (out.kinds.size() == 1) out.forward_share = took->forward / took->total();
    }
    const auto head = cost::time_of_layer(m, t, p, on, layer_kind::head, {});
    if (!head) return head.error();
    out.head = head->total().count();
    price_ends(ends_of(m, t, p), out);
    for (kind_prices& x : out.kinds) x.hop = price_of_hop(ends_of(m, t, p), on);
    out.known = true;
    return out;
  }

  [[nodiscard]] static result<parameter_prices> prices_of_parameters(const cost::model& m, const cost::parallel& p) {
    parameter_prices out;
    const auto count = [&](std::int64_t layers, std::int64_t moe, bool first,
                           bool last) -> result<cost::rank_parameters> {
      return cost::count_rank_parameters(m, p, cost::part{layers, moe, 0, first, last, 0});
    };
    const auto none = count(0, 0, false, false), first = count(0, 0, true, false), last = count(0, 0, false, true),
               both = count(0, 0, true, true);
    for (const auto* x : {&none, &first, &last, &both})
      if (!*x) return x->error();
    const auto less = [&](const cost::rank_parameters& x) { return static_cast<double>(x.dense - none->dense); };
    for (const bool experts : kinds_of(m)) {
      const auto one = count(1, experts ? 1 : 0, false, false);
      if (!one) return one.error();
      const auto experts_of_it = static_cast<double>(one->expert);
      out.kinds.push_back({less(*one), experts_of_it, less(*one), experts_of_it});
    }
    out.first = less(*first);
    out.last = less(*last);
    out.both = less(*both);
    return out;
  }

  [[nodiscard]] static rank_shapes shapes_of(const cost::model& m, const cost::parallel& p) {
    rank_shapes out;
    const auto counted = [&](std::int64_t layers, std::int64_t experts) {
      std::vector<kind_count> list;
      if (experts > 0) list.push_back({kinds_of(m).size() - 1, static_cast<double>(experts)});
      if (layers > experts) list.push_back({0, static_cast<double>(layers - experts)});
      return list;
    };
    for (const cost::part& x : cost::even_parts(m, p))
      out.add({.layers = static_cast<double>(x.layers), .rank = x.rank, .first = x.first, .last = x.last},
              counted(x.layers, x.moe_layers));
    out.all = counted(m.layers, m.moe_layers);
    return out;
  }
};

/// Bytes of a rank at its peak, as cost::peak_memory: what lives through the step, and the larger of two moments.
/// @param held  chunks in flight
[[nodiscard]] inline double peak_of_shape(const rank_shape& x, const rank_shapes& shapes, const layer_prices& layer,
                                          const parameter_prices& n, const state_prices& state, double own,
                                          double expert, double held, double vp, double batches) {
  double kept = 0, layers = 0, passes = 0, whole = 0, moment = 0;
  parameter_prices::kind largest;
  for (std::size_t at = x.begin; at < x.end; ++at) {
    const kind_count& some = shapes.counts[at];
    const kind_prices& each = layer.kinds[some.kind];
    const parameter_prices::kind& parameters = n.kinds[some.kind];
    layers += some.count;
    const double up_to_here = std::ceil(held * layers / vp);
    kept += (up_to_here - passes) * each.bytes;
    passes = up_to_here;
    whole = (std::max)(whole, each.whole);
    moment = (std::max)(moment, each.moment);
    if (parameters.layer_dense + parameters.layer_expert >= largest.layer_dense + largest.layer_expert)
      largest = parameters;
  }
  double bytes =
      own * state.bytes_dense + expert * state.bytes_expert + kept + largest.layer_dense * state.buffers_dense;
  if (x.first) bytes += layer.first_bytes_each * (std::min)(batches, held);
  if (x.last) bytes += state.buffers_last;
  const double backward =
                   largest.layer_dense * state.whole_dense + largest.layer_expert * state.whole_expert + moment + whole,
               loss = x.last ? layer.last_bytes + state.whole_last : 0;
  return bytes + (std::max)(loss, backward);
}

/// Time and memory of a strategy from its parts: the sums of cost::predict_step and of the memory report, over the few
/// ranks that can be the slowest or the fullest. Zero-bubble schedules idle while the pipeline fills, not while it
/// drains: of the bubble, the forwards' share remains.
template <held_policy H>
[[nodiscard]] strategy_cost price_of(const strategy& s, const cost::training& t, const cost::machine& on,
                                     const layer_prices& layer, const parameter_prices& n, const state_prices& state,
                                     const rank_shapes& shapes, const H& chunks_held) {
  const cost::parallel& p = s.how;
  const std::int64_t micro_batches = t.global_batch / (s.micro_batch * p.dp);
  const auto batches = static_cast<double>(micro_batches);
  const auto vp = static_cast<double>(p.vp);
  double sum = layer.head;
  for (const kind_count& x : shapes.all) sum += x.count * layer.kinds[x.kind].seconds;
  double busiest = 0, most_layers = 0, bytes = 0, exchange = 0, update = 0;
  for (const rank_shape& x : shapes.ranks) {
    const bool passes_on = p.pp > 1 && x.begin < x.end;
    const double hop = passes_on ? layer.kinds[shapes.counts[x.begin].kind].hop * vp : 0;
    sum += x.copies * hop;
    double time = (x.last ? layer.head : 0) + hop,
           own = x.first ? (x.last ? n.both : n.first)
               : x.last  ? n.last
                         : 0,
           expert = 0;
    for (std::size_t at = x.begin; at < x.end; ++at) {
      const kind_count& some = shapes.counts[at];
      time += some.count * layer.kinds[some.kind].seconds;
      own += some.count * n.kinds[some.kind].dense;
      expert += some.count * n.kinds[some.kind].expert;
    }
    busiest = (std::max)(busiest, time);
    most_layers = (std::max)(most_layers, x.layers + (x.last ? 1 : 0));
    exchange = (std::max)(exchange, own * (state.sent_dense + (batches - 1) * state.more_dense) +
                                        expert * (state.sent_expert + (batches - 1) * state.more_expert));
    update = (std::max)(update, own * state.moved_dense + expert * state.moved_expert);
    const auto held = static_cast<double>(chunks_held(s, micro_batches, x.rank));
    bytes = (std::max)(bytes, peak_of_shape(x, shapes, layer, n, state, own, expert, held, vp, batches));
  }
  const double bubble = (sum - busiest) / vp * (s.zero_bubble ? layer.forward_share : 1);
  const double device =
      batches * busiest + bubble + (1 - on.data_overlap) * (exchange > 0 ? exchange / on.data_bytes : 0);
  const double launched = 2 * batches * most_layers * on.launches * on.launch_seconds;
  const double seconds =
      (launched > device ? launched : device) + update / on.memory_bytes + on.load_seconds + on.post_seconds;
  constexpr double max_count = 9.2e18;  // bytes beyond fit nowhere; a step beyond is an error of those who ask
  return {seconds * 1e9 < max_count ? std::chrono::nanoseconds(std::llround(seconds * 1e9)) : endless_step,
          hocket::bytes(static_cast<std::int64_t>(std::ceil(bytes < max_count ? bytes - 1e-3 : max_count)))};
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
