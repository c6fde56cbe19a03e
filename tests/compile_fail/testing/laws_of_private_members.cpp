// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A class begins with private members.
// expect: or pass such a policy as the second argument. Its members must be public
#include <hocket/testing/access_laws.hpp>

struct program {};

class view {
#ifdef CORRECTED
 public:
#endif
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
};

std::string f(const program& p) { return hocket::testing::broken_law(p, view{}); }
