// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Profiles as timelines, beside IR dumps, and as samples for a fit.
#include <hocket/interop/ascend/join_ir.hpp>
#include <hocket/interop/ascend/profile_samples.hpp>
#include <hocket/interop/ascend/profile_timeline.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>
#include <hocket/timeline/analysis.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ascend_files.hpp"
#include "catch.hpp"

namespace ascend = hocket::ascend;
using ascend::kernel;
using ascend::kernel_phase;
using ascend::nanoseconds;

namespace {

kernel run_of(const std::string& name, const std::string& type, std::int64_t start, std::int64_t duration) {
  kernel k;
  k.name = name;
  k.type = type;
  k.start = nanoseconds(start);
  k.duration = nanoseconds(duration);
  k.communicates = type.starts_with("hcom_");
  return k;
}

}  // namespace

TEST_CASE("a profile as a timeline says the same as the step taken apart", "[ascend]") {
  for (const char* const name : {"kernel_details.csv", "cpu_op_execute_timestamp_0.txt", "trace_view.json"}) {
    INFO(name);
    const auto p = ascend::parse_profile(profile_files::file(name)).value();
    const auto t = ascend::to_timeline(p.kernels);
    REQUIRE(t);
    CHECK(t->check_invariants());
    const auto b = ascend::break_down(p.kernels);
    CHECK(t->makespan() == b.span.count());
    std::vector<std::uint32_t> lanes(t->lane_count());
    for (std::uint32_t i = 0; i < lanes.size(); ++i) lanes[i] = i;
    const auto e = hocket::exposure_of(*t, lanes);
    CHECK(e.computing == b.computing.count());
    CHECK(e.communicating == b.communication.count());
    CHECK(e.exposed == b.exposed.count());
    hocket::ticks exposed = 0, idle = 0;
    for (const auto& s : t->spans()) {
      if (s.exposed) exposed += s.finish - s.start;
      if (s.kind == hocket::activity::wait) idle += s.finish - s.start;
    }
    CHECK(exposed >= b.exposed.count());  // more where collectives run at once
    CHECK(idle == b.idle.count());
  }
}

TEST_CASE("collectives over the same kernels do not become more spans than memory can hold", "[ascend]") {
  std::vector<kernel> kernels;
  constexpr std::int64_t count = 40;
  for (std::int64_t i = 0; i < count; ++i) kernels.push_back(run_of("all", "hcom_allReduce_", 0, 2 * count));
  for (std::int64_t i = 0; i < count; ++i) kernels.push_back(run_of("x", "MatMul", 2 * i, 1));
  // Each collective has 80 parts; with the 40 kernels that compute, 3,240 spans, 3,160 more than kernels.
  const auto t = ascend::to_timeline(kernels, 3160);
  REQUIRE(t);
  CHECK(t->spans().size() == 3240);
  const auto less = ascend::to_timeline(kernels, 1000);
  REQUIRE_FALSE(less);
  // The 14th has 1,120 parts with those before it: more than 1,080.
  CHECK(message(less.error()) == "spans of collectives: 1120 exceeds the limit of 1080");
}

TEST_CASE("lanes are streams, shades are layers, and steps are marked", "[ascend]") {
  std::vector<kernel> kernels = {run_of("Default/layers-CellList/3-Layer/MatMul-op0", "MatMul", 100, 10),
                                 run_of("hcom_allReduce__1", "hcom_allReduce_", 105, 20),
                                 run_of("Default/a/Cast-op0", "Cast", 130, 5)};
  kernels[0].stream = 7;
  kernels[2].stream = 2;
  kernels[2].step = 4;
  const auto t = ascend::to_timeline(kernels).value();
  REQUIRE(t.lane_count() == 4);
  CHECK(t.lane_name(0) == "stream 2");
  CHECK(t.lane_name(1) == "stream 7");
  REQUIRE(t.spans().size() == 5);
  CHECK(t.spans()[0] ==
        hocket::timeline::span{
            .start = 0, .finish = 10, .lane = 1, .kind = hocket::activity::forward, .chunk = 4, .id = 0});
  CHECK(t.spans()[1].finish == 10);  // hidden
  CHECK_FALSE(t.spans()[1].exposed);
  CHECK(t.spans()[2].start == 10);
  CHECK(t.spans()[2].finish == 25);
  CHECK(t.spans()[2].exposed);
  REQUIRE(t.marks().size() == 1);
  CHECK(t.marks()[0].at == 30);
  CHECK(t.marks()[0].label == "step 4");
  // A nanosecond in which nothing runs is a gap.
  const auto near = ascend::to_timeline(std::vector<kernel>{run_of("x", "Cast", 0, 5), run_of("x", "Cast", 5, 1),
                                                            run_of("x", "Cast", 7, 1)})
                        .value();
  std::string waits;
  for (const auto& s : near.spans())
    if (s.kind == hocket::activity::wait) waits += std::to_string(s.start) + "-" + std::to_string(s.finish) + " ";
  CHECK(waits == "6-7 ");
  // A step is marked where its first kernel starts.
  std::vector<kernel> steps(6, run_of("x", "Cast", 0, 1));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].start = nanoseconds(10 * static_cast<std::int64_t>(i));
    steps[i].step = static_cast<std::int64_t>(i / 2);
  }
  std::string marks;
  const auto of_steps = ascend::to_timeline(steps).value();
  for (const auto& mark : of_steps.marks()) marks += std::to_string(mark.at) + " " + std::string(mark.label) + ", ";
  CHECK(marks == "0 step 0, 20 step 1, 40 step 2, ");
  for (std::size_t i = 0; i < 40; ++i) {
    kernels.push_back(run_of("x", "Cast", 200, 1));
    kernels.back().stream = static_cast<std::int64_t>(i) + 10;
  }
  CHECK(ascend::to_timeline(kernels)->lane_name(0) == "all streams");
  CHECK(ascend::to_timeline({})->lane_count() == 0);
}

