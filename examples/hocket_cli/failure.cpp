// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "failure.hpp"

#include <utility>

namespace hocket_cli {

void fail(std::string sentence) { throw failure{1, std::move(sentence)}; }
void fail(std::string_view file, const hocket::error& why) { fail(std::string(file) + ": " + message(why)); }

}  // namespace hocket_cli
