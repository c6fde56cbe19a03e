// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Will this job finish? Collectives and transfers of all ranks, proved before they run.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/check.hpp>
#include <hocket/ranks/machine.hpp>
#include <hocket/ranks/machines.hpp>
#include <hocket/ranks/op.hpp>
#include <hocket/ranks/program.hpp>
#include <hocket/ranks/repair.hpp>
#include <hocket/ranks/tell.hpp>
