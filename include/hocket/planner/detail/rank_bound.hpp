// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/list_scheduler.hpp>
#include <hocket/planner/detail/window_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What some ranks under their caps can do at best if all others were never busy: their actions in the order in which
/// they start, by dynamic programming over how many of each stage have run. Of orders with the same counts only those
/// are kept that no other beats in every time that still matters: when each rank is free, and when what they sent on
/// comes back. Beyond `width` of them two are replaced by the earlier of each time, which is still a bound.
///
/// Weight gradients are in no count: they fill what time a rank idles, as if they could be cut into pieces. A rank is
/// done when it has run those at hand too, and a forward waits until the cap leaves room even if those with least
/// weight were run first.
class rank_bound {
 public:
  explicit rank_bound(const search_input& in) : in_(in) {
    for (std::uint32_t s = 0; s < in.stages; ++s) {  // the path of a micro-batch that never waits
      forward_.push_back(end_);
      end_ += in.forward[s] + (s + 1 < in.stages ? in.hop_between(s, s + 1) : 0);
    }
    backward_.resize(in.stages);
    for (std::uint32_t s = in.stages; s-- > 0;) {
      backward_[s] = end_;
      end_ += in.backward[s] + (s > 0 ? in.hop_between(s - 1, s) : 0);
    }
  }

  /// @param ranks    different ones
  /// @param target   a makespan that `windows` did not refute, but looked at last
  /// @param steps    that it may take; what it took is taken away
  /// @return no schedule of at most `target` ticks is shorter; target + 1 if there is none; 0 if steps did not last
  [[nodiscard]] ticks operator()(const std::vector<std::uint32_t>& ranks, ticks target, const window_bound& windows,
                                 std::int64_t& steps) {
    set(ranks, target, windows);
    counts_.assign(kinds_.size(), 0);
    now_.clear(counts_.size());
    now_.at(counts_).assign(base_, 0);
    for (std::size_t left = kinds_.size() * in_.micro_batches; left > 0; --left) {
      next_.clear(counts_.size());
      for (std::size_t i = 0; i < now_.size(); ++i) {
        steps -= static_cast<std::int64_t>((now_.times(i).size() + kinds_.size()) * kinds_.size());
        if (steps < 0) return 0;
        counts_.assign(now_.counts(i), now_.counts(i) + kinds_.size());
        look();
        spare_before_ = spare_;
        for (std::size_t j = 0; j < kinds_.size(); ++j) run(now_.times(i), j);
      }
      std::swap(now_, next_);
    }
    ticks least = target + 1;
    for (std::size_t i = 0; i < now_.size(); ++i)
      for (std::size_t at = 0; at < now_.times(i).size(); at += base_) {
        const ticks* last = now_.times(i).data() + at;
        ticks end = last[base_ - 1];
        for (std::size_t q = 0; q < ranks_.size(); ++q) end = (std::max)(end, last[done(q)] + ranks_[q].tail);
        least = (std::min)(least, end);
      }
    return least;
  }

 private:
  static constexpr std::size_t width = 16;
  /// A forward or backward, in the order of a micro-batch.
  struct stage_of_rank {
    std::uint32_t stage = 0, rank = 0;  // rank: among those asked about
    bool forward = false;
    ticks time = 0, weight = 0, away = 0;     // away: from the end of the kind before to the start of this one
    std::vector<ticks> earliest{}, latest{};  // start, by micro-batch
  };
  struct part {
    std::int64_t cap = 0;
    ticks work = 0, tail = 0;            // of all its actions; what follows its last one at the least
    std::vector<std::size_t> by_weight;  // its backwards
  };
  /// By counts, in the order in which they were found: of each entry when each rank is free; when it is done; the least
  /// makespan by what left them for good; and, by kind that micro-batches come back for, when each of them does.
  class level {
   public:
    void clear(std::size_t kinds) {
      kinds_ = kinds, size_ = 0;
      keys_.clear(), slots_.assign((std::max)(slots_.size(), std::size_t{1024}), 0);
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const std::uint32_t* counts(std::size_t i) const noexcept { return keys_.data() + i * kinds_; }
    [[nodiscard]] const std::vector<ticks>& times(std::size_t i) const noexcept { return times_[i]; }
    std::vector<ticks>& at(const std::vector<std::uint32_t>& key) {
      std::uint32_t& slot = slots_[find(key.data())];
      if (slot != 0) return times_[slot - 1];
      keys_.insert(keys_.end(), key.begin(), key.end());
      if (times_.size() == size_) times_.emplace_back();
      times_[size_++].clear();
      slot = static_cast<std::uint32_t>(size_);
      if (2 * size_ > slots_.size()) {
        slots_.assign(2 * slots_.size(), 0);
        for (std::uint32_t i = 0; i < size_; ++i) slots_[find(counts(i))] = i + 1;
      }
      return times_[size_ - 1];
    }

   private:
    [[nodiscard]] std::size_t find(const std::uint32_t* key) const noexcept {
      std::uint64_t hash = 0x9e3779b97f4a7c15u;
      for (std::size_t i = 0; i < kinds_; ++i) hash = (hash ^ key[i]) * 0x100000001b3u;
      hash ^= hash >> 29;
      std::size_t at = hash & (slots_.size() - 1);
      while (slots_[at] != 0 && !std::equal(key, key + kinds_, counts(slots_[at] - 1)))
        at = (at + 1) & (slots_.size() - 1);
      return at;
    }
    std::size_t kinds_ = 0, size_ = 0;
    std::vector<std::uint32_t> keys_, slots_;
    std::vector<std::vector<ticks>> times_;
  };

