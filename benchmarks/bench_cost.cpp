// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluations of the cost formulas per second, one core: the batch evaluator that is generated from them, against the
// exact one and against a loop written by hand; by turns in one process.   bench_cost [--benchmark_filter=REGEX]
#include <hocket/cost/formula/batch.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/list_time.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <regex>
#include <string>
#include <vector>

#include "measure.hpp"

namespace cost = hocket::cost;
using namespace hocket::cost::letters;

namespace {

double cpu_seconds() { return bench::now() * 1e-3; }
// The best of a few rounds, in seconds per call.
template <class F>
double best_of(int rounds, F&& f) {
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const double start = cpu_seconds();
    f();
    const double took = cpu_seconds() - start;
    best = took < best ? took : best;
  }
  return best;
}

constexpr cost::model llama_70b{
    .layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .ffn = 28672, .vocabulary = 128256};
constexpr cost::training step{.sequence = 4096, .global_batch = 1024};

// Strategies for 1024 devices: every tp, pp, vp, micro-batch, recompute level, sharding and sequence parallelism.
struct strategies {
  std::vector<double> tp, pp, vp, dp, b, sp, zero, level;
  std::vector<cost::parallel> structs;
  std::vector<cost::training> steps;
  explicit strategies(std::size_t at_least) {
    while (tp.size() < at_least)
      for (const int t : {1, 2, 4, 8})
        for (const int p : {1, 2, 4, 8, 16})
          for (const int v : {1, 2, 4})
            for (const int micro : {1, 2, 4})
              for (const int z : {0, 1, 2, 3})
                for (const int r : {0, 1, 2})
                  for (const int sequence : {0, 1}) add(t, p, v, micro, z, r, sequence);
  }
  void add(int t, int p, int v, int micro, int z, int r, int sequence) {
    if (p * v > 80 || (p == 1 && v > 1)) return;
    tp.push_back(t);
    pp.push_back(p);
    vp.push_back(v);
    dp.push_back(1024 / t / p);
    b.push_back(micro);
    zero.push_back(z);
    level.push_back(r);
    sp.push_back(sequence);
    structs.push_back({.tp = t,
                       .pp = p,
                       .vp = v,
                       .dp = 1024 / t / p,
                       .sequence_parallel = sequence != 0,
                       .zero = static_cast<cost::zero>(z),
                       .recompute = static_cast<cost::recompute>(r)});
    cost::training micro_step = step;
    micro_step.micro_batch = micro;
    steps.push_back(micro_step);
  }
};

// The dense part of the table of saved tensors as one would write it by hand, with the same cases.
double by_hand(const cost::model& m, const cost::training& t, const cost::parallel& p) {
  const auto x = [](std::int64_t v) { return static_cast<double>(v); };
  const double tokens = x(t.sequence * t.micro_batch), ways = x(p.tp * p.cp), c_ = t.activation_bytes.real();
  const double region = p.sequence_parallel ? ways : x(p.cp), stream = c_ * tokens * x(m.hidden);
  if (p.recompute == cost::recompute::full) return stream / region;
  double sum = 4 * stream / region;
  sum += 2 * c_ * tokens * x(m.heads * m.head_dim) / ways;
  sum += 2 * c_ * tokens * x(m.kv_heads * m.head_dim) / (x(p.tp < m.kv_heads ? p.tp : m.kv_heads) * x(p.cp));
  const double scores = x(m.heads) * x(t.sequence) * tokens;
  if (t.flash_attention) sum += 4 * x(m.heads) * tokens / ways;
  else if (p.recompute == cost::recompute::none) sum += (t.dropout ? 2 * c_ + 1 : c_) * scores / ways;
  if (t.dropout) sum += 2 * tokens * x(m.hidden) / region;
  sum += x(m.ffn_matrices) * c_ * tokens * x(m.ffn) / ways;
  return sum;
}

