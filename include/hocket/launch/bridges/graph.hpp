// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/capture_plan.hpp>
#include <hocket/graph/steady_stream_plan.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/drive.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

namespace detail {

// The events of ops that somebody waits for, numbered in program order.
struct op_events {
  std::vector<event_id> of;  // by op; no_id: nobody waits for it
  event_id count = 0;

  op_events(std::size_t ops, std::initializer_list<std::span<const graph::stream_wait>> waits) : of(ops, no_id) {
    for (const auto& some : waits)
      for (const graph::stream_wait& w : some) of[w.recorder] = 0;
    for (event_id& e : of)
      if (e != no_id) e = count++;
  }
};

// One step: before each op its waits and what `more(op, stream)` adds; after it the record of event_of(op), if any.
template <class Event, class More>
void append_step(std::vector<command>& out, const graph::stream_plan& plan, const Event& event_of, const More& more) {
  auto wait = plan.waits().begin();
  for (std::size_t i = 0; i < plan.node_count(); ++i) {
    const auto op = static_cast<node_id>(i);
    const auto stream = static_cast<std::uint16_t>(plan.stream_of(op));  // make() refuses what does not fit
    more(op, stream);
    for (; wait != plan.waits().end() && wait->waiter == op; ++wait)
      out.push_back(wait_event(event_of(wait->recorder), stream));
    if (plan.issues(op)) out.push_back(run_op(op, stream));
    if (const event_id e = event_of(op); e != no_id) out.push_back(record_event(e, stream));
  }
}

}  // namespace detail

/// The commands of a stream plan: ops in program order, those that were fused away left out, each after its waits, each
/// recorded once if anyone waits for it. One event per recorder; `reuse_events` needs far fewer. The issue order is
/// topological because plans only have waits that point forward.
/// @return errc::limit_exceeded for more than stream_limit streams
/// Complexity: O(nodes + waits).
///
///     auto plan = hocket::graph::stream_plan::make(dependencies->graph(), streams);
///     auto list = hocket::launch::reuse_events(hocket::launch::from_graph(*plan).value());
[[nodiscard]] inline result<command_list> from_graph(const graph::stream_plan& plan) {
  const detail::op_events events(plan.node_count(), {plan.waits()});
  std::vector<command> out;
  out.reserve(plan.node_count() + plan.waits().size() + events.count);
  detail::append_step(out, plan, [&](node_id op) { return events.of[op]; }, [](node_id, std::uint16_t) {});
  return command_list::make(out, plan.stream_count());
}

/// The commands of a plan that is to be captured: what forks the other streams off the origin, the plan, and what joins
/// them again. Begin the capture on the plan's origin, drive the list, end the capture.
/// @param capture  graph::capture_plan::make of the same plan
/// @return errc::limit_exceeded for more than stream_limit streams
/// Complexity: O(nodes + waits).
///
///     auto capture = hocket::graph::capture_plan::make(*plan);
///     auto list = hocket::launch::from_graph(*plan, *capture);
[[nodiscard]] inline result<command_list> from_graph(const graph::stream_plan& plan,
                                                     const graph::capture_plan& capture) {
  const detail::op_events events(plan.node_count(), {plan.waits()});
  event_id next = events.count;
  const std::size_t streams =
      plan.stream_count() > capture.origin ? plan.stream_count() : capture.origin + std::size_t{1};
  if (const auto fits = check_stream_count(streams); !fits) return fits.error();
  const auto origin = static_cast<std::uint16_t>(capture.origin);
  std::vector<command> out;
  if (!capture.forks.empty()) {
    out.push_back(record_event(next, origin));
    for (const stream_id s : capture.forks) out.push_back(wait_event(next, static_cast<std::uint16_t>(s)));
    ++next;
  }
  detail::append_step(out, plan, [&](node_id op) { return events.of[op]; }, [](node_id, std::uint16_t) {});
  for (const node_id op : capture.joins) {
    out.push_back(record_event(next, static_cast<std::uint16_t>(plan.stream_of(op))));
    out.push_back(wait_event(next++, origin));
  }
  return command_list::make(out, streams);
}

