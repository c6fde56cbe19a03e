// SPDX-License-Identifier: Apache-2.0
// FLOPs, bytes, parameters and seconds of a training step, each written once, as a formula. Needs Boost.Hana
// (hocket::cost). Left out, to be included by name: what reads measurements (measure_step.hpp, fit_machine.hpp,
// policy.hpp) and the shapes of weights (optimizer_parallel.hpp); they need headers that formulas do not.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/cost/activations.hpp>
#include <hocket/cost/batch.hpp>
#include <hocket/cost/bubble.hpp>
#include <hocket/cost/check_machine.hpp>
#include <hocket/cost/check_sizes.hpp>
#include <hocket/cost/closed_forms.hpp>
#include <hocket/cost/collective_of_layout.hpp>
#include <hocket/cost/communication.hpp>
#include <hocket/cost/config.hpp>
#include <hocket/cost/context_parallel.hpp>
#include <hocket/cost/derivative.hpp>
#include <hocket/cost/evaluate.hpp>
#include <hocket/cost/expression.hpp>
#include <hocket/cost/flops.hpp>
#include <hocket/cost/guide_tables.hpp>
#include <hocket/cost/hardware.hpp>
#include <hocket/cost/in_flight.hpp>
#include <hocket/cost/layer_cost.hpp>
#include <hocket/cost/machine.hpp>
#include <hocket/cost/machines.hpp>
#include <hocket/cost/moved_bytes.hpp>
#include <hocket/cost/number.hpp>
#include <hocket/cost/parameters.hpp>
#include <hocket/cost/partition.hpp>
#include <hocket/cost/peak_memory.hpp>
#include <hocket/cost/plan_report.hpp>
#include <hocket/cost/print.hpp>
#include <hocket/cost/reflect.hpp>
#include <hocket/cost/report.hpp>
#include <hocket/cost/setting.hpp>
#include <hocket/cost/stage_plan.hpp>
#include <hocket/cost/static_memory.hpp>
#include <hocket/cost/step_formulas.hpp>
#include <hocket/cost/step_parts.hpp>
#include <hocket/cost/step_time.hpp>
#include <hocket/cost/symbols.hpp>
#include <hocket/cost/term.hpp>
#include <hocket/cost/unit.hpp>
#include <hocket/cost/utilization.hpp>
