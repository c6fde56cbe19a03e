// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/storage_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// What computing some ops again in the backward pass does to memory.
struct replay_effect {
  std::int64_t bytes_before = 0, bytes_after = 0;  ///< kept from the forward pass for the backward pass
  ticks extra = 0;                                 ///< time of what is computed again
  std::vector<std::uint32_t> again;                ///< the marked ops that really run again, ascending
  std::vector<std::uint32_t> kept;                 ///< the values kept, ascending
  /// Negative if the inputs that must be kept instead are larger, as for a cast to a narrower type.
  [[nodiscard]] std::int64_t freed() const noexcept { return bytes_before - bytes_after; }
};

/// The forward pass as far as memory goes: ops, the values they read and write, how large these are, and which of them
/// the backward pass reads. Values that share storage (a reshape's input and output) name the same storage.
class replay_graph {
 public:
  /// A value. `resident`: it stays in memory anyhow (weights, the batch). Precondition: bytes >= 0, and those of all
  /// values add up to a 64-bit number.
  /// @return its number, ascending from 0
  std::uint32_t add_value(std::int64_t bytes, bool read_by_backward, bool resident = false) {
    HOCKET_ASSERT(bytes >= 0);
    const auto v = static_cast<std::uint32_t>(values_.size());
    values_.push_back({bytes, v, no_id, read_by_backward, resident, resident});
    return v;
  }
  /// A value in the storage of another one. Precondition: `of` exists.
  std::uint32_t add_view(std::uint32_t of, bool read_by_backward) {
    HOCKET_ASSERT(of < values_.size());
    const std::uint32_t v = add_value(values_[of].bytes, read_by_backward, values_[of].resident);
    values_[v].storage = values_[of].storage;
    values_[v].there = false;
    return v;
  }
  /// An op of the forward pass, in program order. It overwrites a storage if it writes a value that is there already
  /// (in place), or a view of one that is there without reading that storage (else it only names it anew: a reshape).
  /// A value cannot be computed again if its storage is overwritten after it was made, nor can an op run again if it or
  /// a later op overwrites what it reads, through whichever view.
  /// Precondition: the values exist; time >= 0, and those of all ops add up to a 64-bit number.
  std::uint32_t add_op(std::span<const std::uint32_t> reads, std::span<const std::uint32_t> writes, ticks time) {
    HOCKET_ASSERT(time >= 0);
    const auto o = static_cast<std::uint32_t>(ops_.size());
    ops_.push_back({static_cast<std::uint32_t>(edges_.size()), static_cast<std::uint32_t>(reads.size()),
                    static_cast<std::uint32_t>(writes.size()), time});
    for (const std::uint32_t v : reads) {
      HOCKET_ASSERT(v < values_.size());
      edges_.push_back(v);
      values_[v].there = values_[values_[v].storage].there = true;
    }
    for (const std::uint32_t v : writes) {
      HOCKET_ASSERT(v < values_.size());
      edges_.push_back(v);
      value &to = values_[v], &storage = values_[to.storage];
      const auto shares = [&](std::uint32_t x) { return values_[x].storage == to.storage; };
      const bool renames = !to.there && std::any_of(reads.begin(), reads.end(), shares);
      if (!renames && storage.there) storage.overwriter = o;
      if (!renames) {
        storage.several = storage.written;
        storage.written = true;
      }
      to.there = storage.there = true;
      to.producer = o;
    }
    return o;
  }

