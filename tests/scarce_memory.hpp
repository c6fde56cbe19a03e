// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that runs out at each allocation in turn.
#pragma once
#include <cstddef>
#include <memory_resource>
#include <new>

namespace hocket_test {

inline constexpr std::size_t plenty = ~std::size_t{0};

/// Serves `left` requests, then refuses; counts the bytes that are still out.
class scarce_memory : public std::pmr::memory_resource {
 public:
  std::size_t left = plenty, out = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (left == 0) throw std::bad_alloc();
    if (left != plenty) --left;
    void* const memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    out += bytes;
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    out -= bytes;
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// Runs call() with 0, 1, 2, … allocations allowed until it succeeds; unchanged() is asked after each failure.
/// @param left the allocations that are still granted; afterwards there are plenty
/// @return how often it failed
template <class Call, class Unchanged>
std::size_t until_it_succeeds(std::size_t& left, Call&& call, Unchanged&& unchanged) {
  for (std::size_t allowed = 0;; ++allowed) {
    bool done = true;
    left = allowed;
    try {
      call();
    } catch (const std::bad_alloc&) {
      done = false;
    }
    left = plenty;
    if (done) return allowed;
    unchanged();
  }
}

}  // namespace hocket_test
