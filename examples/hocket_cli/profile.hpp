// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of `hocket profile`, and commands that compare with a profile, share.
#pragma once
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/files/fixed.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace hocket_cli {

using hocket::interop::bytes_per_gib, hocket::interop::fixed;

/// Files of one rank.
struct rank_files {
  std::string name;                 ///< the folder of the rank; empty: files were given one by one
  std::int64_t rank = -1;           ///< the number that names of folders and files tell; -1: none does
  std::vector<std::string> files;   ///< to be read
  std::vector<std::string> unused;  ///< that hold nothing which is read here, or the same as others
};
/// The files that arguments name, by rank, in the order of the folders' names. Folders are searched for what
/// MindSpore's, Ascend PyTorch's, msprof's and PyTorch's profilers write. Ends the command if a folder holds nothing of
/// them.
std::vector<rank_files> ranks_of(const std::vector<std::string>& arguments);

/// The files of one run of one rank, as one profile; ends the command if a file is wrong, or if two of them do not
/// belong together. Of several files those that hold nothing known become unused. Steps that show as repetitions have
/// numbers.
hocket::ascend::profile read_profiles(rank_files& rank);

/// A dump that a profile is joined with, and the node of each kernel.
struct profile_dump {
  hocket::mindspore::ir_program program;
  std::vector<std::uint32_t> node_of;
  std::size_t joined = 0;
};

/// What `hocket profile` is asked for.
struct profile_question {
  std::vector<std::string> files, against;
  std::string dump, format = "text", by = "type", out, svg, trace, links_svg, samples, samples_of, samples_shape;
  std::int64_t top = 10, step = -1, bytes_per_row = 0, stages = 0;
  double gap_us = 100;
};

/// What read_profiles gives, of the step that is asked for.
hocket::ascend::profile read_for(rank_files& rank, const profile_question& q);
/// Prints the files and those they are set against side by side.
void compare_measurements(const profile_question& q);

/// @param unused  files that were not used, for a line at the end
std::string profile_as_text(const hocket::ascend::profile& p, const std::optional<profile_dump>& dump,
                            const profile_question& q, const std::vector<std::string>& unused);
/// `# not used: a.csv, b.json`, at most a few names; empty if all were.
std::string unused_text(const std::vector<std::string>& unused);
std::string profile_as_json(const hocket::ascend::profile& p, const std::optional<profile_dump>& dump,
                            const profile_question& q, const std::vector<std::string>& unused);
/// The samples CSV of `hocket tiling fit`.
std::string profile_samples(const hocket::ascend::profile& p, const profile_question& q);

}  // namespace hocket_cli
