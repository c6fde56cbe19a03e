// SPDX-License-Identifier: Apache-2.0
// The fast search: two phases whose curves know a line below them. It prices whole numbers of tiles by the lines alone
// and evaluates the curves only where the optimum can be.
#pragma once
#include <hocket/tiling/detail/candidates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hocket::inline HOCKET_ABI::tiling::detail {

template <class Phases>
inline constexpr bool phases_have_lines =
    curve::bounded_curve<decltype(std::declval<typename Phases::value_type>().cost)>;
template <class... Curves>
inline constexpr bool phases_have_lines<std::tuple<phase<Curves>...>> =
    sizeof...(Curves) == 2 && (curve::bounded_curve<Curves> && ...);

/// Tiles as runs of equal ones: short to copy, written out once at the end. Nothing is set before it is used: clearing
/// buffers would take as long as a search.
class run_list {
 public:
  static constexpr std::size_t capacity = 40;

  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr tile_run operator[](std::size_t i) const noexcept { return {rows_[i], counts_[i]}; }
  constexpr void clear() noexcept { count_ = 0, tiles_ = 0; }
  constexpr void add(std::int64_t rows, std::int64_t n) noexcept {
    if (n == 0) return;
    tiles_ += n;
    if (count_ > 0 && rows_[count_ - 1] == rows) counts_[count_ - 1] += n;
    else rows_[count_] = rows, counts_[count_] = n, ++count_;
  }
  constexpr void copy(const run_list& other) noexcept {
    count_ = other.count_, tiles_ = other.tiles_;
    for (std::size_t i = 0; i < count_; ++i) rows_[i] = other.rows_[i], counts_[i] = other.counts_[i];
  }
  /// Fewer tiles, then lexicographically smaller lengths.
  [[nodiscard]] constexpr bool comes_before(const run_list& other) const noexcept {
    if (tiles_ != other.tiles_) return tiles_ < other.tiles_;
    std::size_t i = 0, j = 0;
    std::int64_t used_i = 0, used_j = 0;
    while (i < count_ && j < other.count_) {
      if (rows_[i] != other.rows_[j]) return rows_[i] < other.rows_[j];
      const std::int64_t left_i = counts_[i] - used_i, left_j = other.counts_[j] - used_j;
      const std::int64_t step = left_i < left_j ? left_i : left_j;
      used_i += step, used_j += step;
      if (used_i == counts_[i]) ++i, used_i = 0;
      if (used_j == other.counts_[j]) ++j, used_j = 0;
    }
    return false;
  }

 private:
  std::array<std::int64_t, capacity> rows_, counts_;
  std::size_t count_ = 0;
  std::int64_t tiles_ = 0;
};

/// Times of one tile in the two phases; not set by itself.
struct duo {
  ticks c, t;
};

template <class Phases>
class two_phase {
 public:
  constexpr two_phase(const problem<Phases>& p, const grid& axis, clock<Phases>& timer) noexcept
      : problem_(&p), axis_(&axis), timer_(&timer), least_(static_cast<double>(axis.least)) {
    const auto rows = static_cast<double>(axis.rows);
    for_each_phase(p.phases, [&](std::size_t i, const auto& each) {
      if constexpr (curve::bounded_curve<decltype(each.cost)>) {
        curve::line f = each.cost.affine_form(curve::interval{least_, rows});
        if (!(f.per_size >= 0)) f.per_size = 0;  // a curve that falls, or not a number: then the line is not believed
        line_[i] = {f.fixed * each.overlap, f.per_size * each.overlap};
      }
      ready_us_[i] = each.ready.count();
    });
    ready_ = {timer.start()[0], timer.start()[1]};
    serial_ = timer.uncut(axis.rows);
    time_ = serial_;
    best_.add(axis.rows, 1);
    std::size_t slots = 16;
    while (slots < keys_.size() && static_cast<std::int64_t>(slots) <= axis.units) slots *= 2;
    mask_ = slots - 1;
    for (std::size_t i = 0; i < slots; ++i) keys_[i] = 0;
    bound_all();
  }