// Symbols for what one formula hands to the next.
constexpr auto kept_layer = cost::named<cost::units::bytes>("kept_layer", "k_l");
constexpr auto fixed = cost::named<cost::units::bytes>("fixed", "M_s");
constexpr auto L_all = cost::named("layers", "L");
constexpr auto work = cost::named<cost::units::flops>("work", "F_l");
constexpr auto wire = cost::named<cost::units::bytes>("wire", "w_l");
constexpr auto step_wire = cost::named<cost::units::bytes>("step_wire", "w_d");
constexpr auto moved = cost::named<cost::units::bytes>("moved", "m_l");

const cost::part one_layer{.layers = 1, .first = false, .last = false};
const cost::replay_set by_level;
const cost::convention counted{.attention = cost::attention_count::causal_exact};
const cost::parallel defaults;
const cost::layer_list list = llama_70b;
const cost::layer_blocks& layer = list.layers.front().blocks;
const cost::environment common(one_layer, list.sizes, step, defaults, by_level, counted);

/// Adds to `out` what one rank has of a list of every block of a layer.
template <class... Columns>
void add_layer(cost::term_list_view cost::block_terms::* which, const cost::part& layers, std::vector<double>& out,
               const Columns&... columns) {
  std::vector<double> one(out.size());
  for (const cost::block& b : layer)
    std::visit(
        [&]<class Sizes>(const Sizes& sizes) {
          const cost::environment numbers(sizes, layers, list.sizes, step, defaults, by_level, counted);
          cost::rank_total(cost::formulas_of<Sizes>::lists().*which, cost::batch(numbers, columns...), one);
          for (std::size_t i = 0; i < out.size(); ++i) out[i] += one[i];
        },
        b.what);
}
/// The table of saved tensors of a layer: its input, and what its blocks keep.
void kept_by_layer(const strategies& all, std::vector<double>& out) {
  const auto t = cost::column_of(tp, all.tp), micro = cost::column_of(b, all.b), split = cost::column_of(sp, all.sp),
             level = cost::column_of(recomputed, all.level);
  cost::rank_total(cost::layer_input_terms, cost::batch(common, t, micro, split, level), out);
  add_layer(&cost::block_terms::saved, one_layer, out, t, micro, split, level);
}

/// The table of saved tensors by three ways, which must agree.
bool saved_tensors(const strategies& all) {
  const std::size_t n = all.tp.size();
  const double strategies_count = static_cast<double>(n);
  std::vector<double> kept(n), by_hands(n);
  const double batch = best_of(30, [&] { kept_by_layer(all, kept); });
  double hand_sum = 0, exact_sum = 0;
  const double hand = best_of(30, [&] {
    hand_sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      by_hands[i] = by_hand(llama_70b, all.steps[i], all.structs[i]);
      hand_sum += by_hands[i];
    }
  });
  const double exact = best_of(2, [&] {
    exact_sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      exact_sum += cost::layer_activation_bytes(list, layer, all.steps[i], all.structs[i]).value().real();
  });
  double batch_sum = 0;
  for (const double x : kept) batch_sum += x;
  const bool equal = batch_sum == exact_sum && hand_sum / exact_sum - 1 < 1e-12 && 1 - hand_sum / exact_sum < 1e-12;
  std::printf("table of saved tensors, %zu strategies; all three %s\n", n, equal ? "agree" : "DISAGREE");
  std::printf("  generated batch   %8.2f M/s\n  by hand, scalar   %8.2f M/s   batch takes %.2f x as long\n",
              strategies_count / batch / 1e6, strategies_count / hand / 1e6, batch / hand);
  std::printf("  exact, one by one %8.2f M/s   batch is %.0f x as fast\n", strategies_count / exact / 1e6,
              exact / batch);
  return equal;
}

