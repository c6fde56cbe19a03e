// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// 64-bit words that never move and are freed together. Not zeroed: a row that is fully written need not be cleared
// first, which together with page faults is half of the cost of building a small index.
class word_arena {
 public:
  explicit word_arena(std::pmr::memory_resource* memory) noexcept : blocks_(memory) {}
  word_arena(word_arena&& other) noexcept
      : blocks_(std::move(other.blocks_)),
        block_(std::exchange(other.block_, 0)),
        used_(std::exchange(other.used_, 0)),
        bytes_(std::exchange(other.bytes_, 0)) {
    other.blocks_.clear();
  }
  word_arena& operator=(word_arena&&) = delete;
  ~word_arena() {
    for (const block& b : blocks_) memory()->deallocate(b.words, b.size * sizeof(std::uint64_t), alignment);
  }

  [[nodiscard]] std::pmr::memory_resource* memory() const noexcept { return blocks_.get_allocator().resource(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  [[nodiscard]] std::uint64_t* allocate(std::size_t words) {
    while (block_ < blocks_.size() && blocks_[block_].size - used_ < words) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) grow(words);
    std::uint64_t* p = blocks_[block_].words + used_;
    used_ += words;
    return p;
  }

  // Forgets the words from p on, which were the latest to be allocated; keeps the blocks.
  void rewind(const std::uint64_t* p) noexcept {
    const auto is_in = [p](const block& b) {  // a difference of addresses, as p may be of another block
      return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(b.words) < b.size * sizeof(*p);
    };
    if (block_ == blocks_.size()) block_ -= 1;
    while (!is_in(blocks_[block_])) --block_;
    used_ = static_cast<std::size_t>(p - blocks_[block_].words);
  }
  // Forgets all words and keeps the blocks.
  void clear() noexcept { block_ = used_ = 0; }

 private:
  static constexpr std::size_t alignment = 64;
  struct block {
    std::uint64_t* words;
    std::size_t size;
  };

  void grow(std::size_t words) {
    constexpr std::size_t first = 1u << 12, most = 1u << 15;  // 32 KiB … 256 KiB: little is wasted at the end
    std::size_t size = blocks_.empty() ? first : blocks_.back().size * 2;
    size = size > most ? most : size;
    size = size < words ? words : size;
    blocks_.reserve(blocks_.size() + 1);
    blocks_.push_back({static_cast<std::uint64_t*>(memory()->allocate(size * sizeof(std::uint64_t), alignment)), size});
    bytes_ += size * sizeof(std::uint64_t);
    used_ = 0;
  }

  std::pmr::vector<block> blocks_;
  std::size_t block_ = 0;  // the block that words are taken from
  std::size_t used_ = 0;   // words taken from it
  std::size_t bytes_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
