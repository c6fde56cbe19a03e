// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/time.hpp>
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/machine.hpp>

#include <algorithm>
#include <array>
#include <cmath>

/// Collectives over the levels of links that their ranks really span.
namespace hocket::inline HOCKET_ABI::cost {

/// Where the ranks of a group sit: `ranks` of them, every `stride`-th device. Ranks are laid out as Megatron-LM does,
/// the tensor-parallel ones next to each other, then context, expert, data, pipeline.
struct group_place {
  std::int64_t ranks = 1, stride = 1;
};

/// One call of a collective.
struct collective_call {
  collective kind = collective::none;
  /// The whole tensor. Of an all-to-all, all that one rank has for the group; of a send, what it sends.
  double bytes = 0;
  double copies = 1;  ///< all-to-all: of each token, to as many ranks
};

namespace detail {
/// Ranks of a group within one block of each level; the outermost level holds all of them.
struct members_by_level {
  std::array<double, most_link_levels> members{};
  std::size_t levels = 0;
};
[[nodiscard]] constexpr members_by_level members_of_levels(const machine& on, const group_place& at) noexcept {
  members_by_level out;
  for (const link_level& level : on.links) {
    if (level.ranks == 0) break;
    const std::int64_t fit = (std::max)(level.ranks / at.stride, std::int64_t{1});
    out.members[out.levels++] = static_cast<double>((std::min)(fit, at.ranks));
    if (fit >= at.ranks) break;
  }
  out.members[out.levels - 1] = static_cast<double>(at.ranks);
  return out;
}
/// To how many of `places`, all alike, the copies of a token go: those that meet in one place count once.
[[nodiscard]] inline double distinct_places(double places, double copies) noexcept {
  return places * (1 - std::pow(1 - 1 / places, copies));
}
/// What a device sends over the links of one level.
[[nodiscard]] inline double bytes_over_level(const machine& on, const collective_call& call, double all, double inner,
                                             double outer, double innermost) noexcept {
  const bool is_first = inner == 1;
  if (call.kind != collective::all_to_all) return call.bytes * (1 - inner / outer) / inner;
  if (!on.sends_once) return call.bytes * (outer - inner) / all;
  const double once = call.bytes / call.copies;  // all tokens, each to one rank
  if (is_first) return once * distinct_places(all, call.copies) * (1 - inner / outer);
  const double blocks = all / innermost, reached = distinct_places(blocks, call.copies);
  return once * reached * (outer - inner) / all;
}
}  // namespace detail

/// Seconds of one call over the links of a machine. The levels work at the same time, so the slowest counts; each adds
/// the hops of recursive doubling.
///  * all-gather and reduce-scatter: over the links of a level goes what a block gets from the other blocks, shared by
///    the group's ranks in the block; an all-reduce is both.
///  * all-to-all: what goes to ranks of other blocks. Where tokens are sent once, to each block that they go to, and
///    from there to each rank.
///  * send: over the outermost level that a hop between neighbours crosses.
/// Precondition: on.has_links(), at.ranks >= 1, at.stride >= 1.  O(levels).
/// Source: Thakur et al. 2005, "Optimization of Collective Communication Operations in MPICH"; NCCL's hierarchical
/// rings; DeepEP for what is sent once.
///
///     // 8 GiB among 16 devices in blocks of 8: the links between blocks take (1 - 8/16)/8 of it.
///     seconds_over_links(on, {collective::all_gather, 8 * 1073741824.0}, {.ranks = 16});
[[nodiscard]] inline seconds seconds_over_links(const machine& on, const collective_call& call,
                                                const group_place& at) noexcept {
  HOCKET_ASSERT(on.has_links() && at.ranks >= 1 && at.stride >= 1);
  if (at.ranks == 1) return seconds(0);
  const detail::members_by_level here = detail::members_of_levels(on, at);
  if (call.kind == collective::send) {
    const link_level& level = on.links[here.levels - 1];
    return seconds(call.bytes / level.bytes + level.seconds);
  }
  const auto all = static_cast<double>(at.ranks);
  double slowest = 0, hops = 0, inner = 1;
  for (std::size_t at_level = 0; at_level < here.levels; ++at_level) {
    const link_level& level = on.links[at_level];
    const double outer = here.members[at_level];
    if (outer <= inner) continue;
    const double sent = detail::bytes_over_level(on, call, all, inner, outer, here.members[0]);
    slowest = (std::max)(slowest, sent / level.bytes);
    hops += level.seconds * (call.kind == collective::all_to_all ? 1 : std::ceil(std::log2(outer / inner)));
    inner = outer;
  }
  const double ways = call.kind == collective::all_reduce ? 2 : 1;
  return seconds(ways * (slowest + hops));
}

}  // namespace hocket::inline HOCKET_ABI::cost
