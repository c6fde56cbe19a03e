// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/tiling/detail/search.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// The Pareto programme. A state is a prefix of tiles: the units it covers and when each phase becomes free behind it.
/// Of two states with the same units and number of tiles, one whose phases are all free no later makes the other
/// needless, because the makespan of no continuation falls when a phase becomes free later. States that cannot beat the
/// incumbent are dropped too: every phase must still serve the rest, at least at the least total that any tiles of it
/// take.
template <class Phases>
class pareto_search {
  using row = tick_row<Phases>;

 public:
  pareto_search(const grid& axis, clock<Phases>& timer, const exact_options& limits, std::pmr::memory_resource* memory)
      : axis_(axis),
        timer_(timer),
        limits_(limits),
        states_(memory),
        first_(memory),
        inner_(memory),
        last_(memory),
        rest_(memory) {}

  [[nodiscard]] hocket::error why() const noexcept {
    if (steps_ == limits_.steps)
      return hocket::error{errc::limit_exceeded, limits_.steps + 1, limits_.steps}.with("steps of the exact search");
    return hocket::error{errc::limit_exceeded, limits_.states + 1, limits_.states}.with("states of the exact search");
  }

  /// Improves the incumbent to the optimum over tilings whose first and last tile are ragged as said; false if it gave
  /// up.
  bool run(bool first_ragged, bool last_ragged, incumbent& best) {
    const auto units = static_cast<std::size_t>(axis_.units);
    first_ragged_ = first_ragged;
    last_ragged_ = last_ragged;
    prepare();
    states_.clear();
    // now[u]: the states that cover u units with the current number of tiles.
    fronts now(units, states_.get_allocator()), next(units, states_.get_allocator());
    for (std::size_t u = 1; u < units; ++u)
      if (!extend(no_state, u, first_, u, now, best)) return false;
    for (std::int64_t tiles = 2; tiles <= axis_.max_tiles; ++tiles) {
      for (auto& front : next) front.clear();
      for (std::size_t u = 1; u < units; ++u) {
        for (const std::uint32_t id : now[u]) {
          complete(id, units - u, best);
          if (tiles < axis_.max_tiles && !extend_by_all(id, u, next, best)) return false;
        }
      }
      now.swap(next);
    }
    return true;
  }

 private:
  static constexpr std::uint32_t no_state = 0xffffffffu;
  static constexpr ticks never = -1;  // in place of a time: this length is not allowed
  static constexpr ticks unset = ticks{1} << 61;
  struct state {
    row done;
    std::uint32_t before;
    std::uint32_t units;
  };
  using fronts = std::pmr::vector<std::pmr::vector<std::uint32_t>>;

  [[nodiscard]] static bool usable(const row& t) noexcept { return t[0] != never; }
  /// Counted before it is done, so that the search does exactly as much as it may.
  [[nodiscard]] bool step() noexcept {
    if (steps_ == limits_.steps) return false;
    ++steps_;
    return true;
  }
  /// Whatever follows b can follow a too, and ends no later.
  [[nodiscard]] bool no_later(const state& a, const state& b) const noexcept {
    for (std::size_t q = 0; q < timer_.phases(); ++q)
      if (a.done[q] > b.done[q]) return false;
    if (axis_.shorter == short_end::first) return a.units <= b.units;
    if (axis_.shorter == short_end::last) return a.units >= b.units;
    return true;
  }
  /// Whether every phase serving the rest at its least total is too late. An equal time may still have fewer tiles.
  [[nodiscard]] bool is_hopeless(const row& done, const incumbent& best, std::size_t covered) const noexcept {
    const row& rest = rest_[static_cast<std::size_t>(axis_.units) - covered];
    for (std::size_t q = 0; q < timer_.phases(); ++q)
      if (done[q] + rest[q] > best.time) return true;
    return false;
  }

  void prepare() {
    const auto units = static_cast<std::size_t>(axis_.units);
    const std::size_t phases = timer_.phases();
    measure(first_, first_ragged_);
    measure(inner_, false);
    measure(last_, last_ragged_);
    // rest_[u][q]: the least total time of phase q over the last u units, in any number of tiles.
    rest_.assign(units, row{});
    row behind{};  // behind phase q, the last tile still passes the later phases
    behind.fill(unset);
    for (std::size_t u = 1; u < units; ++u) {
      rest_[u].fill(unset);
      if (usable(last_[u])) {
        ticks later = 0;
        for (std::size_t q = phases; q-- > 0;) {
          rest_[u][q] = last_[u][q];
          behind[q] = lesser(behind[q], later);
          later += last_[u][q];
        }
      }
      for (std::size_t more = 1; more < u; ++more)
        if (usable(inner_[more]))
          for (std::size_t q = 0; q < phases; ++q)
            rest_[u][q] = lesser(rest_[u][q], rest_[u - more][q] + inner_[more][q]);
    }
    for (row& each : rest_)
      for (std::size_t q = 0; q < phases; ++q) each[q] = lesser(unset, each[q] + behind[q]);
  }

  void measure(std::pmr::vector<row>& times, bool ragged) {
    const auto units = static_cast<std::size_t>(axis_.units);
    times.assign(units, row{never});
    for (std::size_t u = 1; u < units; ++u) {
      const std::int64_t rows = axis_.length(static_cast<std::int64_t>(u), ragged);
      if (rows >= axis_.least) times[u] = timer_.times(rows, true);
    }
  }

