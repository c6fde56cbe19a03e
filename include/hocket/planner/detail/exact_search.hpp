// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/list_scheduler.hpp>
#include <hocket/planner/detail/window_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// States from which a target cannot be met, each with the earliest time at which that was seen: later is no better.
/// Keys are compared in full: a proof must not rest on a hash.
class failed_states {
 public:
  explicit failed_states(std::size_t key_bytes) : width_(key_bytes) { clear(); }
  void clear() { slots_.assign(1u << 12, 0), keys_.clear(), times_.clear(); }
  [[nodiscard]] bool hopeless(const std::vector<std::uint8_t>& key, ticks t) const noexcept {
    const std::uint32_t at = slots_[find(key)];
    return at != 0 && times_[at - 1] <= t;
  }
  void add(const std::vector<std::uint8_t>& key, ticks t) {
    std::uint32_t& slot = slots_[find(key)];
    if (slot != 0) {
      times_[slot - 1] = (std::min)(times_[slot - 1], t);
      return;
    }
    if (times_.size() >= max_states) return;
    keys_.insert(keys_.end(), key.begin(), key.end());
    times_.push_back(t);
    slot = static_cast<std::uint32_t>(times_.size());
    if (times_.size() * 2 < slots_.size()) return;
    slots_.assign(slots_.size() * 2, 0);
    std::vector<std::uint8_t> one(width_);
    for (std::size_t i = 0; i < times_.size(); ++i) {
      std::memcpy(one.data(), keys_.data() + i * width_, width_);
      slots_[find(one)] = static_cast<std::uint32_t>(i + 1);
    }
  }

 private:
  static constexpr std::size_t max_states = std::size_t{1} << 22;
  [[nodiscard]] std::size_t find(const std::vector<std::uint8_t>& key) const noexcept {
    std::uint64_t hash = 0x9e3779b97f4a7c15u;
    for (const std::uint8_t b : key) hash = (hash ^ b) * 0x100000001b3u;
    hash ^= hash >> 29;
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != 0 && std::memcmp(keys_.data() + (slots_[at] - 1) * width_, key.data(), width_) != 0)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  std::size_t width_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint8_t> keys_;
  std::vector<ticks> times_;
};

/// Is there a schedule of at most `target` ticks? Depth first in time: at every event each free rank starts something
/// or waits for the next event. Branches are cut by the tails, by work left, by the windows of actions under the
/// target, and by states known to fail. If all times are equal, a rank that could run a backward or a weight gradient
/// never waits (starting it now delays nothing and only frees memory), and it waits with a forward at hand only where
/// memory is scarce.
class exact_search {
 public:
  enum class verdict : std::uint8_t { found, impossible, unknown };

  /// @param windows  of the target that is asked about, which they did not refute
  exact_search(const search_input& in, const tails& ends, const window_bound& windows)
      : in_(in), ends_(ends), windows_(windows), plan_(in), failed_(key_bytes(in)), key_(key_bytes(in)) {
    unit_ = equal_times(in), counts_suffice_ = counts_suffice(in);
  }
  /// Whether the search applies: actions take time, transfers no longer than any action, and all fits the key.
  [[nodiscard]] static bool applies(const search_input& in) {
    ticks least = partial_schedule::never, all = 0;
    for (std::uint32_t s = 0; s < in.stages; ++s)
      for (const ticks t : {in.forward[s], in.backward[s], in.split ? in.weight[s] : in.forward[s]}) {
        least = t < least ? t : least;
        all = t > (ticks{1} << 30) ? t : all;
      }
    const std::uint64_t actions = std::uint64_t{in.stages} * in.micro_batches * (in.split ? 3 : 2);
    return least > 0 && all == 0 && in.hop <= least && actions <= 1500;
  }

  verdict operator()(ticks target, std::int64_t& budget) {
    plan_.reset();
    options_.clear();
    failed_.clear();
    target_ = target, budget_ = &budget;
    const int found = at_time(0);
    if (found == 1) return verdict::found;
    return found == 0 ? verdict::impossible : verdict::unknown;
  }
  [[nodiscard]] const std::vector<placed>& list() const noexcept { return plan_.list; }

