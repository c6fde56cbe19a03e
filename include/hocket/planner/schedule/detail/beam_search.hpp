// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/schedule/detail/partial_schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// Builds many schedules side by side, action by action, and goes on with the best of each length (beam search). Of
/// every partial schedule, the rank that could end an action soonest takes one that could start before that end
/// (Giffler, Thompson 1960), or, where memory is scarce, leaves a forward for later.
///
/// What is best: an activation is held for at least as long as the rest of its way takes, so what is placed has used up
/// room x time of each rank. A partial schedule is the better the more of it is used up by the time it has come to.
///
///     state   next action of each task: micro-batch, when it is ready     rank: free at, held, what could end soonest
///             F0 k=5 ready 70 | F1 k=3 ready 62 | … | B1 k=1 ready 80     0: 70, 4, F0     1: 66, 3, B1
///     trail   the actions placed, as a tree that all states share: each knows the one before
class beam_search {
 public:
  explicit beam_search(const search_input& in) : in_(in), task_count_(static_cast<std::uint32_t>(in.tasks.size())) {
    ticks total = 0;
    place_.resize(task_count_);
    for (const auto& tasks : in.tasks_of)
      for (std::uint32_t i = 0; i < tasks.size(); ++i) place_[tasks[i]] = i;
    for (const task& x : in.tasks) {
      const std::uint64_t high = random_();
      const std::uint64_t low = random_();
      mark_.push_back(high << 32 | low | 1);
      total += (x.time + x.hop) * ticks{in.micro_batches};
    }
    constexpr ticks max_used = ticks{1} << 38;  // so that prices times times fit into 64 bits
    while (total >> shift_ > max_used / in.stages) ++shift_;
    set_prices();
  }

  /// @param width  partial schedules of one length
  /// @param kept   what each begins with, in an order in which every action follows what it needs
  /// @param goes_on  asked before each action; false ends the beam
  /// @return the makespan of list(); `never` if none was found
  template <class GoesOn>
  [[nodiscard]] ticks operator()(std::size_t width, const std::vector<std::uint32_t>& kept, GoesOn goes_on) {
    begin(kept);
    for (std::size_t left = in_.action_count() - kept.size(); left > 0; --left) {
      children_.clear();
      for (std::uint32_t i = 0; i < now_.size(); ++i) branch(i);
      select(width);
      if (now_.empty() || !goes_on()) return never;
    }
    const auto ends_sooner = [&](const state& a, const state& b) { return finish(a) < finish(b); };
    const state& best = *std::min_element(now_.begin(), now_.end(), ends_sooner);
    list_.clear();
    for (std::uint32_t at = best.trail; at != none; at = trail_[at].before) list_.push_back(trail_[at].action);
    std::reverse(list_.begin(), list_.end());
    return finish(best);
  }
  /// In an order in which every action follows what it needs.
  [[nodiscard]] const std::vector<std::uint32_t>& list() const noexcept { return list_; }
  /// Partial schedules branched so far; those that take long to copy count for more.
  [[nodiscard]] std::int64_t expansions() const noexcept { return expansions_; }
  /// Of a beam of width one.
  [[nodiscard]] std::int64_t expansions_of_one() const noexcept {
    return static_cast<std::int64_t>(in_.action_count()) * weight();
  }
  /// How wide a beam may be for its trail to fit into some 100 MB.
  [[nodiscard]] std::int64_t max_states() const noexcept {
    constexpr std::int64_t max_actions = std::int64_t{1} << 22;
    return max_actions / static_cast<std::int64_t>(in_.action_count());
  }

 private:
  static constexpr std::uint32_t max_bans = 3;
  static constexpr std::uint32_t max_tasks_of_rank = 64;  // that a set of bans has bits for

  /// The next action of a task.
  struct next_action {
    ticks ready = 0;  // when what it needs is there; `never` if that has not started
    std::uint32_t micro_batch = 0;
    std::uint32_t trail = none;  // of the action before
  };
  struct rank_state {
    ticks free_at = 0;
    ticks soonest = 0;         // the least end of an action that could be next
    std::uint64_t banned = 0;  // a bit for each task of the rank
    std::int32_t held = 0;
    std::uint32_t pick = none;  // the task that ends soonest
  };
  struct state {
    std::vector<next_action> next;  // by task
    std::vector<rank_state> ranks;
    std::uint64_t hash = 0;  // of how many actions of each task are placed
    ticks used = 0;          // room x time
    std::uint32_t trail = none;
  };
  struct child {
    ticks guide;  // the less the better
    std::uint64_t hash;
    std::uint32_t parent, task, bans;
  };
  struct step {
    ticks end;
    std::uint32_t before;       // in the trail
    std::uint32_t same_before;  // the one before of its task
    std::uint32_t action;
  };

