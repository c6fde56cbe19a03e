// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What counts as one variable: pointers by address, text by its letters, a number together with its kind of type.
#include <hocket/graph/dependencies.hpp>
#include <hocket/testing/access_laws.hpp>
#include <hocket/testing/memory_check.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "catch.hpp"

using namespace hocket;
using namespace hocket::graph;

namespace variables {

enum weights : std::uint8_t { w0, w1 };
enum class gradients : std::uint8_t { g0, g1 };

struct fixed_name {
  char letters[4];
};

using variable = std::variant<int, std::int64_t, std::size_t, weights, gradients, const void*, const float*,
                              const unsigned char*, const std::byte*, std::string, std::string_view, fixed_name>;

struct op {
  std::vector<variable> in, out;
};
struct program {
  std::vector<op> ops;
};

}  // namespace variables

template <>
struct hocket::graph_access<variables::program> {
  using node = std::uint32_t;
  static std::size_t node_count(const variables::program& p) { return p.ops.size(); }
  static void for_each_read(const variables::program& p, node n, auto&& f) { report(p.ops[n].in, f); }
  static void for_each_write(const variables::program& p, node n, auto&& f) { report(p.ops[n].out, f); }

 private:
  static void report(const std::vector<variables::variable>& all, auto&& f) {
    for (const variables::variable& v : all)
      std::visit(
          [&f](const auto& x) {
            if constexpr (requires { x.letters; }) f(x.letters);
            else f(x);
          },
          v);
  }
};

namespace {

using variables::fixed_name;
using variables::gradients;
using variables::variable;
using variables::w0;
using variables::w1;

// Does an op that reads `read` wait for one that wrote `written`? Three judges must agree: the rules, the oracle that
// compares all pairs, and the laws, which walk the policy twice.
bool same_variable(const variable& written, const variable& read) {
  const variables::program p{{variables::op{{}, {written}}, variables::op{{read}, {}}}};
  const auto deps = dependencies(p).value();
  CHECK(testing::broken_law(p, graph_access<variables::program>{}) == "");
  struct nothing {
    static bool reaches(node_id, node_id) { return false; }
  };
  CHECK(testing::check_against_memory(nothing{}, p).has_value() == !deps.reaches(0, 1));
  return deps.reaches(0, 1);
}

}  // namespace

TEST_CASE("A pointer is an address, whatever it points to") {
  const std::array<unsigned char, 3> zeroed{};
  CHECK_FALSE(same_variable(&zeroed[0], &zeroed[1]));
  CHECK(same_variable(&zeroed[0], static_cast<const void*>(&zeroed[0])));
  const std::array<std::byte, 2> bytes{};
  CHECK_FALSE(same_variable(&bytes[0], &bytes[1]));
  const std::array<float, 2> floats{};
  CHECK_FALSE(same_variable(&floats[0], &floats[1]));
  CHECK(same_variable(&floats[1], static_cast<const void*>(&floats[1])));
}

TEST_CASE("Text is its letters, and an array of char ends at its first zero or at its end") {
  CHECK(same_variable(std::string("abc"), std::string_view("abc")));
  CHECK_FALSE(same_variable(std::string("abc"), std::string_view("abcd")));
  CHECK(same_variable(fixed_name{{'a', 'b', '\0', 'x'}}, std::string("ab")));
  CHECK(same_variable(fixed_name{{'a', 'b', 'c', 'd'}}, std::string("abcd")));  // no zero: nothing beyond is read
}

TEST_CASE("Integers of all widths are one kind of number") {
  CHECK(same_variable(3, std::int64_t{3}));
  CHECK(same_variable(std::size_t{3}, 3));
  CHECK_FALSE(same_variable(3, std::int64_t{4}));
  CHECK(same_variable(std::int64_t{1} << 40, std::size_t{1} << 40));
}

TEST_CASE("Equal numbers of other kinds are other variables") {
  const void* const null = nullptr;
  const std::vector<variable> zeros{0, w0, gradients::g0, null, std::string("0"), std::string()};
  for (std::size_t a = 0; a < zeros.size(); ++a)
    for (std::size_t b = 0; b < zeros.size(); ++b) {
      CAPTURE(a, b);
      CHECK(same_variable(zeros[a], zeros[b]) == (a == b));
    }
  CHECK(same_variable(w1, w1));
  CHECK_FALSE(same_variable(w1, gradients::g1));
  CHECK_FALSE(same_variable(w0, w1));
}
