// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>

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
/// of each rank; a partial schedule is the better the more of it is used up by the time that it has come to. One in
/// which an action can no longer start by the latest time that it may is dropped.
class beam_search {
 public:
  explicit beam_search(const search_input& in) : in_(in), kinds_(in.kinds()), letters_(kinds_ * in.stages) {
    const std::uint32_t stages = in.stages;
    slots_.resize(in.ranks), then_.resize(letters_);
    ticks total = 0;
    for (std::uint32_t a = 0; a < letters_; ++a) {
      const std::uint32_t kind = in.kind_of(a), s = in.stage_of(a);
      time_.push_back(in.time(kind, s));
      slot_.push_back(static_cast<std::uint32_t>(slots_[in.rank_of[s]].size()));
      slots_[in.rank_of[s]].push_back(a);
      std::uint32_t need = none;
      if (kind == 0 && s > 0) need = a - 1;
      if (kind == 1) need = s + 1 < stages ? a + 1 : s;
      if (kind == 2) need = a - stages;
      need_.push_back(need);
      hop_.push_back(need == none ? 0 : in.hop_between(in.stage_of(need), s));
      if (need != none) then_[need].push_back(a);
      const std::uint64_t high = random_(), low = random_();
      mark_.push_back(high << 32 | low | 1);
      total += (time_.back() + hop_.back()) * ticks{in.micro_batches};
    }
    while (total >> shift_ > (ticks{1} << 38) / stages) ++shift_;  // what is used up must not overflow
  }

  static constexpr std::uint32_t usual = 1024;  ///< weight and pace where nothing is known
  /// What makes a partial schedule a good one.
  struct taste {
    std::uint32_t pace = usual, work = 0;  ///< how much time counts, and the work done
    std::vector<std::uint32_t> weights{};  ///< by rank, how much its memory counts
  };

