// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/pipeline/table.hpp>

#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// How much memory a V schedule may take, against 1F1B: about a half, or about a third.
enum class v_memory : std::uint8_t { half, third };

/// Most micro-batches times ranks for which `v_schedule` builds lists; its time grows with their square.
inline constexpr std::int64_t max_v_schedule_units = 1 << 17;
/// Most ranks: warm-up and drain grow with them, whatever the number of micro-batches.
inline constexpr std::int64_t max_v_schedule_ranks = 2048;

namespace detail {

/// What a rank holds at most, in chunks.
[[nodiscard]] constexpr std::int64_t v_memory_cap(std::int64_t ranks, v_memory kind) noexcept {
  return kind == v_memory::half ? 2 * (ranks / 2) + 2 : 2 * ((ranks + 2) / 3) + 2;
}

/// Builds V-Half and V-Min lists: a pattern of period 6 that repeats for every micro-batch, whose warm-up and drain are
/// then tightened as far as the peak of memory stays. Types: forwards of chunk 0 and 1, backwards of chunk 1 and 0,
/// weight gradients (one list, or one for each).
template <class Later>  // members of a template are compiled only where they are called
class v_builder {
 public:
  v_builder(std::uint32_t ranks, std::uint32_t micro_batches, std::pmr::memory_resource* memory)
      : p_(ranks), m_(micro_batches), memory_(memory), times_(memory), grid_(memory) {}

  template <class Put>
  void build(v_memory kind, Put&& put) {
    place_pattern(kind);
    for (std::uint32_t r = 0; r < p_; ++r) put_weights(r, false);
    tighten(true);
    squeeze();
    drop_weights();
    tighten(false);
    for (std::uint32_t r = 0; r < p_; ++r) put_weights(r, false);
    squeeze();
    drop_weights();
    for (std::uint32_t r = 0; r < p_; ++r) put_weights(r, true);
    in_order(6, [&](const event& e) {
      constexpr action_kind kinds[] = {action_kind::forward,    action_kind::forward,     action_kind::input_grad,
                                       action_kind::input_grad, action_kind::weight_grad, action_kind::weight_grad};
      const std::uint32_t chunk = e.type < 2 ? e.type : 1 - e.type % 2;
      put(e.rank, kinds[e.type], chunk, e.index);
    });
  }

 private:
  using list = std::pmr::vector<std::uint32_t>;
  struct event {
    std::uint32_t time, rank, type, index;
  };

  [[nodiscard]] list& at(std::uint32_t rank, std::uint32_t type) { return times_[rank * 6 + type]; }
  template <class T>
  static void raise(T& to, T value) noexcept {
    if (value > to) to = value;
  }

  void place_pattern(v_memory kind) {
    times_.assign(std::size_t{p_} * 6, list(memory_));
    const std::uint32_t gap = kind == v_memory::half ? (p_ % 2 == 0 ? 3 : 0) : (p_ % 3 == 0 ? 2 : 0);
    for (std::uint32_t r = 0; r < p_; ++r) {
      const std::uint32_t half[] = {2 * r, 3 * p_ - r - 2, 3 * p_ + gap + 2 * r - 1, 6 * p_ + gap - r - 2};
      const std::uint32_t third[] = {r, 2 * p_ - r - 1, 2 * p_ + gap + r, 4 * p_ + gap - r - 1};
      for (std::uint32_t t = 0; t < 4; ++t)
        for (std::uint32_t j = 0; j < m_; ++j) at(r, t).push_back((kind == v_memory::half ? half : third)[t] + 6 * j);
    }
  }
  void drop_weights() {
    for (std::uint32_t r = 0; r < p_; ++r)
      for (std::uint32_t type = 4; type < 6; ++type) at(r, type).clear();
  }

  [[nodiscard]] std::uint32_t last_time(std::uint32_t rank, std::uint32_t types) {
    std::uint32_t last = 0;
    for (std::uint32_t t = 0; t < types; ++t)
      if (!at(rank, t).empty()) raise(last, at(rank, t).back());
    return last;
  }
  /// Which type runs at each time of a rank; `free` where none does.
  static constexpr std::uint8_t free = 255;
  void draw(std::uint32_t rank, std::uint32_t types) {
    row_.assign(last_time(rank, types) + 1, free);
    for (std::uint32_t t = 0; t < types; ++t)
      for (const std::uint32_t x : at(rank, t)) row_[x] = static_cast<std::uint8_t>(t);
  }

