// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the tool writes files: see output.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hocket_cli {

/// Writes data to the file, or to standard output if the path is empty. A file is written under another name in its
/// folder and then renamed, so that a failed write leaves the old file. Devices and pipes are written to as they are.
void write_file(const std::string& path, std::string_view data);

/// A file of a folder of results.
struct named_data {
  std::string name, data;
};
/// Writes a folder of results. All files are written under other names first: if one cannot be, the folder is as it
/// was. Then the last one, the marker, is removed, the others are renamed, and the marker comes last: a folder that has
/// it is whole, and all of its files are from one run.
/// @param files     at least one
/// @param outdated  files that an earlier run may have left, and that this one does not write
void write_folder(const std::string& folder, const std::vector<named_data>& files,
                  const std::vector<std::string>& outdated);

}  // namespace hocket_cli
