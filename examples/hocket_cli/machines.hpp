// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

namespace hocket_cli {

/// A machine's own name for what people call it: H100, a100-80gb, GB200. A name that nothing is known of stays.
std::string machine_named(const std::string& word);
/// "; did you mean …?" for a machine that does not exist, or nothing.
std::string machines_near(const std::string& word);

}  // namespace hocket_cli
