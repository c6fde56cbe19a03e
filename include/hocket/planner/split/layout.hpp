// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/bytes.hpp>
#include <hocket/core/detail/checked_answer.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// What stands on which stage of a pipeline: embedding, layers, multi-token-prediction modules, loss.
namespace hocket::inline HOCKET_ABI::planner {

/// One stage, of what it has in model order.
struct layout_stage {
  bool embedding = false;
  std::int64_t layers = 0, predictions = 0;
  bool loss = false;  ///< final norm, head and loss
  [[nodiscard]] constexpr bool is_empty() const noexcept {
    return !embedding && !loss && layers == 0 && predictions == 0;
  }
  friend constexpr bool operator==(const layout_stage&, const layout_stage&) = default;
};
/// The stages in model order: stage s is chunk s / ranks of rank s % ranks. A stage may be empty.
struct model_layout {
  std::vector<layout_stage> stages;
  [[nodiscard]] std::int64_t layer_count() const noexcept {
    std::int64_t sum = 0;
    for (const layout_stage& s : stages) sum += s.layers;
    return sum;
  }
  [[nodiscard]] std::int64_t prediction_count() const noexcept {
    std::int64_t sum = 0;
    for (const layout_stage& s : stages) sum += s.predictions;
    return sum;
  }
  friend bool operator==(const model_layout&, const model_layout&) = default;
};

/// Whether a layout is one of this model on so many ranks, by the rules of Megatron-LM. The embedding stands on the
/// first stage, the loss on the last, each once. Prediction modules stand behind all layers, on one stage of the last
/// chunk.
/// Errors: errc::indivisible, errc::out_of_range, errc::layout_count or errc::invalid_argument, naming the count or the
/// stage. O(stages). Source: Megatron-LM pipeline_parallel_layer_layout.py.
[[nodiscard]] inline result<void> check(const model_layout& x, std::int64_t ranks, std::int64_t layers,
                                        std::int64_t predictions) {
  const auto count = static_cast<std::int64_t>(x.stages.size());
  if (ranks < 1) return error{errc::out_of_range, ranks, 1, (std::numeric_limits<std::int64_t>::max)()}.with("ranks");
  if (count == 0 || count % ranks != 0) return error{errc::indivisible, count, ranks}.with("stages over ranks");
  const auto exactly = [](std::int64_t has, std::int64_t must, const char* what) -> result<void> {
    if (has == must) return {};
    return error{errc::layout_count, has, must}.with(what);
  };
  if (const auto ok = exactly(x.layer_count(), layers, "layers"); !ok) return ok;
  if (const auto ok = exactly(x.prediction_count(), predictions, "prediction modules"); !ok) return ok;
  bool predicted = false;
  for (std::int64_t s = 0; s < count; ++s) {
    const layout_stage& stage = x.stages[static_cast<std::size_t>(s)];
    if (stage.layers < 0 || stage.predictions < 0) return error{errc::invalid_argument, s}.with("a negative stage");
    if (stage.embedding != (s == 0)) return error{errc::invalid_argument, s}.with("embedding: stage");
    if (stage.loss != (s + 1 == count)) return error{errc::invalid_argument, s}.with("loss: stage");
    if (predicted && stage.layers > 0) return error{errc::invalid_argument, s}.with("layers behind predictions: stage");
    if (stage.predictions == 0) continue;
    if (predicted) return error{errc::invalid_argument, s}.with("predictions of two stages: stage");
    if (s < count - ranks) return error{errc::invalid_argument, s}.with("predictions before last chunk: stage");
    predicted = true;
  }
  return {};
}

/// Bytes of a layer: those that it has anyway, and those that it keeps of each micro-batch in flight.
struct layout_bytes {
  bytes states{}, kept{};
};
/// What a rank has room for, and what it holds beside its layers.
struct layout_room {
  bytes capacity{}, fixed{};
  std::int64_t in_flight = 1;  ///< micro-batches at its peak
};

/// Which layout has the least slowest stage?  Times are of one micro-batch, forward and backward.
struct layout_problem {
  std::vector<ticks> layers;  ///< of each, in model order
  ticks embedding = 0, loss = 0;
  ticks predictions = 0;  ///< of all modules together: they stand on one stage
  std::int64_t prediction_count = 0;
  std::int64_t ranks = 1, chunks = 1;
  std::vector<layout_bytes> layer_bytes{};  ///< of each layer; empty: memory is not looked at
  layout_bytes prediction_bytes{};          ///< of all modules together
  std::vector<layout_room> rooms{};         ///< of each rank; with one chunk only
};
struct layout_plan {
  model_layout layout;
  ticks slowest = 0;  ///< of its stages; no layout has less
};

namespace detail {

/// The items that stages take in order: layers, then the prediction modules as one.
class layout_items {
 public:
  explicit layout_items(const layout_problem& p)
      : p_(p), stages_(p.ranks * p.chunks), before_(1, 0), predicts_(p.prediction_count > 0) {
    for (const ticks t : p.layers) before_.push_back(before_.back() + t);
    if (predicts_) before_.push_back(before_.back() + p.predictions);
    const auto weigh = [&](const layout_bytes& x) {
      states_.push_back(states_.back() + x.states);
      kept_.push_back(kept_.back() + x.kept);
    };
    for (const layout_bytes& x : p.layer_bytes) weigh(x);
    if (predicts_) weigh(p.prediction_bytes);
  }
  [[nodiscard]] std::size_t count() const noexcept { return before_.size() - 1; }
  [[nodiscard]] std::int64_t stages() const noexcept { return stages_; }
  /// Time of a stage with the items [from, to).
  [[nodiscard]] ticks time(std::int64_t stage, std::size_t from, std::size_t to) const noexcept {
    return before_[to] - before_[from] + (stage == 0 ? p_.embedding : 0) + (stage + 1 == stages_ ? p_.loss : 0);
  }
  /// Bytes that a stage with them lacks; none where memory is not looked at.
  [[nodiscard]] std::int64_t lacks(std::int64_t stage, std::size_t from, std::size_t to) const noexcept {
    if (p_.rooms.empty()) return 0;
    const layout_room& room = p_.rooms[static_cast<std::size_t>(stage)];
    const bytes used = room.fixed + (states_[to] - states_[from]) + room.in_flight * (kept_[to] - kept_[from]);
    return used > room.capacity ? (used - room.capacity).count() : 0;
  }
  /// Whether a stage may have them.
  [[nodiscard]] bool holds(std::int64_t stage, std::size_t from, std::size_t to, ticks most) const noexcept {
    return time(stage, from, to) <= most && lacks(stage, from, to) == 0;
  }
  /// The items that may end a stage: prediction modules stand in the last chunk.
  [[nodiscard]] std::size_t last_of(std::int64_t stage) const noexcept {
    return predicts_ && stage < stages_ - p_.ranks ? count() - 1 : count();
  }
  [[nodiscard]] std::int64_t layers(std::size_t from, std::size_t to) const noexcept {
    const std::size_t all = p_.layers.size();
    return static_cast<std::int64_t>((std::min)(to, all) - (std::min)(from, all));
  }
  /// Whether every stage can stay within `most` and its memory: each takes as much as it can, which leaves least for
  /// those behind.
  /// @param lack  if not null: a stage that cannot, and the bytes that it lacks
  [[nodiscard]] bool fits(ticks most, std::pair<std::int64_t, std::int64_t>* lack = nullptr) const noexcept {
    std::size_t at = 0;
    for (std::int64_t s = 0; s < stages_; ++s) {
      const std::size_t from = at;
      if (!holds(s, at, at, most)) {
        if (lack != nullptr) *lack = {s, lacks(s, at, at)};
        return false;
      }
      while (at < last_of(s) && holds(s, from, at + 1, most)) ++at;
      if (lack != nullptr) *lack = {s, lacks(s, from, count())};
    }
    return at == count();
  }
  [[nodiscard]] ticks all() const noexcept { return before_.back() + p_.embedding + p_.loss; }

