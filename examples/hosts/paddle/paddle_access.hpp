// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket's view of the instruction list of PaddlePaddle's executor. Copy it into your project with paddle_ops.hpp and
// paddle_storage.hpp.
//
//   graph_access<instruction_list>   what Paddle 3.3's own dependency builder knows: variables, its list of random ops
//   storage_access                   what the kernels do: all ops that draw random numbers, in-place results, views,
//                                    coalesced buffers, the bodies of `if` and `while`
#pragma once
#include <paddle/fluid/framework/new_executor/instruction/instruction_base.h>
#include <paddle/pir/include/core/operation.h>

#include <hocket/graph/access.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/rule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "paddle_ops.hpp"
#include "paddle_storage.hpp"

namespace paddle::framework::interpreter {
bool IsCommunicationOp(const ::pir::Operation* op);
}

namespace example {

using instruction = paddle::framework::InstructionBase;
using instruction_list = std::vector<instruction*>;

/// The stream analyser builds a program twice after itself, to find events between steps.
inline bool is_twice_the_same(const instruction_list& list) {
  const auto half = static_cast<std::ptrdiff_t>(list.size() / 2);
  return list.size() % 2 == 0 && std::equal(list.begin(), list.begin() + half, list.begin() + half);
}

/// Does Paddle's own builder chain this instruction with other random ops?
inline bool is_random_to_paddle(const instruction& i) {
  constexpr std::string_view names[] = {"pd_op.bernoulli", "pd_op.class_center_sample",
                                        "pd_op.dropout",   "pd_op.exponential_",
                                        "pd_op.gaussian",  "pd_op.multinomial",
                                        "pd_op.poisson",   "pd_op.randint",
                                        "pd_op.randperm",  "pd_op.truncated_gaussian_random",
                                        "pd_op.uniform"};
  constexpr std::string_view phi_kernel = "N6paddle9framework20PhiKernelInstructionE";  // the wheel has no header
  return std::ranges::binary_search(names, std::string_view(i.Name())) && typeid(i).name() == phi_kernel;
}

}  // namespace example

template <>
struct hocket::graph_access<example::instruction_list> {
  using list = example::instruction_list;
  using node = std::uint32_t;
  static std::size_t node_count(const list& l) { return l.size(); }
  static void for_each_read(const list& l, node n, auto&& f) {
    for (const auto& [value, variables] : l[n]->Inputs())
      for (const int v : variables) f(v);
  }
  static void for_each_write(const list& l, node n, auto&& f) {
    for (const auto& [value, variables] : l[n]->Outputs())
      for (const int v : variables) f(v);
  }
  static graph::op_kind kind(const list& l, node n) {
    if (example::is_random_to_paddle(*l[n])) return graph::op_kind::random;
    const ::pir::Operation* const op = l[n]->Operation();
    const bool collective = op != nullptr && paddle::framework::interpreter::IsCommunicationOp(op);
    return collective ? graph::op_kind::collective : graph::op_kind::compute;
  }
};

namespace example {

/// The same list, with what the kernels do behind the executor's back.
///
/// Variables that share storage are reported as the variables that own it. The result of an in-place op is its operand,
/// a view its base, a coalesced buffer its tensors, the result of an `if` or `while` what its blocks yield. One reader
/// of such a result wants the value and not what its storage holds later: a fetch, at the end of the program. It reads
/// a variable of its own, ~result, which the op that makes the result writes too. So it comes before the next op that
/// overwrites the storage.
///
/// An op that no registry of Paddle describes may do anything: it waits for all ops before it, and all after it wait.
class storage_access {
 public:
  using node = std::uint32_t;
  explicit storage_access(const instruction_list& list)
      : different_(is_twice_the_same(list) ? list.size() / 2 : list.size()) {
    first_.reserve(2 * different_ + 1);
    effects_.reserve(different_);
    std::unordered_map<std::string_view, const op_traits*> of_name;
    for (std::size_t i = 0; i < different_; ++i) {
      note_variables(*list[i]);
      ::pir::Operation* const op = list[i]->Operation();
      const op_traits*& traits = of_name[list[i]->Name()];
      if (traits == nullptr) {
        traits = op == nullptr ? &traits_of_name(list[i]->Name()) : &traits_of(*op);
        if (!traits->is_known) unknown_ops_.push_back(list[i]->Name());
      }
      effects_.push_back({.traits = traits, .draws = traits->draws, .is_known = traits->is_known});
      if (op != nullptr) note_effects(*op, effects_.back());
    }
    note_storage(list);
    note_fetches(list);
  }

