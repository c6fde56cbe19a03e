// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/detail/trace_events.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hocket::inline HOCKET_ABI::ascend::detail {

/// communication.json and communication_matrix.json, of one rank and of a cluster:
///
///     {step: {p2p|collective: {op@group: {"Communication Time Info": ..., "Communication Bandwidth Info": ...}}}}
///     {step: {p2p|collective: {op@group: {"0-1": {"Transport Type": ..., "Transit Size(MB)": ..., ...}}}}}
///     {"(0, 1)"|p2p: {step: {op@group: {rank: {"Communication Time Info": ..., ...}}}}}
///     {"(0, 1)"|p2p: {step: {op@group: {"0-1": {"Transport Type": ..., ...}}}}}
class communication_reader {
 public:
  communication_reader(json_cursor& in, profile& out, const profile_options& options) noexcept
      : in_(in), out_(out), options_(options) {}

  /// Reads the value of a member of the top object, an object; whether it was a step, or a group of ranks.
  [[nodiscard]] bool read_member(std::string_view key) {
    const bool is_group = key == "p2p" || key == "collective" || key.starts_with('(');
    bool any = false;
    in_.members([&](std::string_view inner) {
      const bool is_kind = inner == "p2p" || inner == "collective";
      if ((!is_kind && !is_group) || in_.peek() != '{') return in_.skip();
      any = true;
      const std::string_view step = is_group ? inner : key;
      for (const std::string_view name : {key, inner})
        if (const auto ok = check_shared_name(name, 0); !ok) return in_.fail(ok.error());
      context_.step = step;
      context_.ranks = key.starts_with('(') ? key : std::string_view{};
      context_.point_to_point = (is_group ? key : inner) == "p2p";
      in_.members([&](std::string_view name) { read_operation(name, is_group); });
    });
    return any;
  }

 private:
  // "0-1": two ranks.
  [[nodiscard]] static std::optional<std::pair<std::int64_t, std::int64_t>> ranks_in(std::string_view key) noexcept {
    const std::size_t dash = key.find('-');
    if (dash == key.npos) return std::nullopt;
    const auto from = rank_in(key.substr(0, dash)), to = rank_in(key.substr(dash + 1));
    if (!from || !to) return std::nullopt;
    return std::pair(*from, *to);
  }
  [[nodiscard]] static std::optional<std::int64_t> rank_in(std::string_view digits) noexcept {
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return std::nullopt;
    return parse_scaled(digits, 1);
  }

  void read_operation(std::string_view name, bool of_cluster) {
    if (name.starts_with("Total Op Info")) return in_.skip();  // the sums of the others
    if (const auto ok = check_shared_name(name, 0); !ok) return in_.fail(ok.error());
    const std::size_t at = name.find('@');
    context_.name = name.substr(0, at);
    context_.group = at == name.npos ? std::string_view{} : name.substr(at + 1);
    context_.rank = -1;
    collective_run own = context_;
    bool is_run = false;
    in_.members([&](std::string_view part) {
      if (read_part(part, own)) {
        is_run = true;
        return;
      }
      if (in_.peek() != '{') return in_.skip();
      const auto ranks = ranks_in(part);
      if (ranks) return read_link(ranks->first, ranks->second);
      const auto rank = of_cluster ? rank_in(part) : std::nullopt;
      if (!rank) return in_.skip();
      read_run_of(*rank);
    });
    if (is_run) keep_run(std::move(own));
  }
  // Whether a member of an operation is a part of its run.
  [[nodiscard]] bool read_part(std::string_view part, collective_run& run) {
    if (part == "Communication Time Info") read_times(run);
    else if (part == "Communication Bandwidth Info") read_links(run);
    else return false;
    return true;
  }
  void read_run_of(std::int64_t rank) {
    collective_run run = context_;
    run.rank = rank;
    bool is_run = false;
    in_.members([&](std::string_view part) {
      if (read_part(part, run)) is_run = true;
      else in_.skip();
    });
    if (is_run) keep_run(std::move(run));
  }
  void keep_run(collective_run run) {
    if (check_room(out_.collectives.size(), "collectives")) out_.collectives.push_back(std::move(run));
  }
  void read_link(std::int64_t from, std::int64_t to) {
    constexpr std::int64_t ms = 1'000'000, megabyte = 1'000'000;
    rank_link link{context_.step, context_.name, context_.group, context_.point_to_point, from, to, {}, {}, {}};
    bool is_link = false;
    in_.members([&](std::string_view key) {
      if (key == "Transport Type") {
        link.transport = in_.scalar(storage_);
      } else if (key == "Transit Size(MB)") {
        link.size = bytes(number(megabyte));
        is_link = true;
      } else if (key == "Transit Time(ms)") {
        link.transit = nanoseconds(number(ms));
      } else {
        in_.skip();
      }
    });
    if (const auto ok = check_shared_name(link.transport, 0); !ok) return in_.fail(ok.error());
    if (is_link && check_room(out_.links.size(), "links")) out_.links.push_back(std::move(link));
  }
  // Whether one more entry is within the limit.
  [[nodiscard]] bool check_room(std::size_t count, std::string_view what) {
    if (in_.failed()) return false;
    if (count < options_.max_rows) return true;
    const auto most = static_cast<std::int64_t>(options_.max_rows);
    in_.fail(error{errc::too_large, 0, most + 1, most}.with(what));
    return false;
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
  collective_run context_;  // what is known of a run before it is read: step, group, name
  std::string storage_;
};

/// {"rank": 0, "world_size": 2, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1]}]}, as PyTorch
/// writes it before the events.
class distribution_reader {
 public:
  distribution_reader(json_cursor& in, profile& out) noexcept : in_(in), out_(out) {}

