// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of the drop-in with hocket inside. It links against libpaddle.so, so that a symbol which this version of
// Paddle lacks keeps it from being loaded.
#include "drop_in.hpp"

#include <hocket/core/message.hpp>
#include <hocket/graph.hpp>

#include <cstdio>
#include <optional>
#include <utility>

#include "comparison.hpp"
#include "paddle_access.hpp"
#include "paddle_answer.hpp"
#include "unknown_ops.hpp"

namespace paddle_flags {
extern bool FLAGS_new_executor_sequential_run;
extern bool FLAGS_add_dependency_for_communication_op;
}  // namespace paddle_flags

namespace example {
namespace {

#ifdef HOCKET_PADDLE_LIES
// For the check: the last instruction comes before the first, which is not so.
struct executor_access : storage_access {
  using storage_access::storage_access;
  static void for_each_control(const instruction_list& list, node n, auto&& f) {
    if (n == 0) f(static_cast<node>(list.size() - 1));
    else f(n - 1);
  }
};
#else
using executor_access = storage_access;
#endif

hocket::graph::dependency_options options() {
  return {.collectives = paddle_flags::FLAGS_add_dependency_for_communication_op,
          .random = true,
          .sequential = paddle_flags::FLAGS_new_executor_sequential_run};
}

// The stream analyser builds the program twice after itself in a builder of its own, asks that one a few questions, all
// on one thread, and forgets it. Its matrix would be four times that of the program.
struct unasked {
  unasked(const builder* b, answer&& a) noexcept : of(b), without_matrix(std::move(a)) {}
  const builder* of;
  answer without_matrix;
};
thread_local std::optional<unasked> pending;

bool replace(builder& b, const instruction_list& list) {
  hocket::result<answer> ours = answer_for<executor_access>(list, options());
  if (!ours) {
    std::fprintf(stderr, "hocket: Paddle builds these dependencies itself: %s\n", message(ours.error()).c_str());
    return false;
  }
  warn_of_unknown_ops(ours->unknown_ops);
  const bool twice = is_twice_the_same(list);
  std::fprintf(stderr, "hocket: replaced ops=%zu twice=%d rules=%zu kept=%zu\n", list.size(), twice ? 1 : 0,
               ours->dependencies->rule_edges(), ours->dependencies->edge_count());
  b.pir_instructions_ = list;
  // From here on nothing throws.
  b.op_num_ = list.size();
  b.op_downstream_map_->swap(ours->map);
  b.op_happens_before_->swap(ours->matrix);
  b.is_build_ = true;
  if (twice) {
    pending.reset();
    pending.emplace(&b, *std::move(ours));
  }
  return true;
}

void before_shrink(const builder& b, const event_map& events) {
  if (!pending || pending->of != &b) return;
  if (!events.empty()) *b.op_happens_before_ = happens_before(*pending->without_matrix.dependencies);
  pending.reset();
}

void report(const builder& b, const instruction_list& list, double paddle_us, const char* folder) {
  compare(b, list, options(), paddle_us, folder);
}

}  // namespace
}  // namespace example

extern "C" const example::drop_in* hocket_paddle_drop_in() {
  static constexpr example::drop_in functions{example::replace, example::now_us, example::report,
                                              example::before_shrink};
  return &functions;
}
