// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/backend.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/single_wait_list.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::launch {

/// How far `drive` came. Commands [0, issued) are queued; the rest are not, and nothing was taken back: since every
/// prefix of a list can finish, synchronising afterwards does not hang.
template <class Status>
struct outcome {
  Status status{};            ///< of the last call: the first failure, or success
  bool complete = true;       ///< every command was issued
  std::size_t issued = 0;     ///< number of commands issued; on failure, the index of the command that failed
  command_kind kind{};        ///< what failed
  node_id op = no_id;         ///< the op that failed to launch; no_id if a record or wait failed
  stream_id stream = no_id;   ///< the stream it was meant for
  std::uint8_t phase = 0;     ///< the op's phase
  bool asynchronous = false;  ///< the fault may belong to any earlier op (only where the backend can tell)

  constexpr explicit operator bool() const noexcept { return complete; }
  friend constexpr bool operator==(const outcome&, const outcome&) = default;
};

/// The outcome as a result: errc::backend_failed with status, command, op and stream.
template <class Status>
[[nodiscard]] constexpr result<void> to_result(const outcome<Status>& o) noexcept {
  if (o.complete) return {};
  std::int64_t code = 0;
  if constexpr (std::is_enum_v<Status> || std::is_integral_v<Status>) code = static_cast<std::int64_t>(o.status);
  const std::int64_t op = o.op == no_id ? -1 : static_cast<std::int64_t>(o.op);
  return error{errc::backend_failed, code, static_cast<std::int64_t>(o.issued), op, o.stream};
}

/// The hook that does nothing. A trace is any type with `begin(index, command)` and `end(index, command)`, both
/// noexcept; `index` is the command's place in its list. The host backend calls it from the stream's own thread; calls
/// for one index never overlap, so one slot per index needs no lock.
struct no_trace {
  constexpr void begin(std::size_t, const command&) const noexcept {}
  constexpr void end(std::size_t, const command&) const noexcept {}
};

namespace detail {

template <class B, class L>
constexpr typename B::status_type launch_one(L& launch, const command& c, typename B::stream_type stream) {
  if constexpr (std::is_void_v<op_result<L, typename B::stream_type>>) {
    detail::call_op(launch, c.id, c.phase, stream);
    return typename B::status_type{};
  } else {
    return detail::call_op(launch, c.id, c.phase, stream);
  }
}

// What to index when a backend's handles are the plan's own numbers.
struct own_numbers {
  constexpr std::uint32_t operator[](std::uint32_t id) const noexcept { return id; }
};

template <class B, class Streams, class Events, class L, class Trace>
constexpr outcome<typename B::status_type> drive(B& b, std::span<const command> commands, const Streams& streams,
                                                 const Events& events, L& launch, Trace& trace) {
  outcome<typename B::status_type> done;
  HOCKET_ASSERT(B::ok(done.status));
  std::size_t i = 0;
  for (; i != commands.size(); ++i) {
    const command& c = commands[i];
    trace.begin(i, c);
    const auto stream = streams[c.stream];
    // An if-chain, not a switch: a jump table mispredicts on this mix of three.
    if (c.kind == command_kind::run) done.status = detail::launch_one<B>(launch, c, stream);
    else if (c.kind == command_kind::record) done.status = b.record(events[c.id], stream);
    else done.status = b.wait(stream, events[c.id]);
    trace.end(i, c);

    if (!B::ok(done.status)) [[unlikely]] {
      done.complete = false;
      done.kind = c.kind;
      done.op = c.kind == command_kind::run ? c.id : no_id;
      done.stream = c.stream;
      done.phase = c.phase;
      if constexpr (requires { B::asynchronous(done.status); }) done.asynchronous = B::asynchronous(done.status);
      break;
    }
  }
  done.issued = i;
  return done;
}

inline constexpr no_trace untraced{};

/// A list where the backend should be.
template <class B>
  requires std::derived_from<std::remove_cv_t<B>, command_list>
struct checked_backend<B> {
  static_assert(
      !std::derived_from<std::remove_cv_t<B>, command_list>,
      "hocket: drive takes the backend first and then the list: drive(backend, list, streams, events, launch)");
  using stream = stream_id;
  using event = event_id;
  using status = int;
};

/// Events where the streams should be, and the other way round.
template <class B, class Streams, class Events>
concept swapped_handles = std::is_convertible_v<const Streams&, std::span<const typename B::event_type>> &&
                          std::is_convertible_v<const Events&, std::span<const typename B::stream_type>> &&
                          !std::is_convertible_v<const Streams&, std::span<const typename B::stream_type>>;

/// Says which requirement of driving is broken.
template <class B, class List, class L>
struct checked_drive : checked_launcher<std::remove_reference_t<L>, B> {
  static_assert(std::derived_from<List, command_list>,
                "hocket: what is driven is a command_list: command_list::make(commands, stream_count)");
  static_assert(!wait_resets_event<B> || std::derived_from<List, single_wait_list>,
                "hocket: a wait of this backend uses the record up (wait_resets_event), so each record may serve only "
                "one: give it single_wait_list::make(list)");
};

/// Says what to give a backend whose handles are not the plan's own numbers.
template <class B>
struct checked_own_numbers {
  static_assert(
      std::same_as<typename B::stream_type, stream_id> && std::same_as<typename B::event_type, event_id>,
      "hocket: this backend has handles of its own: give drive the streams and the events, by the list's numbers");
};

}  // namespace detail

