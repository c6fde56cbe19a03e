// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies: the shared evaluation against the formulas one by one, the front against brute force, the guide's advice.
#include <hocket/core/message.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/planner/strategy/solve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "data/cost/published_shapes.hpp"
#include "guide_cluster.hpp"

using namespace hocket::planner;
namespace cost = hocket::cost;
namespace pipeline = hocket::pipeline;
using hocket::errc;
using namespace published;

namespace {

/// The guide's bytes: 16-bit weights and gradients, 32-bit moments, no master copy.
cost::training step(std::int64_t global_batch) {
  return {.sequence = 4096,
          .global_batch = global_batch,
          .weight_bytes = 2,
          .gradient_bytes = 2,
          .master_bytes = 0,
          .moment_bytes = 8};
}

/// Bytes of the fullest rank at its peak: rank by rank, from the exact formulas and the schedule's own counts.
double bytes_by_formula(const cost::model& m, cost::training t, const strategy& s) {
  t.micro_batch = s.micro_batch;
  double most = 0;
  const std::int64_t batches = t.global_batch / (s.micro_batch * s.how.dp);
  const pipeline::shape shape{.ranks = static_cast<std::uint32_t>(s.how.pp),
                              .chunks = static_cast<std::uint32_t>(s.how.vp),
                              .micro_batches = static_cast<std::uint32_t>(batches)};
  const cost::layer_list list = m;
  const auto ranks = cost::layers_of_ranks(list, s.how, {}, {.activation = s.replay_activation}).value();
  for (const cost::rank_layers& on : ranks) {
    const auto rank = static_cast<std::uint32_t>(on.ends.rank);
    const std::int64_t chunks = s.zero_bubble ? pipeline::zero_bubble::make_interleaved(shape)->peak_in_flight(rank)
                              : s.how.vp == 1 ? pipeline::one_f_one_b::make(shape)->peak_in_flight(rank)
                                              : pipeline::interleaved::make(shape)->peak_in_flight(rank);
    const cost::held_share held{cost::rational(chunks) / cost::rational(s.how.vp), std::min(chunks, batches)};
    most = std::max(most, cost::memory_of_rank(list, on, t, s.how, held).value().peak.total_bytes().real());
  }
  return most;
}

/// Every strategy of a small space on its own.
std::vector<scored_strategy> one_by_one(const cost::model& m, const cost::training& t, const cluster& on,
                                        const strategy_space& space) {
  std::vector<scored_strategy> all;
  for (const auto tp : space.tensor)
    for (std::int64_t pp = 1; pp <= on.devices; ++pp)
      for (const auto ep : space.expert)
        for (const auto vp : space.chunks)
          for (const auto b : space.micro_batches)
            for (const bool sp : {false, true})
              for (const auto copies : space.copies)
                for (const auto level : {cost::recompute::none, cost::recompute::full})
                  for (const bool replay : {false, true})
                    for (const auto zero : space.zeros)
                      for (const bool zb : {false, true}) {
                        if (on.devices % (tp * pp) != 0 || tp > on.devices_per_node) continue;
                        strategy s;
                        s.how = {.tp = tp,
                                 .pp = pp,
                                 .vp = vp,
                                 .dp = on.devices / (tp * pp),
                                 .ep = ep,
                                 .copies = copies,
                                 .sequence_parallel = sp,
                                 .zero = zero,
                                 .recompute = level};
                        s.micro_batch = b;
                        s.replay_activation = replay;
                        s.zero_bubble = zb;
                        if ((tp == 1 && (sp || copies > 1)) || (pp == 1 && (zb || vp > 1)) ||
                            (level == cost::recompute::full && replay))
                          continue;
                        if (zero != cost::zero::none && s.how.dp == 1) continue;
                        if (ep > 1 && (m.moe_layers == 0 || s.how.dp * tp % ep != 0)) continue;
                        if (vp > 1 && t.global_batch / (b * s.how.dp) < pp) continue;
                        const auto price = price_of_strategy({m, t, on}, s);
                        if (price) all.push_back({s, *price});
                      }
  return all;
}

}  // namespace

