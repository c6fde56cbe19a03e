// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small programs of ranks by lot: most of their calls meet, and many come in different orders on different ranks.
#pragma once
#include <hocket/ranks.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace random_ranks {

using namespace hocket::ranks;

struct dice {
  std::uint64_t state;
  std::uint32_t operator()(std::uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>((state >> 33) % below);
  }
  bool one_in(std::uint32_t n) { return (*this)(n) == 0; }
};

struct sizes {
  std::uint32_t most_meetings = 4;
  std::uint32_t most_extras = 3;
  bool threads = false;
};

inline void add_meeting(program& job, dice& d, std::vector<std::vector<op>>& lists) {
  const std::uint32_t ranks = job.ranks();
  op o;
  const auto put = [&](std::uint32_t r, op x) {
    x.stream = d(3);
    lists[r].push_back(x);
  };
  if (d.one_in(3)) {
    const std::uint32_t from = d(ranks), to = (from + 1 + d(ranks - 1)) % ranks;
    o.tag = d.one_in(4) ? 1 : 0;
    o.count = d.one_in(4) ? 100 : 8;
    o.kind = op_kind::send;
    o.peer = to;
    put(from, o);
    o.kind = op_kind::receive;
    o.peer = from;
    if (d.one_in(25)) o.count = 16;
    put(to, o);
    return;
  }
  o.communicator = d(static_cast<std::uint32_t>(job.communicator_count()));
  o.kind = d.one_in(4) ? op_kind::broadcast : d.one_in(4) ? op_kind::all_gather_v : op_kind::all_reduce;
  const auto& groups = job.groups(o.communicator).groups;
  const auto& group = groups[d(static_cast<std::uint32_t>(groups.size()))];
  o.peer = o.kind == op_kind::broadcast ? group[0] : 0;
  for (const std::uint32_t r : group) {
    op mine = o;
    if (d.one_in(40)) mine.count = 3;
    if (!d.one_in(40)) put(r, mine);
  }
}

inline void add_extra(dice& d, std::vector<op>& list) {
  op o;
  constexpr op_kind kinds[] = {
      op_kind::record, op_kind::wait, op_kind::synchronize_stream, op_kind::synchronize_event, op_kind::compute,
      op_kind::record, op_kind::wait, op_kind::synchronize_device};
  o.kind = kinds[d(8)];
  o.stream = detail::names_stream(o.kind) ? d(3) : 0;
  o.tag = detail::names_event(o.kind) ? d(2) : 0;
  list.insert(list.begin() + d(static_cast<std::uint32_t>(list.size() + 1)), o);
}

inline program make(std::uint64_t seed, const sizes& s) {
  dice d{seed * 977 + 5};
  for (int i = 0; i < 5; ++i) d(2);
  const std::uint32_t ranks = 2 + d(2);
  program job(ranks);
  job.communicator("a", {0, 1});
  if (ranks == 3)
    job.communicator("b", d.one_in(2) ? std::vector<std::uint32_t>{1, 2} : std::vector<std::uint32_t>{0, 1, 2});
  if (ranks == 3 && d.one_in(2)) job.communicator("c", {0, 2});
  if (ranks == 2) job.communicator("b", {0, 1});
  std::vector<std::vector<op>> lists(ranks);
  const std::uint32_t meetings = 1 + d(s.most_meetings);
  for (std::uint32_t i = 0; i < meetings; ++i) add_meeting(job, d, lists);
  for (auto& list : lists) {
    for (std::size_t i = 1; i < list.size(); ++i)
      if (d.one_in(3)) std::swap(list[i], list[i - 1]);
    for (op& o : list)
      if (d.one_in(6)) o.returns = d.one_in(2) ? host_return::when_complete : host_return::at_once;
  }
  for (std::uint32_t i = d(s.most_extras + 1); i > 0; --i) add_extra(d, lists[d(ranks)]);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (s.threads)
      for (op& o : lists[r]) o.thread = static_cast<std::uint8_t>(d.one_in(3) ? 1 : 0);
    const bool grouped = d.one_in(4) && lists[r].size() >= 2;
    const std::size_t at = grouped ? d(static_cast<std::uint32_t>(lists[r].size() - 1)) : 0;
    for (std::size_t i = 0; i < lists[r].size(); ++i) {
      op& o = lists[r][i];
      const bool inside = grouped && (i == at || i == at + 1) && is_communication(lists[r][at].kind) &&
                          is_communication(lists[r][at + 1].kind);
      if (inside) {
        o.returns = host_return::by_machine;
        o.thread = lists[r][at].thread;
        if (o.communicator == lists[r][at].communicator) o.stream = lists[r][at].stream;
      }
      if (inside && i == at) job.add(r, {.kind = op_kind::group_begin, .thread = o.thread});
      job.add(r, o);
      if (inside && i == at + 1) job.add(r, {.kind = op_kind::group_end, .thread = o.thread});
    }
  }
  return job;
}

inline machine machine_by_lot(std::uint64_t seed) {
  dice d{seed * 31 + 7};
  for (int i = 0; i < 5; ++i) d(2);
  machine m;
  m.enqueue_returns = !d.one_in(4);
  m.serial_communicators = !d.one_in(3);
  m.connects_on_first_use = d.one_in(5);
  m.unrecorded_events_block = d.one_in(4);
  m.longer_receives = d.one_in(2);
  m.order = d.one_in(4) ? (d.one_in(2) ? launch_order::start : launch_order::serial) : launch_order::free;
  m.hardware_queues = d.one_in(3) ? 1 + d(2) : 0;
  m.slots = d(3);
  m.surely_buffered_below = d.one_in(4) ? 10 : 0;
  m.perhaps_buffered_below = d.one_in(3) ? 1000 : 0;
  return m;
}

}  // namespace random_ranks
