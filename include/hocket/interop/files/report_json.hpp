// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/files/report_parts.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::interop {
// NOLINTBEGIN(bugprone-unchecked-optional-access): make_report sets what goes together

namespace detail {

inline void flops_as_json(std::string& out, const cost::report& r, const report_context& context) {
  if (!r.flops) {
    out += "null";
    return;
  }
  out += "{\"convention\": " + json_string(convention_of(r.flops->counted)) +
         ", \"attention_count\": " + json_string(to_string(r.flops->counted.attention)) +
         ", \"per_token\": " + number(r.flops->model_step / r.tokens_per_step) +
         ", \"per_step\": " + number(r.flops->model_step) +
         ", \"hardware_per_step\": " + number(r.flops->hardware_step);
  if (const auto u = utilizations_of(r, context)) {
    char text[160];
    std::snprintf(text, sizeof text, ", \"mfu\": {\"ratio\": %.17g, \"text\": ", u->mfu_ratio);
    out += text + json_string(u->mfu) + "}";
    std::snprintf(text, sizeof text, ", \"hfu\": {\"ratio\": %.17g, \"text\": ", u->hfu_ratio);
    out += text + json_string(u->hfu) + "}";
  }
  out += "}";
}

inline void memory_as_json(std::string& out, const cost::report& r) {
  out += ",\n  \"memory\": [";
  for (std::size_t i = 0; i < r.memory.size(); ++i) {
    const auto& m = r.memory[i];
    out += (i ? "," : "") + std::string("\n    {\"rank\": ") + std::to_string(m.on_rank.rank) +
           ", \"layers\": " + std::to_string(m.on_rank.layers) +
           ", \"layer_passes_held\": " + std::to_string(m.in_flight.layer_passes) +
           ", \"parameters\": " + std::to_string(m.parameters.dense + m.parameters.expert) +
           ", \"static_bytes\": " + to_string(m.static_bytes.ceiling().num()) +
           ", \"activation_bytes\": " + to_string(m.activation_bytes.ceiling().num()) +
           ", \"total_bytes\": " + to_string(m.total_bytes().ceiling().num()) +
           ", \"peak_bytes\": " + to_string(m.peak.total_bytes().ceiling().num()) + "}";
  }
  out += r.memory.empty() ? "]" : "\n  ]";
}

inline void recompute_as_json(std::string& out, const report_context& context) {
  if (context.plan.empty()) return;
  out += ",\n  \"stages\": [";
  for (std::size_t i = 0; i < context.plan.size(); ++i) {
    const cost::plan_row& row = context.plan[i];
    out += (i ? "," : "") + std::string("\n    {\"stage\": ") + std::to_string(row.rank) +
           ", \"kind\": " + json_string(kind_of(row.layers)) + ", \"layers\": " + std::to_string(row.layers.count) +
           ", \"recompute\": " + json_string(to_string(row.layers.how)) +
           ", \"kept_bytes\": " + number(row.kept_bytes) + ", \"again_flops\": " + number(row.again_flops) + "}";
  }
  out += "\n  ]";
}

inline void step_as_json(std::string& out, const report_context& context) {
  if (!context.step || !context.training->on) return;
  const machine_input& on = *context.training->on;
  out += ",\n  \"step\": {\"machine\": {\"name\": " + json_string(on.name) + ", \"source\": " + json_string(on.source) +
         ", \"worst_error\": " + number(on.worst_error) +
         "},\n    \"seconds\": " + number(context.step->step_time().count()) + ", \"parts\": {";
  const auto parts = parts_of(context.step->parts);
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += (i ? ", " : "") + json_string(parts[i].key) + ": " + number(parts[i].seconds);
  out += "},\n    \"tokens_per_second_per_device\": " + number(context.step->tokens_per_second_per_device) +
         ", \"busiest_rank\": " + std::to_string(context.step->busiest) + "}";
}

inline void terms_as_json(std::string& out, const cost::report& r) {
  out += ",\n  \"terms\": [";
  bool first = true;
  for (const auto& line : r.lines) {
    out += (first ? "" : ",") + std::string("\n    {\"group\": ") + json_string(line.group) +
           ", \"name\": " + json_string(line.name) + ", \"formula\": " + json_string(line.formula) +
           ", \"numbers\": " + json_string(line.numbers) + ", \"where\": " + json_string(line.where) +
           ", \"value\": " + number(line) + ", \"divided_by\": " + json_string(line.split) +
           ", \"unit\": " + json_string(line.unit) + ", \"source\": " + json_string(line.source) +
           ", \"origin\": " + json_string(to_string(line.how)) + "}";
    first = false;
  }
}

}  // namespace detail

/// A report as JSON: the form of `hocket cost report --format json` (docs/file_forms.md).
[[nodiscard]] inline std::string report_as_json(const cost::report& r, const report_context& context) {
  std::string out = "{\n  \"version\": 1,\n  \"parameters\": {\"total\": " + std::to_string(r.parameters.total) +
                    ", \"active\": " + std::to_string(r.parameters.active) +
                    ", \"router_biases\": " + std::to_string(context.router_biases) +
                    ", \"total_without_router_biases\": " + std::to_string(r.parameters.total - context.router_biases) +
                    ", \"encoders\": [";
  for (std::size_t i = 0; i < context.encoders.size(); ++i) {
    const counted_encoder& each = context.encoders[i];
    out += (i ? ", " : "") + std::string("{\"name\": ") + detail::json_string(each.name) +
           ", \"architecture\": " + detail::json_string(each.architecture) +
           ", \"total\": " + std::to_string(each.parameters) + "}";
  }
  out += "], \"assumed\": [";
  for (std::size_t i = 0; i < context.assumed.size(); ++i)
    out += (i ? ", " : "") + detail::json_string(context.assumed[i]);
  out += "]},\n  \"flops\": ";
  detail::flops_as_json(out, r, context);
  detail::memory_as_json(out, r);
  detail::recompute_as_json(out, context);
  detail::step_as_json(out, context);
  detail::terms_as_json(out, r);
  return out + "\n  ]\n}\n";
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::interop
