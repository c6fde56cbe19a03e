// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/ranks/machine.hpp>
#include <hocket/ranks/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <unordered_map>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks::detail {

/// What two calls of one collective must agree on; `a` and `b` are calls of members.
[[nodiscard]] constexpr bool same_collective(const op& a, const op& b) noexcept {
  if (a.kind != b.kind || a.type != b.type) return false;
  if (has_root(a.kind) && a.peer != b.peer) return false;
  return has_counts(a.kind) || a.count == b.count;
}
/// Whether a receive takes what its send gives.
[[nodiscard]] constexpr bool same_transfer(const op& send, const op& receive, const machine& m) noexcept {
  return send.count == receive.count || (m.longer_receives && send.count < receive.count);
}

/// Where calls of ranks meet: a communicator for its collectives, and each (communicator, from, to, tag) for its sends
/// and receives. The k-th of one side meets the k-th of the other.
class channels {
 public:
  explicit channels(const program& of, std::pmr::memory_resource* memory) : first_(memory), ids_(memory) {
    first_.reserve(of.communicator_count() + 1);
    for (communicator_id c = 0; c < of.communicator_count(); ++c) {
      first_.push_back(count_);
      count_ += static_cast<std::uint32_t>(of.groups(c).groups.size());
    }
    collectives_ = count_;
  }

  /// The channel of the collectives of a group.
  [[nodiscard]] std::uint32_t of_group(communicator_id c, std::uint32_t group) const { return first_[c] + group; }
  /// The channel of a send or receive of `rank`; a new one if nobody asked before. Amortised O(1).
  std::uint32_t of_transfer(const op& o, std::uint32_t rank, std::uint32_t group) {
    const bool sends = o.kind == op_kind::send;
    const key k{of_group(o.communicator, group), sends ? rank : o.peer, sends ? o.peer : rank, o.tag};
    const auto [at, is_new] = ids_.try_emplace(k, count_);
    if (is_new) ++count_;
    return at->second;
  }
  [[nodiscard]] bool is_collective(std::uint32_t channel) const noexcept { return channel < collectives_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }

 private:
  struct key {
    std::uint32_t group, from, to, tag;
    bool operator==(const key&) const = default;
  };
  struct hash {
    std::size_t operator()(const key& k) const noexcept {
      const std::uint64_t a = std::uint64_t{k.group} << 32 | k.tag, b = std::uint64_t{k.from} << 32 | k.to;
      constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;
      std::uint64_t x = (a * odd) ^ (b + (a >> 29));
      x = (x ^ (x >> 32)) * odd;
      return hocket::detail::to_size(x ^ (x >> 29));
    }
  };
  std::uint32_t count_ = 0, collectives_ = 0;
  std::pmr::vector<std::uint32_t> first_;  // by communicator
  std::pmr::unordered_map<key, std::uint32_t, hash> ids_;
};

}  // namespace hocket::inline HOCKET_ABI::ranks::detail
