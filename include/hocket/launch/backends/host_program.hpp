// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/command.hpp>
#include <hocket/launch/detail/host_signal.hpp>

#include <algorithm>
#include <memory>

namespace hocket::inline HOCKET_ABI::launch {

/// A command list compiled for replay on host threads: one slice of steps per thread, and events as counters.
/// Nothing is queued during a replay; a thread walks its slice. Waits that the thread's own order or an earlier wait
/// already implies are left out, and so are records that nobody waits for.
/// Compile once, run often; one run after the other (`host_backend::submit`), on one backend or, once idle, on another.
/// Must outlive its runs.
///
///     hocket::launch::host_program program(list);           // one thread per stream
///     auto serial  = hocket::launch::host_program(list, 1);        // all streams on one thread
class host_program {
 public:
  /// @param threads  stream s runs on thread s mod `threads`. Fewer threads than streams is always safe: a thread
  ///                 walks its streams' commands in issue order, which is topological. 0: one per stream
  /// Complexity: O(commands + events + threads^2).
  explicit host_program(const command_list& list, std::uint32_t threads = 0) {
    if (threads == 0 || threads > list.stream_count()) threads = list.stream_count();
    slices_.resize(threads);
    records_.resize(threads);
    signals_ = std::make_unique<detail::host_signal[]>(threads);
    if (threads == 0) return;

    // A record made by `thread`, the `ordinal`-th of that thread (from 1); `number`: the same among those waited for.
    struct made {
      std::uint32_t thread, ordinal, number;
    };
    std::vector<made> records;
    std::vector<std::uint32_t> bound(list.size());          // per record or wait: index into records; kept waits only
    std::vector<std::uint32_t> latest(list.event_count());  // per event
    std::vector<std::uint32_t> made_by(threads);
    std::vector<std::uint32_t> seen(std::size_t{threads} * threads);  // [waiter][recorder]: highest ordinal waited for
    for (std::size_t i = 0; i < list.size(); ++i) {
      const command& c = list[i];
      const std::uint32_t thread = c.stream % threads;
      if (c.kind == command_kind::record) {
        bound[i] = latest[c.id] = static_cast<std::uint32_t>(records.size());
        records.push_back({thread, ++made_by[thread], 0});
      } else if (c.kind == command_kind::wait) {
        made& r = records[latest[c.id]];
        std::uint32_t& known = seen[std::size_t{thread} * threads + r.thread];
        const bool implied = r.thread == thread || r.ordinal <= known;
        bound[i] = implied ? no_id : latest[c.id];
        if (!implied) known = r.ordinal, r.number = 1;
      }
    }
    for (made& r : records)
      if (r.number != 0) r.number = ++records_[r.thread];

    for (std::size_t i = 0; i < list.size(); ++i) {
      const command& c = list[i];
      step s{.index = static_cast<std::uint32_t>(i), .what = c, .number = 0, .thread = 0};
      if (c.kind != command_kind::run) {
        if (bound[i] == no_id || records[bound[i]].number == 0) continue;
        s.number = records[bound[i]].number;
        s.thread = records[bound[i]].thread;
      }
      slices_[c.stream % threads].push_back(s);
    }
  }

  [[nodiscard]] std::uint32_t thread_count() const noexcept { return static_cast<std::uint32_t>(slices_.size()); }
  /// Waits that a replay performs, over all threads.
  [[nodiscard]] std::size_t wait_count() const noexcept {
    std::size_t n = 0;
    for (const auto& slice : slices_)
      n += static_cast<std::size_t>(
          std::count_if(slice.begin(), slice.end(), [](const step& s) { return s.what.kind == command_kind::wait; }));
    return n;
  }

 private:
  friend class host_backend;
  struct step {
    std::uint32_t index;  // place in the list
    command what;
    std::uint32_t number;  // record, wait: the count of `thread`'s signal, within one run
    std::uint32_t thread;
  };
  std::vector<std::vector<step>> slices_;
  std::vector<std::uint32_t> records_;  // per thread: records in one run
  std::unique_ptr<detail::host_signal[]> signals_;
  std::uint64_t runs_ = 0;  // submitted so far: run r counts from r * records_[thread]
  // The backend of the latest run: what the signals say about failures is about that one alone. Weak, since it may be
  // gone, and a pointer could not tell another one at the same address.
  std::weak_ptr<const void> last_backend_;
};

}  // namespace hocket::inline HOCKET_ABI::launch
