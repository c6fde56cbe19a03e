// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What recomputing an op frees: the guide's cases by hand, sets against brute force, captured PyTorch steps.
#include <hocket/core/error.hpp>
#include <hocket/planner/detail/replay_marks.hpp>
#include <hocket/planner/replay_graph.hpp>
#include <hocket/text/ops_csv.hpp>

#include <array>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket::planner;

namespace {

using list = std::vector<std::uint32_t>;

/// x -> w1 -> (reshape) -> SiLU -> (reshape) -> Mul -> (reshape) -> w2; w3 beside w1. As with frameworks whose
/// reshapes are ops: a reshape's output is a value that the backward pass of its reader reads.
struct feed_forward {
  replay_graph graph;
  std::uint32_t w1, w1_reshape, silu, silu_reshape, w3, mul, mul_reshape, w2;
  explicit feed_forward(std::int64_t s) {
    const auto x = graph.add_value(s, true);
    const auto a = graph.add_value(4 * s, false);
    w1 = graph.add_op(list{x}, list{a}, 100);
    const auto a2 = graph.add_view(a, true);  // SiLU's backward reads its input
    w1_reshape = graph.add_op(list{a}, list{a2}, 0);
    const auto b = graph.add_value(4 * s, false);
    silu = graph.add_op(list{a2}, list{b}, 1);
    const auto b2 = graph.add_view(b, true);  // Mul's backward reads both inputs
    silu_reshape = graph.add_op(list{b}, list{b2}, 0);
    const auto c = graph.add_value(4 * s, true);
    w3 = graph.add_op(list{x}, list{c}, 100);
    const auto d = graph.add_value(4 * s, false);
    mul = graph.add_op(list{b2, c}, list{d}, 1);
    const auto d2 = graph.add_view(d, true);  // the product's backward reads its input
    mul_reshape = graph.add_op(list{d}, list{d2}, 0);
    const auto y = graph.add_value(s, false);
    w2 = graph.add_op(list{d2}, list{y}, 100);
  }
};

}  // namespace

TEST_CASE("SiLU and Mul free nothing while reshapes between them keep the tensors", "[planner][replay]") {
  const std::int64_t s = 1000;
  const feed_forward f(s);
  CHECK(f.graph.effect_of({}).bytes_before == s + 4 * 4 * s);
  const auto marked = f.graph.effect_of(list{f.silu, f.mul});
  CHECK(marked.freed() == 0);
  CHECK(marked.again.empty());  // "optimised away"
  CHECK(marked.extra == 0);
  const auto all = f.graph.effect_of(list{f.silu, f.mul, f.silu_reshape, f.mul_reshape});
  CHECK(all.freed() == 8 * s);  // SiLU's output and the product
  CHECK(all.extra == 2);
  CHECK(all.again.size() == 4);
  const auto best = solve(replay_problem{f.graph, 4});
  CHECK(best.proved);
  CHECK(best.effect.freed() == 8 * s);  // nothing else of four ops frees more, and nothing as cheaply
  CHECK(best.ops == list{f.silu, f.silu_reshape, f.mul, f.mul_reshape});
}

TEST_CASE("recompute pays iff inputs are smaller than outputs: casts both ways, the all-gather", "[planner][replay]") {
  for (const auto& [in, out] : {std::pair<std::int64_t, std::int64_t>{2, 4}, {4, 2}, {1, 8}, {3, 3}}) {
    replay_graph g;
    const auto before = g.add_value(in, false), after = g.add_value(out, true);
    g.add_op({}, list{before}, 5);
    const auto cast = g.add_op(list{before}, list{after}, 1);
    const auto effect = g.effect_of(list{cast});
    CHECK(effect.freed() == out - in);  // to 32 bits: saves half; to 16 bits: costs; all-gather over 8: saves 7/8
    CHECK(effect.extra == 1);
    CHECK(solve(replay_problem{g, 1}).effect.freed() == (solve(replay_problem{g, 1}).ops == list{0} ? 0
                                                         : out - in > 0                             ? out - in
                                                                                                    : 0));
  }
}