 private:
  // Equal times and no transfers: at every event all ranks are free and all that was started has ended, so the counts
  // are the state. Else also: by stage, when the next inputs arrive and when its last actions end (of transfers no
  // longer than an action at most two are under way, the first unused one and the last); by rank, when it is free. And
  // by stage, unless all take equally long, the weight gradients that have run: what is left depends on them.
  [[nodiscard]] static bool counts_suffice(const search_input& in) { return equal_times(in) && in.hop == 0; }
  [[nodiscard]] static bool equal_times(const search_input& in) {
    bool equal = true;
    for (std::uint32_t s = 0; s < in.stages; ++s)
      equal = equal && in.forward[s] == in.forward[0] && in.backward[s] == in.forward[0] &&
              (!in.split || in.weight[s] == in.forward[0]);
    return equal && in.forward[0] > 0 && in.hop % in.forward[0] == 0;
  }
  static std::size_t key_bytes(const search_input& in) {
    const std::size_t counts = (std::size_t{2} * in.stages + in.ranks) * sizeof(std::uint16_t);
    if (counts_suffice(in)) return counts;
    const std::size_t weights = equal_times(in) ? 0 : in.stages * sizeof(std::uint16_t);
    return counts + weights + (in.stages * 4 + in.ranks) * sizeof(std::uint32_t);
  }
  template <class T>
  void put(std::size_t& at, T x) noexcept {
    std::memcpy(key_.data() + at, &x, sizeof x);
    at += sizeof x;
  }
  void make_key(ticks t) {
    std::size_t at = 0;
    for (std::uint32_t s = 0; s < in_.stages; ++s) {
      put(at, static_cast<std::uint16_t>(plan_.forwards[s]));
      put(at, static_cast<std::uint16_t>(plan_.backwards[s]));
    }
    for (std::uint32_t r = 0; r < in_.ranks; ++r) put(at, static_cast<std::uint16_t>(plan_.held[r]));
    if (counts_suffice_) return;
    const auto ahead = [&](ticks x) {
      return x >= partial_schedule::never ? ~std::uint32_t{0} : x > t ? static_cast<std::uint32_t>(x - t) : 0u;
    };
    for (std::uint32_t s = 0; s < in_.stages; ++s) {
      const std::uint32_t f = plan_.forwards[s], b = plan_.backwards[s];
      put(at, ahead(plan_.forward_ready(s))), put(at, ahead(plan_.backward_ready(s)));
      put(at, f == 0 ? 0u : ahead(plan_.forward_end[plan_.index(s, f - 1)] + in_.hop));
      put(at, b == 0 ? 0u : ahead(plan_.backward_end[plan_.index(s, b - 1)] + in_.hop));
    }
    for (std::uint32_t r = 0; r < in_.ranks; ++r) put(at, ahead(plan_.free_at[r]));
    for (std::uint32_t s = 0; s < in_.stages && !unit_; ++s) put(at, static_cast<std::uint16_t>(plan_.weights[s]));
  }

