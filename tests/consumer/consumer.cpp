// SPDX-License-Identifier: Apache-2.0
// What an installed hocket::hocket must at least be able to do; returns 0 only if its answers are right.
#include <hocket/core.hpp>
#include <hocket/timeline/timeline.hpp>

#include <cstdio>

static_assert(HOCKET_VERSION == 100, "the header that was found is the installed one");

int main() {
  const hocket::result<std::uint32_t> bad = hocket::to_id(-1, "node");
  if (bad) return 1;
  std::printf("hocket %s: %s\n", HOCKET_VERSION_STRING, hocket::message(bad.error()).c_str());
  return hocket::ceil_div(7, 2) == 4 ? 0 : 1;
}
