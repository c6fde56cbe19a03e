/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hocket behind a C border: for hosts that are not compiled as C++20. Copy these two files and widen them to your
   needs. Every function returns 0 for success; hocket_message explains the last failure of the calling thread. */
#ifndef HOCKET_C_H
#define HOCKET_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One op of a program: its stream, and the variables (any numbers) that it reads and writes. */
typedef struct hocket_op {
  uint32_t stream;
  const uint64_t* reads;
  size_t read_count;
  const uint64_t* writes;
  size_t write_count;
} hocket_op;

/* What the host does with a plan. Streams and events are numbers from 0; each function returns 0 for success. */
typedef struct hocket_backend {
  size_t struct_size; /* sizeof(hocket_backend): lets a newer library serve an older host */
  void* context;
  int (*launch)(void* context, uint32_t op, uint32_t stream);
  int (*record)(void* context, uint32_t event, uint32_t stream);
  int (*wait)(void* context, uint32_t stream, uint32_t event);
} hocket_backend;

typedef struct hocket_plan hocket_plan; /* immutable; may be driven by several threads */

/* Plans the fewest waits that keep every dependency of the program. ops are in program order. */
int hocket_plan_create(const hocket_op* ops, size_t op_count, hocket_plan** out);
void hocket_plan_destroy(hocket_plan* plan);

uint32_t hocket_plan_streams(const hocket_plan* plan);
uint32_t hocket_plan_events(const hocket_plan* plan);
uint32_t hocket_plan_waits(const hocket_plan* plan);

/* Issues the plan through the backend. On failure *issued commands are queued and the backend's own code is returned.
 */
int hocket_plan_drive(const hocket_plan* plan, const hocket_backend* backend, size_t* issued);

/* The last failure of this thread as an English sentence; valid until the next call. */
const char* hocket_message(void);

#ifdef __cplusplus
}
#endif
#endif