  [[nodiscard]] constexpr ticks time() const noexcept { return time_; }
  [[nodiscard]] constexpr ticks serial() const noexcept { return serial_; }
  [[nodiscard]] constexpr ticks lower_bound() const noexcept { return bound_; }
  [[nodiscard]] constexpr const run_list& best() const noexcept { return best_; }

  /// Nothing with two tiles or more can be as fast as what is known.
  [[nodiscard]] constexpr bool is_settled() const noexcept { return bound_ >= time_; }

  /// Every number of equal tiles that could be better. Exact: what is left out is slower by its bound.
  constexpr void equal_tiles() noexcept {
    const auto rows = static_cast<double>(axis_->rows), unit = static_cast<double>(axis_->align);
    axis_->for_each_end([&](bool first, bool last) {
      for (std::int64_t k = 2; k <= worth_; ++k) {
        if (bounds_[static_cast<std::size_t>(k)] > time_) continue;
        const auto n = static_cast<double>(k);
        const std::int64_t least_units = axis_->units / k;
        double shortest = static_cast<double>(least_units) * unit - static_cast<double>(axis_->shortage);
        if (shortest < least_) shortest = least_;
        const double a = line_[0](shortest) + n * line_[1].fixed + line_[1].per_size * rows;
        const double b = line_[1](shortest) + n * line_[0].fixed + line_[0].per_size * rows;
        if (floor_ticks(ready_us_[0] + (a < b ? b : a), k) > time_) continue;
        const std::int64_t each = axis_->units / k, longer = axis_->units % k;
        if (axis_->format == tile_format::one_plus_n && longer > 1 && k - longer > 1) continue;
        if (axis_->shortage == 0) {  // curves with lines do not fall: no tile takes less than one of `each` units
          const duo x = at(each);
          if (x.c + k * x.t > time_ || k * x.c + x.t > time_) continue;
        }
        if (longer == 0) {
          two_runs(each, 1, each, k - 1, first, last);
        } else {
          two_runs(each + 1, longer, each, k - longer, first, last);
          two_runs(each, k - longer, each + 1, longer, first, last);
        }
      }
    });
  }

  /// One tile and n equal ones, either order, around the crossing of the longest paths; downhill from there.
  constexpr void one_and_equal() noexcept {
    const bool comm_bound = line_[0].per_size <= line_[1].per_size;  // then the single tile is best first
    axis_->for_each_end([&](bool first, bool last) {
      for (const std::int64_t side : {-1, 1}) {  // outwards from the least bound
        int idle = 0;
        for (std::int64_t k = side < 0 ? likely_ : likely_ + 1; k >= 2 && k <= worth_ && idle < (side < 0 ? 2 : 1);
             k += side) {
          if (bounds_[static_cast<std::size_t>(k)] > time_) break;
          const ticks before = time_;
          one_and(k - 1, comm_bound, first, last);
          one_and(k - 1, !comm_bound, first, last);
          idle = time_ < before ? 0 : idle + 1;
        }
      }
    });
  }

  /// Tiles whose lengths make every path equally long, rounded; units are then moved between the best of them.
  constexpr void lots() noexcept {
    axis_->for_each_end([&](bool first, bool last) {
      lot_time_ = never;
      // On a short axis moving units finds more than further numbers of tiles do, and time is short as well.
      const bool is_short = axis_->units <= 16;
      const int most_idle = is_short ? 1 : 3;
      if (is_short) secant(1, axis_->units / 2);
      for (const std::int64_t side : {-1, 1}) {  // outwards from the least bound
        if (side > 0 && is_short && lot_time_ != never) break;
        int idle = 0;
        for (std::int64_t k = side < 0 ? likely_ : likely_ + 1; k >= 2 && k <= worth_ && idle < most_idle; k += side) {
          const ticks known = lot_time_ < time_ ? lot_time_ : time_;
          if (bounds_[static_cast<std::size_t>(k)] >= known - known / (is_short ? 256 : 2048)) break;
          const ticks before = lot_time_;
          if (!is_short) secant(axis_->units / (2 * k) > 0 ? axis_->units / (2 * k) : 1, 2 * axis_->units / k);
          balanced(k, first, last);
          idle = lot_time_ < before ? 0 : idle + 1;
        }
      }
      if (lot_time_ != never) descend(first, last);
    });
  }

