// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/utilization.hpp>
#include <hocket/interop/files/cost_answer.hpp>
#include <hocket/interop/files/fixed.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {
// NOLINTBEGIN(bugprone-unchecked-optional-access): make_report sets what goes together

/// A part of a predicted step, in words and as files call it.
struct named_part {
  const char *name, *key;
  double seconds;
};
/// Model and hardware FLOPs over what the devices could do in a measured step, in words with the convention.
struct utilizations {
  std::string mfu, hfu;
  double mfu_ratio = 0, hfu_ratio = 0;
};

namespace detail {

using cost::to_string;

inline std::string grouped(const cost::rational& value) {
  if (!value.is_whole()) return fixed(value.real(), 3);
  std::string digits = to_string(value.num());
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}
inline std::string left(std::string s, std::size_t width) {
  return s.append(s.size() < width ? width - s.size() : 0, ' ');
}
inline std::string right(const std::string& s, std::size_t width) {
  return std::string(s.size() < width ? width - s.size() : 0, ' ') + s;
}
inline std::string gib(const cost::rational& bytes) { return fixed(bytes.real() / bytes_per_gib, 2); }

inline std::string convention_of(const cost::convention& c) {
  std::string s =
      "attention " + std::string(to_string(c.attention)) + ", recompute " + std::string(to_string(c.replay));
  s += c.router ? ", router counted" : ", router not counted";
  return s + (c.latent_norms ? ", latent norms counted" : "");
}

// Of all kinds of layers.
inline cost::rational sum_of(const cost::report& r, std::string_view group) {
  cost::rational sum = 0;
  for (const auto& line : r.lines) sum = line.group.starts_with(group) ? sum + line.value : sum;
  return sum;
}

// JSON by hand: FLOPs of a step can need more digits than the usual JSON libraries keep.
inline std::string json_string(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20)
      out += "\\u00" + std::string(1, "01"[c >> 4]) + "0123456789abcdef"[c & 15];
    else out += c;
  }
  return out + "\"";
}
inline std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}
inline std::string number(const cost::rational& v) { return v.is_whole() ? to_string(v.num()) : number(v.real()); }
inline std::string number(const cost::report_line& line) {
  return line.is_real ? number(line.real_value) : number(line.value);
}

}  // namespace detail

/// "dense", "experts" or "prediction".
[[nodiscard]] inline std::string kind_of(const cost::rank_run& run) {
  if (run.place == cost::run_place::prediction) return "prediction";
  return cost::has_experts(run.blocks) ? "experts" : "dense";
}

/// The value of a term as people read it: whole numbers in groups of three digits, others with six digits.
[[nodiscard]] inline std::string value_of(const cost::report_line& line) {
  if (!line.is_real) return detail::grouped(line.value);
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", line.real_value);
  return text;
}

/// The parts of a step, in the order of a step.
[[nodiscard]] inline std::vector<named_part> parts_of(const cost::step_parts& p) {
  return {{"data loading", "data_loading", p.data_loading.count()},
          {"forward and backward", "forward_backward", p.forward_backward.count()},
          {"optimizer", "optimizer", p.optimizer.count()},
          {"post-processing", "post_processing", p.post_processing.count()},
          {"exposed communication", "communication_exposed", p.communication_exposed.count()},
          {"scheduling", "scheduling", p.scheduling.count()},
          {"bubble", "bubble", p.bubble.count()},
          {"hidden communication", "communication_hidden", p.communication_hidden.count()}};
}

/// Nothing without a measured step.
[[nodiscard]] inline std::optional<utilizations> utilizations_of(const cost::report& r, const report_context& c) {
  if (!c.training || c.training->step_seconds <= 0) return std::nullopt;
  const training_input& t = *c.training;
  const std::int64_t devices = c.parallel.devices();
  const auto model =
      cost::utilization_of<cost::work::model>(*r.flops, devices, seconds(t.step_seconds), t.peak_tflops * 1e12);
  const auto hardware =
      cost::utilization_of<cost::work::hardware>(*r.flops, devices, seconds(t.step_seconds), t.peak_tflops * 1e12);
  return utilizations{cost::to_string(model), cost::to_string(hardware), model.ratio_by_convention(),
                      hardware.ratio_by_convention()};
}

/// The rank with the highest peak; the first of several. Precondition: the report has ranks.
[[nodiscard]] inline std::size_t fullest_rank(const cost::report& report) {
  const auto less = [](const cost::rank_memory& a, const cost::rank_memory& b) {
    return a.peak.total_bytes() < b.peak.total_bytes();
  };
  return static_cast<std::size_t>(std::max_element(report.memory.begin(), report.memory.end(), less) -
                                  report.memory.begin());
}

/// "parameters=… flops_per_step=… max_bytes_per_rank=… peak_bytes_per_rank=…": the summary line. The first counts
/// states and saved tensors, the second also what lives for a moment.
[[nodiscard]] inline std::string report_summary(const cost::report& r, const report_context& context = {}) {
  std::string s = "parameters=" + std::to_string(r.parameters.total);
  if (r.flops) s += " flops_per_step=" + cost::to_string(r.flops->model_step);
  cost::rational most = 0;
  for (const auto& rank : r.memory) most = most < rank.total_bytes() ? rank.total_bytes() : most;
  if (!r.memory.empty()) s += " max_bytes_per_rank=" + cost::to_string(most.ceiling());
  if (!r.memory.empty())
    s += " peak_bytes_per_rank=" + cost::to_string(r.memory[fullest_rank(r)].peak.total_bytes().ceiling());
  if (context.step) {
    char text[96];
    std::snprintf(text, sizeof text, " step_seconds=%.6g tokens_per_second_per_device=%.6g",
                  context.step->step_time().count(), context.step->tokens_per_second_per_device);
    s += text;
  }
  return s;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::interop
