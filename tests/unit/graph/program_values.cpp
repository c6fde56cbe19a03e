// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which values a program has, by what its ops read and write.
#include <hocket/graph/program_values.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::graph::issue_values;
using hocket::graph::storage_range;
using hocket::graph::value_life;

namespace {

struct op {
  std::vector<std::string> in, out;
  std::vector<storage_range> bytes_in{}, bytes_out{};
};
struct host {
  std::vector<op> ops;
  std::map<std::string, std::vector<std::string>> parts{};
};

struct told {
  std::int64_t bytes;
  std::vector<node_id> ops;
  value_life life;
  bool operator==(const told&) const = default;
};

}  // namespace

template <>
struct hocket::graph_access<host> {
  using node = std::uint32_t;
  static std::size_t node_count(const host& h) { return h.ops.size(); }
  static void for_each_read(const host& h, node n, auto&& f) {
    for (const auto& v : h.ops[n].in) f(v);
    for (const auto& r : h.ops[n].bytes_in) f(r);
  }
  static void for_each_write(const host& h, node n, auto&& f) {
    for (const auto& v : h.ops[n].out) f(v);
    for (const auto& r : h.ops[n].bytes_out) f(r);
  }
  static void for_each_part(const host& h, const std::string& variable, auto&& f) {
    if (const auto at = h.parts.find(variable); at != h.parts.end())
      for (const std::string& part : at->second) f(part);
  }
  static void for_each_part(const host&, const storage_range& bytes, auto&& f) { f(bytes); }
};

namespace {

// A variable's size is ten times the number of the op that writes it, plus ten.
std::vector<told> values_of(const host& h) {
  const issue_values values =
      hocket::graph::values_of(h, [](node_id n, const std::string&) { return std::int64_t{10} * (n + 1); });
  std::vector<told> out;
  for (std::size_t v = 0; v < values.size(); ++v)
    out.push_back({values.bytes(v), {values.ops(v).begin(), values.ops(v).end()}, values.life(v)});
  return out;
}

}  // namespace

TEST_CASE("a value lives from its write to its last read; what nobody reads is a result", "[graph]") {
  const host h{{{{}, {"a"}}, {{"a"}, {"b"}}, {{"a"}, {"c"}}, {{"c"}, {}}}};
  CHECK(values_of(h) == std::vector<told>{{10, {0, 1, 2}, value_life::within},
                                          {20, {1}, value_life::to_the_end},
                                          {30, {2, 3}, value_life::within}});
}

TEST_CASE("a write without a read begins a new value, one in place goes on", "[graph]") {
  const host anew{{{{}, {"a"}}, {{"a"}, {}}, {{}, {"a"}}, {{"a"}, {}}}};
  CHECK(values_of(anew) == std::vector<told>{{10, {0, 1}, value_life::within}, {30, {2, 3}, value_life::within}});
  const host in_place{{{{}, {"a"}}, {{"a"}, {"a"}}, {{"a"}, {}}}};
  CHECK(values_of(in_place) == std::vector<told>{{20, {0, 1, 2}, value_life::within}});
  const host over{{{{}, {"a"}}, {{}, {"a"}}}};  // nobody needs the first
  CHECK(values_of(over) == std::vector<told>{{10, {0}, value_life::within}, {20, {1}, value_life::to_the_end}});
}

TEST_CASE("what is read first was there before, and stays unless it is replaced", "[graph]") {
  const host weight{{{{"w"}, {}}, {{"w"}, {"w"}}, {{"w"}, {}}}};
  CHECK(values_of(weight) == std::vector<told>{{20, {0, 1, 2}, value_life::always}});
  const host input{{{{"w"}, {}}, {{}, {"w"}}, {{"w"}, {}}}};  // and the next run reads the new one
  CHECK(values_of(input) == std::vector<told>{{0, {0}, value_life::from_before}, {20, {1, 2}, value_life::to_the_end}});
}

TEST_CASE("a view touches the value of its part, and a buffer those of all its parts", "[graph]") {
  host h{{{{}, {"a"}}, {{}, {"view"}}, {{"view"}, {}}, {{}, {"b"}}, {{}, {"both"}}, {{"a", "b"}, {}}}};
  h.parts = {{"view", {"a"}}, {"both", {"a", "b"}}};
  CHECK(values_of(h) ==
        std::vector<told>{{20, {0, 1, 2, 4, 5}, value_life::within}, {40, {3, 4, 5}, value_life::within}});
}

TEST_CASE("ranges of bytes are values, in pieces that no range cuts", "[graph]") {
  const host h{{{{}, {}, {}, {{1, 0, 10}}}, {{}, {}, {{1, 0, 4}}, {}}, {{}, {}, {{1, 4, 10}}, {{2, 4, 10}}}}};
  CHECK(values_of(h) == std::vector<told>{{4, {0, 1}, value_life::within},
                                          {6, {0, 2}, value_life::within},
                                          {6, {2}, value_life::to_the_end}});
}
