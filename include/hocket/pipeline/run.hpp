// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/detail/list_position.hpp>
#include <hocket/pipeline/detail/run_bound.hpp>
#include <hocket/pipeline/detail/run_deadlock.hpp>
#include <hocket/pipeline/detail/run_results.hpp>
#include <hocket/pipeline/detail/run_units.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The figures of a whole run.
struct run_summary {
  ticks makespan = 0;
  ticks lower_bound = 0;  ///< no order of the same actions on the same ranks can be shorter
  run_bounds bounds{};    ///< the reasons: lower_bound is the largest of them
  /// How far from the least possible, in ticks.
  [[nodiscard]] constexpr ticks gap() const noexcept { return makespan - lower_bound; }
  friend constexpr bool operator==(const run_summary&, const run_summary&) = default;
};

/// A sink that keeps nothing: the run is wanted for its figures.
struct no_sink {
  constexpr void on_action(std::uint32_t, std::uint32_t, stage_action, ticks, ticks) const noexcept {}
  constexpr void on_blocked(const blocked&) const noexcept {}
};

namespace detail {

/// An aggregate, because g++ 12 warns in the host's file when a host's global shares its name with a parameter of a
/// template's constructor.
template <schedule S, cost_policy C, class Allocator, class Sink>
struct runner {
  const S& plan_;
  const C& costs_;
  basic_workspace<Allocator>& memory_;
  Sink& sink_;
  std::uint32_t ranks_ = plan_.ranks();
  std::uint32_t stages_ = plan_.ranks() * plan_.chunks();  // of one direction
  std::uint32_t micro_batches_ = plan_.micro_batches();
  std::uint32_t slices_ = slices_of(plan_);
  std::uint32_t directions_ = directions_of(plan_);
  std::uint32_t units_ = 0;  // micro-batches x slices: what passes through a stage
  waiting_results<Allocator> results_{memory_};
  unit_sets<Allocator> sets_{memory_};
  typename basic_workspace<Allocator>::template vector<list_position<S>> lists_{memory_.runnable.get_allocator()};
  error error_{};
  ticks negative_ = 0;  // a time that no cost policy may give

  using lane = typename basic_workspace<Allocator>::lane;
  using stage = typename basic_workspace<Allocator>::stage;
  static constexpr bool has_links = linked_costs<C>;
  static constexpr bool has_bytes = byte_costs<C>;
  static constexpr ticks max_ticks = (std::numeric_limits<ticks>::max)() / 2;

  static constexpr std::uint32_t steps_a_turn = 8;  // more keep more results waiting, fewer change ranks more often

  enum class verdict : std::uint8_t { go, wait, wrong };
  struct input {
    ticks ready = 0;   // when the last of what an action needs is here
    ticks travel = 0;  // how long that was on its way
  };

  constexpr result<run_summary> operator()() {
    if (const result<std::uint64_t> total = units_of(plan_, "stages x micro-batches to simulate"); !total)
      return total.error();
    units_ = micro_batches_ * slices_;
    prepare();
    if (negative_ < 0) return negative_time(negative_);
    if constexpr (has_links) number_links();
    // In-order lists have one earliest execution, so the order in which ranks are advanced does not matter.
    for (std::uint32_t r = ranks_; r-- > 0;) memory_.later.push_back(r);
    while (!memory_.later.empty()) {
      memory_.runnable.swap(memory_.later);
      while (!memory_.runnable.empty()) {
        const std::uint32_t r = memory_.runnable.back();
        memory_.runnable.pop_back();
        if (!advance(r)) return error_;
      }
    }
    for (const lane& l : memory_.lanes)
      if (l.step < l.size) return deadlock_explanation<S, Allocator>(plan_, memory_).tell(sink_);
    if (negative_ < 0) return negative_time(negative_);
    if (!complete()) return error_;
    return summary();
  }

  constexpr run_summary summary() {
    run_summary all;
    for (const lane& l : memory_.lanes) all.makespan = l.report.finish > all.makespan ? l.report.finish : all.makespan;
    for (lane& l : memory_.lanes) {
      const ticks rest = all.makespan - l.report.finish;
      l.report.idle = all.makespan - l.report.busy;
      l.report.idle_by.drain += l.undecided + rest;
      l.report.idle_by.dependency += rest;
    }
    all.bounds = bound_of_run<S, C, Allocator>(plan_, costs_, memory_)();
    all.lower_bound = all.bounds.largest();
    return all;
  }

