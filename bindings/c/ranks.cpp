// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of ranks: hocket.h over hocket::ranks.
#include <hocket/interop/pipeline_ranks.hpp>
#include <hocket/ranks.hpp>
#include <hocket/text/ranks_csv.hpp>

#include <cstdint>
#include <string>

#include "border.hpp"
#include "schedule.hpp"

namespace ranks = hocket::ranks;
using hocket_c::array;
using hocket_c::guarded;
using hocket_c::refuse;

static_assert(HOCKET_NOT_PROVED == static_cast<int>(ranks::verdict::not_proved) &&
              HOCKET_MAY_HANG == static_cast<int>(ranks::verdict::may_hang) &&
              HOCKET_HANGS == static_cast<int>(ranks::verdict::hangs) &&
              HOCKET_MISMATCH == static_cast<int>(ranks::verdict::mismatch) &&
              HOCKET_SAFE == static_cast<int>(ranks::verdict::safe));

hocket_status hocket_schedule_program(const hocket_schedule* schedule, const hocket_mesh* mesh, char** csv,
                                      hocket_error* error) {
  return guarded(error, {{"schedule", schedule}, {"csv", csv}}, [&] {
    const hocket_mesh one = {1, 1, 1, 1};
    const hocket_mesh& m = mesh == nullptr ? one : *mesh;
    const auto job = schedule->plan.visit([&](const auto& plan) {
      return hocket::interop::ranks_of_pipeline(
          plan, {.tensor = m.tensor, .context = m.context, .data = m.data, .expert = m.expert});
    });
    if (!job) return refuse(error, job.error());
    *csv = hocket_c::copy_of(hocket::text::write_ranks_csv(*job));
    return hocket_status{HOCKET_OK};
  });
}

hocket_status hocket_ranks_check(const char* csv, size_t csv_bytes, const char* machine, int64_t slots, int* verdict,
                                 char** told, hocket_error* error) {
  return guarded(error, {array("csv", csv, csv_bytes), {"verdict", verdict}}, [&] {
    const auto found = ranks::find_machine(machine == nullptr ? "nccl" : machine);
    if (!found) return refuse(error, "machine \"" + std::string(machine) + "\" is not known");
    if (slots < -1 || slots > ranks::max_ranks)
      return refuse(error, "slots is " + std::to_string(slots) + ", but must lie in [-1, " +
                               std::to_string(ranks::max_ranks) + "]");
    ranks::machine rules = found->rules;
    if (slots >= 0) rules.slots = static_cast<std::uint32_t>(slots);
    const auto job = hocket::text::parse_ranks_csv({csv, csv_bytes});
    if (!job) return refuse(error, job.error());
    const auto answer = ranks::check(*job, rules);
    if (!answer) return refuse(error, answer.error());
    if (told != nullptr) *told = hocket_c::copy_of(sentence(*job, *answer));
    *verdict = static_cast<int>(answer->says);
    return hocket_status{HOCKET_OK};
  });
}
