// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a schedule is before anybody made it, and what must always hold of the phases that its lists are made of.
#include <hocket/pipeline.hpp>

#include "catch.hpp"

using namespace hocket::pipeline;

namespace {

template <class Plan>
bool is_like(const hocket::result<Plan>& made) {
  const Plan plan;
  return made.has_value() && check(plan).has_value() && plan == *made && shape_of(plan) == shape_of(*made) &&
         fingerprint_of(plan) == fingerprint_of(*made);
}

}  // namespace

TEST_CASE("a schedule that nobody made is the smallest of its kind", "[pipeline]") {
  CHECK(is_like(one_f_one_b::make({1, 1, 1})));
  CHECK(is_like(gpipe::make({1, 1, 1})));
  CHECK(is_like(seq_1f1b::make({1, 1, 1}, 1)));
  CHECK(is_like(zbv::make({1, 2, 1})));
  CHECK(is_like(dual_pipe_v::make({1, 2, 2})));
  CHECK(is_like(dual_pipe::make({2, 1, 4})));
  CHECK(check(interleaved{}).has_value());
  CHECK(fingerprint_of(interleaved{}) == fingerprint_of(interleaved::make({1, 1, 1}).value()));
  CHECK(check(zero_bubble{}).has_value());
  CHECK(fingerprint_of(zero_bubble{}) == fingerprint_of(zero_bubble::make_h1({1, 1, 1}).value()));
}

TEST_CASE("phases stand side by side, and their steps add up", "[pipeline]") {
  CHECK(detail::phase_list{}.check_invariants());
  CHECK(detail::phase_list{}.size() == 0);
  for (std::uint32_t count = 0; count <= 9; ++count)
    for (std::uint32_t warm_up = 0; warm_up <= count; ++warm_up) {
      const auto list = detail::alternation(count, warm_up);
      CHECK(list.check_invariants());
      CHECK(list.size() == 2 * count);
      CHECK(list.counts().size() == 2 * count);
    }
  for (std::uint32_t p = 1; p <= 9; ++p)
    for (std::uint32_t r = 0; r < p; ++r)
      for (std::uint32_t m = 2 * p; m <= 3 * p; ++m) {
        const auto list = detail::dual_pipe_phases(p, r, m, 0);
        CHECK(list.check_invariants());
        CHECK(list.size() == detail::dual_pipe_size(p, r, m));
      }
}
