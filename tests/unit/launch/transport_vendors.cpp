// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The NCCL and HCCL transports call by call, on stand-ins that write down what they are asked.
#include <hocket/launch/run_transfers.hpp>
#include <hocket/launch/transports/hccl.hpp>
#include <hocket/launch/transports/nccl.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

std::vector<std::string> calls;
int fail_at = -1;  // the call that fails
bool fails() { return static_cast<int>(calls.size()) == fail_at + 1; }
void note(const std::string& call) { calls.push_back(call); }
std::string place(const void* p) { return std::to_string(reinterpret_cast<std::uintptr_t>(p)); }

}  // namespace

extern "C" {
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t, int peer, ncclComm_t, cudaStream_t s) {
  note("send " + place(from) + " " + std::to_string(count) + " to " + std::to_string(peer) + " on " + place(s));
  return fails() ? ncclInvalidArgument : ncclSuccess;
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t, int peer, ncclComm_t, cudaStream_t s) {
  note("recv " + place(to) + " " + std::to_string(count) + " from " + std::to_string(peer) + " on " + place(s));
  return fails() ? ncclInvalidArgument : ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  note("begin");
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  note("end");
  return fails() ? ncclSystemError : ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = fail_at == -2 ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  note("abort");
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t code) { return code == ncclSuccess ? "ok" : "failed"; }

HcclResult HcclSend(void* from, uint64_t count, HcclDataType, uint32_t peer, HcclComm, aclrtStream s) {
  note("send " + place(from) + " " + std::to_string(count) + " to " + std::to_string(peer) + " on " + place(s));
  return fails() ? HCCL_E_PARA : HCCL_SUCCESS;
}
HcclResult HcclRecv(void* to, uint64_t count, HcclDataType, uint32_t peer, HcclComm, aclrtStream s) {
  note("recv " + place(to) + " " + std::to_string(count) + " from " + std::to_string(peer) + " on " + place(s));
  return fails() ? HCCL_E_PARA : HCCL_SUCCESS;
}
HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t count, HcclComm, aclrtStream) {
  std::string call = "batch";
  for (uint32_t i = 0; i < count; ++i)
    call += (items[i].sendRecvType == HCCL_SEND ? " s" : " r") + std::to_string(items[i].remoteRank) + ":" +
            std::to_string(items[i].count);
  note(call);
  return fails() ? HCCL_E_INTERNAL : HCCL_SUCCESS;
}
HcclResult HcclGetCommAsyncError(HcclComm, HcclResult* error) {
  *error = fail_at == -2 ? HCCL_E_REMOTE : HCCL_SUCCESS;
  return HCCL_SUCCESS;
}
HcclResult HcclCommDestroy(HcclComm) {
  note("destroy");
  return HCCL_SUCCESS;
}
const char* HcclGetErrorString(HcclResult code) { return code == HCCL_SUCCESS ? "ok" : "failed"; }
}

using namespace hocket::launch;

