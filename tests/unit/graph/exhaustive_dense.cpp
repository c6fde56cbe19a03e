// SPDX-License-Identifier: Apache-2.0
#include <hocket/graph/dense_index.hpp>

#include "dag_exhaustive.hpp"

TEST_CASE("dense index, exhaustively", "[graph]") {
  CHECK(exhaustive::everything<hocket::graph::dense_index>() == exhaustive::all_cases);
}
