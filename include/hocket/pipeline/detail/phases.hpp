// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/detail/weave.hpp>
#include <hocket/pipeline/facts.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::pipeline {

/// A list that is a few phases, each the same short bar again and again: `lane` l of a phase is an op of one chunk, and
/// runs for the micro-batches first, first + stride, …, one in each round, `rounds` times. Zero-bubble V schedules and
/// DualPipe have lists of this form with at most ten phases, so that every question about a step is answered in O(1).
/// Rounds of a phase need not be equally long: a lane whose rounds are over is left out.
///
///     hocket::pipeline::phase_list list;                                  // F0 F1 then B0 W0 B1 W1 …
///     list.add(2, {{hocket::pipeline::action_kind::forward, 0, 0}});
///     list.add(4, {{hocket::pipeline::action_kind::input_grad, 0, 0}, {hocket::pipeline::action_kind::weight_grad, 0,
///     0}}); list.at(3) == hocket::pipeline::action(hocket::pipeline::action_kind::weight_grad, 0, 0);
class phase_list {
 public:
  struct lane {
    action_kind kind = action_kind::idle;
    std::uint8_t chunk = 0;
    std::uint32_t first = 0;  ///< micro-batch of its first round
    bool joined = false;      ///< runs beside the next lane
    std::uint32_t stride = 1;
    std::uint32_t rounds = 0;  ///< set by add
  };
  static constexpr std::uint32_t max_lanes = detail::most_strands;
  static constexpr std::uint32_t max_phases = 12;
  struct phase {
    lane lanes[max_lanes];
    std::uint32_t width = 0;
    std::uint32_t steps = 0;
  };

  constexpr phase_list() noexcept = default;
  /// @param micro_batches  actions of this micro-batch and later ones are left out of every phase
  constexpr explicit phase_list(std::uint32_t micro_batches) noexcept : limit_(micro_batches) {}

  /// Appends `steps` steps that go through `bar` in turn; the last round may end early.
  template <std::uint32_t Width>
  constexpr void add(std::uint32_t steps, const lane (&bar)[Width]) noexcept {
    static_assert(Width <= max_lanes);
    if (steps == 0) return;
    HOCKET_ASSERT(count_ < max_phases);
    phase& x = phases_[count_++];
    x.width = Width;
    for (std::uint32_t l = 0; l < Width; ++l) {
      lane y = bar[l];
      y.rounds = steps / Width + (l < steps % Width ? 1 : 0);
      const std::uint32_t most = y.first < limit_ ? (limit_ - y.first + y.stride - 1) / y.stride : 0;
      if (y.rounds > most) y.rounds = most;
      x.lanes[l] = y;
      x.steps += y.rounds;
    }
    size_ += x.steps;
  }

  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::uint32_t phase_count() const noexcept { return count_; }
  [[nodiscard]] constexpr const phase& operator[](std::uint32_t x) const noexcept { return phases_[x]; }

  /// Precondition: step < size().
  [[nodiscard]] constexpr action at(std::uint32_t step) const noexcept {
    HOCKET_ASSERT(step < size_);
    const phase* x = phases_;
    for (; step >= x->steps; ++x) step -= x->steps;
    std::uint32_t round = 0;
    while (true) {  // at most `width` stretches in each of which the same lanes are left
      std::uint32_t next = ~std::uint32_t{0}, left = 0;
      for (std::uint32_t l = 0; l < x->width; ++l) {
        const std::uint32_t end = x->lanes[l].rounds;
        if (end <= round) continue;
        ++left;
        if (end < next) next = end;
      }
      const std::uint32_t steps = (next - round) * left;
      if (step >= steps) {
        step -= steps;
        round = next;
        continue;
      }
      std::uint32_t which = step % left;
      const std::uint32_t turn = round + step / left;
      for (std::uint32_t l = 0;; ++l) {
        const lane& y = x->lanes[l];
        if (y.rounds <= round || which-- != 0) continue;
        return {y.kind, y.chunk, y.first + turn * y.stride, y.joined};
      }
    }
  }

