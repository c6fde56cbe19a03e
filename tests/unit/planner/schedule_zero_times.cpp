// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules whose actions may take no time, within caps: against all orders of small problems.
#include <hocket/core/message.hpp>
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/planner/schedule/detail/answer_check.hpp>
#include <hocket/planner/schedule/solve.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket::planner;
using hocket::errc;
using hocket::ticks;
namespace pipeline = hocket::pipeline;

namespace {

/// A problem with its times by stage; no times are shared with the library.
struct question {
  schedule_problem problem;
  std::vector<ticks> forward, backward, input_grad, weight_grad;
  ticks hop = 0;

  [[nodiscard]] pipeline::stage_costs costs() const& {
    return {.forward = forward, .backward = backward, .input_grad = input_grad, .weight_grad = weight_grad, .hop = hop};
  }
  [[nodiscard]] pipeline::stage_costs costs() && = delete;
  [[nodiscard]] std::size_t stages() const { return forward.size(); }
  [[nodiscard]] std::size_t rank_of(std::size_t s) const {
    const auto p = static_cast<std::size_t>(problem.shape.ranks);
    return problem.order == stage_order::v && (s / p) % 2 == 1 ? p - 1 - s % p : s % p;
  }
  /// @param kind  0 forward, 1 backward (whole, or its first half), 2 weight gradient
  [[nodiscard]] ticks time(std::size_t s, std::size_t kind) const {
    if (kind == 0) return forward[s];
    if (kind == 2) return weight_grad[s];
    return problem.split_backward ? input_grad[s] : backward[s];
  }
  [[nodiscard]] std::size_t kinds() const { return problem.split_backward ? 3 : 2; }
};

/// A run, action by action: when each action ended, what each rank holds.
class by_hand {
 public:
  explicit by_hand(const question& q)
      : q_(&q),
        m_(static_cast<std::size_t>(q.problem.shape.micro_batches)),
        end_(q.stages() * 3 * m_, -1),
        done_(q.stages() * 3, 0),
        free_(static_cast<std::size_t>(q.problem.shape.ranks), 0),
        held_(free_.size(), 0),
        peak_(free_.size(), 0) {}

  /// The start of an action; -1 if what it needs has not run, or it has run.
  [[nodiscard]] ticks start(std::size_t s, std::size_t kind, std::size_t k) const {
    if (k >= m_ || end(s, kind, k) >= 0) return -1;
    ticks ready = 0;
    const auto needs = [&](std::size_t of, std::size_t of_kind) {
      const ticks hop = q_->rank_of(of) == q_->rank_of(s) ? 0 : q_->hop;
      const ticks t = end(of, of_kind, k);
      ready = t < 0 || ready < 0 ? -1 : std::max(ready, t + hop);
    };
    if (kind == 0 && s > 0) needs(s - 1, 0);
    if (kind == 1) needs(s, 0);
    if (kind == 1 && s + 1 < q_->stages()) needs(s + 1, 1);
    if (kind == 2) needs(s, 1);
    return ready < 0 ? -1 : std::max(ready, free_[q_->rank_of(s)]);
  }
  void run(std::size_t s, std::size_t kind, std::size_t k) {
    const std::size_t r = q_->rank_of(s);
    const ticks ends = start(s, kind, k) + q_->time(s, kind);
    end_[(s * 3 + kind) * m_ + k] = free_[r] = ends;
    ++done_[s * 3 + kind];
    ++ran_;
    held_[r] += kind == 0 ? 1 : kind + 1 == q_->kinds() ? -1 : 0;
    peak_[r] = std::max(peak_[r], held_[r]);
  }
  [[nodiscard]] bool has_room(std::size_t s) const {
    const auto& caps = q_->problem.memory_cap;
    const std::size_t r = q_->rank_of(s);
    return caps.empty() || held_[r] < caps[r];
  }
  [[nodiscard]] std::size_t next(std::size_t s, std::size_t kind) const { return done_[s * 3 + kind]; }
  [[nodiscard]] bool is_complete() const { return ran_ == q_->stages() * q_->kinds() * m_; }
  [[nodiscard]] ticks makespan() const { return *std::max_element(free_.begin(), free_.end()); }
  /// What each rank still has to run follows what it ran.
  [[nodiscard]] ticks least_makespan() const {
    std::vector<ticks> least = free_;
    for (std::size_t s = 0; s < q_->stages(); ++s)
      for (std::size_t kind = 0; kind < q_->kinds(); ++kind)
        least[q_->rank_of(s)] += static_cast<ticks>(m_ - next(s, kind)) * q_->time(s, kind);
    return *std::max_element(least.begin(), least.end());
  }
  [[nodiscard]] std::int64_t peak(std::size_t r) const { return peak_[r]; }

