/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hocket.h as a C11 program sees it: every function, and every way in which it refuses. */
#include "check.h"

int failures = 0;
hocket_error why;

unsigned next_random(unsigned below) {
  static uint64_t state = 12345;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}

static void test_common(void) {
  const char* const names[] = {"ok",          "bad input", "out of memory", "wrong order",
                               "host failed", "not built", "internal"};
  hocket_status s;
  CHECK(hocket_version() == HOCKET_VERSION);
  for (s = HOCKET_OK; s <= HOCKET_INTERNAL; ++s) CHECK(strcmp(hocket_status_name(s), names[s]) == 0);
  CHECK(strcmp(hocket_status_name(99), "no status") == 0);
  hocket_text_destroy(NULL);
}

int main(void) {
  test_common();
  test_programs();
  test_graphs();
  test_plans();
  test_schedules();
  test_tilings();
  test_costs();
  if (failures == 0) printf("all is well\n");
  return failures == 0 ? 0 : 1;
}