  void set(const std::vector<std::uint32_t>& ranks, ticks target, const window_bound& windows) {
    target_ = target, base_ = (in_.split ? 2 : 1) * ranks.size() + 1;
    ranks_.assign(ranks.size(), part{});
    kinds_.clear();
    std::vector<std::uint32_t> index(in_.ranks, in_.ranks);
    for (std::uint32_t q = 0; q < ranks.size(); ++q) {
      index[ranks[q]] = q;
      const std::uint32_t s = in_.owned[ranks[q]].front();
      ranks_[q].cap = in_.cap[ranks[q]], ranks_[q].tail = in_.split ? 0 : end_ - backward_[s] - in_.backward[s];
    }
    const auto add = [&](std::uint32_t s, bool forward) {
      if (index[in_.rank_of[s]] == in_.ranks) return;
      stage_of_rank x{s, index[in_.rank_of[s]], forward};
      x.time = forward ? in_.forward[s] : in_.backward[s];
      x.weight = forward ? 0 : in_.weight[s];
      if (!kinds_.empty()) {
        const stage_of_rank& y = kinds_.back();
        x.away = (forward ? forward_ : backward_)[s] - (y.forward ? forward_ : backward_)[y.stage] - y.time;
      }
      for (std::uint32_t k = 0; k < in_.micro_batches; ++k) {
        x.earliest.push_back(windows.earliest_start(forward ? 0 : 1, s, k));
        x.latest.push_back(windows.latest_end(forward ? 0 : 1, s, k) - x.time);
      }
      ranks_[x.rank].work += (x.time + x.weight) * ticks{in_.micro_batches};
      if (!forward) ranks_[x.rank].by_weight.push_back(kinds_.size());
      kinds_.push_back(std::move(x));
    };
    for (std::uint32_t s = 0; s < in_.stages; ++s) add(s, true);
    for (std::uint32_t s = in_.stages; s-- > 0;) add(s, false);
    for (part& x : ranks_)
      std::sort(x.by_weight.begin(), x.by_weight.end(), [&](std::size_t a, std::size_t b) {
        return kinds_[a].weight != kinds_[b].weight ? kinds_[a].weight < kinds_[b].weight : a < b;
      });
    const std::uint32_t first = kinds_.back().stage;
    leave_ = first > 0 ? end_ - backward_[first] - in_.backward[first] + in_.weight[0] : 0;
  }
  [[nodiscard]] std::size_t done(std::size_t q) const noexcept { return in_.split ? ranks_.size() + q : q; }
  [[nodiscard]] std::size_t away(std::size_t j) const noexcept { return j > 0 ? counts_[j - 1] - counts_[j] : 0; }

