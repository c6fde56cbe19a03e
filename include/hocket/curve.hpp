// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Time as a function of size.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/curve/affine.hpp>
#include <hocket/curve/alpha_beta.hpp>
#include <hocket/curve/any_curve.hpp>
#include <hocket/curve/combinators.hpp>
#include <hocket/curve/cost_curve.hpp>
#include <hocket/curve/isotonic.hpp>
#include <hocket/curve/matmul_roofline.hpp>
#include <hocket/curve/piecewise_polynomial.hpp>
#include <hocket/curve/polynomial.hpp>
#include <hocket/curve/segments.hpp>
#include <hocket/curve/table.hpp>
