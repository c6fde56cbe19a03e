// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fits beside slow ones that are written from their definitions and share no code with the library.
#include <hocket/core.hpp>
#include <hocket/curve.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "catch.hpp"

namespace curve = hocket::curve;
using curve::sample;

namespace curve_fits {
namespace {

struct point {
  double x, y, weight;
};
using points = std::vector<point>;

bool close(double a, double b) { return std::fabs(a - b) <= 1e-8 * (1 + std::fabs(b)); }

/// One point a size: the median of its times, each as often as it was repeated.
points medians_of(const std::vector<sample>& samples) {
  std::map<double, std::vector<double>> times;
  for (const sample& s : samples) times[s.size].insert(times[s.size].end(), static_cast<std::size_t>(s.repeats), s.us);
  points out;
  for (auto& [size, us] : times) {
    std::sort(us.begin(), us.end());
    out.push_back({size, us[(us.size() - 1) / 2], static_cast<double>(us.size())});
  }
  return out;
}

/// Isotonic regression by the formula of minima and maxima, with weights of relative errors.
std::vector<double> levels_of(const points& p) {
  std::vector<double> out;
  for (std::size_t i = 0; i < p.size(); ++i) {
    double highest = -1;
    for (std::size_t a = 0; a <= i; ++a) {
      double lowest = std::numeric_limits<double>::infinity();
      for (std::size_t b = i; b < p.size(); ++b) {
        double sum = 0, weight = 0;
        for (std::size_t j = a; j <= b; ++j) {
          sum += p[j].weight / p[j].y;
          weight += p[j].weight / (p[j].y * p[j].y);
        }
        lowest = (std::min)(lowest, sum / weight);
      }
      highest = (std::max)(highest, lowest);
    }
    out.push_back(highest);
  }
  return out;
}

double between(const points& p, const std::vector<double>& us, double x) {
  std::size_t i = 1;
  while (i + 1 < p.size() && p[i].x < x) ++i;
  return us[i - 1] + (us[i] - us[i - 1]) * (x - p[i - 1].x) / (p[i].x - p[i - 1].x);
}

points without(const points& p, std::size_t i) {
  points out = p;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
  return out;
}

struct line {
  double below = std::numeric_limits<double>::infinity(), fixed = 0, slope = 0, error = 0;
};

/// The line of least relative error through points [begin, end): rising, and not negative at 0 if it is the first.
line line_of(const points& p, std::size_t begin, std::size_t end) {
  const auto error_of = [&](double fixed, double slope) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double e = (fixed + slope * p[i].x) / p[i].y - 1;
      sum += p[i].weight * e * e;
    }
    return sum;
  };
  double weight = 0, mean_x = 0, mean_y = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double w = p[i].weight / (p[i].y * p[i].y);
    weight += w;
    mean_x += w * p[i].x;
    mean_y += w * p[i].y;
  }
  mean_x /= weight;
  mean_y /= weight;
  double square = 0, product = 0, x_square = 0, xy = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double w = p[i].weight / (p[i].y * p[i].y);
    square += w * (p[i].x - mean_x) * (p[i].x - mean_x);
    product += w * (p[i].x - mean_x) * (p[i].y - mean_y);
    x_square += w * p[i].x * p[i].x;
    xy += w * p[i].x * p[i].y;
  }
  line out;
  out.slope = end - begin > 1 ? (std::max)(0.0, product / square) : 0;
  out.fixed = mean_y - out.slope * mean_x;
  if (begin == 0 && out.fixed < 0) {
    out.fixed = 0;
    out.slope = xy / x_square;
  }
  out.error = error_of(out.fixed, out.slope);
  return out;
}

/// The best of all ways to cut the points into so many pieces of two points or more, joints raised.
std::vector<line> pieces_of(points p, std::size_t most) {
  const std::vector<double> level = levels_of(p);
  for (std::size_t i = 0; i < p.size(); ++i) p[i].y = level[i];
  const std::size_t pieces = (std::min)(most, (std::max)(p.size() / 2, std::size_t{1}));
  std::vector<line> best, now;
  double least = std::numeric_limits<double>::infinity();
  const std::function<void(std::size_t, double)> cut = [&](std::size_t begin, double error) {
    if (now.size() + 1 == pieces) {
      now.push_back(line_of(p, begin, p.size()));
      if (error + now.back().error < least) {
        least = error + now.back().error;
        best = now;
      }
      now.pop_back();
      return;
    }
    for (std::size_t end = begin + 2; end + 2 <= p.size(); ++end) {
      now.push_back(line_of(p, begin, end));
      now.back().below = p[end].x;
      cut(end, error + now.back().error);
      now.pop_back();
    }
  };
  cut(0, 0);
  double end = 0;
  for (std::size_t k = 0; k < best.size(); ++k) {
    const double start = best[k].fixed + best[k].slope * (k == 0 ? 0 : best[k - 1].below);
    best[k].fixed += (std::max)(0.0, end - start);
    end = best[k].fixed + best[k].slope * best[k].below;
  }
  return best;
}