/// Memory of the first rank and time of a step, of every strategy: fast enough?
bool memory_and_time(const strategies& all) {
  const std::size_t n = all.tp.size();
  const double strategies_count = static_cast<double>(n);
  std::vector<double> kept(n), a1(n), a2(n), a3(n), a4(n), a5(n), a6(n), memory(n), seconds(n);
  // Memory of the first rank and time of a step: parameters, states, saved tensors, in flight, FLOPs, collectives.
  const double best = best_of(10, [&] {
    const auto tensor = cost::column_of(tp, all.tp), split = cost::column_of(sp, all.sp),
               level = cost::column_of(recomputed, all.level);
    const cost::part whole_model{.layers = llama_70b.layers};
    const cost::environment model_numbers(whole_model, list.sizes, step, defaults, by_level, counted);
    cost::rank_total(cost::end_parameter_terms, cost::batch(model_numbers, tensor), a1);
    add_layer(&cost::block_terms::parameters, whole_model, a1, tensor);
    for (std::size_t i = 0; i < n; ++i) a1[i] /= all.pp[i];
    const cost::rank_parameters none{};
    const cost::environment states(none, list.sizes, step, defaults);
    const cost::batch state_batch(states, cost::column_of(N_r, a1), cost::column_of(tp, all.tp),
                                  cost::column_of(dp, all.dp), cost::column_of(zero_level, all.zero));
    cost::rank_total(cost::static_memory_terms, state_batch, a2);
    cost::total(cost::data_transfer_terms, state_batch, a3);
    kept_by_layer(all, kept);
    for (std::vector<double>* sum : {&a4, &a5, &a6}) std::fill(sum->begin(), sum->end(), 0.0);
    const auto micro = cost::column_of(b, all.b);
    add_layer(&cost::block_terms::tensor_transfers, one_layer, a4, tensor, micro, split, level);
    add_layer(&cost::block_terms::moved, one_layer, a6, tensor, micro, split, level);
    add_layer(&cost::block_terms::forward, one_layer, a5, tensor, cost::column_of(B, all.b), split, level);
    const cost::part first{};
    const cost::machine on{.gemm_flops = 4e14, .memory_bytes = 2e12, .tensor_bytes = 2e11, .data_bytes = 5e10};
    const cost::environment ends_of(llama_70b, first, step, defaults, on);
    const cost::batch rank(ends_of, cost::column_of(kept_layer, kept), cost::column_of(fixed, a2),
                           cost::column_of(work, a5), cost::column_of(wire, a4), cost::column_of(step_wire, a3),
                           cost::column_of(moved, a6), cost::column_of(pp, all.pp), cost::column_of(vp, all.vp),
                           cost::column_of(dp, all.dp), cost::column_of(b, all.b),
                           cost::column_of(recomputed, all.level));
    cost::evaluate(fixed + kept_layer * cost::chunks_in_flight * divide_up(L_all, pp * vp), rank, memory);
    cost::evaluate((work * (3 + choose(recomputed, 0, 0, 1)) / P_g + wire / D_t + 3 * moved / M) *
                           (L_all * cost::micro_batches / pp) * (1 + cost::bubble_over_work) +
                       step_wire / D_d,
                   rank, seconds);
  });
  std::printf("memory and time of a strategy: %zu strategies in %.2f ms, %.2f M/s (must: 1 M/s)\n", n, 1e3 * best,
              strategies_count / best / 1e6);
  return strategies_count / best >= 1e6;
}

}  // namespace

int main(int count, char** arguments) {
  std::string filter = ".*";
  for (int i = 1; i < count; ++i)
    if (std::strncmp(arguments[i], "--benchmark_filter=", 19) == 0) filter = arguments[i] + 19;
  const auto wanted = [&](const char* name) { return std::regex_search(name, std::regex(filter)); };
  const strategies all(10'000);
  int failed = 0;
  if (wanted("saved_tensors")) failed += !saved_tensors(all);
  if (wanted("strategies")) failed += !memory_and_time(all);
  return failed;
}
