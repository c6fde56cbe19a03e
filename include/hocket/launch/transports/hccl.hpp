// SPDX-License-Identifier: Apache-2.0
// Opt-in: needs <hccl/hccl.h> of CANN. Link HCCL yourself.
#pragma once
#include <hocket/launch/transport.hpp>

#include <hccl/hccl.h>

#include <span>

namespace hocket::inline HOCKET_ABI::launch {

/// A rank of an HCCL communicator. Transfers complete in the order of their stream.
/// HCCL has no begin and end of a group, but one call for a list, with at most one send and one receive per peer. So a
/// group is collected in memory that the caller lends, and issued at its end in as many calls as the busiest peer and
/// direction has transfers: call k takes the k-th of each. Both sides of a transfer count it alike, because transfers
/// between two ranks in one direction match in order, and so it lies in the same call on both.
/// A transfer outside of a group is HcclSend or HcclRecv, which hold up the stream until the peer comes.
/// Does not nest groups. Not supported by HCCL: groups on inference products (Atlas 300).
///
///     HcclSendRecvItem items[16];
///     hocket::launch::hccl_transport t{comm, items};
struct hccl_transport {
  using stream_type = aclrtStream;
  using request_type = no_request;
  using status_type = HcclResult;

  HcclComm comm = nullptr;
  std::span<HcclSendRecvItem> room{};  ///< for the transfers of one group, twice: 2 items for each
  bool in_group = false;
  std::size_t collected = 0;  ///< transfers of the group so far

  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t, aclrtStream stream,
                   no_request&) noexcept {
    void* const data = const_cast<void*>(from);  // HCCL's signature; it only reads
    return in_group ? collect(HCCL_SEND, data, bytes, peer)
                    : HcclSend(data, bytes, HCCL_DATA_TYPE_INT8, peer, comm, stream);
  }
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t, aclrtStream stream,
                   no_request&) noexcept {
    return in_group ? collect(HCCL_RECV, to, bytes, peer)
                    : HcclRecv(to, bytes, HCCL_DATA_TYPE_INT8, peer, comm, stream);
  }
  status_type group_begin() noexcept {
    in_group = true;
    collected = 0;
    return HCCL_SUCCESS;
  }
  /// Issues the group, and nothing of one that did not fit into `room`: half a group would leave peers waiting for the
  /// rest. Stops at the first call that fails.
  status_type group_end(aclrtStream stream) noexcept {
    in_group = false;
    if (2 * collected > room.size()) return HCCL_E_MEMORY;
    const std::span<HcclSendRecvItem> items = room.first(collected), call = room.subspan(collected);
    for (std::size_t left = items.size(); left != 0;) {
      // The oldest of each peer and direction go, the others move up. A call of n transfers costs n comparisons for
      // each of those left, so all calls together cost no more than the square of the group.
      std::uint32_t size = 0;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < left; ++i) {
        if (is_in(call.first(size), items[i])) items[kept++] = items[i];
        else call[size++] = items[i];
      }
      if (const HcclResult s = HcclBatchSendRecv(call.data(), size, comm, stream); s != HCCL_SUCCESS) return s;
      left = kept;
    }
    return HCCL_SUCCESS;
  }
  /// What went wrong on the communicator behind the host's back.
  status_type progress() noexcept {
    HcclResult behind = HCCL_SUCCESS;
    const HcclResult now = HcclGetCommAsyncError(comm, &behind);
    return now != HCCL_SUCCESS ? now : behind;
  }
  /// Destroys the communicator.
  void abort() noexcept { HcclCommDestroy(comm); }

  static bool ok(status_type s) noexcept { return s == HCCL_SUCCESS; }
  static const char* text(status_type s) noexcept { return HcclGetErrorString(s); }

 private:
  status_type collect(HcclSendRecvType kind, void* data, std::size_t bytes, std::uint32_t peer) noexcept {
    ++collected;  // also of what does not fit, so that the end of the group knows
    if (2 * collected > room.size()) return HCCL_E_MEMORY;
    room[collected - 1] = {kind, data, bytes, HCCL_DATA_TYPE_INT8, peer};
    return HCCL_SUCCESS;
  }
  [[nodiscard]] static bool is_in(std::span<const HcclSendRecvItem> call, const HcclSendRecvItem& item) noexcept {
    for (const HcclSendRecvItem& x : call)
      if (x.remoteRank == item.remoteRank && x.sendRecvType == item.sendRecvType) return true;
    return false;
  }
};

static_assert(transport<hccl_transport>);

}  // namespace hocket::inline HOCKET_ABI::launch
