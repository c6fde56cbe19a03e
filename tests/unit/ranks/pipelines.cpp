// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of jobs that run a pipeline: what pipeline says of their transfers, ranks says of the whole job.
#include <hocket/interop/pipeline_ranks.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/ranks.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"

namespace interop = hocket::interop;
namespace pipeline = hocket::pipeline;
namespace ranks = hocket::ranks;
using pipeline::transfer_policy;
using ranks::verdict;

namespace {

pipeline::any_schedule named(const char* name, std::int64_t micro_batches) {
  const std::int64_t chunks = pipeline::default_chunks(name);
  const pipeline::shape s{.ranks = 4, .chunks = chunks, .micro_batches = micro_batches};
  return pipeline::any_schedule::make(name, s, {}).value();
}

verdict judge(const ranks::program& job, const ranks::machine& m) {
  REQUIRE(job.check_lists());
  return ranks::check(job, m).value().says;
}

std::size_t calls_on(const ranks::program& job, std::uint32_t rank, std::string_view name) {
  const auto id = job.find_communicator(name);
  std::size_t count = 0;
  for (const ranks::op& o : job.list(rank))
    if (ranks::is_communication(o.kind) && o.communicator == id) ++count;
  return count;
}

TEST_CASE("ranks: a pipeline on a mesh", "[ranks][pipelines]") {
  const auto job = interop::ranks_of_pipeline(named("1f1b", 8), {.tensor = 2, .context = 2, .data = 2, .expert = 2},
                                              {.tied_embeddings = true})
                       .value();
  REQUIRE(job.ranks() == 32);
  // Rank 13 = t 1 + 2 (c 0 + 2 (d 1 + 2 · p 1)).
  const auto group = [&](std::string_view name, std::uint32_t rank) {
    const auto id = job.find_communicator(name);
    const auto number = job.group_of(id, rank);
    REQUIRE(number != hocket::no_id);
    const auto& members = job.groups(id).groups[number];
    return std::vector<std::uint32_t>(members.begin(), members.end());
  };
  using list = std::vector<std::uint32_t>;
  CHECK(group("tensor", 13) == list{12, 13});
  CHECK(group("context", 13) == list{13, 15});
  CHECK(group("data", 13) == list{9, 11, 13, 15});
  CHECK(group("expert", 13) == list{13, 15});
  CHECK(group("expert data", 13) == list{9, 13});
  CHECK(group("pipeline", 13) == list{5, 13, 21, 29});
  CHECK(group("embedding", 5) == list{5, 29});
  CHECK(job.group_of(job.find_communicator("embedding"), 13) == hocket::no_id);
  // 8 forwards and 8 backwards: four calls over tensor ranks each, one over context ranks, two over expert ranks.
  CHECK(calls_on(job, 13, "tensor") == 64);
  CHECK(calls_on(job, 13, "context") == 16);
  CHECK(calls_on(job, 13, "expert") == 32);
  CHECK(calls_on(job, 13, "data") == 2);
  CHECK(calls_on(job, 13, "pipeline") == 32);
  CHECK(calls_on(job, 5, "pipeline") == 16);
  CHECK(calls_on(job, 5, "embedding") == 1);
  CHECK(calls_on(job, 5, "world") == 1);
  CHECK(judge(job, {}) == verdict::safe);
}

TEST_CASE("ranks: every schedule that is lowered runs to its end", "[ranks][pipelines]") {
  using enum interop::transfer_communicators;
  for (const char* name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zbv", "dualpipev"})
    for (const transfer_policy policy :
         {transfer_policy::eager, transfer_policy::just_in_time, transfer_policy::grouped})
      for (const auto communicators : {pipeline, pair, direction}) {
        const auto job = interop::ranks_of_pipeline(
            named(name, 8), {.tensor = 2, .data = 2},
            {.lowering = {.unshard = 2, .reduce_grad = true, .transfers = policy, .optimizer = true},
             .transfers = communicators});
        INFO(name << " policy " << int(policy) << " communicators " << int(communicators));
        REQUIRE(job);
        CHECK(judge(*job, {}) == verdict::safe);
        CHECK(judge(*job, {.enqueue_returns = false}) == verdict::safe);
        CHECK(judge(*job, {.order = ranks::launch_order::start}) == verdict::safe);
      }
}

// Lists whose transfers were moved: a receive to an earlier place, or a send to a later one.
std::vector<std::vector<pipeline::stage_action>> shuffled(const pipeline::table_schedule& plan, std::mt19937& random) {
  std::vector<std::vector<pipeline::stage_action>> lists(plan.ranks());
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    for (const auto a : pipeline::stage_list(plan, r)) lists[r].push_back(a);
  for (int moves = 0; moves < 3; ++moves) {
    auto& list = lists[random() % lists.size()];
    const std::size_t at = random() % list.size();
    const std::size_t by = 1 + random() % 3;
    if (!pipeline::is_transfer(list[at].kind())) continue;
    const auto begin = list.begin() + static_cast<std::ptrdiff_t>(at);
    if (pipeline::is_send(list[at].kind()))
      std::rotate(begin, begin + 1, begin + 1 + static_cast<std::ptrdiff_t>((std::min)(by, list.size() - at - 1)));
    else std::rotate(begin - static_cast<std::ptrdiff_t>((std::min)(by, at)), begin, begin + 1);
  }
  return lists;
}

TEST_CASE("ranks: transfers that were moved hang where pipeline says so", "[ranks][pipelines]") {
  std::mt19937 random(7);
  std::size_t hung[3] = {}, ended[3] = {};
  for (int trial = 0; trial < 1500; ++trial) {
    const char* const names[] = {"1f1b", "interleaved", "zbv"};
    const auto lowered = pipeline::lower(named(names[trial % 3], 4), {.transfers = transfer_policy::eager}).value();
    std::vector<pipeline::stage_action> all;
    std::vector<std::uint32_t> ends;
    for (const auto& list : shuffled(lowered, random)) {
      all.insert(all.end(), list.begin(), list.end());
      ends.push_back(static_cast<std::uint32_t>(all.size()));
    }
    const auto plan = pipeline::table_schedule::make(all, ends);
    if (!plan) continue;
    struct model {
      pipeline::communication blocks;
      bool grouped;
      ranks::machine machine;
    };
    const model models[] = {{pipeline::communication::rendezvous, false, {.enqueue_returns = false}},
                            {pipeline::communication::stream, false, {}},
                            {pipeline::communication::batched, true, {.enqueue_returns = false}}};
    for (std::size_t k = 0; k < 3; ++k) {
      const auto ok = pipeline::check(*plan, models[k].blocks);
      if (!ok && ok.error().code != hocket::errc::deadlock) continue;
      const auto job = interop::ranks_of_pipeline(*plan, {}, {.grouped = models[k].grouped}).value();
      INFO("trial " << trial << " model " << k);
      CHECK(judge(job, models[k].machine) == (ok ? verdict::safe : verdict::hangs));
      ++(ok ? ended : hung)[k];
    }
  }
  for (std::size_t k = 0; k < 3; ++k) {
    INFO(k << ": " << hung[k] << " hang, " << ended[k] << " end");
    CHECK((hung[k] > 50 && ended[k] > 50));
  }
}

TEST_CASE("ranks: transfers without another rank are refused", "[ranks][pipelines]") {
  using pipeline::action_kind;
  const pipeline::stage_action all[] = {{action_kind::recv_forward, 0, 0},
                                        {action_kind::forward, 0, 0},
                                        {action_kind::backward, 0, 0},
                                        {action_kind::forward, 1, 0},
                                        {action_kind::backward, 1, 0}};
  const std::uint32_t ends[] = {3, 5};
  const auto job = interop::ranks_of_pipeline(pipeline::table_schedule::make(all, ends).value(), {});
  REQUIRE_FALSE(job);
  CHECK(message(job.error()) ==
        "rank 0, step 0: the transfer of stage 0, micro-batch 0 has no other rank at its far end");
}

TEST_CASE("ranks: a mesh that cannot be is refused", "[ranks][pipelines]") {
  const auto plan = named("1f1b", 4);
  const auto sentence = [&](const interop::rank_mesh& mesh) {
    const auto job = interop::ranks_of_pipeline(plan, mesh);
    REQUIRE_FALSE(job);
    return message(job.error());
  };
  CHECK(sentence({.tensor = 0}) == "tensor is 0, but must lie in [1, 1048576]");
  CHECK(sentence({.data = 3, .expert = 2}) == "context x data: 3 is not divisible by 2");
  CHECK(sentence({.tensor = 1024, .data = 1024}) == "tensor x context x data: 1048576 exceeds the limit of 262144");
  CHECK(sentence({.tensor = 1u << 20, .context = 1u << 20, .data = 1u << 20}).find("exceeds the limit of 262144") !=
        std::string::npos);
}

}  // namespace