/// A steady plan ready to be issued step after step, for ever, without a pause between steps. A later step waits for
/// events that the step before recorded, so its commands alone are no command_list; the first three steps in a row are,
/// and every step from then on repeats the second or the third.
class steady_commands {
 public:
  /// The commands of step k, from 0: the first step has nothing to wait for; odd and even later ones differ only if the
  /// plan is `alternating`.
  [[nodiscard]] std::span<const command> step(std::uint64_t k) const& noexcept {
    const std::size_t i = k == 0 ? 0 : 2 - k % 2;
    return unrolled_.commands().subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }
  std::span<const command> step(std::uint64_t k) const&& = delete;
  /// Steps 0, 1, 2 as one list, with the program's own op ids in each.
  [[nodiscard]] const command_list& unrolled() const& noexcept { return unrolled_; }
  const command_list& unrolled() const&& = delete;
  [[nodiscard]] std::uint32_t stream_count() const noexcept { return unrolled_.stream_count(); }
  [[nodiscard]] std::uint32_t event_count() const noexcept { return unrolled_.event_count(); }

 private:
  friend result<steady_commands> from_graph(const graph::steady_stream_plan& plan);
  command_list unrolled_;
  std::array<std::size_t, 4> begin_{};
};

/// The commands of a plan for a program that runs again and again. An op that anyone waits for, in its own step or the
/// next, has one event; two in turn if the plan is alternating.
/// @return errc::limit_exceeded for more than stream_limit streams
/// Complexity: O(nodes + waits).
///
///     auto steady = hocket::launch::from_graph(*hocket::graph::steady_stream_plan::make(two_steps, streams));
///     for (std::uint64_t k = 0;; ++k) drive_step(backend, *steady, k, streams, events, launch_op);
[[nodiscard]] inline result<steady_commands> from_graph(const graph::steady_stream_plan& plan) {
  const graph::stream_plan& step = plan.step();
  const detail::op_events events(step.node_count(), {step.waits(), plan.previous_waits()});
  const event_id sides = plan.alternating() ? 2 : 1;
  steady_commands all;
  std::vector<command> out;
  for (event_id k = 0; k < 3; ++k) {
    const auto event = [&](node_id op, event_id in_step) {
      return events.of[op] == no_id ? no_id : events.of[op] * sides + in_step % sides;
    };
    detail::append_step(
        out, step, [&](node_id op) { return event(op, k); },
        [&](node_id op, std::uint16_t stream) {
          if (k == 0) return;
          for (const graph::stream_wait& w : plan.previous_waits_of(op))
            out.push_back(wait_event(event(w.recorder, k + 1), stream));  // k - 1 is as even as k + 1
        });
    all.begin_[k + std::size_t{1}] = out.size();
  }
  result<command_list> made = command_list::make(out, step.stream_count());
  if (!made) return made.error();
  all.unrolled_ = std::move(*made);
  return all;
}

namespace detail {

/// Says what to write where a steady plan cannot be driven.
template <class B, class L>
struct checked_drive_step : checked_launcher<std::remove_reference_t<L>, B> {
  static_assert(!wait_resets_event<B>,
                "hocket: drive_step: a wait of this backend uses the record up (wait_resets_event), but a record of a "
                "steady plan may serve several, also of the next step: each step, drive "
                "single_wait_list::make(fenced(from_graph(plan.step()).value()).value()) instead");
};

}  // namespace detail

/// Issues step k of a steady plan; steps in order, from 0. As drive in all else.
/// @param streams, events  handles, at least plan.stream_count() and plan.event_count()
template <class B, class L>
constexpr outcome<typename detail::checked_backend<B>::status> drive_step(
    B& b, const steady_commands& plan, std::uint64_t k,
    std::span<const typename detail::checked_backend<B>::stream> streams,
    std::span<const typename detail::checked_backend<B>::event> events, L&& launch) {
  static_cast<void>(detail::checked_drive_step<B, L>{});
  HOCKET_ASSERT(streams.size() >= plan.stream_count() && events.size() >= plan.event_count());
  return detail::drive(b, plan.step(k), streams, events, launch, detail::untraced);
}
/// The same for a backend whose handles are the plan's own stream and event numbers (inline, recording).
template <class B, class L>
constexpr outcome<typename detail::checked_backend<B>::status> drive_step(B& b, const steady_commands& plan,
                                                                          std::uint64_t k, L&& launch) {
  static_cast<void>(detail::checked_drive_step<B, L>{});
  static_cast<void>(detail::checked_own_numbers<B>{});
  return detail::drive(b, plan.step(k), detail::own_numbers{}, detail::own_numbers{}, launch, detail::untraced);
}

}  // namespace hocket::inline HOCKET_ABI::launch
