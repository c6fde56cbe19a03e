// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What ranks that share a sequence send each other, against element-by-element counts of who needs what.
#include <hocket/cost/model/peak_memory.hpp>
#include <hocket/cost/model/step_time.hpp>

#include "catch.hpp"
#include "equal_layers.hpp"

namespace {
namespace cost = hocket::cost;

struct sent_bytes {
  std::int64_t forward = 0, backward = 0, again = 0;
};

// What the formulas say one rank sends over the context group for one layer and micro-batch.
sent_bytes by_formula(const cost::model& m, const cost::training& t, const cost::parallel& p,
                      const cost::replay_set& replayed = {}) {
  const cost::layer_list list = m;
  const cost::block_setting one{
      .on_rank = {.layers = 1}, .sizes = list.sizes, .training = t, .parallel = p, .counted = {}, .replayed = replayed};
  sent_bytes out;
  for (const cost::block& b : list.layers.front().blocks)
    cost::visit_block(b, one, [&](const cost::block_terms& lists, const cost::numbers_view& numbers) {
      cost::for_each_term(lists.context_transfers, numbers, [&](const auto& x) {
        const auto bytes = cost::exact(x.formula, numbers);
        REQUIRE(bytes);
        REQUIRE(bytes->is_whole());
        (x.in == cost::pass_kind::forward    ? out.forward
         : x.in == cost::pass_kind::backward ? out.backward
                                             : out.again) += static_cast<std::int64_t>(bytes->num());
      });
    });
  return out;
}

// Element by element: rank `from` of the context group, which holds its part of every head of its tensor-parallel rank.
// Heads of a tensor-parallel rank: a/tp queries, max(1, g/tp) keys and values.
struct by_element {
  cost::model m;
  cost::training t;
  cost::parallel p;
  std::int64_t element_bytes() const { return static_cast<std::int64_t>(t.activation_bytes.num()); }
  std::int64_t q_heads() const { return m.heads / p.tp; }
  std::int64_t kv_heads() const { return m.kv_heads > p.tp ? m.kv_heads / p.tp : 1; }
  std::int64_t rank_of_token(std::int64_t token) const { return token / (t.sequence / p.cp); }
  // Blocks travel step by step; a rank passes on what it got last.
  std::int64_t ring(std::int64_t from) const {
    std::vector<std::int64_t> holds(static_cast<std::size_t>(p.cp));  // whose block a rank holds now
    for (std::int64_t r = 0; r < p.cp; ++r) holds[static_cast<std::size_t>(r)] = r;
    std::int64_t bytes = 0;
    for (std::int64_t step = 1; step < p.cp; ++step) {
      const std::int64_t owner = holds[static_cast<std::size_t>(from)];
      for (std::int64_t token = 0; token < t.sequence; ++token)
        bytes += rank_of_token(token) == owner ? 2 * kv_heads() * m.head_dim * t.micro_batch * element_bytes() : 0;
      std::vector<std::int64_t> next = holds;
      for (std::int64_t r = 0; r < p.cp; ++r)
        next[static_cast<std::size_t>((r + 1) % p.cp)] = holds[static_cast<std::size_t>(r)];
      holds = next;
    }
    return bytes;
  }
  // Elements of its part that belong to heads of others, or, `back`, of its heads that belong to parts of others.
  std::int64_t to_heads(std::int64_t from, std::int64_t heads, bool back) const {
    std::int64_t bytes = 0;
    for (std::int64_t token = 0; token < t.sequence; ++token)
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t by_sequence = rank_of_token(token), by_head = head / (heads / p.cp);
        const std::int64_t has = back ? by_head : by_sequence, needs = back ? by_sequence : by_head;
        bytes += has == from && needs != from ? m.head_dim * t.micro_batch * element_bytes() : 0;
      }
    return bytes;
  }
};

const cost::model small_model{
    .layers = 2, .hidden = 64, .heads = 16, .kv_heads = 8, .head_dim = 4, .ffn = 128, .vocabulary = 256};

