// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/pipeline/facts.hpp>
#include <hocket/pipeline/rank_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Actions that follow each other in an order: `length` of them, each `stride` in bits after the one before.
template <class Action>
struct action_run {
  Action first;
  decltype(Action().bits()) stride = Action::next_micro_batch;
  std::uint32_t length = ~std::uint32_t{0};
};

/// A list that is a few phases, each the same short bar again and again. A lane of a phase is the actions of one kind
/// (and chunk) with the indices first, first + stride, …, one in each round, `rounds` times. What the index-th action
/// is says the schedule: a micro-batch, or a place in an order of its own. All closed-form schedules are lists of this
/// form with at most twelve phases, so that every question about a step is answered in O(1). Rounds of a phase need not
/// be equally long: a lane whose rounds are over, or have not begun, is left out.
///
///     F0 F1 | F2 B0 F3 B1 F4 B2 | B3 B4        three phases, of 1, 2 and 1 lanes
///
/// | invariant                                                        |
/// |------------------------------------------------------------------|
/// | the lanes of a phase stand side by side, each with >= 1 stride   |
/// | steps of a phase = its lanes' rounds together; size() = their sum|
class phase_list {
 public:
  struct lane {
    action_kind kind = action_kind::idle;
    std::uint8_t chunk = 0;
    std::uint32_t first = 0;  ///< index of its first round
    bool joined = false;      ///< runs beside the next lane
    std::uint8_t stride = 1;
    std::uint32_t begin = 0;   ///< its first round; set by add, as the next
    std::uint32_t rounds = 0;  ///< one behind its last; == begin: it has none

    [[nodiscard]] constexpr bool has(std::uint32_t round) const noexcept { return round >= begin && round < rounds; }
  };
  /// An action as a lane has it; kind idle for what is in no list.
  struct place {
    action_kind kind = action_kind::idle;
    std::uint32_t chunk = 0;
    std::uint32_t index = 0;
  };

  constexpr phase_list() noexcept = default;
  /// A list without some of its actions, in all phases, whose strides are 1.
  /// @param limit  how many indices are left  @param skipped  how many before them are left out; the rest counts from 0
  constexpr explicit phase_list(std::uint32_t limit, std::uint32_t skipped = 0) noexcept
      : skipped_(skipped), limit_(limit) {}

