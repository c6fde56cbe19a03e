// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules: hocket.h over hocket::pipeline.
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "border.hpp"
#include "schedule.hpp"

namespace pipeline = hocket::pipeline;
using hocket_c::array;
using hocket_c::guarded;
using hocket_c::refuse;

namespace {

constexpr std::uint64_t most_listed = 1u << 26;  // as the tool: a text of some 300 MB

hocket_action as_struct(pipeline::stage_action a) noexcept {
  return {
      static_cast<std::uint32_t>(a.kind()), a.stage(), a.micro_batch(), a.slice(), a.direction(), a.joined() ? 1u : 0u};
}

std::string token(const pipeline::any_schedule& plan, pipeline::stage_action a) {
  return hocket::text::action_token(a, plan.slices() > 1);
}

// What check and simulate have found: a deadlock with its cycle, or what else is wrong with the lists.
hocket_status explain(hocket_error* error, const pipeline::any_schedule& plan, const hocket::error& why,
                      const std::pmr::vector<pipeline::blocked>& cycle) {
  if (why.code != hocket::errc::deadlock) return refuse(error, why);
  std::string sentence = message(why);
  constexpr std::size_t shown = 8;  // fits a hocket_error
  for (std::size_t i = 0; i < cycle.size() && i < shown; ++i)
    sentence += (i == 0 ? "; rank " : ", rank ") + std::to_string(cycle[i].rank) + " stands before " +
                token(plan, cycle[i].action) + " and waits for " + token(plan, cycle[i].needs) + " of rank " +
                std::to_string(cycle[i].holder);
  if (cycle.size() > shown) sentence += ", ...";
  return hocket_c::fail(error, HOCKET_WRONG_ORDER, sentence);
}

hocket::result<pipeline::costs> costs_of(const hocket_times* times) {
  if (times == nullptr) return pipeline::costs{.forward = 1, .backward = {1, 1, 2}, .hop = 0};
  const hocket_times& t = *times;
  hocket::ticks backward = t.backward_ticks;
  if (backward == -1 && !hocket::checked_add(t.input_grad_ticks, t.weight_grad_ticks, backward))
    return hocket::error{hocket::errc::overflow}.with("input_grad_ticks + weight_grad_ticks");
  return pipeline::costs{
      .forward = t.forward_ticks, .backward = {t.input_grad_ticks, t.weight_grad_ticks, backward}, .hop = t.hop_ticks};
}

hocket_status check_rank(const hocket_schedule& schedule, std::uint32_t rank, hocket_error* error) {
  if (rank < schedule.plan.ranks()) return HOCKET_OK;
  return refuse(error, "there is no rank " + std::to_string(rank) + ", the schedule has " +
                           std::to_string(schedule.plan.ranks()));
}

}  // namespace

size_t hocket_schedule_name_count(void) { return std::size(pipeline::schedule_names); }
const char* hocket_schedule_name(size_t index) {
  return index < std::size(pipeline::schedule_names) ? pipeline::schedule_names[index].data() : nullptr;  // literals
}

hocket_status hocket_schedule_create(const char* name, int64_t ranks, int64_t chunks, int64_t micro_batches,
                                     const char* groups, uint32_t kappa, int64_t memory_cap, int64_t slices,
                                     hocket_schedule** out, hocket_error* error) {
  return guarded(error, {{"name", name}, {"out", out}}, [&] {
    const pipeline::shape shape{.ranks = ranks,
                                .chunks = chunks == 0 ? pipeline::default_chunks(name) : chunks,
                                .micro_batches = micro_batches};
    const pipeline::any_schedule_options options{.groups = groups == nullptr ? "balanced" : groups,
                                                 .kappa = kappa,
                                                 .slices = slices == 0 ? 1 : slices,
                                                 .memory_cap = memory_cap};
    auto plan = pipeline::any_schedule::make(name, shape, options);
    if (!plan) return refuse(error, plan.error());
    *out = new hocket_schedule{*std::move(plan)};
    return hocket_status{HOCKET_OK};
  });
}

hocket_status hocket_schedule_parse(const char* text, size_t text_bytes, hocket_schedule** out, hocket_error* error) {
  return guarded(error, {array("text", text, text_bytes), {"out", out}}, [&] {
    auto table = hocket::text::parse_schedule_csv({text, text_bytes});
    if (!table) return refuse(error, table.error());
    *out = new hocket_schedule{pipeline::any_schedule(*std::move(table))};
    return hocket_status{HOCKET_OK};
  });
}

void hocket_schedule_destroy(hocket_schedule* schedule) { delete schedule; }

