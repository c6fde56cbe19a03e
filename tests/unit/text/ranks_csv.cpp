// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/ranks.hpp>
#include <hocket/text/ranks_csv.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "unit/ranks/random_program.hpp"

namespace ranks = hocket::ranks;
namespace text = hocket::text;

namespace {

std::string refusal(std::string_view csv) {
  const auto job = text::parse_ranks_csv(csv);
  REQUIRE(!job);
  return hocket::message(job.error());
}

TEST_CASE("ranks CSV: what a file says", "[text][ranks]") {
  const auto job = text::parse_ranks_csv(
      "# a ring of four\n"
      "rank,op,communicator,stream,count,peer,event,blocking,name\n"
      "0-1,communicator,tensor\n2 3,communicator,tensor\n\n"
      "0-3,all_reduce,tensor,1,1024,,,,layer 3\n"
      "0-2,send,,,64,+1\n"
      "1-3,receive,,,64,-1,,1\n"
      "0-2/2,record,,1,,,5\n");
  REQUIRE(job);
  CHECK(job->ranks() == 4);
  CHECK(job->group_of(job->find_communicator("tensor"), 3) == 1);
  CHECK(job->list(0).size() == 3);
  CHECK(job->list(0)[0].count == 1024);
  CHECK(job->name(job->list(0)[0].name) == "layer 3");
  CHECK(job->list(1)[1].peer == 2);
  CHECK(job->list(1)[2].peer == 0);
  CHECK(job->list(1)[2].returns == ranks::host_return::when_complete);
  CHECK(job->list(2)[3].tag == 5);
  CHECK(job->list(3).size() == 2);
}

TEST_CASE("ranks CSV: what is wrong is said with its place", "[text][ranks]") {
  CHECK(refusal("") == "line 1, column 1: \"\" is not understood");
  CHECK(refusal("rank,op,color\n0,compute\n") == "line 1, column 3: \"color\" is not understood");
  CHECK(refusal("rank,op,tag,tag\n0,compute\n") == "line 1, column 4: the table has \"tag\" already, as column 3");
  CHECK(refusal("rank,op\n") == "line 1, column 1: \"no row\" is not understood");
  CHECK(refusal("rank,op\nx,compute\n") == "line 2, column 1: \"x\" is not understood");
  CHECK(refusal("rank,op\n3-1,compute\n") == "line 2, column 1: \"3-1\" is not understood");
  CHECK(refusal("rank,op\n1 1,compute\n") == "line 2, column 1: \"1 1\" is not understood");
  CHECK(refusal("rank,op\n0-999999999,compute\n") == "line 2: 999999999 exceeds the limit of 1048575 (rank)");
  CHECK(refusal("rank,op\n0,allreduce\n") ==
        "line 2, column 2: \"allreduce\" is no op of a rank, such as all_reduce, send, record or wait");
  CHECK(refusal("rank,op,communicator\n0,all_reduce,tp\n") ==
        "line 2, column 3: no line before makes a communicator \"tp\"");
  CHECK(refusal("rank,op,communicator\n0,communicator\n") ==
        "line 2, column 2: \"communicator without a name of its own\" is not understood");
  CHECK(refusal("rank,op,peer\n0,send,-1\n") == "line 2: the peer of some of the ranks 0 is no rank");
  CHECK(refusal("rank,op,count\n0,barrier,many\n") == "line 2, column 3: \"many\" is not a whole number in range");
  CHECK(refusal("rank,op,blocking\n0,barrier,2\n") == "line 2, column 3: \"2\" is neither 0 nor 1");
  CHECK(refusal("rank,op,stream\n0,barrier,65536\n") == "line 2: 65536 exceeds the limit of 65535 (stream)");
  CHECK(refusal("rank,op\n0,barrier,1\n") == "line 2: expected 2 columns, found 3");
}

TEST_CASE("ranks CSV: programs by lot are read as they were written", "[text][ranks]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto job = random_ranks::make(seed, {4, 3, seed % 2 == 0});
    const std::string written = text::write_ranks_csv(job);
    const auto read = text::parse_ranks_csv(written);
    INFO(written);
    bool any = false;
    for (std::uint32_t r = 0; r < job.ranks(); ++r) any = any || !job.list(r).empty();
    REQUIRE(read);
    for (std::uint32_t r = 0; r < read->ranks(); ++r)
      CHECK(std::equal(read->list(r).begin(), read->list(r).end(), job.list(r).begin(), job.list(r).end()));
    CHECK(text::write_ranks_csv(*read) == written);
  }
}

}  // namespace