 private:
  const layout_problem& p_;
  std::int64_t stages_;
  std::vector<ticks> before_;                           // times of the items before each
  std::vector<bytes> states_{bytes()}, kept_{bytes()};  // and their bytes
  bool predicts_;
};

/// Of the layouts within `most`, the one whose numbers of layers have the least sum of squares; of those, the one whose
/// last stages have fewest.
inline std::vector<std::size_t> most_even_cuts(const layout_items& items, ticks most) {
  constexpr std::int64_t none = (std::numeric_limits<std::int64_t>::max)();
  const std::size_t n = items.count(), width = n + 1;
  const auto stages = static_cast<std::size_t>(items.stages());
  std::vector<std::int64_t> least((stages + 1) * width, none);
  std::vector<std::size_t> from((stages + 1) * width, 0);
  least[0] = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    const auto stage = static_cast<std::int64_t>(s);
    for (std::size_t at = 0; at <= n; ++at) {
      const std::int64_t so_far = least[s * width + at];
      if (so_far == none) continue;
      for (std::size_t to = at; to <= n && items.holds(stage, at, to, most); ++to) {
        if (to > at && to > items.last_of(stage)) break;
        const std::int64_t layers = items.layers(at, to), sum = so_far + layers * layers;
        std::int64_t& there = least[(s + 1) * width + to];
        if (sum > there || (sum == there && at <= from[(s + 1) * width + to])) continue;
        there = sum;
        from[(s + 1) * width + to] = at;
      }
    }
  }
  std::vector<std::size_t> cuts(stages + 1, n);
  for (std::size_t s = stages; s > 0; --s) cuts[s - 1] = from[s * width + cuts[s]];
  return cuts;
}

/// @param cuts  the first item of each stage, then their number
[[nodiscard]] inline model_layout layout_of(const layout_problem& p, const layout_items& items,
                                            std::span<const std::size_t> cuts) {
  model_layout out;
  for (std::int64_t s = 0; s < items.stages(); ++s) {
    const std::size_t from = cuts[static_cast<std::size_t>(s)], to = cuts[static_cast<std::size_t>(s) + 1];
    const std::int64_t layers = items.layers(from, to);
    const bool predicts = static_cast<std::int64_t>(to - from) > layers;
    out.stages.push_back({s == 0, layers, predicts ? p.prediction_count : 0, s + 1 == items.stages()});
  }
  return out;
}

/// Whether the bytes of a problem can be added up, and there are as many as layers and ranks.
inline result<void> check_memory(const layout_problem& p) {
  if (p.rooms.empty() && p.layer_bytes.empty()) return {};
  constexpr std::int64_t max_bytes = std::int64_t{1} << 50, max_total = std::int64_t{1} << 62;
  if (p.chunks > 1) return error{errc::invalid_argument, p.chunks}.with("memory of layouts with several chunks");
  if (static_cast<std::int64_t>(p.rooms.size()) != p.ranks || p.layer_bytes.size() != p.layers.size())
    return error{errc::bad_shape, static_cast<std::int64_t>(p.rooms.size()), p.chunks,
                 static_cast<std::int64_t>(p.layer_bytes.size())}
        .with("rooms of ranks and bytes of layers");
  std::int64_t states = p.prediction_bytes.states.count(), kept = p.prediction_bytes.kept.count(), most = 1;
  const auto is_size = [](std::int64_t x) -> result<void> {
    if (x >= 0 && x <= max_bytes) return {};
    return error{errc::out_of_range, x, 0, max_bytes}.with("bytes of a layout");
  };
  for (const layout_room& room : p.rooms) {
    for (const std::int64_t x : {room.capacity.count(), room.fixed.count(), room.in_flight})
      if (const auto ok = is_size(x); !ok) return ok;
    most = (std::max)(most, room.in_flight);
  }
  for (const std::int64_t x : {states, kept})
    if (const auto ok = is_size(x); !ok) return ok;
  for (const layout_bytes& x : p.layer_bytes) {
    for (const std::int64_t y : {x.states.count(), x.kept.count()})
      if (const auto ok = is_size(y); !ok) return ok;
    if (!checked_add(states, x.states.count(), states) || !checked_add(kept, x.kept.count(), kept))
      return error{errc::overflow, states, kept}.with("bytes of layers");
  }
  std::int64_t all = 0;
  if (!checked_multiply(kept, most, all) || !checked_add(all, states, all) || all > max_total)
    return error{errc::overflow, kept, most}.with("bytes in flight");
  return {};
}

}  // namespace detail

