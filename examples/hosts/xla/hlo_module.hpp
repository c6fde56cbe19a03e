// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What both programs need of HLO files.
#pragma once
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace example {

/// Null, and a sentence, if the file is no HLO.
inline std::unique_ptr<xla::HloModule> read_module(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (file) text << file.rdbuf();
  auto module = xla::ParseAndReturnUnverifiedModule(text.str());
  if (module.ok()) return std::move(*module);
  const std::string why(module.status().message());
  std::fprintf(stderr, "%s is no HLO: %s\n", path.c_str(), why.substr(0, why.find('\n')).c_str());
  return nullptr;
}

/// The computation with the most instructions, fusions aside.
inline xla::HloComputation& largest_computation(xla::HloModule& module) {
  xla::HloComputation* largest = module.entry_computation();
  for (xla::HloComputation* c : module.computations())
    if (!c->IsFusionComputation() && c->instruction_count() > largest->instruction_count()) largest = c;
  return *largest;
}

/// The name of a file without folders and ending.
inline std::string name_of(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.rfind(".hlo"));
}

}  // namespace example
