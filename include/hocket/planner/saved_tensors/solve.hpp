// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/bytes.hpp>
#include <hocket/core/detail/checked_answer.hpp>
#include <hocket/core/int128.hpp>
#include <hocket/core/result.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// One kind of tensor that layers of a stage save for their backward pass.
struct saved_class {
  std::int64_t layers = 1;            ///< of the stage that have it
  bytes size{};                       ///< in one layer, of one micro-batch
  std::chrono::nanoseconds again{0};  ///< to make it once more in one layer
  std::chrono::nanoseconds copy{0};   ///< of the copy engine, to the host and back, for one layer
  bool recomputable = true, movable = true;
};

/// What a stage keeps, computes again, and moves to the host: the question, for one pipeline stage.
struct saved_tensor_problem {
  std::vector<saved_class> classes;
  std::int64_t in_flight = 1;           ///< micro-batches that the stage holds at its peak
  bytes capacity{};                     ///< for what is saved
  std::chrono::nanoseconds compute{0};  ///< forward and backward of one micro-batch: what copies hide behind
  std::int64_t overlap = 1000;          ///< the part of compute that hides copies, in thousandths
  std::size_t budget = 20'000;          ///< partial plans kept from class to class, >= 2
};

/// Of one class: layers that compute it again, and layers that move it; the others keep it.
struct saved_class_choice {
  std::int64_t again = 0, moved = 0;
  friend constexpr bool operator==(const saved_class_choice&, const saved_class_choice&) = default;
};
struct saved_tensor_plan {
  std::vector<saved_class_choice> choices;
  bytes held{};                             ///< at the peak
  std::chrono::nanoseconds again{0};        ///< computed once more, per micro-batch
  std::chrono::nanoseconds copies{0};       ///< of the copy engine, per micro-batch
  std::chrono::nanoseconds extra{0};        ///< by which a micro-batch takes longer: `again` and what copies show
  std::chrono::nanoseconds lower_bound{0};  ///< no choice has less
  bool proved = false;                      ///< the two are equal
};

namespace detail {

inline constexpr std::int64_t max_saved_value = std::int64_t{1} << 45;

/// Sums of a choice for the first classes, and how it came about.
struct saved_label {
  std::int64_t held = 0, again = 0, copies = 0;
  std::size_t from = 0;  ///< label of the class before
  saved_class_choice choice{};
};

class saved_tensor_search {
 public:
  explicit saved_tensor_search(const saved_tensor_problem& of) : q_(of) {}

