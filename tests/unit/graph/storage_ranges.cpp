// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops that touch ranges of bytes: against a comparison of all pairs, byte by byte.
#include <hocket/core/message.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/storage_range.hpp>
#include <hocket/graph/unroll.hpp>
#include <hocket/testing/graph_laws.hpp>
#include <hocket/testing/memory_check.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket;
using namespace hocket::graph;
using hocket::testing::broken_law;
using hocket::testing::check_against_memory;
using hocket::testing::graph_oracle;
using hocket::testing::random_source;

namespace {

struct op {
  std::vector<storage_range> in, out;
  std::vector<int> reads, writes;  // variables beside
};
struct program {
  std::vector<op> ops;
};

// How many bytes were in use at most.
class summing_resource : public std::pmr::memory_resource {
 public:
  std::size_t most = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    now_ += bytes;
    most = std::max(most, now_);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    now_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
  std::size_t now_ = 0;
};

// Keeps everything in program order, save one pair.
struct all_but {
  node_id first, second;
  bool reaches(node_id a, node_id b) const { return a < b && !(a == first && b == second); }
};

}  // namespace

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program& p) { return p.ops.size(); }
  static void for_each_read(const program& p, node n, auto&& f) {
    for (const storage_range& r : p.ops[n].in) f(r);
    for (const int v : p.ops[n].reads) f(v);
  }
  static void for_each_write(const program& p, node n, auto&& f) {
    for (const storage_range& r : p.ops[n].out) f(r);
    for (const int v : p.ops[n].writes) f(v);
  }
};

namespace {

// Reports what ops of odd numbers write as a name.
struct odd_ops_have_names : graph_access<program> {
  static void for_each_write(const program& p, node n, auto&& f) {
    if (n % 2 == 1) f(std::string("a"));
    else
      for (const int v : p.ops[n].writes) f(v);
  }
};

program random_program(random_source& random) {
  program p;
  p.ops.resize(random.below(24));
  const std::uint64_t bytes = 1 + random.below(30);
  const auto range = [&]() -> storage_range {
    const std::uint64_t space = random.below(2);
    const std::uint64_t first = random.below(bytes);
    return {space, first, first + 1 + random.below(bytes - first)};
  };
  for (op& o : p.ops) {
    o.in.resize(random.below(3));
    o.out.resize(random.below(3));
    std::generate(o.in.begin(), o.in.end(), range);
    std::generate(o.out.begin(), o.out.end(), range);
    if (random.below(3) == 0) o.reads.push_back(static_cast<int>(random.below(4)));
    if (random.below(3) == 0) o.writes.push_back(static_cast<int>(random.below(4)));
  }
  return p;
}

// What an op touches, one by one: (space, byte), variables in a space of their own.
std::set<std::pair<std::uint64_t, std::uint64_t>> cells(const std::vector<storage_range>& ranges,
                                                        const std::vector<int>& variables) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> all;
  for (const storage_range& r : ranges)
    for (std::uint64_t at = r.first; at < r.end; ++at) all.insert({r.space, at});
  for (const int v : variables) all.insert({99, static_cast<std::uint64_t>(v)});
  return all;
}

