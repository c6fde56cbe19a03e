// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/ranks/op.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks {

/// Most ranks of a program, and most memberships of all its communicators together: a stray number must not size an
/// allocation.
inline constexpr std::uint32_t max_ranks = 1u << 20;
inline constexpr std::size_t max_members = std::size_t{1} << 26;

class rank_writer;

/// The programs of all ranks: what each of them enqueues, sends and waits for, in the order of its host threads.
///
///     lists     │ all_reduce tp │ all_reduce dp │ …     ranks that do the same share a list until they differ
///     ranks     0 1 2 3 ──▶ list 0     4 ──▶ list 1
///     names     "tp" ──▶ groups {0 1} {2 3}             an op names "tp"; each rank uses the group that it is in
///
/// Nothing is judged while a program is built; `check_lists`, which `check` calls, says what makes no sense. Allocates
/// from the given memory resource; const members are safe for concurrent readers.
///
///     hocket::ranks::program job(4);
///     const auto tensor = job.communicator("tensor", {{0, 1}, {2, 3}});
///     job.all_ranks().all_reduce(tensor).on(1).all_reduce(hocket::ranks::world);
///     job.list(3).size() == 2;
class program {
 public:
  /// Ranks of one communicator.
  using members = std::pmr::vector<std::uint32_t>;
  /// Communicators of one name.
  struct named_groups {
    std::pmr::string name;
    std::pmr::vector<members> groups;
    std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>> group_of;  ///< (rank, group), ascending
  };

  /// A program whose ranks do nothing yet, with the communicator `world`. Precondition: ranks <= max_ranks.
  explicit program(std::uint32_t ranks, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : lists_(1, memory), users_(1, ranks, memory), list_of_(ranks, 0, memory), named_(memory), names_(1, memory) {
    HOCKET_ASSERT(ranks <= max_ranks);
    members all(ranks, memory);
    for (std::uint32_t r = 0; r < ranks; ++r) all[r] = r;
    communicator("world", all);
  }

  /// The communicator of that name, with one more group of members. O(members · log).
  communicator_id communicator(std::string_view name, std::span<const std::uint32_t> ranks_of_it) {
    communicator_id id = find_communicator(name);
    if (id == no_id) {
      id = static_cast<communicator_id>(named_.size());
      auto* const memory = named_.get_allocator().resource();
      named_.push_back({std::pmr::string(name, memory), std::pmr::vector<members>(memory),
                        std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>>(memory)});
    }
    named_groups& n = named_[id];
    n.groups.emplace_back(ranks_of_it.begin(), ranks_of_it.end());
    const auto group = static_cast<std::uint32_t>(n.groups.size() - 1);
    for (const std::uint32_t r : ranks_of_it) n.group_of.emplace_back(r, group);
    std::sort(n.group_of.begin(), n.group_of.end());
    members_ += ranks_of_it.size();
    return id;
  }
  communicator_id communicator(std::string_view name, std::initializer_list<std::uint32_t> ranks_of_it) {
    return communicator(name, std::span(ranks_of_it.begin(), ranks_of_it.size()));
  }
  /// Several communicators of one name, no rank in two of them: {{0, 1}, {2, 3}}.
  communicator_id communicator(std::string_view name,
                               std::initializer_list<std::initializer_list<std::uint32_t>> groups) {
    communicator_id id = no_id;
    for (const auto& g : groups) id = communicator(name, g);
    return id;
  }

  /// Adds an op to the end of the lists of some ranks, each named once. O(ranks), and the length of a list that from
  /// now on differs. Precondition: the ranks exist.
  void add(std::span<const std::uint32_t> ranks_of_it, const op& what) {
    auto* const memory = lists_.get_allocator().resource();
    std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>> touched(memory);  // list, how many of its users
    for (const std::uint32_t r : ranks_of_it) {
      const std::uint32_t list = list_of_[r];
      if (touched.empty() || touched.back().first != list) touched.emplace_back(list, 0);
      ++touched.back().second;
    }
    if (touched.size() > 1) join(touched);
    for (auto& [list, count] : touched) {
      if (count == users_[list]) {
        lists_[list].push_back(what);
        count = list;
        continue;
      }
      users_[list] -= count;
      lists_.push_back(std::pmr::vector<op>(lists_[list], memory));
      lists_.back().push_back(what);
      users_.push_back(count);
      count = static_cast<std::uint32_t>(lists_.size() - 1);
    }
    for (const std::uint32_t r : ranks_of_it) {
      const auto at = std::lower_bound(touched.begin(), touched.end(), std::pair(list_of_[r], std::uint32_t{0}));
      list_of_[r] = at->second;
    }
  }
  void add(std::uint32_t rank, const op& what) { add(std::span(&rank, 1), what); }

  /// A number for a name that ops may carry in sentences. O(1).
  std::uint32_t add_name(std::string_view text) {
    names_.emplace_back(text);
    return static_cast<std::uint32_t>(names_.size() - 1);
  }

  /// What adds ops to one rank, to some, to all.
  [[nodiscard]] rank_writer rank(std::uint32_t r);
  [[nodiscard]] rank_writer ranks_from_to(std::uint32_t first, std::uint32_t last);
  [[nodiscard]] rank_writer all_ranks();

  [[nodiscard]] std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(list_of_.size()); }
  [[nodiscard]] std::span<const op> list(std::uint32_t rank) const& { return lists_[list_of_[rank]]; }
  std::span<const op> list(std::uint32_t rank) const&& = delete;
  /// Lists are numbered; ranks of one number do the same.
  [[nodiscard]] std::uint32_t list_number(std::uint32_t rank) const { return list_of_[rank]; }
  [[nodiscard]] std::size_t list_count() const noexcept { return lists_.size(); }
  [[nodiscard]] std::span<const op> numbered_list(std::size_t number) const& { return lists_[number]; }
  std::span<const op> numbered_list(std::size_t number) const&& = delete;
  /// Whether any rank still has that list.
  [[nodiscard]] bool is_used(std::size_t number) const { return users_[number] != 0; }
  [[nodiscard]] std::size_t communicator_count() const noexcept { return named_.size(); }
  [[nodiscard]] const named_groups& groups(communicator_id id) const& { return named_[id]; }
  const named_groups& groups(communicator_id id) const&& = delete;
  [[nodiscard]] std::string_view name(std::uint32_t number) const& { return names_[number]; }
  std::string_view name(std::uint32_t number) const&& = delete;
  [[nodiscard]] std::size_t name_count() const noexcept { return names_.size(); }
  /// Its number, or no_id.
  [[nodiscard]] communicator_id find_communicator(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < named_.size(); ++i)
      if (named_[i].name == name) return static_cast<communicator_id>(i);
    return no_id;
  }
  /// The group of that name that a rank is in, or no_id. O(log members).
  [[nodiscard]] std::uint32_t group_of(communicator_id id, std::uint32_t rank) const {
    const auto& all = named_[id].group_of;
    const auto at = std::lower_bound(all.begin(), all.end(), std::pair(rank, std::uint32_t{0}));
    return at != all.end() && at->first == rank ? at->second : no_id;
  }

  /// Whether the program makes sense. Members are ranks, in no two groups of a name. A rank is in what it calls, and
  /// peers and roots are members. Groups are closed, hold calls only, and those of a communicator on one stream.
  /// @return errc::bad_communicator, errc::bad_rank_op
  /// Complexity: O(ops · log members) of the distinct lists, O(ranks · communicators).
  [[nodiscard]] result<void> check_lists() const;

 private:
  // One entry for each list, ascending.
  static void join(std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>>& touched) {
    std::sort(touched.begin(), touched.end());
    std::size_t kept = 0;
    for (std::size_t i = 1; i < touched.size(); ++i) {
      if (touched[i].first == touched[kept].first) touched[kept].second += touched[i].second;
      else touched[++kept] = touched[i];
    }
    touched.resize(kept + 1);
  }
  [[nodiscard]] result<void> check_communicators() const;
  [[nodiscard]] result<void> check_list(std::uint32_t rank) const;

  std::pmr::vector<std::pmr::vector<op>> lists_;
  std::pmr::vector<std::uint32_t> users_;    // by list: how many ranks have it
  std::pmr::vector<std::uint32_t> list_of_;  // by rank
  std::pmr::vector<named_groups> named_;
  std::pmr::vector<std::pmr::string> names_;
  std::size_t members_ = 0;
};

