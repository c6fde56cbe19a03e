// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket pipeline prefill: in which pieces prompts pass a forward-only pipeline soonest.
#include <hocket/pipeline/prefill.hpp>
#include <hocket/timeline.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "command.hpp"

namespace hocket_cli {
namespace {

namespace pipeline = hocket::pipeline;

struct prefill_words {
  std::string out, svg, show = "pieces", placement = "loop", goal = "last";
  std::int64_t ranks = 0, chunks = 1, align = 1, least = 1, greatest = 0, base = 0, layers = 0, border_bytes = 0;
  double hop = 0, hop_per_token = 0, head = 0, smooth = pipeline::usual_smooth_factor;
  std::vector<std::int64_t> tokens, cached, cache_bytes, activation_bytes;
  std::vector<double> arrivals, fixed, per_token_before, per_token, per_pair;
};

constexpr double ticks_per_us = 1000;

hocket::ticks in_ticks(double us) { return static_cast<hocket::ticks>(std::llround(us * ticks_per_us)); }

/// A time in microseconds with three decimals: exact, since a tick is a nanosecond.
std::string us(hocket::ticks t) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(t / 1000), static_cast<long long>(t % 1000));
  return text;
}
std::string us(double t) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", t / ticks_per_us);
  return text;
}

/// Value i of an option that has one for all, one for each, or none.
template <class T>
T value_of(const std::vector<T>& list, std::size_t i) {
  return list.empty() ? T{} : list[list.size() == 1 ? 0 : i];
}
template <class T>
void check_count(const char* option, const std::vector<T>& list, std::size_t wanted, const char* of) {
  if (list.size() > 1 && list.size() != wanted)
    fail(std::string(option) + " has " + std::to_string(list.size()) + " numbers, but there are " +
         std::to_string(wanted) + ' ' + of);
}

/// What was asked for, in the words of the library.
class prefill_question {
 public:
  explicit prefill_question(const prefill_words& o) : o_(o) {
    check_count("--arrivals", o.arrivals, o.tokens.size(), "requests");
    check_count("--cached", o.cached, o.tokens.size(), "requests");
    for (std::size_t i = 0; i < o.tokens.size(); ++i)
      requests_.push_back({o.tokens[i], in_ticks(value_of(o.arrivals, i)), value_of(o.cached, i)});
    problem.ranks = o.ranks;
    problem.chunks = o.chunks;
    problem.placement = o.placement == "v" ? pipeline::prefill_placement::v : pipeline::prefill_placement::loop;
    problem.requests = requests_;
    problem.sizes = {o.align, o.least, o.greatest};
    problem.goal = o.goal == "mean" ? pipeline::prefill_goal::mean_end : pipeline::prefill_goal::last_end;
    const auto ok = check(problem);
    if (!ok) fail(message(ok.error()));
    const std::size_t stages = o.layers > 0 ? 1 : problem.stages();
    for (const auto& [option, list] :
         {std::pair{"--fixed", &o.fixed}, std::pair{"--per-token-before", &o.per_token_before},
          std::pair{"--per-token", &o.per_token}, std::pair{"--per-pair", &o.per_pair}})
      check_count(option, *list, stages, o.layers > 0 ? "kinds of layers" : "stages");
    const bool alike =
        std::max({o.fixed.size(), o.per_token_before.size(), o.per_token.size(), o.per_pair.size()}) <= 1;
    for (std::size_t s = 0; s < (alike ? 1 : stages); ++s) stages_.push_back(times_of(s));
    costs = {std::span<const pipeline::prefill_times>(stages_), in_ticks(o.hop), o.hop_per_token * ticks_per_us,
             in_ticks(o.head)};
  }
  prefill_question(const prefill_question&) = delete;
  prefill_question& operator=(const prefill_question&) = delete;

