// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket ir recompute: what became of the marks for recomputation in a dump.
#include <hocket/interop/mindspore/recomputation.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "ir.hpp"

namespace hocket_cli {
namespace {

namespace ms = hocket::mindspore;
using nlohmann::ordered_json;
using outcome = ms::recompute_mark::outcome;

std::string_view word_of(outcome what) {
  switch (what) {
    case outcome::computed_again: return "computed_again";
    case outcome::kept_behind: return "kept_behind";
    default: return "not_read";
  }
}

// "feed_forward\.mul of layer 0", for people.
std::string place_text(const ms::ir_program& program, std::uint32_t n) {
  const ms::ir_place place = ms::place_of(program, n);
  return place.pattern + (place.layer.empty() ? "" : " of layer " + place.layer);
}

// Whether the layers that are recomputed whole are the first ones, which a number says.
bool are_first_layers(const ms::recompute_report& r) {
  const auto before = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;  // numbers
  };
  std::vector<std::string> layers = r.layers, whole = r.whole_layers;
  std::sort(layers.begin(), layers.end(), before);
  std::sort(whole.begin(), whole.end(), before);
  return whole.size() <= layers.size() && std::equal(whole.begin(), whole.end(), layers.begin());
}

// Layers that are recomputed whole. MindFormers takes the number of the first ones of each stage.
std::string whole_layers_config(const ms::recompute_report& r) {
  if (r.whole_layers.empty()) return "  recompute: False\n";
  if (r.whole_layers.size() == r.layers.size()) return "  recompute: True\n";
  const std::string count = std::to_string(r.whole_layers.size());
  if (are_first_layers(r))
    return "  recompute: [" + count + "]  # the first layers of this stage; of " + std::to_string(r.layers.size()) +
           " in the dump\n";
  std::string list;
  for (const std::string& layer : r.whole_layers) list += (list.empty() ? "" : ", ") + layer;
  return "  recompute: False  # layers " + list + " are not the first ones: call recompute() of their cells\n";
}

// The lists that a MindFormers user pastes. A pattern is a word of a list if it is marked in all layers of the dump
// that are not recomputed whole. If it is marked in some of them, their number is given, as the guide's [20, 8] does.
std::string config(const ms::recompute_report& r) {
  std::string out = "recompute_config:\n" + whole_layers_config(r);
  std::vector<std::string> patterns;
  std::vector<std::size_t> layer_counts;
  bool everywhere = true;
  for (const auto* const list : {&r.marked, &r.further})
    for (const ms::recompute_pattern& p : *list) {
      if (!p.in_layer || std::find(patterns.begin(), patterns.end(), p.text) != patterns.end()) continue;
      patterns.push_back(p.text);
      layer_counts.push_back(p.layers.size());
      everywhere = everywhere && p.layers.size() + r.whole_layers.size() >= r.layers.size();
    }
  if (patterns.empty() && !r.whole_layers.empty()) return out;
  out += "  select_recompute:";
  if (everywhere) {
    for (std::size_t i = 0; i < patterns.size(); ++i) out += (i == 0 ? " ['" : ", '") + patterns[i] + "'";
    return out + (patterns.empty() ? " []\n" : "]\n");
  }
  out += "  # layers of each stage; of this one, " + std::to_string(r.layers.size()) + " are in the dump\n";
  for (std::size_t i = 0; i < patterns.size(); ++i)
    out += "    '" + patterns[i] + "': [" + std::to_string(layer_counts[i]) + "]\n";
  return out;
}

std::string mark_line(const ms::ir_program& program, const ms::recompute_mark& mark) {
  std::string out = "line " + left(std::to_string(program.node(mark.node).line), 6) + "  " +
                    std::string(program.primitive(mark.node)) + "  " + place_text(program, mark.node) + ": ";
  if (mark.what == outcome::computed_again) {
    out += "computed again, frees " + with_commas(mark.frees);
  } else if (mark.what == outcome::kept_behind) {
    out += "not computed again: " + std::string(program.primitive(mark.kept_by)) + " (" +
           ms::place_of(program, mark.kept_by).pattern + ", line " + std::to_string(program.node(mark.kept_by).line) +
           ") keeps its result";
    if (mark.is_forced) out += ", as MindSpore does not recompute it";
  } else {
    out += "not computed again: the backward pass reads nothing of it";
  }
  if (mark.duplicated != (mark.what == outcome::computed_again))
    out += mark.duplicated ? "; but the dump has a copy" : "; the dump has no copy";
  return out + '\n';
}

std::string peaks(const ms::recompute_report& r) {
  const auto line = [](std::string_view what, const ms::ir_peak& without, const ms::ir_peak& with) {
    return std::string(what) + with_commas(without.bytes) + " -> " + with_commas(with.bytes) + ", falls by " +
           with_commas(without.bytes - with.bytes) + '\n';
  };
  std::string out = line("peak while it runs:         ", r.peak_without, r.peak_with);
  if (r.cpu_peak_without.bytes != r.peak_without.bytes || r.cpu_peak_with.bytes != r.peak_with.bytes)
    out += line("the same on MindSpore's CPU: ", r.cpu_peak_without, r.cpu_peak_with) +
           "  (there SiLUGrad's sigmoid runs in the forward pass, unless its input is recomputed; and kernels have "
           "workspaces)\n";
  return out;
}

std::string suggestion(const ms::ir_program& program, const ms::recompute_report& r) {
  std::string out;
  if (!r.missing.empty()) out += "\nwhat one more mark would free:\n";
  for (const ms::further_mark& m : r.missing)
    out += "line " + left(std::to_string(program.node(m.node).line), 6) + "  " +
           std::string(program.primitive(m.node)) + "  " + place_text(program, m.node) + ": " + with_commas(m.frees) +
           '\n';
  if (!r.further.empty())
    out += std::string("\n") + (r.further_is_fewest ? "the fewest" : "all") +
           " further marks that make every mark come true: " + std::to_string(r.further.size()) +
           "; kept then: " + with_commas(r.kept_with_further) + ", " + with_commas(r.kept_with - r.kept_with_further) +
           " less\n";
  if (!r.further.empty() || !r.whole_layers.empty()) out += "\n" + config(r);
  for (const auto* const list : {&r.marked, &r.further})
    for (const ms::recompute_pattern& p : *list) {
      if (!p.in_layer) out += "# outside the layers, by recompute() in its cell: " + p.text + '\n';
      else if (p.guessed) out += "# the dump does not name the op: look the last word up in its cell: " + p.text + '\n';
    }
  return out;
}

std::string as_text(const ms::ir_program& program, const ms::recompute_report& r) {
  std::string out;
  for (const ms::recompute_mark& mark : r.marks) out += mark_line(program, mark);
  for (const std::uint32_t n : r.turned_off)
    out += "line " + left(std::to_string(program.node(n).line), 6) + "  " + std::string(program.primitive(n)) + "  " +
           place_text(program, n) + ": not computed again: MindSpore turned its mark off\n";
  out += (r.marks.empty() ? "" : "\n") + std::string("marked: ") + std::to_string(r.marks.size()) +
         "; computed again: " + std::to_string(r.predicted_count) +
         "; copies in the dump: " + std::to_string(r.copy_count);
  if (r.other_copy_count > 0) out += " (" + std::to_string(r.other_copy_count) + " of tuples and second copies)";
  if (r.is_before_copies && !r.marks.empty()) out += " (it is from before add_recomputation)";
  out += "\nkept for the backward pass: " + with_commas(r.kept_without) + " -> " + with_commas(r.kept_with) +
         ", freed " + with_commas(r.freed()) + " (kept bytes, not the fall of the peak)\n";
  if (r.micro_batch_count > 1)
    out += "  (of all " + std::to_string(r.micro_batch_count) + " micro-batches, which are not all kept at one time)\n";
  out += peaks(r);
  if (r.marked_in_called_graphs > 0)
    out += "# not judged: " + std::to_string(r.marked_in_called_graphs) +
           " marks in graphs whose call cannot be followed; a later dump (*_validate_*) has all in one graph\n";
  if (r.unknown_sizes > 0)
    out += "# " + std::to_string(r.unknown_sizes) + " values have no type or size that is known, and count 0 bytes\n";
  return out + suggestion(program, r);
}

ordered_json node_json(const ms::ir_program& program, std::uint32_t n) {
  const ms::ir_place place = ms::place_of(program, n);
  return {{"line", program.node(n).line},
          {"primitive", program.primitive(n)},
          {"scope", program.scope(n)},
          {"layer", place.layer},
          {"pattern", place.pattern}};
}

std::string as_json(const ms::ir_program& program, const ms::recompute_report& r) {
  ordered_json out = {{"version", 1},
                      {"marked", r.marks.size()},
                      {"computed_again", r.predicted_count},
                      {"copies", r.copy_count},
                      {"other_copies", r.other_copy_count},
                      {"micro_batches", r.micro_batch_count},
                      {"layers", r.layers},
                      {"whole_cells", r.is_whole_cells},
                      {"whole_layers", r.whole_layers},
                      {"before_add_recomputation", r.is_before_copies},
                      {"marked_in_called_graphs", r.marked_in_called_graphs},
                      {"unknown_sizes", r.unknown_sizes},
                      {"kept_bytes",
                       {{"without", r.kept_without},
                        {"with", r.kept_with},
                        {"with_further", r.kept_with_further},
                        {"freed", r.freed()}}},
                      {"peak_bytes",
                       {{"without", r.peak_without.bytes},
                        {"with", r.peak_with.bytes},
                        {"falls", r.peak_without.bytes - r.peak_with.bytes}}},
                      {"cpu_peak_bytes",
                       {{"without", r.cpu_peak_without.bytes},
                        {"with", r.cpu_peak_with.bytes},
                        {"falls", r.cpu_peak_without.bytes - r.cpu_peak_with.bytes}}}};
  out["marks"] = ordered_json::array();
  for (const ms::recompute_mark& mark : r.marks) {
    ordered_json one = node_json(program, mark.node);
    one["outcome"] = word_of(mark.what);
    one["duplicated"] = mark.duplicated;
    one["frees"] = mark.frees;
    if (mark.kept_by != hocket::no_id) one["kept_by"] = node_json(program, mark.kept_by);
    out["marks"].push_back(std::move(one));
  }
  out["turned_off"] = ordered_json::array();
  for (const std::uint32_t n : r.turned_off) out["turned_off"].push_back(node_json(program, n));
  out["missing"] = ordered_json::array();
  for (const ms::further_mark& m : r.missing) {
    ordered_json one = node_json(program, m.node);
    one["frees"] = m.frees;
    out["missing"].push_back(std::move(one));
  }
  const auto list = [](const std::vector<ms::recompute_pattern>& patterns) {
    ordered_json array = ordered_json::array();
    for (const ms::recompute_pattern& p : patterns)
      array.push_back({{"pattern", p.text}, {"in_layer", p.in_layer}, {"guessed", p.guessed}, {"layers", p.layers}});
    return array;
  };
  out["marked_patterns"] = list(r.marked);
  out["further_patterns"] = list(r.further);
  out["further_is_fewest"] = r.further_is_fewest;
  out["recompute_config"] = config(r);
  return json_text(out);
}

}  // namespace

void explain_recompute(const std::string& dump, bool json, const std::string& out) {
  const ms::followed_program whole = read_whole_dump(dump);
  const ms::ir_program& program = whole.program;
  const ms::recompute_report report = value_or_fail(ms::explain_recomputation(program), dump);
  std::ostringstream line;
  line << calls_summary(whole) << "marked=" << report.marks.size() << " computed_again=" << report.predicted_count
       << " copies=" << report.copy_count << " freed_bytes=" << report.freed()
       << " peak_falls_bytes=" << report.peak_without.bytes - report.peak_with.bytes
       << " cpu_peak_falls_bytes=" << report.cpu_peak_without.bytes - report.cpu_peak_with.bytes;
  give(out, json ? as_json(program, report) : as_text(program, report), line.str());
}

}  // namespace hocket_cli
