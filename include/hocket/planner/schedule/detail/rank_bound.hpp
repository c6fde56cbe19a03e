// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/schedule/detail/list_scheduler.hpp>
#include <hocket/planner/schedule/detail/window_bound.hpp>
#include <hocket/planner/split/detail/count_cells.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What some ranks under their caps can do at best if all others were never busy: their actions in the order in which
/// they start, by dynamic programming over how many of each kind have run (a kind: the forwards, or the backwards, of
/// one stage). The state of an order is an entry, a list of times:
///
///     free     by rank: when it has run its last action
///     done     by rank, if backwards are split: when it has run the weight gradients at hand, too
///     left     when the last micro-batch has left these ranks for good, and run what follows; 0 before
///     waiting  by kind but the first: when each micro-batch that has run the kind before can start this one
///
/// Of entries with the same counts only those are kept that no other beats in every time. Beyond `width` of them two
/// are replaced by the earlier of each time, which is still a bound.
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
    const std::size_t kinds = kinds_.size();
    here_.counts.assign(kinds, 0);
    cells_.clear(kinds), ways_.clear(), now_.resize(1);
    now_[cells_.at(here_.counts)].assign(waiting_, 0);
    std::uint32_t first = 0, end = 1;  // the cells of as many actions
    for (std::size_t left = kinds * in_.micro_batches; left > 0; --left) {
      next_size_ = 0;
      for (std::uint32_t i = first; i < end; ++i) {
        const std::vector<ticks>& from = now_[i - first];
        steps -= static_cast<std::int64_t>((from.size() + kinds) * kinds);
        if (steps < 0) return 0;
        here_.counts.assign(cells_.counts(i), cells_.counts(i) + kinds);
        look(here_);
        for (std::size_t j = 0; j < kinds; ++j) ways_.push_back(run(from, j, end));
      }
      if (cells_.size() == end) return target + 1;
      first = end, end = cells_.size();
      std::swap(now_, next_);
    }
    ticks least = target + 1;
    for (std::size_t at = 0; at < now_[0].size(); at += waiting_) {
      const ticks* last = now_[0].data() + at;
      ticks makespan = last[left()];
      for (std::size_t q = 0; q < ranks_.size(); ++q) makespan = (std::max)(makespan, last[done(q)] + ranks_[q].tail);
      least = (std::min)(least, makespan);
    }
    return least;
  }

  /// Narrows the windows that the ranks were last asked with, if that refuted nothing: to when actions start on a way
  /// that leads to the end, at first as the entries tell, at last if all after them are as late as their windows allow.
  /// @return false if there is no such way, as can be seen only from the end where entries were replaced
  [[nodiscard]] bool narrow(window_bound& windows) {
    const std::size_t kinds = kinds_.size(), n = ranks_.size();
    struct range {
      ticks first = partial_schedule::never, last = -1;
    };
    std::vector<range> starts(kinds * in_.micro_batches);
    latest_.assign(cells_.size() * n, -1);  // by cell and rank: when it is free at the latest; -1: no way to the end
    for (std::uint32_t i = cells_.size(); i-- > 0;) {
      here_.counts.assign(cells_.counts(i), cells_.counts(i) + kinds);
      look(here_);
      ticks* mine = latest_.data() + i * n;
      const bool whole = std::size_t{i} * kinds == ways_.size();  // the cell of all actions
      for (std::size_t q = 0; whole && q < n; ++q) mine[q] = here_.limit[q];
      for (std::size_t j = 0; !whole && j < kinds; ++j) {
        const way& w = ways_[i * kinds + j];
        if (w.to == 0 || latest_[w.to * n] < 0) continue;
        const kind& x = kinds_[j];
        const std::uint32_t k = here_.counts[j];
        const ticks last = (std::min)(x.latest[k], latest_[w.to * n + x.rank] - x.time);
        if (last < w.start) continue;
        for (std::size_t q = 0; q < n; ++q) {
          const ticks free = q == x.rank ? last : latest_[w.to * n + q];
          mine[q] = (std::max)(mine[q], (std::min)(free, here_.limit[q]));
        }
        range& r = starts[j * in_.micro_batches + k];
        r.first = (std::min)(r.first, w.start), r.last = (std::max)(r.last, last);
      }
    }
    if (latest_[0] < 0) return false;
    for (std::size_t j = 0; j < kinds; ++j)
      for (std::uint32_t k = 0; k < in_.micro_batches; ++k) {
        const range& r = starts[j * in_.micro_batches + k];
        windows.narrow(kinds_[j].forward ? 0 : 1, kinds_[j].stage, k, r.first, r.last + kinds_[j].time);
      }
    return true;
  }

 private:
  static constexpr std::size_t width = 16;
  /// The kinds are in the order of a micro-batch.
  struct kind {
    std::uint32_t stage = 0, rank = 0;  // rank: among those asked about
    bool forward = false;
    ticks time = 0, weight = 0, away = 0;     // away: from the end of the kind before to the start of this one
    std::vector<ticks> earliest{}, latest{};  // start, by micro-batch
  };
  struct part {
    std::int64_t cap = 0;
    ticks work = 0, tail = 0;                      // of all its actions; what follows its last one at the least
    std::vector<std::size_t> forwards, by_weight;  // its kinds of forwards, of backwards
  };
  /// From a cell by one more action: where to (0: nowhere), and when the action starts at the earliest.
  struct way {
    std::uint32_t to = 0;
    ticks start = 0;
  };
  /// What follows from counts.
  struct outlook {
    std::vector<std::uint32_t> counts;  // by kind
    std::vector<std::size_t> waiting;   // by kind: where in an entry its times start; last: the entry's size
    std::vector<ticks> limit;           // by rank: until when it must be done
    std::vector<ticks> spare;           // by rank: weight that may be left when a forward starts; -1: none may start
  };

  void set(const std::vector<std::uint32_t>& ranks, ticks target, const window_bound& windows) {
    target_ = target, waiting_ = (in_.split ? 2 : 1) * ranks.size() + 1;
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
      kind x{s, index[in_.rank_of[s]], forward};
      x.time = forward ? in_.forward[s] : in_.backward[s];
      x.weight = forward ? 0 : in_.weight[s];
      if (!kinds_.empty()) {
        const kind& y = kinds_.back();
        x.away = (forward ? forward_ : backward_)[s] - (y.forward ? forward_ : backward_)[y.stage] - y.time;
      }
      for (std::uint32_t k = 0; k < in_.micro_batches; ++k) {
        x.earliest.push_back(windows.earliest_start(forward ? 0 : 1, s, k));
        x.latest.push_back(windows.latest_end(forward ? 0 : 1, s, k) - x.time);
      }
      ranks_[x.rank].work += (x.time + x.weight) * ticks{in_.micro_batches};
      (forward ? ranks_[x.rank].forwards : ranks_[x.rank].by_weight).push_back(kinds_.size());
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
  [[nodiscard]] std::size_t left() const noexcept { return waiting_ - 1; }

  void look(outlook& x) const {
    x.waiting.resize(kinds_.size() + 1), x.limit.resize(ranks_.size()), x.spare.resize(ranks_.size());
    x.waiting[0] = waiting_;
    for (std::size_t q = 0; q < ranks_.size(); ++q) x.limit[q] = target_ - ranks_[q].tail - ranks_[q].work;
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
      x.waiting[j + 1] = x.waiting[j] + (j > 0 ? x.counts[j - 1] - x.counts[j] : 0);
      x.limit[kinds_[j].rank] += (kinds_[j].time + kinds_[j].weight) * ticks{x.counts[j]};
    }
    for (std::uint32_t q = 0; q < ranks_.size(); ++q) x.spare[q] = spare(x, q);
  }
  /// Of the cell that here_ shows to the one after an action of kind j.
  void look_behind(std::size_t j) {
    there_ = here_, ++there_.counts[j];
    if (j > 0) --there_.waiting[j + 1];
    for (std::size_t i = j + 2; i <= kinds_.size(); ++i) there_.waiting[i] += j > 0 ? 0 : 1;
    const std::uint32_t q = kinds_[j].rank;
    there_.limit[q] += kinds_[j].time + kinds_[j].weight;
    there_.spare[q] = spare(there_, q);
  }
  [[nodiscard]] ticks spare(const outlook& x, std::uint32_t q) const {
    const part& mine = ranks_[q];
    std::int64_t over = 1 - mine.cap;  // activations that must be gone before its next forward
    for (const std::size_t j : mine.forwards) over += x.counts[j];
    over = (std::max)(over, std::int64_t{0});
    ticks left = 0;
    for (const std::size_t j : mine.by_weight) {
      const std::int64_t gone = (std::min)(over, std::int64_t{x.counts[j]});
      over -= gone;
      left += kinds_[j].weight * (std::int64_t{x.counts[j]} - gone);
    }
    return over > 0 ? -1 : left;
  }
  /// Runs kind j after all entries of the cell that here_ shows. @param first  the first cell of one more action
  [[nodiscard]] way run(const std::vector<ticks>& from, std::size_t j, std::uint32_t first) {
    const kind& x = kinds_[j];
    const std::uint32_t k = here_.counts[j];
    if (k == in_.micro_batches || (j > 0 && here_.counts[j - 1] == k)) return {};
    const ticks spare = here_.spare[x.rank];
    if (x.forward && spare < 0) return {};
    const std::size_t n = here_.waiting.back();
    const bool sends = j + 1 < kinds_.size();
    const std::size_t mine = here_.waiting[j], after = mine + (j > 0 ? 1 : 0),
                      behind = here_.waiting[sends ? j + 2 : j + 1];
    entry_.resize(here_.waiting.back() - (j > 0 ? 1 : 0) + (sends ? 1 : 0));
    way found;
    bool looked = false;
    for (std::size_t at = 0; at < from.size(); at += n) {
      const ticks* old = from.data() + at;
      ticks start = (std::max)(old[x.rank], x.earliest[k]);
      if (j > 0) start = (std::max)(start, old[mine]);
      if (x.forward && in_.split) start = (std::max)(start, old[done(x.rank)] - spare);
      if (start > x.latest[k]) continue;
      if (!looked) look_behind(j), looked = true;
      // Its own time is no longer among those that wait; one more waits for the next kind.
      ticks* put = std::copy(old, old + mine, entry_.data());
      put = std::copy(old + after, old + behind, put);
      if (sends) *put++ = start + x.time + kinds_[j + 1].away;
      std::copy(old + behind, old + n, put);
      entry_[x.rank] = start + x.time;
      if (in_.split) entry_[done(x.rank)] = (std::max)(old[done(x.rank)], start) + x.time + x.weight;
      if (!sends && k + 1 == in_.micro_batches) entry_[left()] = start + x.time + leave_;
      if (!settle(start)) continue;
      if (found.to == 0) found = {open(first), start};
      found.start = (std::min)(found.start, start);
      keep(next_[found.to - first]);
    }
    return found;
  }
  /// The cell that there_ shows.
  [[nodiscard]] std::uint32_t open(std::uint32_t first) {
    const std::uint32_t cell = cells_.at(there_.counts);
    if (next_size_ <= cell - first) {
      if (next_.size() == next_size_) next_.emplace_back();
      next_[next_size_++].clear();
    }
    return cell;
  }
  /// Raises the times of entry_: nothing that follows starts before the action that was run last, and no rank before
  /// something is there for it. False if a window is missed.
  [[nodiscard]] bool settle(ticks start) {
    const outlook& now = there_;
    ready_.resize(kinds_.size()), first_.assign(ranks_.size(), partial_schedule::never);
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
      const kind& x = kinds_[j];
      const std::uint32_t k = now.counts[j];
      if (k == in_.micro_batches) continue;
      ticks ready = (std::max)({entry_[x.rank], start, x.earliest[k]});
      if (now.waiting[j] < now.waiting[j + 1]) ready = (std::max)(ready, entry_[now.waiting[j]]);
      else if (j > 0) ready = (std::max)(ready, ready_[j - 1] + kinds_[j - 1].time + x.away);
      if (ready > x.latest[k]) return false;
      ready_[j] = ready;
      if (x.forward && now.spare[x.rank] < 0) continue;  // others come before it
      if (x.forward && in_.split) ready = (std::max)(ready, entry_[done(x.rank)] - now.spare[x.rank]);
      first_[x.rank] = (std::min)(first_[x.rank], ready);
    }
    for (std::size_t q = 0; q < ranks_.size(); ++q) {
      if (first_[q] < partial_schedule::never) entry_[q] = (std::max)(entry_[q], first_[q]);
      entry_[done(q)] = (std::max)(entry_[done(q)], entry_[q]);
      if (entry_[done(q)] > now.limit[q]) return false;
    }
    for (std::size_t j = 1; j < kinds_.size(); ++j)
      for (std::size_t at = now.waiting[j], k = now.counts[j]; at < now.waiting[j + 1]; ++at, ++k) {
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
    for (std::size_t at = 0; at < all.size(); at += n)
      if (beats(all.data() + at, entry_.data())) return;
    std::size_t end = 0;
    for (std::size_t at = 0; at < all.size(); at += n) {
      if (beats(entry_.data(), all.data() + at)) continue;
      if (end < at) std::copy_n(all.data() + at, n, all.data() + end);
      end += n;
    }
    all.resize(end);
    if (end < width * n) {
      all.insert(all.end(), entry_.begin(), entry_.end());
      return;
    }
    std::size_t near = 0;
    ticks least = partial_schedule::never;
    for (std::size_t at = 0; at < end; at += n) {
      ticks apart = 0;
      for (std::size_t i = 0; i < n && apart < least; ++i) {
        const ticks x = all[at + i], y = entry_[i];
        apart += x > y ? x - y : y - x;
      }
      if (apart < least) least = apart, near = at;
    }
    for (std::size_t i = 0; i < n; ++i) all[near + i] = (std::min)(all[near + i], entry_[i]);
  }

  const search_input& in_;
  std::vector<ticks> forward_, backward_;  // by stage
  ticks end_ = 0, leave_ = 0, target_ = 0;
  std::vector<kind> kinds_;
  std::vector<part> ranks_;
  std::size_t waiting_ = 0;  // times of an entry before those of the micro-batches
  count_cells cells_;
  std::vector<way> ways_;                       // by cell and kind
  std::vector<std::vector<ticks>> now_, next_;  // entries, one after the other, by cell
  std::size_t next_size_ = 0;
  outlook here_, there_;
  std::vector<ticks> first_, entry_, ready_, latest_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
