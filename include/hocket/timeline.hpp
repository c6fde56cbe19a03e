// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Spans on lanes, what they say, and pictures of them.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/timeline/analysis.hpp>
#include <hocket/timeline/ascii.hpp>
#include <hocket/timeline/chrome_trace.hpp>
#include <hocket/timeline/detail/rows.hpp>
#include <hocket/timeline/detail/writing.hpp>
#include <hocket/timeline/svg.hpp>
#include <hocket/timeline/time_bins.hpp>
#include <hocket/timeline/timeline.hpp>
