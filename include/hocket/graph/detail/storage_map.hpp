// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/storage_range.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory_resource>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The last writer of a variable or of bytes, and a list of the ops that read it as a whole since.
struct last_access {
  node_id writer = no_id;
  std::uint32_t readers = no_id;
};

// The bytes that ops have written, by the op that wrote them last.
//
//   space 0   |------ op 3 --------|          |-- op 0 ----|---- op 5 ----|
//             first                end        first        end = first    end
//
// Invariants: pieces are not empty; those of a space do not overlap. A write makes one piece of all in its range and
// leaves at most two remnants: so pieces are at most twice the ranges written, and those in a range of at most twice as
// many as their writers.
class storage_map {
 public:
  explicit storage_map(std::pmr::memory_resource* memory) : pieces_(memory) {}

  // f(part, last) for the part of each piece that lies in the range, in ascending order.
  // Complexity: O(log pieces + pieces in the range).
  template <class F>
  void for_each_piece(const storage_range& range, F&& f) const {
    for (auto at = first_in(range); is_in(at, range); ++at) {
      const std::uint64_t first = (std::max)(at->first.first, range.first);
      const std::uint64_t end = (std::min)(at->second.end, range.end);
      f(storage_range{range.space, first, end}, at->second.last);
    }
  }

  // The piece of just these bytes, or nullptr. Complexity: O(log pieces).
  [[nodiscard]] last_access* whole_piece(const storage_range& range) {
    const auto at = pieces_.find({range.space, range.first});
    return at != pieces_.end() && at->second.end == range.end ? &at->second.last : nullptr;
  }

  // The op wrote all bytes of the range. gone(piece, readers) for each piece that lay in it or reached into it: what is
  // left of that has no readers. Complexity: O(log pieces), and for each piece that is gone.
  template <class Gone>
  void write(const storage_range& range, node_id op, Gone&& gone) {
    auto at = pieces_.lower_bound({range.space, range.first});
    if (at != pieces_.begin()) {
      const auto before = std::prev(at);
      const value old = before->second;
      if (before->first.space == range.space && old.end > range.first) {
        gone(storage_range{range.space, before->first.first, old.end}, old.last.readers);
        before->second = {range.first, {old.last.writer, no_id}};
        if (old.end > range.end)
          at = pieces_.emplace_hint(at, key{range.space, range.end}, value{old.end, {old.last.writer, no_id}});
      }
    }
    bool written = false;
    while (is_in(at, range)) {
      const value old = at->second;
      gone(storage_range{range.space, at->first.first, old.end}, old.last.readers);
      const bool reuse = !written && at->first.first == range.first;
      if (reuse) (at++)->second = {range.end, {op, no_id}};
      else at = pieces_.erase(at);
      written = written || reuse;
      if (old.end > range.end)
        at = pieces_.emplace_hint(at, key{range.space, range.end}, value{old.end, {old.last.writer, no_id}});
    }
    if (!written) pieces_.emplace_hint(at, key{range.space, range.first}, value{range.end, {op, no_id}});
  }

 private:
  struct key {
    std::uint64_t space;
    std::uint64_t first;
    [[nodiscard]] constexpr auto operator<=>(const key&) const noexcept = default;
  };
  struct value {
    std::uint64_t end;
    last_access last;
  };
  using pieces = std::pmr::map<key, value>;

  [[nodiscard]] pieces::const_iterator first_in(const storage_range& range) const {
    const auto at = pieces_.upper_bound({range.space, range.first});
    if (at == pieces_.begin()) return at;
    const auto before = std::prev(at);
    return before->first.space == range.space && before->second.end > range.first ? before : at;
  }
  [[nodiscard]] bool is_in(pieces::const_iterator at, const storage_range& range) const {
    return at != pieces_.end() && at->first.space == range.space && at->first.first < range.end;
  }

  pieces pieces_;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
