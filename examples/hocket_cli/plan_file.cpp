// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan file with the files that it names.
#include <filesystem>

#include "command.hpp"
#include "cost_fit.hpp"
#include "json_fields.hpp"
#include "plan_step.hpp"

namespace hocket_cli {

plan_input read_plan_file(const std::string& file, const std::string& machine) {
  nlohmann::json plan = read_json_file(file);
  if (!machine.empty() && plan.is_object() && plan.contains("training"))
    plan["training"] = with_machine(plan["training"], machine);
  return read_plan(plan, file);
}

plan_input read_plan(const nlohmann::json& plan, const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const auto named = [&](const std::string& name) {
    const std::string path = (folder / name).lexically_normal().string();
    return named_text{path, read_file(path)};
  };
  return hocket::interop::read_plan(plan, file, named, command_errors());
}

}  // namespace hocket_cli
