// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A step taken apart: on a real one, and on small random ones against a count of every nanosecond.
#include <hocket/interop/ascend/operator_totals.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ascend_files.hpp"
#include "catch.hpp"

namespace ascend = hocket::ascend;
using ascend::kernel;
using ascend::kernel_phase;
using ascend::nanoseconds;

namespace {

ascend::profile real_step() { return ascend::parse_profile(profile_files::file("kernel_details.csv")).value(); }

std::vector<kernel> random_kernels(std::mt19937& random) {
  std::vector<kernel> kernels(random() % 12);
  constexpr const char* names[] = {"Default/a", "Gradients/b", "x/optimizer-Adam/c", "GetNext", "d", "hcom_receive_"};
  for (kernel& k : kernels) {
    const std::size_t which = random() % 7;
    k.name = names[which % 6];
    k.type = k.name;
    k.communicates = which >= 5;
    if (which == 6) k.type = "hcom_allReduce_";
    k.start = nanoseconds(random() % 60);
    k.duration = nanoseconds(random() % 4 == 0 ? 0 : random() % 15);
    k.step = static_cast<std::int64_t>(random() % 3);
  }
  std::sort(kernels.begin(), kernels.end(), [](auto& a, auto& b) { return a.start < b.start; });
  return kernels;
}

// What runs in [t, t + 1): the first computing kernel, else communication, else data, else nothing.
struct moment {
  const kernel *computing = nullptr, *collective = nullptr;
  bool copies = false;
};
moment at(const std::vector<kernel>& kernels, int t) {
  moment m;
  for (const kernel& k : kernels) {
    if (k.start.count() > t || k.finish().count() <= t) continue;
    if (k.communicates) m.collective = m.collective != nullptr ? m.collective : &k;
    else if (phase_of(k) == kernel_phase::data) m.copies = true;
    else if (m.computing == nullptr) m.computing = &k;
  }
  return m;
}
ascend::step_breakdown counted(const std::vector<kernel>& kernels) {
  ascend::step_breakdown b;
  b.kernel_count = kernels.size();
  if (kernels.empty()) return b;
  std::int64_t first = 1000, last = 0;
  for (const kernel& k : kernels) {
    first = std::min(first, k.start.count());
    last = std::max(last, k.finish().count());
  }
  constexpr nanoseconds one(1);
  for (int t = static_cast<int>(first); t < last; ++t) {
    const moment m = at(kernels, t);
    b.span += one;
    if (m.collective != nullptr) b.communication += one;
    if (m.computing != nullptr) {
      b.computing += one;
      b.by_phase[static_cast<std::size_t>(phase_of(*m.computing))] += one;
    } else if (m.collective != nullptr) {
      b.exposed += one;
      if (m.collective->type == "hcom_receive_") b.exposed_receives += one;
    } else if (m.copies) {
      b.copying += one;
    } else {
      b.idle += one;
    }
  }
  return b;
}
void check_equal(const ascend::step_breakdown& a, const ascend::step_breakdown& b) {
  CHECK(a.span == b.span);
  CHECK(a.computing == b.computing);
  CHECK(a.communication == b.communication);
  CHECK(a.exposed == b.exposed);
  CHECK(a.exposed_receives == b.exposed_receives);
  CHECK(a.copying == b.copying);
  CHECK(a.idle == b.idle);
  CHECK(a.by_phase == b.by_phase);
  CHECK(a.kernel_count == b.kernel_count);
}

}  // namespace

