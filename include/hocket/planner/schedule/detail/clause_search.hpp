// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>
#include <hocket/planner/schedule/detail/activity_heap.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// "This bound is at least so high." Bound 2x of variable x is its least value, bound 2x + 1 the negative of its
/// largest, so all bounds only rise.
struct bound_literal {
  std::uint32_t bound = ~std::uint32_t{0};  // none
  std::int32_t least = 0;
  [[nodiscard]] bool exists() const noexcept { return bound != ~std::uint32_t{0}; }
  [[nodiscard]] bound_literal negated() const noexcept { return {bound ^ 1, 1 - least}; }
};

/// Finds values of whole variables within their bounds, or proves that there are none, by a search that learns from
/// its dead ends: lazy clause generation (O. Ohrimenko, P. J. Stuckey, M. Codish, Propagation via lazy clause
/// generation, Constraints 14, 2009). Every bound that rises knows why; so it is known of a conflict which decisions it
/// rests on, and a clause forbids them together for good. Constraints are distances (a variable is at least another one
/// and so much), sums, clauses, and a rule of the caller's. Variables of two sorts: clauses are made of "words" only,
/// the others follow from these. The search decides on some words and follows the best solution by turns with its own
/// last values; restarts after 100, 100, 200, 100, 100, 200, 400 … conflicts (Luby); forgets half of the clauses when
/// they are many. It knows of a ring of distances that raises a bound for ever, whatever the bounds on the way are.
class clause_search {
 public:
  enum class verdict : std::uint8_t { found, impossible, unknown };
  enum class sort : std::uint8_t { follows, word, decision };  ///< a decision is a word, too
  /// Why a bound rises.
  struct reason {
    enum class from : std::uint8_t { decision, literals, distance, clause, sum };
    from kind = from::decision;
    bound_literal a{}, b{};  // distance: of a lower b a lower bound follows; clause, sum: a.bound is its number
  };

  /// @param most_clauses  beyond so many, half of them are forgotten, and a few more are kept the next time
  explicit clause_search(std::size_t most_clauses = 4000) : most_clauses_(most_clauses) {}

  /// @return the number of a new variable
  std::uint32_t add(std::int32_t least, std::int32_t most, sort of) {
    const auto x = static_cast<std::uint32_t>(sorts_.size());
    bounds_.push_back(least), bounds_.push_back(-most), sorts_.push_back(of);
    last_.resize(bounds_.size(), none), need_.resize(bounds_.size(), unneeded), sum_of_.resize(bounds_.size(), none);
    distances_.resize(bounds_.size()), watches_.resize(bounds_.size());
    wish_.push_back(least), value_.push_back(least);
    heap_.add(of == sort::decision);
    return x;
  }
  /// y >= x + more, for ever.
  void add_distance(std::uint32_t x, std::uint32_t y, std::int32_t more) {
    distances_[lower(x)].push_back({2 * y, more}), distances_[lower(y) + 1].push_back({2 * x + 1, more});
  }
  /// These bounds, each in no other sum, never add up to more.
  void add_sum(std::vector<std::uint32_t> bounds, std::int32_t most) {
    for (const std::uint32_t b : bounds) sum_of_[b] = static_cast<std::uint32_t>(sums_.size());
    sums_.push_back({std::move(bounds), most});
  }
  /// The value of a variable that decisions come near to.
  void wish(std::uint32_t x, std::int32_t value) { wish_[x] = value_[x] = value; }
  /// Raises a bound for ever; not while it searches.
  void fix(const bound_literal& x) {
    undo(0);
    possible_ = possible_ && raise(x, {reason::from::literals});
  }

  [[nodiscard]] std::int32_t bound(std::uint32_t b) const noexcept { return bounds_[b]; }
  [[nodiscard]] std::int32_t least(std::uint32_t x) const noexcept { return bounds_[lower(x)]; }
  [[nodiscard]] std::int32_t most(std::uint32_t x) const noexcept { return -bounds_[lower(x) + 1]; }
  /// Decisions so far.
  [[nodiscard]] std::int64_t branches() const noexcept { return branches_; }

  /// For the rule: raises a bound, unless it is that high. False if that is a conflict.
  [[nodiscard]] bool raise(const bound_literal& x, const reason& by) {
    return bounds_[x.bound] >= x.least || push(x, by);
  }

