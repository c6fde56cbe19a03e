// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one op of PaddlePaddle does besides reading its operands and writing its results, as Paddle's own registries
// have it: in-place and view maps and traits (OpYamlInfoInterface), seeds (inputs and attributes), layouts of kernels.
#pragma once
#include <paddle/fluid/pir/dialect/kernel/ir/kernel_attribute.h>
#include <paddle/fluid/pir/dialect/operator/interface/op_yaml_info.h>
#include <paddle/fluid/pir/dialect/operator/trait/inplace.h>
#include <paddle/phi/core/kernel_factory.h>
#include <paddle/pir/include/core/builtin_attribute.h>
#include <paddle/pir/include/core/ir_context.h>
#include <paddle/pir/include/core/operation.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace example {

struct op_traits {
  /// Result `result` is the storage of operand `operand`.
  struct shared {
    std::uint32_t result = 0;
    std::uint32_t operand = 0;
  };
  bool is_known = true;          ///< false: no registry describes it, so it may read and write anything
  bool draws = false;            ///< uses a random generator
  bool fetches = false;          ///< copies a value for the user
  bool coalesces = false;        ///< result 1 is a buffer, and result 0 its parts
  bool takes_storage = false;    ///< `set`: the result gets the storage of operand 1
  bool pops = false;             ///< its results were pushed to a stack
  bool is_list = false;          ///< makes a list of tensors, or takes tensors out of one
  bool may_share = false;        ///< each result may be the storage of each operand
  bool may_be_strided = false;   ///< ... if the kernel that was chosen for it is a strided one
  std::vector<shared> in_place;  ///< written as the results
  std::vector<shared> views;     ///< the same, as its view map has it

  [[nodiscard]] bool has_alias() const noexcept {
    return !is_known || coalesces || takes_storage || pops || is_list || may_share || may_be_strided ||
           !in_place.empty() || !views.empty();
  }
};

