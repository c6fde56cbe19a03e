// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/detail/trace_events.hpp>

#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::ascend::detail {

/// communication.json: `{step: {p2p|collective: {op@group: {"Communication Time Info": ..., ...}}}}`.
class communication_reader {
 public:
  communication_reader(json_cursor& in, profile& out, const profile_options& options) noexcept
      : in_(in), out_(out), options_(options) {}

  /// Reads the value of a member of the top object; whether it was a step.
  [[nodiscard]] bool read_step(std::string_view step) {
    bool any = false;
    in_.members([&](std::string_view kind) {
      const bool is_p2p = kind == "p2p";
      if ((!is_p2p && kind != "collective") || in_.peek() != '{') return in_.skip();
      any = true;
      if (const auto ok = check_shared_name(step, 0); !ok) return in_.fail(ok.error());
      in_.members([&](std::string_view name) { read_run(step, name, is_p2p); });
    });
    return any;
  }

 private:
  void read_run(std::string_view step, std::string_view name, bool is_p2p) {
    if (name.starts_with("Total Op Info")) return in_.skip();  // the sums of the others
    if (out_.collectives.size() == options_.max_rows) {
      const auto most = static_cast<std::int64_t>(options_.max_rows);
      return in_.fail(error{errc::too_large, 0, most + 1, most}.with("collectives"));
    }
    collective_run run;
    const std::size_t at = name.find('@');
    run.step = step;
    run.name = name.substr(0, at);
    run.group = at == name.npos ? std::string_view{} : name.substr(at + 1);
    run.point_to_point = is_p2p;
    in_.members([&](std::string_view part) {
      if (part == "Communication Time Info") read_times(run);
      else if (part == "Communication Bandwidth Info") read_links(run);
      else in_.skip();
    });
    out_.collectives.push_back(std::move(run));
  }
  [[nodiscard]] std::int64_t number(std::int64_t factor) {
    const std::string_view text = in_.scalar(storage_);
    const auto value = parse_scaled(text, factor);
    if (!in_.failed() && (!value || *value < 0)) in_.fail(error{errc::bad_decimal}.with(text));
    return value.value_or(0);
  }
  void read_times(collective_run& run) {
    constexpr std::int64_t us = 1'000, ms = 1'000'000;
    in_.members([&](std::string_view key) {
      if (key == "Start Timestamp(us)") run.start = nanoseconds(number(us));
      else if (key.starts_with("Elapse Time(ms)")) run.elapsed = nanoseconds(number(ms));
      else if (key == "Transit Time(ms)") run.transit = nanoseconds(number(ms));
      else if (key == "Wait Time(ms)") run.wait = nanoseconds(number(ms));
      else if (key == "Synchronization Time(ms)") run.synchronization = nanoseconds(number(ms));
      else if (key == "Idle Time(ms)") run.idle = nanoseconds(number(ms));
      else in_.skip();
    });
  }
  void read_links(collective_run& run) {
    constexpr std::int64_t ms = 1'000'000, megabyte = 1'000'000;  // of communication they are powers of ten
    in_.members([&](std::string_view transport) {
      link_use link{std::string(transport), {}, {}};
      in_.members([&](std::string_view key) {
        if (key == "Transit Size(MB)") link.size = bytes(number(megabyte));
        else if (key == "Transit Time(ms)") link.transit = nanoseconds(number(ms));
        else in_.skip();
      });
      if (link.size.count() > 0 || link.transit.count() > 0) run.links.push_back(std::move(link));
    });
  }

  json_cursor& in_;
  profile& out_;
  profile_options options_;
  std::string storage_;
};

/// A trace as a bare array, or in an object beside other members; or communication.json.
[[nodiscard]] inline result<profile> read_json(std::string_view text, const profile_options& options) {
  json_cursor in(text);
  profile out;
  trace_events events(options);
  bool is_trace = false, is_communication = false;
  const auto read_events = [&] {
    is_trace = true;
    in.elements([&] { events.read(in); });
  };
  if (in.peek() == '[') {
    read_events();
  } else {
    communication_reader communication(in, out, options);
    in.members([&](std::string_view key) {
      if (key == "traceEvents") {
        if (is_trace) in.fail("\"traceEvents\" is there twice");
        read_events();
      } else if (in.peek() == '{') {
        is_communication |= communication.read_step(key);
      } else {
        in.skip();
      }
    });
  }
  if (!in.ended()) return in.why();
  if (!is_trace && !is_communication) return error{errc::unknown_table, 1}.with(text.substr(0, text.find('\n')));
  out.form = is_trace ? profile_form::trace : profile_form::communication;
  if (is_trace) events.finish(out);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ascend::detail