/// Issues a plan: each command, in order, to the backend or the launcher. Stops at the first failure and says where.
/// Clears no error state, rolls nothing back, allocates nothing.
/// @param b        the backend; see `backend`
/// @param list     what to issue: a `command_list`; a `single_wait_list` where `wait_resets_event<B>`
/// @param streams  handles by stream number, at least list.stream_count()
/// @param events   handles by event number, at least list.event_count()
/// @param launch   enqueues an op; see `launcher`
/// @param trace    is told of every command; see `no_trace`
/// Preconditions: the two spans are long enough.  Complexity: one call per command.
///
///     auto done = hocket::launch::drive(b, list, streams, events, launch_op);
///     if (!done) report(done.op, done.stream, b.text(done.status));
template <class B, class List, class L, class Trace = const no_trace>
constexpr outcome<typename detail::checked_backend<B>::status> drive(
    B& b, const List& list, std::span<const typename detail::checked_backend<B>::stream> streams,
    std::span<const typename detail::checked_backend<B>::event> events, L&& launch, Trace& trace = detail::untraced) {
  static_cast<void>(detail::checked_drive<B, List, L>{});
  static_cast<void>(detail::checked_trace<Trace, command>{});
  HOCKET_ASSERT(streams.size() >= list.stream_count() && events.size() >= list.event_count());
  return detail::drive(b, list.commands(), streams, events, launch, trace);
}

/// What a call with swapped handles finds, instead of nothing.
template <class B, class List, class Streams, class Events, class L, class Trace = const no_trace>
  requires detail::swapped_handles<B, Streams, Events>
constexpr outcome<typename B::status_type> drive(B&, const List&, const Streams&, const Events&, L&&,
                                                 Trace& = detail::untraced) {
  static_assert(!detail::swapped_handles<B, Streams, Events>,
                "hocket: drive takes the streams before the events: drive(backend, list, streams, events, launch)");
  return {};
}

/// The same for a backend whose handles are the plan's own stream and event numbers (inline, recording).
template <class B, class List, class L, class Trace = const no_trace>
constexpr outcome<typename detail::checked_backend<B>::status> drive(B& b, const List& list, L&& launch,
                                                                     Trace& trace = detail::untraced) {
  static_cast<void>(detail::checked_drive<B, List, L>{});
  static_cast<void>(detail::checked_trace<Trace, command>{});
  static_cast<void>(detail::checked_own_numbers<B>{});
  return detail::drive(b, list.commands(), detail::own_numbers{}, detail::own_numbers{}, launch, trace);
}

}  // namespace hocket::inline HOCKET_ABI::launch
