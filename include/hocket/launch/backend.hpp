// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a backend is, what it may offer beyond that, and how `drive` calls the host framework's launcher.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/launch/detail/policy_members.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace hocket::inline HOCKET_ABI::launch {

namespace detail {

// What a backend is made of, member by member.

template <class B>
concept has_stream_type = std::is_trivially_copyable_v<typename B::stream_type>;
template <class B>
concept has_event_type = std::is_trivially_copyable_v<typename B::event_type>;
template <class B>
concept has_status_type = std::regular<typename B::status_type>;
template <class B>
concept has_record = requires(B& b, typename B::event_type event, typename B::stream_type stream) {
  { b.record(event, stream) } noexcept -> std::same_as<typename B::status_type>;
};
template <class B>
concept has_wait = requires(B& b, typename B::event_type event, typename B::stream_type stream) {
  { b.wait(stream, event) } noexcept -> std::same_as<typename B::status_type>;
};

}  // namespace detail

/// A policy that can order streams. Two verbs are all that a plan needs from a device:
///   * `record(event, stream)`: the event stands for all work issued to the stream so far;
///   * `wait(stream, event)`: later work of the stream waits for the record that is the latest *when wait is called*.
/// Both only enqueue, and return a status. Handles are trivially copyable and own nothing: they are the framework's.
/// A value-initialised status means success: it is what a launcher that returns nothing counts as.
/// Why a policy and not C calls: some frameworks keep a task queue of their own in front of the device's stream; a raw
/// call on the handle would overtake what still waits in that queue. They implement the verbs by their own events.
///
///     struct my_backend {
///       using stream_type = my::stream_t;  using event_type = my::event_t;  using status_type = my::error_t;
///       status_type record(event_type e, stream_type s) noexcept { return my::event_record(e, s); }
///       status_type wait(stream_type s, event_type e) noexcept   { return my::stream_wait_event(s, e); }
///       static bool ok(status_type status) noexcept              { return status == my::success; }
///       static const char* text(status_type status) noexcept     { return my::error_string(status); }
///     };
///     static_assert(hocket::launch::backend<my_backend>);
template <class B>
concept backend = detail::has_stream_type<B> && detail::has_event_type<B> && detail::has_status_type<B> &&
                  detail::has_record<B> && detail::has_wait<B> && detail::has_ok<B> && detail::has_text<B>;

namespace detail {

/// Says which member a backend lacks; `drive` and all that takes a backend goes through it.
template <class B>
struct checked_backend {
  // Without the types no member can be judged.
  static constexpr bool typed = has_stream_type<B> && has_event_type<B> && has_status_type<B>;
  static_assert(has_stream_type<B>, "hocket: a backend needs `stream_type`, trivially copyable: what names a stream");
  static_assert(has_event_type<B>, "hocket: a backend needs `event_type`, trivially copyable: what names an event");
  static_assert(has_status_type<B>, "hocket: a backend needs `status_type`, a regular type whose value {} is success");
  static_assert(!typed || has_record<B>,
                "hocket: a backend needs `status_type record(event_type, stream_type) noexcept`");
  static_assert(!typed || has_wait<B>, "hocket: a backend needs `status_type wait(stream_type, event_type) noexcept`");
  static_assert(!typed || has_ok<B>, "hocket: a backend needs `static bool ok(status_type) noexcept`");
  static_assert(!typed || has_text<B>, "hocket: a backend needs `static const char* text(status_type) noexcept`");
  using stream = typename B::stream_type;
  using event = typename B::event_type;
  using status = typename B::status_type;
};

}  // namespace detail

// Refinements: detected, never required.

/// Can make events of its own: what `event_pool` needs.
template <class B>
concept event_source = backend<B> && requires(B& b, typename B::event_type event, typename B::event_type& out) {
  { b.create_event(out) } noexcept -> std::same_as<typename B::status_type>;
  { b.destroy_event(event) } noexcept -> std::same_as<typename B::status_type>;
};

/// Can make streams of its own.
template <class B>
concept stream_source = backend<B> && requires(B& b, typename B::stream_type stream, typename B::stream_type& out) {
  { b.create_stream(out) } noexcept -> std::same_as<typename B::status_type>;
  { b.destroy_stream(stream) } noexcept -> std::same_as<typename B::status_type>;
};

/// Can block the calling thread until a stream is idle.
template <class B>
concept sync_backend = backend<B> && requires(B& b, typename B::stream_type stream) {
  { b.synchronize(stream) } noexcept -> std::same_as<typename B::status_type>;
};

/// Can say whether a stream is idle, without blocking: what a wait with a limit is made of, see `synchronize_within`.
template <class B>
concept polled_backend = backend<B> && requires(B& b, typename B::stream_type stream, bool& idle) {
  { b.is_idle(stream, idle) } noexcept -> std::same_as<typename B::status_type>;
};

