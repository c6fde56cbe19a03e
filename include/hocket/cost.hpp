// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FLOPs, bytes, parameters and seconds of a training step, each written once, as a formula. Needs Boost.Hana
// (hocket::cost). Left out, to be included by name: what reads measurements (measure_step.hpp, fit_machine.hpp,
// measured_hardware.hpp), the shapes of weights (optimizer_parallel.hpp) and the lines of a predicted step
// (step_report.hpp). They need headers that formulas do not.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/cost/device_memory.hpp>
#include <hocket/cost/formula/batch.hpp>
#include <hocket/cost/formula/derivative.hpp>
#include <hocket/cost/formula/evaluate.hpp>
#include <hocket/cost/formula/expression.hpp>
#include <hocket/cost/formula/number.hpp>
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/formula/reflect.hpp>
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/formula/unit.hpp>
#include <hocket/cost/hardware.hpp>
#include <hocket/cost/machine.hpp>
#include <hocket/cost/machines.hpp>
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/check.hpp>
#include <hocket/cost/model/collective_of_layout.hpp>
#include <hocket/cost/model/communication.hpp>
#include <hocket/cost/model/convention.hpp>
#include <hocket/cost/model/flops.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/layer_cost.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/memory_kinds.hpp>
#include <hocket/cost/model/moved_bytes.hpp>
#include <hocket/cost/model/packing.hpp>
#include <hocket/cost/model/parameters.hpp>
#include <hocket/cost/model/peak_memory.hpp>
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/model/setting.hpp>
#include <hocket/cost/model/static_memory.hpp>
#include <hocket/cost/model/step_formulas.hpp>
#include <hocket/cost/model/step_parts.hpp>
#include <hocket/cost/model/step_time.hpp>
#include <hocket/cost/model/symbols.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/cost/model/utilization.hpp>
#include <hocket/cost/report.hpp>
