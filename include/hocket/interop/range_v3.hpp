// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lets hocket's views pipe into range-v3. Include it before the first use of a view in a range-v3 pipeline.
#pragma once
#include <hocket/pipeline/rank_view.hpp>

#include <range/v3/range/concepts.hpp>

namespace ranges {

/// plan.rank(0) | ranges::views::take(5): the list of a rank is a view, and its iterators outlive it.
template <class S>
inline constexpr bool enable_view<hocket::pipeline::rank_view<S>> = true;
template <class S>
inline constexpr bool enable_borrowed_range<hocket::pipeline::rank_view<S>> = true;
template <class S>
inline constexpr bool enable_view<hocket::pipeline::stage_list<S>> = true;

}  // namespace ranges
