// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/check.hpp>
#include <hocket/ranks/detail/list_facts.hpp>
#include <hocket/ranks/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks {

/// How a program was made safe.
enum class repair_kind : std::uint8_t {
  none,      ///< it is safe as it is
  waits,     ///< a stream waits for another before a call
  moves,     ///< a call of some ranks goes elsewhere in their lists
  group,     ///< neighbouring calls of some ranks go out as one group
  not_found  ///< nothing that was tried makes it safe
};
[[nodiscard]] constexpr std::string_view to_string(repair_kind kind) noexcept {
  constexpr std::string_view names[] = {"none", "waits", "moves", "group", "not found"};
  return names[static_cast<std::size_t>(kind)];
}

/// One change of the lists of some ranks.
struct repair_step {
  repair_kind kind = repair_kind::none;
  std::pmr::vector<std::uint32_t> ranks;
  std::uint32_t op = 0;     ///< place, before the change, of the call that waits, moves, or is the first of the group
  std::uint32_t after = 0;  ///< of the call that is waited for, or that it moves before, or the last of the group
};

/// A program that is safe, and what makes it so.
struct repair {
  repair_kind kind = repair_kind::not_found;
  std::pmr::vector<repair_step> steps;  ///< in the order to apply them: places are those after the steps before
  std::uint64_t tried = 0;              ///< programs that were checked
  std::optional<program> repaired = std::nullopt;
};

namespace detail {

/// Tries changes that are equal on all ranks that do the same: waits, groups, then one call moved, alone or with those.
class repairer {
 public:
  repairer(const program& job, const machine& m, const check_options& o, std::pmr::memory_resource* memory)
      : job_(job), rules_(m), options_(o), memory_(memory), classes_(memory) {
    const setting set(job, m, memory);
    std::pmr::vector<std::uint32_t> class_of(job.list_count(), no_id, memory);
    for (std::uint32_t r = 0; r < job.ranks(); ++r) {
      std::uint32_t& c = class_of[set.list_number(r)];
      if (c == no_id) {
        c = static_cast<std::uint32_t>(classes_.size());
        classes_.emplace_back();
      }
      classes_[c].push_back(r);
    }
  }

  [[nodiscard]] repair operator()() {
    repair out{.steps = std::pmr::vector<repair_step>(memory_)};
    if (is_safe(job_, out)) {
      out.kind = repair_kind::none;
      return out;
    }
    if (by_waits(job_, out) || by_groups(job_, out) || by_moves(out)) out.kind = out.steps.front().kind;
    return out;
  }

 private:
  using list = std::pmr::vector<op>;
  static constexpr std::uint64_t most_tried = 2000;
  static constexpr std::size_t most_steps = 64;

  [[nodiscard]] bool is_safe(const program& p, repair& out) const {
    ++out.tried;
    const auto found = check(p, rules_, options_, memory_);
    return found && found->says == verdict::safe;
  }
  [[nodiscard]] list list_of(const program& p, std::size_t c) const {
    const auto ops = p.list(classes_[c].front());
    return {ops.begin(), ops.end(), memory_};
  }
  /// The program with other lists: list_for(c) is that of a class of ranks, asked for in order.
  template <class ListFor>
  [[nodiscard]] program rebuilt(const program& p, ListFor&& list_for) const {
    program out(p.ranks(), memory_);
    for (communicator_id id = 1; id < p.communicator_count(); ++id)
      for (const auto& members : p.groups(id).groups) out.communicator(p.groups(id).name, members);
    for (std::uint32_t n = 1; n < p.name_count(); ++n) (void)out.add_name(p.name(n));
    for (std::size_t c = 0; c < classes_.size(); ++c)
      for (const op& o : list_for(c)) out.add(classes_[c], o);
    return out;
  }

  // Waits: a call whose stream is not that of the call before it waits for that stream. All of them make each list run
  // its calls in order; then those that are not needed go.

