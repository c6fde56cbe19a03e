// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What preload.cpp, which stands before Paddle's functions, asks of drop_in.cpp, which has hocket inside.
#pragma once
#include "dependency_builder.hpp"

namespace example {

using instruction_list = std::vector<paddle::framework::InstructionBase*>;
using builder = paddle::framework::interpreter::PirDependencyBuilder;
using stream_analyzer = paddle::framework::interpreter::PirStreamAnalyzer;
using paddle::framework::interpreter::bit_matrix;
using paddle::framework::interpreter::downstream_map;
using paddle::framework::interpreter::event_map;

using build_function = const downstream_map& (*)(builder*, instruction_list);
using shrink_function = void (*)(const stream_analyzer*, const builder&, event_map*);

struct drop_in {
  /// Fills the builder as its own Build would. False, with a sentence on stderr and nothing changed, if it cannot.
  bool (*replace)(builder&, const instruction_list&);
  /// Processor time of this thread, which other processes on the machine do not lengthen.
  double (*now_us)();
  /// Says on stderr how the edges that Paddle has built differ from ours. With a folder, writes all of them down.
  void (*compare)(const builder&, const instruction_list&, double paddle_us, const char* folder);
  /// Fills the matrix of a builder that `replace` has left without one, if a question will be asked.
  void (*before_shrink)(const builder&, const event_map&);
};

}  // namespace example

extern "C" const example::drop_in* hocket_paddle_drop_in();
