// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules that other systems have and this file's neighbours do not compare: V schedules, DualPipe, sequence
// slices, zero bubble. Equal means every field of every action, joining flags included. See tests/data/pipeline.
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <fstream>
#include <iterator>
#include <string>

#include "catch.hpp"

using namespace hocket::pipeline;

namespace {

table_schedule golden_table(const std::string& name) {
  std::ifstream file(HOCKET_TEST_DATA "/pipeline/" + name + ".csv", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  INFO(name);
  auto table = hocket::text::parse_schedule_csv(text);
  REQUIRE(table.has_value());
  return *std::move(table);
}

template <class Plan>
void equals_golden(const hocket::result<Plan>& plan, const std::string& name) {
  const table_schedule theirs = golden_table(name);
  INFO(name);
  REQUIRE(plan.has_value());
  REQUIRE(plan->ranks() == theirs.ranks());
  CHECK(plan->micro_batches() == theirs.micro_batches());
  CHECK(directions_of(*plan) == theirs.directions());
  CHECK(slices_of(*plan) == theirs.slices());
  for (std::uint32_t r = 0; r < theirs.ranks(); ++r) {
    REQUIRE(plan->size(r) == theirs.size(r));
    for (std::uint32_t i = 0; i < theirs.size(r); ++i) REQUIRE(stage_action_at(*plan, r, i) == theirs.at(r, i));
  }
}

/// Not the same rule as ours: no longer, with no more memory on any rank than their highest.
template <class Plan>
void no_worse_than_golden(const hocket::result<Plan>& plan, const std::string& name) {
  INFO(name);
  REQUIRE(plan.has_value());
  const auto ours = simulate(*plan, costs{}).value(), theirs = simulate(golden_table(name), costs{}).value();
  CHECK(ours.makespan <= theirs.makespan);
  std::uint32_t most = 0;
  for (const auto& r : theirs.ranks) most = r.peak_in_flight > most ? r.peak_in_flight : most;
  for (const auto& r : ours.ranks) CHECK(r.peak_in_flight <= most);
}

}  // namespace

TEST_CASE("V schedules equal PyTorch's and their authors'", "[golden]") {
  equals_golden(zbv::make({2, 2, 4}), "torch__ZBVZeroBubble__p2_v2_m4");
  equals_golden(zbv::make({4, 2, 8}), "torch__ZBVZeroBubble__p4_v2_m8");
  equals_golden(zbv::make({4, 2, 12}), "torch__ZBVZeroBubble__p4_v2_m12");
  for (const auto& [p, m] : {std::pair{2, 4}, {4, 8}, {4, 12}, {5, 10}, {8, 16}}) {
    const std::string shape_name = "__p" + std::to_string(p) + "_v2_m" + std::to_string(m);
    equals_golden(make_v_schedule({p, 2, m}, v_memory::half), "zb__Vhalf" + shape_name);
    if (m != 12) equals_golden(make_v_schedule({p, 2, m}, v_memory::third), "zb__Vmin" + shape_name);
  }
}

TEST_CASE("DualPipe and DualPipeV equal DeepSeek's and PyTorch's", "[golden]") {
  equals_golden(dual_pipe::make({2, 1, 4}), "dualpipe__DualPipe__p2_m4");
  equals_golden(dual_pipe::make({4, 1, 8}), "dualpipe__DualPipe__p4_m8");
  equals_golden(dual_pipe::make({4, 1, 10}), "dualpipe__DualPipe__p4_m10");
  equals_golden(dual_pipe_v::make({2, 2, 4}), "torch__DualPipeV__p2_v2_m4");
  equals_golden(dual_pipe_v::make({3, 2, 6}), "torch__DualPipeV__p3_v2_m6");
  equals_golden(dual_pipe_v::make({4, 2, 8}), "torch__DualPipeV__p4_v2_m8");
  equals_golden(dual_pipe_v::make({8, 2, 16}), "torch__DualPipeV__p8_v2_m16");
}

TEST_CASE("sequence slices equal their authors', interleaved zero bubble PyTorch's", "[golden]") {
  equals_golden(seq_1f1b::make({4, 1, 4}, 2), "zb__Seq1F1B__p4_v1_m4_s2");
  equals_golden(seq_1f1b::make({4, 1, 8}, 2), "zb__Seq1F1B__p4_v1_m8_s2");
  equals_golden(zero_bubble::make_interleaved({4, 2, 5}), "torch__InterleavedZeroBubble__p4_v2_m5");
  equals_golden(zero_bubble::make_interleaved({4, 2, 10}), "torch__InterleavedZeroBubble__p4_v2_m10");
  equals_golden(gpipe::make_f_then_b({4, 2, 5}), "paddle__dy_fthenb__p4_v2_m5");
  equals_golden(gpipe::make_f_then_b({4, 2, 7}), "paddle__dy_fthenb__p4_v2_m7");
}

TEST_CASE("heuristics of others are no better", "[golden]") {
  no_worse_than_golden(zero_bubble::make_h1({4, 1, 8}), "zb__heuristic__p4_v1_m8_mem1x1F1B");
  no_worse_than_golden(zero_bubble::make_h1({8, 1, 16}), "zb__heuristic__p8_v1_m16_mem1x1F1B");
  no_worse_than_golden(zero_bubble::make_h2({8, 1, 24}), "zb__heuristic__p8_v1_m24_mem2x1F1B");
  no_worse_than_golden(zero_bubble::make_h2({4, 1, 8}), "zb__heuristic__p4_v1_m8_meminf");
  no_worse_than_golden(zero_bubble::make_h2({4, 1, 12}), "zb__heuristic__p4_v1_m12_meminf");
  no_worse_than_golden(zbv::make({4, 2, 3}), "torch__ZBVZeroBubble__p4_v2_m3");
  no_worse_than_golden(zbv::make({4, 2, 8}), "zb__ZBV_heuristic__p4_v2_m8");
  no_worse_than_golden(zbv::make({4, 2, 12}), "zb__ZBV_heuristic__p4_v2_m12");
  no_worse_than_golden(zero_bubble::make_h1({4, 1, 4}), "paddle__ZBH1__p4_v1_m4");
  no_worse_than_golden(zero_bubble::make_h1({8, 1, 16}), "paddle__ZBH1__p8_v1_m16");
  no_worse_than_golden(interleaved::make({4, 3, 13}, groups::least_memory(1, 2)),
                       "paddle__dy_interleave_best_unbalanced__p4_v3_m13");
}