TEST_CASE("the step of the sample: 49.17 ms computing, 345.41 exposed, 122.31 idle", "[ascend]") {
  const auto p = real_step();
  const auto b = ascend::break_down(p.kernels);
  // Python's decimal on the same file, unions of intervals: 516885.54, 49171.58, 346398.74, 345405.40, 122308.56 us.
  CHECK(b.span.count() == 516'885'540);
  CHECK(b.computing.count() == 49'171'580);
  CHECK(b.communication.count() == 346'398'740);
  CHECK(b.exposed.count() == 345'405'400);
  CHECK(b.idle.count() == 122'308'560);
  CHECK(b.hidden().count() == 993'340);
  CHECK(b.of(kernel_phase::optimizer).count() == 12'939'380);
  CHECK(b.of(kernel_phase::forward_or_backward) + b.of(kernel_phase::optimizer) == b.computing);
  const auto exposed = ascend::find_exposed(p.kernels);
  nanoseconds sum{};
  for (const auto& e : exposed) sum += e.exposed;
  CHECK(sum == b.exposed);
  CHECK(p.kernels[exposed.front().kernel].name == "hcom_broadcast__445_0");
  CHECK(p.kernels[exposed.front().before].name == "ZerosLike46");
  const auto gaps = ascend::find_gaps(p.kernels, nanoseconds(0));
  sum = {};
  for (const auto& g : gaps) sum += g.length();
  CHECK(sum == b.idle);
  CHECK(gaps.front().length().count() == 3'534'620);
}

TEST_CASE("steps are taken apart as a count of every nanosecond does", "[ascend]") {
  std::mt19937 random(23);
  for (int round = 0; round < 2000; ++round) {
    INFO(round);
    const std::vector<kernel> kernels = random_kernels(random);
    const auto b = ascend::break_down(kernels);
    check_equal(b, counted(kernels));
    CHECK(b.computing + b.exposed + b.copying + b.idle == b.span);
    std::size_t found = 0;
    for (const auto& s : ascend::break_down_steps(kernels)) {
      std::vector<kernel> members;
      for (const kernel& k : kernels)
        if (k.step == s.step) members.push_back(k);
      check_equal(s, counted(members));
      found += members.size();
    }
    CHECK(found == kernels.size());
  }
}

TEST_CASE("gaps and exposed collectives are those that a count of every nanosecond finds", "[ascend]") {
  std::mt19937 random(24);
  for (int round = 0; round < 2000; ++round) {
    INFO(round);
    const std::vector<kernel> kernels = random_kernels(random);
    const auto busy = [&](int t) {
      const moment m = at(kernels, t);
      return m.computing != nullptr || m.collective != nullptr || m.copies;
    };
    for (const auto& g : ascend::find_gaps(kernels, nanoseconds(3))) {
      CHECK(g.length().count() >= 3);
      for (int t = static_cast<int>(g.start.count()); t < g.finish.count(); ++t) CHECK_FALSE(busy(t));
      CHECK(kernels[g.before].finish() == g.start);
      CHECK(kernels[g.behind].start == g.finish);
    }
    std::vector<nanoseconds> exposed(kernels.size());
    for (int t = 0; t < 100; ++t)
      if (const moment m = at(kernels, t); m.computing == nullptr && m.collective != nullptr)
        exposed[static_cast<std::size_t>(m.collective - kernels.data())] += nanoseconds(1);
    for (const auto& e : ascend::find_exposed(kernels)) {
      CHECK(exposed[e.kernel] == e.exposed);
      exposed[e.kernel] = {};
      const kernel& k = kernels[e.kernel];
      std::int64_t next = 1000, behind = 0;
      for (const kernel& other : kernels)
        if (other.communicates && other.start >= k.finish()) next = std::min(next, other.start.count());
      for (int t = static_cast<int>(k.finish().count()); t < std::min<std::int64_t>(next, 100); ++t)
        behind += at(kernels, t).computing != nullptr;
      CHECK(e.computing_behind.count() == behind);
      if (e.before != e.no_kernel) CHECK(computes(phase_of(kernels[e.before])));
      if (e.behind != e.no_kernel) CHECK(computes(phase_of(kernels[e.behind])));
    }
    for (const nanoseconds left : exposed) CHECK(left.count() == 0);
  }
}

TEST_CASE("totals that no 64 bits hold stop at the largest", "[ascend]") {
  std::vector<kernel> kernels(3);
  for (kernel& k : kernels) k.duration = nanoseconds::max() - nanoseconds(1);
  CHECK(ascend::total_operators(kernels).front().total == nanoseconds::max());
}

TEST_CASE("FLOPs of matrix products follow from their shapes", "[ascend]") {
  kernel k;
  k.type = "MatMul";
  k.input_shapes = "4096,12288;6400,12288";
  k.output_shapes = "4096,6400";
  REQUIRE(ascend::product_of(k));
  CHECK(ascend::product_of(k)->flops() == 2LL * 4096 * 12288 * 6400);
  CHECK(ascend::product_of(k)->rows == 4096);
  k.type = "BatchMatMul";
  k.input_shapes = "4,8,128,32;4,8,32,64";
  k.output_shapes = "4,8,128,64";
  CHECK(ascend::product_of(k)->flops() == 2LL * 4 * 8 * 128 * 32 * 64);
  k.input_shapes = "4,128,32;32,64";  // one matrix for all batches
  k.output_shapes = "4,128,64";
  CHECK(ascend::product_of(k)->flops() == 2LL * 4 * 128 * 32 * 64);
  CHECK(ascend::product_of(k)->rows == 4 * 128);
  for (const char* const wrong : {"4,128,32;33,65", "4,128,32", "", "4,128,x;32,64", "0,0;0,0", "4,128,32;",
                                  "9223372036854775807,2;2,9223372036854775807"}) {
    INFO(wrong);
    k.input_shapes = wrong;
    CHECK_FALSE(ascend::product_of(k));
  }
  const auto p = real_step();
  const auto totals = ascend::total_operators(p.kernels);
  CHECK(totals[0].type == "hcom_broadcast_");
  CHECK(totals[0].count == 2);
  // Python on the same table: 9 products of 14,070.56 us and 4,355,096,838,144 FLOPs.
  CHECK(totals[2].type == "MatMul");
  CHECK(totals[2].total.count() == 14'070'560);
  CHECK(totals[2].known == totals[2].total);
  CHECK(totals[2].flops == 4'355'096'838'144.0);
}

TEST_CASE("layers and phases are in the scope", "[ascend]") {
  CHECK(ascend::layer_of("Default/net-Llama/layers-CellList/12-DecoderLayer/attention-Attention/Cast-op2") == 12);
  CHECK(ascend::layer_of("Default/net-Llama/layers-CellList/DecoderLayer/3-x/Cast-op2") == -1);
  CHECK(ascend::layer_of("") == -1);
  const auto phase = [](const char* name, const char* type) {
    kernel k;
    k.name = name;
    k.type = type;
    return ascend::phase_of(k);
  };
  CHECK(phase("Gradients/Default/a/MatMul-op0", "MatMul") == kernel_phase::backward);
  CHECK(phase("Gradients/recompute_Default/a/MatMul-op0", "MatMul") == kernel_phase::recomputed);
  CHECK(phase("Expand/_SiLUGrad/Sigmoid-op1", "Sigmoid") == kernel_phase::backward);
  CHECK(phase("Expand/_SiLU/Sigmoid-op1", "Sigmoid") == kernel_phase::forward_or_backward);
  CHECK(phase("Default/a/MatMul-op0", "MatMul") == kernel_phase::forward);
  CHECK(phase("Default/optimizer-Adam/Adam-op0", "Adam") == kernel_phase::optimizer);
  CHECK(phase("ApplyAdamW12", "ApplyAdamW") == kernel_phase::optimizer);
  CHECK(phase("Default/GetNext-op0", "GetNext") == kernel_phase::data);
  CHECK(phase("MatMul91", "MatMul") == kernel_phase::forward_or_backward);
}
