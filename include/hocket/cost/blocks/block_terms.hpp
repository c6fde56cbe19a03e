// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/letters.hpp>
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/model/layer_moments.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// The formulas of one kind of block, as the lists that sums take. Each is for L equal layers (part::layers). Lists may
/// be empty. They refer to constants.
struct block_terms {
  term_list_view parameters{};         ///< elements; `split`: tensor-parallel ranks
  term_list_view expert_parameters{};  ///< those whose optimizer states another group of ranks shares
  term_list_view idle_parameters{};    ///< those of them that one token does not use
  term_list_view forward{};     ///< FLOPs of a forward pass over B sequences; the backward pass takes twice as much
  term_list_view whole_step{};  ///< FLOPs of both passes, where the backward pass does not take twice as much
  term_list_view saved{};       ///< bytes that one layer keeps of one micro-batch for its backward pass
  term_list_view state{};       ///< bytes that one layer keeps of one sequence of s tokens to generate the next
  term_list_view moment{};      ///< bytes that live for a moment of its backward pass on one rank
  term_list_view moved{};       ///< bytes that element-wise work reads and writes forward, each once
  /// Bytes that one layer sends for one micro-batch, over its three groups of ranks.
  term_list_view tensor_transfers{}, context_transfers{}, expert_transfers{};
};

/// The formulas of a type of block: specialise it for a block of your own, a Hana Struct of sizes.
///
///     struct scale { std::int64_t width = 0; };                       // a learned factor per element
///     BOOST_HANA_ADAPT_STRUCT(scale, width);
///     template <> struct hocket::cost::formulas_of<scale> {
///       static constexpr auto parameters = terms(weights("scale", L * named("width", "w"), literal(1), literal(1),
///       "…")); static constexpr block_terms lists() noexcept { return {.parameters = parameters}; }
///     };
template <class Block>
struct formulas_of;

namespace detail::blocks {
using letters::B, letters::L, letters::s, letters::tp;
using saved::tensor;

inline constexpr auto rows = B * s;
inline constexpr auto one_rank = literal(1);
/// A term of FLOPs. `again`: how often it is computed once more in the backward pass.
template <formula F, formula When, formula Split, formula Again>
consteval auto flops(std::string_view name, const F& amount, const When& when, const Split& split, const Again& again,
                     std::string_view source, layer_operation by) noexcept {
  return flop::work(name, amount, when, split, again, source, by);
}
/// The same of a product with a matrix of so many columns (before they are cut over ranks).
template <formula F, formula When, formula Split, formula Again, formula Outputs>
consteval auto flops(std::string_view name, const F& amount, const When& when, const Split& split, const Again& again,
                     std::string_view source, layer_operation by, const Outputs& outputs,
                     bool by_expert = false) noexcept {
  return flop::product(name, amount, when, split, again, source, by, outputs, by_expert);
}
/// Bytes of one tensor of a micro-batch with so many elements per token.
template <class Width>
consteval auto stream_of(const Width& width) noexcept {
  return letters::c * (element * (s * letters::b * width));
}
/// The same of an input of a matrix product that is kept for its backward pass, perhaps in a narrower format.
template <class Width>
consteval auto input_of(const Width& width) noexcept {
  return saved::c_kept * (element * (s * letters::b * width));
}
/// FLOPs of a product of every token with a matrix of so many weights, in L layers.
template <class Weights>
consteval auto product(const Weights& count) noexcept {
  return 2 * FLOP * rows * (count)*L;
}
/// Pairs of positions of one sequence within the last `width` positions, by the convention of the attention.
template <class Width>
consteval auto pairs_within(const char* letter, const Width& width) noexcept {
  using letters::attention_counted;
  const auto u = least(width, s);
  return define(letter, choose(attention_counted, u * s, u * s - squared(u) / 2, u * s - u * (u - 1) / 2,
                               u * s - u * (u - 1) / 2));
}
/// Collectives around attention or what stands in its place, and around an FFN.
inline constexpr auto mixer_transfers = wire::tensor_lines(1, wire::projection_again);
inline constexpr auto ffn_transfers = wire::tensor_lines(1, literal(0));
/// Bytes of element-wise work.
template <formula Bytes, formula When, formula Split, formula Again>
consteval auto moves(std::string_view name, const Bytes& amount, const When& when, const Split& split,
                     const Again& again, layer_operation by) noexcept {
  return flop::work(name, amount, when, split, again,
                    "Megatron-LM and Transformer Engine kernels; assumes each element read and written once", by,
                    origin::estimated);
}
inline constexpr auto sum_after_attention =
    moves("residual sum after attention", 3 * stream_of(1 * letters::h), one_rank, saved::region,
          flop::replays(letters::r_output), layer_operation::output);
inline constexpr auto sum_after_ffn = moves("residual sum after the FFN", 3 * stream_of(1 * letters::h), one_rank,
                                            saved::region, flop::once_more, layer_operation::ffn_out);
/// What stands in place of attention, of an element-wise width: its convolution, gates, positions.
template <class Width>
consteval auto mixer_moves(std::string_view name, const Width& width) noexcept {
  return terms(sum_after_attention, moves(name, 2 * stream_of(width), one_rank, saved::inner,
                                          flop::replays(letters::r_qkv), layer_operation::qkv));
}
/// The scores of an attention that is not fused: a product writes them, softmax reads and writes them, dropout reads
/// them and writes them and its mask, the second product reads them.
inline constexpr auto scores_moved =
    moves("scores of unfused attention",
          (4 * letters::c + letters::dropout * (2 * letters::c + byte / element)) *
              (element * (letters::a * squared(s) * letters::b)),
          1 - letters::flash, saved::inner, flop::core_once_more, layer_operation::core);
inline constexpr std::string_view mamba_2 = "arXiv:2405.21060";
inline constexpr std::string_view megatron_scan = "Megatron-LM mamba_layer_flops";
inline constexpr std::string_view delta_net = "arXiv:2412.06464";
inline constexpr std::string_view kda = "arXiv:2510.26692";
inline constexpr std::string_view mla = "arXiv:2405.04434";
inline constexpr std::string_view dsa = "arXiv:2512.02556";
inline constexpr std::string_view moe = "arXiv:2101.03961";
inline constexpr std::string_view transformer = "arXiv:1706.03762";
}  // namespace detail::blocks

}  // namespace hocket::inline HOCKET_ABI::cost

/// Where the formulas of blocks stand: they see the letters and what helps to write them.
namespace hocket::inline HOCKET_ABI::cost::letters::blocks {
using detail::blocks::delta_net, detail::blocks::dsa, detail::blocks::flops, detail::blocks::input_of,
    detail::blocks::kda, detail::blocks::mamba_2, detail::blocks::mla, detail::blocks::moe, detail::blocks::one_rank,
    detail::blocks::pairs_within, detail::blocks::product, detail::blocks::rows, detail::blocks::stream_of,
    detail::blocks::tensor, detail::blocks::transformer;
using detail::blocks::ffn_transfers, detail::blocks::mixer_moves, detail::blocks::mixer_transfers,
    detail::blocks::moves, detail::blocks::scores_moved, detail::blocks::sum_after_attention,
    detail::blocks::sum_after_ffn;
}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks
