// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ops CSV: refused with a sentence, or read so that writing and reading again changes nothing. The
// dependencies of a small program are the closure of its hazards, found here by comparing every op with every other.
#include "fuzz.hpp"

#include <hocket/text/ops_csv.hpp>

#include <algorithm>

namespace {

bool share(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  return std::any_of(a.begin(), a.end(), [&](auto v) { return std::find(b.begin(), b.end(), v) != b.end(); });
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

  std::vector<graph::edge> hazards;
  for (node_id b = 0; b < program->size(); ++b)
    for (node_id a = 0; a < b; ++a)
      if (share(program->writes(a), program->reads(b)) || share(program->reads(a), program->writes(b)) ||
          share(program->writes(a), program->writes(b)))
        hazards.push_back({a, b});
  const auto found = graph::dependencies(*program);
  fuzz::require(found.has_value());
  fuzz::require_equal(found->graph(), fuzz::closure(program->size(), hazards));
  return 0;
}
