/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Stands in for HCCL's header where there is none: the part that launch/transports/hccl.hpp uses, written from the
 * documentation of CANN 8. Tests define the functions. */
#pragma once
#include <stdint.h>

typedef void* HcclComm;
typedef void* aclrtStream;
typedef enum {
  HCCL_SUCCESS = 0,
  HCCL_E_PARA = 1,
  HCCL_E_PTR = 2,
  HCCL_E_MEMORY = 3,
  HCCL_E_INTERNAL = 4,
  HCCL_E_REMOTE = 21
} HcclResult;
typedef enum { HCCL_DATA_TYPE_INT8 = 0 } HcclDataType;
typedef enum { HCCL_SEND = 0, HCCL_RECV = 1 } HcclSendRecvType;
typedef struct HcclSendRecvItemDef {
  HcclSendRecvType sendRecvType;
  void* buf;
  uint64_t count;
  HcclDataType dataType;
  uint32_t remoteRank;
} HcclSendRecvItem;

#ifdef __cplusplus
extern "C" {
#endif
HcclResult HcclSend(void* from, uint64_t count, HcclDataType type, uint32_t peer, HcclComm comm, aclrtStream s);
HcclResult HcclRecv(void* to, uint64_t count, HcclDataType type, uint32_t peer, HcclComm comm, aclrtStream s);
HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t count, HcclComm comm, aclrtStream s);
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* error);
HcclResult HcclCommDestroy(HcclComm comm);
const char* HcclGetErrorString(HcclResult code);
#ifdef __cplusplus
}
#endif
