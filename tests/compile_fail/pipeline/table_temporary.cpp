// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A placement and the list of a rank refer to their table.
// expect: deleted
#include <hocket/pipeline/table.hpp>

using hocket::pipeline::table_schedule;

table_schedule read_table();

std::uint32_t f() {
#ifdef CORRECTED
  const table_schedule table = read_table();
  const auto list = table.rank(0);
  return table.placement().rank_of(0) + list[0].stage();
#else
  const auto list = read_table().rank(0);
  return read_table().placement().rank_of(0) + list[0].stage();
#endif
}
