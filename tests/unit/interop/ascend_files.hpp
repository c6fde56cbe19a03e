// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of profiles share.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "catch.hpp"

namespace profile_files {

inline std::string file(const std::string& name) {
  std::ifstream in(std::string(HOCKET_TEST_DATA) + "/ascend/" + name, std::ios::binary);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline std::string refusal(std::string_view text) {
  const auto r = hocket::ascend::parse_profile(text);
  return r ? "accepted" : message(r.error());
}

}  // namespace profile_files
