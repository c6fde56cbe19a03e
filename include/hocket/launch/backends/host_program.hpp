// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/command.hpp>
#include <hocket/launch/detail/host_signal.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

/// A command list compiled for replay on host threads: one slice of steps per thread, and events as counters.
/// Nothing is queued during a replay; a thread walks its slice. Waits that the thread's own order or an earlier wait
/// already implies are left out, and so are records that nobody waits for.
/// Compile once, run often; one run after the other (`host_backend::submit`), on one backend or, once idle, on another.
/// Must outlive its runs.
///
///     list      run 0 @0 | record e @0 | wait e @1 | run 1 @1 | run 2 @0
///     slice 0   run 0, record 1, run 2              counter 0 goes from r * 1 to r * 1 + 1 in run r
///     slice 1   wait until counter 0 is r * 1 + 1, run 1
///
///     hocket::launch::host_program program(list);           // one thread per stream
///     hocket::launch::host_program serial(list, 1);         // all streams on one thread
class host_program {
 public:
  /// @param threads  stream s runs on thread s mod `threads`. Fewer threads than streams is always safe: a thread
  ///                 walks its streams' commands in issue order, which is topological. 0: one per stream
  /// Complexity: O(commands + events + threads^2).
  explicit host_program(const command_list& list, std::uint32_t threads = 0)
      : slices_(threads == 0 || threads > list.stream_count() ? list.stream_count() : threads),
        records_(slices_.size()),
        signals_(std::make_unique<detail::host_signal[]>(slices_.size())) {
    if (slices_.empty()) return;
    bound_list bound = bind(list);
    for (made_record& r : bound.records)
      if (r.awaited) r.number = ++records_[r.thread];
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      const command c = list[i];
      step s{.index = i, .what = c, .number = 0, .thread = 0};
      if (c.kind != command_kind::run) {
        if (bound.record_of[i] == no_id) continue;
        const made_record& r = bound.records[bound.record_of[i]];
        if (!r.awaited) continue;
        s.number = r.number;
        s.thread = r.thread;
      }
      slices_[thread_of(c)].push_back(s);
    }
  }

  [[nodiscard]] std::uint32_t thread_count() const noexcept { return static_cast<std::uint32_t>(slices_.size()); }
  /// Waits that a replay performs, over all threads.
  [[nodiscard]] std::size_t wait_count() const noexcept {
    std::size_t count = 0;
    for (const auto& slice : slices_)
      for (const step& s : slice) count += s.what.kind == command_kind::wait;
    return count;
  }

 private:
  friend class host_backend;
  struct step {
    std::uint32_t index;  // place in the list
    command what;
    std::uint32_t number;  // record, wait: the count of `thread`'s signal, within one run
    std::uint32_t thread;
  };
  // The `ordinal`-th record of `thread`, from 1; `number`: the same among those that somebody waits for.
  struct made_record {
    std::uint32_t thread = 0;
    std::uint32_t ordinal = 0;
    std::uint32_t number = 0;
    bool awaited = false;
  };
  struct bound_list {
    std::vector<made_record> records;
    std::vector<std::uint32_t> record_of;  // by command: its record; no_id for ops and for waits that are implied
  };

  [[nodiscard]] std::uint32_t thread_of(const command& c) const noexcept { return c.stream % thread_count(); }

  // Which record each wait binds to, and which waits are needed.
  [[nodiscard]] bound_list bind(const command_list& list) const {
    const std::uint32_t threads = thread_count();
    bound_list bound{{}, std::vector<std::uint32_t>(list.size(), no_id)};
    std::vector<std::uint32_t> latest(list.event_count());            // by event: its latest record
    std::vector<std::uint32_t> made_by(threads);                      // by thread: records so far
    std::vector<std::uint32_t> seen(std::size_t{threads} * threads);  // [waiter][recorder]: highest ordinal waited for
    for (std::size_t i = 0; i < list.size(); ++i) {
      const command c = list[i];
      const std::uint32_t thread = thread_of(c);
      if (c.kind == command_kind::record) {
        bound.record_of[i] = latest[c.id] = static_cast<std::uint32_t>(bound.records.size());
        bound.records.push_back({.thread = thread, .ordinal = ++made_by[thread]});
      } else if (c.kind == command_kind::wait) {
        made_record& r = bound.records[latest[c.id]];
        std::uint32_t& known = seen[std::size_t{thread} * threads + r.thread];
        if (r.thread == thread || r.ordinal <= known) continue;
        known = r.ordinal;
        r.awaited = true;
        bound.record_of[i] = latest[c.id];
      }
    }
    return bound;
  }

  std::vector<std::vector<step>> slices_;
  std::vector<std::uint32_t> records_;  // per thread: records in one run
  std::unique_ptr<detail::host_signal[]> signals_;
  std::uint64_t runs_ = 0;  // submitted so far: run r counts from r * records_[thread]
  // The backend of the latest run: what the signals say about failures is about that one alone. Weak, since it may be
  // gone, and a pointer could not tell another one at the same address.
  std::weak_ptr<const void> last_backend_;
};

}  // namespace hocket::inline HOCKET_ABI::launch