uint32_t hocket_schedule_ranks(const hocket_schedule* s) { return s == nullptr ? 0 : s->plan.ranks(); }
uint32_t hocket_schedule_chunks(const hocket_schedule* s) { return s == nullptr ? 0 : s->plan.chunks(); }
uint32_t hocket_schedule_micro_batches(const hocket_schedule* s) { return s == nullptr ? 0 : s->plan.micro_batches(); }
uint32_t hocket_schedule_slices(const hocket_schedule* s) { return s == nullptr ? 0 : s->plan.slices(); }
uint64_t hocket_schedule_fingerprint(const hocket_schedule* s) {
  return s == nullptr ? 0 : s->plan.visit([](const auto& plan) { return pipeline::fingerprint_of(plan); });
}

const char* hocket_action_name(uint32_t kind) {
  if (kind > static_cast<std::uint32_t>(pipeline::last_action_kind)) return nullptr;
  return to_string(static_cast<pipeline::action_kind>(kind)).data();  // literals
}

size_t hocket_schedule_length(const hocket_schedule* s, uint32_t rank) {
  return s == nullptr || rank >= s->plan.ranks() ? 0 : s->plan.size(rank);
}

hocket_status hocket_schedule_list(const hocket_schedule* schedule, uint32_t rank, hocket_action* actions,
                                   hocket_error* error) {
  const std::size_t length = hocket_schedule_length(schedule, rank);
  return guarded(error, {{"schedule", schedule}, array("actions", actions, length)}, [&] {
    if (const auto bad = check_rank(*schedule, rank, error); bad != HOCKET_OK) return bad;
    schedule->plan.visit([&](const auto& plan) {
      for (const pipeline::stage_action a : pipeline::stage_list(plan, rank)) *actions++ = as_struct(a);
    });
    return hocket_status{HOCKET_OK};
  });
}

hocket_status hocket_schedule_csv(const hocket_schedule* schedule, char** text, hocket_error* error) {
  return guarded(error, {{"schedule", schedule}, {"text", text}}, [&] {
    return schedule->plan.visit([&](const auto& plan) {
      std::uint64_t cells = 0;  // with the idle ones, some p^2
      for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
        const auto idle = hocket::text::idle_cells_of(plan, r);
        cells += plan.size(r);
        for (std::uint32_t i = 0; i < plan.size(r); ++i) cells += idle.before(i);
      }
      if (cells > most_listed)
        return refuse(error,
                      std::to_string(cells) + " cells are too many for a text: at most " + std::to_string(most_listed));
      *text = hocket_c::copy_of(hocket::text::write_schedule_csv(plan));
      return hocket_status{HOCKET_OK};
    });
  });
}

hocket_status hocket_schedule_check(const hocket_schedule* schedule, hocket_blocked* cycle, size_t capacity,
                                    size_t* count, hocket_error* error) {
  return guarded(error, {{"schedule", schedule}}, [&] {
    std::pmr::vector<pipeline::blocked> found;
    const auto good = schedule->plan.visit([&](const auto& plan) { return pipeline::check(plan, &found); });
    if (good) return hocket_status{HOCKET_OK};
    const hocket_status status = explain(error, schedule->plan, good.error(), found);
    if (count != nullptr) *count = found.size();
    for (std::size_t i = 0; cycle != nullptr && i < (std::min)(capacity, found.size()); ++i)
      cycle[i] = {found[i].rank, found[i].holder, as_struct(found[i].action), as_struct(found[i].needs)};
    return status;
  });
}

hocket_status hocket_schedule_simulate(const hocket_schedule* schedule, const hocket_times* times,
                                       hocket_rank_run* ranks, int64_t* makespan_ticks, int64_t* lower_bound_ticks,
                                       hocket_error* error) {
  return guarded(error, {{"schedule", schedule}}, [&] {
    const auto costs = costs_of(times);
    if (!costs) return refuse(error, costs.error());
    std::pmr::vector<pipeline::blocked> cycle;
    const auto ran =
        schedule->plan.visit([&](const auto& plan) { return pipeline::simulate(plan, *costs, {}, &cycle); });
    if (!ran) return explain(error, schedule->plan, ran.error(), cycle);
    for (const pipeline::rank_report& r : ran->ranks)
      if (ranks != nullptr) *ranks++ = {r.busy, r.idle, r.finish, r.peak_in_flight};
    if (makespan_ticks != nullptr) *makespan_ticks = ran->makespan;
    if (lower_bound_ticks != nullptr) *lower_bound_ticks = ran->lower_bound;
    return hocket_status{HOCKET_OK};
  });
}