  /// again + what copies show beyond the part of compute, also that which is done again, that hides them.
  [[nodiscard]] std::int64_t extra(std::int64_t again, std::int64_t copies) const {
    const int128 hidden = int128{q_.overlap} * (int128{q_.compute.count()} + again);
    const int128 shown = int128{copies} * 1000 - hidden;
    return again + (shown > 0 ? static_cast<std::int64_t>((shown + 999) / 1000) : 0);
  }
  /// What the stage holds of a class. A layer that computes again makes the tensor of one micro-batch. What moves is on
  /// the device twice: of the layer that works, and of the next.
  [[nodiscard]] std::int64_t held(const saved_class& x, const saved_class_choice& c) const {
    const std::int64_t kept = q_.in_flight * (x.layers - c.again - c.moved),
                       staged = (std::min)(q_.in_flight * c.moved, std::int64_t{2});
    return x.size.count() * (kept + staged + (c.again > 0 ? 1 : 0));
  }
  /// The best sum of prices: for time that is computed again or waits, and for bytes (Lagrangian relaxation). Staging
  /// is left out, so it is below every choice.
  double best_bound() {
    double best = 0;
    constexpr int parts = 32;
    for (int part = 0; part <= parts; ++part) {
      const double share = static_cast<double>(part) / parts;
      double low = 0, high = 1e3;  // nanoseconds a byte: dearer than any copy or recomputation
      for (int step = 0; step < 120; ++step) {
        const double third = (high - low) / 3;
        if (bound(share, low + third) < bound(share, high - third)) low += third;
        else high -= third;
      }
      const double here = bound(share, (low + high) / 2);
      if (part > 0 && here <= best) continue;
      best = here;
      share_ = share;
      price_ = (low + high) / 2;
    }
    return best;
  }
  /// Label by label, class by class; whether none was left out but those that another is no worse than.
  bool run() {
    std::vector<saved_label> now(1);
    for (const saved_class& x : q_.classes) {
      const std::size_t ways = x.recomputable && x.movable
                                 ? static_cast<std::size_t>((x.layers + 1) * (x.layers + 2) / 2)
                             : x.recomputable || x.movable ? static_cast<std::size_t>(x.layers + 1)
                                                           : 1;
      keep((std::min)(q_.budget, max_labels / ways), now);
      if (!stages_.empty()) stages_.back() = now;
      std::vector<saved_label> next;
      next.reserve(now.size() * ways);
      for (std::size_t from = 0; from < now.size(); ++from)
        for (std::int64_t again = 0; again <= (x.recomputable ? x.layers : 0); ++again)
          for (std::int64_t moved = 0; moved <= (x.movable ? x.layers - again : 0); ++moved) {
            const saved_class_choice choice{again, moved};
            next.push_back({now[from].held + held(x, choice), now[from].again + again * x.again.count(),
                            now[from].copies + moved * x.copy.count(), from, choice});
          }
      now = not_beaten(std::move(next));
      stages_.push_back(now);
    }
    return complete_;
  }
  /// The best that fits; none if nothing does.
  bool finish(saved_tensor_plan& out, std::int64_t& least_held) const {
    const saved_label* best = nullptr;
    least_held = (std::numeric_limits<std::int64_t>::max)();
    for (const saved_label& x : stages_.back()) {
      least_held = (std::min)(least_held, x.held);
      if (x.held > q_.capacity.count()) continue;
      if (best == nullptr || precedes(x, *best)) best = &x;
    }
    if (best == nullptr) return false;
    out.held = bytes(best->held);
    out.again = std::chrono::nanoseconds(best->again);
    out.copies = std::chrono::nanoseconds(best->copies);
    out.extra = std::chrono::nanoseconds(extra(best->again, best->copies));
    out.choices.resize(q_.classes.size());
    for (std::size_t i = q_.classes.size(); i-- > 0;) {
      out.choices[i] = best->choice;
      if (i > 0) best = &stages_[i - 1][best->from];
    }
    return true;
  }

 private:
  static constexpr std::size_t max_labels = std::size_t{1} << 21;  // some 100 MB at a time

  /// At most so many: of neighbours in the order of bytes the one that prices like best, so that all sizes stay.
  void keep(std::size_t most, std::vector<saved_label>& labels) {
    if (labels.size() <= most) return;
    complete_ = false;
    std::vector<saved_label> some;
    for (std::size_t group = 0; group < most; ++group) {
      const auto at = [&](std::size_t n) {
        return labels.begin() + static_cast<std::ptrdiff_t>(n * labels.size() / most);
      };
      some.push_back(*std::min_element(
          at(group), at(group + 1), [&](const saved_label& a, const saved_label& b) { return value(a) < value(b); }));
    }
    some.back() = labels.back();    // all is kept
    some.front() = labels.front();  // least is held: whether anything fits stays exact
    labels = std::move(some);
  }
  /// Less extra time; of two alike fewer copies, then less that is computed again.
  [[nodiscard]] bool precedes(const saved_label& a, const saved_label& b) const {
    const std::int64_t x = extra(a.again, a.copies), y = extra(b.again, b.copies);
    if (x != y) return x < y;
    return a.copies != b.copies ? a.copies < b.copies : a.again < b.again;
  }
  [[nodiscard]] double weighted(double again, double copies, double share) const {
    const double over = 1 - static_cast<double>(q_.overlap) / 1000;
    return share * again + (1 - share) * (over * again + copies);
  }
  [[nodiscard]] double value(const saved_label& x) const {
    return weighted(static_cast<double>(x.again), static_cast<double>(x.copies), share_) +
           price_ * static_cast<double>(x.held);
  }
  /// extra is the larger of `again` and `(1 - overlap) again + copies - overlap x compute`: any mixture is below it.
  [[nodiscard]] double bound(double share, double price) const {
    double sum = -(1 - share) * static_cast<double>(q_.overlap) / 1000 * static_cast<double>(q_.compute.count()) -
                 price * static_cast<double>(q_.capacity.count());
    for (const saved_class& x : q_.classes) {
      // The price of a class is concave in its two counts: least where all layers do the same.
      const auto layers = static_cast<double>(x.layers);
      const auto priced = [&](const saved_class_choice& c) { return price * static_cast<double>(held(x, c)); };
      double least = priced({0, 0});
      if (x.recomputable)
        least = (std::min)(least,
                           layers * weighted(static_cast<double>(x.again.count()), 0, share) + priced({x.layers, 0}));
      if (x.movable)
        least =
            (std::min)(least, layers * weighted(0, static_cast<double>(x.copy.count()), share) + priced({0, x.layers}));
      sum += least;
    }
    return sum;
  }
  /// Those that no other is at most as large as in bytes, time again and copies; in the order of bytes.
  [[nodiscard]] static std::vector<saved_label> not_beaten(std::vector<saved_label> all) {
    std::sort(all.begin(), all.end(), [](const saved_label& a, const saved_label& b) {
      if (a.held != b.held) return a.held < b.held;
      return a.again != b.again ? a.again < b.again : a.copies < b.copies;
    });
    std::map<std::int64_t, std::int64_t> least;  // copies by time again: the more of one, the less of the other
    std::vector<saved_label> out;
    for (const saved_label& x : all) {
      const auto above = least.upper_bound(x.again);
      if (above != least.begin() && std::prev(above)->second <= x.copies) continue;
      auto at = above;
      while (at != least.end() && at->second >= x.copies) at = least.erase(at);
      least[x.again] = x.copies;
      out.push_back(x);
    }
    return out;
  }

