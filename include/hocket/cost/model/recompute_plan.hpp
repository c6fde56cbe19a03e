// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/peak_memory.hpp>
#include <hocket/cost/model/step_time.hpp>

#include <span>
#include <string>
#include <vector>

/// Plans that compute different things again in different layers and stages: by operation x layer x stage.
namespace hocket::inline HOCKET_ABI::cost {

/// Where one thing is computed again: per pipeline stage, per layer of the stage, in model order.
using layer_flags = std::vector<std::vector<bool>>;

/// What is computed again where: whole layers, and single operations in layers that are not.
struct recompute_plan {
  struct operation_flags {
    layer_operation which = layer_operation::none;  ///< one of `replayable`
    layer_flags where;
  };
  layer_flags full;  ///< empty: as the recompute level of `parallel` says, in every layer
  std::vector<operation_flags> operations;
  replay_set everywhere{};  ///< in every layer
};

/// The first n[i] layers of stage i, as configs of MindFormers list them.
/// @param layers  how many layers each stage has; n[i] <= layers[i] (precondition)
///
///     first_layers(std::vector<std::int64_t>{4, 0}, std::vector<std::int64_t>{20, 20})    // recompute: [4, 0]
[[nodiscard]] inline layer_flags first_layers(std::span<const std::int64_t> n, std::span<const std::int64_t> layers) {
  HOCKET_ASSERT(n.size() == layers.size());
  layer_flags out;
  for (std::size_t stage = 0; stage < n.size(); ++stage) {
    HOCKET_ASSERT(n[stage] >= 0 && n[stage] <= layers[stage]);
    std::vector<bool> flags(static_cast<std::size_t>(layers[stage]), false);
    for (std::int64_t layer = 0; layer < n[stage]; ++layer) flags[static_cast<std::size_t>(layer)] = true;
    out.push_back(std::move(flags));
  }
  return out;
}

/// How many layers each pipeline stage has when they are dealt out evenly, multi-token-prediction modules not counted.
/// Precondition: check(m, t, p) succeeded.
[[nodiscard]] inline std::vector<std::int64_t> layers_of_stages(const model& m, const parallel& p) {
  std::vector<std::int64_t> out;
  for (const part& on_rank : even_parts(m, p)) out.push_back(on_rank.layers - (on_rank.last ? m.mtp_layers : 0));
  return out;
}

/// The layers of each stage, dealt out evenly, with the choice that a plan makes for each; equal neighbours are one
/// group. Modules of multi-token prediction follow the level of `p`.
/// Errors: errc::bad_shape if the plan has not pp stages or not the stages' layers.
[[nodiscard]] inline result<std::vector<stage_layers>> planned_stages(const model& m, const parallel& p,
                                                                      const recompute_plan& plan) {
  const std::vector<std::int64_t> layers = layers_of_stages(m, p);
  const auto fits = [&](const layer_flags& flags) {
    if (flags.size() != layers.size()) return false;
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (static_cast<std::int64_t>(flags[i].size()) != layers[i]) return false;
    return true;
  };
  bool all_fit = plan.full.empty() || fits(plan.full);
  for (const auto& each : plan.operations) all_fit = all_fit && fits(each.where);
  if (!all_fit) return error{errc::bad_shape, p.pp, p.vp, m.layers}.with("the recompute plan has other layers");
  std::vector<stage_layers> out = even_stages(m, p, plan.everywhere);
  for (std::size_t stage = 0; stage < out.size(); ++stage) {
    stage_layers by_choice;
    std::size_t layer = 0;
    for (const layer_group& group : out[stage]) {
      if (group.kind != layer_kind::dense && group.kind != layer_kind::experts) {
        by_choice.push_back(group);
        continue;
      }
      for (std::int64_t i = 0; i < group.count; ++i, ++layer) {
        recompute_choice how = group.how;
        if (!plan.full.empty()) how.level = plan.full[stage][layer] ? recompute::full : recompute::none;
        for (const auto& each : plan.operations)
          if (how.level != recompute::full && each.where[stage][layer]) how.operations.*flag_of(each.which) = true;
        layer_group* last = by_choice.empty() ? nullptr : &by_choice.back();
        if (last != nullptr && last->kind == group.kind && last->how == how) ++last->count;
        else by_choice.push_back({group.kind, 1, how});
      }
    }
    out[stage] = std::move(by_choice);
  }
  return out;
}

/// "none", "selective, norm, activation", "full": what a layer computes again. The gather after a sequence-parallel
/// norm is named only where it is not computed again, as "gather kept".
[[nodiscard]] inline std::string to_string(const recompute_choice& how) {
  if (how.level == recompute::full) return "full";
  std::string out = how.level == recompute::selective ? "selective" : "";
  for (const layer_operation which : replayable)
    if (which != layer_operation::gather && how.operations.*flag_of(which))
      out += (out.empty() ? "" : ", ") + std::string(to_string(which));
  if (out.empty()) out = "none";
  return how.operations.gather ? out : out + ", gather kept";
}

/// FLOPs that one layer of a kind does again, over all sequences of a step. Windowed layers are taken to be spread
/// evenly. Errors: errc::undefined_value.
[[nodiscard]] inline result<rational> flops_again(const model& m, const training& t, const parallel& p,
                                                  const convention& c, layer_kind kind, const recompute_choice& how) {
  setting one{.on_rank = {.layers = 1,
                          .moe_layers = detail::has_experts(m, kind) ? 1 : 0,
                          .first = false,
                          .last = kind == layer_kind::prediction},
              .model = m,
              .training = t,
              .parallel = p,
              .counted = c,
              .replayed = how.operations};
  one.parallel.recompute = how.level;
  one.model.mtp_layers = 1;  // read of the last part alone
  const auto sum = [&] {
    rational again = 0;
    const auto numbers = numbers_of(one);
    for_each_term(forward_flop_terms, numbers, [&](const term_view& x) {
      if (const rational times = x.again(); !(times == rational(0))) again = again + times * x.amount();
    });
    return again;
  };
  rational out = detail::is_layer(kind) ? sum() : rational(0);
  if (detail::is_layer(kind) && kind != layer_kind::prediction && m.window_layers > 0) {
    const rational share = rational(m.window_layers) / rational(m.layers);
    one.on_rank.window_layers = 1;
    out = out * (rational(1) - share) + sum() * share;
  }
  if (!out.ok()) return error{errc::undefined_value}.with("FLOPs done again");
  return out;
}

/// As count_flops, for a plan: the work that its layers do again, stage by stage.
[[nodiscard]] inline result<flop_count> count_flops(const model& m, const training& t, const parallel& p,
                                                    const convention& c, const std::vector<stage_layers>& stages) {
  parallel once = p;
  once.recompute = recompute::none;
  auto out = count_flops(m, t, once, c);
  if (!out) return out.error();
  for (const stage_layers& stage : stages)
    for (const layer_group& group : stage) {
      const auto again = flops_again(m, t, p, c, group.kind, group.how);
      if (!again) return again.error();
      out->hardware_step = out->hardware_step + rational(group.count) * *again;
    }
  if (!out->hardware_step.ok()) return error{errc::undefined_value}.with("FLOPs of a step");
  return out;
}

namespace detail {

inline result<layer_bytes> bytes_of_layers(const model& m, const training& t, const parallel& p, const part& on_rank,
                                           const held& in_flight, const stage_layers& layers) {
  layer_bytes out;
  rational largest = 0;
  const std::int64_t passes[2] = {in_flight.layer_passes - in_flight.moe_layer_passes, in_flight.moe_layer_passes},
                     all[2] = {on_rank.layers - on_rank.moe_layers, on_rank.moe_layers};
  for (const layer_group& group : layers) {
    if (!is_layer(group.kind) || group.count == 0) continue;
    const bool experts = has_experts(m, group.kind);
    parallel at = p;
    at.recompute = group.how.level;
    const auto kept = layer_activation_bytes(m, t, at, experts, group.how.operations);
    if (!kept) return kept.error();
    out.kept = out.kept + *kept * rational(passes[experts] * group.count) / rational(all[experts]);
    if (largest < *kept) largest = *kept;
    if (group.how.level != recompute::full) continue;
    at.recompute = recompute::none;
    const auto whole = layer_activation_bytes(m, t, at, experts, group.how.operations);
    if (!whole) return whole.error();
    out.again = out.again < *whole ? *whole : out.again;
  }
  out.kept = kept_on_device(p, out.kept, largest);
  if (!out.kept.ok() || !out.again.ok()) return error{errc::undefined_value}.with("activations");
  return out;
}

}  // namespace detail

/// As peak_memory, for a rank whose layers are recomputed as `layers` says: the passes in flight are shared out over
/// its layers evenly. Errors: those of peak_memory.
[[nodiscard]] inline result<memory_peak> peak_memory(const model& m, const training& t, const parallel& p,
                                                     const part& on_rank, const held& in_flight,
                                                     const stage_layers& layers) {
  const auto bytes = detail::bytes_of_layers(m, t, p, on_rank, in_flight, layers);
  if (!bytes) return bytes.error();
  return detail::peak_with(*bytes, m, t, p, on_rank, in_flight);
}

/// As activation_bytes, for such a rank.
[[nodiscard]] inline result<rational> activation_bytes(const model& m, const training& t, const parallel& p,
                                                       const part& on_rank, const held& in_flight,
                                                       const stage_layers& layers) {
  const auto bytes = detail::bytes_of_layers(m, t, p, on_rank, in_flight, layers);
  if (!bytes) return bytes.error();
  return detail::with_ends(*bytes, m, t, p, on_rank, in_flight);
}

}  // namespace hocket::inline HOCKET_ABI::cost
