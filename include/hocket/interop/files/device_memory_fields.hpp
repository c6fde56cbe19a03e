// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/bytes.hpp>
#include <hocket/cost/device_memory.hpp>
#include <hocket/interop/files/fixed.hpp>
#include <hocket/interop/files/json_object.hpp>

#include <cstdint>
#include <string>

namespace hocket::inline HOCKET_ABI::interop {

/// "memory_gib" and "reserve_gib" of a cluster: the memory of one device. It is an error if nothing is left.
/// @param of_machine  GiB that the machine is known to have, for a cluster that does not say; 0: it must say
[[nodiscard]] inline cost::device_memory read_memory(const json_object& cluster, std::int64_t of_machine = 0) {
  const bool known = of_machine > 0 && !cluster.has("memory_gib");
  const double all = known ? static_cast<double>(of_machine) : cluster.positive("memory_gib");
  if (all * bytes_per_gib < 1 || all > 1e6)
    cluster.fail_at("memory_gib", "must be at least one byte and at most 1000000");
  const double usual = static_cast<double>(cost::usual_reserve.count()) / bytes_per_gib;
  const double reserve = cluster.not_negative_or("reserve_gib", usual);
  if (reserve >= all)
    cluster.fail_at(cluster.has("reserve_gib") ? "reserve_gib" : "memory_gib",
                    "leaves nothing for training: of " + shown(all) + " GiB, " + shown(reserve) +
                        " are in reserve (\"reserve_gib\")");
  if (!cluster.errors().none()) return {};
  const auto whole_bytes = [](double gib) { return bytes(static_cast<std::int64_t>(gib * bytes_per_gib)); };
  return {.capacity = whole_bytes(all), .reserve = whole_bytes(reserve)};
}

}  // namespace hocket::inline HOCKET_ABI::interop