  /// Appends `steps` steps that go through `bar` in turn; the last round may end early.
  template <std::uint32_t Width>
  constexpr void add(std::uint32_t steps, const lane (&bar)[Width]) noexcept {
    if (steps == 0) return;
    HOCKET_ASSERT(count_ < max_phases && lane_count_ + Width <= max_lanes);
    phase& x = phases_[count_++];
    x.begin = lane_count_;
    for (std::uint32_t l = 0; l < Width; ++l) {
      lane& y = lanes_[lane_count_++];
      y = bar[l];
      const std::uint32_t turns = steps / Width + (l < steps % Width ? 1 : 0);
      const std::uint32_t begin = y.first < skipped_ ? skipped_ - y.first : 0;
      y.first -= skipped_;  // below 0 it wraps, and its first round, which is later, wraps back
      const std::uint32_t most = begin > 0 ? begin + limit_ : y.first < limit_ ? limit_ - y.first : 0;
      y.rounds = (std::min)(most, turns);
      y.begin = (std::min)(begin, y.rounds);
      x.steps += y.rounds - y.begin;
    }
    x.end = lane_count_;
    size_ += x.steps;
  }

  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return size_; }

  /// Writes the steps from `first` on, as many as fit and are left; returns how many.
  /// @param run_from  action_run of run_from(lane, index): the index-th action of a lane, and those that follow it
  template <class Action, class RunFrom>
  constexpr std::size_t fill(std::span<Action> out, std::uint32_t first, const RunFrom& run_from) const noexcept {
    std::size_t done = 0;
    for (std::uint32_t i = 0; i < count_ && done < out.size(); ++i) {
      const phase& x = phases_[i];
      if (first >= x.steps) {
        first -= x.steps;
        continue;
      }
      for (std::uint32_t round = 0; done < out.size();) {
        const rounds same = rounds_from(x, round);
        if (same.end == rounds::none) break;
        const std::uint32_t steps = (same.end - round) * same.lanes;
        if (first < steps) {
          const std::size_t count = (std::min)(std::size_t{steps - first}, out.size() - done);
          write_rounds(x, round, same.lanes, out.subspan(done, count), first, run_from);
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

  /// The step that runs an action, or size() if none does.
  [[nodiscard]] constexpr std::uint32_t step_of(const place& a) const noexcept {
    std::uint32_t before = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const phase& x = phases_[i];
      for (std::uint32_t l = x.begin; l < x.end; ++l) {
        const lane& y = lanes_[l];
        const std::uint32_t gap = a.index - y.first, turn = gap / y.stride;  // wraps round below it
        if (y.kind == a.kind && y.chunk == a.chunk && y.has(turn) && turn * y.stride == gap)
          return before + step_inside(x, l, turn);
      }
      before += x.steps;
    }
    return size_;
  }

  /// The steps before the first backward, those after the last forward, and the ones between.
  [[nodiscard]] constexpr step_counts counts() const noexcept {
    std::uint32_t first = size_, last = 0, before = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const phase& x = phases_[i];
      for (std::uint32_t l = x.begin; l < x.end; ++l) {
        const lane& y = lanes_[l];
        if (y.rounds == y.begin) continue;
        if (y.kind == action_kind::forward) last = (std::max)(last, before + step_inside(x, l, y.rounds - 1) + 1);
        else first = (std::min)(first, before + step_inside(x, l, y.begin));
      }
      before += x.steps;
    }
    first = (std::min)(first, last);
    return {first, last - first, size_ - last};
  }

  /// Most forwards whose backward, or weight gradient, has not run, after any step.
  [[nodiscard]] constexpr std::uint32_t peak() const noexcept {
    std::int64_t held = 0, most = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const phase& x = phases_[i];
      for (std::uint32_t round = 0;;) {
        const rounds same = rounds_from(x, round);
        if (same.end == rounds::none) break;
        std::int64_t gain = 0, high = 0;
        for (std::uint32_t l = x.begin; l < x.end; ++l) {
          if (!lanes_[l].has(round)) continue;
          if (lanes_[l].kind == action_kind::forward) ++gain;
          if (ends_activation(lanes_[l].kind)) --gain;
          high = (std::max)(high, gain);
        }
        const std::int64_t turns = same.end - round;
        most = (std::max)(most, held + high + (gain > 0 ? (turns - 1) * gain : 0));
        held += turns * gain;
        round = same.end;
      }
    }
    return static_cast<std::uint32_t>(most);
  }

  /// Whether the table above holds; for tests.
  [[nodiscard]] constexpr bool check_invariants() const noexcept {
    std::uint32_t total = 0, lanes = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (phases_[i].begin != lanes || phases_[i].end <= lanes) return false;
      std::uint32_t steps = 0;
      for (; lanes < phases_[i].end; ++lanes) {
        if (lanes_[lanes].stride < 1 || lanes_[lanes].begin > lanes_[lanes].rounds) return false;
        steps += lanes_[lanes].rounds - lanes_[lanes].begin;
      }
      if (steps != phases_[i].steps) return false;
      total += steps;
    }
    return lanes == lane_count_ && total == size_;
  }

 private:
  static constexpr std::uint32_t max_phases = 12;  // of DualPipe
  static constexpr std::uint32_t max_lanes = 28;   // of DualPipe, all phases together
  struct phase {
    std::uint32_t begin = 0, end = 0;  // of its lanes
    std::uint32_t steps = 0;
  };
  /// From a round on, as long as the same lanes are left: how many lanes, and up to which round.
  struct rounds {
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    std::uint32_t lanes = 0;
    std::uint32_t end = none;  // none: the phase is over
  };

  [[nodiscard]] constexpr rounds rounds_from(const phase& x, std::uint32_t round) const noexcept {
    rounds same;
    for (std::uint32_t l = x.begin; l < x.end; ++l) {
      const lane& y = lanes_[l];
      if (y.rounds <= round) continue;
      if (y.has(round)) ++same.lanes;
      same.end = (std::min)(same.end, y.has(round) ? y.rounds : y.begin);
    }
    return same;
  }
  /// Writes steps of a phase in which the same lanes are left from a round on, without the first `skip` of them.
  template <class Action, class RunFrom>
  constexpr void write_rounds(const phase& x, std::uint32_t round, std::uint32_t lanes, std::span<Action> out,
                              std::uint32_t skip, const RunFrom& run_from) const noexcept {
    const std::uint32_t turn = skip / lanes, first = skip % lanes;
    std::uint32_t k = 0;  // among the lanes that are left
    for (std::uint32_t l = x.begin; l < x.end; ++l) {
      if (!lanes_[l].has(round)) continue;
      const std::uint32_t at = k < first ? k + lanes - first : k - first;
      write_lane(lanes_[l], round + turn + (k < first ? 1 : 0), out, at, lanes, run_from);
      ++k;
    }
  }
  /// Writes out[at], out[at + lanes], … up to the end.
  template <class Action, class RunFrom>
  static constexpr void write_lane(const lane& y, std::uint32_t turn, std::span<Action> out, std::size_t at,
                                   std::uint32_t lanes, const RunFrom& run_from) noexcept {
    const std::uint32_t stride = y.stride;  // copies, which nothing that is written can alias
    while (at < out.size()) {
      const action_run<Action> run = run_from(y, y.first + turn * stride);
      const std::size_t places = (out.size() - at + lanes - 1) / lanes;
      const std::uint32_t length = stride == 1 ? run.length : (run.length - 1) / stride + 1;
      const auto count = static_cast<std::uint32_t>((std::min)(places, std::size_t{length}));
      const auto step = run.stride * stride;
      auto bits = run.first.bits();
      for (std::uint32_t i = 0; i < count; ++i) {
        out[at] = Action::from_bits(bits);
        at += lanes;
        bits += step;
      }
      turn += count;
    }
  }
  /// The step, from the start of the phase, at which a lane has its turn.
  [[nodiscard]] constexpr std::uint32_t step_inside(const phase& x, std::uint32_t of_lane,
                                                    std::uint32_t turn) const noexcept {
    std::uint32_t step = 0;
    for (std::uint32_t k = x.begin; k < x.end; ++k) {
      const lane& y = lanes_[k];
      step += (std::clamp)(turn, y.begin, y.rounds) - y.begin;
      if (k < of_lane && y.has(turn)) ++step;
    }
    return step;
  }

  lane lanes_[max_lanes];
  phase phases_[max_phases];
  std::uint32_t lane_count_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t skipped_ = 0;
  std::uint32_t limit_ = ~std::uint32_t{0};
};