  const saved_tensor_problem& q_;
  std::vector<std::vector<saved_label>> stages_;
  double share_ = 0, price_ = 0;
  bool complete_ = true;
};

}  // namespace detail

/// Errors: errc::out_of_range, naming what.
[[nodiscard]] inline result<void> check(const saved_tensor_problem& q) {
  constexpr std::int64_t most = detail::max_saved_value, max_layers = 128, max_classes = 64;
  const auto in = [](std::int64_t x, std::int64_t least, std::int64_t limit, std::string_view name) -> result<void> {
    if (x >= least && x <= limit) return {};
    return error{errc::out_of_range, x, least, limit}.with(name);
  };
  if (const auto ok = in(static_cast<std::int64_t>(q.classes.size()), 1, max_classes, "classes"); !ok) return ok;
  if (const auto ok = in(q.in_flight, 1, 1 << 16, "micro-batches in flight"); !ok) return ok;
  if (const auto ok = in(q.capacity.count(), 0, most << 10, "capacity"); !ok) return ok;
  if (const auto ok = in(q.compute.count(), 0, most, "compute"); !ok) return ok;
  if (const auto ok = in(q.overlap, 0, 1000, "thousandths of overlap"); !ok) return ok;
  if (const auto ok = in(static_cast<std::int64_t>(q.budget), 2, 1 << 24, "budget"); !ok) return ok;
  for (const saved_class& x : q.classes) {
    if (const auto ok = in(x.layers, 1, max_layers, "layers of a class"); !ok) return ok;
    if (const auto ok = in(x.size.count(), 0, most / q.in_flight, "bytes of a class"); !ok) return ok;
    if (const auto ok = in(x.again.count(), 0, most, "time again of a class"); !ok) return ok;
    if (const auto ok = in(x.copy.count(), 0, most, "copy of a class"); !ok) return ok;
  }
  return {};
}