TEST_CASE("the best set equals brute force on random graphs", "[planner][replay]") {
  std::mt19937 random(5);
  const auto draw = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int n = 0; n < 300; ++n) {
    replay_graph g;
    std::vector<std::uint32_t> values{g.add_value(1 + draw(9), draw(2) == 0, draw(3) == 0)};
    const std::uint32_t ops = 2 + draw(7);
    for (std::uint32_t o = 0; o < ops; ++o) {
      list reads{values[draw(static_cast<std::uint32_t>(values.size()))]};
      if (draw(2) == 0) reads.push_back(values[draw(static_cast<std::uint32_t>(values.size()))]);
      const auto v = draw(5) == 0 ? g.add_view(reads[0], draw(2) == 0) : g.add_value(1 + draw(9), draw(2) == 0);
      g.add_op(reads, list{v}, 1 + draw(5));
      values.push_back(v);
    }
    for (const std::size_t k : {1u, 2u, 3u}) {
      std::int64_t most = 0, least_extra = 0;
      for (std::uint32_t set = 0; set < (1u << ops); ++set) {
        list marked;
        for (std::uint32_t o = 0; o < ops; ++o)
          if ((set >> o & 1u) != 0) marked.push_back(o);
        if (marked.size() > k) continue;
        const auto effect = g.effect_of(marked);
        if (effect.freed() > most || (effect.freed() == most && effect.extra < least_extra)) {
          most = effect.freed();
          least_extra = effect.extra;
        }
      }
      const auto best = solve(replay_problem{g, k});
      CHECK(best.proved);
      CHECK(best.effect.freed() == most);
      CHECK(best.effect.extra == least_extra);  // no op that only takes time
      CHECK(best.ops.size() <= k);
      const auto quick = solve(replay_problem{g, k}, {.budget = 1});
      CHECK(quick.effect.freed() <= most);
      CHECK(quick.most_possible >= most);
    }
  }
}

TEST_CASE("what one mark changes equals the difference of two sets", "[planner][replay]") {
  std::mt19937 random(11);
  const auto draw = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int n = 0; n < 2000; ++n) {
    replay_graph g;
    list values{g.add_value(1 + draw(9), draw(2) == 0, draw(3) == 0)}, marked;
    const std::uint32_t ops = 2 + draw(12);
    for (std::uint32_t o = 0; o < ops; ++o) {
      list reads, writes;
      for (std::uint32_t more = draw(4); more > 0; --more) reads.push_back(values[draw(values.size())]);
      for (std::uint32_t more = 1 + draw(2); more > 0; --more) {
        const std::uint32_t what = draw(6);  // in place, a view of anything, or a value of its own
        if (what == 0) writes.push_back(values[draw(values.size())]);
        else if (what == 1) writes.push_back(g.add_view(values[draw(values.size())], draw(2) == 0));
        else writes.push_back(g.add_value(1 + draw(9), draw(2) == 0, draw(6) == 0));
      }
      g.add_op(reads, writes, 1);
      values.insert(values.end(), writes.begin(), writes.end());
      if (draw(2) == 0) marked.push_back(o);
    }
    detail::replay_marks marks(g, marked);
    const std::int64_t now = g.effect_of(marked).bytes_after;
    REQUIRE(marks.kept_bytes() == now);
    for (std::uint32_t o = 0; o < ops; ++o) {
      list other;
      bool was_marked = false;
      for (const std::uint32_t x : marked) (x == o ? void(was_marked = true) : other.push_back(x));
      if (!was_marked) other.push_back(o);
      INFO("graph " << n << " op " << o);
      REQUIRE(marks.change_of(o) == g.effect_of(other).bytes_after - now);
      REQUIRE(marks.kept_bytes() == now);
    }
  }
}

