// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/dependency_options.hpp>
#include <hocket/graph/detail/range_readers.hpp>
#include <hocket/graph/detail/reader_lists.hpp>
#include <hocket/graph/detail/storage_map.hpp>
#include <hocket/graph/detail/variable_table.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/rule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The state of the rules between two ops: per variable, or byte of storage, its last writer and the ops that read it
// since; per resource its last user; the last barriers.
class hazard_rules {
 public:
  hazard_rules(dependency_options options, std::pmr::memory_resource* memory)
      : options_(options),
        table_(memory),
        resources_(memory),
        storage_(memory),
        range_readers_(memory),
        read_ranges_(memory),
        written_ranges_(memory),
        whole_reads_(memory),
        whole_writes_(memory),
        met_(memory),
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
    offered_.push_back(no_id);
    for (const std::uint32_t v : reads_) offer(variables_[v].writer, b, {rule::read_after_write, subjects_[v]});
    if (!read_ranges_.empty() || !written_ranges_.empty()) offer_ranges(b);
    for (const std::uint32_t v : writes_) {
      // Whoever read the last value waits for its writer already.
      if (variables_[v].readers == no_id) offer(variables_[v].writer, b, {rule::write_after_write, subjects_[v]});
      offer_readers(variables_[v], b, subjects_[v]);
    }
    data_ = preds_.size();
    if (options_.sequential && b != 0) offer(b - 1, b, {rule::sequential, 0});
    for (const std::uint32_t r : used_) offer(last_user_[r], b, shared_use(r));
    for (const node_id a : controls_) offer(a, b, {rule::control, 0});

    // Barriers without an edge to every op. Only an op that nobody waits for yet can lack an order before a barrier,
    // and the barrier before that one settled all earlier ops: each op is looked at once.
    if (barrier_ == barrier::before || barrier_ == barrier::both) {
      for (node_id a = settled_; a < b; ++a)
        if (offered_[a] == no_id) offer(a, b, {rule::barrier, 0});
      settled_ = b;
    }
    // Whatever comes later than a barrier runs after it, so an op with a predecessor that is no earlier needs no edge.
    if (gate_ != no_id) {
      bool behind = false;
      for (const node_id a : preds_) behind = behind || a >= gate_;
      if (!behind) offer(gate_, b, {rule::barrier, 0});
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
      last_access& var = variables_[v];
      var.readers = readers_.push(var.readers, b);
    }
    for (const std::uint32_t v : writes_) {
      readers_.release(variables_[v].readers);
      variables_[v] = {b, no_id};
    }
    for (std::size_t i = 0; i < read_ranges_.size(); ++i) read_range(read_ranges_[i], whole_reads_[i], b);
    for (std::size_t i = 0; i < written_ranges_.size(); ++i) write_range(written_ranges_[i], whole_writes_[i], b);
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
  // Ranges by first byte, each byte in one of them.
  static void unite(std::pmr::vector<storage_range>& ranges) {
    if (ranges.size() < 2) return;
    std::sort(ranges.begin(), ranges.end());
    std::size_t kept = 1;
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      storage_range& last = ranges[kept - 1];
      if (ranges[i].overlaps(last)) last.end = (std::max)(last.end, ranges[i].end);
      else ranges[kept++] = ranges[i];
    }
    ranges.resize(kept);
  }
  // The usual range is a tensor that others touch as a whole: its piece is looked up once for an op.
  void find_whole(std::span<const storage_range> ranges, std::pmr::vector<last_access*>& into) {
    into.clear();
    for (const storage_range& range : ranges) into.push_back(storage_.whole_piece(range));
  }
  template <class F>
  void for_each_piece(const storage_range& range, const last_access* whole, F&& f) const {
    if (whole != nullptr) f(range, *whole);
    else storage_.for_each_piece(range, f);
  }
  void offer_ranges(node_id b) {
    unite(read_ranges_);
    unite(written_ranges_);
    find_whole(read_ranges_, whole_reads_);
    find_whole(written_ranges_, whole_writes_);
    for (std::size_t i = 0; i < read_ranges_.size(); ++i)
      for_each_piece(read_ranges_[i], whole_reads_[i], [&](const storage_range& piece, const last_access& last) {
        offer(last.writer, b, {rule::read_after_write, piece.first});
      });
    for (std::size_t i = 0; i < written_ranges_.size(); ++i) {
      const storage_range& range = written_ranges_[i];
      met_.clear();
      range_readers_.for_each_overlap(range, [&](const storage_range& read, node_id op) {
        offer(op, b, {rule::write_after_read, read.first});
        met_.push_back(read);
      });
      // Whoever read of a piece waits for its writer already.
      std::size_t next = 0;
      std::uint64_t read_up_to = 0;
      for_each_piece(range, whole_writes_[i], [&](const storage_range& piece, const last_access& last) {
        for (; next < met_.size() && met_[next].first < piece.end; ++next)
          read_up_to = (std::max)(read_up_to, met_[next].end);
        offer_readers(last, b, piece.first);
        if (last.readers == no_id && read_up_to <= piece.first)
          offer(last.writer, b, {rule::write_after_write, piece.first});
      });
    }
  }
  void offer_readers(const last_access& last, node_id b, std::uint64_t subject) {
    readers_.for_each(last.readers, [&](node_id op) { offer(op, b, {rule::write_after_read, subject}); });
  }
  void read_range(const storage_range& range, last_access* whole, node_id b) {
    if (whole != nullptr) whole->readers = readers_.push(whole->readers, b);
    else range_readers_.insert(range, b);
  }
  // What is looked up as a whole stays where it is: the ranges that an op writes do not overlap.
  void write_range(const storage_range& range, last_access* whole, node_id b) {
    if (whole != nullptr) {
      readers_.release(whole->readers);
      *whole = {b, no_id};
    } else {
      cut_range(range, b);
    }
    range_readers_.take_out(range);
  }
  void cut_range(const storage_range& range, node_id b) {
    storage_.write(range, b, [&](const storage_range& piece, std::uint32_t readers) {
      const bool covered = piece.first >= range.first && piece.end <= range.end;
      if (!covered)  // they read what is left of it, too
        readers_.for_each(readers, [&](node_id op) { range_readers_.insert(piece, op); });
      readers_.release(readers);
    });
  }
  void offer(node_id a, node_id b, reason why) {
    if (a == no_id || offered_[a] == b) return;
    offered_[a] = b;
    preds_.push_back(a);
    reasons_.push_back(why);
  }
  // Why ops that use one resource are in order.
  [[nodiscard]] reason shared_use(std::uint32_t resource) const {
    const ordered_resource used = resource_of_[resource];
    const rule why = used.kind == op_kind::random ? rule::random
                   : used.kind == op_kind::io     ? rule::io
                                                  : rule::collective;
    return {why, used.id};
  }

  dependency_options options_;
  variable_table table_, resources_;
  storage_map storage_;
  range_readers range_readers_;
  std::pmr::vector<storage_range> read_ranges_, written_ranges_;  // of the op at hand
  std::pmr::vector<last_access*> whole_reads_, whole_writes_;     // their pieces, where each is just one
  std::pmr::vector<storage_range> met_;                           // reads that a write overlaps
  std::optional<storage_range> bad_range_;
  std::pmr::vector<last_access> variables_;
  reader_lists readers_;
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
