// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What files say of a step.
#include <hocket/core/message.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/measured_step.hpp>
#include <hocket/interop/training_log.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

using hocket::measured_step;
using what = hocket::cost::step_quantity;

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }
double value_of(const measured_step& m, what q) {
  for (const auto& v : m.values)
    if (v.what == q) return v.value;
  return -1;
}
measured_step of_profile(const std::string& text) {
  const auto p = hocket::ascend::parse_profile(text);
  if (!p) FAIL(message(p.error()));
  return hocket::measure_step(*p);
}
measured_step of_log(const std::string& text) {
  const auto log = hocket::parse_training_log(text);
  if (!log) FAIL(message(log.error()));
  return hocket::measure_step(*log);
}

}  // namespace

TEST_CASE("logs of MindFormers and of Megatron", "[measured]") {
  const measured_step forms = of_log(
      "2024 - INFO - { Epoch:[  1/  2], step:[    2/  100], loss: 10.639, per_step_time: 91510ms, lr: 1e-05\n"
      "2024 - INFO - { Epoch:[  1/  2], step:[    4/  100], loss: 10.1, per_step_time: 1510ms, lr: 1e-05, "
      "global_norm: [1.5], train_throughput_per_npu: 171.600T\n"
      "other\n"
      "2024 - INFO - { Epoch:[  1/  2], step:[    6/  100], loss: 9.9, per_step_time: 1500ms, "
      "train_throughput_per_npu: "
      "172.5T\n"
      "Used peak memory usage (without fragments): 23716M\nActual peak memory usage (with fragments): 26244M\n");
  CHECK(forms.step_count == 3);
  CHECK(near(value_of(forms, what::step), 1.51));  // the first compiles; of two the later
  CHECK(near(value_of(forms, what::device_flops), 172.5e12));
  CHECK(value_of(forms, what::memory_peak) == 23716.0 * 1048576);
  CHECK_FALSE(forms.without_states);
  const measured_step megatron = of_log(
      " iteration      100/  500 | consumed samples: 25600 | elapsed time per iteration (ms): 2345.6 | throughput per "
      "GPU (TFLOP/s/GPU): 123.4 | learning rate: 1.0E-04 | global batch size:   256 | lm loss: 2.0E+00 |\n"
      "[Rank 0] (after 2 iterations) memory (MB) | allocated: 100.0 | max allocated: 220.5 | reserved: 9.0\n");
  CHECK(near(value_of(megatron, what::step), 2.3456));
  CHECK(value_of(megatron, what::memory_peak) == 220.5 * 1048576);
  CHECK(megatron.global_batch == 256);
  const auto number = hocket::parse_training_log(" iteration 7/ 9 | elapsed time per iteration (ms): 1 |\n");
  REQUIRE(number);
  CHECK(number->steps[0].number == 7);
}

TEST_CASE("a log that tells nothing, or no number, is refused", "[measured]") {
  const auto none = hocket::parse_training_log("a\nb\n");
  REQUIRE(!none);
  CHECK(none.error().code == hocket::errc::truncated);
  const auto zero = hocket::parse_training_log("per_step_time: 0ms\nper_step_time: 0.0ms\nx\n");
  REQUIRE(!zero);
  CHECK(zero.error() == hocket::error{hocket::errc::truncated, 3, 2}.with("a step time above 0 ms"));
  for (const char* const wrong : {"x\n per_step_time: fastms\n", "x\n per_step_time: -1ms\n", "x\n per_step_time: \n",
                                  "x\n per_step_time: 1ms, train_throughput_per_npu: nanT\n"}) {
    const auto bad = hocket::parse_training_log(wrong);
    REQUIRE(!bad);
    CHECK(bad.error().code == hocket::errc::bad_number);
    CHECK(bad.error().values[0] == 2);
  }
}