/// Adds ops to the lists of some ranks of a program, which must outlive it: each call adds one, on the stream and the
/// thread named last.
class rank_writer {
 public:
  rank_writer(program& job, std::pmr::vector<std::uint32_t> of) : job_(&job), ranks_(std::move(of)) {}

  /// The ops that follow are enqueued on this stream; 0 before.
  rank_writer& on(stream_id s) {
    stream_ = s;
    return *this;
  }
  /// The ops that follow are done by this host thread; 0 before.
  rank_writer& thread(std::uint8_t t) {
    thread_ = t;
    return *this;
  }
  rank_writer& add(op what) {
    what.stream = what.kind == op_kind::synchronize_stream ? what.stream : stream_;
    what.thread = thread_;
    job_->add(ranks_, what);
    return *this;
  }

  rank_writer& collective(op_kind kind, communicator_id c, std::uint64_t count = 0, element_type type = {},
                          std::uint32_t root = 0) {
    return add({.kind = kind, .type = type, .communicator = c, .peer = root, .count = count});
  }
  rank_writer& all_reduce(communicator_id c, std::uint64_t count = 0) {
    return collective(op_kind::all_reduce, c, count);
  }
  rank_writer& all_gather(communicator_id c, std::uint64_t count = 0) {
    return collective(op_kind::all_gather, c, count);
  }
  rank_writer& reduce_scatter(communicator_id c, std::uint64_t count = 0) {
    return collective(op_kind::reduce_scatter, c, count);
  }
  rank_writer& all_to_all(communicator_id c, std::uint64_t count = 0) {
    return collective(op_kind::all_to_all, c, count);
  }
  rank_writer& broadcast(communicator_id c, std::uint32_t root, std::uint64_t count = 0) {
    return collective(op_kind::broadcast, c, count, {}, root);
  }
  rank_writer& barrier(communicator_id c = world) { return collective(op_kind::barrier, c); }
  rank_writer& send(std::uint32_t peer, std::uint64_t bytes = 0, std::uint32_t tag = 0, communicator_id c = world) {
    return add({.kind = op_kind::send, .communicator = c, .peer = peer, .tag = tag, .count = bytes});
  }
  rank_writer& receive(std::uint32_t peer, std::uint64_t bytes = 0, std::uint32_t tag = 0, communicator_id c = world) {
    return add({.kind = op_kind::receive, .communicator = c, .peer = peer, .tag = tag, .count = bytes});
  }
  rank_writer& compute() { return add({.kind = op_kind::compute}); }
  rank_writer& record(event_id e) { return add({.kind = op_kind::record, .tag = e}); }
  rank_writer& wait(event_id e) { return add({.kind = op_kind::wait, .tag = e}); }
  rank_writer& group_begin() { return add({.kind = op_kind::group_begin}); }
  rank_writer& group_end() { return add({.kind = op_kind::group_end}); }
  rank_writer& synchronize_stream(stream_id s) { return add({.kind = op_kind::synchronize_stream, .stream = s}); }
  rank_writer& synchronize_event(event_id e) { return add({.kind = op_kind::synchronize_event, .tag = e}); }
  rank_writer& synchronize_device() { return add({.kind = op_kind::synchronize_device}); }