 private:
  [[nodiscard]] ticks end(std::size_t s, std::size_t kind, std::size_t k) const {
    return end_[(s * 3 + kind) * m_ + k];
  }

  const question* q_;
  std::size_t m_;
  std::vector<ticks> end_;
  std::vector<std::size_t> done_;
  std::vector<ticks> free_;
  std::vector<std::int64_t> held_, peak_;
  std::size_t ran_ = 0;
};

/// The least makespan of all orders within the caps, by enumeration in order of start.
class every_order {
 public:
  /// @param from  the answer of a search: only shorter ones are looked for
  every_order(const question& q, ticks from) : q_(q), best_(from) { run(by_hand(q), 0); }
  [[nodiscard]] ticks best() const { return best_; }
  [[nodiscard]] bool has_ended() const { return left_ > 0; }

 private:
  void run(const by_hand& plan, ticks from) {
    if (--left_ <= 0 || plan.least_makespan() >= best_) return;
    if (plan.is_complete()) {
      best_ = plan.makespan();
      return;
    }
    for (std::size_t s = 0; s < q_.stages(); ++s)
      for (std::size_t kind = 0; kind < q_.kinds(); ++kind) {
        if (kind == 0 && !plan.has_room(s)) continue;
        const std::size_t k = plan.next(s, kind);
        const ticks at = plan.start(s, kind, k);
        if (at < from) continue;  // also where it cannot start
        by_hand more = plan;
        more.run(s, kind, k);
        run(more, at);
      }
  }

  const question& q_;
  ticks best_;
  int left_ = 100'000;
};

/// What is wrong with an answer; empty if nothing is.
std::string defect_of(const question& q, const schedule_plan& found) {
  by_hand plan(q);
  const auto ranks = static_cast<std::uint32_t>(q.problem.shape.ranks);
  std::vector<std::uint32_t> step(ranks, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t r = 0; r < ranks; ++r)
      for (; step[r] < found.schedule.size(r); ++step[r]) {
        const pipeline::stage_action a = pipeline::stage_action_at(found.schedule, r, step[r]);
        const std::size_t kind = a.kind() == pipeline::action_kind::forward     ? 0
                               : a.kind() == pipeline::action_kind::weight_grad ? 2
                                                                                : 1;
        if (q.rank_of(a.stage()) != r) return "a stage on another rank";
        if (plan.start(a.stage(), kind, a.micro_batch()) < 0) break;
        plan.run(a.stage(), kind, a.micro_batch());
        moved = true;
      }
  }
  if (!plan.is_complete()) return "not all actions run";
  if (plan.makespan() != found.makespan) return "a makespan of " + std::to_string(plan.makespan());
  for (std::uint32_t r = 0; r < q.problem.memory_cap.size(); ++r)
    if (plan.peak(r) > q.problem.memory_cap[r])
      return "rank " + std::to_string(r) + " holds " + std::to_string(plan.peak(r));
  return found.proved == (found.makespan == found.lower_bound) ? "" : "proved is wrong";
}

/// Few stages and micro-batches; many times are 0.
question small_question(std::mt19937& random) {
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  constexpr std::array<pipeline::shape, 6> shapes{{{1, 1, 3}, {1, 2, 2}, {2, 1, 3}, {3, 1, 2}, {2, 2, 2}, {3, 1, 3}}};
  question q;
  q.problem.shape = shapes[below(shapes.size())];
  q.problem.order = below(2) == 0 ? stage_order::loop : stage_order::v;
  q.problem.split_backward = below(4) > 0;
  q.problem.budget = std::array<std::int64_t, 3>{0, 200, 5'000}[below(3)];
  const auto chunks = static_cast<std::uint32_t>(q.problem.shape.chunks);
  if (below(8) > 0)
    for (std::int64_t r = 0; r < q.problem.shape.ranks; ++r) q.problem.memory_cap.push_back(chunks + below(2));
  const std::uint32_t zeros = below(4);  // of each kind: none, some, most or all are 0
  const auto time = [&]() -> ticks { return below(3) < zeros ? 0 : 1 + below(3); };
  const bool no_weight_grads = below(2) == 0;
  for (std::int64_t s = 0; s < q.problem.shape.stages(); ++s) {
    q.forward.push_back(time());
    q.input_grad.push_back(time());
    q.weight_grad.push_back(no_weight_grads ? 0 : time());
    q.backward.push_back(q.input_grad.back() + q.weight_grad.back());
  }
  q.hop = below(2);
  return q;
}

}  // namespace

