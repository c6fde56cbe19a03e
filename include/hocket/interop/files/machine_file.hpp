// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/printable.hpp>
#include <hocket/cost/hardware.hpp>
#include <hocket/cost/machines.hpp>
#include <hocket/cost/model/parallel.hpp>
#include <hocket/interop/files/json_object.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

/// A machine as data: one of cost::machines by name, or rates from a file.
struct machine_input {
  std::string name, source;
  cost::machine rates;
  double worst_error = 0;       ///< relative, of its fit; 0: none
  std::int64_t memory_gib = 0;  ///< of a device; 0: not known
};

/// A number of a machine as files call it.
struct machine_number {
  const char* key;
  double cost::machine::* member;
};
/// The numbers of a machine by their keys in files. Those that end in "_flops" or "_bytes" are work a second.
inline constexpr machine_number machine_numbers[] = {{"gemm_flops", &cost::machine::gemm_flops},
                                                     {"attention_flops", &cost::machine::attention_flops},
                                                     {"memory_bytes", &cost::machine::memory_bytes},
                                                     {"tensor_bytes", &cost::machine::tensor_bytes},
                                                     {"expert_bytes", &cost::machine::expert_bytes},
                                                     {"pipeline_bytes", &cost::machine::pipeline_bytes},
                                                     {"data_bytes", &cost::machine::data_bytes},
                                                     {"host_bytes", &cost::machine::host_bytes},
                                                     {"fp8_flops", &cost::machine::fp8_flops},
                                                     {"mxfp8_flops", &cost::machine::mxfp8_flops},
                                                     {"nvfp4_flops", &cost::machine::nvfp4_flops},
                                                     {"cores", &cost::machine::cores},
                                                     {"block_rows", &cost::machine::block_rows},
                                                     {"block_columns", &cost::machine::block_columns},
                                                     {"block_seconds", &cost::machine::block_seconds},
                                                     {"tensor_overlap", &cost::machine::tensor_overlap},
                                                     {"context_overlap", &cost::machine::context_overlap},
                                                     {"pipeline_overlap", &cost::machine::pipeline_overlap},
                                                     {"data_overlap", &cost::machine::data_overlap},
                                                     {"expert_overlap", &cost::machine::expert_overlap},
                                                     {"host_overlap", &cost::machine::host_overlap},
                                                     {"load_seconds", &cost::machine::load_seconds},
                                                     {"post_seconds", &cost::machine::post_seconds},
                                                     {"launch_seconds", &cost::machine::launch_seconds},
                                                     {"launches", &cost::machine::launches},
                                                     {"expert_launches", &cost::machine::expert_launches},
                                                     {"kernel_seconds", &cost::machine::kernel_seconds},
                                                     {"spread", &cost::machine::spread}};

namespace detail {

// The machine of a name, looked up as a choice so that a wrong one is answered with those there are.
inline machine_input machine_of_name(const json_object& in, const char* key) {
  std::vector<std::string_view> keys;
  for (const cost::machines::named_machine& each : cost::machines::all) keys.push_back(each.key);
  const cost::machines::named_machine& named = cost::machines::all[in.choice(key, keys)];
  const cost::machine_data& found = named.data;
  return {std::string(found.name), std::string(found.source), found.rates, found.worst_error, named.memory_gib};
}

// "links": the levels of links between devices, from the innermost.
inline void read_links(const json_object& in, cost::machine& rates) {
  constexpr std::int64_t most_ranks = std::int64_t{1} << 31;
  const nlohmann::json& levels = in.at("links");
  if (!levels.is_array() || levels.empty() || levels.size() > cost::most_link_levels)
    return in.fail_at("links", "must be a list of 1 to " + std::to_string(cost::most_link_levels) + " levels");
  std::int64_t inner = 0;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const json_object level(levels[at], in.file(), in.name("links") + "[" + std::to_string(at) + "]",
                            {"ranks", "bytes", "seconds"}, in.errors());
    cost::link_level& to = rates.links[at];
    to.ranks = level.integer("ranks", inner + 1, most_ranks);
    to.bytes = level.positive("bytes");
    to.seconds = level.not_negative_or("seconds", 0);
    inner = to.ranks;
  }
  for (std::size_t at = levels.size(); at < cost::most_link_levels; ++at) rates.links[at] = {};
}

