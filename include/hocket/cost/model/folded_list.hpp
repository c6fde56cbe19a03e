// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/folding.hpp>
#include <hocket/cost/model/list_stages.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

// What a list of layers costs under many strategies: the formulas of its blocks are folded once, and a strategy then
// costs a hundred products and one sum per kind of layer.
namespace hocket::inline HOCKET_ABI::cost {

/// What one strategy changes of a step.
struct strategy_batch {
  std::int64_t micro_batch = 1, global_batch = 1;
};
namespace detail {
/// What a pipeline rank has of the ends.
struct rank_place {
  bool first = true, last = true;
  std::int64_t rank = 0;
};
/// Whatever a strategy says: while a layer is made again, it keeps all.
struct nothing_again {
  cost::recompute recompute = cost::recompute::none;
};
/// The input of a layer that is computed again whole. Needs: list_sizes, training, parallel.
inline constexpr auto input_of_whole_layer = [] {
  using letters::recomputed;
  constexpr auto input = blocks::stream_of(1 * letters::h) / saved::region;
  return choose(recomputed, 0 * input, 0 * input, input);
}();
}  // namespace detail
}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::strategy_batch, micro_batch, global_batch);
HOCKET_DETAIL_STRUCT(hocket::cost::detail::rank_place, first, last, rank);
HOCKET_DETAIL_STRUCT(hocket::cost::detail::nothing_again, recompute);

namespace hocket::inline HOCKET_ABI::cost {

/// FLOPs of a step, and the peak of the fullest pipeline rank.
struct list_price {
  double model_flops = 0, hardware_flops = 0;
  double static_bytes = 0, kept_bytes = 0, peak_bytes = 0;  ///< of the fullest rank
  std::int64_t fullest_rank = 0;
};

/// A list whose formulas are folded. Sequence, bytes per element and the kernels of a step are told once; sizes of
/// parallelism, batches, recompute and replays vary.
///
///     const auto folded = folded_list::make(list, {.sequence = 4096}, counted);
///     folded_list::scratch room;
///     for (const parallel& p : strategies) least_bytes = least(folded->price(p, {1, 1024}, {}, room).peak_bytes, …);
///
/// Equal to count_flops and memory_of_rank but for the rounding of doubles, and of parameters that do not divide over
/// their ranks: those are rounded up there and not here. 1F1B, layers dealt out evenly.
class folded_list {
 public:
  /// Memory that prices work in: one per thread.
  struct scratch {
    std::vector<double> atoms, products, sums;  // sums: four of each kind
    /// What a pipeline rank has of the layers.
    struct rank_sums {
      double dense = 0, expert = 0, kept = 0;
      double largest_dense = 0, largest_expert = 0, largest_kept = 0, again = 0, moment = 0;
      double share = 0;                  // chunks in flight over chunks
      double layers = 0, passes = 0;     // whole passes of so many layers, from behind
      std::uint64_t uses = 0, owns = 0;  // sets of weights that it takes from elsewhere, and that it has: a bit each
    };
    std::vector<rank_sums> ranks;
  };

  /// Errors: those of check; errc::undefined_value where a formula has no value.
  /// Complexity: some thousand operations per kind of layer.
  [[nodiscard]] static result<folded_list> make(const layer_list& list, const training& t, const convention& counted) {
    if (const auto ok = check(list); !ok) return ok.error();
    if (const auto ok = check(t); !ok) return ok.error();
    if (t.muon) return error{errc::invalid_argument, list.layer_count()}.with("Muon in a folded list, layers");
    folded_list out;
    if (const auto ok = out.fold_runs(list, t, counted); !ok) return ok.error();
    if (const auto ok = out.fold_ends(list, t, counted); !ok) return ok.error();
    return out;
  }

  /// FLOPs and the fullest rank of one strategy. Precondition: check(list, t, p) and check_even_stages hold.
  /// Complexity: one operation per product, per entry of a kind's sums, per run, and per stage; some hundred per rank.
  [[nodiscard]] list_price price(const parallel& p, const strategy_batch& batch, const replay_set& replayed,
                                 scratch& room) const {
    list_price out;
    layers_.evaluate(environment(batch, p, replayed), room.atoms, room.products);
    out.model_flops = folding::value(model_flops_, room.products);
    out.hardware_flops = out.model_flops + folding::value(again_flops_, room.products);
    value_kinds(room);
    begin_ranks(p, batch, room);
    deal_out(p, room);
    for (std::int64_t rank = 0; rank < p.pp; ++rank) {
      const list_price here = price_of_rank(rank, p, batch, room);
      if (rank > 0 && here.peak_bytes <= out.peak_bytes) continue;
      out.static_bytes = here.static_bytes;
      out.kept_bytes = here.kept_bytes;
      out.peak_bytes = here.peak_bytes;
      out.fullest_rank = rank;
    }
    return out;
  }