  /// The best plan; with --layers also the best split for it, found in turns.
  [[nodiscard]] pipeline::prefill_plan solve() {
    if (o_.layers == 0) return solved();
    const pipeline::prefill_layers one{.layers = o_.layers,
                                       .layer = stages_[0],
                                       .hop = costs.hop,
                                       .hop_per_token = costs.hop_per_token,
                                       .head = costs.head};
    const auto stages = static_cast<std::int64_t>(problem.stages());
    if (one.layers < stages)
      fail(std::to_string(one.layers) + " layers are fewer than the " + std::to_string(stages) + " stages");
    for (std::int64_t s = 0; s < stages; ++s)
      layers.push_back(one.layers / stages + (s >= stages - one.layers % stages ? 1 : 0));
    std::pmr::vector<pipeline::prefill_times> times;
    const auto take = [&] {
      times_of_stages(one, layers, times);
      stages_.assign(times.begin(), times.end());
      costs.stages = std::span<const pipeline::prefill_times>(stages_);
    };
    take();
    pipeline::prefill_plan best = solved();
    for (int turn = 0; turn < most_turns; ++turn) {
      auto split = pipeline::split_prefill_layers(problem, one, best.sizes);
      if (!split) fail(message(split.error()));
      if (std::equal(layers.begin(), layers.end(), split->layers.begin())) break;
      const std::vector<std::int64_t> before = layers;
      layers.assign(split->layers.begin(), split->layers.end());
      take();
      pipeline::prefill_plan now = solved();
      if (now.last_end >= best.last_end) {
        layers = before;
        take();
        break;
      }
      best = std::move(now);
    }
    return best;
  }

  pipeline::prefill_problem problem{};
  pipeline::prefill_costs costs{};
  std::vector<std::int64_t> layers;  // of each stage, with --layers

 private:
  static constexpr int most_turns = 8;

  [[nodiscard]] pipeline::prefill_times times_of(std::size_t s) const {
    return {value_of(o_.fixed, s) * ticks_per_us, value_of(o_.per_token_before, s) * ticks_per_us,
            value_of(o_.per_token, s) * ticks_per_us, value_of(o_.per_pair, s) * ticks_per_us};
  }
  [[nodiscard]] pipeline::prefill_plan solved() const {
    auto plan = pipeline::solve_prefill(problem, costs, {.base = o_.base, .smooth_factor = o_.smooth});
    if (!plan) fail(message(plan.error()));
    return std::move(plan).value();
  }

  const prefill_words& o_;
  std::vector<pipeline::prefill_request> requests_;
  std::vector<pipeline::prefill_times> stages_;
};

std::string piece_rows(const pipeline::prefill_run& run) {
  std::string rows = "piece,request,before,tokens,start_us,end_us\n";
  for (std::size_t k = 0; k < run.pieces.size(); ++k) {
    const pipeline::prefill_piece& x = run.pieces[k];
    rows += std::to_string(k) + ',' + std::to_string(x.request) + ',' + std::to_string(x.before) + ',' +
            std::to_string(x.tokens) + ',' + us(run.starts[k * run.stages]) + ',' +
            us(run.finishes[(k + 1) * run.stages - 1]) + '\n';
  }
  return rows;
}

std::string request_rows(const prefill_question& asked, const pipeline::prefill_run& run) {
  std::string rows = "request,tokens,pieces,arrival_us,end_us,first_token_us\n";
  for (std::size_t r = 0; r < run.ends.size(); ++r) {
    const auto pieces = std::count_if(run.pieces.begin(), run.pieces.end(),
                                      [&](const pipeline::prefill_piece& x) { return x.request == r; });
    const pipeline::prefill_request& x = asked.problem.requests[r];
    rows += std::to_string(r) + ',' + std::to_string(x.tokens) + ',' + std::to_string(pieces) + ',' + us(x.arrival) +
            ',' + us(run.ends[r]) + ',' + us(run.waits[r]) + '\n';
  }
  return rows;
}

std::string rule_rows(const pipeline::prefill_plan& plan) {
  std::string rows = "rule,base,pieces,last_end_us,mean_first_token_us\n";
  for (const pipeline::prefill_peer& x : plan.peers)
    rows += std::string(to_string(x.rule)) + ',' + std::to_string(x.base) + ',' + std::to_string(x.pieces) + ',' +
            us(x.last_end) + ',' + us(x.mean_wait) + '\n';
  rows += std::string(to_string(pipeline::prefill_rule::searched)) + ",," + std::to_string(plan.sizes.size()) + ',' +
          us(plan.last_end) + ',' + us(plan.mean_wait) + '\n';
  return rows;
}

