// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables of profilers as they are written, and what is said about those that are wrong.
#include <hocket/core/message.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "ascend_files.hpp"
#include "catch.hpp"

namespace ascend = hocket::ascend;
using ascend::parse_profile;
using ascend::profile_form;
using profile_files::file;
using profile_files::refusal;

namespace {

const std::string kernel_header =
    "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Stream ID,Input Shapes\n";

std::string many(std::size_t count, std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace

// Found by fuzzing: the end of the kernel was computed from the refused start, and left 64 bits.
TEST_CASE("a start below zero is refused, whatever the duration is", "[ascend]") {
  const std::string row = "1,b,MatMul,AI_CORE,";
  CHECK(refusal(kernel_header + row + "-.9,9223372036854775.807,1,\n") ==
        "line 2, column 5: \"-.9\" is no decimal number in range");
  CHECK(refusal(kernel_header + row + "0.001,9223372036854775.807,1,\n") ==
        "line 2, column 6: \"9223372036854775.807\" is no decimal number in range");
  CHECK(refusal(kernel_header + row + "0.000,9223372036854775.807,1,\n") == "accepted");
}

TEST_CASE("small files stay small in memory", "[ascend]") {
  const std::string wide = "Name,Type,Start Time(us),Duration(us)";
  CHECK(refusal(wide + many(1'020, ",") + "\n") == "accepted");
  CHECK(refusal(wide + many(1'021, ",") + "\n") == "line 1: 1025 exceeds the limit of 1024 (columns)");

  // The name stands once in the file and once for each of many runs in memory.
  const auto runs_of = [](std::size_t name) { return many(name, "n") + ";HostCpuOps;" + many(9, "1,2,3 ") + "\n"; };
  CHECK(refusal(runs_of(1'024)) == "accepted");
  CHECK(refusal(runs_of(1'025)) == "line 1: 1025 exceeds the limit of 1024 (bytes of a name)");
  const auto step_of = [](std::size_t name) {
    return "{\"" + many(name, "n") + "\": {\"collective\": {\"a@b\": {}}}}";
  };
  CHECK(refusal(step_of(1'024)) == "accepted");
  CHECK(refusal(step_of(1'025)) == "line 1: 1025 exceeds the limit of 1024 (bytes of a name)");
}

TEST_CASE("a table of kernels is read to the last digit", "[ascend]") {
  const auto p = parse_profile(file("kernel_details.csv"));
  REQUIRE(p);
  CHECK(p->form == profile_form::kernels);
  REQUIRE(p->kernels.size() == 591);
  // Added up with Python's decimal: 396,807.04 us.
  std::int64_t sum = 0, collectives = 0;
  for (const auto& k : p->kernels) {
    sum += k.duration.count();
    collectives += k.communicates;
  }
  CHECK(sum == 396'807'040);
  CHECK(collectives == 19);
  const auto& k = p->kernels[5];
  CHECK(k.name == "Slice68");
  CHECK(k.start.count() == 1'699'529'623'107'503'500);
  CHECK(k.input_shapes == "4,1025;2;2");
  CHECK(k.step == 1);
  CHECK(k.stream == 16);
  CHECK(p->kernels[1].stream == -1);  // N/A
}

TEST_CASE("tables of steps, of totals and of memory are told by their columns", "[ascend]") {
  const auto steps = parse_profile(file("cluster_step_trace_time.csv"));
  REQUIRE(steps);
  CHECK(steps->form == profile_form::step_times);
  REQUIRE(steps->steps.size() == 9);
  CHECK(steps->steps[0].computing.count() == 80'309'687);  // 80309.68717187493 us
  CHECK(steps->steps[0].bubble->count() == 0);
  CHECK_FALSE(steps->steps[0].preparing);
  CHECK(steps->steps[8].kind == "stage");
  CHECK(steps->steps[8].index == "(0, 1, 2, 3, 4, 5, 6, 7)");
  for (const auto& s : steps->steps)
    if (s.kind == "rank") CHECK(s.computing + s.exposed + s.free - *s.stage < ascend::nanoseconds(10'000));

  // What a profiler subtracts may be below zero by rounding, or left out.
  const auto rounded = parse_profile(
      "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n"
      "0,rank,0,2.5,1,-0.001,1,\n0,rank,1,2,1,,1,-3\n");
  if (!rounded) FAIL(message(rounded.error()));
  CHECK(rounded->steps[0].overlapped.count() == -1);
  CHECK(rounded->steps[0].free.count() == 0);
  CHECK(rounded->steps[1].overlapped.count() == 0);
  CHECK(rounded->steps[1].free.count() == -3'000);

  const auto totals = parse_profile(file("cpu_op_type_info_0.csv"));
  REQUIRE(totals);
  CHECK(totals->form == profile_form::op_totals);
  CHECK(totals->totals.size() == 32);
  CHECK(totals->totals[2].type == "BatchMatMul");
  CHECK(totals->totals[2].count == 24);
  CHECK(totals->totals[2].total.count() == 44'081'500);

  const auto memory = parse_profile(file("cpu_ms_memory_record_0.txt"));
  REQUIRE(memory);
  CHECK(memory->form == profile_form::memory);
  CHECK(memory->memory.size() == 399);
  CHECK(memory->memory[1].at.count() == 1'795'585'500'455'057'268);
  CHECK(memory->memory[1].allocated.count() == 1'150'976);

  const auto device = parse_profile(
      "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Device Type\n"
      "PTA,1736413971558972.912\t,1.5,2,N/A,NPU:0\n");
  REQUIRE(device);
  CHECK(device->memory[0].at.count() == 1'736'413'971'558'972'912);
  CHECK(device->memory[0].allocated.count() == 3 << 19);
  CHECK_FALSE(device->memory[0].active);
}

TEST_CASE("every column of a table is read into its place", "[ascend]") {
  const auto kernels = parse_profile(
      "Step Id,Stream ID,Task ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes,Input Data Types,"
      "Input Formats,Output Shapes,Output Data Types\n"
      "3,5,8,n,MatMul,AI_CORE,10,2,\"1,2\",FLOAT16,ND,\"3,4\",FLOAT\n"
      "3,5,8,first,hcom_allReduce_,HCCL,4.5,0.25,,,,,\n");
  REQUIRE(kernels);
  REQUIRE(kernels->kernels.size() == 2);
  CHECK(kernels->kernels[0].name == "first");
  CHECK(kernels->kernels[0].line == 3);
  CHECK(kernels->kernels[0].communicates);
  CHECK(kernels->kernels[0].start.count() == 4'500);
  CHECK(kernels->kernels[0].duration.count() == 250);
  const ascend::kernel& k = kernels->kernels[1];
  CHECK(k.line == 2);
  CHECK(k.step == 3);
  CHECK(k.stream == 5);
  CHECK(k.task == 8);
  CHECK(k.name == "n");
  CHECK(k.type == "MatMul");
  CHECK(k.core == "AI_CORE");
  CHECK(k.input_shapes == "1,2");
  CHECK(k.input_types == "FLOAT16");
  CHECK(k.input_formats == "ND");
  CHECK(k.output_shapes == "3,4");
  CHECK(k.output_types == "FLOAT");
  CHECK_FALSE(k.communicates);
  CHECK(k.finish().count() == 12'000);

  const auto steps = parse_profile(
      "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
      "Communication(Not Overlapped and Exclude Receive),Preparing\n7,rank,2,1,2,-0.5,4,5,6,7,8,9\n,,,1,2,,3,,,,,\n");
  REQUIRE(steps);
  REQUIRE(steps->steps.size() == 2);
  const ascend::step_times& t = steps->steps[0];
  CHECK(t.step == "7");
  CHECK(t.kind == "rank");
  CHECK(t.index == "2");
  const std::int64_t found[] = {
      t.computing.count(), t.exposed.count(), t.overlapped.count(), t.communication.count(),
      t.free.count(),      t.stage->count(),  t.bubble->count(),    t.exposed_without_receive->count(),
      t.preparing->count()};
  const std::int64_t expected[] = {1'000, 2'000, -500, 4'000, 5'000, 6'000, 7'000, 8'000, 9'000};
  CHECK(std::equal(std::begin(found), std::end(found), expected));
  CHECK_FALSE(steps->steps[1].stage);
  CHECK_FALSE(steps->steps[1].bubble);
  CHECK_FALSE(steps->steps[1].exposed_without_receive);
  CHECK_FALSE(steps->steps[1].preparing);

  const auto totals = parse_profile(
      "OP Type,Core Type,Count,Total Time(us),Avg Time(us),Min Time(us),Max Time(us)\nMatMul,AI_CORE,4,20,5,2,9\n");
  REQUIRE(totals);
  REQUIRE(totals->totals.size() == 1);
  const ascend::op_total& o = totals->totals[0];
  CHECK(o.type == "MatMul");
  CHECK(o.core == "AI_CORE");
  CHECK(o.name.empty());
  CHECK(o.count == 4);
  CHECK(o.total.count() == 20'000);
  CHECK(o.mean.count() == 5'000);
  CHECK(o.least->count() == 2'000);
  CHECK(o.most->count() == 9'000);
  const auto details = parse_profile(
      "op_side,op_type,full_op_name,op_occurrences,op_total_time(ms),op_avg_time(ms)\nHost,Add,Default/"
      "Add-op1,3,6,2\n");
  REQUIRE(details);
  CHECK(details->totals[0].name == "Default/Add-op1");
  CHECK(details->totals[0].core == "Host");
  CHECK(details->totals[0].total.count() == 6'000'000);
  CHECK(details->totals[0].mean.count() == 2'000'000);
  CHECK_FALSE(details->totals[0].least);
  CHECK_FALSE(details->totals[0].most);

  const auto memory = parse_profile(
      "Component,Timestamp(us),Total Allocated(KB),Total Reserved(MB),Total Active(B),Device "
      "Type\nPTA,3,1.5,2,7,NPU:1\n");
  REQUIRE(memory);
  const ascend::memory_sample& m = memory->memory[0];
  CHECK(m.component == "PTA");
  CHECK(m.device == "NPU:1");
  CHECK(m.at.count() == 3'000);
  CHECK(m.allocated.count() == 1'536);
  CHECK(m.reserved.count() == 2 << 20);
  CHECK(m.active->count() == 7);
  // Units: of a time and of a size, in brackets, whatever their letters.
  for (const auto& [unit, ns] : {std::pair{"NS", 2}, {"us", 2'000}, {"Ms", 2'000'000}, {"s", 2'000'000'000}}) {
    const auto p = parse_profile(std::string("Name,Type,Start Time(") + unit + "),Duration(" + unit + ")\na,b,2,2\n");
    REQUIRE(p);
    CHECK(p->kernels[0].start.count() == ns);
    CHECK(p->kernels[0].duration.count() == ns);
  }
}

TEST_CASE("the type of an op from its name alone", "[ascend]") {
  // As cpu_op_execute_timestamp and traces name ops.
  const std::pair<const char*, const char*> types[] = {{"Default/net/MatMul-op12", "MatMul"},
                                                       {"MatMul-op0", "MatMul"},
                                                       {"hcom_allReduce__445_7", "hcom_allReduce_"},
                                                       {"hcom_send", "hcom_send"},
                                                       {"aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2"},
                                                       {"x_MemSet", "MemSet"},
                                                       {"trans_Cast_12", "Cast"},
                                                       {"Default/a/trans_TransData_3", "TransData"},
                                                       {"Adam", "Adam"}};
  for (const auto& [name, type] : types) {
    INFO(name);
    const auto p = parse_profile(std::string(name) + ";HostCpuOps;100,0.5,7 200,0.25,7\n");
    REQUIRE(p);
    REQUIRE(p->kernels.size() == 2);
    CHECK(p->kernels[0].name == name);
    CHECK(p->kernels[0].type == type);
    CHECK(p->kernels[0].core == "CPU");
    CHECK(p->kernels[0].line == 1);
    CHECK(p->kernels[0].start.count() == 100);
    CHECK(p->kernels[0].duration.count() == 500'000);
    CHECK(p->kernels[1].duration.count() == 250'000);
  }
  CHECK(refusal("a;HostCpuOps;0,0,0\n") == "accepted");
  for (const char* const bad :
       {"a;HostCpuOps;1,2\n", "a;HostCpuOps;1\n", "a;HostCpuOps;-1,2,3\n", "a;HostCpuOps;1,-2,3\n",
        "a;HostCpuOps;1,2,x\n", "a;HostCpuOps;x,2,3\n", "a;HostCpuOps\n", "a;HostCpuOps;1,2,3"})
    CHECK(refusal(bad) != "accepted");
}

TEST_CASE("spellings of other versions mean the same", "[ascend]") {
  for (const std::string_view text :
       {"Step ID,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Block Num\n"
        "7,0,a,MatMulV2,AI_CORE,\"1736413971558972.912\t\",1.25,24\n",
        "Device_id,Model Name,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Step "
        "Id\n"
        "0,m,a,MatMulV2,AI_CORE,\"1736413971558972.912\t\",\"1.250\t\",0,7\n",
        "Name,Type,Accelerator Core,Start Time(ns),Duration(ms),Step ID\r\n"
        "a,MatMulV2,AI_CORE,1736413971558972912,0.00125,7\r\n"}) {
    INFO(text);
    const auto p = parse_profile(text);
    REQUIRE(p);
    REQUIRE(p->kernels.size() == 1);
    const auto& k = p->kernels[0];
    CHECK(k.name == "a");
    CHECK(k.type == "MatMulV2");
    CHECK(k.core == "AI_CORE");
    CHECK(k.start.count() == 1'736'413'971'558'972'912);
    CHECK(k.duration.count() == 1'250);
    CHECK(k.step == 7);
  }
  const auto quoted = parse_profile(kernel_header + "1,\"a,b\",T,AI_CORE,2,1,0,\"\"\"81920,4096;8192,512\"\"\"\n" +
                                    "1,c,T,AI_CORE,1,1,0,N/A\n");
  REQUIRE(quoted);
  CHECK(quoted->kernels[0].name == "c");  // by start
  CHECK(quoted->kernels[0].input_shapes == "");
  CHECK(quoted->kernels[1].name == "a,b");
  CHECK(quoted->kernels[1].input_shapes == "81920,4096;8192,512");
}

TEST_CASE("a table that is wrong is refused with the place", "[ascend]") {
  CHECK(refusal("") == "the text ends in line 0, before the names of columns");
  CHECK(refusal("source,target\n0,1\n") ==
        "line 1, column 1: no table of a known profiler begins with \"source,target\"");
  CHECK(refusal("Name,Type,Duration(us)\na,b,1\n") == "line 1: the table has no column \"Start Time(us)\"");
  CHECK(refusal("Name,Type,Start Time(us),Duration(us),Start Time(ns)\n") ==
        "line 1, column 5: the table has \"Start Time(ns)\" already, as column 3");
  CHECK(refusal(kernel_header + "1,a,T,AI_CORE,N/A,1,0,\n") ==
        "line 2, column 5: \"N/A\" is no decimal number in range");
  CHECK(refusal(kernel_header + "1,a,T,AI_CORE,5,-1,0,\n") == "line 2, column 6: \"-1\" is no decimal number in range");
  CHECK(refusal(kernel_header + "1,a,T,AI_CORE,9223372036854775,2000,0,\n") ==
        "line 2, column 6: \"2000\" is no decimal number in range");
  CHECK(refusal(kernel_header + "1,a,T,AI_CORE,1e999,2000,0,\n") ==
        "line 2, column 5: \"1e999\" is no decimal number in range");
  CHECK(refusal(kernel_header + kernel_header) == "line 2, column 5: \"Start Time(us)\" is no decimal number in range");
  CHECK(refusal(kernel_header + "1,a,T,AI_CORE,5,1\n") == "line 2: expected 8 columns, found 6");
  CHECK(refusal(kernel_header + "1,\"a,T,AI_CORE,5,1,0,\n") ==
        "line 2, column 2: what is opened here is not closed: a,T,AI_CORE,5,1,0,");
  const auto few = parse_profile(kernel_header + "1,a,T,C,5,1,0,\n1,a,T,C,5,1,0,\n", {.max_rows = 1});
  REQUIRE_FALSE(few);
  CHECK(message(few.error()) == "line 3: 2 exceeds the limit of 1 (rows)");
}

TEST_CASE("a table that is cut off is refused wherever it is cut, but between rows", "[ascend]") {
  const std::string text = kernel_header + "1,a,T,AI_CORE,5,10,0,1\n1,b,T,HCCL,6,10,0,N/A\n";
  for (std::size_t length = 0; length < text.size(); ++length) {
    INFO(length);
    CHECK(parse_profile(std::string_view(text).substr(0, length)).has_value() ==
          (length > 0 && text[length - 1] == '\n'));
  }
}

TEST_CASE("a last row with all its columns is whole without its newline, unless its last column is read", "[ascend]") {
  const std::string text = profile_files::file("kernel_details_matmul.csv");
  REQUIRE_FALSE(text.ends_with('\n'));
  const auto p = parse_profile(text);
  REQUIRE(p);
  CHECK(p->kernels.size() == 29);
  CHECK(p->kernels.size() == parse_profile(text + "\n")->kernels.size());
  // 51 may be the beginning of 510: the shapes are read.
  CHECK(refusal(kernel_header + "1,a,T,AI_CORE,5,10,0,51") == "the text ends in line 2, before the end of the line");
  const std::string header = "Name,Type,Start Time(us),Duration(us),cube_utilization(%)\n";
  CHECK(parse_profile(header + "a,T,5,10,7")->kernels.size() == 1);
  CHECK(refusal(header + "a,T,5,10") == "line 2: expected 5 columns, found 4");
}

TEST_CASE("tasks of a table that only wait are not what a device computed", "[ascend]") {
  const auto p = parse_profile(kernel_header + "1,a,EVENT_WAIT,EVENT_WAIT,5,10,0,\n1,b,N/A,NOTIFY_WAIT,5,10,0,\n" +
                               "1,c,MatMul,AI_CORE,5,10,0,\n1,d,MEMCPY_ASYNC,MEMCPY_ASYNC,5,10,0,\n");
  REQUIRE(p);
  REQUIRE(p->kernels.size() == 2);
  CHECK(p->kernels[0].name == "c");
  CHECK(p->kernels[1].name == "d");
}