  constexpr void prepare() {
    memory_.reset(std::size_t{stages_} * directions_, ranks_);
    results_.make(std::size_t{stages_} * directions_ * 2 * 2);
    const auto place = plan_.placement();
    const auto hop = [&](std::uint32_t from, std::uint32_t to) {
      const ticks t = from == to ? 0 : static_cast<ticks>(costs_.latency(from, to));
      negative_ = t < negative_ ? t : negative_;
      return t > max_ticks ? max_ticks : t;
    };
    lists_.reserve(ranks_);
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      memory_.lanes[r].size = plan_.size(r);
      lists_.push_back({plan_, r, 0});
      read_cell(r);
    }
    for (std::uint32_t d = 0; d < directions_; ++d) {
      stage* const stages = memory_.stages.data() + std::size_t{d} * stages_;
      for (std::uint32_t s = 0; s < stages_; ++s) stages[s].rank = rank_of(place, ranks_, s, d);
      for (std::uint32_t s = 0; s < stages_; ++s) {
        if (s > 0) {
          stages[s].forward_sender = stages[s - 1].rank;
          stages[s].forward_hop = hop(stages[s - 1].rank, stages[s].rank);
        }
        if (s + 1 < stages_) {
          stages[s].backward_sender = stages[s + 1].rank;
          stages[s].backward_hop = hop(stages[s + 1].rank, stages[s].rank);
        }
      }
    }
  }
  /// Gives a number to every ordered pair of ranks between which something is sent: those of one sender in a chain.
  constexpr void number_links() {
    constexpr std::uint32_t none = basic_workspace<Allocator>::none;
    typename basic_workspace<Allocator>::template vector<std::uint32_t> first(ranks_, none,
                                                                              memory_.runnable.get_allocator());
    const auto number_of = [&](std::uint32_t from, std::uint32_t to) {
      std::uint32_t at = first[from];
      while (at != none && memory_.links[at].to != to) at = memory_.links[at].next;
      if (at != none) return at;
      at = static_cast<std::uint32_t>(memory_.links.size());
      memory_.links.push_back({to, first[from]});
      first[from] = at;
      return at;
    };
    for (std::uint32_t n = 0; n < stages_ * directions_; ++n) {
      stage& s = memory_.stages[n];
      if (n % stages_ > 0) s.forward_link = number_of(s.forward_sender, s.rank);
      if (n % stages_ + 1 < stages_) s.backward_link = number_of(s.backward_sender, s.rank);
    }
  }
  /// Reads the action at which a rank stands, and the one beside it if it is one of a pair.
  constexpr void read_cell(std::uint32_t rank) {
    lane& l = memory_.lanes[rank];
    if (l.step >= l.size) return;
    l.now = read(rank);
    l.pair = l.now.joined() && l.step + 1 < l.size;
    if (l.pair) l.beside = read(rank);
  }
  constexpr stage_action read(std::uint32_t rank) {
    list_position<S>& list = lists_[rank];
    const stage_action a = to_stage_action(plan_, rank, list.read(plan_));
    list.advance(plan_);
    return a;
  }

