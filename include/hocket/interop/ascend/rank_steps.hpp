// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/detail/decimal.hpp>
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// What steps and ranks are compared by. The parts after the first add up to it.
enum class step_part : std::uint8_t {
  span,       ///< from the first start to the last finish
  computing,  ///< something computes
  exposed,    ///< communication that nothing hides, without receives
  receiving,  ///< waiting for another rank to send: a pipeline's bubble
  copying,    ///< data, while nothing else runs
  idle        ///< nothing runs: the device waits for the host
};
inline constexpr std::size_t step_part_count = 6;

[[nodiscard]] constexpr std::string_view to_string(step_part p) noexcept {
  constexpr std::string_view names[step_part_count] = {"step", "computing", "exposed", "receiving", "data", "idle"};
  return names[static_cast<std::size_t>(p)];
}

/// Where one step of one rank went.
struct rank_step {
  std::int64_t step = -1;  ///< -1: not told
  std::array<nanoseconds, step_part_count> parts{};

  [[nodiscard]] constexpr nanoseconds of(step_part p) const noexcept { return parts[static_cast<std::size_t>(p)]; }
  /// What the rank spends without waiting for others: what others may wait for.
  [[nodiscard]] constexpr nanoseconds own() const noexcept {
    return capped_sum(capped_sum(of(step_part::computing), of(step_part::copying)), of(step_part::idle));
  }
};

/// The steps of one rank.
struct rank_steps {
  std::string name;
  std::int64_t rank = -1;   ///< its number; -1: not told
  std::int64_t stage = -1;  ///< of the pipeline; -1: not told. Ranks of one stage do the same work
  std::vector<rank_step> steps;
};

/// O(1).
[[nodiscard]] constexpr rank_step step_of(const step_breakdown& b) noexcept {
  return {b.step, {b.span, b.computing, b.exposed - b.exposed_receives, b.exposed_receives, b.copying, b.idle}};
}

/// A row of the profiler's own table, in which the time that a step prepares counts as idle. O(1).
[[nodiscard]] inline rank_step step_of(const step_times& s) noexcept {
  const nanoseconds receives = s.exposed_without_receive ? s.exposed - *s.exposed_without_receive : nanoseconds{};
  const nanoseconds span = capped_sum(capped_sum(s.computing, s.exposed), s.free);
  return {detail::parse_scaled(s.step, 1).value_or(-1),
          {span, s.computing, s.exposed - receives, receives, {}, s.free}};
}

/// The steps of what one rank's profile holds: of its kernels, else of the profiler's own table.
/// Rows of a cluster's table are none. O(k log k) for k kernels.
///
///     const auto p = hocket::ascend::parse_profile(text);
///     for (const auto& s : hocket::ascend::steps_of(*p)) s.of(step_part::computing);
[[nodiscard]] inline std::vector<rank_step> steps_of(const profile& p) {
  std::vector<rank_step> out;
  if (!p.kernels.empty()) {
    for (const step_breakdown& b : break_down_steps(p.kernels)) out.push_back(step_of(b));
    return out;
  }
  for (const step_times& s : p.steps) {
    if (!s.index.empty()) continue;
    out.push_back(step_of(s));
  }
  return out;
}

/// The ranks of a cluster's table of steps, in the order of their numbers, with the stages it tells; empty if the
/// profile has none. O(rows log rows).
[[nodiscard]] inline std::vector<rank_steps> ranks_of_cluster(const profile& p) {
  std::map<std::int64_t, rank_steps> ranks;
  for (const step_times& s : p.steps) {
    const auto rank = detail::parse_scaled(s.index, 1);
    if (s.kind != "rank" || !rank) continue;
    rank_steps& one = ranks[*rank];
    one.rank = *rank;
    one.name = "rank " + s.index;
    one.steps.push_back(step_of(s));
  }
  std::map<std::string_view, std::int64_t> stages;
  for (const step_times& s : p.steps) {
    if (s.kind != "stage") continue;
    const std::int64_t stage = stages.try_emplace(s.index, static_cast<std::int64_t>(stages.size())).first->second;
    for (std::string_view rest = s.index; !rest.empty();) {
      const std::size_t digits = rest.find_first_of("0123456789");
      if (digits == rest.npos) break;
      rest.remove_prefix(digits);
      const std::size_t end = (std::min)(rest.find_first_not_of("0123456789"), rest.size());
      const auto at = ranks.find(detail::parse_scaled(rest.substr(0, end), 1).value_or(-1));
      if (at != ranks.end()) at->second.stage = stage;
      rest.remove_prefix(end);
    }
  }
  std::vector<rank_steps> out;
  for (auto& [number, one] : ranks) out.push_back(std::move(one));
  return out;
}