namespace detail {

/// Whether a layout answers the problem and its slowest stage takes what is said of it: the check that solve() ends
/// with. Errors: those of check(model_layout); errc::wrong_answer. O(layers + stages).
/// @param times  if not null: what each stage takes
[[nodiscard]] inline result<void> check_answer(const layout_problem& p, const model_layout& layout, ticks claimed,
                                               std::vector<ticks>* times = nullptr) {
  using hocket::detail::expect_within;
  const auto layers = static_cast<std::int64_t>(p.layers.size());
  if (const auto ok = check(layout, p.ranks, layers, p.prediction_count); !ok) return ok;
  ticks slowest = 0;
  std::size_t layer = 0;
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    const layout_stage& stage = layout.stages[s];
    ticks time = (stage.embedding ? p.embedding : 0) + (stage.loss ? p.loss : 0);
    std::int64_t states = 0, kept = 0;
    const auto add = [&](ticks of_item, const layout_bytes& bytes_of_item) {
      time += of_item;
      states += bytes_of_item.states.count();
      kept += bytes_of_item.kept.count();
    };
    for (std::int64_t i = 0; i < stage.layers; ++i, ++layer)
      add(p.layers[layer], p.layer_bytes.empty() ? layout_bytes{} : p.layer_bytes[layer]);
    if (stage.predictions > 0) add(p.predictions, p.prediction_bytes);
    slowest = (std::max)(slowest, time);
    if (times != nullptr) times->push_back(time);
    if (p.rooms.empty()) continue;
    const layout_room& room = p.rooms[s];
    const std::int64_t used = room.fixed.count() + states + room.in_flight * kept;
    if (const auto ok = expect_within(used, 0, room.capacity.count(), "the bytes of a stage"); !ok) return ok;
  }
  return hocket::detail::expect_equal(claimed, slowest, "the time of the slowest stage");
}

}  // namespace detail

