// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/files/report_parts.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {
// NOLINTBEGIN(bugprone-unchecked-optional-access): make_report sets what goes together

namespace detail {

inline void memory_as_text(std::string& out, const cost::report& r, const report_context& context) {
  if (r.memory.empty()) return;
  out += "\nmemory by pipeline rank, GiB (2^30 bytes)\n";
  out += "  " + left("rank", 6) + right("layers", 8) + right("held", 8) + right("static", 12) +
         right("activations", 13) + right("total", 12) + right("total bytes", 20) + "\n";
  for (const auto& m : r.memory)
    out += "  " + left(std::to_string(m.on_rank.rank), 6) + right(std::to_string(m.on_rank.layers), 8) +
           right(std::to_string(m.in_flight.layer_passes), 8) + right(gib(m.static_bytes), 12) +
           right(gib(m.activation_bytes), 13) + right(gib(m.total_bytes()), 12) +
           right(grouped(m.total_bytes().ceiling()), 20) + "\n";
  if (context.training->step.muon)
    out +=
        "  static: by Muon, one moment for each matrix of a layer; with ZeRO each is whole on one of the ranks that "
        "share it, and the fullest rank counts; all else by AdamW\n";
  out += "  held: layer passes whose activations are alive at the peak\n";
  out += "  total: the sum of each part's own largest bytes, whether or not they are there together\n";
  out += "  peak: all that is there at one moment, also what lives only then; the largest such moment, by rank:";
  for (std::size_t i = 0; i < r.memory.size(); ++i) out += (i == 0 ? " " : ", ") + gib(r.memory[i].peak.total_bytes());
  out += " GiB\n";
  out += "  either may be larger; whether a rank fits goes by its peak\n";
}

inline void recompute_as_text(std::string& out, const report_context& context) {
  if (context.plan.empty()) return;
  out += "\nwhat is computed again, by pipeline stage\n  " + left("stage", 7) + right("layers", 7) +
         right("kept by each, bytes", 24) + right("again by each, FLOP", 26) + "  choice\n";
  for (const cost::plan_row& row : context.plan)
    out += "  " + left(std::to_string(row.rank), 7) + right(std::to_string(row.layers.count), 7) +
           right(grouped(row.kept_bytes), 24) + right(grouped(row.again_flops), 26) + "  " + to_string(row.layers.how) +
           (kind_of(row.layers) == "dense" ? "" : ", " + kind_of(row.layers)) + "\n";
  out += "  kept: of one micro-batch on one rank; again: over all ranks of the stage and the whole step\n";
  const std::vector<std::string> missing = missing_reshapes(context.lists);
  if (missing.empty()) return;
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : " and ") + name;
  out +=
      "  # activation: freed only where the linear cells take two dimensions (fine-grained copies). Else the reshapes\n"
      "  # before and after it keep its tensors, and nothing is freed: add " +
      names + "\n";
}

inline void step_as_text(std::string& out, const report_context& context) {
  if (!context.step || !context.training->on) return;
  const machine_input& on = *context.training->on;
  const double whole = context.step->step_time().count();
  out += "\nseconds of a step, predicted for " + on.name + "\n";
  for (const named_part& part : parts_of(context.step->parts)) {
    const bool hidden = std::string_view(part.key) == "communication_hidden";
    out += "  " + left(part.name, 24) + right(fixed(part.seconds, 4), 14) +
           (hidden ? "  (costs nothing)" : right(fixed(100 * part.seconds / whole, 1), 8) + " %") + "\n";
  }
  out += "  " + left("step", 24) + right(fixed(whole, 4), 14) + "\n";
  out +=
      "  " + left("tokens/s per device", 24) + right(fixed(context.step->tokens_per_second_per_device, 1), 14) + "\n";
  out += "  busiest pipeline rank: " + std::to_string(context.step->busiest) + "; rates: " + on.source + "\n";
  if (on.worst_error > 0)
    out += "  the steps that the rates were fitted to lie within " + fixed(100 * on.worst_error, 1) + " %\n";
}

inline void terms_as_text(std::string& out, const cost::report& r) {
  std::string_view group;
  std::map<std::string, bool> explained;
  for (const auto& line : r.lines) {
    if (line.group != group) {
      group = line.group;
      out += "\n" + std::string(group) + ", " + line.unit + (line.group == "parameters" ? "s" : "") + "\n";
    }
    out += "  " + left(std::string(line.name), 34) + right(value_of(line), 30) + "  = " + line.formula + "\n";
    out += "  " + left("", 34) + right("", 30) + "  = " + line.numbers;
    if (line.split != "1") out += "   over " + line.split;
    out += "   [" + std::string(line.source) + "; " + std::string(to_string(line.how)) + "]\n";
    if (!line.where.empty() && !explained[line.where]) {
      explained[line.where] = true;
      out += "  " + left("", 34) + right("", 30) + "  where " + line.where + "\n";
    }
  }
}

}  // namespace detail

/// A report as text for people.
[[nodiscard]] inline std::string report_as_text(const cost::report& r, const report_context& context) {
  std::string out = context.title + "\n";
  const auto plain = [&](const std::string& name, const std::string& value) {
    out += "  " + detail::left(name, 34) + detail::right(value, 30) + "\n";
  };
  plain("parameters", detail::grouped(r.parameters.total));
  if (r.parameters.active != r.parameters.total) plain("used by one token", detail::grouped(r.parameters.active));
  if (context.router_biases > 0)
    plain("without biases of routers", detail::grouped(r.parameters.total - context.router_biases));
  for (const counted_encoder& each : context.encoders)
    plain(each.name + " (" + each.architecture + "), apart", detail::grouped(each.parameters));
  if (r.flops) {
    const auto& f = *r.flops;
    plain("tokens per step", detail::grouped(r.tokens_per_step));
    plain("model FLOPs per token", detail::grouped(f.model_step / r.tokens_per_step));
    plain("model FLOPs per step", detail::grouped(f.model_step));
    plain("hardware FLOPs per step", detail::grouped(f.hardware_step));
    out += "  counted: " + detail::convention_of(f.counted) + "\n";
  }
  if (const auto u = utilizations_of(r, context)) out += "  " + u->mfu + "\n  " + u->hfu + "\n";
  for (const auto& a : context.assumed) out += "  assumed, because the config does not say: " + a + "\n";
  detail::memory_as_text(out, r, context);
  detail::recompute_as_text(out, context);
  detail::step_as_text(out, context);
  detail::terms_as_text(out, r);
  if (r.flops) {
    const cost::rational both = detail::sum_of(r, "FLOPs of both passes");
    out += "\n  forward and backward: 3 x " + detail::grouped(detail::sum_of(r, "forward FLOPs of a step")) +
           (both == cost::rational(0) ? "" : " + " + detail::grouped(both)) + " = " +
           detail::grouped(r.flops->model_step) + " FLOP\n";
  }
  return out;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::interop
