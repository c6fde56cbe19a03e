// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/interop/ascend/kernel_phase.hpp>
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>
#include <hocket/timeline/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// The colour of a phase in a timeline.
[[nodiscard]] constexpr activity activity_of(kernel_phase p) noexcept {
  constexpr activity kinds[kernel_phase_count] = {activity::other,     activity::forward,      activity::recompute,
                                                  activity::backward,  activity::forward,      activity::compute,
                                                  activity::optimizer, activity::communication};
  return kinds[static_cast<std::size_t>(p)];
}

namespace detail {

// One lane for each stream, in the order of their numbers; a picture of hundreds would show nothing.
class stream_lanes {
 public:
  stream_lanes(std::span<const kernel> kernels, timeline& into) {
    for (const kernel& k : kernels)
      if (!k.communicates) streams_.push_back(k.stream);
    std::sort(streams_.begin(), streams_.end());
    streams_.erase(std::unique(streams_.begin(), streams_.end()), streams_.end());
    one_lane_ = streams_.size() > max_lanes;
    if (one_lane_) into.add_lane("all streams");
    for (const std::int64_t s : streams_)
      if (!one_lane_) into.add_lane(s < 0 ? std::string("computing") : "stream " + std::to_string(s));
  }
  [[nodiscard]] std::uint32_t lane_of(const kernel& k) const noexcept {
    if (one_lane_) return 0;
    return static_cast<std::uint32_t>(std::lower_bound(streams_.begin(), streams_.end(), k.stream) - streams_.begin());
  }

 private:
  static constexpr std::size_t max_lanes = 12;
  std::vector<std::int64_t> streams_;
  bool one_lane_ = false;
};

}  // namespace detail

/// What ran, as a timeline in nanoseconds from the first start: a lane for each stream, one for communication, in which
/// the exposed parts are spans of their own, and one for the times in which nothing runs. The id of a span is its
/// kernel, its chunk the layer counted from 1 (0: outside layers). Steps are marked. Precondition: kernels in the order
/// of their starts.
/// @param max_parts  spans more than kernels: where c collectives lie over the same n kernels, c n parts are exposed or
/// hidden
/// Errors: errc::limit_exceeded for kernels that no 32-bit id can count, and beyond `max_parts`. O(k log k + spans).
///
///     const auto t = hocket::ascend::to_timeline(profile.kernels);
///     std::string picture = hocket::to_svg(*t, {.seconds = true});
[[nodiscard]] inline result<timeline> to_timeline(std::span<const kernel> kernels,
                                                  std::size_t max_parts = std::size_t{1} << 24) {
  constexpr std::int64_t most = (std::numeric_limits<std::int32_t>::max)();
  if (kernels.size() > static_cast<std::size_t>(most))
    return error{errc::limit_exceeded, static_cast<std::int64_t>(kernels.size()), most}.with("kernels");
  timeline out;
  out.ticks_per_second = 1'000'000'000;
  if (kernels.empty()) return out;
  const std::size_t max_spans = kernels.size() + max_parts;
  const nanoseconds zero = kernels.front().start;
  const detail::stream_lanes lanes(kernels, out);
  const std::uint32_t network = out.add_lane("communication"), gaps = out.add_lane("nothing runs");
  detail::cover computing;
  for (const kernel& k : kernels)
    if (computes(phase_of(k))) computing.add(k.start, k.finish(), [](nanoseconds, nanoseconds) {});
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const kernel& k = kernels[i];
    const std::int64_t layer = (std::min)(layer_of(k.name), std::int64_t{65'000});
    timeline::span s;
    s.kind = activity_of(phase_of(k));
    s.chunk = static_cast<std::uint16_t>(layer + 1);
    s.id = static_cast<std::uint32_t>(i);
    const auto add = [&](nanoseconds from, nanoseconds to, bool exposed) {
      s.start = (from - zero).count();
      s.finish = (to - zero).count();
      s.exposed = exposed;
      if (to > from) out.add(s);
    };
    s.lane = k.communicates ? network : lanes.lane_of(k);
    nanoseconds hidden_from = k.start;
    if (k.communicates)
      computing.for_each_hole(k.start, k.finish(), [&](nanoseconds from, nanoseconds to) {
        add(hidden_from, from, false);
        add(from, to, true);
        hidden_from = to;
      });
    add(hidden_from, k.finish(), false);
    if (out.spans().size() > max_spans)
      return error{errc::limit_exceeded, static_cast<std::int64_t>(out.spans().size()),
                   static_cast<std::int64_t>(max_spans)}
          .with("spans of collectives");
  }
  for (const idle_gap& g : find_gaps(kernels, nanoseconds(1)))
    out.add({.start = (g.start - zero).count(),
             .finish = (g.finish - zero).count(),
             .lane = gaps,
             .kind = activity::wait,
             .id = static_cast<std::uint32_t>(kernels.size())});
  std::int64_t step = -1;
  for (const kernel& k : kernels) {
    if (k.step > step) out.add_mark((k.start - zero).count(), "step " + std::to_string(k.step));
    step = (std::max)(step, k.step);
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ascend
