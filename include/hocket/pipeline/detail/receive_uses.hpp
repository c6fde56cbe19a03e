// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/receive_buffers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// The receives of lowered lists, each with the step of its last use.
template <schedule S>
class receive_uses {
 public:
  receive_uses(const S& lists, const receive_options& with, std::pmr::memory_resource* memory)
      : lists_(lists), with_(with), memory_(memory), ends_{lists, communication::buffered, memory} {}

  /// Rank after rank, in the order of their lists; their slots are not chosen.
  [[nodiscard]] result<std::pmr::vector<posted_receive>> operator()() {
    if (const auto ok = check_sizes(); !ok) return ok.error();
    if (const auto ok = check(lists_, nullptr, memory_); !ok) return ok.error();
    if (!has_transfers(lists_)) {
      if (const auto ok = needs_none(); !ok) return ok.error();
      return std::move(found_);
    }
    if (const auto ok = ends_.prepare(); !ok) return ok.error();
    for (std::uint32_t r = 0; r < lists_.ranks(); ++r) find_receives(r);
    std::int64_t most = 0, all = 0;
    for (const posted_receive& x : found_) most = (std::max)(most, bytes_of(x.receive));
    if (!checked_multiply(most, static_cast<std::int64_t>(found_.size()), all))
      return error{errc::overflow, most, static_cast<std::int64_t>(found_.size())}.with("bytes of all receives");
    return std::move(found_);
  }

  /// Bytes of what a receive gets.
  [[nodiscard]] std::int64_t bytes_of(stage_action receive) const {
    const bool gradient = receive.kind() == action_kind::recv_backward;
    const auto& sizes = gradient && !with_.gradient_bytes.empty() ? with_.gradient_bytes : with_.activation_bytes;
    if (sizes.size() <= 1) return sizes.empty() ? 1 : sizes[0];
    return sizes[gradient ? receive.stage() : receive.stage() - 1];
  }

 private:
  [[nodiscard]] result<void> check_sizes(std::span<const std::int64_t> bytes, std::string_view what) const {
    const std::int64_t borders = std::int64_t{lists_.ranks()} * lists_.chunks() - 1;
    const auto given = static_cast<std::int64_t>(bytes.size());
    if (given > 1 && given != borders) return error{errc::out_of_range, given, borders, borders}.with(what);
    for (const std::int64_t x : bytes)
      if (x < 0) return error{errc::out_of_range, x, 0, INT64_MAX}.with("the bytes of a border between stages");
    return {};
  }
  [[nodiscard]] result<void> check_sizes() const {
    if (const auto ok = check_sizes(with_.activation_bytes, "the number of activation sizes"); !ok) return ok;
    return check_sizes(with_.gradient_bytes, "the number of gradient sizes");
  }
  [[nodiscard]] result<void> needs_none() const {
    for (std::uint32_t r = 0; r < lists_.ranks(); ++r)
      for (const stage_action a : stage_list(lists_, r))
        if (needs_receive(lists_, a))
          return error{errc::incomplete_schedule, r, a.stage(), a.micro_batch()}.with("the receive (see lower)");
    return {};
  }

  /// Whether what came must still be there when `a` runs, which is of the same stage and micro-batch.
  [[nodiscard]] bool reads(stage_action a, stage_action receive) const {
    const bool gradient = receive.kind() == action_kind::recv_backward;
    const held_until until = gradient ? with_.gradients : with_.activations;
    if (until == held_until::backward) return true;
    return gradient ? starts_backward(a.kind()) : a.kind() == action_kind::forward;
  }

  struct numbered {
    std::size_t number;  // of the transfer
    std::size_t index;   // of its receive
  };
  /// The receives of a rank, each with its last use.
  void find_receives(std::uint32_t rank) {
    const std::size_t begin = ends_.first[rank], end = ends_.first[rank + 1];
    numbers_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const stage_action a = ends_.actions[i];
      if (!is_transfer(a.kind()) || is_send(a.kind())) continue;
      numbers_.push_back({ends_.number_of(a), found_.size()});
      found_.push_back({.receive = a, .rank = rank, .posted = static_cast<std::uint32_t>(i - begin)});
    }
    std::sort(numbers_.begin(), numbers_.end(), by_number);
    for (std::size_t i = begin; i < end; ++i) {
      const stage_action a = ends_.actions[i];
      if (!is_compute(a.kind())) continue;
      note_use(a, a.with_kind(action_kind::recv_forward), i - begin);
      note_use(a, a.with_kind(action_kind::recv_backward), i - begin);
    }
  }
  static constexpr auto by_number = [](const numbered& x, const numbered& y) { return x.number < y.number; };
  void note_use(stage_action a, stage_action receive, std::size_t step) {
    const numbered wanted{ends_.number_of(receive), 0};
    const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), wanted, by_number);
    if (at == numbers_.end() || at->number != wanted.number || !reads(a, receive)) return;
    std::uint32_t& last = found_[at->index].last_use;
    last = (std::max)(last, static_cast<std::uint32_t>(step));
  }

  const S& lists_;
  const receive_options& with_;
  std::pmr::memory_resource* memory_;
  transfer_run<S> ends_;
  std::pmr::vector<posted_receive> found_{memory_};
  std::pmr::vector<numbered> numbers_{memory_};  // of a rank, ascending
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
