// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
// First: a compiler prints the way that a header came above each of its sentences.
#include <hocket/pipeline/schedule.hpp>

#include <hocket/pipeline/detail/receive_uses.hpp>
#include <hocket/pipeline/detail/slot_colouring.hpp>
#include <hocket/pipeline/receive_buffers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

namespace detail {

template <schedule S>
class receive_assignment {
 public:
  receive_assignment(const S& lists, const receive_options& with, std::pmr::memory_resource* memory)
      : with_(with), memory_(memory), uses_(lists, with, memory) {}

  [[nodiscard]] result<receive_buffers> operator()() {
    auto receives = uses_();
    if (!receives) return receives.error();
    found_.receives = std::move(*receives);
    make_pools();
    return std::move(found_);
  }

 private:
  /// What receives of one pool have in common, besides their rank.
  [[nodiscard]] slot_pool pool_of(const posted_receive& x) const {
    slot_pool pool{.rank = x.rank};
    if (with_.pools != slot_pools::rank) pool.kind = x.receive.kind();
    if (with_.pools == slot_pools::stage_and_kind) {
      pool.stage = x.receive.stage();
      pool.direction = x.receive.direction();
    }
    return pool;
  }
  [[nodiscard]] static std::uint64_t place_of(const slot_pool& x) {
    return std::uint64_t{x.rank} << 33 | std::uint64_t{x.stage & 0xffffu} << 9 | std::uint64_t{x.direction} << 8 |
           static_cast<std::uint64_t>(x.kind);
  }
  /// Pool after pool: its receives in the order of their list, coloured.
  void make_pools() {
    struct placed {
      std::uint64_t place;
      std::size_t index;
    };
    std::pmr::vector<placed> order(memory_);
    order.reserve(found_.receives.size());
    for (std::size_t i = 0; i < found_.receives.size(); ++i)
      order.push_back({place_of(pool_of(found_.receives[i])), i});
    std::sort(order.begin(), order.end(), [](const placed& x, const placed& y) {
      return x.place != y.place ? x.place < y.place : x.index < y.index;
    });
    std::pmr::vector<std::size_t> members(memory_);
    for (std::size_t i = 0; i < order.size(); ++i) {
      members.push_back(order[i].index);
      if (i + 1 < order.size() && order[i + 1].place == order[i].place) continue;
      make_pool(members);
      members.clear();
    }
  }
  void make_pool(const std::pmr::vector<std::size_t>& members) {
    std::pmr::vector<held_content> contents(memory_);
    contents.reserve(members.size());
    for (const std::size_t i : members) {
      const posted_receive& x = found_.receives[i];
      contents.push_back({x.posted, x.last_use, uses_.bytes_of(x.receive)});
    }
    const coloured_pool coloured = slot_colouring(contents, memory_)();
    slot_pool pool = pool_of(found_.receives[members.front()]);
    pool.first = static_cast<std::uint32_t>(found_.slot_bytes.size());
    pool.slots = static_cast<std::uint32_t>(coloured.bytes.size());
    pool.least_bytes = coloured.least_bytes;
    pool.peak_step = coloured.peak_step;
    for (const std::int64_t x : coloured.bytes) pool.bytes += x;
    std::pmr::vector<std::uint32_t> before(pool.slots, posted_receive::nothing, memory_);
    for (std::size_t k = 0; k < members.size(); ++k) {
      posted_receive& x = found_.receives[members[k]];
      x.pool = static_cast<std::uint32_t>(found_.pools.size());
      x.slot = contents[k].slot;
      x.after = before[x.slot];
      before[x.slot] = x.last_use;
    }
    found_.slot_bytes.insert(found_.slot_bytes.end(), coloured.bytes.begin(), coloured.bytes.end());
    found_.pools.push_back(pool);
  }

  const receive_options& with_;
  std::pmr::memory_resource* memory_;
  receive_uses<S> uses_;
  receive_buffers found_{std::pmr::vector<posted_receive>(memory_), std::pmr::vector<slot_pool>(memory_),
                         std::pmr::vector<std::int64_t>(memory_)};
};

/// Whether slots that somebody chose keep contents apart.
template <schedule S>
class receive_check {
 public:
  receive_check(const S& lists, const receive_buffers& chosen, const receive_options& with,
                std::pmr::memory_resource* memory)
      : chosen_(chosen), memory_(memory), uses_(lists, with, memory) {}

  [[nodiscard]] result<void> operator()() {
    const auto receives = uses_();
    if (!receives) return receives.error();
    const auto wanted = static_cast<std::int64_t>(receives->size()), given = to_count(chosen_.receives.size());
    if (wanted != given) return error{errc::out_of_range, given, wanted, wanted}.with("the number of receives");
    std::size_t slots = 0;
    for (const slot_pool& x : chosen_.pools) {
      if (x.first != slots)
        return error{errc::out_of_range, x.first, to_count(slots), to_count(slots)}.with("the first slot of a pool");
      slots += x.slots;
    }
    if (slots != chosen_.slot_bytes.size())
      return error{errc::out_of_range, to_count(chosen_.slot_bytes.size()), to_count(slots), to_count(slots)}.with(
          "the number of sizes of slots");
    std::pmr::vector<const posted_receive*> before(slots, nullptr, memory_);
    for (std::size_t i = 0; i < receives->size(); ++i)
      if (const auto ok = check_one((*receives)[i], chosen_.receives[i], before); !ok) return ok;
    return {};
  }