/// Can enqueue a call of a host function, which runs when the stream reaches it.
template <class B>
concept host_function_backend =
    backend<B> && requires(B& b, typename B::stream_type stream, void (*f)(void*), void* arg) {
      { b.enqueue(stream, f, arg) } noexcept -> std::same_as<typename B::status_type>;
    };

/// Can measure on the device. Timed events are a type of their own, because timing makes an event slower.
/// `elapsed(from, to, out)` needs both to have happened.
template <class B>
concept timed_backend = backend<B> && std::is_trivially_copyable_v<typename B::timed_event_type> &&
                        requires(B& b, typename B::stream_type stream, typename B::timed_event_type event,
                                 typename B::timed_event_type& out, std::chrono::nanoseconds& time) {
                          { b.create_timed_event(out) } noexcept -> std::same_as<typename B::status_type>;
                          { b.destroy_timed_event(event) } noexcept -> std::same_as<typename B::status_type>;
                          { b.record_timed(event, stream) } noexcept -> std::same_as<typename B::status_type>;
                          { b.elapsed(event, event, time) } noexcept -> std::same_as<typename B::status_type>;
                        };

/// Can write down what is enqueued, instead of running it, and run that later as one piece: see `capture`.
/// `end_capture` ends the capture also when it fails, and then leaves `out` alone.
template <class B>
concept capture_backend =
    backend<B> && std::is_trivially_copyable_v<typename B::captured_type> &&
    requires(B& b, typename B::stream_type stream, typename B::captured_type graph, typename B::captured_type& out) {
      { b.begin_capture(stream) } noexcept -> std::same_as<typename B::status_type>;
      { b.end_capture(stream, out) } noexcept -> std::same_as<typename B::status_type>;
      { b.launch_captured(graph, stream) } noexcept -> std::same_as<typename B::status_type>;
      { b.destroy_captured(graph) } noexcept -> std::same_as<typename B::status_type>;
    };

/// Can say how many more events the device has room for: see `event_pool::prepare`.
template <class B>
concept event_limit_backend = backend<B> && requires(B& b, std::uint64_t& out) {
  { b.available_events(out) } noexcept -> std::same_as<typename B::status_type>;
};

/// True if waiting on an event uses the record up, so that each record serves one wait (classic Ascend events).
/// `drive` then takes only a `single_wait_list`.
template <class B>
inline constexpr bool wait_resets_event = [] {
  if constexpr (requires { B::wait_resets_event; }) return static_cast<bool>(B::wait_resets_event);
  else return false;
}();

/// False if a host function may not be enqueued while a capture is going on (Ascend).
template <class B>
inline constexpr bool capture_allows_host_function = [] {
  if constexpr (requires { B::capture_allows_host_function; })
    return static_cast<bool>(B::capture_allows_host_function);
  else return true;
}();

/// The most events that may exist at once; 0 if the backend names no limit.
template <class B>
inline constexpr std::uint64_t max_events = [] {
  if constexpr (requires { B::max_events; }) return static_cast<std::uint64_t>(B::max_events);
  else return std::uint64_t{0};
}();

namespace detail {

template <class F, class Stream>
inline constexpr bool takes_phase = std::is_invocable_v<F&, node_id, std::uint8_t, Stream>;

/// f(op, phase, stream) if it takes three arguments, else f(op, stream).
template <class F, class Stream>
constexpr decltype(auto) call_op(F& f, node_id op, [[maybe_unused]] std::uint8_t phase, Stream stream) {
  if constexpr (takes_phase<F, Stream>) return f(op, phase, stream);
  else return f(op, stream);
}

template <class F, class Stream>
using op_result = decltype(detail::call_op(std::declval<F&>(), node_id{}, std::uint8_t{}, std::declval<Stream>()));

}  // namespace detail

/// Enqueues op `op` on `stream` and returns at once: `launch(op, stream)`, or `launch(op, phase, stream)` for plans
/// whose ops have phases (tiles). Returns the backend's status, or nothing if it cannot fail.
/// The launcher alone knows kernels, tensors and memory; the adapter never sees them.
template <class L, class B>
concept launcher = backend<B> &&
                   (std::is_invocable_v<std::remove_reference_t<L>&, node_id, typename B::stream_type> ||
                    detail::takes_phase<std::remove_reference_t<L>, typename B::stream_type>) &&
                   (std::is_void_v<detail::op_result<std::remove_reference_t<L>, typename B::stream_type>> ||
                    std::is_convertible_v<detail::op_result<std::remove_reference_t<L>, typename B::stream_type>,
                                          typename B::status_type>);

namespace detail {

/// Says what is wrong with a launcher.
template <class L, class B>
struct checked_launcher {
  static constexpr bool called =
      std::is_invocable_v<L&, node_id, typename B::stream_type> || takes_phase<L, typename B::stream_type>;
  static_assert(called,
                "hocket: a launcher is called as `launch(op, stream)` or `launch(op, phase, stream)`, with the "
                "backend's stream_type");
  static_assert(!called || !backend<B> || launcher<L, B>,
                "hocket: a launcher returns the backend's status_type, or nothing");
};

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::launch
