// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rates of machines: work over rate, what hides, which rates a fit finds; traffic of the rank that has most.
#include <hocket/core/message.hpp>
#include <hocket/cost/fit_machine.hpp>
#include <hocket/cost/machines.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "all_rates.hpp"
#include "catch.hpp"
#include "equal_layers.hpp"

namespace {
namespace rates {

namespace cost = hocket::cost;
using cost::machine;
using matrix = std::vector<std::vector<double>>;

constexpr cost::model dense{
    .layers = 8, .hidden = 1024, .heads = 16, .kv_heads = 4, .head_dim = 64, .ffn = 4096, .vocabulary = 32000};
cost::model with_experts() {
  cost::model m = dense;
  m.moe_layers = 6;
  m.experts = 8;
  m.active_experts = 2;
  m.expert_ffn = 512;
  return m;
}

bool close(double mine, double theirs, double part = 1e-9) {
  return std::abs(mine - theirs) <= part * std::abs(theirs);
}

/// Sum of (x q - 1)^2.
double misfit(const matrix& x, const std::vector<double>& q) {
  double sum = 0;
  for (const auto& row : x) {
    double off = -1;
    for (std::size_t j = 0; j < q.size(); ++j) off += row[j] * q[j];
    sum += off * off;
  }
  return sum;
}

TEST_CASE("least squares: no other point near it fits better, none of it is negative", "[cost][fit]") {
  std::mt19937 draw(101);
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(draw() % 10001) / 10000;
  };
  int exact = 0, dropped = 0;
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 1 + draw() % 4, rows = n + draw() % 4;
    std::vector<double> truth(n);
    for (std::size_t j = 0; j < n; ++j) truth[j] = std::pow(10.0, between(-9, 3));  // rates are far apart
    matrix x(rows, std::vector<double>(n));
    const bool consistent = round % 2 == 0;
    for (auto& row : x) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += row[j] = between(0.05, 1);
      for (std::size_t j = 0; j < n; ++j) row[j] /= truth[j] * (consistent ? sum : between(0.5, 2) * sum);
    }
    const auto found = cost::detail::positive_least_squares(x);
    REQUIRE(found.size() == n);
    for (const double q : found) CHECK(q >= 0);
    for (const double q : found) dropped += q == 0 ? 1 : 0;
    const double least = misfit(x, found);
    if (consistent) {
      CHECK(least < 1e-9);
      exact += rows > n ? 1 : 0;
    }
    // A minimum over what is not dropped: a small step either way is no better.
    for (std::size_t j = 0; j < n; ++j) {
      if (found[j] == 0) continue;
      for (const double step : {1 - 1e-3, 1 + 1e-3}) {
        auto moved = found;
        moved[j] *= step;
        CHECK(misfit(x, moved) >= least - 1e-12);
      }
    }
  }
  CHECK(exact > 50);
  CHECK(dropped > 10);
  // A column of zeros is no rate that anything needs; a pivot of zero is no reason to give up.
  const auto unneeded = cost::detail::positive_least_squares({{0, 2}, {0, 2}});
  CHECK(unneeded[0] == 0);
  CHECK(close(unneeded[1], 0.5));
  const auto swapped = cost::detail::positive_least_squares({{1e-9, 1}, {1, 1e-9}});
  CHECK(close(swapped[0], 1, 1e-6));
  CHECK(close(swapped[1], 1, 1e-6));
}

/// Steps of a machine, as if measured: with and without tensor, data and expert parallelism.
std::vector<cost::measured_step> steps_of(const machine& on) {
  std::vector<cost::measured_step> out;
  for (const bool experts : {false, true})
    for (const std::int64_t tp : {1, 2, 4})
      for (const std::int64_t dp : {1, 4})
        for (const std::int64_t sequence : {1024, 8192}) {
          cost::measured_step s{
              .model = experts ? with_experts() : dense,
              .training = {.sequence = sequence, .global_batch = 2 * dp},
              .parallel = {.tp = tp, .dp = dp, .ep = experts ? dp : 1, .zero = cost::zero::optimizer}};
          s.step_time = cost::predict_step(s.model, s.training, s.parallel, on)->step_time();
          out.push_back(s);
        }
  return out;
}

