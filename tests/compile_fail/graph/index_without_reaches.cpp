// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An index of the host's own that cannot be asked.
// expect: hocket: the index has no reaches that fits. Write: bool reaches(node_id a, node_id b) const noexcept;
#include <hocket/graph/dag.hpp>

struct host_index {
  explicit host_index(std::pmr::memory_resource*) {}
  std::size_t size() const noexcept { return 0; }
  std::size_t bytes() const noexcept { return 0; }
#ifdef CORRECTED
  bool reaches(hocket::node_id, hocket::node_id) const noexcept { return false; }
#endif
  std::size_t reduce(hocket::node_id, std::span<hocket::node_id> preds) { return preds.size(); }
  void commit(hocket::node_id) noexcept {}
  void resize(std::size_t) {}
  void link(hocket::node_id, std::span<const hocket::node_id>) {}
  void clear() noexcept {}
};

std::size_t f(const hocket::graph::dag<host_index>& g) { return g.node_count(); }
