// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "out_of_memory.hpp"

#include <cstdlib>

namespace out_of_memory {

std::atomic<long> left = -1;
std::atomic<std::size_t> in_use = 0;

namespace {
void* allocate(std::size_t bytes, std::size_t alignment) {
  long now = left;
  while (now > 0 && !left.compare_exchange_weak(now, now - 1)) {
  }
  if (now == 0) throw std::bad_alloc();
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole > 0 ? whole : alignment);
  if (memory == nullptr) throw std::bad_alloc();
  ++in_use;
  return memory;
}
void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  --in_use;
  std::free(memory);
}
}  // namespace

}  // namespace out_of_memory

void* operator new(std::size_t bytes) { return out_of_memory::allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return out_of_memory::allocate(bytes, static_cast<std::size_t>(alignment));
}
// Those of arrays and without exceptions, too: a sanitizer has each of its own.
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, const std::nothrow_t& none) noexcept { return operator new(bytes, none); }
void operator delete(void* memory) noexcept { out_of_memory::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { out_of_memory::give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { out_of_memory::give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { out_of_memory::give_back(memory); }
void operator delete[](void* memory) noexcept { out_of_memory::give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { out_of_memory::give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { out_of_memory::give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { out_of_memory::give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { out_of_memory::give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { out_of_memory::give_back(memory); }
