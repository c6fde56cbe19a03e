// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "unit.hpp"

#include <cstdio>

namespace {
int host_assertions = 0;

bool expect(bool held, const char* what) {
  if (!held) std::fprintf(stderr, "failed: %s\n", what);
  return held;
}
bool same_values(const odr_answer& a, const odr_answer& b) {
  return a.message == b.message && a.digest == b.digest && a.id == b.id && a.refused == b.refused;
}
bool mode(const odr_answer& a, int assertions, int exceptions) {
  return a.assertion_mode == assertions && a.exceptions == exceptions;
}
}  // namespace

void hocket_odr_host_assert(const char* condition) noexcept;
void hocket_odr_host_assert(const char*) noexcept { ++host_assertions; }

int main() {
  const odr_answer checked = odr_checked(0), again = odr_checked_again(0), unchecked = odr_unchecked(0),
                   hosted = odr_hosted(0), bare = odr_no_exceptions(0), standard = odr_standard(0);
  bool ok = expect(checked.message == "node 7 cannot happen before itself", "the sentence of an error");
  ok &= expect(checked.id == 41 && checked.refused, "ids are checked");
  ok &= expect(odr_unchecked(1).digest != checked.digest, "the digest depends on its input");
  ok &= expect(same_values(checked, again) && same_values(checked, unchecked) && same_values(checked, hosted) &&
                   same_values(checked, bare) && same_values(checked, standard),
               "every mode gives the same answers");
  ok &= expect(mode(checked, 1, 1) && mode(again, 1, 1), "assertions on");
  ok &= expect(mode(unchecked, 0, 1), "assertions off under NDEBUG");
  ok &= expect(mode(hosted, 2, 1), "assertions routed to the host");
  ok &= expect(mode(bare, 1, 0), "no exceptions");
  ok &= expect(host_assertions == 1, "the host's assertion saw the one broken precondition, and only that");
  return ok ? 0 : 1;
}
