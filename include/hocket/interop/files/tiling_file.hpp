// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/time.hpp>
#include <hocket/curve/affine.hpp>
#include <hocket/curve/alpha_beta.hpp>
#include <hocket/curve/any_curve.hpp>
#include <hocket/curve/matmul_roofline.hpp>
#include <hocket/curve/table.hpp>
#include <hocket/interop/files/json_object.hpp>
#include <hocket/tiling.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

namespace detail {

inline constexpr std::size_t most_curve_points = 1'000'000;

inline void fail_in(const json_object& field, const std::string& sentence) {
  field.errors().add(std::string(field.file()) + ": \"" + field.path() + "\": " + sentence);
}

inline curve::any_curve read_piecewise(const json_object& v) {
  const double bytes = v.positive("bytes_per_row");
  std::array<curve::stored_polynomial::piece, 16> read{};
  const nlohmann::json& pieces = v.at("pieces");
  if (!pieces.is_array() || pieces.empty() || pieces.size() > read.size()) {
    v.fail_at("pieces", "must be an array of 1 to " + std::to_string(read.size()) + " pieces");
    return curve::affine{};
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const json_object piece(pieces[i], v.file(), v.name("pieces") + "[" + std::to_string(i) + "]",
                            {"below", "coefficients"}, v.errors());
    read[i].below = piece.number_or("below", read[i].below);
    const std::vector<double> c = piece.numbers("coefficients", read[i].coefficients.size());
    if (c.empty()) piece.fail_at("coefficients", "must have at least one number");
    for (std::size_t j = 0; j < c.size(); ++j) read[i].coefficients[j] = c[j];
  }
  auto made =
      curve::stored_polynomial::make(std::span<const curve::stored_polynomial::piece>(read.data(), pieces.size()));
  if (!made) {
    fail_in(v, message(made.error()) + " (sizes in MiB)");
    return curve::affine{};
  }
  return {*made, bytes / 1048576.0};
}

inline curve::any_curve read_roofline(const json_object& v) {
  curve::matmul_device on{.tflops = v.positive("tflops"), .launch_us = v.not_negative_or("launch_us", 0)};
  on.gb_per_s = v.has("gb_per_s") ? v.positive("gb_per_s") : 0;
  on.cores = v.integer_or("cores", on.cores, 1, tiling::max_rows);
  on.block_rows = v.integer_or("block_rows", on.block_rows, 1, tiling::max_rows);
  on.block_columns = v.integer_or("block_columns", on.block_columns, 1, tiling::max_rows);
  const auto f = curve::matmul_roofline::of(v.integer("k", 1, tiling::max_rows), v.integer("n", 1, tiling::max_rows),
                                            v.integer_or("element_bytes", 2, 1, 64), on);
  if (auto good = check(f); !good) fail_in(v, message(good.error()));
  return f;
}

inline curve::any_curve read_alpha_beta(const json_object& v) {
  const curve::alpha_beta f{.alpha_us = v.not_negative_or("alpha_us", 0), .gb_per_s = v.positive("gb_per_s")};
  return {f, v.positive("bytes_per_row")};
}

/// "domain": [least, most], in rows.
inline curve::any_curve with_domain(const json_object& v, const curve::any_curve& f) {
  if (!v.has("domain")) return f;
  const std::vector<double> d = v.numbers("domain", 2);
  if (d.size() != 2 || !(d[0] >= 0 && d[0] <= d[1])) v.fail_at("domain", "must be the least and the most rows");
  if (!v.errors().none()) return f;
  return f.within({d[0], d[1]});
}

inline curve::any_curve read_cost_curve(const nlohmann::json& value, std::string_view file, const std::string& path,
                                        file_errors& errors) {
  const std::string type = value.is_object() && value.contains("type") ? value["type"].dump() : "";
  if (type == "\"affine\"") {
    const json_object v(value, file, path, {"type", "fixed_us", "us_per_row", "min_rows", "domain"}, errors);
    const curve::affine f{.fixed = v.not_negative_or("fixed_us", 0),
                          .per_size = v.not_negative("us_per_row"),
                          .least = v.not_negative_or("min_rows", 0)};
    return with_domain(v, f);
  }
  if (type == "\"piecewise\"") {
    const json_object v(value, file, path, {"type", "bytes_per_row", "pieces", "domain"}, errors);
    return with_domain(v, read_piecewise(v));
  }
  if (type == "\"roofline\"") {
    const json_object v(value, file, path,
                        {"type", "k", "n", "element_bytes", "tflops", "gb_per_s", "launch_us", "cores", "block_rows",
                         "block_columns", "domain"},
                        errors);
    return with_domain(v, read_roofline(v));
  }
  if (type == "\"alpha_beta\"") {
    const json_object v(value, file, path, {"type", "alpha_us", "gb_per_s", "bytes_per_row", "domain"}, errors);
    return with_domain(v, read_alpha_beta(v));
  }
  if (type == "\"table\"") {
    const json_object v(value, file, path, {"type", "rows", "us"}, errors);
    const auto rows =
        v.numbers("rows", most_curve_points);  // in turn: the first that is wrong is named, by every compiler
    auto made = curve::table::make(rows, v.numbers("us", most_curve_points));
    if (made) return std::move(made).value();
    fail_in(v, message(made.error()));
    return curve::affine{};
  }
  errors.add(std::string(file) + ": \"" + path +
             "\" must be an object with a \"type\" of affine, piecewise, table, roofline or alpha_beta, but " +
             (type.empty() ? "has none" : "its type is " + shown(value["type"])));
  return curve::affine{};
}

}  // namespace detail

