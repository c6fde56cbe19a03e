// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders of ops, one after the other, that need few bytes.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/flat_lists.hpp>
#include <hocket/graph/detail/live_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// An order and the most bytes that are alive in it.
struct sized_order {
  std::vector<node_id> order;
  std::int64_t peak = 0;
};

// One pass: takes ready ops one after the other. An op is free if it leaves no more bytes than it finds and its own
// peak is within a limit. Such an op comes first, since that never costs bytes later: every op after it finds as much
// or less. Of the others the next by a key comes.
class byte_pass {
 public:
  // limit: what free ops may reach, the peak of an order that is known; then an order by place is no larger than that.
  byte_pass(const flat_lists& before, const flat_lists& after, const live_values& values, std::int64_t limit)
      : before_(before),
        after_(after),
        values_(values),
        limit_(limit),
        begun_(values.before),
        left_(values.size()),
        last_(values.size()),
        now_(values.always) {}

  // place: of each op in some order. by_growth: the op that adds the fewest bytes, of equals the first by place;
  // else the first by place alone.
  [[nodiscard]] sized_order run(std::span<const node_id> ops, std::span<const std::uint32_t> place, bool by_growth) {
    place_ = place;
    by_growth_ = by_growth;
    prepare(ops);
    sized_order out;
    out.order.reserve(ops.size());
    out.peak = now_;
    while (out.order.size() < ops.size()) {
      const node_id b = next();
      out.peak = (std::max)(out.peak, now_ + born_[b]);
      out.order.push_back(b);
      take(b);
    }
    return out;
  }

 private:
  using entry = std::tuple<std::int64_t, std::uint32_t, node_id>;  // key, place, op: the least first
  struct later {
    [[nodiscard]] bool operator()(const entry& a, const entry& b) const noexcept { return a > b; }
  };
  using heap = std::priority_queue<entry, std::vector<entry>, later>;
  static constexpr std::size_t taken = ~std::size_t{0};

  void prepare(std::span<const node_id> ops) {
    const std::size_t nodes = place_.size();
    waiting_.assign(nodes, taken);
    born_.assign(nodes, 0);
    dies_.assign(nodes, 0);
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const std::span<const node_id> touch = values_.ops.of(v);
      left_[v] = touch.size();
      for (const node_id b : touch) last_[v] ^= b;
      if (begun_[v]) now_ += values_.bytes[v];
      else
        for (const node_id b : touch) born_[b] += values_.bytes[v];
      if (touch.size() == 1 && !values_.after[v]) dies_[touch.front()] += values_.bytes[v];
    }
    for (const node_id b : ops) {
      waiting_[b] = before_.count(b);
      if (waiting_[b] == 0) push(b);
    }
  }

  [[nodiscard]] std::int64_t growth(node_id b) const noexcept { return born_[b] - dies_[b]; }
  [[nodiscard]] std::int64_t key(node_id b) const noexcept { return by_growth_ ? growth(b) : 0; }

  void push(node_id b) {
    ready_.emplace(key(b), place_[b], b);
    if (growth(b) <= 0) free_.emplace(born_[b], place_[b], b);
  }
  // Again, after its bytes have changed.
  void touch(node_id b) {
    if (waiting_[b] == 0) push(b);
  }

  [[nodiscard]] node_id next() {
    while (!free_.empty()) {
      const auto [born, place, b] = free_.top();
      const bool stale = waiting_[b] != 0 || born != born_[b];
      if (!stale && now_ + born > limit_) break;  // the others need no less
      free_.pop();
      if (!stale) return b;
    }
    while (true) {
      const auto [old, place, b] = ready_.top();
      ready_.pop();
      if (waiting_[b] == 0 && old == key(b)) return b;
    }
  }

  void take(node_id b) {
    waiting_[b] = taken;
    for (const node_id v : values_.values.of(b)) {
      if (!begun_[v]) begin(v);
      last_[v] ^= b;
      if (--left_[v] == 0 && !values_.after[v]) now_ -= values_.bytes[v];
      if (left_[v] == 1 && !values_.after[v]) {
        dies_[last_[v]] += values_.bytes[v];
        touch(last_[v]);
      }
    }
    for (const node_id c : after_.of(b))
      if (--waiting_[c] == 0) push(c);
  }

  void begin(node_id v) {
    begun_[v] = true;
    now_ += values_.bytes[v];
    for (const node_id b : values_.ops.of(v)) {
      born_[b] -= values_.bytes[v];
      touch(b);
    }
  }

  const flat_lists& before_;   ///< literal: these three live as long as the call
  const flat_lists& after_;    ///< literal
  const live_values& values_;  ///< literal
  std::int64_t limit_;
  std::span<const std::uint32_t> place_;
  bool by_growth_ = false;
  std::vector<unsigned char> begun_;       // by value
  std::vector<std::size_t> left_;          // by value, the ops still to come
  std::vector<node_id> last_;              // by value, those ops, one xor the other: the op itself where one is left
  std::vector<std::size_t> waiting_;       // by op, those it waits for
  std::vector<std::int64_t> born_, dies_;  // by op, what starts and what ends with it if it comes next
  heap ready_, free_;
  std::int64_t now_;
};

