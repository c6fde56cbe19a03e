/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the C test's files share: checks that count, and random numbers that are the same everywhere. */
#ifndef HOCKET_TESTS_C_CHECK_H
#define HOCKET_TESTS_C_CHECK_H
#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int failures;
extern hocket_error why;

#define CHECK(condition)                                                                \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      ++failures;                                                                       \
      printf("%s:%d: not so: %s [%s]\n", __FILE__, __LINE__, #condition, why.sentence); \
    }                                                                                   \
  } while (0)

/* A call that must fail with a status, and with a sentence that has these words. */
#define REFUSED(status, words, call)              \
  do {                                            \
    strcpy(why.sentence, "nothing was said");     \
    CHECK((call) == (status));                    \
    CHECK(strstr(why.sentence, (words)) != NULL); \
  } while (0)
#define OK(call) CHECK((call) == HOCKET_OK && why.sentence[0] == '\0')

unsigned next_random(unsigned below);

void test_programs(void);
void test_graphs(void);
void test_plans(void);
void test_schedules(void);
void test_tilings(void);
void test_costs(void);

#endif