  /// Whether `a` can start now, and if so when at the earliest.
  constexpr verdict ready(std::uint32_t rank, stage_action a, input& in) {
    if (!is_compute(a.kind())) return verdict::go;
    const std::uint32_t s = a.stage(), t = a.slice();
    if (s >= stages_) return out_of_range(s, stages_, "stage");
    if (a.direction() >= directions_) return out_of_range(a.direction(), directions_, "direction");
    if (a.micro_batch() >= micro_batches_) return out_of_range(a.micro_batch(), micro_batches_, "micro-batch");
    if (t >= slices_) return out_of_range(t, slices_, "slice");
    const std::uint32_t number = a.direction() * stages_ + s, u = a.micro_batch() * slices_ + t;
    const stage& here = memory_.stages[number];
    if (here.rank != rank) {
      error_ = error{errc::misplaced_action, std::int64_t{rank} + 1, s, std::int64_t{here.rank} + 1,
                     std::int64_t{memory_.lanes[rank].step} + 1};
      return verdict::wrong;
    }
    switch (a.kind()) {
      case action_kind::forward:
        if (t > 0 && !sets_.contains(here.forwards, u - 1)) return not_yet(here.forwards, a, rank, u);
        if (s > 0 && !receive(input_of(a, number), in)) return not_yet(here.forwards, a, rank, u);
        break;
      case action_kind::backward:
      case action_kind::input_grad:
        if (!sets_.contains(here.forwards, u)) return not_yet(here.backwards, a, rank, mirrored(u));
        if (t + 1 < slices_ && !sets_.contains(here.backwards, mirrored(u + 1)))
          return not_yet(here.backwards, a, rank, mirrored(u));
        if (s + 1 < stages_ && !receive(input_of(a, number), in)) return not_yet(here.backwards, a, rank, mirrored(u));
        break;
      default:
        if (!sets_.contains(here.backwards, mirrored(u))) return not_yet(here.weights, a, rank, u);
        break;
    }
    return verdict::go;
  }
  constexpr verdict out_of_range(std::uint32_t value, std::uint32_t limit, std::string_view what) {
    error_ = error{errc::out_of_range, value, 0, std::int64_t{limit} - 1}.with(what);
    return verdict::wrong;
  }
  /// It has to wait; for ever, if it has run already.
  constexpr verdict not_yet(const unit_set& done, stage_action a, std::uint32_t rank, std::uint32_t unit) {
    if (!sets_.contains(done, unit)) return verdict::wait;
    duplicate(a, rank, memory_.lanes[rank].step);
    return verdict::wrong;
  }
  constexpr bool duplicate(stage_action a, std::uint32_t rank, std::uint32_t step) {
    constexpr std::string_view names[] = {"the forward", "the backward", "the input gradient", "the weight gradient"};
    error_ = error{errc::duplicate_action, rank, a.stage(), a.micro_batch(), step}.with(
        names[static_cast<std::size_t>(a.kind())]);
    return false;
  }
  /// Backwards take the slices of a micro-batch in reverse: numbered so that they, too, ascend.
  [[nodiscard]] constexpr std::uint32_t mirrored(std::uint32_t u) const noexcept {
    return slices_ == 1 ? u : u - u % slices_ + (slices_ - 1 - u % slices_);
  }
  /// The number of a result among those that wait: that of the stage which gets it, the way it comes, its unit.
  [[nodiscard]] constexpr std::uint64_t result_number(std::uint32_t to_stage, bool forward,
                                                      std::uint32_t unit) const noexcept {
    return (2 * std::uint64_t{to_stage} + (forward ? 0 : 1)) * units_ + unit;
  }
  [[nodiscard]] constexpr std::uint64_t input_of(stage_action a, std::uint32_t number) const noexcept {
    return result_number(number, a.kind() == action_kind::forward, unit_of(a));
  }
  [[nodiscard]] constexpr bool receive(std::uint64_t number, input& in) const noexcept {
    const waiting_result* const found = results_.find(number);
    if (found == nullptr) return false;
    if (found->ready > in.ready) in = {found->ready, found->travel};
    return true;
  }

