// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/dependency_options.hpp>
#include <hocket/graph/detail/variable_table.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/rule.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The state of the rules between two ops: per variable its last writer and the ops that read it since; per resource its
// last user; the last barriers. Reasons: whether each predecessor comes with why; costs nothing if not.
template <bool Reasons>
class hazard_rules {
 public:
  hazard_rules(dependency_options options, std::pmr::memory_resource* memory)
      : options_(options),
        table_(memory),
        resources_(memory),
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
    reads_.push_back(slot(v));
  }
  template <class V>
  void write(const V& v) {
    writes_.push_back(slot(v));
  }
  void use(ordered_resource r) {
    if (!options_.chains(r.kind)) return;
    const std::uint32_t s = resources_.slot(std::uint64_t{r.id} * op_kind_count + static_cast<std::uint64_t>(r.kind));
    if (s >= last_user_.size()) {
      last_user_.resize(s + std::size_t{1}, no_id);
      if constexpr (Reasons) resource_of_.resize(s + std::size_t{1});
    }
    if constexpr (Reasons) resource_of_[s] = r;
    used_.push_back(s);
  }
  void wait_for(node_id earlier) { controls_.push_back(earlier); }
  void separate(barrier what) noexcept { barrier_ = what; }

  // The distinct ops that op b must wait for, in no order, save that those which share data with it come first.
  std::span<const node_id> predecessors(node_id b) {
    preds_.clear();
    if constexpr (Reasons) reasons_.clear();
    offered_.push_back(no_id);
    for (const std::uint32_t v : reads_) offer(variables_[v].writer, b, rule::read_after_write, v);
    for (const std::uint32_t v : writes_) {
      // Whoever read the last value waits for its writer already.
      if (variables_[v].readers == no_id) offer(variables_[v].writer, b, rule::write_after_write, v);
      for (std::uint32_t r = variables_[v].readers; r != no_id; r = readers_[r].next)
        offer(readers_[r].op, b, rule::write_after_read, v);
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
  // Why each of them is one.
  [[nodiscard]] std::span<const reason> reasons() const noexcept { return reasons_; }

  // Op b has run, as far as the following ops are concerned.
  void done(node_id b) {
    for (const std::uint32_t v : reads_) {
      variable& var = variables_[v];
      if (var.readers == no_id || readers_[var.readers].op != b) remember(var, b);
    }
    for (const std::uint32_t v : writes_) {
      while (variables_[v].readers != no_id) release(variables_[v]);
      variables_[v].writer = b;
    }
    for (const std::uint32_t r : used_) last_user_[r] = b;
    if (barrier_ == barrier::after || barrier_ == barrier::both) gate_ = b;
    reads_.clear();
    writes_.clear();
    used_.clear();
    controls_.clear();
    barrier_ = barrier::none;
  }

 private:
  struct variable {
    node_id writer = no_id;
    std::uint32_t readers = no_id;  // a list in readers_, latest first
  };
  struct reader {
    node_id op;
    std::uint32_t next;
  };

  template <class V>
  std::uint32_t slot(const V& v) {
    const std::uint32_t s = table_.slot(v);
    if (s >= variables_.size()) {
      variables_.resize(s + std::size_t{1});
      if constexpr (Reasons) subjects_.push_back(variable_table::number_of(v, s));
    }
    return s;
  }
  void offer(node_id a, node_id b, rule why, std::uint32_t subject) {
    if (a == no_id || offered_[a] == b) return;
    offered_[a] = b;
    preds_.push_back(a);
    if constexpr (Reasons) {
      reason r{why, 0};
      if (why <= rule::write_after_read) r.subject = subjects_[subject];
      if (why == rule::collective) {
        const ordered_resource used = resource_of_[subject];
        r.subject = used.id;
        r.rule = used.kind == op_kind::random ? rule::random : used.kind == op_kind::io ? rule::io : rule::collective;
      }
      reasons_.push_back(r);
    } else {
      static_cast<void>(why), static_cast<void>(subject);
    }
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
    readers_[r] = {b, var.readers};
    var.readers = r;
  }
  void release(variable& var) noexcept {
    const std::uint32_t r = var.readers;
    var.readers = readers_[r].next;
    readers_[r].next = free_;
    free_ = r;
  }

  dependency_options options_;
  variable_table table_, resources_;
  std::pmr::vector<variable> variables_;
  std::pmr::vector<reader> readers_;
  std::uint32_t free_ = no_id;
  std::pmr::vector<std::uint32_t> reads_, writes_, used_;  // of the op at hand
  std::pmr::vector<node_id> last_user_;                    // per resource
  std::pmr::vector<node_id> controls_;
  std::pmr::vector<node_id> preds_;
  std::pmr::vector<node_id> offered_;         // per op: the last op that it was offered to
  std::pmr::vector<std::uint64_t> subjects_;  // per variable, with Reasons
  std::pmr::vector<ordered_resource> resource_of_;
  std::pmr::vector<reason> reasons_;
  std::size_t data_ = 0;
  node_id settled_ = 0;   // earlier ops run before an op that waited for all of them
  node_id gate_ = no_id;  // the last op that all later ones wait for
  barrier barrier_ = barrier::none;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
