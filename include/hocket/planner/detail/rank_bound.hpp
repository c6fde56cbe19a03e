// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/list_scheduler.hpp>
#include <hocket/planner/detail/window_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What one rank under its cap can do at best if all others were never busy: its actions in every order, by dynamic
/// programming over how many of each stage have run. Of orders with the same counts only those are kept that no other
/// beats in every time that still matters: when the rank is free, and when what the other ranks work on comes back.
/// Beyond `width` of them two are replaced by the earlier of each time, which is still a bound.
class rank_bound {
 public:
  explicit rank_bound(const search_input& in) : in_(in) {}

  /// Whether counts of all actions of a rank fit a key.
  [[nodiscard]] static bool applies(const search_input& in) {
    std::uint64_t keys = 1;
    for (std::uint32_t i = in.stages / in.ranks * (in.split ? 3 : 2); i > 0; --i) {
      if (keys > (std::uint64_t{1} << 62) / (in.micro_batches + 1)) return false;
      keys *= in.micro_batches + 1;
    }
    return true;
  }

  /// @param target   a makespan that `windows` did not refute, but looked at last
  /// @param entries  that may be looked at; what was is taken away
  /// @return no schedule of at most `target` ticks is shorter; target + 1 if there is none; 0 if entries did not last
  [[nodiscard]] ticks operator()(std::uint32_t r, ticks target, const window_bound& windows, std::int64_t& entries) {
    set(r, target, windows);
    std::map<std::uint64_t, cell> now, next;
    now[0] = {std::vector<std::uint32_t>(kinds_.size(), 0), {0, 0}};
    for (std::size_t left = kinds_.size() * in_.micro_batches; left > 0; --left) {
      next.clear();
      for (const auto& [key, from] : now) {
        if (from.times.empty()) continue;
        entries -= static_cast<std::int64_t>(from.times.size() / width_of(from));
        if (entries < 0) return 0;
        for (std::size_t j = 0; j < kinds_.size(); ++j)
          if (may_run(from, j)) run(from, j, next[key + kinds_[j].step]);
      }
      now.swap(next);
    }
    ticks least = target + 1;
    for (const auto& [key, last] : now)
      for (std::size_t i = 0; i < last.times.size(); i += 2)
        least = (std::min)(least, (std::max)(last.times[i] + tail_, last.times[i + 1]));
    return least;
  }

 private:
  static constexpr std::size_t width = 16;
  /// Stages of the rank in the order of a micro-batch: forwards, backwards back, then the weight gradients.
  struct stage_of_rank {
    std::uint32_t kind = 0, stage = 0;
    std::size_t before = none;  // must have run more often
    ticks time = 0, away = 0;   // from the end of that one to the start of this one
    bool holds = false, frees = false, returns = false;
    std::uint64_t step = 1;
    std::vector<ticks> earliest, latest;  // start, by micro-batch
  };
  /// Of each entry: when the rank is free; the least makespan by what left it for good; and, by kind that micro-batches
  /// come back for, when each of them does.
  struct cell {
    std::vector<std::uint32_t> counts;
    std::vector<ticks> times;
  };
  static constexpr std::size_t none = ~std::size_t{0};

