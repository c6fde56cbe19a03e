// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Whether a policy's answer can be used.
[[nodiscard]] constexpr bool is_prefill_time(ticks t) noexcept { return t >= 0 && t <= max_prefill_time; }

/// Runs pieces on ranks that take whatever can start first: nothing waits for better work, so a run is never idle
/// without a reason.
template <prefill_cost_policy C>
class prefill_scheduler {
 public:
  prefill_scheduler(const prefill_problem& problem, const C& costs, std::pmr::memory_resource* memory)
      : problem_(problem),
        costs_(costs),
        stages_(problem.stages()),
        ranks_(static_cast<std::uint32_t>(problem.ranks)),
        pieces_(memory),
        next_(memory),
        arrived_(memory),
        link_free_(memory),
        rank_free_(memory) {}

  /// Cuts the requests. Errors: errc::out_of_range if sizes do not add up.
  [[nodiscard]] result<void> set_sizes(std::span<const std::int64_t> sizes) {
    pieces_.clear();
    std::size_t i = 0;
    for (std::size_t r = 0; r < problem_.requests.size(); ++r) {
      const prefill_request& request = problem_.requests[r];
      std::int64_t done = 0;
      while (done < request.tokens) {
        const std::int64_t left = request.tokens - done;
        if (i == sizes.size()) return error{errc::out_of_range, done, request.tokens, request.tokens}.with(sum);
        if (sizes[i] < 1 || sizes[i] > left) return error{errc::out_of_range, sizes[i], 1, left}.with("a piece");
        pieces_.push_back({static_cast<std::uint32_t>(r), sizes[i] == left, request.cached + done, sizes[i]});
        done += sizes[i++];
      }
    }
    if (i != sizes.size())
      return error{errc::out_of_range, static_cast<std::int64_t>(sizes.size()), static_cast<std::int64_t>(i),
                   static_cast<std::int64_t>(i)}
          .with("the number of pieces");
    return {};
  }
  [[nodiscard]] const std::pmr::vector<prefill_piece>& pieces() const noexcept { return pieces_; }

  /// @param on_piece  called as on_piece(piece, stage, start, finish), in an order in which they can run
  template <class Sink>
  [[nodiscard]] result<void> operator()(prefill_order order, Sink&& on_piece) {
    const std::size_t count = pieces_.size();
    next_.assign(stages_, 0);
    link_free_.assign(stages_, 0);
    rank_free_.assign(ranks_, 0);
    arrived_.assign(count * stages_, not_yet);
    for (std::size_t k = 0; k < count; ++k) arrived_[k * stages_] = problem_.requests[pieces_[k].request].arrival;
    if (problem_.chunks == 1) {  // no rank has a choice: piece after piece
      for (std::size_t k = 0; k < count; ++k)
        for (std::uint32_t s = 0; s < stages_; ++s)
          if (const auto ok = run({start_of(s), s}, on_piece); !ok) return ok;
      return {};
    }
    for (std::size_t left = count * stages_; left > 0; --left) {
      const choice best = choose(order);
      if (const auto ok = run(best, on_piece); !ok) return ok;
    }
    return {};
  }

 private:
  static constexpr ticks not_yet = -1;
  static constexpr const char* sum = "the sum of a request's pieces";
  struct choice {
    ticks start = 0;
    std::uint32_t stage = 0;
  };

  /// When a stage can start its next piece, or not_yet.
  [[nodiscard]] ticks start_of(std::uint32_t s) const noexcept {
    if (next_[s] == pieces_.size()) return not_yet;
    const ticks input = arrived_[std::size_t{next_[s]} * stages_ + s], free = rank_free_[problem_.rank_of(s)];
    return input == not_yet || input > free ? input : free;
  }
  /// The stage whose next piece can start first. Of those that can start at once, the order decides.
  [[nodiscard]] choice choose(prefill_order order) const noexcept {
    choice best{};
    bool found = false;
    for (std::uint32_t i = 0; i < stages_; ++i) {
      const std::uint32_t s = order == prefill_order::deepest_first ? stages_ - 1 - i : i;
      const ticks start = start_of(s);
      if (start == not_yet) continue;
      if (found && start >= best.start) continue;
      best = {start, s};
      found = true;
    }
    return best;
  }
  template <class Sink>
  [[nodiscard]] result<void> run(const choice& best, Sink& on_piece) {
    const std::uint32_t s = best.stage, k = next_[s]++;
    const bool ends = s + 1 == stages_;
    const prefill_piece& piece = pieces_[k];
    const ticks time = costs_.duration(s, piece), more = ends ? static_cast<ticks>(costs_.tail(piece)) : 0;
    if (!is_prefill_time(time) || !is_prefill_time(more)) return bad_time(is_prefill_time(time) ? more : time);
    const ticks finish = best.start + time + more;
    rank_free_[problem_.rank_of(s)] = finish;
    on_piece(k, s, best.start, finish);
    if (ends) return {};
    ticks& input = arrived_[std::size_t{k} * stages_ + s + 1];
    input = finish;
    if (problem_.rank_of(s) == problem_.rank_of(s + 1)) return {};
    const ticks transfer = costs_.transfer(s, piece), latency = costs_.latency(s);
    if (!is_prefill_time(transfer) || !is_prefill_time(latency))
      return bad_time(is_prefill_time(transfer) ? latency : transfer);
    ticks& link = link_free_[s];
    link = (link > finish ? link : finish) + transfer;
    input = link + latency;
    return {};
  }
  [[nodiscard]] static error bad_time(ticks t) {
    return error{errc::out_of_range, t, 0, max_prefill_time}.with("the time of a piece in ticks");
  }

  const prefill_problem& problem_;
  const C& costs_;
  std::uint32_t stages_;
  std::uint32_t ranks_;
  std::pmr::vector<prefill_piece> pieces_;
  std::pmr::vector<std::uint32_t> next_;  // piece that each stage runs next
  std::pmr::vector<ticks> arrived_;       // when a stage has its input, by piece · stages + stage
  std::pmr::vector<ticks> link_free_;     // by the stage that sends
  std::pmr::vector<ticks> rank_free_;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