  // 1 found, 0 impossible, -1 budget used up
  int at_time(ticks t) {
    if (plan_.remaining == 0) return plan_.finish() <= target_ ? 1 : 0;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) {
      const ticks from = plan_.free_at[r] > t ? plan_.free_at[r] : t;
      if (plan_.left[r] > 0 && from + plan_.left[r] + ends_.last_tail[r] > target_) return 0;
    }
    for (std::uint32_t s = 0; s < in_.stages; ++s) {
      const ticks free = plan_.free_at[in_.rank_of[s]] > t ? plan_.free_at[in_.rank_of[s]] : t;
      if (const std::uint32_t k = plan_.forwards[s]; k < in_.micro_batches) {
        const ticks ready = plan_.forward_ready(s);
        const ticks from = ready < partial_schedule::never && ready > free ? ready : free;
        if (from + ends_.forward[plan_.index(s, k)] > target_) return 0;
        if (from + in_.forward[s] > windows_.latest_end(0, s, k)) return 0;
      }
      if (const std::uint32_t k = plan_.backwards[s]; k < in_.micro_batches) {
        const ticks ready = plan_.backward_ready(s);
        const ticks from = ready < partial_schedule::never && ready > free ? ready : free;
        if (from + ends_.backward[plan_.index(s, k)] > target_) return 0;
        if (from + in_.backward[s] > windows_.latest_end(1, s, k)) return 0;
      }
      if (const std::uint32_t k = plan_.weights[s]; in_.split && k < in_.micro_batches)
        if (free + in_.weight[s] > windows_.latest_end(2, s, k)) return 0;
    }
    make_key(t);
    if (failed_.hopeless(key_, t)) return 0;
    const std::vector<std::uint8_t> key = key_;
    const int found = decide(0, t);
    if (found == 0) failed_.add(key, t);
    return found;
  }

  struct choice {
    std::uint32_t stage = 0;
    pipeline::op kind = pipeline::op::idle;
    ticks tail = 0;
  };
  /// No schedule within the target starts it now.
  [[nodiscard]] bool is_too_soon(const choice& x, ticks t) const {
    using pipeline::op;
    if (x.kind == op::forward) return t < windows_.earliest_start(0, x.stage, plan_.forwards[x.stage]);
    if (x.kind == op::weight_grad) return t < windows_.earliest_start(2, x.stage, plan_.weights[x.stage]);
    return t < windows_.earliest_start(1, x.stage, plan_.backwards[x.stage]);
  }
  int decide(std::uint32_t r, ticks t) {
    const std::size_t first = options_.size();
    bool must_run = false, forward_ready = false;
    for (; r < in_.ranks; ++r) {  // to a rank that is free and has something at hand
      if (plan_.free_at[r] > t || plan_.left[r] == 0) continue;
      bool weight_done = false;
      for (const std::uint32_t s : in_.owned[r]) {
        if (plan_.backward_ready(s) <= t) {
          options_.push_back({s, in_.name(1), ends_.backward[plan_.index(s, plan_.backwards[s])]});
          must_run = true;
        }
        if (plan_.forward_ready(s) <= t && plan_.held[r] < in_.cap[r]) {
          options_.push_back({s, pipeline::op::forward, ends_.forward[plan_.index(s, plan_.forwards[s])]});
          forward_ready = true;
        }
        // Weight gradients of equal length are interchangeable: one of them will do.
        if (in_.split && plan_.weight_ready(s) <= t && !(unit_ && weight_done)) {
          options_.push_back({s, pipeline::op::weight_grad, 0});
          must_run = weight_done = true;
        }
      }
      if (options_.size() > first) break;
    }
    if (r == in_.ranks) {
      if (plan_.remaining == 0) return at_time(t);
      const ticks next = plan_.next_event(t);
      return next >= partial_schedule::never ? 0 : at_time(next);
    }
    if (--*budget_ < 0) {
      options_.resize(first);
      return -1;
    }
    const std::size_t count = options_.size() - first;
    std::sort(options_.begin() + static_cast<std::ptrdiff_t>(first), options_.end(),
              [](const choice& a, const choice& b) {
                return a.tail != b.tail ? a.tail > b.tail : a.kind != b.kind ? a.kind > b.kind : a.stage > b.stage;
              });
    const bool may_wait = !unit_ || (!must_run && forward_ready && in_.is_scarce(r));
    const ticks before = plan_.free_at[r];
    for (std::size_t i = 0; i < count; ++i) {
      const choice x = options_[first + i];
      if (is_too_soon(x, t)) continue;
      plan_.start(x.stage, x.kind, t);
      const int found = decide(r + 1, t);
      if (found != 0) return found;
      plan_.undo(before);
    }
    options_.resize(first);
    return may_wait ? decide(r + 1, t) : 0;
  }

  const search_input& in_;
  const tails& ends_;
  const window_bound& windows_;
  partial_schedule plan_;
  failed_states failed_;
  std::vector<std::uint8_t> key_;
  std::vector<choice> options_;
  bool unit_ = false, counts_suffice_ = false;
  ticks target_ = 0;
  std::int64_t* budget_ = nullptr;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
