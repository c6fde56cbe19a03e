// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The peak of a rank by kind, against the bytes of each parameter by hand.
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/cost/model/memory_kinds.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include "catch.hpp"

namespace cost = hocket::cost;
using cost::rational;

TEST_CASE("kinds of memory add up to the peak, and states are so many bytes a parameter", "[cost][memory]") {
  const cost::layer_list list = cost::to_layers(
      {.layers = 4, .hidden = 64, .heads = 4, .kv_heads = 2, .head_dim = 16, .ffn = 160, .vocabulary = 1000});
  using enum cost::zero;
  for (const cost::zero level : {none, optimizer, gradients, weights})
    for (const bool muon : {false, true}) {
      if (muon && (level == gradients || level == weights)) continue;
      const cost::training t{.sequence = 8, .global_batch = 8, .muon = muon};
      const cost::parallel p{.pp = 2, .dp = 4, .zero = level};
      const auto ranks = cost::layers_of_ranks(list, p).value();
      for (const cost::rank_layers& on : ranks) {
        const auto m = cost::memory_of_rank(list, on, t, p, {2, 2}).value();
        const cost::memory_kinds kinds = cost::kinds_of(m.peak, m.parameters, t, p);
        CHECK(kinds.total() == m.peak.total_bytes());
        const rational n = m.parameters.dense, shard = n / rational(4);
        CHECK(kinds.weights == rational(2) * (level == weights ? shard : n));
        CHECK(kinds.gradients == rational(4) * (level == weights || level == gradients ? shard : n));
        if (!muon) CHECK(kinds.optimizer == rational(12) * (level == none ? n : shard));
        CHECK(rational(0) < kinds.optimizer);
        CHECK(kinds.activations == m.peak.kept_bytes);
        // One layer of weights, and of gradients, whole; on the last rank the head, if that is larger.
        const rational layer = 64 * 64 * 2 + 32 * 64 * 2 + 3 * 64 * 160 + 2 * 64, head = 64 * 1000;
        const bool at_loss = m.peak.moment() == cost::peak_moment::loss;
        const rational whole = at_loss ? head : layer, each = level == weights ? 6 : level == gradients ? 4 : 0;
        CHECK(kinds.gathered == each * whole);
        CHECK(!(kinds.working < rational(0)));
      }
    }
}
