// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/detail/profile_table.hpp>

#include <algorithm>
#include <limits>
#include <optional>

namespace hocket::inline HOCKET_ABI::ascend::detail {

/// Whether a core and a type are those of communication: the tables have no column for it.
[[nodiscard]] constexpr bool is_communication(std::string_view core, std::string_view type) noexcept {
  if (core == "HCCL" || core == "COMMUNICATION") return true;
  return core.empty() && (type.starts_with("hcom_") || type.starts_with("HcclAll") || type.starts_with("nccl"));
}

/// Whether a task, by its name or type, only waits or marks a moment: streams hold such tasks, too.
[[nodiscard]] constexpr bool only_waits(std::string_view text) noexcept {
  constexpr std::string_view waits[] = {"EVENT_",     "Event_", "NOTIFY_",     "Notify_", "CAPTURE_",     "PROFILER_",
                                        "PROFILING_", "MODEL_", "WRITE_VALUE", "STREAM_", "PLACE_HOLDER", "FUSION_",
                                        "LABEL_",     "RDMA",   "SDMA",        "Memcpy"};
  for (const std::string_view w : waits)
    if (text.starts_with(w)) return true;
  return false;
}

/// The type of an op, where a file has none: `Default/.../MatMul-op0`, `aclnnMatmul_MatMulV2AiCore_MatMulV2` and
/// `trans_Cast_12` have it in their names.
[[nodiscard]] constexpr std::string_view type_in_name(std::string_view name) noexcept {
  if (const std::size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  if (const std::size_t op = name.rfind("-op"); op != name.npos) return name.substr(0, op);
  if (name.starts_with("hcom_")) return name.substr(0, name.find("__") == name.npos ? name.npos : name.find("__") + 1);
  if (name.starts_with("aclnn") || name.ends_with("_MemSet")) return name.substr(name.rfind('_') + 1);
  if (!name.starts_with("trans_")) return name;
  name.remove_prefix(6);
  return name.substr(0, name.rfind('_'));
}

/// In the order of their starts; rows that start at once stay as they were.
inline void sort_by_start(std::vector<kernel>& kernels) {
  std::vector<std::pair<nanoseconds, std::size_t>> order(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) order[i] = {kernels[i].start, i};
  std::sort(order.begin(), order.end());
  std::vector<kernel> sorted(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) sorted[i] = std::move(kernels[order[i].second]);
  kernels = std::move(sorted);
}

/// Whether start + duration fits 64 bits. Precondition: start >= 0.
[[nodiscard]] constexpr bool has_finish(nanoseconds start, nanoseconds duration) noexcept {
  return duration.count() <= (std::numeric_limits<std::int64_t>::max)() - start.count();
}

/// kernel_details.csv and op_summary_*.csv. Names of columns as in CANN 6 to 8, MindSpore 2.2 to 2.10 and torch_npu.
struct kernel_columns {
  table_column step, stream, task, name, type, core, start, duration, inputs, input_types, input_formats, outputs,
      output_types;

  [[nodiscard]] static std::optional<kernel_columns> of(const table_header& h) {
    constexpr std::int64_t us = 1'000;
    kernel_columns c;
    c.step = h.find({"step id"}, 1);
    c.stream = h.find({"stream id"}, 1);
    c.task = h.find({"task id"}, 1);
    c.name = h.find({"name", "op name"});
    c.type = h.find({"type", "op type"});
    c.core = h.find({"accelerator core", "task type", "core type"});
    c.start = h.find({"start time", "task start time"}, us);
    c.duration = h.find({"duration", "task duration"}, us);
    c.inputs = h.find({"input shapes"});
    c.input_types = h.find({"input data types"});
    c.input_formats = h.find({"input formats"});
    c.outputs = h.find({"output shapes"});
    c.output_types = h.find({"output data types"});
    if (!c.name.is_there() || !c.type.is_there() || !c.duration.is_there()) return std::nullopt;
    return c;
  }
};

[[nodiscard]] inline result<void> read_kernel(table_row& row, const kernel_columns& c, profile& out) {
  kernel k;
  k.name = row.text(c.name);
  k.type = row.text(c.type);
  k.core = row.text(c.core);
  k.start = row.time(c.start);
  k.duration = row.time(c.duration);
  k.step = row.count_or(c.step, -1);
  k.stream = row.count_or(c.stream, -1);
  k.task = row.count_or(c.task, -1);
  k.input_shapes = row.text(c.inputs);
  k.input_types = row.text(c.input_types);
  k.input_formats = row.text(c.input_formats);
  k.output_shapes = row.text(c.outputs);
  k.output_types = row.text(c.output_types);
  k.communicates = is_communication(k.core, k.type);
  k.line = row.line();
  if (!has_finish(k.start, k.duration)) row.fail(errc::bad_decimal, c.duration);
  if (only_waits(k.type) || only_waits(k.core)) return {};
  out.kernels.push_back(std::move(k));
  return {};
}

/// step_trace_time.csv, and a cluster's.
struct step_columns {
  table_column step, kind, index, computing, exposed, overlapped, communication, free, stage, bubble, without_receive,
      preparing;

  [[nodiscard]] static std::optional<step_columns> of(const table_header& h) {
    constexpr std::int64_t us = 1'000;
    step_columns c;
    c.step = h.find({"step"});
    c.kind = h.find({"type"});
    c.index = h.find({"index"});
    c.computing = h.find({"computing"}, us);
    c.exposed = h.find({"communication(not overlapped)"}, us);
    c.overlapped = h.find({"overlapped"}, us);
    c.communication = h.find({"communication"}, us);
    c.free = h.find({"free"}, us);
    c.stage = h.find({"stage"}, us);
    c.bubble = h.find({"bubble"}, us);
    c.without_receive = h.find({"communication(not overlapped and exclude receive)"}, us);
    c.preparing = h.find({"preparing"}, us);
    if (!c.step.is_there() || !c.computing.is_there() || !c.exposed.is_there()) return std::nullopt;
    return c;
  }
};

[[nodiscard]] inline result<void> read_step(table_row& row, const step_columns& c, profile& out) {
  const auto optional_time = [&](table_column at) {
    return row.text(at).empty() ? std::optional<nanoseconds>() : row.difference(at);
  };
  step_times s;
  s.step = row.text(c.step);
  s.kind = row.text(c.kind);
  s.index = row.text(c.index);
  s.computing = row.time(c.computing);
  s.exposed = row.time(c.exposed);
  s.overlapped = row.difference(c.overlapped);
  s.communication = row.time(c.communication);
  s.free = row.difference(c.free);
  s.stage = optional_time(c.stage);
  s.bubble = optional_time(c.bubble);
  s.exposed_without_receive = optional_time(c.without_receive);
  s.preparing = optional_time(c.preparing);
  out.steps.push_back(std::move(s));
  return {};
}

/// op_statistic.csv, cpu_op_type_info_*.csv, cpu_op_detail_info_*.csv.
struct total_columns {
  table_column type, name, core, count, total, mean, least, most;

  [[nodiscard]] static std::optional<total_columns> of(const table_header& h) {
    constexpr std::int64_t us = 1'000, ms = 1'000'000;
    total_columns c;
    c.type = h.find({"op type", "op_type"});
    c.name = h.find({"full_op_name"});
    c.core = h.find({"core type", "op_side"});
    c.count = h.find({"count", "op_occurrences", "type_occurrences"}, 1);
    c.total = h.find({"total time"}, us);
    if (!c.total.is_there()) c.total = h.find({"op_total_time", "total_compute_time"}, ms);
    c.mean = h.find({"avg time", "avg_time", "op_avg_time"}, us);
    c.least = h.find({"min time"}, us);
    c.most = h.find({"max time"}, us);
    if (!c.type.is_there() || !c.count.is_there() || !c.total.is_there()) return std::nullopt;
    return c;
  }
};

[[nodiscard]] inline result<void> read_total(table_row& row, const total_columns& c, profile& out) {
  op_total t;
  t.type = row.text(c.type);
  t.name = row.text(c.name);
  t.core = row.text(c.core);
  t.count = row.count(c.count);
  t.total = row.time(c.total);
  t.mean = row.time(c.mean);
  if (c.least.is_there()) t.least = row.time(c.least);
  if (c.most.is_there()) t.most = row.time(c.most);
  out.totals.push_back(std::move(t));
  return {};
}

/// memory_record.csv, cpu_ms_memory_record_*.txt.
struct memory_columns {
  table_column component, device, at, allocated, reserved, active;

  [[nodiscard]] static std::optional<memory_columns> of(const table_header& h) {
    constexpr std::int64_t us = 1'000, mib = 1 << 20;
    memory_columns c;
    c.component = h.find({"component"});
    c.device = h.find({"device type", "device_type"});
    c.at = h.find({"timestamp"}, us);
    c.allocated = h.find({"total allocated"}, mib);
    c.reserved = h.find({"total reserved"}, mib);
    c.active = h.find({"total active"}, mib);
    if (!c.at.is_there() || !c.allocated.is_there() || !c.reserved.is_there()) return std::nullopt;
    return c;
  }
};

[[nodiscard]] inline result<void> read_memory(table_row& row, const memory_columns& c, profile& out) {
  memory_sample s;
  s.component = row.text(c.component);
  s.device = row.text(c.device);
  s.at = row.time(c.at);
  s.allocated = bytes(row.count_or(c.allocated, 0));
  s.reserved = bytes(row.count_or(c.reserved, 0));
  if (!row.text(c.active).empty()) s.active = bytes(row.count(c.active));
  out.memory.push_back(std::move(s));
  return {};
}

/// Whether a line is one of cpu_op_execute_timestamp_*.txt: `NAME;HostCpuOps;START,DURATION,PROCESS START,...`.
[[nodiscard]] constexpr bool is_cpu_times(std::string_view line) noexcept {
  return line.find(";HostCpuOps;") != line.npos;
}

/// One run of an op on a CPU: start in nanoseconds, duration in milliseconds, process.
[[nodiscard]] inline bool read_cpu_run(std::string_view text, kernel& k) noexcept {
  const std::size_t first = text.find(','), last = text.rfind(',');
  if (first == last) return false;
  const auto start = parse_scaled(text.substr(0, first), 1);
  const auto duration = parse_scaled(text.substr(first + 1, last - first - 1), 1'000'000);
  if (!start || !duration || !parse_scaled(text.substr(last + 1), 1) || *start < 0 || *duration < 0) return false;
  k.start = nanoseconds(*start);
  k.duration = nanoseconds(*duration);
  return has_finish(k.start, k.duration);
}

[[nodiscard]] inline result<profile> read_cpu_times(std::string_view whole, const profile_options& options) {
  text::detail::csv_scanner in(whole);
  std::vector<std::string_view> cells;
  profile out;
  while (!in.at_end()) {
    if (const auto ok = in.next_quoted_row(';', cells); !ok) return ok.error();
    if (cells.size() != 3) return error{errc::missing_column, in.line(), 3, static_cast<std::int64_t>(cells.size())};
    if (const auto ok = check_shared_name(cells[0], in.line()); !ok) return ok.error();
    kernel k;
    k.name = cells[0];
    k.type = type_in_name(cells[0]);
    k.core = "CPU";
    k.line = in.line();
    for (std::string_view runs = cells[2]; !runs.empty();) {
      const std::size_t end = (std::min)(runs.find(' '), runs.size());
      if (!read_cpu_run(runs.substr(0, end), k))
        return error{errc::bad_decimal, in.line(), 3}.with(runs.substr(0, end));
      if (out.kernels.size() == options.max_rows) {
        const auto most = static_cast<std::int64_t>(options.max_rows);
        return error{errc::too_large, in.line(), most + 1, most}.with("runs of ops");
      }
      out.kernels.push_back(k);
      runs.remove_prefix((std::min)(end + 1, runs.size()));
    }
  }
  if (!whole.ends_with('\n')) return error{errc::truncated, in.line()}.with("the end of the line");
  sort_by_start(out.kernels);
  return out;
}

/// Any of the tables, told by its columns.
[[nodiscard]] inline result<profile> read_table(std::string_view csv, const profile_options& options) {
  if (is_cpu_times(csv.substr(0, csv.find('\n')))) return read_cpu_times(csv, options);
  text::detail::csv_scanner in(csv);
  std::vector<std::string_view> names;
  if (in.at_end()) return error{errc::truncated, 0}.with("the names of columns");
  if (const auto ok = in.next_quoted_row(',', names); !ok) return ok.error();
  const auto header = table_header::make(names);
  if (!header) return header.error();
  profile out;
  const auto rows = [&](profile_form form, const auto& columns, const auto& read) -> result<profile> {
    out.form = form;
    const auto ok = read_rows(in, csv, header->size(), options,
                              [&](table_row& row) -> result<void> { return read(row, columns, out); });
    if (!ok) return ok.error();
    sort_by_start(out.kernels);
    return std::move(out);
  };
  const auto kernels = kernel_columns::of(*header);
  if (kernels && !kernels->start.is_there()) return error{errc::no_such_column, 1}.with("Start Time(us)");
  if (kernels) return rows(profile_form::kernels, *kernels, read_kernel);
  if (const auto c = step_columns::of(*header)) return rows(profile_form::step_times, *c, read_step);
  if (const auto c = total_columns::of(*header)) return rows(profile_form::op_totals, *c, read_total);
  if (const auto c = memory_columns::of(*header)) return rows(profile_form::memory, *c, read_memory);
  return error{errc::unknown_table, 1}.with(csv.substr(0, csv.find('\n')));
}

}  // namespace hocket::inline HOCKET_ABI::ascend::detail
