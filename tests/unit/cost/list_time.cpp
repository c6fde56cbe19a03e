// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Seconds of a list: a step is what its layers are.
#include <hocket/cost/machines.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include <cmath>

#include "catch.hpp"

namespace cost = hocket::cost;

namespace {

bool close(hocket::seconds mine, hocket::seconds theirs) {
  return std::abs(mine.count() - theirs.count()) <= 1e-9 * std::abs(theirs.count()) + 1e-18;
}
/// A machine whose rates all differ, so that no two parts can be taken for each other.
cost::machine some_machine() {
  cost::machine on = cost::machines::b200_fitted.rates;
  on.gemm_flops = 7e14;
  on.attention_flops = 5e14;
  on.memory_bytes = 3e12;
  on.tensor_bytes = 2e11;
  on.expert_bytes = 7e10;
  on.pipeline_bytes = 5e10;
  on.data_bytes = 3e10;
  on.host_bytes = 2e10;
  return on;
}

}  // namespace

TEST_CASE("the slowest rank of unequal stages decides", "[cost][layers][seconds]") {
  const cost::machine on = some_machine();
  const cost::norms between{.place = cost::norm_place::between};
  const cost::feed_forward ffn{.ffn = 8192};
  cost::layer_list list{.sizes = {.hidden = 2048, .vocabulary = 32000}};
  const cost::layer_blocks linear{
      cost::norms{}, cost::gated_delta{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128}, between,
      ffn};
  const cost::layer_blocks full{cost::norms{}, cost::attention{.heads = 16, .kv_heads = 2, .head_dim = 128}, between,
                                ffn};
  list.add(linear, 5);
  list.add(full, 3);
  const cost::training t{.sequence = 8192, .micro_batch = 1, .global_batch = 8};
  const cost::parallel p{.pp = 4};
  const std::vector<std::int64_t> sizes{3, 3, 1, 1};
  const auto step = cost::predict_step(list, t, p, on, sizes);
  REQUIRE(step.has_value());
  const double x = cost::time_of_layer(list, linear, t, p, on)->compute().count(),
               y = cost::time_of_layer(list, full, t, p, on)->compute().count(),
               head = cost::time_of_head(list, t, p, on)->compute().count();
  const double by_hand[] = {3 * x, 2 * x + y, y, y + head};
  for (std::size_t rank = 0; rank < 4; ++rank)
    CHECK(close(step->rank_times[rank].compute(), hocket::seconds(by_hand[rank])));
  CHECK(cost::predict_step(list, t, p, on, std::vector<std::int64_t>{3, 3, 1}).error().code == hocket::errc::bad_shape);
}
