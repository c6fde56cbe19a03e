// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: deleted
// expect: streams
// The streams lie in the table, which ends with the statement.
#include <hocket/text/ops_csv.hpp>

std::size_t streams_of(std::string_view csv) {
#ifdef CORRECTED
  const auto table = hocket::text::parse_ops_csv(csv).value();
  const auto streams = table.streams();
#else
  const auto streams = hocket::text::parse_ops_csv(csv).value().streams();
#endif
  return streams.size();
}
