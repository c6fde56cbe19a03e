// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/list_scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Betters a complete schedule by moves along its critical path: an action goes before or behind another that the same
/// rank runs without a gap; nothing else can shorten the step. Moves that break the order of a stage or a cap are not
/// made, those that make ranks wait for each other are taken back. Late acceptance: a move is kept if it is no worse
/// than now, or than some moves ago. Numbers are drawn by a generator of its own, so every machine finds the same.
class order_search {
 public:
  explicit order_search(const search_input& in) : in_(in), each_(std::size_t{in.stages} * in.micro_batches) {}

  /// @param list   a schedule in any order that keeps that of each rank
  /// @param steps  actions that may be looked at, all moves together
  /// @param enough stop at this makespan
  /// @return the makespan; list() is the schedule
  [[nodiscard]] ticks operator()(const std::vector<placed>& start, std::int64_t steps, ticks enough) {
    orders_.assign(in_.ranks, {});
    for (const placed& x : start) orders_[x.rank].push_back(id(x));
    end_.assign(3 * each_, 0), from_.assign(3 * each_, none), place_.assign(3 * each_, 0);
    total_ = start.size();
    ticks now = evaluate();
    if (now >= partial_schedule::never) return now;
    best_ = orders_;
    ticks least = now;
    constexpr std::size_t memory = 128;
    std::vector<ticks> past(memory, now);
    std::size_t turn = 0;
    trace();
    for (steps -= static_cast<std::int64_t>(total_); steps > 0 && least > enough;
         steps -= static_cast<std::int64_t>(total_)) {
      move x;
      if (!draw(x)) {
        steps -= 16;
        if (path_.size() < 2) break;
        continue;
      }
      shift(x.rank, x.from, x.to);
      const ticks then = evaluate();
      ticks& before = past[turn++ % memory];
      if (then <= now || then <= before) {
        now = then;
        trace();
        if (now < least) least = now, best_ = orders_;
      } else {
        shift(x.rank, x.to, x.from);
      }
      if (now < before) before = now;
      else if (then > now) before = before > now ? before : now;
    }
    return least;
  }
  /// The schedule found, in an order in which every action follows what it needs.
  [[nodiscard]] std::vector<placed> list() {
    orders_ = best_;
    std::vector<placed> sorted;
    sorted.reserve(total_);
    out_ = &sorted;
    (void)evaluate();
    out_ = nullptr;
    return sorted;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct move {
    std::uint32_t rank = 0, from = 0, to = 0;
  };

  [[nodiscard]] std::uint32_t id(const placed& x) const {
    const std::size_t kind = x.kind == pipeline::op::forward ? 0 : x.kind == pipeline::op::weight_grad ? 2 : 1;
    return static_cast<std::uint32_t>(kind * each_ + std::size_t{x.stage} * in_.micro_batches + x.micro_batch);
  }
  [[nodiscard]] std::uint32_t kind_of(std::uint32_t a) const { return static_cast<std::uint32_t>(a / each_); }
  [[nodiscard]] std::uint32_t stage_of(std::uint32_t a) const {
    return static_cast<std::uint32_t>(a % each_ / in_.micro_batches);
  }
  [[nodiscard]] ticks time_of(std::uint32_t kind, std::uint32_t s) const {
    return kind == 0 ? in_.forward[s] : kind == 1 ? in_.backward[s] : in_.weight[s];
  }

  /// Runs all lists; `never` if ranks wait for each other. Sets end_, and from_: what each action had to wait for.
  [[nodiscard]] ticks evaluate() {
    const std::uint32_t m = in_.micro_batches, stages = in_.stages;
    free_.assign(in_.ranks, 0), next_.assign(in_.ranks, 0);
    for (ticks& x : end_) x = -1;
    std::size_t left = total_;
    ticks last = 0;
    while (left > 0) {
      const std::size_t before = left;
      for (std::uint32_t r = 0; r < in_.ranks; ++r) {
        const auto& order = orders_[r];
        for (std::uint32_t& i = next_[r]; i < order.size(); ++i) {
          const std::uint32_t a = order[i], kind = kind_of(a), s = stage_of(a);
          std::uint32_t need = none;
          ticks hop = 0;
          if (kind == 0 && s > 0) need = a - m, hop = in_.hop_between(s - 1, s);
          else if (kind == 1 && s + 1 < stages) need = a + m, hop = in_.hop_between(s, s + 1);
          ticks ready = free_[r];
          std::uint32_t from = i > 0 ? order[i - 1] : none;
          if (need != none) {
            if (end_[need] < 0) break;
            if (end_[need] + hop > ready) ready = end_[need] + hop, from = need;
          }
          const ticks done = ready + time_of(kind, s);
          end_[a] = free_[r] = done, from_[a] = from, place_[a] = i;
          if (done > last) last = done, final_ = a;
          if (out_ != nullptr) out_->push_back({r, s, a % m, kind_name(kind)});
          --left;
        }
      }
      if (left == before) return partial_schedule::never;
    }
    return last;
  }
  [[nodiscard]] pipeline::op kind_name(std::uint32_t kind) const {
    using pipeline::op;
    return kind == 0 ? op::forward : kind == 2 ? op::weight_grad : in_.split ? op::input_grad : op::backward;
  }

  /// The critical path, last action first, of the schedule just run.
  void trace() {
    path_.clear();
    for (std::uint32_t a = final_; a != none; a = from_[a]) path_.push_back({in_.rank_of[stage_of(a)], place_[a]});
  }

  /// A move along the path that keeps the order of stages and the caps; false if the numbers drawn gave none.
  [[nodiscard]] bool draw(move& x) {
    if (path_.size() < 2) return false;
    const std::size_t at = random() % (path_.size() - 1);
    const auto [r, high] = path_[at];
    // How far the rank runs without a gap before it, as far as the path goes.
    std::uint32_t run = 0;
    while (at + run + 1 < path_.size() && path_[at + run + 1].first == r &&
           path_[at + run + 1].second + run + 1 == high)
      ++run;
    if (run == 0) return false;
    const std::uint32_t far = random() % 2 == 0 ? 1 : 1 + random() % (run < 12 ? run : 12);
    const std::uint32_t low = high - (far < run ? far : run);
    const bool later = random() % 2 == 0;
    x = {r, later ? low : high, later ? high : low};
    return allowed(x);
  }
  [[nodiscard]] bool allowed(const move& x) const {
    const auto& order = orders_[x.rank];
    const std::uint32_t a = order[x.from], m = in_.micro_batches, kind = kind_of(a);
    const std::uint32_t low = x.from < x.to ? x.from : x.to, high = x.from < x.to ? x.to : x.from;
    for (std::uint32_t i = low; i <= high; ++i) {
      const std::uint32_t b = order[i];
      if (b == a || stage_of(b) != stage_of(a)) continue;
      if (kind_of(b) == kind || b % m == a % m) return false;
    }
    std::uint32_t held = 0;
    const std::uint32_t gives = in_.split ? 2 : 1;
    const auto count = [&](std::uint32_t b) {
      if (kind_of(b) == 0) ++held;
      else if (kind_of(b) == gives) --held;
      return held <= in_.cap[x.rank];
    };
    for (std::uint32_t i = 0; i < low; ++i) (void)count(order[i]);
    if (x.from == high && !count(a)) return false;
    for (std::uint32_t i = low; i <= high; ++i)
      if (i != x.from && !count(order[i])) return false;
    return x.from == high || count(a);
  }
  void shift(std::uint32_t r, std::uint32_t from, std::uint32_t to) {
    auto& order = orders_[r];
    for (; from < to; ++from) std::swap(order[from], order[from + 1]);
    for (; from > to; --from) std::swap(order[from], order[from - 1]);
  }
  [[nodiscard]] std::uint32_t random() noexcept {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }

  const search_input& in_;
  std::size_t each_, total_ = 0;
  std::vector<std::vector<std::uint32_t>> orders_, best_;
  std::vector<ticks> end_, free_;
  std::vector<std::uint32_t> from_, place_, next_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> path_;
  std::vector<placed>* out_ = nullptr;
  std::uint32_t final_ = none;
  std::uint64_t state_ = 0x9e3779b97f4a7c15u;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
