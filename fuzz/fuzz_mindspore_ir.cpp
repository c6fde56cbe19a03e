// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a dump of MindSpore's IR: refused with a sentence, or read the same in pieces of any length. What is
// read has an order, and can be asked about recomputation and collectives.
#include "fuzz.hpp"

#include <hocket/interop/mindspore/collectives.hpp>
#include <hocket/interop/mindspore/follow_calls.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>
#include <hocket/interop/mindspore/recomputation.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const std::string_view text = fuzz::text(data, size);
  const auto program = mindspore::parse_ir(text);
  mindspore::ir_program_reader pieces;
  result<void> fed;
  const std::size_t length = size == 0 ? 1 : 1 + data[0] % 64;
  for (std::size_t at = 0; at < size && fed; at += length) fed = pieces.feed(text.substr(at, length));
  const auto again = fed ? pieces.finish() : result<mindspore::ir_program>(fed.error());
  fuzz::require(program.has_value() == again.has_value());
  if (!program) {
    fuzz::require(!message(program.error()).empty() && program.error() == again.error());
    return 0;
  }
  fuzz::require(program->node_count() == again->node_count());
  for (std::size_t n = 0; n < program->node_count(); ++n)
    for (const std::uint32_t v : program->reads(n)) fuzz::require(v < program->variable_count());
  fuzz::require(graph::dependencies(*program).has_value());
  for (const auto& c : mindspore::list_collectives(*program)) fuzz::require(c.node < program->node_count());
  const auto whole = mindspore::follow_calls(*program, {.max_nodes = 512});
  if (!whole) return 0;
  const mindspore::ir_program& one = whole->program;
  for (std::size_t n = 0; n < one.node_count(); ++n)
    for (const std::uint32_t v : one.reads(n)) fuzz::require(v < one.variable_count());
  fuzz::require(graph::dependencies(one).has_value());
  for (const mindspore::ir_program* const p : {&*program, &one}) {
    const auto report = mindspore::explain_recomputation(*p);
    if (!report) continue;
    fuzz::require(report->kept_without >= 0 && report->kept_with >= 0);
    fuzz::require(report->peak_with.bytes >= 0);
  }
  return 0;
}
