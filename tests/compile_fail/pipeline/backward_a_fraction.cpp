// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: costs
#include <hocket/pipeline/costs.hpp>
#ifdef CORRECTED
constexpr hocket::pipeline::costs times{.backward = 2};
#else
constexpr hocket::pipeline::costs times{.backward = 2.5};
#endif
static_assert(times.backward.whole == 2);