// Orders by passes in both directions of time.
class byte_orders {
 public:
  byte_orders(const flat_lists& ups, const flat_lists& downs, const live_values& values, std::size_t nodes)
      : ups_(ups), downs_(downs), values_(values), back_(values.reversed()), place_(nodes) {}

  // The given order, those by growth from either end, and the best of them made better by free ops from either end.
  // Never larger than the given one; `least` is reason to stop.
  [[nodiscard]] sized_order small_order(std::span<const node_id> given, std::int64_t least) {
    constexpr std::int64_t any = (std::numeric_limits<std::int64_t>::max)();
    const sized_order first{{given.begin(), given.end()}, peak_in_order(values_, given)};
    sized_order best = first;
    for (const bool reversed : {false, true}) {
      if (best.peak == least) return best;
      sized_order grown = pass(first, reversed, true, any);
      // By free ops from the other end, which a pass by growth does not see.
      keep(best, pass(grown, !reversed, false, grown.peak));
      keep(best, std::move(grown));
    }
    constexpr int rounds = 8;
    int idle = 0;
    for (int round = 0; round < rounds && idle < 2 && best.peak > least; ++round)
      idle = keep(best, pass(best, round % 2 == 0, false, best.peak)) ? 0 : idle + 1;
    return best;
  }

  // Shakes the order: ops change places with others nearby, and free ops mend what that costs. Numbers of a fixed
  // sequence: the same everywhere.
  void shake(sized_order& best, std::int64_t least, int rounds) {
    std::uint64_t state = 1;
    for (int round = 0; round < rounds && best.peak > least; ++round) {
      const std::uint64_t width = std::uint64_t{1} << (round % 10);
      std::vector<std::pair<std::uint64_t, node_id>> keys;
      keys.reserve(best.order.size());
      for (std::size_t i = 0; i < best.order.size(); ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;  // D. E. Knuth's generator
        keys.emplace_back(16 * i + (state >> 33) % (16 * width), best.order[i]);
      }
      std::sort(keys.begin(), keys.end());
      sized_order shaken{{}, best.peak};
      for (const auto& [key, b] : keys) shaken.order.push_back(b);
      sized_order ahead = pass(shaken, false, false, best.peak);
      sized_order back = pass(ahead, true, false, (std::max)(ahead.peak, best.peak));
      // An order as small may lead on where this one does not.
      if (back.peak == best.peak) best = std::move(back);
      else keep(best, std::move(back));
      keep(best, std::move(ahead));
    }
  }

 private:
  static bool keep(sized_order& best, sized_order next) {
    const bool better = next.peak < best.peak;
    if (better) best = std::move(next);
    return better;
  }

  // A pass over time as it is or reversed, by places in an order; the result is told in time as it is.
  [[nodiscard]] sized_order pass(const sized_order& from, bool reversed, bool by_growth, std::int64_t limit) {
    const auto count = static_cast<std::uint32_t>(from.order.size());
    for (std::uint32_t i = 0; i < count; ++i) place_[from.order[i]] = reversed ? count - 1 - i : i;
    byte_pass one(reversed ? downs_ : ups_, reversed ? ups_ : downs_, reversed ? back_ : values_, limit);
    sized_order out = one.run(from.order, place_, by_growth);
    if (reversed) std::reverse(out.order.begin(), out.order.end());
    return out;
  }

  const flat_lists& ups_;      ///< literal: these three live as long as the call
  const flat_lists& downs_;    ///< literal
  const live_values& values_;  ///< literal
  live_values back_;           // with time reversed
  std::vector<std::uint32_t> place_;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