TEST_CASE("a profiler's own step times, and those of kernels", "[measured]") {
  const std::string head =
      "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
      "Communication(Not Overlapped and Exclude Receive),Preparing\n";
  const measured_step times = of_profile(head + "1,100,50,10,60,20,160,30,20,0\n2,300,70,30,100,40,400,10,60,0\n");
  CHECK(times.step_count == 2);
  CHECK(near(value_of(times, what::step), (170 + 410) * 1e-6 / 2));
  CHECK(near(value_of(times, what::computing), 200e-6));
  CHECK(near(value_of(times, what::communication_exposed), (20 + 60) * 1e-6 / 2));
  CHECK(near(value_of(times, what::bubble), 20e-6));
  CHECK(near(value_of(times, what::free), 30e-6));
  // MatMul 10 us, a gap of 5, an update of 4, twice: two steps, though no number says so.
  const std::string kernels =
      "Name,Type,Accelerator Core,Start Time(us),Duration(us)\nDefault/a,MatMul,AI_CORE,100,10\n"
      "Default/optimizer-Adam/b,Adam,AI_CORE,115,4\nDefault/a,MatMul,AI_CORE,200,10\n"
      "Default/optimizer-Adam/b,Adam,AI_CORE,215,4\n";
  const measured_step ran = of_profile(kernels);
  CHECK(ran.step_count == 2);
  CHECK(near(value_of(ran, what::step), 19e-6));
  CHECK(near(value_of(ran, what::forward_backward), 10e-6));
  CHECK(near(value_of(ran, what::optimizer), 4e-6));
  CHECK(near(value_of(ran, what::scheduling), 5e-6));
  CHECK(of_profile(kernels + "Default/c,Mul,AI_CORE,300,1\n").step_count == 1);  // a name that ran once
}