/// How far times lie apart. Of an even number of times the median is the lower of the two in the middle.
struct time_spread {
  nanoseconds least{}, lower{}, median{}, upper{}, most{};  ///< lower, upper: of a quarter and of three quarters
  std::size_t count = 0;

  /// Far above the others: more than one and a half times the quartiles' distance above the upper one (Tukey), and more
  /// than a twentieth above the median, since times that hardly differ have no outliers worth a word.
  [[nodiscard]] constexpr bool is_outlier(nanoseconds t) const noexcept {
    const nanoseconds distance = upper - lower;
    return t > upper && t - upper - distance > distance / 2 && t - median > median / 20;
  }
};

/// O(n log n). Source: J. W. Tukey, Exploratory Data Analysis, 1977.
///
///     hocket::ascend::spread_of({3ns, 1ns, 2ns}).median == 2ns;
[[nodiscard]] inline time_spread spread_of(std::vector<nanoseconds> times) {
  time_spread out;
  out.count = times.size();
  if (times.empty()) return out;
  std::sort(times.begin(), times.end());
  const std::size_t last = times.size() - 1, quarter = times.size() / 4;
  out.least = times.front();
  out.lower = times[quarter];
  out.median = times[last / 2];
  out.upper = times[last - quarter];
  out.most = times.back();
  return out;
}

/// How far a part of steps lies apart. O(n log n).
[[nodiscard]] inline time_spread spread_of(std::span<const rank_step> steps, step_part part) {
  std::vector<nanoseconds> times;
  for (const rank_step& s : steps) times.push_back(s.of(part));
  return spread_of(std::move(times));
}

/// The places of steps whose length is far above the others, longest first, of equals the earlier. O(n log n).
[[nodiscard]] inline std::vector<std::size_t> outliers_of(std::span<const rank_step> steps) {
  const time_spread spread = spread_of(steps, step_part::span);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (spread.is_outlier(steps[i].of(step_part::span))) out.push_back(i);
  std::sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    const nanoseconds x = steps[a].of(step_part::span), y = steps[b].of(step_part::span);
    return x != y ? x > y : a < b;
  });
  return out;
}

/// A mean step of a measurement: of all steps but those far above the others, which compile, load or save.
struct mean_step {
  std::size_t steps = 0;     ///< that it is the mean of
  std::size_t left_out = 0;  ///< steps far above the others
  std::array<nanoseconds, step_part_count> parts{};

  [[nodiscard]] constexpr nanoseconds of(step_part p) const noexcept { return parts[static_cast<std::size_t>(p)]; }
};

/// The mean of steps. O(n log n).
///
///     const auto mean = hocket::ascend::mean_of_steps(hocket::ascend::steps_of(profile));
[[nodiscard]] inline mean_step mean_of_steps(std::span<const rank_step> steps) {
  mean_step out;
  std::vector<std::size_t> outliers = outliers_of(steps);
  std::sort(outliers.begin(), outliers.end());
  out.left_out = outliers.size();
  out.steps = steps.size() - outliers.size();
  if (out.steps == 0) return out;
  const auto count = static_cast<std::int64_t>(out.steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (std::binary_search(outliers.begin(), outliers.end(), i)) continue;
    for (std::size_t part = 0; part < step_part_count; ++part)
      out.parts[part] = capped_sum(out.parts[part], steps[i].parts[part]);
  }
  for (nanoseconds& part : out.parts) part /= count;
  // The parts after the first add up to it, whatever the divisions left.
  nanoseconds sum{};
  for (std::size_t part = 1; part < step_part_count; ++part) sum = capped_sum(sum, out.parts[part]);
  out.parts[0] = sum;
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ascend
