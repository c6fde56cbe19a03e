// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command.hpp"
#include "json_fields.hpp"

namespace hocket_cli {

nlohmann::json read_json_file(const std::string& path) { return parse_json_file(read_file(path), path); }

}  // namespace hocket_cli
