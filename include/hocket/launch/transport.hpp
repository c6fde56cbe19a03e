// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a transport between ranks is. Those that come with it are in transports/.
#pragma once
#include <hocket/launch/detail/policy_members.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::launch {

/// The stream of transports that need none: they transfer on the host.
struct no_stream {
  friend constexpr bool operator==(no_stream, no_stream) = default;
};
/// The request of transports that complete in the order of their stream: there is nothing to ask on the host.
struct no_request {
  friend constexpr bool operator==(no_request, no_request) = default;
};

namespace detail {

// What a transport is made of, member by member.

template <class T>
concept has_transfer_types =
    std::is_trivially_copyable_v<typename T::stream_type> && std::is_trivially_copyable_v<typename T::request_type> &&
    std::default_initializable<typename T::request_type> && std::regular<typename T::status_type>;
template <class T>
concept has_send = requires(T& t, const void* from, std::size_t bytes, std::uint32_t number,
                            typename T::stream_type stream, typename T::request_type& request) {
  { t.send(from, bytes, number, number, stream, request) } noexcept -> std::same_as<typename T::status_type>;
};
template <class T>
concept has_recv = requires(T& t, void* to, std::size_t bytes, std::uint32_t number, typename T::stream_type stream,
                            typename T::request_type& request) {
  { t.recv(to, bytes, number, number, stream, request) } noexcept -> std::same_as<typename T::status_type>;
};
template <class T>
concept has_group = requires(T& t, typename T::stream_type stream) {
  { t.group_begin() } noexcept -> std::same_as<typename T::status_type>;
  { t.group_end(stream) } noexcept -> std::same_as<typename T::status_type>;
};
template <class T>
concept has_progress = requires(T& t) {
  { t.progress() } noexcept -> std::same_as<typename T::status_type>;
};
template <class T>
concept has_abort = requires(T& t) {
  { t.abort() } noexcept;
};
template <class T>
concept has_test = requires(T& t, typename T::request_type& request, bool& done) {
  { t.test(request, done) } noexcept -> std::same_as<typename T::status_type>;
};
template <class T>
concept has_wait_for_request = requires(T& t, typename T::request_type& request) {
  { t.wait(request) } noexcept -> std::same_as<typename T::status_type>;
};

}  // namespace detail

/// A policy by which one rank sends to others. It owns nothing: communicators, buffers and streams are the framework's.
/// Failures are statuses, never exceptions; a value-initialised status is success.
///   * `send(from, bytes, peer, tag, stream, request)` and `recv(to, …)` *post* a transfer and return at once. Memory
///     stays untouched by the caller until it is complete. Between two ranks and in one direction, transfers match in
///     the order in which they were posted; the tag is the same on both sides (transports that have none ignore it).
///   * `group_begin()` … `group_end(stream)`: what is posted between them progresses together, whatever its order.
///   * `progress()` lets transfers under way get on, and reports what went wrong meanwhile. Call it now and then where
///     the network needs the host's help.
///   * `abort()` gives up: transfers under way end, on this rank and on its peers, instead of waiting for ever.
/// A transport that completes transfers in the order of a stream needs no more (NCCL, HCCL); one that completes them on
/// the host is also a `host_transport`.
///
///     struct loopback {                                       // a rank that talks to nobody but itself
///       using stream_type = no_stream;  using request_type = no_request;  using status_type = int;
///       int send(const void* from, std::size_t n, std::uint32_t, std::uint32_t, no_stream, no_request&) noexcept;
///       int recv(void* to, std::size_t n, std::uint32_t, std::uint32_t, no_stream, no_request&) noexcept;
///       int group_begin() noexcept;  int group_end(no_stream) noexcept;
///       int progress() noexcept;     void abort() noexcept;
///       static bool ok(int s) noexcept;  static const char* text(int s) noexcept;
///     };
///     static_assert(hocket::launch::transport<loopback>);
template <class T>
concept transport =
    detail::has_transfer_types<T> && detail::has_send<T> && detail::has_recv<T> && detail::has_group<T> &&
    detail::has_progress<T> && detail::has_abort<T> && detail::has_ok<T> && detail::has_text<T>;

/// Completes transfers on the host. `test` asks whether a transfer is complete and helps it along; `wait` blocks until
/// it is. But not for ever: a transport gives up after its own time limit, so that a dead peer cannot hang a rank.
template <class T>
concept host_transport = transport<T> && detail::has_test<T> && detail::has_wait_for_request<T>;

namespace detail {

/// Says which member a transport lacks; everything that takes a transport goes through it.
template <class T>
struct checked_transport {
  static constexpr bool typed = has_transfer_types<T>;  // without the types no member can be judged
  static_assert(typed,
                "hocket: a transport needs `stream_type`, `request_type` (both trivially copyable) and `status_type`");
  static_assert(!typed || has_send<T>,
                "hocket: a transport needs `status_type send(const void* from, std::size_t bytes, std::uint32_t peer, "
                "std::uint32_t tag, stream_type, request_type&) noexcept`");
  static_assert(!typed || has_recv<T>,
                "hocket: a transport needs `status_type recv(void* to, std::size_t bytes, std::uint32_t peer, "
                "std::uint32_t tag, stream_type, request_type&) noexcept`");
  static_assert(!typed || has_group<T>,
                "hocket: a transport needs `status_type group_begin() noexcept` and `status_type "
                "group_end(stream_type) noexcept`");
  static_assert(!typed || has_progress<T>, "hocket: a transport needs `status_type progress() noexcept`");
  static_assert(!typed || has_abort<T>, "hocket: a transport needs `void abort() noexcept`");
  static_assert(!typed || has_ok<T>, "hocket: a transport needs `static bool ok(status_type) noexcept`");
  static_assert(!typed || has_text<T>, "hocket: a transport needs `static const char* text(status_type) noexcept`");
  using stream = typename T::stream_type;
  using request = typename T::request_type;
  using status = typename T::status_type;
};

/// The same for a transport that completes transfers on the host.
template <class T>
struct checked_host_transport : checked_transport<T> {
  static_assert(!launch::transport<T> || has_test<T>,
                "hocket: a host transport needs `status_type test(request_type&, bool& done) noexcept`");
  static_assert(!launch::transport<T> || has_wait_for_request<T>,
                "hocket: a host transport needs `status_type wait(request_type&) noexcept`");
};

}  // namespace detail

/// Memory that a transfer reads or writes. Borrowed.
struct transfer_memory {
  void* data = nullptr;
  std::size_t bytes = 0;
};

}  // namespace hocket::inline HOCKET_ABI::launch
