// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Letters of Megatron-LM's hybrid patterns for lists of layers.
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/interop/hybrid_letters.hpp>

#include "catch.hpp"

namespace cost = hocket::cost;
namespace interop = hocket::interop;

namespace {
const cost::norms between{.place = cost::norm_place::between}, behind{.place = cost::norm_place::behind};
const cost::attention full{.heads = 4, .kv_heads = 2, .head_dim = 16};
const cost::gated_delta linear{.key_heads = 2, .value_heads = 2, .key_dim = 8, .value_dim = 8};
const cost::feed_forward plain_ffn{.ffn = 96};
const cost::mixture experts{.experts = 4, .active_experts = 2, .expert_ffn = 24};
cost::layer_list sized() { return {.sizes = {.hidden = 64, .vocabulary = 256}}; }
}  // namespace

TEST_CASE("a layer has a letter for its mixer and one for its FFN", "[interop][layouts]") {
  cost::layer_list list = sized();
  list.add({cost::norms{}, linear, between, experts}, 3);
  list.add({cost::norms{}, full, between, plain_ffn, behind, cost::table{5}});
  list.add({cost::norms{}, cost::mamba2{.heads = 4, .head_dim = 16}}, 2);
  CHECK(interop::letters_of(list).value() == "GEGEGE*-MM");
  const cost::layer_list parts = interop::by_sub_layer(list);
  CHECK(parts.layer_count() == 10);
  CHECK(interop::letters_of(parts).value() == "GEGEGE*-MM");
  CHECK(interop::by_sub_layer(parts) == parts);
  // What follows the FFN goes with it; no block is lost.
  CHECK(parts.layers[7].blocks == cost::layer_blocks{between, plain_ffn, behind, cost::table{5}});
  CHECK(cost::count_parameters(parts).value() == cost::count_parameters(list).value());
  CHECK(cost::count_flops(parts, {.sequence = 32}, {}, {})->model_step ==
        cost::count_flops(list, {.sequence = 32}, {}, {})->model_step);
}

TEST_CASE("a layer that no pattern says is named", "[interop][layouts]") {
  const auto refused = [](const cost::layer_blocks& blocks) {
    cost::layer_list list = sized();
    list.add({cost::norms{}, full, between, plain_ffn}, 2);
    list.add(blocks);
    const auto letters = interop::letters_of(list);
    REQUIRE_FALSE(letters);
    CHECK(letters.error().code == hocket::errc::unknown_layer);
    CHECK(letters.error().values[0] == 2);
  };
  refused({cost::norms{}, full, plain_ffn});  // one norm feeds both
  refused({cost::norms{}, cost::kimi_delta{.heads = 4, .head_dim = 16}, between, plain_ffn});
  refused({cost::norms{}});
  refused({cost::hyper_connections{}, cost::norms{}, full, between, plain_ffn});
}
