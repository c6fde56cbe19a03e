// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What belongs to no component, and the costs of a library without them.
#include "border.hpp"

uint32_t hocket_version(void) { return HOCKET_VERSION; }

const char* hocket_status_name(hocket_status status) {
  switch (status) {
    case HOCKET_OK: return "ok";
    case HOCKET_BAD_INPUT: return "bad input";
    case HOCKET_OUT_OF_MEMORY: return "out of memory";
    case HOCKET_WRONG_ORDER: return "wrong order";
    case HOCKET_HOST_FAILED: return "host failed";
    case HOCKET_NOT_BUILT: return "not built";
    case HOCKET_INTERNAL: return "internal";
    default: return "no status";
  }
}

void hocket_text_destroy(char* text) { delete[] text; }

#if !HOCKET_C_COSTS
hocket_status hocket_cost_report(const char*, const char*, const char*, const char*, char**, hocket_error* error) {
  return hocket_c::fail(error, HOCKET_NOT_BUILT,
                        "this library was built without cost reports: they need Boost.Hana and nlohmann-json");
}
hocket_status hocket_plan_step(const char*, const char*, char**, hocket_error* error) {
  return hocket_c::fail(error, HOCKET_NOT_BUILT,
                        "this library was built without plans of steps: they need Boost.Hana and nlohmann-json");
}
hocket_status hocket_ranks_hang(const char*, char**, hocket_error* error) {
  return hocket_c::fail(error, HOCKET_NOT_BUILT,
                        "this library was built without flight records: they need Boost.Hana and nlohmann-json");
}
#endif
