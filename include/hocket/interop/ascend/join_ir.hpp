// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/interop/ascend/kernel_phase.hpp>
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// Which node of a dump each kernel ran.
struct ir_join {
  std::vector<std::uint32_t> node_of;  ///< by kernel; no_id: the dump has no node of that name and type
  std::size_t joined = 0;              ///< kernels that have one
};

/// Joins kernels and nodes by their full scope (`Default/network-Net/.../MatMul-op0`), and only where the kernel's type
/// is the node's primitive. Passes number the ops anew, so the dump of a late pass (graph_build) joins most.
/// O((k + n) log n).
[[nodiscard]] inline ir_join join_ir(std::span<const kernel> kernels, const mindspore::ir_program& program) {
  std::vector<std::tuple<std::string_view, std::string_view, std::uint32_t>> nodes;
  for (std::uint32_t n = 0; n < program.node_count(); ++n)
    if (program.node(n).has_full_name) nodes.emplace_back(program.scope(n), program.primitive(n), n);
  std::sort(nodes.begin(), nodes.end());
  ir_join out;
  for (const kernel& k : kernels) {
    const std::tuple sought(std::string_view(k.name), std::string_view(k.type), std::uint32_t{0});
    const auto at = std::lower_bound(nodes.begin(), nodes.end(), sought);
    const bool found = at != nodes.end() && std::get<0>(*at) == k.name && std::get<1>(*at) == k.type;
    out.node_of.push_back(found ? std::get<2>(*at) : no_id);
    out.joined += found ? 1 : 0;
  }
  return out;
}

/// Gives a kernel the shapes of its node's tensors, as a table of kernels has them, where it has none.
inline void take_shapes(kernel& k, const mindspore::ir_program& program, std::uint32_t node) {
  const auto put = [&](std::string& shapes, std::span<const std::uint32_t> types) {
    for (const std::uint32_t t : types) {
      const mindspore::ir_type& type = program.type(t);
      if (type.what != mindspore::ir_type::kind::tensor) continue;
      if (!shapes.empty()) shapes += ';';
      for (std::size_t i = 0; i < type.shape.size(); ++i) shapes += (i > 0 ? "," : "") + std::to_string(type.shape[i]);
    }
  };
  if (k.input_shapes.empty()) put(k.input_shapes, program.input_types(node));
  if (k.output_shapes.empty()) put(k.output_shapes, program.output_types(node));
}

/// Gives a kernel the phase that its node has. A copy for recomputation has the scope of its original, and a number of
/// its own behind the op's name: the dump alone tells them apart. Collectives and what fetches data keep their phase.
inline void take_phase(kernel& k, const mindspore::ir_program& program, std::uint32_t node) {
  if (!computes(phase_of(k))) return;
  constexpr kernel_phase phases[] = {kernel_phase::forward, kernel_phase::recomputed, kernel_phase::backward,
                                     kernel_phase::optimizer};  // in the order of mindspore::ir_phase
  k.told_phase = phases[static_cast<std::size_t>(program.node(node).phase)];
}

}  // namespace hocket::inline HOCKET_ABI::ascend