TEST_CASE("kernels are joined with nodes of the same scope and primitive", "[ascend]") {
  std::ifstream in(std::string(HOCKET_TEST_DATA) + "/mindspore/select_fp16.ir", std::ios::binary);
  const auto program = hocket::mindspore::parse_ir(std::string(std::istreambuf_iterator<char>(in), {})).value();
  const std::string place =
      "Default/network-Loss/net-Llama/layers-CellList/0-DecoderLayer/attention-Attention/wq-Linear/";
  std::vector<kernel> kernels = {run_of(place + "MatMul-op0", "MatMul", 0, 1),
                                 run_of(place + "MatMul-op0", "Cast", 1, 1),
                                 run_of(place + "MatMul-op9", "MatMul", 2, 1), run_of("", "", 3, 1)};
  const auto join = ascend::join_ir(kernels, program);
  CHECK(join.joined == 1);
  REQUIRE(join.node_of[0] != hocket::no_id);
  CHECK(program.scope(join.node_of[0]) == kernels[0].name);
  for (const std::size_t i : {1u, 2u, 3u}) CHECK(join.node_of[i] == hocket::no_id);
  ascend::take_shapes(kernels[0], program, join.node_of[0]);
  CHECK(kernels[0].input_shapes == "256,256;256,256");
  CHECK(ascend::product_of(kernels[0])->flops() == 2 * 256 * 256 * 256);
}

TEST_CASE("a dump tells a copy from its original, which have one scope", "[ascend]") {
  std::ifstream in(std::string(HOCKET_TEST_DATA) + "/mindspore/full_fp32.ir", std::ios::binary);
  const auto program = hocket::mindspore::parse_ir(std::string(std::istreambuf_iterator<char>(in), {})).value();
  auto p = ascend::parse_profile(profile_files::file("cpu_op_execute_timestamp_full.txt")).value();
  const auto join = ascend::join_ir(p.kernels, program);
  std::size_t undecided = 0, copies = 0, originals = 0, backward = 0;
  for (std::size_t i = 0; i < p.kernels.size(); ++i) {
    kernel& k = p.kernels[i];
    undecided += phase_of(k) == kernel_phase::forward_or_recomputed;
    CHECK(phase_of(k) != kernel_phase::recomputed);
    backward += phase_of(k) == kernel_phase::backward && k.name.starts_with("Gradients/recompute_");
    if (join.node_of[i] != hocket::no_id) ascend::take_phase(k, program, join.node_of[i]);
    CHECK(phase_of(k) != kernel_phase::forward_or_recomputed);
    copies += phase_of(k) == kernel_phase::recomputed;
    originals += phase_of(k) == kernel_phase::forward && k.name.starts_with("recompute_");
  }
  // Python, from the two files: of two steps 368 runs in recomputed cells, of which 180 are of copies.
  CHECK(undecided == 368);
  CHECK(copies == 180);
  CHECK(originals == 188);
  CHECK(backward == 76);
  kernel collective = run_of("Default/a/AllReduce-op0", "AllReduce", 0, 1);
  collective.communicates = true;
  ascend::take_phase(collective, program, 0);
  CHECK(phase_of(collective) == kernel_phase::communication);
}

