// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Numbers the host's variables densely, in order of first use. Numbers up to a few times the count of variables go
// through a plain array, others through a hash map; names are copied, so a policy may report temporaries. Only the
// numbering leaves this class, and it depends on the order of use alone: never on hashes.
class variable_table {
 public:
  explicit variable_table(std::pmr::memory_resource* memory) : direct_(memory), numbers_(memory), names_(memory) {}

  template <class V>
  [[nodiscard]] std::uint32_t slot(const V& variable) {
    if constexpr (std::is_convertible_v<const V&, std::string_view>) {
      return named(static_cast<std::string_view>(variable));
    } else if constexpr (std::is_pointer_v<V>) {
      return numbered(reinterpret_cast<std::uintptr_t>(variable));
    } else {
      static_assert(
          std::is_integral_v<V> || std::is_enum_v<V>,
          "hocket: for_each_read and for_each_write must report variables as integers, pointers, enumerations, "
          "strings or hocket::graph::storage_range");
      return numbered(static_cast<std::uint64_t>(variable));
    }
  }

  // A slot that no variable has.
  [[nodiscard]] std::uint32_t unnamed_slot() noexcept { return count_++; }

  // The number that tells the host which variable that is; for a name its slot.
  template <class V>
  [[nodiscard]] static std::uint64_t number_of(const V& variable, std::uint32_t slot) noexcept {
    if constexpr (std::is_convertible_v<const V&, std::string_view>) return slot;
    else if constexpr (std::is_pointer_v<V>) return reinterpret_cast<std::uintptr_t>(variable);
    else return static_cast<std::uint64_t>(variable);
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint64_t max_direct = ~std::size_t{0} / 16;  // of what an array can have, also with 32 bits

  std::uint32_t numbered(std::uint64_t v) {
    if (v < direct_.size() || (v < 8 * std::uint64_t{count_} + 1024 && v < max_direct)) {
      const auto at = hocket::detail::to_size(v);
      if (at >= direct_.size()) direct_.resize(at * 2 + 64, none);
      std::uint32_t& s = direct_[at];
      if (s != none) return s;
      // It may have been met when it was still too large for the array.
      if (!numbers_.empty())
        if (const auto found = numbers_.find(v); found != numbers_.end()) return s = found->second;
      return s = count_++;
    }
    const auto [at, fresh] = numbers_.try_emplace(v, count_);
    count_ += fresh ? 1u : 0u;
    return at->second;
  }

  std::uint32_t named(std::string_view name) {
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    texts_.emplace_back(std::make_unique<std::string>(name));
    return names_.emplace(*texts_.back(), count_++).first->second;
  }

  std::pmr::vector<std::uint32_t> direct_;
  std::pmr::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::pmr::unordered_map<std::string_view, std::uint32_t> names_;
  std::vector<std::unique_ptr<std::string>> texts_;  // what the keys of names_ point into
  std::uint32_t count_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
