// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/level_front.hpp>
#include <hocket/planner/split/detail/stage_clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Layers that a bound takes for alike: each has at least this time and these weights, at most that forward, and may
/// take any of the levels.
struct layer_class {
  stage_run time;
  ticks most_forward = 0;
  std::int64_t weights = 0, count = 0;
  level_front levels;

  /// Takes the layers of another class in.
  void take(const layer_class& other) {
    time.forward = (std::min)(time.forward, other.time.forward);
    time.whole = (std::min)(time.whole, other.time.whole);
    most_forward = (std::max)(most_forward, other.most_forward);
    weights = (std::min)(weights, other.weights);
    count += other.count;
    levels.insert(levels.end(), other.levels.begin(), other.levels.end());
    keep_front(levels);
  }
};

/// The kinds of layers as classes, by time. While more than `max_states` counts of layers by class are possible, the
/// two classes whose times are nearest become one.
[[nodiscard]] inline std::vector<layer_class> classes_of(const segment_fronts& fronts, const stage_clock& clock,
                                                         std::int64_t max_states) {
  std::vector<layer_class> classes(fronts.kinds());
  for (std::int64_t i = 0; i < fronts.layers(); ++i) {
    layer_class& x = classes[fronts.kind_of(i)];
    x.time = clock.layer(i);
    x.most_forward = x.time.forward;
    ++x.count;
  }
  for (std::size_t k = 0; k < classes.size(); ++k) {
    classes[k].weights = fronts.kind(k).weights.count();
    classes[k].levels = fronts.levels_of_kind(k);
  }
  std::sort(classes.begin(), classes.end(),
            [](const layer_class& a, const layer_class& b) { return a.time.whole < b.time.whole; });
  const auto too_many = [&] {
    std::int64_t states = 1;
    for (const layer_class& x : classes) states = (std::min)(states * (x.count + 1), max_states + 1);
    return states > max_states;
  };
  while (classes.size() > 1 && too_many()) {
    std::size_t at = 0;
    const auto apart = [&](std::size_t i) { return classes[i + 1].time.whole - classes[i].time.whole; };
    for (std::size_t i = 1; i + 1 < classes.size(); ++i)
      if (apart(i) < apart(at)) at = i;
    classes[at].take(classes[at + 1]);
    classes.erase(classes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return classes;
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
