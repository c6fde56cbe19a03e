// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
class hccl_transport {
 public:
  using stream_type = aclrtStream;
  using request_type = no_request;
  using status_type = HcclResult;

  /// @param room  borrowed: for the transfers of one group, 2 items for each
  hccl_transport(HcclComm comm, std::span<HcclSendRecvItem> room) noexcept
      : comm_(comm), room_(room.data()), room_size_(room.size()) {}

  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t, aclrtStream stream,
                   no_request&) noexcept {
    void* const data = const_cast<void*>(from);  // HCCL's signature; it only reads
    return in_group_ ? collect(HCCL_SEND, data, bytes, peer)
                     : HcclSend(data, bytes, HCCL_DATA_TYPE_INT8, peer, comm_, stream);
  }
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t, aclrtStream stream,
                   no_request&) noexcept {
    return in_group_ ? collect(HCCL_RECV, to, bytes, peer)
                     : HcclRecv(to, bytes, HCCL_DATA_TYPE_INT8, peer, comm_, stream);
  }
  status_type group_begin() noexcept {
    in_group_ = true;
    collected_ = 0;
    return HCCL_SUCCESS;
  }
  /// Issues the group, and nothing of one that did not fit into `room`: half a group would leave peers waiting for the
  /// rest. Stops at the first call that fails.
  status_type group_end(aclrtStream stream) noexcept {
    in_group_ = false;
    if (2 * collected_ > room_size_) return HCCL_E_MEMORY;
    const std::span<HcclSendRecvItem> items(room_, collected_);
    const std::span<HcclSendRecvItem> call(room_ + collected_, room_size_ - collected_);
    for (std::size_t left = items.size(); left != 0;) {
      // The oldest of each peer and direction go, the others move up. A call of n transfers costs n comparisons for
      // each of those left, so all calls together cost no more than the square of the group.
      std::uint32_t size = 0;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < left; ++i) {
        if (is_in(call.first(size), items[i])) items[kept++] = items[i];
        else call[size++] = items[i];
      }
      if (const HcclResult s = HcclBatchSendRecv(call.data(), size, comm_, stream); s != HCCL_SUCCESS) return s;
      left = kept;
    }
    return HCCL_SUCCESS;
  }
  /// What went wrong on the communicator behind the host's back.
  status_type progress() noexcept {
    HcclResult behind = HCCL_SUCCESS;
    const HcclResult now = HcclGetCommAsyncError(comm_, &behind);
    return now != HCCL_SUCCESS ? now : behind;
  }
  /// Destroys the communicator.
  void abort() noexcept { HcclCommDestroy(comm_); }

  static bool ok(status_type s) noexcept { return s == HCCL_SUCCESS; }
  static const char* text(status_type s) noexcept { return HcclGetErrorString(s); }

 private:
  status_type collect(HcclSendRecvType kind, void* data, std::size_t bytes, std::uint32_t peer) noexcept {
    ++collected_;  // also of what does not fit, so that the end of the group knows
    if (2 * collected_ > room_size_) return HCCL_E_MEMORY;
    room_[collected_ - 1] = {kind, data, bytes, HCCL_DATA_TYPE_INT8, peer};
    return HCCL_SUCCESS;
  }
  [[nodiscard]] static bool is_in(std::span<const HcclSendRecvItem> call, const HcclSendRecvItem& item) noexcept {
    for (const HcclSendRecvItem& x : call)
      if (x.remoteRank == item.remoteRank && x.sendRecvType == item.sendRecvType) return true;
    return false;
  }

  HcclComm comm_;
  HcclSendRecvItem* room_;
  std::size_t room_size_;
  std::size_t collected_ = 0;  // transfers of the group so far
  bool in_group_ = false;
};

static_assert(transport<hccl_transport>);

}  // namespace hocket::inline HOCKET_ABI::launch
