// SPDX-License-Identifier: Apache-2.0
// FLOPs, bytes and parameters of a training step, each written once, as a formula. Needs Boost.Hana (hocket::cost).
#pragma once
#include <hocket/cost/config.hpp>
#include <hocket/cost/derivative.hpp>
#include <hocket/cost/evaluate.hpp>
#include <hocket/cost/expression.hpp>
#include <hocket/cost/flops.hpp>
#include <hocket/cost/number.hpp>
#include <hocket/cost/parameters.hpp>
#include <hocket/cost/print.hpp>
#include <hocket/cost/symbols.hpp>
#include <hocket/cost/term.hpp>
#include <hocket/cost/unit.hpp>