 private:
  static constexpr std::size_t most_tiles = 32;  // of unequal lengths
  static constexpr ticks never = (std::numeric_limits<ticks>::max)();
  /// No makespan is longer than the longest tile in each of two phases, times the most tiles. A line may promise more,
  /// since a curve is a cost of any size until it is evaluated.
  static constexpr ticks longest_bound = ticks{1} << 61;

  // ---- times -----------------------------------------------------------------------------------------------------

  [[gnu::noinline]] constexpr duo measure(std::int64_t rows) noexcept {
    duo x;
    for_each_phase(problem_->phases, [&](std::size_t i, const auto& each) {
      const double us = static_cast<double>(each.cost.time(static_cast<double>(rows))) * each.overlap;
      (i == 0 ? x.c : x.t) = timer_->to_ticks(us, rows);
    });
    return x;
  }
  /// Each length is evaluated once, as far as the memory reaches.
  [[gnu::always_inline]] constexpr duo at(std::int64_t u) noexcept {
    const std::size_t slot = static_cast<std::size_t>(u) & mask_;
    if (keys_[slot] != u) keys_[slot] = u, memo_[slot] = measure(u * axis_->align);
    return memo_[slot];
  }
  constexpr duo at(std::int64_t u, bool ragged) noexcept { return ragged ? measure(axis_->length(u, true)) : at(u); }

  struct ends {
    ticks c, t;
  };
  static constexpr void pass(ends& d, duo x) noexcept {
    d.c += x.c;
    d.t = (d.c > d.t ? d.c : d.t) + x.t;
  }
  static constexpr void pass(ends& d, duo x, std::int64_t n) noexcept {
    if (n == 0) return;
    const ticks wait = d.t + n * x.t, early = d.c + x.c + n * x.t, late = d.c + n * x.c + x.t;
    d.c += n * x.c;
    d.t = wait > early ? wait : early;
    if (late > d.t) d.t = late;
  }

  // ---- bounds ----------------------------------------------------------------------------------------------------

  /// A bound from real numbers as ticks that is still one after rounding: of the reals, and of each tile's time.
  [[nodiscard]] static constexpr ticks floor_ticks(double us, std::int64_t k) noexcept {
    const double t = us * static_cast<double>(ticks_per_us) * (1 - 1e-12) - static_cast<double>(k + 2);
    if (t >= static_cast<double>(longest_bound)) return longest_bound;
    return t > 0 ? static_cast<ticks>(t) : 0;
  }

