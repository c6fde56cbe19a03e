// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An index that a host might write, with nothing but what the concept asks for: a set of ancestors per node.
#include <algorithm>
#include <memory_resource>
#include <set>
#include <span>
#include <vector>

#include "dag_exhaustive.hpp"

namespace {

using hocket::node_id;

class set_index {
 public:
  explicit set_index(std::pmr::memory_resource*) {}
  std::size_t size() const noexcept { return ancestors_.size(); }
  std::size_t bytes() const noexcept { return 0; }
  void clear() noexcept { ancestors_.clear(); }
  bool reaches(node_id a, node_id b) const noexcept { return ancestors_[b].count(a) != 0; }
  std::size_t reduce(node_id, std::span<node_id> preds) {
    ancestors_.reserve(ancestors_.size() + 1);
    staged_.clear();
    for (const node_id p : preds) staged_.insert(ancestors_[p].begin(), ancestors_[p].end());
    const auto middle = std::partition(preds.begin(), preds.end(), [&](node_id p) { return staged_.count(p) == 0; });
    staged_.insert(preds.begin(), preds.end());
    return static_cast<std::size_t>(middle - preds.begin());
  }
  void commit(node_id b) noexcept {
    if (b == ancestors_.size()) ancestors_.emplace_back();
    ancestors_[b].swap(staged_);
  }
  void resize(std::size_t n) { ancestors_.resize(n); }
  void link(node_id a, std::span<const node_id> affected) {
    for (const node_id d : affected) {
      ancestors_[d].insert(ancestors_[a].begin(), ancestors_[a].end());
      ancestors_[d].insert(a);
    }
  }

 private:
  std::vector<std::set<node_id>> ancestors_;
  std::set<node_id> staged_;
};

static_assert(hocket::graph::reachability_index<set_index>);
static_assert(!hocket::graph::counting_index<set_index> && !hocket::graph::reserving_index<set_index>);

}  // namespace

TEST_CASE("an index of the host's own, exhaustively", "[graph]") {
  CHECK(exhaustive::everything<set_index>() == exhaustive::all_cases);
}
