// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/graph/persistent_index.hpp>

#include "dag_exhaustive.hpp"

TEST_CASE("persistent index, exhaustively", "[graph]") {
  CHECK(exhaustive::everything<hocket::graph::persistent_index>() == exhaustive::all_cases);
}
