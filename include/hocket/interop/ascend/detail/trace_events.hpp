// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/detail/json_cursor.hpp>
#include <hocket/interop/ascend/detail/profile_tables.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend::detail {

/// Collects the events of a Chrome trace; which of them ran on the device is known once all processes have told their
/// names, which may be last.
class trace_events {
 public:
  explicit trace_events(const profile_options& options) noexcept : options_(options) {}

  /// Reads one element of the array of events.
  void read(json_cursor& in) {
    event_.clear();
    in.members([&](std::string_view key) {
      for (field& f : event_.fields)
        if (key == f.key) {
          f.is_there = true;
          f.value.assign(in.scalar(storage_));
          return;
        }
      if (key == "args" && in.peek() == '{')
        in.members([&](std::string_view argument) { read_argument(in, argument); });
      else in.skip();
    });
    if (in.failed()) return;
    const std::string_view kind = event_.get(phase);
    if (tells_of_device(event_.get(category))) drop_host_ops();
    if (kind == "M") keep_name();
    else if (kind == "X") keep_event(in);
    else if (kind == "B") begin_event(in);
    else if (kind == "E") end_event(in);
  }

  /// What ran on the device; of a trace without one, PyTorch's ops on the CPU.
  void finish(profile& out) {
    for (const span& s : spans_) {
      const std::string_view process = name_of(processes_, {s.pid, {}});
      const std::string_view thread = name_of(threads_, {s.pid, s.tid});
      if (s.name.starts_with("ProfilerStep#")) keep_step(s, out);
      else if (process == "Overlap Analysis") add_overlap(s, out);
      else if (runs_on_device(s, process, thread)) out.kernels.push_back(kernel_of(s, process, thread));
    }
    if (out.kernels.empty()) add_host_ops(out);
    sort_by_start(out.kernels);
    number_steps(out);
  }

 private:
  enum which : std::size_t { phase, name, pid, tid, start, duration, category };
  struct field {
    std::string_view key;
    std::string value{};
    bool is_there = false;
  };
  struct event {
    std::array<field, 7> fields{{{"ph"}, {"name"}, {"pid"}, {"tid"}, {"ts"}, {"dur"}, {"cat"}}};
    std::string said_name, task_type, stream, task, group;

    void clear() {
      for (field& f : fields) {
        f.value.clear();
        f.is_there = false;
      }
      for (std::string* s : {&said_name, &task_type, &stream, &task, &group}) s->clear();
    }
    [[nodiscard]] const std::string& get(which w) const noexcept { return fields[w].value; }
  };
  struct span {
    std::string name, pid, tid, category, task_type, stream, task, group;
    nanoseconds start{}, duration{};
  };
  using names = std::map<std::pair<std::string, std::string>, std::string, std::less<>>;

  void read_argument(json_cursor& in, std::string_view key) {
    std::string* const to = key == "name" || key == "labels"      ? &event_.said_name
                          : key == "Task Type" || key == "type"   ? &event_.task_type
                          : key == "Stream Id" || key == "stream" ? &event_.stream
                          : key == "Task Id"                      ? &event_.task
                                                                  : nullptr;
    if (to == nullptr || in.peek() == '{' || in.peek() == '[') in.skip();
    else to->assign(in.scalar(storage_));
  }
  // Most events of a trace with the host's side; they are not worth their memory.
  [[nodiscard]] static bool is_host_work(std::string_view category) noexcept {
    constexpr std::string_view host[] = {"cpu_op",  "python_function", "cuda_runtime", "cuda_driver", "enqueue",
                                         "dequeue", "async_npu",       "ac2g",         "fwdbwd",      "Trace"};
    for (const std::string_view h : host)
      if (category == h) return true;
    return false;
  }
  // Categories of events that a trace with a device has, and no other.
  [[nodiscard]] static bool tells_of_device(std::string_view category) noexcept {
    return category == "kernel" || category == "cuda_runtime" || category == "enqueue" || category == "async_npu";
  }
  void drop_host_ops() {
    has_device_ = true;
    host_ops_ = {};
  }
  void keep_name() {
    // MindSpore 2.0 names its processes by labels.
    if (event_.get(name) == "process_labels") processes_.try_emplace({event_.get(pid), {}}, event_.said_name);
    if (event_.get(name) == "process_name") processes_[{event_.get(pid), {}}] = event_.said_name;
    if (event_.get(name) == "thread_name") threads_[{event_.get(pid), event_.get(tid)}] = event_.said_name;
  }
  // Whether spans of a category are kept: most events of a trace are of the host.
  [[nodiscard]] bool is_kept(std::string_view of) const noexcept {
    return of == "cpu_op" ? !has_device_ : !is_host_work(of);
  }
  void keep_event(json_cursor& in) {
    if (!is_kept(event_.get(category))) return;
    const auto at = time_of(start, in), lasts = time_of(duration, in);
    if (!at || !lasts) return;
    if (!has_finish(*at, *lasts)) return in.fail(error{errc::bad_decimal}.with("\"dur\": " + event_.get(duration)));
    keep(span_of_event(*at, *lasts), in);
  }
  // "B" begins an event of a thread, "E" ends the last of that thread that has begun.
  void begin_event(json_cursor& in) {
    const auto at = time_of(start, in);
    if (!at || !has_room(open_count_, in)) return;
    open_[{event_.get(pid), event_.get(tid)}].push_back(span_of_event(*at, {}));
    ++open_count_;
  }
  void end_event(json_cursor& in) {
    const auto of_thread = open_.find(std::pair(event_.get(pid), event_.get(tid)));
    if (of_thread == open_.end() || of_thread->second.empty()) return;  // it began before the trace
    const auto at = time_of(start, in);
    if (!at) return;
    span s = std::move(of_thread->second.back());
    of_thread->second.pop_back();
    --open_count_;
    if (*at < s.start) return in.fail(error{errc::bad_decimal}.with("\"ts\": " + event_.get(start)));
    s.duration = *at - s.start;
    if (is_kept(s.category)) keep(std::move(s), in);
  }

