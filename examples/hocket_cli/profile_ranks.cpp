// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many ranks side by side: what is found, and its pictures.
#include "profile_ranks.hpp"

#include <hocket/core/printable.hpp>
#include <hocket/timeline/heat_map.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hocket_cli {

namespace ascend = hocket::ascend;
using ascend::nanoseconds;
using ascend::step_part;

void ranks_found::add(const rank_files& files, const ascend::profile& p) {
  ascend::rank_steps one;
  one.name = files.name;
  one.rank = p.rank >= 0 ? p.rank : files.rank;
  one.stage = ascend::stage_in_groups(p);
  one.steps = ascend::steps_of(p);
  ranks.push_back(std::move(one));
  op_counts.push_back(p.kernels.size());
  shared.add_rank(p);
  rates.push_back(ascend::rates_by_size(p.collectives));
  links.insert(links.end(), p.links.begin(), p.links.end());
  rank_count = (std::max)(rank_count, p.rank_count);
  unused.insert(unused.end(), files.unused.begin(), files.unused.end());
}

void ranks_found::compare(std::int64_t stage_count) {
  std::set<std::int64_t> numbers;
  for (const ascend::rank_steps& r : ranks) {
    if (r.rank >= 0 && !numbers.insert(r.rank).second)
      fail("two profiles are of rank " + std::to_string(r.rank) + ": give those of one run");
  }
  // Without the job's size only holes are seen.
  const std::int64_t count = rank_count >= 0 || numbers.empty() ? rank_count : *numbers.rbegin() + 1;
  constexpr std::int64_t most_ranks = 1'000'000;
  for (std::int64_t r = 0; numbers.size() == ranks.size() && r < (std::min)(count, most_ranks); ++r)
    if (!numbers.contains(r)) missing.push_back(r);
  if (stage_count > 0) {
    const auto numbered = ascend::number_stages(ranks, stage_count, count);
    if (!numbered) fail("--stages " + std::to_string(stage_count) + ": " + message(numbered.error()));
  }
  slow = ascend::find_slow_ranks(ranks);
  stages = ascend::times_of_stages(ranks);
  clocks = shared.clocks();
  arrivals = shared.arrivals(clocks);
  compared_rates = ascend::compare_rates(rates);
  links = ascend::sum_links(links);
  slow_links = ascend::find_slow_links(links);
}

std::string rank_text(const ranks_found& found, std::size_t rank) {
  const ascend::rank_steps& r = found.ranks[rank];
  return r.rank >= 0 ? "rank " + std::to_string(r.rank) : hocket::to_printable(r.name);
}

std::string picture_of_ranks(const ranks_found& found) {
  std::map<std::int64_t, std::size_t> column_of;
  for (const ascend::rank_steps& r : found.ranks)
    for (const ascend::rank_step& s : r.steps) column_of.try_emplace(s.step);
  hocket::heat_map map;
  for (auto& [step, column] : column_of) {
    column = map.columns.size();
    map.columns.push_back(step >= 0 ? std::to_string(step) : "all");
  }
  map.values.assign(found.ranks.size() * map.columns.size(), -1);
  for (std::size_t r = 0; r < found.ranks.size(); ++r) {
    const std::int64_t number = found.ranks[r].rank;
    map.rows.push_back(number >= 0 ? std::to_string(number) : found.ranks[r].name);
    for (const ascend::rank_step& s : found.ranks[r].steps)
      map.values[r * map.columns.size() + column_of[s.step]] = static_cast<double>(s.own().count()) / 1e6;
  }
  map.title = "Own time of ranks and steps";
  map.subtitle = "computing, data and idle: what a rank spends without waiting for others, in ms";
  map.unit = "ms";
  map.row_word = "rank";
  map.column_word = "step";
  return hocket::to_svg(map);
}

std::string picture_of_links(const std::vector<ascend::rank_link>& links) {
  std::map<std::int64_t, std::size_t> place_of;
  for (const ascend::rank_link& l : links) {
    place_of.try_emplace(l.from);
    place_of.try_emplace(l.to);
  }
  if (place_of.empty()) fail("there are no links to draw: no communication_matrix.json was given");
  hocket::heat_map map;
  for (auto& [rank, place] : place_of) {
    place = map.rows.size();
    map.rows.push_back(std::to_string(rank));
  }
  map.columns = map.rows;
  map.values.assign(map.rows.size() * map.rows.size(), -1);
  for (const ascend::rank_link& l : links) {
    if (l.from == l.to || l.transit.count() == 0) continue;
    double& rate = map.values[place_of[l.from] * map.rows.size() + place_of[l.to]];
    rate = (std::max)(rate, ascend::bytes_per_second(l.size, l.transit) / 1e9);
  }
  map.title = "Links between ranks";
  map.subtitle = "what all collectives moved over a link by their transit time, in GB/s";
  map.unit = "GB/s";
  map.row_word = "from";
  map.column_word = "to";
  return hocket::to_svg(map);
}

}  // namespace hocket_cli
