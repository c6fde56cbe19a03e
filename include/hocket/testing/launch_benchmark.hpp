// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What there is to measure about a backend and a transport, as functions without a framework: a host runs them on its
// own types, with any driver. benchmarks/ has two drivers.
#pragma once
#include <hocket/launch/drive.hpp>
#include <hocket/launch/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

/// Ops one after the other, each on the next stream: every hop is a record, a wait and the stream's wake-up.
/// Preconditions: 1 <= streams <= stream_limit, hops < 2^30.
[[nodiscard]] inline launch::command_list ring_list(std::uint16_t streams, std::uint32_t hops) {
  std::vector<launch::command> out;
  for (node_id hop = 0; hop < hops; ++hop) {
    const auto s = static_cast<std::uint16_t>(hop % streams);
    if (hop > 0) out.push_back(launch::wait_event(hop - 1, s));
    out.push_back(launch::run_op(hop, s));
    out.push_back(launch::record_event(hop, s));
  }
  return launch::command_list::make(out, streams).value();
}

/// The floor of `drive`: the same calls by a loop that somebody would write for this plan, the failures looked at.
/// @return how many calls were made
template <launch::backend B, class L>
[[nodiscard]] std::size_t issue_by_hand(B& b, const launch::command_list& list,
                                        std::span<const typename B::stream_type> streams,
                                        std::span<const typename B::event_type> events, L&& launch) {
  std::size_t issued = 0;
  for (const launch::command& c : list) {
    typename B::status_type status{};
    if (c.kind == launch::command_kind::run) status = launch(c.id, streams[c.stream]);
    else if (c.kind == launch::command_kind::record) status = b.record(events[c.id], streams[c.stream]);
    else status = b.wait(streams[c.stream], events[c.id]);
    if (!B::ok(status)) break;
    ++issued;
  }
  return issued;
}

/// A plan from its list to the backend's calls: what a step costs the host.
/// @return how many calls were made
template <launch::backend B, class L>
[[nodiscard]] std::size_t issue_by_drive(B& b, const launch::command_list& list,
                                         std::span<const typename B::stream_type> streams,
                                         std::span<const typename B::event_type> events, L&& launch) {
  return launch::drive(b, list, streams, events, launch).issued;
}

/// The floor of `bounce`: the bytes of as many round trips, copied.
/// @return a byte that keeps the copies
[[nodiscard]] inline unsigned char copy_bytes(std::vector<unsigned char>& to, const std::vector<unsigned char>& from,
                                              std::size_t round_trips) {
  for (std::size_t i = 0; i < 2 * round_trips && !from.empty(); ++i) {
    to.resize(from.size());
    std::memcpy(to.data(), from.data(), from.size());
    to[0] = static_cast<unsigned char>(to[0] + i);
  }
  return to.empty() ? static_cast<unsigned char>(0) : to[0];
}

/// One message goes to the peer and comes back, again and again: the latency of small ones, the rate of large ones.
/// Both ranks call it, one of them with `begins`. Tags count from 0.
/// @return how many round trips ended without a failure
template <launch::host_transport T>
[[nodiscard]] std::size_t bounce(T& t, std::uint32_t peer, bool begins, std::span<unsigned char> memory,
                                 std::size_t round_trips) {
  const typename T::stream_type none{};
  const auto move = [&](bool sends, std::size_t i) {
    typename T::request_type request{};
    const auto tag = static_cast<std::uint32_t>(i);
    const auto posted = sends ? t.send(memory.data(), memory.size(), peer, tag, none, request)
                              : t.recv(memory.data(), memory.size(), peer, tag, none, request);
    return T::ok(posted) && T::ok(t.wait(request));
  };
  for (std::size_t i = 0; i < round_trips; ++i)
    if (!move(begins, i) || !move(!begins, i)) return i;
  return round_trips;
}

}  // namespace hocket::inline HOCKET_ABI::testing
