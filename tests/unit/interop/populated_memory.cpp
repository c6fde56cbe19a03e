// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages that are there beforehand: what the resource passes on, what it does when the kernel or the upstream refuses,
// and that a graph built on it is the same and takes fewer page faults.
#include <hocket/graph/dag.hpp>
#include <hocket/interop/populated_memory.hpp>
#include <hocket/testing/graph_benchmark.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "graph_programs.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

// A sanitizer has pages of its own for each that is touched.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOCKET_TEST_WATCHED true
#elif defined(__has_feature)
#define HOCKET_TEST_WATCHED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HOCKET_TEST_WATCHED false
#endif

using hocket::graph::dag;
using hocket::interop::populate;
using hocket::interop::populated_memory;

namespace {

struct request {
  std::size_t bytes, alignment;
};
// Remembers what it is asked for; refuses what is larger than `most`.
class ledger : public std::pmr::memory_resource {
 public:
  std::size_t most = ~std::size_t{0};
  std::vector<request> allocated, freed;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > most) throw std::bad_alloc();
    allocated.push_back({bytes, alignment});
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    freed.push_back({bytes, alignment});
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

TEST_CASE("populated memory: every request goes upstream as it is", "[graph]") {
  ledger upstream;
  populated_memory pages(&upstream);
  CHECK(pages.upstream() == &upstream);
  const populated_memory other(&upstream);
  CHECK(pages == pages);
  CHECK_FALSE(pages == other);
  std::size_t count = 0;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, populated_memory::least - 1,
                                  populated_memory::least, std::size_t{1} << 20, (std::size_t{3} << 20) + 17})
    for (const std::size_t alignment : {std::size_t{8}, std::size_t{64}, std::size_t{4096}}) {
      auto* const p = static_cast<unsigned char*>(pages.allocate(bytes, alignment));
      REQUIRE(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
      p[0] = p[bytes - 1] = 1;
      pages.deallocate(p, bytes, alignment);
      ++count;
      REQUIRE(upstream.allocated.size() == count);
      REQUIRE(upstream.freed.size() == count);
      CHECK((upstream.allocated.back().bytes == bytes && upstream.allocated.back().alignment == alignment));
      CHECK((upstream.freed.back().bytes == bytes && upstream.freed.back().alignment == alignment));
    }
  upstream.most = 1 << 20;
  CHECK_THROWS_AS(pages.allocate(2 << 20, 8), std::bad_alloc);
}

TEST_CASE("populated memory: a graph is the same on it, and leaves nothing behind", "[graph]") {
  const auto rows = hocket::testing::rule_rows(graph_programs::gpt_program({4, 3, 1}));
  ledger upstream;
  {
    populated_memory pages(&upstream);
    dag<> populated(&pages), plain;
    populated.reserve(rows.size());
    for (std::size_t b = 0; b < rows.size(); ++b) {
      REQUIRE(populated.append(rows.predecessors(b)));
      REQUIRE(plain.append(rows.predecessors(b)));
    }
    CHECK(populated.edges() == plain.edges());
    CHECK(populated.reachable_pairs() == plain.reachable_pairs());
  }
  CHECK(upstream.allocated.size() > 3);
  CHECK(upstream.freed.size() == upstream.allocated.size());
}

TEST_CASE("populated memory: pages are there, and what they hold stays", "[graph]") {
  CHECK_FALSE(populate(nullptr, 0));
  std::vector<unsigned char> some(100'000, 7);
  populate(some.data() + 1, some.size() - 2);
  bool same = true;
  for (const unsigned char c : some) same = same && c == 7;
  CHECK(same);
#if defined(__linux__)
  constexpr std::size_t bytes = std::size_t{8} << 20;
  void* const fresh = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(fresh != MAP_FAILED);
  const bool kernel_does = populate(fresh, bytes);
  const auto faults = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
  };
  const auto before = faults();
  for (std::size_t i = 0; i < bytes; i += 512) static_cast<volatile char*>(fresh)[i] = 1;
  if (kernel_does && !HOCKET_TEST_WATCHED) CHECK(faults() - before < 20);  // of 2,048 pages of 4 KiB
  CHECK(munmap(fresh, bytes) == 0);
  CHECK_FALSE(populate(fresh, bytes));  // nothing is there any more: the kernel refuses, and that is all
#endif
}

TEST_CASE("populated memory can be written and given back; populating nothing is refused", "[graph]") {
  char here[64] = {};
  CHECK_FALSE(hocket::interop::populate(here, 0));
#if defined(__linux__)
  // As the system does it for whole pages, where it can (Linux 5.14), also from within a page and over several.
  std::vector<char> pages(1 << 20);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const first = pages.data() + (page - reinterpret_cast<std::uintptr_t>(pages.data()) % page) % page;
  const bool can = ::madvise(first, 4 * page, 23) == 0;
  for (const std::size_t bytes : {std::size_t{1}, page - 1, page, 3 * page + 5, 100 * page})
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, page - 1})
      CHECK(hocket::interop::populate(static_cast<char*>(first) + offset, bytes) == can);
#endif
  hocket::interop::populated_memory memory;
  CHECK(memory.upstream() == std::pmr::get_default_resource());
  for (const std::size_t bytes : {std::size_t{1}, hocket::interop::populated_memory::least - 1,
                                  hocket::interop::populated_memory::least, std::size_t{1} << 20}) {
    void* const p = memory.allocate(bytes, 64);
    std::memset(p, 1, bytes);
    memory.deallocate(p, bytes, 64);
  }
  hocket::interop::populated_memory other;
  CHECK(memory.is_equal(memory));
  CHECK_FALSE(memory.is_equal(other));
}
