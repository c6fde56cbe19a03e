// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks side by side: against sums over sorted lists, and clocks and arrivals against runs that are made of them.
#include <hocket/interop/ascend/compare_profiles.hpp>
#include <hocket/interop/ascend/link_rates.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/ascend/shared_collectives.hpp>
#include <hocket/interop/ascend/slow_ranks.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ascend_files.hpp"
#include "catch.hpp"

namespace ascend = hocket::ascend;
using ascend::nanoseconds;
using ascend::step_part;

namespace {

ascend::rank_step step(std::int64_t number, int computing, int exposed, int idle) {
  return {number,
          {nanoseconds(computing + exposed + idle),
           nanoseconds(computing),
           nanoseconds(exposed),
           {},
           {},
           nanoseconds(idle)}};
}

bool is_near(double a, double b) { return std::abs(a - b) < 1e-9 * std::abs(b); }

// The lower median, by taking the least away until half are gone.
nanoseconds plain_median(std::vector<nanoseconds> times) {
  while (times.size() > 2) {
    times.erase(std::min_element(times.begin(), times.end()));
    times.erase(std::max_element(times.begin(), times.end()));
  }
  return times.empty() ? nanoseconds{} : *std::min_element(times.begin(), times.end());
}

// Part by part, of the steps that do not stand far above the others: counted, not sorted.
ascend::rank_step plain_mean(const std::vector<ascend::rank_step>& steps) {
  const ascend::time_spread spread = ascend::spread_of(steps, step_part::span);
  ascend::rank_step out;
  std::int64_t count = 0;
  for (const auto& s : steps) {
    if (spread.is_outlier(s.of(step_part::span))) continue;
    ++count;
    for (std::size_t part = 1; part < ascend::step_part_count; ++part) out.parts[part] += s.parts[part];
  }
  for (std::size_t part = 1; part < ascend::step_part_count; ++part) {
    out.parts[part] /= count;
    out.parts[0] += out.parts[part];
  }
  return out;
}

}  // namespace

TEST_CASE("the spread of times", "[ascend]") {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<nanoseconds> times(random() % 12);
    for (nanoseconds& t : times) t = nanoseconds(random() % 20);
    const ascend::time_spread s = ascend::spread_of(times);
    REQUIRE(s.median == plain_median(times));
    REQUIRE(s.count == times.size());
    if (times.empty()) continue;
    REQUIRE(s.least == *std::min_element(times.begin(), times.end()));
    REQUIRE(s.most == *std::max_element(times.begin(), times.end()));
    // At most a quarter lies below the lower quartile, and at most a quarter above the upper.
    const auto below = std::count_if(times.begin(), times.end(), [&](nanoseconds t) { return t < s.lower; });
    const auto above = std::count_if(times.begin(), times.end(), [&](nanoseconds t) { return t > s.upper; });
    REQUIRE(below * 4 <= static_cast<std::ptrdiff_t>(times.size()));
    REQUIRE(above * 4 <= static_cast<std::ptrdiff_t>(times.size()));
    REQUIRE((s.lower <= s.median && s.median <= s.upper));
  }
}

TEST_CASE("steps that are far above the others", "[ascend]") {
  std::vector<ascend::rank_step> steps;
  for (int i = 0; i < 800; ++i) steps.push_back(step(i, 1000 + i % 7, 0, 0));
  steps[17] = step(17, 5000, 0, 0);
  steps[400] = step(400, 9000, 0, 0);
  CHECK(ascend::outliers_of(steps) == std::vector<std::size_t>{400, 17});
  steps[17] = steps[400] = step(1, 1040, 0, 0);  // far outside the quartiles, but not a twentieth more
  CHECK(ascend::outliers_of(steps).empty());
}

