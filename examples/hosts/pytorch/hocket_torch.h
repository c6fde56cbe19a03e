/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hocket for a program of tensors, behind a C border: what each op touches goes in, streams and waits come out. Nothing
   of PyTorch's headers is needed. Every function returns 0 for success; hocket_torch_message explains the last failure
   of the calling thread. */
#ifndef HOCKET_TORCH_H
#define HOCKET_TORCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HOCKET_TORCH_DIMENSIONS = 16 };

/* One tensor that an op reads or writes; an op that does both has two of these. */
typedef struct hocket_torch_access {
  uint32_t op;         /* its place in program order */
  uint32_t writes;     /* 0: it reads, 1: it writes */
  uint64_t space;      /* the device; or a name, for hosts that only have names */
  uint64_t first;      /* data_ptr(): the address of the item with all indices 0 */
  uint32_t item_bytes; /* element_size(); at least 1 */
  uint32_t dimensions; /* dim(); at most HOCKET_TORCH_DIMENSIONS */
  int64_t sizes[HOCKET_TORCH_DIMENSIONS];
  int64_t strides[HOCKET_TORCH_DIMENSIONS]; /* in items */
} hocket_torch_access;

/* A training step: what its ops touch, by ascending op, and which of them draw random numbers. */
typedef struct hocket_torch_program {
  size_t op_count;
  const uint8_t* draws; /* one byte an op: 1 if it draws from the generator; those ops keep their order */
  const hocket_torch_access* accesses;
  size_t access_count;
} hocket_torch_program;

/* An event: recorded right after one op, waited for right before another, which runs on another stream. */
typedef struct hocket_torch_wait {
  uint32_t recorder;
  uint32_t waiter;
} hocket_torch_wait;

typedef struct hocket_torch_plan hocket_torch_plan; /* immutable */

/* Puts the ops on streams and finds the fewest waits that keep every hazard of overlapping bytes.
   nanoseconds: how long each op takes, or null if that is not known. */
int hocket_torch_plan_create(const hocket_torch_program* program, uint32_t streams, const int64_t* nanoseconds,
                             hocket_torch_plan** out);
void hocket_torch_plan_destroy(hocket_torch_plan* plan);

const uint32_t* hocket_torch_plan_streams(const hocket_torch_plan* plan);                 /* one an op */
const hocket_torch_wait* hocket_torch_plan_waits(const hocket_torch_plan* plan, size_t*); /* by ascending waiter */
size_t hocket_torch_plan_rule_edges(const hocket_torch_plan* plan); /* pairs of ops that the hazards order */
size_t hocket_torch_plan_kept_edges(const hocket_torch_plan* plan); /* those that no others imply */
/* The waits if each kept edge between two streams had one. */
size_t hocket_torch_plan_cross_stream_edges(const hocket_torch_plan* plan);
/* How long the step takes by the given durations; -1 if there were none. */
int64_t hocket_torch_plan_nanoseconds(const hocket_torch_plan* plan);

/* Proves or refutes an order, whoever made it: ops issued in program order on these streams, with these waits, by
   ascending waiter. It compares all pairs of ops that touch a common byte. pair, if not null, receives the first two
   ops that are not ordered and should be. */
int hocket_torch_check(const hocket_torch_program* program, const uint32_t* stream_of, const hocket_torch_wait* waits,
                       size_t wait_count, uint32_t pair[2]);

/* The last failure of this thread as an English sentence; valid until the next call. */
const char* hocket_torch_message(void);

#ifdef __cplusplus
}
#endif
#endif
