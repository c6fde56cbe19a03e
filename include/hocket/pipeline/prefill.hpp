// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward-only pipelines: chunked prefill, and rounds of decoding. Start with prefill/solve.hpp.
#pragma once
#include <hocket/pipeline/prefill/costs.hpp>
#include <hocket/pipeline/prefill/decode_rounds.hpp>
#include <hocket/pipeline/prefill/layers.hpp>
#include <hocket/pipeline/prefill/memory.hpp>
#include <hocket/pipeline/prefill/plan.hpp>
#include <hocket/pipeline/prefill/problem.hpp>
#include <hocket/pipeline/prefill/rules.hpp>
#include <hocket/pipeline/prefill/run.hpp>
#include <hocket/pipeline/prefill/solve.hpp>
