// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/testing/dense_index.hpp>

#include "dag_exhaustive.hpp"

TEST_CASE("dense index, exhaustively", "[graph]") {
  CHECK(exhaustive::everything<hocket::testing::dense_index>() == exhaustive::all_cases);
}
