// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/machines.hpp>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

namespace detail {

/// The member of an object; null where there is no such object or member.
inline const nlohmann::json* member(const nlohmann::json* object, std::string_view key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(std::string(key));
  return found == object->end() ? nullptr : &*found;
}

/// Whether the memory of the machine's devices is known.
inline bool knows_memory(const nlohmann::json* machine) {
  if (const nlohmann::json* from = member(machine, "from")) machine = from;
  if (machine == nullptr || !machine->is_string()) return false;
  for (const cost::machines::named_machine& each : cost::machines::all)
    if (each.key == machine->get_ref<const std::string&>()) return each.memory_gib > 0;
  return false;
}

}  // namespace detail

/// The required fields that a plan file does not have, in one sentence, so that nobody finds them one by one. Empty if
/// at most one is missing: the reader's own sentence says that. Types and values are not looked at.
/// @param plan  as parse_json_file has it
/// Complexity: O(members).
///
///     interop::missing_of_plan(nlohmann::json::parse(R"({"model": "config.json", "training": {"machine":
///     "h100_sxm"}})"))
///         == "these fields are missing: \"training.sequence\", \"cluster.devices\"";
[[nodiscard]] inline std::string missing_of_plan(const nlohmann::json& plan) {
  if (!plan.is_object()) return {};
  const nlohmann::json* const training = detail::member(&plan, "training");
  const nlohmann::json* const cluster = detail::member(&plan, "cluster");
  const nlohmann::json* const machine = detail::member(training, "machine");
  std::vector<std::string> names;
  const auto need = [&](const nlohmann::json* object, const char* key, const char* name) {
    if (detail::member(object, key) == nullptr) names.emplace_back(name);
  };
  need(&plan, "model", "model");
  need(training, "sequence", "training.sequence");
  need(cluster, "devices", "cluster.devices");
  if (!detail::knows_memory(machine)) need(cluster, "memory_gib", "cluster.memory_gib");
  if (machine == nullptr) {
    need(cluster, "peak_tflops", "cluster.peak_tflops");
    need(cluster, "links", "cluster.links");
  }
  if (names.size() < 2) return {};
  std::string sentence = "these fields are missing:";
  for (std::size_t i = 0; i < names.size(); ++i) sentence += (i == 0 ? " \"" : ", \"") + names[i] + '"';
  if (machine == nullptr) sentence += "; \"training.machine\" says peak, links and most machines' memory";
  return sentence;
}

}  // namespace hocket::inline HOCKET_ABI::interop
