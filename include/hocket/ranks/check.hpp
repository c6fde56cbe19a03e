// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/detail/explain.hpp>
#include <hocket/ranks/detail/matching.hpp>
#include <hocket/ranks/detail/run.hpp>
#include <hocket/ranks/detail/timings.hpp>
#include <hocket/ranks/detail/width.hpp>
#include <hocket/ranks/machines.hpp>
#include <hocket/ranks/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace hocket::inline HOCKET_ABI::ranks {

/// How long a question may take that order does not decide.
struct check_options {
  std::uint64_t work = std::uint64_t{1} << 24;  ///< ops run in search of a timing, over all attempts
};

namespace detail {

class checker {
 public:
  checker(const program& job, const machine& m, const check_options& o, std::pmr::memory_resource* memory)
      : set_(job, m, memory), options_(o), out_(memory) {}

  [[nodiscard]] answer operator()() {
    if (!set_.races && (find_mismatch() || runs_into_hang())) return std::move(out_);
    const bool free_slots = set_.rules.slots != 0 && set_.rules.order == launch_order::free;
    const bool scarce = (set_.races && set_.rules.slots != 0) || (free_slots && is_scarce());
    if (set_.races || scarce) return search({scarce, lends(set_.rules)});
    return say(verdict::safe, free_slots ? reason::slots : reason::order);
  }

 private:
  [[nodiscard]] static bool lends(const machine& m) noexcept {
    return m.perhaps_buffered_below > m.surely_buffered_below;
  }
  [[nodiscard]] answer say(verdict what, reason why) {
    out_.says = what;
    out_.why = why;
    return std::move(out_);
  }
  [[nodiscard]] bool find_mismatch() {
    const auto found = matching(set_)();
    if (!found) return false;
    out_.says = verdict::mismatch;
    out_.differs = *found;
    return true;
  }
  /// The run with all buffers and slots that there may be, then the one with those that there surely are.
  [[nodiscard]] bool runs_into_hang() {
    run best(set_, run::generosity::perhaps);
    if (hangs(best, verdict::hangs, reason::order)) return true;
    const bool slots = set_.rules.slots != 0 && set_.rules.order != launch_order::free;
    if (!lends(set_.rules) && !slots) return false;
    run worst(set_, run::generosity::surely);
    return hangs(worst, verdict::may_hang, slots ? reason::few_slots : reason::buffering);
  }
  [[nodiscard]] bool hangs(run& r, verdict what, reason why) {
    r.settle();
    if (r.finished()) return false;
    out_.says = what;
    out_.why = why;
    explanation(r).tell(out_.cycle);
    return true;
  }
  /// Whether some rank can have more calls ready at once than slots; and the number of slots that is enough.
  [[nodiscard]] bool is_scarce() {
    std::pmr::vector<bool> judged(set_.job.list_count(), false, set_.memory);
    for (std::uint32_t r = 0; r < set_.job.ranks(); ++r) {
      const std::uint32_t l = set_.list_number(r);
      if (judged[l]) continue;
      judged[l] = true;
      width w(set_.job.numbered_list(l), set_.facts[l], set_.rules, set_.memory);
      const std::size_t at_once = w();
      if (at_once > set_.rules.slots) out_.open.push_back({r, 0, w.widest(), false});
      if (!set_.races) out_.enough_slots = (std::max)(out_.enough_slots, at_once);
    }
    return !out_.open.empty();
  }
  [[nodiscard]] answer search(const choosing& left) {
    timings all(set_, left, options_.work);
    const auto outcome = all();
    out_.states = all.states();
    using enum timings::outcome;
    if (outcome == not_known) return say(verdict::not_proved, reason::none);
    if (outcome == none_hangs) return say(verdict::safe, reason::all_tried);
    run r(set_, run::generosity::surely, left);
    r.settle();
    for (const choice& c : all.hanging()) r.take(c);
    explanation(r).tell(out_.cycle);
    out_.timing.assign(all.hanging().begin(), all.hanging().end());
    if (outcome == all_hang) return say(verdict::hangs, reason::all_tried);
    return say(verdict::may_hang, reason::one_timing);
  }

  setting set_;
  check_options options_;
  answer out_;
};

}  // namespace detail

/// Whether the program of all ranks finishes, before it runs: proved safe, proved to hang, or a timing that hangs, with
/// who waits for whom.
/// @param job  what each rank does
/// @param m  what blocks what; without it NVIDIA's library as documented
/// Where order alone decides (nothing scarce, no racing threads) the answer is complete. Elsewhere `safe` is a proof,
/// `may_hang` carries a timing that was run, and `not_proved` says which calls are open.
/// Errors: those of program::check_lists. Complexity: O(ops · streams of a rank), and `options.work` where timing
/// decides. Source: docs/ranks.md, "Why it is right".
///
///     hocket::ranks::program job(2);
///     const auto tensor = job.communicator("tensor", {0, 1}), data = job.communicator("data", {0, 1});
///     job.rank(0).all_reduce(tensor).on(1).all_reduce(data);
///     job.rank(1).on(1).all_reduce(data).on(0).all_reduce(tensor);
///     hocket::ranks::check(job)->says == hocket::ranks::verdict::may_hang;
[[nodiscard]] inline result<answer> check(const program& job, const machine& m = nccl(),
                                          const check_options& options = {},
                                          std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (const auto ok = job.check_lists(); !ok) return ok.error();
  return detail::checker(job, m, options, memory)();
}

/// Runs the timing of an answer again, from the start. @return whether every choice was possible and the program then
/// hangs. An answer without choices is run with the fewest buffers and slots.
[[nodiscard]] inline bool replay_hangs(const program& job, const machine& m, const answer& a,
                                       std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  const detail::setting set(job, m, memory);
  detail::choosing left;
  for (const choice& c : a.timing) {
    left.starts = left.starts || c.what == choice::kind::start;
    left.buffers = left.buffers || c.what == choice::kind::buffer;
  }
  detail::run r(set, detail::run::generosity::surely, left);
  r.settle();
  for (const choice& c : a.timing)
    if (!r.take(c)) return false;
  return r.may_stand_still() && !r.finished();
}

}  // namespace hocket::inline HOCKET_ABI::ranks
