// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core/message.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>
#include <hocket/text/schedule_jobs.hpp>

#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::errc;
using hocket::text::parse_schedule_csv;
using hocket::text::write_schedule_csv;
using hocket::text::write_schedule_json;

namespace {

std::string complaint(std::string_view csv) {
  const auto table = parse_schedule_csv(csv);
  if (table) {
    const auto ok = check(*table);
    return ok ? "" : hocket::message(ok.error());
  }
  return hocket::message(table.error());
}

}  // namespace

TEST_CASE("a schedule CSV is read, with line ends and spaces as they come", "[text]") {
  for (const char* csv : {"0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1",
                          "0F0, 0F1,,,0B0 ,0B1\n,1F0,1B0,1F1,1B1,\n", "0F0,0F1,0B0,0B1\r\r\n1F0,1B0,1F1,1B1\r\r\n"}) {
    const auto table = parse_schedule_csv(csv);
    REQUIRE(table.has_value());
    CHECK(table->ranks() == 2);
    CHECK(table->chunks() == 1);
    CHECK(table->micro_batches() == 2);
    CHECK(table->at(1, 1) == stage_action(action_kind::backward, 1, 0));
    CHECK(table->rank(1).size() == 4);
    CHECK(check(*table).has_value());
    CHECK(fingerprint_of(*table) == fingerprint_of(one_f_one_b::make({.ranks = 2, .micro_batches = 2}).value()));
  }
}

TEST_CASE("every token of the dialect is read and written back", "[text]") {
  const std::string csv =
      "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0I0,0W0,0RESHARD,0REDUCE_GRAD,0OPTIMIZER\n"
      "1RECV_F0,(1F0;1RECOMPUTE0)OVERLAP_F_B,1OFFLOAD0,1RELOAD0,1B0,1SEND_B0\n";
  const auto table = parse_schedule_csv(csv);
  REQUIRE(table.has_value());
  CHECK(write_schedule_csv(*table, {.carriage_returns = false}) == csv);
  CHECK(table->at(1, 1).joined());
  CHECK(table->at(0, 0).micro_batch() == stage_action::no_micro_batch);
  const std::string slices = "0F0.0,0F0.1,0B0.1,0B0.0\r\n";
  CHECK(write_schedule_csv(parse_schedule_csv(slices).value()) == slices);
  CHECK(parse_schedule_csv(slices)->slices() == 2);
}

