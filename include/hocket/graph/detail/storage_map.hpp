// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/storage_range.hpp>

#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <utility>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The bytes that ops have touched, cut into pieces of equal history. Each piece has a slot: the number of its state.
//
//   space 0   |------ slot 3 ------|          |-- slot 0 --|---- slot 5 ----|
//             first                end        first        end = first      end
//
// Invariants: pieces are not empty; those of a space do not overlap. A range cuts a piece in two at its border, a write
// makes one piece of all in its range: so pieces are at most twice the ranges written and read since.
class storage_map {
 public:
  explicit storage_map(std::pmr::memory_resource* memory) : pieces_(memory) {}

  // f(slot) for each piece of the range, after cutting at its borders. fresh() gives a slot for bytes that nobody has
  // touched, copy(slot) one with the same state. Complexity: O(log pieces + pieces in the range).
  template <class Fresh, class Copy, class F>
  void for_each_piece(const storage_range& range, Fresh&& fresh, Copy&& copy, F&& f) {
    const auto cut = [&](iterator piece, std::uint64_t where) {
      const std::uint64_t end = std::exchange(piece->second.end, where);
      return pieces_.emplace_hint(std::next(piece), key{range.space, where}, value{end, copy(piece->second.slot)});
    };
    iterator piece = pieces_.upper_bound({range.space, range.first});
    if (piece != pieces_.begin()) {
      const iterator before = std::prev(piece);
      const bool reaches_in = before->first.space == range.space && before->second.end > range.first;
      if (reaches_in) piece = before->first.first == range.first ? before : cut(before, range.first);
    }
    for (std::uint64_t at = range.first; at != range.end;) {
      const bool found = piece != pieces_.end() && piece->first.space == range.space && piece->first.first < range.end;
      const std::uint64_t next = found ? piece->first.first : range.end;
      if (at < next) piece = pieces_.emplace_hint(piece, key{range.space, at}, value{next, fresh()});
      else if (piece->second.end > range.end) cut(piece, range.end);
      f(piece->second.slot);
      at = piece->second.end;
      ++piece;
    }
  }

  // The slot of the piece with just this range, made by fresh() if nobody has touched any byte of it; nothing if the
  // range covers others or parts of them. Complexity: O(log pieces).
  template <class Fresh>
  [[nodiscard]] std::optional<std::uint32_t> whole_piece(const storage_range& range, Fresh&& fresh) {
    const iterator piece = pieces_.lower_bound({range.space, range.first});
    const bool found = piece != pieces_.end() && piece->first.space == range.space && piece->first.first < range.end;
    if (found) {
      const bool whole = piece->first.first == range.first && piece->second.end == range.end;
      return whole ? std::optional(piece->second.slot) : std::nullopt;
    }
    if (piece != pieces_.begin()) {
      const iterator before = std::prev(piece);
      if (before->first.space == range.space && before->second.end > range.first) return std::nullopt;
    }
    return pieces_.emplace_hint(piece, key{range.space, range.first}, value{range.end, fresh()})->second.slot;
  }

  // Makes one piece of those in the range, which all have the same state; drop(slot) for each but the first.
  // Precondition: the range is covered by pieces that lie in it, save that the first may begin before and the last end
  // behind it.
  template <class Drop>
  void unite(const storage_range& range, Drop&& drop) {
    const iterator first = std::prev(pieces_.upper_bound({range.space, range.first}));
    iterator next = std::next(first);
    while (first->second.end < range.end) {
      first->second.end = next->second.end;
      drop(next->second.slot);
      next = pieces_.erase(next);
    }
  }

 private:
  struct key {
    std::uint64_t space;
    std::uint64_t first;
    [[nodiscard]] constexpr auto operator<=>(const key&) const noexcept = default;
  };
  struct value {
    std::uint64_t end;
    std::uint32_t slot;
  };
  using iterator = std::pmr::map<key, value>::iterator;

  std::pmr::map<key, value> pieces_;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