  /// What an action uses up: of each stage that its micro-batch still has to come back to, the room of its rank.
  void set_prices() {
    constexpr ticks scale = 1 << 20;
    price_.assign(task_count_, 0);
    ticks sum = 0;
    for (std::uint32_t s = 0; s < in_.stages; ++s) {
      const std::uint32_t forward = in_.task_number(work::forward, s);
      const ticks each = scale / in_.cap[in_.tasks[forward].rank];
      sum += each;
      for (const work kind : {work::forward, work::backward, work::weight_grad}) {
        const std::uint32_t t = in_.task_number(kind, s);
        if (t < task_count_) price_[t] = (kind == work::weight_grad ? each : sum) * (in_.tasks[t].time >> shift_);
      }
    }
    pace_ = scale * ticks{in_.ranks};
  }
  /// The one partial schedule that begins so.
  void begin(const std::vector<std::uint32_t>& kept) {
    constexpr std::int64_t kept_per_expansion = 4;
    expansions_ += weight() + static_cast<std::int64_t>(kept.size()) / kept_per_expansion;
    trail_.clear();
    now_.assign(1, state{});
    state& x = now_.front();
    x.next.resize(task_count_);
    x.ranks.resize(in_.ranks);
    for (std::uint32_t t = 0; t < task_count_; ++t) x.next[t].ready = in_.tasks[t].need == none ? 0 : never;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) refresh(x, r);
    for (const std::uint32_t a : kept) place(x, a / in_.micro_batches);
  }
  /// When the next action of a task could start; `never` if it must not yet.
  [[nodiscard]] ticks start(const state& x, std::uint32_t t, const rank_state& rank,
                            const oldest_micro_batch& oldest) const noexcept {
    const next_action& next = x.next[t];
    if (next.micro_batch == in_.micro_batches || next.ready >= never) return never;
    if (in_.tasks[t].kind == work::forward && (is_banned(rank, t) || !oldest.leaves_room_for(next.micro_batch)))
      return never;
    return (std::max)(rank.free_at, next.ready);
  }
  [[nodiscard]] bool is_banned(const rank_state& rank, std::uint32_t t) const noexcept {
    return place_[t] < max_tasks_of_rank && (rank.banned >> place_[t] & 1) != 0;
  }
  [[nodiscard]] oldest_micro_batch oldest(const state& x, std::uint32_t r) const noexcept {
    return {in_, r, x.ranks[r].held, in_.cap[r], [&](std::uint32_t t) { return x.next[t].micro_batch; }};
  }
  void refresh(state& x, std::uint32_t r) const noexcept {
    rank_state& rank = x.ranks[r];
    rank.soonest = never;
    const oldest_micro_batch first = oldest(x, r);
    for (const std::uint32_t t : in_.tasks_of[r]) {
      const ticks at = start(x, t, rank, first);
      if (at >= never || at + in_.tasks[t].time >= rank.soonest) continue;
      rank.soonest = at + in_.tasks[t].time;
      rank.pick = t;
    }
  }
  [[nodiscard]] std::uint32_t next_rank(const state& x) const noexcept {
    const auto sooner = [](const rank_state& a, const rank_state& b) { return a.soonest < b.soonest; };
    return static_cast<std::uint32_t>(std::min_element(x.ranks.begin(), x.ranks.end(), sooner) - x.ranks.begin());
  }
  /// Leaves the forward that could end soonest for later: until its rank has started something else.
  void ban(state& x, std::uint32_t r) const noexcept {
    x.ranks[r].banned |= std::uint64_t{1} << place_[x.ranks[r].pick];
    refresh(x, r);
  }
  void branch(std::uint32_t i) {
    expansions_ += weight();
    state& x = now_[i];
    std::uint32_t bans = 0;
    std::pair<std::uint32_t, rank_state> before[max_bans];
    for (;; ++bans) {
      const std::uint32_t r = next_rank(x);
      const rank_state& rank = x.ranks[r];
      if (rank.soonest >= never) break;
      const oldest_micro_batch first = oldest(x, r);
      for (const std::uint32_t t : in_.tasks_of[r]) {
        const ticks at = start(x, t, rank, first);
        if (at >= rank.soonest && t != rank.pick) continue;
        const ticks end = (at + in_.tasks[t].time) >> shift_;
        children_.push_back({end * pace_ - x.used - price_[t], x.hash + mark_[t], i, t, bans});
      }
      const bool can_wait = in_.tasks[rank.pick].kind == work::forward && place_[rank.pick] < max_tasks_of_rank;
      if (bans == max_bans || !can_wait || !in_.is_scarce(r)) break;
      before[bans] = {r, rank};
      ban(x, r);
    }
    while (bans > 0) {
      const auto& [r, rank] = before[--bans];
      x.ranks[r] = rank;
    }
  }

  [[nodiscard]] static ticks finish(const state& x) noexcept {
    ticks t = 0;
    for (const rank_state& r : x.ranks) t = (std::max)(t, r.free_at);
    return t;
  }
  void place(state& x, std::uint32_t t) {
    const task& of = in_.tasks[t];
    rank_state& rank = x.ranks[of.rank];
    next_action& mine = x.next[t];
    const ticks end = (std::max)(rank.free_at, mine.ready) + of.time;
    trail_.push_back({end, x.trail, mine.trail, in_.action(t, mine.micro_batch)});
    x.trail = static_cast<std::uint32_t>(trail_.size() - 1);
    mine.trail = x.trail;
    for (const std::uint32_t next : of.next)
      if (x.next[next].micro_batch == mine.micro_batch) x.next[next].ready = end + in_.tasks[next].hop;
    ++mine.micro_batch;
    if (of.need != none) mine.ready = ready_after(x.next[of.need], mine.micro_batch, of.hop);
    rank.free_at = end;
    rank.banned = 0;
    rank.held += of.holds;
    x.hash += mark_[t];
    x.used += price_[t];
    refresh(x, of.rank);
    for (const std::uint32_t next : of.next)
      if (const std::uint32_t to = in_.tasks[next].rank; to != of.rank) refresh(x, to);
  }
  /// When the micro-batch of a task that needs this one could start.
  [[nodiscard]] ticks ready_after(const next_action& needed, std::uint32_t micro_batch, ticks hop) const noexcept {
    if (needed.micro_batch <= micro_batch) return never;
    std::uint32_t at = needed.trail;
    for (std::uint32_t k = micro_batch + 1; k < needed.micro_batch; ++k) at = trail_[at].same_before;
    return trail_[at].end + hop;
  }
  /// The best children become the states of the next length; of those with the same actions placed, one.
  void select(std::size_t width) {
    const auto better = [](const child& a, const child& b) {
      return a.guide != b.guide   ? a.guide < b.guide
           : a.hash != b.hash     ? a.hash < b.hash
           : a.parent != b.parent ? a.parent < b.parent
                                  : a.bans < b.bans;
    };
    std::sort(children_.begin(), children_.end(), better);
    seen_.assign(2 * children_.size(), 0);  // a hash table, half empty
    std::size_t n = 0;
    for (const child& c : children_) {
      if (n == width) break;
      std::size_t at = static_cast<std::uint32_t>(c.hash >> 32) % seen_.size();
      while (seen_[at] != 0 && seen_[at] != c.hash) at = (at + 1) % seen_.size();
      if (seen_[at] == c.hash) continue;
      seen_[at] = c.hash;
      if (next_.size() <= n) next_.emplace_back();
      state& x = next_[n++];
      x = now_[c.parent];
      for (std::uint32_t i = 0; i < c.bans; ++i) ban(x, next_rank(x));
      place(x, c.task);
    }
    next_.resize(n);
    now_.swap(next_);
  }
  /// Expansions that branching one partial schedule counts for.
  [[nodiscard]] std::int64_t weight() const noexcept {
    constexpr std::int64_t tasks_per_expansion = 256;
    return 1 + std::int64_t{task_count_} / tasks_per_expansion;
  }

  const search_input& in_;
  std::uint32_t task_count_;
  int shift_ = 0;                     // times are judged without so many bits
  ticks pace_ = 0;                    // price of a tick on all ranks
  std::vector<std::uint32_t> place_;  // by task: among those of its rank
  std::vector<ticks> price_;          // by task
  std::vector<std::uint64_t> mark_;   // by task: what an action adds to hashes
  std::vector<std::uint64_t> seen_;
  std::vector<state> now_, next_;
  std::vector<child> children_;
  std::vector<step> trail_;
  std::vector<std::uint32_t> list_;
  std::int64_t expansions_ = 0;
  random_numbers random_{0x9e3779b97f4a7c15u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