  struct place_in_class {
    std::size_t list_class;
    std::uint32_t op, after;
  };
  [[nodiscard]] bool by_waits(const program& of, repair& out) const {
    std::pmr::vector<place_in_class> places(memory_);
    for (std::size_t c = 0; c < classes_.size(); ++c) add_places(of, c, places);
    if (places.empty() || places.size() > most_steps || !is_safe(with_waits(of, places), out)) return false;
    for (std::size_t i = places.size(); i-- > 0 && out.tried < most_tried;) {
      auto fewer = places;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (is_safe(with_waits(of, fewer), out)) places = std::move(fewer);
    }
    for (const place_in_class& p : places)
      out.steps.push_back({repair_kind::waits, classes_[p.list_class], p.op, p.after});
    out.repaired.emplace(with_waits(of, places));
    return true;
  }
  void add_places(const program& of, std::size_t c, std::pmr::vector<place_in_class>& places) const {
    const auto ops = of.list(classes_[c].front());
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < ops.size(); i = end_of_call(ops, i)) {
      const std::size_t call = ops[i].kind == op_kind::group_begin ? i + 1 : i;
      if (!is_communication(ops[call].kind)) continue;
      if (last && ops[*last].stream != ops[call].stream)
        places.push_back({c, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(*last)});
      last = call;
    }
  }
  /// An event number that no list uses, for each wait.
  [[nodiscard]] program with_waits(const program& of, std::span<const place_in_class> places) const {
    std::uint32_t next = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c)
      for (const op& o : of.list(classes_[c].front()))
        if (names_event(o.kind)) next = (std::max)(next, o.tag + 1);
    return rebuilt(of, [&](std::size_t c) {
      list ops = list_of(of, c);
      for (std::size_t i = places.size(); i-- > 0;) {
        if (places[i].list_class != c) continue;
        const auto at = ops.begin() + places[i].op;
        const stream_id from = ops[places[i].after].stream;
        const std::uint32_t call = places[i].op + (at->kind == op_kind::group_begin ? 1 : 0);
        const op wait{.kind = op_kind::wait, .thread = at->thread, .stream = ops[call].stream, .tag = next};
        const op record{.kind = op_kind::record, .thread = at->thread, .stream = from, .tag = next++};
        ops.insert(ops.begin() + places[i].op, {record, wait});
      }
      return ops;
    });
  }

  // Groups: neighbouring sends and receives of a stream and communicator go out as one.

  [[nodiscard]] bool by_groups(const program& of, repair& out) const {
    const std::size_t before = out.steps.size();
    program grouped = rebuilt(of, [&](std::size_t c) {
      list ops(memory_);
      const auto old = of.list(classes_[c].front());
      for (std::size_t i = 0; i < old.size();) {
        const std::size_t end = end_of_transfers(old, i);
        const bool joins = end > i + 1;
        if (joins) ops.push_back({.kind = op_kind::group_begin, .thread = old[i].thread});
        for (std::size_t k = i; k < end; ++k) ops.push_back(old[k]);
        if (joins) {
          ops.push_back({.kind = op_kind::group_end, .thread = old[i].thread});
          out.steps.push_back(
              {repair_kind::group, classes_[c], static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(end - 1)});
        }
        i = end;
      }
      return ops;
    });
    if (out.steps.size() > before && is_safe(grouped, out)) {
      out.repaired = std::move(grouped);
      return true;
    }
    out.steps.erase(out.steps.begin() + static_cast<std::ptrdiff_t>(before), out.steps.end());
    return false;
  }
  /// One past the transfers that can go out with that at `i`; past a group or a single op.
  [[nodiscard]] static std::size_t end_of_transfers(std::span<const op> ops, std::size_t i) {
    const auto is_transfer = [](const op& o) { return o.kind == op_kind::send || o.kind == op_kind::receive; };
    std::size_t end = end_of_call(ops, i);
    if (!is_transfer(ops[i])) return end;
    while (end < ops.size() && is_transfer(ops[end]) && ops[end].stream == ops[i].stream &&
           ops[end].communicator == ops[i].communicator && ops[end].thread == ops[i].thread &&
           ops[end].returns != host_return::when_complete && ops[i].returns != host_return::when_complete)
      ++end;
    return end;
  }

  // Moves: one call of one class of ranks, or of all whose lists differ in peers alone, to another place; nearest
  // first.

  using many = std::pmr::vector<std::size_t>;
  [[nodiscard]] bool by_moves(repair& out) const {
    std::pmr::vector<many> candidates(memory_);
    for (std::size_t c = 0; c < classes_.size(); ++c) candidates.push_back(many(1, c, memory_));
    for (std::size_t c = 0; c < classes_.size(); ++c) add_alike(c, candidates);
    for (std::size_t distance = 1; distance < 16; ++distance)
      for (const many& c : candidates) {
        const std::size_t size = job_.list(classes_[c.front()].front()).size();
        for (std::size_t to = 0; to + distance < size; ++to)
          if (out.tried < most_tried && (move(c, to + distance, to, out) || move(c, to, to + distance, out)))
            return true;
      }
    return false;
  }
  void add_alike(std::size_t c, std::pmr::vector<many>& candidates) const {
    many alike(memory_);
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      const auto a = job_.list(classes_[c].front()), b = job_.list(classes_[k].front());
      const auto same = [](const op& x, const op& y) {
        return x.kind == y.kind && x.communicator == y.communicator && x.stream == y.stream;
      };
      if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), same)) continue;
      if (k < c) return;  // they were added with that one
      alike.push_back(k);
    }
    if (alike.size() > 1) candidates.push_back(std::move(alike));
  }
  [[nodiscard]] bool move(const many& of, std::size_t from, std::size_t to, repair& out) const {
    for (const std::size_t c : of)
      if (!may_move(job_.list(classes_[c].front()), from, to)) return false;
    program moved = rebuilt(job_, [&](std::size_t c) {
      list ops = list_of(job_, c);
      const auto at = [&](std::size_t i) { return ops.begin() + static_cast<std::ptrdiff_t>(i); };
      if (std::find(of.begin(), of.end(), c) == of.end()) return ops;
      if (to < from) std::rotate(at(to), at(from), at(from + 1));
      else std::rotate(at(from), at(from + 1), at(to + 1));
      return ops;
    });
    for (const std::size_t c : of)
      out.steps.push_back(
          {repair_kind::moves, classes_[c], static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)});
    if (is_safe(moved, out)) {
      out.repaired = std::move(moved);
      return true;
    }
    if (by_waits(moved, out) || by_groups(moved, out)) return true;
    out.steps.clear();
    return false;
  }
  [[nodiscard]] static bool may_move(std::span<const op> ops, std::size_t from, std::size_t to) {
    if (!is_communication(ops[from].kind)) return false;
    for (std::size_t i = (std::min)(from, to); i <= (std::max)(from, to); ++i)
      if (ops[i].kind == op_kind::group_begin || ops[i].kind == op_kind::group_end) return false;
    return true;
  }

  const program& job_;
  const machine& rules_;
  check_options options_;
  std::pmr::memory_resource* memory_;
  std::pmr::vector<std::pmr::vector<std::uint32_t>> classes_;  // ranks that do the same
};

}  // namespace detail

/// Changes that make a program safe: waits between streams, of which none can be left out; else sends and receives that
/// go out as groups; else one call moved, by the shortest way, alone or with waits or groups. Ranks that do the same
/// are changed alike. What is found was checked again as a whole, so it is proved safe. That no smaller change of
/// another kind exists is not proved. Moved calls keep their meaning only if no data says otherwise: a program has no
/// data.
/// @param job  the program; a mismatch is not repaired, as nobody knows which side was meant
/// Errors: those of check. Complexity: one check for each program tried, at most 2,000.
///
///     const auto fixed = hocket::ranks::find_repair(job);
///     if (fixed->repaired) std::puts(sentence(*fixed).c_str());
[[nodiscard]] inline result<repair> find_repair(const program& job, const machine& m = nccl(),
                                                const check_options& options = {},
                                                std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  const auto before = check(job, m, options, memory);
  if (!before) return before.error();
  if (before->says == verdict::mismatch) return repair{.steps = std::pmr::vector<repair_step>(memory)};
  return detail::repairer(job, m, options, memory)();
}

}  // namespace hocket::inline HOCKET_ABI::ranks