std::string rank_rows_of(const prefill_words& o, const prefill_question& asked, const pipeline::prefill_run& run) {
  const auto bytes = pipeline::prefill_memory(
      run, {.cache = o.cache_bytes, .activation = o.activation_bytes, .border = o.border_bytes});
  if (!bytes) fail(message(bytes.error()));
  std::string rows = asked.layers.empty() ? "rank,busy_us,idle_us" : "rank,layers,busy_us,idle_us";
  rows += ",cache_bytes,activation_bytes,waiting_bytes\n";
  for (std::uint32_t r = 0; r < run.ranks; ++r) {
    const auto& x = (*bytes)[r];
    rows += std::to_string(r) + ',';
    if (!asked.layers.empty()) {
      std::int64_t layers = 0;
      for (std::uint32_t s = 0; s < run.stages; ++s) layers += run.rank_of[s] == r ? asked.layers[s] : 0;
      rows += std::to_string(layers) + ',';
    }
    rows += us(run.busy(r)) + ',' + us(run.last_end() - run.busy(r)) + ',' + std::to_string(x.cache) + ',' +
            std::to_string(x.activation) + ',' + std::to_string(x.waiting) + '\n';
  }
  return rows;
}

void write_picture(const prefill_words& o, const pipeline::prefill_plan& plan, const pipeline::prefill_run& run) {
  hocket::timeline drawn;
  drawn.ticks_per_second = 1'000'000'000;
  draw(run, drawn);
  drawn.add_mark(plan.lower_bound, "lower bound");
  const hocket::svg_options as_svg{.title = "prefill · " + std::to_string(run.ranks) + " ranks · " +
                                            std::to_string(run.pieces.size()) + " pieces"};
  const std::string left_out = left_out_of_svg(drawn, as_svg);
  if (!left_out.empty()) std::fprintf(stderr, "the picture is not whole: %s\n", left_out.c_str());
  write_file(o.svg, to_svg(drawn, as_svg));
}

void prefill(const prefill_words& o) {
  prefill_question asked(o);
  const pipeline::prefill_plan plan = asked.solve();
  const auto run = pipeline::run_prefill(asked.problem, asked.costs, plan.sizes, plan.order);
  if (!run) fail(message(run.error()));
  if (!o.svg.empty()) write_picture(o, plan, *run);
  std::string summary = "pieces=" + std::to_string(plan.sizes.size()) + " last_end_us=" + us(plan.last_end) +
                        " lower_bound_us=" + us(plan.lower_bound) + " mean_first_token_us=" + us(plan.mean_wait) +
                        " least_mean_first_token_us=" + us(plan.least_mean_wait) +
                        " proved=" + (plan.proved ? "yes" : "no");
  for (const pipeline::prefill_peer& x : plan.peers)
    summary += ' ' + std::string(to_string(x.rule)) +
               "_us=" + (asked.problem.goal == pipeline::prefill_goal::mean_end ? us(x.mean_wait) : us(x.last_end));
  for (std::size_t s = 0; s < asked.layers.size(); ++s)
    summary += (s == 0 ? " layers=" : "/") + std::to_string(asked.layers[s]);
  give(o.out,
       o.show == "pieces"     ? piece_rows(*run)
       : o.show == "requests" ? request_rows(asked, *run)
       : o.show == "rules"    ? rule_rows(plan)
                              : rank_rows_of(o, asked, *run),
       summary);
}

constexpr std::int64_t most_tokens = pipeline::max_prefill_tokens;
constexpr double most_us = 1e9;

void add_times(CLI::App& c, prefill_words& o) {
  const auto list = [&](const char* name, std::vector<double>& into, const char* what) {
    c.add_option(name, into, what)
        ->type_name("US,...")
        ->delimiter(',')
        ->expected(1, 4096)
        ->check(is_number(0, most_us, "number from 0 to 10^9"));
  };
  list("--fixed", o.fixed, "Microseconds of each piece on a stage: one number, or one per stage (0)");
  list("--per-token-before", o.per_token_before, "for each token that is before the piece (0)");
  list("--per-token", o.per_token, "for each token of the piece (0)");
  list("--per-pair", o.per_pair, "for each of 2Lx + x^2, with x tokens after L: attention (0)");
  const auto time = [&](const char* name, double& into, const char* what) {
    c.add_option(name, into, what)->type_name("US")->check(is_number(0, most_us, "number from 0 to 10^9"));
  };
  time("--hop", o.hop, "Microseconds from one rank to another (0)");
  time("--hop-per-token", o.hop_per_token, "for which the link is occupied, for each token (0)");
  time("--head", o.head, "that the last piece of a request adds on the last stage (0)");
}

void add_sizes(CLI::App& c, prefill_words& o) {
  const auto size = [&](const char* name, std::int64_t& into, const char* what, std::int64_t least) {
    c.add_option(name, into, what)->type_name("N")->check(CLI::Range(least, most_tokens))->check(fits_64_bits);
  };
  size("--align", o.align, "Sizes are multiples of N, but for a request's last (1)", 1);
  size("--least", o.least, "The least tokens of a piece (1)", 1);
  size("--greatest", o.greatest, "The most tokens of a piece (any)", 1);
  size("--base", o.base, "The chunk size that rules start from (of a series, the best for each rule)", 1);
  c.add_option("--smooth", o.smooth, "The factor of the rule smoothed, from 0 (equal) to 1 (equal times)")
      ->type_name("F")
      ->check(is_number(0, 1, "number from 0 to 1"))
      ->capture_default_str();
  c.add_option("--goal", o.goal, "What is to end soon: the last request (last), or requests on average (mean)")
      ->check(CLI::IsMember({"last", "mean"}))
      ->capture_default_str();
}

void add_bytes(CLI::App& c, prefill_words& o) {
  const auto bytes = [&](const char* name, std::vector<std::int64_t>& into, const char* what) {
    c.add_option(name, into, what)
        ->type_name("N,...")
        ->delimiter(',')
        ->expected(1, 4096)
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  };
  bytes("--cache-bytes", o.cache_bytes, "Bytes of a token in the cache of a stage: one number, or one per stage (0)");
  bytes("--activation-bytes", o.activation_bytes, "Bytes that a stage holds for a token of its piece, at most (0)");
  c.add_option("--border-bytes", o.border_bytes, "Bytes of a token that a stage sends to the next (0)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
}

}  // namespace

void add_pipeline_prefill(CLI::App& group) {
  static prefill_words o;  // one sub-command runs per process
  CLI::App* c = group.add_subcommand("prefill", "In which pieces prompts pass a forward-only pipeline soonest");
  add_out(*c, o.out);
  c->add_option("--ranks", o.ranks, "Ranks p")
      ->type_name("P")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, pipeline::max_prefill_stages));
  c->add_option("--chunks", o.chunks, "Chunks of the model on each rank (1)")
      ->type_name("V")
      ->check(CLI::Range(std::int64_t{1}, pipeline::max_chunks));
  c->add_option("--placement", o.placement, "Where stages are: loop, or v, whose odd chunks walk back")
      ->check(CLI::IsMember({"loop", "v"}))
      ->capture_default_str();
  c->add_option("--tokens", o.tokens, "Tokens of each request, in the order in which they run")
      ->type_name("N,...")
      ->delimiter(',')
      ->required()
      ->expected(1, static_cast<int>(pipeline::max_prefill_requests))
      ->check(CLI::Range(std::int64_t{1}, most_tokens));
  c->add_option("--arrivals", o.arrivals, "Microseconds at which each request arrives (0)")
      ->type_name("US,...")
      ->delimiter(',')
      ->expected(1, static_cast<int>(pipeline::max_prefill_requests))
      ->check(is_number(0, 1e12, "number from 0 to 10^12"));
  c->add_option("--cached", o.cached, "Tokens of each request that are in the cache already (0)")
      ->type_name("N,...")
      ->delimiter(',')
      ->expected(1, static_cast<int>(pipeline::max_prefill_requests))
      ->check(CLI::Range(std::int64_t{0}, most_tokens));
  add_times(*c, o);
  c->add_option("--layers", o.layers, "Times are those of one of N layers: also choose how many each stage has")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, pipeline::max_prefill_layers));
  add_sizes(*c, o);
  add_bytes(*c, o);
  c->add_option("--show", o.show, "Rows of pieces, requests, rules (of production, side by side) or ranks (with bytes)")
      ->check(CLI::IsMember({"pieces", "requests", "rules", "ranks"}))
      ->capture_default_str();
  c->add_option("--svg", o.svg, "Also a picture of the run")->type_name("FILE")->check(has_folder);
  c->callback([] { prefill(o); });
}

}  // namespace hocket_cli