  [[nodiscard]] std::optional<nanoseconds> time_of(which field_of_event, json_cursor& in) const {
    constexpr std::int64_t us = 1'000;
    const auto value = parse_scaled(event_.get(field_of_event), us);
    if (value && *value >= 0) return nanoseconds(*value);
    const std::string key = field_of_event == start ? "\"ts\": " : "\"dur\": ";
    in.fail(error{errc::bad_decimal}.with(key + event_.get(field_of_event)));
    return std::nullopt;
  }
  [[nodiscard]] span span_of_event(nanoseconds at, nanoseconds lasts) const {
    return {event_.get(name),
            event_.get(pid),
            event_.get(tid),
            event_.get(category),
            event_.task_type,
            event_.stream,
            event_.task,
            event_.group,
            at,
            lasts};
  }
  [[nodiscard]] bool has_room(std::size_t count, json_cursor& in) const {
    if (count < options_.max_rows) return true;
    const auto most = static_cast<std::int64_t>(options_.max_rows);
    in.fail(error{errc::too_large, 0, most + 1, most}.with("events"));
    return false;
  }
  void keep(span s, json_cursor& in) {
    std::vector<span>& to = s.category == "cpu_op" ? host_ops_ : spans_;
    if (has_room(to.size(), in)) to.push_back(std::move(s));
  }

