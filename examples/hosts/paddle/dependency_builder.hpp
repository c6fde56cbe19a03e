// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Paddle 3.3.1's dependency builders and stream analyser, for which the wheel has no header: declarations that agree
// with its binary. preload.cpp checks the layout before it trusts it.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace phi {
class DeviceContext;
}

namespace paddle::framework {
class InstructionBase;

namespace interpreter {

using downstream_map = std::map<std::size_t, std::set<std::size_t>>;
using bit_matrix = std::vector<std::vector<bool>>;

class DependencyBuilder {
 public:
  virtual const std::string& GetInstructionName(std::size_t) const;

  bool is_build_;
  std::size_t op_num_;
  std::vector<std::vector<std::size_t>> ops_before_;
  std::vector<std::vector<std::size_t>> ops_behind_;
  std::shared_ptr<downstream_map> op_downstream_map_;
  std::shared_ptr<bit_matrix> op_happens_before_;
  const void* instructions_;  // of the older executor
};

class PirDependencyBuilder : public DependencyBuilder {
 public:
  const downstream_map& Build(std::vector<InstructionBase*> instructions);

  std::vector<InstructionBase*> pir_instructions_;
};

using event_map = std::map<const phi::DeviceContext*, std::map<std::size_t, std::set<std::size_t>>>;

class PirStreamAnalyzer {
 public:
  void ShrinkEventInfo(const PirDependencyBuilder& builder, event_map* events) const;
};

}  // namespace interpreter
}  // namespace paddle::framework
