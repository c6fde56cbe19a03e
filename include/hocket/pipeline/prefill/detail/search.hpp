// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/detail/candidates.hpp>
#include <hocket/pipeline/prefill/detail/label_search.hpp>
#include <hocket/pipeline/prefill/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Puts a plan together request by request, and betters it by small moves.
template <prefill_cost_policy C>
class prefill_search {
 public:
  prefill_search(const prefill_problem& problem, const C& costs, const prefill_options& options,
                 std::pmr::memory_resource* memory)
      : options_(options),
        evaluator_(problem, costs, memory),
        plan_(problem.requests.size(), cut_list(memory), memory),
        tried_(memory),
        moved_(memory) {}

  /// When the last request of a plan ends, or the sum of all ends.
  [[nodiscard]] int128 value(std::span<const cut_list> plan, prefill_order order) {
    return evaluator_.value(plan, 0, order);
  }
  /// Takes a whole plan of that value if it is better than the kept one.
  void offer(std::span<const cut_list> plan, prefill_order order, int128 value) {
    if (value >= best_) return;
    best_ = value;
    order_ = order;
    plan_.assign(plan.begin(), plan.end());
    evaluator_.keep(plan_, 0);
  }
  /// Takes one request cut another way if the plan is better with it.
  bool offer(std::size_t request, const cut_list& sizes) {
    plan_[request].swap(tried_ = sizes);
    const int128 value = evaluator_.value(plan_, request, order_);
    if (value < best_) {
      best_ = value;
      evaluator_.keep(plan_, request);
      return true;
    }
    plan_[request].swap(tried_);
    return false;
  }
  [[nodiscard]] bool is_out_of_budget(std::int64_t times = 1) const noexcept {
    return evaluator_.steps() / times > options_.budget;
  }

  /// Moves tokens between pieces, joins and halves them, until nothing helps or the budget is used.
  void improve(std::size_t request, const prefill_cuts<C>& cuts) {
    for (bool better = true; better && !is_out_of_budget();) {
      better = false;
      for (std::size_t i = 0; i < plan_[request].size() && !is_out_of_budget(); ++i) {
        better = shift_from(request, i, cuts) || better;
        better = join(request, i, cuts) || better;
        better = halve(request, i, cuts) || better;
      }
    }
  }

  [[nodiscard]] const std::pmr::vector<cut_list>& plan() const noexcept { return plan_; }
  [[nodiscard]] int128 best() const noexcept { return best_; }
  [[nodiscard]] prefill_order order() const noexcept { return order_; }

 private:
  bool offer_if_allowed(std::size_t request, const cut_list& sizes, const prefill_cuts<C>& cuts) {
    return cuts.is_allowed(sizes) && offer(request, sizes);
  }
  /// Some tokens of piece i go to the next piece, or to the last one; or the other way.
  bool shift_from(std::size_t request, std::size_t i, const prefill_cuts<C>& cuts) {
    const std::int64_t unit = cuts.limits().align;
    bool better = false;
    std::int64_t step = unit;
    while (step * 8 < plan_[request][i]) step *= 2;
    for (; step >= unit; step /= 2) {
      for (const std::size_t j : {i + 1, plan_[request].size() - 1}) {
        for (const std::int64_t by : {step, -step}) {
          cut_list& sizes = moved_ = plan_[request];
          if (j >= sizes.size() || j == i || sizes[i] - by < 1 || sizes[j] + by < 1) continue;
          sizes[i] -= by;
          sizes[j] += by;
          better = offer_if_allowed(request, sizes, cuts) || better;
        }
      }
    }
    return better;
  }
  bool join(std::size_t request, std::size_t i, const prefill_cuts<C>& cuts) {
    cut_list& sizes = moved_ = plan_[request];
    if (i + 1 >= sizes.size()) return false;
    sizes[i] += sizes[i + 1];
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return offer_if_allowed(request, sizes, cuts);
  }
  bool halve(std::size_t request, std::size_t i, const prefill_cuts<C>& cuts) {
    cut_list& sizes = moved_ = plan_[request];
    const std::int64_t unit = cuts.limits().align, half = sizes[i] / 2 / unit * unit;
    if (half == 0) return false;
    sizes[i] -= half;
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(i), half);
    return offer_if_allowed(request, sizes, cuts);
  }

  const prefill_options& options_;
  prefill_evaluator<C> evaluator_;
  std::pmr::vector<cut_list> plan_;
  cut_list tried_, moved_;
  int128 best_ = prefill_evaluator<C>::never;
  prefill_order order_ = prefill_order::deepest_first;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
