// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/parameters.hpp>

namespace hocket::inline HOCKET_ABI::cost::detail::static_memory {

using letters::cp, letters::dp, letters::ep, letters::etp, letters::tp, letters::zero_level;
// Over how many ranks the optimizer's sharding spreads a state: from which level on is it sharded at all.
inline constexpr auto replicas = dp * cp;
inline constexpr auto expert_replicas = dp * cp * tp / (ep * etp);
template <class Shards>
consteval auto from_level_1(const Shards& n) noexcept {
  return choose(zero_level, 1, n, n, n);
}
template <class Shards>
consteval auto from_level_2(const Shards& n) noexcept {
  return choose(zero_level, 1, 1, n, n);
}
template <class Shards>
consteval auto from_level_3(const Shards& n) noexcept {
  return choose(zero_level, 1, 1, 1, n);
}
template <formula F, formula When, formula Split>
consteval auto state(std::string_view name, const F& bytes, const When& when, const Split& split) noexcept {
  return make_term({.name = name, .source = "arXiv:1910.02054 section 3 and 5", .how = origin::published}, bytes, when,
                   split);
}

}  // namespace hocket::inline HOCKET_ABI::cost::detail::static_memory

namespace hocket::inline HOCKET_ABI::cost::letters {

/// Bytes of one rank for what lives through the step: weights, gradients, master copy, optimizer moments. `split` is
/// the optimizer's sharding (ZeRO); the experts' states are shared by fewer ranks than the others. The transient of
/// gathered weights under zero::weights is not part of it. Needs: rank_parameters, training, parallel.
inline constexpr auto static_memory_terms = [] {
  using detail::static_memory::expert_replicas, detail::static_memory::replicas, detail::static_memory::state;
  using detail::static_memory::from_level_1, detail::static_memory::from_level_2, detail::static_memory::from_level_3;
  constexpr auto always = literal(1);
  constexpr auto on_device = 1 - offload_optimizer;
  return terms(state("weights", c_w * N_r, always, from_level_3(replicas)),
               state("gradients", c_g * N_r, always, from_level_2(replicas)),
               state("master weights", c_m * N_r, c_m * on_device, from_level_1(replicas)),
               state("optimizer moments", c_o * N_r, c_o * on_device, from_level_1(replicas)),
               state("expert weights", c_w * N_e, N_e, from_level_3(expert_replicas)),
               state("expert gradients", c_g * N_e, N_e, from_level_2(expert_replicas)),
               state("expert master weights", c_m * N_e, N_e * on_device, from_level_1(expert_replicas)),
               state("expert moments", c_o * N_e, N_e * on_device, from_level_1(expert_replicas)));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {

using letters::static_memory_terms;

/// Bytes of weights, gradients and optimizer states on one rank, exact (a fraction where shards are uneven).
/// Errors: errc::invalid_argument for Muon, whose states need shapes and not numbers of parameters: memory_of_rank of a
/// list has them; errc::undefined_value.
[[nodiscard]] constexpr result<rational> static_bytes(const rank_parameters& n, const training& t,
                                                      const parallel& p) noexcept {
  if (t.muon) return error{errc::invalid_argument, n.dense}.with("Muon without shapes, parameters");
  const setting all{.parameters = n, .training = t, .parallel = p};
  return rank_total(static_memory_terms, numbers_of(all));
}

}  // namespace hocket::inline HOCKET_ABI::cost
