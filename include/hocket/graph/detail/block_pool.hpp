// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Blocks of one size, numbered from 1 in order of creation, that never move: 32-bit numbers are half the size of
// pointers, and "younger than" is a comparison. Number 0 is nobody's.
template <class Block, std::uint32_t Most = 0x20000000>
class block_pool {
 public:
  static constexpr std::uint32_t most = Most;  // numbers; an index has other uses for the highest bits

  explicit block_pool(std::pmr::memory_resource* memory) noexcept : chunks_(memory) {}
  block_pool(block_pool&& other) noexcept
      : chunks_(std::move(other.chunks_)),
        size_(std::exchange(other.size_, 1)),
        room_(std::exchange(other.room_, 0)),
        bytes_(std::exchange(other.bytes_, 0)) {
    other.chunks_.clear();
  }
  // Delegates, so that the destructor gives the chunks back if memory runs out half-way.
  block_pool(const block_pool& other, std::uint32_t count) : block_pool(std::pmr::get_default_resource()) {
    while (size_ < count) {
      const std::uint32_t b = add();
      (*this)[b] = other[b];
    }
  }
  block_pool& operator=(block_pool&&) = delete;
  ~block_pool() {
    for (Block* chunk : chunks_) memory()->deallocate(chunk, per_chunk * sizeof(Block), alignment);
  }

  [[nodiscard]] std::pmr::memory_resource* memory() const noexcept { return chunks_.get_allocator().resource(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_ + chunks_.capacity() * sizeof(Block*); }
  [[nodiscard]] Block& operator[](std::uint32_t b) noexcept { return chunks_[b / per_chunk][b % per_chunk]; }
  [[nodiscard]] const Block& operator[](std::uint32_t b) const noexcept {
    return chunks_[b / per_chunk][b % per_chunk];
  }

  // A new block with any content. std::bad_alloc past `most`, too.
  [[nodiscard]] std::uint32_t add() {
    if (size_ >= room_) grow();
    return size_++;
  }
  // Forgets the youngest blocks; keeps their memory.
  void shrink(std::uint32_t size) noexcept { size_ = size; }

 private:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t per_chunk = (std::size_t{1} << 16) / sizeof(Block);  // 64 KiB

  [[gnu::cold, gnu::noinline]] void grow() {
    static_assert(most % per_chunk == 0);
    // No more numbers is no more memory. Asking the resource that has none throws, whatever this unit is compiled with.
    if (chunks_.size() == most / per_chunk) (void)std::pmr::null_memory_resource()->allocate(1);
    if (chunks_.size() == chunks_.capacity()) chunks_.reserve(chunks_.size() * 2 + 4);
    // Not zeroed: a block is written as a whole when it is added, and pages that are never used stay untouched.
    void* const raw = memory()->allocate(per_chunk * sizeof(Block), alignment);
    chunks_.push_back(static_cast<Block*>(raw));
    for (std::size_t i = 0; i < per_chunk; ++i) ::new (static_cast<void*>(chunks_.back() + i)) Block;
    room_ += static_cast<std::uint32_t>(per_chunk);
    bytes_ += per_chunk * sizeof(Block);
  }

  std::pmr::vector<Block*> chunks_;
  std::uint32_t size_ = 1;
  std::uint32_t room_ = 0;  // numbers that have memory
  std::size_t bytes_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
