// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why recorded jobs hang: jobs that run here, rank by rank, until nothing goes on, against what their records tell.
#include <hocket/ranks/recorded.hpp>
#include <hocket/ranks/tell_recorded.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "random_program.hpp"

namespace ranks = hocket::ranks;
using random_ranks::dice;
using ranks::hang_reason;

namespace {

struct job_call {
  std::uint32_t group = 0;
  const char* kind = "all_reduce";
};
/// Ranks that stay in each call until all members have come to it.
struct blocking_job {
  std::vector<std::vector<std::uint32_t>> members;  // of each group
  std::vector<std::vector<job_call>> lists;         // of each rank
};

blocking_job some_job(dice& d) {
  const std::uint32_t count = 2 + d(4);
  blocking_job job;
  job.lists.resize(count);
  for (std::uint32_t g = 0; g < 1 + d(4); ++g) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t r = 0; r < count; ++r)
      if (g == 0 || !d.one_in(3)) members.push_back(r);
    if (members.size() > 1) job.members.push_back(members);
  }
  for (std::uint32_t i = 0; i < 2 + d(6); ++i) {
    const std::uint32_t g = d(static_cast<std::uint32_t>(job.members.size()));
    for (const std::uint32_t r : job.members[g]) job.lists[r].push_back({g});
  }
  auto& list = job.lists[d(count)];
  if (d.one_in(3) && !list.empty()) list.erase(list.begin() + d(static_cast<std::uint32_t>(list.size())));
  auto& other = job.lists[d(count)];
  if (d.one_in(2) && other.size() > 1) {
    const std::uint32_t at = d(static_cast<std::uint32_t>(other.size() - 1));
    std::swap(other[at], other[at + 1]);
  }
  auto& third = job.lists[d(count)];
  if (d.one_in(6) && !third.empty()) third[d(static_cast<std::uint32_t>(third.size()))].kind = "broadcast";
  return job;
}

/// What happened: where each rank stands, and what it recorded.
struct outcome {
  ranks::recorded_job record;
  std::vector<bool> ended;  // by rank
};

outcome run(const blocking_job& job) {
  outcome out;
  const std::size_t count = job.lists.size();
  for (std::size_t g = 0; g < job.members.size(); ++g)
    out.record.groups.push_back({"group " + std::to_string(g), job.members[g], false});
  for (std::uint32_t r = 0; r < count; ++r) out.record.ranks.push_back({.rank = r, .calls = {}});
  std::vector<std::vector<std::int64_t>> come(count, std::vector<std::int64_t>(job.members.size(), 0));
  std::vector<std::size_t> at(count, 0);
  std::int64_t clock = 0;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t r = 0; r < count; ++r) {
      auto& calls = out.record.ranks[r].calls;
      const bool inside = !calls.empty() && !calls.back().done;
      if (inside) {
        ranks::recorded_call& open = calls.back();
        const auto& members = job.members[open.group];
        if (std::any_of(members.begin(), members.end(), [&](auto m) { return come[m][open.group] < open.number; }))
          continue;
        open.done = open.started = true;
        goes_on = true;
      } else if (at[r] < job.lists[r].size()) {
        const job_call& next = job.lists[r][at[r]++];
        ranks::recorded_call call;
        call.kind = next.kind;
        call.group = next.group;
        call.number = ++come[r][next.group];
        call.created = ++clock;
        calls.push_back(call);
        goes_on = true;
      }
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    const auto& calls = out.record.ranks[r].calls;
    out.ended.push_back(at[r] == job.lists[r].size() && (calls.empty() || calls.back().done));
  }
  return out;
}

/// Whether a rank has recorded a call of a group with this number or a later one.
bool came(const ranks::recorded_rank& r, const ranks::recorded_call& to) {
  return std::any_of(r.calls.begin(), r.calls.end(),
                     [&](const auto& c) { return c.group == to.group && c.number >= to.number; });
}

