// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/report.hpp>

#include <algorithm>

namespace hocket::inline HOCKET_ABI::cost {

/// Layers of one stage that compute the same again.
struct plan_row {
  std::size_t stage = 0;
  layer_group layers;
  rational kept_bytes;   ///< by one of them, of one micro-batch
  rational again_flops;  ///< by one of them, over a step
};

/// Restates a report for a plan of what each layer computes again: hardware FLOPs, activations of every rank, and the
/// tensors that a layer keeps and sends, once for each choice of the plan.
/// @param out     of make_report for the same m, t, p, counted
/// @param stages  planned_stages
/// @return the plan as rows, by stage, with what each choice keeps and costs
/// Errors: errc::bad_shape if stages has not pp entries; those of the counts; the report is then unchanged.
///
///     auto report = make_report(m, t, p, counted);
///     const auto rows = restate(*report, m, t, p, counted, planned_stages(m, p, plan).value());
[[nodiscard]] inline result<std::vector<plan_row>> restate(report& out, const model& m, const training& t,
                                                           const parallel& p, const convention& counted,
                                                           const std::vector<stage_layers>& stages) {
  if (stages.size() != out.memory.size())
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(stages.size())}.with("stages");
  const auto step = count_flops(m, t, p, counted, stages);
  if (!step) return step.error();
  std::vector<plan_row> rows;
  std::vector<rational> activations;
  std::vector<memory_peak> peaks;
  report lines;
  std::vector<layer_group> seen;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const rank_memory& memory = out.memory[stage];
    const auto held_bytes = activation_bytes(m, t, p, memory.on_rank, memory.in_flight, stages[stage]);
    if (!held_bytes) return held_bytes.error();
    activations.push_back(*held_bytes);
    const auto peak = peak_memory(m, t, p, memory.on_rank, memory.in_flight, stages[stage]);
    if (!peak) return peak.error();
    peaks.push_back(*peak);
    for (const layer_group& group : stages[stage]) {
      if (!detail::is_layer(group.kind)) continue;
      const bool experts = detail::has_experts(m, group.kind);
      parallel at = p;
      at.recompute = group.how.level;
      const auto kept = layer_activation_bytes(m, t, at, experts, group.how.operations);
      if (!kept) return kept.error();
      const auto again = flops_again(m, t, p, counted, group.kind, group.how);
      if (!again) return again.error();
      rows.push_back({stage, group, *kept, *again});
      const auto same = [&](const layer_group& g) {
        return detail::has_experts(m, g.kind) == experts && g.how == group.how;
      };
      if (std::any_of(seen.begin(), seen.end(), same)) continue;
      seen.push_back(group);
      const setting one{.on_rank = {.layers = 1, .moe_layers = experts ? 1 : 0},
                        .model = m,
                        .training = t,
                        .parallel = at,
                        .counted = counted,
                        .replayed = group.how.operations};
      const std::string choice = std::string(experts ? " with experts" : "") + ", recompute " + to_string(group.how);
      detail::add_lines(saved_tensor_terms, lines, "kept by one layer" + choice, one);
      detail::add_transfers(layer_transfer_terms, lines, "sent by one layer and micro-batch" + choice, one);
    }
  }
  out.flops = *step;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    out.memory[stage].activation_bytes = activations[stage];
    out.memory[stage].peak = peaks[stage];
  }
  const auto replaced = [](const report_line& line) {
    return line.group.starts_with("kept by one layer") || line.group.starts_with("sent by one layer");
  };
  const auto at = std::find_if(out.lines.begin(), out.lines.end(), replaced) - out.lines.begin();
  out.lines.erase(std::remove_if(out.lines.begin(), out.lines.end(), replaced), out.lines.end());
  out.lines.insert(out.lines.begin() + at, lines.lines.begin(), lines.lines.end());
  return rows;
}

}  // namespace hocket::inline HOCKET_ABI::cost