namespace {

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

TEST_CASE("nccl: one call each, on the stream given", "[launch][transport]") {
  calls.clear();
  fail_at = -1;
  nccl_transport t;
  no_request q;
  const auto s = static_cast<cudaStream_t>(at(9));
  const transfer_command list[] = {{.kind = transfer_kind::group_begin},
                                   {.peer = 3, .kind = transfer_kind::send},
                                   {.peer = 1, .kind = transfer_kind::recv},
                                   {.kind = transfer_kind::group_end}};
  const transfer_memory memory[] = {{}, {at(100), 8}, {at(200), 16}, {}};
  for (int i = 0; i < 4; ++i) CHECK(t.ok(issue(t, list[i], memory[i], s, q)));
  CHECK(calls == std::vector<std::string>{"begin", "send 100 8 to 3 on 9", "recv 200 16 from 1 on 9", "end"});
  fail_at = 4;
  CHECK(t.send(at(1), 1, 1, 0, s, q) == ncclInvalidArgument);
  CHECK(std::string(t.text(ncclInvalidArgument)) == "failed");
  fail_at = -2;
  CHECK(t.progress() == ncclRemoteError);
  CHECK(t.ok(ncclInProgress));
  t.abort();
  CHECK(calls.back() == "abort");
}

TEST_CASE("hccl: a group is split so that a call has one send and one receive per peer", "[launch][transport]") {
  calls.clear();
  fail_at = -1;
  HcclSendRecvItem room[12];
  hccl_transport t(nullptr, room);
  no_request q;
  CHECK(t.ok(t.send(at(1), 5, 7, 0, at(4), q)));
  CHECK(t.ok(t.recv(at(2), 6, 7, 0, at(4), q)));
  CHECK(calls == std::vector<std::string>{"send 1 5 to 7 on 4", "recv 2 6 from 7 on 4"});
  calls.clear();
  for (int step = 0; step < 2; ++step) {  // collected anew each time
    CHECK(t.ok(t.group_begin()));
    const std::uint32_t peers[] = {1, 1, 2, 1, 2};
    for (int i = 0; i < 5; ++i) {
      const auto bytes = static_cast<std::size_t>(10 + i);
      CHECK(t.ok(i == 3 ? t.recv(at(1), bytes, peers[i], 0, at(4), q) : t.send(at(1), bytes, peers[i], 0, at(4), q)));
    }
    CHECK(t.ok(t.group_end(at(4))));
  }
  CHECK(calls == std::vector<std::string>{"batch s1:10 s2:12 r1:13", "batch s1:11 s2:14", "batch s1:10 s2:12 r1:13",
                                          "batch s1:11 s2:14"});
  calls.clear();
  CHECK(t.ok(t.group_begin()));
  for (int i = 0; i < 6; ++i) CHECK(t.ok(t.send(at(1), 1, 1, 0, at(4), q)));
  CHECK(t.send(at(1), 1, 1, 0, at(4), q) == HCCL_E_MEMORY);
  CHECK(t.recv(at(1), 1, 2, 0, at(4), q) == HCCL_E_MEMORY);
  CHECK(t.group_end(at(4)) == HCCL_E_MEMORY);  // half a group is not issued: its peers would wait for the rest
  CHECK(calls.empty());
  CHECK(t.ok(t.group_begin()));  // and the next one is as any other
  for (int i = 0; i < 6; ++i) CHECK(t.ok(t.send(at(1), 1, 1, 0, at(4), q)));
  fail_at = 1;  // the second call
  CHECK(t.group_end(at(4)) == HCCL_E_INTERNAL);
  CHECK(calls.size() == 2);
  fail_at = -2;
  CHECK(t.progress() == HCCL_E_REMOTE);
  t.abort();
  CHECK(calls.back() == "destroy");
}

TEST_CASE("hccl: the calls of a group on both sides of each transfer fit, on random groups", "[launch][transport]") {
  std::minstd_rand random(5);
  for (int round = 0; round < 50; ++round) {
    calls.clear();
    fail_at = -1;
    std::vector<HcclSendRecvItem> room(2 * 40);
    hccl_transport t(nullptr, room);
    no_request q;
    CHECK(t.ok(t.group_begin()));
    std::map<std::string, std::vector<std::size_t>> expected;  // by peer and direction, in the order of posting
    const std::size_t transfers = random() % 41;
    for (std::size_t i = 0; i < transfers; ++i) {
      const auto peer = static_cast<std::uint32_t>(random() % 5);
      const bool sends = random() % 2 == 0;
      CHECK(t.ok(sends ? t.send(at(1), i, peer, 0, at(4), q) : t.recv(at(1), i, peer, 0, at(4), q)));
      expected[(sends ? "s" : "r") + std::to_string(peer)].push_back(i);
    }
    CHECK(t.ok(t.group_end(at(4))));
    std::size_t longest = 0;
    for (const auto& [whom, sizes] : expected) longest = std::max(longest, sizes.size());
    REQUIRE(calls.size() == longest);
    for (std::size_t k = 0; k < calls.size(); ++k) {  // call k: the k-th of each, and nothing else
      std::size_t found = 0;
      for (const auto& [whom, sizes] : expected)
        if (k < sizes.size())
          found += (calls[k] + " ").find(" " + whom + ":" + std::to_string(sizes[k]) + " ") != std::string::npos;
      CHECK(found == static_cast<std::size_t>(std::count(calls[k].begin(), calls[k].end(), ':')));
      std::size_t due = 0;
      for (const auto& [whom, sizes] : expected) due += k < sizes.size();
      CHECK(found == due);
    }
  }
}
