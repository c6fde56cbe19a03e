// SPDX-License-Identifier: Apache-2.0
// What allocates, and what happens when there is no memory: the second run of a pipeline allocates nothing; a batch of
// enqueues keeps its promises.
#include <hocket/launch/backends/host_batch.hpp>
#include <hocket/launch/bridges/pipeline_run.hpp>
#include <hocket/launch/event_pool.hpp>
#include <hocket/launch/transports/in_process.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/table.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "catch.hpp"

namespace {

thread_local std::size_t allocated_here = 0;
thread_local bool no_memory_here = false;

}  // namespace

// Not inlined: g++ would take malloc and free for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocated_here;
  if (!no_memory_here)
    if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocated_here;
  return no_memory_here ? nullptr : std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

TEST_CASE("a run allocates nothing once the queues have grown", "[launch][transport]") {
  using namespace hocket;
  const auto plan = pipeline::table_schedule::make_copy(
                        pipeline::interleaved::make({.ranks = 2, .chunks = 2, .micro_batches = 5}).value())
                        .value();
  const auto program = launch::from_pipeline(plan).value();
  auto group = launch::in_process_group::make(2).value();
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

#if HOCKET_HAS_EXCEPTIONS
TEST_CASE("a batch that ends without memory loses nothing: records are made, nobody hangs", "[launch][host]") {
  using namespace hocket::launch;
  for (const bool several : {false, true}) {
    auto device = host_backend::start(2).value();
    const host_stream first = device.stream(0), second = device.stream(1);
    event_pool events(device);
    REQUIRE(events.reserve(2) == host_status::ok);
    std::atomic<bool> begin{false}, go{false};
    std::atomic<int> held{0}, ran{0};
    std::thread later([&] {
      while (!begin) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      go = true;
    });
    const auto hold = [&go, &held] {
      ++held;
      while (!go) std::this_thread::yield();
    };
    const auto count = [&ran] { ++ran; };
    int eager = 0;
    {
      host_batch batch(device);
      for (const host_stream s : {first, second}) REQUIRE(batch.enqueue(s, hold) == host_status::ok);
      REQUIRE(batch.publish() == host_status::ok);  // the next chunks come along
      while (held < 2) std::this_thread::yield();   // a stream that takes its queue later would make room in it
      no_memory_here = true;
      for (const host_stream s : {first, second})
        while (device.enqueue(s, count) == host_status::ok) ++eager;
      // Staged on the first stream; the second waits for it, and the first then for the second.
      bool staged = batch.enqueue(first, count) == host_status::ok;
      staged = staged && batch.record(events.events()[0], first) == host_status::ok;
      staged = staged && batch.wait(second, events.events()[0]) == host_status::ok;
      staged = staged && batch.enqueue(second, count) == host_status::ok;
      if (several) {
        staged = staged && batch.record(events.events()[1], second) == host_status::ok;
        staged = staged && batch.wait(first, events.events()[1]) == host_status::ok;
        staged = staged && batch.enqueue(first, count) == host_status::ok;
      }
      const auto published = batch.publish();
      no_memory_here = false;
      CHECK(staged);
      CHECK(published == host_status::out_of_memory);
      no_memory_here = true;
      begin = true;
    }
    no_memory_here = false;
    CHECK(eager > 0);
    CHECK(device.synchronize());
    CHECK(ran == eager + (several ? 3 : 2));
    later.join();
  }
}
#endif
