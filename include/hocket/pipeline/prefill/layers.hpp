// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/detail/evaluator.hpp>
#include <hocket/pipeline/prefill/run.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Layers that are alike, over the stages of a forward-only pipeline: the times of one, and what the first stage does
/// besides (the embedding). The head is `prefill_costs::head`.
struct prefill_layers {
  std::int64_t layers = 1;  ///< >= the number of stages
  prefill_times layer{};    ///< of one layer
  prefill_times stage{};    ///< of a stage, however many layers it has: launches, the runtime
  prefill_times first{};    ///< what the first stage does besides
  ticks hop = 0;            ///< these three as in prefill_costs
  double hop_per_token = 0;
  ticks head = 0;
};

inline constexpr std::int64_t max_prefill_layers = 65'536;

/// Writes what each stage takes with so many layers, for prefill_costs::stages.
inline void times_of_stages(const prefill_layers& a, std::span<const std::int64_t> counts,
                            std::pmr::vector<prefill_times>& out) {
  out.clear();
  for (std::size_t s = 0; s < counts.size(); ++s) {
    const auto n = static_cast<double>(counts[s]);
    const prefill_times none{}, &more = s == 0 ? a.first : none;
    out.push_back({a.stage.fixed + n * a.layer.fixed + more.fixed,
                   a.stage.per_token_before + n * a.layer.per_token_before + more.per_token_before,
                   a.stage.per_token + n * a.layer.per_token + more.per_token,
                   a.stage.per_pair + n * a.layer.per_pair + more.per_pair});
  }
}

/// Layers of each stage.
struct prefill_split {
  std::pmr::vector<std::int64_t> layers;  ///< by stage, each >= 1
  ticks last_end = 0;
};

namespace detail {

/// Looks for the best split by moving layers between stages.
class layer_search {
 public:
  layer_search(const prefill_problem& problem, const prefill_layers& layers, std::span<const std::int64_t> sizes,
               std::pmr::memory_resource* memory)
      : layers_(layers),
        times_(memory),
        plan_(cuts_of(problem, sizes, memory)),
        evaluator_(problem, costs_, memory),
        best_(memory),
        now_(memory) {
    times_of_stages(layers_, std::pmr::vector<std::int64_t>(problem.stages(), 1, memory), times_);
    costs_ = {std::span<const prefill_times>(times_), layers.hop, layers.hop_per_token, layers.head};
    const auto stages = static_cast<std::int64_t>(problem.stages());
    for (std::int64_t s = 0; s < stages; ++s)  // longer stages last
      now_.push_back(layers.layers / stages + (s >= stages - layers.layers % stages ? 1 : 0));
    try_now();
  }
  layer_search(const layer_search&) = delete;
  layer_search& operator=(const layer_search&) = delete;

  [[nodiscard]] std::pmr::vector<std::int64_t> operator()() {
    while (move(1) || move(2)) {
    }
    return best_;
  }

 private:
  [[nodiscard]] static std::pmr::vector<cut_list> cuts_of(const prefill_problem& problem,
                                                          std::span<const std::int64_t> sizes,
                                                          std::pmr::memory_resource* memory) {
    std::pmr::vector<cut_list> plan(memory);
    std::size_t i = 0;
    for (const prefill_request& x : problem.requests) {
      plan.emplace_back();
      for (std::int64_t done = 0; done < x.tokens; done += sizes[i++]) plan.back().push_back(sizes[i]);
    }
    return plan;
  }
  bool try_now() {
    times_of_stages(layers_, now_, times_);
    const int128 value = evaluator_.value(plan_, 0, prefill_order::deepest_first);
    if (value >= value_) return false;
    value_ = value;
    best_ = now_;
    return true;
  }
  /// Moves a layer, or two, to another stage. True as soon as one such move helps.
  bool move(int layers) {
    now_ = best_;
    return move_from_here(layers);
  }
  bool move_from_here(int left) {
    if (left == 0) return try_now();
    for (std::size_t from = 0; from < now_.size(); ++from) {
      for (std::size_t to = 0; to < now_.size(); ++to) {
        if (from == to || now_[from] == 1) continue;
        --now_[from];
        ++now_[to];
        if (move_from_here(left - 1)) return true;
        ++now_[from];
        --now_[to];
      }
    }
    return false;
  }

  const prefill_layers& layers_;
  std::pmr::vector<prefill_times> times_;
  prefill_costs costs_{};
  std::pmr::vector<cut_list> plan_;
  prefill_evaluator<prefill_costs> evaluator_;  // of costs_
  std::pmr::vector<std::int64_t> best_, now_;
  int128 value_ = prefill_evaluator<prefill_costs>::never;
};

}  // namespace detail

/// A split of layers with which pieces of given sizes end soon: from an even one with the longer stages last, one or
/// two layers at a time move to other stages as long as that helps. Where later pieces take longer, long stages belong
/// at the end: what comes after the longest stage is paid at the time of the last piece, what comes before it at that
/// of the first.
/// @param sizes  of pieces, as for run_prefill; `solve_prefill` for the found split may then choose others
/// @return never worse than the even split; not proved to be best
/// Errors: those of run_prefill; errc::out_of_range for fewer layers than stages.
/// Complexity: O(moves · stages^4 · pieces · stages); moves are few.
/// Source: sgl-project/sglang, pull request 13977 (docs/prefill.md).
///
///     split_prefill_layers(problem, {.layers = 61, .layer = times}, sizes).value().layers;   // 7 7 7 8 8 8 8 8
[[nodiscard]] inline result<prefill_split> split_prefill_layers(
    const prefill_problem& problem, const prefill_layers& a, std::span<const std::int64_t> sizes,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (const auto ok = check(problem); !ok) return ok.error();
  const auto stages = static_cast<std::int64_t>(problem.stages());
  if (a.layers < stages || a.layers > max_prefill_layers)
    return error{errc::out_of_range, a.layers, stages, max_prefill_layers}.with("the number of layers");
  std::pmr::vector<prefill_times> times(memory);
  std::pmr::vector<std::int64_t> counts(problem.stages(), a.layers - stages + 1, memory);
  times_of_stages(a, counts, times);  // no stage can have more: if these times are fine, all are
  const auto run_with = [&] {
    const prefill_costs costs{std::span<const prefill_times>(times), a.hop, a.hop_per_token, a.head};
    return run_prefill(problem, costs, sizes, prefill_order::deepest_first, memory);
  };
  if (const auto longest = run_with(); !longest) return longest.error();
  prefill_split best{detail::layer_search(problem, a, sizes, memory)()};
  times_of_stages(a, best.layers, times);
  const auto run = run_with();
  if (!run) return run.error();
  best.last_end = run->last_end();
  return best;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