  /// One more tile of `more` units behind state `id`, so that `covered` are; false if a limit is reached.
  bool extend(std::uint32_t id, std::size_t more, const std::pmr::vector<row>& times, std::size_t covered, fronts& out,
              const incumbent& best) {
    if (!step()) return false;
    if (!usable(times[more])) return true;
    state s{id == no_state ? timer_.start() : states_[id].done, id, static_cast<std::uint32_t>(more)};
    timer_.pass(s.done, times[more]);
    return is_hopeless(s.done, best, covered) || keep(out[covered], s);
  }
  bool extend_by_all(std::uint32_t id, std::size_t covered, fronts& out, const incumbent& best) {
    const std::size_t before = states_[id].units, left = static_cast<std::size_t>(axis_.units) - covered - 1;
    const std::size_t most = axis_.shorter == short_end::last && before < left ? before : left;
    for (std::size_t more = axis_.shorter == short_end::first ? before : 1; more <= most; ++more)
      if (!extend(id, more, inner_, covered + more, out, best)) return false;
    return true;
  }

  /// Adds a state unless it is dominated, and removes those it dominates. False if a limit is reached.
  bool keep(std::pmr::vector<std::uint32_t>& front, const state& s) {
    for (const std::uint32_t id : front) {
      if (!step()) return false;
      if (no_later(states_[id], s)) return true;
    }
    if (static_cast<std::int64_t>(states_.size()) >= limits_.states) return false;
    std::size_t kept = 0;
    for (const std::uint32_t id : front)
      if (!no_later(s, states_[id])) front[kept++] = id;
    front.resize(kept);
    front.push_back(static_cast<std::uint32_t>(states_.size()));
    states_.push_back(s);
    return true;
  }

  /// The last tile takes all that is left.
  void complete(std::uint32_t id, std::size_t left, incumbent& best) {
    if (!usable(last_[left])) return;
    if (axis_.shorter == short_end::first && left < states_[id].units) return;
    if (axis_.shorter == short_end::last && left > states_[id].units) return;
    row done = states_[id].done;
    timer_.pass(done, last_[left]);
    const ticks time = done[timer_.phases() - 1];
    if (time > best.time) return;
    tile_list tiles;
    tiles.push(axis_.length(static_cast<std::int64_t>(left), last_ragged_));
    for (std::uint32_t at = id; at != no_state; at = states_[at].before)
      tiles.push(axis_.length(states_[at].units, first_ragged_ && states_[at].before == no_state));
    tiles.reverse();
    best.offer(time, tiles);
  }

  const grid axis_;
  clock<Phases>& timer_;
  exact_options limits_;
  std::pmr::vector<state> states_;
  std::pmr::vector<row> first_, inner_, last_, rest_;
  std::int64_t steps_ = 0;
  bool first_ragged_ = false, last_ragged_ = false;
};

/// The optimum, proved: no tiling that the problem allows is faster under its costs, whatever their form. For tests,
/// for offline tables and to learn how far a fast policy is off; its lower bound is its makespan. Starts from what the
/// other policies find. Restricted formats are tried one by one. Ties go to fewer tiles.
/// @param memory  for the states; throws what it throws when it runs out, having changed nothing
/// Errors: as `check`; errc::bad_cost; errc::limit_exceeded if a limit is reached before the proof is complete, after
/// exactly as many steps as were allowed; errc::out_of_range under contention by rate, where the order of states
/// that the proof needs does not exist.
/// Complexity: O(max_tiles * units^2 * front), where fronts are short in practice: a millisecond or so at 256 units.
template <class Phases>
result<plan> exact(const problem<Phases>& p, const exact_options& limits, std::pmr::memory_resource* memory) {
  if (auto sound = check(p); !sound) return sound.error();
  if (p.slowdown != contention::fixed)
    return error{errc::out_of_range, static_cast<std::int64_t>(p.slowdown), 0, 0}.with(
        "exact search: contention (0 is fixed)");
  const grid axis(p.axis);
  if (axis.units > limits.units) return error{errc::limit_exceeded, axis.units, limits.units}.with("units of the axis");
  clock<Phases> timer(p);
  timer.remember(axis.align, axis.units);
  incumbent best(axis, timer);
  count_bounds<Phases> bounds(axis, timer);
  offer_uniform(axis, timer, bounds, best);
  search(policy::automatic, axis, timer, bounds, unlimited, best);
  if (p.axis.format == tile_format::one_plus_n) offer_one_plus_n(axis, timer, bounds, best, axis.units);
  if (p.axis.format == tile_format::two_runs) offer_every_two_runs(axis, timer, best, axis.units);
  if (timer.failed()) return timer.error();
  bool complete = true;
  pareto_search<Phases> search(axis, timer, limits, memory);
  if (p.axis.format == tile_format::any) {
    axis.for_each_end([&](bool first_ragged, bool last_ragged) {
      complete = complete && search.run(first_ragged, last_ragged, best);
    });
  }
  if (timer.failed()) return timer.error();
  if (!complete) return search.why();
  auto out = finish(p, timer, best.tiles.span(), policy::exact, bounds.lower());
  if (!out) return out;
  out->lower_bound = out->predicted;
  out->bound = bound_kind::proved;
  out->flags.set(flag::optimal);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
