// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/planner/strategy/strategy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What a layer of one kind costs under one way to cut and recompute it.
struct kind_prices {
  double seconds = 0;    // of a micro-batch on its rank, visible
  double compute = 0;    // the part of it that computes
  double kernels = 0;    // launched in one pass
  double bytes = 0;      // kept per micro-batch
  double whole = 0;      // transient, if layers are recomputed whole
  double moment = 0;     // inside it, for a moment of its backward, whatever is sharded
  double hop_bytes = 0;  // of what it passes on to the next stage, and gets back as much
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

/// Seconds to send some parameters: a share of each, and what a transfer takes however little is sent.
struct send_prices {
  double each = 0, fixed = 0;
  [[nodiscard]] double of(double parameters) const noexcept { return parameters > 0 ? fixed + each * parameters : 0; }
};
/// Bytes and transfers of one parameter under one sharding.
struct state_prices {
  double bytes_dense = 0, bytes_expert = 0, moved_dense = 0, moved_expert = 0;
  send_prices sent_dense, sent_expert;
  send_prices more_dense, more_expert;       // sent for each micro-batch after the first
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
/// Bytes of a boundary tensor on its way to the next stage; as many come back.
/// @param all  with all that stages pass on as its model's width
[[nodiscard]] inline double bytes_of_hop(const cost::setting& all) {
  const auto here = numbers_of(all);
  double bytes = 0;
  cost::for_each_term(cost::pipeline_transfer_terms, here, [&](const auto& x) { bytes = cost::real(x.formula, here); });
  return bytes;
}
/// Seconds of a boundary tensor on its way to the next stage and back, as far as it shows.
[[nodiscard]] inline double price_of_hop(double bytes, const cost::parallel& p, const cost::machine& on) {
  cost::work_item there;
  there.kind = cost::collective::send;
  there.over = cost::axis::pipeline;
  there.bytes.value = bytes;
  there.ranks = p.pp;
  there.stride = cost::detail::stride_of(there.over, p.pp, p);
  return 2 * (1 - on.pipeline_overlap) * cost::time_of(on, there).count();
}
/// Seconds that all transfers of some parameters take in a step.
[[nodiscard]] inline double seconds_to_send(const cost::setting& all, const cost::machine& on) {
  double sum = 0;
  cost::for_each_term(cost::data_transfer_terms, numbers_of(all), [&](const auto& x) {
    const cost::work_item item = cost::detail::item_of(x, all.parallel);
    if (item.bytes.value > 0) sum += cost::time_of(on, item).count();
  });
  return sum;
}

[[nodiscard]] inline result<state_prices> prices_of_states(const cost::setting& ends, const cost::machine& on) {
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
    send_prices sent[2];
    double moved = 0;
    for (const std::int64_t micro_batches : {1, 2}) {
      cost::setting then = all;
      then.training.micro_batch = 1;
      then.training.global_batch = micro_batches * all.parallel.dp;
      const double once = seconds_to_send(then, on);
      (expert ? then.parameters.expert : then.parameters.dense) *= 2;
      const double twice = seconds_to_send(then, on);
      const bool endless = !std::isfinite(once);  // a rate is 0
      sent[micro_batches - 1] = endless ? send_prices{once, 0} : send_prices{(twice - once) / one, 2 * once - twice};
    }
    const auto here = numbers_of(all);
    cost::for_each_term(cost::optimizer_byte_terms, here,
                        [&](const auto& x) { moved += cost::real(x.formula, here) / cost::real(x.split, here); });
    (expert ? out.bytes_expert : out.bytes_dense) = bytes->real() / one;
    (expert ? out.sent_expert : out.sent_dense) = sent[0];
    if (std::isfinite(sent[0].each))
      (expert ? out.more_expert : out.more_dense) = {sent[1].each - sent[0].each, sent[1].fixed - sent[0].fixed};
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

/// How the layers of a model are priced: as many kinds as it has different layers.
struct list_prices {
  [[nodiscard]] static result<void> check(const cost::layer_list& list) { return cost::check(list); }
  [[nodiscard]] static result<void> check(const cost::layer_list& list, const cost::training& t,
                                          const cost::parallel& p) {
    if (const auto ok = cost::check(list, t, p); !ok) return ok;
    return cost::check_even_stages(list.layer_count(), p);
  }
  [[nodiscard]] static cost::layer_list without_predictions(cost::layer_list list) {
    list.predictions.clear();
    list.sizes.prediction_heads = 0;
    return list;
  }
  [[nodiscard]] static std::int64_t layer_count(const cost::layer_list& list) { return list.layer_count(); }
  [[nodiscard]] static bool has_experts(const cost::layer_list& list) {
    return !for_each_mixture(list, [](const cost::mixture&) { return false; });
  }
  [[nodiscard]] static bool experts_divide(const cost::layer_list& list, std::int64_t ep, std::int64_t etp) {
    return for_each_mixture(list,
                            [=](const cost::mixture& x) { return x.experts % ep == 0 && x.expert_ffn % etp == 0; });
  }
  [[nodiscard]] static cost::setting ends_of(const cost::layer_list& list, const cost::training& t,
                                             const cost::parallel& p) {
    return cost::detail::setting_of_ends(list, {}, t, p, {});
  }

  [[nodiscard]] static result<layer_prices> prices_of_layers(const cost::layer_list& list, const cost::training& t,
                                                             const cost::parallel& p, const cost::machine& on,
                                                             const cost::replay_set& replay) {
    layer_prices out;
    cost::parallel whole = p;
    whole.recompute = cost::recompute::none;
    const cost::block_setting one_layer{
        .on_rank = {.layers = 1}, .sizes = list.sizes, .training = t, .parallel = p, .replayed = replay};
    for (const cost::layer_blocks& blocks : kinds_of(list)) {
      kind_prices& one = out.kinds.emplace_back();
      const auto took = cost::time_of_layer(list, blocks, t, p, on, {p.recompute, replay});
      const auto kept = cost::layer_activation_bytes(list, blocks, t, p, replay),
                 moment = cost::detail::moment_of(blocks, one_layer);
      if (!took) return took.error();
      if (!kept) return kept.error();
      if (!moment) return moment.error();
      one.seconds = took->total().count();
      one.compute = took->compute().count();
      one.kernels = cost::detail::kernels_of(blocks, on, p);
      one.bytes = kept->real();
      one.moment = moment->real();
      if (out.kinds.size() == 1) out.forward_share = took->forward / took->total();
      if (p.recompute != cost::recompute::full) continue;
      const auto all = cost::layer_activation_bytes(list, blocks, t, whole, replay);
      if (!all) return all.error();
      one.whole = all->real();
    }
    out.kinds.resize(out.kinds.size() + shared_of(list).size());  // a copy of weights takes no time, and keeps nothing
    const auto head = cost::time_of_head(list, t, p, on);
    if (!head) return head.error();
    out.head = head->total().count();
    cost::setting ends = ends_of(list, t, p);
    price_ends(ends, out);
    const std::vector<cost::layer_blocks> kinds = kinds_of(list);
    for (std::size_t at = 0; at < kinds.size(); ++at) {
      ends.sizes.hidden = list.sizes.hidden * cost::streams_behind(list.sizes, kinds[at]);
      out.kinds[at].hop_bytes = bytes_of_hop(ends);
    }
    out.known = true;
    return out;
  }

  [[nodiscard]] static result<parameter_prices> prices_of_parameters(const cost::layer_list& list,
                                                                     const cost::parallel& p) {
    parameter_prices out;
    for (const cost::layer_blocks& blocks : kinds_of(list)) {
      const auto one = parameters_of(list, blocks, p), all = parameters_of(list, cost::detail::all_weights(blocks), p);
      if (!one) return one.error();
      if (!all) return all.error();
      out.kinds.push_back({static_cast<double>(one->dense), static_cast<double>(one->expert),
                           static_cast<double>(all->dense), static_cast<double>(all->expert)});
    }
    for (const cost::block& set : shared_of(list)) {
      const auto one = parameters_of(list, {set}, p);
      if (!one) return one.error();
      out.kinds.push_back({static_cast<double>(one->dense), static_cast<double>(one->expert)});
    }
    const auto ends = [&](bool first, bool last) {
      cost::rank_layers nothing;
      nothing.ends = {.first = first, .last = last};
      return cost::count_rank_parameters(list, nothing, p);
    };
    const auto first = ends(true, false), last = ends(false, true), both = ends(true, true);
    for (const auto* x : {&first, &last, &both})
      if (!*x) return x->error();
    out.first = static_cast<double>(first->dense);
    out.last = static_cast<double>(last->dense);
    out.both = static_cast<double>(both->dense);
    return out;
  }

  [[nodiscard]] static rank_shapes shapes_of(const cost::layer_list& list, const cost::parallel& p) {
    rank_shapes out;
    const std::vector<cost::layer_blocks> kinds = kinds_of(list);
    const cost::layer_blocks shared = shared_of(list);
    const auto counted = [&](const cost::layer_blocks& blocks, std::int64_t count) {
      const auto kind = std::find(kinds.begin(), kinds.end(), blocks) - kinds.begin();
      return kind_count{static_cast<std::size_t>(kind), static_cast<double>(count)};
    };
    const auto ranks = cost::layers_of_ranks(list, p);
    if (!ranks) return out;  // an even deal of a checked list has no error
    for (const cost::rank_layers& x : *ranks) {
      std::vector<kind_count> layers;
      for (auto each = x.layers.rbegin(); each != x.layers.rend(); ++each) {
        const kind_count next = counted(each->blocks, each->count);
        if (!layers.empty() && layers.back().kind == next.kind) layers.back().count += next.count;
        else layers.push_back(next);
      }
      for (const cost::block& set :
           cost::detail::copies_on(x)) {  // behind its layers: of them, as whole passes are dealt out
        const auto at = std::find_if(shared.begin(), shared.end(), [&](const auto& y) { return y.shares_with(set); });
        layers.push_back({kinds.size() + static_cast<std::size_t>(at - shared.begin()), 1});
      }
      out.add({.layers = static_cast<double>(x.layer_count),
               .rank = x.ends.rank,
               .first = x.ends.first,
               .last = x.ends.last},
              layers);
    }
    static_cast<void>(
        cost::detail::for_each_run(list, [&](const cost::layer_blocks& blocks, std::int64_t count) -> result<void> {
          out.all.push_back(counted(blocks, count));
          return {};
        }));
    return out;
  }

 private:
  /// Its different layers, in the order in which they come first.
  [[nodiscard]] static std::vector<cost::layer_blocks> kinds_of(const cost::layer_list& list) {
    std::vector<cost::layer_blocks> kinds;
    static_cast<void>(
        cost::detail::for_each_run(list, [&](const cost::layer_blocks& blocks, std::int64_t) -> result<void> {
          if (std::find(kinds.begin(), kinds.end(), blocks) == kinds.end()) kinds.push_back(blocks);
          return {};
        }));
    return kinds;
  }
  /// The sets of weights that several of its layers work with: kinds of their own, behind those of layers.
  [[nodiscard]] static cost::layer_blocks shared_of(const cost::layer_list& list) {
    return cost::detail::shared_sets(list);
  }
  [[nodiscard]] static result<cost::rank_parameters> parameters_of(const cost::layer_list& list,
                                                                   const cost::layer_blocks& blocks,
                                                                   const cost::parallel& p) {
    const auto sum = cost::detail::sum_parameters(list, blocks, 1, p);
    if (!sum) return sum.error();
    return cost::detail::rounded(*sum);
  }
  /// Whether f says so of every mixture.
  template <class F>
  [[nodiscard]] static bool for_each_mixture(const cost::layer_list& list, F&& f) {
    bool all = true;
    static_cast<void>(
        cost::detail::for_each_run(list, [&](const cost::layer_blocks& blocks, std::int64_t) -> result<void> {
          for (const cost::block& b : blocks)
            if (const auto* x = std::get_if<cost::mixture>(&b.what)) all = all && f(*x);
          return {};
        }));
    return all;
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
  double busiest = 0, most_work = 0, compute = 0, most_kernels = 0, bytes = 0, exchange = 0, update = 0;
  double boundary = layer.kinds.front().hop_bytes;
  for (const rank_shape& x : shapes.ranks) {
    if (x.begin < x.end) boundary = layer.kinds[shapes.counts[x.begin].kind].hop_bytes;  // a rank may have no layers
    const double hop = p.pp > 1 ? price_of_hop(boundary, p, on) * vp : 0;
    sum += x.copies * hop;
    double time = (x.last ? layer.head : 0) + hop, computes = x.last ? layer.head : 0,
           kernels = x.last ? on.launches : 0,
           own = x.first ? (x.last ? n.both : n.first)
               : x.last  ? n.last
                         : 0,
           expert = 0;
    for (std::size_t at = x.begin; at < x.end; ++at) {
      const kind_count& some = shapes.counts[at];
      time += some.count * layer.kinds[some.kind].seconds;
      computes += some.count * layer.kinds[some.kind].compute;
      kernels += some.count * layer.kinds[some.kind].kernels;
      own += some.count * n.kinds[some.kind].dense;
      expert += some.count * n.kinds[some.kind].expert;
    }
    most_work = (std::max)(most_work, time - hop);
    if (time > busiest) {
      busiest = time;
      compute = computes;
    }
    most_kernels = (std::max)(most_kernels, kernels);
    exchange = (std::max)(exchange, state.sent_dense.of(own) + (batches - 1) * state.more_dense.of(own) +
                                        state.sent_expert.of(expert) + (batches - 1) * state.more_expert.of(expert));
    update = (std::max)(update, own * state.moved_dense + expert * state.moved_expert);
    const auto held = static_cast<double>(chunks_held(s, micro_batches, x.rank));
    bytes = (std::max)(bytes, peak_of_shape(x, shapes, layer, n, state, own, expert, held, vp, batches));
  }
  const double bubble = (sum - busiest) / vp * (s.zero_bubble ? layer.forward_share : 1);
  const bool every_batch = p.zero == cost::zero::gradients || p.zero == cost::zero::weights;
  const double group = p.vp > 1 ? static_cast<double>(p.pp) : 1;
  const double hides = compute * (every_batch ? batches : (std::min)(group, batches));
  const double exposed = (std::max)((1 - on.data_overlap) * exchange, exchange - hides),
               late = cost::detail::lateness_of(on.spread, p.devices()) * batches * compute;
  const double device = batches * busiest + bubble + exposed + late;
  const double launched = 2 * batches * most_kernels * on.launch_seconds;
  const double beside = update / on.memory_bytes + on.load_seconds + on.post_seconds;
  const double seconds = (launched > device ? launched : device) + beside;
  const double rounded = 2 * batches * vp;  // nanoseconds: a simulation counts passes of whole ones
  const double least = batches * most_work + (1 - on.data_overlap) * exchange + beside;
  constexpr double max_count = 9.2e18;  // bytes beyond fit nowhere; a step beyond is an error of those who ask
  return {seconds * 1e9 < max_count ? std::chrono::nanoseconds(std::llround(seconds * 1e9)) : endless_step,
          hocket::bytes(static_cast<std::int64_t>(std::ceil(bytes < max_count ? bytes - 1e-3 : max_count))),
          std::chrono::nanoseconds(
              static_cast<std::int64_t>((std::min)((std::max)(least * 1e9 * (1 - 1e-9) - rounded, 0.0), max_count)))};
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
