// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/model/flops.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/setting.hpp>
#include <hocket/cost/model/static_memory.hpp>
#include <hocket/cost/model/symbols.hpp>

namespace hocket::inline HOCKET_ABI::cost {

// How ranks that share a sequence compute its attention: what they exchange, and what is there meanwhile. Queries,
// keys, values and the output of the attention are each 1/cp of the sequence on a rank.
namespace detail::context {

using letters::cp, letters::cp_exchange;
inline constexpr auto by_ring = choose(cp_exchange, 1, 0, 0) * (cp - 1);
inline constexpr auto by_gather = choose(cp_exchange, 0, 1, 0) * (cp - 1);
inline constexpr auto by_heads = choose(cp_exchange, 0, 0, 1) * (cp - 1);

/// The exchange happens again with the attention.
inline constexpr auto again = choose(letters::recomputed, flop::core_by_name, 1, 1);

inline constexpr std::string_view ring_attention = "arXiv:2310.01889", llama3 = "arXiv:2407.21783 section 3.3.2",
                                  ulysses = "arXiv:2309.14509 section 3";

}  // namespace detail::context

namespace detail::wire {
using letters::b, letters::c, letters::cp, letters::h, letters::s, letters::sp, letters::tp;
inline constexpr auto stream = c * (element * (s * b * h)) / cp;
inline constexpr std::string_view ring = "arXiv:2205.05198 section 4.2.2", zero_paper = "arXiv:1910.02054 section 7",
                                  sc21 = "arXiv:2104.04473 section 3.2";
template <class Group>
consteval auto share(const Group& n) noexcept {
  return (n - 1) / n;
}
template <collective Kind, class Bytes, class Group>
consteval auto sent(std::int64_t calls, const Bytes& tensor, const Group& n) noexcept {
  if constexpr (Kind == collective::all_reduce) return 2 * calls * tensor * share(n);
  else if constexpr (Kind == collective::send) return calls * tensor;
  else return calls * tensor * share(n);
}
template <collective Kind, class Bytes, class When, class Group>
consteval auto line(std::string_view name, axis over, pass_kind in, std::int64_t calls, const Bytes& tensor,
                    const When& when, const Group& group, std::string_view source,
                    layer_operation by = layer_operation::none) noexcept {
  return make_term({.name = name,
                    .source = source,
                    .how = origin::published,
                    .by = by,
                    .kind = Kind,
                    .over = over,
                    .in = in,
                    .calls = calls},
                   sent<Kind>(calls, tensor, group), when, group);
}
/// Around so many operations of a layer that tensor parallelism cuts (attention, FFN).
/// @param projection_again  whether the output of an attention is computed again by itself
inline constexpr auto all_again = choose(letters::recomputed, 0, 0, 1);
inline constexpr auto projection_again = choose(letters::recomputed, letters::r_output, letters::r_output, 0);
template <formula Projection>
consteval auto tensor_lines(std::int64_t calls, const Projection& projection) noexcept {
  using enum collective;
  using letters::r_gather;
  constexpr auto plain = 1 - sp;
  constexpr axis over = axis::tensor;
  return terms(
      line<all_reduce>("all-reduce, forward", over, pass_kind::forward, calls, stream, plain, tp, ring),
      line<all_reduce>("all-reduce, backward", over, pass_kind::backward, calls, stream, plain, tp, ring),
      line<all_reduce>("all-reduce, again", over, pass_kind::again, calls, stream, plain * all_again, tp, ring),
      line<all_reduce>("all-reduce of the projection, again", over, pass_kind::again, 1, stream, plain * projection, tp,
                       ring, layer_operation::output),
      line<all_gather>("all-gather, forward", over, pass_kind::forward, calls, stream, sp, tp, ring),
      line<reduce_scatter>("reduce-scatter, forward", over, pass_kind::forward, calls, stream, sp, tp, ring),
      line<all_gather>("all-gather, backward", over, pass_kind::backward, calls, stream, sp, tp, ring),
      line<reduce_scatter>("reduce-scatter, backward", over, pass_kind::backward, calls, stream, sp, tp, ring),
      line<all_gather>("all-gather of saved inputs", over, pass_kind::again, calls, stream, sp * r_gather, tp, ring,
                       layer_operation::gather),
      line<all_gather>("all-gather and reduce-scatter, again", over, pass_kind::again, 2 * calls, stream,
                       sp * all_again, tp, ring),
      line<reduce_scatter>("reduce-scatter of the projection, again", over, pass_kind::again, 1, stream,
                           sp * projection, tp, ring, layer_operation::output));
}
/// The exchange of tokens with their experts, `dispatched` bytes each way where nothing is narrowed. What is dispatched
/// may be narrower than what comes back. A token goes to so many `copies`.
template <formula Bytes, formula When, formula Copies>
consteval auto expert_lines(const Bytes& dispatched, const When& when, const Copies& copies) noexcept {
  using enum collective;
  using letters::ep;
  constexpr std::string_view source = "arXiv:2006.16668; narrow dispatch: arXiv:2412.19437 section 3.3.2";
  constexpr auto both_ways = choose(least(letters::c_d * element / byte, 1), 2 * literal(1), 1 + letters::c_d / c);
  const auto exchange = [&]<formula Counts>(std::string_view name, pass_kind in, const Counts& counts) {
    return make_term({.name = name,
                      .source = source,
                      .how = origin::published,
                      .by = layer_operation::dispatch,
                      .kind = all_to_all,
                      .over = axis::expert,
                      .in = in,
                      .calls = 2},
                     both_ways * dispatched * share(ep), counts, ep, copies);
  };
  return terms(exchange("dispatch and combine, forward", pass_kind::forward, when),
               exchange("dispatch and combine, backward", pass_kind::backward, when),
               exchange("dispatch and combine, again", pass_kind::again, when * all_again));
}
}  // namespace detail::wire

namespace detail::context {
/// What context-parallel ranks exchange of one attention. A ring passes the blocks of the other ranks by, and in the
/// backward pass their gradients, too. A gather sends as much at once; its keys and values are gathered anew for the
/// backward pass. Ulysses sends queries, keys, values and the output one way, and their gradients the other; what it
/// keeps is by heads already.
template <formula KeysValues, formula Queries, formula Outputs>
consteval auto lines(const KeysValues& kv, const Queries& q, const Outputs& out) noexcept {
  using wire::line;
  using enum collective;
  const auto blocks = (cp - 1) * kv;
  const auto whole = cp * kv;
  const auto projections = q + kv;
  constexpr axis over = axis::context;
  return terms(
      line<send>("keys and values, forward", over, pass_kind::forward, 1, blocks, by_ring, cp, ring_attention),
      line<send>("keys, values and gradients, backward", over, pass_kind::backward, 2, blocks, by_ring, cp,
                 ring_attention),
      line<send>("keys and values, again", over, pass_kind::again, 1, blocks, by_ring * again, cp, ring_attention),
      line<all_gather>("all keys and values, forward", over, pass_kind::forward, 1, whole, by_gather, cp, llama3),
      line<all_gather>("all keys and values, backward", over, pass_kind::backward, 1, whole, by_gather, cp, llama3),
      line<reduce_scatter>("gradients of keys and values to their ranks", over, pass_kind::backward, 1, whole,
                           by_gather, cp, llama3),
      line<all_gather>("all keys and values, again", over, pass_kind::again, 1, whole, by_gather * again, cp, llama3),
      line<all_to_all>("queries, keys, values for heads, forward", over, pass_kind::forward, 1, projections, by_heads,
                       cp, ulysses),
      line<all_to_all>("output for its sequence, forward", over, pass_kind::forward, 1, out, by_heads, cp, ulysses),
      line<all_to_all>("their gradients, backward", over, pass_kind::backward, 1, projections, by_heads, cp, ulysses),
      line<all_to_all>("gradient of the output, backward", over, pass_kind::backward, 1, out, by_heads, cp, ulysses),
      line<all_to_all>("queries, keys, values for heads, again", over, pass_kind::again, 1, projections,
                       by_heads * again, cp, ulysses),
      line<all_to_all>("output for its sequence, again", over, pass_kind::again, 1, out, by_heads * again, cp,
                       ulysses));
}
}  // namespace detail::context

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters {

/// What a stage sends to the next for one micro-batch, and gets back. With sequence parallelism (or scatter and gather)
/// a rank sends its part alone. Needs: list_sizes, training, parallel.
inline constexpr auto pipeline_transfer_terms = [] {
  using detail::wire::line, detail::wire::stream, detail::wire::sc21;
  constexpr auto part_of_it = stream / choose(sp, 1, tp);
  return terms(line<collective::send>("activations to the next stage", axis::pipeline, pass_kind::forward, 1,
                                      part_of_it, pp - 1, pp, sc21),
               line<collective::send>("gradients to the stage before", axis::pipeline, pass_kind::backward, 1,
                                      part_of_it, pp - 1, pp, sc21));
}();

/// What a rank sends per step over the data-parallel group: gradients, and weights once they are sharded. Gradients
/// that no rank keeps whole go to their shards after every micro-batch; weights that no rank keeps whole are gathered
/// for each of its two passes.
/// Needs: rank_parameters, training, parallel.
inline constexpr auto data_transfer_terms = [] {
  using detail::static_memory::expert_replicas, detail::static_memory::replicas;
  using detail::wire::line, detail::wire::zero_paper;
  using enum collective;
  constexpr auto whole = choose(zero_level, 1, 0, 0, 0);
  constexpr auto sharded = 1 - whole;
  constexpr auto each = greatest(micro_batches, 1);
  constexpr auto gathers = choose(zero_level, 0, 1, 1, 2 * each);
  constexpr auto reduced = choose(zero_level, 1, 1, each, each);
  return terms(line<all_reduce>("gradients", axis::data, pass_kind::step, 1, c_g * N_r, whole, replicas, zero_paper),
               line<reduce_scatter>("gradients to their shards", axis::data, pass_kind::step, 1, reduced * (c_g * N_r),
                                    sharded, replicas, zero_paper),
               line<all_gather>("weights from their shards", axis::data, pass_kind::step, 1, gathers * (c_w * N_r),
                                sharded, replicas, zero_paper),
               line<all_reduce>("expert gradients", axis::data, pass_kind::step, 1, c_g * N_e, whole * N_e / element,
                                expert_replicas, zero_paper),
               line<reduce_scatter>("expert gradients to their shards", axis::data, pass_kind::step, 1,
                                    reduced * (c_g * N_e), sharded * N_e / element, expert_replicas, zero_paper),
               line<all_gather>("expert weights from their shards", axis::data, pass_kind::step, 1,
                                gathers * (c_w * N_e), sharded * N_e / element, expert_replicas, zero_paper));
}();

/// The part of a collective's time that stays visible when a layer's work is cut into copies whose collectives hide
/// behind each other's compute: of work K and communication C in n_c copies, C/n_c + (1 - 1/n_c) max(0, C - K).
/// That is the flow shop of two machines with equal jobs; with one copy it is C.
/// Needs: parallel; seconds of compute and communication as formulas.
template <formula Compute, formula Communication>
[[nodiscard]] constexpr auto exposed_of_copies(const Compute& compute, const Communication& communication) noexcept {
  return communication / n_c + (n_c - 1) * greatest(0 * second, communication - compute) / n_c;
}

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {
using letters::data_transfer_terms, letters::exposed_of_copies, letters::pipeline_transfer_terms;
}  // namespace hocket::inline HOCKET_ABI::cost
