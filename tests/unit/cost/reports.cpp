// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports: every printed line comes to its value, and the lines of a group add up to what is counted apart.
#include <hocket/core/message.hpp>
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/cost/step_report.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "all_rates.hpp"
#include "calculator.hpp"
#include "catch.hpp"

namespace {
namespace reports {

namespace cost = hocket::cost;
using cost::rational;

bool close(double mine, double theirs, double part = 1e-9) {
  return std::abs(mine - theirs) <= part * std::abs(theirs) + 1e-18;
}
constexpr double as_printed = 2e-5;  // measured numbers have six digits

constexpr cost::model dense{.layers = 8,
                            .hidden = 256,
                            .heads = 8,
                            .kv_heads = 4,
                            .head_dim = 32,
                            .ffn = 1024,
                            .vocabulary = 4096,
                            .qkv_bias = true,
                            .output_bias = true};
cost::model with_experts() {
  cost::model m = dense;
  m.moe_layers = 6;
  m.experts = 8;
  m.active_experts = 2;
  m.expert_ffn = 128;
  m.shared_ffn = 64;
  m.mtp_layers = 1;
  return m;
}
constexpr cost::machine on_links = [] {
  cost::machine alone = all_rates;
  alone.host_overlap = 0;
  return alone;
}();
const cost::training step{.sequence = 512, .micro_batch = 2, .global_batch = 32, .dropout = true};

/// What a reader makes of "min(tp, g)*cp".
double ranks_of(const cost::report_line& line, const cost::parallel& p, std::int64_t kv_heads) {
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const std::map<std::string, double> letters{{"tp", real(p.tp)},   {"cp", real(p.cp)},   {"dp", real(p.dp)},
                                              {"ep", real(p.ep)},   {"etp", real(p.etp)}, {"pp", real(p.pp)},
                                              {"g", real(kv_heads)}};
  return calculator(line.split, letters).value();
}
/// The sum over a group of lines, of one rank; each line is looked at.
double sum_of_group(const cost::report& r, std::string_view group, const cost::parallel& p, std::int64_t kv_heads = 4) {
  double sum = 0;
  for (const cost::report_line& line : r.lines) {
    if (line.group != group) continue;
    INFO(line.group << ": " << line.name << ": " << line.numbers << " over " << line.split);
    CHECK(close(calculator(line.numbers).value(), line.real_value));
    if (!line.is_real) CHECK(line.value.real() == line.real_value);
    CHECK(!line.formula.empty());
    CHECK(!line.latex.empty());
    CHECK(!line.latex_numbers.empty());
    CHECK(!line.source.empty());
    CHECK(!line.unit.empty());
    sum += line.real_value / ranks_of(line, p, kv_heads);
  }
  return sum;
}
std::set<std::string> groups_of(const cost::report& r) {
  std::set<std::string> out;
  for (const cost::report_line& line : r.lines) out.insert(line.group);
  return out;
}
/// A report of layers that are dealt out evenly.
hocket::result<cost::report> report_of(const cost::layer_list& list, const cost::parallel& p,
                                       const cost::convention& counted = {},
                                       const std::vector<cost::held_share>& passes = {}) {
  return cost::make_report(list, step, p, counted, {}, passes);
}
/// The same with its predicted seconds.
hocket::result<cost::step_prediction> seconds_of(cost::report& r, const cost::layer_list& list, const cost::parallel& p,
                                                 const cost::machine& on) {
  const auto ranks = cost::layers_of_ranks(list, p).value();
  const auto predicted = cost::predict_step(list, step, p, on, std::span<const cost::rank_layers>(ranks));
  if (!predicted) return predicted.error();
  if (const auto ok = cost::add_step_lines(r, list, step, p, on, ranks, *predicted); !ok) return ok.error();
  return *predicted;
}
/// Sum of formula over a list for one setting, each term whole: what transfers are, on one rank.
double whole_sum(const cost::term_list_view& list, const cost::setting& all) {
  return cost::total(list, cost::numbers_of(all)).value().real();
}

/// What the blocks of one layer send of one micro-batch.
double sent_by_layer(const cost::layer_list& list, const cost::layer_blocks& blocks, const cost::training& t,
                     const cost::parallel& p) {
  double sum = 0;
  for (const cost::block& b : blocks)
    cost::visit_block(
        b, {.sizes = list.sizes, .training = t, .parallel = p},
        [&](const cost::block_terms& lists, const cost::numbers_view& numbers) {
          for (const auto& each : {lists.tensor_transfers, lists.context_transfers, lists.expert_transfers})
            sum += cost::total(each, numbers).value().real();
        });
  return sum;
}

TEST_CASE("a report's lines add up to the counts beside them", "[cost][report]") {
  for (const cost::model& m : {dense, with_experts()})
    for (const auto level : {cost::recompute::none, cost::recompute::selective, cost::recompute::full})
      for (const bool sharded : {false, true}) {
        const bool experts = m.moe_layers > 0;
        const cost::layer_list list = m;
        const cost::parallel p{.tp = 2,
                               .pp = 4,
                               .dp = 2,
                               .cp = 2,
                               .ep = experts ? 2 : 1,
                               .sequence_parallel = sharded,
                               .zero = sharded ? cost::zero::optimizer : cost::zero::none,
                               .recompute = level};
        const cost::convention counted{.attention = cost::attention_count::causal_half};
        const auto r = report_of(list, p, counted).value();
        double parameters = 0, forward = 0;
        for (const cost::report_line& line : r.lines) {
          parameters += line.group.starts_with("parameters") ? line.real_value : 0;
          forward += line.group.starts_with("forward FLOPs of a step") ? line.real_value : 0;
        }
        CHECK(parameters == static_cast<double>(cost::count_parameters(list)->total));
        CHECK(r.parameters == cost::count_parameters(list).value());
        CHECK(close(3 * forward, r.flops->model_step.real()));
        CHECK(r.flops->hardware_step == cost::count_flops(list, step, p, counted)->hardware_step);
        CHECK(r.tokens_per_step == rational(32 * 512));

        const auto ranks = cost::layers_of_ranks(list, p).value();
        REQUIRE(r.memory.size() == 4);
        for (std::size_t rank = 0; rank < 4; ++rank) {
          const auto share = cost::held_share_by_1f1b(step, p, static_cast<std::int64_t>(rank)).value();
          const auto memory = cost::memory_of_rank(list, ranks[rank], step, p, share).value();
          CHECK(r.memory[rank].on_rank.layers == ranks[rank].layer_count);
          CHECK(r.memory[rank].static_bytes == memory.static_bytes);
          CHECK(r.memory[rank].activation_bytes == memory.activation_bytes);
          CHECK(r.memory[rank].peak.total_bytes() == memory.peak.total_bytes());
          CHECK(r.memory[rank].total_bytes() == r.memory[rank].static_bytes + r.memory[rank].activation_bytes);
        }
        CHECK(close(sum_of_group(r, "static bytes, rank 0", p), r.memory[0].static_bytes.real()));
        // Two dense layers, and seven with experts: that of the prediction module among them.
        const std::string kinds[] = {experts ? ", kind 1 of 2 (2 layers)" : "", ", kind 2 of 2 (7 layers)"};
        for (std::size_t kind = 0; kind < (experts ? 2 : 1); ++kind)
          CHECK(close(sum_of_group(r, "kept by one layer" + kinds[kind], p),
                      cost::layer_activation_bytes(list, list.layers[kind].blocks, step, p).value().real()));
        // What leaves a rank is not divided any further.
        cost::setting all{.on_rank = {.layers = 1, .first = false, .last = false},
                          .parameters = r.memory[0].parameters,
                          .sizes = list.sizes,
                          .training = step,
                          .parallel = p};
        CHECK(close(sum_of_group(r, "sent by one layer and micro-batch" + kinds[0], p),
                    sent_by_layer(list, list.layers[0].blocks, step, p)));
        CHECK(close(sum_of_group(r, "sent between stages, per micro-batch", p),
                    2 * 2.0 * 2 * 512 * 256 / 2 / (sharded ? 2 : 1)));
        CHECK(close(sum_of_group(r, "sent over data-parallel ranks, per step", p),
                    whole_sum(cost::data_transfer_terms, all)));
        // The last rank's end: norm and head input, logits twice; of one micro-batch.
        const double tokens = 2 * 512 / 2, norms = 2 * 2 * tokens * 256 / (sharded ? 2 : 1);
        CHECK(close(sum_of_group(r, "kept outside of the layers, last rank", p), norms + (2 + 4) * tokens * 4096 / 2));
        for (const cost::report_line& line : r.lines) CHECK_FALSE((!line.is_real && line.value == rational(0)));
      }
}

TEST_CASE("a report of a model alone has its parameters", "[cost][report]") {
  const cost::model m = with_experts();
  const auto r = cost::make_report(m).value();
  CHECK(groups_of(r) == std::set<std::string>{"parameters", "parameters, kind 1 of 2 (2 layers)",
                                              "parameters, kind 2 of 2 (7 layers)"});
  CHECK_FALSE(r.flops.has_value());
  CHECK(r.memory.empty());
  double sum = 0;
  std::set<std::string> origins;
  for (const cost::report_line& line : r.lines) {
    sum += line.real_value;
    CHECK(close(calculator(line.numbers).value(), line.real_value));
    origins.insert(std::string(to_string(line.how)));
  }
  CHECK(sum == static_cast<double>(r.parameters.total));
  CHECK(origins == std::set<std::string>{std::string(to_string(cost::origin::definition))});
  // Layers of one kind need no number.
  cost::model all = m;
  all.moe_layers = 8;
  CHECK(groups_of(cost::make_report(all).value()) == std::set<std::string>{"parameters"});
  const auto whole = report_of(all, {}).value();
  std::set<std::string> of_kept;
  for (const cost::report_line& line : whole.lines)
    if (line.group == "kept by one layer") of_kept.insert(std::string(to_string(line.how)));
  CHECK(of_kept.count(std::string(to_string(cost::origin::published))) == 1);
  CHECK(of_kept.count(std::string(to_string(cost::origin::estimated))) == 1);
}

TEST_CASE("a report takes what a schedule holds, one share for each rank", "[cost][report]") {
  const cost::layer_list list = dense;
  const cost::parallel p{.pp = 2};
  const cost::held_share few{.layers = 1, .embedding_passes = 1};
  const auto r = report_of(list, p, {}, {few, few}).value();
  const auto ranks = cost::layers_of_ranks(list, p).value();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(r.memory[rank].in_flight == cost::held{.layer_passes = 4, .embedding_passes = 1});
    CHECK(r.memory[rank].activation_bytes ==
          cost::memory_of_rank(list, ranks[rank], step, p, few).value().activation_bytes);
  }
  const auto wrong = report_of(list, p, {}, {few});
  REQUIRE(!wrong);
  CHECK(wrong.error().code == hocket::errc::bad_shape);
  CHECK(wrong.error().word() == "passes of ranks");
  CHECK(cost::make_report(list, step, p, {}, {ranks.data(), 1}).error().word() == "ranks");
  CHECK(report_of(list, {.tp = 3}).error().code == hocket::errc::indivisible);
  cost::model negative = dense;
  negative.ffn = -1;
  CHECK(!cost::make_report(negative));
}

/// Sums by name in one group: two blocks of a layer may have a line of one name, such as its norms.
struct by_name {
  std::map<std::string, double> lines;
  double sum = 0;
};
by_name lines_of(const cost::report& r, const std::string& group) {
  by_name out;
  for (const cost::report_line& line : r.lines) {
    if (line.group != group) continue;
    INFO(group << ": " << line.name << ": " << line.numbers);
    CHECK(close(calculator(line.numbers).value(), line.real_value, as_printed));
    CHECK(line.is_real);
    CHECK(line.split == "1");
    out.lines[line.name] += line.real_value;
    out.sum += line.real_value;
  }
  return out;
}

struct seconds_case {
  cost::model m;
  cost::parallel p;
  cost::machine on = on_links;
  cost::recompute_plan plan{};
};

/// The lines of one part of the busiest rank, against what it takes.
void check_part(const cost::report& r, const by_name& sums, const std::string& group, const std::string& kind,
                const cost::layer_time& took, std::int64_t count) {
  INFO(group);
  const by_name lines = lines_of(r, group);
  const bool head = kind == "head";
  CHECK(close(lines.lines.at("backward, T_b"), took.backward.count()));
  CHECK(lines.lines.count("exposed communication, T_x") == (head ? 0 : 1));
  if (!head) CHECK(close(lines.lines.at("exposed communication, T_x"), took.exposed.count()));
  // The rest are products and element-wise work, once and again, and what is sent, of which nothing hides here.
  // The scores that flash attention forms again are a part of the backward pass, told by themselves.
  const auto scores = lines.lines.find("scores formed again in the backward pass");
  const double told_twice = scores == lines.lines.end() ? 0 : scores->second;
  CHECK(told_twice == (head ? 0 : took.attention.count() / 2));
  CHECK(close(lines.sum, took.compute().count() + told_twice + 2 * took.exposed.count()));
  double again = 0;
  for (const auto& [line, value] : lines.lines)
    if (line.ends_with(", again") && lines.lines.count(line.substr(0, line.size() - 7)) == 1) again += value;
  CHECK(close(again, took.again.count()));
  const auto times = static_cast<double>(count);
  CHECK(close(sums.lines.at(kind + ", compute"), times * took.compute().count()));
  if (!head) CHECK(close(sums.lines.at(kind + ", exposed communication"), times * took.exposed.count()));
}

/// Layers of a rank that are as those of a run: chunks have runs of their own.
std::int64_t layers_like(const cost::rank_layers& on, const cost::rank_run& run) {
  std::int64_t count = 0;
  for (const cost::rank_run& each : on.layers)
    if (each.place == run.place && each.blocks == run.blocks && each.how == run.how) count += each.count;
  return count;
}

void check_seconds(const seconds_case& x) {
  cost::report r;
  const cost::layer_list list = x.m;
  const auto ranks = cost::with_plan(cost::layers_of_ranks(list, x.p).value(), x.plan).value();
  const auto alone = cost::predict_step(list, step, x.p, x.on, ranks).value();
  REQUIRE(cost::add_step_lines(r, list, step, x.p, x.on, ranks, alone));
  const cost::rank_layers& busiest = ranks[alone.busiest];
  const by_name sums = lines_of(r, "seconds of a micro-batch on the busiest rank");
  const bool two_kinds = x.m.moe_layers > 0;
  const auto is_full = [](const cost::rank_run& run) { return run.how.level == cost::recompute::full; };
  const bool several = !x.plan.full.empty() && std::any_of(busiest.layers.begin(), busiest.layers.end(), is_full);
  for (const cost::rank_run& run : busiest.layers) {
    const bool module = run.place == cost::run_place::prediction, experts = cost::has_experts(run.blocks);
    std::string suffix = two_kinds ? experts ? ", kind 2 of 2 (7 layers)" : ", kind 1 of 2 (2 layers)" : "";
    if (several) suffix += ", recompute " + to_string(run.how);
    const std::string group =
        module ? "seconds of a prediction module, per micro-batch" : "seconds of a layer, per micro-batch";
    const std::string kind = module ? "prediction" : experts ? "experts" : "dense";
    check_part(r, sums, group + suffix, kind + suffix,
               cost::time_of_layer(list, run.blocks, step, x.p, x.on, run.how).value(), layers_like(busiest, run));
  }
  if (busiest.ends.last)
    check_part(r, sums, "seconds of head and loss, per micro-batch", "head",
               cost::time_of_head(list, step, x.p, x.on).value(), 1);
  // A stage sends its activations on, and gets gradients back.
  const by_name between = lines_of(r, "seconds between stages, per micro-batch");
  const double cut = static_cast<double>(x.p.cp * (x.p.sequence_parallel ? x.p.tp : 1));
  const double hop = x.p.pp > 1 ? 2 * 2.0 * 2 * 512 * 256 / cut / x.on.pipeline_bytes : 0;
  if (x.p.pp > 1) CHECK(close(between.lines.at("exposed, every chunk"), static_cast<double>(x.p.vp) * hop));
  CHECK(close(between.sum, x.p.pp > 1 ? (1 + static_cast<double>(x.p.vp)) * hop : 0));
  CHECK(close(sums.sum + static_cast<double>(x.p.vp) * hop, alone.rank_times[alone.busiest].total().count()));
  CHECK(close(lines_of(r, "seconds of the optimizer").sum, alone.parts.optimizer.count()));
  CHECK(close(lines_of(r, "seconds over data-parallel ranks, per step").sum, alone.numbers.exchange_seconds));
  const std::map<std::string, double> parts{
      {"data loading", alone.parts.data_loading.count()},
      {"forward and backward", alone.parts.forward_backward.count()},
      {"optimizer", alone.parts.optimizer.count()},
      {"post-processing", alone.parts.post_processing.count()},
      {"exposed communication", alone.parts.communication_exposed.count()},
      {"hidden communication, costs nothing", alone.parts.communication_hidden.count()},
      {"scheduling", alone.parts.scheduling.count()},
      {"bubble", alone.parts.bubble.count()}};
  CHECK(lines_of(r, "seconds of a step").lines == parts);
  const by_name rate = lines_of(r, "throughput of a device");
  CHECK(close(rate.sum, alone.tokens_per_second_per_device));
  CHECK(r.lines.back().unit != "second");
}

TEST_CASE("seconds in a report: layers, ranks and the step are what is predicted", "[cost][report]") {
  for (const cost::model& m : {dense, with_experts()})
    for (const auto level : {cost::recompute::none, cost::recompute::selective, cost::recompute::full})
      for (const std::int64_t pp : {1, 2}) {
        const std::int64_t ep = m.moe_layers > 0 ? 2 : 1;
        check_seconds({m, {.tp = 2, .pp = pp, .dp = 2, .ep = ep, .recompute = level}});
        check_seconds({m,
                       {.tp = 2,
                        .pp = pp,
                        .vp = pp,
                        .dp = 2,
                        .cp = 2,
                        .ep = ep,
                        .sequence_parallel = true,
                        .zero = cost::zero::optimizer,
                        .recompute = level,
                        .offload_optimizer = pp == 2,
                        .offload_activations = true}});
      }
  // With something to load, launch and write down.
  cost::machine busy = on_links;
  busy.load_seconds = 0.5;
  busy.post_seconds = 0.25;
  busy.launches = 100;
  busy.launch_seconds = 1e-2;
  check_seconds({dense, {.pp = 2}, busy});
}

TEST_CASE("seconds in a report: each choice of a rank has its lines", "[cost][report]") {
  const std::vector<std::int64_t> three{3}, eight{8};
  check_seconds({dense, {.tp = 2}, on_links, {.full = cost::first_layers(three, eight), .operations = {}}});
  // One choice is not named.
  cost::report r;
  REQUIRE(seconds_of(r, dense, {}, on_links));
  // Of some lines a source says the formula, others are derived.
  for (const auto how : {cost::origin::definition, cost::origin::derived})
    CHECK(std::any_of(r.lines.begin(), r.lines.end(), [&](const cost::report_line& line) { return line.how == how; }));
  for (const std::string& group : groups_of(r)) CHECK(group.find("recompute") == std::string::npos);
  const std::size_t before = r.lines.size();
  cost::machine slow = on_links;
  slow.gemm_flops = 0;
  CHECK(!seconds_of(r, dense, {}, slow));
  CHECK(r.lines.size() == before);
}

TEST_CASE("seconds in a report: layers with a window are a kind of their own", "[cost][report]") {
  cost::model m = dense;
  m.window = 64;
  m.window_layers = 2;
  const cost::layer_list list = m;
  cost::report r;
  REQUIRE(seconds_of(r, list, {}, on_links));
  for (const cost::repeated_layer& each : list.layers) {
    const bool windowed = std::get<cost::attention>(each.blocks[1].what).window > 0;
    const by_name lines = lines_of(r, std::string("seconds of a layer, per micro-batch, ") +
                                          (windowed ? "kind 2 of 2 (2 layers)" : "kind 1 of 2 (6 layers)"));
    const cost::layer_time took = cost::time_of_layer(list, each.blocks, step, {}, on_links).value();
    CHECK(close(lines.sum, took.compute().count() + took.attention.count() / 2 + 2 * took.exposed.count()));
  }
}

TEST_CASE("offloaded tensors are printed there and back", "[cost][report]") {
  cost::report r;
  const cost::parallel p{.offload_activations = true};
  const cost::layer_list list = dense;
  REQUIRE(seconds_of(r, list, p, on_links));
  const double kept = cost::layer_activation_bytes(list, list.layers[0].blocks, step, p).value().real();
  CHECK(close(lines_of(r, "seconds of a layer, per micro-batch").lines.at("to the host and back, A bytes kept"),
              2 * kept / 2e10));
}

TEST_CASE("a report of a plan has each choice once", "[cost][report]") {
  const cost::model m = with_experts();
  const cost::layer_list list = m;
  const cost::parallel p{.tp = 2, .pp = 2, .dp = 2, .ep = 2};
  const cost::convention counted{};
  cost::recompute_plan plan;
  const auto even = cost::layers_of_ranks(list, p).value();
  plan.full = cost::first_layers(std::vector<std::int64_t>{3, 1}, cost::layer_counts(even));
  const auto ranks = cost::with_plan(even, plan).value();
  const auto r = cost::make_report(list, step, p, counted, ranks).value();
  const auto rows = cost::plan_rows(list, step, p, counted, ranks).value();
  // Two dense layers and one with experts whole, one with experts; one whole, three, the module.
  REQUIRE(rows.size() == 6);
  rational again = 0;
  for (const cost::plan_row& row : rows) {
    const bool experts = cost::has_experts(row.layers.blocks), full = row.layers.how.level == cost::recompute::full;
    cost::parallel at = p;
    at.recompute = row.layers.how.level;
    CHECK(row.kept_bytes == cost::layer_activation_bytes(list, row.layers.blocks, step, at).value());
    CHECK((row.again_flops == rational(0)) == !full);
    again = again + rational(row.layers.count) * row.again_flops;
    // Dense layers are all whole, so their choice is not named.
    const std::string suffix = experts ? std::string(", kind 2 of 2 (7 layers), recompute ") + (full ? "full" : "none")
                                       : ", kind 1 of 2 (2 layers)";
    CHECK(close(sum_of_group(r, "kept by one layer" + suffix, p), row.kept_bytes.real()));
    CHECK(close(sum_of_group(r, "sent by one layer and micro-batch" + suffix, p),
                sent_by_layer(list, row.layers.blocks, step, at)));
  }
  CHECK(r.flops->hardware_step - r.flops->model_step == again);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto share = cost::held_share_by_1f1b(step, p, static_cast<std::int64_t>(rank)).value();
    CHECK(r.memory[rank].peak.total_bytes() ==
          cost::memory_of_rank(list, ranks[rank], step, p, share).value().peak.total_bytes());
  }
}