TEST_CASE("a strategy's price is that of the formulas, one by one", "[planner][strategy]") {
  int checked = 0;
  for (const auto& [m, devices, batch, launch] : {std::tuple{llama_13b, 16, 256, 0.0},
                                                  {llama_13b, 16, 256, 1e-3},
                                                  {llama_70b, 64, 512, 0.0},
                                                  {deepseek_v3, 256, 1024, 0.0}}) {
    cluster on = cluster_of(devices);
    if (launch > 0) on.rates.launches = 50;  // so slow a host that devices wait for it
    if (launch > 0) on.rates.launch_seconds = launch;
    cluster roomy = on;
    roomy.memory = {hocket::bytes(std::int64_t{1} << 45)};
    const auto found = solve(strategy_problem{m, step(batch), roomy});
    REQUIRE(found);
    for (const scored_strategy& x : found->front) {
      const auto alone = price_of_strategy({m, step(batch), on}, x.of);
      REQUIRE(alone);
      CHECK(std::chrono::abs(alone->step - x.cost.step) <= std::chrono::nanoseconds(1));
      CHECK(std::llabs((alone->memory - x.cost.memory).count()) <= 1);
      const double bytes = bytes_by_formula(m, step(batch), x.of);
      CHECK(std::fabs(bytes - static_cast<double>(x.cost.memory.count())) < 2 + 1e-7 * bytes);
      ++checked;
      if (x.of.zero_bubble) continue;
      cost::training t = step(batch);
      t.micro_batch = x.of.micro_batch;
      const cost::layer_list list = m;
      const auto ranks = cost::layers_of_ranks(list, x.of.how, {}, {.activation = x.of.replay_activation}).value();
      const auto predicted = cost::predict_step(list, t, x.of.how, on.rates, ranks);
      REQUIRE(predicted);
      CHECK(std::fabs(predicted->step_time().count() * 1e9 - static_cast<double>(x.cost.step.count())) <
            2 + 1e-9 * static_cast<double>(x.cost.step.count()));
    }
  }
  CHECK(checked > 15);
}

TEST_CASE("a strategy that needs just the memory of a device fits", "[planner][strategy]") {
  cluster on = cluster_of(8);
  const auto found = solve(strategy_problem{llama_13b, step(32), on}).value();
  REQUIRE(found.front.size() > 3);
  for (std::size_t first = 0; first < found.front.size(); ++first) {
    on.memory = {found.front[first].cost.memory, hocket::bytes(0)};
    const auto less = solve(strategy_problem{llama_13b, step(32), on}).value();
    REQUIRE(less.front.size() == found.front.size() - first);
    for (std::size_t i = 0; i < less.front.size(); ++i) CHECK(less.front[i].of == found.front[first + i].of);
  }
}

