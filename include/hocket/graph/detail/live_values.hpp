// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values between ops: which come to life when an op starts, and which die when it is done.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/detail/flat_lists.hpp>
#include <hocket/graph/issue_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// What is done first comes first, of equals the earlier op.
struct first_done {
  [[nodiscard]] bool operator()(const std::pair<ticks, node_id>& a, const std::pair<ticks, node_id>& b) const noexcept {
    return a > b;
  }
};
// Ops that run, with the time at which each is done.
using running_ops = std::priority_queue<std::pair<ticks, node_id>, std::vector<std::pair<ticks, node_id>>, first_done>;

// Each value's ops and each op's values, without repeats. What is there all the time is a number: `always`.
//
//    values of op 0: a        a: 0 1       Values are edges op -> value, so both lists are flat_lists.
//    values of op 1: a b      b: 1
struct live_values {
  std::vector<std::int64_t> bytes;
  std::vector<unsigned char> before, after;  // is it there before its first op, and after its last?
  flat_lists ops, values;
  std::int64_t always = 0;

  [[nodiscard]] std::size_t size() const noexcept { return bytes.size(); }

  // The same with time reversed.
  [[nodiscard]] live_values reversed() const {
    live_values out = *this;
    std::swap(out.before, out.after);
    return out;
  }
};

// Checks the values and brings them into that form. one_of: the op that stands for each, itself where nobody else does.
[[nodiscard]] inline result<live_values> make_live_values(const issue_values& given, std::span<const node_id> one_of) {
  live_values out;
  std::vector<edge> touched;
  std::vector<node_id> distinct;
  std::int64_t sum = 0;
  for (std::size_t v = 0; v < given.size(); ++v) {
    constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)();
    const std::int64_t bytes = given.bytes(v);
    if (bytes < 0) return error{errc::out_of_range, bytes, 0, most}.with("bytes of value " + std::to_string(v));
    if (bytes > most - sum) return error{errc::overflow}.with("sum of the bytes");
    sum += bytes;
    distinct.clear();
    for (const node_id b : given.ops(v)) {
      if (b >= one_of.size())
        return error{errc::out_of_range, b, 0, std::ssize(one_of) - 1}.with("an op of value " + std::to_string(v));
      distinct.push_back(one_of[b]);
    }
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    const value_life life = given.life(v);
    if (life == value_life::always) out.always += bytes;
    if (life == value_life::always || bytes == 0 || distinct.empty()) continue;
    const auto id = static_cast<node_id>(out.bytes.size());
    for (const node_id b : distinct) touched.push_back({b, id});
    out.bytes.push_back(bytes);
    out.before.push_back(life == value_life::from_before);
    out.after.push_back(life == value_life::to_the_end);
  }
  const std::size_t rows = (std::max)(one_of.size(), out.bytes.size());
  out.values = flat_lists(rows, touched, false);
  out.ops = flat_lists(rows, touched, true);
  return out;
}

// Bytes that are alive while ops start and retire.
class live_bytes {
 public:
  explicit live_bytes(const live_values& values)
      : values_(values), begun_(values.before), running_(values.size()), now_(values.always) {
    for (std::size_t v = 0; v < values.size(); ++v) {
      running_[v] = values.ops.count(v);
      if (begun_[v]) now_ += values.bytes[v];
    }
  }

  [[nodiscard]] std::int64_t now() const noexcept { return now_; }
  [[nodiscard]] bool begun(std::size_t v) const noexcept { return begun_[v]; }

  // What would come to life if b started.
  [[nodiscard]] std::int64_t born(node_id b) const noexcept {
    std::int64_t sum = 0;
    for (const node_id v : values_.values.of(b))
      if (!begun_[v]) sum += values_.bytes[v];
    return sum;
  }
  void start(node_id b) noexcept {
    now_ += born(b);
    for (const node_id v : values_.values.of(b)) begun_[v] = true;
  }
  void retire(node_id a) noexcept {
    for (const node_id v : values_.values.of(a))
      if (--running_[v] == 0 && !values_.after[v]) now_ -= values_.bytes[v];
  }

 private:
  const live_values& values_;         ///< literal: lives as long as the call
  std::vector<unsigned char> begun_;  // by value
  std::vector<std::size_t> running_;  // by value, the ops that have not retired
  std::int64_t now_;
};

// The most bytes that are alive at once if ops run one after the other.
[[nodiscard]] inline std::int64_t peak_in_order(const live_values& values, std::span<const node_id> order) {
  live_bytes live(values);
  std::int64_t peak = live.now();
  for (const node_id b : order) {
    live.start(b);
    peak = (std::max)(peak, live.now());
    live.retire(b);
  }
  return peak;
}

// The same for ops that start at given times; the order is that of their starts.
[[nodiscard]] inline std::int64_t peak_in_time(const live_values& values, std::span<const node_id> order,
                                               std::span<const ticks> start, std::span<const ticks> durations) {
  running_ops running;
  live_bytes live(values);
  std::int64_t peak = live.now();
  for (const node_id b : order) {
    while (!running.empty() && running.top().first <= start[b]) {
      live.retire(running.top().second);
      running.pop();
    }
    live.start(b);
    peak = (std::max)(peak, live.now());
    running.emplace(start[b] + durations[b], b);
  }
  return peak;
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