  void read() {
    in_.members([&](std::string_view key) {
      if (key == "rank") out_.rank = number();
      else if (key == "world_size") out_.rank_count = number();
      else if (key == "pg_config" && in_.peek() == '[') in_.elements([&] { read_group(); });
      else in_.skip();
    });
  }

 private:
  [[nodiscard]] std::int64_t number() {
    if (in_.peek() == '{' || in_.peek() == '[') {
      in_.skip();
      return -1;
    }
    const auto value = parse_scaled(in_.scalar(storage_), 1);
    return value && *value >= 0 ? *value : -1;
  }
  void read_group() {
    if (in_.peek() != '{') return in_.skip();
    constexpr std::size_t max_groups = 1 << 16;
    rank_group group;
    in_.members([&](std::string_view key) {
      if (key == "pg_name" && in_.peek() == '"') group.name = in_.scalar(storage_);
      else if (key == "pg_desc" && in_.peek() == '"') group.description = in_.scalar(storage_);
      else if (key == "ranks" && in_.peek() == '[') in_.elements([&] { group.ranks.push_back(number()); });
      else in_.skip();
    });
    if (out_.groups.size() < max_groups) out_.groups.push_back(std::move(group));
  }

  json_cursor& in_;
  profile& out_;
  std::string storage_;
};

/// A trace as a bare array, or in an object beside other members; or communication.json.
[[nodiscard]] inline result<profile> read_json(std::string_view text, const profile_options& options) {
  json_cursor in(text);
  profile out;
  trace_events events(options);
  bool is_trace = false, is_communication = false;
  std::string storage;
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
      } else if (key == "distributedInfo" && in.peek() == '{') {
        distribution_reader(in, out).read();
      } else if (key == "baseTimeNanoseconds" && in.peek() != '{' && in.peek() != '[') {
        out.clock_base = nanoseconds(parse_scaled(in.scalar(storage), 1).value_or(0));
      } else if (in.peek() == '{') {
        is_communication |= communication.read_member(key);
      } else {
        in.skip();
      }
    });
  }
  if (!in.ended()) return in.why();
  if (!is_trace && !is_communication) return error{errc::unknown_table, 1}.with(text.substr(0, text.find('\n')));
  const bool is_matrix = out.collectives.empty() && !out.links.empty();
  out.form = is_trace  ? profile_form::trace
           : is_matrix ? profile_form::communication_matrix
                       : profile_form::communication;
  if (is_trace) events.finish(out);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ascend::detail