 private:
  [[nodiscard]] static std::int64_t to_count(std::uint64_t x) { return static_cast<std::int64_t>(x); }
  [[nodiscard]] result<void> check_one(const posted_receive& real, const posted_receive& chosen,
                                       std::pmr::vector<const posted_receive*>& before) const {
    if (chosen.rank != real.rank || chosen.posted != real.posted || chosen.receive != real.receive)
      return error{errc::out_of_range, chosen.posted, real.posted, real.posted}.with("the step of a receive");
    const auto pools = to_count(chosen_.pools.size());
    if (chosen.pool >= pools) return error{errc::out_of_range, chosen.pool, 0, pools - 1}.with("the pool of a receive");
    const slot_pool& pool = chosen_.pools[chosen.pool];
    if (pool.rank != real.rank)
      return error{errc::out_of_range, pool.rank, real.rank, real.rank}.with("the rank of a pool");
    if (chosen.slot >= pool.slots)
      return error{errc::out_of_range, chosen.slot, 0, std::int64_t{pool.slots} - 1}.with("the slot of a receive");
    const std::size_t slot = std::size_t{pool.first} + chosen.slot;
    const std::int64_t bytes = uses_.bytes_of(real.receive);
    if (chosen_.slot_bytes[slot] < bytes)
      return error{errc::out_of_range, chosen_.slot_bytes[slot], bytes, INT64_MAX}.with("the size of a slot");
    const posted_receive* const former = before[slot];
    before[slot] = &real;
    if (former == nullptr) return {};
    if (former->last_use >= real.posted)
      return error{errc::slot_taken, real.rank, real.posted, chosen.slot, former->last_use};
    if (chosen.after < former->last_use || chosen.after >= real.posted)
      return error{errc::out_of_range, chosen.after, former->last_use, std::int64_t{real.posted} - 1}.with(
          "the step that a receive waits for");
    return {};
  }

  const receive_buffers& chosen_;
  std::pmr::memory_resource* memory_;
  receive_uses<S> uses_;
};

}  // namespace detail

/// The least memory for what the ranks of a pipeline receive, and which receive uses which part of it.
///
/// A slot is taken from the step at which a rank posts a receive into it to the step of the last action that reads what
/// came: both are steps of the rank's own list. It is used again only where that last use stands before the new
/// receive. So no timing of ranks and links brings two contents together: a rank gets to the receive after the use,
/// whatever the others do. Where transfers have a stream of their own, lists alone do not order them with computations:
/// there a receive must wait for posted_receive::after. Such a wait closes no cycle, as it goes to an earlier step of
/// the list. No assignment has fewer slots: at `peak_step` so many receives are posted and not yet read to the end,
/// under every timing, and a posted receive owns its memory even before anything comes.
/// @param lists  with their sends and receives, as `lower` makes them; whether they end under a model of communication
///               is a question for `check`
/// @param with   which receives share slots, until when contents stay, bytes per border between stages
/// @return one entry for each receive. Where all contents of a pool have one size, it has the least number of slots and
///         of bytes. With several sizes the least is NP-hard: two rules, and for pools of at most 64 receives a search,
///         get as near to `least_bytes` as they can.
/// Errors: those of `check`; errc::incomplete_schedule if the lists have no receives; errc::out_of_range for sizes that
/// are negative or not one per border; errc::overflow. Complexity: O(n log n) for n actions, O(n · slots) for pools of
/// several sizes; O(n) memory.
/// Source: interval colouring; the bound for several sizes: S. V. Pemmaraju, R. Raman, K. Varadarajan, "Buffer
/// minimization using max-coloring" (SODA 2004).
///
///     const auto plan = interleaved::make({.ranks = 4, .chunks = 4, .micro_batches = 16}).value();
///     const auto lists = lower(plan, {.transfers = transfer_policy::eager}).value();
///     assign_receives(lists).value().slots() == 67;
template <schedule S>
[[nodiscard]] result<receive_buffers> assign_receives(
    const S& lists, const receive_options& with = {},
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  return detail::receive_assignment<S>(lists, with, memory)();
}

/// Whether an assignment holds: one of `assign_receives`, also for lists that were changed since, a ring of buffers, or
/// another tool's pool. Each receive must have a slot of its rank's pools that is large enough, and
/// that nothing is read from after it is posted; and it must wait for the last use of what was there.
/// @param chosen  one entry for each receive, in the order of the lists; last_use, bytes, least_bytes and peak_step are
///                not looked at
/// Errors: those of assign_receives; errc::slot_taken; errc::out_of_range for what does not fit the lists.
/// Complexity: O(n log n) for n actions.
///
///     receive_buffers ring = assign_receives(lists).value();
///     for (posted_receive& x : ring.receives) x.slot = x.receive.micro_batch() % 4;
///     check_receives(lists, ring).error().code == hocket::errc::slot_taken;  // four are too few
template <schedule S>
[[nodiscard]] result<void> check_receives(const S& lists, const receive_buffers& chosen,
                                          const receive_options& with = {},
                                          std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  return detail::receive_check<S>(lists, chosen, with, memory)();
}

// Not a schedule: the member that is missing in place of "no matching function".
template <class S>
  requires(!schedule<S>)
result<receive_buffers> assign_receives(const S&, const receive_options& = {}, std::pmr::memory_resource* = nullptr) {
  static_assert(detail::is_schedule<S>());
  return error{};
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
