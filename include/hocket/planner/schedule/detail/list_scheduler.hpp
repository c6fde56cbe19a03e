// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/pipeline/action.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// One action in the order in which it starts.
struct placed {
  std::uint32_t rank, stage, micro_batch;
  pipeline::action_kind kind;
};

/// What a search knows of a pipeline. Micro-batches are alike, so every stage takes them in order, at no loss.
struct search_input {
  std::uint32_t ranks = 1, stages = 1, micro_batches = 1;
  bool split = false;  ///< backwards in two halves
  ticks hop = 0;
  std::vector<std::uint32_t> rank_of;             // by stage
  std::vector<std::vector<std::uint32_t>> owned;  // stages by rank, in model order
  std::vector<ticks> forward, backward, weight;   // by stage; weight is 0 unless split
  std::vector<std::uint32_t> cap;                 // by rank

  [[nodiscard]] ticks hop_between(std::uint32_t a, std::uint32_t b) const noexcept {
    return rank_of[a] == rank_of[b] ? 0 : hop;
  }
  /// Kinds are forwards, backwards (or their first halves), weight gradients.
  [[nodiscard]] std::uint32_t kinds() const noexcept { return split ? 3 : 2; }
  [[nodiscard]] ticks time(std::uint32_t kind, std::uint32_t s) const noexcept {
    return kind == 0 ? forward[s] : kind == 1 ? backward[s] : weight[s];
  }
  [[nodiscard]] pipeline::action_kind name(std::uint32_t kind) const noexcept {
    using pipeline::action_kind;
    return kind == 0 ? action_kind::forward
         : kind == 2 ? action_kind::weight_grad
         : split     ? action_kind::input_grad
                     : action_kind::backward;
  }
  /// A letter is a kind of action of a stage: those of a letter are one for each micro-batch.
  [[nodiscard]] std::uint32_t letter(pipeline::action_kind kind, std::uint32_t s) const noexcept {
    using pipeline::action_kind;
    return s + (kind == action_kind::forward ? 0 : kind == action_kind::weight_grad ? 2 : 1) * stages;
  }
  [[nodiscard]] std::uint32_t kind_of(std::uint32_t letter) const noexcept { return letter / stages; }
  [[nodiscard]] std::uint32_t stage_of(std::uint32_t letter) const noexcept { return letter % stages; }
  [[nodiscard]] std::uint32_t rank_of_letter(std::uint32_t letter) const noexcept { return rank_of[stage_of(letter)]; }
  [[nodiscard]] placed action(std::uint32_t letter, std::uint32_t micro_batch) const noexcept {
    return {rank_of_letter(letter), stage_of(letter), micro_batch, name(kind_of(letter))};
  }
  /// Whether the rank may hold less than all of its activations at once.
  [[nodiscard]] bool is_scarce(std::uint32_t r) const noexcept { return cap[r] < owned[r].size() * micro_batches; }
};

/// Lower bounds on the time from the start of the k-th forward (backward) of a stage to the end of the step: the rank
/// of the stage has at least so much to do after it, and so has every stage that the micro-batch still passes.
struct tails {
  explicit tails(const search_input& in)
      : m(in.micro_batches), forward(std::size_t{in.stages} * m), backward(std::size_t{in.stages} * m) {
    const std::uint32_t n = in.stages;
    std::vector<ticks> chain(n);  // after a backward of the stage: those of all earlier stages, and a weight gradient
    for (std::uint32_t s = 0; s < n; ++s)
      chain[s] = s == 0 ? in.weight[0] : chain[s - 1] + in.backward[s - 1] + in.hop_between(s - 1, s);
    last_tail.assign(in.ranks, 0);
    if (!in.split)
      for (std::uint32_t r = 0; r < in.ranks; ++r) last_tail[r] = chain[in.owned[r].front()];
    for (std::uint32_t s = 0; s < n; ++s) {
      const std::uint32_t r = in.rank_of[s];
      ticks each = 0;
      for (const std::uint32_t x : in.owned[r]) each += x <= s ? in.backward[x] + in.weight[x] : 0;
      for (std::uint32_t k = 0; k < m; ++k) {
        ticks t = ticks{m - k} * each + last_tail[r];
        const ticks own = ticks{m - 1 - k} * in.backward[s] + in.backward[s] + (s == 0 ? in.weight[0] : chain[s]);
        t = own > t ? own : t;
        if (s > 0) {
          const ticks below = in.backward[s] + in.hop_between(s - 1, s) + at(backward, s - 1, k);
          t = below > t ? below : t;
        }
        at(backward, s, k) = t;
      }
    }
    for (std::uint32_t s = n; s-- > 0;) {
      const std::uint32_t r = in.rank_of[s];
      ticks each = 0;
      for (const std::uint32_t x : in.owned[r]) each += in.backward[x] + in.weight[x] + (x >= s ? in.forward[x] : 0);
      for (std::uint32_t k = 0; k < m; ++k) {
        const ticks t = ticks{m - k} * each + last_tail[r];
        const ticks next =
            in.forward[s] + (s + 1 < n ? in.hop_between(s, s + 1) + at(forward, s + 1, k) : at(backward, s, k));
        at(forward, s, k) = next > t ? next : t;
      }
    }
  }
  [[nodiscard]] ticks& at(std::vector<ticks>& v, std::uint32_t s, std::uint32_t k) const noexcept {
    return v[std::size_t{s} * m + k];
  }
  std::uint32_t m;
  std::vector<ticks> forward, backward;
  std::vector<ticks> last_tail;  ///< by rank: least time after its last action
};