TEST_CASE("a weight gradient of no time frees its activation only where it stands in the list", "[planner][schedule]") {
  question q{.problem = {.shape = {3, 1, 2}, .memory_cap = {1, 3, 1}},
             .forward = {1, 1, 1},
             .backward = {0, 3, 3},
             .input_grad = {0, 1, 2},
             .weight_grad = {0, 2, 1}};
  const auto found = solve(q.problem, q.costs());
  REQUIRE(found);
  CHECK(defect_of(q, *found).empty());
  CHECK(found->makespan == 14);

  question equal{.problem = {.shape = {4, 1, 8}, .memory_cap = {5, 5, 5, 5}, .budget = 1000},
                 .forward = {2, 2, 2, 2},
                 .backward = {3, 3, 3, 3},
                 .input_grad = {3, 3, 3, 3},
                 .weight_grad = {0, 0, 0, 0},
                 .hop = 1};
  const auto kept = solve(equal.problem, equal.costs());
  REQUIRE(kept);
  CHECK(defect_of(equal, *kept).empty());
}

TEST_CASE("with actions of no time, answers keep caps and bounds forbid no order", "[planner][schedule]") {
  constexpr int questions = 1000;
  std::mt19937 random(20261127);
  int proved = 0, ended = 0;
  for (int n = 0; n < questions; ++n) {
    const question q = small_question(random);
    const auto found = solve(q.problem, q.costs());
    INFO("question " << n << (found ? "" : ": " + message(found.error())));
    REQUIRE(found);
    const std::string defect = defect_of(q, *found);
    INFO(defect << ", found by " << found->found_by);
    REQUIRE(defect.empty());
    const every_order all(q, found->makespan);
    CHECK(found->lower_bound <= all.best());
    if (found->proved) CHECK(all.best() == found->makespan);
    proved += found->proved ? 1 : 0;
    ended += all.has_ended() ? 1 : 0;
  }
  CHECK(proved > questions / 2);
  CHECK(ended > questions * 3 / 4);
}

TEST_CASE("an answer that breaks the problem is refused as a defect", "[planner][schedule]") {
  using hocket::planner::detail::scheduling::check_answer;
  using pipeline::action_kind;
  const pipeline::costs costs{.forward = 1, .backward = {1, 1, 2}};
  const std::vector<pipeline::stage_action> actions{{action_kind::forward, 0, 0},    {action_kind::forward, 0, 1},
                                                    {action_kind::input_grad, 0, 0}, {action_kind::weight_grad, 0, 0},
                                                    {action_kind::input_grad, 0, 1}, {action_kind::weight_grad, 0, 1}};
  const std::vector<std::uint32_t> ends{6};
  const auto table = pipeline::table_schedule::make(actions, ends);
  REQUIRE(table);
  const schedule_problem fits{.shape = {1, 1, 2}, .memory_cap = {2}};
  const auto sentence = [&](const schedule_problem& problem, ticks makespan, ticks bound) {
    const auto ok = check_answer(problem, costs, *table, {.makespan = makespan, .lower_bound = bound});
    if (ok) return std::string("right");
    CHECK(ok.error().code == errc::wrong_answer);
    return message(ok.error());
  };
  const std::string defect = "defect of hocket, please report it: ";
  CHECK(sentence(fits, 6, 6) == "right");
  CHECK(sentence(fits, -1, 0) == "right");
  CHECK(sentence(fits, 5, 5) == defect + "the makespan is 6 in the answer, but must lie in [5, 5]");
  CHECK(sentence(fits, 6, 7) == defect + "the makespan is 6 in the answer, but must lie in [7, 9223372036854775807]");
  CHECK(sentence({.shape = {1, 1, 2}, .memory_cap = {1}}, 6, 6) ==
        defect + "the peak of a rank is 2 in the answer, but must lie in [0, 1]");
  CHECK(sentence({.shape = {2, 1, 2}}, 6, 6) ==
        defect + "the number of ranks is 1 in the answer, but must lie in [2, 2]");
  CHECK(sentence({.shape = {1, 1, 3}}, 6, 6) ==
        defect + "the number of micro-batches is 2 in the answer, but must lie in [3, 3]");
  CHECK(sentence({.shape = {1, 2, 2}}, 6, 6) ==
        defect + "the number of chunks is 1 in the answer, but must lie in [2, 2]");
  CHECK(sentence({.shape = {1, 1, 2}, .split_backward = false}, 6, 6) ==
        defect + "the number of unwanted backwards is 4 in the answer, but must lie in [0, 0]");
  const std::vector<pipeline::stage_action> crossed{{action_kind::forward, 1, 0},
                                                    {action_kind::backward, 1, 0},
                                                    {action_kind::forward, 0, 0},
                                                    {action_kind::backward, 0, 0}};
  const std::vector<std::uint32_t> two{2, 4};
  const auto other = pipeline::table_schedule::make(crossed, two);
  REQUIRE(other);
  const auto ok = check_answer({.shape = {2, 1, 1}, .split_backward = false}, costs, *other, {});
  REQUIRE_FALSE(ok);
  CHECK(message(ok.error()) == defect + "the rank of a stage is 1 in the answer, but must lie in [0, 0]");
}
