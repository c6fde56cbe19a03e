// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/bridges/pipeline_streams.hpp>
#include <hocket/launch/transport_check.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

namespace detail {

/// Walks the streams of all ranks at once.
struct device_stream_checker {
  struct lane {
    std::vector<command> queue{};
    std::size_t at = 0;
    std::size_t first = 0;  // of the call that the lane stands at: a transfer, or all between here and a group's end;
    std::size_t met = 0;    // up to here they have met their other end
    bool in_group = false;
    bool posted = false;
  };
  const pipeline_program& program;
  transfer_checker pairs;
  std::vector<lane> lanes{};  // by rank: compute, receive, send
  std::vector<std::vector<bool>> recorded{};
  std::vector<std::size_t> awake{};

  [[nodiscard]] static transfer_kind kind_of(const command& c) noexcept { return static_cast<transfer_kind>(c.phase); }
  [[nodiscard]] static bool transfers(const command& c) noexcept {
    return kind_of(c) == transfer_kind::send || kind_of(c) == transfer_kind::recv;
  }
  void wake(std::uint32_t rank) {
    for (std::size_t role = 0; role < 3; ++role) awake.push_back(3 * std::size_t{rank} + role);
  }
  [[nodiscard]] std::uint32_t request(std::uint32_t rank, const command& c) const {
    return program.steps(rank)[c.id].request;
  }
  void post(std::uint32_t rank, const command& c) {
    pairs.end_of(rank, c.id).posted = true;
    wake(pairs.end_of(rank, c.id).peer);
  }
  /// Whether the call at the head of a lane is over; posts it first. A group goes out as one, at its end.
  [[nodiscard]] bool called(std::uint32_t rank, lane& l) {
    if (!l.posted) {
      l.posted = true;
      l.met = l.first;
      for (std::size_t i = l.first; i <= l.at; ++i)
        if (transfers(l.queue[i])) post(rank, l.queue[i]);
    }
    for (; l.met <= l.at; ++l.met)
      if (transfers(l.queue[l.met]) && !pairs.met(rank, request(rank, l.queue[l.met]))) return false;
    l.posted = false;
    return true;
  }
  void advance(std::size_t which) {
    lane& l = lanes[which];
    const auto rank = static_cast<std::uint32_t>(which / 3);
    for (; l.at < l.queue.size(); ++l.at) {
      const command& c = l.queue[l.at];
      if (!l.in_group) l.first = l.at;
      if (c.kind == command_kind::record) recorded[rank][c.id] = true, wake(rank);
      if (kind_of(c) == transfer_kind::group_begin) l.in_group = true;
      const bool calls = kind_of(c) == transfer_kind::group_end || (transfers(c) && !l.in_group);
      if (c.kind == command_kind::wait ? !recorded[rank][c.id] : calls && !called(rank, l)) return;
      if (kind_of(c) == transfer_kind::group_end) l.in_group = false;
    }
  }
  result<void> play() {
    for (std::uint32_t r = program.ranks(); r-- > 0;) wake(r);
    while (!awake.empty()) {
      const std::size_t which = awake.back();
      awake.pop_back();
      advance(which);
    }
    bool all_done = true;
    for (std::size_t which = 0; which < lanes.size(); ++which) {
      const lane& l = lanes[which];
      if (l.at == l.queue.size()) continue;
      all_done = false;
      if (l.queue[l.at].kind != command_kind::run) continue;  // waits for a lane of its own rank, which is found, too
      const auto rank = static_cast<std::uint32_t>(which / 3);
      const auto& end = pairs.end_of(rank, l.queue[l.met].id);
      return error{errc::transfer_deadlock, rank, end.step, end.peer, end.peer_step};
    }
    HOCKET_ASSERT(all_done);
    static_cast<void>(all_done);
    return {};
  }
};

}  // namespace detail

/// Whether `device_commands` of all ranks can finish on these streams, if nothing is buffered: a transfer holds up its
/// stream until the peer's stream comes to the other end, a group until all of its transfers have met, and a wait until
/// its record is reached. Exact where `transfer_model::in_order` takes a rank for one stream: what that accepts is
/// fine on any streams; what it refuses may be fine on three.
/// @return errc::transfer_deadlock with one of those that stand: rank and step, the peer and the step that it needs;
///         the errors of check_transfers and of device_commands
/// Complexity: O(steps + transfers · log transfers) for all ranks together.
///
///     if (const auto fits = check_device_commands(program, {0, 1, 2}); !fits) return fits.error();
[[nodiscard]] inline result<void> check_device_commands(const pipeline_program& program,
                                                        const pipeline_stream_numbers& streams = {}) {
  std::vector<std::span<const transfer_command>> lists;
  for (std::uint32_t r = 0; r < program.ranks(); ++r) lists.push_back(program.steps(r));
  detail::device_stream_checker checker{
      program, detail::transfer_checker(lists, transfer_model::in_order, std::pmr::get_default_resource())};
  if (const auto matched = checker.pairs.match(); !matched) return matched.error();
  checker.lanes.resize(3 * std::size_t{program.ranks()});
  for (std::uint32_t r = 0; r < program.ranks(); ++r) {
    const auto list = device_commands(program, r, streams);
    if (!list) return list.error();
    checker.recorded.emplace_back(list->event_count());
    for (const command& c : *list) {
      const std::size_t role = c.stream == streams.compute ? 0 : c.stream == streams.recv ? 1 : 2;
      checker.lanes[3 * std::size_t{r} + role].queue.push_back(c);
    }
  }
  return checker.play();
}

}  // namespace hocket::inline HOCKET_ABI::launch
