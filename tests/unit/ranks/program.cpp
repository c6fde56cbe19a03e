// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/ranks.hpp>

#include <cstdint>
#include <string>

#include "catch.hpp"

namespace ranks = hocket::ranks;
using ranks::op_kind;

namespace {

std::string refusal(const ranks::program& job) {
  const auto ok = job.check_lists();
  REQUIRE(!ok);
  return hocket::message(ok.error());
}

TEST_CASE("ranks: ranks that do the same share a list", "[ranks]") {
  ranks::program job(1000);
  job.all_ranks().all_reduce(ranks::world).compute();
  CHECK(&job.list(0)[0] == &job.list(999)[0]);
  job.rank(7).barrier();
  CHECK(job.list(7).size() == 3);
  CHECK(job.list(8).size() == 2);
  CHECK(&job.list(0)[0] == &job.list(999)[0]);
  job.ranks_from_to(5, 9).compute();
  CHECK(job.list(7).size() == 4);
  CHECK(job.list(5).size() == 3);
  CHECK(&job.list(5)[0] == &job.list(9)[0]);
  CHECK(job.list(4).size() == 2);
}

TEST_CASE("ranks: a name has groups, and each rank uses its own", "[ranks]") {
  ranks::program job(4);
  const auto tensor = job.communicator("tensor", {{0, 1}, {2, 3}});
  CHECK(job.communicator_count() == 2);
  CHECK(job.group_of(tensor, 1) == 0);
  CHECK(job.group_of(tensor, 2) == 1);
  CHECK(job.find_communicator("tensor") == tensor);
  CHECK(job.find_communicator("data") == hocket::no_id);
  job.all_ranks().all_reduce(tensor);
  CHECK(check(job)->says == ranks::verdict::safe);
}

TEST_CASE("ranks: what makes no sense is refused with its place", "[ranks]") {
  const auto with = [](auto&& build) {
    ranks::program job(2);
    build(job);
    return refusal(job);
  };
  CHECK(with([](auto& j) { j.communicator("a", {0, 2}); }) ==
        "communicator \"a\" has the member 2, but ranks count from 0 and there are 2");
  CHECK(with([](auto& j) { j.communicator("a", {{0, 1}, {1}}); }) == "rank 1 is twice a member of communicator \"a\"");
  CHECK(with([](auto& j) { j.communicator("a", std::initializer_list<std::uint32_t>{}); }) ==
        "communicator \"a\" has a group without members");
  CHECK(with([](auto& j) { j.rank(1).all_reduce(j.communicator("a", {0})); }) ==
        "rank 1, op 0 of its list: not a member of the communicator");
  CHECK(with([](auto& j) { j.rank(0).compute().send(2); }) ==
        "rank 0, op 1 of its list: the peer or root is not a member");
  CHECK(with([](auto& j) { j.rank(0).send(0); }) == "rank 0, op 0 of its list: a transfer to itself without a group");
  CHECK(with([](auto& j) { j.rank(0).all_reduce(9); }) == "rank 0, op 0 of its list: no such communicator");
  CHECK(with([](auto& j) { j.rank(0).group_begin().send(1); }) ==
        "rank 0, op 0 of its list: a group that does not end");
  CHECK(with([](auto& j) { j.rank(0).group_end(); }) ==
        "rank 0, op 0 of its list: the end of a group that is not open");
  CHECK(with([](auto& j) { j.rank(0).group_begin().group_begin(); }) == "rank 0, op 1 of its list: groups do not nest");
  CHECK(with([](auto& j) { j.rank(0).group_begin().compute(); }) == "rank 0, op 1 of its list: groups hold calls only");
  CHECK(with([](auto& j) { j.rank(0).group_begin().send(1).on(1).receive(1); }) ==
        "rank 0, op 2 of its list: a group's communicator on two streams");
  CHECK(hocket::message(check([] {
                          ranks::program job(1);
                          job.rank(0).group_end();
                          return job;
                        }())
                            .error()) == "rank 0, op 0 of its list: the end of a group that is not open");
}

TEST_CASE("ranks: names of ops and types are read as they are written", "[ranks]") {
  for (int k = 0; k <= static_cast<int>(op_kind::synchronize_device); ++k) {
    const auto kind = static_cast<op_kind>(k);
    CHECK(ranks::parse_op_kind(to_string(kind)) == kind);
  }
  CHECK(!ranks::parse_op_kind("allreduce"));
  for (int k = 0; k <= static_cast<int>(ranks::element_type::float64); ++k) {
    const auto type = static_cast<ranks::element_type>(k);
    CHECK(ranks::parse_element_type(to_string(type)) == type);
  }
  for (const auto& m : ranks::machines) {
    CHECK(ranks::find_machine(m.name)->rules == m.rules);
    CHECK(!m.sources.empty());
    for (const auto& s : m.sources) CHECK(s.source.starts_with("https://"));
  }
  CHECK(!ranks::find_machine("no such"));
}

}  // namespace