 private:
  /// Sums of one layer of a kind, and of the ends of a rank.
  enum layer_sum : std::size_t {
    of_dense,
    of_expert,
    of_dense_elsewhere,
    of_expert_elsewhere,
    of_kept,
    of_whole,
    layer_sum_count
  };
  enum end_sum : std::size_t { own_dense, chunks, end_sum_count };
  enum rank_sum : std::size_t { fixed, at_ends, buffers, at_head, shards, rank_sum_count };
  struct kind {
    layer_blocks blocks;
    std::array<folded_sum, layer_sum_count> sums{};
    std::vector<folded_sum> moments{};  // of its blocks, those that have one
    folded_sum model_flops{}, again_flops{};
  };
  struct run {
    std::size_t kind = 0;
    std::int64_t count = 1;
  };
  /// Sets of weights that several layers work with, as bits: those that a kind takes from elsewhere, and that it has.
  struct set_flags {
    std::uint64_t uses = 0, owns = 0;
  };
  struct entry {
    std::uint32_t product = 0;
    double times = 0;
  };
  /// Adds sums, and remembers the first that is none.
  struct adder {
    result<void> ok{};
    void operator()(folded_sum& to, const result<folded_sum>& x, std::int64_t times = 1) {
      if (x) to = folding::plus(to, *x, times);
      else if (ok) ok = x.error();
    }
  };

  folded_list()
      : layers_(environment(strategy_batch{}, parallel{}, replay_set{})),
        ends_(environment(detail::rank_place{}, strategy_batch{}, parallel{})),
        ranks_(environment(detail::rank_place{}, held{}, rank_parameters{}, layer_parameters{}, strategy_batch{},
                           parallel{})) {}