/// What the rules say of a job, found by looking at each pair of calls.
hang_reason expected(const outcome& o) {
  bool differs = false, open = false, free_is_missing = false;
  for (const auto& a : o.record.ranks)
    for (const auto& x : a.calls) {
      for (const auto& b : o.record.ranks)
        for (const auto& y : b.calls)
          differs = differs || (x.group == y.group && x.number == y.number && x.kind != y.kind);
      if (x.done) continue;
      open = true;
      for (const std::uint32_t m : o.record.groups[x.group].members)
        free_is_missing = free_is_missing || (o.ended[m] && !came(o.record.ranks[m], x));
    }
  if (differs) return hang_reason::mismatch;
  if (!open) return hang_reason::nothing_open;
  return free_is_missing ? hang_reason::never_comes : hang_reason::cycle;
}

const ranks::recorded_call& call_at(const ranks::recorded_job& job, const ranks::recorded_place& p) {
  return job.ranks[p.at].calls[p.call];
}

/// Whether the witness of an answer shows what it says.
void check_witness(const outcome& o, const ranks::hang_answer& a) {
  const ranks::recorded_job& job = o.record;
  if (a.why == hang_reason::mismatch) {
    REQUIRE(a.calls.size() == 2);
    const auto &x = call_at(job, a.calls[0]), &y = call_at(job, a.calls[1]);
    CHECK((x.group == y.group && x.number == y.number && x.kind != y.kind));
  }
  if (a.why == hang_reason::never_comes) {
    REQUIRE(a.calls.size() == 1);
    CHECK(!call_at(job, a.calls[0]).done);
    CHECK(!a.waiting.empty());
    CHECK(!a.absent.empty());
    for (const std::uint32_t r : a.absent) CHECK((o.ended[r] && !came(job.ranks[r], call_at(job, a.calls[0]))));
  }
  if (a.why == hang_reason::cycle) {
    REQUIRE(a.calls.size() >= 2);
    for (std::size_t i = 0; i < a.calls.size(); ++i) {
      const ranks::recorded_call& x = call_at(job, a.calls[i]);
      const std::size_t next = a.calls[(i + 1) % a.calls.size()].at;
      CHECK(!x.done);
      CHECK(!came(job.ranks[next], x));
    }
  }
}

TEST_CASE("recorded: jobs that run until they hang", "[ranks][recorded]") {
  dice d{20261128};
  std::vector<int> seen(6, 0);
  for (int i = 0; i < 6000; ++i) {
    const outcome o = run(some_job(d));
    const ranks::hang_answer a = ranks::find_hang(o.record);
    INFO(i << ": " << ranks::sentence(o.record, a));
    REQUIRE(a.why == expected(o));
    check_witness(o, a);
    ++seen[static_cast<std::size_t>(a.why)];
    if (a.why == hang_reason::mismatch) continue;
    // What was done long ago may be overwritten.
    ranks::recorded_job cut = o.record;
    for (ranks::recorded_rank& r : cut.ranks) {
      if (r.calls.size() < 2) continue;
      r.calls.erase(r.calls.begin(), r.calls.begin() + d(static_cast<std::uint32_t>(r.calls.size())));
      r.cut = true;
    }
    const ranks::hang_answer same = ranks::find_hang(cut);
    CHECK(same.why == a.why);
    CHECK(same.absent == a.absent);
    CHECK(same.waiting == a.waiting);
  }
  CHECK(seen[static_cast<std::size_t>(hang_reason::nothing_open)] > 500);
  CHECK(seen[static_cast<std::size_t>(hang_reason::mismatch)] > 100);
  CHECK(seen[static_cast<std::size_t>(hang_reason::never_comes)] > 500);
  CHECK(seen[static_cast<std::size_t>(hang_reason::cycle)] > 100);
}

ranks::recorded_call call_of(std::uint32_t group, std::int64_t number, bool done, bool started = false) {
  ranks::recorded_call out;
  out.kind = "all_reduce";
  out.group = group;
  out.number = number;
  out.created = 1'795'875'255'798'117'173 + number;
  out.done = done;
  out.started = started || done;
  return out;
}