std::vector<edge> conflicts(const program& p) {
  const auto meet = [](const auto& x, const auto& y) {
    return std::any_of(x.begin(), x.end(), [&y](const auto& cell) { return y.count(cell) > 0; });
  };
  std::vector<edge> all;
  for (node_id b = 0; b < p.ops.size(); ++b) {
    const auto reads = cells(p.ops[b].in, p.ops[b].reads), writes = cells(p.ops[b].out, p.ops[b].writes);
    for (node_id a = 0; a < b; ++a) {
      const auto read = cells(p.ops[a].in, p.ops[a].reads), written = cells(p.ops[a].out, p.ops[a].writes);
      if (meet(written, reads) || meet(written, writes) || meet(read, writes)) all.push_back({a, b});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("the longest stride backwards is a number like any other", "[graph]") {
  constexpr auto first_of = [](std::uint64_t item_bytes) {
    const std::int64_t sizes[] = {2}, strides[] = {(std::numeric_limits<std::int64_t>::min)()};
    std::uint64_t first = 0;
    for_each_run({.first = std::uint64_t{1} << 63, .item_bytes = item_bytes, .sizes = sizes, .strides = strides},
                 [&](const storage_range& r) { first = first == 0 ? r.end : first; });
    return first;
  };
  static_assert(first_of(1) == 1);  // an overflow would not compile
  CHECK(first_of(1) == 1);
}

TEST_CASE("overlapping ranges order ops as a comparison byte by byte does", "[graph][storage]") {
  random_source random(11);
  std::size_t kept = 0;
  for (int round = 0; round < 4000; ++round) {
    const program p = random_program(random);
    const std::vector<edge> truth = conflicts(p);
    const auto deps = dependencies(p, {.reasons = true});
    REQUIRE(deps);
    if (const std::string law = broken_law(deps->graph(), graph_oracle(p.ops.size(), truth)); !law.empty()) FAIL(law);
    const std::vector<edge> rules = rule_edges(p).value();
    for (const edge& e : rules) CHECK(std::find(truth.begin(), truth.end(), e) != truth.end());
    CHECK(check_against_memory(*deps, p));
    kept += deps->edge_count();
  }
  CHECK(kept > 10'000);
}

TEST_CASE("the check against memory finds just the pairs that an order lacks", "[graph][storage]") {
  random_source random(12);
  int refuted = 0;
  for (int round = 0; round < 1000; ++round) {
    const program p = random_program(random);
    if (p.ops.size() < 2) continue;
    const node_id b = 1 + random.below(p.ops.size() - 1);
    const node_id a = random.below(b);
    const std::vector<edge> truth = conflicts(p);
    const bool needed = std::find(truth.begin(), truth.end(), edge{a, b}) != truth.end();
    std::pmr::vector<hocket::testing::unordered_access> witness;
    const auto proved = check_against_memory(all_but{a, b}, p, graph_access<program>{}, &witness);
    REQUIRE(proved.has_value() == !needed);
    if (proved) continue;
    ++refuted;
    CHECK(proved.error().code == errc::unordered_access);
    CHECK((witness.front().earlier == a && witness.front().later == b));
    if (witness.front().bytes) CHECK(witness.front().bytes->first < witness.front().bytes->end);
  }
  CHECK(refuted > 300);
}

TEST_CASE("the check against memory keeps names and numbers apart", "[graph][storage]") {
  const program p{{{{}, {}, {}, {0}}, {{}, {}, {}, {0}}, {{}, {}, {}, {0}}}};
  const auto deps = dependencies(p, odd_ops_have_names{});
  REQUIRE(deps);
  CHECK(deps->edge_count() == 1);  // the variable 0 of ops 0 and 2; op 1 has a name
  CHECK(check_against_memory(*deps, p, odd_ops_have_names{}));
  hocket::graph::dag<> longer;
  REQUIRE(longer.assign(4, {}));
  CHECK(message(check_against_memory(longer, p, odd_ops_have_names{}).error()) ==
        "the order knows 4 ops, but the program has 3");
}

TEST_CASE("a long history of one storage is cut and united in little memory and time", "[graph][storage]") {
  // A buffer read as a whole, then in halves, quarters and eighths, and written as a whole: again and again.
  program p;
  for (int step = 0; step < 200; ++step) {
    for (std::uint64_t parts = 1; parts <= 8; parts *= 2)
      for (std::uint64_t k = 0; k < parts; ++k)
        p.ops.push_back({{{0, k * 64 / parts, (k + 1) * 64 / parts}}, {}, {}, {}});
    p.ops.push_back({{}, {{0, 0, 64}}, {}, {}});
  }
  const auto deps = dependencies(p);
  REQUIRE(deps);
  CHECK(deps->edge_count() == 200 * 15 + 199 * 15);  // each read between its two writes
  CHECK(check_against_memory(*deps, p));
}

TEST_CASE("views of one buffer take memory in proportion to the views and their edges", "[graph][storage]") {
  // Written once, read in views that all overlap, and written again: ever longer ones from the first byte on, ever
  // longer ones to the last, and some about the middle.
  const auto views = [](std::uint64_t count, int form) {
    program p;
    p.ops.push_back({{}, {{0, 0, 4 * count}}, {}, {}});
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t k = form == 2 ? i * 7919 % count : 2 * count - i - 1;
      p.ops.push_back({{{0, form == 0 ? 0 : k, form == 1 ? 4 * count : 4 * count - k}}, {}, {}, {}});
    }
    p.ops.push_back({{}, {{0, 0, 4 * count}}, {}, {}});
    return p;
  };
  for (int form = 0; form < 3; ++form) {
    std::size_t bytes[2]{};
    for (const int k : {0, 1}) {
      const program p = views(std::uint64_t{1000} << k, form);
      summing_resource memory;
      const auto deps = dependencies(p, {}, &memory);
      REQUIRE(deps);
      CHECK(deps->edge_count() == 2 * (p.ops.size() - 2));
      CHECK(deps->rule_edges() == 2 * (p.ops.size() - 2));
      bytes[k] = memory.most;
    }
    INFO("form " << form << ": " << bytes[0] << " and " << bytes[1] << " bytes");
    CHECK(bytes[1] < 3 * bytes[0]);
  }
}

TEST_CASE("parts of one buffer read and then written one by one wait for their own reads alone", "[graph][storage]") {
  constexpr std::uint64_t count = 3000;
  program p;
  for (std::uint64_t i = 0; i < count; ++i) p.ops.push_back({{{0, 8 * i, 8 * i + 8}}, {}, {}, {}});
  for (std::uint64_t i = 0; i < count; ++i) p.ops.push_back({{}, {{0, 8 * i, 8 * i + 8}}, {}, {}});
  p.ops.push_back({{{0, 4, 8 * count - 4}}, {}, {}, {}});
  const auto deps = dependencies(p);
  REQUIRE(deps);
  CHECK(deps->edge_count() == 2 * count);
  CHECK(deps->downstream(17).front() == count + 17);
}

TEST_CASE("a range without a byte is refused in a sentence", "[graph][storage]") {
  const program empty{{{{{0, 8, 16}}, {}, {}, {}}, {{}, {{0, 32, 40}, {0, 24, 24}}, {}, {}}}};
  const auto deps = dependencies(empty);
  REQUIRE(!deps);
  CHECK(message(deps.error()) ==
        "op 1 touches the bytes from 24 to 24, which is no range: the end must lie above the first byte");
  CHECK(rule_edges(empty).error() == deps.error());
  CHECK(check_against_memory(hocket::graph::dag<>{}, empty).error() == deps.error());
}

TEST_CASE("a range beyond its space is refused in a sentence, also where only one step of two has it",
          "[graph][storage]") {
  struct sized : graph_access<program> {
    static std::uint64_t space_bytes(const program&, std::uint64_t space) { return space == 7 ? 64 : 16; }
  };
  const program good{{{{{0, 8, 16}}, {{7, 16, 64}}, {3}, {}}}};
  CHECK(dependencies(good, sized{}));
  const program read{{{{{0, 8, 16}}, {}, {}, {}}, {{{7, 60, 65}}, {{7, 70, 80}}, {}, {}}}};
  const program written{{{{{0, 8, 16}}, {}, {}, {}}, {{}, {{7, 60, 65}}, {}, {}}}};
  for (const program& p : {read, written}) {
    CHECK(dependencies(p));  // nobody said how long the space is
    const auto deps = dependencies(p, sized{});
    REQUIRE(!deps);
    CHECK(message(deps.error()) == "op 1 touches bytes of space 7 up to 65, but it has 64 bytes");
    CHECK(dependencies_of_steps(p, sized{}).error() == deps.error());
  }
}

TEST_CASE("runs of a strided view are the bytes of its items", "[graph][storage]") {
  random_source random(13);
  int exact = 0, covered = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::int64_t> sizes(random.below(4)), strides(sizes.size());
    for (std::int64_t& s : sizes) s = random.below(5);
    for (std::int64_t& s : strides) s = static_cast<std::int64_t>(random.below(13)) - 3;
    const std::uint64_t item = 1 + random.below(4);
    const strided_view view{7, 1000, item, sizes, strides};
    std::set<std::uint64_t> truth;
    std::vector<std::int64_t> index(sizes.size(), 0);
    for (bool more = std::count(sizes.begin(), sizes.end(), 0) == 0; more;) {
      std::int64_t at = 1000;
      for (std::size_t d = 0; d < sizes.size(); ++d) at += index[d] * strides[d] * static_cast<std::int64_t>(item);
      for (std::uint64_t k = 0; k < item; ++k) truth.insert(static_cast<std::uint64_t>(at) + k);
      std::size_t d = 0;
      while (d < sizes.size() && ++index[d] == sizes[d]) index[d++] = 0;
      more = d < sizes.size();
    }
    std::set<std::uint64_t> told;
    const std::uint64_t most = 1 + random.below(20);
    std::uint64_t ranges = 0;
    const bool is_exact = for_each_run(
        view,
        [&](const storage_range& r) {
          CHECK((r.space == 7 && r.first < r.end));
          ++ranges;
          for (std::uint64_t at = r.first; at < r.end; ++at) told.insert(at);
        },
        most);
    CHECK(ranges <= most);
    if (is_exact) CHECK(told == truth);
    else CHECK((ranges == 1 && *told.begin() == *truth.begin() && *told.rbegin() == *truth.rbegin()));
    ++(is_exact ? exact : covered);
  }
  CHECK((exact > 500 && covered > 100));
}

// Rows apart from each other, rows × planes of them: as many runs, and one more than may be told is too many.
TEST_CASE("as many runs as are allowed are told, one more is covered", "[graph][storage]") {
  for (std::int64_t rows = 1; rows <= 5; ++rows)
    for (std::int64_t planes = 1; planes <= 5; ++planes)
      for (std::uint64_t most = 1; most <= 30; ++most) {
        const std::int64_t sizes[] = {planes, rows, 3}, strides[] = {100, 7, 1};
        std::uint64_t told = 0;
        const bool exact = for_each_run(
            {.item_bytes = 2, .sizes = sizes, .strides = strides}, [&](const storage_range&) { ++told; }, most);
        const auto runs = static_cast<std::uint64_t>(rows * planes);
        CHECK(exact == (runs <= most));
        CHECK(told == (exact ? runs : 1));
      }
}

TEST_CASE("a view of as many dimensions as there may be", "[graph][storage]") {
  std::vector<std::int64_t> sizes(strided_view::most_dimensions, 2), strides;
  for (std::size_t d = 0; d < sizes.size(); ++d) strides.push_back(std::int64_t{1} << (2 * d));
  std::uint64_t told = 0, last = 0;
  CHECK(for_each_run(
      {.sizes = sizes, .strides = strides},
      [&](const storage_range& r) {
        ++told;
        last = r.end;
      },
      std::uint64_t{1} << 16));
  CHECK(told == std::uint64_t{1} << 15);  // the innermost two items stand together
  CHECK(last == 1 + ((std::uint64_t{1} << 32) - 1) / 3);
}

TEST_CASE("a range of which only the end is said begins at byte 0 of space 0", "[graph][storage]") {
  const storage_range head{.end = 4};
  CHECK(head.overlaps({0, 0, 1}));
  CHECK_FALSE(head.overlaps({1, 0, 1}));
  CHECK_FALSE(head.overlaps({0, 4, 5}));
}