/// The rhythm of all one-forward-one-backward schedules: `warm_up` of the `count` forwards, then forward and backward
/// in turn, then the backwards that remain. Its counts are so defined, though the first backward comes a step later.
[[nodiscard]] constexpr phase_list alternation(std::uint32_t count, std::uint32_t warm_up) noexcept {
  constexpr auto f = action_kind::forward, b = action_kind::backward;
  phase_list list;
  list.add(warm_up, {{f, 0, 0}});
  list.add(2 * (count - warm_up), {{f, 0, warm_up}, {b, 0, 0}});
  list.add(warm_up, {{b, 0, count - warm_up}});
  return list;
}
[[nodiscard]] constexpr step_counts alternation_counts(std::uint32_t count, std::uint32_t warm_up) noexcept {
  return {warm_up, 2 * (count - warm_up), warm_up};
}

/// What all closed-form schedules have in common. A schedule derives from it, makes it a friend, and says
/// `phases(rank)`, and, where an index is not the micro-batch, `run_from(rank, lane, index)` and `place_of(rank, a)`.
template <class Plan, class Action = action>
class phased {
 public:
  /// Preconditions: rank < ranks(), step < size(rank). O(1).
  [[nodiscard]] constexpr Action at(std::uint32_t rank, std::uint32_t step) const noexcept {
    HOCKET_ASSERT(rank < self().ranks() && step < self().size(rank));
    Action one[1];
    fill(rank, one, step);
    return one[0];
  }
  /// Writes steps from `first` on, as many as fit and are left; returns how many.
  constexpr std::size_t fill(std::uint32_t rank, std::span<Action> out, std::uint32_t first) const noexcept {
    return self().phases(rank).fill(out, first, [&](const phase_list::lane& lane, std::uint32_t index) {
      return self().run_from(rank, lane, index);
    });
  }
  /// The list of one rank. Precondition: rank < ranks().
  [[nodiscard]] constexpr rank_view<Plan> rank(std::uint32_t rank) const noexcept { return {self(), rank}; }
  /// The step at which the rank runs `a` (its joining flag does not matter), or size(rank) if it never does. O(1).
  [[nodiscard]] constexpr std::uint32_t step_of(std::uint32_t rank, Action a) const noexcept {
    return self().phases(rank).step_of(self().place_of(rank, a));
  }
  /// Steps of warm-up, steady state and drain. O(1).
  [[nodiscard]] constexpr step_counts counts(std::uint32_t rank) const noexcept { return self().phases(rank).counts(); }
  /// Activations that the rank holds at most; one is let go with its backward or weight gradient. O(1).
  [[nodiscard]] constexpr std::uint32_t peak_in_flight(std::uint32_t rank) const noexcept {
    return self().phases(rank).peak();
  }
  friend constexpr bool operator==(const phased&, const phased&) = default;

 private:
  friend Plan;
  constexpr phased() noexcept = default;
  [[nodiscard]] constexpr const Plan& self() const noexcept { return static_cast<const Plan&>(*this); }
  [[nodiscard]] static constexpr action_run<action> run_from(std::uint32_t, const phase_list::lane& lane,
                                                             std::uint32_t index) noexcept {
    return {{lane.kind, lane.chunk, index, lane.joined}};
  }
  [[nodiscard]] static constexpr phase_list::place place_of(std::uint32_t, action a) noexcept {
    return {a.kind(), a.chunk(), a.micro_batch()};
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
