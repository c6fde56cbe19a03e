// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/borrowed.hpp>
#include <hocket/pipeline/prefill/run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// What tokens weigh, in bytes for each token. A list holds one number for all stages, or one for each.
struct prefill_bytes {
  borrowed<std::int64_t> cache{};       ///< of the stage's layers together: their keys and values
  borrowed<std::int64_t> activation{};  ///< the most that the stage holds for a token of the piece that it runs
  std::int64_t border = 0;              ///< of what one stage sends to the next
};

/// The most bytes that a rank holds at once.
struct prefill_rank_bytes {
  std::int64_t cache = 0;       ///< of the requests that have not ended: a request's cache stays until its end
  std::int64_t activation = 0;  ///< of the piece that it runs
  std::int64_t waiting = 0;     ///< inputs that the stage before has finished and that are not used to the end yet
  friend constexpr bool operator==(const prefill_rank_bytes&, const prefill_rank_bytes&) = default;
};

namespace detail {

struct byte_change {
  ticks at;
  std::int64_t by;
};
/// The largest sum on the way; what is let go at a moment goes before what is taken then.
[[nodiscard]] inline std::int64_t peak_of_changes(std::pmr::vector<byte_change>& changes) {
  std::sort(changes.begin(), changes.end(),
            [](const byte_change& a, const byte_change& b) { return a.at != b.at ? a.at < b.at : a.by < b.by; });
  std::int64_t now = 0, most = 0;
  for (const byte_change& x : changes) {
    now += x.by;
    most = (std::max)(most, now);
  }
  return most;
}

}  // namespace detail

/// The memory of each rank in a run, besides weights: the cache of the prompts, and what the size of pieces decides.
/// A piece takes the cache of its tokens when it starts on a stage; tokens that were cached before are held from the
/// first piece on. A request's cache is let go when its last piece leaves the pipeline: then it is with the decoder.
/// Errors: errc::out_of_range for lists that are neither one number nor one per stage, and for negative numbers;
/// errc::overflow. Complexity: O(n log n) for n = pieces · stages.
///
///     const std::int64_t cache[] = {8 * 2 * 1024 * 2};  // 8 layers, K and V of 1024 numbers of 2 bytes
///     prefill_memory(run, {.cache = cache, .border = 8192 * 2}).value()[0].cache;
[[nodiscard]] inline result<std::pmr::vector<prefill_rank_bytes>> prefill_memory(
    const prefill_run& run, const prefill_bytes& weighs,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  const auto stages = static_cast<std::int64_t>(run.stages);
  std::int64_t tokens = 0, most = weighs.border;
  for (const prefill_piece& x : run.pieces) tokens += x.tokens + x.before;
  for (const auto& list : {weighs.cache, weighs.activation}) {
    const auto count = static_cast<std::int64_t>(list.size());
    if (count > 1 && count != stages) return error{errc::out_of_range, count, stages, stages}.with("numbers of bytes");
    for (const std::int64_t x : list) {
      if (x < 0) return error{errc::out_of_range, x, 0, INT64_MAX}.with("the bytes of a token");
      most = (std::max)(most, x);
    }
  }
  std::int64_t all = 0;
  if (weighs.border < 0) return error{errc::out_of_range, weighs.border, 0, INT64_MAX}.with("the bytes of a token");
  if (!checked_multiply(most, tokens, all) || !checked_multiply(all, stages, all))
    return error{errc::overflow, most, tokens}.with("bytes of all tokens");
  const auto of = [](const borrowed<std::int64_t>& list, std::uint32_t stage) {
    return list.empty() ? 0 : list[list.size() == 1 ? 0 : stage];
  };
  std::pmr::vector<prefill_rank_bytes> ranks(run.ranks, prefill_rank_bytes{}, memory);
  std::pmr::vector<detail::byte_change> cache(memory), waiting(memory);
  for (std::uint32_t r = 0; r < run.ranks; ++r) {
    cache.clear();
    waiting.clear();
    for (const std::uint32_t i : run.sequence) {
      const std::uint32_t s = i % run.stages;
      if (run.rank_of[s] != r) continue;
      const prefill_piece& piece = run.pieces[i / run.stages];
      const bool first = i < run.stages || run.pieces[i / run.stages - 1].request != piece.request;
      const std::int64_t held = (piece.tokens + (first ? piece.before : 0)) * of(weighs.cache, s);
      cache.push_back({run.starts[i], held});
      cache.push_back({run.ends[piece.request], -held});
      ranks[r].activation = (std::max)(ranks[r].activation, piece.tokens * of(weighs.activation, s));
      if (s == 0 || run.rank_of[s - 1] == r) continue;
      waiting.push_back({run.finishes[i - 1], piece.tokens * weighs.border});
      waiting.push_back({run.finishes[i], -piece.tokens * weighs.border});
    }
    ranks[r].cache = detail::peak_of_changes(cache);
    ranks[r].waiting = detail::peak_of_changes(waiting);
  }
  return ranks;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