/// The layout whose slowest stage is fastest, whatever schedule runs it, of those that fit if memory is looked at; of
/// several, one with even numbers of layers. Errors: errc::out_of_range for an invalid count, time or size;
/// errc::limit_exceeded for more than 2^24 stages x layers; errc::invalid_argument for memory with several chunks,
/// which solve(split_problem) looks at; errc::bad_shape, errc::overflow; errc::does_not_fit, with a rank and the bytes
/// that it lacks. A layout that fails its last check is errc::wrong_answer, a defect. Complexity: O(layers log(time))
/// for the bound, then stages x layers x layers of a stage.
///
///     const auto best = solve(layout_problem{.layers = times, .loss = 40, .ranks = 4});
///     interop::write_megatron_layout(best->layout);    // "Et*3|(t*4|)*2,ttL"
[[nodiscard]] inline result<layout_plan> solve(const layout_problem& p) {
  constexpr std::int64_t max_stages = 1 << 16, max_table = 1 << 24;
  constexpr ticks max_time = ticks{1} << 40;  // of an item: sums of 2^16 of them fit
  const auto within = [](std::int64_t x, std::int64_t least, std::int64_t most, const char* what) -> result<void> {
    if (x >= least && x <= most) return {};
    return error{errc::out_of_range, x, least, most}.with(what);
  };
  if (const auto ok = within(p.ranks, 1, max_stages, "ranks"); !ok) return ok.error();
  if (const auto ok = within(p.chunks, 1, max_stages / p.ranks, "chunks"); !ok) return ok.error();
  const auto layers = static_cast<std::int64_t>(p.layers.size());
  if (const auto ok = within(layers, 1, max_stages, "layers"); !ok) return ok.error();
  if (const auto ok = within(p.prediction_count, 0, max_stages, "prediction modules"); !ok) return ok.error();
  for (const ticks t : {p.embedding, p.loss, p.predictions})
    if (const auto ok = within(t, 0, max_time, "ticks of an end"); !ok) return ok.error();
  for (const ticks t : p.layers)
    if (const auto ok = within(t, 0, max_time, "ticks of a layer"); !ok) return ok.error();
  if (const auto ok = detail::check_memory(p); !ok) return ok.error();
  const detail::layout_items items(p);
  if (items.stages() * (layers + 2) > max_table)
    return error{errc::limit_exceeded, items.stages() * (layers + 2), max_table}.with("stages x layers");
  std::pair<std::int64_t, std::int64_t> lack{0, 0};
  if (!items.fits(items.all(), &lack))
    return error{errc::does_not_fit, lack.first, lack.second}.with("the layout that fills ranks in turn,");
  ticks low = 0, high = items.all();  // the least that fits lies in [low, high]
  while (low < high) {
    const ticks middle = low + (high - low) / 2;
    if (items.fits(middle)) high = middle;
    else low = middle + 1;
  }
  const std::vector<std::size_t> cuts = detail::most_even_cuts(items, low);
  const layout_plan out{detail::layout_of(p, items, cuts), low};
  if (const auto ok = detail::check_answer(p, out.layout, out.slowest); !ok) return ok.error();
  return out;
}

/// The least capacity with which some layout fits, if every rank has the same: what to ask for where solve says
/// errc::does_not_fit. The capacities of the problem are not read, its times do not matter.
/// Errors: those of solve, errc::does_not_fit if 2^50 bytes are too few; errc::invalid_argument without rooms.
/// Complexity: O((layers + ranks) log(bytes)).
///
///     for (auto& room : problem.rooms) room.capacity = *least_capacity(problem);   // solve(problem) has a layout
[[nodiscard]] inline result<bytes> least_capacity(layout_problem p) {
  const auto with = [&](std::int64_t capacity) {
    for (layout_room& room : p.rooms) room.capacity = bytes(capacity);
  };
  with(0);
  p.loss = p.embedding = p.predictions = 0;
  for (ticks& t : p.layers) t = 0;
  const auto plan = solve(p);
  if (plan && p.rooms.empty()) return error{errc::invalid_argument}.with("least capacity without rooms");
  if (plan) return bytes();
  if (plan.error().code != errc::does_not_fit) return plan.error();
  std::int64_t low = 1, high = std::int64_t{1} << 50;  // the largest capacity that there may be
  with(high);
  if (!detail::layout_items(p).fits(0)) return plan.error();
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    with(middle);
    if (detail::layout_items(p).fits(0)) high = middle;
    else low = middle + 1;
  }
  return bytes(low);
}

}  // namespace hocket::inline HOCKET_ABI::planner