  /// Runs a rank until it is done or blocked, but at most some steps a turn, so that others use its results before they
  /// become many. False after an error.
  constexpr bool advance(std::uint32_t rank) {
    lane& l = memory_.lanes[rank];
    for (std::uint32_t left = steps_a_turn; l.step < l.size; --left) {
      if (left == 0) {
        memory_.later.push_back(rank);
        return true;
      }
      input in;
      verdict v = ready(rank, l.now, in);
      if (v == verdict::go && l.pair) v = ready(rank, l.beside, in);
      if (v != verdict::go) {
        l.waits = true;
        return v == verdict::wait;
      }
      if (!run_cell(rank, l, in)) return false;
      l.step += l.pair ? 2 : 1;
      read_cell(rank);
    }
    return true;
  }
  /// What can start, starts and ends. False after an error.
  constexpr bool run_cell(std::uint32_t rank, lane& l, const input& in) {
    const stage_action a = l.now, b = l.beside;
    if (!has_time(a) || (l.pair && !has_time(b))) return false;
    ticks time = costs_.duration(a), finish = 0;
    if (l.pair && !pair_time(a, b, time)) return false;
    if (time < 0) {
      error_ = negative_time(time);
      return false;
    }
    const ticks before = l.report.finish, start = in.ready > before ? in.ready : before;
    if (!checked_add(start, time, finish) || finish > max_ticks) {
      error_ = error{errc::overflow, start, time}.with("simulated time");
      return false;
    }
    if (start > before) wait_for(l, start - before, in.travel);
    l.report.finish = finish;
    l.report.busy += time;
    if (is_compute(a.kind()) || (l.pair && is_compute(b.kind()))) l.computing += time;
    if (l.pair && !hold_both(l, b)) return false;
    if (!finish_action(rank, l, l.step, a, start, finish, time)) return false;
    return !l.pair || finish_action(rank, l, l.step + 1, b, start, finish, b.stage() == a.stage() ? 0 : time);
  }
  /// Costs may know that they have no time for an action: lists that are too short.
  constexpr bool has_time(stage_action a) {
    if constexpr (knowing_costs<C>) {
      if (costs_.knows(a)) return true;
      error_ = error{errc::untimed_action, a.stage()}.with(to_string(a.kind()));
      return false;
    } else {
      return true;
    }
  }
  static constexpr error negative_time(ticks time) noexcept {
    return error{errc::invalid_argument, time}.with("a negative time");
  }
  constexpr void wait_for(lane& l, ticks gap, ticks travel) {
    idle_split& by = l.report.idle_by;
    const ticks coming = travel < gap ? travel : gap;
    by.communication += coming;
    by.dependency += gap - coming;
    if (l.backwards_began) l.undecided += gap;
    else by.warm_up += gap;
  }
  constexpr bool pair_time(stage_action a, stage_action b, ticks& time) {
    if constexpr (requires { costs_.joined(a, b); }) {
      time = costs_.joined(a, b);
    } else if (!checked_add(time, static_cast<ticks>(costs_.duration(b)), time)) {
      error_ = error{errc::overflow, time}.with("simulated time");
      return false;
    }
    return true;
  }
  /// The second of a pair takes its memory before the first lets go of any.
  constexpr bool hold_both(lane& l, stage_action second) {
    rank_report& report = l.report;
    if (second.kind() == action_kind::forward && l.in_flight >= std::int64_t{report.peak_in_flight})
      report.peak_in_flight = static_cast<std::uint32_t>(l.in_flight + 1);
    if constexpr (has_bytes) {
      const std::int64_t change = costs_.memory_change(second);
      std::int64_t both = 0;
      if (!checked_add(l.bytes, change, both)) {
        error_ = error{errc::overflow, l.bytes, change}.with("bytes held");
        return false;
      }
      report.peak_bytes = both > report.peak_bytes ? both : report.peak_bytes;
    }
    return true;
  }
  constexpr bool finish_action(std::uint32_t rank, lane& l, std::uint32_t step, stage_action a, ticks start,
                               ticks finish, ticks time) {
    sink_.on_action(rank, step, a, start, finish);
    if constexpr (has_bytes) {
      const std::int64_t change = costs_.memory_change(a), before = l.bytes;
      if (!checked_add(before, change, l.bytes)) {
        error_ = error{errc::overflow, before, change}.with("bytes held");
        return false;
      }
      l.report.peak_bytes = l.bytes > l.report.peak_bytes ? l.bytes : l.report.peak_bytes;
    }
    if (!is_compute(a.kind())) return true;
    return a.kind() == action_kind::forward ? finish_forward(rank, l, step, a, finish, time)
                                            : finish_backward(rank, l, step, a, finish, time);
  }
  constexpr bool finish_forward(std::uint32_t rank, lane& l, std::uint32_t step, stage_action a, ticks finish,
                                ticks time) {
    const std::uint32_t number = number_of(a), u = unit_of(a);
    stage& here = memory_.stages[number];
    if (!sets_.insert(here.forwards, u, units_)) return duplicate(a, rank, step);
    ++l.in_flight;
    if (l.in_flight > l.report.peak_in_flight) l.report.peak_in_flight = static_cast<std::uint32_t>(l.in_flight);
    l.report.idle_by.steady += l.undecided;
    l.undecided = 0;
    here.work += time;
    if (a.stage() > 0) results_.take(input_of(a, number));
    if (a.stage() + 1 < stages_) send(number + 1, true, a, finish);
    return true;
  }
  constexpr bool finish_backward(std::uint32_t rank, lane& l, std::uint32_t step, stage_action a, ticks finish,
                                 ticks time) {
    const std::uint32_t number = number_of(a), u = unit_of(a);
    stage& here = memory_.stages[number];
    if (ends_activation(a.kind())) {
      if (!sets_.insert(here.weights, u, units_)) return duplicate(a, rank, step);
      --l.in_flight;
      if (a.kind() == action_kind::weight_grad) return true;
    }
    if (!sets_.insert(here.backwards, mirrored(u), units_)) return duplicate(a, rank, step);
    l.backwards_began = true;
    here.work += time;
    (a.kind() == action_kind::backward ? here.fused : here.split) = true;
    if (a.stage() + 1 < stages_) results_.take(input_of(a, number));
    if (a.stage() > 0) send(number - 1, false, a, finish);
    return true;
  }
  [[nodiscard]] constexpr std::uint32_t number_of(stage_action a) const noexcept {
    return a.direction() * stages_ + a.stage();
  }
  [[nodiscard]] constexpr std::uint32_t unit_of(stage_action a) const noexcept {
    return a.micro_batch() * slices_ + a.slice();
  }
  /// When a result is there: a hop after its end, behind what the link carries before.
  constexpr ticks arrival_at(const stage& to, bool forward, stage_action a, ticks finish) {
    const ticks hop = forward ? to.forward_hop : to.backward_hop;
    if constexpr (has_links) {
      const std::uint32_t from = forward ? to.forward_sender : to.backward_sender;
      if (from != to.rank) {
        auto& link = memory_.links[forward ? to.forward_link : to.backward_link];
        const ticks begin = link.free_from > finish ? link.free_from : finish;
        const ticks time = costs_.transfer(a, from, to.rank);
        negative_ = time < negative_ ? time : negative_;
        link.free_from = time > max_ticks - begin ? max_ticks : begin + time;
        link.work += link.free_from - begin;
        return hop > max_ticks - link.free_from ? max_ticks + 1 : link.free_from + hop;  // seen when it is used
      }
    }
    return finish + hop;
  }
  constexpr void send(std::uint32_t number, bool forward, stage_action a, ticks finish) {
    const stage& to = memory_.stages[number];
    const ticks arrival = arrival_at(to, forward, a, finish);
    results_.put({result_number(number, forward, unit_of(a)), arrival, arrival - finish});
    lane& receiver = memory_.lanes[to.rank];
    if (!receiver.waits) return;
    receiver.waits = false;
    memory_.runnable.push_back(to.rank);
  }