double time_of(const std::vector<line>& pieces, double x) {
  for (const line& f : pieces)
    if (x < f.below) return f.fixed + f.slope * x;
  return 0;
}

/// Times that mostly grow, some sizes several times.
std::vector<sample> random_samples(std::mt19937_64& random, std::size_t sizes, double noise) {
  const auto any = [&] { return static_cast<double>(random() % 10'000) / 10'000; };
  std::vector<sample> out;
  double x = any(), us = 1 + any();
  for (std::size_t i = 0; i < sizes; ++i) {
    x += 0.1 + any();
    us += any() * (i > sizes / 2 ? 3 : 0.5);
    for (std::uint64_t again = random() % 3; again != ~std::uint64_t{0}; --again)
      out.push_back({x, us * (1 + noise * (any() - 0.5)), static_cast<std::int64_t>(1 + random() % 3)});
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

}  // namespace

TEST_CASE("the isotonic fit is the one of the formula, and so are its errors", "[curve]") {
  std::mt19937_64 random(31);
  for (int round = 0; round < 300; ++round) {
    INFO(round);
    const std::size_t sizes = round % 10 == 9 ? 40 : 2 + random() % 9;
    const auto samples = random_samples(random, sizes, round % 2 == 0 ? 0.6 : 0.1);
    const points p = medians_of(samples);
    const std::vector<double> level = levels_of(p);
    const auto fit = curve::fit_isotonic(samples);
    REQUIRE(fit);
    double mean = 0, worst = 0, unseen = 0;
    std::int64_t pooled = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      CHECK(close(fit->curve.time(p[i].x), level[i]));
      const double e = std::fabs(level[i] / p[i].y - 1);
      mean += e / static_cast<double>(p.size());
      worst = (std::max)(worst, e);
      pooled += e > 1e-9 ? 1 : 0;
      if (i == 0 || i + 1 == p.size()) continue;
      const points others = without(p, i);
      unseen += std::fabs(between(others, levels_of(others), p[i].x) / p[i].y - 1) / static_cast<double>(p.size() - 2);
    }
    CHECK(close(fit->mean_error, mean));
    CHECK(close(fit->worst_error, worst));
    CHECK(close(fit->leave_one_out_error, unseen));
    CHECK(fit->pooled == pooled);
    CHECK(fit->merged == static_cast<std::int64_t>(samples.size() - p.size()));
    CHECK(std::is_sorted(fit->repairs.begin(), fit->repairs.end(), [](const auto& a, const auto& b) {
      return a.size != b.size ? a.size < b.size : static_cast<int>(a.kind) < static_cast<int>(b.kind);
    }));
  }
}

TEST_CASE("twice and half of the median are not far from it", "[curve]") {
  CHECK(curve::fit_isotonic(std::vector<sample>{{1, 2, 2}, {1, 4, 1}, {1, 9, 2}, {2, 20}}).has_value());
  CHECK(curve::fit_isotonic(std::vector<sample>{{1, 1, 2}, {1, 4, 1}, {1, 8, 2}, {2, 20}}).has_value());
  CHECK_FALSE(curve::fit_isotonic(std::vector<sample>{{1, 1, 2}, {1, 4, 1}, {1, 9, 2}, {2, 20}}).has_value());
}

TEST_CASE("segments are the best of all cuts, as many as predict unseen sizes best", "[curve]") {
  std::mt19937_64 random(32);
  std::size_t several = 0;
  for (int round = 0; round < 250; ++round) {
    INFO(round);
    const auto samples = random_samples(random, 2 + random() % 8, round % 3 == 0 ? 0.6 : 0.02);
    const points p = medians_of(samples);
    const std::size_t most = 1 + random() % 4;
    std::size_t pieces = 1;
    double least = 0;
    for (std::size_t k = 1; k <= most; ++k) {
      double unseen = 0;
      for (std::size_t i = 1; i + 1 < p.size() && p.size() > 3; ++i)
        unseen +=
            std::fabs(time_of(pieces_of(without(p, i), k), p[i].x) / p[i].y - 1) / static_cast<double>(p.size() - 2);
      if (k > 1 && !(unseen < 0.99 * least)) continue;
      pieces = k;
      least = unseen;
    }
    const std::vector<line> wanted = pieces_of(p, pieces);
    several += wanted.size() > 1 ? 1u : 0u;
    const auto fit = curve::fit_segments(samples, static_cast<std::int64_t>(most));
    REQUIRE(fit);
    CHECK(fit->curve.size() == wanted.size());
    CHECK(close(fit->leave_one_out_error, least));
    double mean = 0, worst = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double e = time_of(wanted, p[i].x) / p[i].y - 1;
      CHECK(close(fit->curve.time(p[i].x), time_of(wanted, p[i].x)));
      CHECK(close(fit->residuals[i], e));
      mean += std::fabs(e) / static_cast<double>(p.size());
      worst = (std::max)(worst, std::fabs(e));
    }
    for (double x = 0; x < 2 * p.back().x; x += p.back().x / 64) CHECK(close(fit->curve.time(x), time_of(wanted, x)));
    CHECK(close(fit->mean_error, mean));
    CHECK(close(fit->worst_error, worst));
    const std::vector<double> level = levels_of(p);
    std::size_t pooled = 0;
    for (std::size_t i = 0; i < p.size(); ++i) pooled += std::fabs(level[i] / p[i].y - 1) > 1e-9 ? 1u : 0u;
    CHECK(pooled ==
          static_cast<std::size_t>(std::count_if(fit->repairs.begin(), fit->repairs.end(), [](const curve::repair& r) {
            return r.kind == curve::repair_kind::pooled;
          })));
  }
  CHECK(several > 50);
}

