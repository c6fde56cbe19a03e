// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket's view of the instruction list of PaddlePaddle's executor. The file to copy into your project.
//
//   graph_access<instruction_list>   what Paddle 3.3's own dependency builder knows: variables, its list of random ops
//   storage_access                   what the kernels do: all ops that draw random numbers, coalesced buffers, views
#pragma once
#include <paddle/fluid/framework/new_executor/instruction/instruction_base.h>
#include <paddle/pir/include/core/block.h>
#include <paddle/pir/include/core/builtin_attribute.h>
#include <paddle/pir/include/core/operation.h>
#include <paddle/pir/include/core/region.h>

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
#include <unordered_set>
#include <vector>

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

/// "dropout" of "pd_op.dropout_".
inline std::string_view plain_name(std::string_view name) {
  if (name.starts_with("pd_op.")) name.remove_prefix(6);
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
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

/// Does a kernel of this name draw from a generator?
inline bool draws(std::string_view name) {
  constexpr std::string_view names[] = {"bernoulli",
                                        "binomial",
                                        "class_center_sample",
                                        "cudnn_lstm",
                                        "dirichlet",
                                        "dpsgd",
                                        "dropout",
                                        "exponential",
                                        "flash_attn",
                                        "flash_attn_qkvpacked",
                                        "flash_attn_unpadded",
                                        "flash_attn_varlen_qkvpacked",
                                        "flashmask_attention",
                                        "fractional_max_pool2d",
                                        "fractional_max_pool3d",
                                        "fused_attention",
                                        "fused_bias_dropout_residual_layer_norm",
                                        "fused_dot_product_attention",
                                        "fused_dropout_add",
                                        "fused_feedforward",
                                        "gaussian",
                                        "gaussian_inplace",
                                        "graph_khop_sampler",
                                        "graph_sample_neighbors",
                                        "gumbel_softmax",
                                        "memory_efficient_attention",
                                        "multinomial",
                                        "nce",
                                        "poisson",
                                        "randint",
                                        "random",
                                        "randperm",
                                        "rnn",
                                        "rrelu",
                                        "seed",
                                        "shuffle_batch",
                                        "standard_gamma",
                                        "tdm_sampler",
                                        "top_p_sampling",
                                        "truncated_gaussian_random",
                                        "uniform",
                                        "uniform_inplace",
                                        "uniform_random_batch_size_like",
                                        "uniform_random_batch_size_like_sr",
                                        "weighted_sample_neighbors"};
  return std::ranges::binary_search(names, plain_name(name));
}

/// Is the first result of a kernel of this name the storage of its first operand?
inline bool makes_view(std::string_view name) {
  constexpr std::string_view names[] = {"as_strided",  "index_select_strided", "npu_identity",
                                        "shadow_feed", "share_data",           "tensor_unfold",
                                        "view_dtype",  "view_shape",           "view_slice"};
  return std::ranges::binary_search(names, plain_name(name));
}

/// Are its results the parts of one buffer (result 0) and the buffer (result 1)?
inline bool coalesces(std::string_view name) { return plain_name(name) == "coalesce_tensor"; }

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
/// Variables that share storage are told as their parts: a coalesced buffer as its tensors, a view as its base, the
/// result of an in-place op as its operand. One reader of such a result does not want what its storage holds by then:
/// a fetch stands at the end of the program and asks for the value. It reads a variable of its own, ~result, which the
/// in-place op writes too, and must come before the next op that overwrites the storage.
class storage_access {
 public:
  using node = std::uint32_t;
  explicit storage_access(const instruction_list& list)
      : different_(is_twice_the_same(list) ? list.size() / 2 : list.size()) {
    first_.reserve(2 * different_ + 1);
    traits_.reserve(different_);
    std::unordered_map<std::string_view, traits> of_name;
    bool shares = false;
    for (std::size_t i = 0; i < different_; ++i) {
      note_variables(*list[i]);
      const auto [known, is_new] = of_name.try_emplace(list[i]->Name());
      if (is_new) known->second = traits_of(list[i]->Name());
      traits_.push_back(known->second);
      note_resources(list[i]->Operation(), traits_.back());
      shares = shares || known->second.shares;
    }
    if (!shares) return;
    for (const instruction* i : list) note_aliases(*i);
    for (node n = 0; n < list.size(); ++n)
      if (of(n).fetches) note_fetch(list, n);
  }

  static std::size_t node_count(const instruction_list& l) { return l.size(); }
  void for_each_read(const instruction_list&, node n, auto&& f) const {
    const bool values = !results_.empty() && of(n).fetches;
    for (const int v : reads(n)) f(values && results_.contains(v) ? ~v : v);
  }
  void for_each_write(const instruction_list&, node n, auto&& f) const {
    for (const int v : writes(n)) {
      f(v);
      if (!results_.empty() && results_.contains(v)) f(~v);
    }
  }
  void for_each_part(const instruction_list&, int variable, auto&& f) const {
    if (parts_.empty()) return;
    const auto found = parts_.find(variable);
    if (found == parts_.end()) return;
    for (const int part : found->second) f(part);
  }
  void for_each_resource(const instruction_list&, node n, auto&& f) const {
    using hocket::graph::op_kind;
    if (of(n).draws) f(hocket::graph::ordered_resource{op_kind::random, 0});
    if (of(n).communicates) f(hocket::graph::ordered_resource{op_kind::collective, 0});
  }
  /// Fetches that come before this op, though the program puts them behind it.
  void for_each_control(const instruction_list&, node n, auto&& f) const {
    if (fetches_.empty()) return;
    for (auto [at, end] = fetches_.equal_range(n); at != end; ++at) f(at->second);
  }

 private:
  struct traits {
    bool draws = false;
    bool communicates = false;
    bool shares = false;
    bool fetches = false;
  };
  static traits traits_of(std::string_view name) {
    return {
        .draws = example::draws(name), .shares = coalesces(name) || makes_view(name), .fetches = name == "pd_op.fetch"};
  }

  static std::string kernel_name(const ::pir::Operation& op) {
    const auto name = op.attribute<::pir::StrAttribute>("op_name");  // of a kernel; else the op has its own name
    return name ? name.AsString() : op.name();
  }

  // An `if` or `while` uses what the ops of its blocks use.
  static void note_resources(::pir::Operation* op, traits& t) {
    if (op == nullptr) return;
    t.communicates = t.communicates || paddle::framework::interpreter::IsCommunicationOp(op);
    for (std::uint32_t r = 0; r < op->num_regions(); ++r)
      for (auto& block : op->region(r))
        for (::pir::Operation& inner : block) {
          t.draws = t.draws || example::draws(kernel_name(inner));
          note_resources(&inner, t);
        }
  }

  // Paddle's maps are read once, also where the list has each instruction twice.
  void note_variables(const instruction& i) {
    for (const auto& [value, variables] : i.Inputs())
      variables_.insert(variables_.end(), variables.begin(), variables.end());
    first_.push_back(static_cast<std::uint32_t>(variables_.size()));
    for (const auto& [value, variables] : i.Outputs())
      variables_.insert(variables_.end(), variables.begin(), variables.end());
    first_.push_back(static_cast<std::uint32_t>(variables_.size()));
  }
  [[nodiscard]] std::size_t index(node n) const { return n < different_ ? n : n - different_; }
  [[nodiscard]] const traits& of(node n) const { return traits_[index(n)]; }
  [[nodiscard]] std::span<const int> reads(node n) const { return span(2 * index(n)); }
  [[nodiscard]] std::span<const int> writes(node n) const { return span(2 * index(n) + 1); }
  [[nodiscard]] std::span<const int> span(std::size_t k) const {
    return std::span<const int>(variables_).subspan(first_[k], first_[k + 1] - first_[k]);
  }

  // The pieces of storage behind a variable: its own, or those that it shares.
  [[nodiscard]] std::vector<int> parts_of(int variable) const {
    const auto found = parts_.find(variable);
    return found == parts_.end() ? std::vector<int>{variable} : found->second;
  }

  static std::vector<int> variables_of(const auto& of_value, ::pir::Value v) {
    const auto found = of_value.find(v);
    return found == of_value.end() ? std::vector<int>() : found->second;
  }

  void note_aliases(const instruction& i) {
    ::pir::Operation* const op = i.Operation();
    const bool buffer = coalesces(i.Name());
    if (buffer && op != nullptr && op->num_results() > 1)
      alias(variables_of(i.Outputs(), op->result(1)), variables_of(i.Outputs(), op->result(0)));
    else if (makes_view(i.Name()) && op != nullptr && op->num_results() > 0 && op->num_operands() > 0)
      alias(variables_of(i.Outputs(), op->result(0)), variables_of(i.Inputs(), op->operand_source(0)));
    if (!buffer) note_in_place(i);
  }

  // An op that updates variables in place writes them, and results with numbers of their own. Which result belongs to
  // which variable is not told, so each has them all as parts.
  void note_in_place(const instruction& i) {
    std::vector<int> read, updated, results;
    for (const auto& [value, variables] : i.Inputs()) read.insert(read.end(), variables.begin(), variables.end());
    for (const auto& [value, variables] : i.Outputs())
      for (const int v : variables) (std::ranges::find(read, v) != read.end() ? updated : results).push_back(v);
    if (updated.empty()) return;
    alias(results, updated);
    results_.insert(results.begin(), results.end());
  }

  // These variables have the storage of those.
  void alias(const std::vector<int>& these, const std::vector<int>& those) {
    std::vector<int> parts;
    for (const int v : those) {
      const std::vector<int> behind = parts_of(v);
      parts.insert(parts.end(), behind.begin(), behind.end());
    }
    for (const int v : these)
      if (std::ranges::find(those, v) == those.end() && !parts.empty()) parts_[v] = parts;
  }

  void note_fetch(const instruction_list& list, node fetch) {
    const auto overwrites = [this](node n, const std::vector<int>& storage) {
      for (const int v : writes(n))
        for (const int part : parts_of(v))
          if (std::ranges::find(storage, part) != storage.end()) return true;
      return false;
    };
    const auto makes = [this](node n, int v) { return std::ranges::find(writes(n), v) != writes(n).end(); };
    for (const int v : reads(fetch)) {
      if (!results_.contains(v)) continue;
      node made = fetch;
      while (made > 0 && !makes(made, v)) --made;
      const std::vector<int> storage = parts_of(v);
      node next = made + 1;
      while (next < list.size() && !overwrites(next, storage)) ++next;
      if (next < list.size() && !makes(next, v)) fetches_.emplace(next, fetch);
    }
  }

  std::size_t different_;                // instructions of the list, without those that are there a second time
  std::vector<int> variables_;           // of each: read, then written
  std::vector<std::uint32_t> first_{0};  // where they begin in that
  std::vector<traits> traits_;
  std::unordered_map<int, std::vector<int>> parts_;  // of the variables that share storage
  std::unordered_set<int> results_;                  // of in-place ops
  std::multimap<node, node> fetches_;                // op that overwrites, fetch that comes before
};

}  // namespace example
