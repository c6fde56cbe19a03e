// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A runner borrows its program.
// expect: deleted
#include <hocket/launch/bridges/pipeline_runner.hpp>
#include <hocket/launch/transports/in_process.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>

using hocket::launch::in_process_transport;

std::string describe(const hocket::pipeline::gpipe& plan, in_process_transport t) {
#ifdef CORRECTED
  const auto program = hocket::launch::from_pipeline(plan).value();
  hocket::launch::pipeline_runner<in_process_transport> runner(program, 0, t);
#else
  hocket::launch::pipeline_runner<in_process_transport> runner(hocket::launch::from_pipeline(plan).value(), 0, t);
#endif
  return runner.message({});
}
