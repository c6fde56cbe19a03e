// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What other systems do, written anew from their published descriptions.
#pragma once
#include <hocket/testing/graph_benchmark.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace peers {

using hocket::node_id;
using hocket::testing::edge_rows;

// PaddlePaddle's executor since pull request 50137 ("dependency_builder.cc"): a happens-before matrix of bits, and per
// op the lists of all ops before and behind it, updated for every edge; redundant edges are removed at the end.
class paddle_after {
 public:
  explicit paddle_after(std::size_t nodes)
      : happens_before_(nodes, std::vector<bool>(nodes)), before_(nodes), behind_(nodes) {}
  void add(std::size_t a, std::size_t b) {
    auto& down = downstream_[a];
    for (const std::size_t d : down)
      if (happens_before_[d][b]) return;
    down.insert(b);
    const auto update = [&](std::size_t x, std::size_t y) {
      if (happens_before_[x][y]) return;
      happens_before_[x][y] = true;
      before_[y].push_back(x);
      behind_[x].push_back(y);
    };
    update(a, b);
    for (std::size_t i = 0; i < before_[a].size(); ++i) update(before_[a][i], b);
    for (std::size_t i = 0; i < behind_[b].size(); ++i) update(a, behind_[b][i]);
  }
  void shrink() {
    for (auto& [a, down] : downstream_) {
      std::set<std::size_t> kept;
      for (const std::size_t b : down) {
        bool implied = false;
        for (const std::size_t d : down) implied = implied || (d != b && happens_before_[d][b]);
        if (!implied) kept.insert(b);
      }
      down.swap(kept);
    }
  }
  [[nodiscard]] std::size_t edge_count() const {
    std::size_t count = 0;
    for (const auto& [a, down] : downstream_) count += down.size();
    return count;
  }

 private:
  std::map<std::size_t, std::set<std::size_t>> downstream_;
  std::vector<std::vector<bool>> happens_before_;
  std::vector<std::vector<std::size_t>> before_, behind_;
};

inline std::size_t after_pull_request(const edge_rows& rows) {
  paddle_after g(rows.size());
  for (std::size_t b = 0; b < rows.size(); ++b)
    for (const node_id a : rows.predecessors(b)) g.add(a, b);
  g.shrink();
  return g.edge_count();
}

// Before the pull request: one breadth-first search per op fills the matrix, then edges are tested against it.
inline std::size_t before_pull_request(const edge_rows& rows) {
  const std::size_t nodes = rows.size();
  std::vector<std::vector<bool>> happens_before(nodes, std::vector<bool>(nodes));
  std::vector<node_id> queue;
  for (std::size_t a = 0; a < nodes; ++a) {
    queue.assign(1, static_cast<node_id>(a));
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const node_id b : rows.successors(queue[i]))
        if (!happens_before[a][b]) {
          happens_before[a][b] = true;
          queue.push_back(b);
        }
  }
  std::size_t kept = 0;
  for (std::size_t a = 0; a < nodes; ++a)
    for (const node_id b : rows.successors(a)) {
      bool implied = false;
      for (const node_id d : rows.successors(a)) implied = implied || (d != b && happens_before[d][b]);
      kept += implied ? 0u : 1u;
    }
  return kept;
}

