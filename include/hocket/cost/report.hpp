// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/communication.hpp>
#include <hocket/cost/model/flops.hpp>
#include <hocket/cost/model/parameters.hpp>
#include <hocket/cost/model/partition.hpp>
#include <hocket/cost/model/peak_memory.hpp>
#include <hocket/cost/model/static_memory.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Bytes of one pipeline rank, the busiest of its tensor- and data-parallel group.
struct rank_memory {
  part on_rank;
  held in_flight;
  rank_parameters parameters;
  rational static_bytes, activation_bytes;
  memory_peak peak;  ///< what fits goes by
  /// The sum of each part's own largest bytes, whether or not they are there together.
  [[nodiscard]] constexpr rational total_bytes() const noexcept { return static_bytes + activation_bytes; }
};

/// Costs of one training step with every term that went into them.
struct report {
  cost::model model;
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
/// The lines of the terms that count.
inline void add_lines(const term_list_view& list, report& out, std::string_view group, const numbers_view& numbers) {
  for_each_term(list, numbers, [&](const term_view& t) {
    report_line line = written(t.formula, numbers);
    line.group = group;
    line.name = t.name;
    line.value = t.amount();
    line.real_value = line.value.real();
    line.split = print(t.split, style::text, numbers);
    line.unit = unit_name(t.unit);
    line.source = t.source;
    line.how = t.how;
    out.lines.push_back(std::move(line));
  });
}
inline void add_lines(const term_list_view& list, report& out, std::string_view group, const setting& all) {
  const auto numbers = numbers_of(all);
  add_lines(list, out, group, numbers_view(numbers));
}
/// The same of transfers, whose bytes are those of one rank. Among one rank they send nothing, and are left out.
inline void add_transfers(const term_list_view& list, report& out, std::string_view group, const setting& all) {
  report lines;
  add_lines(list, lines, group, all);
  for (report_line& line : lines.lines) {
    if (line.value == rational(0)) continue;
    line.split = "1";
    out.lines.push_back(std::move(line));
  }
}
}  // namespace detail

/// Parameters alone: what a config without a training step can tell.
/// Errors: those of count_parameters.
[[nodiscard]] inline result<report> make_report(const model& m) {
  const auto count = count_parameters(m);
  if (!count) return count.error();
  report out{m, *count, {}, {}, {}, {}};
  const setting all{.on_rank = part::whole(m), .model = m};
  detail::add_lines(parameter_terms, out, "parameters", all);
  detail::add_lines(expert_parameter_terms, out, "parameters", all);
  return out;
}

/// Parameters, FLOPs of a step, and memory of every pipeline rank, with all terms.
/// @param in_flight  per pipeline rank what a schedule holds at its peak; empty: 1F1B (interleaved if vp > 1)
/// @param replayed   operations that every layer computes again, beside the recompute level of p
/// Errors: those of check and of the counts; errc::bad_shape if in_flight is neither empty nor of pp entries.
/// Complexity: one pass over the formulas per pipeline rank; text is written once.
[[nodiscard]] inline result<report> make_report(const model& m, const training& t, const parallel& p,
                                                const convention& counted, const std::vector<held>& in_flight = {},
                                                const replay_set& replayed = {}) {
  if (const auto fits = check(m, t, p); !fits) return fits.error();
  if (!in_flight.empty() && static_cast<std::int64_t>(in_flight.size()) != p.pp)
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(in_flight.size())}.with("in-flight counts");
  auto made = make_report(m);
  if (!made) return made.error();
  report out = *std::move(made);
  const auto step = count_flops(m, t, p, counted, replayed);
  if (!step) return step.error();
  out.flops = *step;
  out.tokens_per_step = rational(t.global_batch) * rational(t.sequence);

  setting all{
      .on_rank = part::whole(m), .model = m, .training = t, .parallel = p, .counted = counted, .replayed = replayed};
  detail::add_lines(forward_flop_terms, out, "forward FLOPs of a step", all);

  const std::vector<part> parts = even_parts(m, p);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    rank_memory memory;
    memory.on_rank = parts[rank];
    if (in_flight.empty()) {
      const auto passes = held_by_1f1b(m, t, p, parts[rank]);
      if (!passes) return passes.error();
      memory.in_flight = *passes;
    } else {
      memory.in_flight = in_flight[rank];
    }
    const auto held_parameters = count_rank_parameters(m, p, parts[rank]);
    if (!held_parameters) return held_parameters.error();
    memory.parameters = *held_parameters;
    const auto fixed = static_bytes(*held_parameters, t, p);
    if (!fixed) return fixed.error();
    const auto moving = activation_bytes(m, t, p, parts[rank], memory.in_flight, replayed);
    if (!moving) return moving.error();
    memory.static_bytes = *fixed;
    memory.activation_bytes = *moving;
    const auto peak = peak_memory(m, t, p, parts[rank], memory.in_flight, replayed);
    if (!peak) return peak.error();
    memory.peak = *peak;
    out.memory.push_back(memory);
  }

  all.on_rank = parts.front();
  all.parameters = out.memory.front().parameters;
  detail::add_lines(static_memory_terms, out, "static bytes, rank 0", all);
  setting one_layer = all;
  one_layer.on_rank.layers = 1;
  one_layer.on_rank.moe_layers = m.moe_layers == m.layers ? 1 : 0;
  detail::add_lines(saved_tensor_terms, out, "kept by one layer", one_layer);
  detail::add_transfers(layer_transfer_terms, out, "sent by one layer and micro-batch", one_layer);
  detail::add_transfers(pipeline_transfer_terms, out, "sent between stages, per micro-batch", all);
  detail::add_transfers(data_transfer_terms, out, "sent over data-parallel ranks, per step", all);
  if (m.moe_layers > 0 && m.moe_layers < m.layers) {
    one_layer.on_rank.moe_layers = 1;
    detail::add_lines(saved_tensor_terms, out, "kept by one layer with experts", one_layer);
  }
  all.on_rank = parts.back();
  all.in_flight = out.memory.back().in_flight;
  detail::add_lines(end_tensor_terms, out, "kept outside of the layers, last rank", all);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::cost
