// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What C++ may do behind hocket.h: functions of the host that throw, and stream numbers far apart.
#include <hocket/hocket.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::size_t largest = 0;  // bytes of one allocation

int failures = 0;
void check(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::printf("not so: %s\n", what);
}

/// What the host's functions do at a call.
struct host {
  int left = 0;  // calls until one throws
  int calls = 0;
  int next() {
    ++calls;
    if (left-- == 0) throw std::runtime_error("the host's own");
    return 0;
  }
};
int on_launch(void* context, std::uint32_t, std::uint32_t) { return static_cast<host*>(context)->next(); }
int on_record(void* context, std::uint32_t, std::uint32_t) { return static_cast<host*>(context)->next(); }
int on_wait(void* context, std::uint32_t, std::uint32_t) { return static_cast<host*>(context)->next(); }

void exceptions_end_a_drive() {
  const std::uint32_t sources[] = {0}, targets[] = {1}, streams[] = {0, 1};
  hocket_error why{};
  hocket_graph* g = nullptr;
  hocket_plan* p = nullptr;
  check(hocket_graph_from_edges(2, 1, sources, targets, nullptr, 0, nullptr, &g, &why) == HOCKET_OK, "a graph");
  check(hocket_plan_create(g, streams, &p, &why) == HOCKET_OK, "a plan");
  const char* const names[] = {"launch", "record", "wait", "launch"};
  for (int n = 0; n < 4; ++n) {
    host h{n, 0};
    std::size_t issued = 99;
    int status = 0;
    const hocket_status ended = hocket_plan_drive(p, &h, on_launch, on_record, on_wait, &issued, &status, &why);
    check(ended == HOCKET_HOST_FAILED, "an exception is a failure of the host");
    check(issued == static_cast<std::size_t>(n) && h.calls == n + 1 && status == -1, "nothing runs after it");
    const std::string sentence = std::string("the host's function ") + names[n] + " threw an exception: ";
    check(std::strncmp(why.sentence, sentence.c_str(), sentence.size()) == 0, "the sentence names the function");
  }
  host h{-1, 0};
  check(hocket_plan_drive(p, &h, on_launch, on_record, on_wait, nullptr, nullptr, &why) == HOCKET_OK,
        "it is as before");
  check(h.calls == 4, "all calls");
  hocket_plan_destroy(p);
  hocket_graph_destroy(g);
}

/// Two streams cost what two streams cost, whatever their numbers.
void streams_count_not_their_numbers() {
  constexpr std::uint32_t ops = 4000;
  std::vector<std::uint32_t> all, streams;
  std::vector<std::uint64_t> variables(ops, 7);
  std::vector<hocket_wait> waits;
  for (std::uint32_t op = 0; op < ops; ++op) {
    all.push_back(op);
    streams.push_back(op % 2 == 0 ? 0 : 65'535);
    if (op > 0) waits.push_back({op - 1, op});
  }
  hocket_error why{};
  hocket_program* p = nullptr;
  check(hocket_program_create(ops, &p, &why) == HOCKET_OK, "a program");
  check(hocket_program_add_variables(p, HOCKET_WRITE, ops, all.data(), variables.data(), &why) == HOCKET_OK, "writes");
  largest = 0;
  std::uint32_t pair[2] = {0, 0};
  check(hocket_check_order(p, 0, streams.data(), waits.size(), waits.data(), pair, &why) == HOCKET_OK, "in order");
  waits.pop_back();
  check(hocket_check_order(p, 0, streams.data(), waits.size(), waits.data(), pair, &why) == HOCKET_WRONG_ORDER,
        "a wait is missing");
  check(pair[0] == ops - 2 && pair[1] == ops - 1, "the two ops");
  check(largest < std::size_t{1} << 22, "no clocks of 65,536 streams");
  std::printf("largest allocation: %zu bytes\n", largest);
  hocket_program_destroy(p);
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes > largest) largest = bytes;
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main() {
  exceptions_end_a_drive();
  streams_count_not_their_numbers();
  return failures == 0 ? 0 : 1;
}
