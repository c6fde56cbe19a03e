// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the targets over files of profilers share.
#pragma once
#include "fuzz.hpp"

#include <hocket/interop/ascend/operator_totals.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>

#include <algorithm>

namespace fuzz {

inline void require_sound(std::string_view text) {
  using namespace hocket;
  auto p = ascend::parse_profile(text, {.max_rows = 1000});
  if (!p) return require(!message(p.error()).empty());
  const auto by_start = [](const ascend::kernel& a, const ascend::kernel& b) { return a.start < b.start; };
  require(std::is_sorted(p->kernels.begin(), p->kernels.end(), by_start));
  for (const ascend::kernel& k : p->kernels) require(k.start.count() >= 0 && k.duration.count() >= 0);
  (void)ascend::number_repeated_steps(p->kernels);
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
