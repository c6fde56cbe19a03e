// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/micro_batch_lengths.hpp>
#include <hocket/planner/micro_batches/times.hpp>

#include <cmath>

namespace hocket::inline HOCKET_ABI::planner {

/// Prices of the formulas as times in nanoseconds, rounded: hops are in them already.
/// Errors: errc::out_of_range for a price past nine hours or 2^45 bytes. O(stages x micro-batches).
[[nodiscard]] inline result<micro_batch_times> times_of(const cost::micro_batch_prices& prices) {
  micro_batch_times out{.stages = prices.stages, .count = prices.count, .forward = {}, .backward = {}};
  constexpr double longest = 32'400;  // seconds: nanoseconds within what check allows
  const auto nanoseconds = [](seconds t) { return static_cast<ticks>(std::llround(t.count() * 1e9)); };
  const auto whole = [](seconds t) {  // what a sentence can show of it
    constexpr double most = 9e18;
    const double outwards = t.count() < 0 ? std::floor(t.count()) : std::ceil(t.count());
    return static_cast<std::int64_t>(outwards < -most ? -most : outwards < most ? outwards : most);
  };
  for (const cost::stage_price& x : prices.all) {
    for (const seconds t : {x.forward, x.backward})
      if (!(t.count() >= 0 && t.count() <= longest))
        return error{errc::out_of_range, whole(t), 0, static_cast<std::int64_t>(longest)}.with(
            "seconds of a micro-batch");
    out.forward.push_back(nanoseconds(x.forward));
    out.backward.push_back(nanoseconds(x.backward));
    out.kept.push_back(x.kept_bytes);
  }
  if (const auto ok = check(out); !ok) return ok.error();
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner
