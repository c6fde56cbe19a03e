// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile plans: hocket.h over hocket::tiling and hocket::curve.
#include "border.hpp"

#include <hocket/curve.hpp>
#include <hocket/tiling.hpp>

#include <bit>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;
using hocket_c::array;
using hocket_c::guarded;
using hocket_c::refuse;

struct hocket_tiling {
  tiling::any_problem problem;
};
struct hocket_tile_plan {
  tiling::plan plan;
};

namespace {

// The shortest digits that say the number, in any locale.
std::string as_text(double x) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, x).ptr};
}

// The problem with one phase more, if that makes sense.
hocket_status add_phase(hocket_tiling& to, int phase, curve::any_curve cost, double overlap, hocket_error* error) {
  if (phase != HOCKET_PHASE_COMPUTE && phase != HOCKET_PHASE_COMM)
    return refuse(error,
                  "phase is " + std::to_string(phase) + ", but must be HOCKET_PHASE_COMPUTE or HOCKET_PHASE_COMM");
  if (!(overlap >= 1))  // also what is no number; below, a cut operator would beat its own work
    return refuse(error, "overlap is " + as_text(overlap) + ", but must be at least 1, which slows no tile");
  to.problem.phases.push_back({static_cast<tiling::phase_kind>(phase), std::move(cost), overlap});
  const auto good = check(to.problem);
  if (good) return HOCKET_OK;
  to.problem.phases.pop_back();
  return refuse(error, good.error());
}

double us_of(hocket::picoseconds time) noexcept { return hocket::microseconds(time).count(); }

}  // namespace

hocket_status hocket_tiling_create(int64_t rows, int64_t align_rows, int64_t max_tiles, hocket_tiling** out,
                                   hocket_error* error) {
  return guarded(error, {{"out", out}}, [&] {
    auto made = std::make_unique<hocket_tiling>();
    tiling::row_axis& axis = made->problem.axis;
    axis.rows = rows;
    if (align_rows != 0) axis.align = align_rows;
    if (max_tiles != 0) axis.max_tiles = max_tiles;
    // With a phase for the check alone, as there must be one.
    tiling::any_problem complete = made->problem;
    complete.phases.push_back({tiling::phase_kind::compute, curve::affine{}});
    if (const auto good = check(complete); !good) return refuse(error, good.error());
    *out = made.release();
    return hocket_status{HOCKET_OK};
  });
}

void hocket_tiling_destroy(hocket_tiling* t) { delete t; }

hocket_status hocket_tiling_set_product(hocket_tiling* t, int64_t k, int64_t n, int64_t element_bytes,
                                        hocket_error* error) {
  return guarded(error, {{"tiling", t}}, [&] {
    for (const std::int64_t size : {k, n, element_bytes})
      if (size < 1 || size > tiling::max_rows)
        return refuse(error, "k, n and element_bytes must be from 1 to 2^53, and one is " + std::to_string(size));
    t->problem.shape = {k, n, element_bytes};
    return hocket_status{HOCKET_OK};
  });
}

hocket_status hocket_tiling_add_affine(hocket_tiling* t, int phase, double fixed_us, double us_per_row, double min_rows,
                                       double overlap, hocket_error* error) {
  return guarded(error, {{"tiling", t}}, [&] {
    const curve::affine cost{.fixed = fixed_us, .per_size = us_per_row, .least = min_rows};
    if (const auto good = check(cost); !good) return refuse(error, good.error());
    return add_phase(*t, phase, cost, overlap, error);
  });
}

hocket_status hocket_tiling_add_table(hocket_tiling* t, int phase, size_t count, const double* rows, const double* us,
                                      double overlap, hocket_error* error) {
  return guarded(error, {{"tiling", t}, array("rows", rows, count), array("us", us, count)}, [&] {
    auto cost = curve::table::make(std::vector<double>(rows, rows + count), std::vector<double>(us, us + count));
    if (!cost) return refuse(error, cost.error());
    return add_phase(*t, phase, *std::move(cost), overlap, error);
  });
}

hocket_status hocket_tiling_add_samples(hocket_tiling* t, int phase, size_t count, const double* rows, const double* us,
                                        double overlap, double* mean_error, hocket_error* error) {
  return guarded(error, {{"tiling", t}, array("rows", rows, count), array("us", us, count)}, [&] {
    std::vector<curve::sample> samples;
    for (std::size_t i = 0; i < count; ++i) samples.push_back({rows[i], us[i]});
    auto fitted = curve::fit_isotonic(samples);
    if (!fitted) return refuse(error, fitted.error());
    const double off = fitted->mean_error;
    const hocket_status added = add_phase(*t, phase, std::move(fitted->curve), overlap, error);
    if (added == HOCKET_OK && mean_error != nullptr) *mean_error = off;
    return added;
  });
}

hocket_status hocket_tiling_solve(const hocket_tiling* t, const char* policy, hocket_tile_plan** out,
                                  hocket_error* error) {
  return guarded(error, {{"tiling", t}, {"out", out}}, [&] {
    const auto chosen = tiling::parse_policy(policy == nullptr ? "auto" : policy);
    if (!chosen) {
      std::string sentence = "there is no tiling policy \"";
      hocket::append_printable(sentence, std::string_view(policy).substr(0, hocket::error::word_capacity));
      sentence += "\", but";
      for (std::size_t i = 0; i < tiling::policy_count; ++i)
        sentence += (i == 0 ? " " : ", ") + std::string(to_string(static_cast<tiling::policy>(i)));
      return refuse(error, sentence);
    }
    const auto plan = tiling::solve(t->problem, {.policy = *chosen});
    if (!plan) return refuse(error, plan.error());
    *out = new hocket_tile_plan{*plan};
    return hocket_status{HOCKET_OK};
  });
}

void hocket_tile_plan_destroy(hocket_tile_plan* p) { delete p; }

size_t hocket_tile_plan_count(const hocket_tile_plan* p) { return p == nullptr ? 0 : p->plan.tiles().size(); }
const int64_t* hocket_tile_plan_rows(const hocket_tile_plan* p) {
  return p == nullptr ? nullptr : p->plan.tiles().data();
}
double hocket_tile_plan_predicted_us(const hocket_tile_plan* p) { return p == nullptr ? 0 : us_of(p->plan.predicted); }
double hocket_tile_plan_serial_us(const hocket_tile_plan* p) { return p == nullptr ? 0 : us_of(p->plan.serial); }
double hocket_tile_plan_lower_bound_us(const hocket_tile_plan* p) {
  return p == nullptr ? 0 : us_of(p->plan.lower_bound);
}
const char* hocket_tile_plan_policy(const hocket_tile_plan* p) {
  return p == nullptr ? nullptr : to_string(p->plan.decided_by).data();  // literals
}
const char* hocket_tile_plan_flag(const hocket_tile_plan* p, size_t index) {
  if (p == nullptr) return nullptr;
  for (std::size_t i = 0; i < tiling::flag_count; ++i) {
    const auto flag = static_cast<tiling::flag>(1u << i);
    if (!p->plan.flags.has(flag)) continue;
    if (index == 0) return to_string(flag).data();  // literals
    --index;
  }
  return nullptr;
}
