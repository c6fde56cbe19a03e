// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/packing.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

/// Micro-batches that differ: what each takes and keeps, by its documents.
namespace hocket::inline HOCKET_ABI::cost {

/// Tokens of the documents that are packed into one micro-batch.
using document_lengths = std::vector<std::int64_t>;

/// The step as one such micro-batch sees it: a single sequence of all its tokens, in which a position attends within
/// its document. Attention then goes by the sum of squared lengths, all else by tokens. Errors: errc::out_of_range for
/// a length below 1, errc::limit_exceeded past 2^31 - 1 tokens or squares. O(documents).
///
///     training_of(list, {.sequence = 4096}, document_lengths{1024, 3072})->squared_lengths
[[nodiscard]] inline result<training> training_of(const layer_list& list, training t,
                                                  std::span<const std::int64_t> documents) {
  constexpr std::int64_t max_size = (std::numeric_limits<std::int32_t>::max)();
  std::int64_t tokens = 0;
  for (const std::int64_t length : documents) {
    if (length < 1 || length > max_size)
      return error{errc::out_of_range, length, 1, max_size}.with("length of a document");
    tokens += length;
    if (tokens > max_size) return error{errc::limit_exceeded, tokens, max_size}.with("tokens of a micro-batch");
  }
  if (tokens == 0) return error{errc::out_of_range, 0, 1, max_size}.with("documents of a micro-batch");
  t.sequence = tokens;
  t.micro_batch = 1;
  t.squared_lengths = t.windowed_pairs = 0;
  if (documents.size() == 1) return t;
  return packed(t, documents, window_of(list));
}

/// What one stage of a pipeline has: so many layers, of which the first `whole` are computed again whole and the others
/// as said. MindFormers' `recompute` list has one `whole` a stage.
struct stage_choice {
  std::int64_t layers = 0;
  std::int64_t whole = 0;
  recompute_choice others{};
  friend constexpr bool operator==(const stage_choice&, const stage_choice&) = default;
};

/// The layers of `pp x vp` stages as dealt_stages has them, all recomputed alike. Precondition: check_even_stages.
[[nodiscard]] inline std::vector<stage_choice> even_choices(const layer_list& list, const parallel& p,
                                                            const recompute_choice& how = {}) {
  const auto sizes = dealt_stages(list, p);
  HOCKET_ASSERT(sizes);
  std::vector<stage_choice> out;
  for (const std::int64_t here : *sizes) out.push_back({here, 0, how});
  return out;
}

/// What one micro-batch is to one stage. Half of what its ranks wait for each other is in each pass, and so is half of
/// the hop to the next stage and back.
struct stage_price {
  seconds forward{}, backward{};
  std::int64_t kept_bytes = 0;  ///< until its backward pass, rounded up
  friend constexpr bool operator==(const stage_price&, const stage_price&) = default;
};

/// Prices of micro-batches, stage by stage.
struct micro_batch_prices {
  std::size_t stages = 0, count = 0;
  std::vector<stage_price> all;  ///< of stage s and micro-batch j at s x count + j
  [[nodiscard]] stage_price at(std::size_t stage, std::size_t micro_batch) const {
    HOCKET_ASSERT(stage < stages && micro_batch < count);
    return all[stage * count + micro_batch];
  }
};

namespace detail {

/// Calls use(blocks, count, how) for the runs of a stage: front and back of a list are never computed again whole.
template <class Use>
result<void> for_each_choice(const rank_layers& here, const stage_choice& choice, bool has_front, Use&& use) {
  std::int64_t whole = choice.whole;
  for (std::size_t i = 0; i < here.layers.size(); ++i) {
    const rank_run& each = here.layers[i];
    const std::int64_t again = has_front && i == 0 ? 0 : (std::min)(whole, each.count);
    whole -= again;
    if (again > 0)
      if (const auto ok = use(each.blocks, again, recompute_choice{recompute::full, {}}); !ok) return ok;
    if (each.count > again)
      if (const auto ok = use(each.blocks, each.count - again, choice.others); !ok) return ok;
  }
  return {};
}

template <class Hardware>
result<stage_price> price_of_stage(const layer_list& list, const training& t, const parallel& p, const Hardware& on,
                                   const rank_layers& here, const stage_choice& choice, seconds hop) {
  layer_time sum;
  rational kept = 0;
  const auto add = [&](const layer_blocks& blocks, std::int64_t count, const recompute_choice& how) -> result<void> {
    const auto one = time_of_layer(list, blocks, t, p, on, how);
    if (!one) return one.error();
    sum += static_cast<double>(count) * *one;
    parallel at = p;
    at.recompute = how.level;
    const auto bytes = layer_activation_bytes(list, blocks, t, at, how.operations);
    if (!bytes) return bytes.error();
    kept = kept + rational(count) * *bytes;
    return {};
  };
  if (const auto ok = for_each_choice(here, choice, here.ends.first && !list.front.empty(), add); !ok)
    return ok.error();
  if (here.ends.last) {
    const auto head = time_of_head(list, t, p, on);
    if (!head) return head.error();
    sum += *head;
  }
  sum.exposed += hop;
  const rational whole = kept.ceiling();
  if (!whole.ok() || whole.num() > (std::numeric_limits<std::int64_t>::max)())
    return error{errc::overflow}.with("bytes that a stage keeps");
  return stage_price{sum.forward + sum.exposed / 2, sum.backward + sum.again + sum.exposed / 2,
                     static_cast<std::int64_t>(whole.num())};
}

/// Micro-batches in an order in which those with the same sizes stand together.
inline std::vector<std::size_t> alike_together(std::span<const training> steps) {
  std::vector<std::size_t> order(steps.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const training &x = steps[a], &y = steps[b];
    if (x.sequence != y.sequence) return x.sequence < y.sequence;
    if (x.squared_lengths != y.squared_lengths) return x.squared_lengths < y.squared_lengths;
    return x.windowed_pairs != y.windowed_pairs ? x.windowed_pairs < y.windowed_pairs : a < b;
  });
  return order;
}

/// The layers of stages as if each were a rank.
inline result<std::vector<rank_layers>> layers_of_choices(const layer_list& list, const parallel& p,
                                                          std::span<const stage_choice> stages) {
  std::vector<std::int64_t> sizes;
  for (const stage_choice& x : stages) {
    if (x.whole < 0 || x.whole > x.layers)
      return error{errc::out_of_range, x.whole, 0, x.layers}.with("layers of a stage computed again whole");
    sizes.push_back(x.layers);
  }
  parallel flat = p;
  flat.pp = p.pp * p.vp;
  flat.vp = 1;
  return layers_of_ranks(list, flat, sizes);
}

}  // namespace detail

