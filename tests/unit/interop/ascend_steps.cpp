// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A step taken apart: on a real one, and on small random ones against a count of every nanosecond.
#include <hocket/interop/ascend/operator_totals.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
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

namespace {
/// Times of three or more moments between the first start and the last finish in which nothing runs.
template <class Busy>
std::size_t long_gaps(const std::vector<kernel>& kernels, const Busy& busy) {
  int first = 1000, last = 0, length = 0;
  for (const kernel& k : kernels) {
    first = std::min(first, static_cast<int>(k.start.count()));
    last = std::max(last, static_cast<int>(k.finish().count()));
  }
  std::size_t count = 0;
  for (int t = first; t <= last; ++t) {
    const bool starts =
        std::any_of(kernels.begin(), kernels.end(), [&](const kernel& k) { return k.start.count() == t; });
    if (length >= 3 && starts) ++count;
    length = busy(t) ? 0 : starts ? 1 : length + 1;
  }
  return count;
}
}  // namespace

TEST_CASE("gaps and exposed collectives are those that a count of every nanosecond finds", "[ascend]") {
  std::mt19937 random(24);
  for (int round = 0; round < 2000; ++round) {
    INFO(round);
    const std::vector<kernel> kernels = random_kernels(random);
    const auto busy = [&](int t) {
      const moment m = at(kernels, t);
      return m.computing != nullptr || m.collective != nullptr || m.copies;
    };
    const auto gaps = ascend::find_gaps(kernels, nanoseconds(3));
    for (const auto& g : gaps) {
      CHECK(g.length().count() >= 3);
      for (int t = static_cast<int>(g.start.count()); t < g.finish.count(); ++t) CHECK_FALSE(busy(t));
      CHECK(kernels[g.before].finish() == g.start);
      CHECK(kernels[g.behind].start == g.finish);
    }
    CHECK(std::is_sorted(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) {
      return a.length() != b.length() ? a.length() > b.length() : a.start < b.start;
    }));
    CHECK(gaps.size() == long_gaps(kernels, busy));
    std::vector<nanoseconds> exposed(kernels.size());
    for (int t = 0; t < 100; ++t)
      if (const moment m = at(kernels, t); m.computing == nullptr && m.collective != nullptr)
        exposed[static_cast<std::size_t>(m.collective - kernels.data())] += nanoseconds(1);
    const auto found = ascend::find_exposed(kernels);
    CHECK(std::is_sorted(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.exposed != b.exposed ? a.exposed > b.exposed : a.kernel < b.kernel;
    }));
    for (const auto& e : found) {
      CHECK(exposed[e.kernel] == e.exposed);
      exposed[e.kernel] = {};
      const kernel& k = kernels[e.kernel];
      std::int64_t next = 1000, behind = 0;
      for (const kernel& other : kernels)
        if (other.communicates && other.start >= k.finish()) next = std::min(next, other.start.count());
      for (int t = static_cast<int>(k.finish().count()); t < std::min<std::int64_t>(next, 100); ++t)
        behind += at(kernels, t).computing != nullptr;
      CHECK(e.computing_behind.count() == behind);
      int first = 0;  // exposed moment
      while (at(kernels, first).computing != nullptr || at(kernels, first).collective != &k) ++first;
      std::size_t last = e.no_kernel, following = e.no_kernel;
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        if (!computes(phase_of(kernels[i]))) continue;
        if (kernels[i].finish().count() <= first &&
            (last == e.no_kernel || kernels[i].finish() >= kernels[last].finish()))
          last = i;
        if (kernels[i].start.count() >= first && following == e.no_kernel) following = i;
      }
      CHECK(e.before == last);
      CHECK(e.behind == following);
    }
    for (const nanoseconds left : exposed) CHECK(left.count() == 0);
  }
}

TEST_CASE("of all steps together no number is told", "[ascend]") {
  const auto p = real_step();
  CHECK(ascend::break_down(p.kernels).step == -1);
}

TEST_CASE("totals that no 64 bits hold stop at the largest", "[ascend]") {
  std::vector<kernel> kernels(3);
  for (kernel& k : kernels) k.duration = nanoseconds::max() - nanoseconds(1);
  CHECK(ascend::total_operators(kernels).front().total == nanoseconds::max());
}

