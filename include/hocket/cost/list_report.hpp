// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/cost/report.hpp>

#include <string>
#include <utility>
#include <vector>

// The report of a list of layers: terms of each kind of layer once, sums over all.
namespace hocket::inline HOCKET_ABI::cost {

namespace detail {

/// The kinds of layers of a list, each with how many there are: runs with equal blocks are one kind.
inline std::vector<repeated_layer> kinds_of(const layer_list& list) {
  std::vector<repeated_layer> kinds;
  static_cast<void>(for_each_run(list, [&](const layer_blocks& blocks, std::int64_t count) -> result<void> {
    for (repeated_layer& kind : kinds)
      if (kind.blocks == blocks) {
        kind.count += count;
        return {};
      }
    kinds.push_back({blocks, count});
    return {};
  }));
  return kinds;
}

/// The lines that are not 0.
inline void add_counted_lines(const term_list_view& terms, report& out, std::string_view group,
                              const numbers_view& numbers) {
  report lines;
  add_lines(terms, lines, group, numbers);
  for (report_line& line : lines.lines)
    if (!(line.value == rational(0))) out.lines.push_back(std::move(line));
}
/// Those of one term list of every block of a kind of layer.
inline void add_block_lines(term_list_view block_terms::* which, report& out, std::string_view group,
                            const layer_blocks& blocks, const block_setting& all) {
  for (const block& b : blocks)
    visit_block(b, all, [&](const block_terms& lists, const numbers_view& numbers) {
      add_counted_lines(lists.*which, out, group, numbers);
    });
}
/// Those of the ends.
inline void add_end_lines(const term_list_view& terms, report& out, std::string_view group, const setting& ends) {
  const auto numbers = numbers_of(ends);
  add_counted_lines(terms, out, group, numbers_view(numbers));
}
inline std::string suffix_of(const std::vector<repeated_layer>& kinds, std::size_t at) {
  return ", kind " + std::to_string(at + 1) + " of " + std::to_string(kinds.size()) + " (" +
         std::to_string(kinds[at].count) + (kinds[at].count == 1 ? " layer)" : " layers)");
}

}  // namespace detail

/// Parameters of a list, with every term of every kind of layer. Errors: those of count_parameters.
[[nodiscard]] inline result<report> make_report(const layer_list& list) {
  const auto count = count_parameters(list);
  if (!count) return count.error();
  report out;
  out.model = detail::ends_of(list);
  out.parameters = *count;
  detail::add_end_lines(parameter_terms, out, "parameters", detail::setting_of_ends(list, part{}, {}, {}, {}));
  const auto kinds = detail::kinds_of(list);
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    const block_setting all{.on_rank = {.layers = kinds[at].count}, .sizes = list.sizes};
    const std::string group = "parameters" + detail::suffix_of(kinds, at);
    const layer_blocks own = detail::own_weights(kinds[at].blocks);
    detail::add_block_lines(&block_terms::parameters, out, group, own, all);
    detail::add_block_lines(&block_terms::expert_parameters, out, group, own, all);
  }
  return out;
}

/// Parameters, FLOPs of a step, and memory of every pipeline rank of a list, with all terms.
/// @param stage_sizes  as in layers_of_ranks
/// @param passes  what each rank holds in flight; empty: 1F1B
/// Errors: those of check and of the counts; errc::bad_shape unless there are no passes or one of each rank.
[[nodiscard]] inline result<report> make_report(const layer_list& list, const training& t, const parallel& p,
                                                const convention& counted, const replay_set& replayed = {},
                                                std::span<const std::int64_t> stage_sizes = {},
                                                std::span<const held_share> passes = {}) {
  if (const auto fits = check(list, t, p); !fits) return fits.error();
  const auto ranks = layers_of_ranks(list, p, stage_sizes);
  if (!ranks) return ranks.error();
  if (!passes.empty() && passes.size() != ranks->size())
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(passes.size())}.with("passes of ranks");
  auto made = make_report(list);
  if (!made) return made.error();
  report out = *std::move(made);
  const auto step = count_flops(list, t, p, counted, replayed);
  if (!step) return step.error();
  out.flops = *step;
  out.tokens_per_step = rational(t.global_batch) * rational(t.sequence);
  for (const rank_layers& on : *ranks) {
    const auto share = passes.empty() ? held_share_by_1f1b(t, p, on.ends.rank)
                                      : result<held_share>(passes[static_cast<std::size_t>(on.ends.rank)]);
    if (!share) return share.error();
    const auto memory = memory_of_rank(list, on, t, p, *share, replayed);
    if (!memory) return memory.error();
    rank_memory row;
    row.on_rank = on.ends;
    row.on_rank.layers = on.layer_count;
    row.in_flight.layer_passes = static_cast<std::int64_t>((share->layers * rational(on.layer_count)).ceiling().num());
    row.in_flight.embedding_passes = share->embedding_passes;
    row.parameters = memory->parameters;
    row.static_bytes = memory->static_bytes;
    row.activation_bytes = memory->activation_bytes;
    row.peak = memory->peak;
    out.memory.push_back(row);
  }
  setting ends = detail::setting_of_ends(list, part{}, t, p, counted);
  detail::add_end_lines(forward_flop_terms, out, "forward FLOPs of a step", ends);
  const auto kinds = detail::kinds_of(list);
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    const block_setting all{.on_rank = {.layers = kinds[at].count},
                            .sizes = list.sizes,
                            .training = t,
                            .parallel = p,
                            .counted = counted,
                            .replayed = replayed};
    const std::string suffix = detail::suffix_of(kinds, at);
    detail::add_block_lines(&block_terms::forward, out, "forward FLOPs of a step" + suffix, kinds[at].blocks, all);
    detail::add_block_lines(&block_terms::whole_step, out, "FLOPs of both passes" + suffix, kinds[at].blocks, all);
    detail::add_block_lines(&block_terms::saved, out, "kept by one layer" + suffix, kinds[at].blocks, all);
    detail::add_block_lines(&block_terms::state, out, "kept of a sequence by one layer to generate" + suffix,
                            kinds[at].blocks, all);
  }
  ends.on_rank.first = p.pp == 1;
  ends.in_flight = out.memory.back().in_flight;
  detail::add_end_lines(end_tensor_terms, out, "kept outside of the layers, last rank", ends);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::cost