TEST_CASE("slow ranks", "[ascend]") {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<ascend::rank_steps> ranks(2 + random() % 6);
    const std::size_t steps = 1 + random() % 9;
    for (auto& r : ranks) {
      r.stage = static_cast<std::int64_t>(random() % 2);
      for (std::size_t i = 0; i < steps; ++i)
        r.steps.push_back(step(static_cast<std::int64_t>(i), 100 + static_cast<int>(random() % 30),
                               static_cast<int>(random() % 50), static_cast<int>(random() % 10)));
    }
    const auto mean_of = [&](std::size_t rank, auto&& time_of) { return time_of(plain_mean(ranks[rank].steps)); };
    const auto others_of = [&](std::size_t rank, auto&& time_of) {
      std::vector<nanoseconds> times;
      for (std::size_t r = 0; r < ranks.size(); ++r)
        if (r != rank && ranks[r].stage == ranks[rank].stage) times.push_back(mean_of(r, time_of));
      return times;
    };
    const auto own = [](const ascend::rank_step& s) { return s.own(); };
    const auto exposed = [](const ascend::rank_step& s) { return s.of(step_part::exposed); };
    const auto found = ascend::find_slow_ranks(ranks);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const auto at = std::find_if(found.begin(), found.end(), [&](const auto& s) { return s.rank == r; });
      const std::vector<nanoseconds> others = others_of(r, own);
      if (others.empty()) {
        REQUIRE(at == found.end());
        continue;
      }
      const nanoseconds mine = mean_of(r, own), theirs = plain_median(others);
      REQUIRE((at != found.end()) == (mine - theirs > theirs / 100 * 5));
      if (at == found.end()) continue;
      REQUIRE((at->own == mine && at->others == theirs));
      REQUIRE(at->waiting == plain_median(others_of(r, exposed)) - mean_of(r, exposed));
      std::size_t longest = 0;
      for (std::size_t i = 0; i < steps; ++i) {
        bool is_longest = true;
        for (const auto& other : ranks)
          if (other.stage == ranks[r].stage && other.steps[i].own() > ranks[r].steps[i].own()) is_longest = false;
        longest += is_longest ? 1u : 0u;
      }
      REQUIRE((at->longest_in == longest && at->steps == steps));
      for (const step_part part : {step_part::computing, step_part::copying, step_part::idle}) {
        const auto time_of = [part](const ascend::rank_step& s) { return s.of(part); };
        REQUIRE(at->part_own - at->part_others >= mean_of(r, time_of) - plain_median(others_of(r, time_of)));
      }
    }
  }
}

TEST_CASE("stages of a pipeline", "[ascend]") {
  std::vector<ascend::rank_steps> ranks(8);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].rank = static_cast<std::int64_t>(r);
    ranks[r].steps = {step(1, r < 4 ? 100 : 150, 0, 0)};
  }
  CHECK(ascend::find_slow_ranks(ranks).size() == 4);  // as if all did the same
  REQUIRE(ascend::number_stages(ranks, 2, 8));
  CHECK(ascend::find_slow_ranks(ranks).empty());
  const auto stages = ascend::times_of_stages(ranks);
  REQUIRE(stages.size() == 2);
  CHECK((stages[0].computing == nanoseconds(100) && stages[1].computing == nanoseconds(150) && stages[1].ranks == 4));
  CHECK(message(ascend::number_stages(ranks, 3, 8).error()).find("8") != std::string::npos);
  CHECK_FALSE(ascend::number_stages(ranks, 2, 6));

  ascend::profile p;
  p.rank = 5;
  p.groups = {{"0", "default_pg", {}}, {"3", "PIPELINE_MODEL_PARALLEL_GROUP", {1, 5}}};
  CHECK(ascend::stage_in_groups(p) == 1);
  p.groups.pop_back();
  CHECK(ascend::stage_in_groups(p) == -1);
}

TEST_CASE("clocks and the last to come, from runs made of them", "[ascend]") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const std::size_t ranks = 2 + random() % 4, runs = 1 + random() % 20;
    std::vector<nanoseconds> ahead(ranks), waits(ranks), waited_for(ranks);
    for (std::size_t r = 1; r < ranks; ++r) ahead[r] = nanoseconds(random() % 2000) - nanoseconds(1000);
    std::vector<ascend::profile> profiles(ranks);
    nanoseconds now(100'000);
    for (std::size_t i = 0; i < runs; ++i) {
      std::vector<nanoseconds> arrival(ranks);
      for (nanoseconds& a : arrival) a = now + nanoseconds(random() % 100);
      std::vector<nanoseconds> sorted = arrival;
      std::sort(sorted.begin(), sorted.end());
      const nanoseconds finish = sorted.back() + nanoseconds(10);
      for (std::size_t r = 0; r < ranks; ++r) {
        ascend::kernel k;
        k.name = "hcom_allReduce__445_0";
        k.type = "hcom_allReduce_";
        k.communicates = true;
        k.step = 3;
        k.start = arrival[r] + ahead[r];
        k.duration = finish - arrival[r];
        profiles[r].kernels.push_back(k);
        waits[r] += sorted.back() - arrival[r];
      }
      const auto last = static_cast<std::size_t>(std::max_element(arrival.begin(), arrival.end()) - arrival.begin());
      waited_for[last] += sorted.back() - sorted[ranks - 2];
      now = finish + nanoseconds(50);
    }
    ascend::shared_collectives shared;
    for (const auto& p : profiles) shared.add_rank(p);
    const auto clocks = shared.clocks();
    const auto arrivals = shared.arrivals(clocks);
    for (std::size_t r = 0; r < ranks; ++r) {
      REQUIRE(clocks[r].ahead == ahead[r]);
      REQUIRE(clocks[r].scatter.count() == 0);
      REQUIRE((r == 0 || clocks[r].common == runs));
      REQUIRE(arrivals[r].common == runs);
      REQUIRE(arrivals[r].waits == waits[r]);
    }
    nanoseconds sum{}, expected{};
    for (std::size_t r = 0; r < ranks; ++r) {
      sum += arrivals[r].waited_for;
      expected += waited_for[r];
    }
    REQUIRE(sum == expected);
  }
}