TEST_CASE("a fit finds the rates that made the steps, from rates that are far off", "[cost][fit]") {
  const auto steps = steps_of(all_rates);
  const std::array fitted{&machine::gemm_flops,   &machine::attention_flops, &machine::memory_bytes,
                          &machine::tensor_bytes, &machine::expert_bytes,    &machine::data_bytes};
  machine start = all_rates;
  for (const auto rate : fitted) start.*rate *= 3;
  const auto found = cost::fit_machine(steps, fitted, start).value();
  for (const auto rate : fitted) CHECK(close(found.rates.*rate, all_rates.*rate, 1e-4));
  CHECK(found.worst_error < 1e-5);
  CHECK(found.mean_error <= found.worst_error);
  // One rate of six: the others keep what the start says, and their part of a step is not charged to it.
  machine slow = all_rates;
  slow.gemm_flops /= 2;
  const std::array one{&machine::gemm_flops};
  const auto alone = cost::fit_machine(steps, one, slow).value();
  CHECK(close(alone.rates.gemm_flops, all_rates.gemm_flops, 1e-6));
  CHECK(alone.rates.data_bytes == all_rates.data_bytes);
  // Where nothing is sent to experts, nothing is learnt of their rate.
  const std::vector<cost::measured_step> first(steps.begin(), steps.begin() + 4);
  const std::array unneeded{&machine::gemm_flops, &machine::expert_bytes};
  const auto without = cost::fit_machine(first, unneeded, slow).value();
  CHECK(close(without.rates.gemm_flops, all_rates.gemm_flops, 1e-6));
  CHECK(without.rates.expert_bytes == all_rates.expert_bytes);
  // Steps that take longer the less they send: a rate below 0 would meet them best. The fitted machine is one still.
  std::vector<cost::measured_step> odd(steps.begin(), steps.begin() + 12);
  for (auto& s : odd) s.step_time = s.step_time * (s.parallel.tp == 1 ? 2.5 : s.parallel.tp == 2 ? 1.2 : 0.5);
  const std::array with_links{&machine::gemm_flops, &machine::tensor_bytes};
  const auto dropped = cost::fit_machine(odd, with_links, all_rates).value();
  CHECK(dropped.rates.tensor_bytes == (std::numeric_limits<double>::max)());
  CHECK(cost::predict_step(odd[4].model, odd[4].training, odd[4].parallel, dropped.rates));
}

TEST_CASE("errors of a fit are those of its predictions", "[cost][fit]") {
  auto steps = steps_of(all_rates);
  steps.resize(5);
  steps[0].step_time = steps[0].step_time * 1.25;  // predicted 20 % below
  steps[3].step_time = steps[3].step_time * 0.8;   // and 25 % above
  CHECK(close(cost::prediction_error(steps[0], all_rates).value(), -0.2));
  CHECK(close(cost::prediction_error(steps[3], all_rates).value(), 0.25));
  const std::array one{&machine::host_bytes};  // which no step needs
  const auto found = cost::fit_machine(steps, one, all_rates).value();
  CHECK(close(found.mean_error, (0.2 + 0.25) / 5, 1e-6));
  CHECK(close(found.worst_error, 0.25, 1e-6));
  const auto band = cost::with_band(hocket::seconds(10), {"", {}, 0, 0.25, ""});
  CHECK(close(band.least.count(), 8));
  CHECK(band.expected.count() == 10);
  CHECK(close(band.most.count(), 10 / 0.75));
}