  /// Each weight gradient in the first free time after its backward, in order of the backwards; apart, those of chunk 1
  /// first.
  void put_weights(std::uint32_t rank, bool apart) {
    draw(rank, 4);
    std::uint32_t waiting[2] = {0, 0}, time = 0;
    for (; time < row_.size(); ++time) {
      const std::uint8_t type = row_[time];
      if (type != free) {
        if (type >= 2) ++waiting[apart ? type - 2 : 0];
        continue;
      }
      const std::uint32_t which = waiting[0] != 0 ? 0 : 1;
      if (waiting[which] == 0) continue;
      at(rank, 4 + which).push_back(time);
      --waiting[which];
    }
    for (std::uint32_t which = 0; which < 2; ++which)
      for (; waiting[which] != 0; --waiting[which]) at(rank, 4 + which).push_back(time++);
  }

  /// Most activations held, from the drawn row; without weight gradients in it, they take the free times.
  [[nodiscard]] static std::int32_t held(const std::pmr::vector<std::uint8_t>& row, bool with_weights) {
    std::int32_t now = 0, most = 0, waiting = 0;
    for (const std::uint8_t type : row) {
      if (type < 2) ++now;
      else if (type < 4) ++waiting;
      else if (type == 4) --now;
      else if (!with_weights && waiting != 0) {
        --now;
        --waiting;
      }
      raise(most, now);
    }
    return most;
  }

  template <class Use>
  void in_order(std::uint32_t types, Use&& use) {
    const auto each = [&](auto&& visit) {
      for (std::uint32_t r = 0; r < p_; ++r)
        for (std::uint32_t t = 0; t < types; ++t)
          for (std::uint32_t j = 0; j < at(r, t).size(); ++j) visit(event{at(r, t)[j], r, t, j});
    };
    std::uint32_t end = 0;
    for (std::uint32_t r = 0; r < p_; ++r) raise(end, last_time(r, types) + 1);
    list first(std::size_t{end} + 1, 0, memory_);  // of the events at each time
    each([&](const event& e) { ++first[std::size_t{e.time} + 1]; });
    for (std::uint32_t time = 0; time < end; ++time) first[time + 1] += first[time];
    std::pmr::vector<event> events(first[end], memory_);
    each([&](const event& e) { events[first[e.time]++] = e; });
    for (const event& e : events) use(e);
  }

  /// The time from which an event could run, by the pattern's unit times; 0 if nothing precedes it.
  [[nodiscard]] std::uint32_t ready(const event& e) {
    std::uint32_t from = 0;
    const auto after = [&](std::uint32_t time) { raise(from, time + 1); };
    if ((e.type == 0 || e.type == 2) && e.rank > 0) after(at(e.rank - 1, e.type)[e.index]);
    if ((e.type == 1 || e.type == 3) && e.rank + 1 < p_) after(at(e.rank + 1, e.type)[e.index]);
    if (e.type > 0 && e.type < 4) after(at(e.rank, e.type - 1)[e.index]);
    if (e.index > 0) after(at(e.rank, e.type)[e.index - 1]);
    return from;
  }
  /// The index-th backward of a rank, of either chunk.
  [[nodiscard]] std::uint32_t backward_time(std::uint32_t rank, std::uint32_t index) {
    const list &a = at(rank, 2), &b = at(rank, 3);
    std::uint32_t time = 0;
    for (std::size_t i = 0, of_a = 0; i <= index; ++i) {
      const std::size_t of_b = i - of_a;
      time = of_b == b.size() || (of_a < a.size() && a[of_a] < b[of_b]) ? a[of_a++] : b[of_b];
    }
    return time;
  }

