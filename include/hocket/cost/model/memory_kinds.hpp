// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/peak_memory.hpp>

#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// The peak of a rank by what the bytes are for, in bytes. All of it adds up to memory_peak::total_bytes().
struct memory_kinds {
  rational weights;      ///< in the format of the passes
  rational gradients;    ///< that live through the step
  rational optimizer;    ///< master weights and moments
  rational activations;  ///< saved for the backward passes in flight
  rational gathered;     ///< whole weights and gradients that collectives gather and reduce, at the peak
  rational buffers;      ///< that the framework keeps through the step
  rational working;      ///< tensors that live only at the peak: logits, what is computed again, inside of a layer

  [[nodiscard]] constexpr rational total() const noexcept {
    return weights + gradients + optimizer + activations + gathered + buffers + working;
  }
};

/// Takes the peak of a rank apart.
/// @param peak  of memory_of_rank    @param n  parameters of that rank
/// Complexity: O(terms of static_memory_terms). Undefined sizes give parts that are not ok().
///
///     const auto m = memory_of_rank(list, ranks[0], t, p, held);
///     kinds_of(m->peak, m->parameters, t, p).weights  // 2 bytes for each parameter of the rank, in bfloat16
[[nodiscard]] constexpr memory_kinds kinds_of(const memory_peak& peak, const rank_parameters& n, const training& t,
                                              const parallel& p) noexcept {
  memory_kinds out{.weights = 0,
                   .gradients = 0,
                   .optimizer = 0,
                   .activations = peak.kept_bytes,
                   .gathered = peak.gathered_bytes(),
                   .buffers = peak.workspace_bytes,
                   .working = peak.transient_bytes() - peak.gathered_bytes()};
  for_each_term(static_memory_terms, numbers_of(setting{.parameters = n, .training = t, .parallel = p}),
                [&](const term_view& x) {
                  const std::string_view name = x.name;
                  const rational bytes = x.amount() / x.ranks();
                  if (name == "weights" || name == "expert weights") out.weights = out.weights + bytes;
                  if (name.ends_with("gradients")) out.gradients = out.gradients + bytes;
                });
  out.optimizer = peak.static_bytes - out.weights - out.gradients;  // also Muon's, whose states have other terms
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::cost
