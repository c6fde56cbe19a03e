// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/choose_groups.hpp>
#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/seq_1f1b.hpp>
#include <hocket/pipeline/schedules/v_memory.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/pipeline/table.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The names that any_schedule::make knows.
inline constexpr std::string_view schedule_names[] = {"gpipe",    "1f1b",  "eager-1f1b", "interleaved",    "looped-bfs",
                                                      "seq-1f1b", "zb-h1", "zb-h2",      "interleaved-zb", "zbv",
                                                      "v-half",   "v-min", "dualpipe",   "dualpipev"};

/// Chunks per rank that a schedule of this name has if one does not choose: 2 for the V schedules, else 1.
[[nodiscard]] constexpr std::int64_t default_chunks(std::string_view name) noexcept {
  return name == "zbv" || name == "v-half" || name == "v-min" || name == "dualpipev" ? 2 : 1;
}

/// What a schedule by name can be told besides its shape. A field that the schedule does not have must keep its
/// default.
struct any_schedule_options {
  /// interleaved: balanced, last, first, paper, least-memory, auto, or sizes such as "3,4,2".
  std::string groups = "balanced";
  std::uint32_t kappa = 0;      ///< interleaved: 1 or 2; 0 for what the groups prefer
  std::uint32_t extra = 0;      ///< interleaved: one forward more before the first backward
  std::int64_t slices = 1;      ///< seq-1f1b: sequence slices per micro-batch
  std::int64_t memory_cap = 0;  ///< interleaved, least-memory and auto: most activations on a rank; 0 for any
  costs times{};                ///< least-memory: forward and backward; auto: hop too
};

/// Where the stages of any schedule live: one of the three forms.
class any_placement {
 public:
  any_placement() noexcept = default;
  template <placement_policy P>
  any_placement(const P& place, std::uint32_t ranks) noexcept : inside_(place), ranks_(ranks) {}

  [[nodiscard]] std::uint32_t rank_of(std::uint32_t stage) const noexcept { return rank_of(stage, 0); }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t stage, std::uint32_t direction) const noexcept {
    return std::visit([&](const auto& x) { return pipeline::rank_of(x, ranks_, stage, direction); }, inside_);
  }
  [[nodiscard]] std::uint32_t chunk_of(std::uint32_t stage) const noexcept {
    return std::visit([&](const auto& x) { return x.chunk_of(stage); }, inside_);
  }
  [[nodiscard]] std::uint32_t stage(std::uint32_t rank, std::uint32_t chunk) const noexcept {
    return std::visit([&](const auto& x) { return x.stage(rank, chunk); }, inside_);
  }

 private:
  std::variant<loop_placement, v_placement, table_placement> inside_;
  std::uint32_t ranks_ = 1;
};

/// One type for every schedule, chosen by name when the program runs: for tools, configuration files, experiments. As
/// large as the largest closed form; only lists that are built or borrowed (tables, v-half, v-min, explicit groups) are
/// in memory that all copies share. `visit` gets at the schedule inside, so that a loop pays for the choice once.
///
///     const auto plan = hocket::pipeline::any_schedule::make("zbv", {4, 2, 8}).value();
///     plan.size(0) == 48 && plan.name() == "zbv";
template <class Later = void>  // leave it: members of a template are compiled only where they are called
class schedule_by_name {
 public:
  /// Errors: errc::unknown_schedule (its sentence lists the names); errc::not_an_option for an option that this
  /// schedule does not have; errc::unknown_groups; those of the schedule's own make. Complexity: O(1), but O(p m (p +
  /// m)) for v-half and v-min, O(actions) for groups auto and O(groups) for sizes.
  [[nodiscard]] static result<schedule_by_name> make(
      std::string_view name, const shape& s, const any_schedule_options& o = {},
      std::pmr::memory_resource* memory = std::pmr::get_default_resource());
  /// The same for lists, for example of a file.
  explicit schedule_by_name(table_schedule table) : inside_(std::make_shared<const table_schedule>(std::move(table))) {}

  /// Its name, from schedule_names, or "table".
  [[nodiscard]] std::string_view name() const noexcept { return name_; }

