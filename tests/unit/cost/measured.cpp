// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measured curves: what they cover and take, call by call; measured values beside predictions.
#include <hocket/cost/measured_hardware.hpp>
#include <hocket/cost/measured_terms.hpp>
#include <hocket/curve/isotonic.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {
namespace measured {

namespace cost = hocket::cost;
namespace curve = hocket::curve;
using cost::collective, cost::layer_operation;

bool close(double mine, double theirs) { return std::abs(mine - theirs) <= 1e-12 * std::abs(theirs); }

cost::work_item sends(collective kind, std::int64_t ranks, double mib, std::int64_t calls = 1) {
  cost::work_item w;
  w.kind = kind;
  w.ranks = ranks;
  w.calls = calls;
  w.bytes.value = mib * 1048576;
  return w;
}

TEST_CASE("measured curves: microseconds over GFLOP of products, over MiB of the rest, of one call",
          "[cost][measured]") {
  const cost::machine rates{.gemm_flops = 1e14, .tensor_bytes = 1e11, .host_bytes = 1e10};
  cost::measured_hardware on(curve::affine{.fixed = 5, .per_size = 2}, curve::affine{.fixed = 7, .per_size = 3},
                             curve::affine{.fixed = 1, .per_size = 0.5}, rates);
  const auto us = [&](const cost::work_item& w) { return on.time(w).count() * 1e6; };
  cost::work_item products;
  products.flops.value = 4e9;
  CHECK(close(us(products), 5 + 2 * 4));
  products.by = layer_operation::attention;
  CHECK(close(us(products), 7 + 3 * 4));
  products.by = layer_operation::core;
  CHECK(close(us(products), 7 + 3 * 4));
  products.flops.value = 0.5;  // little work is work
  CHECK(close(us(products), 7 + 3 * 0.5e-9));
  cost::work_item moved;
  CHECK(us(moved) == 0);
  moved.bytes.value = 6 * 1048576;
  CHECK(close(us(moved), 1 + 0.5 * 6));
  moved.bytes.value = 0.5;
  CHECK(us(moved) > 1);
  moved.to_host = true;
  moved.bytes.value = 1e6;
  CHECK(close(us(moved), 100));

  // A collective of several calls takes each call's latency; where there is no curve, the link's rate.
  on.add({collective::all_gather, 4, cost::placement::node, curve::affine{.fixed = 20, .per_size = 10}, "a"});
  on.add({collective::all_gather, 4, cost::placement::between_nodes, curve::affine{.fixed = 90, .per_size = 30}, "b"});
  CHECK(close(us(sends(collective::all_gather, 4, 8)), 20 + 10 * 8));
  CHECK(close(us(sends(collective::all_gather, 4, 8, 4)), 4 * (20 + 10 * 2)));
  CHECK(close(us(sends(collective::all_gather, 8, 8)), 8 * 1048576 / 1e11 * 1e6));
  CHECK(close(us(sends(collective::all_reduce, 4, 8)), 8 * 1048576 / 1e11 * 1e6));
  CHECK(on.find(collective::all_gather, 4)->source == "a");
  on.ranks_per_node = 4;
  CHECK(on.find(collective::all_gather, 4)->source == "a");
  on.ranks_per_node = 3;
  CHECK(on.find(collective::all_gather, 4)->source == "b");
  CHECK(close(us(sends(collective::all_gather, 4, 8)), 90 + 30 * 8));
  CHECK(on.find(collective::all_gather, 2) == nullptr);
  on.overlaps[static_cast<std::size_t>(cost::axis::expert)] = 0.5;
  CHECK(cost::overlap_of(on, cost::axis::expert) == 0.5);
  CHECK(cost::overlap_of(on, cost::axis::data) == 0);
  CHECK(cost::host_of(on).host_bytes == 1e10);
}

TEST_CASE("measured curves cover what lies between their first and last sample", "[cost][measured]") {
  const auto between = [](double low, double high) {
    const curve::sample samples[] = {{.size = low, .us = 1}, {.size = high, .us = 2}};
    return curve::any_curve(curve::fit_isotonic(samples).value().curve);
  };
  cost::measured_hardware on(between(1, 10), between(100, 200), between(4, 8), {});
  on.add({collective::all_gather, 4, cost::placement::node, between(2, 3), "a"});
  cost::work_item products;
  const auto covers_flops = [&](double giga, layer_operation by) {
    products.flops.value = giga * 1e9;
    products.by = by;
    return on.covers(products);
  };
  CHECK(covers_flops(5, layer_operation::qkv));
  CHECK_FALSE(covers_flops(150, layer_operation::qkv));
  CHECK(covers_flops(150, layer_operation::attention));
  CHECK_FALSE(covers_flops(5, layer_operation::attention));
  CHECK_FALSE(covers_flops(1e-9, layer_operation::qkv));
  cost::work_item moved;
  moved.bytes.value = 6 * 1048576;
  CHECK(on.covers(moved));
  moved.bytes.value = 9 * 1048576;
  CHECK_FALSE(on.covers(moved));
  moved.bytes.value = 6 * 1048576;
  moved.to_host = true;
  CHECK_FALSE(on.covers(moved));
  CHECK(on.covers(sends(collective::all_gather, 4, 2.5)));
  CHECK_FALSE(on.covers(sends(collective::all_gather, 4, 10)));
  CHECK(on.covers(sends(collective::all_gather, 4, 10, 4)));  // of each call a quarter
  CHECK_FALSE(on.covers(sends(collective::all_gather, 4, 2.5, 4)));
  CHECK_FALSE(on.covers(sends(collective::all_gather, 8, 2.5)));
}

TEST_CASE("measured values beside predictions: seconds before bytes before rates, the biggest difference first",
          "[cost][measured]") {
  using what = cost::step_quantity;
  std::mt19937 draw(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<cost::step_value> predicted, given;
    for (std::size_t q = 0; q < cost::step_quantity_count; ++q) {
      const auto quantity = static_cast<what>(q);
      const auto number = [&] { return static_cast<double>(draw() % 5); };
      if (draw() % 2 == 0) predicted.push_back({quantity, number(), "p" + std::to_string(q)});
      if (draw() % 3 != 0) given.push_back({quantity, number(), "m" + std::to_string(q)});
    }
    std::shuffle(given.begin(), given.end(), draw);
    const auto compared = cost::compare_values(predicted, given);
    REQUIRE(compared.size() == given.size());
    const auto key = [](const cost::compared_value& c) {
      const int unit = c.what == what::memory_peak ? 1 : c.what == what::device_flops ? 2 : 0;
      return std::tuple(unit, c.predicted ? 0 : 1, -std::abs(c.difference()));
    };
    for (std::size_t i = 0; i < compared.size(); ++i) {
      const cost::compared_value& c = compared[i];
      const auto same = [&](const cost::step_value& v) { return v.what == c.what; };
      const auto from = std::find_if(given.begin(), given.end(), same);
      const auto said = std::find_if(predicted.begin(), predicted.end(), same);
      REQUIRE(from != given.end());
      CHECK(c.measured == from->value);
      CHECK(c.note == from->note);
      CHECK(c.predicted.has_value() == (said != predicted.end()));
      if (c.predicted) CHECK(*c.predicted == said->value);
      CHECK(c.predicted_note == (c.predicted ? said->note : ""));
      CHECK(c.difference() == (c.predicted ? c.measured - said->value : 0));
      CHECK(c.relative() == (c.measured != 0 ? c.difference() / c.measured : 0));
      if (i == 0) continue;
      const cost::compared_value& before = compared[i - 1];
      CHECK_FALSE(key(c) < key(before));
      if (key(c) == key(before)) {  // of equals the first stays first
        const auto place = [&](const cost::compared_value& v) {
          return std::find_if(given.begin(), given.end(), [&](const auto& x) { return x.what == v.what; }) -
                 given.begin();
        };
        CHECK(place(before) < place(c));
      }
    }
  }
  CHECK(cost::unit_name(what::step) == "second");
  CHECK(cost::unit_name(what::memory_peak) == "byte");
  CHECK(cost::unit_name(what::device_flops) == "FLOP/s");
  CHECK(cost::to_string(what::step) == "step");
  CHECK(cost::to_string(what::device_flops) == "FLOP/s of a device");
  CHECK(cost::compared_value{}.relative() == 0);
}

}  // namespace measured
}  // namespace
