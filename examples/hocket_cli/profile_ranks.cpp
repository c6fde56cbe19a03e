// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks side by side: where the time of each goes.
#include <hocket/interop/ascend/step_breakdown.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir.hpp"
#include "profile.hpp"

namespace hocket_cli {

namespace ascend = hocket::ascend;
using ascend::nanoseconds;

namespace {

// Of the profiler's own table of steps, where no file has the runs of ops.
void add_own_steps(rank_times& out, const ascend::profile& p) {
  for (const ascend::step_times& s : p.steps) {
    const nanoseconds receives = s.exposed_without_receive ? s.exposed - *s.exposed_without_receive : nanoseconds{};
    out.computing += s.computing;
    out.exposed += s.exposed - receives;
    out.receives += receives;
    out.idle += s.free;
    out.span += s.computing + s.exposed + s.free;
  }
  out.step_count = static_cast<std::int64_t>(p.steps.size());
}

double milliseconds_of(nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

}  // namespace

rank_times times_of_rank(const std::string& name, const ascend::profile& p) {
  rank_times out;
  out.name = name;
  out.op_count = static_cast<std::int64_t>(p.kernels.size());
  for (const ascend::step_breakdown& b : ascend::break_down_steps(p.kernels)) {
    out.span += b.span;
    out.computing += b.computing;
    out.exposed += b.exposed - b.exposed_receives;
    out.receives += b.exposed_receives;
    out.data += b.copying;
    out.idle += b.idle;
    ++out.step_count;
  }
  if (p.kernels.empty()) add_own_steps(out, p);
  if (out.step_count == 0) return out;
  for (nanoseconds* const t : {&out.span, &out.computing, &out.exposed, &out.receives, &out.data, &out.idle})
    *t /= out.step_count;
  return out;
}

std::string ranks_as_text(const std::vector<rank_times>& ranks, const std::vector<std::string>& unused) {
  std::string out =
      std::to_string(ranks.size()) +
      " ranks, means of their steps (ms)\n       step  computing    exposed  receiving       data       idle  steps\n";
  const auto row = [](auto&& time_of) {
    std::string line;
    for (nanoseconds rank_times::* const part : {&rank_times::span, &rank_times::computing, &rank_times::exposed,
                                                 &rank_times::receives, &rank_times::data, &rank_times::idle})
      line += left(fixed(milliseconds_of(time_of(part)), 3), 11);
    return line;
  };
  for (const rank_times& r : ranks)
    out += row([&](auto part) { return r.*part; }) + left(std::to_string(r.step_count), 7) + "  " + r.name + '\n';
  const auto by = [](auto part) {
    return [part](const rank_times& a, const rank_times& b) { return a.*part < b.*part; };
  };
  out += row([&](auto part) { return (*std::max_element(ranks.begin(), ranks.end(), by(part))).*part; }) +
         std::string(7, ' ') + "  most\n";
  out += row([&](auto part) { return (*std::min_element(ranks.begin(), ranks.end(), by(part))).*part; }) +
         std::string(7, ' ') + "  least\n";
  return out + unused_text(unused);
}

std::string ranks_as_json(const std::vector<rank_times>& ranks, const std::vector<std::string>& unused) {
  nlohmann::ordered_json out = {{"version", 1}, {"ranks", nlohmann::ordered_json::array()}};
  const auto us = [](nanoseconds t) { return static_cast<double>(t.count()) / 1e3; };
  for (const rank_times& r : ranks)
    out["ranks"].push_back({{"name", r.name},
                            {"steps", r.step_count},
                            {"ops", r.op_count},
                            {"span_us", us(r.span)},
                            {"computing_us", us(r.computing)},
                            {"exposed_us", us(r.exposed)},
                            {"exposed_receives_us", us(r.receives)},
                            {"data_us", us(r.data)},
                            {"idle_us", us(r.idle)}});
  if (!unused.empty()) out["unused_files"] = unused;
  return json_text(out);
}

}  // namespace hocket_cli
