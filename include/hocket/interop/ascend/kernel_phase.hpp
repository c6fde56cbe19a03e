// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::ascend {

/// The part of a step that a kernel belongs to, in the words of the MindFormers tuning guide.
enum class kernel_phase : std::uint8_t {
  data,  ///< fetches the next batch, or copies between host and device
  forward,
  recomputed,  ///< a forward op that runs again for the backward pass
  backward,
  forward_or_backward,  ///< computes; its name does not tell which
  optimizer,
  communication
};
inline constexpr std::size_t kernel_phase_count = 7;

[[nodiscard]] constexpr std::string_view to_string(kernel_phase p) noexcept {
  constexpr std::string_view names[kernel_phase_count] = {
      "data", "forward", "recomputed", "backward", "forward and backward", "optimizer", "communication"};
  return names[static_cast<std::size_t>(p)];
}

/// Whether the time of a phase is computing.
[[nodiscard]] constexpr bool computes(kernel_phase p) noexcept {
  return p != kernel_phase::data && p != kernel_phase::communication;
}

/// Told by the scope (`Gradients/...`, `.../optimizer-Adam/...`), and where a name is none, by the type: GetNext,
/// ApplyAdamW. O(length of the name).
///
///     phase_of({.name = "Gradients/Default/network-Net/MatMul-op3", .type = "MatMul"}) == kernel_phase::backward;
[[nodiscard]] constexpr kernel_phase phase_of(const kernel& k) noexcept {
  const std::string_view name = k.name, type = k.type;
  const auto type_is = [&](auto... starts) { return (type.starts_with(std::string_view(starts)) || ...); };
  if (k.communicates) return kernel_phase::communication;
  if (type_is("GetNext", "InitDataSetQueue", "gpu_memcpy", "MEMCPY_ASYNC")) return kernel_phase::data;
  if (name.find("optimizer-") != name.npos || name.find("multi_tensor_apply") != name.npos)
    return kernel_phase::optimizer;
  if (type_is("ApplyAdam", "ApplyMomentum", "ApplyGradientDescent", "Adam", "FusedAdam", "FusedCastAdam", "Momentum",
              "Lamb", "SGD"))
    return kernel_phase::optimizer;
  if (name.starts_with("recompute_") || name.find("/recompute_") != name.npos) return kernel_phase::recomputed;
  const std::size_t cell = name.starts_with("Expand/_") ? name.find('/', 8) : name.npos;  // a kernel taken apart
  const bool is_grad = cell != name.npos && name.substr(0, cell).ends_with("Grad");
  if (name.starts_with("Gradients/") || is_grad) return kernel_phase::backward;
  if (name.starts_with("Default/")) return kernel_phase::forward;
  return kernel_phase::forward_or_backward;
}

/// The number of the layer that a kernel's scope names, -1 for none: 3 of `.../layers-CellList/3-DecoderLayer/...`.
[[nodiscard]] constexpr std::int64_t layer_of(std::string_view scope) noexcept {
  bool in_list = false;
  while (!scope.empty()) {
    const std::size_t end = scope.find('/') < scope.size() ? scope.find('/') : scope.size();
    const std::string_view part = scope.substr(0, end);
    scope.remove_prefix(end < scope.size() ? end + 1 : end);
    std::int64_t number = 0;
    std::size_t digits = 0;
    while (digits < part.size() && digits < 9 && part[digits] >= '0' && part[digits] <= '9')
      number = number * 10 + (part[digits++] - '0');
    if (in_list && digits > 0 && digits < part.size() && part[digits] == '-') return number;
    in_list = part.ends_with("-CellList") || part.ends_with("-SequentialCell");
  }
  return -1;
}

}  // namespace hocket::inline HOCKET_ABI::ascend
