// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/dependency_options.hpp>
#include <hocket/graph/detail/variable_table.hpp>
#include <hocket/graph/op_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The state of the rules between two ops: per variable its last writer and the ops that read it since.
class hazard_rules {
 public:
  hazard_rules(dependency_options options, std::pmr::memory_resource* memory)
      : options_(options),
        table_(memory),
        variables_(memory),
        readers_(memory),
        reads_(memory),
        writes_(memory),
        preds_(memory),
        offered_(memory) {}

  template <class V>
  void read(const V& v) {
    reads_.push_back(slot(v));
  }
  template <class V>
  void write(const V& v) {
    writes_.push_back(slot(v));
  }

  // The distinct ops that op b must wait for, in no order.
  std::span<const node_id> predecessors(node_id b, op_kind kind) {
    preds_.clear();
    offered_.push_back(no_id);
    for (const std::uint32_t v : reads_) offer(variables_[v].writer, b);
    for (const std::uint32_t v : writes_) {
      // Whoever read the last value waits for its writer already.
      if (variables_[v].readers == no_id) offer(variables_[v].writer, b);
      for (std::uint32_t r = variables_[v].readers; r != no_id; r = readers_[r].next) offer(readers_[r].op, b);
    }
    if (options_.sequential && b != 0) offer(b - 1, b);
    if (options_.chains(kind)) offer(last_[static_cast<std::size_t>(kind)], b);
    return preds_;
  }

  // Op b has run, as far as the following ops are concerned.
  void done(node_id b, op_kind kind) {
    for (const std::uint32_t v : reads_) {
      variable& var = variables_[v];
      if (var.readers == no_id || readers_[var.readers].op != b) remember(var, b);
    }
    for (const std::uint32_t v : writes_) {
      while (variables_[v].readers != no_id) release(variables_[v]);
      variables_[v].writer = b;
    }
    last_[static_cast<std::size_t>(kind)] = b;
    reads_.clear();
    writes_.clear();
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
    if (s >= variables_.size()) variables_.resize(s + std::size_t{1});
    return s;
  }
  void offer(node_id a, node_id b) {
    if (a == no_id || offered_[a] == b) return;
    offered_[a] = b;
    preds_.push_back(a);
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
  variable_table table_;
  std::pmr::vector<variable> variables_;
  std::pmr::vector<reader> readers_;
  std::uint32_t free_ = no_id;
  std::pmr::vector<std::uint32_t> reads_, writes_;  // of the op at hand
  std::pmr::vector<node_id> preds_;
  std::pmr::vector<node_id> offered_;  // per op: the last op that it was offered to
  node_id last_[op_kind_count] = {no_id, no_id, no_id, no_id};
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
