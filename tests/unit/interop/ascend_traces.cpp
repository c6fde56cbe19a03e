// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traces and communication.json as profilers write them, and what is said about those that are wrong.
#include <hocket/core/message.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>

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

namespace {}  // namespace

TEST_CASE("a trace of PyTorch on an Ascend device gives what ran on the device", "[ascend]") {
  const auto p = parse_profile(file("trace_view.json"));
  REQUIRE(p);
  CHECK(p->form == profile_form::trace);
  // Python's json and decimal: 276 events of Ascend Hardware, a copy among them; Computing 1788.2505, Free 9481.6670
  // us.
  CHECK(p->kernels.size() == 276);
  REQUIRE(p->steps.size() == 1);
  CHECK(p->steps[0].computing.count() == 1'788'267);
  CHECK(p->steps[0].free.count() == 9'481'699);
  const auto b = ascend::break_down(p->kernels);
  CHECK(b.copying.count() == 2'190);
  // The profiler's own sums, but for the last digits of a microsecond, which it has rounded.
  CHECK(std::abs((b.computing - p->steps[0].computing).count()) < 50);
  CHECK(p->kernels[0].type == "ZerosLike");
  CHECK(p->kernels[0].stream == 3);
  CHECK(p->kernels[0].start.count() == 1'704'161'511'422'904'204);
}

TEST_CASE("a trace of PyTorch on a GPU gives kernels, copies and steps", "[ascend]") {
  const auto p = parse_profile(R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 5953, "dur": 2, "args": {}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 9, "tid": 9, "ts": 5900, "dur": 99},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#7", "pid": 0, "tid": 7, "ts": 5950.5, "dur": 99},
    {"ph": "X", "cat": "kernel", "name": "ampere_sgemm", "pid": 0, "tid": 7, "ts": 6000.001, "dur": 10,
      "args": {"stream": 7, "grid": [1, 2, 3]}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "pid": 0, "tid": 20,
      "ts": 6005, "dur": 10.5, "args": {"stream": 20}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 6030, "dur": 1},
    {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0, "args": {"name": "python \u00e9 \"x\""}},
    {"ph": "i", "name": "Iteration Start: PyTorch Profiler", "ts": 5900, "s": "g"}], "traceName": "t.json"
})json");
  REQUIRE(p);
  REQUIRE(p->kernels.size() == 3);
  CHECK(p->kernels[0].start.count() == 6'000'001);
  CHECK(p->kernels[0].stream == 7);
  CHECK(p->kernels[0].step == 7);
  CHECK(p->kernels[1].communicates);
  REQUIRE(p->marks.size() == 1);
  CHECK(p->marks[0].start.count() == 5'950'500);
  const auto b = ascend::break_down(p->kernels);
  CHECK(b.computing.count() == 10'000);
  CHECK(b.communication.count() == 10'500);
  CHECK(b.exposed.count() == 5'499);
  CHECK(b.copying.count() == 1'000);
  CHECK(b.idle.count() == 14'500);
}

TEST_CASE("of a trace of PyTorch on a CPU the outermost ops count", "[ascend]") {
  const std::string events =
      R"json({"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 9, "tid": 1, "ts": 12, "dur": 5},
    {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 9, "tid": 1, "ts": 10, "dur": 10},
    {"ph": "X", "cat": "cpu_op", "name": "aten::t", "pid": 9, "tid": 1, "ts": 10, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 9, "tid": 1, "ts": 20, "dur": 3},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 9, "tid": 2, "ts": 11, "dur": 2},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 9, "tid": 1, "ts": 9, "dur": 99})json";
  const auto p = parse_profile("{\"traceEvents\": [" + events + "]}");
  REQUIRE(p);
  REQUIRE(p->kernels.size() == 3);
  CHECK(p->kernels[0].type == "aten::linear");
  CHECK(p->kernels[0].core == "CPU");
  CHECK(p->kernels[0].step == 4);
  CHECK(p->kernels[1].type == "aten::mul");
  CHECK(p->kernels[2].type == "aten::relu");
  // With a device, ops of the CPU only launch what runs.
  const auto device = parse_profile(
      "[" + events + R"json(, {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 30, "dur": 1}])json");
  REQUIRE(device);
  REQUIRE(device->kernels.size() == 1);
  CHECK(device->kernels[0].name == "k");
}

