// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/peak_memory.hpp>
#include <hocket/cost/model/step_time.hpp>
#include <hocket/planner/saved_tensors/solve.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// The classes of a stage and where they come from: the operation that makes the tensors, or none for all that no
/// operation that can be computed again makes (above all the inputs of norms).
struct stage_class {
  cost::layer_operation by = cost::layer_operation::none;
  cost::layer_kind kind = cost::layer_kind::dense;
  friend constexpr bool operator==(const stage_class&, const stage_class&) = default;
};
struct stage_saved_tensors {
  std::vector<stage_class> names;  ///< of the problem's classes
  saved_tensor_problem problem;
  bytes beside{};                    ///< what the stage holds besides saved tensors: states, ends, buffers
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

/// Adds the classes of so many layers of a kind: one for each operation that saves memory if it is done again.
inline result<void> add_classes(const cost::model& m, const cost::training& t, const cost::parallel& p,
                                const cost::machine& on, cost::layer_kind kind, std::int64_t layers,
                                stage_saved_tensors& out) {
  if (layers == 0) return {};
  const auto rows = cost::replay_table(m, t, p, on, kind, {});
  const auto all = cost::layer_activation_bytes(m, t, p, kind == cost::layer_kind::experts);
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

}  // namespace detail

/// What one pipeline stage may keep, compute again or move to the host, by the formulas: the table of saved tensors,
/// the time of each operation, twice the bytes over the machine's `host_bytes`, and its `host_overlap`. `recompute` and
/// `offload_activations` of `p` are not read. Without `host_bytes` nothing moves.
/// @param on_rank    of even_parts
/// @param in_flight  micro-batches that the rank holds, as a schedule says
/// @param memory     of a device: saved tensors may take what the rest and the reserve leave
/// Errors: those of check and of the formulas; errc::does_not_fit, with the bytes that lack without any saved tensor.
///
///     const auto stage = saved_tensors_of(m, t, p, machine, cost::even_parts(m, p)[0], 4, {80_GiB});
///     solve(stage->problem)->choices
[[nodiscard]] inline result<stage_saved_tensors> saved_tensors_of(const cost::model& m, const cost::training& t,
                                                                  cost::parallel p, const cost::machine& on,
                                                                  const cost::part& on_rank, std::int64_t in_flight,
                                                                  const cost::device_memory& memory) {
  if (const auto fits = cost::check(m, t, p); !fits) return fits.error();
  if (const auto sound = cost::check(on); !sound) return sound.error();
  p.recompute = cost::recompute::none;
  p.offload_activations = false;
  stage_saved_tensors out;
  out.problem.in_flight = in_flight;
  out.problem.overlap = std::llround(on.host_overlap * 1000);
  const auto peak = cost::peak_memory(m, t, p, on_rank, {0, 0, on_rank.first ? in_flight : 0});
  if (!peak) return peak.error();
  const auto beside = detail::whole_bytes(peak->total_bytes());
  if (!beside) return beside.error();
  out.beside = bytes(*beside);
  if (!memory.fits(out.beside))
    return error{errc::does_not_fit, on_rank.rank, *beside - memory.usable().count()}.with("states");
  out.problem.capacity = memory.usable() - out.beside;
  const std::int64_t dense = on_rank.layers - on_rank.moe_layers;
  seconds compute{0}, all{0};
  const auto add = [&](cost::layer_kind kind, std::int64_t count) -> result<void> {
    if (count == 0) return {};
    const auto one = cost::time_of_layer(m, t, p, on, kind);
    if (!one) return one.error();
    compute += static_cast<double>(count) * one->compute();
    all += static_cast<double>(count) * one->total();
    return {};
  };
  for (const auto& [kind, count] :
       {std::pair{cost::layer_kind::dense, dense}, std::pair{cost::layer_kind::experts, on_rank.moe_layers},
        std::pair{cost::layer_kind::head, std::int64_t{on_rank.last ? 1 : 0}}})
    if (const auto ok = add(kind, count); !ok) return ok.error();
  out.problem.compute = detail::nanoseconds_of(compute);
  out.time = detail::nanoseconds_of(all);
  for (const auto& [kind, count] :
       {std::pair{cost::layer_kind::dense, dense}, std::pair{cost::layer_kind::experts, on_rank.moe_layers}})
    if (const auto ok = detail::add_classes(m, t, p, on, kind, count, out); !ok) return ok.error();
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner
