// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_stages.hpp>

#include <span>
#include <utility>
#include <variant>
#include <vector>

/// Plans that compute different things again in different layers and ranks: by operation x layer x rank.
namespace hocket::inline HOCKET_ABI::cost {

/// Where one thing is computed again: per pipeline rank, per layer of the rank, in model order.
using layer_flags = std::vector<std::vector<bool>>;

/// What is computed again where: whole layers, and single operations in layers that are not.
struct recompute_plan {
  struct operation_flags {
    layer_operation which = layer_operation::none;  ///< one of `replayable`
    layer_flags where;
  };
  layer_flags full;  ///< empty: as the recompute level of `parallel` says, in every layer
  std::vector<operation_flags> operations;
  replay_set everywhere{};  ///< in every layer
};

/// The first n[i] layers of rank i, as configs of MindFormers list them.
/// @param layers  how many layers each rank has; n[i] <= layers[i] (precondition)
///
///     first_layers(std::vector<std::int64_t>{4, 0}, std::vector<std::int64_t>{20, 20})    // recompute: [4, 0]
[[nodiscard]] inline layer_flags first_layers(std::span<const std::int64_t> n, std::span<const std::int64_t> layers) {
  HOCKET_ASSERT(n.size() == layers.size());
  layer_flags out;
  for (std::size_t rank = 0; rank < n.size(); ++rank) {
    HOCKET_ASSERT(n[rank] >= 0 && n[rank] <= layers[rank]);
    std::vector<bool> flags(static_cast<std::size_t>(layers[rank]), false);
    for (std::int64_t layer = 0; layer < n[rank]; ++layer) flags[static_cast<std::size_t>(layer)] = true;
    out.push_back(std::move(flags));
  }
  return out;
}

/// How many of the model's layers each rank has.
[[nodiscard]] inline std::vector<std::int64_t> layer_counts(std::span<const rank_layers> ranks) {
  std::vector<std::int64_t> out;
  for (const rank_layers& on : ranks) out.push_back(on.layer_count);
  return out;
}

namespace detail {
inline bool are_of(const layer_flags& flags, std::span<const rank_layers> ranks) {
  if (flags.size() != ranks.size()) return false;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (static_cast<std::int64_t>(flags[i].size()) != ranks[i].layer_count) return false;
  return true;
}
/// What a plan says of one layer of a rank.
inline recompute_choice choice_of(const recompute_plan& plan, std::size_t rank, std::size_t layer,
                                  recompute_choice how) {
  how.operations = plan.everywhere;
  if (!plan.full.empty()) how.level = plan.full[rank][layer] ? recompute::full : recompute::none;
  if (how.level == recompute::full) return how;
  for (const auto& each : plan.operations)
    if (each.where[rank][layer]) how.operations.*flag_of(each.which) = true;
  return how;
}
}  // namespace detail

/// The same ranks, with the choice that a plan makes for each layer; equal neighbours are one run. What is not a layer
/// of the model (prediction modules, blocks before and behind the layers) keeps its own.
/// @param ranks  of layers_of_ranks
/// Errors: errc::bad_shape if the plan has not as many ranks, or not their layers. O(layers x operations).
///
///     const auto planned = with_plan(*layers_of_ranks(list, p), plan);
///     count_flops(list, t, p, {}, *planned)->hardware_step
[[nodiscard]] inline result<std::vector<rank_layers>> with_plan(std::vector<rank_layers> ranks,
                                                                const recompute_plan& plan) {
  bool all_fit = plan.full.empty() || detail::are_of(plan.full, ranks);
  for (const auto& each : plan.operations) all_fit = all_fit && detail::are_of(each.where, ranks);
  if (!all_fit)
    return error{errc::bad_shape, static_cast<std::int64_t>(ranks.size()), 1,
                 static_cast<std::int64_t>(plan.full.size())}
        .with("the recompute plan has other layers");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<rank_run> runs;
    std::size_t layer = 0;
    for (rank_run& run : ranks[rank].layers) {
      if (run.place != run_place::layer) {
        runs.push_back(std::move(run));
        continue;
      }
      for (std::int64_t i = 0; i < run.count; ++i, ++layer) {
        const recompute_choice how = detail::choice_of(plan, rank, layer, run.how);
        const bool goes_on = i > 0 && runs.back().how == how;
        if (goes_on) ++runs.back().count;
        else runs.push_back({run.blocks, 1, how});
      }
    }
    ranks[rank].layers = std::move(runs);
  }
  return ranks;
}

/// Layers of one rank that compute the same again.
struct plan_row {
  std::size_t rank = 0;
  rank_run layers;
  rational kept_bytes;   ///< by one of them, of one micro-batch
  rational again_flops;  ///< by one of them, over a step
};
/// What each run of layers and of prediction modules keeps and does again, by rank. Errors: errc::undefined_value.
[[nodiscard]] inline result<std::vector<plan_row>> plan_rows(const layer_list& list, const training& t,
                                                             const parallel& p, const convention& counted,
                                                             std::span<const rank_layers> ranks) {
  std::vector<plan_row> rows;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const rank_run& run : ranks[rank].layers) {
      if (run.place == run_place::front || run.place == run_place::back) continue;
      const auto kept = detail::kept_by(list, run, t, p);
      if (!kept) return kept.error();
      const auto again = flops_again(list, run, t, p, counted);
      if (!again) return again.error();
      rows.push_back({rank, run, *kept, *again});
    }
  return rows;
}

}  // namespace hocket::inline HOCKET_ABI::cost
