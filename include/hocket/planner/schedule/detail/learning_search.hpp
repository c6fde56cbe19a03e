// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/schedule/detail/clause_search.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>
#include <hocket/planner/schedule/detail/window_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Is there a schedule within the windows of a target? By a search that learns which orders cannot go together. Its
/// words count: of actions of one kind and stage (a letter) on the rank, so many start before micro-batch j of another
/// letter. An action then starts no sooner than the ones before it have ended, of two whose windows leave only one
/// order that order is kept, what is before an action is before what follows it, and the cap is a sum: forwards before
/// a forward, less what has ended before it. What is learned under a target holds under every lower one.
class learning_search {
 public:
  using verdict = clause_search::verdict;

  explicit learning_search(const search_input& in) : in_(in), m_(in.micro_batches) {
    const std::uint32_t letters = in.kinds() * in.stages;
    letters_.resize(in.ranks);
    for (std::uint32_t a = 0; a < letters; ++a) {
      time_.push_back(static_cast<std::int32_t>(in.time(in.kind_of(a), in.stage_of(a))));
      auto& here = letters_[in.rank_of_letter(a)];
      slot_.push_back(static_cast<std::uint32_t>(here.size()));
      here.push_back(a);
      for (std::uint32_t j = 0; j < m_; ++j) (void)search_.add(0, most_time, clause_search::sort::follows);
    }
    for (std::uint32_t a = 0; a < letters; ++a) add_distances(a);
    counts_.reserve(static_cast<std::size_t>(counts(in)));
    std::uint32_t next = letters * m_;
    for (std::uint32_t b = 0; b < letters; ++b)
      first_.push_back(next), next += static_cast<std::uint32_t>(letters_of(b).size()) * m_;
    for (std::uint32_t b = 0; b < letters; ++b)
      for (const std::uint32_t a : letters_of(b)) add_counts(a, b);
    for (std::uint32_t s = 0; s < in.stages; ++s)
      if (in.is_scarce(in.rank_of[s])) add_caps(s);
  }
  /// Whether it applies: actions take time, all times fit, and words and clauses into some 300 MB.
  [[nodiscard]] static bool applies(const search_input& in) {
    ticks all = 0;
    for (std::uint32_t kind = 0; kind < in.kinds(); ++kind)
      for (std::uint32_t s = 0; s < in.stages; ++s) {
        const ticks time = in.time(kind, s);
        if (time <= 0 || time >= most_time || in.hop >= most_time) return false;
        all += time + in.hop;
      }
    return all <= most_time / ticks{in.micro_batches} && counts(in) <= 100'000;
  }

  /// @param windows  of a target no higher than that of the last call, which they did not refute
  /// @param like     a schedule, rank by rank in its order, that the first ones it looks at resemble
  /// @param steps    rises of bounds that it may look at; what it looked at is taken away
  /// @param free     by letter and micro-batch: 1 for actions that may change places with each other, while all others
  ///                 stay as in `like`; then none found is `unknown`. Empty: all may
  [[nodiscard]] verdict operator()(const window_bound& windows, const std::vector<placed>& like, std::int64_t& steps,
                                   const std::vector<char>& free = {}) {
    for (std::uint32_t x = 0; x < time_.size() * m_; ++x) {
      const std::uint32_t a = x / m_, kind = in_.kind_of(a), s = in_.stage_of(a), k = x % m_;
      search_.fix({2 * x, static_cast<std::int32_t>(windows.earliest_start(kind, s, k))});
      search_.fix({2 * x + 1, time_[a] - static_cast<std::int32_t>(windows.latest_end(kind, s, k))});
    }
    std::vector<std::uint32_t> seen(time_.size(), 0);
    for (const placed& x : like) {
      const std::uint32_t b = in_.letter(x.kind, x.stage), j = seen[b]++;
      for (const std::uint32_t a : letters_of(b))
        if (a != b) search_.wish(count(a, b, j), static_cast<std::int32_t>(seen[a]));
    }
    const auto rule = [this](std::uint32_t b) { return b / 2 < first_[0] ? start_rises(b) : count_rises(b); };
    return search_(steps, rule, free.empty() ? std::vector<bound_literal>{} : orders_kept(like, free));
  }
  /// What was found, in an order in which every action follows what it needs.
  [[nodiscard]] std::vector<placed> list() const {
    std::vector<std::pair<std::int32_t, std::uint32_t>> starts;
    for (std::uint32_t x = 0; x < first_[0]; ++x) starts.push_back({search_.least(x), x});
    std::sort(starts.begin(), starts.end());
    std::vector<placed> out;
    for (const auto& start : starts) out.push_back(in_.action(start.second / m_, start.second % m_));
    return out;
  }
  /// Of what was found: when its last action ends.
  [[nodiscard]] ticks makespan() const {
    ticks end = 0;
    for (std::uint32_t x = 0; x < first_[0]; ++x) end = (std::max)(end, ticks{search_.least(x)} + time_[x / m_]);
    return end;
  }
  /// Decisions so far.
  [[nodiscard]] std::int64_t branches() const noexcept { return search_.branches(); }