/// A schedule of the question turned round in time, with forwards for whole backwards, as one of the question, and the
/// other way about.
[[nodiscard]] inline std::vector<placed> turned_back(const search_input& in, const std::vector<placed>& list) {
  std::vector<placed> out;
  for (std::size_t i = list.size(); i-- > 0;) {
    placed x = list[i];
    x.kind =
        x.kind == pipeline::action_kind::forward ? pipeline::action_kind::backward : pipeline::action_kind::forward;
    x.micro_batch = in.micro_batches - 1 - x.micro_batch;
    out.push_back(x);
  }
  return out;
}

/// How a greedy run chooses among what is ready.
struct greedy_rule {
  enum class order : std::uint8_t { backward_first, alternate, longest_tail, forward_first };
  order first = order::backward_first;
  bool eager_weights = false;  ///< weight gradients before forwards, not only where nothing else can run
  bool deepest = false;        ///< of several forwards the last stage's, not the one with most to come
  std::uint32_t lead = 0;      ///< at most so many activations more than 1F1B's; large: as many as the cap allows
  ticks patience = 0;          ///< a forward gives way to a backward that can start so soon
  std::vector<ticks> bonus{};  ///< by stage: added to what is still to come after its forward; empty: 0
  std::vector<std::uint32_t> most{};  ///< by stage: activations held of it; empty: any
};

/// The state of a partly built schedule, with everything that greedy runs need of it.
class partial_schedule {
 public:
  static constexpr ticks never = (std::numeric_limits<ticks>::max)() / 4;

  explicit partial_schedule(const search_input& of) : in(of) { reset(); }
  void reset() {
    forwards.assign(in.stages, 0), backwards.assign(in.stages, 0), weights.assign(in.stages, 0);
    held.assign(in.ranks, 0), free_at.assign(in.ranks, 0), left.assign(in.ranks, 0);
    forward_end.assign(std::size_t{in.stages} * in.micro_batches, never);
    backward_end = forward_end;
    list.clear();
    for (std::uint32_t s = 0; s < in.stages; ++s)
      left[in.rank_of[s]] += ticks{in.micro_batches} * (in.forward[s] + in.backward[s] + in.weight[s]);
    remaining = std::uint64_t{in.stages} * in.micro_batches * (in.split ? 3 : 2);
  }

  /// When the next forward or backward of a stage could start, its rank aside; `never` if what it needs has not
  /// started.
  [[nodiscard]] ticks forward_ready(std::uint32_t s) const noexcept {
    const std::uint32_t k = forwards[s];
    if (k == in.micro_batches) return never;
    return s == 0 ? 0 : end_plus(forward_end, s - 1, k, in.hop_between(s - 1, s));
  }
  [[nodiscard]] ticks backward_ready(std::uint32_t s) const noexcept {
    const std::uint32_t k = backwards[s];
    if (k == in.micro_batches) return never;
    const ticks own = forward_end[index(s, k)];
    if (s + 1 == in.stages) return own;
    const ticks next = end_plus(backward_end, s + 1, k, in.hop_between(s, s + 1));
    return own > next ? own : next;
  }
  /// When the oldest pending weight gradient of a stage could start.
  [[nodiscard]] ticks weight_ready(std::uint32_t s) const noexcept {
    return in.split && weights[s] < backwards[s] ? backward_end[index(s, weights[s])] : never;
  }

