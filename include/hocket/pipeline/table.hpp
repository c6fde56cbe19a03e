// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/pipeline/rank_view.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Any placement, written down. Borrowed from the table it belongs to.
struct table_placement {
  borrowed<std::uint32_t> ranks;   ///< by direction, then stage
  borrowed<std::uint32_t> chunks;  ///< by stage
  borrowed<std::uint32_t> stages;  ///< by rank · v + chunk
  std::uint32_t chunks_per_rank = 1;
  [[nodiscard]] constexpr std::uint32_t rank_of(std::uint32_t stage) const noexcept { return ranks[stage]; }
  [[nodiscard]] constexpr std::uint32_t rank_of(std::uint32_t stage, std::uint32_t direction) const noexcept {
    return ranks[direction * chunks.size() + stage];
  }
  [[nodiscard]] constexpr std::uint32_t chunk_of(std::uint32_t stage) const noexcept { return chunks[stage]; }
  [[nodiscard]] constexpr std::uint32_t stage(std::uint32_t rank, std::uint32_t chunk) const noexcept {
    return stages[rank * chunks_per_rank + chunk];
  }
};

/// Most actions of one table, of all ranks together.
inline constexpr std::int64_t max_table_actions = 0xffff'ffff;

/// A schedule that is a list per rank: read from a file, found by a search, or copied from another to be changed.
/// Shape and placement follow from the lists. What a list must not be to be simulated, `check` tells.
class table_schedule {
 public:
  /// @param actions   the lists of all ranks, one after another
  /// @param row_ends  where the list of each rank ends in `actions`; the last is actions.size()
  /// Errors: errc::bad_shape if there are no ranks or actions, or ranks hold different numbers of stages.
  /// errc::misplaced_action (lines and cells counted from 1) if a stage appears on two ranks. errc::out_of_range for
  /// ends that are none. errc::invalid_argument for bits that are no op. errc::limit_exceeded beyond max_table_actions.
  /// In a bidirectional table, chunks and micro-batches are those of one direction. Complexity: O(actions + stages).
  /// @tparam Later  leave it: a template is compiled only where it is called
  template <class Later = void>
  [[nodiscard]] static result<table_schedule> make(
      std::span<const stage_action> actions, std::span<const std::uint32_t> row_ends,
      std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// The same lists as any other schedule's.
  template <schedule S>
  [[nodiscard]] static result<table_schedule> make_copy(
      const S& plan, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
    std::int64_t total = 0;
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) total += plan.size(r);
    if (total > max_table_actions) return error{errc::limit_exceeded, total, max_table_actions}.with("actions");
    std::pmr::vector<stage_action> actions(memory);
    std::pmr::vector<std::uint32_t> ends(memory);
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      for (const stage_action a : stage_list(plan, r)) actions.push_back(a);
      ends.push_back(static_cast<std::uint32_t>(actions.size()));
    }
    return make(actions, ends, memory);
  }

  [[nodiscard]] std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(ends_.size()); }
  [[nodiscard]] std::uint32_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  [[nodiscard]] std::uint32_t slices() const noexcept { return slices_; }
  [[nodiscard]] std::uint32_t directions() const noexcept { return directions_; }
  [[nodiscard]] table_placement placement() const& noexcept { return {rank_of_, chunk_of_, stage_at_, chunks_}; }
  void placement() const&& = delete;  // it refers to the table, which must not be a temporary
  [[nodiscard]] std::uint32_t size(std::uint32_t rank) const noexcept { return ends_[rank] - start(rank); }
  [[nodiscard]] stage_action at(std::uint32_t rank, std::uint32_t step) const noexcept {
    HOCKET_ASSERT(rank < ranks() && step < size(rank));
    return actions_[start(rank) + step];
  }
  /// Copies steps from `first` on, as many as fit and are left; returns how many.
  std::size_t fill(std::uint32_t of_rank, std::span<stage_action> out, std::uint32_t first) const noexcept {
    const std::span<const stage_action> from = rank(of_rank).subspan(first);
    const std::size_t count = out.size() < from.size() ? out.size() : from.size();
    for (std::size_t i = 0; i < count; ++i) out[i] = from[i];
    return count;
  }
  /// The list of one rank.
  [[nodiscard]] std::span<const stage_action> rank(std::uint32_t rank) const& noexcept {
    return std::span(actions_).subspan(start(rank), size(rank));
  }
  void rank(std::uint32_t rank) const&& = delete;

 private:
  explicit table_schedule(std::pmr::memory_resource* memory)
      : actions_(memory), ends_(memory), rank_of_(memory), chunk_of_(memory), stage_at_(memory) {}
  template <class Later = void>
  [[nodiscard]] result<void> find_ranks();
  template <class Later = void>
  [[nodiscard]] result<void> number_chunks();
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t start(std::uint32_t rank) const noexcept { return rank == 0 ? 0 : ends_[rank - 1]; }

  std::pmr::vector<stage_action> actions_;
  std::pmr::vector<std::uint32_t> ends_;
  std::pmr::vector<std::uint32_t> rank_of_, chunk_of_, stage_at_;
  std::uint32_t chunks_ = 1;
  std::uint32_t micro_batches_ = 1;
  std::uint32_t slices_ = 1;
  std::uint32_t directions_ = 1;
};