  /// @param width   partial schedules of one length
  /// @param kept    what each begins with, in an order in which every action follows what it needs; if that is late,
  ///                a part of it
  /// @param latest  by kind, stage and micro-batch, when the action starts at the latest; empty: any time
  /// @return the makespan of list(); `never` if none was found
  [[nodiscard]] ticks operator()(std::size_t width, const std::vector<placed>& kept, const taste& like,
                                 const std::vector<ticks>& latest) {
    price(like);
    latest_ = latest.empty() ? nullptr : latest.data();
    std::size_t left = std::size_t{letters_} * in_.micro_batches - begin(kept);
    for (; left > 0; --left) {
      children_.clear();
      for (std::uint32_t i = 0; i < now_.size(); ++i) branch(i);
      select(width);
      if (now_.empty()) return partial_schedule::never;
    }
    const state* best = &now_.front();
    for (const state& x : now_)
      if (finish(x) < finish(*best)) best = &x;
    list_.clear();
    for (std::uint32_t at = best->trail; at != none; at = trail_[at].before) list_.push_back(trail_[at].letter);
    std::reverse(list_.begin(), list_.end());
    return finish(*best);
  }
  /// In an order in which every action follows what it needs.
  [[nodiscard]] std::vector<placed> list() const {
    std::vector<std::uint32_t> count(letters_, 0);
    std::vector<placed> out;
    for (const std::uint32_t a : list_) out.push_back(in_.action(a, count[a]++));
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
    return (INT64_C(1) << 22) / (std::int64_t{letters_} * in_.micro_batches);
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// The next action of a kind and stage.
  struct next_action {
    ticks ready = 0;             // when what it needs is there; `never` if that has not started
    std::uint32_t count = 0;     // its micro-batch
    std::uint32_t trail = none;  // of the action before
  };
  struct rank_state {
    ticks free_at = 0, soonest = 0;    // soonest: the least end of an action that could be next
    std::uint64_t banned = 0;          // a bit for each slot
    std::uint32_t held = 0, pick = 0;  // pick: the slot that ends soonest
  };
  struct state {
    std::vector<next_action> next;  // by letter
    std::vector<rank_state> ranks;
    std::uint64_t hash = 0;
    ticks used = 0;  // room x time, weighed
    std::uint32_t trail = none;
    bool late = false;
  };
  struct child {
    ticks guide;
    std::uint64_t hash;
    std::uint32_t parent, letter, bans;
  };
  /// An action of a partial schedule: all of them form a tree.
  struct step {
    ticks end;
    std::uint32_t before, letter, same;  // same: the one before of its letter
  };

  /// What an action uses up: of each stage that its micro-batch still has to come back to, the room of its rank.
  void price(const taste& like) {
    const std::uint32_t stages = in_.stages;
    worth_.assign(letters_, 0), pace_ = 0;
    ticks sum = 0;
    for (std::uint32_t s = 0; s < stages; ++s) {
      const std::uint32_t r = in_.rank_of[s];
      const ticks each = ticks{like.weights[r]} * usual / in_.cap[r];
      sum += each;
      worth_[s] = sum * (time_[s] >> shift_), worth_[stages + s] = sum * (time_[stages + s] >> shift_);
      if (in_.split) worth_[2 * stages + s] = each * (time_[2 * stages + s] >> shift_);
    }
    for (std::uint32_t a = 0; a < letters_; ++a) worth_[a] += ticks{like.work} * usual * (time_[a] >> shift_);
    for (const std::uint32_t w : like.weights) pace_ += (ticks{w} + like.work) * like.pace;
  }
  void clear() {
    trail_.clear(), now_.assign(1, state{});
    state& x = now_.front();
    x.next.resize(letters_), x.ranks.resize(in_.ranks);
    for (std::uint32_t a = 0; a < letters_; ++a) x.next[a].ready = need_[a] == none ? 0 : partial_schedule::never;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) refresh(x, r);
  }
  /// The one partial schedule that begins so; as long a part as drawn of what is not late. @return its actions
  std::size_t begin(const std::vector<placed>& kept) {
    clear();
    steps_ += each() + static_cast<std::int64_t>(kept.size()) / 4;
    std::size_t n = 0;
    for (; n < kept.size() && !now_.front().late; ++n) place(now_.front(), in_.letter(kept[n].kind, kept[n].stage));
    if (n == 0 || !now_.front().late) return n;
    clear();
    n = random_.below(static_cast<std::uint32_t>(n));
    for (std::size_t i = 0; i < n; ++i) place(now_.front(), in_.letter(kept[i].kind, kept[i].stage));
    return n;
  }
  /// The forwards of which micro-batches a rank may start: those before `end`. Later ones must leave the room that the
  /// oldest on the rank still needs.
  [[nodiscard]] std::uint32_t forwards_end(const state& x, std::uint32_t r) const noexcept {
    if (x.ranks[r].held >= in_.cap[r]) return 0;
    std::uint32_t oldest = in_.micro_batches, needs = 0;
    for (const std::uint32_t s : in_.owned[r]) oldest = (std::min)(oldest, x.next[in_.stages + s].count);
    for (const std::uint32_t s : in_.owned[r]) needs += x.next[s].count <= oldest ? 1u : 0u;
    return x.ranks[r].held + needs < in_.cap[r] ? in_.micro_batches : (std::min)(oldest + 1, in_.micro_batches);
  }
  /// When the next action of a letter could start; `never` if it must not yet.
  [[nodiscard]] ticks start(const state& x, std::uint32_t a, const rank_state& rank,
                            std::uint32_t forwards_end) const noexcept {
    const next_action& next = x.next[a];
    const bool forward = a < in_.stages;
    if (next.count >= (forward ? forwards_end : in_.micro_batches) || next.ready >= partial_schedule::never ||
        (forward && (rank.banned >> slot_[a] & 1) != 0))
      return partial_schedule::never;
    return (std::max)(rank.free_at, next.ready);
  }
  void refresh(state& x, std::uint32_t r) const noexcept {
    rank_state& rank = x.ranks[r];
    rank.soonest = partial_schedule::never;
    const std::uint32_t end = forwards_end(x, r);
    std::uint32_t i = 0;
    for (const std::uint32_t a : slots_[r]) {
      const ticks t = start(x, a, rank, end);
      if (t < partial_schedule::never && t + time_[a] < rank.soonest) rank.soonest = t + time_[a], rank.pick = i;
      ++i;
      if (latest_ == nullptr || x.next[a].count == in_.micro_batches) continue;
      const ticks ready = x.next[a].ready, from = ready < partial_schedule::never ? ready : 0;
      x.late |= (std::max)(rank.free_at, from) > latest(x, a);
    }
  }
  [[nodiscard]] ticks latest(const state& x, std::uint32_t a) const noexcept {
    return latest_[std::size_t{a} * in_.micro_batches + x.next[a].count];
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
    std::pair<std::uint32_t, rank_state> before[most_bans];
    for (;; ++bans) {
      const std::uint32_t r = next_rank(x), end = forwards_end(x, r);
      const rank_state& rank = x.ranks[r];
      if (rank.soonest >= partial_schedule::never) break;
      const std::uint32_t pick = slots_[r][rank.pick];
      for (const std::uint32_t a : slots_[r]) {
        const ticks t = start(x, a, rank, end);
        if (t >= rank.soonest && a != pick) continue;
        if (latest_ != nullptr && t > latest(x, a)) continue;
        children_.push_back({((t + time_[a]) >> shift_) * pace_ - x.used - worth_[a], x.hash + mark_[a], i, a, bans});
      }
      if (bans == most_bans || pick >= in_.stages || rank.pick >= 64 || !in_.is_scarce(r)) break;
      before[bans] = {r, rank};
      ban(x, r);
    }
    while (bans > 0) {
      const auto& [r, rank] = before[--bans];
      x.ranks[r] = rank;
    }
  }

