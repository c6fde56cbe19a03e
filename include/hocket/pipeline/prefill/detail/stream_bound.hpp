// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>
#include <hocket/pipeline/prefill/detail/request_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// When each request of a stream ends at the earliest, however all are cut. Requests are added in their order.
///
/// A rank cannot start on a request before it has come to it, and does the work of one after the work of the other. The
/// first stage has to do with one request until it begins with the next, which then takes what it takes alone.
template <prefill_cost_policy C>
class stream_bound {
 public:
  stream_bound(const prefill_problem& problem, std::pmr::memory_resource* memory)
      : problem_(problem), ranks_(static_cast<std::size_t>(problem.ranks), 0, memory) {}

  /// @param alone  a bound for the request in an empty pipeline
  void add(const request_bound<C>& request, const prefill_request& of, ticks alone) {
    const std::uint32_t last_stage = problem_.stages() - 1;
    ticks end = (std::max)(first_stage_, of.arrival) + alone;
    end = (std::max)(end, end_ + request.work(last_stage));
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r] = (std::max)(ranks_[r], of.arrival + request.way_to(r)) + request.work_of_rank(r);
      end = (std::max)(end, ranks_[r] + request.way_from(r));
    }
    first_stage_ = (std::max)(first_stage_, of.arrival) + request.work(0);
    end_ = end;
    sum_ += static_cast<double>(end - of.arrival);
    ends_ += end;
  }

  [[nodiscard]] ticks last_end() const noexcept { return end_; }
  [[nodiscard]] int128 sum_of_ends() const noexcept { return ends_; }
  /// The mean from arrival to end.
  [[nodiscard]] double mean_wait() const noexcept { return sum_ / static_cast<double>(problem_.requests.size()); }

 private:
  const prefill_problem& problem_;
  std::pmr::vector<ticks> ranks_;
  ticks first_stage_ = 0;
  ticks end_ = 0;
  int128 ends_ = 0;
  double sum_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