// Bit rows as in XLA's HloReachabilityMap::Build: a full row per node, itself included, in blocks of 1,024 rows that
// are not zeroed; the first operand's row is copied, others are OR-ed unless the row has that operand already.
class bit_rows {
 public:
  /// Words that the rows of so many nodes take up.
  static std::size_t words_of(std::size_t nodes) noexcept { return nodes * ((nodes + 63) / 64); }
  /// Operands in the order in which they are listed, here ascending. No edges are pruned: XLA does not.
  /// @param memory  words_of(nodes) words to write the rows to, which outlive the answer; by default it allocates
  static bit_rows as_listed(const edge_rows& rows, std::uint64_t* memory = nullptr) {
    bit_rows g(rows.size());
    g.given_ = memory;
    for (std::size_t b = 0; b < rows.size(); ++b) {
      std::uint64_t* const row = g.fresh_row(b);
      bool copied = false;
      for (const node_id a : rows.predecessors(b)) (void)g.unite(row, a, copied);
      g.finish(row, b, copied);
    }
    return g;
  }
  /// More than XLA does: operands in descending order, so that the test for the OR prunes exactly; and pruned lists.
  static bit_rows pruning(const edge_rows& rows) {
    bit_rows g(rows.size());
    std::vector<node_id> sources;
    std::vector<std::uint32_t> degree(rows.size() + 1);
    for (std::size_t b = 0; b < rows.size(); ++b) {
      std::uint64_t* const row = g.fresh_row(b);
      bool copied = false;
      const auto preds = rows.predecessors(b);
      for (std::size_t i = preds.size(); i-- > 0;)
        if (g.unite(row, preds[i], copied)) {
          sources.push_back(preds[i]);
          ++degree[b];
        }
      g.finish(row, b, copied);
    }
    g.begin_.assign(rows.size() + 2, 0);
    for (const node_id a : sources) ++g.begin_[a + std::size_t{2}];
    for (std::size_t a = 2; a < g.begin_.size(); ++a) g.begin_[a] += g.begin_[a - 1];
    g.targets_.resize(sources.size());
    std::size_t at = 0;
    for (std::size_t b = 0; b < rows.size(); ++b)
      for (std::uint32_t i = 0; i < degree[b]; ++i)
        g.targets_[g.begin_[sources[at++] + std::size_t{1}]++] = static_cast<node_id>(b);
    return g;
  }
  [[nodiscard]] bool reaches(node_id a, node_id b) const { return (row_of(b)[a / 64] >> (a % 64) & 1u) != 0; }
  [[nodiscard]] std::size_t edge_count() const { return targets_.size(); }

 private:
  static constexpr std::size_t per_block = 1024;
  explicit bit_rows(std::size_t nodes) : words_((nodes + 63) / 64) { blocks_.reserve(nodes / per_block + 1); }

  std::uint64_t* fresh_row(std::size_t b) {
    if (given_ == nullptr && b % per_block == 0) blocks_.emplace_back(new std::uint64_t[words_ * per_block]);
    return row_of(b);
  }
  // False if the row has a already.
  bool unite(std::uint64_t* row, node_id a, bool& copied) const {
    const std::uint64_t* const from = row_of(a);
    if (!copied) {
      for (std::size_t w = 0; w < words_; ++w) row[w] = from[w];
      copied = true;
      return true;
    }
    if ((row[a / 64] >> (a % 64) & 1u) != 0) return false;
    for (std::size_t w = 0; w < words_; ++w) row[w] |= from[w];
    return true;
  }
  void finish(std::uint64_t* row, std::size_t b, bool copied) const {
    for (std::size_t w = 0; !copied && w < words_; ++w) row[w] = 0;
    row[b / 64] |= std::uint64_t{1} << (b % 64);
  }
  [[nodiscard]] std::uint64_t* row_of(std::size_t b) const {
    if (given_ != nullptr) return given_ + b * words_;
    return blocks_[b / per_block].get() + (b % per_block) * words_;
  }

  std::size_t words_;
  std::vector<std::unique_ptr<std::uint64_t[]>> blocks_;
  std::uint64_t* given_ = nullptr;  // in place of blocks
  std::vector<std::uint32_t> begin_;
  std::vector<node_id> targets_;
};

// The rules as that executor writes them: maps from variables, lists of readers and writers, sets of dependencies.
inline std::size_t paddle_program(const hocket::text::ops_table& program) {
  std::map<std::uint32_t, std::size_t> writer;
  std::map<std::uint32_t, std::vector<std::size_t>> recent;  // readers since the last write, or that write
  std::map<std::size_t, std::set<std::size_t>> depends;
  for (std::size_t op = 0; op < program.size(); ++op) {
    std::set<std::size_t>& on = depends[op];
    const auto b = static_cast<node_id>(op);
    for (const std::uint32_t v : program.reads(b))
      if (const auto w = writer.find(v); w != writer.end()) on.insert(w->second);
    for (const std::uint32_t v : program.writes(b))
      for (const std::size_t r : recent[v]) on.insert(r);
    std::set<std::uint32_t> written;
    for (const std::uint32_t v : program.writes(b)) {
      written.insert(v);
      writer[v] = op;
      recent[v] = {op};
    }
    for (const std::uint32_t v : program.reads(b)) {
      if (written.count(v) != 0) continue;
      std::vector<std::size_t> list;
      for (const std::size_t r : recent[v])
        if (on.count(r) == 0) list.push_back(r);
      list.push_back(op);
      recent[v].swap(list);
    }
  }
  paddle_after g(program.size());
  for (const auto& [op, on] : depends)
    for (const std::size_t a : on)
      if (a != op) g.add(a, op);
  g.shrink();
  return g.edge_count();
}

}  // namespace peers