 private:
  static constexpr std::int32_t most_time = 1 << 28;
  using reason = clause_search::reason;
  /// Of what a variable is the count: actions of letter a before micro-batch j of another letter.
  struct counted {
    std::uint32_t start, a, j, back;  // start: of micro-batch j; back: the count of the other letter before a's first
  };

  [[nodiscard]] static std::int64_t counts(const search_input& in) {
    std::int64_t all = 0;
    for (const auto& owned : in.owned) {
      const std::int64_t letters = in.kinds() * static_cast<std::int64_t>(owned.size());
      all += letters * letters * in.micro_batches;
    }
    return all;
  }
  [[nodiscard]] const std::vector<std::uint32_t>& letters_of(std::uint32_t a) const {
    return letters_[in_.rank_of_letter(a)];
  }
  /// The variables: when micro-batch j of a letter starts; how many of letter a start before that of b, on its rank.
  [[nodiscard]] std::uint32_t start(std::uint32_t a, std::uint32_t j) const noexcept { return a * m_ + j; }
  [[nodiscard]] std::uint32_t count(std::uint32_t a, std::uint32_t b, std::uint32_t j) const noexcept {
    return first_[b] + slot_[a] * m_ + j;
  }

  void add_distances(std::uint32_t a) {
    for (std::uint32_t j = 0; j + 1 < m_; ++j) search_.add_distance(start(a, j), start(a, j + 1), time_[a]);
    const std::uint32_t kind = in_.kind_of(a), s = in_.stage_of(a);
    const auto follow = [&](std::uint32_t b) {
      const auto hop = static_cast<std::int32_t>(in_.hop_between(s, in_.stage_of(b)));
      for (std::uint32_t j = 0; j < m_; ++j) search_.add_distance(start(a, j), start(b, j), time_[a] + hop);
    };
    if (kind == 0) follow(s + 1 < in_.stages ? a + 1 : a + in_.stages);
    if (kind == 1 && s > 0) follow(a - 1);
    if (kind == 1 && in_.split) follow(a + in_.stages);
  }
  void add_counts(std::uint32_t a, std::uint32_t b) {
    for (std::uint32_t j = 0; j < m_; ++j) {
      const auto before = static_cast<std::int32_t>(j);
      std::int32_t low = 0, high = static_cast<std::int32_t>(m_);
      if (precedes(a, b)) low = before + 1;
      if (precedes(b, a)) high = before;
      if (a == b) low = high = before;
      // a's before b's say all of b's before a's
      const std::uint32_t x = search_.add(low, high, a < b ? clause_search::sort::decision : clause_search::sort::word);
      counts_.push_back({start(b, j), a, j, count(b, a, 0)});
      if (a != b && j > 0) search_.add_distance(x - 1, x, 0);
    }
  }
  /// Of each micro-batch, letter a runs before letter b, whatever the schedule.
  [[nodiscard]] bool precedes(std::uint32_t a, std::uint32_t b) const noexcept {
    const std::uint32_t of_a = in_.kind_of(a), of_b = in_.kind_of(b), s = in_.stage_of(a), t = in_.stage_of(b);
    if (of_a == 0) return of_b > 0 || s < t;
    return of_a == 1 && ((of_b == 1 && s > t) || (of_b == 2 && s >= t));
  }
  /// When forward j of stage s starts, there is room: j of its own and those of others, less what has ended.
  void add_caps(std::uint32_t s) {
    const std::uint32_t r = in_.rank_of[s], ends = (in_.kinds() - 1) * in_.stages;
    for (std::uint32_t j = 0; j < m_; ++j) {
      std::vector<std::uint32_t> bounds;
      for (const std::uint32_t t : in_.owned[r]) {
        if (t != s) bounds.push_back(2 * count(t, s, j));
        bounds.push_back(2 * count(ends + t, s, j) + 1);
      }
      search_.add_sum(std::move(bounds), static_cast<std::int32_t>(in_.cap[r]) - 1 - static_cast<std::int32_t>(j));
    }
  }