TEST_CASE("events may begin and end apart", "[ascend]") {
  const auto p = parse_profile(R"json([
    {"ph": "E", "pid": 0, "tid": 7, "ts": 1},
    {"ph": "B", "cat": "kernel", "name": "outer", "pid": 0, "tid": 7, "ts": 10, "args": {"stream": 3}},
    {"ph": "B", "cat": "kernel", "name": "inner", "pid": 0, "tid": 7, "ts": 12},
    {"ph": "B", "cat": "kernel", "name": "other", "pid": 0, "tid": 8, "ts": 13},
    {"ph": "B", "cat": "cuda_runtime", "name": "launch", "pid": 9, "tid": 1, "ts": 13},
    {"ph": "E", "pid": 9, "tid": 1, "ts": 14},
    {"ph": "E", "pid": 0, "tid": 7, "ts": 15.5},
    {"ph": "E", "pid": 0, "tid": 7, "ts": 20}])json");
  REQUIRE(p);
  REQUIRE(p->kernels.size() == 2);  // "other" does not end
  CHECK(p->kernels[0].name == "outer");
  CHECK(p->kernels[0].stream == 3);
  CHECK(p->kernels[0].duration.count() == 10'000);
  CHECK(p->kernels[1].name == "inner");
  CHECK(p->kernels[1].duration.count() == 3'500);
  CHECK(refusal("[{\"ph\": \"B\", \"ts\": 5}, {\"ph\": \"E\", \"ts\": 4}]") ==
        "line 1, column 44: \"\"ts\": 4\" is no decimal number in range");
  CHECK(refusal("[{\"ph\": \"B\"}]") == "line 1, column 13: \"\"ts\": \" is no decimal number in range");
  const auto few = parse_profile("[{\"ph\": \"B\", \"ts\": 1}, {\"ph\": \"B\", \"ts\": 1}]", {.max_rows = 1});
  REQUIRE_FALSE(few);
  CHECK(message(few.error()) == "line 1: 2 exceeds the limit of 1 (events)");
}

TEST_CASE("a trace of MindSpore 2.0 names its processes by labels", "[ascend]") {
  const auto p = parse_profile(R"json([
    {"name": "Tile-op155", "ph": "X", "tid": "HostCpuOps0", "ts": 1239992580.722, "dur": 13.299, "pid": 0},
    {"name": "computation_op", "ph": "X", "tid": "7999", "ts": 1239992580.722, "dur": 13.299, "pid": 12000},
    {"name": "process_labels", "ph": "M", "pid": "0", "args": {"labels": "Host CPU OP"}},
    {"name": "process_labels", "ph": "M", "pid": 12000, "args": {"labels": "Op Overlap Analyse"}}])json");
  REQUIRE(p);
  REQUIRE(p->kernels.size() == 1);
  CHECK(p->kernels[0].type == "Tile");
  CHECK(p->kernels[0].core == "CPU");
}

TEST_CASE("a log is no JSON, though it begins with a bracket", "[ascend]") {
  CHECK(refusal("[WARNING] ME(7664,7fa90d213b80,python):2026-11-25 x\n") ==
        "line 1, column 1: no table of a known profiler begins with \"[WARNING] ME(7664,7fa90d213b80,python):\"");
}

TEST_CASE("steps of a trace are in order of time, wherever the file has them", "[ascend]") {
  const auto p = parse_profile(R"json([
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": 300, "dur": 99},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9, "ts": 100, "dur": 99},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 9, "tid": 9, "ts": 200, "dur": 99},
    {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 310, "dur": 1},
    {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 110, "dur": 1},
    {"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 7, "ts": 200, "dur": 1},
    {"ph": "X", "cat": "kernel", "name": "d", "pid": 0, "tid": 7, "ts": 99, "dur": 1}])json");
  REQUIRE(p);
  REQUIRE(p->marks.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(p->marks[i].name == "ProfilerStep#" + std::to_string(i + 1));
  std::string steps;
  for (const ascend::kernel& k : p->kernels) steps += k.name + std::to_string(k.step) + " ";
  CHECK(steps == "d-1 b1 c2 a3 ");
}

TEST_CASE("two files of MindSpore's CPU profiler tell the same, in two steps", "[ascend]") {
  auto p = parse_profile(file("cpu_op_execute_timestamp_0.txt"));
  REQUIRE(p);
  CHECK(p->form == profile_form::kernels);
  REQUIRE(p->kernels.size() == 1378);
  std::int64_t sum = 0;
  for (const auto& k : p->kernels) sum += k.duration.count();
  CHECK(sum == 1'110'455'488);  // as the durations of trace_view.json of the same run add up: 1110455.488 us
  REQUIRE(ascend::number_repeated_steps(p->kernels) == 2);
  const auto steps = ascend::break_down_steps(p->kernels);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].kernel_count == 689);
  CHECK(steps[1].kernel_count == 689);
  CHECK(steps[1].of(ascend::kernel_phase::optimizer).count() > 0);
  CHECK(ascend::number_repeated_steps(p->kernels) == 0);  // they have numbers
  p->kernels.pop_back();
  for (auto& k : p->kernels) k.step = -1;
  CHECK(ascend::number_repeated_steps(p->kernels) == 0);
}