 private:
  program* job_;
  std::pmr::vector<std::uint32_t> ranks_;
  stream_id stream_ = 0;
  std::uint8_t thread_ = 0;
};

inline rank_writer program::rank(std::uint32_t r) { return ranks_from_to(r, r); }
inline rank_writer program::ranks_from_to(std::uint32_t first, std::uint32_t last) {
  std::pmr::vector<std::uint32_t> of(lists_.get_allocator().resource());
  for (std::uint32_t r = first; r <= last && r < ranks(); ++r) of.push_back(r);
  return {*this, std::move(of)};
}
inline rank_writer program::all_ranks() { return ranks_from_to(0, ranks() - 1); }

inline result<void> program::check_communicators() const {
  if (members_ > max_members)
    return error{errc::limit_exceeded, static_cast<std::int64_t>(members_), static_cast<std::int64_t>(max_members)}
        .with("members of communicators");
  for (std::size_t id = 1; id < named_.size(); ++id) {
    const named_groups& n = named_[id];
    for (const members& g : n.groups)
      if (g.empty()) return error{errc::empty_communicator}.with(n.name);
    for (std::size_t i = 0; i < n.group_of.size(); ++i) {
      const std::uint32_t rank = n.group_of[i].first;
      if (rank >= ranks()) return error{errc::bad_communicator, rank, ranks()}.with(n.name);
      if (i > 0 && n.group_of[i - 1].first == rank) return error{errc::member_twice, rank}.with(n.name);
    }
  }
  return {};
}

inline result<void> program::check_list(std::uint32_t rank) const {
  const std::span<const op> ops = list(rank);
  std::pmr::vector<std::pair<communicator_id, stream_id>> in_group(lists_.get_allocator().resource());
  std::size_t opened = ops.size();
  const auto bad = [&](std::size_t step, std::string_view why) {
    return error{errc::bad_rank_op, rank, static_cast<std::int64_t>(step)}.with(why);
  };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const op& o = ops[i];
    const bool grouped = opened != ops.size();
    if (is_communication(o.kind)) {
      if (o.communicator >= named_.size()) return bad(i, "no such communicator");
      const std::uint32_t own = group_of(o.communicator, rank);
      if (own == no_id) return bad(i, "not a member of the communicator");
      const bool names_peer = !is_collective(o.kind) || has_root(o.kind);
      if (names_peer && group_of(o.communicator, o.peer) != own) return bad(i, "the peer or root is not a member");
      if (!is_collective(o.kind) && o.peer == rank && !grouped) return bad(i, "a transfer to itself without a group");
    }
    if (grouped && o.thread != ops[opened].thread) return bad(i, "another thread's op within a group");
    if (o.kind == op_kind::group_begin) {
      if (grouped) return bad(i, "groups do not nest");
      opened = i;
      in_group.clear();
    } else if (o.kind == op_kind::group_end) {
      if (!grouped) return bad(i, "the end of a group that is not open");
      opened = ops.size();
    } else if (grouped) {
      if (!is_communication(o.kind)) return bad(i, "groups hold calls only");
      if (o.returns == host_return::when_complete) return bad(i, "a blocking call in a group");
      for (const auto& [c, s] : in_group)
        if (c == o.communicator && s != o.stream) return bad(i, "a group's communicator on two streams");
      if (in_group.empty() || in_group.back().first != o.communicator) in_group.emplace_back(o.communicator, o.stream);
    }
  }
  if (opened != ops.size()) return bad(opened, "a group that does not end");
  return {};
}

inline result<void> program::check_lists() const {
  if (const auto ok = check_communicators(); !ok) return ok;
  for (std::uint32_t r = 0; r < ranks(); ++r)
    if (const auto ok = check_list(r); !ok) return ok;
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::ranks