  /// The same of any kind.
  [[nodiscard]] ticks ready(std::uint32_t s, pipeline::action_kind kind) const noexcept {
    return kind == pipeline::action_kind::forward     ? forward_ready(s)
         : kind == pipeline::action_kind::weight_grad ? weight_ready(s)
                                                      : backward_ready(s);
  }

  void start(std::uint32_t s, pipeline::action_kind kind, ticks t) {
    const std::uint32_t r = in.rank_of[s];
    ticks time = 0;
    std::uint32_t k = 0;
    if (kind == pipeline::action_kind::forward) {
      k = forwards[s]++, time = in.forward[s], ++held[r];
      forward_end[index(s, k)] = t + time;
    } else if (kind == pipeline::action_kind::weight_grad) {
      k = weights[s]++, time = in.weight[s], --held[r];
    } else {
      k = backwards[s]++, time = in.backward[s];
      backward_end[index(s, k)] = t + time;
      if (!in.split) --held[r];
    }
    free_at[r] = t + time;
    left[r] -= time;
    --remaining;
    list.push_back({r, s, k, kind});
  }
  [[nodiscard]] ticks finish() const noexcept {
    ticks last = 0;
    for (const ticks x : free_at) last = x > last ? x : last;
    return last;
  }
  [[nodiscard]] std::size_t index(std::uint32_t s, std::uint32_t k) const noexcept {
    return std::size_t{s} * in.micro_batches + k;
  }

  const search_input& in;
  std::vector<std::uint32_t> forwards, backwards, weights;  // started, by stage
  std::vector<std::uint32_t> held;                          // by rank
  std::vector<ticks> free_at, left;                         // by rank
  std::vector<ticks> forward_end, backward_end;
  std::uint64_t remaining = 0;
  std::vector<placed> list;

 private:
  [[nodiscard]] ticks end_plus(const std::vector<ticks>& ends, std::uint32_t s, std::uint32_t k,
                               ticks hop) const noexcept {
    const ticks end = ends[index(s, k)];
    return end == never ? never : end + hop;
  }
};

struct timetable {
  std::vector<ticks> starts;  ///< by letter and micro-batch
  ticks finish;
};
/// When the actions of a list run. @param list  in any order that keeps that of each rank
[[nodiscard]] inline timetable run_in_order(const search_input& in, const std::vector<placed>& list) {
  std::vector<std::vector<const placed*>> rows(in.ranks);
  for (const placed& x : list) rows[x.rank].push_back(&x);
  partial_schedule plan(in);
  std::vector<ticks> starts(std::size_t{in.kinds()} * in.stages * in.micro_batches);
  std::vector<std::size_t> next(in.ranks, 0);
  for (std::size_t before = 1; before != plan.list.size();) {
    before = plan.list.size();
    for (std::uint32_t r = 0; r < in.ranks; ++r)
      for (; next[r] < rows[r].size(); ++next[r]) {
        const placed& x = *rows[r][next[r]];
        const ticks ready = plan.ready(x.stage, x.kind);
        if (ready >= partial_schedule::never) break;
        const ticks t = (std::max)(ready, plan.free_at[r]);
        starts[std::size_t{in.letter(x.kind, x.stage)} * in.micro_batches + x.micro_batch] = t;
        plan.start(x.stage, x.kind, t);
      }
  }
  return {std::move(starts), plan.finish()};
}