TEST_CASE("communication.json gives each run of a collective", "[ascend]") {
  const auto p = parse_profile(R"json({"step1": {"p2p": {}, "collective": {
    "hcom_allReduce__445_7@1094@x": {"Communication Time Info": {"Start Timestamp(us)": 1699529623165249.251,
      "Elapse Time(ms)": 0.09332, "Transit Time(ms)": 0.05, "Wait Time(ms)": 0.01, "Synchronization Time(ms)": 0.005,
      "Idle Time(ms)": 0.03332, "Wait Time Ratio": 0.16, "Synchronization Time Ratio": NaN},
      "Communication Bandwidth Info": {
  "HCCS" : {
    "Transit Size(MB)" : 1.5,
    "Transit Time(ms)" : 0.05,
    "Bandwidth(GB/s)" : 30.0,
    "Size Distribution" : {"1.5" : [ 1, 0.05 ]}
  },
           "RDMA" : {"Transit Size(MB)" : 0, "Transit Time(ms)" : 0, "Bandwidth(GB/s)" : 0}
}
}
, "Total Op Info@x" : { "Communication Time Info" : {"Elapse Time(ms)" : 1} }
}
}
, "step2" : {
  "p2p" : {"hcom_send__1_0@g" : {"Communication Time Info" : {"Elapse Time(ms)" : 2}}}, "collective" : {}
}
})json");
  REQUIRE(p);
  CHECK(p->form == profile_form::communication);
  REQUIRE(p->collectives.size() == 2);
  const auto& c = p->collectives[0];
  CHECK(c.step == "step1");
  CHECK(c.name == "hcom_allReduce__445_7");
  CHECK(c.group == "1094@x");
  CHECK(c.start.count() == 1'699'529'623'165'249'251);
  CHECK(c.elapsed.count() == 93'320);
  CHECK(c.idle.count() == 33'320);
  REQUIRE(c.links.size() == 1);
  CHECK(c.links[0].transport == "HCCS");
  CHECK(c.links[0].size.count() == 1'500'000);
  CHECK(p->collectives[1].point_to_point);
}

TEST_CASE("a cluster's communication.json has the runs of every rank", "[ascend]") {
  const auto p = parse_profile(file("cluster_communication.json"));
  REQUIRE(p);
  CHECK(p->form == profile_form::communication);
  REQUIRE(p->collectives.size() == 4);
  const auto& first = p->collectives[0];
  CHECK(first.step == "step");
  CHECK(first.name == "hcom_broadcast__501_0");
  CHECK(first.group == "6297232067196334501");
  CHECK(first.ranks == "(0, 1)");
  CHECK(first.rank == 0);
  CHECK(first.start.count() == 1'695'054'582'608'213'000);
  CHECK(first.elapsed.count() == 121'736'944);
  CHECK(first.links.size() == 3);
  CHECK(p->collectives[1].rank == 1);
  CHECK(p->collectives[1].name == first.name);
  CHECK(p->collectives[1].wait.count() == 150);
  CHECK(p->links.empty());
}

TEST_CASE("communication_matrix.json has links between ranks, and no runs", "[ascend]") {
  const auto p = parse_profile(R"json({"step1": {"p2p": {
    "hcom_send__1_0@g": {"4-8": {"Transport Type": "RDMA", "Transit Size(MB)": 2, "Transit Time(ms)": 0.5,
      "Bandwidth(GB/s)": 4.0, "op_name": "hcom_send__1_0"}}}, "collective": {
    "hcom_allReduce__445-total@1094": {
      "0-0": {"Transport Type": "LOCAL", "Transit Size(MB)": 45.39, "Transit Time(ms)": 0.0685},
      "0-1": {"Transport Type": "HCCS", "Transit Size(MB)": 5.67, "Transit Time(ms)": 0.289}}}}})json");
  REQUIRE(p);
  CHECK(p->form == profile_form::communication_matrix);
  CHECK(p->collectives.empty());
  REQUIRE(p->links.size() == 3);
  CHECK(p->links[0].point_to_point);
  CHECK(p->links[0].from == 4);
  CHECK(p->links[0].to == 8);
  CHECK(p->links[2].name == "hcom_allReduce__445-total");
  CHECK(p->links[2].group == "1094");
  CHECK(p->links[2].step == "step1");
  CHECK(p->links[2].transport == "HCCS");
  CHECK(p->links[2].size.count() == 5'670'000);
  CHECK(p->links[2].transit.count() == 289'000);
  // Of a cluster: by the ranks of a group.
  const auto cluster = parse_profile(R"json({"(0, 1, 24)": {"step5": {"allreduce-top1@58": {
    "0-24": {"Transport Type": "RDMA", "Transit Time(ms)": 0.545, "Transit Size(MB)": 10.29, "Op Name": "allreduce"}}}}})json");
  REQUIRE(cluster);
  CHECK(cluster->form == profile_form::communication_matrix);
  REQUIRE(cluster->links.size() == 1);
  CHECK(cluster->links[0].step == "step5");
  CHECK(cluster->links[0].to == 24);
  // An entry that is neither a run nor a link is not counted as a run of no bytes.
  const auto neither = parse_profile(R"json({"s": {"collective": {"a@b": {"0-x": {"Transit Size(MB)": 1}}}}})json");
  REQUIRE(neither);
  CHECK(neither->collectives.empty());
  CHECK(neither->links.empty());
}

