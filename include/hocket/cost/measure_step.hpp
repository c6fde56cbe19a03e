// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/step_parts.hpp>
#include <hocket/timeline/analysis.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

/// What a measured span counts as.
enum class step_part : std::uint8_t {
  data_loading,
  forward_backward,
  optimizer,
  post_processing,
  communication,
  bubble
};

/// The usual reading of a span: by its kind; `wait` is waiting for another stage; work of an unknown kind (`other`) is
/// data loading if it starts before the first span that computes, else post-processing.
struct part_by_activity {
  ticks first_compute = 0;
  [[nodiscard]] constexpr step_part operator()(const timeline::span& s) const noexcept {
    switch (s.kind) {
      case activity::communication: return step_part::communication;
      case activity::optimizer: return step_part::optimizer;
      case activity::wait: return step_part::bubble;
      case activity::other: return s.start < first_compute ? step_part::data_loading : step_part::post_processing;
      default: return step_part::forward_backward;
    }
  }
};

/// The parts of a measured step, under the same names as the predicted ones, from the lanes (streams) of one device.
/// Every moment from the first start to the last finish of the timeline counts once: as compute if anything computes,
/// else as optimizer, exposed communication, data loading, post-processing, waiting for a stage, in that order. It is
/// scheduling if no span covers it: the device has nothing to do because the host has not launched it.
/// @param part_of  step_part(const timeline::span&), for spans whose kind does not say it
/// Complexity: O(s log s).
///
///     const std::uint32_t device[] = {compute, network};
///     const auto parts = hocket::cost::measure_step(t, device);
template <class PartOf>
[[nodiscard]] step_parts measure_step(const timeline& t, std::span<const std::uint32_t> lanes, PartOf&& part_of) {
  static_assert(std::is_invocable_r_v<step_part, PartOf&, const timeline::span&>,
                "hocket::cost: part_of of measure_step needs `step_part operator()(const timeline::span&) const`");
  struct edge {
    ticks at;
    std::uint8_t part;
    std::int8_t by;
  };
  std::vector<edge> edges;
  for (const auto& s : t.spans()) {
    bool mine = false;
    for (const std::uint32_t lane : lanes) mine |= lane == s.lane;
    if (!mine || s.finish == s.start) continue;
    const auto part = static_cast<std::uint8_t>(part_of(s));
    edges.push_back({s.start, part, 1});
    edges.push_back({s.finish, part, -1});
  }
  std::sort(edges.begin(), edges.end(), [](const edge& a, const edge& b) { return a.at < b.at; });
  step_parts out;
  const double tick = 1.0 / static_cast<double>(t.ticks_per_second);
  std::array<std::int64_t, 6> open{};  // spans of each part
  ticks now = t.begin();
  const auto spend = [&](ticks until) {
    const seconds took(static_cast<double>(until - now) * tick);
    const auto on = [&](step_part p) { return open[static_cast<std::size_t>(p)] > 0; };
    const bool computes = on(step_part::forward_backward) || on(step_part::optimizer);
    if (on(step_part::communication)) (computes ? out.communication_hidden : out.communication_exposed) += took;
    if (on(step_part::forward_backward)) out.forward_backward += took;
    else if (on(step_part::optimizer)) out.optimizer += took;
    else if (on(step_part::communication)) {
    } else if (on(step_part::data_loading)) out.data_loading += took;
    else if (on(step_part::post_processing)) out.post_processing += took;
    else if (on(step_part::bubble)) out.bubble += took;
    else out.scheduling += took;
    now = until;
  };
  for (const edge& e : edges) {
    spend(e.at);
    open[e.part] += e.by;
  }
  spend(t.end());
  return out;
}
/// The same, each span read by its kind.
[[nodiscard]] inline step_parts measure_step(const timeline& t, std::span<const std::uint32_t> lanes) {
  part_by_activity read{t.end()};
  for (const auto& s : t.spans()) {
    bool mine = false;
    for (const std::uint32_t lane : lanes) mine |= lane == s.lane;
    if (mine && computes(s.kind) && s.start < read.first_compute) read.first_compute = s.start;
  }
  return measure_step(t, lanes, read);
}

}  // namespace hocket::inline HOCKET_ABI::cost