/// Prices each micro-batch on each stage, by the formulas: attention by its squared document lengths, the rest by its
/// tokens. `sequence`, `micro_batch` and `global_batch` of `t` are not read, and padding to whole ranks is not added.
/// @param stages   pp x vp choices in model order; even_choices
/// @param batches  the documents of each micro-batch
/// Errors: those of check but for the sizes that are not read, of training_of and of time_of_layer; errc::bad_shape for
/// another number of stages; errc::out_of_range for more whole layers than a stage has. Complexity: one pass over the
/// formulas for each run of layers and each micro-batch of other sizes.
///
///     const auto prices = price_micro_batches(list, t, p, machine, even_choices(list, p), batches);
///     prices->at(0, 3).forward
template <class Hardware = machine>
[[nodiscard]] result<micro_batch_prices> price_micro_batches(const layer_list& list, const training& t,
                                                             const parallel& p, const Hardware& on,
                                                             std::span<const stage_choice> stages,
                                                             std::span<const document_lengths> batches) {
  detail::require_hardware<Hardware>();
  if constexpr (std::same_as<Hardware, machine>)
    if (const auto sound = check(on); !sound) return sound.error();
  training fitting = t;  // sizes that divide, in place of those that are not read
  fitting.sequence = p.cp * (p.sequence_parallel ? p.tp : 1) * p.copies;
  fitting.micro_batch = 1;
  fitting.global_batch = p.dp;
  fitting.squared_lengths = fitting.windowed_pairs = 0;
  if (const auto fits = check(list, fitting, p); !fits) return fits.error();
  const auto layers = detail::layers_of_choices(list, p, stages);
  if (!layers) return layers.error();
  std::vector<training> steps;
  for (const document_lengths& documents : batches) {
    const auto one = training_of(list, t, documents);
    if (!one) return one.error();
    if (const auto told = check_packing(list, *one); !told) return told.error();
    steps.push_back(*one);
  }
  micro_batch_prices out{layers->size(), batches.size(), {}};
  out.all.resize(out.stages * out.count);
  const training* last = nullptr;
  std::size_t priced = 0;
  for (const std::size_t j : detail::alike_together(steps)) {
    const training& step = steps[j];
    const bool known = last != nullptr && last->sequence == step.sequence &&
                       last->squared_lengths == step.squared_lengths && last->windowed_pairs == step.windowed_pairs;
    if (!known) {
      setting ends = detail::setting_of_ends(list, {}, step, p, {});
      ends.sizes.hidden = list.sizes.hidden * list.sizes.streams;
      for (std::size_t s = 0; s < out.stages; ++s) {
        if (!(*layers)[s].layers.empty())  // all residual streams go to the next stage
          ends.sizes.hidden = list.sizes.hidden * streams_behind(list.sizes, (*layers)[s].layers.back().blocks);
        const seconds hop = detail::hop_of(ends, on);
        const auto price = detail::price_of_stage(list, step, p, on, (*layers)[s], stages[s], hop);
        if (!price) return price.error();
        out.all[s * out.count + j] = *price;
      }
      last = &step;
      priced = j;
      continue;
    }
    for (std::size_t s = 0; s < out.stages; ++s) out.all[s * out.count + j] = out.all[s * out.count + priced];
  }
  return out;
}