  /// A host graph through its effects policy: its variables must be numbers below `values`.
  /// @param forward   whether a node belongs to the forward pass; the others are the backward pass
  /// @param bytes_of  bytes of a variable; 0 for what stays in memory anyhow
  /// @param time_of   ticks of a node
  /// Errors: errc::out_of_range for a variable beyond `values`; errc::invalid_argument for negative bytes or a negative
  /// time; errc::overflow if bytes or times do not add up to a 64-bit number.
  template <class G, class Policy, class Forward, class Bytes, class Time>
  [[nodiscard]] static result<replay_graph> make(const G& host, const Policy& policy, std::size_t values,
                                                 Forward&& forward, Bytes&& bytes_of, Time&& time_of) {
    replay_graph out;
    std::int64_t all_bytes = 0;
    ticks all_time = 0;
    const auto add = [](std::int64_t x, std::int64_t& sum, const char* what) -> result<void> {
      if (x < 0) return error{errc::invalid_argument, x}.with(what);
      const std::int64_t before = sum;
      if (!checked_add(before, x, sum)) return error{errc::overflow, before, x}.with(what);
      return {};
    };
    for (std::size_t v = 0; v < values; ++v) {
      const std::int64_t bytes = bytes_of(v);
      if (const auto ok = add(bytes, all_bytes, "bytes of values"); !ok) return ok.error();
      out.add_value(bytes, false, bytes == 0);
    }
    std::vector<std::uint32_t> reads, writes;
    std::vector<char> made(values, 0);  // by the backward pass: its own gradients are not kept for it
    error bad;
    bool good = true;
    const auto n = static_cast<std::uint32_t>(policy.node_count(host));
    for (std::uint32_t i = 0; i < n && good; ++i) {
      reads.clear();
      writes.clear();
      const auto take = [&](std::vector<std::uint32_t>& list, auto v) {
        if constexpr (std::is_same_v<decltype(v), graph::storage_range>) {
          bad = error{errc::invalid_argument, i}.with("op that touches bytes of no variable");
        } else {
          if (static_cast<std::uint64_t>(v) < values) return list.push_back(static_cast<std::uint32_t>(v));
          bad = error{errc::out_of_range, static_cast<std::int64_t>(v), 0, static_cast<std::int64_t>(values) - 1}.with(
              "variable");
        }
        good = false;
      };
      policy.for_each_read(host, i, [&](auto v) { take(reads, v); });
      policy.for_each_write(host, i, [&](auto v) { take(writes, v); });
      if (forward(i)) {
        for (const std::uint32_t v : reads) made[v] = 0;
        const ticks time = time_of(i);
        if (const auto ok = add(time, all_time, "times of ops"); !ok) return ok.error();
        out.add_op(reads, writes, time);
      } else {  // an op of its number that takes part in nothing, so that numbers agree with the host's
        for (const std::uint32_t v : reads) out.values_[v].needed = out.values_[v].needed || made[v] == 0;
        for (const std::uint32_t v : writes) made[v] = 1;
        out.add_op({}, {}, 0);
      }
    }
    if (!good) return bad;
    return out;
  }

  [[nodiscard]] std::size_t op_count() const noexcept { return ops_.size(); }
  [[nodiscard]] std::span<const std::uint32_t> reads(std::uint32_t o) const& noexcept {
    return std::span(edges_).subspan(ops_[o].first, ops_[o].reads);
  }
  std::span<const std::uint32_t> reads(std::uint32_t o) const&& = delete;
  [[nodiscard]] std::span<const std::uint32_t> writes(std::uint32_t o) const& noexcept {
    return std::span(edges_).subspan(ops_[o].first + ops_[o].reads, ops_[o].writes);
  }
  std::span<const std::uint32_t> writes(std::uint32_t o) const&& = delete;
  [[nodiscard]] std::size_t value_count() const noexcept { return values_.size(); }
  [[nodiscard]] std::int64_t bytes(std::uint32_t v) const noexcept { return values_[v].bytes; }
  /// The value that names the storage of this one.
  [[nodiscard]] std::uint32_t storage(std::uint32_t v) const noexcept { return values_[v].storage; }
  /// Does the backward pass read it?
  [[nodiscard]] bool is_needed(std::uint32_t v) const noexcept { return values_[v].needed; }
  [[nodiscard]] bool is_resident(std::uint32_t v) const noexcept { return values_[v].resident; }
  /// The op that makes a value, if it can be made again; no_id if not.
  [[nodiscard]] std::uint32_t producer(std::uint32_t v) const noexcept {
    const std::uint32_t o = values_[v].producer;
    if (values_[v].resident || o == no_id) return no_id;
    if (overwritten_from(v, values_[values_[v].storage].several ? o : o + 1)) return no_id;
    for (const std::uint32_t x : reads(o))
      if (overwritten_from(x, o)) return no_id;
    return o;
  }

