// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/detail/run_pipes.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Finds the shortest cycle among things that wait for each other.
/// @param link_of  links[first[x]] … links[first[x + 1] - 1] are what x waits for, as `blocked`; `holder_of(link)`
///                 numbers the thing that holds it
/// Breadth first from each, given up beyond what is found already. After 2^26 steps the shortest so far will do.
template <class Allocator, class Links, class HolderOf, class Put>
constexpr bool shortest_cycle(const basic_workspace<Allocator>& memory, const Links& links,
                              const typename basic_workspace<Allocator>::template vector<std::uint32_t>& first,
                              HolderOf&& holder_of, Put&& put) {
  using numbers = typename basic_workspace<Allocator>::template vector<std::uint32_t>;
  const auto count = static_cast<std::uint32_t>(first.size() - 1);
  const auto from = memory.runnable.get_allocator();
  numbers came_by(count, 0, from), depth(count, 0, from), seen(count, 0, from), queue(from), best(from);
  std::uint64_t steps = std::uint64_t{1} << 26;
  std::uint32_t best_length = ~std::uint32_t{0};
  for (std::uint32_t root = 0; root < count && best_length > 1 && steps > 0; ++root) {
    queue.clear();
    queue.push_back(root);
    seen[root] = root + 1, depth[root] = 0;
    bool found = false;
    for (std::size_t i = 0; i < queue.size() && !found && steps > 0; ++i, --steps) {
      const std::uint32_t x = queue[i];
      if (depth[x] + 1 >= best_length) break;
      for (std::uint32_t k = first[x]; k < first[x + 1] && !found; ++k) {
        const std::uint32_t y = holder_of(links[k]);
        if (y == root) {
          best_length = depth[x] + 1;
          best.clear();
          best.push_back(k);
          for (std::uint32_t z = x; z != root;) {
            best.push_back(came_by[z]);
            std::uint32_t before = root;  // the thing whose link led to z
            for (const std::uint32_t q : queue)
              if (first[q] <= came_by[z] && came_by[z] < first[q + 1]) before = q;
            z = before;
          }
          found = true;
        } else if (seen[y] != root + 1) {
          seen[y] = root + 1, depth[y] = depth[x] + 1, came_by[y] = k;
          queue.push_back(y);
        }
      }
    }
  }
  for (std::size_t i = best.size(); i-- > 0;) put(links[best[i]]);
  return !best.empty();
}

/// What is needed by the name that it has in the list of its rank: the gradient of an input may be a half.
template <schedule S>
[[nodiscard]] constexpr blocked as_listed(const S& plan, blocked b) {
  const stage_action a = b.needs;
  if (a.kind() != action_kind::backward) return b;
  const stage_action half(action_kind::input_grad, a.stage(), a.micro_batch(), a.slice(), a.direction());
  for (std::uint32_t i = 0; i < plan.size(b.holder); ++i) {
    const stage_action x = stage_action_at(plan, b.holder, i);
    if (stage_action(x.kind(), x.stage(), x.micro_batch(), x.slice(), x.direction()) == half) b.needs = half;
  }
  return b;
}

/// Nobody can go on: an action is missing, or ranks wait for each other. Tells which, and sends the shortest cycle of
/// ranks to the sink.
template <schedule S, class Allocator, class Sink>
[[nodiscard]] constexpr error explain_deadlock(const S& plan, basic_workspace<Allocator>& memory, Sink& sink) {
  using space = basic_workspace<Allocator>;
  const std::uint32_t stages = plan.ranks() * plan.chunks(), slices = slices_of(plan);
  pipes<Allocator> sets{memory};
  typename space::template vector<blocked> links(memory.runnable.get_allocator());
  typename space::template vector<std::uint32_t> first(memory.runnable.get_allocator());

  const auto mirrored = [&](std::uint32_t u) { return u - u % slices + (slices - 1 - u % slices); };
  const auto done = [&](action_kind kind, std::uint32_t number, std::uint32_t u) {
    return kind == action_kind::forward ? sets.contains(memory.stages[number].forwards, u)
                                        : sets.contains(memory.stages[number].backwards, mirrored(u));
  };
  const auto wants = [&](std::uint32_t rank, std::uint32_t step, stage_action a) {
    if (!is_compute(a.kind()) || !in_shape(plan, a)) return;  // nobody judged the second of a pair whose first waits
    const std::uint32_t s = a.stage(), j = a.micro_batch(), t = a.slice(), d = a.direction();
    const auto need = [&](action_kind kind, std::uint32_t stage, std::uint32_t slice) {
      if (done(kind, d * stages + stage, j * slices + slice)) return;
      links.push_back({rank, step, a, {kind, stage, j, slice, d}, memory.stages[d * stages + stage].rank});
    };
    if (a.kind() == action_kind::forward) {
      if (t > 0) need(action_kind::forward, s, t - 1);
      if (s > 0) need(action_kind::forward, s - 1, t);
    } else if (a.kind() == action_kind::weight_grad) {
      need(action_kind::backward, s, t);
    } else {
      need(action_kind::forward, s, t);
      if (t + 1 < slices) need(action_kind::backward, s, t + 1);
      if (s + 1 < stages) need(action_kind::backward, s + 1, t);
    }
  };
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    first.push_back(static_cast<std::uint32_t>(links.size()));
    const auto& lane = memory.lanes[r];
    if (lane.step >= lane.size) continue;
    const stage_action a = stage_action_at(plan, r, lane.step);
    wants(r, lane.step, a);
    if (a.joined() && lane.step + 1 < lane.size) wants(r, lane.step, stage_action_at(plan, r, lane.step + 1));
  }
  first.push_back(static_cast<std::uint32_t>(links.size()));

  const auto listed = [&](std::uint32_t rank, action_kind kind, stage_action like) {
    const auto& lane = memory.lanes[rank];
    for (std::uint32_t i = lane.step; i < lane.size; ++i) {
      const stage_action a = stage_action_at(plan, rank, i);
      if ((a.kind() == action_kind::input_grad ? action_kind::backward : a.kind()) == kind &&
          a.stage() == like.stage() && a.micro_batch() == like.micro_batch() && a.slice() == like.slice() &&
          a.direction() == like.direction())
        return true;
    }
    return false;
  };
  for (const blocked& b : links) {
    if (listed(b.holder, b.needs.kind(), b.needs)) continue;
    const std::uint32_t number = b.needs.direction() * stages + b.needs.stage();
    const bool forward = b.needs.kind() == action_kind::forward ||
                         (!done(action_kind::forward, number, b.needs.micro_batch() * slices + b.needs.slice()) &&
                          !listed(b.holder, action_kind::forward, b.needs));
    return error{errc::incomplete_schedule, b.holder, b.needs.stage(), b.needs.micro_batch()}.with(
        forward ? "the forward" : "the backward");
  }
  error why{errc::deadlock};
  bool opening = true;
  shortest_cycle(
      memory, links, first, [](const blocked& b) { return b.holder; },
      [&](const blocked& b) {
        if (opening) why = error{errc::deadlock, b.rank, b.step, b.needs.stage(), b.needs.micro_batch()};
        opening = false;
        sink.on_blocked(as_listed(plan, b));
      });
  return why;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