TEST_CASE("bad schedule CSVs get a sentence that names the cell", "[text]") {
  CHECK(complaint("0F0,0B0\n1F0,1X0\n") == "line 2, cell 2: unknown token \"1X0\"");
  CHECK(complaint("0F0,,0B0junk\n") == "line 1, cell 3: unknown token \"0B0junk\"");
  CHECK(complaint("0F0,0BW0\n") == "line 1, cell 2: unknown token \"0BW0\"");
  CHECK(complaint("F0\n") == "line 1, cell 1: unknown token \"F0\"");
  CHECK(complaint("0F\n") == "line 1, cell 1: unknown token \"0F\"");
  CHECK(complaint("0F99999999999999999999\n") == "line 1, cell 1: unknown token \"0F99999999999999999999\"");
  CHECK(complaint("65536F0\n") == "line 1, cell 1: unknown token \"65536F0\"");
  CHECK(complaint("0F0.,0B0\n") == "line 1, cell 1: unknown token \"0F0.\"");
  CHECK(complaint("\"0F0\"X\n") == "line 1, cell 1: unknown token \"\"0F0\"X\"");
  CHECK(complaint("(0F0;0B0)OVERLAP\n") == "line 1, cell 1: unknown token \"(0F0;0B0)OVERLAP\"");
  CHECK(complaint("(0F0)OVERLAP_F_B\n") == "line 1, cell 1: unknown token \"(0F0)OVERLAP_F_B\"");
  CHECK(complaint("(;)OVERLAP_F_B\n") == "line 1, cell 1: unknown token \"(;)OVERLAP_F_B\"");
  CHECK(complaint("()OVERLAP_F_B\n") == "line 1, cell 1: unknown token \"()OVERLAP_F_B\"");
  CHECK(complaint("0UNSHARD3\n") == "line 1, cell 1: unknown token \"0UNSHARD3\"");
  CHECK(complaint("0F0,,0B0\n,1F0,1B0,,0F1\n") ==
        "line 2, cell 5: stage 0 also runs on line 1, but a stage lives on one rank");
  CHECK(complaint("") == "line 1 holds no action: each line is the list of a rank");
  CHECK(complaint("0F0,0B0\n,,\n") == "line 2 holds no action: each line is the list of a rank");
  CHECK(complaint("0F0,0B0\n\n") == "line 2 holds no action: each line is the list of a rank");
  CHECK(complaint("\n\n") == "line 1 holds no action: each line is the list of a rank");
  CHECK(complaint("0F0,0B0\n2F0,2B0\n").find("stages do not divide evenly over ranks") != std::string::npos);
  CHECK(complaint("0F0,0B0,1F0,1B0,2F0,2B0\n3F0,3B0\n").find("ranks hold different numbers of stages") !=
        std::string::npos);
  CHECK(complaint("0F0,0F1,0B0,0B1\n1F0,1B0\n") == "rank 1 never runs the forward of stage 1 for micro-batch 1");
  CHECK(complaint("0F0,0I0\n") == "rank 0 never runs the weight gradient of stage 0 for micro-batch 0");
  CHECK(complaint("0F0,0I0,0W0,0W0\n") ==
        "rank 0 runs the weight gradient of stage 0 for micro-batch 0 twice, again at step 3");
  CHECK(complaint("0F0,0B0,0W0\n") ==
        "rank 0 runs the weight gradient of stage 0 for micro-batch 0 twice, again at step 2");
  CHECK(complaint("0B0,0F0\n") == "the schedule deadlocks: rank 0 waits at step 0 for stage 0, micro-batch 0");
  CHECK(complaint("d1:0F0,d1:0B0\n") == "rank 0 never runs any action of stage 0 for micro-batch 0");
}