  /// Of each two actions on a rank of which one is not free: which is first.
  [[nodiscard]] std::vector<bound_literal> orders_kept(const std::vector<placed>& like,
                                                       const std::vector<char>& free) const {
    std::vector<bound_literal> out;
    std::vector<std::uint32_t> order;
    for (const placed& x : like) order.push_back(start(in_.letter(x.kind, x.stage), x.micro_batch));
    std::vector<std::int32_t> before(time_.size(), 0), until(time_.size(), static_cast<std::int32_t>(m_));
    const auto keep = [&](std::uint32_t x, const std::vector<std::int32_t>& counts, std::uint32_t side) {
      for (const std::uint32_t a : letters_of(x / m_)) {
        const std::uint32_t c = count(a, x / m_, x % m_);
        if (a != x / m_) out.push_back({2 * c + side, side == 0 ? counts[a] : -counts[a]});
      }
    };
    for (const std::uint32_t x : order) {  // at least so many are before it: up to the last that stays
      const auto j = static_cast<std::int32_t>(x % m_);
      if (free[x] == 0) before[x / m_] = j + 1;
      keep(x, before, 0);
    }
    for (std::size_t i = order.size(); i-- > 0;) {  // at most so many: up to the first after it that stays
      const std::uint32_t x = order[i];
      if (free[x] == 0) until[x / m_] = static_cast<std::int32_t>(x % m_);
      keep(x, until, 1);
    }
    return out;
  }

