// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the newest XLA builds its rows, for a comparison that does not depend on the age of the package. Rows are not
// cleared first, the first predecessor's row is copied, and a predecessor that is in the row already is skipped.
// Written after openxla/xla, xla/hlo/analysis/hlo_reachability.cc (2026), not copied from it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "hlo_access.hpp"

namespace example {

class newest_rows {
 public:
  explicit newest_rows(const xla::HloComputation& c) {
    const hlo_order order(c);
    words_ = (order.instructions.size() + 63) / 64;
    blocks_.reserve(order.instructions.size() / rows_per_block + 1);
    for (std::size_t b = 0; b < order.instructions.size(); ++b) {
      if (b % rows_per_block == 0) add_block(order.instructions.size() - b);
      fill(c, order, b);
    }
    numbers_ = order.numbers;
  }
  [[nodiscard]] bool reaches(std::size_t a, std::size_t b) const noexcept { return a == b || has(row(b), a); }
  [[nodiscard]] bool reaches(const xla::HloInstruction* a, const xla::HloInstruction* b) const noexcept {
    return reaches(numbers_[static_cast<std::size_t>(a->local_id())],
                   numbers_[static_cast<std::size_t>(b->local_id())]);
  }

 private:
  using word = std::uint64_t;
  static constexpr std::size_t rows_per_block = 1024;

  [[nodiscard]] word* row(std::size_t b) const noexcept {
    return blocks_[b / rows_per_block].get() + b % rows_per_block * words_;
  }
  static bool has(const word* row, std::size_t a) noexcept { return (row[a / 64] >> (a % 64) & 1) != 0; }

  void add_block(std::size_t rows_left) {
    blocks_.emplace_back(new word[(rows_left < rows_per_block ? rows_left : rows_per_block) * words_]);
  }
  void fill(const xla::HloComputation& c, const hlo_order& order, std::size_t b) {
    word* const mine = row(b);
    bool is_empty = true;
    hlo_order::for_each_predecessor(c, order.instructions[b], [&](const xla::HloInstruction* p) {
      const std::size_t a = order.index_of(c, p);
      const word* const theirs = row(a);
      if (is_empty) std::memcpy(mine, theirs, words_ * sizeof(word));
      else if (!has(mine, a))
        for (std::size_t w = 0; w < words_; ++w) mine[w] |= theirs[w];
      is_empty = false;
    });
    if (is_empty) std::memset(mine, 0, words_ * sizeof(word));
    mine[b / 64] |= word{1} << (b % 64);
  }

  std::size_t words_ = 0;
  std::vector<std::unique_ptr<word[]>> blocks_;
  std::vector<hocket::node_id> numbers_;
};

}  // namespace example
