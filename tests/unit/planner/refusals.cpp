// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What planners are asked wrongly: each refusal with its numbers.
#include <hocket/core/message.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/planner/micro_batches/lengths.hpp>
#include <hocket/planner/micro_batches/prices.hpp>
#include <hocket/planner/micro_batches/robust.hpp>
#include <hocket/planner/micro_batches/solve.hpp>
#include <hocket/planner/split/layout.hpp>
#include <hocket/planner/split/solve.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket::planner;
using namespace hocket::literals;
namespace cost = hocket::cost;
using hocket::ticks;

namespace {

template <class T>
std::string refusal(const hocket::result<T>& r) {
  return r ? "answered" : message(r.error());
}

}  // namespace

TEST_CASE("times of micro-batches that cannot be are refused", "[planner]") {
  const micro_batch_times good{.stages = 2, .count = 2, .forward = {1, 1, 1, 1}, .backward = {2, 2, 2, 2}};
  CHECK(refusal(check(good)) == "answered");
  const auto with = [&](auto change) {
    micro_batch_times x = good;
    change(x);
    return refusal(check(x));
  };
  const std::string sizes = ", but must lie in [1, 16777216]";
  CHECK(with([](auto& x) { x.stages = 0; }) == "stages x micro-batches is 0" + sizes);
  CHECK(with([](auto& x) { x.count = 0; }) == "stages x micro-batches is 2" + sizes);
  CHECK(with([](auto& x) { x.stages = (1 << 24) + 1; }) == "stages x micro-batches is 16777217" + sizes);
  CHECK(with([](auto& x) { x.count = (1 << 23) + 1; }) == "stages x micro-batches is 2" + sizes);
  CHECK(with([](auto& x) { x.backward.pop_back(); }) ==
        "values of stages and micro-batches is 3, but must lie in [4, 4]");
  CHECK(with([](auto& x) { x.kept = {1}; }) == "values of stages and micro-batches is 1, but must lie in [4, 4]");
  const std::string values = ", but must lie in [0, 35184372088832]";
  CHECK(with([](auto& x) { x.forward[3] = -1; }) == "time or bytes of a micro-batch is -1" + values);
  CHECK(with([](auto& x) { x.kept = {0, 0, 0, (std::int64_t{1} << 45) + 1}; }) ==
        "time or bytes of a micro-batch is 35184372088833" + values);
  CHECK(with([](auto& x) { x.hop = -2; }) == "hop is -2" + values);

  const auto priced = [](double forward, double backward) {
    cost::stage_price one;
    one.forward = hocket::seconds(forward);
    one.backward = hocket::seconds(backward);
    return refusal(times_of({1, 1, {one}}));
  };
  const std::string seconds = ", but must lie in [0, 32400]";
  CHECK(priced(32'400, 0) == "answered");
  CHECK(priced(32'400.5, 0) == "seconds of a micro-batch is 32401" + seconds);
  CHECK(priced(0, -0.25) == "seconds of a micro-batch is -1" + seconds);
  CHECK(priced(std::numeric_limits<double>::infinity(), 0) ==
        "seconds of a micro-batch is 9000000000000000000" + seconds);
  CHECK(priced(-std::numeric_limits<double>::infinity(), 0) ==
        "seconds of a micro-batch is -9000000000000000000" + seconds);
}

TEST_CASE("micro-batches that do not fit pipelines, steps or schedule are refused", "[planner]") {
  const auto assigned = [](const assignment_problem& q) { return refusal(solve(q)); };
  const std::vector<ticks> six(6, 1);
  CHECK(assigned({.times = six, .pipelines = 2, .steps = 3}) == "answered");
  CHECK(assigned({.times = six, .pipelines = 1 << 13, .steps = 1 << 13})
            .starts_with("pipelines x steps is 67108864, but"));
  CHECK(assigned({.times = six, .pipelines = 4}) == "micro-batches over pipelines x steps: 6 is not divisible by 4");
  CHECK(assigned({.times = six, .steps = 4, .equal_counts = false, .keep_steps = true}) ==
        "micro-batches over steps: 6 is not divisible by 4");

  const micro_batch_times times{
      .stages = 2, .count = 4, .forward = std::vector<ticks>(8, 1), .backward = std::vector<ticks>(8, 2)};
  const auto planned = [&](std::int64_t ranks, std::int64_t micro_batches) {
    return refusal(solve(micro_batch_problem{.times = times},
                         hocket::pipeline::one_f_one_b::make({ranks, 1, micro_batches}).value()));
  };
  CHECK(planned(2, 4) == "answered");
  CHECK(planned(3, 4) ==
        "a pipeline of 3 ranks, 1 chunks and 4 micro-batches is not possible: the times are of other stages");
  CHECK(planned(2, 5) ==
        "a pipeline of 2 ranks, 1 chunks and 5 micro-batches is not possible: the times are of another number");
}

TEST_CASE("a choice of nothing, or without a draw, is refused", "[planner]") {
  const auto choose = [](std::size_t choices, std::size_t draws) {
    return refusal(choose_robustly(
        choices, draws, [](std::size_t, std::size_t) -> hocket::result<draw_outcome> { return draw_outcome{}; }));
  };
  CHECK(choose(1, 1) == "answered");
  CHECK(choose(0, 1) == "choices or draws is 0, but must lie in [1, 1048576]");
  CHECK(choose(1, 0) == "choices or draws is 0, but must lie in [1, 1048576]");
  CHECK(choose(1, (1 << 20) + 1) == "choices or draws is 1048577, but must lie in [1, 1048576]");
}

TEST_CASE("lengths that no draw could have are refused", "[planner]") {
  const auto told = [](std::vector<length_range> ranges) {
    return refusal(check(length_distribution{std::move(ranges), 1}));
  };
  CHECK(told({{1, 10, 1}, {11, 20, 0}}) == "answered");
  CHECK(told({{0, 10, 1}}) == "length is 0, but must lie in [1, 2147483647]");
  CHECK(told({{5, 4, 1}}) == "longest length of a range is 4, but must lie in [5, 2147483647]");
  CHECK(told({{1, 10, 2147483646}, {11, 20, 2}}) == "weight of a range is 2, but must lie in [0, 1]");
  CHECK(told({{1, 10, -1}}) == "weight of a range is -1, but must lie in [0, 2147483647]");
  CHECK(told({{1, 10, 0}}) == "sum of weights is 0, but must lie in [1, 2147483647]");
  CHECK(told({}) == "sum of weights is 0, but must lie in [1, 2147483647]");
}

TEST_CASE("a split whose sums do not fit 64 bits is refused", "[planner]") {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  const auto profile = in_flight_profile::make_one_f_one_b(2, 4).value();
  const auto split = [&](std::int64_t count, std::int64_t time, std::int64_t room_time) {
    const level_list levels{{1_MiB, std::chrono::nanoseconds(0)}};
    const rank_room room{1_GiB, hocket::bytes(0), std::chrono::nanoseconds(room_time)};
    return refusal(solve(split_problem{.layers = {{{.time = std::chrono::nanoseconds(time), .levels = levels}, count}},
                                       .ranks = {room, room},
                                       .in_flight = profile,
                                       .micro_batches = 4}));
  };
  CHECK(split(2, 1000, 0) == "answered");
  CHECK(split(4097, 1000, 0) == "layers of the model is 4097, but must lie in [1, 4096]");
  CHECK(split(4096, most, 0).find("fit") != std::string::npos);
  CHECK(split(2, most + 1, 0) == "time of a layer is 1125899906842625, but must lie in [0, 1125899906842624]");
  CHECK(split(2, 1, most + 1) == "time of a rank is 1125899906842625, but must lie in [0, 1125899906842624]");
}
