// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/split/detail/rank_levels.hpp>
#include <hocket/planner/split/detail/run_graph.hpp>
#include <hocket/planner/split/detail/stage_clock.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Moves the cuts and levels of a plan so that the run of a schedule gets shorter. A move is one of two:
///
/// * a layer from one stage to another, the stages between shift by one: as cut_moves has it. The ranks that change
///   take the levels with the least extra time;
/// * on a rank of several chunks, one chunk computes more or less again, and another what is then needed.
///
/// Moves are drawn from a fixed seed, and taken unless the run is then longer than it was some moves ago (late
/// acceptance). Paths of earlier runs are lower bounds for later ones, so most bad moves are seen without a run.
class run_moves {
 public:
  struct plan {
    std::vector<std::int64_t> cuts;   // empty: none fits
    std::vector<level_point> points;  // by stage
    ticks makespan = never;
  };

  run_moves(const split_numbers& q, segment_fronts& fronts, rank_levels& choose, const stage_clock& clock,
            run_graph& graph)
      : q_(q),
        fronts_(fronts),
        choose_(choose),
        clock_(clock),
        graph_(graph),
        p_(q.ranks.size()),
        v_(q.in_flight.chunks()),
        parts_(v_),
        key_(v_ + 1) {
    stage_of_.resize(p_ * v_);
    for (std::uint32_t s = 0; s < p_ * v_; ++s) stage_of_[q.in_flight.rank_of(s) * v_ + q.in_flight.chunk_of(s)] = s;
  }

  /// Improves a plan from these cuts on; `work` is in actions of runs and stages looked at.
  /// @param bound  stops where the best plan is no longer than that
  void operator()(std::vector<std::int64_t> cuts, std::int64_t work, ticks bound, plan& best) {
    begin(std::move(cuts));
    price cost = price_now(price{never, never});
    keep_if_better(cost, best);
    std::vector<price> before(memory, cost);
    for (std::size_t n = 0; work > 0 && (best.cuts.empty() || best.makespan > bound); ++n) {
      work -= work_of_move + static_cast<std::int64_t>(times_.size());
      if (!draw()) continue;
      price& old = before[n % memory];
      const price limit = (std::max)(old, cost);
      const price next = price_now(limit);
      work -= spent_;
      if (next <= limit) {
        cost = next;
        keep_if_better(cost, best);
      } else {
        undo();
      }
      old = (std::min)(old, cost);
    }
  }
  /// What each stage takes in a plan.
  [[nodiscard]] std::vector<stage_run> times_of(const plan& x) const {
    std::vector<stage_run> times;
    for (std::size_t s = 0; s < x.points.size(); ++s)
      times.push_back(clock_(s, x.cuts[s], x.cuts[s + 1], x.points[s].extra));
    return times;
  }

  /// The times of its stages if each had its rank's room for itself, but for the leanest levels of the others.
  [[nodiscard]] std::vector<stage_run> least_times(const plan& x) {
    std::vector<stage_run> times(x.points.size());
    cuts_ = x.cuts;
    for (std::uint32_t r = 0; r < p_; ++r) {
      set_parts(r);
      std::vector<level_point> leanest;
      for (const segment& part : parts_) leanest.push_back(fronts_.of(part.begin, part.end).back());
      for (std::size_t c = 0; c < v_; ++c) {
        std::vector<level_point> points = leanest;
        (void)choose_.fit_chunk(r, parts_, points, c);
        times[stage_of_[r * v_ + c]] = clock_(stage_of_[r * v_ + c], parts_[c].begin, parts_[c].end, points[c].extra);
      }
    }
    return times;
  }

 private:
  static constexpr std::size_t memory = 1000;   // how many moves ago a plan may have been as bad as it is now
  static constexpr std::size_t max_paths = 16;  // that are remembered
  static constexpr std::int64_t work_of_move = 100;

  struct price {
    std::int64_t lack = 0;
    ticks makespan = 0;
    constexpr auto operator<=>(const price&) const = default;
  };
  /// A rank: the bytes it lacks, or the levels of its chunks.
  struct load {
    std::int64_t lack = 0;
    std::vector<level_point> points;
  };

  void begin(std::vector<std::int64_t> cuts) {
    cuts_ = std::move(cuts);
    points_.assign(stage_of_.size(), {});
    times_.assign(stage_of_.size(), {});
    lacks_.assign(p_, 0);
    for (std::uint32_t r = 0; r < p_; ++r) load_rank(r);
  }
  /// The levels of least extra time for a rank.
  void load_rank(std::uint32_t r) {
    const load& x = load_of(r);
    lacks_[r] = x.lack;
    for (std::size_t c = 0; c < v_; ++c) {
      const std::size_t s = stage_of_[r * v_ + c];
      points_[s] = x.points[c];
      times_[s] = clock_(s, cuts_[s], cuts_[s + 1], points_[s].extra);
    }
  }
  [[nodiscard]] const load& load_of(std::uint32_t r) {
    key_[0] = r;
    set_parts(r);
    for (std::size_t c = 0; c < v_; ++c) key_[c + 1] = fronts_.piece(parts_[c].begin, parts_[c].end);
    const auto known = known_.find(key_);
    if (known != known_.end()) return known->second;
    load x;
    x.lack = (std::max)(std::int64_t{0}, choose_.leanest_bytes(r, parts_) - q_.ranks[r].capacity);
    x.points = x.lack == 0 ? choose_(r, parts_).points : std::vector<level_point>(v_);
    return known_[key_] = std::move(x);
  }
  void set_parts(std::uint32_t r) {
    for (std::size_t c = 0; c < v_; ++c) {
      const std::size_t s = stage_of_[r * v_ + c];
      parts_[c] = {cuts_[s], cuts_[s + 1]};
    }
  }

