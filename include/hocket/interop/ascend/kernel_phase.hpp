// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/mindspore/layer_in_scope.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::ascend {

/// The part of a step that a kernel belongs to, in the words of the MindFormers tuning guide.
enum class kernel_phase : std::uint8_t {
  data,  ///< fetches the next batch, or copies between host and device
  forward,
  recomputed,  ///< a forward op that runs again for the backward pass; its dump tells, see take_phase
  backward,
  forward_or_recomputed,  ///< of a cell that is recomputed: its name does not tell the op from its copy
  forward_or_backward,    ///< computes; its name does not tell which
  optimizer,
  communication
};
inline constexpr std::size_t kernel_phase_count = 8;

[[nodiscard]] constexpr std::string_view to_string(kernel_phase p) noexcept {
  constexpr std::string_view names[kernel_phase_count] = {
      "data",      "forward",      "recomputed", "backward", "forward or recomputed", "forward and backward",
      "optimizer", "communication"};
  return names[static_cast<std::size_t>(p)];
}

/// Whether the time of a phase is computing.
[[nodiscard]] constexpr bool computes(kernel_phase p) noexcept {
  return p != kernel_phase::data && p != kernel_phase::communication;
}

namespace detail {

// PyTorch's and Apex's kernels over lists of tensors (multi_tensor_apply) are of the optimizer, except those whose
// functor is a norm, a scale or a copy: clipping, unscaling and zeroing of gradients.
[[nodiscard]] constexpr bool is_of_optimizer(std::string_view name) noexcept {
  if (name.find("optimizer-") != name.npos) return true;
  if (name.find("multi_tensor_apply") == name.npos) return false;
  for (const std::string_view other : {"NormFunctor", "ScaleFunctor", "Copy", "Zero", "non_finite_check_and_unscale"})
    if (name.find(other) != name.npos) return false;
  return true;
}

}  // namespace detail

/// Read from the scope (`Gradients/...`, `.../optimizer-Adam/...`), and where the name is not a scope, from the type:
/// GetNext, ApplyAdamW. What a dump told of the kernel goes before its name: an op that is recomputed and its copy have
/// the same scope, `recompute_Default/...`, or `Default/...` if the op alone is marked. O(length of the name).
///
///     phase_of({.name = "Gradients/Default/network-Net/MatMul-op3", .type = "MatMul"}) == kernel_phase::backward;
[[nodiscard]] constexpr kernel_phase phase_of(const kernel& k) noexcept {
  if (k.told_phase) return *k.told_phase;
  const std::string_view name = k.name, type = k.type;
  const auto type_is = [&](auto... starts) { return (type.starts_with(std::string_view(starts)) || ...); };
  if (k.communicates) return kernel_phase::communication;
  if (type_is("GetNext", "InitDataSetQueue", "gpu_memcpy", "MEMCPY_ASYNC")) return kernel_phase::data;
  if (detail::is_of_optimizer(name)) return kernel_phase::optimizer;
  if (type_is("ApplyAdam", "ApplyMomentum", "ApplyGradientDescent", "Adam", "FusedAdam", "FusedCastAdam", "Momentum",
              "Lamb", "SGD"))
    return kernel_phase::optimizer;
  const std::size_t cell = name.starts_with("Expand/_") ? name.find('/', 8) : name.npos;  // a kernel taken apart
  const bool is_grad = cell != name.npos && name.substr(0, cell).ends_with("Grad");
  if (name.starts_with("Gradients/") || is_grad) return kernel_phase::backward;
  if (name.starts_with("recompute_")) return kernel_phase::forward_or_recomputed;
  if (name.starts_with("Default/")) return kernel_phase::forward;
  return kernel_phase::forward_or_backward;
}

/// The number of the layer that a kernel's scope names, -1 for none: 3 of `.../layers-CellList/3-DecoderLayer/...`.
[[nodiscard]] constexpr std::int64_t layer_of(std::string_view scope) noexcept {
  constexpr std::size_t most_digits = 9;
  const std::string_view digits = mindspore::find_layer(scope).number;
  if (digits.empty() || digits.size() > most_digits) return -1;
  std::int64_t number = 0;
  for (const char digit : digits) number = number * 10 + (digit - '0');
  return number;
}

}  // namespace hocket::inline HOCKET_ABI::ascend
