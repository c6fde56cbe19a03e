// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/interop/mindspore/ir_dataflow.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore {

/// The most memory that the values of a step take at one time, without weights and inputs.
struct ir_peak {
  std::int64_t bytes = 0;
  std::uint32_t node = no_id;  ///< that runs then
  std::uint32_t place = 0;     ///< of its op in the order
};

namespace detail {

// The order in which MindSpore's runtime starts ops: each when all that it waits for is there, first come, first
// served; of those that become ready at once, the first in the dump. What only orders takes no time.
class ready_order {
 public:
  ready_order(const ir_program& program, const ir_dataflow& flow, std::span<const std::uint32_t> stands_for)
      : program_(program),
        flow_(flow),
        stands_for_(stands_for),
        first_(program.graphs()[program.entry()].first_node),
        nodes_(program.graphs()[program.entry()].node_count),
        count_(nodes_ + static_cast<std::uint32_t>(flow.splits.size())),
        waits_(count_, 0) {}

  [[nodiscard]] std::vector<std::uint32_t> operator()() {
    link();
    std::vector<std::uint32_t> ready, first;
    for (std::uint32_t i = 0; i < count_; ++i)
      if (waits_[i] == 0) first.push_back(i);
    for (const std::uint32_t i : first) reach(i, ready);
    start(ready);
    for (std::size_t at = 0; at < order_.size(); ++at) {  // the list grows as it is walked
      ready.clear();
      const std::uint32_t done = item_of(order_[at]);
      for (std::size_t k = begin_[done]; k < begin_[done + 1]; ++k)
        if (--waits_[after_[k]] == 0) reach(after_[k], ready);
      start(ready);
    }
    return std::move(order_);
  }

 private:
  // Items are the nodes of the graph, and behind them the ops that are split off.
  [[nodiscard]] std::uint32_t op_of(std::uint32_t item) const noexcept {
    return item < nodes_ ? flow_.op_of_node[first_ + item] : flow_.splits[item - nodes_].op;
  }
  [[nodiscard]] std::uint32_t item_of(std::uint32_t op) const noexcept {
    const std::uint32_t n = flow_.nodes[op];
    return flow_.op_of_node[n] == op ? n - first_ : nodes_ + split_of_[n - first_];
  }
  // f(item) for each that another waits for.
  template <class F>
  void for_each_before(std::uint32_t item, F&& f) const {
    if (item >= nodes_) return f(flow_.splits[item - nodes_].after - first_);
    const std::uint32_t n = first_ + item;
    if (n < stands_for_.size() && stands_for_[n] != no_id) return f(stands_for_[n] - first_);
    for (const std::uint32_t v : program_.reads(n))
      if (v >= first_ && v < n) f(v - first_);
    if (split_of_[item] != no_id) f(nodes_ + split_of_[item]);
  }
  void link() {
    split_of_.assign(nodes_, no_id);
    for (std::uint32_t k = 0; k < flow_.splits.size(); ++k) split_of_[flow_.splits[k].before - first_] = k;
    begin_.assign(count_ + 1, 0);
    for (std::uint32_t i = 0; i < count_; ++i)
      for_each_before(i, [&](std::uint32_t before) {
        ++begin_[before + 1];
        ++waits_[i];
      });
    for (std::size_t i = 0; i < count_; ++i) begin_[i + 1] += begin_[i];
    after_.resize(begin_[count_]);
    std::vector<std::size_t> at(begin_.begin(), begin_.end() - 1);
    for (std::uint32_t i = 0; i < count_; ++i)
      for_each_before(i, [&](std::uint32_t before) { after_[at[before]++] = i; });
  }
  // A node that waits for nothing more: an op is ready, what is looked through is done at once.
  void reach(std::uint32_t from, std::vector<std::uint32_t>& ready) {
    std::vector<std::uint32_t> open{from};
    while (!open.empty()) {
      const std::uint32_t i = open.back();
      open.pop_back();
      if (const std::uint32_t op = op_of(i); op != no_id) {
        ready.push_back(op);
        continue;
      }
      for (std::size_t k = begin_[i]; k < begin_[i + 1]; ++k)
        if (--waits_[after_[k]] == 0) open.push_back(after_[k]);
    }
  }
  void start(std::vector<std::uint32_t>& ready) {
    std::sort(ready.begin(), ready.end());
    order_.insert(order_.end(), ready.begin(), ready.end());
  }

  const ir_program& program_;
  const ir_dataflow& flow_;
  std::span<const std::uint32_t> stands_for_;
  std::uint32_t first_, nodes_, count_;
  std::vector<std::uint32_t> waits_, after_, order_, split_of_;
  std::vector<std::size_t> begin_;
};

}  // namespace detail

/// The order in which the ops of a dataflow run (numbers of ops), in the manner of MindSpore's runtime.
/// @param stands_for  as it was given to dataflow_of
[[nodiscard]] inline std::vector<std::uint32_t> run_order(const ir_program& program, const ir_dataflow& flow,
                                                          std::span<const std::uint32_t> stands_for = {}) {
  return detail::ready_order(program, flow, stands_for)();
}

/// Peak of memory when ops run in an order: a value is there from the op that makes it to the last op that reads it or
/// a view of it. What an op takes for itself is there while it runs. O(values + edges).
[[nodiscard]] inline ir_peak peak_of(const ir_dataflow& flow, std::span<const std::uint32_t> order) {
  std::vector<std::uint32_t> last(flow.values.size(), no_id);  // per storage, place in the order
  for (std::uint32_t at = 0; at < order.size(); ++at)
    for (const auto* const lists : {&flow.reads, &flow.writes})
      for (const std::uint32_t v : (*lists)[order[at]]) last[flow.values[v].storage] = at;
  std::vector<char> there(flow.values.size(), 0);
  ir_peak peak;
  std::int64_t live = 0;
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    for (const std::uint32_t v : flow.writes[order[at]]) {
      const std::uint32_t s = flow.values[v].storage;
      if (there[s] == 0) live += flow.values[s].bytes;
      there[s] = 1;
    }
    const std::int64_t now = live + flow.scratch[order[at]];
    if (now > peak.bytes) peak = {now, flow.nodes[order[at]], at};
    for (const auto* const lists : {&flow.reads, &flow.writes})
      for (const std::uint32_t v : (*lists)[order[at]]) {
        const std::uint32_t s = flow.values[v].storage;
        if (there[s] == 0 || last[s] != at) continue;
        live -= flow.values[s].bytes;
        there[s] = 0;
      }
  }
  return peak;
}

/// The values that are there while the op at a place of the order runs, ascending; one whose memory others name anew
/// stands for them. What the op takes for itself is flow.scratch. O(values + edges).
[[nodiscard]] inline std::vector<std::uint32_t> alive_at(const ir_dataflow& flow, std::span<const std::uint32_t> order,
                                                         std::uint32_t place) {
  std::vector<std::uint32_t> made(flow.values.size(), no_id), last(flow.values.size(), 0);
  for (std::uint32_t at = 0; at < order.size(); ++at)
    for (const auto* const lists : {&flow.writes, &flow.reads})
      for (const std::uint32_t v : (*lists)[order[at]]) {
        const std::uint32_t s = flow.values[v].storage;
        made[s] = (std::min)(made[s], at);
        last[s] = at;
      }
  std::vector<std::uint32_t> alive;
  for (std::uint32_t v = 0; v < flow.values.size(); ++v)
    if (made[v] <= place && place <= last[v]) alive.push_back(v);
  return alive;
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
