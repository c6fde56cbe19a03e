// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures a matrix product and a memory copy on this machine, fits curves, decides how to cut, runs the pair uncut and
// cut on two threads and prints predicted against measured. No time is asserted: it is this machine's answer. The
// product itself must be the same, cut or not.
#include <hocket/curve.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/bridges/tiling.hpp>
#include <hocket/tiling.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t rows = 512, inner = 96, columns = 96,
                       copied = 24'000;  // copied: floats per row, "sent" to a peer
constexpr std::int64_t align = 16;

struct buffers {
  std::vector<float> a = std::vector<float>(rows * inner), b = std::vector<float>(inner * columns),
                     c = std::vector<float>(rows * columns), source = std::vector<float>(rows * copied, 1),
                     target = std::vector<float>(rows * copied);
};

void multiply(buffers& m, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i) {
    float* const out = &m.c[static_cast<std::size_t>(i * columns)];
    std::fill(out, out + columns, 0.0f);
    for (std::int64_t k = 0; k < inner; ++k) {
      const float x = m.a[static_cast<std::size_t>(i * inner + k)];
      const float* const row = &m.b[static_cast<std::size_t>(k * columns)];
      for (std::int64_t j = 0; j < columns; ++j) out[j] += x * row[j];
    }
  }
}
void copy(buffers& m, std::int64_t first, std::int64_t count) {
  std::memcpy(&m.target[static_cast<std::size_t>(first * copied)], &m.source[static_cast<std::size_t>(first * copied)],
              static_cast<std::size_t>(count * copied) * sizeof(float));
}

template <class F>
double microseconds_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

// A few sizes, each five times, of three runs the fastest: what a deployment would do once per operator and machine.
template <class F>
hocket::curve::any_curve measured(const char* what, F&& run) {
  std::vector<hocket::curve::sample> samples;
  for (const std::int64_t size : {16, 32, 64, 128, 256, 512})
    for (int repeat = 0; repeat < 5; ++repeat)
      samples.push_back({static_cast<double>(size), std::max(0.01, std::min({microseconds_of([&] { run(size); }),
                                                                             microseconds_of([&] { run(size); }),
                                                                             microseconds_of([&] { run(size); })}))});
  auto fit = hocket::curve::fit_isotonic(samples);
  if (!fit) {  // the machine was interrupted too often: take the fastest run of each size
    for (std::size_t i = 0; i < samples.size(); i += 5)
      for (std::size_t j = i; j < i + 5; ++j)
        samples[j].us = std::min_element(samples.begin() + static_cast<std::ptrdiff_t>(i),
                                         samples.begin() + static_cast<std::ptrdiff_t>(i + 5),
                                         [](const auto& x, const auto& y) { return x.us < y.us; })
                            ->us;
    fit = hocket::curve::fit_isotonic(samples);
  }
  std::printf("%-8s %8.1f us for %lld rows, leave-one-out error %.0f %%\n", what,
              fit->curve.time(static_cast<double>(rows)), static_cast<long long>(rows), 100 * fit->leave_one_out_error);
  return std::move(*fit).curve;
}

}  // namespace

int main() {
  using namespace hocket;
  buffers m;
  for (std::size_t i = 0; i < m.a.size(); ++i) m.a[i] = static_cast<float>(i % 13);
  for (std::size_t i = 0; i < m.b.size(); ++i) m.b[i] = static_cast<float>(i % 7);
  copy(m, 0, rows);  // touch the pages before anything is measured

  tiling::any_problem problem;
  problem.axis = {.rows = rows, .align = align, .max_tiles = 8};
  problem.phases = {tiling::compute(measured("product", [&](std::int64_t n) { multiply(m, 0, n); }), 1.1),
                    tiling::comm(measured("copy", [&](std::int64_t n) { copy(m, 0, n); }), 1.1)};
  const auto decided = tiling::solve(problem);
  if (!decided) {
    std::fprintf(stderr, "%s\n", message(decided.error()).c_str());
    return 1;
  }

  multiply(m, 0, rows);
  const std::vector<float> expected = m.c;
  tiling::plan uncut;
  uncut.append(rows);
  bool same = true;
  for (const auto& [what, plan, predicted] :
       {std::tuple{"uncut", uncut, decided->serial}, std::tuple{"cut", *decided, decided->predicted}}) {
    std::vector<std::int64_t> first{0};
    for (const std::int64_t length : plan.tiles()) first.push_back(first.back() + length);
    // Product on stream 0, copy of the finished rows on stream 1.
    const auto list =
        launch::from_tiling(plan, std::array{tiling::phase_kind::compute, tiling::phase_kind::comm}).value();
    auto device = launch::host_backend::start(2).value();
    const auto body = [&](node_id tile, std::uint8_t phase, stream_id) {
      const std::int64_t from = first[tile], count = plan.tiles()[tile];
      if (phase == 0) multiply(m, from, count);
      else copy(m, from, count);
    };
    std::fill(m.c.begin(), m.c.end(), 0.0f);
    std::vector<double> us;
    for (int repeat = 0; repeat < 9; ++repeat)
      us.push_back(microseconds_of([&] { same = static_cast<bool>(device.run(list, body)) && same; }));
    same = same && m.c == expected && m.target == m.source;
    std::sort(us.begin(), us.end());
    std::printf("%-8s predicted %8.1f us, measured %8.1f us, tiles", what, microseconds(predicted).count(),
                us[us.size() / 2]);
    for (const std::int64_t length : plan.tiles()) std::printf(" %lld", static_cast<long long>(length));
    std::puts("");
  }
  return same && decided->predicted <= decided->serial ? 0 : 1;
}