TEST_CASE("collectives that are not common are not matched", "[ascend]") {
  const auto with = [](std::vector<std::pair<std::string, int>> runs, std::string group = {}) {
    ascend::profile p;
    for (auto& [name, at] : runs) {
      ascend::kernel k;
      k.name = k.type = name;
      k.group = group;
      k.communicates = true;
      k.start = nanoseconds(at);
      k.duration = nanoseconds(10);
      p.kernels.push_back(k);
    }
    return p;
  };
  const auto common = [](const ascend::profile& a, const ascend::profile& b) {
    ascend::shared_collectives shared;
    shared.add_rank(a);
    shared.add_rank(b);
    const auto clocks = shared.clocks();
    const auto arrivals = shared.arrivals(clocks);
    return std::pair(clocks[1].common, arrivals[1].common);
  };
  using both = std::pair<std::size_t, std::size_t>;
  CHECK(common(with({{"nccl_AllReduce", 1}}), with({{"nccl_AllReduce", 5}})) == both{1, 1});
  CHECK(common(with({{"nccl_AllReduce", 1}}, "a"), with({{"nccl_AllReduce", 5}}, "b")) == both{0, 0});
  CHECK(common(with({{"nccl_AllReduce", 1}}), with({{"nccl_AllReduce", 5}, {"nccl_AllReduce", 9}})) == both{0, 0});
  CHECK(common(with({{"nccl_Broadcast", 1}}), with({{"nccl_Broadcast", 5}})) == both{0, 0});  // the root may leave
  CHECK(common(with({{"nccl_Send", 1}}), with({{"nccl_Send", 5}})) == both{0, 0});
  ascend::profile two = with({{"gloo:all_reduce", 1}});
  two.groups.resize(2);  // which of the two groups it was cannot be told
  CHECK(common(two, two) == both{0, 0});
}

TEST_CASE("links and bandwidths", "[ascend]") {
  const auto link = [](std::int64_t from, std::int64_t to, std::int64_t size, std::int64_t ns) {
    return ascend::rank_link{"", "a-total", "", false, from, to, "HCCS", hocket::bytes(size), nanoseconds(ns)};
  };
  const std::vector<ascend::rank_link> links = {link(0, 1, 1000, 10), link(1, 2, 900, 10), link(2, 3, 1100, 10),
                                                link(3, 0, 300, 10),  link(3, 0, 300, 10), link(0, 0, 1, 1000)};
  const auto sums = ascend::sum_links(links);
  REQUIRE(sums.size() == 5);
  const auto slow = ascend::find_slow_links(sums);
  REQUIRE(slow.size() == 1);
  CHECK((sums[slow[0].link].from == 3 && sums[slow[0].link].size == hocket::bytes(600)));
  CHECK(is_near(slow[0].rate, 30e9));
  CHECK(is_near(slow[0].median, 90e9));
  CHECK(ascend::find_slow_links(std::vector{link(0, 1, 1000, 10), link(1, 0, 100, 10)}).empty());

  const auto run = [](std::int64_t size, std::int64_t ns) {
    ascend::collective_run r;
    r.links = {{"RDMA", hocket::bytes(size), nanoseconds(ns)}};
    return r;
  };
  const std::vector<ascend::collective_run> runs = {run(1024, 100), run(2047, 100), run(2048, 100), run(0, 5)};
  const auto rates = ascend::rates_by_size(runs);
  REQUIRE(rates.size() == 2);
  CHECK((rates[0].from_bytes == 1024 && rates[0].runs == 2 && rates[0].moved == hocket::bytes(3071)));
  CHECK(is_near(rates[0].median, 10.24e9));
  CHECK(rates[1].from_bytes == 2048);
  const std::vector<std::vector<ascend::size_rate>> of_ranks = {rates, rates,
                                                                ascend::rates_by_size(std::vector{run(1024, 200)})};
  const auto compared = ascend::compare_rates(of_ranks);
  REQUIRE(compared.size() == 2);
  CHECK((compared[0].is_slow() && compared[0].least_rank == 2 && compared[0].runs == 5));
  CHECK_FALSE(compared[1].is_slow());
}