  void set(std::uint32_t r, ticks target, const window_bound& windows) {
    const auto& owned = in_.owned[r];
    const std::size_t v = owned.size();
    kinds_.clear(), kinds_.resize((in_.split ? 3 : 2) * v);
    const auto path = [&](const std::vector<ticks>& time, std::uint32_t from, std::uint32_t to) {  // between the two
      ticks sum = 0;
      for (std::uint32_t s = from; s < to; ++s) sum += in_.hop_between(s, s + 1) + (s > from ? time[s] : 0);
      return sum;
    };
    for (std::size_t c = 0; c < v; ++c) {
      const std::uint32_t s = owned[c];
      stage_of_rank &f = kinds_[c], &b = kinds_[2 * v - 1 - c];
      f.kind = 0, f.stage = s, f.time = in_.forward[s], f.holds = true;
      b.kind = 1, b.stage = s, b.time = in_.backward[s], b.frees = !in_.split, b.before = 2 * v - 2 - c;
      if (c > 0) f.before = c - 1, f.away = path(in_.forward, owned[c - 1], s);
      if (c + 1 < v) b.away = path(in_.backward, s, owned[c + 1]);
      if (!in_.split) continue;
      stage_of_rank& w = kinds_[2 * v + c];
      w.kind = 2, w.stage = s, w.time = in_.weight[s], w.frees = true, w.before = 2 * v - 1 - c;
    }
    const std::uint32_t last = owned.back(), end = in_.stages - 1;
    kinds_[v].away = path(in_.forward, last, end) + path(in_.backward, last, end) +
                     (last < end ? in_.forward[end] + in_.backward[end] : 0);
    const std::uint32_t first = owned.front();
    leave_ = first > 0 ? path(in_.backward, 0, first) + in_.backward[0] + in_.weight[0] : 0;
    tail_ = in_.split ? 0 : leave_, cap_ = in_.cap[r], target_ = target, work_ = 0;
    std::uint64_t weight = 1;
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
      stage_of_rank& x = kinds_[j];
      x.step = weight, weight *= in_.micro_batches + 1;
      x.returns = x.kind < 2 && j > 0;
      work_ += x.time * ticks{in_.micro_batches};
      for (std::uint32_t k = 0; k < in_.micro_batches; ++k) {
        x.earliest.push_back(windows.earliest_start(x.kind, x.stage, k));
        x.latest.push_back(windows.latest_end(x.kind, x.stage, k) - x.time);
      }
    }
  }
  [[nodiscard]] std::size_t away(const cell& at, std::size_t j) const {
    return kinds_[j].returns ? at.counts[j - 1] - at.counts[j] : 0;
  }
  [[nodiscard]] std::size_t width_of(const cell& at) const {
    std::size_t n = 2;
    for (std::size_t j = 0; j < kinds_.size(); ++j) n += away(at, j);
    return n;
  }
  [[nodiscard]] bool may_run(const cell& at, std::size_t j) const {
    const stage_of_rank& x = kinds_[j];
    if (at.counts[j] == in_.micro_batches || (x.before != none && at.counts[x.before] == at.counts[j])) return false;
    std::uint32_t held = 0;
    for (std::size_t i = 0; i < kinds_.size(); ++i)
      held += kinds_[i].holds ? at.counts[i] : kinds_[i].frees ? 0 - at.counts[i] : 0;
    return !x.holds || held < cap_;
  }
  void run(const cell& from, std::size_t j, cell& to) {
    const stage_of_rank& x = kinds_[j];
    const std::uint32_t k = from.counts[j];
    const std::size_t n = width_of(from), v = in_.stages / in_.ranks;
    std::size_t mine = 2, behind = 2;  // where micro-batches wait for this kind, and where those for the next one end
    for (std::size_t i = 0; i < j; ++i) mine += away(from, i);
    for (std::size_t i = 0; i <= j + 1 && i < kinds_.size(); ++i) behind += away(from, i);
    ticks left = work_;
    for (std::size_t i = 0; i < kinds_.size(); ++i) left -= kinds_[i].time * ticks{from.counts[i]};
    if (to.counts.empty()) to.counts = from.counts, ++to.counts[j];
    for (std::size_t at = 0; at < from.times.size(); at += n) {
      const ticks* old = from.times.data() + at;
      ticks start = (std::max)(old[0], x.earliest[k]);
      if (x.returns) start = (std::max)(start, old[mine]);
      if (start > x.latest[k] || start + left + tail_ > target_) continue;
      const ticks end = start + x.time;
      entry_.assign(old, old + n);
      entry_[0] = end;
      if (j == 2 * v - 1) entry_[1] = (std::max)(entry_[1], end + leave_);
      if (j + 1 < 2 * v) {
        const stage_of_rank& y = kinds_[j + 1];
        const ticks back = (std::max)(end + y.away, y.earliest[k]);
        if (back > y.latest[k]) continue;
        entry_.insert(entry_.begin() + static_cast<std::ptrdiff_t>(behind), back);
      }
      if (x.returns) entry_.erase(entry_.begin() + static_cast<std::ptrdiff_t>(mine));
      for (std::size_t i = 2; i < entry_.size(); ++i) entry_[i] = (std::max)(entry_[i], end);
      keep(to.times);
    }
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
  std::vector<stage_of_rank> kinds_;
  std::vector<ticks> entry_;
  ticks leave_ = 0, tail_ = 0, work_ = 0, target_ = 0;
  std::uint32_t cap_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
