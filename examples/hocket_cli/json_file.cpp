// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/interop/files/file_errors.hpp>

#include <string>
#include <utility>

#include "command.hpp"
#include "json_fields.hpp"

namespace hocket_cli {

namespace {
class ending_errors : public hocket::interop::file_errors {
 public:
  void add(std::string sentence) override { fail(std::move(sentence)); }
};
}  // namespace

hocket::interop::file_errors& command_errors() {
  static ending_errors errors;
  return errors;
}

nlohmann::json read_json_file(const std::string& path) { return parse_json_file(read_file(path), path); }

}  // namespace hocket_cli
