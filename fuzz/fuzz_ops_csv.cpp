// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an ops CSV: refused with a sentence, or read so that writing and reading again changes nothing. The
// dependencies of a small program are the closure of its hazards, found here by comparing every op with every other.
#include "fuzz.hpp"

#include <hocket/text/ops_csv.hpp>

#include <algorithm>

namespace {

using hocket::graph::storage_range;

// Variables and bytes that an op touches; a variable with number v is the first byte of a space of its own.
struct touched {
  bool is_variable;
  storage_range bytes;
};

std::vector<touched> all_of(const hocket::text::ops_table& t, std::span<const std::uint32_t> variables,
                            std::span<const storage_range> ranges) {
  std::vector<touched> all;
  for (const std::uint32_t v : variables) {
    if (t.parts(v).empty()) all.push_back({true, {v, 0, 1}});
    for (const std::uint32_t part : t.parts(v)) all.push_back({true, {part, 0, 1}});
  }
  for (const storage_range& r : ranges) all.push_back({false, r});
  return all;
}

bool share(const std::vector<touched>& x, const std::vector<touched>& y) {
  return std::any_of(x.begin(), x.end(), [&](const touched& a) {
    return std::any_of(y.begin(), y.end(),
                       [&](const touched& b) { return a.is_variable == b.is_variable && a.bytes.overlaps(b.bytes); });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const auto program = text::parse_ops_csv(fuzz::text(data, size));
  if (!program) {
    fuzz::require(!message(program.error()).empty());
    return 0;
  }
  const auto written = text::write_ops_csv(*program);
  const auto again = text::parse_ops_csv(written);
  fuzz::require(again && text::write_ops_csv(*again) == written);
  if (program->size() > 48) return 0;

  std::vector<std::vector<touched>> reads, writes;
  for (node_id op = 0; op < program->size(); ++op) {
    reads.push_back(all_of(*program, program->reads(op), program->read_ranges(op)));
    writes.push_back(all_of(*program, program->writes(op), program->write_ranges(op)));
  }
  std::vector<graph::edge> hazards;
  for (node_id b = 0; b < program->size(); ++b)
    for (node_id a = 0; a < b; ++a)
      if (share(writes[a], reads[b]) || share(reads[a], writes[b]) || share(writes[a], writes[b]))
        hazards.push_back({a, b});
  const auto found = graph::dependencies(*program);
  fuzz::require(found.has_value());
  fuzz::require_equal(found->graph(), fuzz::closure(program->size(), hazards));
  return 0;
}
