// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/detail/policy_members.hpp>
#include <hocket/graph/detail/variable_table.hpp>
#include <hocket/graph/issue_values.hpp>
#include <hocket/graph/storage_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

namespace detail {

// The borders between ranges of bytes: no range of the program begins or ends within a piece.
//
//    ranges  |-----------|          pieces |---|-------|-----|
//                |-------------|           0   1       2
class byte_pieces {
 public:
  void add(const storage_range& r) {
    borders_.emplace_back(r.space, r.first);
    borders_.emplace_back(r.space, r.end);
  }
  void finish() {
    std::sort(borders_.begin(), borders_.end());
    borders_.erase(std::unique(borders_.begin(), borders_.end()), borders_.end());
  }
  // f(number of a piece, its bytes) for each piece of a range that was added.
  template <class F>
  void for_each(const storage_range& r, F&& f) const {
    if (r.first >= r.end) return;  // no range: dependencies() refuses it
    auto at = std::lower_bound(borders_.begin(), borders_.end(), std::pair(r.space, r.first));
    for (; at->second != r.end; ++at)
      f(static_cast<std::size_t>(at - borders_.begin()), static_cast<std::int64_t>((at + 1)->second - at->second));
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> borders_;  // space, byte
};

// Follows variables through a program: which values they hold, one after the other.
class value_log {
 public:
  void read(std::size_t slot, node_id op) {
    held& h = at(slot);
    if (!h.is_open) {
      h.life = value_life::from_before;
      h.is_needed_before = true;
      h.is_open = true;
    }
    h.is_left = false;
    h.read_by = op;
    touch(h, op);
  }
  // fresh: what the variable held is gone, unless the same op has read it.
  void write(std::size_t slot, node_id op, std::int64_t bytes, bool fresh) {
    held& h = at(slot);
    const bool goes_on = h.is_open && (!fresh || h.read_by == op || h.ops.back() == op);
    if (!goes_on) {
      close(h, false);
      h.is_open = true;
    }
    h.bytes = (std::max)(h.bytes, bytes);
    h.is_left = true;
    touch(h, op);
  }
  // What stands at the end stays, if nobody has read it since or the next step reads it first.
  [[nodiscard]] issue_values finish() {
    for (held& h : slots_) close(h, h.is_left || h.is_needed_before);
    return std::move(values_);
  }

 private:
  struct held {
    std::vector<node_id> ops;
    std::int64_t bytes = 0;
    value_life life = value_life::within;
    node_id read_by = no_id;
    bool is_open = false, is_left = false, is_needed_before = false;
  };

  held& at(std::size_t slot) {
    if (slot >= slots_.size()) slots_.resize((std::max)(slot + 1, 2 * slots_.size()));
    return slots_[slot];
  }
  static void touch(held& h, node_id op) {
    if (h.ops.empty() || h.ops.back() != op) h.ops.push_back(op);
  }
  void close(held& h, bool stays) {
    const auto life = static_cast<unsigned>(h.life) | (stays ? 2u : 0u);
    if (h.is_open) values_.add(h.bytes, h.ops, static_cast<value_life>(life));
    h.ops.clear();
    h.bytes = 0;
    h.life = value_life::within;
    h.read_by = no_id;
  }

  std::vector<held> slots_;
  issue_values values_;
};

// The variables and pieces of bytes of a program, as slots of a log.
template <class P, class G, class BytesOf>
class value_reader {
 public:
  value_reader(const P& policy, const G& host, BytesOf& bytes_of)
      : policy_(policy), host_(host), bytes_of_(bytes_of), table_(std::pmr::get_default_resource()) {}