TEST_CASE("totals add up the runs of a type, a core and a shape", "[ascend]") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<kernel> kernels(random() % 20);
    for (kernel& k : kernels) {
      k.type = random() % 2 == 0 ? "MatMul" : "Cast";
      k.core = random() % 3 == 0 ? "AI_CORE" : "AI_VECTOR_CORE";
      k.input_shapes = random() % 2 == 0 ? "4,8;8,2" : "16,8;8,2";
      k.output_shapes = k.input_shapes.substr(0, k.input_shapes.find(',')) + ",2";
      k.communicates = k.type == "Cast";
      k.duration = nanoseconds(random() % 4);
    }
    for (const bool by_shape : {false, true}) {
      const auto totals = ascend::total_operators(kernels, by_shape);
      std::int64_t runs = 0;
      for (const auto& t : totals) {
        ascend::operator_total sum;
        for (const kernel& k : kernels) {
          if (k.type != t.type || k.core != t.core || (by_shape && k.input_shapes != t.shapes)) continue;
          ++sum.count;
          sum.total += k.duration;
          sum.longest = std::max(sum.longest, k.duration);
          if (k.type == "MatMul") sum.known += k.duration;
          if (k.type == "MatMul") sum.flops += 2.0 * 8 * 2 * (k.input_shapes[0] == '4' ? 4 : 16);
        }
        CHECK(by_shape != t.shapes.empty());
        CHECK(t.count == sum.count);
        CHECK(t.total == sum.total);
        CHECK(t.longest == sum.longest);
        CHECK(t.known == sum.known);
        CHECK(t.flops == sum.flops);
        CHECK(t.communicates == (t.type == "Cast"));
        const double seconds = static_cast<double>(sum.known.count()) * 1e-9;
        CHECK(std::abs(t.flops_per_second() - (sum.known.count() > 0 ? sum.flops / seconds : 0)) <= 1e-3);
        runs += t.count;
      }
      CHECK(runs == static_cast<std::int64_t>(kernels.size()));
      CHECK(std::is_sorted(totals.begin(), totals.end(), [](const auto& a, const auto& b) {
        return a.total != b.total ? a.total > b.total
                                  : std::tie(a.type, a.core, a.shapes) < std::tie(b.type, b.core, b.shapes);
      }));
    }
  }
}

TEST_CASE("steps are numbered where every name comes once a step, or equally often", "[ascend]") {
  std::mt19937 random(6);
  int numbered = 0, left = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t steps = 1 + random() % 4, names = 1 + random() % 3;
    std::vector<std::string> one;
    for (std::size_t n = 0; n < names; ++n)
      for (std::size_t times = 1 + random() % 2; times > 0; --times)
        one.push_back(std::string(1, static_cast<char>('a' + n)));
    std::vector<kernel> kernels;
    for (std::size_t s = 0; s < steps; ++s) {
      std::shuffle(one.begin(), one.end(), random);
      for (const std::string& name : one) {
        kernels.emplace_back();
        kernels.back().name = name;
        kernels.back().step = -1;
      }
    }
    if (random() % 3 == 0) std::swap(kernels[random() % kernels.size()].name, kernels[random() % kernels.size()].name);
    if (random() % 5 == 0) kernels.pop_back();
    std::map<std::string, std::int64_t> counts, seen;
    for (const kernel& k : kernels) ++counts[k.name];
    std::int64_t common = 0;
    for (const auto& [name, count] : counts) common = std::gcd(common, count);
    std::vector<std::int64_t> expected;
    for (const kernel& k : kernels) expected.push_back(common < 2 ? 0 : seen[k.name]++ / (counts[k.name] / common) + 1);
    const bool shows = common >= 2 && std::is_sorted(expected.begin(), expected.end());
    CHECK(ascend::number_repeated_steps(kernels) == (shows ? common : 0));
    for (std::size_t i = 0; i < kernels.size(); ++i) CHECK(kernels[i].step == (shows ? expected[i] : -1));
    ++(shows ? numbered : left);
    if (kernels.empty()) continue;
    for (kernel& k : kernels) k.step = -1;
    kernels.back().step = 0;  // some have numbers
    CHECK(ascend::number_repeated_steps(kernels) == 0);
  }
  CHECK(numbered > 500);
  CHECK(left > 500);
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
  k.type = "MatMul";
  k.input_shapes = "1,8;8,4";
  k.output_shapes = "1,4";
  CHECK(ascend::product_of(k)->flops() == 2 * 8 * 4);
  k.input_shapes = "1,8;8,1";
  k.output_shapes = "1,1";
  CHECK(ascend::product_of(k)->flops() == 2 * 8);
  for (const char* const empty : {"0,4", "4,0", "0,0"}) {
    k.output_shapes = empty;
    CHECK_FALSE(ascend::product_of(k));
  }
  // Sizes up to 2^61, as a product of two numbers and of their FLOPs.
  k.type = "MatMul";
  for (const int log : {60, 61, 62}) {
    INFO(log);
    const std::string most = std::to_string(std::int64_t{1} << (log - 1));
    k.input_shapes = most + ",1;1,2";
    k.output_shapes = most + ",2";
    CHECK(ascend::product_of(k).has_value() == (log <= 61));
    k.input_shapes = "2," + most + ";" + most + ",1";
    k.output_shapes = "2,1";
    CHECK(ascend::product_of(k).has_value() == (log <= 61));
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
  CHECK(ascend::layer_of("Default/micro_inputs-CellList/3-_MicroBatch/StridedSlice-op0") == -1);
  CHECK(ascend::layer_of("layers-CellList/999999999-Layer/a") == 999'999'999);
  CHECK(ascend::layer_of("layers-CellList/1000000000-Layer/a") == -1);
  const auto phase = [](const char* name, const char* type) {
    kernel k;
    k.name = name;
    k.type = type;
    return ascend::phase_of(k);
  };
  CHECK(phase("Gradients/Default/a/MatMul-op0", "MatMul") == kernel_phase::backward);
  CHECK(phase("Gradients/recompute_Default/a/MatMul-op0", "MatMul") == kernel_phase::backward);
  CHECK(phase("recompute_Default/a/MatMul-op0", "MatMul") == kernel_phase::forward_or_recomputed);
  CHECK(phase("Expand/_SiLUGrad/Sigmoid-op1", "Sigmoid") == kernel_phase::backward);
  CHECK(phase("Expand/_SiLU/Sigmoid-op1", "Sigmoid") == kernel_phase::forward_or_backward);
  CHECK(phase("Default/a/MatMul-op0", "MatMul") == kernel_phase::forward);
  CHECK(phase("Default/optimizer-Adam/Adam-op0", "Adam") == kernel_phase::optimizer);
  CHECK(phase("ApplyAdamW12", "ApplyAdamW") == kernel_phase::optimizer);
  CHECK(phase("Default/GetNext-op0", "GetNext") == kernel_phase::data);
  CHECK(phase("MatMul91", "MatMul") == kernel_phase::forward_or_backward);
  const auto list_kernel = [&](const std::string& functor) {
    const std::string name = "void at::native::multi_tensor_apply_kernel<TensorListMetadata<1>, " + functor + ">(...)";
    return phase(name.c_str(), name.c_str());
  };
  CHECK(list_kernel("FusedAdamMathFunctor<float, 4>") == kernel_phase::optimizer);
  CHECK(list_kernel("BinaryOpListAlphaFunctor<float, 2, 2, 0>") == kernel_phase::optimizer);
  CHECK(list_kernel("LpNormFunctor<float, NormType::L2>") == kernel_phase::forward_or_backward);
  CHECK(list_kernel("L2NormFunctor<float>") == kernel_phase::forward_or_backward);
  CHECK(list_kernel("Copy<float, float>") == kernel_phase::forward_or_backward);
}

TEST_CASE("one op at several sizes is measured by itself: there are no steps", "[ascend]") {
  const auto sizes = [](const std::vector<const char*>& shapes) {
    std::vector<kernel> kernels;
    for (const char* const shape : shapes) {
      kernels.emplace_back();
      kernels.back().name = "MatMulV3";
      kernels.back().input_shapes = shape;
    }
    return ascend::number_repeated_steps(kernels);
  };
  CHECK(sizes({"256,8;8,8", "512,8;8,8", "768,8;8,8", "1024,8;8,8"}) == 0);
  CHECK(sizes({"256,8;8,8", "256,8;8,8"}) == 2);
}