  [[nodiscard]] ticks finish(const state& x) const noexcept {
    ticks t = 0;
    for (const rank_state& r : x.ranks) t = (std::max)(t, r.free_at);
    return t;
  }
  void place(state& x, std::uint32_t a) {
    const std::uint32_t stages = in_.stages, r = in_.rank_of_letter(a);
    rank_state& rank = x.ranks[r];
    next_action& mine = x.next[a];
    const ticks end = (std::max)(rank.free_at, mine.ready) + time_[a];
    trail_.push_back({end, x.trail, a, mine.trail});
    x.trail = mine.trail = static_cast<std::uint32_t>(trail_.size() - 1);
    for (const std::uint32_t b : then_[a])
      if (x.next[b].count == mine.count) x.next[b].ready = end + hop_[b];
    ++mine.count;
    if (const std::uint32_t need = need_[a]; need != none) {
      const next_action& of = x.next[need];
      std::uint32_t at = of.trail;
      for (std::uint32_t k = mine.count + 1; k < of.count; ++k) at = trail_[at].same;
      mine.ready = of.count > mine.count ? trail_[at].end + hop_[a] : partial_schedule::never;
    }
    rank.free_at = end;
    x.hash += mark_[a], x.used += worth_[a], rank.banned = 0;
    if (a < stages) ++rank.held;
    else if (a >= (kinds_ - 1) * stages) --rank.held;
    refresh(x, r);
    for (const std::uint32_t b : then_[a])
      if (const std::uint32_t to = in_.rank_of_letter(b); to != r) refresh(x, to);
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
    seen_.assign(2 * children_.size(), 0);
    std::size_t n = 0;
    for (const child& c : children_) {
      if (n == width) break;
      std::size_t at = c.hash % seen_.size();
      while (seen_[at] != 0 && seen_[at] != c.hash) at = (at + 1) % seen_.size();
      if (seen_[at] == c.hash) continue;
      if (next_.size() <= n) next_.emplace_back();
      state& x = next_[n];
      x = now_[c.parent];
      for (std::uint32_t i = 0; i < c.bans; ++i) ban(x, next_rank(x));
      place(x, c.letter);
      if (x.late) {
        trail_.pop_back(), ++steps_;
      } else {
        seen_[at] = c.hash, ++n;
      }
    }
    next_.resize(n);
    now_.swap(next_);
  }

  [[nodiscard]] std::int64_t each() const noexcept { return 1 + std::int64_t{letters_} / 256; }

  static constexpr std::uint32_t most_bans = 3;
  const search_input& in_;
  std::uint32_t kinds_, letters_;
  int shift_ = 0;
  std::vector<std::vector<std::uint32_t>> slots_, then_;  // letters: by rank; those that need one
  std::vector<std::uint32_t> slot_, need_;
  std::vector<ticks> time_, hop_, worth_;
  std::vector<std::uint64_t> mark_, seen_;
  const ticks* latest_ = nullptr;
  ticks pace_ = 0;
  std::vector<state> now_, next_;
  std::vector<child> children_;
  std::vector<step> trail_;
  std::vector<std::uint32_t> list_;
  std::int64_t steps_ = 0;
  random_numbers random_{0x9e3779b97f4a7c15u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
