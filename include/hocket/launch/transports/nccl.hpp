// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opt-in: needs <nccl.h> (2.7 or newer). Link NCCL yourself.
#pragma once
#include <hocket/launch/transport.hpp>

#include <nccl.h>

namespace hocket::inline HOCKET_ABI::launch {

/// A rank of an NCCL communicator: each call is one call of NCCL, on the stream given.
/// Transfers complete in the order of their stream; what needs their data waits for an event recorded behind them. A
/// transfer outside of a group holds up its stream until the peer comes, so plans are checked under
/// `transfer_model::in_order`. Drive one communicator from one stream; use one communicator per direction for two.
/// Capture into a CUDA graph: on all ranks or on none (NCCL 2.9 or newer).
///
///     hocket::launch::nccl_transport t{comm};
///     t.group_begin();  t.send(a, n, next, 0, stream, none);  t.recv(b, n, last, 0, stream, none);
///     t.group_end(stream);
struct nccl_transport {
  using stream_type = cudaStream_t;
  using request_type = no_request;
  using status_type = ncclResult_t;

  ncclComm_t comm = nullptr;

  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t, cudaStream_t stream,
                   no_request&) noexcept {
    return ncclSend(from, bytes, ncclInt8, static_cast<int>(peer), comm, stream);
  }
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t, cudaStream_t stream,
                   no_request&) noexcept {
    return ncclRecv(to, bytes, ncclInt8, static_cast<int>(peer), comm, stream);
  }
  /// Groups nest. Call group_end also after a failure inside: NCCL counts.
  status_type group_begin() noexcept { return ncclGroupStart(); }
  status_type group_end(cudaStream_t) noexcept { return ncclGroupEnd(); }
  /// What went wrong on the communicator behind the host's back, such as a peer that died.
  status_type progress() noexcept {
    ncclResult_t behind = ncclSuccess;
    const ncclResult_t now = ncclCommGetAsyncError(comm, &behind);
    return now != ncclSuccess ? now : behind;
  }
  /// Ends the kernels that wait on this rank and frees the communicator.
  void abort() noexcept { ncclCommAbort(comm); }

  /// ncclInProgress (a communicator that does not block) is no failure. By its number: NCCL has the name since 2.14.
  static bool ok(status_type s) noexcept { return s == ncclSuccess || static_cast<int>(s) == 7; }
  static const char* text(status_type s) noexcept { return ncclGetErrorString(s); }
};

static_assert(transport<nccl_transport>);

}  // namespace hocket::inline HOCKET_ABI::launch