  /// What follows from counts_: of each rank until when it must be done, and how much of the weight gradients at hand
  /// may be left when its next forward starts (negative: none may start).
  void look() {
    limit_.resize(ranks_.size()), spare_.assign(ranks_.size(), 0), room_.resize(ranks_.size());
    for (std::size_t q = 0; q < ranks_.size(); ++q)
      limit_[q] = target_ - ranks_[q].tail - ranks_[q].work, room_[q] = ranks_[q].cap - 1;
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
      const stage_of_rank& x = kinds_[j];
      limit_[x.rank] += (x.time + x.weight) * ticks{counts_[j]};
      if (x.forward) room_[x.rank] -= counts_[j];
    }
    for (std::size_t q = 0; q < ranks_.size(); ++q) {
      std::int64_t over = room_[q] < 0 ? -room_[q] : 0;
      for (const std::size_t j : ranks_[q].by_weight) {
        const std::int64_t gone = (std::min)(over, std::int64_t{counts_[j]});
        over -= gone;
        spare_[q] += kinds_[j].weight * (std::int64_t{counts_[j]} - gone);
      }
      if (over > 0) spare_[q] = -1;
    }
  }
  /// Runs kind j after all entries of the cell of counts_.
  void run(const std::vector<ticks>& from, std::size_t j) {
    const stage_of_rank& x = kinds_[j];
    const std::uint32_t k = counts_[j];
    if (k == in_.micro_batches || (j > 0 && counts_[j - 1] == k)) return;
    const ticks spare = spare_before_[x.rank];
    if (x.forward && spare < 0) return;
    std::size_t mine = base_, n = base_;  // where micro-batches wait for this kind
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (i < j) mine += away(i);
      n += away(i);
    }
    const bool sends = j + 1 < kinds_.size(), last = !sends && k + 1 == in_.micro_batches;
    const std::size_t after = mine + (j > 0 ? 1 : 0), behind = mine + away(j) + (sends ? away(j + 1) : 0);
    ++counts_[j];
    look();
    entry_.resize(n - (after - mine) + (sends ? 1 : 0));
    std::vector<ticks>* to = nullptr;
    for (std::size_t at = 0; at < from.size(); at += n) {
      const ticks* old = from.data() + at;
      ticks start = (std::max)(old[x.rank], x.earliest[k]);
      if (j > 0) start = (std::max)(start, old[mine]);
      if (x.forward && in_.split) start = (std::max)(start, old[done(x.rank)] - spare);
      if (start > x.latest[k]) continue;
      ticks* put = std::copy(old, old + mine, entry_.data());
      put = std::copy(old + after, old + behind, put);
      if (sends) *put++ = start + x.time + kinds_[j + 1].away;
      std::copy(old + behind, old + n, put);
      entry_[x.rank] = start + x.time;
      if (in_.split) entry_[done(x.rank)] = (std::max)(old[done(x.rank)], start) + x.time + x.weight;
      if (last) entry_[base_ - 1] = start + x.time + leave_;
      if (!settle(start)) continue;
      if (to == nullptr) to = &next_.at(counts_);
      keep(*to);
    }
    --counts_[j];
  }
  /// Raises the times of entry_: nothing that follows starts before the action that was run last, and no rank before
  /// something is there for it. False if a window is missed.
  [[nodiscard]] bool settle(ticks start) {
    ready_.resize(kinds_.size()), first_.assign(ranks_.size(), partial_schedule::never);
    std::size_t at = base_;
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
      const stage_of_rank& x = kinds_[j];
      const std::uint32_t k = counts_[j];
      if (k == in_.micro_batches) continue;
      ticks ready = (std::max)({entry_[x.rank], start, x.earliest[k]});
      if (away(j) > 0) ready = (std::max)(ready, entry_[at]);
      else if (j > 0) ready = (std::max)(ready, ready_[j - 1] + kinds_[j - 1].time + x.away);
      at += away(j);
      if (ready > x.latest[k]) return false;
      ready_[j] = ready;
      if (x.forward && spare_[x.rank] < 0) continue;  // others come before it
      if (x.forward && in_.split) ready = (std::max)(ready, entry_[done(x.rank)] - spare_[x.rank]);
      first_[x.rank] = (std::min)(first_[x.rank], ready);
    }
    for (std::size_t q = 0; q < ranks_.size(); ++q) {
      if (first_[q] < partial_schedule::never) entry_[q] = (std::max)(entry_[q], first_[q]);
      entry_[done(q)] = (std::max)(entry_[done(q)], entry_[q]);
      if (entry_[done(q)] > limit_[q]) return false;
    }
    at = base_;
    for (std::size_t j = 1; j < kinds_.size(); ++j)
      for (std::uint32_t k = counts_[j]; k < counts_[j - 1]; ++k, ++at) {
        entry_[at] = (std::max)({entry_[at], kinds_[j].earliest[k], entry_[kinds_[j].rank]});
        if (entry_[at] > kinds_[j].latest[k]) return false;
      }
    return true;
  }
  /// Puts entry_ among those of a cell.
  void keep(std::vector<ticks>& all) const {
    const std::size_t n = entry_.size();
    const auto beats = [n](const ticks* a, const ticks* b) {
      for (std::size_t i = 0; i < n; ++i)
        if (a[i] > b[i]) return false;
      return true;
    };
    std::size_t end = 0, near = 0;
    ticks least = partial_schedule::never;
    for (std::size_t at = 0; at < all.size(); at += n)
      if (beats(all.data() + at, entry_.data())) return;
    for (std::size_t at = 0; at < all.size(); at += n) {
      if (beats(entry_.data(), all.data() + at)) continue;
      ticks apart = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const ticks x = all[at + i], y = entry_[i];
        all[end + i] = x, apart += x > y ? x - y : y - x;
      }
      if (apart < least) least = apart, near = end;
      end += n;
    }
    all.resize(end);
    if (end < width * n) {
      all.insert(all.end(), entry_.begin(), entry_.end());
      return;
    }
    for (std::size_t i = 0; i < n; ++i) all[near + i] = (std::min)(all[near + i], entry_[i]);
  }

  const search_input& in_;
  std::vector<ticks> forward_, backward_;  // by stage
  ticks end_ = 0, leave_ = 0, target_ = 0;
  std::vector<stage_of_rank> kinds_;
  std::vector<part> ranks_;
  std::size_t base_ = 0;  // times of an entry before those of the micro-batches
  level now_, next_;
  std::vector<std::uint32_t> counts_;  // by kind
  std::vector<std::int64_t> room_;     // by rank
  std::vector<ticks> limit_, spare_, spare_before_, first_, entry_, ready_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
