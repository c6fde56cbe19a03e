// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// File forms to values and back, from string_view: no I/O.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/text/comparison_csv.hpp>
#include <hocket/text/edges_csv.hpp>
#include <hocket/text/graph_dot.hpp>
#include <hocket/text/ops_csv.hpp>
#include <hocket/text/ops_table.hpp>
#include <hocket/text/ranks_csv.hpp>
#include <hocket/text/samples_csv.hpp>
#include <hocket/text/schedule_csv.hpp>
#include <hocket/text/schedule_jobs.hpp>
