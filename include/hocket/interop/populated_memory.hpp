// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linux only in effect; elsewhere it hands out the memory of its upstream as it is.
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace hocket::inline HOCKET_ABI::interop {

/// Asks the kernel for all pages of a range at once, as if each had been written to (madvise with
/// MADV_POPULATE_WRITE, Linux 5.14). One by one, as they are touched, each costs a page fault: one to two microseconds.
/// What the memory holds does not change.
/// @param first, bytes  memory that may be written to
/// @return false if the kernel does not do it; then pages come as they are touched, as always
///
///     hocket::interop::populate(buffer.data(), buffer.size());
inline bool populate([[maybe_unused]] void* first, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
  constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, which older headers do not name
  const long size = ::sysconf(_SC_PAGESIZE);
  if (bytes == 0 || size <= 0) return false;
  const auto page = static_cast<std::uintptr_t>(size);
  const std::uintptr_t into = reinterpret_cast<std::uintptr_t>(first) % page;  // the page where it starts
  return ::madvise(static_cast<char*>(first) - into, (into + bytes + page - 1) / page * page, populate_write) == 0;
#else
  return false;
#endif
}

/// Memory whose pages are there when it is handed out: for a dag or an index whose building stands in the way of a
/// program's start, where page faults are a quarter to a third of the time (docs/benchmarks.md). It takes every
/// allocation from its upstream; those of `least` bytes and more are populated, smaller ones share pages as they always
/// did. What is asked for and not used is paid for, so a reserve should not be generous. It holds no memory itself, and
/// is as safe for several threads as its upstream is.
/// Errors: those of the upstream (std::bad_alloc); a kernel that refuses is no error.
///
///     hocket::interop::populated_memory pages;
///     hocket::graph::dag<> g(&pages);             // outlived by `pages`
class populated_memory : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t least = std::size_t{16} << 10;  ///< bytes; below, a call costs more than its faults

  explicit populated_memory(std::pmr::memory_resource* upstream = std::pmr::get_default_resource()) noexcept
      : upstream_(upstream) {}
  populated_memory(const populated_memory&) = delete;
  populated_memory& operator=(const populated_memory&) = delete;

  [[nodiscard]] std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const p = upstream_->allocate(bytes, alignment);
    if (bytes >= least) populate(p, bytes);
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    upstream_->deallocate(p, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::pmr::memory_resource* upstream_;
};

}  // namespace hocket::inline HOCKET_ABI::interop
