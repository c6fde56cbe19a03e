// SPDX-License-Identifier: Apache-2.0
#include "tiling_problem.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"

namespace hocket_cli {
namespace {

using nlohmann::json;
namespace curve = hocket::curve;
namespace tiling = hocket::tiling;

constexpr std::size_t most_points = 1'000'000;

[[noreturn]] void fail_at(std::string_view where, const std::string& sentence) {
  fail(std::string(where) + ": " + sentence);
}

// A key that is misspelt must not be silently ignored.
void expect_object(const json& v, std::string_view where, const std::string& field,
                   std::initializer_list<std::string_view> keys) {
  if (!v.is_object()) fail_at(where, "\"" + field + "\" must be an object");
  for (const auto& [key, value] : v.items()) {
    bool known = false;
    for (const std::string_view k : keys) known = known || k == key;
    if (!known)
      fail_at(where, "\"" + field + "\" has an unknown field " +
                         json(key).dump(-1, ' ', true, json::error_handler_t::replace));
  }
}

double number(const json& v, std::string_view where, const std::string& field) {
  if (!v.is_number()) fail_at(where, "\"" + field + "\" must be a number");
  const double x = v.get<double>();
  if (!std::isfinite(x)) fail_at(where, "\"" + field + "\" must be finite");
  return x;
}
double number(const json& v, std::string_view where, const std::string& parent, const char* key, double otherwise) {
  return v.contains(key) ? number(v[key], where, parent + "." + key) : otherwise;
}
double number(const json& v, std::string_view where, const std::string& parent, const char* key) {
  if (!v.contains(key)) fail_at(where, "\"" + parent + "." + key + "\" is missing");
  return number(v[key], where, parent + "." + key);
}

std::int64_t integer(const json& v, std::string_view where, const char* key, std::int64_t otherwise) {
  if (!v.contains(key)) return otherwise;
  const json& x = v[key];
  const bool whole =
      x.is_number_unsigned() ? x.get<std::uint64_t>() <= std::uint64_t{INT64_MAX} : x.is_number_integer();
  if (!whole) fail_at(where, "\"" + std::string(key) + "\" must be a whole number");
  return x.get<std::int64_t>();
}

std::vector<double> numbers(const json& v, std::string_view where, const std::string& field) {
  if (!v.is_array()) fail_at(where, "\"" + field + "\" must be an array of numbers");
  if (v.size() > most_points)
    fail_at(where, "\"" + field + "\" has more than " + std::to_string(most_points) + " numbers");
  std::vector<double> out;
  out.reserve(v.size());
  for (const json& x : v) out.push_back(number(x, where, field));
  return out;
}

curve::any_curve read_piecewise(const json& v, std::string_view where, const std::string& field) {
  expect_object(v, where, field, {"type", "bytes_per_row", "pieces"});
  const double bytes = number(v, where, field, "bytes_per_row");
  if (bytes <= 0) fail_at(where, "\"" + field + ".bytes_per_row\" must be positive");
  if (!v.contains("pieces") || !v["pieces"].is_array() || v["pieces"].empty())
    fail_at(where, "\"" + field + ".pieces\" must be an array with at least one piece");
  const json& pieces = v["pieces"];
  std::array<curve::stored_polynomial::piece, 16> read{};
  if (pieces.size() > read.size()) fail_at(where, "\"" + field + ".pieces\" has more than 16 pieces");
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string name = field + ".pieces[" + std::to_string(i) + "]";
    expect_object(pieces[i], where, name, {"below", "coefficients"});
    if (pieces[i].contains("below")) read[i].below = number(pieces[i], where, name, "below");
    if (!pieces[i].contains("coefficients")) fail_at(where, "\"" + name + ".coefficients\" is missing");
    const std::vector<double> c = numbers(pieces[i]["coefficients"], where, name + ".coefficients");
    if (c.empty() || c.size() > read[i].coefficients.size())
      fail_at(where, "\"" + name + ".coefficients\" must have 1 to " + std::to_string(read[i].coefficients.size()) +
                         " numbers");
    for (std::size_t j = 0; j < c.size(); ++j) read[i].coefficients[j] = c[j];
  }
  auto made =
      curve::stored_polynomial::make(std::span<const curve::stored_polynomial::piece>(read.data(), pieces.size()));
  if (!made) fail_at(where, "\"" + field + "\": " + message(made.error()) + " (sizes in MiB)");
  return {*made, bytes / 1048576.0};
}

}  // namespace

json parse_json(std::string_view text, std::string_view where) {
  try {
    return json::parse(text);
  } catch (const json::exception&) {
    fail_at(where, "not valid JSON");
  }
}