inline void read_numbers(const json_object& in, cost::machine& rates) {
  constexpr double least_rate = 1, most_rate = 1e30, most_other = 1e9;
  for (const machine_number& x : machine_numbers) {
    if (!in.has(x.key)) continue;
    const std::string_view key = x.key;
    if (key.ends_with("_flops") || key.ends_with("_bytes")) {
      // Rates of no machine would print figures without digits that mean something.
      rates.*x.member = in.positive(x.key);
      if (rates.*x.member < least_rate || rates.*x.member > most_rate)
        in.fail_at(x.key, "must be from 1 to 1e30 a second");
      continue;
    }
    const double value = in.number(x.key);
    if (value < 0 || value > most_other) in.fail_at(x.key, "must be from 0 to 1e9");
    if (key.ends_with("_overlap") && value > 1) in.fail_at(x.key, "must be at most 1");
    if (key.starts_with("block_") && value == 0 && key != "block_seconds") in.fail_at(x.key, "must be above 0");
    rates.*x.member = value;
  }
}

}  // namespace detail

/// A name of cost::machines, or an object with a name, a source and rates (docs/file_forms.md).
/// @param path  of the object that has the member "machine", "" if that is the file
[[nodiscard]] inline machine_input read_machine(const nlohmann::json& machine, std::string_view file,
                                                const std::string& path, file_errors& errors) {
  if (machine.is_string()) {
    const nlohmann::json wrapped{{"machine", machine}};
    return detail::machine_of_name(json_object(wrapped, file, path, {"machine"}, errors), "machine");
  }
  std::vector<std::string_view> keys{"name", "source", "from", "links", "sends_once"};
  for (const machine_number& x : machine_numbers) keys.emplace_back(x.key);
  const json_object in(machine, file, path.empty() ? "machine" : path + ".machine", keys, errors);
  machine_input out;
  if (in.has("from")) out = detail::machine_of_name(in, "from");
  out.name = in.text("name");
  out.source = in.text("source");
  if (out.source.empty()) in.fail_at("source", "is empty: say where the numbers come from");
  for (const std::string* text : {&out.name, &out.source})
    if (!is_printable(*text)) in.fail_at(text == &out.name ? "name" : "source", "has a control character");
  cost::machine& rates = out.rates;
  if (!in.has("from"))
    for (const char* key : {"gemm_flops", "memory_bytes"}) static_cast<void>(in.at(key));
  detail::read_numbers(in, rates);
  if (!in.has("from") && !in.has("attention_flops")) rates.attention_flops = rates.gemm_flops;
  if (in.has("links")) detail::read_links(in, rates);
  rates.sends_once = in.boolean_or("sends_once", rates.sends_once);
  return out;
}

namespace detail {

struct needed_rate {
  bool needed;
  const char* key;
  double rate;
};
// Tells the errors the first rate that is needed and not there.
inline void need_all(const machine_input& on, std::initializer_list<needed_rate> rates, std::string_view file,
                     const char* who_needs, file_errors& errors) {
  for (const needed_rate& x : rates)
    if (x.needed && x.rate <= 0)
      return errors.add(std::string(file) + ": machine \"" + on.name + "\" has no \"" + x.key + "\", which " +
                        who_needs);
}

}  // namespace detail

/// Tells the errors where a machine lacks a rate that a step needs.
inline void need_rates(const machine_input& on, bool has_experts, const cost::parallel& p, std::string_view file,
                       file_errors& errors) {
  const bool by_group = !on.rates.has_links();
  detail::need_all(on,
                   {{by_group && (p.tp > 1 || p.cp > 1), "tensor_bytes", on.rates.tensor_bytes},
                    {by_group && has_experts && p.ep > 1, "expert_bytes", on.rates.expert_bytes},
                    {by_group && p.pp > 1, "pipeline_bytes", on.rates.pipeline_bytes},
                    {by_group && (p.dp > 1 || p.cp > 1), "data_bytes", on.rates.data_bytes},
                    {p.offload_optimizer || p.offload_activations, "host_bytes", on.rates.host_bytes}},
                   file, "this step needs", errors);
}

}  // namespace hocket::inline HOCKET_ABI::interop
