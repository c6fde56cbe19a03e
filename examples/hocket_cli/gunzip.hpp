// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compressed files: PyTorch's profiler writes its traces as .json.gz.
#pragma once
#include <string>

namespace hocket_cli {

/// The content of a gzip file of one or more members (RFC 1951, RFC 1952), checked by its sums; ends the command if the
/// file cannot be read, ends early, is damaged, or holds more than 1 GiB.
std::string read_compressed(const std::string& path);

}  // namespace hocket_cli
