// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/detail/channels.hpp>
#include <hocket/ranks/detail/list_facts.hpp>
#include <hocket/ranks/detail/setting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks::detail {

/// Finds the first place where calls that should meet do not fit. Precondition: nobody races, so that calls meet in the
/// order of the lists.
class matching {
 public:
  explicit matching(const setting& s) : set_(s), calls_(s.memory), channels_(s.job, s.memory), ends_(s.memory) {}

  /// O(calls) time and memory: collectives of lists that members share are looked at once.
  [[nodiscard]] std::optional<disagreement> operator()() {
    calls_.resize(set_.job.list_count());
    for (std::size_t l = 0; l < calls_.size(); ++l) collect(l);
    for (communicator_id c = 0; c < set_.job.communicator_count(); ++c)
      for (const auto& members : set_.job.groups(c).groups)
        if (const auto found = compare(c, members)) return found;
    return transfers();
  }

 private:
  using places = std::pmr::vector<std::uint32_t>;
  struct of_communicator {
    communicator_id communicator;
    places ops;
  };
  struct end_of_transfer {
    std::uint32_t rank, op;
  };
  struct both_ends {
    std::pmr::vector<end_of_transfer> sends, receives;
  };

  /// The collectives of a list, by communicator.
  void collect(std::size_t number) {
    if (!set_.is_own(static_cast<std::uint32_t>(number))) return;
    const auto& used = set_.facts[number].communicators;
    for (const communicator_id c : used) calls_[number].push_back({c, places(set_.memory)});
    const std::span<const op> ops = set_.job.numbered_list(number);
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (is_collective(ops[i].kind))
        calls_[number][list_facts::place(used, ops[i].communicator)].ops.push_back(static_cast<std::uint32_t>(i));
  }
  [[nodiscard]] std::span<const std::uint32_t> calls(std::uint32_t list, communicator_id c) const {
    const auto& used = set_.facts[list].communicators;
    const std::uint32_t at = list_facts::place(used, c);
    if (at == used.size() || used[at] != c) return {};
    return calls_[list][at].ops;
  }
  /// Each member against the first: the earliest call that differs, of the first member that does there.
  [[nodiscard]] std::optional<disagreement> compare(communicator_id c, std::span<const std::uint32_t> members) const {
    const std::uint32_t first = members.front(), list = set_.list_number(first);
    const auto reference = calls(list, c);
    std::optional<disagreement> found;
    std::uint32_t compared = list;
    for (const std::uint32_t r : members) {
      const std::uint32_t other = set_.list_number(r);
      if (other == compared || other == list) continue;
      compared = other;  // neighbours mostly share
      const auto theirs = calls(other, c);
      const std::size_t k = first_difference(set_.list(first), reference, set_.list(r), theirs);
      if (k == (std::max)(reference.size(), theirs.size()) || (found && found->number <= k)) continue;
      found = disagreement{c, static_cast<std::uint32_t>(k),        first, k < reference.size() ? reference[k] : no_id,
                           r, k < theirs.size() ? theirs[k] : no_id};
    }
    return found;
  }
  [[nodiscard]] static std::size_t first_difference(std::span<const op> a, std::span<const std::uint32_t> of_a,
                                                    std::span<const op> b, std::span<const std::uint32_t> of_b) {
    const std::size_t both = (std::min)(of_a.size(), of_b.size());
    for (std::size_t k = 0; k < both; ++k)
      if (!same_collective(a[of_a[k]], b[of_b[k]])) return k;
    return both;
  }

  [[nodiscard]] std::optional<disagreement> transfers() {
    for (std::uint32_t r = 0; r < set_.job.ranks(); ++r) {
      const std::span<const op> ops = set_.list(r);
      for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind != op_kind::send && ops[i].kind != op_kind::receive) continue;
        const std::uint32_t at = channels_.of_transfer(ops[i], r, set_.job.group_of(ops[i].communicator, r));
        if (ends_.size() <= at)
          ends_.resize(std::size_t{at} + 1, {std::pmr::vector<end_of_transfer>(set_.memory),
                                             std::pmr::vector<end_of_transfer>(set_.memory)});
        auto& side = ops[i].kind == op_kind::send ? ends_[at].sends : ends_[at].receives;
        side.push_back({r, static_cast<std::uint32_t>(i)});
      }
    }
    for (const both_ends& e : ends_)
      if (const auto found = compare(e)) return found;
    return std::nullopt;
  }
  [[nodiscard]] std::optional<disagreement> compare(const both_ends& e) const {
    const std::size_t both = (std::min)(e.sends.size(), e.receives.size());
    for (std::size_t k = 0; k < both; ++k) {
      const end_of_transfer &s = e.sends[k], &t = e.receives[k];
      const op &sends = set_.list(s.rank)[s.op], &receives = set_.list(t.rank)[t.op];
      if (!same_transfer(sends, receives, set_.rules))
        return disagreement{sends.communicator, static_cast<std::uint32_t>(k), s.rank, s.op, t.rank, t.op};
    }
    if (e.sends.size() == e.receives.size()) return std::nullopt;
    const end_of_transfer& alone = e.sends.size() > both ? e.sends[both] : e.receives[both];
    const op& o = set_.list(alone.rank)[alone.op];
    return disagreement{o.communicator, static_cast<std::uint32_t>(both), alone.rank, alone.op, o.peer, no_id};
  }

  const setting& set_;
  std::pmr::vector<std::pmr::vector<of_communicator>> calls_;  // by list, in the order of its communicators
  channels channels_;
  std::pmr::vector<both_ends> ends_;  // by channel
};

}  // namespace hocket::inline HOCKET_ABI::ranks::detail
