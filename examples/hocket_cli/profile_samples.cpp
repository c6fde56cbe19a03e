// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Samples for the fit of a cost curve, straight from a profile.
#include <hocket/interop/ascend/profile_samples.hpp>

#include <charconv>
#include <cstdio>
#include <set>
#include <span>
#include <string>

#include "profile.hpp"

namespace hocket_cli {

namespace ascend = hocket::ascend;

namespace {

std::string shape_of(const ascend::product_samples& s) {
  return std::to_string(s.inner) + ',' + std::to_string(s.columns);
}

const ascend::product_samples& chosen_product(std::span<const ascend::product_samples> groups,
                                              const profile_question& q) {
  std::string shapes;
  const ascend::product_samples* found = nullptr;
  for (const auto& g : groups) {
    shapes += (shapes.empty() ? "" : "; ") + shape_of(g) + " (" + std::to_string(g.samples.size()) + " runs)";
    if (q.samples_shape == shape_of(g) || (q.samples_shape.empty() && groups.size() == 1)) found = &g;
  }
  if (found == nullptr && q.samples_shape.empty())
    fail(q.samples_of + " ran with several right matrices: choose one with --samples-shape K,N: " + shapes);
  if (found == nullptr) fail("--samples-shape " + q.samples_shape + ": there is none, but there are " + shapes);
  return *found;
}

// What a type that gave no samples could have been.
[[noreturn]] void no_samples(const ascend::profile& p, const profile_question& q) {
  bool is_collective = false, is_there = false;
  for (const auto& k : p.kernels)
    if (k.type == q.samples_of) {
      is_there = true;
      is_collective |= k.communicates;
    }
  if (is_collective) fail("tables of ops do not say how much " + q.samples_of + " moved: add communication.json");
  if (is_there) fail("no run of " + q.samples_of + " has shapes of a matrix product");
  std::set<std::string> types;
  for (const auto& k : p.kernels)
    if (ascend::product_of(k)) types.insert(k.type);
  std::string known;
  for (const auto& t : types) known += (known.empty() ? ": there are " : ", ") + t;
  fail("no op of type " + q.samples_of + " can give samples" + known);
}

std::string csv_of(std::span<const hocket::curve::sample> samples, double bytes_per_row) {
  std::string out = "size,time_us\n";
  for (const auto& s : samples) {
    char line[96];
    const double size = s.size / bytes_per_row;
    const auto end = std::to_chars(line, line + sizeof line, size).ptr;
    out.append(line, end);
    std::snprintf(line, sizeof line, ",%.3f\n", s.us);
    out += line;
  }
  return out;
}

}  // namespace

std::string profile_samples(const ascend::profile& p, const profile_question& q) {
  const auto moved = ascend::sample_collectives(p.collectives, q.samples_of);
  if (!moved.empty()) return csv_of(moved, q.bytes_per_row > 0 ? static_cast<double>(q.bytes_per_row) : 1);
  if (q.bytes_per_row > 0) throw failure{2, "--bytes-per-row is for collectives, of which there are none of that name"};
  const auto groups = ascend::sample_products(p.kernels, q.samples_of);
  if (groups.empty()) no_samples(p, q);
  return csv_of(chosen_product(groups, q).samples, 1);
}

}  // namespace hocket_cli