  [[nodiscard]] std::uint32_t ranks() const noexcept {
    return visit([](const auto& plan) { return plan.ranks(); });
  }
  [[nodiscard]] std::uint32_t chunks() const noexcept {
    return visit([](const auto& plan) { return plan.chunks(); });
  }
  [[nodiscard]] std::uint32_t micro_batches() const noexcept {
    return visit([](const auto& plan) { return plan.micro_batches(); });
  }
  [[nodiscard]] std::uint32_t slices() const noexcept {
    return visit([](const auto& plan) { return slices_of(plan); });
  }
  [[nodiscard]] std::uint32_t directions() const noexcept {
    return visit([](const auto& plan) { return directions_of(plan); });
  }
  /// Refers to the lists of a table, which must not be a temporary.
  [[nodiscard]] any_placement placement() const& noexcept {
    return visit([](const auto& plan) { return any_placement(plan.placement(), plan.ranks()); });
  }
  void placement() const&& = delete;
  [[nodiscard]] std::uint32_t size(std::uint32_t rank) const noexcept {
    return visit([=](const auto& plan) { return plan.size(rank); });
  }
  [[nodiscard]] stage_action at(std::uint32_t rank, std::uint32_t step) const noexcept {
    return visit([=](const auto& plan) { return stage_action_at(plan, rank, step); });
  }
  /// Writes steps from `first` on, as many as fit and are left; returns how many.
  std::size_t fill(std::uint32_t rank, std::span<stage_action> out, std::uint32_t first) const noexcept {
    return visit([=](const auto& plan) { return pipeline::fill(plan, rank, out, first); });
  }
  /// The step at which the rank runs `a`, or size(rank).
  [[nodiscard]] std::uint32_t step_of(std::uint32_t rank, stage_action a) const noexcept {
    return visit([=](const auto& plan) { return step_inside(plan, rank, a); });
  }
  [[nodiscard]] std::uint32_t peak_in_flight(std::uint32_t rank) const noexcept {
    return visit([=](const auto& plan) { return peak_of(plan, rank); });
  }
  [[nodiscard]] step_counts counts(std::uint32_t rank) const noexcept {
    return visit([=](const auto& plan) { return counts_of(plan, rank); });
  }

  /// use(plan) with the schedule inside.
  template <class Use>
  auto visit(Use&& use) const -> std::invoke_result_t<Use&, const gpipe&> {
    return std::visit(
        [&](const auto& inside) {
          if constexpr (std::is_same_v<decltype(inside), const table_pointer&>) return use(*inside);
          else return use(inside);
        },
        inside_);
  }

 private:
  using table_pointer = std::shared_ptr<const table_schedule>;

  template <class S>
  [[nodiscard]] static std::uint32_t step_inside(const S& plan, std::uint32_t rank, stage_action a) noexcept {
    const bool here = a.stage() < plan.ranks() * plan.chunks() && a.direction() < directions_of(plan) &&
                      pipeline::rank_of(plan.placement(), plan.ranks(), a.stage(), a.direction()) == rank &&
                      is_compute(a.kind()) && a.micro_batch() < plan.micro_batches() && a.slice() < slices_of(plan);
    if (!here) return plan.size(rank);
    if constexpr (std::is_same_v<detail::action_of<S>, stage_action>) return pipeline::step_of(plan, rank, a);
    else return pipeline::step_of(plan, rank, action(a.kind(), plan.placement().chunk_of(a.stage()), a.micro_batch()));
  }

  schedule_by_name() noexcept : inside_(gpipe{}) {}
  template <class S>
  [[nodiscard]] static result<schedule_by_name> holding(std::string_view name, result<S>&& made) {
    if (!made) return made.error();
    schedule_by_name plan;
    for (const std::string_view known : schedule_names)  // the caller's letters may be gone tomorrow
      if (known == name) plan.name_ = known;
    if constexpr (std::is_same_v<S, table_schedule>)
      plan.inside_ = std::make_shared<const table_schedule>(std::move(*made));
    else plan.inside_ = *made;
    return plan;
  }
  [[nodiscard]] static result<schedule_by_name> make_interleaved(std::string_view name, const shape& s,
                                                                 const any_schedule_options& o,
                                                                 std::pmr::memory_resource* memory);

  std::variant<gpipe, one_f_one_b, interleaved, seq_1f1b, zero_bubble, zbv, dual_pipe_v, dual_pipe, table_pointer>
      inside_;
  std::shared_ptr<const group_sizes> sizes_;  // of explicit groups
  std::string_view name_ = "table";           ///< literal
};
using any_schedule = schedule_by_name<>;  ///< the one to write

/// What is known in O(1) about running an interleaved schedule; `unknown` for the others, which all run.
[[nodiscard]] inline interleaved_outlook outlook_of(const any_schedule& plan) noexcept {
  return plan.visit([](const auto& inside) {
    if constexpr (std::is_same_v<decltype(inside), const interleaved&>) return outlook_of(inside);
    else return interleaved_outlook::unknown;
  });
}