TEST_CASE("of several numbers of devices, what has neither less time nor less memory on as few is left out",
          "[planner][strategy]") {
  const std::int64_t counts[] = {8, 2, 5, 4};
  strategy_problem problem{llama_7b, step(32), cluster_of(1)};
  problem.cluster.rates.data_bytes = 1e6;  // to exchange gradients takes longer than the rest
  problem.cluster.memory = {hocket::bytes(std::int64_t{1} << 40)};
  problem.space = {.tensor = {1, 2}, .zeros = {cost::zero::none}, .pipeline = {1}};
  const auto found = solve(problem, counts).value();
  REQUIRE(found.counts.size() == 4);
  std::vector<scored_on_devices> all;
  for (const std::int64_t n : counts) {
    strategy_problem one = problem;
    one.cluster.devices = n;
    const auto alone = solve(one).value();
    for (const scored_strategy& x : alone.front) all.push_back({n, x});
  }
  const auto key = [](const scored_on_devices& x) {
    return std::tuple(x.devices, x.best.cost.step, x.best.cost.memory);
  };
  std::vector<scored_on_devices> front;
  for (const scored_on_devices& x : all) {
    const auto beats = [&](const scored_on_devices& y) {
      return y.devices <= x.devices && y.best.cost.step <= x.best.cost.step &&
             y.best.cost.memory <= x.best.cost.memory && key(y) != key(x);
    };
    if (std::none_of(all.begin(), all.end(), beats)) front.push_back(x);
  }
  std::sort(front.begin(), front.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  CHECK(front.size() < all.size());
  REQUIRE(found.front.size() == front.size());
  for (std::size_t i = 0; i < front.size(); ++i) CHECK(key(found.front[i]) == key(front[i]));
}

TEST_CASE("of two strategies in the same memory the slower is left out, whichever comes first", "[planner][strategy]") {
  const auto one = [](const strategy& s, std::int64_t, std::int64_t) { return s.how.vp; };  // a whole micro-batch
  for (const std::vector<std::int64_t>& chunks : {std::vector<std::int64_t>{1, 2}, {2, 1}}) {
    const strategy_space space{.tensor = {1}, .expert = {1}, .chunks = chunks, .micro_batches = {1}, .copies = {1}};
    const auto found = solve(strategy_problem{llama_13b, step(32), cluster_of(8), space}, one).value();
    for (std::size_t i = 1; i < found.front.size(); ++i) {
      CHECK(found.front[i - 1].cost.step < found.front[i].cost.step);
      CHECK(found.front[i - 1].cost.memory > found.front[i].cost.memory);
    }
  }
}

TEST_CASE("a strategy fits if its peak does, whatever shape, schedule, sharding and recompute", "[planner][strategy]") {
  int checked = 0;
  for (const auto& m : {llama_13b, deepseek_v3})
    for (const std::int64_t batch : {18, 36, 144})
      for (const std::int64_t pp : {1, 3, 4, 7})
        for (const std::int64_t vp : {1, 2, 3})
          for (const auto zero : {cost::zero::none, cost::zero::gradients, cost::zero::weights})
            for (const auto level : {cost::recompute::none, cost::recompute::full})
              for (const bool zero_bubble : {false, true})
                for (const bool buffers : {false, true}) {
                  cost::training t = step(batch);
                  if (buffers) {
                    t.workspace = cost::workspace::megatron_te;
                    t.dropout = true;
                  }
                  strategy s;
                  s.how = {.tp = 2,
                           .pp = pp,
                           .vp = vp,
                           .dp = 2,
                           .sequence_parallel = true,
                           .zero = zero,
                           .recompute = level};
                  s.zero_bubble = zero_bubble;
                  if (pp * vp > m.layers || (pp == 1 && (vp > 1 || zero_bubble))) continue;
                  const auto price = price_of_strategy({m, t, cluster_of(pp * 4)}, s);
                  REQUIRE(price);
                  const double bytes = bytes_by_formula(m, t, s);
                  INFO("pp " << pp << " vp " << vp << " batch " << batch);
                  CHECK(price->memory.count() == static_cast<std::int64_t>(std::ceil(bytes - 1e-3)));
                  ++checked;
                }
  CHECK(checked > 900);
}

TEST_CASE("what sharded weights move is priced by the micro-batches of each strategy", "[planner][strategy]") {
  const strategy_space space{.tensor = {1, 2},
                             .expert = {1},
                             .chunks = {1, 2},
                             .micro_batches = {1, 2, 4},
                             .copies = {1},
                             .zeros = {cost::zero::weights}};
  cluster on = cluster_of(8);
  on.memory = {hocket::bytes(std::int64_t{1} << 45)};
  const auto found = solve(strategy_problem{llama_13b, step(64), on, space});
  REQUIRE(found);
  bool larger = false;
  for (const scored_strategy& x : found->front) {
    const auto alone = price_of_strategy({llama_13b, step(64), on}, x.of);
    REQUIRE(alone);
    CHECK(std::chrono::abs(alone->step - x.cost.step) <= std::chrono::nanoseconds(1));
    CHECK(std::llabs((alone->memory - x.cost.memory).count()) <= 1);
    larger = larger || (x.of.micro_batch > 1 && x.of.how.dp > 1);
  }
  CHECK(larger);  // fewer micro-batches gather less often
}

TEST_CASE("what is evaluated is legal: copies that do not divide the tokens are rejected", "[planner][strategy]") {
  const strategy_space space{.tensor = {1, 2}, .expert = {1}, .chunks = {1}, .copies = {1, 2, 3}};
  for (const std::int64_t sequence : {4095, 4096}) {
    auto t = step(32);
    t.sequence = sequence;
    const auto found = solve(strategy_problem{llama_13b, t, cluster_of(4), space});
    REQUIRE(found);
    CHECK(found->evaluated == static_cast<std::int64_t>(one_by_one(llama_13b, t, cluster_of(4), space).size()));
    CHECK(found->rejected[static_cast<std::size_t>(rejection::copies)] > 0);
  }
}

TEST_CASE("a policy says what ranks hold in flight", "[planner][strategy]") {
  const strategy_space space{.tensor = {8}, .expert = {1}, .chunks = {1}, .micro_batches = {1}, .pipeline = {2}};
  const auto t = step(32);
  // GPipe holds all micro-batches; one at a time, a single one. Time is the same, memory is not.
  const auto all = [](const strategy&, std::int64_t micro_batches, std::int64_t) { return micro_batches; };
  const auto one = [](const strategy&, std::int64_t, std::int64_t) { return 1; };
  const auto on = cluster_of(16);
  const auto usual = solve(strategy_problem{llama_13b, t, on, space}),
             gpipe = solve(strategy_problem{llama_13b, t, on, space}, all),
             alone = solve(strategy_problem{llama_13b, t, on, space}, one);
  REQUIRE((usual && gpipe && alone));
  CHECK((usual->named == gpipe->named && usual->evaluated == alone->evaluated));
  CHECK(gpipe->fitting < usual->fitting);
  const auto leanest = [](const strategy_plan& r) { return r.front.back().cost.memory; };
  CHECK((leanest(*gpipe) > leanest(*usual) && leanest(*usual) > leanest(*alone)));
  // Of full recompute a rank keeps the input of its 20 layers, 4096 x 5120 halves over 8 ranks, for each micro-batch.
  CHECK((leanest(*gpipe) - leanest(*alone)).count() == 31 * 20 * INT64_C(4096) * 5120 * 2 / 8);
}

TEST_CASE("the front is that of brute force over the same space", "[planner][strategy]") {
  const strategy_space space{.tensor = {1, 2, 4},
                             .expert = {1},
                             .chunks = {1, 2},
                             .micro_batches = {1, 2},
                             .copies = {1, 2},
                             .zeros = {cost::zero::none, cost::zero::weights}};
  for (const auto& [gib, batch] : {std::pair<std::int64_t, std::int64_t>{20, 32}, {40, 32}, {57, 32}, {57, 8}}) {
    cluster on = cluster_of(8);
    on.memory = {hocket::bytes(gib << 30), hocket::bytes(0)};
    const auto t = step(batch);
    const auto found = solve(strategy_problem{llama_13b, t, on, space});
    REQUIRE(found);
    const auto all = one_by_one(llama_13b, t, on, space);
    CHECK(static_cast<std::int64_t>(all.size()) == found->evaluated);
    std::int64_t fitting = 0;
    for (const auto& x : all) {
      if (!on.memory.fits(x.cost.memory)) continue;
      ++fitting;
      bool covered = false;
      for (const auto& y : found->front)
        covered = covered || (y.cost.step <= x.cost.step + std::chrono::nanoseconds(1) &&
                              y.cost.memory <= x.cost.memory + hocket::bytes(1));
      CHECK(covered);
    }
    CHECK(fitting == found->fitting);
    for (std::size_t i = 1; i < found->front.size(); ++i) {
      CHECK(found->front[i - 1].cost.step < found->front[i].cost.step);
      CHECK(found->front[i - 1].cost.memory > found->front[i].cost.memory);
    }
    std::int64_t rejected = 0;
    for (const std::int64_t n : found->rejected) rejected += n;
    const auto memory = found->rejected[static_cast<std::size_t>(rejection::memory)];
    CHECK(found->named == found->evaluated + rejected - memory);
    CHECK(found->fitting == found->evaluated - memory);
  }
}

TEST_CASE("first and last stages without layers are searched, too", "[planner][strategy]") {
  const strategy_space space{.tensor = {1, 2},
                             .expert = {1},
                             .chunks = {1, 2},
                             .micro_batches = {1},
                             .copies = {1},
                             .zeros = {cost::zero::none}};
  cost::model six = llama_13b;
  six.layers = 6;
  const cluster on = cluster_of(8);
  const auto t = step(32);
  const auto found = solve(strategy_problem{six, t, on, space});
  REQUIRE(found);
  const auto all = one_by_one(six, t, on, space);
  CHECK(static_cast<std::int64_t>(all.size()) == found->evaluated);
  const auto has_empty = [](const scored_strategy& x) { return x.of.how.pp * x.of.how.vp == 8; };
  CHECK(std::any_of(all.begin(), all.end(), has_empty));
  CHECK(std::any_of(found->by_least.begin(), found->by_least.end(), has_empty));
}

TEST_CASE("the guide's advice: 7B data parallel, 13B pipeline, 70B tensor + sequence + pipeline + copies",
          "[planner][strategy]") {
  const auto small_model = solve(strategy_problem{llama_7b, step(64), cluster_of(8)});
  REQUIRE(small_model);
  const strategy& a = small_model->front.front().of;
  CHECK((a.how.tp == 1 && a.how.pp == 1 && a.how.dp == 8 && a.how.zero != cost::zero::none));  // agrees

  // 13B on 8: the guide finds that without tensor parallelism everything must be recomputed, and so do the formulas
  // (optimizer parallel shards weights and moments, micro-batch 2).
  strategy alone;
  alone.how = {.dp = 8, .zero = cost::zero::weights};
  alone.micro_batch = 2;
  CHECK(price_of_strategy({llama_13b, step(2048), cluster_of(8)}, alone)->memory > cluster_of(8).memory.usable());
  alone.how.recompute = cost::recompute::full;
  CHECK(price_of_strategy({llama_13b, step(2048), cluster_of(8)}, alone)->memory < cluster_of(8).memory.usable());
  // On 16, with what the guide had (micro-batch 2, weights and optimizer sharded, no zero bubble), two stages win over
  // data parallel alone with full recompute, as in its story.
  strategy wide, staged;
  wide.how = {.dp = 16, .zero = cost::zero::weights, .recompute = cost::recompute::full};
  staged.how = {.pp = 2, .dp = 8, .zero = cost::zero::optimizer};
  wide.micro_batch = 2;
  staged.micro_batch = 1;
  staged.replay_activation = true;
  const auto w = price_of_strategy({llama_13b, step(2048), cluster_of(16)}, wide),
             s = price_of_strategy({llama_13b, step(2048), cluster_of(16)}, staged);
  REQUIRE((w && s));
  CHECK(s->memory < cluster_of(16).memory.usable());
  CHECK(s->step < w->step);
  const auto middle = solve(strategy_problem{llama_13b, step(2048), cluster_of(16)});
  REQUIRE(middle);
  const strategy& b = middle->front.front().of;
  CHECK((b.how.tp == 1 && b.how.pp == 2 && b.how.dp == 8));  // agrees
  REQUIRE(!middle->best_beyond_memory.empty());
  CHECK(middle->best_beyond_memory.front().of.how.dp == 16);  // quicker, with more memory

  const auto large = solve(strategy_problem{llama_70b, step(512), cluster_of(64)});
  REQUIRE(large);
  const strategy& c = large->front.front().of;
  CHECK((c.how.tp > 1 && c.how.sequence_parallel && c.how.pp > 1 && c.how.copies > 1));  // agrees
}

TEST_CASE("strategy searches are repeatable and refuse what is no question", "[planner][strategy]") {
  const auto a = solve(strategy_problem{llama_70b, step(2048), cluster_of(1024)}),
             b = solve(strategy_problem{llama_70b, step(2048), cluster_of(1024)});
  REQUIRE((a && b));
  REQUIRE(a->front.size() == b->front.size());
  for (std::size_t i = 0; i < a->front.size(); ++i) CHECK(a->front[i].of == b->front[i].of);
  CHECK(solve(strategy_problem{llama_7b, step(64), cluster_of(0)}).error().code == errc::out_of_range);
  cluster without_memory = cluster_of(8);
  without_memory.memory.capacity = hocket::bytes(0);
  CHECK(solve(strategy_problem{llama_7b, step(64), without_memory}).error().code == errc::out_of_range);
  without_memory.memory.capacity = hocket::bytes(1);
  const auto nothing = solve(strategy_problem{llama_7b, step(64), without_memory});
  REQUIRE(nothing);
  CHECK((nothing->front.empty() && nothing->fitting == 0 && !nothing->best_beyond_memory.empty()));
  cluster still = cluster_of(8);
  still.rates = {};
  CHECK(!solve(strategy_problem{llama_7b, step(64), still}));
  cluster slow = cluster_of(8);  // a step of more nanoseconds than 64 bits hold
  slow.rates.gemm_flops = 1;
  CHECK(solve(strategy_problem{llama_7b, step(64), slow}).error().code == errc::limit_exceeded);
  strategy alone;
  alone.how.dp = 8;
  CHECK(price_of_strategy({llama_7b, step(64), slow}, alone).error().code == errc::limit_exceeded);
  for (const auto change :
       {+[](cost::training& t) { t.global_batch = INT64_MAX; }, +[](cost::training& t) { t.sequence = INT64_MAX; },
        +[](cost::training& t) { t.sequence = 0; }}) {
    auto t = step(64);
    change(t);
    CHECK(solve(strategy_problem{llama_7b, t, cluster_of(8)}).error().code == errc::out_of_range);
  }
  using cost::recompute, cost::zero;
  for (const strategy_space& repeated :
       {strategy_space{.tensor = {1, 2, 1}}, strategy_space{.zeros = {zero::none, zero::none}},
        strategy_space{.recomputes = {recompute::full, recompute::full}}, strategy_space{.sequence = {true, true}}})
    CHECK(solve(strategy_problem{llama_7b, step(64), cluster_of(8), repeated}).error().code == errc::invalid_argument);
  for (const strategy_space& empty :
       {strategy_space{.micro_batches = {}}, strategy_space{.zeros = {}}, strategy_space{.sequence = {}}}) {
    const auto found = solve(strategy_problem{llama_7b, step(64), cluster_of(8), empty});
    REQUIRE(found);
    CHECK((found->named == 0 && found->front.empty()));
  }
  without_memory.memory.capacity = hocket::bytes(INT64_MAX);
  CHECK(solve(strategy_problem{llama_7b, step(64), without_memory}));
  without_memory = cluster_of(8);
  without_memory.devices_per_node = 0;
  CHECK(solve(strategy_problem{llama_7b, step(64), without_memory}).error().code == errc::out_of_range);
}

TEST_CASE("a machine that cannot be is refused, with the member and its value", "[planner][strategy]") {
  const auto says = [](auto change) {
    cluster on = cluster_of(16);
    change(on.rates);
    const auto found = solve(strategy_problem{llama_13b, step(32), on});
    const auto step_of = cost::predict_step(llama_13b, step(32), {}, on.rates);
    if (!found && found.error().code == errc::bad_rate) CHECK((!step_of && step_of.error() == found.error()));
    return found ? std::string() : message(found.error());
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const auto starts = [](const std::string& text, std::string_view with) { return text.starts_with(with); };
  CHECK(starts(says([](cost::machine& x) { x.tensor_bytes = -1; }), "a machine cannot have tensor_bytes = -1: "));
  CHECK(starts(says([](cost::machine& x) { x.pipeline_bytes = -infinite; }),
               "a machine cannot have pipeline_bytes = -inf"));
  CHECK(starts(says([](cost::machine& x) { x.gemm_flops = std::nan(""); }), "a machine cannot have gemm_flops = nan"));
  CHECK(starts(says([](cost::machine& x) { x.memory_bytes = infinite; }), "a machine cannot have memory_bytes = inf"));
  CHECK(starts(says([](cost::machine& x) { x.data_overlap = 1.5; }), "a machine cannot have data_overlap = 1.5"));
  CHECK(starts(says([](cost::machine& x) { x.post_seconds = -3; }), "a machine cannot have post_seconds = -3"));
  CHECK(starts(says([](cost::machine& x) { x.pipeline_bytes = 0; }), "pipeline_bytes is 0: "));
  CHECK(starts(says([](cost::machine& x) { x.data_bytes = 0; }), "data_bytes is 0: "));
  CHECK(says([](cost::machine& x) { x.data_overlap = 1; }).empty());
}

TEST_CASE("choices without effect are evaluated once, whatever the space leaves of them", "[planner][strategy]") {
  const auto search = [](std::vector<cost::zero> zeros, std::vector<std::int64_t> copies, std::vector<bool> sequence) {
    const strategy_space space{.tensor = {1},
                               .expert = {1},
                               .chunks = {1},
                               .micro_batches = {1},
                               .copies = std::move(copies),
                               .zeros = std::move(zeros),
                               .sequence = std::move(sequence)};
    const auto found = solve(strategy_problem{llama_7b, step(64), cluster_of(2), space});
    REQUIRE(found);
    return *found;
  };
  using cost::zero;
  const auto plain = search({zero::none}, {1}, {false});
  const auto of_two_stages = [](const strategy_plan& r) {
    std::vector<strategy_cost> costs;
    for (const auto& x : r.front)
      if (x.of.how.pp == 2) costs.push_back(x.cost);
    return costs;
  };
  REQUIRE(!of_two_stages(plain).empty());
  const std::vector<strategy_plan> others{search({zero::weights}, {1}, {false}), search({zero::none}, {2}, {false}),
                                          search({zero::none}, {1}, {true})};
  for (const strategy_plan& other : others) {
    CHECK(other.evaluated == plain.evaluated);  // no copies, sequences or shards over one rank, but strategies
    const auto a = of_two_stages(plain), b = of_two_stages(other);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK((a[i].step == b[i].step && a[i].memory == b[i].memory));
  }
  const auto both = search({zero::optimizer, zero::none}, {2, 1}, {true, false});
  for (const auto& x : both.front) CHECK((x.of.how.copies == 1 && !x.of.how.sequence_parallel));
}
