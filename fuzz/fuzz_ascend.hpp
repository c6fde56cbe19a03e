// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the targets over files of profilers share.
#pragma once
#include "fuzz.hpp"

#include <hocket/interop/ascend/compare_profiles.hpp>
#include <hocket/interop/ascend/link_rates.hpp>
#include <hocket/interop/ascend/operator_totals.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/ascend/shared_collectives.hpp>
#include <hocket/interop/ascend/slow_ranks.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>

#include <algorithm>

namespace fuzz {

/// Of a profile as a rank beside itself: nobody is slow, and nothing has changed.
inline void require_sound_beside_itself(const hocket::ascend::profile& p) {
  using namespace hocket;
  std::vector<ascend::rank_steps> ranks(2);
  ranks[0].steps = ranks[1].steps = ascend::steps_of(p);
  require(ascend::find_slow_ranks(ranks).empty());
  ascend::shared_collectives shared;
  shared.add_rank(p);
  shared.add_rank(p);
  const auto clocks = shared.clocks();
  require(clocks[1].ahead.count() == 0 && clocks[1].scatter.count() == 0);
  for (const auto& a : shared.arrivals(clocks)) require(a.waits.count() == 0 && a.last == 0);
  const auto same = ascend::compare_profiles(p, p);
  for (const auto& o : same.operators) require(o.change().count() == 0 && o.calls_before == o.calls_after);
  require(same.before.parts == same.after.parts);
  require(ascend::find_slow_links(ascend::sum_links(p.links)).size() <= p.links.size());
  for (const auto& r : ascend::rates_by_size(p.collectives)) require(r.least <= r.median && r.median <= r.most);
  (void)ascend::ranks_of_cluster(p);
}

inline void require_sound(std::string_view text) {
  using namespace hocket;
  auto p = ascend::parse_profile(text, {.max_rows = 1000});
  if (!p) return require(!message(p.error()).empty());
  const auto by_start = [](const ascend::kernel& a, const ascend::kernel& b) { return a.start < b.start; };
  require(std::is_sorted(p->kernels.begin(), p->kernels.end(), by_start));
  for (const ascend::kernel& k : p->kernels) require(k.start.count() >= 0 && k.duration.count() >= 0);
  (void)ascend::number_repeated_steps(p->kernels);
  require_sound_beside_itself(*p);
  std::size_t members = 0;
  for (const auto& b : ascend::break_down_steps(p->kernels)) {
    require(b.computing + b.exposed + b.copying + b.idle == b.span && b.exposed <= b.communication);
    members += b.kernel_count;
  }
  require(members == p->kernels.size());
  ascend::nanoseconds exposed{}, idle{};
  for (const auto& e : ascend::find_exposed(p->kernels)) exposed += e.exposed;
  for (const auto& g : ascend::find_gaps(p->kernels, {})) idle += g.length();
  const auto whole = ascend::break_down(p->kernels);
  require(exposed == whole.exposed && idle == whole.idle);
  std::int64_t count = 0;
  for (const auto& t : ascend::total_operators(p->kernels, true)) count += t.count;
  require(count == static_cast<std::int64_t>(p->kernels.size()));
}

}  // namespace fuzz