cost::layer_list small_list() {
  const cost::norms between{.place = cost::norm_place::between};
  const cost::attention full{.heads = 8, .kv_heads = 4, .head_dim = 32};
  const cost::gated_delta linear{.key_heads = 4, .value_heads = 8, .key_dim = 16, .value_dim = 32};
  const cost::mixture experts{.experts = 8, .active_experts = 2, .expert_ffn = 128};
  const cost::latent_attention indexed{.heads = 8,
                                       .query_rank = 64,
                                       .kv_rank = 32,
                                       .nope_dim = 16,
                                       .rope_dim = 8,
                                       .value_dim = 16,
                                       .selected = 64,
                                       .index_heads = 4,
                                       .index_dim = 16};
  cost::layer_list list{.sizes = {.hidden = 256, .vocabulary = 4096}};
  list.front = {cost::projection{.outputs = 64}};
  list.add({cost::norms{}, full, between, cost::feed_forward{.ffn = 512}}, 2);
  list.add({cost::norms{}, linear, between, experts}, 1);
  list.add({cost::norms{}, full, between, cost::feed_forward{.ffn = 512}}, 3);
  list.add({cost::norms{}, indexed, between, experts}, 2);
  cost::block shared = full;
  shared.weights_elsewhere = true;
  list.add({shared}, 1);
  return list;
}

