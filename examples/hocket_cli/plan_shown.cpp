// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Timelines as the page gets them: all lanes and each of their bars, some lanes of what repeats itself too little.
#include <hocket/timeline/evenly_spaced.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "page_bars.hpp"
#include "plan_page.hpp"

namespace hocket_cli {
namespace {

using nlohmann::ordered_json;
using span = hocket::timeline::span;

// What a screen and a page of a megabyte have room for: lanes where all of them are too much, and numbers of all lanes.
constexpr std::size_t most_lanes = 64, most_moments = 9'600, most_numbers = 100'000;

/// The first lane, the last, and others evenly between them.
std::vector<std::uint32_t> shown_lanes(std::size_t count) { return hocket::evenly_spaced(count, most_lanes); }

/// The things of each lane, in an order.
template <class T, class Before>
std::vector<std::vector<T>> by_lane(std::span<const T> all, std::size_t lanes, Before&& before) {
  std::vector<std::vector<T>> sorted(lanes);
  for (const T& x : all) sorted[x.lane].push_back(x);
  for (auto& lane : sorted) std::sort(lane.begin(), lane.end(), before);
  return sorted;
}

}  // namespace

ordered_json timeline_as_json(const hocket::timeline& t) {
  auto lanes = shown_lanes(t.lane_count());
  const auto spans = by_lane(t.spans(), t.lane_count(), [](const span& a, const span& b) {
    return a.start != b.start ? a.start < b.start : a.finish < b.finish;
  });
  ordered_json out = {{"ticks_per_second", t.ticks_per_second}, {"makespan", t.makespan()},
                      {"lane_count", t.lane_count()},           {"bars", t.spans().size()},
                      {"kinds", ordered_json::array()},         {"marks", ordered_json::array()},
                      {"lanes", ordered_json::array()}};
  for (std::size_t k = 0; k < hocket::activity_count; ++k)
    out["kinds"].push_back(to_string(static_cast<hocket::activity>(k)));
  for (const auto& m : t.marks()) out["marks"].push_back({{"at", m.at}, {"label", std::string_view(m.label)}});
  bar_writer writer;
  for (const auto& lane : spans) writer.add_lane(lane);
  std::vector<std::int64_t> bars = writer.lanes();
  if (bars.size() > most_numbers && lanes.size() < spans.size()) {
    writer = {};
    for (const std::uint32_t lane : lanes) writer.add_lane(spans[lane]);
    bars = writer.lanes();
  } else {
    lanes.resize(spans.size());
    std::iota(lanes.begin(), lanes.end(), 0U);
  }
  for (const std::uint32_t lane : lanes)
    out["lanes"].push_back({{"name", t.lane_name(lane)}, {"number", lane}, {"bars", spans[lane].size()}});
  out["words"] = writer.words();
  out["lane_bars"] = std::move(bars);
  return out;
}

ordered_json memory_over_time(const plan_input& in, const step_plan& p) {
  using change = hocket::timeline::change;
  const hocket::timeline& t = p.timeline;
  const auto lanes = shown_lanes(t.lane_count());
  const auto changes = by_lane(t.changes(), t.lane_count(), [](const change& a, const change& b) {
    return a.at != b.at ? a.at < b.at : a.by < b.by;  // what is let go makes room for what comes at that moment
  });
  const std::size_t room = most_moments / std::max<std::size_t>(1, lanes.size());
  ordered_json ranks = ordered_json::array();
  std::size_t together = 1;
  for (const std::uint32_t lane : lanes) {
    const hocket::cost::memory_peak& m = p.cost.memory[lane].peak;
    const double states = m.static_bytes.real(), kept = m.kept_bytes.real();
    const double moment = m.workspace_bytes.real() + m.transient_bytes().real();
    const double peak = std::max<double>(1, p.run.ranks[lane].peak_in_flight);
    const std::size_t step = changes[lane].size() / room + 1;
    together = std::max(together, step);
    ordered_json moments = ordered_json::array();
    // What lives for a moment may come whenever something is in flight.
    const auto bytes_at = [&](std::int64_t in_flight) {
      const double more = in_flight == 0 ? 0 : kept * static_cast<double>(in_flight) / peak + moment;
      return static_cast<std::int64_t>(std::ceil(states + more));
    };
    std::int64_t held = 0, most = 0;
    hocket::ticks from = 0;
    for (std::size_t i = 0; i < changes[lane].size(); ++i) {
      held += changes[lane][i].by;
      if (i % step == 0) from = changes[lane][i].at;
      most = i % step == 0 ? held : std::max(most, held);  // of moments that are drawn as one, the most
      if (i % step + 1 == step || i + 1 == changes[lane].size()) moments.push_back({from, bytes_at(most), most});
    }
    ranks.push_back(
        {{"rank", lane}, {"static_bytes", static_cast<std::int64_t>(states)}, {"moments", std::move(moments)}});
  }
  return {{"capacity", in.memory.capacity.count()},
          {"rank_count", t.lane_count()},
          {"together", together},
          {"ranks", std::move(ranks)}};
}

}  // namespace hocket_cli