  /// Every forward, every backward and every weight gradient has run.
  [[nodiscard]] constexpr bool complete() {
    for (std::uint32_t n = 0; n < stages_ * directions_; ++n) {
      const stage& here = memory_.stages[n];
      if (here.weights.size == units_) continue;  // each was let in after its backward, that after its forward
      for (std::uint32_t u = 0; u < units_; ++u) {
        std::string_view missing;
        if (!sets_.contains(here.forwards, u)) missing = "the forward";
        else if (!sets_.contains(here.backwards, mirrored(u))) missing = "the backward";
        else if (!sets_.contains(here.weights, u)) missing = "the weight gradient";
        else continue;
        error_ = error{errc::incomplete_schedule, here.rank, n % stages_, u / slices_}.with(missing);
        return false;
      }
    }
    return true;
  }
};

}  // namespace detail

/// Runs the lists in order, each action as early as its rank and its inputs allow: the one execution that every
/// in-order runtime with enough buffers approaches. The core under `simulate`; use it directly in constant expressions
/// or to send events elsewhere than into a timeline. Send and receive actions in a list take the time that the policy
/// gives them on their rank, but the data flows by itself: see `check` for what they mean.
/// @param costs   durations and latencies; with the optional members described at cost_policy also the time on a
///                link, of pairs, and the bytes held
/// @param memory  working memory, reusable; afterwards `memory.lanes[r].report` describes rank r
/// @param sink    on_action(rank, step, action, start, finish) for each action, in an order that respects data flow;
///                on_blocked(link) for each link of the shortest cycle, if the schedule deadlocks
/// Errors: errc::deadlock, incomplete_schedule, duplicate_action, misplaced_action, out_of_range, overflow,
/// limit_exceeded; invalid_argument for a negative time.
/// Complexity: O(actions) time; memory: see basic_workspace.
///
///     using namespace hocket::pipeline;
///     constexpr hocket::ticks t = [] {
///       constexpr_workspace memory;
///       return run(one_f_one_b::make({.ranks = 2, .micro_batches = 3}).value(), costs{}, memory).value().makespan;
///     }();
///     static_assert(t == 12);
template <schedule S, cost_policy C, class Allocator, class Sink = no_sink>
constexpr result<run_summary> run(const S& plan, const C& costs, basic_workspace<Allocator>& memory, Sink&& sink = {}) {
  static_assert(detail::is_schedule<S>() && detail::is_cost_policy<C>());
  return detail::runner<S, C, Allocator, std::remove_reference_t<Sink>>{plan, costs, memory, sink}();
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