  [[nodiscard]] issue_values run() {
    each([this](const typename P::node& n, node_id) {
      const auto add = [this](const auto& v) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(v)>, storage_range>) pieces_.add(v);
      };
      policy_.for_each_read(host_, n, [&](const auto& v) { for_each_part(policy_, host_, v, add); });
      policy_.for_each_write(host_, n, [&](const auto& v) { for_each_part(policy_, host_, v, add); });
      if constexpr (tells_inplace<P, G>)
        policy_.for_each_inplace(host_, n, [&](const auto& v) { for_each_part(policy_, host_, v, add); });
    });
    pieces_.finish();
    each([this](const typename P::node& n, node_id op) {
      const auto read = [&](const auto& v) { reads(v, op); };
      policy_.for_each_read(host_, n, read);
      if constexpr (tells_inplace<P, G>) {
        policy_.for_each_inplace(host_, n, read);
        policy_.for_each_inplace(host_, n, [&](const auto& v) { writes(v, n, op); });
      }
      policy_.for_each_write(host_, n, [&](const auto& v) { writes(v, n, op); });
    });
    return log_.finish();
  }

 private:
  template <class F>
  void each(F&& f) {
    node_id op = 0;
    graph::detail::for_each_node(policy_, host_, [&](const typename P::node& n) { f(n, op++); });
  }

  // f(slot, bytes of a piece or -1, is the variable itself).
  template <class V, class F>
  void slots(const V& variable, F&& f) {
    for_each_part(policy_, host_, variable, [&](const auto& part) {
      using part_type = std::remove_cvref_t<decltype(part)>;
      if constexpr (std::same_as<part_type, storage_range>) {
        pieces_.for_each(part, [&](std::size_t piece, std::int64_t bytes) { f(2 * piece + 1, bytes, true); });
      } else {
        const std::size_t slot = table_.slot(part);
        bool itself = false;
        if constexpr (!std::same_as<V, storage_range>) itself = table_.slot(variable) == slot;
        f(2 * slot, std::int64_t{-1}, itself);
      }
    });
  }

  template <class V>
  void reads(const V& variable, node_id op) {
    slots(variable, [&](std::size_t slot, std::int64_t, bool) { log_.read(slot, op); });
  }
  template <class V>
  void writes(const V& variable, const typename P::node& n, node_id op) {
    std::int64_t told = 0;
    std::size_t parts = 0;
    for_each_part(policy_, host_, variable, [&parts](const auto&) { ++parts; });
    if constexpr (!std::same_as<V, storage_range>)
      if (parts == 1) told = bytes_of_(n, variable);  // of several parts each says what it has
    slots(variable, [&](std::size_t slot, std::int64_t piece, bool itself) {
      log_.write(slot, op, piece < 0 ? told : piece, itself);
    });
  }

  const P& policy_;    ///< literal: these live as long as the call
  const G& host_;      ///< literal
  BytesOf& bytes_of_;  ///< literal
  variable_table table_;
  byte_pieces pieces_;
  value_log log_;
};

}  // namespace detail

/// The values of a program, from what its ops read and write: what choose_issue_order needs to know of memory.
///
/// * An op that writes a variable, and does not read it, begins a new value; what the variable held before ends with
///   the last op that touched it. An op that reads and writes a variable goes on with its value.
/// * What is read before anything writes it was there before. It stays to the end, if nothing replaces it.
/// * What nothing reads after it was written last is a result, and stays to the end. So does what the variable holds at
///   the end, if the next run of the program reads it first.
/// * Through a view (for_each_part) an op touches the values of its parts, and replaces none. What an op writes through
///   a view of one part tells the size of that; where there are several, each tells its own.
/// * A value is as large as the largest of its writes. Ranges of bytes know their size.
/// @param host      its policy reports reads and writes, as for dependencies()
/// @param bytes_of  bytes_of(node, variable) -> std::int64_t, asked for each variable that a node writes, but not for
///                  ranges; negative numbers are refused by the functions that take values
/// Complexity: linear in the reads and writes, and in the pieces into which ranges cut each other.
///
///     const auto values = graph::values_of(program, [&](node_id op, std::uint32_t v) { return program.bytes[v]; });
///     const auto answer = graph::choose_issue_order(graph::dependencies(program), 2, measured, values, cap);
template <class G, class BytesOf, class P = graph_access<G>>
  requires effects_policy<P, G>
[[nodiscard]] issue_values values_of(const G& host, BytesOf&& bytes_of, const P& policy = {}) {
  return detail::value_reader<P, G, std::remove_reference_t<BytesOf>>(policy, host, bytes_of).run();
}

}  // namespace hocket::inline HOCKET_ABI::graph
