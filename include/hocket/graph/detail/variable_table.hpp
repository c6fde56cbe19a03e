// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/graph/detail/variable.hpp>

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

// Numbers the host's variables densely, in order of first use. Integers of all widths are one kind of variable,
// pointers another, names a third, and each enumeration type is a kind of its own: equal numbers of two kinds are two
// variables. Numbers up to a few times the count of variables go through a plain array, others through a hash map;
// names are copied, so a policy may report temporaries. Only the numbering leaves this class, and it depends on the
// order of use alone: never on hashes.
class variable_table {
 public:
  explicit variable_table(std::pmr::memory_resource* memory)
      : integers_(memory), addresses_(memory), enumerations_(memory), names_(memory) {}

  template <class V>
  [[nodiscard]] std::uint32_t slot(const V& variable) {
    if constexpr (text_variable<V>) return named(detail::letters_of(variable));
    else if constexpr (address_variable<V>) return numbered(number_of(variable, 0), addresses_);
    else if constexpr (std::is_enum_v<V>) return numbered(number_of(variable, 0), numbers_of(&type_of<V>));
    else if constexpr (std::is_integral_v<V>) return numbered(number_of(variable, 0), integers_);
    else return unnamed_slot();  // require_variable has refused it
  }

  // A slot that no variable has.
  [[nodiscard]] std::uint32_t unnamed_slot() noexcept { return count_++; }

  // The number that tells the host which variable that is; for a name its slot.
  template <class V>
  [[nodiscard]] static std::uint64_t number_of(const V& variable, std::uint32_t slot) noexcept {
    if constexpr (address_variable<V>) return reinterpret_cast<std::uintptr_t>(variable);
    else if constexpr (std::is_enum_v<V> || std::is_integral_v<V>) return static_cast<std::uint64_t>(variable);
    else return slot;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint64_t max_direct = ~std::size_t{0} / 16;  // of what an array can have, also with 32 bits

  // Has an address for each type of enumeration.
  template <class V>
  static constexpr char type_of = 0;

  // The slots of the numbers of one kind.
  struct number_slots {
    explicit number_slots(std::pmr::memory_resource* memory, const char* of = nullptr)
        : type(of), direct(memory), others(memory) {}
    const char* type;
    std::pmr::vector<std::uint32_t> direct;
    std::pmr::unordered_map<std::uint64_t, std::uint32_t> others;
  };

  number_slots& numbers_of(const char* type) {
    for (number_slots& each : enumerations_)
      if (each.type == type) return each;
    return enumerations_.emplace_back(enumerations_.get_allocator().resource(), type);
  }

  std::uint32_t numbered(std::uint64_t v, number_slots& numbers) {
    std::pmr::vector<std::uint32_t>& direct = numbers.direct;
    if (v < direct.size() || (v < 8 * std::uint64_t{count_} + 1024 && v < max_direct)) {
      const auto at = hocket::detail::to_size(v);
      if (at >= direct.size()) direct.resize(at * 2 + 64, none);
      std::uint32_t& s = direct[at];
      if (s != none) return s;
      // It may have been met when it was still too large for the array.
      if (!numbers.others.empty())
        if (const auto found = numbers.others.find(v); found != numbers.others.end()) return s = found->second;
      return s = count_++;
    }
    const auto [at, fresh] = numbers.others.try_emplace(v, count_);
    count_ += fresh ? 1u : 0u;
    return at->second;
  }

  std::uint32_t named(std::string_view name) {
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    texts_.emplace_back(std::make_unique<std::string>(name));
    return names_.emplace(*texts_.back(), count_++).first->second;
  }

  number_slots integers_, addresses_;
  std::pmr::vector<number_slots> enumerations_;  // few: a program has one or two such types
  std::pmr::unordered_map<std::string_view, std::uint32_t> names_;
  std::vector<std::unique_ptr<std::string>> texts_;  // what the keys of names_ point into
  std::uint32_t count_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