  /// What marking these ops for recomputation really does. A value that the backward pass reads is made again if its
  /// op is marked, from inputs that are kept or made again in turn; else it is kept. So marking SiLU and Mul frees
  /// nothing while an unmarked reshape between them keeps the same storage. O(ops + edges).
  [[nodiscard]] replay_effect effect_of(std::span<const std::uint32_t> marked) const {
    replay_effect out;
    std::vector<char> again(ops_.size(), 0);
    for (const std::uint32_t o : marked)
      if (o < ops_.size()) again[o] = 1;
    std::vector<char> wanted(values_.size(), 0), stored(values_.size(), 0), ran(ops_.size(), 0);
    std::vector<std::uint32_t> open;
    for (std::uint32_t v = 0; v < values_.size(); ++v) {
      if (!values_[v].needed) continue;
      wanted[v] = 1;
      open.push_back(v);
      if (!values_[v].resident && stored[values_[v].storage] == 0) {
        stored[values_[v].storage] = 1;
        out.bytes_before += values_[v].bytes;
      }
    }
    std::fill(stored.begin(), stored.end(), char{0});
    while (!open.empty()) {
      const std::uint32_t v = open.back();
      open.pop_back();
      const std::uint32_t from = producer(v);
      if (from == no_id || again[from] == 0) {
        if (values_[v].resident) continue;
        out.kept.push_back(v);
        if (stored[values_[v].storage] == 0) out.bytes_after += values_[v].bytes;
        stored[values_[v].storage] = 1;
        continue;
      }
      if (ran[from] != 0) continue;
      ran[from] = 1;
      out.extra += ops_[from].time;
      out.again.push_back(from);
      for (const std::uint32_t x : reads(from))
        if (wanted[x] == 0) {
          wanted[x] = 1;
          open.push_back(x);
        }
    }
    std::sort(out.again.begin(), out.again.end());
    std::sort(out.kept.begin(), out.kept.end());
    return out;
  }

  /// Bytes that recomputing this op could free at the most: what it writes and the backward pass reads, each storage
  /// once. Freed by a set is at most the sum over its ops, whatever must be kept instead.
  [[nodiscard]] std::int64_t most_freed(std::uint32_t o) const {
    std::int64_t most = 0;
    const auto list = writes(o);
    for (std::size_t i = 0; i < list.size(); ++i) {
      bool counted = !values_[list[i]].needed || producer(list[i]) == no_id;
      for (std::size_t k = 0; k < i; ++k)
        counted = counted || (values_[list[k]].storage == values_[list[i]].storage && values_[list[k]].needed);
      if (!counted) most += values_[list[i]].bytes;
    }
    return most;
  }

 private:
  /// By this op or a later one.
  [[nodiscard]] bool overwritten_from(std::uint32_t v, std::uint32_t o) const noexcept {
    const std::uint32_t by = values_[values_[v].storage].overwriter;
    return by != no_id && by >= o;
  }
  struct value {
    std::int64_t bytes;
    std::uint32_t storage, producer;  // the last op that wrote it
    bool needed, resident, there;
    // Of the value that names the storage: the last op that overwrote it, and whether ops have written it, and several.
    std::uint32_t overwriter = no_id;
    bool written = false, several = false;
  };
  struct op {
    std::uint32_t first, reads, writes;
    ticks time;
  };
  std::vector<value> values_;
  std::vector<op> ops_;
  std::vector<std::uint32_t> edges_;
};

/// The answer: a set of ops to compute again, and how good it is.
struct replay_plan {
  std::vector<std::uint32_t> ops;  ///< ascending
  replay_effect effect;
  std::int64_t most_possible = 0;  ///< no set of that size frees more
  bool proved = false;             ///< freed == the most possible, or the search was exhaustive
};

/// Which ops are worth computing again?
struct replay_problem {
  replay_graph graph;
  std::size_t max_ops = 1;
};
struct replay_options {
  std::int64_t budget = 200'000;  ///< sets that are looked at
};

namespace detail {

/// The search of solve(replay_problem).
class replay_search {
 public:
  replay_search(const replay_problem& problem, const replay_options& options)
      : graph_(problem.graph), max_ops_(problem.max_ops), budget_(options.budget), most_(graph_.op_count(), 0) {
    for (std::uint32_t o = 0; o < graph_.op_count(); ++o) {
      const auto list = graph_.writes(o);
      const auto made_here = [&](std::uint32_t v) { return graph_.producer(v) == o; };
      if (std::any_of(list.begin(), list.end(), made_here)) candidates_.push_back(o);
      most_[o] = graph_.most_freed(o);
    }
    const auto frees_more = [&](std::uint32_t a, std::uint32_t b) {
      return most_[a] != most_[b] ? most_[a] > most_[b] : a < b;
    };
    std::sort(candidates_.begin(), candidates_.end(), frees_more);
  }