  static std::size_t node_count(const instruction_list& l) { return l.size(); }
  void for_each_read(const instruction_list&, node n, auto&& f) const {
    const bool values = of(n).traits->fetches;
    for (const int v : reads(n)) f(values && is_result(v) ? ~v : v);
    for (const int v : find(inner_reads_, n)) f(v);
  }
  void for_each_write(const instruction_list&, node n, auto&& f) const {
    for (const int v : writes(n)) {
      f(v);
      if (is_result(v)) f(~v);
    }
    for (const int v : find(inner_writes_, n)) f(v);
  }
  void for_each_part(const instruction_list&, int variable, auto&& f) const {
    for (const int part : parts_of(variable)) f(part);
  }
  void for_each_resource(const instruction_list&, node n, auto&& f) const {
    using hocket::graph::op_kind;
    if (of(n).draws) f(hocket::graph::ordered_resource{op_kind::random, 0});
    if (of(n).communicates) f(hocket::graph::ordered_resource{op_kind::collective, 0});
  }
  /// Ops of the list and of its blocks that may do anything.
  [[nodiscard]] const std::vector<std::string>& unknown_ops() const noexcept { return unknown_ops_; }
  [[nodiscard]] hocket::graph::barrier barrier(const instruction_list&, node n) const {
    return of(n).is_known ? hocket::graph::barrier::none : hocket::graph::barrier::both;
  }
  /// Fetches that come before this op, though the program puts them behind it.
  void for_each_control(const instruction_list&, node n, auto&& f) const {
    if (fetches_.empty()) return;
    for (auto [at, end] = fetches_.equal_range(n); at != end; ++at) f(at->second);
  }

 private:
  struct effects {
    const op_traits* traits = nullptr;
    bool draws = false;
    bool communicates = false;
    bool is_known = true;
    bool has_regions = false;
  };
  using variables_of_op = std::unordered_map<std::size_t, std::vector<int>>;

  // An `if` or `while` does what the ops of its blocks do.
  void note_effects(::pir::Operation& op, effects& e) {
    e.communicates = paddle::framework::interpreter::IsCommunicationOp(&op);
    e.has_regions = op.num_regions() > 0;
    if (!e.has_regions) return;
    example::for_each_inner_op(op, [&](const ::pir::Operation& inner) {
      const op_traits& t = traits_of(inner);
      if (!t.is_known) unknown_ops_.push_back(kernel_name(inner));
      e.draws = e.draws || t.draws;
      e.is_known = e.is_known && t.is_known;
      e.communicates = e.communicates || paddle::framework::interpreter::IsCommunicationOp(&inner);
    });
  }