  /// bounds_[k]: no k tiles take less. Weigh the k paths that cross from the first phase to the second at tile j with
  /// w_j, w_(j+1) = w_j c1/t1, sum 1. In the weighted sum of the path lengths every tile's length then has the same
  /// factor c1 + t1 w_1, so the sum depends on the total length alone, and the longest path is at least as long.
  constexpr void bound_all() noexcept {
    const auto rows = static_cast<double>(axis_->rows);
    const auto [c0, c1] = line_[0];
    const auto [t0, t1] = line_[1];
    const double r = t1 > 0 ? c1 / t1 : 0;
    const double head = c0 + c1 * least_, tail = t0 + t1 * least_;
    double power = 1, sum = 1, weighted = 1;
    bound_ = serial_;
    worth_ = 1;
    const double limit = static_cast<double>(serial_) / static_cast<double>(ticks_per_us);
    for (std::int64_t k = 2; k <= axis_->max_tiles; ++k) {
      const auto n = static_cast<double>(k);
      const double all_c = n * c0 + c1 * rows, all_t = n * t0 + t1 * rows;
      double us = head + all_t;
      if (all_c + tail > us) us = all_c + tail;
      power *= r;
      sum += power, weighted += n * power;
      if (sum < 1e100 && t1 > 0) {
        const double share = 1 / sum, middle = weighted * share;
        const double even = (c1 + t1 * share) * rows + c0 * middle + t0 * (n + 1 - middle);
        if (even > us) us = even;
      }
      us += ready_us_[0];
      if (ready_us_[1] + all_t > us) us = ready_us_[1] + all_t;
      const ticks b = floor_ticks(us, k);
      bounds_[static_cast<std::size_t>(k)] = b;
      worth_ = k;
      if (b < bound_) bound_ = b, likely_ = k;
      if (c0 >= 0 && t0 >= 0 && ((all_c > limit * (1 + 1e-9)) || (all_t > limit * (1 + 1e-9)))) {
        worth_ = k - 1;  // a further tile only adds
        break;
      }
    }
  }
  // ---- offers ----------------------------------------------------------------------------------------------------

  constexpr void offer(ticks t, const run_list& runs) noexcept {
    if (t > time_ || (t == time_ && !runs.comes_before(best_))) return;
    time_ = t;
    best_.copy(runs);
  }

  /// count_a tiles of a units, then count_b of b; both at least 1. Returns their time, or never if one is too short.
  constexpr ticks two_runs(std::int64_t a, std::int64_t count_a, std::int64_t b, std::int64_t count_b, bool first,
                           bool last) noexcept {
    if (axis_->length(a, first) < axis_->least || axis_->length(b, last) < axis_->least) return never;
    if ((a < b ? a : b) * axis_->align < axis_->least) return never;
    const std::int64_t head = first ? 1 : 0, tail = last ? 1 : 0;
    ends d = ready_;
    if (first) pass(d, at(a, true));
    if (count_a > head) pass(d, at(a), count_a - head);
    if (count_b > tail) pass(d, at(b), count_b - tail);
    if (last) pass(d, at(b, true));
    if (d.t <= time_) {
      run_list runs;
      runs.add(axis_->length(a, first), head), runs.add(axis_->length(a, false), count_a - head);
      runs.add(axis_->length(b, false), count_b - tail), runs.add(axis_->length(b, last), tail);
      offer(d.t, runs);
    }
    return d.t;
  }

