// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as changes of a schedule's lists: actions change places, are lost, doubled, moved to another rank. After
// each change check and simulate say what a slow player of the lists says.
#include "fuzz.hpp"

#include <hocket/pipeline.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace {

using namespace hocket;
using pipeline::action_kind;
using pipeline::stage_action;
using lists = std::vector<std::vector<stage_action>>;

struct times {
  ticks forward = 1, backward = 2, input_grad = 1, weight_grad = 1, hop = 0;

  [[nodiscard]] ticks duration(stage_action a) const noexcept {
    switch (a.kind()) {
      case action_kind::forward: return forward;
      case action_kind::backward: return backward;
      case action_kind::input_grad: return input_grad;
      default: return weight_grad;
    }
  }
  [[nodiscard]] ticks latency(std::uint32_t from, std::uint32_t to) const noexcept { return from != to ? hop : 0; }
};

result<pipeline::table_schedule> table_of(const lists& all) {
  std::vector<stage_action> actions;
  std::vector<std::uint32_t> ends;
  for (const auto& list : all) {
    actions.insert(actions.end(), list.begin(), list.end());
    ends.push_back(static_cast<std::uint32_t>(actions.size()));
  }
  return pipeline::table_schedule::make(actions, ends);
}

struct played {
  ticks makespan = 0;
  std::vector<std::int64_t> peaks;
};

/// Runs the lists from their definition: whichever rank can do its next action does it. Nothing if they stand still.
std::optional<played> play(const lists& all, std::uint32_t stages, const times& t) {
  struct place {
    std::size_t rank;
    ticks end;
  };
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, place> done;  // forward or not, stage, micro-batch
  std::vector<std::size_t> next(all.size());
  std::vector<ticks> free(all.size());
  played out;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < all.size(); ++r) {
      while (next[r] < all[r].size()) {
        const stage_action a = all[r][next[r]];
        const std::uint32_t s = a.stage(), m = a.micro_batch();
        const bool forward = a.kind() == action_kind::forward, weights = a.kind() == action_kind::weight_grad;
        ticks start = free[r];
        bool ready = true;
        const auto need = [&](bool of_forward, std::uint32_t stage) {
          const auto found = done.find({of_forward, stage, m});
          if (found == done.end()) ready = false;
          else start = std::max(start, found->second.end + (found->second.rank != r ? t.hop : 0));
        };
        if (forward && s > 0) need(true, s - 1);
        if (weights) need(false, s);
        if (!forward && !weights) {
          need(true, s);
          if (s + 1 < stages) need(false, s + 1);
        }
        if (!ready) break;
        free[r] = start + t.duration(a);
        if (!weights) done[{forward, s, m}] = {r, free[r]};
        out.makespan = std::max(out.makespan, free[r]);
        ++next[r];
        moved = true;
      }
    }
  }
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (next[r] < all[r].size()) return std::nullopt;
    std::int64_t held = 0, peak = 0;
    for (const stage_action a : all[r]) {
      if (a.kind() == action_kind::forward) peak = std::max(peak, ++held);
      else if (a.kind() != action_kind::input_grad) --held;
    }
    out.peaks.push_back(peak);
  }
  return out;
}

void require_same(const lists& all, std::uint32_t stages, const times& t) {
  const auto table = table_of(all);
  fuzz::require(table.has_value());
  const auto truth = play(all, stages, t);
  const auto checked = pipeline::check(*table);
  fuzz::require(checked.has_value() == truth.has_value());
  const auto run = pipeline::simulate(*table, t);
  fuzz::require(run.has_value() == truth.has_value());
  const auto again = text::parse_schedule_csv(text::write_schedule_csv(*table));
  fuzz::require(again && text::write_schedule_csv(*again) == text::write_schedule_csv(*table));
  if (!truth) {
    fuzz::require(checked.error().code == errc::deadlock && !message(checked.error()).empty());
    return;
  }
  fuzz::require(run->makespan == truth->makespan && run->makespan >= run->lower_bound);
  for (std::size_t r = 0; r < all.size(); ++r) fuzz::require(run->ranks[r].peak_in_flight == truth->peaks[r]);
}

/// Lists that lack an action, have one twice, or on a rank of another stage.
void require_refused(const lists& all) {
  const auto table = table_of(all);
  if (!table) return fuzz::require(!message(table.error()).empty());
  const auto checked = pipeline::check(*table);
  fuzz::require(!checked.has_value() && !message(checked.error()).empty());
  fuzz::require(!pipeline::simulate(*table, times{}).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::uint8_t* const end = data + size;
  const auto byte = [&] { return data == end ? std::uint32_t{0} : std::uint32_t{*data++}; };
  constexpr std::string_view names[] = {"gpipe", "1f1b",           "eager-1f1b", "interleaved", "looped-bfs", "zb-h1",
                                        "zb-h2", "interleaved-zb", "zbv",        "v-half",      "v-min"};
  const std::string_view name = names[byte() % std::size(names)];
  const std::uint32_t ranks = 1 + byte() % 4, micro_batches = 1 + byte() % 5;
  std::uint32_t chunks = pipeline::default_chunks(name);
  if (name == "interleaved" || name == "interleaved-zb" || name == "looped-bfs") chunks = 1 + byte() % 3;
  const auto plan = pipeline::any_schedule::make(name, {ranks, chunks, micro_batches});
  if (!plan) {
    fuzz::require(!message(plan.error()).empty());
    return 0;
  }
  lists all(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r)
    for (const stage_action a : pipeline::stage_list(*plan, r)) all[r].push_back(a);
  const times t{1 + byte() % 5, 1 + byte() % 9, 1 + byte() % 5, 1 + byte() % 5, byte() % 4};
  require_same(all, ranks * chunks, t);
  for (int step = 0; data != end && step < 40; ++step) {
    auto& list = all[byte() % ranks];
    const std::size_t i = byte() % list.size(), k = byte() % list.size();
    switch (byte() % 6) {
      case 0: {
        const stage_action lost = list[i];
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        if (!list.empty()) require_refused(all);
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), lost);
        break;
      }
      case 1:
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(k), stage_action(list[i]));
        require_refused(all);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
        break;
      case 2: {
        auto& other = all[byte() % ranks];
        if (&other == &list || list.size() == 1) break;
        const stage_action moved = list[i];
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        other.push_back(moved);
        require_refused(all);
        other.pop_back();
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), moved);
        break;
      }
      case 3: {
        const stage_action moved = list[i];
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(std::min(k, list.size())), moved);
        break;
      }
      default: std::swap(list[i], list[std::min(i + 1, list.size() - 1)]);
    }
    require_same(all, ranks * chunks, t);
  }
  return 0;
}
