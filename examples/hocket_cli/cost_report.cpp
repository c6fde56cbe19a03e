// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cost report as text, JSON and LaTeX.
#include <algorithm>
#include <cstdio>
#include <map>

#include "cost_layers.hpp"
#include "fixed.hpp"

namespace hocket_cli {
namespace cost = hocket::cost;

namespace {

using cost::to_string;

std::string grouped(const cost::rational& value) {
  if (!value.is_whole()) return fixed(value.real(), 3);
  std::string digits = to_string(value.num());
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}
std::string left(std::string s, std::size_t width) { return s.append(s.size() < width ? width - s.size() : 0, ' '); }
std::string right(const std::string& s, std::size_t width) {
  return std::string(s.size() < width ? width - s.size() : 0, ' ') + s;
}
std::string gib(const cost::rational& bytes) { return fixed(bytes.real() / bytes_per_gib, 2); }

std::string convention_of(const cost::convention& c) {
  std::string s =
      "attention " + std::string(to_string(c.attention)) + ", recompute " + std::string(to_string(c.replay));
  s += c.router ? ", router counted" : ", router not counted";
  return s + (c.latent_norms ? ", latent norms counted" : "");
}

// Of all kinds of layers.
cost::rational sum_of(const cost::report& r, std::string_view group) {
  cost::rational sum = 0;
  for (const auto& line : r.lines) sum = line.group.starts_with(group) ? sum + line.value : sum;
  return sum;
}

// JSON by hand: FLOPs of a step can need more digits than the usual JSON libraries keep.
std::string json_string(std::string_view s) {
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
std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}
std::string number(const cost::rational& v) { return v.is_whole() ? to_string(v.num()) : number(v.real()); }
std::string number(const cost::report_line& line) {
  return line.is_real ? number(line.real_value) : number(line.value);
}

void memory_as_text(std::string& out, const cost::report& r, const report_context& context) {
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
        "share "
        "it, and the fullest rank counts; all else by AdamW\n";
  out += "  held: layer passes whose activations are alive at the peak\n";
  out += "  total: the sum of each part's own largest bytes, whether or not they are there together\n";
  out += "  peak: all that is there at one moment, also what lives only then; the largest such moment, by rank:";
  for (std::size_t i = 0; i < r.memory.size(); ++i) out += (i == 0 ? " " : ", ") + gib(r.memory[i].peak.total_bytes());
  out += " GiB\n";
  out += "  either may be larger; whether a rank fits goes by its peak\n";
}

void recompute_as_text(std::string& out, const report_context& context) {
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
      "  # before and behind it keep its tensors, and nothing is freed: add " +
      names + "\n";
}

void step_as_text(std::string& out, const report_context& context) {
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

void terms_as_text(std::string& out, const cost::report& r) {
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

void flops_as_json(std::string& out, const cost::report& r, const report_context& context) {
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

void memory_as_json(std::string& out, const cost::report& r) {
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

void recompute_as_json(std::string& out, const report_context& context) {
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

void step_as_json(std::string& out, const report_context& context) {
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

void terms_as_json(std::string& out, const cost::report& r) {
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

}  // namespace

std::string value_of(const cost::report_line& line) {
  if (!line.is_real) return grouped(line.value);
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", line.real_value);
  return text;
}

std::vector<named_part> parts_of(const cost::step_parts& p) {
  return {{"data loading", "data_loading", p.data_loading.count()},
          {"forward and backward", "forward_backward", p.forward_backward.count()},
          {"optimizer", "optimizer", p.optimizer.count()},
          {"post-processing", "post_processing", p.post_processing.count()},
          {"exposed communication", "communication_exposed", p.communication_exposed.count()},
          {"scheduling", "scheduling", p.scheduling.count()},
          {"bubble", "bubble", p.bubble.count()},
          {"hidden communication", "communication_hidden", p.communication_hidden.count()}};
}

std::optional<utilizations> utilizations_of(const cost::report& r, const report_context& c) {
  if (!c.training || c.training->step_seconds <= 0) return std::nullopt;
  const training_input& t = *c.training;
  const std::int64_t devices = c.parallel.devices();
  const auto model =
      cost::utilization_of<cost::work::model>(*r.flops, devices, hocket::seconds(t.step_seconds), t.peak_tflops * 1e12);
  const auto hardware = cost::utilization_of<cost::work::hardware>(*r.flops, devices, hocket::seconds(t.step_seconds),
                                                                   t.peak_tflops * 1e12);
  return utilizations{to_string(model), to_string(hardware), model.ratio_by_convention(),
                      hardware.ratio_by_convention()};
}

std::string report_as_text(const cost::report& r, const report_context& context) {
  std::string out = context.title + "\n";
  const auto plain = [&](const std::string& name, const std::string& value) {
    out += "  " + left(name, 34) + right(value, 30) + "\n";
  };
  plain("parameters", grouped(r.parameters.total));
  if (r.parameters.active != r.parameters.total) plain("used by one token", grouped(r.parameters.active));
  if (context.router_biases > 0)
    plain("without biases of routers", grouped(r.parameters.total - context.router_biases));
  for (const counted_encoder& each : context.encoders)
    plain(each.name + " (" + each.architecture + "), apart", grouped(each.parameters));
  if (r.flops) {
    const auto& f = *r.flops;
    plain("tokens per step", grouped(r.tokens_per_step));
    plain("model FLOPs per token", grouped(f.model_step / r.tokens_per_step));
    plain("model FLOPs per step", grouped(f.model_step));
    plain("hardware FLOPs per step", grouped(f.hardware_step));
    out += "  counted: " + convention_of(f.counted) + "\n";
  }
  if (const auto u = utilizations_of(r, context)) out += "  " + u->mfu + "\n  " + u->hfu + "\n";
  for (const auto& a : context.assumed) out += "  assumed, because the config does not say: " + a + "\n";
  memory_as_text(out, r, context);
  recompute_as_text(out, context);
  step_as_text(out, context);
  terms_as_text(out, r);
  if (r.flops) {
    const cost::rational both = sum_of(r, "FLOPs of both passes");
    out += "\n  forward and backward: 3 x " + grouped(sum_of(r, "forward FLOPs of a step")) +
           (both == cost::rational(0) ? "" : " + " + grouped(both)) + " = " + grouped(r.flops->model_step) + " FLOP\n";
  }
  return out;
}

std::string report_as_json(const cost::report& r, const report_context& context) {
  std::string out = "{\n  \"version\": 1,\n  \"parameters\": {\"total\": " + std::to_string(r.parameters.total) +
                    ", \"active\": " + std::to_string(r.parameters.active) +
                    ", \"router_biases\": " + std::to_string(context.router_biases) +
                    ", \"total_without_router_biases\": " + std::to_string(r.parameters.total - context.router_biases) +
                    ", \"encoders\": [";
  for (std::size_t i = 0; i < context.encoders.size(); ++i) {
    const counted_encoder& each = context.encoders[i];
    out += (i ? ", " : "") + std::string("{\"name\": ") + json_string(each.name) +
           ", \"architecture\": " + json_string(each.architecture) + ", \"total\": " + std::to_string(each.parameters) +
           "}";
  }
  out += "], \"assumed\": [";
  for (std::size_t i = 0; i < context.assumed.size(); ++i) out += (i ? ", " : "") + json_string(context.assumed[i]);
  out += "]},\n  \"flops\": ";
  flops_as_json(out, r, context);
  memory_as_json(out, r);
  recompute_as_json(out, context);
  step_as_json(out, context);
  terms_as_json(out, r);
  return out + "\n  ]\n}\n";
}

std::string report_as_latex(const cost::report& r, const report_context& context) {
  const auto escaped = [](std::string_view s) {
    std::string out;
    for (const char c : s) {
      if (std::string_view("_&%#${}").find(c) != std::string_view::npos) out += '\\';
      if (c == '\\' || c == '^' || c == '~') out += ' ';
      else out += c;
    }
    return out;
  };
  const auto latex_real = [](double value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.6g", value);
    std::string s = text;
    if (const std::size_t e = s.find('e'); e != std::string::npos)
      s = s.substr(0, e) + " \\cdot 10^{" + std::to_string(std::stoi(s.substr(e + 1))) + "}";
    return s;
  };
  std::string out = "% needs amsmath, longtable\n\\section*{" + escaped(context.title) + "}\n";
  if (r.flops) out += "FLOPs counted with " + escaped(convention_of(r.flops->counted)) + ".\n";
  if (context.step && context.training->on)
    out += "Seconds predicted for " + escaped(context.training->on->name) +
           "; rates: " + escaped(context.training->on->source) + ".\n";
  if (!context.plan.empty()) {
    out += "\\begin{longtable}{rrrrl}\nstage & layers & kept by each, bytes & again by each, FLOP & choice\\\\\n";
    for (const cost::plan_row& row : context.plan)
      out += std::to_string(row.rank) + " & " + std::to_string(row.layers.count) + " & $" + number(row.kept_bytes) +
             "$ & $" + number(row.again_flops) + "$ & " + escaped(to_string(row.layers.how)) + "\\\\\n";
    out += "\\end{longtable}\n";
  }
  std::string_view group;
  for (const auto& line : r.lines) {
    if (line.group != group) {
      if (!group.empty()) out += "\\end{longtable}\n";
      group = line.group;
      out += "\\begin{longtable}{llrl}\n\\multicolumn{4}{l}{\\textbf{" + escaped(group) + "}, " + escaped(line.unit) +
             "}\\\\\n";
    }
    out += escaped(line.name) + " & $\\displaystyle " + line.latex + " = " + line.latex_numbers + "$ & $" +
           (line.is_real ? latex_real(line.real_value) : number(line.value)) + "$ & " + escaped(line.source) + "\\\\\n";
  }
  if (!group.empty()) out += "\\end{longtable}\n";
  return out;
}

}  // namespace hocket_cli
