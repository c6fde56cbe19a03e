// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tiling problem and the tiling answer as JSON (docs/tiling.md, "The file"), for `tiling solve` and `plan`.
#pragma once
#include <hocket/tiling.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hocket_cli {

/// The problem of a parsed file; fail() with one sentence that names the field if it is not one.
/// @param path  of the problem within the file, "" if it is the whole file
hocket::tiling::any_problem read_tiling_problem(const nlohmann::json& value, std::string_view file,
                                                const std::string& path = "");

/// The answer of a policy: tiles in execution order, times in microseconds.
nlohmann::ordered_json tiling_answer(const hocket::tiling::plan& plan);

}  // namespace hocket_cli
