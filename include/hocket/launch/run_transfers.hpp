// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/transfer.hpp>
#include <hocket/launch/transport.hpp>

#include <exception>
#include <span>
#include <string>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::launch {

/// The hook of `run_transfers` that does nothing: begin and end of every step, on the rank's own thread.
struct no_transfer_trace {
  constexpr void begin(std::size_t, const transfer_command&) const noexcept {}
  constexpr void end(std::size_t, const transfer_command&) const noexcept {}
};

/// How far a rank came. Nothing was taken back: transfers that are posted still use their memory until the transport is
/// aborted, which is the caller's decision (for MPI it ends the process).
template <class Status>
struct transfer_outcome {
  Status status{};               ///< of the transport: the first failure, or success
  int code = 0;                  ///< what the rank's own work returned
  std::exception_ptr exception;  ///< what it threw
  bool complete = true;          ///< every step was done
  std::size_t done = 0;          ///< steps done; on failure, the index of the step that failed
  transfer_command at{};         ///< on failure, that step

  explicit operator bool() const noexcept { return complete; }
};

/// Posts one transfer, or opens or closes a group: the one place where commands become calls of a transport.
/// Precondition: the step is neither `run` nor `wait`.
template <class T>
typename detail::checked_transport<T>::status issue(T& t, const transfer_command& c, transfer_memory memory,
                                                    typename detail::checked_transport<T>::stream stream,
                                                    typename detail::checked_transport<T>::request& request) noexcept {
  HOCKET_ASSERT(c.kind != transfer_kind::run && c.kind != transfer_kind::wait);
  if (c.kind == transfer_kind::send) return t.send(memory.data, memory.bytes, c.peer, c.tag, stream, request);
  if (c.kind == transfer_kind::recv) return t.recv(memory.data, memory.bytes, c.peer, c.tag, stream, request);
  return c.kind == transfer_kind::group_begin ? t.group_begin() : t.group_end(stream);
}

namespace detail {

template <class Status, class Work>
void call_work(transfer_outcome<Status>& out, Work& work, std::size_t index) {
  if constexpr (std::is_void_v<decltype(work(index))>) work(index);
  else out.code = static_cast<int>(work(index));
  out.complete = out.code == 0;
}

template <class Status, class Work>
void do_work(transfer_outcome<Status>& out, Work& work, std::size_t index) {
#if HOCKET_HAS_EXCEPTIONS
  try {
    call_work(out, work, index);
  } catch (...) {
    out.exception = std::current_exception();
    out.complete = false;
  }
#else
  call_work(out, work, index);
#endif
}

}  // namespace detail

/// Runs the steps of one rank on the calling thread: posts transfers where the list says so, waits where it says so,
/// and does the rank's own work in between. Transfers overlap with work as far as the list posts them early. Stops at
/// the first failure of the transport or of the work, and says where. Allocates nothing.
/// @param t         the transport; its waits end after its time limit
/// @param steps     a list that passed `check_transfers` together with those of the other ranks
/// @param requests  one for each transfer of the list; reused by the next run
/// @param memory    memory(index) -> transfer_memory of the send or receive at that step; the same bytes on both sides
/// @param work      work(index) for each `run`; returns nothing, or a code: other than 0 is a failure
/// @param trace     see `no_transfer_trace`
///
///     auto done = run_transfers(t, steps, requests, memory, work);
///     if (!done) { report(message(done, rank, t.text(done.status))); t.abort(); }
template <class T, class Memory, class Work, class Trace = const no_transfer_trace>
transfer_outcome<typename detail::checked_host_transport<T>::status> run_transfers(
    T& t, std::span<const transfer_command> steps,
    std::span<typename detail::checked_host_transport<T>::request> requests, Memory&& memory, Work&& work,
    Trace&& trace = {}) {
  static_cast<void>(detail::checked_trace<std::remove_reference_t<Trace>, transfer_command>{});
  transfer_outcome<typename T::status_type> out;
  for (const transfer_command& c : steps) {
    trace.begin(out.done, c);
    if (c.kind == transfer_kind::run) {
      detail::do_work(out, work, out.done);
      if (out.complete) out.status = t.progress();
    } else if (c.kind == transfer_kind::wait) {
      out.status = t.wait(requests[c.request]);
    } else if (c.kind == transfer_kind::send || c.kind == transfer_kind::recv) {
      HOCKET_ASSERT(c.request < requests.size());
      out.status = launch::issue(t, c, memory(out.done), typename T::stream_type{}, requests[c.request]);
    } else {
      typename T::request_type none{};
      out.status = launch::issue(t, c, {}, typename T::stream_type{}, none);
    }
    trace.end(out.done, c);
    if (!out.complete || !T::ok(out.status)) [[unlikely]] {
      out.complete = false;
      out.at = c;
      return out;
    }
    ++out.done;
  }
  return out;
}

/// One English sentence about a rank that did not get through: "rank 1, step 12: waiting for rank 2: …".
/// @param text  the transport's text for the outcome's status
template <class Status>
[[nodiscard]] std::string message(const transfer_outcome<Status>& o, std::uint32_t rank, const char* text) {
  if (o.complete) return "rank " + std::to_string(rank) + ": done";
  const std::string s = "rank " + std::to_string(rank) + ", step " + std::to_string(o.done) + ": ";
  if (o.exception != nullptr) return s + "its own work threw an exception";
  if (o.code != 0) return s + "its own work returned " + std::to_string(o.code);
  switch (o.at.kind) {
    case transfer_kind::run: return s + text;
    case transfer_kind::group_begin:
    case transfer_kind::group_end: return s + "a group: " + text;
    case transfer_kind::send: return s + "sending to rank " + std::to_string(o.at.peer) + ": " + text;
    case transfer_kind::recv: return s + "receiving from rank " + std::to_string(o.at.peer) + ": " + text;
    case transfer_kind::wait: break;
  }
  return s + "waiting for rank " + std::to_string(o.at.peer) + ": " + text;
}

}  // namespace hocket::inline HOCKET_ABI::launch
