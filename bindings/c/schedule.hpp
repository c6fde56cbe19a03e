// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is behind a hocket_schedule.
#pragma once
#include <hocket/hocket.h>
#include <hocket/pipeline/any_schedule.hpp>

struct hocket_schedule {
  hocket::pipeline::any_schedule plan;
};
