// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/cost/model/parallel.hpp>
#include <hocket/cost/model/replay_set.hpp>
#include <hocket/interop/files/json_object.hpp>
#include <hocket/interop/files/recompute_lists.hpp>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::interop {

namespace detail {

// "replay": names of operations that are computed again, beside the gather after a sequence-parallel norm, which
// frameworks do again anyway. "-gather": they keep what was gathered.
inline cost::replay_set read_replay(const json_object& in) {
  const nlohmann::json& names = in.at("replay");
  cost::replay_set out;
  if (!names.is_array()) {
    in.fail_at("replay", "must be an array of operations");
    return out;
  }
  for (const nlohmann::json& each : names) {
    bool found = each == "-gather";
    if (found) out.gather = false;
    for (const cost::layer_operation which : cost::replayable) {
      if (!each.is_string() || each.get_ref<const std::string&>() != cost::to_string(which)) continue;
      out.*cost::flag_of(which) = found = true;
    }
    if (found) continue;
    std::string known = "-gather";
    for (const cost::layer_operation which : cost::replayable) known += ", " + std::string(to_string(which));
    in.fail_at("replay", "must hold names of operations: " + known);
  }
  return out;
}

}  // namespace detail

/// What an object of parallel sizes says (docs/file_forms.md).
/// @param path    of the object within the file, "" if it is the whole file
/// @param replay  takes the operations of the field "replay"; without it there is no such field
/// @param lists   takes "recompute" and "select_recompute" as they are written; null: no lists
[[nodiscard]] inline cost::parallel read_parallel(const nlohmann::json& parallel, std::string_view file,
                                                  const std::string& path, cost::replay_set* replay,
                                                  recompute_lists* lists, file_errors& errors) {
  // "replay" is a field where somebody takes it; elsewhere it is unknown, like any other.
  const json_object in(parallel, file, path,
                       {"version", "tp", "pp", "vp", "dp", "cp", "ep", "etp", "sequence_parallel", "zero", "recompute",
                        "copies", "offload_optimizer", "offload_activations", "cp_comm_type",
                        replay != nullptr ? "replay" : "version", lists != nullptr ? "select_recompute" : "version"},
                       errors);
  if (lists != nullptr) detail::take_lists(in, *lists, true);
  if (replay != nullptr && in.has("replay")) *replay = detail::read_replay(in);
  cost::parallel p;
  p.tp = in.size_or("tp", 1);
  p.pp = in.size_or("pp", 1);
  p.vp = in.size_or("vp", 1);
  p.dp = in.size_or("dp", 1);
  p.cp = in.size_or("cp", 1);
  p.ep = in.size_or("ep", 1);
  p.etp = in.size_or("etp", 1);
  std::int64_t devices = 1;
  for (const std::int64_t ways : {p.tp, p.pp, p.dp, p.cp})
    if (!checked_multiply(devices, ways, devices) || devices > (std::numeric_limits<std::int32_t>::max)())
      errors.add(std::string(file) + ": tp x pp x dp x cp is more than 2^31 - 1 devices");
  // A stage is a row of the report; the limit is that of pipeline::shape.
  if (constexpr std::int64_t most_stages = 65'536; p.pp * p.vp > most_stages)
    errors.add(std::string(file) + ": pp x vp is more than " + std::to_string(most_stages) + " stages");
  p.sequence_parallel = in.boolean_or("sequence_parallel", false);
  p.zero = static_cast<cost::zero>(in.integer_or("zero", 0, 0, 3));
  if (lists == nullptr || lists->whole.is_null() || (in.has("recompute") && in.at("recompute").is_string()))
    p.recompute = static_cast<cost::recompute>(in.choice_or("recompute", {"none", "selective", "full"}, 0));
  if (lists != nullptr && !lists->whole.is_null() && in.has("recompute") && in.at("recompute").is_string())
    in.fail_at("recompute", "is given in " + lists->file + ", too: say it once");
  p.copies = in.size_or("copies", 1);
  p.offload_optimizer = in.boolean_or("offload_optimizer", false);
  p.offload_activations = in.boolean_or("offload_activations", false);
  p.cp_exchange = static_cast<cost::context_exchange>(in.choice_or("cp_comm_type", {"p2p", "all_gather", "a2a"}, 0));
  return p;
}

}  // namespace hocket::inline HOCKET_ABI::interop
