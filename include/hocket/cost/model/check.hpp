// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/formula/evaluate.hpp>
#include <hocket/cost/model/list_sizes.hpp>
#include <hocket/cost/model/model.hpp>
#include <hocket/cost/model/parallel.hpp>
#include <hocket/cost/model/training.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

/// Whether configs can be used. The formulas are polynomials: they would turn a negative size into a plausible number
/// without a word.
namespace hocket::inline HOCKET_ABI::cost {

namespace detail {

/// Sizes are at most this, so that products of two fit 64 bits.
inline constexpr std::int64_t max_size = (std::numeric_limits<std::int32_t>::max)();

struct named_size {
  std::int64_t value;
  std::string_view name;
};
constexpr result<void> check_range(std::span<const named_size> sizes, std::int64_t least) noexcept {
  for (const named_size& s : sizes)
    if (s.value < least || s.value > max_size) return error{errc::out_of_range, s.value, least, max_size}.with(s.name);
  return {};
}

/// That every member is a size, a flag or an enumeration: not negative, below 2^31. O(members).
template <class Config>
constexpr result<void> check_members(const Config& config) noexcept {
  const auto numbers = members_of<Config>::numbers(config);
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const named_size one{numbers[at].whole, members_of<Config>::names[at].text};
    if (const auto ok = check_range({&one, 1}, 0); !ok) return ok;
  }
  return {};
}

struct named_division {
  std::int64_t value, by;
  std::string_view name;  ///< literal
};
constexpr result<void> check_whole(std::span<const named_division> divisions) noexcept {
  for (const named_division& x : divisions)
    if (x.value % x.by != 0) return error{errc::indivisible, x.value, x.by}.with(x.name);
  return {};
}

}  // namespace detail

/// Whether every size is one (not negative, below 2^31), no part of a model is more than the whole, and its heads fit
/// together.
/// Errors: errc::out_of_range, naming the first member that is none; errc::indivisible. O(members).
///
///     static_assert(!check(model{.layers = -4}) && check(model{.layers = 4}));
[[nodiscard]] constexpr result<void> check(const model& m) noexcept {
  if (const auto sizes = detail::check_members(m); !sizes) return sizes;
  if (m.moe_layers > m.layers) return error{errc::out_of_range, m.moe_layers, 0, m.layers}.with("moe_layers");
  if (m.window_layers > m.layers) return error{errc::out_of_range, m.window_layers, 0, m.layers}.with("window_layers");
  if (m.active_experts > m.experts)
    return error{errc::out_of_range, m.active_experts, 0, m.experts}.with("active_experts");
  if (!m.latent && m.kv_heads != 0 && m.heads % m.kv_heads != 0)
    return error{errc::indivisible, m.heads, m.kv_heads}.with("heads over kv_heads");
  return {};
}
/// Whether every size is one. Errors: errc::out_of_range.
[[nodiscard]] constexpr result<void> check(const training& t) noexcept { return detail::check_members(t); }
[[nodiscard]] constexpr result<void> check(const parallel& p) noexcept { return detail::check_members(p); }

/// Whether layers that are dealt out evenly leave no stage without one, but for the first and the last, which have the
/// embedding and the head: Llama 3.1 405B has 126 layers in 128 stages. A layout may have other empty stages, an even
/// split that has some is a mistake in pp or vp.
/// Errors: errc::out_of_range, naming layers and stages. O(1).
[[nodiscard]] constexpr result<void> check_even_stages(std::int64_t layers, const parallel& p) noexcept {
  const std::int64_t stages = p.pp * p.vp, ends = stages > 2 ? 2 : 0;
  if (stages - ends <= layers) return {};
  return error{errc::out_of_range, layers, stages - ends, detail::max_size}.with("layers for pp x vp stages");
}

/// What the formulas need of a step and its splits, whatever stands on which stage: the vocabulary and the sequence
/// divide over their ranks, the ranks of a stage over those that share its experts, the batch over data-parallel ranks.
/// Learned positions reach for the sequence. Errors: errc::indivisible, errc::out_of_range, each naming the sizes.
[[nodiscard]] constexpr result<void> check_spread(const list_sizes& ends, const training& t,
                                                  const parallel& p) noexcept {
  const detail::named_size sizes[] = {{p.tp, "tp"},
                                      {p.pp, "pp"},
                                      {p.vp, "vp"},
                                      {p.dp, "dp"},
                                      {p.cp, "cp"},
                                      {p.ep, "ep"},
                                      {p.etp, "etp"},
                                      {p.copies, "copies"},
                                      {t.sequence, "sequence"},
                                      {t.micro_batch, "micro_batch"},
                                      {t.global_batch, "global_batch"}};
  if (const auto ok = detail::check_range(sizes, 1); !ok) return ok;
  const integer ranks = integer{p.tp} * p.dp * p.cp, devices = ranks * p.pp;  // below 2^124
  if (devices > detail::max_size) {
    constexpr std::int64_t max_shown = (std::numeric_limits<std::int64_t>::max)();
    const std::int64_t shown = devices > max_shown ? max_shown : static_cast<std::int64_t>(devices);
    return error{errc::out_of_range, shown, 1, detail::max_size}.with("devices, tp x pp x dp x cp");
  }
  const detail::named_division divisions[] = {
      {ends.vocabulary, p.tp, "vocabulary over tp (pad it)"},
      {t.sequence, p.cp, "sequence over cp"},
      {t.sequence / p.cp, p.sequence_parallel ? p.tp : 1, "sequence of a cp rank over tp"},
      {t.micro_batch * (t.sequence / p.cp), p.copies, "tokens of a micro-batch over copies"},
      {t.global_batch, t.micro_batch * p.dp, "global batch over micro_batch x dp"}};
  if (const auto ok = detail::check_whole(divisions); !ok) return ok;
  if (ranks % (integer{p.ep} * p.etp) != 0)
    return error{errc::indivisible, static_cast<std::int64_t>(ranks), p.ep * p.etp}.with(
        "ranks of a stage over ep x etp");
  const std::int64_t positions = ends.positions;
  if (positions > 0 && t.sequence > positions)
    return error{errc::out_of_range, t.sequence, 1, positions}.with("sequence (positions are learned)");
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::cost