TEST_CASE("cost: each way of context parallelism sends what its ranks need, element by element") {
  for (const std::int64_t tp : {1, 2})
    for (const std::int64_t cp : {1, 2, 4})
      for (const std::int64_t kv : {4, 8, 16})
        for (const std::int64_t b : {1, 3}) {
          by_element count{small_model, {.sequence = 24, .micro_batch = b, .global_batch = b}, {.tp = tp, .cp = cp}};
          count.m.kv_heads = kv;
          INFO("tp " << tp << " cp " << cp << " kv " << kv << " b " << b);
          count.p.cp_exchange = cost::context_exchange::ring;
          const std::int64_t around = count.ring(cp / 2);
          sent_bytes sent = by_formula(count.m, count.t, count.p);
          CHECK(sent.forward == around);
          CHECK(sent.backward == 2 * around);  // keys and values, and their gradients
          // A gather by a ring of sends moves the same blocks; so does the reduction of their gradients.
          count.p.cp_exchange = cost::context_exchange::all_gather;
          sent = by_formula(count.m, count.t, count.p);
          CHECK(sent.forward == around);
          CHECK(sent.backward == 2 * around);
          if (count.kv_heads() % cp != 0) continue;
          count.p.cp_exchange = cost::context_exchange::all_to_all;
          sent = by_formula(count.m, count.t, count.p);
          const std::int64_t from = cp - 1;
          const std::int64_t there = count.to_heads(from, count.q_heads(), false) +
                                     2 * count.to_heads(from, count.kv_heads(), false) +
                                     count.to_heads(from, count.q_heads(), true);
          CHECK(sent.forward == there);
          CHECK(sent.backward == there);
          CHECK(sent.again == 0);
          // Computed again with the attention: by level, and by name.
          cost::parallel full = count.p;
          full.recompute = cost::recompute::full;
          CHECK(by_formula(count.m, count.t, full).again == there);
          CHECK(by_formula(count.m, count.t, count.p, {.attention_output = true}).again == there);
        }
}

TEST_CASE("cost: context parallelism in the figures of its papers") {
  // arXiv:2309.14509 section 3.2: 4 N h / P elements through the links of P ranks, of which a rank keeps 1/P.
  const cost::model plain{.layers = 1, .hidden = 4096, .heads = 32, .kv_heads = 32, .head_dim = 128};
  const cost::training t{.sequence = 65536};
  const auto ulysses = by_formula(plain, t, {.cp = 8, .cp_exchange = cost::context_exchange::all_to_all});
  CHECK(ulysses.forward == 2 * (4 * 65536LL * 4096 / 8) * 7 / 8);
  // arXiv:2407.21783 section 3.3.2, 405B at 131,072 tokens, cp 16, tp 8: one KV head and 8,192 tokens a rank, 4 MiB.
  const cost::model llama_405b{
      .layers = 126, .hidden = 16384, .heads = 128, .kv_heads = 8, .head_dim = 128, .ffn = 53248, .vocabulary = 128256};
  const cost::training long_step{.sequence = 131072};
  const cost::parallel spread{.tp = 8, .cp = 16, .cp_exchange = cost::context_exchange::all_gather};
  CHECK(by_formula(llama_405b, long_step, spread).forward == 15 * (4LL << 20));
  // One KV head cannot be divided over 16 ranks.
  cost::parallel heads = spread;
  heads.cp_exchange = cost::context_exchange::all_to_all;
  const auto refused = cost::check(llama_405b, long_step, heads);
  REQUIRE(!refused);
  CHECK(refused.error().code == hocket::errc::indivisible);
  CHECK(refused.error().word() == "kv heads of a rank over cp");
  heads.cp = 32;
  CHECK(cost::check(llama_405b, long_step, heads).error().word() == "heads of a rank over cp");
  heads.cp = 16;
  heads.cp_exchange = cost::context_exchange::ring;
  CHECK(cost::check(llama_405b, long_step, heads));
}

