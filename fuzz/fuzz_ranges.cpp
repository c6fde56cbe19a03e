// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as views into storages: their runs are the bytes that counting every item finds, or cover them. And as a
// program of ops that touch ranges: its order is that of all conflicts, pair by pair.
#include "fuzz.hpp"

#include <hocket/graph/storage_range.hpp>

#include <array>
#include <set>

namespace {

using hocket::graph::storage_range;

struct program {
  struct op {
    std::vector<storage_range> reads, writes;
  };
  std::vector<op> ops;
};

// The next number below `most`; 0 at the end.
class numbers {
 public:
  numbers(const std::uint8_t* data, std::size_t size) : data_(data, size) {}
  std::uint32_t below(std::uint32_t most) {
    if (at_ == data_.size()) return 0;
    return data_[at_++] % most;
  }
  [[nodiscard]] bool done() const { return at_ == data_.size(); }

 private:
  std::span<const std::uint8_t> data_;
  std::size_t at_ = 0;
};

void check_view(numbers& in) {
  std::array<std::int64_t, 4> sizes{}, strides{};
  const std::size_t dimensions = in.below(5);
  const std::uint64_t item = 1 + in.below(8), first = 1 << 16;
  std::set<std::uint64_t> bytes;
  std::size_t items = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    sizes[d] = in.below(6);
    strides[d] = static_cast<std::int64_t>(in.below(64)) - 24;
    items *= static_cast<std::size_t>(sizes[d]);
  }
  for (std::size_t i = 0; i < items; ++i) {
    std::uint64_t at = first;
    std::size_t rest = i;
    for (std::size_t d = 0; d < dimensions; ++d) {
      at += static_cast<std::uint64_t>(static_cast<std::int64_t>(rest % static_cast<std::size_t>(sizes[d])) *
                                       strides[d]) *
            item;
      rest /= static_cast<std::size_t>(sizes[d]);
    }
    for (std::uint64_t b = 0; b < item; ++b) bytes.insert(at + b);
  }
  std::set<std::uint64_t> found;
  const std::uint64_t most_runs = 1 + in.below(70);
  std::uint64_t runs = 0;
  const bool exact = hocket::graph::for_each_run(
      {.space = 3,
       .first = first,
       .item_bytes = item,
       .sizes = {sizes.data(), dimensions},
       .strides = {strides.data(), dimensions}},
      [&](const storage_range& r) {
        ++runs;
        fuzz::require(r.space == 3 && r.first < r.end);
        for (std::uint64_t b = r.first; b < r.end; ++b) found.insert(b);
      },
      most_runs);
  fuzz::require(runs <= most_runs);
  if (exact) fuzz::require(found == bytes);
  else fuzz::require(std::includes(found.begin(), found.end(), bytes.begin(), bytes.end()) && runs == 1);
}

bool meet(const std::vector<storage_range>& a, const std::vector<storage_range>& b) {
  for (const auto& x : a)
    for (const auto& y : b)
      if (x.overlaps(y)) return true;
  return false;
}

}  // namespace

template <>
struct hocket::graph_access<program> {
  using node = node_id;
  static std::size_t node_count(const program& p) { return p.ops.size(); }
  template <class F>
  static void for_each_read(const program& p, node n, F&& f) {
    for (const auto& r : p.ops[n].reads) f(r);
  }
  template <class F>
  static void for_each_write(const program& p, node n, F&& f) {
    for (const auto& r : p.ops[n].writes) f(r);
  }
};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  numbers in(data, size);
  check_view(in);
  program p;
  while (!in.done() && p.ops.size() < 24) {
    auto& op = p.ops.emplace_back();
    for (std::uint32_t left = 1 + in.below(3); left > 0; --left) {
      const std::uint64_t space = in.below(2), first = in.below(32);
      (in.below(2) == 0 ? op.reads : op.writes).push_back({space, first, first + 1 + in.below(12)});
    }
  }
  std::vector<hocket::graph::edge> conflicts;
  for (std::uint32_t a = 0; a < p.ops.size(); ++a)
    for (std::uint32_t b = a + 1; b < p.ops.size(); ++b)
      if (meet(p.ops[a].writes, p.ops[b].writes) || meet(p.ops[a].writes, p.ops[b].reads) ||
          meet(p.ops[a].reads, p.ops[b].writes))
        conflicts.push_back({a, b});
  const auto found = hocket::graph::dependencies(p);
  fuzz::require(found.has_value());
  fuzz::require_equal(found->graph(), fuzz::closure(p.ops.size(), conflicts));
  return 0;
}
