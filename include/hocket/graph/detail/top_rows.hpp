// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/bit_tries.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// For each node from `first` on a copy of the children of its trie's root, as many as ids up to its own can need. Found
// by the node's number alone, so that a question saves the root itself: one dependent load less where tries are high.
// A row costs 4 bytes a child: 8 to 32 bytes a node up to a million nodes.
class top_rows {
 public:
  using block_id = bit_tries::block_id;
  // Below, tries have at most two levels of inner blocks.
  static constexpr node_id first = node_id{1} << (bit_tries::leaf_bits + 2 * bit_tries::inner_bits);

  explicit top_rows(std::pmr::memory_resource* memory) noexcept : chunks_(memory) {}
  top_rows(top_rows&& other) noexcept : chunks_(std::move(other.chunks_)), bytes_(std::exchange(other.bytes_, 0)) {
    other.chunks_.clear();
  }
  // Delegates, so that the destructor gives the chunks back if memory runs out half-way.
  top_rows(const top_rows& other, std::size_t nodes) : top_rows(std::pmr::get_default_resource()) {
    for (std::size_t c = 0; c < other.chunks_.size() && first + (c << chunk_bits) < nodes; ++c) {
      add_chunk();
      for (std::size_t i = 0; i < words_of(c); ++i) chunks_[c][i] = other.chunks_[c][i];
    }
  }
  top_rows& operator=(top_rows&&) = delete;
  ~top_rows() {
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      chunks_.get_allocator().resource()->deallocate(chunks_[c], words_of(c) * sizeof(block_id), alignment);
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_ + chunks_.capacity() * sizeof(block_id*); }

  // Rows up to that of b can be written.
  void make_room(node_id b) {
    while (b >= first && chunks_.size() <= chunk(b)) add_chunk();
  }

  // The block under which a is among the ancestors of b. Precondition: b >= first, a <= b, b's row is written.
  [[nodiscard]] block_id child(node_id b, node_id a) const noexcept { return row(b)[a >> child_bits(b)]; }
  // Levels of inner blocks from there on.
  static constexpr std::uint32_t height(node_id b) noexcept { return bit_tries::height_for(b) - 1; }

  // Copies the children of the root of b. Precondition: room has been made.
  void write(node_id b, const bit_tries& tries, block_id root) noexcept {
    block_id* const to = row(b);
    const std::size_t size = width(b);
    for (std::size_t i = 0; i < size; ++i) to[i] = root == 0 ? 0 : tries.child_of(root, i);
  }

 private:
  void add_chunk() {
    if (chunks_.size() == chunks_.capacity()) chunks_.reserve(chunks_.size() * 2 + 4);
    const std::size_t words = words_of(chunks_.size());
    void* const raw = chunks_.get_allocator().resource()->allocate(words * sizeof(block_id), alignment);
    chunks_.push_back(static_cast<block_id*>(raw));
    std::uninitialized_fill_n(chunks_.back(), words, block_id{0});
    bytes_ += words * sizeof(block_id);
  }

  static constexpr std::size_t alignment = 64;
  static constexpr std::uint32_t chunk_bits = 13;
  static_assert((node_id{1} << chunk_bits) <= first);  // so all rows of a chunk are as wide

  // Bits of an id below a child of the root.
  static constexpr std::uint32_t child_bits(node_id b) noexcept {
    return bit_tries::leaf_bits + bit_tries::inner_bits * height(b);
  }
  static constexpr std::size_t width(node_id b) noexcept { return (std::size_t{b} >> child_bits(b)) + 1; }
  static constexpr std::size_t chunk(node_id b) noexcept { return (b - first) >> chunk_bits; }
  static constexpr std::size_t words_of(std::size_t chunk) noexcept {
    return width(first + static_cast<node_id>(chunk << chunk_bits)) << chunk_bits;
  }
  [[nodiscard]] block_id* row(node_id b) const noexcept {
    return chunks_[chunk(b)] + (b & ((node_id{1} << chunk_bits) - 1)) * width(b);
  }

  std::pmr::vector<block_id*> chunks_;
  std::size_t bytes_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
