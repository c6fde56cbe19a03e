// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the targets share.
#pragma once
#include <hocket/core.hpp>
#include <hocket/graph.hpp>

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
  closure(std::size_t nodes, std::span<const hocket::graph::edge> edges) : nodes_(nodes), bits_(nodes * nodes) {
    for (const auto& e : edges) bits_[e.source * nodes + e.target] = true;
    for (std::size_t k = 0; k < nodes; ++k)
      for (std::size_t a = 0; a < nodes; ++a)
        if (reaches(a, k))
          for (std::size_t b = 0; b < nodes; ++b)
            if (reaches(k, b)) bits_[a * nodes + b] = true;
  }
  bool reaches(std::size_t a, std::size_t b) const { return bits_[a * nodes_ + b]; }
  bool has_cycle() const {
    for (std::size_t a = 0; a < nodes_; ++a)
      if (reaches(a, a)) return true;
    return false;
  }
  /// The transitive reduction: what is ordered with nothing in between.
  std::vector<hocket::graph::edge> reduction() const {
    std::vector<hocket::graph::edge> kept;
    for (std::uint32_t a = 0; a < nodes_; ++a)
      for (std::uint32_t b = 0; b < nodes_; ++b) {
        bool direct = reaches(a, b);
        for (std::size_t k = 0; direct && k < nodes_; ++k) direct = !(reaches(a, k) && reaches(k, b));
        if (direct) kept.push_back({a, b});
      }
    return kept;
  }

 private:
  std::size_t nodes_;
  std::vector<bool> bits_;
};

/// The graph says exactly what the oracle says.
template <class Graph>
void require_equal(const Graph& g, const closure& truth) {
  require(g.edges() == truth.reduction());
  for (std::uint32_t a = 0; a < g.node_count(); ++a)
    for (std::uint32_t b = 0; b < g.node_count(); ++b) require(a == b || g.reaches(a, b) == truth.reaches(a, b));
}

}  // namespace fuzz