TEST_CASE("sizes to measure halve the widest gap of times, as a slow reading of the rule says", "[curve]") {
  std::mt19937_64 random(33);
  for (int round = 0; round < 200; ++round) {
    INFO(round);
    std::vector<sample> samples;
    for (double x = 1 + static_cast<double>(random() % 50), us = 5; samples.size() < 2 + random() % 5;
         x += 1 + static_cast<double>(random() % 300), us *= 1 + static_cast<double>(random() % 100) / 100)
      samples.push_back({x, us});
    if (round % 5 == 0) samples.clear();
    const curve::interval wanted{1 + static_cast<double>(random() % 100), 120 + static_cast<double>(random() % 900)};
    std::map<double, double> known;
    for (const sample& s : samples) known[s.size] = s.us;
    double sizes[6];
    const auto written = curve::sizes_to_measure(samples, wanted, sizes);
    REQUIRE(written);
    std::size_t next = 0;
    // Each size that was written is one that the rule allows; gaps that are equally wide may come in any order.
    const auto add = [&](double x) {
      const auto after = known.upper_bound(x);
      double us = x;
      if (!samples.empty() && after == known.end()) us = known.rbegin()->second * x / known.rbegin()->first;
      else if (!samples.empty() && after == known.begin()) us = after->second * x / after->first;
      else if (!samples.empty()) us = std::sqrt(std::prev(after)->second * after->second);
      known[x] = us;
    };
    const auto expect = [&](double x) {
      REQUIRE(next < *written);
      CHECK(sizes[next++] == x);
      add(x);
    };
    if (known.empty() || known.begin()->first > wanted.least) expect(wanted.least);
    if (known.rbegin()->first < wanted.most) expect(wanted.most);
    const std::size_t ends = next;
    for (bool found = true; found && next < 6;) {
      double widest = 0;
      std::map<double, double> ratio_at;
      for (auto a = known.begin(), b = std::next(a); b != known.end(); ++a, ++b) {
        const double low = (std::max)(a->first, wanted.least), high = (std::min)(b->first, wanted.most);
        const double middle = std::round(std::sqrt(low * high));
        if (!(middle > low && middle < high)) continue;
        ratio_at[middle] = b->second / a->second;
        widest = (std::max)(widest, b->second / a->second);
      }
      found = widest > 0;
      if (!found) break;
      REQUIRE(next < *written);
      REQUIRE(ratio_at.count(sizes[next]) == 1);
      CHECK(ratio_at[sizes[next]] >= widest * (1 - 1e-9));
      add(sizes[next++]);
    }
    CHECK(next == *written);
    double first[1];
    REQUIRE(curve::sizes_to_measure(samples, wanted, first).value() == (std::min)(*written, std::size_t{1}));
    if (*written > 0 && (ends > 0 || *written == 1)) CHECK(first[0] == sizes[0]);
  }
}

