// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/timeline/detail/rows.hpp>
#include <hocket/timeline/detail/writing.hpp>
#include <hocket/timeline/evenly_spaced.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI {

struct chrome_trace_options {
  std::string process = "hocket";      ///< name of the group of lanes
  std::string quantity = "in flight";  ///< what the changes of a lane count
  borrowed<std::string> names{};       ///< what ids of spans stand for: the names of their events
  /// Of more spans and changes together, those of some lanes are written (see to_chrome_trace). An event has about 140
  /// bytes. Default: no limit.
  std::size_t most_events = (std::numeric_limits<std::size_t>::max)();
};

namespace detail {

/// What a trace of at most so many events has.
struct trace_thinning {
  std::vector<std::uint32_t> lanes;  ///< that are written
  std::size_t of_each = 0;           ///< spans, and as many changes, of each of them; the first ones
};
using lane_levels = std::pmr::vector<std::pmr::vector<level>>;
/// Whole lanes, as many as fit, evenly spaced; one lane that does not fit is cut off.
[[nodiscard]] inline trace_thinning thinning_of(const span_rows& rows, const lane_levels& levels, std::size_t most) {
  const std::size_t count = levels.size();
  trace_thinning out{evenly_spaced(count, count + 1), (std::numeric_limits<std::size_t>::max)()};
  const auto events = [&] {
    std::size_t sum = 0;
    for (const std::uint32_t l : out.lanes) sum += rows.first[l + 1] - rows.first[l] + levels[l].size();
    return sum;
  };
  std::size_t all = events();
  while (all > most && out.lanes.size() > 1) {
    const auto share = static_cast<double>(most) / static_cast<double>(all);
    const auto fewer = static_cast<std::size_t>(share * static_cast<double>(out.lanes.size()));
    out.lanes = evenly_spaced(count, (std::max)(std::size_t{1}, (std::min)(fewer, out.lanes.size() - 1)));
    all = events();
  }
  if (all > most) out.of_each = most / 2;
  return out;
}
/// What the trace leaves out; empty where it has all.
[[nodiscard]] inline std::string left_out_of(const span_rows& rows, const lane_levels& levels,
                                             const trace_thinning& thin, std::size_t most) {
  std::size_t all = rows.spans.size();
  for (const auto& lane : levels) all += lane.size();
  std::string out;
  if (all <= most) return out;
  put_all(out, all, " events on ", levels.size(), " lanes are more than ", most, ": here are ");
  if (thin.of_each < all) put_all(out, "the first ", thin.of_each, " spans of lane 0.");
  else put_all(out, "all of ", thin.lanes.size(), " lanes, evenly spaced.");
  return out;
}

inline void put_span(std::string& out, const timeline::span& s, const chrome_trace_options& options,
                     std::uint32_t thread, std::int64_t ticks_per_second) {
  std::string name(s.micro_batch >= 0 && !bar_text(s.kind).empty() ? bar_text(s.kind) : to_string(s.kind));
  if (s.micro_batch >= 0) put_all(name, s.micro_batch);
  if (s.id < options.names.size()) name = options.names[s.id];
  put_all(out, ",\n{\"ph\":\"X\",\"pid\":0,\"tid\":", thread, ",\"ts\":");
  put_microseconds(out, s.start, ticks_per_second);
  out += ",\"dur\":";
  put_microseconds(out, s.finish - s.start, ticks_per_second);
  out += ",\"name\":";
  put_json(out, name);
  put_all(out, ",\"cat\":\"", to_string(s.kind), "\",\"args\":{\"id\":", s.id, ",\"chunk\":", s.chunk);
  if (s.exposed) out += ",\"exposed\":true";
  if (s.micro_batch >= 0) put_all(out, ",\"micro_batch\":", s.micro_batch);
  out += "}}";
}

}  // namespace detail

