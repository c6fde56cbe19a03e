// SPDX-License-Identifier: Apache-2.0
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
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <vector>

namespace paddle::framework::interpreter {
bool IsCommunicationOp(const ::pir::Operation* op);
}

namespace example {

using instruction_list = std::vector<paddle::framework::InstructionBase*>;

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
inline bool is_random_to_paddle(const paddle::framework::InstructionBase& i) {
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
class storage_access {
 public:
  using node = std::uint32_t;
  explicit storage_access(const instruction_list& list) {
    for (const paddle::framework::InstructionBase* i : list) note_aliases(*i);
  }

  static std::size_t node_count(const instruction_list& l) { return l.size(); }
  static void for_each_read(const instruction_list& l, node n, auto&& f) { variables::for_each_read(l, n, f); }
  static void for_each_write(const instruction_list& l, node n, auto&& f) { variables::for_each_write(l, n, f); }

  /// An `if` or `while` uses what the ops of its blocks use.
  static void for_each_resource(const instruction_list& l, node n, auto&& f) {
    using hocket::graph::op_kind;
    ::pir::Operation* const op = l[n]->Operation();
    if (draws(l[n]->Name()) || any_nested(op, [](const ::pir::Operation& o) { return draws(kernel_name(o)); }))
      f(hocket::graph::ordered_resource{op_kind::random, 0});
    const auto communicates = [](const ::pir::Operation& o) {
      return paddle::framework::interpreter::IsCommunicationOp(&o);
    };
    if (op != nullptr && (communicates(*op) || any_nested(op, communicates)))
      f(hocket::graph::ordered_resource{op_kind::collective, 0});
  }

  void for_each_part(const instruction_list&, int variable, auto&& f) const {
    if (parts_.empty()) return;
    const auto found = parts_.find(variable);
    if (found == parts_.end()) return;
    for (const int part : found->second) f(part);
  }

 private:
  using variables = hocket::graph_access<instruction_list>;

  static std::string kernel_name(const ::pir::Operation& op) {
    const auto name = op.attribute<::pir::StrAttribute>("op_name");  // of a kernel; else the op has its own name
    return name ? name.AsString() : op.name();
  }

  template <class F>
  static bool any_nested(::pir::Operation* op, const F& holds) {
    if (op == nullptr) return false;
    for (std::uint32_t r = 0; r < op->num_regions(); ++r)
      for (auto& block : op->region(r))
        for (::pir::Operation& inner : block)
          if (holds(inner) || any_nested(&inner, holds)) return true;
    return false;
  }

  // The pieces of storage behind a variable: its own, or those that it shares.
  [[nodiscard]] std::vector<int> parts_of(int variable) const {
    const auto found = parts_.find(variable);
    return found == parts_.end() ? std::vector<int>{variable} : found->second;
  }

  static const std::vector<int>* variables_of(const auto& of_value, ::pir::Value v) {
    const auto found = of_value.find(v);
    return found == of_value.end() || found->second.empty() ? nullptr : &found->second;
  }

  void note_aliases(const paddle::framework::InstructionBase& i) {
    const std::string_view name = plain_name(i.Name());
    const bool coalesces = name == "coalesce_tensor";
    if (!coalesces && !makes_view(name)) return;
    ::pir::Operation* const op = i.Operation();
    if (op == nullptr || op->num_results() < (coalesces ? 2u : 1u) || op->num_operands() < 1u) return;
    // A coalesced buffer (result 1) has the tensors of result 0 as parts. A view has the parts of its operand.
    const auto* const from =
        coalesces ? variables_of(i.Outputs(), op->result(0)) : variables_of(i.Inputs(), op->operand_source(0));
    const auto* const to = variables_of(i.Outputs(), op->result(coalesces ? 1 : 0));
    if (from == nullptr || to == nullptr) return;
    std::vector<int> parts;
    for (const int v : *from) {
      const std::vector<int> behind = parts_of(v);
      parts.insert(parts.end(), behind.begin(), behind.end());
    }
    for (const int v : *to)
      if (std::ranges::find(*from, v) == from->end()) parts_[v] = parts;
  }

  std::unordered_map<int, std::vector<int>> parts_;  // of the variables that share storage
};

}  // namespace example
