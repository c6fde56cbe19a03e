// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/command.hpp>

#include <algorithm>

namespace launch_test {

using hocket::node_id;
using hocket::launch::command;
using hocket::launch::command_kind;
using hocket::launch::command_list;

/// What a command list promises: which ops happen before which, whatever the streams' speeds. Computed with vector
/// clocks (Fidge, Mattern 1988) from nothing but the rules of streams and events. So it shares no code with the planner
/// and can judge it: a plan is right if this order contains the graph's, and tight if it adds only the streams' FIFO.
/// Memory: 4 bytes x ops x streams.
///
///     launch_test::issue_order order(list);
///     order.before(order.find(3), order.find(7));     // op 3 always finishes before op 7 starts
class issue_order {
 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  /// Complexity: O(commands x streams).
  explicit issue_order(const command_list& list) {
    const std::size_t streams = streams_ = list.stream_count();
    std::vector<std::uint32_t> now(streams * streams);                     // per stream: its clock
    std::vector<std::uint32_t> event_clock(list.event_count() * streams);  // per event: clock of its latest record
    clocks_.reserve(list.op_count() * streams);
    ops_.reserve(list.op_count());
    for (const command& c : list) {
      std::uint32_t* clock = now.data() + c.stream * streams;
      std::uint32_t* event = c.kind == command_kind::run ? nullptr : event_clock.data() + c.id * streams;
      if (c.kind == command_kind::run) {
        ++clock[c.stream];
        clocks_.insert(clocks_.end(), clock, clock + streams);
        ops_.push_back(c);
      } else if (c.kind == command_kind::record) {
        std::copy(clock, clock + streams, event);
      } else {
        for (std::size_t s = 0; s < streams; ++s) clock[s] = clock[s] < event[s] ? event[s] : clock[s];
      }
    }
    by_op_.resize(ops_.size());
    for (std::size_t i = 0; i < by_op_.size(); ++i) by_op_[i] = static_cast<std::uint32_t>(i);
    std::sort(by_op_.begin(), by_op_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
  }

  /// Number of run commands. They are numbered from 0 in issue order.
  [[nodiscard]] std::size_t size() const noexcept { return ops_.size(); }
  [[nodiscard]] command op(std::size_t i) const noexcept { return ops_[i]; }

  /// The first run command of (op, phase), or npos. O(log ops).
  [[nodiscard]] std::size_t find(node_id op, std::uint8_t phase = 0) const noexcept {
    const std::uint64_t wanted = std::uint64_t{op} << 8 | phase;
    const auto at = std::lower_bound(by_op_.begin(), by_op_.end(), wanted,
                                     [&](std::uint32_t i, std::uint64_t k) { return key(i) < k; });
    return at != by_op_.end() && key(*at) == wanted ? *at : npos;
  }

  /// Whether run command `a` always finishes before `b` starts. O(1).
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const noexcept {
    HOCKET_ASSERT(a < size() && b < size());
    const std::size_t lane = ops_[a].stream;
    return a != b && clocks_[a * streams_ + lane] <= clocks_[b * streams_ + lane];
  }

 private:
  [[nodiscard]] std::uint64_t key(std::uint32_t i) const noexcept {
    return std::uint64_t{ops_[i].id} << 8 | ops_[i].phase;
  }

  std::size_t streams_ = 0;
  std::vector<std::uint32_t> clocks_;  // ops x streams: how many ops of each stream happen before or are this one
  std::vector<command> ops_;
  std::vector<std::uint32_t> by_op_;
};

}  // namespace launch_test