TEST_CASE("a fit refuses too few steps and times that are none", "[cost][fit]") {
  auto steps = steps_of(all_rates);
  const std::array two{&machine::gemm_flops, &machine::data_bytes};
  CHECK(cost::fit_machine(std::span(steps).first(1), two, all_rates).error().code == hocket::errc::out_of_range);
  CHECK(cost::fit_machine(std::span(steps).first(2), two, all_rates));
  CHECK(cost::fit_machine(steps, std::span<const cost::machine_rate>{}, all_rates).error().code ==
        hocket::errc::out_of_range);
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    steps[1].step_time = hocket::seconds(wrong);
    CHECK(cost::fit_machine(steps, two, all_rates).error().code == hocket::errc::bad_cost);
  }
  steps = steps_of(all_rates);
  steps[1].parallel.tp = 3;
  CHECK(cost::fit_machine(steps, two, all_rates).error().code == hocket::errc::indivisible);
}

TEST_CASE("each kind of work has its own rate", "[cost][seconds]") {
  using cost::axis, cost::collective, cost::layer_operation;
  const auto took = [](const cost::work_item& w) { return cost::time_of(all_rates, w).count(); };
  cost::work_item products;
  products.flops.value = 1e15;
  CHECK(took(products) == 1e15 / 7e14);
  for (const auto inside : {layer_operation::attention, layer_operation::core}) {
    products.by = inside;
    CHECK(took(products) == 1e15 / 5e14);
  }
  products.by = layer_operation::qkv;
  CHECK(took(products) == 1e15 / 7e14);
  cost::work_item bytes;
  CHECK(took(bytes) == 0);
  CHECK(cost::time_of(machine{}, bytes).count() == 0);  // no work needs no rate
  bytes.bytes.value = 6e10;
  CHECK(took(bytes) == 6e10 / 3e12);
  bytes.kind = collective::all_gather;
  const std::pair<axis, double> links[] = {
      {axis::tensor, 2e11}, {axis::context, 2e11}, {axis::expert, 7e10}, {axis::pipeline, 5e10}, {axis::data, 3e10}};
  for (const auto& [over, rate] : links) {
    bytes.over = over;
    CHECK(took(bytes) == 6e10 / rate);
  }
  bytes.to_host = true;
  CHECK(took(bytes) == 6e10 / 2e10);

  // The roofline: what is slower of both; links as they are.
  const cost::roofline ideal{all_rates};
  cost::work_item both;
  both.flops.value = 7e14;
  both.bytes.value = 1e12;
  CHECK(ideal.time(both).count() == 1);
  both.bytes.value = 9e12;
  CHECK(ideal.time(both).count() == 3);
  both.by = layer_operation::attention;
  both.flops.value = 2e15;
  CHECK(ideal.time(both).count() == 4);
  CHECK(ideal.time(bytes).count() == 3);
}

TEST_CASE("a machine of which nothing is said about overlap hides nothing but what goes to the host",
          "[cost][seconds]") {
  const machine silent;
  CHECK(cost::overlap_of(silent, cost::axis::expert) == 0);
  CHECK(cost::overlap_of(silent, cost::axis::data) == 0);
  CHECK(cost::overlap_of(silent, cost::axis::tensor) == 0);
  machine told = all_rates;
  told.expert_overlap = 0.25;
  told.data_overlap = 0.5;
  CHECK(cost::overlap_of(told, cost::axis::expert) == 0.25);
  CHECK(cost::overlap_of(told, cost::axis::data) == 0.5);
  CHECK(cost::overlap_of(told, cost::axis::tensor) == 0);
  CHECK(silent.host_overlap == 1);
  CHECK(silent.load_seconds + silent.post_seconds + silent.launch_seconds + silent.launches == 0);

  // A quarter of the exchange with experts hides: that of the whole is exposed but for it.
  const cost::training t{.sequence = 1024, .global_batch = 8};
  const cost::parallel p{.dp = 4, .ep = 4};
  const auto layer = [&](const machine& on) { return equal_layers::time_of_last(with_experts(), t, p, on).value(); };
  const auto whole = layer(all_rates), part = layer(told);
  CHECK(whole.exposed.count() > 0);
  CHECK(whole.hidden.count() == 0);
  CHECK(close(part.exposed.count(), 0.75 * whole.exposed.count()));
  CHECK(close(part.hidden.count(), 0.25 * whole.exposed.count()));
}