/// Bytes of each rank at its peak, whatever the order of the micro-batches: those that keep most are taken to be in
/// flight together, and the longest one to be at the loss and inside the backward pass. Stage s is on rank s mod pp.
/// @param prices     of price_micro_batches, for the same stages and batches
/// @param in_flight  chunks that each rank keeps at its peak, as a schedule says
/// Errors: those of memory_of_rank; errc::bad_shape for lists of other lengths. O(ranks x micro-batches log).
[[nodiscard]] inline result<std::vector<std::int64_t>> peak_bytes(const layer_list& list, const training& t,
                                                                  const parallel& p,
                                                                  std::span<const stage_choice> stages,
                                                                  std::span<const document_lengths> batches,
                                                                  const micro_batch_prices& prices,
                                                                  std::span<const std::uint32_t> in_flight) {
  const auto ranks = static_cast<std::size_t>(p.pp);
  if (in_flight.size() != ranks || stages.size() != prices.stages || batches.size() != prices.count ||
      batches.empty() || stages.size() != ranks * static_cast<std::size_t>(p.vp))
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(batches.size())}.with("micro-batches");
  const auto tokens = [](const document_lengths& x) { return std::accumulate(x.begin(), x.end(), std::int64_t{0}); };
  const auto longest = std::max_element(batches.begin(), batches.end(),
                                        [&](const auto& a, const auto& b) { return tokens(a) < tokens(b); });
  const auto at_longest = training_of(list, t, *longest);
  if (!at_longest) return at_longest.error();
  std::vector<std::int64_t> sizes, out;
  for (const stage_choice& x : stages) sizes.push_back(x.layers);
  const auto layers = layers_of_ranks(list, p, sizes);
  if (!layers) return layers.error();
  for (std::size_t r = 0; r < ranks; ++r) {
    std::vector<std::int64_t> kept;
    recompute_choice largest;
    replay_set beside_full;
    bool any_whole = false;
    for (std::size_t s = r; s < prices.stages; s += ranks) {
      const bool full = stages[s].others.level == recompute::full;
      if (stages[s].whole > 0 || full) largest.level = recompute::full;
      if (full) beside_full = stages[s].others.operations;
      any_whole = any_whole || stages[s].whole > 0;
      for (std::size_t j = 0; j < prices.count; ++j) kept.push_back(prices.at(s, j).kept_bytes);
    }
    std::sort(kept.rbegin(), kept.rend());
    kept.resize((std::min)(kept.size(), static_cast<std::size_t>(in_flight[r])));
    const auto embedded = (std::min)(static_cast<std::int64_t>(prices.count), std::int64_t{in_flight[r]});
    if (!any_whole) largest.operations = beside_full;
    const auto peak = memory_of_rank(list, with_choice((*layers)[r], largest), *at_longest, p, {0, embedded});
    if (!peak) return peak.error();
    rational sum = peak->peak.total_bytes();
    for (const std::int64_t bytes : kept) sum = sum + rational(bytes);
    const rational whole = sum.ceiling();
    if (!whole.ok() || whole.num() > (std::numeric_limits<std::int64_t>::max)())
      return error{errc::overflow}.with("bytes of a rank");
    out.push_back(static_cast<std::int64_t>(whole.num()));
  }
  return out;
}

/// Seconds of a step beside its pipeline: loading, the data-parallel exchange as far as it shows, optimizer,
/// post-processing. They do not depend on the lengths of micro-batches. Launches that the device does not cover are
/// left out.
[[nodiscard]] inline seconds beside_pipeline(const step_prediction& step) noexcept {
  const step_numbers& x = step.numbers;
  return step.parts.data_loading + step.parts.optimizer + step.parts.post_processing +
         seconds((1 - x.data_overlap) * x.exchange_seconds);
}

}  // namespace hocket::inline HOCKET_ABI::cost