TEST_CASE("what runs again after writes in place makes what the backward pass reads", "[planner][replay]") {
  {
    replay_graph g;
    const auto x = g.add_value(100, true);
    const auto in_place = g.add_op(list{x}, list{x}, 1);  // its input is gone
    CHECK(g.effect_of(list{in_place}).freed() == 0);
    CHECK(solve(replay_problem{g, 1}).ops.empty());
  }
  {
    replay_graph g;
    const auto w = g.add_value(100, true), v = g.add_value(50, true);
    const auto from_old = g.add_op(list{w}, list{v}, 1), overwrite = g.add_op(list{v}, list{w}, 1);
    CHECK(g.effect_of(list{from_old, overwrite}).kept == list{v});  // what it was made from is overwritten
  }
  {
    replay_graph g;  // ReLU in place, through a view of what another op has read
    const auto a = g.add_value(100, true), y = g.add_value(400, true), w = g.add_value(9, true, true);
    g.add_op(list{w}, list{a}, 1);
    const auto read = g.add_op(list{a}, list{y}, 1);
    const auto view = g.add_view(a, false);
    g.add_op(list{a}, list{view}, 0);
    CHECK(g.effect_of(list{read}).freed() == 400);
    g.add_op(list{view}, list{view}, 1);
    CHECK(g.effect_of(list{read}).freed() == 0);
    CHECK(g.producer(a) == hocket::no_id);
    const auto z = g.add_value(50, true);
    const auto other = g.add_op(list{w}, list{z}, 1);
    CHECK(g.effect_of(list{other}).freed() == 50);
    g.add_op(list{z}, list{w}, 1);  // resident, and overwritten
    CHECK(g.effect_of(list{other}).freed() == 0);
  }
  // Contents of storages as numbers: an op's result is a hash of what it reads; a reshape changes nothing.
  std::mt19937 random(23);
  const auto draw = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  struct op {
    list reads, writes;
    bool renames = false;
  };
  list storage;
  const auto run = [&](const op& o, std::uint32_t number, std::vector<std::uint64_t>& contents) {
    if (o.renames) return;
    std::uint64_t hash = number + 1;
    for (const auto v : o.reads) hash = (hash ^ contents[storage[v]]) * 0x9e3779b97f4a7c15u + (hash >> 29);
    for (const auto v : o.writes) contents[storage[v]] = hash += 77;
  };
  std::int64_t freed = 0;
  for (int n = 0; n < 400; ++n) {
    replay_graph g;
    const std::uint32_t values = 3 + draw(5), count = 2 + draw(5);
    std::vector<char> needed, resident, there;
    storage.clear();
    for (std::uint32_t v = 0; v < values; ++v) {
      needed.push_back(draw(2) == 0);
      resident.push_back(draw(5) == 0);
      storage.push_back(v);
      if (v > 0 && draw(4) == 0) {
        const std::uint32_t of = draw(v);
        g.add_view(of, needed[v] != 0);
        storage[v] = storage[of];
        resident[v] = resident[of];
      } else {
        g.add_value(1 + draw(9), needed[v] != 0, resident[v] != 0);
      }
    }
    there.clear();
    for (std::uint32_t v = 0; v < values; ++v) there.push_back(storage[v] == v ? resident[v] : 0);
    std::vector<op> ops(count);
    std::vector<std::uint64_t> end(values);
    for (std::uint32_t v = 0; v < values; ++v) end[v] = v + 1000;
    for (std::uint32_t o = 0; o < count; ++o) {
      for (std::uint32_t i = draw(3); i > 0; --i) ops[o].reads.push_back(draw(values));
      const auto out = draw(values);
      ops[o].writes.push_back(out);
      for (const auto v : ops[o].reads) there[v] = 1;
      for (const auto v : ops[o].reads)
        ops[o].renames = ops[o].renames || (storage[v] == storage[out] && there[out] == 0);
      there[out] = 1;
      g.add_op(ops[o].reads, ops[o].writes, 1);
      run(ops[o], o, end);
    }
    for (std::uint32_t set = 0; set < (1u << count); ++set) {
      list marked;
      for (std::uint32_t o = 0; o < count; ++o)
        if ((set >> o & 1u) != 0) marked.push_back(o);
      const auto effect = g.effect_of(marked);
      freed += effect.freed() > 0 ? 1 : 0;
      std::vector<std::uint64_t> again(values, 0);
      for (std::uint32_t v = 0; v < values; ++v)
        if (resident[v] != 0) again[storage[v]] = end[storage[v]];
      for (const auto v : effect.kept) again[storage[v]] = end[storage[v]];
      for (const auto o : effect.again) run(ops[o], o, again);
      bool same = true;
      for (std::uint32_t v = 0; v < values; ++v)
        same = same && (needed[v] == 0 || again[storage[v]] == end[storage[v]]);
      CHECK(same);
    }
  }
  CHECK(freed > 100);
}

