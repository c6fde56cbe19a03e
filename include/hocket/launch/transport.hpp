// SPDX-License-Identifier: Apache-2.0
// What a transport between ranks is. Shipped: in_process_transport.hpp here; mpi_transport.hpp, nccl_transport.hpp and
// hccl_transport.hpp are opt-in, since they include a vendor's header.
#pragma once
#include <hocket/config.hpp>

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
    std::is_trivially_copyable_v<typename T::stream_type> && std::is_trivially_copyable_v<typename T::request_type> &&
    std::default_initializable<typename T::request_type> && std::regular<typename T::status_type> &&
    requires(T& t, const void* from, void* to, std::size_t bytes, std::uint32_t x, typename T::stream_type stream,
             typename T::request_type& request, typename T::status_type status) {
      { t.send(from, bytes, x, x, stream, request) } noexcept -> std::same_as<typename T::status_type>;
      { t.recv(to, bytes, x, x, stream, request) } noexcept -> std::same_as<typename T::status_type>;
      { t.group_begin() } noexcept -> std::same_as<typename T::status_type>;
      { t.group_end(stream) } noexcept -> std::same_as<typename T::status_type>;
      { t.progress() } noexcept -> std::same_as<typename T::status_type>;
      { t.abort() } noexcept;
      { T::ok(status) } noexcept -> std::same_as<bool>;
      { T::text(status) } noexcept -> std::same_as<const char*>;
    };

/// Completes transfers on the host: `test` asks whether a transfer is complete and helps it along, `wait` blocks until
/// it is, but not for ever: a transport gives up after its own time limit, so that a dead peer cannot hang a rank.
template <class T>
concept host_transport = transport<T> && requires(T& t, typename T::request_type& request, bool& done) {
  { t.test(request, done) } noexcept -> std::same_as<typename T::status_type>;
  { t.wait(request) } noexcept -> std::same_as<typename T::status_type>;
};

/// Memory that a transfer reads or writes. Borrowed.
struct transfer_memory {
  void* data = nullptr;
  std::size_t bytes = 0;
};

}  // namespace hocket::inline HOCKET_ABI::launch