TEST_CASE("JSON that is wrong is refused with the place", "[ascend]") {
  CHECK(refusal("[") == "the text ends in line 1, before the end of the JSON value");
  CHECK(refusal("{\"a\": 1}\n") == "line 1, column 1: no table of a known profiler begins with \"{\"a\": 1}\"");
  CHECK(refusal("[]x") == "line 1, column 3: something follows the JSON value");
  CHECK(refusal("[\n 1]") == "line 2, column 2: an object was expected");
  CHECK(refusal("[{\"ph\" 1}]") == "line 1, column 8: \":\" was expected");
  CHECK(refusal("[{\"ph\": \"X\" \"ts\": 1}]") == "line 1, column 13: \",\" or the end of the list was expected");
  CHECK(refusal("[{\"ph\": nil}]") == "line 1, column 9: a number or a string was expected");
  CHECK(refusal("[{\"ph\": \"a\\x\"}]") == "line 1, column 12: an unknown escape stands in a string");
  CHECK(refusal("[{\"ph\": \"a\\") == "the text ends in line 1, before the end of the JSON value");
  CHECK(refusal("[{\"ph\": \"a\tb\"}]") == "line 1, column 11: a string holds a control character");
  CHECK(refusal("[{\"ph\": \"X\", \"ts\": \"N/A\", \"dur\": 1}]") ==
        "line 1, column 36: \"\"ts\": N/A\" is no decimal number in range");
  CHECK(refusal("{\"s\": {\"p2p\": {\"a@b\": {\"Communication Time Info\": {\"Wait Time(ms)\": -1}}}}}") ==
        "line 1, column 71: \"-1\" is no decimal number in range");
  CHECK(refusal(std::string(1000, '[')) == "line 1, column 2: an object was expected");
  std::string deep = "{\"a\": ";
  deep += std::string(1000, '[');
  CHECK(refusal(deep) == "line 1, column 207: values are nested too deeply");
  const std::string large = "[{\"ph\": \"X\", \"ts\": 1, \"dur\": 1}, {\"ph\": \"X\", \"ts\": 1, \"dur\": 1}]";
  const auto few = parse_profile(large, {.max_rows = 1});
  REQUIRE_FALSE(few);
  CHECK(message(few.error()) == "line 1: 2 exceeds the limit of 1 (events)");
}

TEST_CASE("a trace that is cut off is refused wherever it is cut", "[ascend]") {
  std::string text = file("trace_view.json");
  text.resize(text.find_last_not_of('\n') + 1);
  REQUIRE(parse_profile(text));
  for (std::size_t length = 0; length < text.size(); length += length < 3000 ? 1 : 997) {
    INFO(length);
    CHECK_FALSE(parse_profile(std::string_view(text).substr(0, length)));
  }
  CHECK_FALSE(parse_profile(std::string_view(text).substr(0, text.size() - 1)));
}