  /// Writes the steps from `first` on, as many as fit and are left, and returns how many. Divides once per call.
  constexpr std::size_t fill(std::span<action> out, std::uint32_t first) const noexcept {
    HOCKET_ASSERT(first <= size_);
    const std::size_t rest = size_ - first, total = out.size() < rest ? out.size() : rest;
    std::size_t done = 0;
    std::uint32_t skip = first;  // steps still to be passed over
    for (std::uint32_t i = 0; i < count_ && done < total; ++i) {
      const phase& x = phases_[i];
      if (skip >= x.steps) {
        skip -= x.steps;
        continue;
      }
      for (std::uint32_t round = 0; done < total;) {  // stretches in each of which the same lanes are left
        std::uint32_t next = ~std::uint32_t{0}, left = 0;
        for (std::uint32_t l = 0; l < x.width; ++l) {
          const std::uint32_t end = x.lanes[l].rounds;
          if (end <= round) continue;
          ++left;
          if (end < next) next = end;
        }
        if (left == 0) break;
        const std::uint32_t steps = (next - round) * left;
        if (skip >= steps) {
          skip -= steps;
          round = next;
          continue;
        }
        const std::uint32_t turn = skip == 0 ? 0 : skip / left, at = skip - turn * left;
        detail::strand strands[detail::most_strands];
        std::uint32_t k = 0;
        for (std::uint32_t l = 0; l < x.width; ++l) {
          const lane& y = x.lanes[l];
          if (y.rounds <= round) continue;
          const std::uint32_t j = y.first + (round + turn + (k < at ? 1 : 0)) * y.stride;
          strands[k++] = {action(y.kind, y.chunk, 0, y.joined).bits() + j, y.stride};
        }
        const std::size_t count = steps - skip < total - done ? steps - skip : total - done;
        detail::weave(out.data() + done, count, strands, left, at);
        done += count;
        skip = 0;
        round = next;
      }
    }
    return total;
  }

  /// The step that runs `a` (its joining flag does not matter), or size() if none does.
  [[nodiscard]] constexpr std::uint32_t step_of(action a) const noexcept {
    std::uint32_t before = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const phase& x = phases_[i];
      for (std::uint32_t l = 0; l < x.width; ++l) {
        const lane& y = x.lanes[l];
        const std::uint32_t gap = a.micro_batch() - y.first, turn = gap / y.stride;  // wraps round below it
        if (y.kind != a.kind() || y.chunk != a.chunk() || turn >= y.rounds || turn * y.stride != gap) continue;
        std::uint32_t step = before;
        for (std::uint32_t k = 0; k < x.width; ++k) {
          const std::uint32_t rounds = x.lanes[k].rounds;
          step += rounds < turn ? rounds : turn;
          if (k < l && rounds > turn) ++step;
        }
        return step;
      }
      before += x.steps;
    }
    return size_;
  }

  /// The steps before the first backward, those after the last forward, and the ones between.
  [[nodiscard]] constexpr step_counts counts() const noexcept {
    std::uint32_t first = size_, last = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const phase& x = phases_[i];
      for (std::uint32_t l = 0; l < x.width; ++l) {
        const lane& y = x.lanes[l];
        if (y.rounds == 0) continue;
        if (y.kind == action_kind::forward) {
          const std::uint32_t end = step_of({y.kind, y.chunk, y.first + (y.rounds - 1) * y.stride}) + 1;
          last = end > last ? end : last;
        } else if (first == size_) {  // the first lane of the first phase that has one
          first = step_of({y.kind, y.chunk, y.first});
        }
      }
    }
    if (last < first) first = last;
    return {first, last - first, size_ - last};
  }

  /// Most forwards whose backward, or weight gradient, has not run, after any step.
  [[nodiscard]] constexpr std::uint32_t peak() const noexcept {
    std::int64_t held = 0, most = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const phase& x = phases_[i];
      for (std::uint32_t round = 0;;) {
        std::uint32_t next = ~std::uint32_t{0};
        std::int64_t gain = 0, high = 0;
        for (std::uint32_t l = 0; l < x.width; ++l) {
          const lane& y = x.lanes[l];
          if (y.rounds <= round) continue;
          if (y.rounds < next) next = y.rounds;
          if (y.kind == action_kind::forward) ++gain;
          if (y.kind == action_kind::backward || y.kind == action_kind::weight_grad) --gain;
          if (gain > high) high = gain;
        }
        if (next == ~std::uint32_t{0}) break;
        const std::int64_t turns = next - round;
        const std::int64_t top = held + high + (gain > 0 ? (turns - 1) * gain : 0);
        if (top > most) most = top;
        held += turns * gain;
        round = next;
      }
    }
    return static_cast<std::uint32_t>(most);
  }

 private:
  phase phases_[max_phases];
  std::uint32_t count_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t limit_ = ~std::uint32_t{0};
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
