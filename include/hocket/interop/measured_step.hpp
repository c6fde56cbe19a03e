// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/measured_terms.hpp>
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>
#include <hocket/interop/training_log.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI {

/// What a file says of a step, in the words of the cost model.
struct measured_step {
  std::vector<cost::step_value> values;  ///< of one step: the mean of a profile's steps, the median of a log's
  std::int64_t step_count = 0;           ///< how many steps they come from; 0: none, memory alone
  std::int64_t global_batch = 0;         ///< sequences of a step; 0: not told
  /// The memory record of MindSpore's CPU: its pool has neither weights nor optimizer states.
  bool without_states = false;
};

namespace detail {

inline double seconds_of(ascend::nanoseconds t) { return static_cast<double>(t.count()) * 1e-9; }

// Rows of a cluster's table are ranks of a step, or whole stages, which are passed over.
inline void add_step_times(const ascend::profile& p, measured_step& out) {
  using q = cost::step_quantity;
  double computing = 0, exposed = 0, hidden = 0, free = 0, bubble = 0, rows = 0;
  bool has_bubble = true;
  std::vector<std::string_view> names;
  for (const ascend::step_times& s : p.steps) {
    if (s.kind == "stage") continue;
    ++rows;
    computing += seconds_of(s.computing);
    exposed += seconds_of(s.exposed);
    hidden += seconds_of(s.overlapped);
    free += seconds_of(s.free);
    has_bubble = has_bubble && s.bubble.has_value();
    if (s.bubble) bubble += seconds_of(*s.bubble);
    if (std::find(names.begin(), names.end(), s.step) == names.end()) names.push_back(s.step);
  }
  if (rows == 0) return;
  out.step_count = static_cast<std::int64_t>(names.size());
  out.values.push_back({q::step, (computing + exposed + free) / rows});
  out.values.push_back({q::computing, computing / rows});
  // Waiting for a stage is a part of the profiler's exposed communication.
  out.values.push_back({q::communication_exposed, (exposed - (has_bubble ? bubble : 0)) / rows});
  out.values.push_back({q::communication_hidden, hidden / rows});
  if (has_bubble) out.values.push_back({q::bubble, bubble / rows});
  out.values.push_back({q::free, free / rows});
}

inline void add_kernels(const ascend::profile& p, measured_step& out) {
  using q = cost::step_quantity;
  std::vector<ascend::kernel> kernels = p.kernels;
  (void)ascend::number_repeated_steps(kernels);
  const auto steps = ascend::break_down_steps(kernels);
  double span = 0, optimizer = 0, computing = 0, exposed = 0, bubble = 0, hidden = 0, copying = 0, idle = 0;
  for (const ascend::step_breakdown& s : steps) {
    span += seconds_of(s.span);
    computing += seconds_of(s.computing);
    optimizer += seconds_of(s.of(ascend::kernel_phase::optimizer));
    exposed += seconds_of(s.exposed - s.exposed_receives);
    bubble += seconds_of(s.exposed_receives);
    hidden += seconds_of(s.hidden());
    copying += seconds_of(s.copying);
    idle += seconds_of(s.idle);
  }
  const auto n = static_cast<double>(steps.size());
  out.step_count = static_cast<std::int64_t>(steps.size());
  out.values.push_back({q::step, span / n});
  out.values.push_back({q::forward_backward, (computing - optimizer) / n});
  out.values.push_back({q::optimizer, optimizer / n});
  out.values.push_back({q::communication_exposed, exposed / n});
  out.values.push_back({q::communication_hidden, hidden / n});
  if (bubble > 0) out.values.push_back({q::bubble, bubble / n});
  out.values.push_back({q::data_loading, copying / n});
  out.values.push_back({q::scheduling, idle / n});
}

}  // namespace detail

/// What a profile says of a step: step_trace_time.csv and tables of kernels its times, a memory record its peak.
/// Tables of totals and of collectives say nothing of a step as a whole: no values. Of a table of ranks (cluster_...)
/// it is the mean of the ranks. Kernels without step numbers are numbered by ascend::number_repeated_steps, or are of
/// one step. Complexity: O(k log k) for k kernels.
///
///     const auto p = ascend::parse_profile(text);
///     measure_step(*p).values;
[[nodiscard]] inline measured_step measure_step(const ascend::profile& p) {
  measured_step out;
  if (!p.steps.empty()) detail::add_step_times(p, out);
  else if (!p.kernels.empty()) detail::add_kernels(p, out);
  double peak = 0;
  bool names_device = false;
  for (const ascend::memory_sample& m : p.memory) {
    peak = (std::max)(peak, static_cast<double>(m.allocated.count()));
    names_device = names_device || !m.component.empty() || !m.device.empty();
  }
  if (p.memory.empty()) return out;
  out.without_states = !names_device;
  out.values.push_back({cost::step_quantity::memory_peak, peak});
  return out;
}

/// The same of a log: seconds of a step, FLOP/s of a device and the peak of memory, as far as it tells them.
[[nodiscard]] inline measured_step measure_step(const training_log& log) {
  measured_step out;
  using q = cost::step_quantity;
  out.step_count = static_cast<std::int64_t>(log.steps.size());
  if (!log.steps.empty()) out.values.push_back({q::step, log.median_seconds()});
  std::vector<double> rates;
  for (const logged_step& s : log.steps) {
    if (s.tera_flops) rates.push_back(*s.tera_flops * 1e12);
    if (s.global_batch) out.global_batch = *s.global_batch;
  }
  std::sort(rates.begin(), rates.end());
  if (!rates.empty()) out.values.push_back({q::device_flops, rates[rates.size() / 2]});
  if (log.peak_bytes) out.values.push_back({q::memory_peak, *log.peak_bytes});
  return out;
}

}  // namespace hocket::inline HOCKET_ABI
