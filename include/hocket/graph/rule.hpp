// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/op_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::graph {

/// Why one op must run before another. Where several rules ask for the same edge, a read after write is named before
/// the other hazards, and a hazard before the rest.
enum class rule : std::uint8_t {
  read_after_write,   ///< the later op reads what the earlier one wrote
  write_after_write,  ///< both write, and nobody reads in between
  write_after_read,   ///< the later op overwrites what the earlier one reads
  sequential,         ///< all ops run in program order
  collective,         ///< both use one communication ring
  random,             ///< both use one random generator
  io,                 ///< both use one file, log or terminal
  control,            ///< the host asked for it
  barrier,            ///< one of them is a barrier
  start_up,           ///< the first op of the edge starts the step, and the second has nothing else to wait for
  lifetime,           ///< the later op uses memory that the earlier one owns
};

/// One line for a picture or a log: "read after write".
[[nodiscard]] constexpr std::string_view to_string(rule r) noexcept {
  constexpr std::string_view names[] = {
      "read after write", "write after write", "write after read", "sequential", "collective", "random", "io",
      "control",          "barrier",           "start-up",         "lifetime"};
  return names[static_cast<std::size_t>(r)];
}

/// Why an edge exists: the rule, and over what.
struct reason {
  graph::rule rule = rule::read_after_write;
  /// Hazards: the variable, as the host reports it if that is a number or a pointer (of an alias, the part); for names
  /// their rank in order of first use. Resources: their id. Else 0.
  std::uint64_t subject = 0;
  friend constexpr bool operator==(const reason&, const reason&) = default;
};

/// Something that ops use in program order only: a communication ring, a random generator, a file. Ops that use the
/// same one are chained if dependency_options says so for its kind.
struct ordered_resource {
  op_kind kind = op_kind::collective;
  std::uint32_t id = 0;  ///< among those of its kind: the process group, the generator, the file
};

/// What an op separates, besides doing its own work.
enum class barrier : std::uint8_t {
  none,
  before,  ///< it waits for every earlier op
  after,   ///< every later op waits for it
  both,
};

}  // namespace hocket::inline HOCKET_ABI::graph
