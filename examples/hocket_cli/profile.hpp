// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of `hocket profile`, and commands that compare with a profile, share.
#pragma once
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "fixed.hpp"

namespace hocket_cli {

/// The files of one run of one rank, as one profile; ends the command if a file is none, or if two of them do not
/// belong together. Steps that show as repetitions have numbers.
hocket::ascend::profile read_profiles(const std::vector<std::string>& files);

/// A dump that a profile is joined with, and the node of each kernel.
struct profile_dump {
  hocket::mindspore::ir_program program;
  std::vector<std::uint32_t> node_of;
  std::size_t joined = 0;
};

/// What `hocket profile` is asked for.
struct profile_question {
  std::vector<std::string> files;
  std::string dump, format = "text", by = "type", out, svg, trace, samples, samples_of, samples_shape;
  std::int64_t top = 10, step = -1, bytes_per_row = 0;
  double gap_us = 100;
};

std::string profile_as_text(const hocket::ascend::profile& p, const std::optional<profile_dump>& dump,
                            const profile_question& q);
std::string profile_as_json(const hocket::ascend::profile& p, const std::optional<profile_dump>& dump,
                            const profile_question& q);
/// The samples CSV of `hocket tiling fit`.
std::string profile_samples(const hocket::ascend::profile& p, const profile_question& q);

}  // namespace hocket_cli