  [[nodiscard]] bool count_rises(std::uint32_t b) {
    const std::uint32_t x = b / 2;
    const counted& c = counts_[x - first_[0]];
    if (c.a == c.start / m_) return true;  // of its own letter
    const bound_literal now{b, search_.bound(b)};
    const auto j = static_cast<std::int32_t>(c.j);
    if (b % 2 == 0) {  // the last of them is before j
      const auto n = static_cast<std::uint32_t>(search_.least(x));
      return n == 0 ||
             (search_.raise({2 * (c.back + n - 1) + 1, -j}, {reason::from::literals, now}) && goes_on(c, now));
    }
    const auto n = static_cast<std::uint32_t>(search_.most(x));
    if (n == m_) return true;  // else j is before the next one
    const std::uint32_t first = 2 * c.start, next = 2 * start(c.a, n);
    const std::int32_t time = time_[c.start / m_];
    const bound_literal soonest{first, search_.bound(first)}, latest{next + 1, search_.bound(next + 1)};
    return search_.raise({2 * (c.back + n), j + 1}, {reason::from::literals, now}) &&
           search_.raise({next, soonest.least + time}, {reason::from::distance, now, soonest}) &&
           search_.raise({first + 1, latest.least + time}, {reason::from::distance, now, latest});
  }
  /// So many of letter a are before j now, and so before what j is before; and what the last of them is after is.
  [[nodiscard]] bool goes_on(const counted& c, const bound_literal& now) {
    const std::uint32_t b = c.start / m_, last = static_cast<std::uint32_t>(now.least) - 1;
    for (const std::uint32_t other : letters_of(b)) {
      if (other == c.a || other == b) continue;
      const std::uint32_t before_j = count(other, b, c.j), before_last = count(other, c.a, last);
      const std::int32_t next = search_.most(before_j),
                         fewest = search_.least(before_last);  // j is before the next one
      if (next < static_cast<std::int32_t>(m_) &&
          !search_.raise({2 * count(c.a, other, static_cast<std::uint32_t>(next)), now.least},
                         {reason::from::literals, now, {2 * before_j + 1, -next}}))
        return false;
      if (!search_.raise({2 * before_j, fewest}, {reason::from::literals, now, {2 * before_last, fewest}}))
        return false;
    }
    return true;
  }
  [[nodiscard]] bool start_rises(std::uint32_t b) {
    const std::uint32_t x = b / 2, mine = x / m_;
    const bound_literal now{b, search_.bound(b)};
    for (const std::uint32_t a : letters_of(mine))
      if (a != mine && !(b % 2 == 0 ? starts_later(now, a) : starts_sooner(now, a))) return false;
    return true;
  }
  /// An action now ends later. Those of letter a that must start before that end are before it; the first that is
  /// after it starts later.
  [[nodiscard]] bool starts_later(const bound_literal& now, std::uint32_t a) {
    const std::uint32_t x = now.bound / 2, mine = x / m_, c = count(a, mine, x % m_);
    const std::int32_t end = now.least + time_[mine], high = search_.most(c);
    std::int32_t n = search_.least(c);
    const auto last = [&](std::int32_t i) { return 2 * start(a, static_cast<std::uint32_t>(i)) + 1; };
    while (n < high && -search_.bound(last(n)) < end) ++n;
    if (n > search_.least(c)) {
      const bound_literal latest{last(n - 1), search_.bound(last(n - 1))};
      const bound_literal soonest{now.bound, 1 - latest.least - time_[mine]};  // that is late enough
      if (!search_.raise({2 * c, n}, {reason::from::literals, soonest, latest})) return false;
    }
    return high == static_cast<std::int32_t>(m_) ||
           search_.raise({last(high) ^ 1, end}, {reason::from::distance, {2 * c + 1, -high}, now});
  }
  /// An action now starts sooner. Those of letter a that end later than that are after it; the last that is before it
  /// starts sooner.
  [[nodiscard]] bool starts_sooner(const bound_literal& now, std::uint32_t a) {
    const std::uint32_t x = now.bound / 2, mine = x / m_, c = count(a, mine, x % m_);
    const std::int32_t latest = -now.least, low = search_.least(c);
    std::int32_t n = search_.most(c);
    const auto first = [&](std::int32_t i) { return 2 * start(a, static_cast<std::uint32_t>(i)); };
    while (n > low && search_.bound(first(n - 1)) + time_[a] > latest) --n;
    if (n < search_.most(c)) {
      const bound_literal soonest{first(n), latest - time_[a] + 1};  // that is late enough
      if (!search_.raise({2 * c + 1, -n}, {reason::from::literals, now, soonest})) return false;
    }
    return low == 0 ||
           search_.raise({first(low - 1) + 1, now.least + time_[a]}, {reason::from::distance, {2 * c, low}, now});
  }

  const search_input& in_;
  std::uint32_t m_;
  std::vector<std::int32_t> time_;                   // by letter
  std::vector<std::vector<std::uint32_t>> letters_;  // by rank
  std::vector<std::uint32_t> slot_, first_;          // by letter: its number on the rank; its first count
  std::vector<counted> counts_;
  clause_search search_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