TEST_CASE("machines that cannot be are refused with the member and its value", "[cost][seconds]") {
  CHECK(cost::check(all_rates));
  CHECK(cost::check(machine{}));
  machine on = all_rates;
  on.expert_overlap = 1;
  CHECK(cost::check(on));
  on.expert_overlap = 1.5;
  CHECK(cost::check(on).error().word() == "expert_overlap = 1.5");
  on = all_rates;
  on.post_seconds = -0.5;
  CHECK(cost::check(on).error().word() == "post_seconds = -0.5");
  on.post_seconds = std::numeric_limits<double>::infinity();
  CHECK(cost::check(on).error().code == hocket::errc::bad_rate);
  CHECK(!cost::predict_step(dense, {.sequence = 1024, .global_batch = 1}, {}, on));
}

TEST_CASE("what goes to the host takes its link, and shows beyond the compute it hides behind", "[cost][seconds]") {
  const cost::training t{.sequence = 1024, .micro_batch = 2, .global_batch = 2};
  cost::parallel p{.offload_activations = true};
  const double kept = equal_layers::kept_by_last(dense, t, {}).value().real();
  const auto layer = [&](const machine& on) { return equal_layers::time_of_last(dense, t, p, on).value(); };
  machine on = all_rates;
  for (const double part : {0.0, 0.5, 1.0}) {
    on.host_overlap = part;
    for (const double rate : {1e9, 1e10, 1e14}) {
      on.host_bytes = rate;
      const auto took = layer(on);
      const double moved = 2 * kept / rate, shown = std::fmax(0, moved - part * took.compute().count());
      CHECK(close(took.exposed.count(), shown, 1e-9));
      CHECK(std::abs(took.hidden.count() - (moved - shown)) <= 1e-9 * moved);
    }
  }
  p.offload_activations = false;
  on.host_bytes = 0;
  CHECK(layer(on).exposed.count() == 0);
}

/// Bytes that a rank sends and moves once per step, without ZeRO: gradients around the ring; each gradient and weight
/// once, in 4 and 2 bytes, master weights in 4 and moments in 8 twice.
double sent_by(const cost::rank_parameters& n, double dp, double expert_dp) {
  return 4 * (2 * (dp - 1) / dp * static_cast<double>(n.dense) +
              2 * (expert_dp - 1) / expert_dp * static_cast<double>(n.expert));
}
double moved_by(const cost::rank_parameters& n) { return 30.0 * static_cast<double>(n.dense + n.expert); }

TEST_CASE("once per step the rank with most to send decides, and the rank with most to update", "[cost][seconds]") {
  const cost::training t{.sequence = 1024, .global_batch = 16};
  const cost::parallel p{.pp = 4, .dp = 8, .ep = 4};
  for (const std::int64_t vocabulary : {64, 1'000'000})  // experts in the middle, or embedding and head, are largest
    for (const bool tied : {false, true}) {
      cost::model m = with_experts();
      m.vocabulary = vocabulary;
      m.tied = tied;
      const auto step = cost::predict_step(m, t, p, all_rates).value();
      double sent = 0, moved = 0;
      const cost::layer_list list = m;
      const auto ranks = cost::layers_of_ranks(list, p).value();
      for (const cost::rank_layers& on_rank : ranks) {
        const auto n = cost::count_rank_parameters(list, on_rank, p).value();
        sent = std::fmax(sent, sent_by(n, 8, 2));
        moved = std::fmax(moved, moved_by(n));
      }
      CHECK(close(step.numbers.exchange_seconds, sent / all_rates.data_bytes));
      CHECK(close(step.parts.optimizer.count(), moved / all_rates.memory_bytes));
      CHECK(close(sent_by(step.exchange_parameters, 8, 2), sent));
      CHECK(close(moved_by(step.update_parameters), moved));
      CHECK(step.parts.communication_exposed >= hocket::seconds(step.numbers.exchange_seconds));
    }
}

