// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/number.hpp>
#include <hocket/cost/model/check.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/setting.hpp>

#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

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
    on_rank.rank = rank;
    on_rank.first = rank == 0;
    on_rank.last = rank == p.pp - 1;
  }
  return parts;
}

/// What that rank holds at its peak under 1F1B: chunks_in_flight chunks of its layers / vp each, rounded up.
/// Errors: errc::undefined_value.
[[nodiscard]] constexpr result<held> held_by_1f1b(const model& m, const training& t, const parallel& p,
                                                  const part& on_rank) noexcept {
  const setting all{.on_rank = on_rank, .model = m, .training = t, .parallel = p};
  const auto chunks = exact(chunks_in_flight, numbers_of(all));
  if (!chunks) return chunks.error();
  const rational share = *chunks / rational(p.vp), batches = rational(t.global_batch) / rational(t.micro_batch * p.dp);
  const auto passes = [&](std::int64_t layers) {
    return static_cast<std::int64_t>((share * rational(layers)).ceiling().num());
  };
  return held{passes(on_rank.layers), passes(on_rank.moe_layers),
              static_cast<std::int64_t>((batches < *chunks ? batches : *chunks).num())};
}

}  // namespace hocket::inline HOCKET_ABI::cost