  constexpr void one_and(std::int64_t n, bool single_first, bool first, bool last) noexcept {
    const std::int64_t most = (axis_->units - 1) / n;
    if (most < 1) return;
    // The longest path by the lines is the largest of three functions of b, the length of the equal tiles: p + q b.
    const auto rows = static_cast<double>(axis_->rows), count = static_cast<double>(n);
    const double unit = static_cast<double>(axis_->align);
    const curve::line one = line_[single_first ? 0 : 1];    // the phase that the single tile passes alone
    const curve::line other = line_[single_first ? 1 : 0];  // by reversal the other order has the same form
    const double base = one.fixed + one.per_size * rows, slope = -count * one.per_size;
    const curve::line falling{base + other.fixed * (count + 1) + other.per_size * rows, slope};
    const curve::line middle{base + one.fixed + count * other.fixed, slope + one.per_size + count * other.per_size};
    const curve::line rising{base + count * one.fixed + other.fixed, other.per_size};
    const auto longest = [&](double b) {
      const double x = falling(b), y = middle(b), z = rising(b);
      return x > y ? (x > z ? x : z) : (y > z ? y : z);
    };
    // The least of it: where `falling`, which has the least slope, is caught up; on along `middle` if that falls too.
    const auto crossing = [&](const curve::line& f, const curve::line& g) {
      const double steeper = g.per_size - f.per_size;
      return steeper > 0 ? (f.fixed - g.fixed) / steeper : rows;
    };
    double at_b = crossing(falling, rising);
    if (const double x = crossing(falling, middle); x < at_b) at_b = middle.per_size < 0 ? crossing(middle, rising) : x;
    if (at_b > rows / count) at_b = rows / count;
    if (!(at_b > least_)) at_b = least_;
    const bool is_whole = axis_->shortage == 0;  // a ragged tile is not equal
    if (is_whole && floor_ticks(ready_us_[0] + longest(at_b), n + 1) > time_) return;
    // The longest path is convex in b: where it is too long for one b, it is for every b beyond.
    const auto attempt = [&](std::int64_t b) {
      if (b < 1 || b > most) return never;
      if (is_whole && floor_ticks(ready_us_[0] + longest(static_cast<double>(b) * unit), n + 1) > time_) return never;
      const std::int64_t a = axis_->units - n * b;
      return single_first ? two_runs(a, 1, b, n, first, last) : two_runs(b, n, a, 1, first, last);
    };
    const double units = at_b / unit;
    std::int64_t b = units < static_cast<double>(most) ? static_cast<std::int64_t>(units + 0.5) : most;
    if (b < 1) b = 1;
    ticks now = attempt(b);
    if (now - now / 12 > time_) return;  // so far behind, neighbours do not catch up
    const ticks up = attempt(b + 1), down = attempt(b - 1);
    const std::int64_t side = up <= down ? 1 : -1;
    for (ticks next = up <= down ? up : down; next < now; next = attempt(b + side)) now = next, b += side;
  }

  // ---- lots ------------------------------------------------------------------------------------------------------

  /// The length whose c is the t of a length x is about ratio_ x + shift_: by the lines through the curves at two
  /// lengths.
  constexpr void secant(std::int64_t low, std::int64_t high) noexcept {
    if (high >= axis_->units) high = axis_->units - 1;
    ratio_ = 1, shift_ = 0;
    if (high <= low) return;
    const duo a = at(low), b = at(high);
    const double c1 = b.c > a.c ? static_cast<double>(b.c - a.c) : 1,
                 t1 = b.t > a.t ? static_cast<double>(b.t - a.t) : 1;
    ratio_ = t1 / c1;
    shift_ =
        static_cast<double>(a.t - a.c) / c1 * static_cast<double>(high - low) - (ratio_ - 1) * static_cast<double>(low);
  }

