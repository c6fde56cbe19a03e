// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Our lists against those that other systems generate, and our simulator against theirs. See tests/data/pipeline.
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::errc;
using hocket::text::parse_schedule_csv;
using hocket::text::write_schedule_csv;

namespace {

std::string slurp(const std::string& name) {
  std::ifstream file(HOCKET_TEST_DATA "/pipeline/" + name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  return text;
}
table_schedule load(const std::string& name) { return parse_schedule_csv(slurp(name)).value(); }

std::vector<std::string> split(const std::string& line, char at) {
  std::vector<std::string> parts;
  std::istringstream in(line);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

/// The lists are equal, apart from idle cells, REDUCE_GRAD and which actions overlap.
template <class Plan>
bool same_lists(const Plan& plan, const table_schedule& theirs) {
  if (plan.ranks() != theirs.ranks()) return false;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    std::vector<stage_action> a, b;
    for (std::uint32_t i = 0; i < plan.size(r); ++i) a.push_back(stage_action_at(plan, r, i));
    for (const stage_action x : theirs.rank(r))
      if (is_compute(x.kind())) b.emplace_back(x.kind(), x.stage(), x.micro_batch());
    if (a != b) return false;
  }
  return true;
}

template <class Plan>
void same(const hocket::result<Plan>& plan, const std::string& file) {
  INFO(file);
  REQUIRE(plan.has_value());
  CHECK(same_lists(*plan, load(file)));
}

}  // namespace

TEST_CASE("figures of every list equal those of an independent simulator", "[golden]") {
  std::ifstream index(HOCKET_TEST_DATA "/pipeline/index.tsv");
  std::string line;
  std::getline(index, line);
  int simulated = 0, refused = 0, lowered = 0;
  while (std::getline(index, line)) {
    auto column = split(line, '\t');
    REQUIRE(column.size() == 11);
    INFO(column[0]);
    const auto table = parse_schedule_csv(slurp(column[0]));
    if (column[0].rfind("dualpipe__", 0) == 0) {  // a second direction is not supported yet
      CHECK(table->directions() == 2);
      CHECK(check(*table).has_value());
      const auto both = simulate(*table, costs{});
      REQUIRE(both.has_value());
      CHECK(both->lower_bound <= both->makespan);
      continue;
    }
    const auto ran = table ? simulate(*table, costs{}) : hocket::result<simulation>(table.error());
    if (column[5] == "DEADLOCK") {
      ++refused;
      CHECK_FALSE(ran.has_value());
      CHECK_FALSE(check(*table).has_value());
      continue;
    }
    REQUIRE(table.has_value());
    CHECK(table->ranks() == std::stoul(column[1]));
    CHECK(table->chunks() == std::stoul(column[2]));
    CHECK(table->micro_batches() == std::stoul(column[3]));
    CHECK(check(*table).has_value());
    REQUIRE(ran.has_value());
    CHECK(ran->lower_bound <= ran->makespan);
    if (column[6].empty()) {
      ++lowered;
      continue;
    }
    ++simulated;
    CHECK(ran->makespan == std::stol(column[6]));
    const auto idle = split(column[7], '/'), peak = split(column[8], '/');
    for (std::size_t r = 0; r < ran->ranks.size(); ++r) {
      CHECK(ran->ranks[r].idle == std::stol(idle.size() > 1 ? idle.at(r) : idle.at(0)));
      CHECK(ran->ranks[r].peak_in_flight == std::stoul(peak.size() > 1 ? peak.at(r) : peak.at(0)));
    }
    if (column[0].find(".comms.") == std::string::npos) {  // reading and writing loses nothing but idle cells
      const auto again = parse_schedule_csv(write_schedule_csv(*table));
      REQUIRE(again.has_value());
      CHECK(fingerprint_of(*again) == fingerprint_of(*table));
    }
  }
  CHECK(simulated > 70);
  CHECK(refused == 4);
  CHECK(lowered >= 5);
}

TEST_CASE("lists equal those of Megatron-LM", "[golden]") {
  for (const std::int64_t m : {8, 9})
    same(one_f_one_b::make({4, 1, m}), "megatron__1f1b__p4_v1_m" + std::to_string(m) + ".csv");
  same(one_f_one_b::make({2, 1, 4}), "megatron__1f1b__p2_v1_m4.csv");
  same(interleaved::make({4, 2, 8}), "megatron__interleaved__p4_v2_m8_N4.csv");
  same(interleaved::make({4, 2, 16}), "megatron__interleaved__p4_v2_m16_N4.csv");
  same(interleaved::make({4, 4, 16}), "megatron__interleaved__p4_v4_m16_N4.csv");
  same(interleaved::make({8, 4, 32}), "megatron__interleaved__p8_v4_m32_N8.csv");
  same(interleaved::make({8, 2, 20}), "megatron__interleaved__p8_v2_m20_N10.csv");
  same(interleaved::make({4, 2, 11}, groups::paper()), "megatron__interleaved__p4_v2_m11_N4_ILLEGAL.csv");
  const auto listed = [](shape s, const group_sizes& sizes, const std::string& file) {
    same(interleaved::make(s, groups::list(sizes)), file);
  };
  listed({2, 2, 5}, {3, 2}, "megatron__interleaved__p2_v2_m5_N3.csv");
  listed({4, 2, 12}, {6, 6}, "megatron__interleaved__p4_v2_m12_N6.csv");
  listed({4, 2, 13}, {9, 4}, "megatron__interleaved__p4_v2_m13_N9.csv");
  listed({8, 2, 19}, {11, 8}, "megatron__interleaved__p8_v2_m19_N11.csv");
  same(interleaved::make({4, 2, 8}, groups::balanced(), {.extra = 1}),
       "megatron__interleaved_moe_a2a_overlap__p4_v2_m8_N4.csv");
  same(interleaved::make({8, 2, 16}, groups::balanced(), {.extra = 1}),
       "megatron__interleaved_moe_a2a_overlap__p8_v2_m16_N8.csv");
}

TEST_CASE("lists equal those of Paddle", "[golden]") {
  same(one_f_one_b::make({2, 1, 4}, 2), "paddle__Eager1F1B__p2_v1_m4.csv");
  same(one_f_one_b::make({4, 1, 8}, 2), "paddle__Eager1F1B__p4_v1_m8.csv");
  same(one_f_one_b::make({4, 1, 9}, 2), "paddle__Eager1F1B__p4_v1_m9.csv");
  same(interleaved::make({2, 2, 4}), "paddle__static_VPP__p2_v2_m4.csv");
  same(interleaved::make({4, 2, 8}), "paddle__static_VPP__p4_v2_m8.csv");
  same(interleaved::make({4, 3, 12}), "paddle__static_VPP__p4_v3_m12.csv");
  for (const std::int64_t m : {5, 7, 9, 10})
    same(interleaved::make({4, 2, m}, groups::paper()), "paddle__static_VPP__p4_v2_m" + std::to_string(m) + ".csv");
  const auto stuck = interleaved::make({4, 3, 13}, groups::paper());
  same(stuck, "paddle__static_VPP__p4_v3_m13.csv");
  CHECK(outlook_of(*stuck) == interleaved_outlook::deadlocks);
  for (const std::int64_t m : {9, 11})
    same(interleaved::make({4, 2, m}, groups::first()), "paddle__dy_interleave__p4_v2_m" + std::to_string(m) + ".csv");
  same(interleaved::make({4, 3, 13}, groups::first()), "paddle__dy_interleave__p4_v3_m13.csv");
  same(interleaved::make({4, 2, 4}, groups::balanced(), {.kappa = 1}), "paddle__dy_balanced_memory__p4_v2_m4.csv");
  same(interleaved::make({4, 2, 7}, groups::last(), {.kappa = 1}), "paddle__dy_balanced_memory__p4_v2_m7.csv");
}

TEST_CASE("lists equal those of the zero-bubble scheduler's interleaved 1F1B", "[golden]") {
  same(interleaved::make({4, 2, 8}), "zb__vpp__p4_v2_m8.csv");
  same(interleaved::make({4, 3, 12}), "zb__vpp__p4_v3_m12.csv");
}

TEST_CASE("files equal PyTorch's byte for byte", "[golden]") {
  const auto bytes = [](const auto& plan, const std::string& file, bool reduce_grad = false) {
    INFO(file);
    REQUIRE(plan.has_value());
    CHECK(write_schedule_csv(*plan, {.reduce_grad = reduce_grad}) == slurp(file));
  };
  bytes(interleaved::make({4, 2, 3}), "torch__Interleaved1F1B__p4_v2_m3.csv");
  bytes(interleaved::make({4, 2, 4}), "torch__Interleaved1F1B__p4_v2_m4.csv");
  bytes(interleaved::make({4, 2, 5}), "torch__Interleaved1F1B__p4_v2_m5.csv");
  bytes(interleaved::make({4, 2, 8}), "torch__Interleaved1F1B__p4_v2_m8.csv");
  bytes(interleaved::make({4, 3, 12}), "torch__Interleaved1F1B__p4_v3_m12.csv");
  bytes(interleaved::make({8, 2, 16}), "torch__Interleaved1F1B__p8_v2_m16.csv");
  bytes(interleaved::make({8, 2, 20}), "torch__Interleaved1F1B__p8_v2_m20.csv");
  bytes(gpipe::make_looped_bfs({4, 2, 4}), "torch__LoopedBFS__p4_v2_m4.csv");
  bytes(gpipe::make_looped_bfs({4, 3, 5}), "torch__LoopedBFS__p4_v3_m5.csv");
  bytes(zero_bubble::make_interleaved({4, 2, 5}), "torch__InterleavedZeroBubble__p4_v2_m5.csv");
  bytes(zero_bubble::make_interleaved({4, 2, 10}), "torch__InterleavedZeroBubble__p4_v2_m10.csv");
  bytes(zbv::make({2, 2, 4}), "torch__ZBVZeroBubble__p2_v2_m4.csv");
  bytes(zbv::make({4, 2, 8}), "torch__ZBVZeroBubble__p4_v2_m8.csv");
  bytes(zbv::make({4, 2, 12}), "torch__ZBVZeroBubble__p4_v2_m12.csv");
  bytes(dual_pipe_v::make({2, 2, 4}), "torch__DualPipeV__p2_v2_m4.csv");
  bytes(dual_pipe_v::make({3, 2, 6}), "torch__DualPipeV__p3_v2_m6.csv");
  bytes(dual_pipe_v::make({4, 2, 8}), "torch__DualPipeV__p4_v2_m8.csv");
  bytes(dual_pipe_v::make({8, 2, 16}), "torch__DualPipeV__p8_v2_m16.csv");
  bytes(gpipe::make({2, 1, 4}), "torch__GPipe__p2_v1_m4.csv", true);
  bytes(gpipe::make({4, 1, 4}), "torch__GPipe__p4_v1_m4.csv", true);
  bytes(gpipe::make({4, 1, 8}), "torch__GPipe__p4_v1_m8.csv", true);
}

TEST_CASE("interleaved zero bubble equals PyTorch's, apart from idle cells", "[golden]") {
  same(zero_bubble::make_interleaved({4, 2, 5}), "torch__InterleavedZeroBubble__p4_v2_m5.csv");
  same(zero_bubble::make_interleaved({4, 2, 10}), "torch__InterleavedZeroBubble__p4_v2_m10.csv");
}

TEST_CASE("the upstream 1F1B with a wrong last rank is caught", "[golden]") {
  for (const auto& [file, p, m] :
       {std::tuple<const char*, std::uint32_t, std::int64_t>{"torch__1F1B__p2_v1_m4.csv", 2, 4},
        {"torch__1F1B__p4_v1_m4.csv", 4, 4},
        {"torch__1F1B__p8_v1_m16.csv", 8, 16}}) {
    const auto table = load(file);
    CHECK(check(table).error().code == errc::incomplete_schedule);
    CHECK_FALSE(same_lists(one_f_one_b::make({p, 1, m}).value(), table));
  }
}

TEST_CASE("the empty cells of zero-bubble files have a formula where no rank waits", "[golden]") {
  const auto agrees = [](const auto& plan) {
    const auto counts = hocket::text::counted_idle_cells(plan);
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      const auto idle = hocket::text::idle_cells_of(plan, r);
      if (counts[r].size() != plan.size(r) + 1 || counts[r].back() != 0) return false;
      for (std::uint32_t i = 0; i < plan.size(r); ++i)
        if (counts[r][i] != idle.before(i)) return false;
    }
    return true;
  };
  int compared = 0;
  for (std::int64_t p = 1; p <= 6; ++p) {
    for (std::int64_t m = p; m <= 4 * p; ++m) {
      for (std::int64_t v = 1; v <= 3; ++v) {
        const auto plan = zero_bubble::make_interleaved({p, v, m}).value();
        if (!order_of(plan).even_groups()) continue;
        INFO(p << ' ' << v << ' ' << m);
        CHECK(agrees(plan));
        ++compared;
      }
    }
  }
  CHECK(compared > 100);
}