TEST_CASE("ranks of a cluster's table", "[ascend]") {
  const auto p = ascend::parse_profile(profile_files::file("cluster_step_trace_time.csv")).value();
  const auto ranks = ascend::ranks_of_cluster(p);
  REQUIRE(ranks.size() == 8);
  CHECK(ascend::steps_of(p).empty());
  CHECK((ranks[3].rank == 3 && ranks[3].stage == 0));
  CHECK(ranks[3].steps[0].of(step_part::computing) == nanoseconds(80'077'270));
  // Where the hosts of ranks 1, 3 and 6 do not launch in time, the others wait in collectives.
  const auto slow = ascend::find_slow_ranks(ranks);
  REQUIRE(!slow.empty());
  CHECK((slow[0].rank == 1 && slow[0].part == step_part::idle && slow[0].waiting.count() > 0));
}

TEST_CASE("collectives of Gloo's are communication, and what asks for them is none", "[ascend]") {
  const std::string head =
      R"({"distributedInfo": {"backend": "gloo", "rank": 1, "world_size": 2, "pg_count": 1, "pg_config":
    [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}]}, "baseTimeNanoseconds": 1000, "traceEvents": [)";
  const std::string asks =
      R"({"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 1, "tid": 1, "ts": 10, "dur": 5})";
  const std::string runs =
      R"(, {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 2, "ts": 11, "dur": 9},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 17, "dur": 2})";
  const auto p = ascend::parse_profile(head + asks + runs + "]}").value();
  CHECK((p.rank == 1 && p.rank_count == 2 && p.clock_base == nanoseconds(1000)));
  REQUIRE(p.groups.size() == 1);
  CHECK(p.groups[0].ranks == std::vector<std::int64_t>{0, 1});
  REQUIRE(p.kernels.size() == 2);
  CHECK((p.kernels[0].communicates && p.kernels[0].name == "gloo:all_reduce"));
  const auto b = ascend::break_down(p.kernels);
  CHECK((b.exposed == nanoseconds(7000) && b.computing == nanoseconds(2000)));
  const auto alone = ascend::parse_profile(head + asks + "]}").value();
  REQUIRE(alone.kernels.size() == 1);
  CHECK(alone.kernels[0].communicates);
}

TEST_CASE("two measurements: means, calls and gaps, worked out by hand", "[ascend]") {
  const auto add = [](ascend::profile& p, std::int64_t step, const char* type, int start, int duration) {
    ascend::kernel k;
    k.name = k.type = type;
    k.communicates = std::string_view(type).starts_with("hcom_");
    k.step = step;
    k.start = nanoseconds(start);
    k.duration = nanoseconds(duration);
    p.kernels.push_back(k);
  };
  ascend::profile before, after;
  for (int i = 0; i < 4; ++i) {
    const int at = 10'000 * i;
    add(before, i, "MatMul", at, 100);
    add(before, i, "MatMul", at + 150, 100);
    add(before, i, "hcom_allReduce_", at + 250, 60);
    add(after, i, "MatMul", at, i == 3 ? 5000 : 80);  // the last step saves
    add(after, i, "Cast", at + (i == 3 ? 5000 : 80), 30);
  }
  before.memory = {{"", "", {}, hocket::bytes(5), {}, {}}, {"", "", {}, hocket::bytes(7), {}, {}}};
  const auto d = ascend::compare_profiles(before, after, {.by_shape = false, .least_gap = nanoseconds(1)});
  CHECK((d.before.steps == 4 && d.after.steps == 3 && d.after.left_out == 1));
  CHECK((d.before.of(step_part::span) == nanoseconds(310) && d.after.of(step_part::span) == nanoseconds(110)));
  CHECK((d.before.of(step_part::idle) == nanoseconds(50) && d.before.of(step_part::exposed) == nanoseconds(60)));
  REQUIRE(d.operators.size() == 3);
  CHECK((d.operators[0].type == "MatMul" && d.operators[0].change() == nanoseconds(80 - 200)));
  CHECK((d.operators[0].calls_before == 2 && d.operators[0].calls_after == 1));
  CHECK(d.operators[0].change_by_calls() == nanoseconds(-100));
  CHECK((d.operators[1].type == "hcom_allReduce_" && d.operators[1].change_by_calls() == nanoseconds(-60)));
  CHECK((d.operators[2].type == "Cast" && d.operators[2].change() == nanoseconds(30)));
  CHECK((d.gaps_before.count == 1 && d.gaps_before.total == nanoseconds(50) && d.gaps_after.count == 0));
  CHECK((d.peak_before == hocket::bytes(7) && d.peak_after == hocket::bytes(0)));
}