TEST_CASE("curves in groups, one after the other, rounded: domain and time", "[curve]") {
  const hocket::curve::affine f{.fixed = 2, .per_size = 1};
  const auto bounded = hocket::curve::bounded_to<hocket::curve::affine>{f, {3, 40}};
  CHECK(hocket::curve::domain(hocket::curve::grouped{bounded, 8}) == hocket::curve::interval{24, 320});
  CHECK(hocket::curve::grouped{bounded, 8}.time(80) == 8 * (2 + 10));
  CHECK(hocket::curve::sum_of{f, hocket::curve::affine{.fixed = 1, .per_size = 3}}.time(10) == 43);
  for (const double inside : {3.0, 40.0}) CHECK(hocket::curve::domain(bounded).contains(inside));
  for (const double outside : {2.9, 40.1}) CHECK_FALSE(hocket::curve::domain(bounded).contains(outside));
}

TEST_CASE("what is not said of a curve or a sample is nothing", "[curve]") {
  const hocket::curve::affine nothing{};
  CHECK(nothing.time(0) == 0);
  CHECK(nothing.time(1e9) == 0);
  CHECK(hocket::curve::affine{.per_size = 1}.time(0.25) == 0.25);
  const sample none{};
  CHECK(none.size + none.us == 0);
  CHECK(none.repeats == 1);
  const hocket::curve::matmul_roofline waves{.wave_us = 10, .cores = 4, .block_rows = 64};
  CHECK(waves.time(0) == 0);
  CHECK(waves.time(65) == 10);
  CHECK(waves.time(300) == 20);
  const hocket::curve::matmul_device device;
  CHECK(device.cores == 1);
  const hocket::curve::grouped<hocket::curve::affine> alone{.curve = {.fixed = 2, .per_size = 1}};
  CHECK(alone.time(80) == 82);
  const hocket::curve::scaled<hocket::curve::affine> same{.curve = {.fixed = 2, .per_size = 1}};
  CHECK(same.time(80) == 82);
  // 10 x 2 blocks of 128 x 256 on 10 cores: two waves of 10 blocks, 2 * 128 * 256 * 1024 FLOPs each, 10^8 in a us.
  const auto product = hocket::curve::matmul_roofline::of(1024, 512, 2, {.tflops = 100, .cores = 10});
  CHECK(close(product.time(1280), 2 * 10 * 2 * 128 * 256 * 1024 / 1e8));
}

TEST_CASE("a polynomial that turns at every root of its slope is cut there", "[curve]") {
  // x^4 - 10 x^3 + 35 x^2 - 50 x + 30: three turning points between 1 and 4.
  const hocket::curve::polynomial<5> q{{30, -50, 35, -10, 1}};
  std::array<double, 6> cuts{};
  REQUIRE(q.monotone_stretches(0, 10, cuts) == 5);
  CHECK(cuts[0] == 0);
  CHECK(cuts[4] == 10);
  for (std::size_t i = 1; i < 4; ++i) {
    const double x = cuts[i], slope = -50 + 70 * x - 30 * x * x + 4 * x * x * x;
    CHECK(std::fabs(slope) < 1e-9);
  }
  CHECK(std::fabs(cuts[2] - 2.5) < 1e-12);
  // A slope that is 0 at an end, or without a change of sign, cuts nothing.
  std::array<double, 4> square{};
  for (const double low : {0.0, -3.0})
    CHECK(hocket::curve::polynomial<3>{{1, 0, 1}}.monotone_stretches(low, low + 3, square) == 2);
  std::array<double, 5> cube{};
  REQUIRE(hocket::curve::polynomial<4>{{2, 0, 0, 1}}.monotone_stretches(-1, 1, cube) == 2);
  CHECK((cube[0] == -1 && cube[1] == 1));
  for (const double sign : {1.0, -1.0}) {
    const hocket::curve::polynomial<4> flat{{0, 0, 0, sign}};
    CHECK(flat.monotone_stretches(-8, 8, cube) == 2);
    CHECK(flat.monotone_stretches(0, 8, cube) == 2);
  }
  // The bound of roots is Cauchy's: 1 + max |c_i / c_n| of those below the degree, zeros above it left out.
  CHECK(q.root_bound() == 51);
  CHECK(hocket::curve::polynomial<3>{{0.5, 0, 1}}.root_bound() == 1.5);
  CHECK(hocket::curve::polynomial<4>{{-6, 2, 0, 0}}.root_bound() == 4);
  CHECK(hocket::curve::polynomial<4>{{-6, 2, 0, 0}}.degree() == 1);
  CHECK(close(hocket::curve::polynomial<3>{{8, -6, 1}}.root(3, 10), 4));
}

}  // namespace curve_fits
