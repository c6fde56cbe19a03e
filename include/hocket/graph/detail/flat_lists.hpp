// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/edge.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The neighbours of each node in one array.
class flat_lists {
 public:
  flat_lists() : first_(1) {}
  flat_lists(std::size_t nodes, std::span<const edge> edges, bool backward) : first_(nodes + 1), to_(edges.size()) {
    for (const edge& e : edges) ++first_[(backward ? e.target : e.source) + std::size_t{1}];
    for (std::size_t i = 0; i < nodes; ++i) first_[i + 1] += first_[i];
    std::vector<std::size_t> at(first_.begin(), first_.end() - 1);
    for (const edge& e : edges) to_[at[backward ? e.target : e.source]++] = backward ? e.source : e.target;
  }
  [[nodiscard]] std::span<const node_id> of(std::size_t a) const noexcept {
    return std::span(to_).subspan(first_[a], first_[a + 1] - first_[a]);
  }
  [[nodiscard]] std::size_t count(std::size_t a) const noexcept { return first_[a + 1] - first_[a]; }

 private:
  std::vector<std::size_t> first_;
  std::vector<node_id> to_;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