TEST_CASE("a log's lines: where each step and the peak stand, and the middle of many", "[measured]") {
  std::string text;
  for (const int ms : {900, 10, 50, 20, 40, 30}) text += "step:[ 7/9], per_step_time: " + std::to_string(ms) + "ms\n";
  text += "max allocated: 5.0 |\nx\nmax allocated: 7.5 |\nmax allocated: 7.5 |\nmax allocated: 6.0\n";
  const auto log = hocket::parse_training_log(text);
  REQUIRE(log);
  REQUIRE(log->steps.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(log->steps[i].line == static_cast<std::int64_t>(i) + 1);
  CHECK(log->steps[2].seconds == 0.05);
  CHECK(log->steps[2].number == 7);
  CHECK_FALSE(log->steps[2].tera_flops);
  CHECK_FALSE(log->steps[2].global_batch);
  CHECK(log->median_seconds() == 0.03);
  CHECK(log->peak_bytes == 7.5 * 1048576);
  CHECK(log->peak_line == 9);
  // One step is all there is; without one, memory alone.
  CHECK(hocket::parse_training_log("per_step_time: 900ms")->median_seconds() == 0.9);
  const auto memory = hocket::parse_training_log("max allocated: 0\n");
  REQUIRE(memory);
  CHECK(memory->median_seconds() == 0);
  CHECK(memory->peak_bytes == 0.0);
  const measured_step alone = hocket::measure_step(*memory);
  CHECK(alone.step_count == 0);
  CHECK(alone.global_batch == 0);
  CHECK(alone.values.size() == 1);
  CHECK(hocket::parse_training_log("a per_step_time: 1ms")->steps[0].number == -1);
  CHECK(hocket::parse_training_log("iteration xx per_step_time: 1ms")->steps[0].number == -1);
  // Of an even number the later, of rates as of times; a number may be as large as 10^15.
  const measured_step rates =
      of_log("per_step_time: 1ms, train_throughput_per_npu: 3T\nper_step_time: 1ms, train_throughput_per_npu: 9T\n");
  CHECK(near(value_of(rates, what::device_flops), 9e12));
  CHECK(hocket::parse_training_log("per_step_time: 1e15ms\n"));
  const auto large = hocket::parse_training_log("x\n\n y per_step_time:  2e15ms\n");
  REQUIRE(!large);
  CHECK(large.error() == hocket::error{hocket::errc::bad_number, 3, 20}.with("2e15ms"));
}

TEST_CASE("kernels: each part of a step in its place", "[measured]") {
  const std::string head = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n";
  // Of step 1: 10 us computing; 4 of an all-reduce, of which 1 is hidden; a receive of 6; a copy of 2; 3 of nothing.
  const std::string one =
      "1,Default/a,MatMul,AI_CORE,100,10\n1,hcom_allReduce__1,hcom_allReduce_,HCCL,109,4\n"
      "1,hcom_receive__2,hcom_receive_,HCCL,113,6\n1,Default/GetNext,GetNext,AI_CPU,119,2\n"
      "1,Default/optimizer-Adam/b,Adam,AI_CORE,124,5\n";
  const measured_step ran = of_profile(head + one);
  CHECK(ran.step_count == 1);
  CHECK(near(value_of(ran, what::step), 29e-6));
  CHECK(near(value_of(ran, what::forward_backward), 10e-6));
  CHECK(near(value_of(ran, what::optimizer), 5e-6));
  CHECK(near(value_of(ran, what::communication_exposed), 3e-6));
  CHECK(near(value_of(ran, what::communication_hidden), 1e-6));
  CHECK(near(value_of(ran, what::bubble), 6e-6));
  CHECK(near(value_of(ran, what::data_loading), 2e-6));
  CHECK(near(value_of(ran, what::scheduling), 3e-6));
  // A second step that only computes: the mean of both.
  const measured_step two = of_profile(head + one + "2,Default/a,MatMul,AI_CORE,200,30\n");
  CHECK(two.step_count == 2);
  CHECK(near(value_of(two, what::step), (29e-6 + 30e-6) / 2));
  CHECK(near(value_of(two, what::forward_backward), 20e-6));
  CHECK(near(value_of(two, what::optimizer), 2.5e-6));
  CHECK(near(value_of(two, what::communication_exposed), 1.5e-6));
  CHECK(near(value_of(two, what::communication_hidden), 0.5e-6));
  CHECK(near(value_of(two, what::bubble), 3e-6));
  CHECK(near(value_of(two, what::data_loading), 1e-6));
  CHECK(near(value_of(two, what::scheduling), 1.5e-6));
  const measured_step without = of_profile(head + "1,Default/a,MatMul,AI_CORE,100,10\n");
  CHECK(value_of(without, what::bubble) == -1);  // nothing waits for a stage
}

TEST_CASE("step times of a cluster: ranks count, stages and what is not told do not", "[measured]") {
  const std::string head =
      "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n";
  const measured_step cluster =
      of_profile(head +
                 "1,rank,0,100,50,10,60,20,160,30\n1,rank,1,200,30,20,50,10,160,10\n1,stage,\"(0, 1)\",999,"
                 "999,999,999,999,999,999\n");
  CHECK(cluster.step_count == 1);
  CHECK(near(value_of(cluster, what::step), (170 + 240) * 1e-6 / 2));
  CHECK(near(value_of(cluster, what::computing), 150e-6));
  CHECK(near(value_of(cluster, what::communication_exposed), (20 + 20) * 1e-6 / 2));
  CHECK(near(value_of(cluster, what::communication_hidden), 15e-6));
  CHECK(near(value_of(cluster, what::bubble), 20e-6));
  CHECK(near(value_of(cluster, what::free), 15e-6));
  // A bubble that one row does not tell is no bubble: all of it is exposed communication.
  const measured_step partly = of_profile(head + "1,rank,0,100,50,10,60,20,160,30\n1,rank,1,200,30,20,50,10,160,N/A\n");
  CHECK(value_of(partly, what::bubble) == -1);
  CHECK(near(value_of(partly, what::communication_exposed), 40e-6));
  const measured_step stages = of_profile(head + "1,stage,\"(0, 1)\",9,9,9,9,9,9,9\n");
  CHECK(stages.step_count == 0);
  CHECK(stages.values.empty());
}

TEST_CASE("a memory record", "[measured]") {
  const measured_step cpu = of_profile(
      "Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total "
      "Active(Byte)\n1,10,20,10\n2,30,40,30\n3,5,40,5\n");
  CHECK(value_of(cpu, what::memory_peak) == 30);
  CHECK(cpu.without_states);
  CHECK(cpu.step_count == 0);
  const measured_step device = of_profile(
      "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Device Type\n"
      "PTA,1.5,2,4,2,NPU:0\n");
  CHECK(value_of(device, what::memory_peak) == 2.0 * 1048576);
  CHECK_FALSE(device.without_states);
  const measured_step nothing = of_profile("Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte)\n1,0,0\n2,0,0\n");
  CHECK(value_of(nothing, what::memory_peak) == 0);
}