/// Builds a schedule in order of time. A rank is asked what to start when it becomes free and when an input arrives:
/// between those, what it may start does not change. False if it runs into a dead end.
/// @param choose  (rank, time) -> whether it started something
/// Complexity: O(actions · log ranks), and `choose` at most three times per action
template <class Choose>
bool run_in_time(partial_schedule& plan, Choose&& choose) {
  const search_input& in = plan.in;
  using moment = std::pair<ticks, std::uint32_t>;
  const auto later = [](const moment& a, const moment& b) { return a > b; };
  std::priority_queue<moment, std::vector<moment>, decltype(later)> events(later);
  for (std::uint32_t r = 0; r < in.ranks; ++r) events.push({0, r});
  while (plan.remaining > 0) {
    if (events.empty()) return false;
    const auto [t, r] = events.top();
    events.pop();
    if (plan.free_at[r] > t || !choose(r, t)) continue;
    const placed x = plan.list.back();
    const ticks end = plan.free_at[r];
    events.push({end, r});
    if (x.kind == pipeline::action_kind::weight_grad) continue;
    const bool forward = x.kind == pipeline::action_kind::forward;
    if (forward ? x.stage + 1 == in.stages : x.stage == 0) continue;
    const std::uint32_t to = forward ? x.stage + 1 : x.stage - 1;
    if (in.rank_of[to] != r) events.push({end + in.hop, in.rank_of[to]});
  }
  return true;
}

/// Builds a schedule by one rule. False if it runs into a dead end. A forward of a later micro-batch never takes the
/// room that the oldest one on the rank still needs, so with caps of at least one activation per chunk it does not.
inline bool run_greedy(partial_schedule& plan, const tails& ends, const greedy_rule& rule) {
  const search_input& in = plan.in;
  const std::uint32_t m = in.micro_batches;
  std::vector<char> backward_next(in.ranks, 0);
  return run_in_time(plan, [&](std::uint32_t r, ticks t) {
    std::uint32_t oldest = m, needs = 0;
    for (const std::uint32_t s : in.owned[r]) oldest = (std::min)(oldest, plan.backwards[s]);
    for (const std::uint32_t s : in.owned[r]) needs += plan.forwards[s] <= oldest ? 1u : 0u;
    const auto chunks = static_cast<std::uint32_t>(in.owned[r].size());
    std::uint32_t limit = in.cap[r];
    if (rule.lead < m * chunks) limit = (std::min)(limit, (chunks - 1) * in.ranks + in.ranks - r + rule.lead);
    std::uint32_t best = in.stages, back = in.stages, weight = in.stages;
    ticks best_tail = -partial_schedule::never, back_tail = -1, soon = partial_schedule::never;
    for (const std::uint32_t s : in.owned[r]) {
      if (plan.forward_ready(s) <= t && plan.held[r] < limit) {
        const bool of_oldest = plan.forwards[s] == oldest;
        const bool few = rule.most.empty() || plan.forwards[s] - plan.backwards[s] < rule.most[s];
        const bool room = of_oldest || (few && plan.held[r] + needs < limit);
        const ticks tail = ends.forward[plan.index(s, plan.forwards[s])] + (rule.bonus.empty() ? 0 : rule.bonus[s]);
        const bool better = rule.deepest ? true : tail >= best_tail;  // stages come in model order
        if (room && better) best = s, best_tail = tail;
      }
      const ticks back_ready = plan.backward_ready(s);
      soon = (std::min)(soon, back_ready);
      if (back_ready <= t) {
        const ticks tail = ends.backward[plan.index(s, plan.backwards[s])];
        if (tail > back_tail) back = s, back_tail = tail;
      }
      if (weight == in.stages && plan.weight_ready(s) <= t) weight = s;
    }
    if (best == in.stages && back == in.stages && weight == in.stages) return false;
    bool forward = best < in.stages;
    if (forward && back < in.stages) {
      switch (rule.first) {
        case greedy_rule::order::backward_first: forward = false; break;
        case greedy_rule::order::forward_first: break;
        case greedy_rule::order::alternate: forward = backward_next[r] == 0; break;
        case greedy_rule::order::longest_tail: forward = best_tail > back_tail; break;
      }
    }
    if (forward && back == in.stages && soon < t + rule.patience) return false;
    const bool any = best < in.stages || back < in.stages;
    const bool use_weight = weight < in.stages && (!any || (forward && rule.eager_weights));
    if (use_weight) plan.start(weight, pipeline::action_kind::weight_grad, t);
    else if (forward) plan.start(best, pipeline::action_kind::forward, t);
    else plan.start(back, in.split ? pipeline::action_kind::input_grad : pipeline::action_kind::backward, t);
    if (!use_weight) backward_next[r] = forward ? 1 : 0;
    return true;
  });
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