TEST_CASE("a list in another dialect gets a sentence that says so and names the cell", "[text]") {
  const auto contents = [](const char* name) {
    std::ifstream file(std::string(HOCKET_TEST_DATA "/pipeline/") + name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const auto foreign = [](const std::string& place, const std::string& word) {
    return place + ": \"" + word + "\" is no action such as 3F12, and the file no list in PyTorch's dialect";
  };
  const auto several = [](const std::string& place, const std::string& word) {
    return place + ": \"" + word + "\" is several actions: cells are separated by commas here";
  };
  CHECK(complaint(contents("deepspeed__TrainSchedule__p3_m5.txt")) ==
        foreign("line 1, cell 1", "stage 0 num_pipe_buffers 3"));
  const std::string jobs = complaint(hocket::text::write_paddle_jobs(interleaved::make({2, 2, 4}).value()));
  CHECK(jobs.find("line 1, cell 1: \"f0_vp0;") == 0);
  CHECK(jobs.find("no list in PyTorch's dialect") != std::string::npos);
  CHECK(complaint(write_schedule_json(one_f_one_b::make({2, 1, 2}).value())) ==
        foreign("line 1, cell 1", "{\"version\":1"));
  CHECK(complaint("rank,step 0,step 1\n0,0F0,0B0\n") == foreign("line 1, cell 1", "rank"));
  CHECK(complaint("0F0,Forward0\n") == foreign("line 1, cell 2", "Forward0"));
  CHECK(complaint("0,0F0,0B0\n") == "line 1, cell 1: unknown token \"0\"");  // ranks in the first column
  CHECK(complaint("0F0;0F1;0B0;0B1\n") == several("line 1, cell 1", "0F0;0F1;0B0;0B1"));
  CHECK(complaint("0F0,0B0\n1F0\t1B0\n") == several("line 2, cell 1", "1F0?1B0"));
  CHECK(complaint("0F0 0B0\n") == several("line 1, cell 1", "0F0 0B0"));
  CHECK(complaint("0F0,0B0\r1F0,1B0\r") == several("line 1, cell 2", "0B0?1F0"));
  CHECK(complaint("0f0,0b0\n") == "line 1, cell 1: unknown token \"0f0\"");
  // What spreadsheets and Python's csv module add to the same dialect.
  for (const std::string same :
       {"\xEF\xBB\xBF"
        "0F0,0B0\r\n1F0,1B0\r\n",
        "\"0F0\",\"0B0\"\n\"1F0\",\" 1B0 \"\n", "0F0 ,\t0B0\n 1F0,1B0", "0F0,\"\",0B0\n1F0,1B0,\"\"\n"}) {
    INFO(same);
    REQUIRE(complaint(same).empty());
    CHECK(write_schedule_csv(parse_schedule_csv(same).value()) == "0F0,0B0\r\n1F0,1B0\r\n");
  }
}

TEST_CASE("no text makes the reader fall over", "[text]") {
  // Every way to cut a good file short, and every single letter of it replaced by a few others.
  const std::string good = "0F0,(0F1;0B0)OVERLAP_F_B,0B1\r\n";
  for (std::size_t n = 0; n <= good.size(); ++n) (void)complaint(std::string_view(good).substr(0, n));
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const char c : {'\0', ',', ';', '(', ')', '9', '-', '\n', '\xff'}) {
      std::string bad = good;
      bad[i] = c;
      const auto table = parse_schedule_csv(bad);
      if (table) CHECK(parse_schedule_csv(write_schedule_csv(*table)).has_value());  // what is read can be written
    }
}

TEST_CASE("a schedule as JSON", "[text]") {
  CHECK(write_schedule_json(one_f_one_b::make({.ranks = 2, .micro_batches = 2}).value()) ==
        "{\"version\":1,\"ranks\":2,\"chunks\":1,\"micro_batches\":2,\"slices\":1,\"stage_ranks\":[0,1],\"lists\":[\n"
        "[\"0F0\",\"0F1\",\"0B0\",\"0B1\"],\n"
        "[\"1F0\",\"1B0\",\"1F1\",\"1B1\"]\n]}\n");
}

TEST_CASE("a short list with huge numbers is refused before memory is taken for it", "[text]") {
  // The product of micro-batches and slices passes 2^32.
  const auto plan = hocket::text::parse_schedule_csv("0F2097151.65535,0B2097151.65535\r\n");
  REQUIRE(plan);
  const auto checked = hocket::pipeline::check(*plan);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == hocket::errc::limit_exceeded);
  const auto simulated = hocket::pipeline::simulate(*plan, hocket::pipeline::costs{});
  REQUIRE_FALSE(simulated);
  CHECK(simulated.error().code == hocket::errc::limit_exceeded);
  // Ordinary gaps are still named.
  const auto gap = hocket::text::parse_schedule_csv("0F0,0B0,0F5,0B5\r\n");
  REQUIRE(gap);
  CHECK(hocket::pipeline::check(*gap).error().code == hocket::errc::incomplete_schedule);
}

namespace {

/// One rank's list of plain actions, kept as they are.
struct written_list {
  std::vector<action> actions;
  [[nodiscard]] std::uint32_t ranks() const { return 1; }
  [[nodiscard]] std::uint32_t chunks() const { return 3; }
  [[nodiscard]] std::uint32_t micro_batches() const { return 1; }
  [[nodiscard]] std::uint32_t size(std::uint32_t) const { return static_cast<std::uint32_t>(actions.size()); }
  [[nodiscard]] action at(std::uint32_t, std::uint32_t i) const { return actions[i]; }
  [[nodiscard]] std::span<const action> rank(std::uint32_t) const { return actions; }
  [[nodiscard]] loop_placement placement() const { return {1}; }
};

}  // namespace

TEST_CASE("what repeats in a list is written as what does not", "[text]") {
  std::uint32_t seed = 7;
  const auto below = [&](std::uint32_t n) { return (seed = seed * 1664525 + 1013904223) / 65536 % n; };
  for (int turn = 0; turn < 200; ++turn) {
    written_list plan;
    for (std::uint32_t zone = below(4) + 1; zone > 0; --zone) {  // periods, each some micro-batches later
      const std::uint32_t length = below(20) + 1, times = below(200) + 1, most = turn % 2 == 0 ? 2'000 : 65'000;
      const auto later = static_cast<std::int64_t>(below(400)) - (turn % 3 == 0 ? 200 : 0);
      for (std::uint32_t k = 0; k < length; ++k) {
        const auto kind = static_cast<action_kind>(below(5));
        plan.actions.emplace_back(kind, below(3), below(most) * (turn % 5 == 0 ? 32 : 1), below(60) == 0);
      }
      const std::size_t first = plan.actions.size() - length;
      for (std::size_t i = 0; i < std::size_t{length} * times; ++i) {
        const action a = plan.actions[first + i];
        const std::int64_t j = a.micro_batch() + later;
        if (j < 0 || j >= max_micro_batches) break;
        plan.actions.emplace_back(a.kind(), a.chunk(), static_cast<std::uint32_t>(j), a.joined());
      }
    }
    std::string expected;
    for (std::uint32_t i = 0; i < plan.size(0); ++i) {
      const auto token = [&](std::uint32_t step) {
        const action a = plan.at(0, step);
        return std::to_string(a.chunk()) + std::string(hocket::text::token_of(a.kind())) +
               std::to_string(a.micro_batch());
      };
      if (i > 0) expected += ',';
      const std::uint32_t here = i;
      if (plan.at(0, i).joined() && i + 1 < plan.size(0))
        expected += "(" + token(here) + ";" + token(++i) + ")OVERLAP_F_B";
      else expected += token(here);
    }
    INFO(turn);
    CHECK(write_schedule_csv(plan) == expected + "\r\n");
  }
}

TEST_CASE("bits that are no op are refused before they are written", "[text]") {
  using hocket::pipeline::action_kind, hocket::pipeline::stage_action;
  const stage_action foreign = stage_action::from_bits(std::uint64_t{63} << 58);
  const stage_action actions[] = {{action_kind::forward, 0, 0}, {action_kind::backward, 0, 0}, foreign};
  const std::uint32_t ends[] = {3};
  const auto table = hocket::pipeline::table_schedule::make(actions, ends);
  REQUIRE_FALSE(table);
  CHECK(table.error().code == hocket::errc::invalid_argument);
}

TEST_CASE("the CSV of every schedule is its actions, one cell after another, with numbers of any length", "[text]") {
  using namespace hocket::pipeline;
  const auto token = [](stage_action a, bool sliced) {
    std::string text = a.direction() != 0 ? "d1:" : "";
    text += std::to_string(a.stage());
    text += hocket::text::token_of(a.kind());
    text += std::to_string(a.micro_batch());
    return sliced ? text + "." + std::to_string(a.slice()) : text;
  };
  for (const std::string_view name : schedule_names) {
    for (const int ranks : {2, 4}) {
      for (const int chunks : {1, 2}) {
        for (const int micro_batches : {4, 12, 2500}) {
          const auto plan =
              any_schedule::make(name, {ranks, chunks, micro_batches}, {.slices = name == "seq-1f1b" ? 3 : 1});
          if (!plan) continue;
          std::string expected;
          for (std::uint32_t r = 0; r < plan->ranks(); ++r) {
            for (std::uint32_t i = 0; i < plan->size(r); ++i) {
              const stage_action a = plan->at(r, i);
              if (i > 0) expected += ',';
              if (a.joined() && i + 1 < plan->size(r))
                expected += "(" + token(a, false) + ";" + token(plan->at(r, ++i), false) + ")OVERLAP_F_B";
              else expected += token(a, plan->slices() > 1);
            }
            expected += '\n';
          }
          const hocket::text::schedule_csv_options bare{.carriage_returns = false, .idle_cells = false};
          INFO(name << ' ' << ranks << ' ' << chunks << ' ' << micro_batches);
          CHECK(write_schedule_csv(*plan, bare) == expected);                                          // by step
          CHECK(plan->visit([&](const auto& x) { return write_schedule_csv(x, bare); }) == expected);  // in blocks
        }
      }
    }
  }
}
