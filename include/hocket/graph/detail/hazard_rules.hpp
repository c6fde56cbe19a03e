// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/dependency_options.hpp>
#include <hocket/graph/detail/storage_map.hpp>
#include <hocket/graph/detail/variable_table.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/rule.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The state of the rules between two ops: per variable, or piece of storage, its last writer and the ops that read it
// since; per resource its last user; the last barriers.
class hazard_rules {
 public:
  hazard_rules(dependency_options options, std::pmr::memory_resource* memory)
      : options_(options),
        table_(memory),
        resources_(memory),
        storage_(memory),
        read_ranges_(memory),
        written_ranges_(memory),
        free_slots_(memory),
        variables_(memory),
        readers_(memory),
        reads_(memory),
        writes_(memory),
        used_(memory),
        last_user_(memory),
        controls_(memory),
        preds_(memory),
        offered_(memory),
        subjects_(memory),
        resource_of_(memory),
        reasons_(memory) {}

  // What the next op does.
  template <class V>
  void read(const V& v) {
    if constexpr (std::is_same_v<V, storage_range>) report(v, read_ranges_);
    else reads_.push_back(slot(v));
  }
  template <class V>
  void write(const V& v) {
    if constexpr (std::is_same_v<V, storage_range>) report(v, written_ranges_);
    else writes_.push_back(slot(v));
  }
  // Remembers the first range that is none.
  void refuse(const storage_range& range) {
    if (!bad_range_) bad_range_ = range;
  }
  void use(ordered_resource r) {
    if (!options_.chains(r.kind)) return;
    const std::uint32_t s = resources_.slot(std::uint64_t{r.id} * op_kind_count + static_cast<std::uint64_t>(r.kind));
    if (s >= last_user_.size()) {
      last_user_.resize(s + std::size_t{1}, no_id);
      resource_of_.resize(s + std::size_t{1});
    }
    resource_of_[s] = r;
    used_.push_back(s);
  }
  void wait_for(node_id earlier) { controls_.push_back(earlier); }
  void separate(barrier what) noexcept { barrier_ = what; }  // of each op, or of none

  // The distinct ops that op b must wait for, in no order, save that those which share data with it come first.
  std::span<const node_id> predecessors(node_id b) {
    preds_.clear();
    reasons_.clear();
    resolve_ranges();
    offered_.push_back(no_id);
    for (const std::uint32_t v : reads_) offer(variables_[v].writer, b, rule::read_after_write, v);
    for (const std::uint32_t v : writes_) {
      // Whoever read the last value waits for its writer already.
      if (variables_[v].readers == no_id) offer(variables_[v].writer, b, rule::write_after_write, v);
      // Lists of pieces that were one share their ends: what b has seen it need not walk again.
      for (std::uint32_t r = variables_[v].readers; r != no_id && readers_[r].seen_by != b; r = readers_[r].next) {
        readers_[r].seen_by = b;
        offer(readers_[r].op, b, rule::write_after_read, v);
      }
    }
    data_ = preds_.size();
    if (options_.sequential && b != 0) offer(b - 1, b, rule::sequential, 0);
    for (const std::uint32_t r : used_) offer(last_user_[r], b, rule::collective, r);
    for (const node_id a : controls_) offer(a, b, rule::control, 0);

    // Barriers without an edge to every op. Only an op that nobody waits for yet can lack an order before a barrier,
    // and the barrier before that one settled all earlier ops: each op is looked at once.
    if (barrier_ == barrier::before || barrier_ == barrier::both) {
      for (node_id a = settled_; a < b; ++a)
        if (offered_[a] == no_id) offer(a, b, rule::barrier, 0);
      settled_ = b;
    }
    // Whatever comes later than a barrier runs after it, so an op with a predecessor that is no earlier needs no edge.
    if (gate_ != no_id) {
      bool behind = false;
      for (const node_id a : preds_) behind = behind || a >= gate_;
      if (!behind) offer(gate_, b, rule::barrier, 0);
    }
    return preds_;
  }
  // How many of the predecessors share data with the op.
  [[nodiscard]] std::size_t data_predecessors() const noexcept { return data_; }
  // The first range that was refused, or reported without a byte in it.
  [[nodiscard]] const std::optional<storage_range>& bad_range() const noexcept { return bad_range_; }
  // Why each of them is one.
  [[nodiscard]] std::span<const reason> reasons() const noexcept { return reasons_; }

  // Op b has run, as far as the following ops are concerned.
  void done(node_id b) {
    for (const std::uint32_t v : reads_) {
      variable& var = variables_[v];
      if (var.readers == no_id || readers_[var.readers].op != b) remember(var, b);
    }
    for (const std::uint32_t v : writes_) {
      release(variables_[v].readers);
      variables_[v] = {b, no_id};
    }
    for (const storage_range& range : written_ranges_)
      storage_.unite(range, [this](std::uint32_t s) { free_slots_.push_back(s); });
    for (const std::uint32_t r : used_) last_user_[r] = b;
    if (barrier_ == barrier::after || barrier_ == barrier::both) gate_ = b;
    reads_.clear();
    writes_.clear();
    read_ranges_.clear();
    written_ranges_.clear();
    used_.clear();
    controls_.clear();
  }

