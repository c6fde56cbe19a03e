// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/device_memory.hpp>
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/replay_table.hpp>
#include <hocket/planner/saved_tensors/solve.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// The classes of a stage and where they come from: the operation that makes the tensors, or none for all that no
/// operation that can be computed again makes (above all the inputs of norms).
struct stage_class {
  cost::layer_operation by = cost::layer_operation::none;
  std::size_t kind = 0;  ///< among stage_saved_tensors::kinds
  friend constexpr bool operator==(const stage_class&, const stage_class&) = default;
};
/// Equal layers of a stage.
struct stage_kind {
  cost::layer_blocks blocks;
  std::vector<std::int64_t> layers;  ///< which of the stage's layers they are, from 0
};
struct stage_saved_tensors {
  std::vector<stage_kind> kinds;
  std::vector<stage_class> names;  ///< of the problem's classes
  saved_tensor_problem problem;
  bytes beside{};                    ///< what the stage holds besides saved tensors of layers: states, ends, buffers
  std::chrono::nanoseconds time{0};  ///< of one micro-batch if all is kept
};

namespace detail {

[[nodiscard]] inline result<std::int64_t> whole_bytes(const cost::rational& x) {
  const cost::rational up = x.ceiling();
  if (!up.ok() || up.num() > max_saved_value << 10 || up.num() < 0)
    return error{errc::overflow}.with("bytes of a stage");
  return static_cast<std::int64_t>(up.num());
}
[[nodiscard]] inline std::chrono::nanoseconds nanoseconds_of(seconds t) {
  constexpr double most = 3.6e13;  // ten hours; an infinite time is refused by check
  const double ns = t.count() * 1e9;
  return std::chrono::nanoseconds(ns < most ? std::llround(ns) : std::int64_t{1} << 62);
}

/// The layers of a stage, those with the same blocks together.
inline std::vector<stage_kind> kinds_of_stage(const cost::rank_layers& on) {
  std::vector<stage_kind> kinds;
  std::int64_t layer = 0;
  for (const cost::rank_run& run : on.layers) {
    if (run.place != cost::run_place::layer) continue;
    const auto same = [&](const stage_kind& x) { return x.blocks == run.blocks; };
    auto kind = std::find_if(kinds.begin(), kinds.end(), same);
    if (kind == kinds.end()) kind = kinds.insert(kind, {run.blocks, {}});
    for (std::int64_t i = 0; i < run.count; ++i) kind->layers.push_back(layer++);
  }
  return kinds;
}

/// Adds the classes of one kind of layer: one for each operation that saves memory if it is done again.
inline result<void> add_classes(const cost::layer_list& list, const cost::training& t, const cost::parallel& p,
                                const cost::machine& on, std::size_t kind, stage_saved_tensors& out) {
  const cost::layer_blocks& blocks = out.kinds[kind].blocks;
  const auto layers = static_cast<std::int64_t>(out.kinds[kind].layers.size());
  const auto rows = cost::replay_table(list, blocks, t, p, on, {});
  const auto all = cost::layer_activation_bytes(list, blocks, t, p);
  if (!rows) return rows.error();
  if (!all) return all.error();
  cost::rational rest = *all;
  const auto add = [&](cost::layer_operation by, const cost::rational& size, seconds again) -> result<void> {
    const auto bytes_of = whole_bytes(size);
    if (!bytes_of) return bytes_of.error();
    const seconds copy = on.host_bytes > 0 ? seconds(2 * static_cast<double>(*bytes_of) / on.host_bytes) : seconds(0);
    out.names.push_back({by, kind});
    out.problem.classes.push_back({layers, bytes(*bytes_of), nanoseconds_of(again), nanoseconds_of(copy),
                                   by != cost::layer_operation::none, on.host_bytes > 0});
    return {};
  };
  for (const cost::replay_row& row : *rows) {
    // A gather is always done again here, and flash attention's scores are never kept.
    if (row.which == cost::layer_operation::gather || !row.saves_memory()) continue;
    const cost::rational saved = row.bytes_kept - row.bytes_if_again;
    rest = rest - saved;
    if (const auto ok = add(row.which, saved, row.time_again); !ok) return ok;
  }
  return cost::rational(0) < rest ? add(cost::layer_operation::none, rest, seconds(0)) : result<void>{};
}

/// Time of a stage for one micro-batch: its layers and, on the last one, the head.
inline result<cost::layer_time> time_of_stage(const cost::layer_list& list, const cost::rank_layers& stage,
                                              const cost::training& t, const cost::parallel& p,
                                              const cost::machine& on) {
  cost::layer_time sum;
  for (const cost::rank_run& run : stage.layers) {
    const auto one = cost::time_of_layer(list, run.blocks, t, p, on, run.how);
    if (!one) return one.error();
    sum += static_cast<double>(run.count) * *one;
  }
  if (!stage.ends.last) return sum;
  const auto head = cost::time_of_head(list, t, p, on);
  if (!head) return head.error();
  sum += *head;
  return sum;
}

/// What a stage holds besides saved tensors of its layers, which none of them computes again.
inline result<bytes> bytes_beside(const cost::layer_list& list, const cost::rank_layers& stage, const cost::training& t,
                                  const cost::parallel& p, std::int64_t in_flight) {
  const cost::held_share nothing{0, stage.ends.first ? in_flight : 0};
  const auto memory = cost::memory_of_rank(list, stage, t, p, nothing);
  if (!memory) return memory.error();
  cost::rational sum = memory->peak.total_bytes();
  for (const cost::rank_run& run : stage.layers) {
    if (run.place == cost::run_place::layer) continue;
    const auto kept = cost::layer_activation_bytes(list, run.blocks, t, p);
    if (!kept) return kept.error();
    sum = sum + cost::rational(in_flight * run.count) * *kept;
  }
  const auto whole = whole_bytes(sum);
  if (!whole) return whole.error();
  return bytes(*whole);
}

}  // namespace detail

