// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: result<T>: T must be a value type other than error
#include <hocket/core/result.hpp>
#ifdef CORRECTED
using value = int;
#else
using value = hocket::error;
#endif
hocket::result<value> make();
bool use() { return make().has_value(); }
