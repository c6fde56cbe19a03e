// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "network.hpp"

#include <hccl/hccl.h>
#include <nccl.h>

#include <algorithm>
#include <cstring>

#include "engine.hpp"

namespace fake {

void network::meet(channel& c) {
  while (!c.sends.empty() && !c.receives.empty()) {
    entry& from = *c.sends.front();
    entry& to = *c.receives.front();
    const std::size_t bytes = std::min(from.what.bytes, to.what.bytes);
    if (bytes != 0) std::memcpy(to.what.data, from.what.data, bytes);
    from.done = to.done = true;
    c.sends.pop_front();
    c.receives.pop_front();
  }
}

void network::run(std::uint32_t rank, const std::vector<transfer>& all) {
  std::vector<entry> entries;
  entries.reserve(all.size());
  std::unique_lock lock(mutex_);
  if (given_up_[rank]) return;
  for (const transfer& t : all) {
    entry& e = entries.emplace_back(entry{t, rank});
    channel& c = t.sends ? channels_[{rank, t.peer}] : channels_[{t.peer, rank}];
    (t.sends ? c.sends : c.receives).push_back(&e);
    meet(c);
  }
  changed_.notify_all();
  changed_.wait(lock, [&] {
    return given_up_[rank] || std::all_of(entries.begin(), entries.end(), [](const entry& e) { return e.done; });
  });
}

void network::give_up(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  given_up_[rank] = true;
  const auto forget = [rank](std::deque<entry*>& queue) {
    queue.erase(std::remove_if(queue.begin(), queue.end(), [rank](const entry* e) { return e->rank == rank; }),
                queue.end());
  };
  for (auto& [ends, c] : channels_) {
    forget(c.sends);
    forget(c.receives);
  }
  changed_.notify_all();
}

bool network::is_broken(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t r = 0; r < ranks(); ++r)
    if (r != rank && given_up_[r]) return true;
  return false;
}

std::vector<communicator*> make_communicators(std::uint32_t ranks) {
  static std::deque<communicator> all;
  const auto net = std::make_shared<network>(ranks);
  std::vector<communicator*> made;
  for (std::uint32_t r = 0; r < ranks; ++r) made.push_back(&all.emplace_back(communicator{net, r}));
  return made;
}

bool enqueue(communicator* on, std::vector<transfer> all, void* s) {
  const auto work = [net = on->net, rank = on->rank, all = std::move(all)] { net->run(rank, all); };
  return engine::get().launch(static_cast<stream*>(s), work, false) == verdict::ok;
}

}  // namespace fake

namespace {

using fake::communicator;
using fake::transfer;

communicator* of(ncclComm_t c) { return reinterpret_cast<communicator*>(c); }
communicator* of(HcclComm c) { return static_cast<communicator*>(c); }
bool has_peer(const communicator* c, std::int64_t peer) {
  return peer >= 0 && peer < std::int64_t{c->net->ranks()} && peer != std::int64_t{c->rank};
}

// NCCL's groups belong to the calling thread.
struct group {
  int depth = 0;
  communicator* comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<transfer> all;
};
thread_local group open_group;

ncclResult_t transfer_by_nccl(const transfer& t, ncclComm_t comm, cudaStream_t stream) {
  if (!has_peer(of(comm), static_cast<std::int32_t>(t.peer))) return ncclInvalidArgument;
  if (open_group.depth == 0) return enqueue(of(comm), {t}, stream) ? ncclSuccess : ncclUnhandledCudaError;
  open_group.comm = of(comm);
  open_group.stream = stream;
  open_group.all.push_back(t);
  return ncclSuccess;
}
HcclResult transfer_by_hccl(const transfer& t, HcclComm comm, aclrtStream stream) {
  if (!has_peer(of(comm), t.peer)) return HCCL_E_PARA;
  return enqueue(of(comm), {t}, stream) ? HCCL_SUCCESS : HCCL_E_INTERNAL;
}

}  // namespace

extern "C" {

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t s) {
  return transfer_by_nccl({true, const_cast<void*>(from), count, static_cast<std::uint32_t>(peer)}, comm, s);
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t s) {
  return transfer_by_nccl({false, to, count, static_cast<std::uint32_t>(peer)}, comm, s);
}
ncclResult_t ncclGroupStart(void) {
  ++open_group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd(void) {
  if (open_group.depth == 0) return ncclInvalidUsage;
  if (--open_group.depth > 0 || open_group.all.empty()) return ncclSuccess;
  const bool done = enqueue(open_group.comm, std::exchange(open_group.all, {}), open_group.stream);
  return done ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = of(comm)->net->is_broken(of(comm)->rank) ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  of(comm)->net->give_up(of(comm)->rank);
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t code) {
  return code == ncclSuccess ? "no error" : code == ncclRemoteError ? "a remote process exited" : "an NCCL error";
}

HcclResult HcclSend(void* from, uint64_t count, HcclDataType, uint32_t peer, HcclComm comm, aclrtStream s) {
  return transfer_by_hccl({true, from, count, peer}, comm, s);
}
HcclResult HcclRecv(void* to, uint64_t count, HcclDataType, uint32_t peer, HcclComm comm, aclrtStream s) {
  return transfer_by_hccl({false, to, count, peer}, comm, s);
}
HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t count, HcclComm comm, aclrtStream s) {
  std::vector<transfer> all;
  for (uint32_t i = 0; i < count; ++i) {
    if (!has_peer(of(comm), items[i].remoteRank)) return HCCL_E_PARA;
    all.push_back({items[i].sendRecvType == HCCL_SEND, items[i].buf, items[i].count, items[i].remoteRank});
  }
  return enqueue(of(comm), std::move(all), s) ? HCCL_SUCCESS : HCCL_E_INTERNAL;
}
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* error) {
  *error = of(comm)->net->is_broken(of(comm)->rank) ? HCCL_E_REMOTE : HCCL_SUCCESS;
  return HCCL_SUCCESS;
}
HcclResult HcclCommDestroy(HcclComm comm) {
  of(comm)->net->give_up(of(comm)->rank);
  return HCCL_SUCCESS;
}
const char* HcclGetErrorString(HcclResult code) {
  return code == HCCL_SUCCESS ? "no error" : code == HCCL_E_REMOTE ? "a remote error" : "an HCCL error";
}

}  // extern "C"
