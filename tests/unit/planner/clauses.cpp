// SPDX-License-Identifier: Apache-2.0
// The search that learns, against all assignments of small random problems.
#include <hocket/planner/schedule/detail/clause_search.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "catch.hpp"

namespace {

using namespace hocket::planner::detail;

/// Variables from 0 to `top`: distances, sums of bounds, and sets of literals that must not all hold.
struct problem {
  static constexpr std::uint32_t variables = 6;
  static constexpr std::int32_t top = 3;
  using values = std::array<std::int32_t, variables>;
  struct distance {
    std::uint32_t x, y;
    std::int32_t more;
  };
  struct sum {
    std::vector<std::uint32_t> bounds;
    std::int32_t most;
  };
  std::vector<distance> distances;
  std::vector<sum> sums;
  std::vector<std::vector<bound_literal>> forbidden;

  /// So many literals by chance.
  [[nodiscard]] static std::vector<bound_literal> literals(std::mt19937& random, std::uint32_t many) {
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    std::vector<bound_literal> out;
    for (; many > 0; --many) {
      const std::uint32_t b = below(2 * variables);
      out.push_back(
          {b, b % 2 == 0 ? 1 + static_cast<std::int32_t>(below(top)) : -static_cast<std::int32_t>(below(top))});
    }
    return out;
  }
  explicit problem(std::mt19937& random) {
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    for (std::uint32_t i = below(4); i-- > 0;) {
      const std::uint32_t x = below(variables), y = below(variables);
      if (x != y) distances.push_back({x, y, static_cast<std::int32_t>(below(4)) - 2});
    }
    std::vector<std::uint32_t> free(2 * std::size_t{variables});
    for (std::uint32_t b = 0; b < free.size(); ++b) free[b] = b;
    for (std::uint32_t i = below(3); i-- > 0;) {
      sum s{{}, static_cast<std::int32_t>(below(7)) - 2};
      for (int k = 0; k < 3; ++k) {
        const std::uint32_t at = below(static_cast<std::uint32_t>(free.size()));
        s.bounds.push_back(free[at]);
        free.erase(free.begin() + at);
      }
      sums.push_back(s);
    }
    for (std::uint32_t i = 6 + below(40); i-- > 0;) forbidden.push_back(literals(random, 2 + below(2)));
  }
  [[nodiscard]] static std::int32_t bound_of(const values& v, std::uint32_t b) {
    return b % 2 == 0 ? v[b / 2] : -v[b / 2];
  }
  [[nodiscard]] bool holds(const values& v) const {
    for (const distance& d : distances)
      if (v[d.y] < v[d.x] + d.more) return false;
    for (const sum& s : sums) {
      std::int32_t all = 0;
      for (const std::uint32_t b : s.bounds) all += bound_of(v, b);
      if (all > s.most) return false;
    }
    return std::none_of(forbidden.begin(), forbidden.end(), [&](const auto& set) { return all_hold(v, set); });
  }
  [[nodiscard]] static bool all_hold(const values& v, const std::vector<bound_literal>& literals) {
    for (const bound_literal& x : literals)
      if (bound_of(v, x.bound) < x.least) return false;
    return true;
  }
  /// Those in which the first variable is at least so large, and that is assumed.
  [[nodiscard]] int solutions(std::int32_t least, const std::vector<bound_literal>& assumed = {}) const {
    int n = 0;
    values v{};
    for (std::uint32_t i = 0; i < 4096; ++i) {
      for (std::uint32_t x = 0; x < variables; ++x) v[x] = static_cast<std::int32_t>(i >> (2 * x) & 3);
      n += v[0] >= least && all_hold(v, assumed) && holds(v) ? 1 : 0;
    }
    return n;
  }
};

/// The problem, as a search is told it.
struct asked {
  clause_search search;
  std::vector<std::uint32_t> x;

