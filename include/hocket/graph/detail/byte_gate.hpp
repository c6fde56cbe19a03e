// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// May an op start now, under a cap of bytes, so that all others can still be run?
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/live_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The greatest prefix sum of numbers that change.
//
//    numbers 3 -1 2 -4     sums 3 2 4 0     greatest() == 4
class prefix_peak {
 public:
  explicit prefix_peak(std::size_t count) {
    while (leaves_ < count) leaves_ *= 2;
    nodes_.resize(2 * leaves_);
  }
  // Before the first add: all at once.
  void set(std::size_t at, std::int64_t number) noexcept { nodes_[leaves_ + at].sum += number; }
  void build() noexcept {
    for (std::size_t i = leaves_; i < nodes_.size(); ++i) nodes_[i].peak = nodes_[i].sum;
    for (std::size_t i = leaves_; --i > 0;) join(i);
  }
  void add(std::size_t at, std::int64_t number) noexcept {
    std::size_t i = leaves_ + at;
    nodes_[i].sum += number;
    nodes_[i].peak = nodes_[i].sum;
    while ((i /= 2) != 0) join(i);
  }
  [[nodiscard]] std::int64_t greatest() const noexcept { return nodes_[1].peak; }

 private:
  struct node {
    std::int64_t sum = 0, peak = 0;
  };
  void join(std::size_t i) noexcept {
    const node &left = nodes_[2 * i], &right = nodes_[2 * i + 1];
    nodes_[i] = {left.sum + right.sum, (std::max)(left.peak, left.sum + right.peak)};
  }

  std::size_t leaves_ = 1;
  std::vector<node> nodes_;
};

// Keeps an order in reserve that is within the cap: at any moment the ops that have not started can be run in it, one
// after the other, once those that run are done. An op may start out of turn if the cap holds now and what is left of
// that order stays within it. (The banker's algorithm, E. W. Dijkstra 1965, with the order as the witness.)
//
// A value is alive, in what is left of the order, from the place of its first op (from the beginning, if it has begun)
// to the place of its last that has not started. An op that starts moves these ends; places of ops that have started
// need nothing beyond their neighbours, so they may stay.
class byte_gate {
 public:
  byte_gate(const live_values& values, std::span<const node_id> reserve, std::size_t nodes, std::int64_t cap)
      : values_(values),
        reserve_(reserve),
        cap_(cap),
        live_(values),
        started_(reserve.size()),
        place_(nodes),
        last_(values.size()),
        first_(values.size()),
        rest_(reserve.size() + 1) {
    begin_.reserve(values.size() + 1);
    begin_.push_back(0);
    for (std::size_t v = 0; v < values.size(); ++v) begin_.push_back(begin_.back() + values.ops.count(v));
    places_.resize(begin_.back());
    for (std::size_t v = 0; v < values.size(); ++v) last_[v] = begin_[v];
    for (std::uint32_t i = 0; i < reserve.size(); ++i) {
      place_[reserve[i]] = i;
      for (const node_id v : values.values.of(reserve[i])) places_[last_[v]++] = i;
    }
    for (std::size_t v = 0; v < values.size(); ++v) {
      first_[v] = places_[begin_[v]];
      rest_.set(live_.begun(v) ? 0 : first_[v], values.bytes[v]);
      if (!values.after[v]) rest_.set(end_of(v), -values.bytes[v]);
    }
    rest_.set(0, values.always);
    rest_.build();
  }

  // Starts b if that is safe.
  [[nodiscard]] bool admits(node_id b) {
    if (live_.born(b) > cap_ - live_.now()) return false;
    started_[place_[b]] = true;
    move(b);
    if (rest_.greatest() > cap_) {
      move_back(b);
      started_[place_[b]] = false;
      return false;
    }
    live_.start(b);
    return true;
  }
  void retire(node_id a) noexcept { live_.retire(a); }

  // The next op of the order in reserve, or no_id. Once nothing runs it may always start.
  [[nodiscard]] node_id next() noexcept {
    while (next_ < reserve_.size() && started_[next_]) ++next_;
    return next_ < reserve_.size() ? reserve_[next_] : no_id;
  }

 private:
  // One past the place of the value's last op that has not started; 0 if there is none.
  [[nodiscard]] std::size_t end_of(std::size_t v) const noexcept {
    return last_[v] == begin_[v] ? 0 : places_[last_[v] - 1] + std::size_t{1};
  }

  void move(node_id b) {
    undo_.clear();
    for (const node_id v : values_.values.of(b)) {
      const std::int64_t bytes = values_.bytes[v];
      undo_.push_back(last_[v]);
      const std::size_t end = end_of(v);
      while (last_[v] != begin_[v] && started_[places_[last_[v] - 1]]) --last_[v];
      shift(first_[v], 0, live_.begun(v) ? 0 : bytes);
      if (!values_.after[v]) shift(end, end_of(v), -bytes);
    }
  }
  void move_back(node_id b) {
    std::size_t i = 0;
    for (const node_id v : values_.values.of(b)) {
      const std::int64_t bytes = values_.bytes[v];
      const std::size_t end = end_of(v);
      last_[v] = undo_[i++];
      shift(0, first_[v], live_.begun(v) ? 0 : bytes);
      if (!values_.after[v]) shift(end, end_of(v), -bytes);
    }
  }
  // Moves a change of so many bytes from one place to another.
  void shift(std::size_t from, std::size_t to, std::int64_t bytes) noexcept {
    if (from == to || bytes == 0) return;
    rest_.add(from, -bytes);
    rest_.add(to, bytes);
  }

  const live_values& values_;  ///< literal: lives as long as the call
  std::span<const node_id> reserve_;
  std::int64_t cap_;
  live_bytes live_;
  std::vector<unsigned char> started_;     // by place
  std::vector<std::uint32_t> place_;       // by op
  std::vector<std::size_t> begin_, last_;  // by value: its places, and one past the last that has not started
  std::vector<std::uint32_t> places_;      // of values, ascending
  std::vector<std::uint32_t> first_;       // by value
  prefix_peak rest_;                       // what the rest of the order needs, by place
  std::vector<std::size_t> undo_;
  std::size_t next_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
