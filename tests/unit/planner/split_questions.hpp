// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions of the table of ablation in docs/planner.md, "Stage split": what a user may ask, drawn at random from
// fixed seeds. Times are microseconds, sizes MiB. tests/data/planner/split_plans.csv has the plans that are compared.
#pragma once
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/planner/split/solve.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace split_questions {

namespace planner = hocket::planner;
namespace pipeline = hocket::pipeline;

inline constexpr std::array<std::string_view, 8> columns{"one chunk, equal layers",      "one chunk, unequal layers",
                                                         "more chunks, equal layers",    "two chunks, ample memory",
                                                         "two chunks, little memory",    "4 to 8 chunks, ample memory",
                                                         "4 to 8 chunks, little memory", "two kinds on 16 to 64 ranks"};
inline constexpr int per_column = 11;
inline constexpr int count = per_column * static_cast<int>(columns.size());

/// A question with all that it needs.
struct question {
  std::size_t column = 0;
  std::vector<planner::split_layers> layers;
  std::vector<planner::rank_room> ranks;
  planner::in_flight_profile in_flight;
  std::int64_t micro_batches = 1;
  bool slowest = false;  // minimise the slowest rank's time, not the step time

  [[nodiscard]] planner::split_problem problem() const {
    return {.layers = layers,
            .ranks = ranks,
            .in_flight = in_flight,
            .micro_batches = micro_batches,
            .goal = slowest ? planner::objective::slowest_rank : planner::objective::step_time};
  }
};

class maker {
 public:
  explicit maker(int number) : random_(static_cast<unsigned>(1000 + number)) {
    made_.column = static_cast<std::size_t>(number / per_column);
    made_.slowest = number % 4 == 3;
  }
  [[nodiscard]] question operator()() {
    const std::size_t column = made_.column;
    choose_shape(column);
    choose_layers(column);
    choose_memory(column == 3 || column == 5 ? 130 : column == 4 || column == 6 ? draw(12, 60) : draw(12, 130));
    return std::move(made_);
  }

 private:
  [[nodiscard]] std::int64_t draw(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<unsigned>(high - low + 1));
  }
  void choose_shape(std::size_t column) {
    constexpr std::int64_t ranks[] = {2, 4, 8, 16};
    p_ = ranks[draw(column < 2 ? 0 : 1, 3)];
    v_ = column < 2 ? 1 : column == 3 || column == 4 ? 2 : draw(column == 2 ? 2 : 4, 8);
    if (column == 5 || column == 6) p_ = ranks[draw(0, 2)];
    if (column == 7) {
      p_ = std::int64_t{16} << draw(0, 2);
      v_ = draw(2, 8);
    }
    made_.micro_batches = p_ * draw(1, 6);
    const pipeline::shape shape{p_, v_, made_.micro_batches};
    const bool v_shaped = (column == 3 || column == 4) && draw(0, 1) == 0 && made_.micro_batches >= 2 * p_;
    made_.in_flight = v_shaped ? planner::in_flight_profile::make(pipeline::zbv::make(shape).value()).value()
                               : planner::in_flight_profile::make(pipeline::interleaved::make(shape).value()).value();
  }
  [[nodiscard]] planner::layer some_layer() {
    using hocket::bytes;
    using std::chrono::nanoseconds;
    const std::int64_t time = draw(4000, 7000);
    const std::int64_t kept = draw(600, 1000);
    return {
        nanoseconds(time),
        bytes(draw(300, 500)),
        {{bytes(kept), nanoseconds(0)}, {bytes(kept / 2), nanoseconds(time / 30)}, {bytes(30), nanoseconds(time / 3)}}};
  }
  void choose_layers(std::size_t column) {
    // One draw a statement: a call's arguments have no order of their own.
    const std::int64_t stages = p_ * v_;
    const std::int64_t least = stages + draw(0, stages);
    const std::int64_t layers = (std::max)(draw(24, 96), least);
    const std::int64_t form = column == 0 || column == 2 ? 0 : column == 7 ? draw(1, 2) : draw(1, 3);
    const planner::layer usual = some_layer(), other = some_layer();
    if (form == 0) made_.layers = {{usual, layers}};
    if (form == 1) made_.layers = {{other, 3}, {usual, layers - 3}};  // dense layers in front
    for (std::int64_t i = 0; form > 1 && i < layers; ++i)             // every fourth is another, or all are
      made_.layers.push_back({form == 3 ? some_layer() : i % 4 == 3 ? other : usual, 1});
  }
  /// @param percent  of the way from what an even split needs at its leanest to what it needs at its quickest
  void choose_memory(std::int64_t percent) {
    std::vector<planner::layer> layers;
    for (const planner::split_layers& run : made_.layers)
      layers.insert(layers.end(), static_cast<std::size_t>(run.count), run.each);
    const auto stages = static_cast<std::size_t>(p_ * v_);
    std::int64_t lean = 0, quick = 0;
    for (std::uint32_t r = 0; r < p_; ++r)
      for (std::uint32_t k = 0; k < made_.in_flight.times(r); ++k) {
        std::int64_t least = 0, most = 0;
        for (std::uint32_t s = 0; s < stages; ++s) {
          if (made_.in_flight.rank_of(s) != r) continue;
          const std::int64_t held = made_.in_flight.at(r, k)[made_.in_flight.chunk_of(s)];
          for (std::size_t i = s * layers.size() / stages; i < (s + 1) * layers.size() / stages; ++i) {
            least += layers[i].weights.count() + held * layers[i].levels[2].kept.count();
            most += layers[i].weights.count() + held * layers[i].levels[0].kept.count();
          }
        }
        lean = (std::max)(lean, least);
        quick = (std::max)(quick, most);
      }
    const std::int64_t capacity = lean + 500 + (quick - lean) * percent / 100;
    using hocket::bytes;
    using std::chrono::nanoseconds;
    made_.ranks.assign(static_cast<std::size_t>(p_), {bytes(capacity)});
    made_.ranks.front() = {bytes(capacity), bytes(200), nanoseconds(500)};
    made_.ranks.back() = {bytes(capacity), bytes(200), nanoseconds(3000)};
  }

  std::mt19937 random_;
  question made_;
  std::int64_t p_ = 1, v_ = 1;
};

[[nodiscard]] inline question make(int number) { return maker(number)(); }

}  // namespace split_questions
