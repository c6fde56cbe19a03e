// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/list_scheduler.hpp>
#include <hocket/planner/detail/random_numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Builds many schedules side by side, action by action, and goes on with the best of each length (beam search). Of
/// every partial schedule, the rank that could end an action soonest takes one that could start before that end
/// (Giffler and Thompson's active schedules), or, where memory is scarce, leaves a forward for later. What is best:
/// activations are held for at least as long as the rest of their way takes, so what is placed has used up room x time
/// of each rank; a partial schedule is the better the more of it is used up by the time that it has come to.
class beam_search {
 public:
  explicit beam_search(const search_input& in)
      : in_(in), kinds_(in.split ? 3 : 2), letters_(kinds_ * in.stages), ring_(1) {
    const std::uint32_t stages = in.stages, m = in.micro_batches;
    for (const std::uint32_t c : in.cap) ring_ = (std::max)(ring_, c);
    ring_ = (std::min)(ring_, m);
    slots_.resize(in.ranks);
    ticks total = 0;
    for (std::uint32_t a = 0; a < letters_; ++a) {
      const std::uint32_t kind = a / stages, s = a % stages;
      time_.push_back(kind == 0 ? in.forward[s] : kind == 1 ? in.backward[s] : in.weight[s]);
      slot_.push_back(static_cast<std::uint32_t>(slots_[in.rank_of[s]].size()));
      slots_[in.rank_of[s]].push_back(a);
      std::uint32_t need = none;
      if (kind == 0 && s > 0) need = a - 1;
      if (kind == 1) need = s + 1 < stages ? a + 1 : s;
      if (kind == 2) need = a - stages;
      need_.push_back(need);
      hop_.push_back(need == none ? 0 : in.hop_between(need % stages, s));
      mark_.push_back((std::uint64_t{random_()} << 32 | random_()) | 1);
      total += (time_.back() + hop_.back()) * ticks{m};
    }
    while (total >> shift_ > (ticks{1} << 38) / stages) ++shift_;  // what is used up must not overflow
  }

  static constexpr std::uint32_t usual = 1024;  ///< weight and pace where nothing is known