/// The timeline in Chrome's trace event format, which ui.perfetto.dev and chrome://tracing load: a thread per lane,
/// complete events with stage, chunk and micro-batch as arguments, a counter per lane, marks as instant events.
/// Spans that overlap on a lane are spread over several threads, since a thread of a trace can only nest.
/// Times are exact to a nanosecond. Precondition: ticks_per_second >= 1. Complexity: O(s log s).
///
/// With more than `most_events` spans and changes it has all those of as many lanes as fit: the first, the last, and
/// others evenly between them. Of a single lane that does not fit it has the first ones. "otherData" and the label of
/// the process then say what is left out, in one sentence. Source: "Trace Event Format", Google 2016.
[[nodiscard]] inline std::string to_chrome_trace(const timeline& t, const chrome_trace_options& options = {}) {
  HOCKET_ASSERT(t.ticks_per_second >= 1);
  using detail::put_all, detail::put_json;
  const auto put = [&](std::string& out, ticks x) { detail::put_microseconds(out, x, t.ticks_per_second); };
  const detail::span_rows rows = detail::rows_of(t);
  const auto levels = detail::levels_of(t);
  const detail::trace_thinning thin = detail::thinning_of(rows, levels, options.most_events);
  const std::string left_out = detail::left_out_of(rows, levels, thin, options.most_events);
  std::string out;
  out.reserve(256 + (std::min)(rows.spans.size() + t.changes().size(), options.most_events) * 140);
  out += "{\"displayTimeUnit\":\"ms\",";
  if (!left_out.empty()) put_all(out, "\"otherData\":{\"left_out\":\"", left_out, "\"},");
  out += "\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{\"name\":";
  put_json(out, options.process);
  out += "}}";
  if (!left_out.empty())
    put_all(out, ",\n{\"ph\":\"M\",\"pid\":0,\"name\":\"process_labels\",\"args\":{\"labels\":\"", left_out, "\"}}");
  std::uint32_t thread = 0;
  for (const std::uint32_t lane : thin.lanes) {
    for (std::uint32_t row = 0; row < rows.row_count[lane]; ++row) {
      put_all(out, ",\n{\"ph\":\"M\",\"pid\":0,\"tid\":", thread + row,
              ",\"name\":\"thread_name\",\"args\":{\"name\":");
      std::string name(t.lane_name(lane));
      if (row > 0) put_all(name, " (", row + 1, ")");
      put_json(out, name);
      put_all(out, "}},\n{\"ph\":\"M\",\"pid\":0,\"tid\":", thread + row,
              ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":", thread + row, "}}");
    }
    const std::size_t spans = (std::min)(rows.first[lane + 1] - rows.first[lane], thin.of_each);
    for (const auto& [s, row, added] : std::span(rows.spans).subspan(rows.first[lane], spans)) {
      detail::put_span(out, s, options, thread + row, t.ticks_per_second);
    }
    thread += rows.row_count[lane];
    for (const detail::level& l : std::span(levels[lane]).first((std::min)(levels[lane].size(), thin.of_each))) {
      out += ",\n{\"ph\":\"C\",\"pid\":0,\"name\":";
      std::string name(options.quantity);
      put_all(name, ", ", t.lane_name(lane));
      put_json(out, name);
      out += ",\"ts\":";
      put(out, l.at);
      put_all(out, ",\"args\":{\"held\":", l.value, "}}");
    }
  }
  for (const auto& m : t.marks()) {
    out += ",\n{\"ph\":\"i\",\"s\":\"g\",\"pid\":0,\"tid\":0,\"name\":";
    put_json(out, m.label);
    out += ",\"ts\":";
    put(out, m.at);
    out += "}";
  }
  out += "\n]}\n";
  return out;
}

/// The sentence that to_chrome_trace writes into the trace if it has more than `most_events` events; empty otherwise.
/// Complexity: O(s log s).
[[nodiscard]] inline std::string left_out_of_chrome_trace(const timeline& t, const chrome_trace_options& options = {}) {
  const detail::span_rows rows = detail::rows_of(t);
  const auto levels = detail::levels_of(t);
  const auto thin = detail::thinning_of(rows, levels, options.most_events);
  return detail::left_out_of(rows, levels, thin, options.most_events);
}

}  // namespace hocket::inline HOCKET_ABI
