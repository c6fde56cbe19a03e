// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: deleted
// expect: word
// The word lies in the error, which ends with the statement.
#include <hocket/core/error.hpp>

hocket::error why();

#ifdef CORRECTED
const hocket::error kept = why();
const std::string_view word = kept.word();
#else
const std::string_view word = why().word();
#endif