  /// @param width    partial schedules of one length
  /// @param kept     what each begins with, in an order in which every action follows what it needs
  /// @param pace     how much time counts
  /// @param work     how much the work done counts
  /// @param weights  by rank, how much its memory counts
  /// @return the makespan of list(); `never` if none was found
  [[nodiscard]] ticks operator()(std::size_t width, const std::vector<placed>& kept, std::uint32_t pace,
                                 std::uint32_t work, const std::vector<std::uint32_t>& weights) {
    price(pace, work, weights);
    trail_.clear();
    now_.assign(1, first());
    for (const placed& x : kept) place(now_[0], letter(x));
    for (std::size_t left = std::size_t{letters_} * in_.micro_batches - kept.size(); left > 0; --left) {
      children_.clear();
      for (std::uint32_t i = 0; i < now_.size(); ++i) branch(i);
      if (children_.empty()) return partial_schedule::never;
      select(width);
    }
    const state* best = &now_.front();
    for (const state& x : now_)
      if (finish(x) < finish(*best)) best = &x;
    list_.clear();
    for (std::uint32_t at = best->trail; at != none; at = trail_[at].first) list_.push_back(trail_[at].second);
    std::reverse(list_.begin(), list_.end());
    return finish(*best);
  }
  /// In an order in which every action follows what it needs.
  [[nodiscard]] std::vector<placed> list() const {
    std::vector<std::uint32_t> count(letters_, 0);
    std::vector<placed> out;
    using pipeline::op;
    for (const std::uint32_t a : list_) {
      const std::uint32_t s = a % in_.stages, kind = a / in_.stages;
      out.push_back({in_.rank_of[s], s, count[a]++,
                     kind == 0   ? op::forward
                     : kind == 2 ? op::weight_grad
                     : in_.split ? op::input_grad
                                 : op::backward});
    }
    return out;
  }
  /// Partial schedules branched so far; those that take long to copy count for more.
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
  /// Of a beam of width one.
  [[nodiscard]] std::int64_t steps_of_one() const noexcept {
    return std::int64_t{letters_} * in_.micro_batches * each();
  }
  /// How wide a beam fits into some 100 MB.
  [[nodiscard]] std::int64_t most_states() const noexcept {
    const std::int64_t levels = std::int64_t{letters_} * in_.micro_batches, each = std::int64_t{letters_} * ring_;
    return (INT64_C(1) << 22) / (std::max)(levels, each);
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct rank_state {
    ticks free_at, soonest;    // soonest: the least end of an action that could be next
    std::uint64_t banned;      // a bit for each slot
    std::uint32_t held, pick;  // pick: the slot that ends soonest
  };
  struct state {
    std::vector<ticks> end;            // by letter and micro-batch, of the last `ring` of each
    std::vector<std::uint32_t> count;  // by letter
    std::vector<rank_state> ranks;
    std::uint64_t hash;
    ticks used;  // room x time, weighed
    std::uint32_t trail;
  };
  struct child {
    ticks guide;
    std::uint64_t hash;
    std::uint32_t parent, letter, bans;
  };

  /// What an action uses up: of each stage that its micro-batch still has to come back to, the room of its rank.
  void price(std::uint32_t pace, std::uint32_t work, const std::vector<std::uint32_t>& weights) {
    const std::uint32_t stages = in_.stages;
    worth_.assign(letters_, 0), pace_ = 0;
    ticks sum = 0;
    for (std::uint32_t s = 0; s < stages; ++s) {
      const std::uint32_t r = in_.rank_of[s];
      const ticks each = ticks{weights[r]} * usual / in_.cap[r];
      sum += each;
      worth_[s] = sum * (time_[s] >> shift_), worth_[stages + s] = sum * (time_[stages + s] >> shift_);
      if (in_.split) worth_[2 * stages + s] = each * (time_[2 * stages + s] >> shift_);
    }
    for (std::uint32_t a = 0; a < letters_; ++a) worth_[a] += ticks{work} * usual * (time_[a] >> shift_);
    for (const std::uint32_t w : weights) pace_ += (ticks{w} + work) * pace;
  }
  [[nodiscard]] std::uint32_t letter(const placed& x) const noexcept {
    return x.stage + (x.kind == pipeline::op::forward ? 0 : x.kind == pipeline::op::weight_grad ? 2 : 1) * in_.stages;
  }
  [[nodiscard]] state first() const {
    state x;
    x.end.assign(std::size_t{letters_} * ring_, 0), x.count.assign(letters_, 0);
    x.ranks.assign(in_.ranks, rank_state{0, 0, 0, 0, 0});
    x.hash = 0, x.used = 0, x.trail = none;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) refresh(x, r);
    return x;
  }
  /// When the next action of a letter could start; `never` if it must not yet.
  [[nodiscard]] ticks start(const state& x, std::uint32_t a, bool room) const noexcept {
    const std::uint32_t k = x.count[a], need = need_[a], s = a % in_.stages;
    const rank_state& rank = x.ranks[in_.rank_of[s]];
    if (k == in_.micro_batches || (a < in_.stages && (rank.banned >> slot_[a] & 1) != 0))
      return partial_schedule::never;
    if (a < in_.stages && !room && k != oldest(x, in_.rank_of[s])) return partial_schedule::never;
    if (a < in_.stages && rank.held >= in_.cap[in_.rank_of[s]]) return partial_schedule::never;
    ticks t = rank.free_at;
    if (need != none) {
      if (x.count[need] <= k) return partial_schedule::never;
      t = (std::max)(t, x.end[std::size_t{need} * ring_ + k % ring_] + hop_[a]);
    }
    return t;
  }
  [[nodiscard]] std::uint32_t oldest(const state& x, std::uint32_t r) const noexcept {
    std::uint32_t k = in_.micro_batches;
    for (const std::uint32_t s : in_.owned[r]) k = (std::min)(k, x.count[in_.stages + s]);
    return k;
  }
  /// Whether forwards of later micro-batches leave the room that the oldest on the rank still needs.
  [[nodiscard]] bool has_room(const state& x, std::uint32_t r) const noexcept {
    std::uint32_t needs = 0;
    const std::uint32_t k = oldest(x, r);
    for (const std::uint32_t s : in_.owned[r]) needs += x.count[s] <= k ? 1u : 0u;
    return x.ranks[r].held + needs < in_.cap[r];
  }
  void refresh(state& x, std::uint32_t r) const noexcept {
    rank_state& rank = x.ranks[r];
    rank.soonest = partial_schedule::never;
    const bool room = has_room(x, r);
    for (std::uint32_t i = 0; i < slots_[r].size(); ++i) {
      const std::uint32_t a = slots_[r][i];
      const ticks t = start(x, a, room);
      if (t < partial_schedule::never && t + time_[a] < rank.soonest) rank.soonest = t + time_[a], rank.pick = i;
    }
  }
  [[nodiscard]] std::uint32_t next_rank(const state& x) const noexcept {
    std::uint32_t best = 0;
    for (std::uint32_t r = 1; r < in_.ranks; ++r)
      if (x.ranks[r].soonest < x.ranks[best].soonest) best = r;
    return best;
  }
  /// Leaves the forward that could end soonest for later: until its rank has started something else.
  void ban(state& x, std::uint32_t r) const noexcept {
    x.ranks[r].banned |= std::uint64_t{1} << x.ranks[r].pick;
    refresh(x, r);
  }
  void branch(std::uint32_t i) {
    steps_ += each();
    state& x = now_[i];
    if (x.ranks[next_rank(x)].soonest >= partial_schedule::never)
      for (std::uint32_t r = 0; r < in_.ranks; ++r) x.ranks[r].banned = 0, refresh(x, r);
    std::uint32_t bans = 0;
    std::pair<std::uint32_t, std::uint64_t> before[most_bans];
    for (;; ++bans) {
      const std::uint32_t r = next_rank(x);
      const ticks soonest = x.ranks[r].soonest;
      if (soonest >= partial_schedule::never) break;
      const bool room = has_room(x, r);
      for (const std::uint32_t a : slots_[r]) {
        const ticks t = start(x, a, room);
        if (t >= soonest && a != slots_[r][x.ranks[r].pick]) continue;
        children_.push_back({((t + time_[a]) >> shift_) * pace_ - x.used - worth_[a], x.hash + mark_[a], i, a, bans});
      }
      const std::uint32_t pick = slots_[r][x.ranks[r].pick];
      if (bans == most_bans || pick >= in_.stages || x.ranks[r].pick >= 64 ||
          in_.cap[r] >= in_.micro_batches * in_.owned[r].size())
        break;
      before[bans] = {r, x.ranks[r].banned};
      ban(x, r);
    }
    while (bans > 0) {
      const auto [r, banned] = before[--bans];
      x.ranks[r].banned = banned, refresh(x, r);
    }
  }