  // Paddle's maps are read once, also where the list has each instruction twice.
  void note_variables(const instruction& i) {
    for (const auto* const map : {&i.Inputs(), &i.Outputs()}) {
      for (const auto& [value, variables] : *map)
        variables_.insert(variables_.end(), variables.begin(), variables.end());
      first_.push_back(static_cast<std::uint32_t>(variables_.size()));
    }
  }
  [[nodiscard]] std::size_t index(node n) const { return n < different_ ? n : n - different_; }
  [[nodiscard]] const effects& of(node n) const { return effects_[index(n)]; }
  [[nodiscard]] std::span<const int> reads(node n) const { return span(2 * index(n)); }
  [[nodiscard]] std::span<const int> writes(node n) const { return span(2 * index(n) + 1); }
  [[nodiscard]] std::span<const int> span(std::size_t k) const {
    return std::span<const int>(variables_).subspan(first_[k], first_[k + 1] - first_[k]);
  }
  [[nodiscard]] std::span<const int> find(const variables_of_op& map, node n) const {
    if (map.empty()) return {};
    const auto found = map.find(index(n));
    return found == map.end() ? std::span<const int>() : std::span<const int>(found->second);
  }
  // The variables that own the storage behind one; none if it owns its own.
  [[nodiscard]] std::span<const int> parts_of(int variable) const {
    if (variable < 0 || static_cast<std::size_t>(variable) >= parts_at_.size()) return {};
    const auto [first, count] = parts_at_[static_cast<std::size_t>(variable)];
    return std::span<const int>(parts_).subspan(first, count);
  }
  [[nodiscard]] bool is_result(int variable) const { return is_result_[static_cast<std::size_t>(variable)]; }

  // ---- storage ----

  // Variables of tensors; for tensors that have none in this list, numbers beyond all variables.
  struct numbering {
    std::unordered_map<tensor_of, int, hash_tensor> known;
    int next = 0;

    // A list of tensors has a variable of its own, and then one for each tensor.
    static int variable(const std::vector<int>& variables, std::size_t element) {
      const std::size_t at = variables.size() == 1 ? 0 : element + 1;
      return at < variables.size() ? variables[at] : variables.front();
    }
    void note(::pir::Value value, const std::vector<int>& variables) {
      if (variables.empty()) return;
      const std::uint32_t count = variables.size() == 1 ? 1 : tensor_count(value);
      for (std::uint32_t k = 0; k < count; ++k) known.emplace(tensor_of{value, k}, variable(variables, k));
    }
    int of(const tensor_of& t) {
      const auto [at, is_new] = known.try_emplace(t, next);
      if (is_new) ++next;
      return at->second;
    }
  };

  void note_storage(const instruction_list& list) {
    numbering numbers;
    for (const int v : variables_) numbers.next = std::max(numbers.next, v + 1);
    parts_at_.resize(static_cast<std::size_t>(numbers.next));
    is_result_.resize(parts_at_.size());
    value_storage storage;
    note_surroundings(list, storage, numbers);
    for (std::size_t i = 0; i < different_; ++i) {
      ::pir::Operation* const op = list[i]->Operation();
      const effects& e = effects_[i];
      if (op == nullptr || !(e.has_regions || e.traits->has_alias())) continue;
      for (const auto& [value, variables] : list[i]->Inputs()) numbers.note(value, variables);
      for (std::uint32_t r = 0; r < op->num_results(); ++r) {
        const auto found = list[i]->Outputs().find(op->result(r));
        if (found != list[i]->Outputs().end()) note_parts(found->first, found->second, storage, numbers, true);
      }
      if (e.has_regions) note_inner_ops(i, *op, storage, numbers);
    }
  }

  // Where the list is a block of an `if` or `while`, values from outside may share storage with each other.
  void note_surroundings(const instruction_list& list, value_storage& storage, numbering& numbers) {
    const auto found = std::ranges::find_if(list, [](const instruction* i) { return i->Operation() != nullptr; });
    const ::pir::Operation* const some = found == list.end() ? nullptr : (*found)->Operation();
    const ::pir::Operation* const around = some == nullptr ? nullptr : some->GetParentOp();
    if (around == nullptr || around->info().name() == std::string_view("builtin.module")) return;
    for (std::size_t i = 0; i < different_; ++i)
      for (const auto& [value, variables] : list[i]->Inputs()) numbers.note(value, variables);
    for (std::size_t i = 0; i < different_; ++i)
      for (const auto& [value, variables] : list[i]->Inputs()) {
        const ::pir::Operation* const maker = value.defining_op();
        if (maker == nullptr || maker->GetParent() != some->GetParent())
          note_parts(value, variables, storage, numbers, false);
      }
  }