TEST_CASE("a report of a list: kinds of layers once each, which add up to the counts", "[cost][report]") {
  const cost::layer_list list = small_list();
  const auto alone = cost::make_report(list).value();
  double parameters = 0;
  std::set<std::string> counted_layers;
  for (const cost::report_line& line : alone.lines) {
    CHECK(line.group.starts_with("parameters"));
    CHECK_FALSE(line.value == rational(0));
    CHECK(close(calculator(line.numbers).value(), line.real_value));
    parameters += line.real_value;
    if (line.group.find('(') != std::string::npos) counted_layers.insert(line.group);
  }
  CHECK(alone.parameters == cost::count_parameters(list).value());
  CHECK(parameters == static_cast<double>(alone.parameters.total));
  CHECK(counted_layers ==
        std::set<std::string>{"parameters, kind 1 of 5 (1 layer)", "parameters, kind 2 of 5 (5 layers)",
                              "parameters, kind 3 of 5 (1 layer)", "parameters, kind 4 of 5 (2 layers)"});

  cost::convention counted{.attention = cost::attention_count::causal_half};
  counted.index_loss = cost::index_loss_count::dense;
  const cost::replay_set again{.norm = true};
  for (const std::int64_t pp : {1, 3}) {
    const cost::parallel p{.tp = 2, .pp = pp, .dp = 2, .ep = 2};
    const auto ranks = cost::layers_of_ranks(list, p, {}, again).value();
    const auto r = cost::make_report(list, step, p, counted, ranks).value();
    double forward = 0, both = 0;
    for (const cost::report_line& line : r.lines) {
      forward += line.group.starts_with("forward FLOPs of a step") ? line.real_value : 0;
      both += line.group.starts_with("FLOPs of both passes") ? line.real_value : 0;
    }
    CHECK(both > 0);
    CHECK(close(3 * forward + both, r.flops->model_step.real()));
    CHECK(r.flops->hardware_step == cost::count_flops(list, step, p, counted, again)->hardware_step);
    CHECK(r.tokens_per_step == rational(32 * 512));
    const std::size_t kinds_at[] = {0, 1, 3};  // among the runs: what is the second, third and fourth kind
    for (std::size_t at = 0; at < 3; ++at) {
      const auto& blocks = list.layers[kinds_at[at]].blocks;
      const char* const suffix[] = {", kind 2 of 5 (5 layers)", ", kind 3 of 5 (1 layer)", ", kind 4 of 5 (2 layers)"};
      CHECK(close(sum_of_group(r, std::string("kept by one layer") + suffix[at], p),
                  cost::layer_activation_bytes(list, blocks, step, p, again).value().real()));
      cost::layer_list one{.sizes = list.sizes};
      one.add(blocks);
      double state = 0;
      for (const cost::report_line& line : r.lines)
        if (line.group == std::string("kept of a sequence by one layer to generate") + suffix[at])
          state += line.real_value;
      CHECK(close(state, cost::count_state_bytes(one, 512, 2).value().real()));
    }
    REQUIRE(r.memory.size() == ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto share = cost::held_share_by_1f1b(step, p, static_cast<std::int64_t>(rank)).value();
      const auto memory = cost::memory_of_rank(list, ranks[rank], step, p, share).value();
      CHECK(r.memory[rank].on_rank.layers == ranks[rank].layer_count);
      CHECK(r.memory[rank].on_rank.rank == static_cast<std::int64_t>(rank));
      CHECK(r.memory[rank].parameters.dense == memory.parameters.dense);
      CHECK(r.memory[rank].parameters.expert == memory.parameters.expert);
      CHECK(r.memory[rank].static_bytes == memory.static_bytes);
      CHECK(r.memory[rank].activation_bytes == memory.activation_bytes);
      CHECK(rational(r.memory[rank].in_flight.layer_passes) ==
            (share.layers * rational(ranks[rank].layer_count)).ceiling());
      CHECK(r.memory[rank].in_flight.embedding_passes == share.embedding_passes);
    }
    // Norm and head input, logits twice; a single rank has the embedding's mask, too.
    const double tokens = 2 * 512, mask = pp == 1 ? tokens * 256 : 0;
    CHECK(close(sum_of_group(r, "kept outside of the layers, last rank", p),
                mask + 2 * 2 * tokens * 256 + 6 * tokens * 4096 / 2));
  }
  const cost::held_share two{.layers = 2, .embedding_passes = 2};
  const cost::parallel p{.pp = 3};
  const std::int64_t sizes[] = {2, 3, 4};
  const cost::held_share shares[] = {two, two, two};
  const auto given =
      cost::make_report(list, step, p, counted, cost::layers_of_ranks(list, p, sizes).value(), shares).value();
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(given.memory[rank].on_rank.layers == sizes[rank]);
    CHECK(given.memory[rank].in_flight.layer_passes == 2 * sizes[rank]);
  }
  const auto wrong = cost::make_report(list, step, p, counted, {}, std::span(shares).first(2));
  REQUIRE(!wrong);
  CHECK(wrong.error().word() == "passes of ranks");
  CHECK(!cost::make_report(list, step, {.tp = 3}, counted));
}

}  // namespace reports
}  // namespace
