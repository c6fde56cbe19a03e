// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/formula/code.hpp>
#include <hocket/cost/formula/number.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/packing.hpp>
#include <hocket/cost/model/setting.hpp>

#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

/// What the formulas need of sizes and splits to mean anything: heads, FFN, vocabulary, sequence and experts divide
/// over their ranks, the ranks of a stage over those that share its experts, the batch over data-parallel ranks, every
/// pipeline stage has a layer, and learned positions reach for the sequence.
/// Errors: errc::indivisible, errc::out_of_range, each naming the sizes; those of check_packing.
[[nodiscard]] constexpr result<void> check(const model& m, const training& t, const parallel& p) noexcept {
  struct size {
    std::int64_t value;
    std::string_view name;
  };
  constexpr std::int64_t limit = (std::numeric_limits<std::int32_t>::max)();
  for (const size s : {size{p.tp, "tp"},
                       {p.pp, "pp"},
                       {p.vp, "vp"},
                       {p.dp, "dp"},
                       {p.cp, "cp"},
                       {p.ep, "ep"},
                       {p.etp, "etp"},
                       {p.copies, "copies"},
                       {t.sequence, "sequence"},
                       {t.micro_batch, "micro_batch"},
                       {t.global_batch, "global_batch"}}) {
    if (s.value < 1 || s.value > limit) return error{errc::out_of_range, s.value, 1, limit}.with(s.name);
  }
  const integer ranks = integer{p.tp} * p.dp * p.cp, devices = ranks * p.pp;  // below 2^124
  if (devices > limit) {
    constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)();
    const std::int64_t shown = devices > most ? most : static_cast<std::int64_t>(devices);
    return error{errc::out_of_range, shown, 1, limit}.with("devices, tp x pp x dp x cp");
  }
  struct division {
    std::int64_t value, by;
    std::string_view name;
  };
  for (const division x : {division{m.heads, p.tp, "attention heads over tp"},
                           {m.ffn, p.tp, "ffn over tp"},
                           {m.vocabulary, p.tp, "vocabulary over tp (pad it)"},
                           {m.experts, p.ep, "experts over ep"},
                           {m.expert_ffn, p.etp, "expert ffn over etp"},
                           {t.sequence, p.cp, "sequence over cp"},
                           {t.sequence / p.cp, p.sequence_parallel ? p.tp : 1, "sequence of a cp rank over tp"},
                           {t.micro_batch * (t.sequence / p.cp), p.copies, "tokens of a micro-batch over copies"},
                           {t.global_batch, t.micro_batch * p.dp, "global batch over micro_batch x dp"}}) {
    if (x.value % x.by != 0) return error{errc::indivisible, x.value, x.by}.with(x.name);
  }
  if (ranks % (integer{p.ep} * p.etp) != 0)
    return error{errc::indivisible, static_cast<std::int64_t>(ranks), p.ep * p.etp}.with(
        "ranks of a stage over ep x etp");
  if (m.positions > 0 && t.sequence > m.positions)
    return error{errc::out_of_range, t.sequence, 1, m.positions}.with("sequence (positions are learned)");
  if (!m.latent) {
    if (m.kv_heads < 1) return error{errc::out_of_range, m.kv_heads, 1, m.heads}.with("kv_heads");
    if (p.tp % m.kv_heads != 0 && m.kv_heads % p.tp != 0)
      return error{errc::indivisible, m.kv_heads, p.tp}.with("kv heads over tp");
  }
  if (p.cp_exchange == context_exchange::all_to_all) {  // heads of a rank are exchanged for parts of the sequence
    if (m.heads / p.tp % p.cp != 0)
      return error{errc::indivisible, m.heads / p.tp, p.cp}.with("heads of a rank over cp");
    const std::int64_t of_rank = m.latent ? m.heads / p.tp : m.kv_heads > p.tp ? m.kv_heads / p.tp : 1;
    if (of_rank % p.cp != 0) return error{errc::indivisible, of_rank, p.cp}.with("kv heads of a rank over cp");
  }
  if (p.pp * p.vp > m.layers)
    return error{errc::out_of_range, m.layers, p.pp * p.vp, limit}.with("layers for pp x vp stages");
  return check_packing(m, t);
}

/// The layers of each pipeline rank when they are dealt out evenly: stage S of pp vp has layers/(pp vp), the first
/// (layers mod pp vp) stages one more; rank i holds the stages i, i + pp, i + 2 pp, …. Layers without experts come
/// first, as in the published models; windowed layers are spread evenly.
/// Precondition: check(m, t, p) succeeded.
[[nodiscard]] inline std::vector<part> even_parts(const model& m, const parallel& p) {
  std::vector<part> parts(static_cast<std::size_t>(p.pp));
  const std::int64_t stages = p.pp * p.vp, each = m.layers / stages, more = m.layers % stages;
  const std::int64_t dense = m.layers - m.moe_layers;
  const auto above = [](std::int64_t end, std::int64_t from) { return end > from ? end - from : 0; };
  std::int64_t begin = 0;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::int64_t end = begin + each + (stage < more ? 1 : 0);
    part& on_rank = parts[static_cast<std::size_t>(stage % p.pp)];
    on_rank.layers += end - begin;
    on_rank.moe_layers += above(end, dense) - above(begin, dense);
    on_rank.window_layers += end * m.window_layers / m.layers - begin * m.window_layers / m.layers;
    begin = end;
  }
  parts.back().layers += m.mtp_layers;
  if (m.moe_layers > 0) parts.back().moe_layers += m.mtp_layers;
  for (std::int64_t rank = 0; rank < p.pp; ++rank) {
    part& on_rank = parts[static_cast<std::size_t>(rank)];
    on_rank.rank = rank, on_rank.first = rank == 0, on_rank.last = rank == p.pp - 1;
  }
  return parts;
}

/// What that rank holds at its peak under 1F1B: chunks_in_flight chunks of its layers / vp each, rounded up.
/// Errors: errc::undefined_value.
template <class Numbers = numbers_of_setting>
[[nodiscard]] constexpr result<held> held_by_1f1b(const model& m, const training& t, const parallel& p,
                                                  const part& on_rank) noexcept {
  const setting all{
      .on_rank = on_rank, .in_flight = {}, .parameters = {}, .model = m, .training = t, .parallel = p, .counted = {}};
  const auto chunks = exact<chunks_in_flight>(Numbers(numbers_of(all)));
  if (!chunks) return chunks.error();
  const rational share = *chunks / rational(p.vp), batches = rational(t.global_batch) / rational(t.micro_batch * p.dp);
  const auto passes = [&](std::int64_t layers) {
    return static_cast<std::int64_t>((share * rational(layers)).ceiling().num());
  };
  return held{passes(on_rank.layers), passes(on_rank.moe_layers),
              static_cast<std::int64_t>((batches < *chunks ? batches : *chunks).num())};
}

}  // namespace hocket::inline HOCKET_ABI::cost