  void note_parts(::pir::Value value, const std::vector<int>& variables, value_storage& storage, numbering& numbers,
                  bool are_results) {
    if (variables.empty()) return;
    const std::uint32_t count = variables.size() == 1 ? 1 : tensor_count(value);
    for (std::uint32_t k = 0; k < count; ++k) {
      const tensor_of tensor{value, k};
      const std::vector<tensor_of>& owners = storage.owners(tensor);
      if (owners.size() == 1 && owners.front() == tensor) continue;
      const int variable = numbering::variable(variables, k);
      if (owners.size() == 1 && numbers.of(owners.front()) == variable) continue;  // it goes by the owner's variable
      const auto v = static_cast<std::size_t>(variable);
      parts_at_[v] = {parts_.size(), owners.size()};
      for (const tensor_of& owner : owners) parts_.push_back(numbers.of(owner));
      if (are_results) is_result_[v] = !is_of_buffer(value);
    }
  }
  // Parts of a buffer are what the buffer holds, also for a fetch.
  static bool is_of_buffer(::pir::Value value) {
    const ::pir::Operation* const op = value.defining_op();
    return op != nullptr && traits_of(*op).coalesces;
  }

  // What the ops of an instruction's blocks write in place, and what they take from a stack, is reported by Paddle
  // under the name that the op uses. The same storage may have other names.
  void note_inner_ops(std::size_t i, ::pir::Operation& op, value_storage& storage, numbering& numbers) {
    const auto note = [&](::pir::Value value, variables_of_op& to) {
      for (std::uint32_t k = 0; k < tensor_count(value); ++k)
        for (const tensor_of& owner : storage.owners({value, k})) to[i].push_back(numbers.of(owner));
    };
    example::for_each_inner_op(op, [&](const ::pir::Operation& inner) {
      const op_traits& t = traits_of(inner);
      for (const auto* const map : {&t.in_place, &t.views})
        for (const auto& pair : *map)
          if (pair.operand < inner.num_operands()) note(inner.operand_source(pair.operand), inner_writes_);
      for (std::uint32_t r = 0; t.pops && r < inner.num_results(); ++r) note(inner.result(r), inner_reads_);
    });
  }

  // ---- fetches ----

  void note_fetches(const instruction_list& list) {
    for (node n = 0; n < list.size(); ++n) {
      if (!of(n).traits->fetches) continue;
      for (const int v : reads(n))
        if (is_result(v)) note_fetch(list, n, v);
    }
  }
  // The fetch comes before the first op that overwrites a piece of the storage after the value was made.
  void note_fetch(const instruction_list& list, node fetch, int v) {
    const auto makes = [this, v](node n) { return std::ranges::find(writes(n), v) != writes(n).end(); };
    node made = fetch;
    while (made > 0 && !makes(made)) --made;
    for (const int part : parts_of(v)) {
      node next = made + 1;
      while (next < list.size() && !overwrites(list, next, part)) ++next;
      if (next < list.size() && next != fetch && !makes(next)) fetches_.emplace(next, fetch);
    }
  }
  [[nodiscard]] bool overwrites(const instruction_list& list, node n, int part) const {
    bool found = false;
    for_each_write(list, n, [&](int v) {
      const std::span<const int> parts = parts_of(v);
      found = found || v == part || std::ranges::find(parts, part) != parts.end();
    });
    return found;
  }

  struct range {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::size_t different_;                // instructions of the list, without those that are there a second time
  std::vector<int> variables_;           // of each: read, then written
  std::vector<std::uint32_t> first_{0};  // where they begin in that
  std::vector<effects> effects_;
  std::vector<std::string> unknown_ops_;
  std::vector<range> parts_at_;  // of each variable, in parts_
  std::vector<int> parts_;
  std::vector<bool> is_result_;  // variables that a fetch asks for the value
  variables_of_op inner_reads_;  // beyond those of variables_
  variables_of_op inner_writes_;
  std::multimap<node, node> fetches_;  // op that overwrites, fetch that comes before
};

}  // namespace example
