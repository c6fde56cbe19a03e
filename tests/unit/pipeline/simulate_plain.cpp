// SPDX-License-Identifier: Apache-2.0
// The fast way through plain lists against the general one: the same figures, the same errors, for all schedules and
// for random lists, right and wrong ones.
#include <hocket/pipeline.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::ticks;

namespace {

struct listening {  // so that the general runner runs
  void on_action(std::uint32_t, std::uint32_t, stage_action, ticks, ticks) {}
  void on_blocked(const blocked&) {}
};
static_assert(detail::silent_sink<no_sink> && !detail::silent_sink<listening>);

std::uint64_t plain_runs = 0;

template <class Plan, class Costs>
bool same(const Plan& plan, const Costs& c) {
  workspace fast, general;
  const auto x = run(plan, c, fast);
  const auto y = run(plan, c, general, listening{});
  if (fast.entries.empty() && x) ++plain_runs;
  if (x.has_value() != y.has_value()) return false;
  if (!x) return message(x.error()) == message(y.error());
  if (!(*x == *y)) return false;
  for (std::size_t r = 0; r < fast.lanes.size(); ++r)
    if (!(fast.lanes[r].report == general.lanes[r].report)) return false;
  return true;
}

/// Times that differ from stage to stage, and latencies that depend on the ranks.
struct uneven {
  static constexpr bool same_for_micro_batches = true;
  std::uint32_t seed = 0;
  ticks duration(stage_action a) const {
    return is_compute(a.kind()) ? (a.stage() * 7 + static_cast<std::uint32_t>(a.kind()) * 3 + seed) % 5 : 0;
  }
  ticks latency(std::uint32_t from, std::uint32_t to) const { return (from * 3 + to + seed) % 4; }
};

/// A random list that can run: at each turn one of the actions that could come next, in any order of micro-batches, or
/// (`in_order`) with each stage's in order.
table_schedule random_lists(std::mt19937& random, std::uint32_t ranks, std::uint32_t stages, std::uint32_t m,
                            bool in_order, bool v_shape) {
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<std::vector<stage_action>> lists(ranks);
  std::vector<std::vector<int>> done(stages, std::vector<int>(m, 0));  // 1 forward, 2 backward or input, 3 all
  const bool splits = pick(2) == 0;
  while (true) {
    std::vector<stage_action> next;
    for (std::uint32_t s = 0; s < stages; ++s) {
      bool seen[3] = {};
      for (std::uint32_t j = 0; j < m; ++j) {
        const int d = done[s][j];
        if (d == 3 || (in_order && seen[d])) continue;
        seen[d] = true;
        if (d == 0 && (s == 0 || done[s - 1][j] > 0)) next.emplace_back(action_kind::forward, s, j);
        if (d == 1 && (s + 1 == stages || done[s + 1][j] > 1))
          next.emplace_back(splits && (in_order || j % 3 != 0) ? action_kind::input_grad : action_kind::backward, s, j);
        if (d == 2) next.emplace_back(action_kind::weight_grad, s, j);
      }
    }
    if (next.empty()) break;
    const stage_action a = next[pick(next.size())];
    const std::uint32_t row = a.stage() / ranks, x = a.stage() % ranks;
    lists[v_shape && row % 2 == 1 ? ranks - 1 - x : x].push_back(a);
    int& d = done[a.stage()][a.micro_batch()];
    d = a.kind() == action_kind::backward ? 3 : d + 1;
    if (pick(50) == 0) lists[x].emplace_back(action_kind::optimizer, x, stage_action::no_micro_batch);
  }
  std::vector<stage_action> all;
  std::vector<std::uint32_t> ends;
  for (auto& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
    ends.push_back(static_cast<std::uint32_t>(all.size()));
  }
  return table_schedule::make(all, ends).value();
}

/// The same with one thing wrong.
table_schedule spoilt(std::mt19937& random, const table_schedule& plan) {
  std::vector<stage_action> all;
  std::vector<std::uint32_t> ends;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    auto list = std::vector<stage_action>(plan.rank(r).begin(), plan.rank(r).end());
    const std::size_t i = random() % list.size(), j = random() % list.size();
    switch (random() % 6) {
      case 0: std::swap(list[i], list[j]); break;
      case 1: list[i] = list[j]; break;
      case 2: list.push_back(list[i]); break;
      case 3: list.erase(list.begin() + static_cast<std::ptrdiff_t>(i)); break;
      case 4: {
        const stage_action a = list[i];
        list[i] = {a.kind(), a.stage(), a.micro_batch(), 0, 0, true};
        break;
      }
      default: break;
    }
    all.insert(all.end(), list.begin(), list.end());
    ends.push_back(static_cast<std::uint32_t>(all.size()));
  }
  const auto table = table_schedule::make(all, ends);
  return table ? *table : plan;
}

}  // namespace

TEST_CASE("plain lists run the fast way to the same figures: every schedule", "[pipeline]") {
  std::uint64_t runs = 0;
  for (const std::string_view name : schedule_names) {
    for (const int ranks : {1, 2, 3, 5, 8, 20}) {
      for (const int chunks : {1, 2, 3}) {
        for (const int micro_batches : {1, 2, 3, 7, 8, 21, 60}) {
          const auto plan = any_schedule::make(name, {ranks, chunks, micro_batches});
          if (!plan) continue;
          INFO(name << ' ' << ranks << ' ' << chunks << ' ' << micro_batches);
          plan->visit([&](const auto& x) {
            ++runs;
            CHECK(same(x, costs{}));
            CHECK(same(x, costs{.forward = 3, .backward = 5, .input_grad = 2, .weight_grad = 0, .hop = 7}));
            CHECK(same(x, uneven{static_cast<std::uint32_t>(micro_batches)}));
          });
        }
      }
    }
  }
  CHECK(plain_runs > runs);  // most of the three went that way
}

TEST_CASE("plain lists run the fast way to the same figures and errors: random lists", "[pipeline]") {
  std::mt19937 random(7);
  std::uint64_t failed = 0, before = plain_runs;
  for (int turn = 0; turn < 1500; ++turn) {
    const auto below = [&](unsigned n) { return static_cast<std::uint32_t>(random() % n); };
    const std::uint32_t ranks = 1 + below(5), chunks = 1 + below(3), m = 1 + below(40);
    const auto plan = random_lists(random, ranks, ranks * chunks, m, turn % 3 != 0, turn % 2 == 0);
    const uneven c{static_cast<std::uint32_t>(turn)};
    REQUIRE(same(plan, c));
    const auto wrong = spoilt(random, plan);
    REQUIRE(same(wrong, c));
    if (!check(wrong)) ++failed;
  }
  CHECK(plain_runs - before > 800);
  CHECK(failed > 800);
}

TEST_CASE("times that would overflow, and ops without times, are left to the general way", "[pipeline]") {
  const auto plan = one_f_one_b::make({.ranks = 3, .micro_batches = 5}).value();
  for (const ticks large : {ticks{1} << 40, ticks{1} << 59, ticks{1} << 60, ticks{1} << 61, ticks{1} << 62})
    CHECK(same(plan, costs{.forward = large, .backward = large / 2, .hop = large / 3}));
  const std::vector<ticks> forward{1, 2, 3}, backward{3, 2, 4};  // none for halves
  CHECK(same(plan, stage_costs{forward, backward, {}, {}, 1}));
}
