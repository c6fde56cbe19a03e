// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of a rank in range-for, std::ranges and range-v3.
#include <hocket/interop/range_v3.hpp>
#include <hocket/pipeline.hpp>

#include <algorithm>
#include <iterator>
#include <range/v3/algorithm/count_if.hpp>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/reverse.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>
#include <ranges>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;

namespace {

constexpr auto plan = interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}).value();
constexpr bool is_forward(action a) { return a.kind() == action_kind::forward; }

using view = rank_view<interleaved>;
static_assert(ranges::random_access_range<view> && ranges::sized_range<view> && ranges::common_range<view>);
static_assert(ranges::view_<view> && ranges::borrowed_range<view>);
static_assert(std::random_access_iterator<view::iterator> && std::sized_sentinel_for<view::iterator, view::iterator>);
static_assert(std::ranges::count_if(plan.rank(0), is_forward) == 18);

// Lists of stage actions, too, also of a schedule that was chosen by name.
static_assert(ranges::forward_range<stage_list<interleaved>> && ranges::view_<stage_list<interleaved>>);
static_assert(std::ranges::forward_range<stage_list<any_schedule>>);

std::vector<std::uint32_t> by_hand(std::uint32_t rank, std::size_t most) {
  std::vector<std::uint32_t> found;
  for (const action a : plan.rank(rank))
    if (is_forward(a) && found.size() < most) found.push_back(a.micro_batch());
  return found;
}

}  // namespace

TEST_CASE("pipes of std::ranges and of range-v3 see what a loop sees", "[pipeline]") {
  const auto expected = by_hand(1, 7);
  std::vector<std::uint32_t> standard;
  for (const auto j : plan.rank(1) | std::views::filter(is_forward) | std::views::transform(&action::micro_batch) |
                          std::views::take(7))
    standard.push_back(j);
  CHECK(standard == expected);
  const auto v3 = plan.rank(1) | ranges::views::filter(is_forward) | ranges::views::transform(&action::micro_batch) |
                  ranges::views::take(7) | ranges::to<std::vector>();
  CHECK(v3 == expected);
  CHECK(ranges::count_if(plan.rank(2), is_forward) == 18);
  const auto back = plan.rank(3) | ranges::views::reverse | ranges::to<std::vector>();
  CHECK(back.front() == plan.rank(3).back());
  CHECK(back.size() == 36);
  CHECK(ranges::distance(stage_list(plan, 0) | ranges::views::take(9)) == 9);
}

TEST_CASE("iterators move like numbers and outlive their view", "[pipeline]") {
  const auto last = [] { return plan.rank(2).end(); }();
  auto i = plan.rank(2).begin();
  CHECK(last - i == 36);
  CHECK(i[5] == plan.rank(2)[5]);
  CHECK(*(i + 7) == *(7 + i));
  CHECK(*(last - 1) == plan.rank(2).back());
  i += 10;
  i -= 3;
  CHECK(i - plan.rank(2).begin() == 7);
  CHECK(*i++ == plan.rank(2)[7]);
  CHECK(*--i == plan.rank(2)[7]);
  CHECK(i < last);
  CHECK((i-- != last && i - plan.rank(2).begin() == 6));
  std::vector<action> copy(plan.rank(2).begin(), plan.rank(2).end());  // algorithms of C++17 take it as input iterators
  CHECK(std::ranges::equal(copy, plan.rank(2)));
  CHECK(std::ranges::find(plan.rank(2), action(action_kind::backward, 1, 4)) - plan.rank(2).begin() ==
        static_cast<std::ptrdiff_t>(plan.rank(2).step_of(action(action_kind::backward, 1, 4))));
}
