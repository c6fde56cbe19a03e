// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: column_of
// A column refers to its numbers: a temporary would be gone before the batch is evaluated.
#include <hocket/cost/formula/batch.hpp>
#include <hocket/cost/model/symbols.hpp>

#include <vector>

using hocket::cost::letters::tp;
#ifdef CORRECTED
inline const std::vector<double> sizes{1, 2, 4};
inline const auto column = hocket::cost::column_of(tp, sizes);
#else
inline const auto column = hocket::cost::column_of(tp, std::vector<double>{1, 2, 4});
#endif
