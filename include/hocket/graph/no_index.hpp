// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/index.hpp>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>

namespace hocket::inline HOCKET_ABI::graph {

/// An index that holds nothing: a dag with it keeps every edge that it is given, in linear time and memory. For
/// programs whose ops share variables at random, where each op comes to wait for about half of all before it, and an
/// index of that is quadratic; and for edges that are reduced already. Orders and streams (choose_issue_order,
/// assign_streams) need no more, and stream_plan::make finds the redundant edges itself.
/// What such a dag cannot do: reaches(a, b) is always false, edges that others imply are kept, and an edge against the
/// others closes a cycle unnoticed. So edges have to point forward, as those of dependencies() do.
///
///     const auto deps = graph::dependencies<graph::no_index>(program);
///     const auto answer = graph::choose_issue_order(deps, 2, measured);
class no_index {
 public:
  explicit no_index(std::pmr::memory_resource* = nullptr) noexcept {}
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return 0; }
  [[nodiscard]] bool reaches(node_id, node_id) const noexcept { return false; }
  [[nodiscard]] std::size_t reduce(node_id, std::span<node_id> preds) noexcept { return preds.size(); }
  void commit(node_id b) noexcept { size_ = (std::max)(size_, std::size_t{b} + 1); }
  void resize(std::size_t n) noexcept { size_ = n; }
  void link(node_id, std::span<const node_id>) noexcept {}
  void clear() noexcept { size_ = 0; }

 private:
  std::size_t size_ = 0;
};
static_assert(reachability_index<no_index>);

}  // namespace hocket::inline HOCKET_ABI::graph
