// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models, trainings and splits with any sizes in them, 0 and 2^31 - 1 among them. Every function of cost gives a value
// that can be one, or says why not.
#include <hocket/cost.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/cost/report.hpp>
#include <hocket/testing/random_source.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "all_rates.hpp"
#include "catch.hpp"
#include "published_models.hpp"

namespace cost = hocket::cost;
using cost::rational;

namespace any_sizes {
namespace {

constexpr std::int64_t large = 0x7fffffff;
constexpr std::int64_t sizes[] = {0, 1, 2, 3, 8, 100, 4096, 1 << 20, large - 1, large};

struct question {
  cost::model model;
  cost::training training{.sequence = 1024, .micro_batch = 1, .global_batch = 64};
  cost::parallel parallel{};
};

constexpr std::int64_t cost::model::* of_model[] = {
    &cost::model::hidden,       &cost::model::heads,      &cost::model::kv_heads,   &cost::model::head_dim,
    &cost::model::ffn,          &cost::model::vocabulary, &cost::model::positions,  &cost::model::layers,
    &cost::model::moe_layers,   &cost::model::experts,    &cost::model::expert_ffn, &cost::model::active_experts,
    &cost::model::shared_ffn,   &cost::model::query_rank, &cost::model::kv_rank,    &cost::model::nope_dim,
    &cost::model::value_dim,    &cost::model::window,     &cost::model::mtp_layers, &cost::model::ffn_matrices,
    &cost::model::window_layers};
constexpr std::int64_t cost::training::* of_training[] = {
    &cost::training::sequence, &cost::training::micro_batch, &cost::training::global_batch,
    &cost::training::squared_lengths, &cost::training::windowed_pairs};
constexpr std::int64_t cost::parallel::* of_parallel[] = {&cost::parallel::tp,  &cost::parallel::dp,
                                                          &cost::parallel::cp,  &cost::parallel::ep,
                                                          &cost::parallel::etp, &cost::parallel::copies};

question draw(hocket::testing::random_source& random, const cost::model& like) {
  question q{.model = like};
  const auto size = [&] { return sizes[random.below(std::size(sizes))]; };
  for (std::uint32_t changes = random.below(4); changes > 0; --changes) {
    const std::uint32_t which = random.below(8);
    if (which < 5) q.model.*of_model[random.below(std::size(of_model))] = size();
    else if (which < 7) q.training.*of_training[random.below(std::size(of_training))] = size();
    else q.parallel.*of_parallel[random.below(std::size(of_parallel))] = size();
  }
  q.parallel.pp = std::int64_t{1} << random.below(3);
  q.parallel.recompute = static_cast<cost::recompute>(random.below(3));
  q.parallel.zero = static_cast<cost::zero>(random.below(4));
  q.parallel.sequence_parallel = random.below(2) == 0;
  q.training.flash_attention = random.below(2) == 0;
  q.training.dropout = random.below(2) == 0;
  if (q.model.window_layers > 0)
    q.model.layers = std::min<std::int64_t>(q.model.layers, 64);  // a list has an entry each
  return q;
}

// What was answered and refused, by function.
struct tally {
  int answered = 0, refused = 0;

  template <class T, class Good>
  bool operator()(const char* what, const hocket::result<T>& r, Good&& is_good) {
    INFO(what);
    ++(r ? answered : refused);
    if (!r) CHECK(message(r.error()).size() > 8);
    else CHECK(is_good(*r));
    return r.has_value();
  }
};

bool is_amount(const rational& x) { return x.ok() && !(x < rational(0)); }
bool is_memory(const cost::memory_peak& x) {
  return is_amount(x.static_bytes) && is_amount(x.total_bytes()) && !(x.total_bytes() < x.static_bytes);
}
bool is_time(const cost::step_prediction& x) {
  return std::isfinite(x.parts.total().count()) && x.parts.total().count() >= 0;
}

void ask(const question& q, tally& asked) {
  const auto& [m, t, p] = q;
  const cost::convention counted;
  const cost::layer_list list = cost::to_layers(m);
  const auto parameters = cost::count_parameters(list);
  asked("parameters", parameters, [](const auto& x) { return x.total >= 0 && x.active <= x.total; });
  if (!check(list, t, p)) return;
  const auto flops = cost::count_flops(list, t, p, counted);
  asked("FLOPs", flops, [](const auto& x) { return is_amount(x.model_step) && !(x.hardware_step < x.model_step); });
  asked("report", cost::make_report(list, t, p, counted),
        [&](const auto& x) { return x.memory.size() == static_cast<std::size_t>(p.pp); });
  asked("time", cost::predict_step(list, t, p, all_rates), is_time);
  const auto ranks = cost::layers_of_ranks(list, p);
  if (!asked("layers of ranks", ranks, [&](const auto& x) { return x.size() == static_cast<std::size_t>(p.pp); }))
    return;
  for (const cost::rank_layers& on : *ranks) {
    const auto share = cost::held_share_by_1f1b(t, p, on.ends.rank);
    if (!asked("passes", share, [](const auto& x) { return x.embedding_passes >= 0; })) continue;
    asked("memory", cost::memory_of_rank(list, on, t, p, *share),
          [](const auto& x) { return is_memory(x.peak) && is_amount(x.activation_bytes); });
  }
}

}  // namespace
}  // namespace any_sizes

TEST_CASE("a part of a model that is more than the whole is refused", "[cost]") {
  const cost::model whole{
      .layers = 4, .hidden = 8, .heads = 2, .kv_heads = 2, .head_dim = 4, .ffn = 16, .vocabulary = 32};
  const auto refusal = [](const cost::model& m) { return message(cost::count_parameters(m).error()); };
  cost::model m = whole;
  m.moe_layers = 5;
  CHECK(refusal(m) == "moe_layers is 5, but must lie in [0, 4]");
  m = whole;
  m.window_layers = 5;
  CHECK(refusal(m) == "window_layers is 5, but must lie in [0, 4]");
  m = whole;
  m.moe_layers = 2;
  m.experts = 4;
  m.active_experts = 5;
  CHECK(refusal(m) == "active_experts is 5, but must lie in [0, 4]");
  CHECK(message(cost::count_parameters(cost::to_layers(m)).error()) == "active_experts is 5, but must lie in [0, 4]");
}

TEST_CASE("models of any sizes are counted, or refused with a sentence", "[cost]") {
  hocket::testing::random_source random(26);
  any_sizes::tally asked;
  const auto models = all_models();
  for (int round = 0; round < 1500; ++round) {
    const auto like = std::next(models.begin(), random.below(models.size()));
    INFO("round " << round << ": " << like->first);
    any_sizes::ask(any_sizes::draw(random, like->second), asked);
  }
  CHECK(asked.answered > 2000);
  CHECK(asked.refused > 200);
}
