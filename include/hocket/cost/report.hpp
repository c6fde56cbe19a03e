// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/model/list_stages.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a step costs, with every term that went into it: the formulas of each kind of layer once, sums over all.
namespace hocket::inline HOCKET_ABI::cost {

/// One term, written out: everything a reader needs to recompute the value by hand.
struct report_line {
  std::string group;  ///< "parameters", "static bytes, rank 0", "kept by one layer", …
  std::string name;
  std::string formula, numbers;  ///< plain text, symbols and numbers
  std::string latex, latex_numbers;
  std::string where;      ///< "kappa = s^2/2": named parts of the formula; often empty
  rational value;         ///< of the printed formula, before `split`; unless `is_real`
  bool is_real = false;   ///< has a measured symbol, such as a rate: the value is real_value
  double real_value = 0;  ///< always set
  std::string split;      ///< "tp": over how many ranks it is divided; "1": not
  std::string unit;
  std::string source;
  origin how = origin::definition;
};

/// Costs of one training step with every term that went into them.
struct report {
  parameter_count parameters;
  std::optional<flop_count> flops;  ///< absent without a `training`
  rational tokens_per_step;
  std::vector<rank_memory> memory;  ///< by pipeline rank; empty without a `training`
  std::vector<report_line> lines;
};

namespace detail {

/// A line with the printed forms of a formula.
inline report_line written(formula_view e, const numbers_view& numbers) {
  report_line line;
  line.formula = print(e, style::text, numbers);
  line.numbers = print(e, style::numbers, numbers);
  line.latex = print(e, style::latex, numbers);
  line.latex_numbers = print(e, style::latex_numbers, numbers);
  line.where = print_definitions(e, style::text, numbers);
  return line;
}
/// The lines of the terms that count and are not 0.
inline void add_lines(const term_list_view& list, report& out, std::string_view group, const numbers_view& numbers) {
  for_each_term(list, numbers, [&](const term_view& t) {
    const rational value = t.amount();
    if (value == rational(0)) return;
    report_line line = written(t.formula, numbers);
    line.group = group;
    line.name = t.name;
    line.value = value;
    line.real_value = value.real();
    line.split = print(t.split, style::text, numbers);
    line.unit = unit_name(t.unit);
    line.source = t.source;
    line.how = t.how;
    out.lines.push_back(std::move(line));
  });
}
/// The same of transfers, whose bytes are those of one rank.
inline void add_transfer_lines(const term_list_view& list, report& out, std::string_view group,
                               const numbers_view& numbers) {
  const std::size_t from = out.lines.size();
  add_lines(list, out, group, numbers);
  for (std::size_t at = from; at < out.lines.size(); ++at) out.lines[at].split = "1";
}
/// The lines of what stands before and behind the layers.
inline void add_end_lines(const term_list_view& terms, report& out, std::string_view group, const setting& ends) {
  const auto numbers = numbers_of(ends);
  add_lines(terms, out, group, numbers_view(numbers));
}
/// Those of one term list of every block of a kind of layer.
inline void add_block_lines(term_list_view block_terms::* which, report& out, std::string_view group,
                            const layer_blocks& blocks, const block_setting& all) {
  for (const block& b : blocks)
    visit_block(b, all, [&](const block_terms& lists, const numbers_view& numbers) {
      add_lines(lists.*which, out, group, numbers);
    });
}

/// The kinds of layers of a list, each with how many there are: runs with equal blocks are one kind.
inline std::vector<repeated_layer> kinds_of(const layer_list& list) {
  std::vector<repeated_layer> kinds;
  static_cast<void>(for_each_run(list, [&](const layer_blocks& blocks, std::int64_t count) -> result<void> {
    const auto same = [&](const repeated_layer& kind) { return kind.blocks == blocks; };
    const auto known = std::find_if(kinds.begin(), kinds.end(), same);
    if (known != kinds.end()) known->count += count;
    else kinds.push_back({blocks, count});
    return {};
  }));
  return kinds;
}
/// ", kind 2 of 3 (4 layers)"; nothing where all layers are of one kind.
inline std::string suffix_of(const std::vector<repeated_layer>& kinds, std::size_t at) {
  if (kinds.size() == 1) return "";
  return ", kind " + std::to_string(at + 1) + " of " + std::to_string(kinds.size()) + " (" +
         std::to_string(kinds[at].count) + (kinds[at].count == 1 ? " layer)" : " layers)");
}

/// Layers of one kind that are recomputed alike.
struct recomputed_kind {
  std::size_t kind = 0;  ///< among kinds_of
  recompute_choice how{};
};
/// Each kind with each of its choices once, kind by kind.
inline std::vector<recomputed_kind> choices_of(const std::vector<repeated_layer>& kinds,
                                               std::span<const rank_layers> ranks) {
  std::vector<recomputed_kind> out;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    for (const rank_layers& on : ranks)
      for (const rank_run& run : on.layers) {
        if (run.blocks != kinds[kind].blocks) continue;
        const auto same = [&](const recomputed_kind& x) { return x.kind == kind && x.how == run.how; };
        if (std::none_of(out.begin(), out.end(), same)) out.push_back({kind, run.how});
      }
  return out;
}
/// What tells such layers from others: the kind, and the choice where a kind has several.
inline std::string suffix_of(const std::vector<repeated_layer>& kinds, const std::vector<recomputed_kind>& choices,
                             const recomputed_kind& x) {
  const auto same_kind = [&](const recomputed_kind& y) { return y.kind == x.kind; };
  const bool several = std::count_if(choices.begin(), choices.end(), same_kind) > 1;
  return suffix_of(kinds, x.kind) + (several ? ", recompute " + to_string(x.how) : "");
}

/// The lines of FLOPs, saved tensors and transfers of each kind of layer.
inline void add_layer_lines(report& out, const layer_list& list, const training& t, const parallel& p,
                            const convention& counted, std::span<const rank_layers> ranks) {
  const auto kinds = kinds_of(list);
  const auto choices = choices_of(kinds, ranks);
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    const block_setting all{
        .on_rank = {.layers = kinds[at].count}, .sizes = list.sizes, .training = t, .parallel = p, .counted = counted};
    const std::string suffix = suffix_of(kinds, at);
    add_block_lines(&block_terms::forward, out, "forward FLOPs of a step" + suffix, kinds[at].blocks, all);
    add_block_lines(&block_terms::whole_step, out, "FLOPs of both passes" + suffix, kinds[at].blocks, all);
  }
  for (const recomputed_kind& x : choices) {
    const block_setting one = setting_of_layer(list, x.how, t, p, counted);
    const layer_blocks& blocks = kinds[x.kind].blocks;
    const std::string suffix = suffix_of(kinds, choices, x);
    add_block_lines(&block_terms::saved, out, "kept by one layer" + suffix, blocks, one);
    const environment of_input(list.sizes, one.training, one.parallel);
    add_lines(layer_input_terms, out, "kept by one layer" + suffix, of_input);
    const std::size_t from = out.lines.size();
    for (const auto which :
         {&block_terms::tensor_transfers, &block_terms::context_transfers, &block_terms::expert_transfers})
      add_block_lines(which, out, "sent by one layer and micro-batch" + suffix, blocks, one);
    for (std::size_t line = from; line < out.lines.size(); ++line) out.lines[line].split = "1";
    add_block_lines(&block_terms::state, out, "kept of a sequence by one layer to generate" + suffix, blocks, one);
  }
}

}  // namespace detail

