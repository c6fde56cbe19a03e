// SPDX-License-Identifier: Apache-2.0
// FLOPs, bytes and parameters of a training step, each written once, as a formula. Needs Boost.Hana (hocket::cost).
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/cost/activations.hpp>
#include <hocket/cost/batch.hpp>
#include <hocket/cost/check_sizes.hpp>
#include <hocket/cost/closed_forms.hpp>
#include <hocket/cost/config.hpp>
#include <hocket/cost/derivative.hpp>
#include <hocket/cost/evaluate.hpp>
#include <hocket/cost/expression.hpp>
#include <hocket/cost/flops.hpp>
#include <hocket/cost/in_flight.hpp>
#include <hocket/cost/number.hpp>
#include <hocket/cost/parameters.hpp>
#include <hocket/cost/partition.hpp>
#include <hocket/cost/print.hpp>
#include <hocket/cost/report.hpp>
#include <hocket/cost/setting.hpp>
#include <hocket/cost/static_memory.hpp>
#include <hocket/cost/symbols.hpp>
#include <hocket/cost/term.hpp>
#include <hocket/cost/unit.hpp>
#include <hocket/cost/utilization.hpp>
