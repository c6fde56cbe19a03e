// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What allocates: the second run of a pipeline does not.
#include <hocket/launch/bridges/pipeline_runner.hpp>
#include <hocket/launch/transports/in_process.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/table.hpp>

#include <array>
#include <cstdlib>
#include <new>
#include <thread>

#include "catch.hpp"

namespace {

thread_local std::size_t allocated_here = 0;

}  // namespace

// Not inlined: g++ would take malloc and free for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocated_here;
  if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

TEST_CASE("a run allocates nothing once the queues have grown", "[launch][transport]") {
  using namespace hocket;
  const auto plan = pipeline::table_schedule::make_copy(
                        pipeline::interleaved::make({.ranks = 2, .chunks = 2, .micro_batches = 5}).value())
                        .value();
  const auto program = launch::from_pipeline(plan).value();
  auto group = launch::in_process_group::start(2).value();
  std::size_t counted[2] = {99, 99}, work[2] = {};
  const auto body = [&](std::uint32_t rank) {
    launch::pipeline_runner runner(program, rank, group.rank(rank));
    std::array<char, 256> memory{};
    const auto place = [&](pipeline::stage_action) { return launch::transfer_memory{memory.data(), memory.size()}; };
    const auto compute = [&](pipeline::stage_action) { ++work[rank]; };
    bool good = true;
    // How far one side runs ahead varies, and a queue may grow late: the quietest of a few windows counts.
    for (int window = 0; window < 6; ++window) {
      const std::size_t before = allocated_here;
      for (int step = 0; step < 10; ++step) good = good && runner.run(place, compute);
      const std::size_t now = allocated_here - before;
      if (good && now < counted[rank]) counted[rank] = now;
    }
  };
  std::thread other(body, 1u);
  body(0);
  other.join();
  CHECK(counted[0] == 0);
  CHECK(counted[1] == 0);
  CHECK(work[0] == 60 * 20);
}
