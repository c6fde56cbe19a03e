// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore::detail {

// Texts, each kept once and known by its number; number 0 is the empty text.
//
//   letters_   |MatMul|Default/…/MatMul-op0|SiLU|      one after the other
//   begin_      0 0    6                    29   33    text i is [begin_[i], begin_[i + 1])
//   slots_     [ 0 | 3 | 0 | 1 | 2 | 0 | 0 | 0 ]       open addressing by hash, at most half full; 0: free
class string_table {
 public:
  string_table() : begin_{0, 0}, slots_(64, 0) {}

  [[nodiscard]] std::size_t size() const noexcept { return begin_.size() - 1; }
  [[nodiscard]] std::string_view operator[](std::uint32_t i) const& noexcept {
    return std::string_view(letters_).substr(begin_[i], begin_[i + 1] - begin_[i]);
  }
  std::string_view operator[](std::uint32_t) const&& = delete;

  // The number of a text, which is kept from now on.
  std::uint32_t add(std::string_view text) {
    if (text.empty()) return 0;
    std::size_t at = slot_of(text);
    if (slots_[at] != 0) return slots_[at];
    if (2 * size() >= slots_.size()) {
      grow();
      at = slot_of(text);
    }
    const auto i = static_cast<std::uint32_t>(size());
    letters_.append(text);
    begin_.push_back(letters_.size());
    slots_[at] = i;
    return i;
  }
  // The number of a text that is kept; 0 if it is not.
  [[nodiscard]] std::uint32_t find(std::string_view text) const noexcept {
    return text.empty() ? 0 : slots_[slot_of(text)];
  }

 private:
  [[nodiscard]] static std::uint64_t hash(std::string_view text) noexcept {
    std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return h ^ (h >> 29);
  }
  [[nodiscard]] std::size_t slot_of(std::string_view text) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash(text) & mask;
    while (slots_[at] != 0 && (*this)[slots_[at]] != text) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::uint32_t i = 1; i < size(); ++i) slots_[slot_of((*this)[i])] = i;
  }

  std::string letters_;
  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace hocket::inline HOCKET_ABI::mindspore::detail