  [[nodiscard]] static std::string_view name_of(const names& all, const names::key_type& of) {
    const auto at = all.find(of);
    return at == all.end() ? std::string_view{} : std::string_view(at->second);
  }
  [[nodiscard]] static bool is_collective(const span& s, std::string_view process, std::string_view thread) noexcept {
    if (s.category == "kernel") return s.name.starts_with("nccl") || s.name.starts_with("Hccl");
    // The collectives stand on threads of their own, and their pieces on "Plane 0", ...
    return (process == "HCCL" || process == "Communication") && !thread.starts_with("Plane") &&
           (s.name.starts_with("hcom_") || s.name.starts_with("Hccl"));
  }
  [[nodiscard]] static bool is_cpu(std::string_view process) noexcept {
    return process == "CPU OP" || process == "Host CPU OP";
  }
  // Gloo and MPI do PyTorch's collectives on a CPU, on threads of their own.
  [[nodiscard]] static bool is_host_collective(const span& s) noexcept {
    return s.name.starts_with("gloo:") || s.name.starts_with("mpi:");
  }
  // Ops call ops: those count that no other op of their thread called. c10d::allreduce_ only asks for a collective, and
  // may wait until it has begun: it is no computing, also within an op (the gradients' hooks), which then counts as
  // two, before it and after. It is a collective where the trace does not have what did it.
  void add_host_ops(profile& out) {
    for (const span& s : spans_)
      if (is_host_collective(s)) out.kernels.push_back(host_collective_of(s));
    const bool has_collectives = !out.kernels.empty();
    std::sort(host_ops_.begin(), host_ops_.end(), [](const span& a, const span& b) {
      return std::tie(a.pid, a.tid, a.start, b.duration) < std::tie(b.pid, b.tid, b.start, a.duration);
    });
    const span* outer = nullptr;
    std::size_t piece = no_piece;  // the kernel that stands for the outer op, or for the rest of it
    for (const span& s : host_ops_) {
      const bool asks = s.name.starts_with("c10d::");
      const bool is_called = outer != nullptr && outer->pid == s.pid && outer->tid == s.tid && s.start < end_of(*outer);
      if (is_called && asks && piece != no_piece) piece = cut_out(out.kernels, piece, s, end_of(*outer));
      if (!is_called) {
        outer = &s;
        piece = no_piece;
      }
      if (asks && !has_collectives) out.kernels.push_back(host_collective_of(s));
      if (asks || is_called) continue;
      const bool communicates = is_host_collective(s);
      if (!communicates) piece = out.kernels.size();
      out.kernels.push_back(communicates ? host_collective_of(s) : kernel_of(s, "CPU OP", {}));
    }
  }
  static constexpr std::size_t no_piece = static_cast<std::size_t>(-1);
  [[nodiscard]] static nanoseconds end_of(const span& s) noexcept { return s.start + s.duration; }
  // Leaves out what lies within a kernel; returns the place of the rest.
  [[nodiscard]] static std::size_t cut_out(std::vector<kernel>& kernels, std::size_t piece, const span& s,
                                           nanoseconds end) {
    if (s.start < kernels[piece].start) return piece;  // called by what was cut out already
    kernel rest = kernels[piece];
    kernels[piece].duration = s.start - kernels[piece].start;
    rest.start = (std::min)(end, end_of(s));
    rest.duration = end - rest.start;
    kernels.push_back(std::move(rest));
    return kernels.size() - 1;
  }
  [[nodiscard]] static kernel host_collective_of(const span& s) {
    kernel k = kernel_of(s, "CPU OP", {});
    k.type = s.name;
    k.communicates = true;
    return k;
  }
  [[nodiscard]] static bool runs_on_device(const span& s, std::string_view process, std::string_view thread) noexcept {
    if (s.category == "kernel" || s.category == "gpu_memcpy" || s.category == "gpu_memset") return true;
    if (is_collective(s, process, thread) || is_cpu(process)) return true;
    return process == "Ascend Hardware" && !only_waits(s.name) && !only_waits(s.task_type);
  }
  [[nodiscard]] static kernel kernel_of(const span& s, std::string_view process, std::string_view thread) {
    kernel k;
    k.name = s.name;
    k.communicates = is_collective(s, process, thread);
    k.type = s.category.starts_with("gpu_") ? s.category : std::string(type_in_name(s.name));
    k.core = k.communicates ? "HCCL" : s.category == "kernel" ? "GPU" : is_cpu(process) ? "CPU" : s.task_type;
    if (s.category == "kernel" && k.communicates) k.core = "NCCL";
    k.start = s.start;
    k.duration = s.duration;
    k.stream = parse_scaled(s.stream, 1).value_or(-1);
    if (k.stream < 0 && thread.starts_with("Stream ")) k.stream = parse_scaled(thread.substr(7), 1).value_or(-1);
    k.task = parse_scaled(s.task, 1).value_or(-1);
    if (k.communicates) k.group = s.group;
    return k;
  }
  void keep_step(const span& s, profile& out) {
    named_span step{s.name, s.start, s.duration};
    const auto [known, is_new] = marks_.try_emplace(s.name, out.marks.size());
    if (is_new) out.marks.push_back(std::move(step));
    else if (s.category == "gpu_user_annotation")
      out.marks[known->second] = std::move(step);  // the host begins earlier
  }
  static void add_overlap(const span& s, profile& out) {
    if (out.steps.empty()) out.steps.emplace_back();
    step_times& sums = out.steps.front();
    nanoseconds* const to = s.name == "Computing"                     ? &sums.computing
                          : s.name == "Communication"                 ? &sums.communication
                          : s.name == "Communication(Not Overlapped)" ? &sums.exposed
                          : s.name == "Free"                          ? &sums.free
                                                                      : nullptr;
    if (to == nullptr || !has_finish(*to, s.duration)) return;
    *to += s.duration;
    sums.overlapped = sums.communication - sums.exposed;
  }
  // The step of a kernel is the last that began before it.
  static void number_steps(profile& out) {
    std::sort(out.marks.begin(), out.marks.end(),
              [](const named_span& a, const named_span& b) { return a.start < b.start; });
    std::size_t next = 0;
    for (kernel& k : out.kernels) {
      while (next < out.marks.size() && out.marks[next].start <= k.start) ++next;
      if (next == 0) continue;
      const std::string_view said = out.marks[next - 1].name;
      k.step = parse_scaled(said.substr(said.find('#') + 1), 1).value_or(-1);
    }
  }

  profile_options options_;
  event event_;
  std::string storage_;
  std::vector<span> spans_;
  std::vector<span> host_ops_;  // until an event tells of a device
  bool has_device_ = false;
  std::map<std::pair<std::string, std::string>, std::vector<span>> open_;  // by process and thread
  std::size_t open_count_ = 0;
  names processes_, threads_;
  std::map<std::string, std::size_t> marks_;  // the place of each step's name in the marks
};

}  // namespace hocket::inline HOCKET_ABI::ascend::detail