namespace detail {

/// Whether a plan answers the problem and is what it says of itself: the check that solve() ends with. It adds up the
/// choices anew. Errors: errc::wrong_answer. O(classes).
[[nodiscard]] inline result<void> check_answer(const saved_tensor_problem& q, const saved_tensor_plan& plan) {
  using hocket::detail::expect_equal;
  using hocket::detail::expect_within;
  const auto classes = static_cast<std::int64_t>(q.classes.size());
  const auto choices = static_cast<std::int64_t>(plan.choices.size());
  if (const auto ok = expect_equal(choices, classes, "the number of choices"); !ok) return ok;
  std::int64_t held = 0, again = 0, copies = 0;
  for (std::size_t i = 0; i < q.classes.size(); ++i) {
    const saved_class& x = q.classes[i];
    const saved_class_choice& c = plan.choices[i];
    const std::int64_t most_again = x.recomputable ? x.layers : 0, most_moved = x.movable ? x.layers - c.again : 0;
    if (const auto ok = expect_within(c.again, 0, most_again, "the recomputed layers of a class"); !ok) return ok;
    if (const auto ok = expect_within(c.moved, 0, most_moved, "the moved layers of a class"); !ok) return ok;
    std::int64_t tensors = q.in_flight * (x.layers - c.again - c.moved);  // kept on the device
    if (c.again > 0) tensors += 1;                                        // made again
    tensors += (std::min)(std::int64_t{2}, q.in_flight * c.moved);        // on their way
    held += x.size.count() * tensors;
    again += c.again * x.again.count();
    copies += c.moved * x.copy.count();
  }
  if (const auto ok = expect_within(held, 0, q.capacity.count(), "the bytes held"); !ok) return ok;
  if (const auto ok = expect_equal(plan.held.count(), held, "the bytes held"); !ok) return ok;
  if (const auto ok = expect_equal(plan.again.count(), again, "the time again"); !ok) return ok;
  if (const auto ok = expect_equal(plan.copies.count(), copies, "the time of copies"); !ok) return ok;
  const int128 thousand = 1000;
  int128 shown = thousand * copies - int128{q.overlap} * (int128{q.compute.count()} + again);  // thousandths
  shown = shown > 0 ? (shown + thousand - 1) / thousand : int128{0};
  const std::int64_t extra = again + static_cast<std::int64_t>(shown);
  if (const auto ok = expect_equal(plan.extra.count(), extra, "the extra time"); !ok) return ok;
  return expect_within(plan.lower_bound.count(), 0, extra, "the lower bound");
}

}  // namespace detail

/// Keep, compute again, or move to the host: class by class, in so many layers of the stage, with the least extra time
/// of a micro-batch that fits. Copies hide behind compute as far as `overlap` says; what does not fit there extends it.
/// Exact while no class has more than `budget` partial plans that none is better than; else the plan that prices like
/// best, with the bound of those prices.
/// Errors: those of check; errc::does_not_fit, with the bytes that are lacking; errc::wrong_answer for a plan that
/// fails its last check, which would be a defect. Complexity: O(classes x budget x layers^2 x log).
///
///     solve(saved_tensor_problem{.classes = {{.layers = 8, .size = 48_MiB, .again = 900us, .copy = 1500us}},
///                                .in_flight = 4, .capacity = 800_MiB, .compute = 30ms})->choices[0].moved
[[nodiscard]] inline result<saved_tensor_plan> solve(const saved_tensor_problem& q) {
  if (const auto ok = check(q); !ok) return ok.error();
  detail::saved_tensor_search search(q);
  const double bound = search.best_bound();
  const bool complete = search.run();
  saved_tensor_plan out;
  std::int64_t least = 0;
  if (!search.finish(out, least)) return error{errc::does_not_fit, 0, least - q.capacity.count()}.with("saved tensors");
  for (const bool again : {false, true}) {  // what was left out may not be missed where one way alone does better
    if (complete) break;
    saved_tensor_problem one = q;
    for (saved_class& x : one.classes) (again ? x.movable : x.recomputable) = false;
    detail::saved_tensor_search simpler(one);
    simpler.best_bound();
    simpler.run();
    saved_tensor_plan other;
    if (simpler.finish(other, least) && other.extra < out.extra) out = std::move(other);
  }
  // Doubles add up the bound: a billionth of it may be rounding.
  const double safe = std::floor(bound - 1e-9 * std::abs(bound));
  out.lower_bound = complete ? out.extra : std::chrono::nanoseconds(safe > 0 ? static_cast<std::int64_t>(safe) : 0);
  out.proved = out.extra == out.lower_bound;
  if (const auto ok = detail::check_answer(q, out); !ok) return ok.error();
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner
