// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DeepSpeed's instructions and Paddle's jobs, read and compared with ours.
#include <hocket/core/message.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_jobs.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::text::parse_deepspeed_schedule;
using hocket::text::parse_paddle_jobs;

namespace {

std::string contents(const std::string& name) {
  std::ifstream file(HOCKET_TEST_DATA "/pipeline/" + name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  return text;
}
template <class Plan>
std::vector<stage_action> computing(const Plan& plan, std::uint32_t rank) {
  std::vector<stage_action> list;
  for (std::uint32_t i = 0; i < plan.size(rank); ++i)
    if (const stage_action a = stage_action_at(plan, rank, i); is_compute(a.kind())) list.push_back(a);
  return list;
}
template <class Plan>
bool same_computing(const Plan& plan, const table_schedule& theirs) {
  if (plan.ranks() != theirs.ranks()) return false;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    if (computing(plan, r) != computing(theirs, r)) return false;
  return true;
}

}  // namespace

TEST_CASE("DeepSpeed's instructions are 1F1B, and their transfers are safe in a group per slot", "[golden]") {
  for (const auto& [p, m] : {std::pair<std::int64_t, std::int64_t>{1, 4}, {3, 5}, {4, 2}, {4, 4}, {4, 8}, {4, 9}}) {
    const std::string name = "deepspeed__TrainSchedule__p" + std::to_string(p) + "_m" + std::to_string(m) + ".txt";
    INFO(name);
    const auto theirs = parse_deepspeed_schedule(contents(name));
    REQUIRE(theirs.has_value());
    CHECK(same_computing(one_f_one_b::make({p, 1, m}).value(), *theirs));
    for (const auto model : {communication::buffered, communication::batched}) {
      const auto ok = check(*theirs, model);
      INFO((ok ? std::string{} : hocket::message(ok.error())));
      CHECK(ok.has_value());
    }
  }
  const auto said = [](std::string_view text) { return hocket::message(parse_deepspeed_schedule(text).error()); };
  CHECK(said("stage 0\n0: ForwardPass(0) Sleep(1)\n") == "line 2, cell 2: unknown token \"Sleep(1)\"");
  CHECK(said("0: ForwardPass(0)\n") == "line 1, column 1: \"0: ForwardPass(0)\" is not understood");
  CHECK(said("stage 1\n0: ForwardPass(0)\n") == "line 1, column 1: \"stage 1\" is not understood");
  CHECK(said("stage 0\n0: ForwardPass(0)\nstage 2\n") == "line 3, column 1: \"stage 2\" is not understood");
  CHECK(said("stage x\n0: ForwardPass(0)\n") == "line 1, column 1: \"stage x\" is not understood");
}

TEST_CASE("Paddle's jobs are read, written and compared", "[golden]") {
  for (const auto& [file, plan] :
       {std::pair{"paddle__dy_interleave__p4_v2_m9.csv", interleaved::make({4, 2, 9}, groups::first()).value()},
        {"paddle__dy_interleave__p4_v3_m13.csv", interleaved::make({4, 3, 13}, groups::first()).value()},
        {"paddle__static_VPP__p4_v2_m7.csv", interleaved::make({4, 2, 7}, groups::paper()).value()}}) {
    INFO(file);
    const auto golden = hocket::text::parse_schedule_csv(contents(file)).value();
    const std::string jobs = hocket::text::write_paddle_jobs(golden);
    CHECK(jobs == hocket::text::write_paddle_jobs(plan));
    const auto again = parse_paddle_jobs(jobs);
    REQUIRE(again.has_value());
    CHECK(fingerprint_of(*again) == fingerprint_of(golden));
  }
  CHECK(parse_paddle_jobs("f0_vp0;b0_vp0;\n").value().size(0) == 2);
  for (const char* const bad : {"f0_vp0;x0_vp0\n", "f0_vp0;f_vp0\n", "f0_vp0;f1\n", "f0_vp0;b0_vp0x\n", "f0_vp0;0F0\n"})
    CHECK(hocket::message(parse_paddle_jobs(bad).error()).find("line 1, cell 2: unknown token") == 0);
}

TEST_CASE("empty lines, ends of lines and what is no instruction", "[text]") {
  const auto plain = parse_deepspeed_schedule("stage 0\n0: ForwardPass(0)\n1: BackwardPass(0)\n").value();
  const auto spaced =
      parse_deepspeed_schedule("\nstage 0\r\n\r\n0:\n1: ForwardPass(0)  LoadMicroBatch\r\n2: BackwardPass(0)").value();
  CHECK(fingerprint_of(spaced) == fingerprint_of(plain));
  const auto instructions = [](std::string_view text) {
    return hocket::message(parse_deepspeed_schedule(text).error());
  };
  CHECK(instructions("") == "line 1, column 1: \"no stage\" is not understood");
  CHECK(instructions("stage 0\nForwardPass(0)\n") == "line 2, column 1: \"ForwardPass(0)\" is not understood");

  const auto jobs = parse_paddle_jobs("f0_vp0;b0_vp0;\nf0_vp0;b0_vp0;\n").value();
  CHECK(fingerprint_of(parse_paddle_jobs("\n f0_vp0; b0_vp0\r\n\nf0_vp0;b0_vp0").value()) == fingerprint_of(jobs));
  const auto said = [](std::string_view text) { return hocket::message(parse_paddle_jobs(text).error()); };
  CHECK(said("") == "line 1, column 1: \"no job\" is not understood");
  CHECK(said("f0_vp0;;b0_vp0;\n") == "line 1, cell 2: unknown token \"\"");
  std::string many;  // the last chunk of the last of these ranks is no stage any more
  for (int rank = 0; rank < 1100; ++rank) many += rank == 1099 ? "f0_vp63;\n" : "f0_vp0;\n";
  CHECK(said(many) == "line 1100, cell 1: unknown token \"f0_vp63\"");
}

TEST_CASE("Paddle's jobs are forwards and backwards alone", "[text]") {
  const auto with_more =
      hocket::text::parse_schedule_csv("0F0,0SEND_F0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1REDUCE_GRAD\n");
  REQUIRE(with_more.has_value());
  CHECK(hocket::text::write_paddle_jobs(*with_more) == "f0_vp0;b0_vp0;\nf0_vp0;b0_vp0;\n");
}

TEST_CASE("the largest stage, micro-batch and chunk of a list, and the next", "[text]") {
  const auto jobs = [](std::uint64_t micro_batch, std::uint64_t chunk) {
    return "f" + std::to_string(micro_batch) + "_vp" + std::to_string(chunk) + ";b" + std::to_string(micro_batch) +
           "_vp" + std::to_string(chunk) + "\n";
  };
  const auto is_unknown = [](const auto& read) { return !read && read.error().code == hocket::errc::unknown_token; };
  const auto most = static_cast<std::uint64_t>(hocket::pipeline::max_micro_batches);
  const auto chunks = static_cast<std::uint64_t>(hocket::pipeline::max_chunks);
  CHECK_FALSE(is_unknown(parse_paddle_jobs(jobs(most - 1, 0))));
  CHECK(is_unknown(parse_paddle_jobs(jobs(most, 0))));
  CHECK_FALSE(is_unknown(parse_paddle_jobs(jobs(0, chunks - 1))));
  CHECK(is_unknown(parse_paddle_jobs(jobs(0, chunks))));
  // A second stage that is called like the last one there may be is out of order, and no number.
  const std::string stage = "stage " + std::to_string(hocket::pipeline::max_stages);
  CHECK(
      hocket::message(parse_deepspeed_schedule("stage 0\n0: ForwardPass(0)\n" + stage + "\n").error()).find("line 3") ==
      0);
  // Micro-batches are counted, each kind by itself.
  std::string list = "stage 0\n0:";
  for (std::uint64_t m = 0; m < 3; ++m) list += " ForwardPass(0)";
  for (std::uint64_t m = 0; m < 3; ++m) list += " BackwardPass(0)";
  const auto read = parse_deepspeed_schedule(list + "\n");
  REQUIRE(read.has_value());
  CHECK(read->micro_batches() == 3);
  CHECK(hocket::pipeline::check(*read).has_value());
}