 private:
  struct variable {
    node_id writer = no_id;
    std::uint32_t readers = no_id;  // a list in readers_, latest first
  };
  struct reader {
    node_id op;
    std::uint32_t next;
    std::uint32_t owners;  // lists that begin here, or readers that it follows
    node_id seen_by;       // the last op that walked over it
  };

  template <class V>
  std::uint32_t slot(const V& v) {
    const std::uint32_t s = table_.slot(v);
    if (s >= variables_.size()) {
      variables_.resize(s + std::size_t{1});
      subjects_.push_back(variable_table::number_of(v, s));
    }
    return s;
  }
  void report(const storage_range& range, std::pmr::vector<storage_range>& into) {
    if (range.first < range.end) into.push_back(range);
    else refuse(range);
  }
  // The pieces of the ranges join the reads and writes.
  void resolve_ranges() {
    const std::size_t reads = reads_.size(), writes = writes_.size();
    if (resolve_whole(read_ranges_, reads_) && resolve_whole(written_ranges_, writes_)) {
      written_ranges_.clear();  // each is one piece already
    } else {
      reads_.resize(reads);
      writes_.resize(writes);
      // All ranges cut what they cut before the first is resolved.
      for (const storage_range& range : read_ranges_) for_each_piece(range, [](std::uint32_t) {});
      for (const storage_range& range : written_ranges_) for_each_piece(range, [](std::uint32_t) {});
      for (const storage_range& range : read_ranges_)
        for_each_piece(range, [this](std::uint32_t s) { reads_.push_back(s); });
      for (const storage_range& range : written_ranges_)
        for_each_piece(range, [this](std::uint32_t s) { writes_.push_back(s); });
    }
  }
  // The usual case: each range is a tensor that others touch as a whole.
  bool resolve_whole(std::span<const storage_range> ranges, std::pmr::vector<std::uint32_t>& into) {
    for (const storage_range& range : ranges) {
      const auto slot = storage_.whole_piece(range, [&] { return slot_of_piece(range.first, {}); });
      if (!slot) return false;
      into.push_back(*slot);
    }
    return true;
  }
  template <class F>
  void for_each_piece(const storage_range& range, F&& f) {
    const auto fresh = [&] { return slot_of_piece(range.first, {}); };
    const auto copy = [&](std::uint32_t whole) {
      if (variables_[whole].readers != no_id) ++readers_[variables_[whole].readers].owners;
      return slot_of_piece(range.first, variables_[whole]);
    };
    storage_.for_each_piece(range, fresh, copy, f);
  }
  std::uint32_t slot_of_piece(std::uint64_t subject, variable state) {
    std::uint32_t s;
    if (free_slots_.empty()) {
      s = table_.unnamed_slot();
      variables_.resize(s + std::size_t{1});
      subjects_.resize(variables_.size());
    } else {
      s = free_slots_.back();
      free_slots_.pop_back();
    }
    variables_[s] = state;
    subjects_[s] = subject;
    return s;
  }
  void offer(node_id a, node_id b, rule why, std::uint32_t subject) {
    if (a == no_id || offered_[a] == b) return;
    offered_[a] = b;
    preds_.push_back(a);
    reason r{why, 0};
    if (why <= rule::write_after_read) r.subject = subjects_[subject];
    if (why == rule::collective) {
      const ordered_resource used = resource_of_[subject];
      r.subject = used.id;
      r.rule = used.kind == op_kind::random ? rule::random : used.kind == op_kind::io ? rule::io : rule::collective;
    }
    reasons_.push_back(r);
  }
  void remember(variable& var, node_id b) {
    std::uint32_t r = free_;
    if (r == no_id) {
      HOCKET_ASSERT(readers_.size() < no_id);
      r = static_cast<std::uint32_t>(readers_.size());
      readers_.push_back({});
    } else {
      free_ = readers_[r].next;
    }
    readers_[r] = {b, var.readers, 1, no_id};
    var.readers = r;
  }
  // Gives back what only the list from r on owns.
  void release(std::uint32_t r) noexcept {
    while (r != no_id && --readers_[r].owners == 0) {
      const std::uint32_t next = std::exchange(readers_[r].next, free_);
      free_ = std::exchange(r, next);
    }
  }

  dependency_options options_;
  variable_table table_, resources_;
  storage_map storage_;
  std::pmr::vector<storage_range> read_ranges_, written_ranges_;  // of the op at hand
  std::pmr::vector<std::uint32_t> free_slots_;                    // of pieces that were united with others
  std::optional<storage_range> bad_range_;
  std::pmr::vector<variable> variables_;
  std::pmr::vector<reader> readers_;
  std::uint32_t free_ = no_id;
  std::pmr::vector<std::uint32_t> reads_, writes_, used_;  // of the op at hand
  std::pmr::vector<node_id> last_user_;                    // per resource
  std::pmr::vector<node_id> controls_;
  std::pmr::vector<node_id> preds_;
  std::pmr::vector<node_id> offered_;         // per op: the last op that it was offered to
  std::pmr::vector<std::uint64_t> subjects_;  // per variable
  std::pmr::vector<ordered_resource> resource_of_;
  std::pmr::vector<reason> reasons_;
  std::size_t data_ = 0;
  node_id settled_ = 0;   // earlier ops run before an op that waited for all of them
  node_id gate_ = no_id;  // the last op that all later ones wait for
  barrier barrier_ = barrier::none;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