TEST_CASE("captured PyTorch steps: the best ops, with a bound", "[planner][replay]") {
  const std::string folder = HOCKET_TEST_DATA "/../../examples/data/ops/";
  struct question {
    std::string name;
    std::int64_t freed_by_eight, budget_for_two;  // today: bytes, and sets after which two ops are proved best
  };
  for (const auto& [name, freed_by_eight, budget_for_two] :
       {question{"gpt2_small", 2'250'801'152, 1'411}, {"llama2_13b_stage", 339'738'624, 9'525}}) {
    std::ifstream file(folder + name + ".ops.csv", std::ios::binary), names(folder + name + ".names.csv");
    const auto table = hocket::text::parse_ops_csv(std::string{std::istreambuf_iterator<char>(file), {}});
    REQUIRE(table);
    std::vector<char> forward(table->size(), 0);
    std::vector<std::int64_t> bytes, flops(table->size(), 0);
    std::string line;
    while (std::getline(names, line)) {
      std::array<std::string, 6> cells;
      std::istringstream in(line);
      for (std::string& cell : cells) std::getline(in, cell, ',');
      if (cells[0] == "op") {
        forward.at(std::stoul(cells[1])) = cells[3] == "forward" ? 1 : 0;
        flops.at(std::stoul(cells[1])) = std::stoll(cells[5]);
      } else if (cells[0] == "variable") {
        const std::size_t v = std::stoul(cells[1]);
        if (bytes.size() <= v) bytes.resize(v + 1, 0);
        bytes[v] = cells[3] == "value" ? std::stoll(cells[4]) : 0;  // parameters and the batch stay anyhow
      }
    }
    const auto graph = replay_graph::make(
        *table, hocket::graph_access<hocket::text::ops_table>{}, bytes.size(),
        [&](std::uint32_t n) { return forward[n] != 0; }, [&](std::size_t v) { return bytes[v]; },
        [&](std::uint32_t n) { return flops[n]; });
    REQUIRE(graph);
    // Of values that the backward pass reads, those that a forward op writes and few others: not its own gradients.
    std::vector<char> written(bytes.size(), 0);
    for (std::uint32_t n = 0; n < table->size(); ++n)
      for (const std::uint32_t v : table->writes(n)) written[v] = forward[n] != 0 ? 1 : written[v];
    std::int64_t from_elsewhere = 0;
    for (const std::uint32_t v : graph->effect_of({}).kept) from_elsewhere += written[v] == 0 ? bytes[v] : 0;
    CHECK(from_elsewhere < graph->effect_of({}).bytes_before / 1000);
    const auto one = solve(replay_problem{*graph, 1}), eight = solve(replay_problem{*graph, 8}, {.budget = 3'000});
    INFO(name << ": one frees " << one.effect.freed() << ", eight free " << eight.effect.freed() << " of "
              << eight.effect.bytes_before << ", bound " << eight.most_possible);
    CHECK(one.proved);
    CHECK(one.effect.freed() > 0);
    CHECK(eight.effect.freed() >= one.effect.freed());
    CHECK(eight.effect.freed() <= eight.most_possible);
    CHECK(graph->effect_of(eight.ops).freed() == eight.effect.freed());
    CHECK(eight.effect.freed() >= freed_by_eight);
    CHECK(solve(replay_problem{*graph, 2}, {.budget = budget_for_two}).proved);
  }
}

TEST_CASE("graphs of negative or endless bytes and times are refused", "[planner][replay]") {
  const auto table = hocket::text::parse_ops_csv("op,stream,kind,reads,writes\n0,0,io,0,1\n1,0,io,1,2\n");
  REQUIRE(table);
  const auto code = [&](std::int64_t bytes, std::int64_t time) {
    const auto graph = replay_graph::make(
        *table, hocket::graph_access<hocket::text::ops_table>{}, 3, [](std::uint32_t n) { return n == 0; },
        [&](std::size_t) { return bytes; }, [&](std::uint32_t) { return time; });
    return graph ? hocket::errc{} : graph.error().code;
  };
  CHECK(code(1, 1) == hocket::errc{});
  CHECK(code(-1, 1) == hocket::errc::invalid_argument);
  CHECK(code(1, -1) == hocket::errc::invalid_argument);
  CHECK(code(INT64_MAX / 2, 1) == hocket::errc::overflow);
}