/// Links on which each collective takes a second more than its bytes.
struct slow_to_start {
  machine rates;
  [[nodiscard]] hocket::seconds time(const cost::work_item& w) const {
    return cost::time_of(rates, w) + hocket::seconds(w.kind == cost::collective::none ? 0 : 1);
  }
};

/// Part of every transfer hides, and what each transfer belongs to is noted.
struct half_hidden {
  double hides = 0;
  std::vector<cost::layer_operation>* seen = nullptr;
  [[nodiscard]] hocket::seconds time(const cost::work_item& w) const {
    if (w.kind != cost::collective::none && seen != nullptr) seen->push_back(w.by);
    return cost::time_of(all_rates, w);
  }
  [[nodiscard]] double overlap(cost::axis over) const { return over == cost::axis::expert ? 0 : hides; }
};

TEST_CASE("transfers hide as far as the hardware says, and say what they belong to", "[cost][seconds]") {
  const cost::training t{.sequence = 1024, .global_batch = 16};
  const cost::parallel p{.tp = 4, .dp = 2, .ep = 2};
  std::vector<cost::layer_operation> seen;
  const auto open = equal_layers::time_of_last(dense, t, p, half_hidden{}).value();
  const auto half = equal_layers::time_of_last(dense, t, p, half_hidden{0.25, &seen}).value();
  CHECK(open.exposed.count() > 0);
  CHECK(open.hidden.count() == 0);
  CHECK(close(half.exposed.count(), 0.75 * open.exposed.count()));
  CHECK(close(half.hidden.count(), 0.25 * open.exposed.count()));
  const auto says = [&](cost::layer_operation by) { return std::count(seen.begin(), seen.end(), by) > 0; };
  CHECK_FALSE(says(cost::layer_operation::dispatch));
  CHECK(equal_layers::time_of_last(with_experts(), t, p, half_hidden{0.25, &seen}));
  CHECK(says(cost::layer_operation::dispatch));
}

TEST_CASE("of ranks that take as long the first is the busiest", "[cost][seconds]") {
  const cost::training t{.sequence = 1024, .global_batch = 16};
  cost::model without_head = dense;
  without_head.vocabulary = 0;
  const std::int64_t sizes[] = {1, 3, 3, 1};
  CHECK(cost::predict_step(without_head, t, {.pp = 4}, all_rates, sizes)->busiest == 1);
}

TEST_CASE("what is not sent does not start", "[cost][seconds]") {
  const cost::training t{.sequence = 1024, .global_batch = 16};
  const slow_to_start on{all_rates};
  const auto starts = [&](const cost::model& m, const cost::parallel& p) {
    return cost::predict_step(m, t, p, on)->numbers.exchange_seconds -
           cost::predict_step(m, t, p, all_rates)->numbers.exchange_seconds;
  };
  CHECK(starts(dense, {}) == 0);  // nobody to send to
  CHECK(starts(with_experts(), {}) == 0);
  CHECK(close(starts(dense, {.dp = 8}), 1));  // gradients
  CHECK(close(starts(with_experts(), {.dp = 8}), 2));
  CHECK(close(starts(with_experts(), {.dp = 8, .ep = 8}), 1));                        // each expert is on one rank
  CHECK(close(starts(with_experts(), {.dp = 8, .zero = cost::zero::optimizer}), 4));  // to the shards and from them
}