/// "dropout" of "pd_op.dropout_".
inline std::string_view plain_name(std::string_view name) {
  if (name.starts_with("pd_op.")) name.remove_prefix(6);
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

/// The op that a kernel computes; any other op is called by its own name.
inline std::string kernel_name(const ::pir::Operation& op) {
  const auto name = op.attribute<::pir::StrAttribute>("op_name");
  return name ? name.AsString() : op.name();
}

namespace detail {

// Kernels that draw numbers though no seed or generator is among their inputs, attributes and results.
inline bool draws_unsaid(std::string_view name) {
  constexpr std::string_view names[] = {"bernoulli",
                                        "binomial",
                                        "dirichlet",
                                        "exponential",
                                        "graph_khop_sampler",
                                        "graph_sample_neighbors",
                                        "gumbel_softmax",
                                        "multinomial",
                                        "poisson",
                                        "randint",
                                        "random",
                                        "randperm",
                                        "rrelu",
                                        "standard_gamma",
                                        "weighted_sample_neighbors"};
  return std::ranges::binary_search(names, plain_name(name));
}

// Kernels whose result is the storage of the operand though neither a map nor a layout says it.
inline bool shares_unsaid(std::string_view name) {
  constexpr std::string_view names[] = {
      "npu_identity", "onednn_to_paddle_layout", "shadow_feed", "shadow_feed_tensors", "share_data", "view_shape"};
  return std::ranges::binary_search(names, plain_name(name));
}

// Ops that Paddle has no yaml for, and whose meaning `value_storage` has.
inline bool is_structure(std::string_view name) {
  constexpr std::string_view names[] = {
      "builtin.combine",     "builtin.constant", "builtin.parameter", "builtin.set_parameter", "builtin.shadow_output",
      "builtin.slice",       "builtin.split",    "cf.has_elements",   "cf.stack_create",       "cf.tuple_pop",
      "cf.tuple_push",       "cf.yield",         "pd_op.if",          "pd_op.pylayer",         "pd_op.select_input",
      "pd_op.select_output", "pd_op.while"};
  return std::ranges::binary_search(names, name);
}

// A gradient gets the seed of its forward op and draws nothing.
inline bool names_a_seed(std::string_view op, std::string_view field) {
  const bool seed = field.find("seed") != field.npos || field.find("rng") != field.npos;
  return seed && op.find("_grad") == op.npos;
}

inline bool has_strided_kernel(const std::string& kernel) {
  const auto& all = phi::KernelFactory::Instance().kernels();
  const auto found = all.find(kernel);
  if (found == all.end()) return false;
  return std::ranges::any_of(found->second, [](const auto& k) { return k.first.layout() == phi::DataLayout::STRIDED; });
}

// The pairs of a map such as {out <- x}.
inline std::vector<op_traits::shared> numbered(const std::vector<std::pair<std::string, std::string>>& map,
                                               const auto& results, const auto& operands) {
  const auto number = [](const auto& list, const std::string& name) {
    return std::ranges::find(list, name, [](const auto& info) { return info.name; }) - list.begin();
  };
  std::vector<op_traits::shared> pairs;
  for (const auto& [result, operand] : map)
    pairs.push_back(
        {static_cast<std::uint32_t>(number(results, result)), static_cast<std::uint32_t>(number(operands, operand))});
  return pairs;
}

inline op_traits unknown_traits() {
  op_traits t;
  t.is_known = false;
  t.may_share = true;
  return t;
}

inline op_traits read_traits(const std::string& name) {
  op_traits t;
  const ::pir::OpInfo info = ::pir::IrContext::Instance()->GetRegisteredOpInfo(name);
  const auto* const yaml = info ? info.GetInterfaceImpl<paddle::dialect::OpYamlInfoInterface>() : nullptr;
  if (yaml == nullptr) {
    t.is_known = is_structure(name);
    t.pops = name == "cf.tuple_pop";
    t.is_list = name == "builtin.combine" || name == "builtin.slice" || name == "builtin.split";
    t.may_share = !t.is_known || name.starts_with("pd_op.select_") || name == "builtin.shadow_output";
    return t;
  }
  const auto [operands, attributes, results, run_time, origin] = yaml->get_op_info_(name);
  t.draws = draws_unsaid(name);
  for (const auto& i : operands) t.draws = t.draws || names_a_seed(name, i.name);
  for (const auto& i : attributes) t.draws = t.draws || names_a_seed(name, i.name);
  for (const auto& i : results) t.draws = t.draws || names_a_seed(name, i.name);
  t.in_place = numbered(run_time.inplace, results, operands);
  t.views = numbered(run_time.view, results, operands);
  const bool unmapped = info.HasTrait<paddle::dialect::InplaceTrait>() && t.in_place.empty() && t.views.empty();
  t.may_share = unmapped || shares_unsaid(name);
  t.may_be_strided = has_strided_kernel(run_time.kernel_func);
  t.fetches = name == "pd_op.fetch";
  t.coalesces = plain_name(name) == "coalesce_tensor";
  t.takes_storage = plain_name(name) == "set";
  return t;
}

}  // namespace detail

/// The traits of an op of this name. They are read once in the process.
inline const op_traits& traits_of_name(const std::string& name) {
  static std::mutex guard;
  static std::map<std::string, op_traits> known;  // its nodes stay where they are
  const std::scoped_lock lock(guard);
  const auto found = known.find(name);
  return found != known.end() ? found->second : known.emplace(name, detail::read_traits(name)).first->second;
}

/// The traits of an op of the executor's program. A custom kernel and a Python function may do anything, also where
/// their op is described.
inline const op_traits& traits_of(const ::pir::Operation& op) {
  static const op_traits anything = detail::unknown_traits();
  const std::string_view own = op.info().name();
  if (own == "custom_kernel" || own == "py_func") return anything;
  return traits_of_name(kernel_name(op));
}

/// Was a strided kernel chosen for it? Such a kernel makes a view.
inline bool is_strided(const ::pir::Operation& op) {
  const auto key = op.attribute<paddle::dialect::KernelAttribute>("kernel_key");
  return key && key.data().layout() == phi::DataLayout::STRIDED;
}

}  // namespace example