/// What one pipeline stage may keep, compute again or move to the host, by the formulas: the table of saved tensors,
/// the time of each operation, twice the bytes over the machine's `host_bytes`, and its `host_overlap`. `recompute` and
/// `offload_activations` of `p`, and the choices of the stage's runs, are not read. Without `host_bytes` nothing moves.
/// @param stage      of layers_of_ranks
/// @param in_flight  micro-batches that the rank holds, as a schedule says
/// @param memory     of a device: saved tensors may take what the rest and the reserve leave
/// Errors: those of check and of the formulas; errc::does_not_fit, with the bytes that lack without any saved tensor.
///
///     const auto stage = saved_tensors_of(list, (*layers_of_ranks(list, p))[0], t, p, machine, 4, {80_GiB});
///     solve(stage->problem)->choices
[[nodiscard]] inline result<stage_saved_tensors> saved_tensors_of(const cost::layer_list& list, cost::rank_layers stage,
                                                                  const cost::training& t, cost::parallel p,
                                                                  const cost::machine& on, std::int64_t in_flight,
                                                                  const cost::device_memory& memory) {
  if (const auto fits = cost::check(list, t, p); !fits) return fits.error();
  if (const auto sound = cost::check(on); !sound) return sound.error();
  p.recompute = cost::recompute::none;
  p.offload_activations = false;
  stage = cost::with_choice(std::move(stage), {});
  stage_saved_tensors out;
  out.problem.in_flight = in_flight;
  out.problem.overlap = std::llround(on.host_overlap * 1000);
  const auto beside = detail::bytes_beside(list, stage, t, p, in_flight);
  if (!beside) return beside.error();
  out.beside = *beside;
  if (!memory.fits(out.beside))
    return error{errc::does_not_fit, stage.ends.rank, (out.beside - memory.usable()).count()}.with("states");
  out.problem.capacity = memory.usable() - out.beside;
  const auto time = detail::time_of_stage(list, stage, t, p, on);
  if (!time) return time.error();
  out.problem.compute = detail::nanoseconds_of(time->compute());
  out.time = detail::nanoseconds_of(time->total());
  out.kinds = detail::kinds_of_stage(stage);
  for (std::size_t kind = 0; kind < out.kinds.size(); ++kind)
    if (const auto ok = detail::add_classes(list, t, p, on, kind, out); !ok) return ok.error();
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner
