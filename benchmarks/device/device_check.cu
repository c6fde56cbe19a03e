// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What only a device can show; tools/device_check.sh compiles and runs it. 77: no device.
//   1  plans on 2 to 8 streams, eager and captured: kernels write sequence numbers, a checker reads them;
//      with waits removed the checker must find violations
//   2  host time: drive against a hand-written loop of CUDA calls, graph launch against eager
//   3  matrix products (cuBLAS) in tiles, overlapped with copies to the host: every small tile vector, measured and
//      predicted from the times of single tiles
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <hocket/launch.hpp>
#include <hocket/launch/backends/cuda.hpp>
#include <hocket/launch/bridges/tiling.hpp>
#include <hocket/tiling.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

using namespace hocket;
using namespace hocket::launch;
int failures = 0;

#define REQUIRE_CUDA(call)                                                                      \
  do {                                                                                          \
    const auto code_ = (call);                                                                  \
    if (static_cast<int>(code_) != 0) {                                                         \
      std::printf("FAILED %s: code %d at line %d\n", #call, static_cast<int>(code_), __LINE__); \
      std::exit(1);                                                                             \
    }                                                                                           \
  } while (false)

void expect(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::printf("FAILED %s\n", what);
}

template <class T>
T median(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

double host_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class T>
struct on_device {
  T* data = nullptr;
  explicit on_device(std::size_t n) { REQUIRE_CUDA(cudaMalloc(&data, n * sizeof(T))); }
  on_device(const on_device&) = delete;
  ~on_device() { static_cast<void>(cudaFree(data)); }
};

// ---- 1

struct program_on_device {
  const unsigned *first, *predecessors;  // compressed rows
  volatile unsigned *start, *finish;     // sequence numbers, 0: not yet
  unsigned *sequence, *violations;
};

__global__ void op_kernel(program_on_device p, unsigned op, long long cycles) {
  p.start[op] = atomicAdd(p.sequence, 1) + 1;
  for (unsigned i = p.first[op]; i < p.first[op + 1]; ++i)
    if (p.finish[p.predecessors[i]] == 0) atomicAdd(p.violations, 1);
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
  __threadfence();
  p.finish[op] = atomicAdd(p.sequence, 1) + 1;
}

struct random_ops {
  std::vector<std::vector<node_id>> predecessors;
  std::vector<std::uint16_t> stream;
};

random_ops make_ops(unsigned seed, std::size_t count, unsigned streams) {
  std::minstd_rand random(seed + 1);
  random_ops p;
  p.predecessors.resize(count);
  for (std::size_t v = 0; v < count; ++v) {
    p.stream.push_back(static_cast<std::uint16_t>(random() % streams));
    for (unsigned k = v == 0 ? 0 : random() % 4; k > 0; --k)
      p.predecessors[v].push_back(static_cast<node_id>(v - 1 - random() % (v < 40 ? v : 40)));
  }
  return p;
}

command_list list_of(const random_ops& p, unsigned streams, bool waits) {
  const auto count = p.predecessors.size();
  std::vector<bool> recorded(count);
  for (std::size_t v = 0; v < count; ++v)
    for (const node_id u : p.predecessors[v]) recorded[u] = recorded[u] || p.stream[u] != p.stream[v];
  std::vector<command> out;
  for (std::size_t v = 0; v < count; ++v) {
    if (waits)
      for (const node_id u : p.predecessors[v])
        if (p.stream[u] != p.stream[v]) out.push_back(wait_event(u, p.stream[v]));
    out.push_back(run_op(static_cast<node_id>(v), p.stream[v]));
    if (recorded[v]) out.push_back(record_event(static_cast<node_id>(v), p.stream[v]));
  }
  return reuse_events(fenced(command_list::make(out, streams).value()).value());
}

void check_plans() {
  cuda_backend cuda;
  constexpr std::size_t count = 300;
  unsigned long long total = 0, without = 0;
  std::size_t runs = 0;
  for (unsigned streams = 2; streams <= 8; ++streams) {
    std::vector<cudaStream_t> s(streams);
    for (auto& one : s) REQUIRE_CUDA(cuda.create_stream(one));
    for (unsigned seed = 0; seed < 5; ++seed) {
      const auto p = make_ops(seed, count, streams);
      std::vector<unsigned> first{0}, all;
      for (const auto& row : p.predecessors) {
        all.insert(all.end(), row.begin(), row.end());
        first.push_back(static_cast<unsigned>(all.size()));
      }
      on_device<unsigned> d_first(first.size()), d_all(all.size() + 1), d_state(2 * count + 2);
      REQUIRE_CUDA(cudaMemcpy(d_first.data, first.data(), first.size() * 4, cudaMemcpyHostToDevice));
      REQUIRE_CUDA(cudaMemcpy(d_all.data, all.data(), all.size() * 4, cudaMemcpyHostToDevice));
      const program_on_device program{d_first.data,
                                      d_all.data,
                                      d_state.data,
                                      d_state.data + count,
                                      d_state.data + 2 * count,
                                      d_state.data + 2 * count + 1};
      const auto launch_op = [&](node_id op, cudaStream_t stream) {
        op_kernel<<<1, 1, 0, stream>>>(program, op, 2000 + (op * 2654435761u + seed) % 20000);
        return cudaPeekAtLastError();
      };
      for (const bool waits : {true, false}) {
        const auto list = list_of(p, streams, waits);
        event_pool events(cuda);
        expect(static_cast<bool>(events.prepare(list)), "prepare");
        const auto violations = [&](auto run) {
          REQUIRE_CUDA(cudaMemset(d_state.data, 0, (2 * count + 2) * 4));
          REQUIRE_CUDA(cudaDeviceSynchronize());
          run();
          REQUIRE_CUDA(cudaDeviceSynchronize());
          std::vector<unsigned> state(2 * count + 2);
          REQUIRE_CUDA(cudaMemcpy(state.data(), d_state.data, state.size() * 4, cudaMemcpyDeviceToHost));
          expect(state[2 * count] == 2 * count, "every op ran once");
          unsigned long long bad = state[2 * count + 1];
          for (std::size_t v = 0; v < count; ++v)
            for (const node_id u : p.predecessors[v]) bad += state[v] < state[count + u];
          return bad;
        };
        const auto eager = violations([&] {
          const auto done = drive(cuda, list, s, events.events(), launch_op);
          expect(static_cast<bool>(done), "drive");
        });
        (waits ? total : without) += eager;
        if (!waits) continue;
        expect(static_cast<bool>(check_capture(list)), "check_capture");
        const auto captured = capture(cuda, list, s, events.events(), launch_op);
        expect(static_cast<bool>(captured), "capture");
        if (!captured) continue;
        for (int replay = 0; replay < 3; ++replay)
          total += violations([&] { REQUIRE_CUDA(cuda.launch_captured(captured.graph, s[0])); });
        REQUIRE_CUDA(cuda.destroy_captured(captured.graph));
        runs += 4;
      }
    }
    for (auto& one : s) REQUIRE_CUDA(cuda.destroy_stream(one));
  }
  std::printf("plans: %zu runs on 2 to 8 streams, eager and captured: %llu violations; without waits: %llu\n", runs,
              total, without);
  expect(total == 0, "no dependency violated");
  expect(without > 0, "the checker sees violations when waits are missing");
}

// ---- 2

__global__ void nothing() {}

void check_overhead() {
  cuda_backend cuda;
  std::vector<cudaStream_t> s(4);
  for (auto& one : s) REQUIRE_CUDA(cuda.create_stream(one));
  const auto p = make_ops(1, 400, 4);
  const auto list = list_of(p, 4, true);
  event_pool events(cuda);
  expect(static_cast<bool>(events.prepare(list)), "prepare");
  const auto e = events.events();
  const auto launch_op = [](node_id, cudaStream_t stream) {
    nothing<<<1, 1, 0, stream>>>();
    return cudaPeekAtLastError();
  };
  std::vector<double> by_drive, by_hand, by_graph;
  const auto captured = capture(cuda, list, s, e, launch_op);
  expect(static_cast<bool>(captured), "capture");
  for (int round = 0; round < 30; ++round) {
    REQUIRE_CUDA(cudaDeviceSynchronize());
    double t = host_us();
    expect(static_cast<bool>(drive(cuda, list, s, e, launch_op)), "drive");
    by_drive.push_back(host_us() - t);
    REQUIRE_CUDA(cudaDeviceSynchronize());
    t = host_us();
    for (const command& c : list) {
      cudaError_t code;
      if (c.kind == command_kind::run) code = launch_op(c.id, s[c.stream]);
      else if (c.kind == command_kind::record) code = cudaEventRecord(e[c.id], s[c.stream]);
      else code = cudaStreamWaitEvent(s[c.stream], e[c.id], 0);
      if (code != cudaSuccess) break;
    }
    by_hand.push_back(host_us() - t);
    REQUIRE_CUDA(cudaDeviceSynchronize());
    if (captured) {
      t = host_us();
      REQUIRE_CUDA(cuda.launch_captured(captured.graph, s[0]));
      by_graph.push_back(host_us() - t);
    }
  }
  REQUIRE_CUDA(cudaDeviceSynchronize());
  std::printf("host time of %zu commands: drive %.1f us, hand-written %.1f us, ratio %.3f (aim <= 1.02)", list.size(),
              median(by_drive), median(by_hand), median(by_drive) / median(by_hand));
  if (captured) {
    std::printf("; one graph launch %.1f us, ratio to eager %.3f (aim <= 0.2)", median(by_graph),
                median(by_graph) / median(by_drive));
    REQUIRE_CUDA(cuda.destroy_captured(captured.graph));
  }
  std::printf("\n");
  for (auto& one : s) REQUIRE_CUDA(cuda.destroy_stream(one));
}

// ---- 3

constexpr std::int64_t unit = 512, units = 8, inner = 4096, columns = 4096;

struct operands {
  on_device<float> a{unit * units * inner}, b{inner * columns}, c{unit * units * columns};
  float* host = nullptr;
  cublasHandle_t blas = nullptr;
  operands() {
    REQUIRE_CUDA(cudaMemset(a.data, 0, unit * units * inner * 4));
    REQUIRE_CUDA(cudaMemset(b.data, 0, inner * columns * 4));
    REQUIRE_CUDA(cudaMallocHost(&host, unit * units * columns * 4));  // pinned: else the copy would not overlap
    REQUIRE_CUDA(cublasCreate(&blas));
    REQUIRE_CUDA(cublasSetMathMode(blas, CUBLAS_TF32_TENSOR_OP_MATH));
  }
  ~operands() {
    cublasDestroy(blas);
    cudaFreeHost(host);
  }
  // Rows [from, from + rows) of C = A B, all row-major: the transposed product for a column-major library.
  cudaError_t multiply(std::int64_t from, std::int64_t rows, cudaStream_t s) {
    const float one = 1, zero = 0;
    if (cublasSetStream(blas, s) != CUBLAS_STATUS_SUCCESS) return cudaErrorUnknown;
    const auto status =
        cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(columns), static_cast<int>(rows),
                    static_cast<int>(inner), &one, b.data, static_cast<int>(columns), a.data + from * inner,
                    static_cast<int>(inner), &zero, c.data + from * columns, static_cast<int>(columns));
    return status == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
  }
  cudaError_t copy(std::int64_t from, std::int64_t rows, cudaStream_t s) {
    return cudaMemcpyAsync(host + from * columns, c.data + from * columns,
                           static_cast<std::size_t>(rows * columns) * sizeof(float), cudaMemcpyDeviceToHost, s);
  }
};

void compositions(std::int64_t left, std::size_t parts, std::vector<std::int64_t>& now,
                  std::vector<std::vector<std::int64_t>>& out) {
  if (left == 0) out.push_back(now);
  if (left == 0 || now.size() == parts) return;
  for (std::int64_t k = 1; k <= left; ++k) {
    now.push_back(k * unit);
    compositions(left - k, parts, now, out);
    now.pop_back();
  }
}

void check_tiles() {
  cuda_backend cuda;
  operands x;
  std::vector<cudaStream_t> s(2);
  for (auto& one : s) REQUIRE_CUDA(cuda.create_stream(one));
  cuda_backend::timed_event_type begin, end;
  REQUIRE_CUDA(cuda.create_timed_event(begin));
  REQUIRE_CUDA(cuda.create_timed_event(end));
  const auto timed = [&](auto enqueue) {
    std::vector<double> us;
    for (int round = 0; round < 7; ++round) {
      REQUIRE_CUDA(cudaDeviceSynchronize());
      REQUIRE_CUDA(cuda.record_timed(begin, s[0]));
      enqueue();
      REQUIRE_CUDA(cuda.record_timed(end, s[0]));
      REQUIRE_CUDA(cuda.synchronize(s[0]));
      std::chrono::nanoseconds time{};
      REQUIRE_CUDA(cuda.elapsed(begin, end, time));
      us.push_back(std::chrono::duration<double, std::micro>(time).count());
    }
    return median(us);
  };
  // Each phase by itself, for every tile length there is. Two in a row minus one: without the cost of an empty stream.
  std::vector<double> rows, product, copying;
  for (std::int64_t k = 1; k <= units; ++k) {
    rows.push_back(static_cast<double>(k * unit));
    const auto one_p = timed([&] { REQUIRE_CUDA(x.multiply(0, k * unit, s[0])); });
    const auto two_p = timed([&] {
      REQUIRE_CUDA(x.multiply(0, k * unit, s[0]));
      REQUIRE_CUDA(x.multiply(0, k * unit, s[0]));
    });
    const auto one_c = timed([&] { REQUIRE_CUDA(x.copy(0, k * unit, s[0])); });
    const auto two_c = timed([&] {
      REQUIRE_CUDA(x.copy(0, k * unit, s[0]));
      REQUIRE_CUDA(x.copy(0, k * unit, s[0]));
    });
    product.push_back(std::max(two_p - one_p, product.empty() ? 0.1 : product.back()));
    copying.push_back(std::max(two_c - one_c, copying.empty() ? 0.1 : copying.back()));
  }
  const auto problem = tiling::problem({.rows = unit * units, .align = unit, .max_tiles = 4},
                                       tiling::compute(curve::table_view::make(rows, product).value()),
                                       tiling::comm(curve::table_view::make(rows, copying).value()));
  const auto best = tiling::solve(problem);
  expect(static_cast<bool>(best), "solve");

  std::vector<std::vector<std::int64_t>> vectors;
  std::vector<std::int64_t> now;
  compositions(units, 4, now, vectors);
  const std::array phases{tiling::phase_kind::compute, tiling::phase_kind::comm};
  std::vector<double> measured, predicted, errors;
  double chosen = 0, overlap_bound = 0;
  for (const auto& tiles : vectors) {
    tiling::plan plan;
    std::vector<std::int64_t> from{0};
    for (const auto t : tiles) {
      plan.append(t);
      from.push_back(from.back() + t);
    }
    const auto list = reuse_events(fenced(from_tiling(plan, phases).value()).value());
    event_pool events(cuda);
    expect(static_cast<bool>(events.prepare(list)), "prepare");
    const auto launch_tile = [&](node_id tile, std::uint8_t phase, cudaStream_t stream) {
      return phase == 0 ? x.multiply(from[tile], tiles[tile], stream) : x.copy(from[tile], tiles[tile], stream);
    };
    measured.push_back(
        timed([&] { expect(static_cast<bool>(drive(cuda, list, s, events.events(), launch_tile)), "drive"); }));
    predicted.push_back(microseconds(tiling::makespan(problem, tiles).value()).count());
    errors.push_back(std::abs(measured.back() / predicted.back() - 1));
    if (best && std::equal(tiles.begin(), tiles.end(), best->tiles().begin(), best->tiles().end()))
      chosen = measured.back();
    std::printf("tiles");
    for (const auto t : tiles) std::printf(" %lld", static_cast<long long>(t));
    std::printf(": measured %.1f us, predicted %.1f us\n", measured.back(), predicted.back());
  }
  // Spearman's rank correlation.
  const auto ranks = [](const std::vector<double>& v) {
    std::vector<std::size_t> order(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return v[a] < v[b]; });
    std::vector<double> r(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) r[order[i]] = static_cast<double>(i);
    return r;
  };
  const auto rm = ranks(measured), rp = ranks(predicted);
  double d2 = 0;
  for (std::size_t i = 0; i < rm.size(); ++i) d2 += (rm[i] - rp[i]) * (rm[i] - rp[i]);
  const double n = static_cast<double>(rm.size());
  const double least = *std::min_element(measured.begin(), measured.end());
  overlap_bound = std::max(product.back(), copying.back());
  std::printf(
      "tile vectors: %zu, median error %.1f %% (aim <= 5), rank correlation %.3f, chosen %.1f us, best %.1f us, "
      "ratio %.3f (aim <= 1.03); uncut %.1f us; best / max(product, copy) %.3f\n",
      vectors.size(), 100 * median(errors), 1 - 6 * d2 / (n * (n * n - 1)), chosen, least, chosen / least,
      product.back() + copying.back(), least / overlap_bound);
  REQUIRE_CUDA(cuda.destroy_timed_event(begin));
  REQUIRE_CUDA(cuda.destroy_timed_event(end));
  for (auto& one : s) REQUIRE_CUDA(cuda.destroy_stream(one));
}

}  // namespace

int main() {
  const device_probe found = cuda_backend::probe();
  if (!found) {
    std::printf("no device: %s (code %lld)\n", to_string(found.state).data(), static_cast<long long>(found.code));
    return 77;
  }
  cudaDeviceProp device{};
  int driver = 0;
  REQUIRE_CUDA(cudaGetDeviceProperties(&device, 0));
  REQUIRE_CUDA(cudaDriverGetVersion(&driver));
  std::printf("%s, %d multiprocessors, driver %d\n", device.name, device.multiProcessorCount, driver);
  check_plans();
  check_overhead();
  check_tiles();
  std::printf("%s\n", failures == 0 ? "device check: passed" : "device check: FAILED");
  return failures == 0 ? 0 : 1;
}