  /// @param steps  rises of bounds, or eight clauses, that it may look at; what it looked at is taken away
  /// @param rule   (bound) -> bool, whether what follows from its rise is no conflict; raises bounds. Nothing is asked
  ///               twice: what follows from several bounds must be seen when the last of them rises
  /// @param assumed looks for solutions where these hold, only; if there is none, that is `unknown`
  /// @return found: the least values are a solution, until anything else is asked
  template <class Rule>
  [[nodiscard]] verdict operator()(std::int64_t& steps, Rule&& rule, const std::vector<bound_literal>& assumed = {}) {
    undo(0);
    assumed_ = assumed.empty() ? 0 : 1;
    for (; looked_at_ < bounds_.size(); ++looked_at_) possible_ = possible_ && spread(looked_at_, rule);
    for (std::int64_t left = 0; possible_;) {
      const bool fits = propagate(rule, steps);
      if (!fits) {
        --left;
        possible_ = level() > 0;
        if (possible_ && level() <= assumed_) return undo(0), verdict::unknown;
        if (possible_) learn();
        continue;
      }
      if (level() == 0) settle();
      if (level() < assumed_) {
        levels_.push_back(trail_.size());
        for (const bound_literal& x : assumed)
          if (!raise(x, {})) return undo(0), verdict::unknown;
        continue;
      }
      if (steps < 0) return undo(0), verdict::unknown;
      if (left <= 0) {
        left = 100 * luby(++restarts_);
        if (level() > assumed_) {
          undo(assumed_);
          continue;
        }
      }
      if (!decide()) return verdict::found;
    }
    return verdict::impossible;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::int32_t unneeded = (std::numeric_limits<std::int32_t>::min)();
  struct entry {
    bound_literal now;
    std::int32_t before;
    std::uint32_t entry_before, level, times;  // entry_before: of the same bound; times: that it rose on this level
    std::uint32_t cause;                       // of a distance: the entry that it was added to, if any
    reason by;
  };
  struct distance {
    std::uint32_t to;
    std::int32_t more;
  };
  struct sum {
    std::vector<std::uint32_t> bounds;
    std::int32_t most;
  };
  struct watch {
    std::uint32_t clause;
    std::int32_t from;    // the literal is false once the bound is so high
    bound_literal other;  // if that is true, so is the clause
  };
  struct clause {
    std::uint32_t first, size, levels;  // levels: of decisions that its literals were of when it was learned
    bool used;                          // since some were forgotten
  };

  [[nodiscard]] static constexpr std::size_t lower(std::uint32_t x) noexcept { return 2 * std::size_t{x}; }
  [[nodiscard]] std::uint32_t level() const noexcept { return static_cast<std::uint32_t>(levels_.size()); }
  [[nodiscard]] bool is_true(const bound_literal& x) const noexcept { return bounds_[x.bound] >= x.least; }
  [[nodiscard]] bool is_false(const bound_literal& x) const noexcept { return is_true(x.negated()); }
  /// 1, 1, 2, 1, 1, 2, 4, … (M. Luby, A. Sinclair, D. Zuckerman 1993)
  [[nodiscard]] static std::int64_t luby(std::uint32_t i) noexcept {
    std::uint32_t power = 1;
    while (2 * power <= i) power *= 2;
    return 2 * power - 1 == i ? std::int64_t{power} : luby(i + 1 - power);
  }

  [[nodiscard]] bool push(const bound_literal& x, const reason& by) {
    const std::uint32_t before = last_[x.bound];
    const bool again = before != none && trail_[before].level == level();
    const std::uint32_t times = again ? trail_[before].times + 1 : 1;
    const std::uint32_t cause = by.kind == reason::from::distance ? last_[by.b.bound] : none;
    // Looked for seldom, as it takes long: in a ring the bound goes on rising.
    if (times >= 4 && std::has_single_bit(times) && is_ring(x.bound, by)) return false;
    trail_.push_back({x, bounds_[x.bound], before, level(), times, cause, by});
    bounds_[x.bound] = x.least, last_[x.bound] = static_cast<std::uint32_t>(trail_.size() - 1);
    const std::int32_t against = bounds_[x.bound ^ 1];
    if (x.least + against <= 0) return true;
    explain(last_[x.bound], 1 - against);
    conflict_ = premises_;
    conflict_.push_back({x.bound ^ 1, against});
    return false;
  }
  void undo(std::uint32_t to) {
    if (level() <= to) return;
    for (; trail_.size() > levels_[to]; trail_.pop_back()) {
      const entry& e = trail_.back();
      const std::uint32_t b = e.now.bound;
      if (bounds_[b] + bounds_[b ^ 1] == 0) value_[b / 2] = least(b / 2);
      bounds_[b] = e.before, last_[b] = e.entry_before;
      heap_.insert(b / 2);
    }
    levels_.resize(to), head_ = trail_.size();
  }
  /// What holds without a decision holds for ever, and needs no reason.
  void settle() {
    for (const entry& e : trail_) last_[e.now.bound] = none;
    trail_.clear(), head_ = 0;
    if (clauses_.size() > most_clauses_) forget();
  }
  [[nodiscard]] bool decide() {
    for (; !heap_.empty(); heap_.pop()) {
      const std::uint32_t x = heap_.top();
      const std::int32_t low = least(x), high = most(x), value = restarts_ % 2 == 1 ? value_[x] : wish_[x];
      if (low == high) continue;
      ++branches_, levels_.push_back(trail_.size());
      // Never a conflict: between its bounds.
      if (value > low) (void)raise({2 * x, (std::min)(value, high)}, {});
      else (void)raise({2 * x + 1, -low}, {});
      return true;
    }
    return false;
  }

  template <class Rule>
  [[nodiscard]] bool propagate(Rule& rule, std::int64_t& steps) {
    for (--steps; head_ < trail_.size(); --steps) {
      const bound_literal x = trail_[head_++].now;
      if (bounds_[x.bound] != x.least) continue;  // a later entry sees to it
      if (!spread(x.bound, rule)) return false;
      steps -= static_cast<std::int64_t>(watches_[x.bound].size() / 8);
    }
    return true;
  }
  /// What follows from a bound.
  template <class Rule>
  [[nodiscard]] bool spread(std::uint32_t b, Rule& rule) {
    const bound_literal x{b, bounds_[b]};
    for (const distance& d : distances_[b])
      if (!raise({d.to, x.least + d.more}, {reason::from::distance, {}, x})) return false;
    return (sum_of_[b] == none || add_up(sum_of_[b])) && rule(b) && look_at_clauses(b);
  }
  [[nodiscard]] bool add_up(std::uint32_t c) {
    std::int32_t all = -sums_[c].most;
    for (const std::uint32_t b : sums_[c].bounds) all += bounds_[b];
    if (all > 0) {
      conflict_.clear();
      for (const std::uint32_t b : sums_[c].bounds) conflict_.push_back({b, bounds_[b]});
      return false;
    }
    for (const std::uint32_t b : sums_[c].bounds)
      if (!raise({b ^ 1, all - bounds_[b]}, {reason::from::sum, {c, 0}})) return false;
    return true;
  }
  /// Two literals of each clause are watched, the first two. One that has become false is replaced by one that is not;
  /// if there is none, the other must be true.
  [[nodiscard]] bool look_at_clauses(std::uint32_t b) {
    std::vector<watch>& list = watches_[b];
    std::size_t kept = 0, i = 0;
    bool fits = true;
    for (; i < list.size() && fits; ++i) {
      const watch w = list[i];
      if (bounds_[b] < w.from || is_true(w.other)) {
        list[kept++] = w;
        continue;
      }
      bound_literal* x = literals_.data() + clauses_[w.clause].first;
      if (x[0].bound == (b ^ 1) && x[0].least == 1 - w.from) std::swap(x[0], x[1]);
      std::uint32_t k = 2;
      const std::uint32_t size = is_true(x[0]) ? 0 : clauses_[w.clause].size;
      while (k < size && is_false(x[k])) ++k;
      if (k < size) {
        std::swap(x[1], x[k]);
        observe(w.clause, 1);
        continue;
      }
      list[kept++] = {w.clause, w.from, x[0]};
      fits = raise(x[0], {reason::from::clause, {w.clause, 0}});
    }
    list.erase(std::move(list.begin() + static_cast<std::ptrdiff_t>(i), list.end(),
                         list.begin() + static_cast<std::ptrdiff_t>(kept)),
               list.end());
    return fits;
  }
  void observe(std::uint32_t c, std::uint32_t k) {
    const bound_literal* x = literals_.data() + clauses_[c].first;
    const bound_literal when = x[k].negated();
    watches_[when.bound].push_back({c, when.least, x[1 - k]});
  }

  /// Whether what is to raise the bound was raised by it on this level: then not all that is on the way can hold.
  [[nodiscard]] bool is_ring(std::uint32_t b, const reason& by) {
    if (by.kind != reason::from::distance) return false;
    std::uint32_t at = last_[by.b.bound];
    while (at != none && trail_[at].now.bound != b) {
      const entry& e = trail_[at];
      if (e.level < level() || e.by.kind != reason::from::distance) return false;
      at = e.cause;
    }
    if (at == none || trail_[at].level < level()) return false;
    conflict_.clear();
    if (by.a.exists()) conflict_.push_back(by.a);
    for (at = last_[by.b.bound]; trail_[at].now.bound != b; at = trail_[at].cause)
      if (trail_[at].by.a.exists()) conflict_.push_back(trail_[at].by.a);
    return true;
  }
  /// The entry that made it true; none if it holds for ever.
  [[nodiscard]] std::uint32_t cause(const bound_literal& x) const noexcept {
    std::uint32_t at = last_[x.bound];
    while (at != none && trail_[at].before >= x.least) at = trail_[at].entry_before;
    return at;
  }
  /// What made the bound of an entry at least `need`, to premises_.
  void explain(std::uint32_t at, std::int32_t need) {
    const entry& e = trail_[at];
    premises_.clear();
    switch (e.by.kind) {
      case reason::from::decision: break;
      case reason::from::literals:
      case reason::from::distance:
        if (e.by.a.exists()) premises_.push_back(e.by.a);
        if (e.by.b.exists()) premises_.push_back(e.by.b);
        if (e.by.kind == reason::from::distance) premises_.back().least -= e.now.least - need;
        break;
      case reason::from::clause: {
        clause& c = clauses_[e.by.a.bound];
        c.used = true;
        for (std::uint32_t k = 0; k < c.size; ++k) {
          const bound_literal& x = literals_[c.first + k];
          if (x.bound != e.now.bound || x.least != e.now.least) premises_.push_back(x.negated());
        }
        break;
      }
      case reason::from::sum:
        for (const std::uint32_t b : sums_[e.by.a.bound].bounds) {
          if (b == (e.now.bound ^ 1)) continue;
          std::int32_t then = bounds_[b];
          for (std::uint32_t i = last_[b]; i != none && i >= at; i = trail_[i].entry_before) then = trail_[i].before;
          premises_.push_back({b, then});
        }
    }
  }
  /// Whether an entry is only another name for the one literal that it follows from.
  [[nodiscard]] static bool is_name(const entry& e) noexcept {
    return e.by.kind == reason::from::literals && e.by.a.exists() && !e.by.b.exists();
  }
  /// The conflict needs it, too.
  void require(const bound_literal& x) {
    std::int32_t& need = need_[x.bound];
    if (need >= x.least) return;
    const std::uint32_t at = cause(x);
    if (at == none) return;
    if (need == unneeded) {
      needed_.push_back(x.bound);
      heap_.bump(x.bound / 2);
    } else {
      const std::uint32_t old = cause({x.bound, need});
      marked_[old] = 0;
      if (trail_[old].level == level()) --open_;
    }
    need = x.least, marked_[at] = 1;
    if (trail_[at].level == level()) ++open_;
  }
  /// From the conflict back along the trail: what is no word is replaced by what it follows from, and so are words of
  /// the last level until one is left, which then must be false where the others are true.
  void learn() {
    marked_.resize((std::max)(marked_.size(), trail_.size()), 0);
    needed_.clear(), open_ = 0;
    for (const bound_literal& x : conflict_) require(x);
    std::uint32_t last = none;
    for (std::size_t at = trail_.size(); at-- > levels_.front();) {
      if (marked_[at] == 0) continue;
      const entry& e = trail_[at];
      const std::uint32_t b = e.now.bound;
      const bool is_last = e.level == level() && open_ == 1, is_word = sorts_[b / 2] != sort::follows && !is_name(e);
      if (is_word && is_last) last = b;
      if (is_word && (is_last || e.level < level())) continue;
      const std::int32_t need = std::exchange(need_[b], unneeded);
      marked_[at] = 0;
      if (e.level == level()) --open_;
      explain(static_cast<std::uint32_t>(at), need);
      for (const bound_literal& x : premises_) require(x);
    }
    std::sort(needed_.begin(), needed_.end());  // one that was replaced may have been needed again
    needed_.erase(std::unique(needed_.begin(), needed_.end()), needed_.end());
    const std::uint32_t back = write_down(last);
    for (const std::uint32_t b : needed_) {
      if (need_[b] == unneeded) continue;
      marked_[cause({b, need_[b]})] = 0, need_[b] = unneeded;
    }
    undo(back);
    heap_.decay();
    const auto c = static_cast<std::uint32_t>(clauses_.size() - 1);
    const bound_literal first = literals_[clauses_[c].first];
    if (clauses_[c].size > 1) {
      observe(c, 0), observe(c, 1);
      (void)raise(first, {reason::from::clause, {c, 0}});
    } else {
      literals_.pop_back(), clauses_.pop_back();
      possible_ = raise(first, {reason::from::literals});
    }
  }
  /// The clause that forbids what is needed: first the word of the last level, then one of the latest level before.
  /// @return that level
  std::uint32_t write_down(std::uint32_t last) {
    const auto first = static_cast<std::uint32_t>(literals_.size());
    literals_.push_back(bound_literal{last, need_[last]}.negated());
    std::uint32_t back = 0, levels = 1;
    seen_.resize((std::max)(seen_.size(), levels_.size() + 1), 0);
    ++learned_;
    for (const std::uint32_t b : needed_) {
      if (b == last || need_[b] == unneeded) continue;
      const std::uint32_t at = cause({b, need_[b]}), of = trail_[at].level;
      if (follows(at, need_[b])) continue;
      literals_.push_back(bound_literal{b, need_[b]}.negated());
      if (std::exchange(seen_[of], learned_) != learned_ || of == assumed_) ++levels;  // each by itself
      if (of <= back) continue;
      back = of;
      std::swap(literals_[first + 1], literals_.back());
    }
    clauses_.push_back({first, static_cast<std::uint32_t>(literals_.size()) - first, levels, true});
    return back;
  }
  /// Whether an entry follows from others that are needed, of earlier entries: else two could follow from each other.
  [[nodiscard]] bool follows(std::uint32_t at, std::int32_t need) {
    if (trail_[at].by.kind == reason::from::decision) return false;
    explain(at, need);
    return std::all_of(premises_.begin(), premises_.end(), [&](const bound_literal& x) {
      if (cause(x) == none) return true;
      return need_[x.bound] >= x.least && cause({x.bound, need_[x.bound]}) < at;
    });
  }
  /// At level 0: half of the clauses go, those of many levels first; and what has become true or false.
  void forget() {
    std::vector<std::uint32_t> order(clauses_.size());
    for (std::uint32_t c = 0; c < order.size(); ++c) order[c] = c;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const clause &x = clauses_[a], &y = clauses_[b];
      if ((x.levels <= 2) != (y.levels <= 2)) return x.levels <= 2;
      if (x.used != y.used) return x.used;
      if (x.levels != y.levels) return x.levels < y.levels;
      return x.size != y.size ? x.size < y.size : a < b;
    });
    std::vector<char> goes(clauses_.size(), 0);
    for (std::size_t i = order.size() / 2; i < order.size(); ++i)
      goes[order[i]] = clauses_[order[i]].levels > 2 ? 1 : 0;
    std::vector<clause> clauses;
    std::vector<bound_literal> literals;
    for (std::uint32_t c = 0; c < clauses_.size(); ++c) {
      clause x = clauses_[c];
      const auto begin = literals_.begin() + x.first, end = begin + x.size;
      if (goes[c] != 0 || std::any_of(begin, end, [&](const bound_literal& y) { return is_true(y); })) continue;
      x.first = static_cast<std::uint32_t>(literals.size());
      std::copy_if(begin, end, std::back_inserter(literals), [&](const bound_literal& y) { return !is_false(y); });
      x.size = static_cast<std::uint32_t>(literals.size()) - x.first, x.used = false;
      clauses.push_back(x);
    }
    clauses_.swap(clauses), literals_.swap(literals);
    for (auto& list : watches_) list.clear();
    for (std::uint32_t c = 0; c < clauses_.size(); ++c) observe(c, 0), observe(c, 1);
    most_clauses_ += most_clauses_ / 8;
  }

  std::vector<sort> sorts_;                 // by variable
  std::vector<std::int32_t> wish_, value_;  // by variable; value_: the last that it was fixed at
  activity_heap heap_;
  std::vector<std::int32_t> bounds_, need_;       // by bound; need_: of the conflict at hand
  std::vector<std::uint32_t> last_, sum_of_;      // by bound; last_: its last entry
  std::vector<std::vector<distance>> distances_;  // by bound
  std::vector<std::vector<watch>> watches_;       // by bound
  std::vector<sum> sums_;
  std::vector<entry> trail_;         // since the last time at level 0
  std::vector<char> marked_;         // by entry: needed
  std::vector<std::size_t> levels_;  // where in the trail they begin
  std::size_t head_ = 0;
  std::vector<clause> clauses_;
  std::vector<bound_literal> literals_, conflict_, premises_;
  std::vector<std::uint32_t> needed_;
  std::vector<std::uint64_t> seen_;  // by level: by which clause
  std::uint32_t open_ = 0, restarts_ = 0;
  std::uint32_t assumed_ = 0;  // the level of what is assumed; 0: nothing is
  std::uint64_t learned_ = 0;
  std::size_t most_clauses_;
  std::int64_t branches_ = 0;
  std::uint32_t looked_at_ = 0;  // bounds whose first value has been looked at
  bool possible_ = true;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