  /// k tiles with c(v_(i+1)) = t(v_i), so that neither phase waits; v_1 follows from the sum, and the ends of the tiles
  /// are rounded.
  constexpr void balanced(std::int64_t k, bool first_ragged, bool last_ragged) noexcept {
    if (k > static_cast<std::int64_t>(most_tiles)) k = static_cast<std::int64_t>(most_tiles);
    const std::int64_t fewest = axis_->fewest(false);
    const double ratio = ratio_, shift = shift_;
    double factor = 1, offset = 0, factors = 0, offsets = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      factors += factor, offsets += offset;
      factor *= ratio, offset = offset * ratio + shift;
    }
    const auto units = static_cast<double>(axis_->units), floor = static_cast<double>(fewest);
    double length = (units - offsets) / factors, later = 0, stretch = 1;
    if (!(length > floor)) {  // the first tile is as short as may be, and the others share the rest in proportion
      length = floor;
      double next = floor;
      for (std::int64_t i = 1; i < k; ++i) {
        next = next * ratio + shift;
        if (!(next > floor)) next = floor;
        later += next;
      }
      stretch = (units - floor) / later;
    }
    double end = 0, share = 1;
    std::int64_t used = 0;
    std::size_t count = 0;
    ends d = ready_;
    for (std::int64_t i = 0; i < k && used < axis_->units; ++i) {
      end += length * share;
      share = stretch;
      std::int64_t to = i + 1 == k || !(end < units) ? axis_->units : static_cast<std::int64_t>(end + 0.5);
      if (to - used < fewest) to = used + fewest;
      if (axis_->units - to < fewest) to = axis_->units;
      const bool ragged = (used == 0 && first_ragged) || (to == axis_->units && last_ragged);
      if (axis_->length(to - used, ragged) < axis_->least || (used == 0 && to == axis_->units)) return;
      pass(d, at(to - used, ragged));
      trial_[count++] = to - used;
      used = to;
      length = length * ratio + shift;
      if (!(length > floor)) length = floor;
    }
    if (d.t >= lot_time_) return;
    lot_time_ = d.t;
    lot_count_ = count;
    for (std::size_t i = 0; i < count; ++i) lot_[i] = trial_[i];
  }

  /// Moves units between the tiles of the best lot while that helps: off the tile at which the longest path crosses,
  /// and between the ends.
  constexpr void descend(bool first_ragged, bool last_ragged) noexcept {
    const std::size_t count = lot_count_;
    std::array<duo, most_tiles + 1> times;
    const auto ragged = [&](std::size_t i) { return (i == 0 && first_ragged) || (i + 1 == count && last_ragged); };
    for (std::size_t i = 0; i < count; ++i) times[i] = at(lot_[i], ragged(i));
    std::size_t crossing = 0;
    const auto makespan = [&](ticks above) {
      ends d = ready_;
      std::size_t cross = 0;
      for (std::size_t i = 0; i < count; ++i) {
        d.c += times[i].c;
        if (d.c >= d.t) d.t = d.c, cross = i;
        d.t += times[i].t;
        if (d.t >= above) return above;
      }
      crossing = cross;
      return d.t;
    };
    ticks now = makespan(never);
    const auto move = [&](std::size_t from, std::size_t to, std::int64_t step) {
      if (from == to || axis_->length(lot_[from] - step, ragged(from)) < axis_->least) return false;
      const duo old_from = times[from], old_to = times[to];
      times[from] = at(lot_[from] - step, ragged(from)), times[to] = at(lot_[to] + step, ragged(to));
      const ticks t = makespan(now);
      if (t < now) {
        now = t;
        lot_[from] -= step, lot_[to] += step;
        return true;
      }
      times[from] = old_from, times[to] = old_to;
      return false;
    };
    const int rounds = axis_->units <= 16 ? 8 : 24;
    const ticks enough = bound_ + bound_ / (axis_->units <= 16 ? 256 : 1024);
    std::int64_t step = axis_->units >= 64 ? axis_->units / 64 : axis_->units >= 16 ? 2 : 1;
    for (int round = 0; round < rounds && now > enough; ++round) {
      bool moved = false;
      const std::size_t from = crossing;
      for (std::size_t to = 0; to < count && !moved; ++to) moved = move(from, to, step);
      if (!moved) moved = move(count - 1, 0, step);
      if (!moved) moved = move(0, count - 1, step);
      if (moved) continue;
      if (step == 1) break;
      step = step >= 4 ? step / 4 : 1;
    }
    lot_time_ = now;
    if (now > time_) return;
    run_list runs;
    for (std::size_t i = 0; i < count; ++i) runs.add(axis_->length(lot_[i], ragged(i)), 1);
    offer(now, runs);
  }

  const problem<Phases>* problem_;
  const grid* axis_;
  clock<Phases>* timer_;
  double least_;
  curve::line line_[2];
  double ready_us_[2]{};
  ends ready_{};
  ticks serial_ = 0, time_ = 0, bound_ = 0;
  std::int64_t worth_ = 1, likely_ = 2;  // the most tiles that can pay, and the number with the least bound
  run_list best_;
  double ratio_ = 1, shift_ = 0;
  ticks lot_time_ = 0;
  std::size_t lot_count_ = 0;
  std::array<std::int64_t, most_tiles + 1> lot_, trial_;
  std::size_t mask_ = 0;
  std::array<std::int64_t, 128> keys_;
  std::array<duo, 128> memo_;
  std::array<ticks, tile_capacity + 1> bounds_;
};

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