/// Parameters of a list, with every term of every kind of layer. Errors: those of count_parameters.
///
///     make_report(to_layers(m))->lines.front().formula      // "V*h"
[[nodiscard]] inline result<report> make_report(const layer_list& list) {
  const auto count = count_parameters(list);
  if (!count) return count.error();
  report out;
  out.parameters = *count;
  detail::add_end_lines(end_parameter_terms, out, "parameters", detail::setting_of_ends(list, part{}, {}, {}, {}));
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
/// @param ranks   what stands on each and is computed again, of layers_of_ranks or with_plan; empty: dealt out evenly
/// @param passes  what each rank holds in flight; empty: 1F1B (interleaved if vp > 1)
/// Errors: those of check and of the counts; errc::bad_shape unless there are pp ranks, and no passes or as many.
/// Complexity: one pass over the formulas per run of a rank; text is written once.
///
///     make_report(list, t, p, convention::megatron())->memory.front().peak.total_bytes()
[[nodiscard]] inline result<report> make_report(const layer_list& list, const training& t, const parallel& p,
                                                const convention& counted, std::span<const rank_layers> ranks = {},
                                                std::span<const held_share> passes = {}) {
  if (const auto fits = check(list, t, p); !fits) return fits.error();
  if (ranks.empty()) {
    const auto even = layers_of_ranks(list, p);
    if (!even) return even.error();
    return make_report(list, t, p, counted, *even, passes);
  }
  const auto bad_shape = [&](std::size_t size, const char* of) {
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(size)}.with(of);
  };
  if (static_cast<std::int64_t>(ranks.size()) != p.pp) return bad_shape(ranks.size(), "ranks");
  if (!passes.empty() && passes.size() != ranks.size()) return bad_shape(passes.size(), "passes of ranks");
  auto made = make_report(list);
  if (!made) return made.error();
  report out = *std::move(made);
  const auto step = count_flops(list, t, p, counted, ranks);
  if (!step) return step.error();
  out.flops = *step;
  out.tokens_per_step = rational(t.global_batch) * rational(t.sequence);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto share = passes.empty() ? held_share_by_1f1b(t, p, ranks[rank].ends.rank) : passes[rank];
    if (!share) return share.error();
    const auto row = memory_row(list, ranks[rank], t, p, *share);
    if (!row) return row.error();
    out.memory.push_back(*row);
  }
  setting ends = detail::setting_of_ends(list, part{}, t, p, counted);
  detail::add_end_lines(end_flop_terms, out, "forward FLOPs of a step", ends);
  ends.parameters = out.memory.front().parameters;
  if (!t.muon) detail::add_end_lines(static_memory_terms, out, "static bytes, rank 0", ends);
  detail::add_layer_lines(out, list, t, p, counted, ranks);
  const auto numbers = numbers_of(ends);
  detail::add_transfer_lines(pipeline_transfer_terms, out, "sent between stages, per micro-batch", numbers);
  detail::add_transfer_lines(data_transfer_terms, out, "sent over data-parallel ranks, per step", numbers);
  ends.on_rank.first = p.pp == 1;
  ends.in_flight = out.memory.back().in_flight;
  detail::add_end_lines(end_tensor_terms, out, "kept outside of the layers, last rank", ends);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::cost
