// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers dealt out to ranks, one by one; what an encoder and a split product make of the edges.
#include <hocket/core/message.hpp>
#include <hocket/cost/model/collective_of_layout.hpp>
#include <hocket/cost/model/encoder.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "catch.hpp"

namespace {
namespace partition {

namespace cost = hocket::cost;
using cost::rational;

constexpr cost::model small{
    .layers = 9, .hidden = 64, .heads = 4, .kv_heads = 2, .head_dim = 16, .ffn = 128, .vocabulary = 256};

TEST_CASE("layers are dealt out one by one", "[cost][partition]") {
  for (const std::int64_t layers : {4, 9, 16})
    for (const std::int64_t moe : {0, 1, 4})
      for (const std::int64_t windows : {0, 1, 3, 4})
        for (const std::int64_t modules : {0, 2})
          for (const std::int64_t pp : {1, 2, 4})
            for (const std::int64_t vp : {1, 2}) {
              if (pp * vp > layers) continue;
              cost::model m = small;
              m.layers = layers;
              m.moe_layers = moe;
              m.experts = moe > 0 ? 4 : 0;
              m.window_layers = windows;
              m.window = 8;
              m.mtp_layers = modules;
              struct counts {
                std::int64_t layers = 0, moe = 0, windows = 0;
                bool operator==(const counts&) const = default;
              };
              std::vector<counts> expected(static_cast<std::size_t>(pp)), found(expected);
              const auto sizes = cost::dealt_stages(m, {.pp = pp, .vp = vp}).value();
              std::int64_t stage = 0, left = sizes.front();
              for (std::int64_t at = 0; at < layers; ++at) {
                while (left == 0) {
                  ++stage;
                  left = sizes[static_cast<std::size_t>(stage)];
                }
                --left;
                counts& on = expected[static_cast<std::size_t>(stage % pp)];
                ++on.layers;
                on.moe += at >= layers - moe ? 1 : 0;
                on.windows += (at + 1) * windows / layers - at * windows / layers;
              }
              expected.back().layers += modules;
              expected.back().moe += moe > 0 ? modules : 0;
              const auto ranks = cost::layers_of_ranks(m, {.pp = pp, .vp = vp}).value();
              REQUIRE(ranks.size() == static_cast<std::size_t>(pp));
              for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
                CHECK(ranks[rank].ends.rank == static_cast<std::int64_t>(rank));
                CHECK(ranks[rank].ends.first == (rank == 0));
                CHECK(ranks[rank].ends.last == (rank + 1 == ranks.size()));
                std::int64_t predicting = 0;
                for (const cost::rank_run& run : ranks[rank].layers) {
                  counts& on = found[rank];
                  on.layers += run.count;
                  on.moe += cost::has_experts(run.blocks) ? run.count : 0;
                  on.windows += std::get<cost::attention>(run.blocks[1].what).window > 0 ? run.count : 0;
                  if (run.place == cost::run_place::prediction) predicting += run.count;
                }
                CHECK(ranks[rank].layer_count + predicting == found[rank].layers);
              }
              CHECK(found == expected);
            }
}

TEST_CASE("held layers are a share of a rank's, and no more micro-batches than there are", "[cost][partition]") {
  for (const std::int64_t batches : {1, 2, 8})
    for (const std::int64_t vp : {1, 2}) {
      const cost::training t{.sequence = 8, .micro_batch = 2, .global_batch = 2 * 3 * batches};
      const cost::parallel p{.pp = 4, .vp = vp, .dp = 3};
      for (std::int64_t rank = 0; rank < 4; ++rank) {
        const auto share = cost::held_share_by_1f1b(t, p, rank).value();
        const double chunks = share.layers.real() * static_cast<double>(vp);
        CHECK(share.embedding_passes == std::llround(std::fmin(static_cast<double>(batches), chunks)));
        if (vp == 1) CHECK(chunks == std::fmin(static_cast<double>(batches), static_cast<double>(4 - rank)));
      }
    }
}

TEST_CASE("a stage without layers gathers nothing and keeps nothing", "[cost][partition]") {
  cost::layer_list list = cost::to_layers(small);
  list.sizes.vocabulary = 0;
  const cost::training t{.sequence = 8, .global_batch = 16, .workspace = cost::workspace::megatron_te};
  const cost::parallel p{.pp = 4, .dp = 2, .zero = cost::zero::weights, .recompute = cost::recompute::full};
  const std::int64_t sizes[] = {4, 0, 0, 5};
  const auto ranks = cost::layers_of_ranks(list, p, sizes).value();
  for (const std::size_t empty : {1u, 2u}) {
    CHECK(ranks[empty].layers.empty());
    const auto memory = cost::memory_of_rank(list, ranks[empty], t, p, {}).value();
    CHECK(memory.peak.total_bytes() == rational(0));
    CHECK(memory.parameters.dense + memory.parameters.expert == 0);
  }
  const std::int64_t negative[] = {10, -1, 0, 0};
  const auto refused = cost::layers_of_ranks(list, p, negative);
  REQUIRE(!refused);
  CHECK(message(refused.error()).find("layers of a stage") != std::string::npos);
}

/// Of all ways to give the last stage fewer and the others as equal as can be, the one whose heaviest stage is
/// lightest.
std::int64_t best_last(const cost::layer_list& list, std::int64_t stages) {
  const cost::model& m = small;
  const double layer = static_cast<double>(4 * m.hidden * m.heads * m.head_dim) +
                       static_cast<double>(m.ffn_matrices * m.hidden * m.ffn + 2 * m.hidden);
  const auto modules = static_cast<double>(list.sizes.prediction_heads);
  const double beside = modules + static_cast<double>(m.vocabulary * m.hidden) * (1 + modules) / layer;
  double lightest = 1e300;
  std::int64_t best = -1;
  for (std::int64_t last = list.layer_count() / stages; last >= 0; --last) {
    const double others = std::ceil(static_cast<double>(list.layer_count() - last) / static_cast<double>(stages - 1));
    const double heaviest = std::fmax(static_cast<double>(last) + beside, others);
    if (heaviest < lightest) best = last;
    lightest = std::fmin(lightest, heaviest);
  }
  return best;
}

TEST_CASE("layers that do not divide: the last stage has fewer for its heads and modules", "[cost][partition]") {
  for (const std::int64_t modules : {0, 1, 2})
    for (const std::int64_t pp : {2, 3, 4, 5, 7, 8}) {
      cost::model m = small;
      m.mtp_layers = modules;
      const cost::layer_list list = m;
      const auto sizes = cost::dealt_stages(list, {.pp = pp}).value();
      INFO(modules << " modules, " << pp << " stages");
      CHECK(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == small.layers);
      CHECK(sizes.size() == static_cast<std::size_t>(pp));
      if (small.layers % pp == 0) CHECK(sizes.back() == small.layers / pp);
      else CHECK(sizes.back() == best_last(list, pp));
      for (std::size_t s = 1; s + 1 < sizes.size(); ++s) CHECK((sizes[s] == sizes[0] || sizes[s] == sizes[0] - 1));
    }
  // Meta's 126 layers in 128 stages, arXiv:2407.21783 section 3.3.2: one less on the first and on the last.
  cost::model m = small;
  m.layers = 126;
  const auto sizes = cost::dealt_stages(m, {.pp = 16, .vp = 8}).value();
  CHECK(sizes.front() == 0);
  CHECK(sizes.back() == 0);
  CHECK(std::count(sizes.begin(), sizes.end(), 1) == 126);
}

TEST_CASE("sizes just at and beyond what fits are told apart", "[cost][partition]") {
  cost::model learned = small;
  learned.positions = 8;
  CHECK(cost::check(learned, {.sequence = 8, .global_batch = 1}, {}));
  CHECK(!cost::check(learned, {.sequence = 9, .global_batch = 1}, {}));
  learned.positions = 1;
  CHECK(!cost::check(learned, {.sequence = 2, .global_batch = 1}, {}));
  CHECK(cost::check_even_stages(small.layers, {.pp = 11}));  // the first and the last stage may have none
  CHECK(!cost::check_even_stages(small.layers, {.pp = 12}));
  CHECK(cost::layers_of_ranks(small, {.pp = 11}));
  CHECK(!cost::layers_of_ranks(small, {.pp = 12}));
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
  cost::model m = small;
  m.ffn = most;
  CHECK(cost::check(m));
  m.ffn = most + 1;
  CHECK(cost::check(m).error().word() == "ffn");
  m.ffn = -1;
  CHECK(cost::check(m).error().word() == "ffn");
  m.ffn = 0;
  CHECK(cost::check(m));
  cost::model grouped = small;
  grouped.kv_heads = 3;
  CHECK(cost::check(grouped).error().code == hocket::errc::indivisible);
  grouped.kv_heads = 0;
  CHECK(cost::check(grouped));
  grouped.kv_heads = 3;
  grouped.latent = true;
  CHECK(cost::check(grouped));
  // Every size of a split is one at least; the first that is none is named.
  const std::pair<const char*, cost::parallel> none[] = {
      {"tp", {.tp = 0}}, {"pp", {.pp = 0}}, {"vp", {.vp = 0}},   {"dp", {.dp = 0}},
      {"cp", {.cp = 0}}, {"ep", {.ep = 0}}, {"etp", {.etp = 0}}, {"copies", {.copies = 0}}};
  for (const auto& [name, p] : none)
    CHECK(cost::check(small, {.sequence = 8, .global_batch = 1}, p).error().word() == name);
  CHECK(cost::check(small, {.sequence = 0}, {}).error().word() == "sequence");
  CHECK(cost::check(small, {.sequence = 8, .micro_batch = 0}, {}).error().word() == "micro_batch");
  CHECK(cost::check(small, {.sequence = 8, .global_batch = 0}, {}).error().word() == "global_batch");
  // Devices up to 2^31 - 1.
  const cost::training wide{.sequence = 8, .global_batch = most};
  CHECK(cost::check(small, wide, {.dp = most}));
  CHECK(cost::check(small, wide, {.pp = 2, .dp = most}).error().word() == "devices, tp x pp x dp x cp");
}

TEST_CASE("an encoder does again what its recompute says, item by item", "[cost][encoder]") {
  cost::encoder e{.layers = cost::to_layers(small)};
  e.layers.sizes.vocabulary = 0;
  const std::int64_t items[] = {16, 8, 16};
  const cost::parallel full{.recompute = cost::recompute::full};
  const auto once = cost::cost_of_encoder(e, items, {}, {}).value(),
             twice = cost::cost_of_encoder(e, items, {}, full).value();
  CHECK(once.again == rational(0));
  CHECK(twice.flops == once.flops);
  CHECK(rational(3) * twice.again == twice.flops);  // all of the forward pass once more
  CHECK(twice.longest == 16);
  CHECK(twice.tokens == 40);
  CHECK(twice.saved_bytes == rational(9 * 2 * 40 * 64));  // the input of each layer
  e.merged = 0;
  CHECK(cost::cost_of_encoder(e, items, {}, {}).error().word() == "merged");
}

TEST_CASE("the collective of a split product, for every split and every wish", "[cost][layout]") {
  using cost::collective;
  const std::int64_t cuts[] = {1, 2, 4}, wishes[] = {0, 1, 2, 4, 8, 16};
  int found = 0, refused = 0;
  for (const std::int64_t rows : cuts)
    for (const std::int64_t left : cuts)
      for (const std::int64_t right : cuts)
        for (const std::int64_t columns : cuts)
          for (const std::int64_t wanted_rows : wishes)
            for (const std::int64_t wanted_columns : wishes) {
              const auto made = cost::expected_collective({.left_rows = rows,
                                                           .left_inner = left,
                                                           .right_inner = right,
                                                           .right_columns = columns,
                                                           .rows_wanted = wanted_rows,
                                                           .columns_wanted = wanted_columns});
              const std::int64_t r = wanted_rows == 0 ? rows : wanted_rows,
                                 c = wanted_columns == 0 ? columns : wanted_columns;
              const bool as_is = r == rows && c == columns;
              // What one collective can do to a result: nothing; gather one dimension whole; reduce a sum of `left`
              // parts on all, or to as many parts of one dimension. Before the product it can gather one factor.
              std::vector<cost::needed_collective> ways;
              if (left == right && left == 1) {
                if (as_is) ways.push_back({collective::none, 1, false});
                else if (r == 1 && c == columns) ways.push_back({collective::all_gather, rows, false});
                else if (r == rows && c == 1) ways.push_back({collective::all_gather, columns, false});
              } else if (left == right) {
                if (as_is) ways.push_back({collective::all_reduce, left, false});
                else if ((r == rows * left && c == columns) || (r == rows && c == columns * left))
                  ways.push_back({collective::reduce_scatter, left, false});
              } else if ((left == 1 || right == 1) && as_is) {
                ways.push_back({collective::all_gather, left * right, true});
              }
              CHECK(made.has_value() == !ways.empty());
              if (made) CHECK(*made == ways.front());
              else CHECK(made.error().code == hocket::errc::bad_shape);
              ++(made ? found : refused);
            }
  CHECK(found > 200);
  CHECK(refused > 200);
  CHECK(cost::expected_collective({.left_inner = 0}).error().code == hocket::errc::out_of_range);
  CHECK(cost::expected_collective({.right_inner = 0}).error().code == hocket::errc::out_of_range);
  CHECK(cost::expected_collective({.right_columns = -1}).error().code == hocket::errc::out_of_range);
  CHECK(cost::expected_collective({.rows_wanted = -1}).error().code == hocket::errc::out_of_range);
  CHECK(cost::expected_collective({.columns_wanted = -1}).error().code == hocket::errc::out_of_range);
}

TEST_CASE("the shapes of weights add up to a rank's parameters, with every flag", "[cost][partition]") {
  for (int flags = 0; flags < 64; ++flags) {
    const auto on = [&](int bit) { return (flags >> bit & 1) != 0; };
    cost::model m = small;
    m.layers = 6;
    m.positions = on(0) ? 32 : 0;
    m.qkv_bias = m.output_bias = m.ffn_bias = m.head_bias = on(1);
    m.qk_norm = on(2);
    m.qk_norm_all = m.attention_sinks = m.embedding_norm = on(3);
    m.tied = on(4);
    m.norm_weights = on(1) ? 2 : 1;
    m.final_norm = !on(2);
    if (on(5)) {
      m.moe_layers = 4;
      m.experts = 8;
      m.expert_ffn = 32;
      m.shared_ffn = on(0) ? 64 : 0;
      m.shared_gate = on(0);
      m.router_bias = m.expert_bias = on(1);
      m.ffn_matrices = on(2) ? 2 : 3;
    }
    for (const cost::parallel& p :
         {cost::parallel{}, cost::parallel{.tp = 2}, cost::parallel{.tp = 4, .dp = 2, .ep = 4, .etp = 2}}) {
      std::int64_t elements = 0;
      for (const cost::weight_shape& x : cost::weight_shapes(m, p)) {
        CHECK(x.elements() > 0);
        elements += x.elements();
      }
      const auto held = cost::count_rank_parameters(m, cost::layers_of_ranks(m, p).value()[0], p).value();
      INFO("flags " << flags << ", tp " << p.tp);
      CHECK(elements == held.dense + held.expert);
    }
  }
}

TEST_CASE("activations under full recompute: inputs of all layers in flight, one layer whole, the ends",
          "[cost][partition]") {
  const cost::training t{.sequence = 8, .micro_batch = 2, .global_batch = 8};
  const cost::parallel full{.recompute = cost::recompute::full};
  const cost::layer_list list = small;
  const cost::rank_layers none_again = cost::layers_of_ranks(list, {}).value()[0];
  const cost::rank_layers all_again = cost::layers_of_ranks(list, full).value()[0];
  const rational whole = cost::layer_activation_bytes(list, list.layers[0].blocks, t, {}).value(),
                 input(2 * 2 * 8 * 64);
  const rational ends = rational(2) * input + rational((2 + 4) * 2 * 8 * 256);  // norm and head; logits
  for (const std::int64_t passes : {0, 5, 9}) {
    const cost::held_share held{.layers = rational(passes) / rational(9), .embedding_passes = 0};
    CHECK(cost::memory_of_rank(list, all_again, t, full, held)->activation_bytes ==
          rational(passes) * input + whole + ends);
    CHECK(cost::memory_of_rank(list, none_again, t, {}, held)->activation_bytes == rational(passes) * whole + ends);
  }
}

TEST_CASE("key-value heads over ranks that exchange parts of a sequence for heads", "[cost][partition]") {
  cost::model m = small;
  m.heads = 16;
  const cost::training t{.sequence = 64, .global_batch = 16};
  for (const std::int64_t kv : {1, 2, 4, 8, 16})
    for (const std::int64_t tp : {1, 2, 4})
      for (const std::int64_t cp : {1, 2, 4, 8}) {
        m.kv_heads = kv;
        const cost::parallel p{.tp = tp, .cp = cp, .cp_exchange = cost::context_exchange::all_to_all};
        const std::int64_t own = (std::max)(kv / tp, std::int64_t{1});  // heads are copied before they are cut
        CHECK(cost::check(m, t, p).has_value() == (16 / tp % cp == 0 && own % cp == 0));
      }
}

TEST_CASE("a module predicts with experts wherever the model has some", "[cost][partition]") {
  cost::model m = small;
  m.experts = 4;
  m.active_experts = 2;
  m.expert_ffn = 32;
  m.mtp_layers = 1;
  const cost::training t{.sequence = 8, .global_batch = 4};
  const cost::machine on{.gemm_flops = 1e12, .attention_flops = 1e12, .memory_bytes = 1e12, .expert_bytes = 1e9};
  for (const std::int64_t moe : {0, 1, 9}) {
    m.moe_layers = moe;
    const cost::layer_list list = m;
    REQUIRE(list.predictions.size() == 1);
    CHECK(cost::has_experts(list.predictions[0].blocks) == (moe > 0));
    CHECK(list.predictions[0].blocks == list.layers.back().blocks);
    const cost::rank_run module{list.predictions[0].blocks, 1, {cost::recompute::full, {}}};
    const auto took = cost::time_of_layer(list, module.blocks, t, {}, on, module.how).value();
    CHECK(took.again.count() > 0);
    CHECK(cost::time_of_layer(list, module.blocks, t, {}, on)->again.count() == 0);
    CHECK(cost::layer_activation_bytes(list, module.blocks, t, {.recompute = cost::recompute::full}).value() ==
          rational(2 * 8 * 64));
  }
}

TEST_CASE("a list written from numbers of layers has each of them, as many with a window and with experts",
          "[cost][partition]") {
  for (std::int64_t windows = 0; windows <= 9; ++windows)
    for (const std::int64_t moe : {0, 4, 9}) {
      cost::model m = small;
      m.window_layers = windows;
      m.window = windows > 0 ? 8 : 0;
      m.moe_layers = moe;
      m.experts = moe > 0 ? 4 : 0;
      m.active_experts = moe > 0 ? 2 : 0;
      m.expert_ffn = moe > 0 ? 32 : 0;
      const cost::layer_list list = cost::to_layers(m);
      std::int64_t windowed = 0, mixtures = 0;
      for (const cost::repeated_layer& each : list.layers)
        for (const cost::block& b : each.blocks) {
          if (const auto* x = std::get_if<cost::attention>(&b.what)) windowed += x->window > 0 ? each.count : 0;
          mixtures += std::holds_alternative<cost::mixture>(b.what) ? each.count : 0;
        }
      CHECK(list.layer_count() == 9);
      CHECK(windowed == windows);
      CHECK(mixtures == moe);
    }
}

TEST_CASE("choices are named by what they do again", "[cost][recompute]") {
  using cost::recompute;
  CHECK(to_string(cost::recompute_choice{}) == "none");
  CHECK(to_string(cost::recompute_choice{recompute::full, {.norm = true}}) == "full");
  CHECK(to_string(cost::recompute_choice{recompute::selective, {}}) == "selective");
  CHECK(to_string(cost::recompute_choice{recompute::selective, {.norm = true, .activation = true}}) ==
        "selective, norm, activation");
  CHECK(to_string(cost::recompute_choice{recompute::none, {.norm = true}}) == "norm");
  CHECK(to_string(cost::recompute_choice{recompute::none, {.gather = false}}) == "none, gather kept");
  CHECK(to_string(cost::recompute_choice{recompute::none, {.gather = false, .qkv = true}}) == "qkv, gather kept");
}

}  // namespace partition
}  // namespace
