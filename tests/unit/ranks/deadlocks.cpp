// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every program of examples/deadlocks: its verdict, and where it is small enough all interleavings.
#include <hocket/ranks.hpp>
#include <hocket/text/ranks_csv.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "unit/ranks/explorer.hpp"

namespace ranks = hocket::ranks;
using ranks::verdict;

namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
// What a comment says: "# key: value".
std::string field(std::string_view text, std::string_view key) {
  const std::string start = "# " + std::string(key) + ": ";
  const std::size_t at = text.find(start);
  REQUIRE(at != std::string_view::npos);
  const std::string_view rest = text.substr(at + start.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

TEST_CASE("ranks: programs of public threads", "[ranks]") {
  std::size_t programs = 0, explored = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HOCKET_TEST_DATA "/../../examples/deadlocks")) {
    if (entry.path().extension() != ".csv") continue;
    INFO(entry.path());
    ++programs;
    const std::string text = content(entry.path());
    CHECK(field(text, "thread").starts_with("https://github.com/"));
    const auto machine = ranks::find_machine(field(text, "machine"));
    REQUIRE(machine);
    const auto job = hocket::text::parse_ranks_csv(text);
    REQUIRE(job);
    const auto found = check(*job, machine->rules);
    REQUIRE(found);
    CHECK(to_string(found->says) == field(text, "verdict"));
    if (found->says == verdict::mismatch) {
      CHECK(!explorer::all_meet(*job, machine->rules));
      continue;
    }
    CHECK(found->cycle.empty() == (found->says == verdict::safe));
    if (found->says == verdict::may_hang) CHECK(replay_hangs(*job, machine->rules, *found));
    const auto truth = explorer::explore(*job, machine->rules, 20000);
    if (!truth.complete) continue;
    ++explored;
    CHECK(truth.can_hang == (found->says != verdict::safe));
    CHECK(truth.can_finish == (found->says != verdict::hangs));
  }
  CHECK(programs >= 25);
  CHECK(explored >= 10);
}

}  // namespace