template <class Later>
result<table_schedule> table_schedule::make(std::span<const stage_action> actions,
                                            std::span<const std::uint32_t> row_ends,
                                            std::pmr::memory_resource* memory) {
  const auto p = static_cast<std::int64_t>(row_ends.size()), total = static_cast<std::int64_t>(actions.size());
  if (p == 0 || actions.empty()) return error{errc::bad_shape, p, 0, 0}.with("the table has no actions");
  if (total > max_table_actions) return error{errc::limit_exceeded, total, max_table_actions}.with("actions");
  std::uint32_t end = 0;
  for (const std::uint32_t e : row_ends) {
    if (e < end || e > actions.size()) return error{errc::out_of_range, e, end, total}.with("the end of a list");
    end = e;
  }
  if (end != actions.size()) return error{errc::out_of_range, end, total, total}.with("the end of the last list");
  table_schedule table(memory);
  table.actions_.assign(actions.begin(), actions.end());
  table.ends_.assign(row_ends.begin(), row_ends.end());
  if (const auto ok = table.find_ranks(); !ok) return ok.error();
  if (const auto ok = table.number_chunks(); !ok) return ok.error();
  return table;
}

/// The shape, and on which rank each stage is.
template <class Later>
result<void> table_schedule::find_ranks() {
  std::uint32_t stages = 0;
  micro_batches_ = 0;
  for (const stage_action a : actions_) {
    if (a.kind() > last_action_kind)
      return error{errc::invalid_argument, static_cast<std::int64_t>(a.kind())}.with("op");
    if (a.direction() != 0) directions_ = 2;
    stages = a.stage() >= stages ? a.stage() + 1 : stages;
    if (!is_compute(a.kind())) continue;
    micro_batches_ = a.micro_batch() >= micro_batches_ ? a.micro_batch() + 1 : micro_batches_;
    slices_ = a.slice() >= slices_ ? a.slice() + 1 : slices_;
  }
  rank_of_.assign(std::size_t{directions_} * stages, nowhere);
  for (std::uint32_t r = 0; r < ranks(); ++r) {
    for (std::uint32_t i = 0; i < size(r); ++i) {
      const stage_action a = at(r, i);
      if (a.kind() == action_kind::idle) continue;  // of no stage
      std::uint32_t& where = rank_of_[std::size_t{a.direction()} * stages + a.stage()];
      if (where != nowhere && where != r)
        return error{errc::misplaced_action, std::int64_t{r} + 1, a.stage(), std::int64_t{where} + 1,
                     std::int64_t{i} + 1};
      where = r;
    }
  }
  if (stages % ranks() != 0 || stages == 0)
    return error{errc::bad_shape, ranks(), stages / ranks(), micro_batches_}.with(
        "stages do not divide evenly over ranks");
  chunks_ = stages / ranks();
  return check(shape_of(*this));
}

/// Which chunk of its rank each stage is.
template <class Later>
result<void> table_schedule::number_chunks() {
  const std::uint32_t stages = ranks() * chunks_;
  chunk_of_.assign(stages, 0);
  stage_at_.assign(stages, 0);
  std::pmr::vector<std::uint32_t> held(ranks(), 0, ends_.get_allocator());
  for (std::uint32_t d = 0; d < directions_; ++d) {
    held.assign(ranks(), 0);
    for (std::uint32_t s = 0; s < stages; ++s) {
      const std::uint32_t r = rank_of_[std::size_t{d} * stages + s];
      if (r == nowhere) return error{errc::incomplete_schedule, 0, s, 0}.with("any action");
      if (held[r] == chunks_)
        return error{errc::bad_shape, ranks(), chunks_, micro_batches_}.with("ranks hold different numbers of stages");
      if (d == 0) {
        chunk_of_[s] = held[r];
        stage_at_[r * chunks_ + held[r]] = s;
      }
      ++held[r];
    }
  }
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