/// The problem of a fused operator (docs/tiling.md, "The file").
/// @param path  of the problem within the file, "" if it is the whole file
[[nodiscard]] inline tiling::any_problem read_tiling_problem(const nlohmann::json& value, std::string_view file,
                                                             const std::string& path, file_errors& errors) {
  const json_object v(value, file, path,
                      {"version", "rows", "shape", "align", "least_tile", "max_tiles", "remainder", "phases", "overlap",
                       "contention", "format", "shorter"},
                      errors);
  (void)v.integer_or("version", 1, 1, 1);
  tiling::any_problem p;
  p.axis.rows = v.integer("rows");
  p.axis.align = v.integer_or("align", p.axis.align);
  p.axis.least_tile = v.integer_or("least_tile", p.axis.least_tile);
  p.axis.max_tiles = v.integer_or("max_tiles", p.axis.max_tiles);
  if (v.has("remainder"))
    p.axis.rest = static_cast<tiling::remainder>(v.choice("remainder", {"either", "first", "last"}));
  if (v.has("format"))
    p.axis.format = static_cast<tiling::tile_format>(v.choice("format", {"any", "two-runs", "one-plus-n", "uniform"}));
  if (v.has("shorter"))
    p.axis.shorter = static_cast<tiling::short_end>(v.choice("shorter", {"either", "first", "last"}));
  if (v.has("contention"))
    p.slowdown = static_cast<tiling::contention>(v.choice("contention", {"fixed", "while-both"}));
  if (v.has("shape")) {
    const json_object shape = v.object("shape", {"k", "n", "element_bytes"});
    p.shape.k = shape.integer_or("k", 0);
    p.shape.n = shape.integer_or("n", 0);
    p.shape.element_bytes = shape.integer_or("element_bytes", p.shape.element_bytes);
  }
  double overlap[2] = {1, 1};  // by phase_kind
  if (v.has("overlap")) {
    const json_object factors = v.object("overlap", {"compute", "comm"});
    if (factors.has("compute")) overlap[0] = factors.positive("compute");
    if (factors.has("comm")) overlap[1] = factors.positive("comm");
  }
  const nlohmann::json& phases = v.at("phases");
  if (!phases.is_array() || phases.empty() || phases.size() > tiling::max_phases) {
    v.fail_at("phases", "must be an array of 1 to " + std::to_string(tiling::max_phases) + " phases");
    return p;
  }
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const json_object phase(phases[i], file, v.name("phases") + "[" + std::to_string(i) + "]",
                            {"kind", "cost", "ready_us", "groups"}, errors);
    const std::size_t kind = phase.choice("kind", {"compute", "comm"});
    const std::int64_t groups = phase.integer_or("groups", 1, 1, 1'000'000);
    p.phases.push_back({static_cast<tiling::phase_kind>(kind),
                        detail::read_cost_curve(phase.at("cost"), file, phase.name("cost"), errors).in_groups(groups),
                        overlap[kind], microseconds(phase.not_negative_or("ready_us", 0))});
  }
  if (!errors.none()) return p;
  if (const auto sound = check(p); !sound) errors.add(file, sound.error());
  return p;
}

/// The answer to it: tiles in execution order, times in microseconds.
[[nodiscard]] inline nlohmann::ordered_json tiling_answer(const tiling::plan& plan) {
  nlohmann::ordered_json answer;
  answer["version"] = 1;
  answer["tiles"] = std::vector<std::int64_t>(plan.tiles().begin(), plan.tiles().end());
  answer["predicted_us"] = microseconds(plan.predicted).count();
  answer["serial_us"] = microseconds(plan.serial).count();
  answer["lower_bound_us"] = microseconds(plan.lower_bound).count();
  answer["policy"] = to_string(plan.decided_by);
  answer["flags"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < tiling::flag_count; ++i) {
    const auto f = static_cast<tiling::flag>(1u << i);
    if (plan.flags.has(f)) answer["flags"].push_back(to_string(f));
  }
  if (const auto runs = plan.as_two_runs())
    answer["two_runs"] = {{"tileM", runs->tile_rows},
                          {"tileNum", runs->tile_count},
                          {"tailM", runs->tail_rows},
                          {"tailNum", runs->tail_count}};
  return answer;
}

}  // namespace hocket::inline HOCKET_ABI::interop
