// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes against the same rules written down naively, and one after another in constant expressions.
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;

namespace {

/// "3F1 3B0": the list as tokens.
template <class Range>
std::string tokens(const Range& list) {
  std::string out;
  for (const stage_action a : list) {
    if (!out.empty()) out += ' ';
    out += hocket::text::action_token(a, false);
    if (a.joined()) out += '+';
  }
  return out;
}
table_schedule table(const std::string& csv) { return hocket::text::parse_schedule_csv(csv).value(); }

constexpr auto lean = zero_bubble::make_h1({.ranks = 2, .micro_batches = 3}).value();
/// The list of a rank as passes leave it.
template <class Plan, class... Passes>
constexpr std::vector<stage_action> after(const Plan& plan, std::uint32_t rank, const Passes&... passes) {
  std::vector<stage_action> list = list_of(plan, rank);
  (passes(list), ...);
  return list;
}
constexpr auto merging = [](auto& list) { merge_halves(list); };
constexpr auto splitting = [](auto& list) { split_backwards(list); };
constexpr auto pairing = [](auto& list) { overlap_pairs(list); };
constexpr auto offloading(std::uint32_t lead) {
  return [lead](auto& list) { offload_activations(list, lead); };
}
// Rank 0 of ZB-H1 runs each weight gradient right after its input gradient: F F I W F I W I W.
static_assert(after(lean, 0).size() == 9);
static_assert(after(lean, 0, merging).size() == 6);
static_assert(after(lean, 0, merging, splitting) == after(lean, 0));

}  // namespace

TEST_CASE("merge and split", "[pipeline]") {
  const auto plan = table("0F0,0F1,0I0,0W0,0I1,0F2,0W1,0I2,0W2\n");
  CHECK(tokens(after(plan, 0, merging)) == "0F0 0F1 0B0 0I1 0F2 0W1 0B2");
  CHECK(tokens(after(plan, 0, merging, splitting)) == "0F0 0F1 0I0 0W0 0I1 0F2 0W1 0I2 0W2");
  for (std::int64_t m = 1; m < 12; ++m)  // merging loses nothing, splitting brings it back
    for (std::uint32_t r = 0; r < 4; ++r) {
      const auto h1 = zero_bubble::make_h1({4, 1, m}).value();
      CHECK(tokens(after(h1, r, merging, splitting)) == tokens(stage_list(h1, r)));
    }
}