namespace {

// What the cells of a file say of time: a column is a step that all ranks take together.
struct columns {
  std::vector<std::vector<std::string>> rows;

  explicit columns(const std::string& csv) {
    for (const std::string& line : split(csv, '\n')) rows.push_back(split(line, ','));
  }
  // The column of a stage's forward, or one beyond all.
  std::size_t of(std::uint32_t stage, std::uint32_t micro_batch) const {
    const std::string cell = std::to_string(stage) + "F" + std::to_string(micro_batch);
    for (const auto& row : rows)
      if (const auto at = std::find(row.begin(), row.end(), cell); at != row.end())
        return static_cast<std::size_t>(at - row.begin());
    return ~std::size_t{0};
  }
};

}  // namespace

// PyTorch's rule: beyond the cells of the formula a rank stays idle only before a forward, and no longer than until the
// column behind the forward of the stage before.
TEST_CASE("a rank of a zero-bubble file with few micro-batches waits just for the stage before", "[golden]") {
  int waited = 0;
  for (std::int64_t p = 2; p <= 5; ++p)
    for (std::int64_t m = 1; m < p; ++m)
      for (std::int64_t v = 1; v <= 3; ++v) {
        const auto plan = zero_bubble::make_interleaved({static_cast<std::uint32_t>(p), v, m}).value();
        if (!order_of(plan).even_groups()) continue;
        INFO(p << ' ' << v << ' ' << m);
        const columns file(write_schedule_csv(plan, {.carriage_returns = false}));
        REQUIRE(file.rows.size() == plan.ranks());
        const std::int64_t rounds = (std::max)(m / p, std::int64_t{1}), a_round = m / rounds;
        for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
          const auto formula = hocket::text::idle_cells_of(plan, r);
          CHECK(formula.first == r);  // PyTorch's words: warmup_ops, and what comes behind them
          CHECK(formula.step == (std::min)((v - 1) * a_round + p - 1 - r, v * m));
          CHECK(formula.gap == p - 1 - r);
          std::uint32_t step = 0, empty = 0;
          for (std::size_t c = 0; c < file.rows[r].size(); ++c) {
            if (file.rows[r][c].empty()) {
              ++empty;
              continue;
            }
            const stage_action a = stage_action_at(plan, r, step);
            const bool follows = a.kind() == action_kind::forward && a.stage() > 0;
            if (follows) REQUIRE(file.of(a.stage() - 1, a.micro_batch()) < c);
            REQUIRE(empty >= formula.before(step));
            if (empty > formula.before(step)) {
              REQUIRE(follows);
              CHECK(file.of(a.stage() - 1, a.micro_batch()) + 1 == c);
              ++waited;
            }
            ++step;
            empty = 0;
          }
          CHECK(step == plan.size(r));
          CHECK(empty == 0);
        }
      }
  CHECK(waited > 20);
}

// With fewer than 2p - 1 micro-batches the lists are not PyTorch's, and no column is a time.
TEST_CASE("a zbv file has PyTorch's empty cells where the list is PyTorch's", "[golden]") {
  for (std::int64_t p = 1; p <= 4; ++p)
    for (std::int64_t m = 1; m <= 2 * p; ++m) {
      const auto plan = zbv::make({static_cast<std::uint32_t>(p), 2, m}).value();
      const columns file(write_schedule_csv(plan, {.carriage_returns = false}));
      for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
        const auto empty = static_cast<std::size_t>(std::count(file.rows[r].begin(), file.rows[r].end(), ""));
        CHECK(empty == (m >= 2 * p - 1 ? r : 0));
        CHECK(file.rows[r].size() == plan.size(r) + empty);
      }
    }
}
