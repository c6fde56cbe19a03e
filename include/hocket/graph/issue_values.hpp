// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// When a value is there beyond the ops that touch it.
enum class value_life : std::uint8_t {
  within = 0,       ///< from the start of the first op that touches it to the end of the last: an activation
  from_before = 1,  ///< also before them: an input that nobody needs later
  to_the_end = 2,   ///< also after them: a result
  always = 3        ///< before and after: a weight
};

/// The values of a program, each with its bytes and the ops that touch it: what an order of the ops needs to know of
/// memory. A value is whatever comes to life and dies as one: a tensor, or a range of storage.
///
///     graph::issue_values values;
///     values.add(4096, std::vector<node_id>{0, 2});                               // op 0 writes it, op 2 reads it
///     values.add(1024, std::vector<node_id>{2}, graph::value_life::to_the_end);   // op 2 leaves it
class issue_values {
 public:
  /// Adds a value. O(ops).
  /// @param bytes  how large it is; the functions that take values refuse a negative number
  /// @param ops    those that read or write it, in any order; an op may be named twice
  void add(std::int64_t bytes, std::span<const node_id> ops, value_life life = value_life::within) {
    bytes_.push_back(bytes);
    life_.push_back(life);
    ops_.insert(ops_.end(), ops.begin(), ops.end());
    begin_.push_back(ops_.size());
  }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  /// Precondition of these three: value < size().
  [[nodiscard]] std::int64_t bytes(std::size_t value) const noexcept { return bytes_[value]; }
  [[nodiscard]] value_life life(std::size_t value) const noexcept { return life_[value]; }
  [[nodiscard]] std::span<const node_id> ops(std::size_t value) const& noexcept {
    return std::span(ops_).subspan(begin_[value], begin_[value + 1] - begin_[value]);
  }
  void ops(std::size_t) const&& = delete;

 private:
  std::vector<std::int64_t> bytes_;
  std::vector<value_life> life_;
  std::vector<std::size_t> begin_{0};
  std::vector<node_id> ops_;
};

}  // namespace hocket::inline HOCKET_ABI::graph