  asked(const problem& p, std::size_t most_clauses) : search(most_clauses) {
    for (std::uint32_t i = 0; i < problem::variables; ++i)
      x.push_back(search.add(0, problem::top, clause_search::sort::decision));
    for (const auto& d : p.distances) search.add_distance(x[d.x], x[d.y], d.more);
    for (const auto& s : p.sums) search.add_sum(s.bounds, s.most);
  }
  /// What the search has found: every variable has one value left.
  [[nodiscard]] problem::values values_found() const {
    problem::values v{};
    for (std::uint32_t i = 0; i < problem::variables; ++i) {
      v[i] = search.least(x[i]);
      CHECK(v[i] == search.most(x[i]));
    }
    return v;
  }
  /// Of every forbidden set the last literal that may still be false must be.
  [[nodiscard]] bool rule(const problem& p) {
    using from = clause_search::reason::from;
    for (const auto& set : p.forbidden) {
      std::vector<bound_literal> open;
      std::vector<bound_literal> held;
      for (const bound_literal& y : set) (search.bound(y.bound) >= y.least ? held : open).push_back(y);
      if (open.size() > 1) continue;
      const bound_literal last = open.empty() ? held.back() : open.front();
      if (open.empty()) held.pop_back();
      held.resize(2);  // reasons have two literals, or fewer
      if (!search.raise(last.negated(), {from::literals, held[0], held[1]})) return false;
    }
    return true;
  }
};

}  // namespace

TEST_CASE("a search that learns finds an assignment where there is one, and none where there is none",
          "[planner][clauses]") {
  std::mt19937 random(11);
  int possible = 0, impossible = 0, within_first = 0, within_later = 0;
  for (int n = 0; n < 3000; ++n) {
    const problem p(random);
    const int all = p.solutions(0);
    INFO("case " << n << ", " << all << " solutions");
    asked a(p, n % 2 == 0 ? 4000 : 4);
    std::int64_t steps = 1'000'000;
    int found = 0;
    const auto rule = [&](std::uint32_t) { return a.rule(p); };
    for (std::int32_t least = 0;; ++found) {                               // the first variable larger and larger
      const auto assumed = problem::literals(random, n % 2 == 0 ? 1 : 2);  // what is learned of it holds without it
      const auto within = a.search(steps, rule, assumed);
      if (within == clause_search::verdict::impossible) CHECK(p.solutions(least) == 0);
      CHECK((within == clause_search::verdict::found) == (p.solutions(least, assumed) > 0));
      if (within == clause_search::verdict::found) {
        CHECK(p.holds(a.values_found()));
        CHECK(problem::all_hold(a.values_found(), assumed));
        (found > 0 ? within_later : within_first) += 1;
      }
      const auto verdict = a.search(steps, rule);
      if (verdict == clause_search::verdict::impossible) {
        CHECK(p.solutions(least) == 0);
        break;
      }
      REQUIRE(verdict == clause_search::verdict::found);
      const problem::values v = a.values_found();
      CHECK(p.holds(v));
      CHECK(v[0] >= least);
      least = v[0] + 1;
      a.search.fix({2 * a.x[0], least});
    }
    CHECK((found > 0) == (all > 0));
    (all > 0 ? possible : impossible) += 1;
  }
  CHECK(possible > 500);
  CHECK(impossible > 500);
  CHECK(within_first > 500);
  CHECK(within_later > 500);
}

TEST_CASE("steps that do not last are told, and a later call goes on with what was learned", "[planner][clauses]") {
  // More pigeons than holes: no clause of few words says so.
  constexpr std::uint32_t pigeons = 7;
  clause_search search(50);
  std::vector<std::uint32_t> in_hole;
  for (std::uint32_t i = 0; i < pigeons * (pigeons - 1); ++i)
    in_hole.push_back(search.add(0, 1, clause_search::sort::decision));
  for (std::uint32_t i = 0; i < pigeons; ++i) {  // each in a hole: of its holes at most all but one are not it
    std::vector<std::uint32_t> bounds;
    for (std::uint32_t h = 0; h + 1 < pigeons; ++h) bounds.push_back(2 * in_hole[i * (pigeons - 1) + h] + 1);
    search.add_sum(bounds, -1);
  }
  for (std::uint32_t h = 0; h + 1 < pigeons; ++h) {  // at most one in each
    std::vector<std::uint32_t> bounds;
    for (std::uint32_t i = 0; i < pigeons; ++i) bounds.push_back(2 * in_hole[i * (pigeons - 1) + h]);
    search.add_sum(bounds, 1);
  }
  int calls = 0;
  for (auto verdict = clause_search::verdict::unknown; verdict != clause_search::verdict::impossible; ++calls) {
    REQUIRE(calls < 100'000);
    std::int64_t steps = 2'000;
    verdict = search(steps, [](std::uint32_t) { return true; });
    REQUIRE(verdict != clause_search::verdict::found);
  }
  CHECK(calls > 1);
  CHECK(search.branches() > 100);
}
