// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/timeline/detail/rows.hpp>
#include <hocket/timeline/detail/writing.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI {

struct chrome_trace_options {
  std::string process = "hocket";      ///< name of the group of lanes
  std::string quantity = "in flight";  ///< what the changes of a lane count
  borrowed<std::string> names{};       ///< what ids of spans stand for: the names of their events
};

namespace detail {

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
/// Source: "Trace Event Format", Google 2016.
[[nodiscard]] inline std::string to_chrome_trace(const timeline& t, const chrome_trace_options& options = {}) {
  HOCKET_ASSERT(t.ticks_per_second >= 1);
  using detail::put_all, detail::put_json;
  const auto put = [&](std::string& out, ticks x) { detail::put_microseconds(out, x, t.ticks_per_second); };
  const detail::span_rows rows = detail::rows_of(t);
  const auto levels = detail::levels_of(t);
  std::string out;
  out.reserve(256 + rows.spans.size() * 150 + t.changes().size() * 90);
  out +=
      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{"
      "\"name\":";
  put_json(out, options.process);
  out += "}}";
  std::uint32_t thread = 0;
  for (std::uint32_t lane = 0; lane < t.lane_count(); ++lane) {
    for (std::uint32_t row = 0; row < rows.row_count[lane]; ++row) {
      put_all(out, ",\n{\"ph\":\"M\",\"pid\":0,\"tid\":", thread + row,
              ",\"name\":\"thread_name\",\"args\":{\"name\":");
      std::string name(t.lane_name(lane));
      if (row > 0) put_all(name, " (", row + 1, ")");
      put_json(out, name);
      put_all(out, "}},\n{\"ph\":\"M\",\"pid\":0,\"tid\":", thread + row,
              ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":", thread + row, "}}");
    }
    for (std::size_t i = rows.first[lane]; i < rows.first[lane + 1]; ++i) {
      const auto& [s, row, added] = rows.spans[i];
      detail::put_span(out, s, options, thread + row, t.ticks_per_second);
    }
    thread += rows.row_count[lane];
    for (const detail::level& l : levels[lane]) {
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

}  // namespace hocket::inline HOCKET_ABI