TEST_CASE("cost: sizes that do not fit together are refused, by name") {
  const cost::training t{.sequence = 32, .global_batch = 8};
  cost::model mixture = small_model;
  mixture.moe_layers = 2;
  mixture.experts = 8;
  mixture.active_experts = 2;
  mixture.expert_ffn = 64;
  CHECK(cost::check(mixture, t, {.dp = 8, .ep = 8}));
  CHECK(cost::check(mixture, t, {.dp = 4, .ep = 8}).error().word() == "ranks of a stage over ep x etp");
  CHECK(cost::check(mixture, t, {.dp = 8, .ep = 4, .etp = 4}).error().word() == "ranks of a stage over ep x etp");
  CHECK(cost::layers_of_ranks(small_model, {.pp = 5}).error().word() == "layers for pp x vp stages");
  constexpr std::int64_t large = (std::int64_t{1} << 31) - 1;
  CHECK(cost::check(small_model, t, {.tp = large, .pp = large, .dp = large, .cp = large}).error().word() ==
        "devices, tp x pp x dp x cp");
}

TEST_CASE("cost: what context parallelism needs in memory and time") {
  const cost::model m{
      .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .ffn = 14336, .vocabulary = 128256};
  const cost::training t{.sequence = 131072};
  cost::parallel p{.cp = 8};
  const cost::layer_list list = m;
  const cost::rank_layers middle{{{list.layers.front().blocks, 8}}, 8, {.first = false, .last = false}};
  const auto moment = [&](cost::context_exchange how) {
    p.cp_exchange = how;
    const auto memory = cost::memory_of_rank(list, middle, t, p, {});
    REQUIRE(memory);
    return static_cast<std::int64_t>(memory->peak.at_backward_bytes.num());
  };
  constexpr std::int64_t keys_values = 2 * 2 * 131072 / 8 * 8 * 128, queries = 2 * 131072 / 8 * 32 * 128;
  CHECK(moment(cost::context_exchange::ring) == 2 * keys_values);
  CHECK(moment(cost::context_exchange::all_gather) == 2 * 8 * keys_values);
  CHECK(moment(cost::context_exchange::all_to_all) == queries + keys_values);
  // Saved tensors do not depend on it: the same elements, by sequence or by head.
  const auto kept = [&](cost::context_exchange how) {
    p.cp_exchange = how;
    return equal_layers::kept_by_last(m, t, p).value();
  };
  CHECK(kept(cost::context_exchange::ring) == kept(cost::context_exchange::all_to_all));

  // Seconds: bytes over the rate, forward and backward.
  const cost::machine on{.gemm_flops = 1e15, .attention_flops = 1e15, .memory_bytes = 1e12, .tensor_bytes = 1e11};
  for (const auto how :
       {cost::context_exchange::ring, cost::context_exchange::all_gather, cost::context_exchange::all_to_all}) {
    p.cp_exchange = how;
    const auto layer = equal_layers::time_of_last(m, t, p, on);
    REQUIRE(layer);
    const sent_bytes sent = by_formula(m, t, p);
    const double expected = static_cast<double>(sent.forward + sent.backward) / 1e11;
    CHECK(layer->exposed.count() > expected * (1 - 1e-12));
    CHECK(layer->exposed.count() < expected * (1 + 1e-12));
  }
}

}  // namespace

TEST_CASE("cost: sharded weights and gradients of the head are whole while the loss is computed") {
  const cost::model m{
      .layers = 2, .hidden = 1024, .heads = 8, .kv_heads = 8, .head_dim = 128, .ffn = 4096, .vocabulary = 51200};
  const auto at_loss = [&](cost::zero level) {
    const cost::parallel p{.tp = 2, .dp = 2, .zero = level};
    const auto on = cost::layers_of_ranks(m, p).value()[0];
    return cost::memory_of_rank(m, on, {.sequence = 1024}, p, {}).value().peak.at_loss_bytes;
  };
  const cost::rational none = at_loss(cost::zero::none), head = 1024 * 51200 / 2;
  CHECK(at_loss(cost::zero::optimizer) == none);
  CHECK(at_loss(cost::zero::gradients) == none + head * 4);
  CHECK(at_loss(cost::zero::weights) == none + head * 6);
}