  [[nodiscard]] replay_plan operator()() {
    best_.effect = graph_.effect_of({});
    best_.most_possible = most_of(0, max_ops_);
    while (budget_ >= 0 && add_greedily()) {
    }
    std::vector<std::uint32_t> none;
    search(none, 0, 0, 0);
    if (budget_ >= 0) best_.most_possible = best_.effect.freed();
    best_.proved = best_.effect.freed() == best_.most_possible;
    std::sort(best_.ops.begin(), best_.ops.end());
    return std::move(best_);
  }

 private:
  [[nodiscard]] static bool better(const replay_effect& a, const replay_effect& b) noexcept {
    return a.freed() != b.freed() ? a.freed() > b.freed() : a.extra < b.extra;
  }
  /// What so many candidates from one on could free at the most: they are sorted.
  [[nodiscard]] std::int64_t most_of(std::size_t from, std::size_t count) const {
    std::int64_t sum = 0;
    for (std::size_t i = from; i < candidates_.size() && i - from < count; ++i) sum += most_[candidates_[i]];
    return sum;
  }
  /// The op that makes the largest value that `o` reads and that `set` lacks; no_id: none.
  [[nodiscard]] std::uint32_t largest_producer(std::uint32_t o, const std::vector<std::uint32_t>& set) const {
    std::uint32_t found = no_id;
    std::int64_t largest = -1;
    for (const std::uint32_t v : graph_.reads(o)) {
      const std::uint32_t from = graph_.producer(v);
      if (from == no_id || graph_.bytes(v) <= largest || std::find(set.begin(), set.end(), from) != set.end()) continue;
      found = from;
      largest = graph_.bytes(v);
    }
    return found;
  }

  /// Adds the op that frees most, alone or with the ops that make its largest input; false if none frees more.
  bool add_greedily() {
    constexpr int max_chain = 3;  // an op, and two that make inputs: longer ones are left to the search
    const std::vector<std::uint32_t> before = best_.ops;
    bool found = false;
    for (const std::uint32_t o : candidates_) {
      if (std::find(before.begin(), before.end(), o) != before.end()) continue;
      std::vector<std::uint32_t> trial = before;
      std::uint32_t next = o;
      for (int chain = 0; chain < max_chain && next != no_id && trial.size() < max_ops_; ++chain) {
        trial.push_back(next);
        found = keep_if_better(trial, graph_.effect_of(trial)) || found;
        if (--budget_ < 0) return found;
        next = largest_producer(next, trial);
      }
    }
    return found;
  }
  bool keep_if_better(const std::vector<std::uint32_t>& set, const replay_effect& effect) {
    if (!better(effect, best_.effect)) return false;
    best_.effect = effect;
    best_.ops = set;
    return true;
  }

  /// Depth first over the candidates from one on, largest first.
  void search(std::vector<std::uint32_t>& set, std::size_t from, std::int64_t sum, ticks extra) {
    for (std::size_t i = from; i < candidates_.size(); ++i) {
      const std::int64_t reachable = sum + most_of(i, max_ops_ - set.size());
      if (reachable < best_.effect.freed()) return;  // later ones have no more
      if (reachable == best_.effect.freed() && extra >= best_.effect.extra) return;
      if (--budget_ < 0) return;
      set.push_back(candidates_[i]);
      const replay_effect effect = graph_.effect_of(set);
      keep_if_better(set, effect);
      if (set.size() < max_ops_) search(set, i + 1, sum + most_[candidates_[i]], effect.extra);
      set.pop_back();
    }
  }

  const replay_graph& graph_;
  std::size_t max_ops_;
  std::int64_t budget_;
  std::vector<std::uint32_t> candidates_;  // ops that write something that can be made again, most freed first
  std::vector<std::int64_t> most_;         // of each op, what it can free at the most
  replay_plan best_;
};

}  // namespace detail

/// The set of at most `max_ops` ops that frees most. Chosen greedily, then, within the budget, searched exhaustively
/// under the bound of most_freed(). Ties go to less extra time, then to what is looked at first, which is the same
/// everywhere.
/// Complexity: greedy O(max_ops · candidates · ops); exact: the budget times O(ops).
///
///     const auto best = hocket::planner::solve(hocket::planner::replay_problem{graph, 3});
///     best.effect.freed();  best.proved;
[[nodiscard]] inline replay_plan solve(const replay_problem& problem, const replay_options& options = {}) {
  return detail::replay_search(problem, options)();
}

}  // namespace hocket::inline HOCKET_ABI::planner