TEST_CASE("forwards and backwards of different micro-batches pair up", "[pipeline]") {
  const auto plan = table("0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  CHECK(tokens(after(plan, 0, pairing)) == "0F0 0F1+ 0B0 0F2+ 0B1 0B2");
  CHECK(tokens(after(plan, 1, pairing)) == "1F0 1B0 1F1 1B1 1F2 1B2");
  for (const std::int64_t m : {8, 9, 11}) {  // with one more warm-up forward, as Megatron-LM does it
    const auto ahead = interleaved::make({4, 2, m}, groups::balanced(), {.extra = 1}).value();
    const auto paired = lower(ahead, {.overlap = true});
    REQUIRE(paired.has_value());
    CHECK(check(*paired).has_value());
    std::size_t pairs = 0;
    for (std::uint32_t r = 0; r < 4; ++r)
      for (const stage_action a : paired->rank(r)) pairs += a.joined();
    CHECK(pairs >= 4 * static_cast<std::size_t>(m));
    CHECK(simulate(*paired, costs{.overlap = 70})->makespan <= simulate(ahead, costs{})->makespan);
  }
  // With no more micro-batches than ranks the forward of a pair waits, over other ranks, for the backward beside it.
  const auto few = interleaved::make({4, 2, 4}, groups::balanced(), {.extra = 1}).value();
  CHECK(check(lower(few, {.overlap = true}).value()).error().code == hocket::errc::deadlock);
}

TEST_CASE("pairs that wait for themselves get no transfers, and the sentence names one", "[pipeline]") {
  const auto plan = interleaved::make({4, 2, 3}).value();
  for (const transfer_policy policy :
       {transfer_policy::eager, transfer_policy::just_in_time, transfer_policy::grouped}) {
    const auto stuck = lower(plan, {.overlap = true, .transfers = policy});
    REQUIRE_FALSE(stuck.has_value());
    // rank 0: 0F0 0F1 0F2 4F0 4F1 | (4F2; 4B0) ...
    CHECK(hocket::message(stuck.error()) ==
          "the schedule deadlocks: rank 0 waits at step 5 for stage 5, micro-batch 0");
  }
}

TEST_CASE("recompute, offload, reduce, optimizer", "[pipeline]") {
  const auto plan = table("0F0,2F0,0F1,2F1,2B0,0B0,2B1,0B1\n1F0,3F0,3B0,1F1,3F1,1B0,3B1,1B1\n");
  CHECK(tokens(after(plan, 0, [](auto& list) { recompute_before_backward(list); })) ==
        "0F0 2F0 0F1 2F1 2RECOMPUTE0 2B0 0RECOMPUTE0 0B0 2RECOMPUTE1 2B1 0RECOMPUTE1 0B1");
  CHECK(tokens(after(plan, 0, [](auto& list) {
          recompute_before_backward(list, [](auto stage) { return stage > 1; });
        })) == "0F0 2F0 0F1 2F1 2RECOMPUTE0 2B0 0B0 2RECOMPUTE1 2B1 0B1");
  CHECK(tokens(after(plan, 0, offloading(1))) ==
        "0F0 0OFFLOAD0 2F0 2OFFLOAD0 0F1 0OFFLOAD1 2RELOAD0 2F1 2OFFLOAD1 0RELOAD0 2B0 2RELOAD1 0B0 0RELOAD1 2B1 0B1");
  CHECK(tokens(after(plan, 1, offloading(2))) ==
        "1F0 1OFFLOAD0 3F0 3B0 1RELOAD0 1F1 1OFFLOAD1 3F1 1RELOAD1 1B0 3B1 1B1");
  CHECK(tokens(after(plan, 0, [](auto& list) { reduce_when_done(list); })) ==
        "0F0 2F0 0F1 2F1 2B0 0B0 2B1 2REDUCE_GRAD 0B1 0REDUCE_GRAD");
  CHECK(tokens(after(plan, 1, [](auto& list) { end_with_optimizer(list, 1, true); })) ==
        "1F0 3F0 3B0 1F1 3F1 1B0 3B1 1B1 1OPTIMIZER 1POST_VALIDATION");
  const auto all = lower(plan, {.recompute = true,
                                .offload = 1,
                                .unshard = 2,
                                .reduce_grad = true,
                                .transfers = transfer_policy::grouped,
                                .optimizer = true,
                                .post_validation = true});
  REQUIRE(all.has_value());
  for (const auto model :
       {communication::buffered, communication::rendezvous, communication::stream, communication::batched})
    CHECK(check(*all, model).has_value());
  // what is written is read again
  const auto again = hocket::text::parse_schedule_csv(hocket::text::write_schedule_csv(*all));
  REQUIRE(again.has_value());
  CHECK(fingerprint_of(*again) == fingerprint_of(*all));
}

TEST_CASE("every activation that is offloaded comes back before its backward", "[pipeline]") {
  for (const std::uint32_t lead : {1u, 2u, 3u, 5u})
    for (const std::int64_t m : {1, 5, 9}) {
      const auto plan = interleaved::make({3, 2, m}).value();
      const auto away = lower(plan, {.offload = lead}).value();
      for (std::uint32_t r = 0; r < 3; ++r) {
        std::vector<stage_action> outside;
        for (const stage_action a : away.rank(r)) {
          const stage_action unit(action_kind::forward, a.stage(), a.micro_batch());
          const auto at = std::find(outside.begin(), outside.end(), unit);
          if (a.kind() == action_kind::offload) {
            CHECK(at == outside.end());
            outside.push_back(unit);
            continue;
          }
          if (a.kind() != action_kind::forward) {
            CHECK((at != outside.end()) == (a.kind() == action_kind::reload));
            if (a.kind() == action_kind::reload && at != outside.end()) outside.erase(at);
          }
        }
        CHECK(outside.empty());
      }
    }
}

TEST_CASE("weights are there when they are used, and as few stages as wanted", "[pipeline]") {
  for (const std::uint32_t most : {1u, 2u, 3u, 4u}) {
    const auto plan = lower(interleaved::make({4, 4, 8}).value(), {.unshard = most}).value();
    for (std::uint32_t r = 0; r < 4; ++r) {
      std::vector<std::uint32_t> active;
      for (const stage_action a : plan.rank(r)) {
        const auto at = std::find(active.begin(), active.end(), a.stage());
        CHECK((at == active.end()) == (a.kind() == action_kind::unshard));
        if (a.kind() == action_kind::unshard) active.push_back(a.stage());
        else if (a.kind() == action_kind::reshard) active.erase(at);
        CHECK(active.size() <= most);
      }
      CHECK(active.empty());
    }
  }
}