  /// What the plan costs; if that is above `limit`, some number above it.
  [[nodiscard]] price price_now(const price& limit) {
    price x;
    for (const std::int64_t lack : lacks_) x.lack += lack;
    spent_ = static_cast<std::int64_t>(paths_.size() * times_.size() / 2);
    if (x.lack > 0) return x;
    for (std::size_t k = 0; limit.lack == 0 && k < paths_.size(); ++k) {
      const int128 length = paths_[k].length(times_);
      if (length <= limit.makespan) continue;
      std::swap(paths_[k], paths_[k / 2]);  // those that refuse much come first
      return {0, limit.makespan + 1};
    }
    spent_ += static_cast<std::int64_t>(graph_.actions());
    x.makespan = graph_.makespan(times_);
    if (limit.lack == 0 && x.makespan > limit.makespan) remember_path();
    return x;
  }
  void remember_path() {
    if (paths_.size() < max_paths) paths_.emplace_back();
    graph_.longest_path(paths_.back());
  }
  void keep_if_better(const price& cost, plan& best) {
    if (cost.lack > 0 || (!best.cuts.empty() && cost.makespan >= best.makespan)) return;
    best = {cuts_, points_, cost.makespan};
  }

  /// Draws a move and makes it. False if the plan stays as it is.
  [[nodiscard]] bool draw() {
    if (v_ > 1 && (!q_.split.empty() || random_.below(4) == 0)) return draw_levels();
    const auto inner = static_cast<std::uint32_t>(p_ * v_ - 1);
    if (inner == 0 || !q_.split.empty()) return false;
    const std::size_t one = 1 + random_.below(inner);
    const std::size_t other = random_.below(2) == 0 ? one : 1 + random_.below(inner);
    first_ = (std::min)(one, other);
    last_ = (std::max)(one, other);
    by_ = random_.below(2) == 0 ? 1 : -1;
    const std::size_t gains = by_ > 0 ? first_ - 1 : last_;
    const std::size_t loses = by_ > 0 ? last_ : first_ - 1;
    if (cuts_[loses + 1] - cuts_[loses] < 2 || cuts_[gains + 1] - cuts_[gains] >= q_.longest) return false;
    save();
    for (std::size_t k = first_; k <= last_; ++k) cuts_[k] += by_;
    for (std::size_t k = first_ - 1; k <= last_; ++k) load_rank(q_.in_flight.rank_of(static_cast<std::uint32_t>(k)));
    return true;
  }
  /// One chunk of a rank takes a neighbouring point of its front, another the cheapest that then fits.
  [[nodiscard]] bool draw_levels() {
    const std::uint32_t r = random_.below(static_cast<std::uint32_t>(p_));
    const std::size_t one = random_.below(static_cast<std::uint32_t>(v_));
    const std::size_t other = (one + 1 + random_.below(static_cast<std::uint32_t>(v_ - 1))) % v_;
    const bool more = random_.below(2) == 0;
    if (lacks_[r] > 0) return false;
    set_parts(r);
    std::vector<level_point>& points = of_rank_;
    points.clear();
    for (std::size_t c = 0; c < v_; ++c) points.push_back(points_[stage_of_[r * v_ + c]]);
    if (!step(parts_[one], more, points[one])) return false;
    if (!choose_.fit_chunk(r, parts_, points, other)) return false;
    save();
    by_ = 0;
    for (const std::size_t c : {one, other}) {
      const std::size_t s = stage_of_[r * v_ + c];
      points_[s] = points[c];
      times_[s] = clock_(s, cuts_[s], cuts_[s + 1], points[c].extra);
    }
    return true;
  }
  /// The next point of the front with more extra time, or less. False if there is none.
  [[nodiscard]] bool step(const segment& x, bool more, level_point& point) {
    const level_front& front = fronts_.of(x.begin, x.end);
    const level_point* at = cheapest(front, point.bytes);
    if (more ? at + 1 == front.data() + front.size() : at == front.data()) return false;
    point = more ? at[1] : at[-1];
    return true;
  }
  void save() {
    saved_points_ = points_;
    saved_times_ = times_;
    saved_lacks_ = lacks_;
  }
  void undo() {
    points_.swap(saved_points_);
    times_.swap(saved_times_);
    lacks_.swap(saved_lacks_);
    for (std::size_t k = first_; by_ != 0 && k <= last_; ++k) cuts_[k] -= by_;
  }

  const split_numbers& q_;
  segment_fronts& fronts_;
  rank_levels& choose_;
  const stage_clock& clock_;
  run_graph& graph_;
  std::size_t p_, v_;
  std::vector<std::size_t> stage_of_;  // by rank and chunk
  std::vector<segment> parts_;
  std::vector<std::uint32_t> key_;
  std::map<std::vector<std::uint32_t>, load> known_;  // by rank and the pieces of its chunks
  std::vector<std::int64_t> cuts_, lacks_, saved_lacks_;
  std::vector<level_point> points_, saved_points_, of_rank_;
  std::vector<stage_run> times_, saved_times_;
  std::vector<run_path> paths_;
  std::size_t first_ = 0, last_ = 0;  // the cuts that the last move shifted
  std::int64_t by_ = 0, spent_ = 0;
  random_numbers random_{1};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