curve::any_curve read_cost_curve(const json& v, std::string_view where, const std::string& field) {
  if (!v.is_object() || !v.contains("type") || !v["type"].is_string())
    fail_at(where, "\"" + field + "\" must be an object with a \"type\" of affine, piecewise or table");
  const auto type = v["type"].get<std::string>();
  if (type == "affine") {
    expect_object(v, where, field, {"type", "fixed_us", "us_per_row", "min_rows"});
    const curve::affine f{.fixed = number(v, where, field, "fixed_us", 0),
                          .per_size = number(v, where, field, "us_per_row"),
                          .least = number(v, where, field, "min_rows", 0)};
    if (auto good = f.check(); !good) fail_at(where, "\"" + field + "\": " + message(good.error()));
    return f;
  }
  if (type == "piecewise") return read_piecewise(v, where, field);
  if (type == "table") {
    expect_object(v, where, field, {"type", "rows", "us"});
    if (!v.contains("rows")) fail_at(where, "\"" + field + ".rows\" is missing");
    if (!v.contains("us")) fail_at(where, "\"" + field + ".us\" is missing");
    auto made = curve::table::make(numbers(v["rows"], where, field + ".rows"), numbers(v["us"], where, field + ".us"));
    if (!made) fail_at(where, "\"" + field + "\": " + message(made.error()));
    return std::move(made).value();
  }
  fail_at(where, "\"" + field + ".type\" must be affine, piecewise or table");
}

tiling::any_problem read_tiling_problem(const json& v, std::string_view where) {
  expect_object(v, where, "problem",
                {"version", "rows", "shape", "align", "least_tile", "max_tiles", "remainder", "phases", "overlap"});
  if (integer(v, where, "version", 1) != 1) fail_at(where, "\"version\" must be 1");
  tiling::any_problem p;
  if (!v.contains("rows")) fail_at(where, "\"rows\" is missing");
  p.axis.rows = integer(v, where, "rows", 0);
  p.axis.align = integer(v, where, "align", p.axis.align);
  p.axis.least_tile = integer(v, where, "least_tile", p.axis.least_tile);
  p.axis.max_tiles = integer(v, where, "max_tiles", p.axis.max_tiles);
  if (v.contains("remainder")) {
    const json& r = v["remainder"];
    if (r == "either") p.axis.rest = tiling::remainder::either;
    else if (r == "first") p.axis.rest = tiling::remainder::first;
    else if (r == "last") p.axis.rest = tiling::remainder::last;
    else fail_at(where, "\"remainder\" must be either, first or last");
  }
  if (v.contains("shape")) {
    expect_object(v["shape"], where, "shape", {"k", "n", "element_bytes"});
    p.shape.k = integer(v["shape"], where, "k", 0);
    p.shape.n = integer(v["shape"], where, "n", 0);
    p.shape.element_bytes = integer(v["shape"], where, "element_bytes", p.shape.element_bytes);
  }
  double overlap_compute = 1, overlap_comm = 1;
  if (v.contains("overlap")) {
    expect_object(v["overlap"], where, "overlap", {"compute", "comm"});
    overlap_compute = number(v["overlap"], where, "overlap", "compute", 1);
    overlap_comm = number(v["overlap"], where, "overlap", "comm", 1);
  }
  if (!v.contains("phases") || !v["phases"].is_array()) fail_at(where, "\"phases\" must be an array");
  if (v["phases"].empty() || v["phases"].size() > tiling::max_phases)
    fail_at(where, "\"phases\" must have 1 to " + std::to_string(tiling::max_phases) + " entries");
  for (std::size_t i = 0; i < v["phases"].size(); ++i) {
    const json& each = v["phases"][i];
    const std::string field = "phases[" + std::to_string(i) + "]";
    expect_object(each, where, field, {"kind", "cost"});
    if (!each.contains("kind") || (each["kind"] != "compute" && each["kind"] != "comm"))
      fail_at(where, "\"" + field + ".kind\" must be compute or comm");
    if (!each.contains("cost")) fail_at(where, "\"" + field + ".cost\" is missing");
    const bool is_compute = each["kind"] == "compute";
    p.phases.push_back({is_compute ? tiling::phase_kind::compute : tiling::phase_kind::comm,
                        read_cost_curve(each["cost"], where, field + ".cost"),
                        is_compute ? overlap_compute : overlap_comm});
  }
  if (auto sound = check(p); !sound) fail(where, sound.error());
  return p;
}

nlohmann::ordered_json tiling_answer(const tiling::plan& plan) {
  const auto us = [](hocket::ticks t) { return static_cast<double>(t) / static_cast<double>(tiling::ticks_per_us); };
  nlohmann::ordered_json answer;
  answer["version"] = 1;
  answer["tiles"] = std::vector<std::int64_t>(plan.tiles().begin(), plan.tiles().end());
  answer["predicted_us"] = us(plan.predicted);
  answer["serial_us"] = us(plan.serial);
  answer["lower_bound_us"] = us(plan.lower_bound);
  answer["policy"] = name(plan.decided_by);
  answer["flags"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < tiling::flag_count; ++i) {
    const auto f = static_cast<tiling::flag>(1u << i);
    if (plan.flags.has(f)) answer["flags"].push_back(name(f));
  }
  if (const auto runs = plan.as_two_runs())
    answer["two_runs"] = {{"tileM", runs->tile_rows},
                          {"tileNum", runs->tile_count},
                          {"tailM", runs->tail_rows},
                          {"tailNum", runs->tail_count}};
  return answer;
}

}  // namespace hocket_cli