TEST_CASE("the first node of a dump is joined as any other", "[ascend]") {
  const auto program = hocket::mindspore::parse_ir(
                           "%0(a) = MatMul(%8, %9)\n  : (<Tensor[Int8], (2, 3)>, <Tensor[Int8], (3, 4)>) -> "
                           "(<Tensor[Int8], (2, 4)>)\n  # Fullname with scope: (Default/MatMul-op0)\n")
                           .value();
  std::vector<kernel> kernels{run_of("Default/MatMul-op0", "MatMul", 0, 1)};
  const auto join = ascend::join_ir(kernels, program);
  REQUIRE(join.joined == 1);
  CHECK(join.node_of == std::vector<std::uint32_t>{0});
  ascend::take_shapes(kernels[0], program, 0);
  CHECK(kernels[0].input_shapes == "2,3;3,4");
  CHECK(kernels[0].output_shapes == "2,4");
  kernels[0].input_shapes = "7,7";
  ascend::take_shapes(kernels[0], program, 0);
  CHECK(kernels[0].input_shapes == "7,7");  // it has some
}

TEST_CASE("samples come from the runs with one right matrix", "[ascend]") {
  std::vector<kernel> kernels;
  for (const int rows : {512, 256, 1024}) {
    kernels.push_back(run_of("m", "MatMulV3", 0, rows * 10));
    kernels.back().input_shapes = std::to_string(rows) + ",64;64,32";
    kernels.back().output_shapes = std::to_string(rows) + ",32";
  }
  kernels.push_back(kernels.front());
  kernels.back().input_shapes = "512,128;128,32";
  const auto groups = ascend::sample_products(kernels, "MatMulV3");
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].inner == 64);
  REQUIRE(groups[0].samples.size() == 3);
  CHECK(groups[0].samples[0].size == 256);
  CHECK(groups[0].samples[0].us == 2.56);
  CHECK(groups[1].inner == 128);
  CHECK(ascend::sample_products(kernels, "MatMul").empty());
}

TEST_CASE("samples of collectives: bytes over links, each counted once", "[ascend]") {
  const auto run = [](const char* name, std::int64_t ns, std::vector<ascend::link_use> links) {
    ascend::collective_run r;
    r.name = name;
    r.elapsed = nanoseconds(ns);
    r.links = std::move(links);
    return r;
  };
  const auto link = [](const char* transport, std::int64_t size) {
    return ascend::link_use{transport, hocket::bytes(size), {}};
  };
  // SDMA is the sum of the others, or all that is told.
  CHECK(ascend::moved_bytes(run("a", 1, {link("HCCS", 3), link("PCIE", 4), link("SDMA", 7)})).count() == 7);
  CHECK(ascend::moved_bytes(run("a", 1, {link("HCCS", 3), link("RDMA", 9), link("SDMA", 3)})).count() == 12);
  CHECK(ascend::moved_bytes(run("a", 1, {link("SDMA", 5)})).count() == 5);
  CHECK(ascend::moved_bytes(run("a", 1, {})).count() == 0);
  const std::vector<ascend::collective_run> runs{
      run("hcom_allReduce__1", 5000, {link("HCCS", 8)}), run("hcom_allReduce__2", 3000, {link("HCCS", 8)}),
      run("hcom_allReduce__3", 9000, {link("HCCS", 1)}), run("hcom_allReduce__4", 0, {link("HCCS", 2)}),
      run("hcom_allReduce__5", 7000, {link("HCCS", 0)}), run("hcom_allGather__6", 7000, {link("HCCS", 3)})};
  const auto samples = ascend::sample_collectives(runs, "hcom_allReduce_");
  REQUIRE(samples.size() == 3);  // by size, then by time; without those that took no time or moved nothing
  CHECK(samples[0].size == 1);
  CHECK(samples[0].us == 9);
  CHECK(samples[1].size == 8);
  CHECK(samples[1].us == 3);
  CHECK(samples[2].us == 5);
}

TEST_CASE("groups of samples: that with most first, of equals by batch, inner length and columns", "[ascend]") {
  std::vector<kernel> kernels;
  const auto add = [&](const char* in, const char* out, std::int64_t ns) {
    kernels.push_back(run_of("m", "BatchMatMul", 0, ns));
    kernels.back().input_shapes = in;
    kernels.back().output_shapes = out;
  };
  add("2,4,8;2,8,3", "2,4,3", 100);
  add("4,8;8,3", "4,3", 300);
  add("4,8;8,3", "4,3", 200);
  add("4,8;8,2", "4,2", 100);
  add("4,6;6,9", "4,9", 100);
  const auto groups = ascend::sample_products(kernels, "BatchMatMul");
  REQUIRE(groups.size() == 4);
  const std::int64_t expected[4][3] = {{1, 8, 3}, {1, 6, 9}, {1, 8, 2}, {2, 8, 3}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(groups[i].batch == expected[i][0]);
    CHECK(groups[i].inner == expected[i][1]);
    CHECK(groups[i].columns == expected[i][2]);
  }
  REQUIRE(groups[0].samples.size() == 2);
  CHECK(groups[0].samples[0].us == 0.2);
  CHECK(groups[0].samples[1].us == 0.3);
  CHECK(groups[0].samples[0].size == 4);
}
