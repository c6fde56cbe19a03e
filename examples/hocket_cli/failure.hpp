// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How what the sub-commands share says no. It knows no command line: the library for C reads texts with it, too.
#pragma once
#include <hocket/core.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace hocket_cli {

/// Ends the command: main prints the sentence, if any, and exits. 1: the input is bad or infeasible. 2: wrong usage.
struct failure {
  int exit_code;
  std::string sentence;
};

/// Bad or infeasible input: exit 1.
[[noreturn]] void fail(std::string sentence);
/// Bad input in a named file: "FILE: sentence", exit 1.
[[noreturn]] void fail(std::string_view file, const hocket::error& why);

/// The value, or fail(file, why).
template <class T>
T value_or_fail(hocket::result<T>&& r, std::string_view file) {
  if (!r) fail(file, r.error());
  return std::move(r).value();
}

/// The same for a CSV: says what its first line must be, if that is what is wrong.
template <class T>
T table_or_fail(hocket::result<T>&& r, const std::string& file, std::string_view header) {
  if (!r && r.error().code == hocket::errc::malformed && r.error().values[0] == 1)
    fail(file + ": " + message(r.error()) + ": the first line must be " + std::string(header));
  return value_or_fail(std::move(r), file);
}

}  // namespace hocket_cli
