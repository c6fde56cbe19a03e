// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/detail/run.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <set>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks::detail {

/// Looks for a timing that hangs, where timing has choices: all of them while they are few, then some by lot.
class timings {
 public:
  enum class outcome : std::uint8_t { none_hangs, all_hang, some_hang, not_known };
  /// @param work  ops that may be run in each of the two searches, over all attempts
  timings(const setting& s, const choosing& left, std::uint64_t work)
      : set_(s), left_(left), work_(work), found_(s.memory), path_(s.memory), seen_(s.memory) {
    for (std::uint32_t r = 0; r < s.job.ranks(); ++r) ops_ += s.job.list(r).size() + 1;
  }

  [[nodiscard]] outcome operator()() {
    const outcome tried = try_all();
    if (tried != outcome::not_known) return tried;
    return try_some() ? outcome::some_hang : outcome::not_known;
  }
  /// After all_hang or some_hang: the choices that lead there.
  [[nodiscard]] const std::pmr::vector<choice>& hanging() const noexcept { return found_; }
  [[nodiscard]] std::uint64_t states() const noexcept { return states_; }

 private:
  [[nodiscard]] run fresh() const { return run(set_, run::generosity::surely, left_); }

  /// Depth first over all choices; a state that was seen is not entered again. Stops when one way hangs and another
  /// finishes, or when its share of work is used up.
  [[nodiscard]] outcome try_all() {
    bool finishes = false, hangs = false;
    const std::uint64_t most = work_ / ops_;
    std::pmr::vector<std::pmr::vector<choice>> todo(set_.memory);
    todo.emplace_back();
    while (!todo.empty()) {
      if (states_ >= most) return hangs ? outcome::some_hang : outcome::not_known;
      ++states_;
      path_ = std::move(todo.back());
      todo.pop_back();
      run r = fresh();
      r.settle();
      for (const choice& c : path_) r.take(c);
      std::pmr::vector<std::uint32_t> state(set_.memory);
      r.append_state(state);
      if (!seen_.insert(std::move(state)).second) continue;
      std::pmr::vector<choice> next(set_.memory);
      r.choices(next);
      const bool finished = next.empty() && r.finished();
      finishes = finishes || finished;
      if (!finished && r.may_stand_still() && !std::exchange(hangs, true)) found_ = path_;
      if (finishes && hangs) return outcome::some_hang;
      for (std::size_t i = next.size(); i-- > 0;) {
        todo.push_back(path_);
        todo.back().push_back(next[i]);
      }
    }
    return hangs ? outcome::all_hang : outcome::none_hangs;
  }

  /// One run after another by lot. @return whether one hangs
  [[nodiscard]] bool try_some() {
    const std::uint64_t attempts = work_ / ops_ < 1 ? 1 : work_ / ops_ > 64 ? 64 : work_ / ops_;
    for (std::uint64_t i = 0; i < attempts; ++i) {
      run r = fresh();
      r.settle();
      found_.clear();
      if (set_.races || left_.buffers) walk_choices(r);
      else walk_offers(r);
      ++states_;
      if (!r.finished()) return true;
    }
    found_.clear();
    return false;
  }
  void walk_offers(run& r) {
    while (r.offers() > 0) r.take_offer(draw(r.offers()), &found_);
  }
  void walk_choices(run& r) {
    std::pmr::vector<choice> next(set_.memory);
    while (!r.may_stand_still()) {
      next.clear();
      r.choices(next);
      found_.push_back(next[draw(next.size())]);
      r.take(found_.back());
    }
  }
  /// The same numbers on each machine and each time.
  [[nodiscard]] std::size_t draw(std::size_t below) noexcept {
    dice_ = dice_ * 6364136223846793005u + 1442695040888963407u;
    return hocket::detail::to_size((dice_ >> 33) % below);
  }

  const setting& set_;
  choosing left_;
  std::uint64_t work_;
  std::uint64_t ops_ = 1;
  std::uint64_t states_ = 0;
  std::uint64_t dice_ = 40;
  std::pmr::vector<choice> found_, path_;
  std::pmr::set<std::pmr::vector<std::uint32_t>> seen_;
};

}  // namespace hocket::inline HOCKET_ABI::ranks::detail