  [[nodiscard]] ticks finish(const state& x) const noexcept {
    ticks t = 0;
    for (const rank_state& r : x.ranks) t = (std::max)(t, r.free_at);
    return t;
  }
  void place(state& x, std::uint32_t a) {
    const std::uint32_t stages = in_.stages, s = a % stages, r = in_.rank_of[s];
    trail_.push_back({x.trail, a});
    x.trail = static_cast<std::uint32_t>(trail_.size() - 1);
    rank_state& rank = x.ranks[r];
    const ticks end = start(x, a, true) + time_[a];
    x.end[std::size_t{a} * ring_ + x.count[a]++ % ring_] = rank.free_at = end;
    x.hash += mark_[a], x.used += worth_[a], rank.banned = 0;
    if (a < stages) ++rank.held;
    else if (a >= (kinds_ - 1) * stages) --rank.held;
    refresh(x, r);
    const std::uint32_t to = a < stages ? (s + 1 < stages ? s + 1 : s) : a < 2 * stages && s > 0 ? s - 1 : s;
    if (in_.rank_of[to] != r) refresh(x, in_.rank_of[to]);
  }
  /// The best children become the states of the next level, of those with the same actions placed one.
  void select(std::size_t width) {
    const auto better = [](const child& a, const child& b) {
      return a.guide != b.guide   ? a.guide < b.guide
           : a.hash != b.hash     ? a.hash < b.hash
           : a.parent != b.parent ? a.parent < b.parent
                                  : a.bans < b.bans;
    };
    std::sort(children_.begin(), children_.end(), better);
    seen_.assign(4 * width, 0);
    std::size_t n = 0;
    for (const child& c : children_) {
      if (n == width) break;
      std::size_t at = c.hash % seen_.size();
      while (seen_[at] != 0 && seen_[at] != c.hash) at = (at + 1) % seen_.size();
      if (seen_[at] == c.hash) continue;
      seen_[at] = c.hash;
      if (next_.size() <= n) next_.emplace_back();
      state& x = next_[n++];
      x = now_[c.parent];
      for (std::uint32_t i = 0; i < c.bans; ++i) ban(x, next_rank(x));
      place(x, c.letter);
    }
    next_.resize(n);
    now_.swap(next_);
  }

  [[nodiscard]] std::int64_t each() const noexcept { return 1 + std::int64_t{letters_} * ring_ / 512; }

  static constexpr std::uint32_t most_bans = 3;
  const search_input& in_;
  std::uint32_t kinds_, letters_, ring_;
  int shift_ = 0;
  std::vector<std::vector<std::uint32_t>> slots_;  // letters by rank
  std::vector<std::uint32_t> slot_, need_;
  std::vector<ticks> time_, hop_, worth_;
  std::vector<std::uint64_t> mark_, seen_;
  ticks pace_ = 0;
  std::vector<state> now_, next_;
  std::vector<child> children_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> trail_;  // before, letter
  std::vector<std::uint32_t> list_;
  std::int64_t steps_ = 0;
  random_numbers random_{0x9e3779b97f4a7c15u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