TEST_CASE("a step is the busiest rank's micro-batches, the others' once, and what the host cannot launch in time",
          "[cost][seconds]") {
  const cost::model m = with_experts();
  const cost::training t{.sequence = 1024, .micro_batch = 1, .global_batch = 48};
  for (const std::int64_t pp : {1, 2, 4})
    for (const std::int64_t vp : {1, 2}) {
      const cost::parallel p{.pp = pp, .vp = pp == 1 ? 1 : vp, .dp = 4, .ep = 2};
      machine on = all_rates;
      on.data_overlap = 0.25;
      on.load_seconds = 0.5;
      on.post_seconds = 0.75;
      const auto step = cost::predict_step(m, t, p, on).value();
      const double batches = 48 / 4;
      double all = 0, most = 0;
      std::size_t busiest = 0;
      for (std::size_t rank = 0; rank < step.rank_times.size(); ++rank) {
        const double took = step.rank_times[rank].total().count();
        all += took;
        if (took > most) busiest = rank;
        most = std::fmax(most, took);
      }
      CHECK(step.rank_times.size() == static_cast<std::size_t>(pp));
      CHECK(step.busiest == busiest);
      const cost::layer_time& slow = step.rank_times[busiest];
      CHECK(close(step.parts.forward_backward.count(), batches * slow.compute().count()));
      // A quarter of the exchange hides, but for what is longer than the compute of those that it can hide behind.
      const double behind = (p.vp > 1 ? static_cast<double>(pp) : 1) * slow.compute().count(),
                   exchange = step.numbers.exchange_seconds, shows = std::fmax(0.75 * exchange, exchange - behind);
      CHECK(close(step.parts.communication_exposed.count(), batches * slow.exposed.count() + shows));
      CHECK(close(step.parts.communication_hidden.count() + 1, batches * slow.hidden.count() + exchange - shows + 1));
      CHECK(close(step.parts.bubble.count() + 1, (all - most) / static_cast<double>(p.vp) + 1));
      CHECK(step.parts.scheduling.count() == 0);
      CHECK(close(step.tokens_per_second_per_device,
                  48.0 * 1024 / (step.step_time().count() * static_cast<double>(p.devices()))));
      // The last rank has its layers and the head to launch; all have as many layers here.
      on.launches = 40;
      CHECK(cost::predict_step(m, t, p, on)->numbers.kernels == 40 * static_cast<double>(8 / pp + 1));
      on.launch_seconds = 1;
      const auto late = cost::predict_step(m, t, p, on).value();
      const double device =
          (step.parts.forward_backward + step.parts.communication_exposed + step.parts.bubble).count();
      CHECK(close(late.parts.scheduling.count(), 2 * batches * static_cast<double>(8 / pp + 1) * 40 - device));
    }
}

TEST_CASE("predicted steps refuse ranks that are not the pipeline's", "[cost][seconds]") {
  const cost::training t{.sequence = 1024, .global_batch = 16};
  const cost::layer_list list = dense;
  const auto two = cost::layers_of_ranks(list, {.pp = 2}).value();
  CHECK(cost::predict_step(list, t, {.pp = 2}, all_rates, two));
  const auto wrong = cost::predict_step(list, t, {.pp = 4}, all_rates, two);
  REQUIRE(!wrong);
  CHECK(wrong.error().code == hocket::errc::bad_shape);
  CHECK(wrong.error().word() == "ranks");
}

TEST_CASE("a prediction module takes as long as a layer, a head and its joint input", "[cost][seconds]") {
  const cost::training t{.sequence = 1024, .global_batch = 16};
  cost::model m = with_experts();
  machine on = all_rates;
  on.memory_bytes = 1e18;  // so small a product takes the time of its bytes on others
  const auto head = [&](std::int64_t modules) {
    m.mtp_layers = modules;
    return cost::time_of_head(m, t, {}, on)->compute().count();
  };
  // The joint input: 2h x h per token, in both passes; a third of it is forward.
  const double joint = 3 * 2.0 * 1024 * 2 * 1024 * 1024 / 7e14, one = head(0);
  CHECK(close(head(1), 2 * one + joint));
  CHECK(close(head(3), 4 * one + 3 * joint));
  m.mtp_layers = 2;
  const cost::layer_list list = m;
  const double layer = cost::time_of_layer(list, list.layers.back().blocks, t, {}, on)->total().count();
  const auto with = cost::predict_step(list, t, {}, on).value();
  m.mtp_layers = 0;
  const auto without = cost::predict_step(m, t, {}, on).value();
  CHECK(close(with.rank_times[0].total().count() - without.rank_times[0].total().count(), 2 * (layer + one + joint)));
}

}  // namespace rates
}  // namespace
