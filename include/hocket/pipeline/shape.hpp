// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The largest shape that fits the encodings of an action; beyond it, errc::bad_shape.
inline constexpr std::int64_t max_chunks = 64;
inline constexpr std::int64_t max_stages = 65'536;
inline constexpr std::int64_t max_micro_batches = 2'097'152;

/// How large a pipeline is: p ranks, v chunks of the model on each, m micro-batches in one step of training.
/// The model is cut into S = p·v stages, numbered in model order.
///
///     constexpr hocket::pipeline::shape s{.ranks = 4, .chunks = 2, .micro_batches = 9};
///     static_assert(s.stages() == 8 && check(s).has_value());
struct shape {
  std::int64_t ranks = 1;          ///< p >= 1
  std::int64_t chunks = 1;         ///< v in [1, max_chunks]
  std::int64_t micro_batches = 1;  ///< m in [1, max_micro_batches]

  /// S = p·v. Precondition: check(*this) succeeded.
  [[nodiscard]] constexpr std::int64_t stages() const noexcept { return ranks * chunks; }
  friend constexpr bool operator==(const shape&, const shape&) = default;
};

/// Success if every schedule of this shape can be represented, else errc::bad_shape with the reason. O(1).
[[nodiscard]] constexpr result<void> check(const shape& s) noexcept {
  const error bad{errc::bad_shape, s.ranks, s.chunks, s.micro_batches};
  if (s.ranks < 1 || s.chunks < 1 || s.micro_batches < 1) return bad.with("each must be at least 1");
  if (s.chunks > max_chunks) return bad.with("at most 64 chunks");
  if (s.ranks > max_stages / s.chunks) return bad.with("at most 65536 stages in total");
  if (s.micro_batches > max_micro_batches) return bad.with("at most 2097152 micro-batches");
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