namespace detail {

/// "3,4,2" as sizes; none if it is no list of numbers, or adds up to too much.
[[nodiscard]] inline group_sizes parse_group_sizes(std::string_view list) {
  std::vector<std::uint32_t> sizes;
  std::int64_t total = 0;
  const char *at = list.data(), *const end = at + list.size();
  for (;; ++at) {
    std::uint32_t size = 0;
    const auto [next, why] = std::from_chars(at, end, size);
    total += size;
    if (why != std::errc{} || size == 0 || total > max_micro_batches) return {};
    sizes.push_back(size);
    at = next;
    if (at == end) break;
    if (*at != ',') return {};
  }
  return group_sizes(sizes);
}

}  // namespace detail

template <class Later>
auto schedule_by_name<Later>::make_interleaved(std::string_view name, const shape& s, const any_schedule_options& o,
                                               std::pmr::memory_resource* memory) -> result<schedule_by_name> {
  const ticks f = o.times.forward, b = o.times.backward.whole;
  const interleaved_options with{.kappa = o.kappa, .extra = o.extra};
  const bool capable = o.groups == "least-memory" || o.groups == "auto";
  if (o.memory_cap != 0 && !capable)
    return error{errc::invalid_argument, o.memory_cap}.with("a cap without auto or least-memory");
  groups cut = groups::balanced();
  if (o.groups == "auto") {
    if (o.kappa != 0) return error{errc::invalid_argument, o.kappa}.with("kappa (groups auto chooses it)");
    if (o.extra != 0) return error{errc::invalid_argument, o.extra}.with("extra (groups auto has none)");
    const auto chosen = choose_groups<Later>(s, o.times, o.memory_cap, memory);
    return chosen ? holding(name, result<interleaved>(chosen->plan)) : chosen.error();
  }
  if (o.groups == "balanced") cut = groups::balanced();
  else if (o.groups == "last") cut = groups::last();
  else if (o.groups == "first") cut = groups::first();
  else if (o.groups == "paper") cut = groups::paper();
  else if (o.groups == "least-memory")
    cut = o.memory_cap != 0 ? groups::capped(o.memory_cap, f, b) : groups::least_memory(f, b);
  else {
    auto sizes = std::make_shared<const group_sizes>(detail::parse_group_sizes(o.groups));
    if (sizes->size() == 0) return error{errc::unknown_groups}.with(o.groups);
    auto plan = holding(name, interleaved::make(s, groups::list(*sizes), with));
    if (plan) plan->sizes_ = std::move(sizes);
    return plan;
  }
  return holding(name, interleaved::make(s, cut, with));
}

template <class Later>
auto schedule_by_name<Later>::make(std::string_view name, const shape& s, const any_schedule_options& o,
                                   std::pmr::memory_resource* memory) -> result<schedule_by_name> {
  const std::string_view* known = nullptr;
  for (const std::string_view& x : schedule_names)
    if (x == name) known = &x;
  if (known == nullptr) return error{errc::unknown_schedule}.with(name);
  name = *known;  // outlives the caller's
  if (name == "interleaved") {
    if (o.slices != 1) return error{errc::not_an_option}.with("slices");
    return make_interleaved(name, s, o, memory);
  }
  if (o.groups != "balanced") return error{errc::not_an_option}.with("groups");
  if (o.kappa != 0) return error{errc::not_an_option}.with("kappa");
  if (o.extra != 0) return error{errc::not_an_option}.with("extra");
  if (o.memory_cap != 0) return error{errc::not_an_option}.with("memory cap");
  if (name == "seq-1f1b") return holding(name, seq_1f1b::make(s, o.slices));
  if (o.slices != 1) return error{errc::not_an_option}.with("slices");
  if (name == "gpipe") return holding(name, gpipe::make(s));
  if (name == "looped-bfs") return holding(name, gpipe::make_looped_bfs(s));
  if (name == "1f1b") return holding(name, one_f_one_b::make(s, 1));
  if (name == "eager-1f1b") return holding(name, one_f_one_b::make(s, 2));
  if (name == "zb-h1") return holding(name, zero_bubble::make_h1(s));
  if (name == "zb-h2") return holding(name, zero_bubble::make_h2(s));
  if (name == "interleaved-zb") return holding(name, zero_bubble::make_interleaved(s));
  if (name == "zbv") return holding(name, zbv::make(s));
  if (name == "v-half") return holding(name, make_v_schedule(s, v_memory::half, memory));
  if (name == "v-min") return holding(name, make_v_schedule(s, v_memory::third, memory));
  if (name == "dualpipe") return holding(name, dual_pipe::make(s));
  return holding(name, dual_pipe_v::make(s));
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