  /// Moves events of the warm-up (with weight gradients placed) and of the drain to earlier free times, unless that
  /// raises the peak of memory.
  void tighten(bool with_weights) {
    const std::uint32_t types = with_weights ? 5 : 4;
    std::int32_t cap = 0;
    grid_.clear();
    for (std::uint32_t r = 0; r < p_; ++r) {
      draw(r, types);
      grid_.push_back(row_);
      raise(cap, held(row_, with_weights));
    }
    int phase = 0;  // warm-up, then the steady state, which stays, then the drain
    in_order(types, [&](const event& e) {
      if (e.type == 3 && e.rank == 0 && phase == 0) phase = 1;
      if (phase == 1) {
        if (e.type == 0 && e.index + 1 == m_) phase = 2;
        return;
      }
      if (phase == 0 && !with_weights) return;
      std::uint32_t from = ready(e);
      if (e.type == 4) raise(from, backward_time(e.rank, e.index) + 1);
      auto& row = grid_[e.rank];
      for (std::uint32_t time = from; time < e.time; ++time) {
        if (row[time] != free) continue;
        std::swap(row[time], row[e.time]);
        if (held(row, with_weights) <= cap) {
          at(e.rank, e.type)[e.index] = time;
          break;
        }
        std::swap(row[time], row[e.time]);
      }
    });
  }

  /// Each event as early as its inputs and its rank allow, in the same order. (An event's inputs come before it in this
  /// order, so they have moved already.)
  void squeeze() {
    list idle_from(p_, 0, memory_);
    in_order(5, [&](const event& e) {
      std::uint32_t& from = idle_from[e.rank];
      raise(from, ready(e));
      at(e.rank, e.type)[e.index] = from++;
    });
  }

  std::uint32_t p_, m_;
  std::pmr::memory_resource* memory_;
  std::pmr::vector<list> times_;
  std::pmr::vector<std::pmr::vector<std::uint8_t>> grid_;
  std::pmr::vector<std::uint8_t> row_;
};

}  // namespace detail

/// V-Half and V-Min: two chunks per rank in a V with about a half, or a third, of the activations of 1F1B, at some idle
/// time. There is no closed form: a pattern whose ends are tightened step by step, so the lists are built once, into
/// memory that the schedule owns. V-Half holds at most 2 ⌊p / 2⌋ + 2 chunks on a rank, V-Min 2 ⌊(p + 2) / 3⌋ + 2. Where
/// the memory would hold all 2m chunks there are, it binds nothing, and the lists are those of zbv, which are shorter.
/// @param s  ranks p, chunks 2, micro-batches m
/// Errors: errc::bad_shape if chunks != 2 or the shape is out of range; errc::limit_exceeded beyond
/// max_v_schedule_units or max_v_schedule_ranks. Complexity: O(p · m · (p + m)) time in practice, O(p · (p + m))
/// memory. Source: Qi et al. 2024, arXiv:2405.15362; all other lists are those of its authors' scheduler.
/// docs/pipeline.md.
///
///     const auto plan = hocket::pipeline::make_v_schedule({4, 2, 8}, hocket::pipeline::v_memory::half).value();
///     hocket::pipeline::simulate(plan, hocket::pipeline::costs{})->ranks[0].peak_in_flight == 6;   // of 8
template <class Later = void>
[[nodiscard]] result<table_schedule> make_v_schedule(
    const shape& s, v_memory kind, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (const auto ok = check(s); !ok) return ok.error();
  if (s.chunks != 2)
    return error{errc::bad_shape, s.ranks, s.chunks, s.micro_batches}.with("v-half and v-min have two chunks");
  if (s.ranks > max_v_schedule_ranks)
    return error{errc::limit_exceeded, s.ranks, max_v_schedule_ranks}.with("ranks of a v schedule");
  if (s.micro_batches > max_v_schedule_units / s.ranks)
    return error{errc::limit_exceeded, s.micro_batches * s.ranks, max_v_schedule_units}.with("micro-batches x ranks");
  if (2 * s.micro_batches <= detail::v_memory_cap(s.ranks, kind)) {
    const auto shorter = zbv::make(s);
    return table_schedule::make_copy(*shorter, memory);
  }
  const auto p = static_cast<std::uint32_t>(s.ranks), m = static_cast<std::uint32_t>(s.micro_batches);
  std::pmr::vector<stage_action> actions(std::size_t{p} * m * 6, memory);
  std::pmr::vector<std::uint32_t> ends(memory), next(memory);
  for (std::uint32_t r = 0; r < p; ++r) {
    next.push_back(r * m * 6);
    ends.push_back((r + 1) * m * 6);
  }
  const v_placement place{p};
  detail::v_builder<Later>(p, m, memory)
      .build(kind, [&](std::uint32_t r, action_kind kind_of, std::uint32_t chunk, std::uint32_t j) {
        actions[next[r]++] = {kind_of, place.stage(r, chunk), j};
      });
  return table_schedule::make(actions, ends, memory);
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
