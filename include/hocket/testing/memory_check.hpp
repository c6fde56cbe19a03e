// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/error.hpp>
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/detail/required_members.hpp>
#include <hocket/graph/detail/variable.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

/// Two ops that touch the same memory, one of them writing, and that nothing keeps in program order.
struct unordered_access {
  node_id earlier = no_id;  ///< in program order
  node_id later = no_id;
  /// Of the variable: its number or address; of a name its rank in order of first use; of bytes their first address.
  std::uint64_t subject = 0;
  std::optional<graph::storage_range> bytes;  ///< what both touch, if the policy reports ranges
};

namespace detail {

// What an op touches: integers, addresses, names and each type of enumeration are numbered apart.
enum class subject_kind : std::uint8_t { bytes, number, address, enumeration, name };

// What one op does to one variable, or to one range of bytes. A variable with number v is one byte of a space v of its
// own kind, so that one sweep finds all that meet: byte 0, and of an enumeration the number of its type.
struct access {
  subject_kind kind = subject_kind::bytes;
  graph::storage_range range;
  node_id op = 0;
  bool writes = false;
};

// Takes down what ops do. It numbers variables and walks the policy by itself, apart from what `dependencies` uses, on
// purpose: an oracle must not share a mistake.
class access_log {
 public:
  template <class P, class G>
  void take_down(const P& policy, const G& program) {
    graph::detail::for_each_node(policy, program, [&](const typename P::node& n) {
      const auto read = [&](const auto& v) { note_parts(policy, program, v, false); };
      const auto write = [&](const auto& v) { note_parts(policy, program, v, true); };
      policy.for_each_read(program, n, read);
      policy.for_each_write(program, n, write);
      if constexpr (graph::detail::tells_inplace<P, G>) policy.for_each_inplace(program, n, write);
      ++op_;
    });
  }
  [[nodiscard]] std::vector<access>& all() noexcept { return all_; }
  [[nodiscard]] std::size_t op_count() const noexcept { return op_; }

 private:
  template <class P, class G, class V>
  void note_parts(const P& policy, const G& program, const V& variable, bool writes) {
    graph::detail::for_each_part(policy, program, variable, [&](const auto& part) { note(part, writes); });
  }
  void note(const graph::storage_range& bytes, bool writes) {
    all_.push_back({subject_kind::bytes, bytes, op_, writes});
  }
  template <class V>
  void note(const V& variable, bool writes) {
    if constexpr (std::is_pointer_v<V>) {
      add(subject_kind::address, reinterpret_cast<std::uintptr_t>(variable), 0, writes);
    } else if constexpr (std::is_enum_v<V>) {
      add(subject_kind::enumeration, static_cast<std::uint64_t>(variable), number_of_type(&type_of<V>), writes);
    } else if constexpr (std::is_integral_v<V>) {
      add(subject_kind::number, static_cast<std::uint64_t>(variable), 0, writes);
    } else {
      std::string name(graph::detail::letters_of(variable));
      add(subject_kind::name, names_.try_emplace(std::move(name), names_.size()).first->second, 0, writes);
    }
  }
  void add(subject_kind kind, std::uint64_t number, std::uint64_t type, bool writes) {
    all_.push_back({kind, {number, type, type + 1}, op_, writes});
  }
  [[nodiscard]] std::uint64_t number_of_type(const char* type) {
    return types_.try_emplace(type, types_.size()).first->second;
  }
  template <class V>
  static constexpr char type_of = 0;  // has an address for each type of enumeration

  std::vector<access> all_;
  std::map<std::string, std::uint64_t, std::less<>> names_;
  std::map<const char*, std::uint64_t> types_;  // looked up alone: its order depends on addresses
  node_id op_ = 0;
};

}  // namespace detail

/// Proves or refutes that an order keeps a program's memory right: every two ops that touch a common variable or byte,
/// one of them writing, run in program order. It compares all pairs that meet and knows nothing of hazards, last
/// writers or reduction, so it may judge what `dependencies` gives, a stream plan, or a host's own order.
/// @param order    anything with reaches(a, b): a dependency_graph, a dag, `graph::clock_of(stream_plan)`, your own
///                 Precondition: it knows all ops of the program. Checked where it has a node_count()
/// @param witness  if given, receives every pair that is not ordered, by later op, then earlier
/// @return errc::unordered_access with the first such pair; errc::bad_range for bytes that are none;
///         errc::other_op_count for an order of another program. Complexity: O(accesses · log + pairs that meet).
///
///     const auto plan = hocket::graph::stream_plan::make(deps->graph(), streams).value();
///     if (const auto proved = hocket::testing::check_against_memory(hocket::graph::clock_of(plan), program); !proved)
///       std::puts(message(proved.error()).c_str());
template <class Order, class G, class Policy = graph_access<G>>
  requires graph::effects_policy<Policy, G>
[[nodiscard]] result<void> check_against_memory(const Order& order, const G& program, const Policy& policy = {},
                                                std::pmr::vector<unordered_access>* witness = nullptr) {
  graph::detail::require_effects<Policy, G>();
  static_assert(
      requires(const Order& o, node_id a) {
        { o.reaches(a, a) } -> std::convertible_to<bool>;
      }, "hocket: an order needs `bool reaches(node_id, node_id) const`; of a result pass what it holds: *result");
  detail::access_log log;
  log.take_down(policy, program);
  std::vector<detail::access>& all = log.all();
  for (const detail::access& a : all)
    if (a.range.first >= a.range.end)
      return error{errc::bad_range, a.op, static_cast<std::int64_t>(a.range.first),
                   static_cast<std::int64_t>(a.range.end)};
  if constexpr (requires(const Order& o) { static_cast<std::size_t>(o.node_count()); }) {
    const auto known = static_cast<std::size_t>(order.node_count());
    if (known != log.op_count())
      return error{errc::other_op_count, static_cast<std::int64_t>(known), static_cast<std::int64_t>(log.op_count())};
  }
  std::sort(all.begin(), all.end(), [](const detail::access& a, const detail::access& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.range < b.range;
  });
  std::vector<unordered_access> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (all[j].kind != all[i].kind || !all[j].range.overlaps(all[i].range)) break;
      const auto [earlier, later] = std::minmax(all[i].op, all[j].op);
      if (earlier == later || !(all[i].writes || all[j].writes) || order.reaches(earlier, later)) continue;
      const graph::storage_range both{all[j].range.space, all[j].range.first,
                                      (std::min)(all[i].range.end, all[j].range.end)};
      if (all[i].kind != detail::subject_kind::bytes) found.push_back({earlier, later, both.space, std::nullopt});
      else found.push_back({earlier, later, both.first, both});
    }
  }
  std::sort(found.begin(), found.end(), [](const unordered_access& a, const unordered_access& b) {
    return a.later != b.later ? a.later < b.later : a.earlier < b.earlier;
  });
  result<void> proved;
  if (!found.empty()) {
    const unordered_access& first = found.front();
    proved = error{errc::unordered_access, first.earlier, first.later, static_cast<std::int64_t>(first.subject)};
  }
  if (witness != nullptr) witness->assign(found.begin(), found.end());
  return proved;
}

}  // namespace hocket::inline HOCKET_ABI::testing
