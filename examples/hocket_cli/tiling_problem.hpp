// SPDX-License-Identifier: Apache-2.0
// The tiling problem and the tiling answer as JSON (docs/tiling.md, "The file"), for `tiling solve` and `plan`.
#pragma once
#include <hocket/tiling.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hocket_cli {

/// The problem of a parsed file; fail() with one sentence that starts with `where` if it is not one.
hocket::tiling::any_problem read_tiling_problem(const nlohmann::json& value, std::string_view where);

/// One cost curve of such a file, over rows; `field` names it in messages.
hocket::curve::any_curve read_cost_curve(const nlohmann::json& value, std::string_view where, const std::string& field);

/// The answer of a policy: tiles in execution order, times in microseconds.
nlohmann::ordered_json tiling_answer(const hocket::tiling::plan& plan);

/// Parses JSON text; fail() with one sentence if it is not JSON. Depth and size are bounded by the file reader.
nlohmann::json parse_json(std::string_view text, std::string_view where);

}  // namespace hocket_cli
