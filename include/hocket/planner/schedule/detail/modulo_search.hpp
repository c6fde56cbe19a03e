// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>
#include <hocket/planner/schedule/detail/rank_window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Periodic schedules: some micro-batches are placed once, and again every period (modulo scheduling, Rau 1994). Each
/// action takes the first time that is free on its rank in every period; some, drawn at random, wait a little, which
/// lets others meet. The shortest period whose activations stay within the caps wins. For many chunks in little memory
/// nothing else comes near: there an activation must not wait anywhere, and rules that look at one action see that too
/// late.
class modulo_search {
 public:
  explicit modulo_search(const search_input& in) : in_(in), life_(least_lives(in)), busy_(in.ranks) {
    for (std::uint32_t s = 0; s < in.stages; ++s)
      for (const ticks t : {in.forward[s], in.backward[s], in.weight[s]})
        if (t > 0) least_ = least_ == 0 ? t : (std::min)(least_, t);
  }

  /// Looks for the shortest period of `together` micro-batches.
  /// @param steps  actions that may be placed, those of all tries
  /// @return whether there is one; list() is the schedule
  [[nodiscard]] bool operator()(std::uint32_t together, std::int64_t steps) {
    ticks least = 1;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) {
      ticks work = 0;
      for (const std::uint32_t s : in_.owned[r]) work += in_.forward[s] + in_.backward[s] + in_.weight[s];
      least = (std::max)({least, together * work, lives_within_cap(in_, life_, r, together)});
    }
    constexpr ticks longest = ticks{1} << 44;  // so that sums over a way there and back fit
    const std::int64_t each = std::int64_t{together} * in_.stages * (in_.split ? 3 : 2);
    ticks found = 0;
    const auto finds = [&](ticks period, int tries) {
      for (int i = 0; i < tries && steps >= each; ++i) {
        steps -= each;
        if (!place(together, period, i)) continue;
        found = period, best_ = now_;
        return true;
      }
      return false;
    };
    for (ticks period = least, stride = least / 64 + 1; period <= (std::min)(4 * least, longest); period += stride) {
      if (finds(period, 4)) break;
      stride += stride / 8;
    }
    for (ticks low = least; low < found && steps >= each;) {
      const ticks period = low + (found - low) / 2;
      if (!finds(period, 256)) low = period + 1;
    }
    if (found > 0) unroll(together, found);
    return found > 0;
  }
  /// By start; what starts at once, by what it needs.
  [[nodiscard]] const std::vector<placed>& list() const noexcept { return list_; }

 private:
  struct slot {
    ticks start, time;
  };
  struct starts_of {
    std::vector<ticks> forward, backward, weight;  // by micro-batch and stage
  };
  struct timed {
    ticks start;
    placed what;
  };
  /// The first start from `ready` on at which the rank is free in every period; never if there is none.
  [[nodiscard]] ticks take(std::uint32_t r, ticks ready, ticks time, ticks period) {
    if (time == 0) return ready;
    for (const ticks end = ready + period; ready < end;) {
      ticks wait = 0;
      for (const slot& x : busy_[r]) {
        const ticks since = modulo(ready - x.start, period);
        if (since < x.time) wait = (std::max)(wait, x.time - since);
        else if (period - since < time) wait = (std::max)(wait, period - since + x.time);
        if (wait > 0) break;
      }
      if (wait == 0) {
        busy_[r].push_back({modulo(ready, period), time});
        return ready;
      }
      ready += wait;
    }
    return partial_schedule::never;
  }
  [[nodiscard]] static ticks modulo(ticks x, ticks period) noexcept { return (x % period + period) % period; }

  /// @param attempt  the first is without noise; every other one runs weight gradients right after their other half
  [[nodiscard]] bool place(std::uint32_t together, ticks period, int attempt) {
    const std::uint32_t n = in_.stages, rate = attempt > 0 ? 2 + random_.below(6 * in_.ranks) : 0;
    const auto late = [&] {
      return rate > 0 && random_.below(rate) == 0 ? least_ * static_cast<ticks>(1 + random_.below(4)) : 0;
    };
    for (auto& slots : busy_) slots.clear();
    for (auto* starts : {&now_.forward, &now_.backward, &now_.weight}) starts->assign(std::size_t{together} * n, 0);
    const auto put = [&](std::vector<ticks>& starts, ticks time, std::uint32_t j, std::uint32_t s, ticks ready) {
      const std::size_t at = std::size_t{j} * n + s;
      if (j > 0) ready = (std::max)(ready, starts[at - n] + time);
      starts[at] = take(in_.rank_of[s], ready, time, period);
      return starts[at] < partial_schedule::never && (j + 1 < together || starts[at] + time <= starts[s] + period);
    };
    const auto put_weight = [&](std::uint32_t j, std::uint32_t s) {
      return put(now_.weight, in_.weight[s], j, s, now_.backward[std::size_t{j} * n + s] + in_.backward[s]);
    };
    const bool at_once = in_.split && attempt % 2 == 1;
    for (std::uint32_t j = 0; j < together; ++j) {
      const auto at = [&](std::uint32_t s) { return std::size_t{j} * n + s; };
      ticks ready = j * (period / together);
      for (std::uint32_t s = 0; s < n; ++s) {
        if (!put(now_.forward, in_.forward[s], j, s, ready + late())) return false;
        ready = now_.forward[at(s)] + in_.forward[s] + (s + 1 < n ? in_.hop_between(s, s + 1) : 0);
      }
      for (std::uint32_t s = n; s-- > 0;) {
        if (!put(now_.backward, in_.backward[s], j, s, ready + late())) return false;
        ready = now_.backward[at(s)] + in_.backward[s] + (s > 0 ? in_.hop_between(s - 1, s) : 0);
        if (at_once && !put_weight(j, s)) return false;
      }
    }
    for (std::uint32_t j = 0; in_.split && !at_once && j < together; ++j)
      for (std::uint32_t s = 0; s < n; ++s)
        if (!put_weight(j, s)) return false;
    for (std::uint32_t r = 0; r < in_.ranks; ++r)
      if (peak(r, together, period) > in_.cap[r]) return false;
    return true;
  }
  /// Most activations that the rank holds at once.
  [[nodiscard]] std::int64_t peak(std::uint32_t r, std::uint32_t together, ticks period) {
    std::int64_t always = 0;
    changes_.clear();
    for (const std::uint32_t s : in_.owned[r])
      for (std::uint32_t j = 0; j < together; ++j) {
        const std::size_t at = std::size_t{j} * in_.stages + s;
        const ticks end = in_.split ? now_.weight[at] + in_.weight[s] : now_.backward[at] + in_.backward[s];
        const ticks held = end - now_.forward[at], from = modulo(now_.forward[at], period), to = from + held % period;
        always += held / period + (to > period ? 1 : 0);
        changes_.push_back({from, 1}), changes_.push_back({to > period ? to - period : to, -1});
      }
    std::sort(changes_.begin(), changes_.end());  // at one time, ends come first
    std::int64_t now = always, most = always;
    for (const auto& x : changes_) now += x.second, most = (std::max)(most, now);
    return most;
  }
  void unroll(std::uint32_t together, ticks period) {
    using pipeline::action_kind;
    std::vector<timed> all;
    for (std::uint32_t k = 0; k < in_.micro_batches; ++k)
      for (std::uint32_t s = 0; s < in_.stages; ++s) {
        const std::size_t at = std::size_t{k % together} * in_.stages + s;
        const ticks before = ticks{k / together} * period;
        const std::uint32_t r = in_.rank_of[s];
        all.push_back({best_.forward[at] + before, {r, s, k, action_kind::forward}});
        all.push_back(
            {best_.backward[at] + before, {r, s, k, in_.split ? action_kind::input_grad : action_kind::backward}});
        if (in_.split) all.push_back({best_.weight[at] + before, {r, s, k, action_kind::weight_grad}});
      }
    std::sort(all.begin(), all.end(), [](const timed& a, const timed& b) {
      if (a.start != b.start) return a.start < b.start;
      if (a.what.kind != b.what.kind) return a.what.kind < b.what.kind;
      if (a.what.stage != b.what.stage) return (a.what.kind == action_kind::forward) == (a.what.stage < b.what.stage);
      return a.what.micro_batch < b.what.micro_batch;
    });
    list_.clear();
    for (const timed& x : all) list_.push_back(x.what);
  }

  const search_input& in_;
  std::vector<ticks> life_;
  std::vector<std::vector<slot>> busy_;  // by rank, in one period
  starts_of now_, best_;
  std::vector<std::pair<ticks, int>> changes_;
  std::vector<placed> list_;
  ticks least_ = 0;  // time of an action that takes any
  random_numbers random_{0x13198a2e03707344u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
