// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each allocation of each function but hocket_cost_report (see its comment) fails once: the status says so, nothing
// leaks (under AddressSanitizer), and the next call is as good as before.
#include <hocket/hocket.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

namespace {

long left = -1;  // allocations until one fails; below 0: none does

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole > 0 ? whole : alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

int failures = 0;
void check(bool good, const char* what, long at) {
  if (good) return;
  ++failures;
  std::printf("not so: %s, at allocation %ld\n", what, at);
}

// Runs act(error) with one more allocation each time, until it succeeds.
template <class Act>
void exhaust(const char* what, Act&& act) {
  for (long n = 0; n < 100'000; ++n) {
    hocket_error why{};
    left = n;
    const hocket_status status = act(&why);
    left = -1;
    if (status == HOCKET_OK) {
      std::printf("%s: %ld allocations\n", what, n);
      return;
    }
    check(status == HOCKET_OUT_OF_MEMORY && std::strstr(why.sentence, "memory") != nullptr, what, n);
  }
  check(false, what, -1);
}

void exhaust_graph() {
  const std::uint32_t ops[] = {0, 1, 2, 3}, streams[] = {0, 1, 0, 1}, items[] = {4, 4, 4, 4},
                      dimensions[] = {0, 0, 0, 0};
  const std::uint64_t v[] = {1, 1, 1, 1}, first[] = {0, 0, 4, 4}, end[] = {4, 4, 8, 8};
  hocket_program* p = nullptr;
  exhaust("program", [&](hocket_error* e) { return hocket_program_create(4, &p, e); });
  exhaust("variables", [&](hocket_error* e) { return hocket_program_add_variables(p, HOCKET_WRITE, 4, ops, v, e); });
  exhaust("bytes", [&](hocket_error* e) { return hocket_program_add_bytes(p, HOCKET_READ, 4, ops, v, first, end, e); });
  exhaust("views", [&](hocket_error* e) {
    return hocket_program_add_views(p, HOCKET_READ, 4, ops, v, first, items, dimensions, nullptr, nullptr, e);
  });
  hocket_graph* g = nullptr;
  exhaust("graph", [&](hocket_error* e) { return hocket_graph_create(p, 0, &g, e); });
  hocket_plan* plan = nullptr;
  exhaust("plan", [&](hocket_error* e) { return hocket_plan_create(g, streams, &plan, e); });
  exhaust("order", [&](hocket_error* e) {
    return hocket_check_order(p, 0, streams, hocket_plan_wait_count(plan), hocket_plan_waits(plan), nullptr, e);
  });
  hocket_plan_destroy(plan);
  exhaust("assigned plan", [&](hocket_error* e) { return hocket_plan_assign(g, 2, nullptr, &plan, e); });
  hocket_plan_destroy(plan);
  hocket_graph_destroy(g);
  exhaust("edges",
          [&](hocket_error* e) { return hocket_graph_from_edges(4, 3, ops, ops + 1, nullptr, 0, nullptr, &g, e); });
  std::uint32_t path[4];
  std::size_t count = 0;
  exhaust("path", [&](hocket_error* e) { return hocket_graph_path(g, 0, 3, path, 4, &count, e); });
  hocket_graph_destroy(g);
  hocket_program_destroy(p);
}

void exhaust_rest() {
  hocket_schedule* s = nullptr;
  for (const char* const groups : {"auto", "3,3,2", "balanced"}) {
    hocket_schedule_destroy(s);
    exhaust("schedule",
            [&](hocket_error* e) { return hocket_schedule_create("interleaved", 3, 2, 8, groups, 0, 0, 0, &s, e); });
  }
  exhaust("check", [&](hocket_error* e) { return hocket_schedule_check(s, nullptr, 0, nullptr, e); });
  exhaust("run", [&](hocket_error* e) { return hocket_schedule_simulate(s, nullptr, nullptr, nullptr, nullptr, e); });
  char* text = nullptr;
  exhaust("csv", [&](hocket_error* e) { return hocket_schedule_csv(s, &text, e); });
  hocket_schedule_destroy(s);
  exhaust("parse", [&](hocket_error* e) { return hocket_schedule_parse(text, std::strlen(text), &s, e); });
  hocket_text_destroy(text);
  hocket_schedule_destroy(s);
  exhaust("short", [&](hocket_error* e) { return hocket_schedule_create("gpipe", 2, 1, 1, nullptr, 0, 0, 0, &s, e); });
  exhaust("program", [&](hocket_error* e) { return hocket_schedule_program(s, nullptr, &text, e); });
  int verdict = 0;
  exhaust("ranks", [&](hocket_error* e) {
    return hocket_ranks_check(text, std::strlen(text), nullptr, -1, &verdict, nullptr, e);
  });
  hocket_text_destroy(text);
  hocket_schedule_destroy(s);
  exhaust("v-half",
          [&](hocket_error* e) { return hocket_schedule_create("v-half", 3, 2, 8, nullptr, 0, 0, 0, &s, e); });
  hocket_schedule_destroy(s);

  const double rows[] = {128, 256, 512}, us[] = {10, 15, 30};
  hocket_tiling* t = nullptr;
  hocket_tile_plan* plan = nullptr;
  exhaust("tiling", [&](hocket_error* e) { return hocket_tiling_create(1024, 128, 8, &t, e); });
  exhaust("affine", [&](hocket_error* e) { return hocket_tiling_add_affine(t, 0, 6, 0.2, 0, 1, e); });
  exhaust("table", [&](hocket_error* e) { return hocket_tiling_add_table(t, 1, 3, rows, us, 1, e); });
  exhaust("samples", [&](hocket_error* e) { return hocket_tiling_add_samples(t, 0, 3, rows, us, 1, nullptr, e); });
  exhaust("tile plan", [&](hocket_error* e) { return hocket_tiling_solve(t, nullptr, &plan, e); });
  hocket_tile_plan_destroy(plan);
  exhaust("exact tile plan", [&](hocket_error* e) { return hocket_tiling_solve(t, "exact", &plan, e); });
  hocket_tile_plan_destroy(plan);
  hocket_tiling_destroy(t);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t to) { return allocate(bytes, static_cast<std::size_t>(to)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

int main() {
  exhaust_graph();
  exhaust_rest();
  return failures == 0 ? 0 : 1;
}