TEST_CASE("recorded: what is done may be noted late", "[ranks][recorded]") {
  ranks::recorded_job job{.groups = {{"tp", {0, 1}, false}}, .ranks = {}};
  job.ranks = {{.rank = 0, .calls = {call_of(0, 1, false), call_of(0, 2, false)}},
               {.rank = 1, .calls = {call_of(0, 1, true)}}};
  const ranks::hang_answer a = ranks::find_hang(job);
  CHECK(a.why == hang_reason::never_comes);
  CHECK(a.absent == std::vector<std::uint32_t>{1});
  CHECK(a.calls == std::vector<ranks::recorded_place>{{0, 1}});
}

TEST_CASE("recorded: times as people read them", "[ranks][recorded]") {
  using ranks::detail::utc_words;
  CHECK(utc_words(0) == "1970-01-01 00:00:00.000 UTC");
  CHECK(utc_words(951'782'399'999'000'000) == "2000-02-28 23:59:59.999 UTC");
  CHECK(utc_words(951'782'400'000'000'000) == "2000-02-29 00:00:00.000 UTC");
  CHECK(utc_words(1'735'689'599'000'000'000) == "2024-12-31 23:59:59.000 UTC");
  CHECK(utc_words(1'795'875'255'798'117'173) == "2026-11-28 14:14:15.798 UTC");
  CHECK(utc_words(4'102'444'800'000'000'000) == "2100-01-01 00:00:00.000 UTC");
  CHECK(utc_words(4'107'542'400'000'000'000) == "2100-03-01 00:00:00.000 UTC");
}

TEST_CASE("recorded: sentences", "[ranks][recorded]") {
  ranks::recorded_job job{.groups = {{"tp", {0, 1, 2}, false}}, .ranks = {}};
  job.ranks = {{.rank = 0, .calls = {call_of(0, 1, true), call_of(0, 2, false, true)}},
               {.rank = 1, .calls = {call_of(0, 1, true), call_of(0, 2, false)}},
               {.rank = 2, .calls = {call_of(0, 1, true)}}};
  const auto told = [&] { return ranks::sentence(job, ranks::find_hang(job)); };
  CHECK(
      told() ==
      "never comes: rank 2 has not come to all_reduce number 2 of tp. Ranks 0, 1 wait there since 2026-11-28 "
      "14:14:15.798 UTC.\nRank 2 waits in no call. Its last, all_reduce number 1 of tp, is done: look at what its host "
      "does.\n");
  job.ranks[2].calls.clear();
  CHECK(told().find("Rank 2 has recorded no call: look at what its host does.\n") != std::string::npos);
  job.ranks.pop_back();
  CHECK(told().find("Rank 2 is a member without a record: give theirs, too.\n") != std::string::npos);
  job.groups[0].members = {0, 1};
  CHECK(told().find("It started on rank 0 alone: look at earlier work of the streams of the others.\n") !=
        std::string::npos);
  job.ranks[1].calls[1].started = true;
  CHECK(told().find("It started on all: look at the network and the devices.\n") != std::string::npos);
  job.ranks[0].calls[1].started = job.ranks[1].calls[1].started = false;
  CHECK(told().find("No rank recorded that it started: look at earlier work of its stream.\n") != std::string::npos);
  job.groups[0].guessed = true;
  CHECK(told().find("All ranks that recorded a call of the group came to it. ") != std::string::npos);
  job.ranks.push_back({.rank = 7, .calls = {}});
  CHECK(told().find("The members of tp are not recorded. Rank 7 waits in no call and may be one: look at what its host "
                    "does.\n") != std::string::npos);
  job.ranks.pop_back();
  job.ranks[0].calls[1].elements = 8;
  job.ranks[1].calls[1].elements = 16;
  job.ranks[1].calls[1].type = "Float";
  CHECK(told() ==
        "mismatch: call 2 of tp: rank 0 calls all_reduce of 8 elements, but rank 1 calls all_reduce of 16 elements of "
        "Float.\n");
  job.ranks[0].calls.pop_back();
  job.ranks[1].calls.pop_back();
  CHECK(told() == "nothing open: every recorded call is done.\n");
  CHECK(ranks::find_hang({}).why == hang_reason::nothing_open);
}

}  // namespace
