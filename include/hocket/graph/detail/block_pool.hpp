// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// 64-byte blocks, numbered from 1 in order of creation, that never move: 32-bit numbers are half the size of pointers,
// and "younger than" is a comparison. Number 0 stands for an empty block and is never looked at.
class block_pool {
 public:
  union block {
    std::uint64_t word[8];
    std::uint32_t child[16];
    constexpr block() noexcept : word{} {}
  };
  static_assert(sizeof(block) == 64);

  explicit block_pool(std::pmr::memory_resource* memory) noexcept : chunks_(memory) {}
  block_pool(block_pool&& other) noexcept
      : chunks_(std::move(other.chunks_)),
        size_(std::exchange(other.size_, 1)),
        bytes_(std::exchange(other.bytes_, 0)) {
    other.chunks_.clear();
  }
  block_pool(const block_pool& other, std::uint32_t count) : chunks_(std::pmr::get_default_resource()) {
    while (size_ < count) {
      const std::uint32_t b = add();
      (*this)[b] = other[b];
    }
  }
  block_pool& operator=(block_pool&&) = delete;
  ~block_pool() {
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      memory()->deallocate(chunks_[c], per_chunk * sizeof(block), alignof_block);
  }

  [[nodiscard]] std::pmr::memory_resource* memory() const noexcept { return chunks_.get_allocator().resource(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_ + chunks_.capacity() * sizeof(block*); }
  [[nodiscard]] block& operator[](std::uint32_t b) noexcept { return chunks_[b / per_chunk][b % per_chunk]; }
  [[nodiscard]] const block& operator[](std::uint32_t b) const noexcept {
    return chunks_[b / per_chunk][b % per_chunk];
  }

  // A new block with any content.
  [[nodiscard]] std::uint32_t add() {
    HOCKET_ASSERT(size_ < no_id);
    if (size_ / per_chunk >= chunks_.size()) grow();
    return size_++;
  }
  // Forgets the youngest blocks; keeps their memory.
  void shrink(std::uint32_t size) noexcept { size_ = size; }

 private:
  static constexpr std::size_t per_chunk = 2048;  // 128 KiB
  static constexpr std::size_t alignof_block = 64;

  void grow() {
    if (chunks_.size() == chunks_.capacity()) chunks_.reserve(chunks_.size() * 2 + 4);
    block* const chunk = static_cast<block*>(memory()->allocate(per_chunk * sizeof(block), alignof_block));
    for (std::size_t i = 0; i < per_chunk; ++i) std::construct_at(chunk + i);
    chunks_.push_back(chunk);
    bytes_ += per_chunk * sizeof(block);
  }

  std::pmr::vector<block*> chunks_;
  std::uint32_t size_ = 1;
  std::size_t bytes_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