TEST_CASE("what of a trace ran on the device, and on which core", "[ascend]") {
  // One span of a process and a thread: core, collective or not, stream; or nothing.
  const auto found = [](const std::string& process, const std::string& thread, const std::string& name,
                        const std::string& more) {
    const auto p = parse_profile(
        "[{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 3, \"args\": {\"name\": \"" + process +
        "\"}}, {\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 3, \"tid\": 8, \"args\": {\"name\": \"" + thread +
        "\"}}, {\"ph\": \"X\", \"name\": \"" + name + "\", \"pid\": 3, \"tid\": 8, \"ts\": 5, \"dur\": 2" + more +
        "}]");
    if (!p) return message(p.error());
    if (p->kernels.empty()) return std::string("nothing");
    const ascend::kernel& k = p->kernels[0];
    return k.core + (k.communicates ? ", collective" : "") + ", stream " + std::to_string(k.stream);
  };
  const std::string device = "Ascend Hardware";
  struct {
    std::string process, thread, name, more, what;
  } const rows[] = {
      {device, "Stream 4", "MatMul", R"(, "args": {"Task Type": "AI_CORE"})", "AI_CORE, stream 4"},
      {device, "Stream 4", "MatMul", R"(, "args": {"Task Type": "AI_CORE", "Stream Id": 9})", "AI_CORE, stream 9"},
      {device, "Thread 4", "MatMul", R"(, "args": {"Task Type": "AI_CORE"})", "AI_CORE, stream -1"},
      {device, "Stream 4", "EVENT_WAIT", "", "nothing"},
      {device, "Stream 4", "MatMul", R"(, "args": {"Task Type": "NOTIFY_WAIT"})", "nothing"},
      {device, "Stream 4", "Memcpy_op", "", "nothing"},
      {"Python", "Stream 4", "MatMul", "", "nothing"},
      {"CPU OP", "x", "MatMul", "", "CPU, stream -1"},
      {"Communication", "Group 0", "hcom_allReduce__1", "", "HCCL, collective, stream -1"},
      {"HCCL", "Group 0", "HcclAllreduce", "", "HCCL, collective, stream -1"},
      {"HCCL", "Plane 0", "hcom_allReduce__1", "", "nothing"},
      {"HCCL", "Group 0", "Reduce_Inline", "", "nothing"},
      {device, "Stream 4", "hcom_allReduce__1", "", ", stream 4"},
      {"python", "x", "gemm", R"(, "cat": "kernel", "args": {"stream": 7})", "GPU, stream 7"},
      {"python", "x", "ncclKernel", R"(, "cat": "kernel", "args": {"stream": 7})", "NCCL, collective, stream 7"},
      {"python", "x", "Memset", R"(, "cat": "gpu_memset", "args": {"stream": 7})", ", stream 7"},
      {"python", "x", "Memcpy", R"(, "cat": "gpu_memcpy", "args": {"stream": 7})", ", stream 7"},
      {device, "Stream 4", "MatMul", R"(, "cat": "cpu_op")", "CPU, stream -1"},
  };
  for (const auto& row : rows) {
    INFO(row.process << ", " << row.thread << ", " << row.name << row.more);
    CHECK(found(row.process, row.thread, row.name, row.more) == row.what);
  }
}

TEST_CASE("a trace's own analysis of overlap adds up by its names", "[ascend]") {
  std::string text = R"([{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "Overlap Analysis"}})";
  const std::pair<const char*, int> spans[] = {
      {"Computing", 7}, {"Communication", 5}, {"Computing", 1},       {"Communication(Not Overlapped)", 2},
      {"Free", 4},      {"Communication", 6}, {"Something else", 100}};
  for (const auto& [name, lasts] : spans)
    text += R"(, {"ph": "X", "pid": 3, "tid": 1, "ts": 1, "name": ")" + std::string(name) + R"(", "dur": )" +
            std::to_string(lasts) + "}";
  const auto p = parse_profile(text + "]");
  if (!p) FAIL(message(p.error()));
  REQUIRE(p->steps.size() == 1);
  CHECK(p->steps[0].computing.count() == 8'000);
  CHECK(p->steps[0].communication.count() == 11'000);
  CHECK(p->steps[0].exposed.count() == 2'000);
  CHECK(p->steps[0].overlapped.count() == 9'000);
  CHECK(p->steps[0].free.count() == 4'000);
}
