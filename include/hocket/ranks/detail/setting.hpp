// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/ranks/detail/list_facts.hpp>
#include <hocket/ranks/detail/rank_state.hpp>
#include <hocket/ranks/machine.hpp>
#include <hocket/ranks/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks::detail {

/// What all runs of a program share. Ranks whose lists are equal have one list here, however they were built.
class setting {
 public:
  const program& job;
  const machine& rules;
  std::pmr::memory_resource* memory;
  std::pmr::vector<list_facts> facts;                       ///< by list
  std::pmr::vector<std::pmr::vector<std::uint32_t>> queue;  ///< by list and dense stream
  bool races = false;                                       ///< some rank does

  /// O(ops of the distinct lists · log).
  setting(const program& of, const machine& m, std::pmr::memory_resource* in)
      : job(of), rules(m), memory(in), facts(in), queue(in), same_as_(in) {
    find_equal_lists();
    for (std::uint32_t l = 0; l < of.list_count(); ++l) {
      const bool own = of.is_used(l) && same_as_[l] == l;
      facts.push_back(facts_of(own ? of.numbered_list(l) : std::span<const op>{}, m, in));
      queue.push_back(queues_of(facts.back(), m, in));
      races = races || facts.back().races;
    }
  }
  [[nodiscard]] std::uint32_t list_number(std::uint32_t rank) const { return same_as_[job.list_number(rank)]; }
  [[nodiscard]] std::span<const op> list(std::uint32_t rank) const { return job.numbered_list(list_number(rank)); }
  [[nodiscard]] const list_facts& of_rank(std::uint32_t rank) const { return facts[list_number(rank)]; }
  /// Whether a list stands for itself and is used.
  [[nodiscard]] bool is_own(std::uint32_t number) const { return same_as_[number] == number && job.is_used(number); }

 private:
  [[nodiscard]] static std::uint64_t hash_of(std::span<const op> list) noexcept {
    std::uint64_t h = list.size();
    const auto mix = [&h](std::uint64_t x) { h = (h ^ x) * 0x9e3779b97f4a7c15u; };
    for (const op& o : list) {
      mix(static_cast<std::uint64_t>(o.kind) << 32 | o.stream);
      mix(std::uint64_t{o.communicator} << 32 | o.peer);
      mix(std::uint64_t{o.tag} << 32 ^ o.count);
      h ^= h >> 29;
    }
    return h;
  }
  void find_equal_lists() {
    struct entry {
      std::uint64_t hash;
      std::uint32_t list;
    };
    std::pmr::vector<entry> all(memory);
    for (std::uint32_t l = 0; l < job.list_count(); ++l) {
      same_as_.push_back(l);
      if (job.is_used(l)) all.push_back({hash_of(job.numbered_list(l)), l});
    }
    std::sort(all.begin(), all.end(),
              [](const entry& a, const entry& b) { return a.hash != b.hash ? a.hash < b.hash : a.list < b.list; });
    for (std::size_t i = 1; i < all.size(); ++i) {
      const std::uint32_t before = same_as_[all[i - 1].list];
      if (all[i].hash != all[i - 1].hash) continue;
      const auto a = job.numbered_list(before), b = job.numbered_list(all[i].list);
      if (std::equal(a.begin(), a.end(), b.begin(), b.end())) same_as_[all[i].list] = before;
    }
  }

  std::pmr::vector<std::uint32_t> same_as_;  // by list: the first that is equal
};

}  // namespace hocket::inline HOCKET_ABI::ranks::detail
