// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/detail/regions.hpp>
#include <hocket/pipeline/facts.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// A list that is a few phases, each the same short bar again and again: `lane` l of a phase is an op of one chunk, and
/// runs for the micro-batches first, first + stride, …, one in each round, `rounds` times. Zero-bubble V schedules and
/// DualPipe have lists of this form with at most ten phases, so that every question about a step is answered in O(1).
/// Rounds of a phase need not be equally long: a lane whose rounds are over is left out.
///
///     phase 0, 2 steps, 1 lane     F0 F1
///     phase 1, 4 steps, 2 lanes    I0 W0 I1 W1
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
  static constexpr std::uint32_t max_lanes = 6;
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

  /// Writes steps of a phase in which the same lanes are left from a round on, without the first `skip` of them.
  template <class Action, class Form>
  static constexpr void write_rounds(const phase& x, std::uint32_t round, std::uint32_t lanes, std::span<Action> out,
                                     std::uint32_t skip, const Form& form) noexcept {
    const std::uint32_t turn = skip / lanes, first = skip % lanes;
    std::uint32_t k = 0;  // among the lanes that are left
    for (std::uint32_t l = 0; l < x.width; ++l) {
      const lane& y = x.lanes[l];
      if (y.rounds <= round) continue;
      const std::uint32_t place = k < first ? k + lanes - first : k - first;
      const std::uint32_t from = round + turn + (k < first ? 1 : 0);
      ++k;
      write_lane(out, place, lanes, from, [&](std::uint32_t turn_of_lane) {
        const auto bits = form(action(y.kind, y.chunk, 0, y.joined)).bits();
        const auto j = static_cast<decltype(bits)>(y.first + turn_of_lane * y.stride);
        return action_run<Action>{Action::from_bits(bits + j * Action::next_micro_batch),
                                  y.stride * Action::next_micro_batch, ~std::uint32_t{0}};
      });
    }
  }
  /// A named type, as clang does not evaluate a template over a local lambda in a constant expression.
  struct as_it_is {
    constexpr action operator()(action a) const noexcept { return a; }
  };
  /// Writes the steps from `first` on, as many as fit and are left; returns how many. @param form  of an action in
  /// `out`
  template <class Action, class Form>
  constexpr std::size_t fill(std::span<Action> out, std::uint32_t first, const Form& form) const noexcept {
    std::size_t done = 0;
    for (std::uint32_t i = 0; i < count_ && done < out.size(); ++i) {
      const phase& x = phases_[i];
      if (first >= x.steps) {
        first -= x.steps;
        continue;
      }
      for (std::uint32_t round = 0; done < out.size();) {
        const rounds same = rounds_from(x, round);
        if (same.lanes == 0) break;
        const std::uint32_t steps = (same.end - round) * same.lanes;
        if (first < steps) {
          const std::size_t left = steps - first, room = out.size() - done, count = left < room ? left : room;
          write_rounds(x, round, same.lanes, out.subspan(done, count), first, form);
          done += count;
          first = 0;
        } else {
          first -= steps;
        }
        round = same.end;
      }
    }
    return done;
  }

  /// Precondition: step < size().
  [[nodiscard]] constexpr action at(std::uint32_t step) const noexcept {
    action one[1];
    fill(std::span<action>(one), step, as_it_is{});
    return one[0];
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
          const std::uint32_t all = x.lanes[k].rounds;
          step += all < turn ? all : turn;
          if (k < l && all > turn) ++step;
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
        const rounds same = rounds_from(x, round);
        if (same.lanes == 0) break;
        std::int64_t gain = 0, high = 0;
        for (std::uint32_t l = 0; l < x.width; ++l) {
          if (x.lanes[l].rounds <= round) continue;
          if (x.lanes[l].kind == action_kind::forward) ++gain;
          if (ends_activation(x.lanes[l].kind)) --gain;
          if (gain > high) high = gain;
        }
        const std::int64_t turns = same.end - round;
        const std::int64_t top = held + high + (gain > 0 ? (turns - 1) * gain : 0);
        if (top > most) most = top;
        held += turns * gain;
        round = same.end;
      }
    }
    return static_cast<std::uint32_t>(most);
  }

  /// Whether every lane's rounds fit its phase, and the sizes add up; for tests.
  [[nodiscard]] constexpr bool check_invariants() const noexcept {
    std::uint32_t total = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      std::uint32_t steps = 0;
      for (std::uint32_t l = 0; l < phases_[i].width; ++l) steps += phases_[i].lanes[l].rounds;
      if (steps != phases_[i].steps) return false;
      total += steps;
    }
    return total == size_;
  }

 private:
  /// From a round on, as long as the same lanes are left: how many lanes, and up to which round.
  struct rounds {
    std::uint32_t lanes = 0;
    std::uint32_t end = ~std::uint32_t{0};
  };
  [[nodiscard]] static constexpr rounds rounds_from(const phase& x, std::uint32_t round) noexcept {
    rounds same;
    for (std::uint32_t l = 0; l < x.width; ++l) {
      const std::uint32_t end = x.lanes[l].rounds;
      if (end <= round) continue;
      ++same.lanes;
      if (end < same.end) same.end = end;
    }
    return same;
  }

  phase phases_[max_phases];
  std::uint32_t count_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t limit_ = ~std::uint32_t{0};
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
