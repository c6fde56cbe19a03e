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
  std::size_t collected = 0;

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
  /// Issues the group. Stops at the first call that fails.
  status_type group_end(aclrtStream stream) noexcept {
    in_group = false;
    const std::span<HcclSendRecvItem> items = room.first(collected), call = room.subspan(collected);
    for (std::size_t left = items.size(), turn = 0; left != 0; ++turn) {
      std::uint32_t size = 0;
      for (std::size_t i = 0; i < items.size(); ++i)
        if (place_of(items, i) == turn) call[size++] = items[i];
      if (const HcclResult s = HcclBatchSendRecv(call.data(), size, comm, stream); s != HCCL_SUCCESS) return s;
      left -= size;
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
    if (2 * (collected + 1) > room.size()) return HCCL_E_MEMORY;
    room[collected++] = {kind, data, bytes, HCCL_DATA_TYPE_INT8, peer};
    return HCCL_SUCCESS;
  }
  // How many transfers of the same peer and direction come before it. Groups are small: quadratic is fine.
  [[nodiscard]] static std::size_t place_of(std::span<const HcclSendRecvItem> items, std::size_t i) noexcept {
    std::size_t n = 0;
    for (std::size_t j = 0; j < i; ++j)
      n += items[j].remoteRank == items[i].remoteRank && items[j].sendRecvType == items[i].sendRecvType;
    return n;
  }
};

static_assert(transport<hccl_transport>);

}  // namespace hocket::inline HOCKET_ABI::launch
