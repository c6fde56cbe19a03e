/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Programs, graphs and plans; random ones against a comparison of all pairs. */
#include "check.h"

enum { OPS = 24, VARIABLES = 6 };

void test_programs(void) {
  const uint32_t ops[] = {0, 1}, far[] = {0, 7};
  const uint64_t v[] = {5, 5}, first[] = {0, 8}, end[] = {8, 16}, none[] = {0, 8};
  const uint64_t space[] = {0, 0}, low[] = {64}, high[] = {UINT64_MAX - 8};
  const uint32_t item[] = {4}, no_item[] = {0}, flat[] = {1}, deep[] = {17};
  const int64_t size[] = {4}, negative[] = {-1}, stride[] = {1}, back[] = {-100};
  const uint8_t kinds[] = {HOCKET_COLLECTIVE, HOCKET_IO}, bad_kinds[] = {0, 4};
  hocket_program* p = NULL;
  REFUSED(HOCKET_BAD_INPUT, "out is a null pointer", hocket_program_create(2, NULL, &why));
  CHECK(hocket_program_create(2, NULL, NULL) == HOCKET_BAD_INPUT); /* without a place for the sentence */
  REFUSED(HOCKET_BAD_INPUT, "number of ops", hocket_program_create(SIZE_MAX, &p, &why));
  CHECK(p == NULL);
  OK(hocket_program_create(2, &p, &why));
  CHECK(hocket_program_op_count(p) == 2 && hocket_program_op_count(NULL) == 0);

  REFUSED(HOCKET_BAD_INPUT, "program is a null", hocket_program_add_variables(NULL, HOCKET_READ, 2, ops, v, &why));
  REFUSED(HOCKET_BAD_INPUT, "ops is a null", hocket_program_add_variables(p, HOCKET_READ, 2, NULL, v, &why));
  REFUSED(HOCKET_BAD_INPUT, "variables is a null", hocket_program_add_variables(p, HOCKET_READ, 2, ops, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "access is 2", hocket_program_add_variables(p, 2, 2, ops, v, &why));
  REFUSED(HOCKET_BAD_INPUT, "access 1: there is no op 7", hocket_program_add_variables(p, 0, 2, far, v, &why));
  OK(hocket_program_add_variables(p, HOCKET_READ, 0, NULL, NULL, &why));
  OK(hocket_program_add_variables(p, HOCKET_WRITE, 2, ops, v, &why));

  REFUSED(HOCKET_BAD_INPUT, "spaces is a null", hocket_program_add_bytes(p, 0, 2, ops, NULL, first, end, &why));
  REFUSED(HOCKET_BAD_INPUT, "no op 7", hocket_program_add_bytes(p, 0, 2, far, space, first, end, &why));
  REFUSED(HOCKET_BAD_INPUT, "access 0 of op 0: its first byte",
          hocket_program_add_bytes(p, 0, 2, ops, space, first, none, &why));
  OK(hocket_program_add_bytes(p, HOCKET_READ, 2, ops, space, first, end, &why));

  REFUSED(HOCKET_BAD_INPUT, "item_bytes is a null",
          hocket_program_add_views(p, 0, 1, ops, space, low, NULL, flat, size, stride, &why));
  REFUSED(HOCKET_BAD_INPUT, "no op 7",
          hocket_program_add_views(p, 0, 1, far + 1, space, low, item, flat, size, stride, &why));
  REFUSED(HOCKET_BAD_INPUT, "item_bytes is 0",
          hocket_program_add_views(p, 0, 1, ops, space, low, no_item, flat, size, stride, &why));
  REFUSED(HOCKET_BAD_INPUT, "16 dimensions",
          hocket_program_add_views(p, 0, 1, ops, space, low, item, deep, size, stride, &why));
  REFUSED(HOCKET_BAD_INPUT, "sizes or strides",
          hocket_program_add_views(p, 0, 1, ops, space, low, item, flat, NULL, stride, &why));
  REFUSED(HOCKET_BAD_INPUT, "size is negative",
          hocket_program_add_views(p, 0, 1, ops, space, low, item, flat, negative, stride, &why));
  REFUSED(HOCKET_BAD_INPUT, "ends beyond",
          hocket_program_add_views(p, 0, 1, ops, space, high, item, flat, size, stride, &why));
  REFUSED(HOCKET_BAD_INPUT, "begins before",
          hocket_program_add_views(p, 0, 1, ops, space, low, item, flat, size, back, &why));
  OK(hocket_program_add_views(p, HOCKET_READ, 1, ops, space, low, item, flat, size, stride, &why));

  REFUSED(HOCKET_BAD_INPUT, "kinds is a null", hocket_program_set_kinds(p, 2, ops, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "op 1 has the kind 4", hocket_program_set_kinds(p, 2, ops, bad_kinds, &why));
  REFUSED(HOCKET_BAD_INPUT, "no op 7", hocket_program_set_kinds(p, 2, far, kinds, &why));
  OK(hocket_program_set_kinds(p, 2, ops, kinds, &why));
  hocket_program_destroy(p);
  hocket_program_destroy(NULL);
}

/* Op 0 writes what 1 and 2 read, 3 overwrites it. */
static hocket_program* diamond(void) {
  const uint32_t readers[] = {1, 2}, writers[] = {0, 3};
  const uint64_t v[] = {7, 7};
  hocket_program* p = NULL;
  OK(hocket_program_create(4, &p, &why));
  OK(hocket_program_add_variables(p, HOCKET_READ, 2, readers, v, &why));
  OK(hocket_program_add_variables(p, HOCKET_WRITE, 2, writers, v, &why));
  return p;
}

/* Ops that touch some of few variables, or bytes of few; who must wait for whom, by comparing all pairs. */
static hocket_program* random_program(int bytes, unsigned char must[OPS][OPS]) {
  unsigned char touches[OPS][VARIABLES];
  hocket_program* p = NULL;
  uint32_t a, b, k;
  memset(must, 0, OPS * OPS);
  OK(hocket_program_create(OPS, &p, &why));
  for (a = 0; a < OPS; ++a) {
    for (k = 0; k < VARIABLES; ++k) {
      const int mode = next_random(4) == 0 ? HOCKET_WRITE : HOCKET_READ;
      const uint64_t v = k, space = 3, first = 4 * (uint64_t)k, end = first + 4;
      touches[a][k] = 0;
      if (next_random(4) != 0) continue;
      touches[a][k] = mode == HOCKET_WRITE ? 2 : 1;
      if (bytes) OK(hocket_program_add_bytes(p, mode, 1, &a, &space, &first, &end, &why));
      else OK(hocket_program_add_variables(p, mode, 1, &a, &v, &why));
    }
  }
  for (a = 0; a < OPS; ++a)
    for (b = a + 1; b < OPS; ++b)
      for (k = 0; k < VARIABLES; ++k)
        if (touches[a][k] != 0 && touches[b][k] != 0 && touches[a][k] + touches[b][k] > 2) must[a][b] = 1;
  for (k = 0; k < OPS; ++k)
    for (a = 0; a < OPS; ++a)
      for (b = 0; b < OPS; ++b)
        if (must[a][k] && must[k][b]) must[a][b] = 1;
  return p;
}

static void check_pairs(const hocket_graph* g, unsigned char must[OPS][OPS]) {
  uint32_t sources[OPS * OPS], targets[OPS * OPS], i;
  uint8_t answers[OPS * OPS];
  for (i = 0; i < OPS * OPS; ++i) {
    sources[i] = i / OPS;
    targets[i] = i % OPS;
  }
  OK(hocket_graph_reaches(g, OPS * OPS, sources, targets, answers, &why));
  for (i = 0; i < OPS * OPS; ++i) CHECK(answers[i] == must[sources[i]][targets[i]]);
}

/* A kept edge is implied by no other path: without it nobody else leads there. */
static void check_kept(const hocket_graph* g, unsigned char must[OPS][OPS]) {
  uint32_t sources[OPS * OPS], targets[OPS * OPS], k;
  const size_t count = hocket_graph_edge_count(g);
  size_t i;
  CHECK(count <= hocket_graph_rule_edge_count(g) && count <= OPS * OPS);
  OK(hocket_graph_edges(g, sources, targets, &why));
  for (i = 0; i < count; ++i) {
    const char* rule = NULL;
    uint64_t subject = 99;
    CHECK(must[sources[i]][targets[i]]);
    for (k = 0; k < OPS; ++k) CHECK(!(must[sources[i]][k] && must[k][targets[i]]));
    OK(hocket_graph_why(g, sources[i], targets[i], &rule, &subject, &why));
    CHECK(strstr(rule, " after ") != NULL && subject < VARIABLES);
  }
}

static void test_random_graphs(void) {
  unsigned char must[OPS][OPS];
  int round;
  for (round = 0; round < 40; ++round) {
    hocket_program* const p = random_program(round % 2, must);
    hocket_graph* g = NULL;
    OK(hocket_graph_create(p, 0, &g, &why));
    CHECK(hocket_graph_node_count(g) == OPS);
    check_pairs(g, must);
    if (round % 2 == 0) check_kept(g, must);
    hocket_graph_destroy(g);
    hocket_program_destroy(p);
  }
}

static void test_edges(void) {
  const uint32_t sources[] = {0, 1, 0, 0}, targets[] = {1, 2, 2, 1}, round[] = {1, 2, 0}, from[] = {0, 1, 2};
  uint32_t cycle[2] = {9, 9}, path[3] = {9, 9, 9}, far = 5;
  size_t count = 0;
  uint8_t answer = 9;
  const char* rule = NULL;
  hocket_graph* g = NULL;
  REFUSED(HOCKET_BAD_INPUT, "cycle of 3: ", hocket_graph_from_edges(3, 3, from, round, cycle, 2, &count, &g, &why));
  CHECK(count == 3 && cycle[0] < 3 && cycle[1] == (cycle[0] + 1) % 3 && g == NULL);
  REFUSED(HOCKET_BAD_INPUT, "cycle of 3: ", hocket_graph_from_edges(3, 3, from, round, NULL, 0, NULL, &g, &why));
  REFUSED(HOCKET_BAD_INPUT, "node", hocket_graph_from_edges(2, 3, from, round, NULL, 0, NULL, &g, &why));
  REFUSED(HOCKET_BAD_INPUT, "sources is a null", hocket_graph_from_edges(2, 1, NULL, round, NULL, 0, NULL, &g, &why));
  REFUSED(HOCKET_BAD_INPUT, "out is a null", hocket_graph_from_edges(2, 0, NULL, NULL, NULL, 0, NULL, NULL, &why));
  OK(hocket_graph_from_edges(3, 4, sources, targets, cycle, 2, &count, &g, &why));
  CHECK(hocket_graph_edge_count(g) == 2 && hocket_graph_rule_edge_count(g) == 3);
  OK(hocket_graph_path(g, 0, 2, path, 2, &count, &why));
  CHECK(count == 3 && path[0] == 0 && path[1] == 1 && path[2] == 9);
  OK(hocket_graph_path(g, 2, 0, NULL, 0, &count, &why));
  CHECK(count == 0);
  REFUSED(HOCKET_BAD_INPUT, "made of edges", hocket_graph_why(g, 0, 1, &rule, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "count is a null", hocket_graph_path(g, 0, 1, path, 3, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "path is a null", hocket_graph_path(g, 0, 1, NULL, 3, &count, &why));
  REFUSED(HOCKET_BAD_INPUT, "source is node 5", hocket_graph_path(g, far, 1, path, 3, &count, &why));
  REFUSED(HOCKET_BAD_INPUT, "target is node 5", hocket_graph_path(g, 0, far, path, 3, &count, &why));
  REFUSED(HOCKET_BAD_INPUT, "source is node 5", hocket_graph_reaches(g, 1, &far, targets, &answer, &why));
  REFUSED(HOCKET_BAD_INPUT, "target is node 5", hocket_graph_reaches(g, 1, sources, &far, &answer, &why));
  REFUSED(HOCKET_BAD_INPUT, "answers is a null", hocket_graph_reaches(g, 1, sources, targets, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "targets is a null", hocket_graph_edges(g, path, NULL, &why));
  CHECK(answer == 9);
  hocket_graph_destroy(g);
}

static void test_chains(void) {
  const uint32_t all[] = {0, 1, 2, 3};
  const uint8_t kinds[] = {HOCKET_RANDOM, HOCKET_RANDOM, HOCKET_COLLECTIVE, HOCKET_COLLECTIVE};
  const uint32_t streams[] = {0, 1, 2, 3};
  const hocket_wait one = {0, 1};
  uint32_t pair[2] = {9, 9}, later = 1, first = 0;
  uint8_t answer = 0;
  hocket_program* p = NULL;
  hocket_graph* g = NULL;
  OK(hocket_program_create(4, &p, &why));
  OK(hocket_program_set_kinds(p, 4, all, kinds, &why));
  OK(hocket_graph_create(p, HOCKET_CHAIN_RANDOM | HOCKET_CHAIN_IO, &g, &why));
  CHECK(hocket_graph_edge_count(g) == 1);
  OK(hocket_graph_reaches(g, 1, &first, &later, &answer, &why));
  CHECK(answer == 1);
  hocket_graph_destroy(g);
  OK(hocket_graph_create(p, HOCKET_CHAIN_ALL, &g, &why));
  CHECK(hocket_graph_edge_count(g) == 3);
  hocket_graph_destroy(g);
  OK(hocket_check_order(p, 0, streams, 0, NULL, pair, &why));
  REFUSED(HOCKET_WRONG_ORDER, "random ops 0 and 1",
          hocket_check_order(p, HOCKET_CHAIN_RANDOM, streams, 0, NULL, pair, &why));
  CHECK(pair[0] == 0 && pair[1] == 1);
  OK(hocket_check_order(p, HOCKET_CHAIN_RANDOM, streams, 1, &one, pair, &why));
  REFUSED(HOCKET_WRONG_ORDER, "collective ops 2 and 3 are chained",
          hocket_check_order(p, HOCKET_CHAIN_RANDOM | HOCKET_CHAIN_COLLECTIVES, streams, 1, &one, pair, &why));
  CHECK(pair[0] == 2 && pair[1] == 3);
  REFUSED(HOCKET_WRONG_ORDER, "ops 1 and 2 are chained",
          hocket_check_order(p, HOCKET_CHAIN_ALL, streams, 1, &one, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "chains is 16", hocket_graph_create(p, 16, &g, &why));
  REFUSED(HOCKET_BAD_INPUT, "chains is 16", hocket_check_order(p, 16, streams, 0, NULL, NULL, &why));
  hocket_program_destroy(p);
}

void test_graphs(void) {
  hocket_program* const p = diamond();
  hocket_graph* g = NULL;
  const char* rule = NULL;
  uint64_t subject = 0;
  REFUSED(HOCKET_BAD_INPUT, "program is a null", hocket_graph_create(NULL, 0, &g, &why));
  REFUSED(HOCKET_BAD_INPUT, "out is a null", hocket_graph_create(p, 0, NULL, &why));
  OK(hocket_graph_create(p, 0, &g, &why));
  CHECK(hocket_graph_edge_count(g) == 4 && hocket_graph_rule_edge_count(g) == 4);
  OK(hocket_graph_why(g, 1, 3, &rule, &subject, &why));
  CHECK(strcmp(rule, "write after read") == 0 && subject == 7);
  OK(hocket_graph_why(g, 0, 2, &rule, NULL, &why));
  CHECK(strcmp(rule, "read after write") == 0);
  REFUSED(HOCKET_BAD_INPUT, "no kept edge from 0 to 3", hocket_graph_why(g, 0, 3, &rule, &subject, &why));
  REFUSED(HOCKET_BAD_INPUT, "target is node 4", hocket_graph_why(g, 0, 4, &rule, &subject, &why));
  REFUSED(HOCKET_BAD_INPUT, "source is node 4", hocket_graph_why(g, 4, 0, &rule, &subject, &why));
  REFUSED(HOCKET_BAD_INPUT, "rule is a null", hocket_graph_why(g, 0, 1, NULL, &subject, &why));
  hocket_graph_destroy(g);
  hocket_graph_destroy(NULL);
  CHECK(hocket_graph_node_count(NULL) == 0 && hocket_graph_edge_count(NULL) == 0);
  CHECK(hocket_graph_rule_edge_count(NULL) == 0);
  hocket_program_destroy(p);
  test_edges();
  test_chains();
  test_random_graphs();
}

/* ---- plans ----------------------------------------------------------------------------------------------------- */

/* A device that notes what is issued. Its fail_at-th call does not go well. */
struct device {
  int calls, fail_at, launches, waits;
  uint32_t recorded[64];
};
static int count_call(struct device* d) { return ++d->calls == d->fail_at ? 71 : 0; }
static int launch(void* context, uint32_t op, uint32_t stream) {
  struct device* const d = context;
  CHECK((int)op == d->launches && stream < 8);
  ++d->launches;
  return count_call(d);
}
static int record(void* context, uint32_t event, uint32_t stream) {
  struct device* const d = context;
  CHECK(event < 64 && stream < 8);
  d->recorded[event] = 1;
  return count_call(d);
}
static int wait_for(void* context, uint32_t stream, uint32_t event) {
  struct device* const d = context;
  CHECK(event < 64 && stream < 8 && d->recorded[event] == 1);
  ++d->waits;
  return count_call(d);
}

static void test_drive(const hocket_plan* plan) {
  struct device d;
  size_t issued = 99;
  int status = 99, i, calls;
  memset(&d, 0, sizeof d);
  OK(hocket_plan_drive(plan, &d, launch, record, wait_for, &issued, &status, &why));
  CHECK(d.launches == (int)hocket_plan_op_count(plan) && d.waits == (int)hocket_plan_wait_count(plan));
  CHECK(issued == (size_t)d.calls && status == 0);
  calls = d.calls;
  for (i = 1; i <= calls; ++i) {
    memset(&d, 0, sizeof d);
    d.fail_at = i;
    REFUSED(HOCKET_HOST_FAILED, "71", hocket_plan_drive(plan, &d, launch, record, wait_for, &issued, &status, &why));
    CHECK(issued == (size_t)i - 1 && status == 71 && d.calls == i);
  }
  memset(&d, 0, sizeof d);
  OK(hocket_plan_drive(plan, &d, launch, record, wait_for, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "plan is a null", hocket_plan_drive(NULL, &d, launch, record, wait_for, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "launch is a null", hocket_plan_drive(plan, &d, NULL, record, wait_for, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "record is a null", hocket_plan_drive(plan, &d, launch, NULL, wait_for, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "wait is a null", hocket_plan_drive(plan, &d, launch, record, NULL, NULL, NULL, &why));
}

/* Without any one of its waits, a plan of the fewest waits does not keep the order. */
static void check_fewest(const hocket_program* p, const hocket_plan* plan) {
  hocket_wait waits[OPS * OPS];
  const size_t count = hocket_plan_wait_count(plan);
  size_t i, k;
  uint32_t pair[2];
  OK(hocket_check_order(p, 0, hocket_plan_streams(plan), count, hocket_plan_waits(plan), pair, &why));
  for (i = 0; i < count; ++i) {
    for (k = 0; k + 1 < count; ++k) waits[k] = hocket_plan_waits(plan)[k < i ? k : k + 1];
    REFUSED(HOCKET_WRONG_ORDER, "", hocket_check_order(p, 0, hocket_plan_streams(plan), count - 1, waits, pair, &why));
    CHECK(pair[0] < pair[1] && pair[1] < OPS);
  }
}

static void test_random_plans(void) {
  unsigned char must[OPS][OPS];
  int64_t times[OPS];
  uint32_t streams[OPS];
  int round, i;
  for (round = 0; round < 20; ++round) {
    hocket_program* const p = random_program(round % 2, must);
    hocket_graph* g = NULL;
    hocket_plan* plan = NULL;
    OK(hocket_graph_create(p, 0, &g, &why));
    OK(hocket_plan_assign(g, 1 + next_random(5), NULL, &plan, &why));
    CHECK(hocket_plan_duration_ns(plan) == -1 && hocket_plan_stream_count(plan) <= 5);
    check_fewest(p, plan);
    hocket_plan_destroy(plan);
    for (i = 0; i < OPS; ++i) times[i] = 1 + next_random(9);
    OK(hocket_plan_assign(g, 3, times, &plan, &why));
    CHECK(hocket_plan_duration_ns(plan) > 0);
    check_fewest(p, plan);
    hocket_plan_destroy(plan);
    for (i = 0; i < OPS; ++i) streams[i] = next_random(8);
    OK(hocket_plan_create(g, streams, &plan, &why));
    CHECK(memcmp(hocket_plan_streams(plan), streams, sizeof streams) == 0);
    CHECK(hocket_plan_wait_count(plan) <= hocket_plan_cross_stream_edge_count(plan));
    CHECK(hocket_plan_event_count(plan) <= hocket_plan_wait_count(plan));
    check_fewest(p, plan);
    test_drive(plan);
    hocket_plan_destroy(plan);
    hocket_graph_destroy(g);
    hocket_program_destroy(p);
  }
}

void test_plans(void) {
  hocket_program* const p = diamond();
  const uint32_t streams[] = {0, 0, 1, 0}, far[] = {0, 0, 70000, 0};
  const int64_t times[] = {1, 1, -1, 1};
  const hocket_wait backwards = {3, 2}, beyond = {0, 9};
  hocket_graph* g = NULL;
  hocket_plan* plan = NULL;
  OK(hocket_graph_create(p, 0, &g, &why));
  REFUSED(HOCKET_BAD_INPUT, "graph is a null", hocket_plan_create(NULL, streams, &plan, &why));
  REFUSED(HOCKET_BAD_INPUT, "stream_of is a null", hocket_plan_create(g, NULL, &plan, &why));
  REFUSED(HOCKET_BAD_INPUT, "out is a null", hocket_plan_create(g, streams, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "70000", hocket_plan_create(g, far, &plan, &why));
  REFUSED(HOCKET_BAD_INPUT, "graph is a null", hocket_plan_assign(NULL, 2, NULL, &plan, &why));
  REFUSED(HOCKET_BAD_INPUT, "out is a null", hocket_plan_assign(g, 2, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "streams is 0", hocket_plan_assign(g, 0, NULL, &plan, &why));
  REFUSED(HOCKET_BAD_INPUT, "streams is 0", hocket_plan_assign(g, 0, times, &plan, &why));
  REFUSED(HOCKET_BAD_INPUT, "duration of op 2", hocket_plan_assign(g, 2, times, &plan, &why));
  CHECK(plan == NULL);
  OK(hocket_plan_create(g, streams, &plan, &why));
  CHECK(hocket_plan_op_count(plan) == 4 && hocket_plan_stream_count(plan) == 2);
  CHECK(hocket_plan_wait_count(plan) == 2 && hocket_plan_cross_stream_edge_count(plan) == 2);
  CHECK(hocket_plan_waits(plan)[0].recorder == 0 && hocket_plan_waits(plan)[0].waiter == 2);
  CHECK(hocket_plan_waits(plan)[1].recorder == 2 && hocket_plan_waits(plan)[1].waiter == 3);
  CHECK(hocket_plan_op_count(NULL) == 0 && hocket_plan_stream_count(NULL) == 0 && hocket_plan_event_count(NULL) == 0);
  CHECK(hocket_plan_wait_count(NULL) == 0 && hocket_plan_cross_stream_edge_count(NULL) == 0);
  CHECK(hocket_plan_streams(NULL) == NULL && hocket_plan_waits(NULL) == NULL && hocket_plan_duration_ns(NULL) == -1);
  REFUSED(HOCKET_BAD_INPUT, "program is a null", hocket_check_order(NULL, 0, streams, 0, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "stream_of is a null", hocket_check_order(p, 0, NULL, 0, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "waits is a null", hocket_check_order(p, 0, streams, 1, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "70000", hocket_check_order(p, 0, far, 0, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "program order", hocket_check_order(p, 0, streams, 1, &backwards, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "program order", hocket_check_order(p, 0, streams, 1, &beyond, NULL, &why));
  test_drive(plan);
  hocket_plan_destroy(plan);
  hocket_plan_destroy(NULL);
  hocket_graph_destroy(g);
  hocket_program_destroy(p);
  test_random_plans();
}
