// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the targets share.
#pragma once
#include <hocket/core.hpp>
#include <hocket/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fuzz {

/// Stops the run, whatever the build mode: a finding.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

inline std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The transitive closure of a few edges by Warshall's algorithm: an oracle that shares nothing with the library.
class closure {
 public:
  closure(std::size_t nodes, std::span<const hocket::graph::edge> edges)
      : nodes_(nodes), words_((nodes + 63) / 64), bits_(nodes * words_) {
    for (const auto& e : edges) bits_[e.source * words_ + e.target / 64] |= std::uint64_t{1} << e.target % 64;
    for (std::size_t k = 0; k < nodes; ++k)
      for (std::size_t a = 0; a < nodes; ++a)
        for (std::size_t w = 0; w < words_ && reaches(a, k); ++w) bits_[a * words_ + w] |= bits_[k * words_ + w];
  }
  bool reaches(std::size_t a, std::size_t b) const { return (bits_[a * words_ + b / 64] >> b % 64 & 1) != 0; }
  bool has_cycle() const {
    for (std::size_t a = 0; a < nodes_; ++a)
      if (reaches(a, a)) return true;
    return false;
  }
  /// The transitive reduction: what is ordered with nothing in between.
  std::vector<hocket::graph::edge> reduction() const {
    std::vector<hocket::graph::edge> kept;
    std::vector<std::uint64_t> farther(words_);
    for (std::uint32_t a = 0; a < nodes_; ++a) {
      std::fill(farther.begin(), farther.end(), 0);
      for (std::size_t k = 0; k < nodes_; ++k)
        for (std::size_t w = 0; w < words_ && reaches(a, k); ++w) farther[w] |= bits_[k * words_ + w];
      for (std::uint32_t b = 0; b < nodes_; ++b)
        if (reaches(a, b) && (farther[b / 64] >> b % 64 & 1) == 0) kept.push_back({a, b});
    }
    return kept;
  }

 private:
  std::size_t nodes_, words_;
  std::vector<std::uint64_t> bits_;  // a row of words for each node
};

/// The graph says exactly what the oracle says.
template <class Graph>
void require_equal(const Graph& g, const closure& truth) {
  require(g.edges() == truth.reduction());
  for (std::uint32_t a = 0; a < g.node_count(); ++a)
    for (std::uint32_t b = 0; b < g.node_count(); ++b) require(a == b || g.reaches(a, b) == truth.reaches(a, b));
}

}  // namespace fuzz