  template <class Sizes>
  void fold_block(const Sizes& sizes, bool weights_elsewhere, const list_sizes& of_list, const numbers_view& others,
                  kind& to, adder& add) {
    const part one{.layers = 1};
    const environment first(sizes, one, of_list);
    const environment whole(sizes, one, of_list, detail::nothing_again{});
    const block_terms lists = formulas_of<Sizes>::lists();
    const auto dense = layers_.rank_total(lists.parameters, first, others),
               expert = layers_.rank_total(lists.expert_parameters, first, others);
    add(to.sums[weights_elsewhere ? of_dense_elsewhere : of_dense], dense);
    add(to.sums[weights_elsewhere ? of_expert_elsewhere : of_expert], expert);
    add(to.sums[of_kept], layers_.rank_total(lists.saved, first, others));
    add(to.sums[of_whole], layers_.rank_total(lists.saved, whole, others));
    if (!lists.moment.listed().empty()) add(to.moments.emplace_back(), layers_.rank_total(lists.moment, first, others));
    add(to.model_flops, layers_.total(lists.forward, first, others), 3);
    add(to.model_flops, layers_.total(lists.whole_step, first, others));
    add(to.again_flops, layers_.again_total(lists.forward, first, others));
    add(to.again_flops, layers_.again_total(lists.whole_step, first, others));
  }
  /// The number of a kind of layer, folded if it is new.
  result<std::size_t> kind_of(const layer_list& list, const layer_blocks& blocks, const numbers_view& others,
                              std::vector<kind>& kinds) {
    for (std::size_t at = 0; at < kinds.size(); ++at)
      if (kinds[at].blocks == blocks) return at;
    kind made{.blocks = blocks};
    adder add;
    for (const block& b : blocks)
      std::visit([&](const auto& sizes) { fold_block(sizes, b.weights_elsewhere, list.sizes, others, made, add); },
                 b.what);
    add(made.sums[of_kept], layers_.value_of(detail::input_of_whole_layer, environment(list.sizes), others));
    if (!add.ok) return add.ok.error();
    kinds.push_back(std::move(made));
    return kinds.size() - 1;
  }
  result<void> fold_runs(const layer_list& list, const training& t, const convention& counted) {
    std::vector<kind> kinds;
    const environment others(t, counted);
    first_layer_ = list.front.empty() ? 0 : 1;
    behind_layers_ = first_layer_ + list.layers.size();
    layer_count_ = list.layer_count();
    const auto ok = detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t count) -> result<void> {
      const auto at = kind_of(list, blocks, others, kinds);
      if (!at) return at.error();
      runs_.push_back({*at, count});
      model_flops_ = folding::plus(model_flops_, kinds[*at].model_flops, count);
      again_flops_ = folding::plus(again_flops_, kinds[*at].again_flops, count);
      return {};
    });
    if (!ok) return ok;
    const auto store = [&](const auto& sums) {
      for (const folded_sum& sum : sums) {
        for (const folded_part& x : sum) entries_.push_back({x.product, x.times});
        entry_ends_.push_back(entries_.size());
      }
    };
    for (const kind& each : kinds) {
      store(each.sums);
      store(each.moments);
      kind_ends_.push_back(entry_ends_.size());
    }
    layer_blocks sets;
    for (const kind& each : kinds) detail::add_shared(each.blocks, sets);
    constexpr std::size_t most_sets = 64;
    if (sets.size() > most_sets)
      return error{errc::limit_exceeded, static_cast<std::int64_t>(sets.size()), std::int64_t{most_sets}}.with(
          "sets of weights that layers share");
    for (const kind& each : kinds) sets_of_.push_back(flags_of(each.blocks, sets));
    for (const block& set : sets) {
      const auto at = kind_of(list, {set}, others, kinds);
      if (!at) return at.error();
      store(kinds[*at].sums);
      set_ends_.push_back(entry_ends_.size());
    }
    return {};
  }
  static set_flags flags_of(const layer_blocks& blocks, const layer_blocks& sets) {
    set_flags out;
    for (const block& b : blocks)
      for (std::size_t at = 0; at < sets.size(); ++at)
        if (sets[at].shares_with(b)) (b.weights_elsewhere ? out.uses : out.owns) |= std::uint64_t{1} << at;
    return out;
  }
  result<void> fold_ends(const layer_list& list, const training& t, const convention& counted) {
    const model ends = detail::ends_of(list);
    const replay_set as_by_level;
    const environment whole(part{}, ends);
    const environment known(ends);
    const environment others(t, counted, as_by_level);
    adder add;
    add(model_flops_, layers_.total(forward_flop_terms, whole, others), 3);
    add(end_sums_[own_dense], ends_.rank_total(parameter_terms, known, others));
    add(end_sums_[chunks], ends_.value_of(chunks_in_flight, known, others));
    add(rank_sums_[fixed], ranks_.rank_total(static_memory_terms, known, others));
    add(rank_sums_[at_ends], ranks_.rank_total(end_tensor_terms, known, others));
    add(rank_sums_[buffers], ranks_.rank_total(workspace_terms, known, others));
    add(rank_sums_[at_head], ranks_.rank_total(head_transient_terms, known, others));
    add(rank_sums_[shards], ranks_.rank_total(transient_terms, known, others));
    return add.ok;
  }

  void value_kinds(scratch& room) const {
    room.sums.resize(entry_ends_.size());
    std::size_t at = 0;
    for (std::size_t sum = 0; sum < entry_ends_.size(); ++sum) {
      double value = 0;
      for (; at < entry_ends_[sum]; ++at) value += entries_[at].times * room.products[entries_[at].product];
      room.sums[sum] = value;
    }
  }
  /// What every rank has of the ends, and its chunks in flight over its chunks.
  void begin_ranks(const parallel& p, const strategy_batch& batch, scratch& room) const {
    room.ranks.assign(static_cast<std::size_t>(p.pp), {});
    for (std::int64_t rank = 0; rank < p.pp; ++rank) {
      const detail::rank_place place{.first = rank == 0, .last = rank == p.pp - 1, .rank = rank};
      ends_.evaluate(environment(place, batch, p), room.atoms, room.products);
      scratch::rank_sums& to = room.ranks[static_cast<std::size_t>(rank)];
      to.dense = folding::value(end_sums_[own_dense], room.products);
      to.share = folding::value(end_sums_[chunks], room.products) / static_cast<double>(p.vp);
    }
  }
  void put(const run& layers, std::int64_t count, bool again, scratch& room, std::size_t rank) const {
    const std::size_t first = layers.kind == 0 ? 0 : kind_ends_[layers.kind - 1];
    const double* of = room.sums.data() + first;
    scratch::rank_sums& to = room.ranks[rank];
    const auto times = static_cast<double>(count);
    to.dense += times * of[of_dense];
    to.expert += times * of[of_expert];
    to.layers += times;
    constexpr double rounding = 1e-9;  // shares are fractions of small numbers
    const double before = to.passes;
    to.passes = std::ceil(to.share * to.layers - rounding);
    to.kept += (to.passes - before) * of[of_kept];
    to.largest_kept = (std::max)(to.largest_kept, of[of_kept]);
    if (again) to.again = (std::max)(to.again, of[of_whole]);
    for (std::size_t at = layer_sum_count; first + at < kind_ends_[layers.kind]; ++at)
      to.moment = (std::max)(to.moment, of[at]);
    to.uses |= sets_of_[layers.kind].uses;
    to.owns |= sets_of_[layers.kind].owns;
    const double dense = of[of_dense] + of[of_dense_elsewhere], expert = of[of_expert] + of[of_expert_elsewhere];
    if (dense + expert < to.largest_dense + to.largest_expert) return;
    to.largest_dense = dense;
    to.largest_expert = expert;
  }
  /// As layers_of_ranks, but from behind, as passes are dealt out.
  void deal_out(const parallel& p, scratch& room) const {
    const bool again = p.recompute == recompute::full;
    const auto ranks = static_cast<std::size_t>(p.pp);
    for (std::size_t at = runs_.size(); at > behind_layers_; --at)
      put(runs_[at - 1], runs_[at - 1].count, again, room, ranks - 1);
    const std::int64_t stages = p.pp * p.vp;
    std::size_t at = behind_layers_;
    std::int64_t used = 0;
    for (std::int64_t stage = stages; stage-- > 0;) {
      std::int64_t left = layer_count_ / stages + (stage < layer_count_ % stages ? 1 : 0);
      while (left > 0) {
        const std::int64_t here = (std::min)(left, runs_[at - 1].count - used);
        put(runs_[at - 1], here, again, room, static_cast<std::size_t>(stage % p.pp));
        left -= here;
        used += here;
        if (used < runs_[at - 1].count) continue;
        --at;
        used = 0;
      }
    }
    for (at = first_layer_; at > 0; --at) put(runs_[at - 1], runs_[at - 1].count, again, room, 0);
    for (std::size_t set = 0; set < set_ends_.size(); ++set)
      for (scratch::rank_sums& to : room.ranks) {
        if (((to.uses & ~to.owns) >> set & 1) == 0) continue;
        const double* of = room.sums.data() + set_ends_[set] - layer_sum_count;  // the rank's own copy
        to.dense += of[of_dense];
        to.expert += of[of_expert];
      }
  }
  list_price price_of_rank(std::int64_t rank, const parallel& p, const strategy_batch& batch, scratch& room) const {
    const bool first = rank == 0, last = rank == p.pp - 1;
    const scratch::rank_sums& layers = room.ranks[static_cast<std::size_t>(rank)];
    const std::int64_t batches = batch.global_batch / (batch.micro_batch * p.dp);
    const auto whole = [](double x) { return static_cast<std::int64_t>(std::llround(x)); };
    const rank_parameters all{whole(layers.dense), whole(layers.expert)};
    const layer_parameters largest{whole(layers.largest_dense), whole(layers.largest_expert)};
    const std::int64_t passed = whole(layers.share * static_cast<double>(p.vp));
    const held in_flight{.embedding_passes = (std::min)(passed, batches)};
    const auto value = [&](rank_sum which) { return folding::value(rank_sums_[which], room.products); };
    const auto look_at = [&](bool embedding, bool head) {
      const detail::rank_place ends{.first = embedding, .last = head, .rank = rank};
      ranks_.evaluate(environment(ends, in_flight, all, largest, batch, p), room.atoms, room.products);
    };
    list_price out;
    out.kept_bytes = layers.kept;
    if (p.offload_activations) out.kept_bytes = (std::min)(layers.kept, 2 * layers.largest_kept);
    if (first) {  // what the first rank has of the ends is kept, what the last has lives at the loss
      look_at(true, false);
      out.kept_bytes += value(at_ends);
    }
    look_at(false, last);
    out.static_bytes = value(fixed);
    const double at_loss = value(at_ends) + value(at_head), at_backward = value(shards) + layers.moment + layers.again;
    out.peak_bytes = out.static_bytes + out.kept_bytes + value(buffers) + (std::max)(at_loss, at_backward);
    return out;
  }

  folding layers_, ends_, ranks_;
  folded_sum model_flops_, again_flops_;
  std::array<folded_sum, end_sum_count> end_sums_{};
  std::array<folded_sum, rank_sum_count> rank_sums_{};
  std::vector<run> runs_;
  std::size_t first_layer_ = 0, behind_layers_ = 0;  // among the runs
  std::int64_t layer_count_ = 0;
  std::vector<entry> entries_;           // of all sums of all kinds
  std::vector<std::size_t> entry_ends_;  // of each sum
  std::vector<std::size_t> kind_ends_;   // of the sums of each kind: layer_sum_count, and its moments
  std::vector<set_flags> sets_of_;       // of each kind
  std::vector<std::size_t> set_ends_;    // of the sums of each set
};

}  // namespace hocket::inline HOCKET_ABI::cost
