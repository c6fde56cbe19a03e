// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/transfers.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

namespace detail {

constexpr std::string_view take_line(std::string_view& text) noexcept {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  return trimmed(!line.empty() && line.back() == '\r' ? line.substr(0, line.size() - 1) : line);
}

}  // namespace detail

/// Reads the instructions of DeepSpeed's pipeline engine: a line "stage S …" for each rank, in order, then a line
/// "slot: Instruction(buffer) …" for each slot. Buffers are reused, so micro-batches are counted: the k-th instruction
/// of a kind is for micro-batch k. LoadMicroBatch and ReduceTiedGrads have no action; ReduceGrads is `reduce_grad`,
/// OptimizerStep `optimizer`. Errors: errc::malformed and unknown_token name line and word; those of
/// table_schedule::make. Complexity: linear in the text.
///
///     const auto table = parse_deepspeed_schedule("stage 0\n0: ForwardPass(0)\n1: BackwardPass(0) OptimizerStep\n");
///     table->size(0) == 3;
[[nodiscard]] inline result<pipeline::table_schedule> parse_deepspeed_schedule(
    std::string_view text, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  using pipeline::action_kind;
  struct word {
    std::string_view name;
    action_kind kind;
  };
  constexpr word words[] = {
      {"ForwardPass", action_kind::forward},         {"BackwardPass", action_kind::backward},
      {"SendActivation", action_kind::send_forward}, {"RecvActivation", action_kind::recv_forward},
      {"SendGrad", action_kind::send_backward},      {"RecvGrad", action_kind::recv_backward},
      {"ReduceGrads", action_kind::reduce_grad},     {"OptimizerStep", action_kind::optimizer},
      {"LoadMicroBatch", action_kind::idle},         {"ReduceTiedGrads", action_kind::idle}};
  std::pmr::vector<pipeline::stage_action> actions(memory);
  std::pmr::vector<std::uint32_t> ends(memory);
  std::uint32_t counts[8] = {};
  std::int64_t number = 0;
  bool any = false;
  while (!text.empty()) {
    ++number;
    std::string_view line = detail::take_line(text);
    if (line.starts_with("stage ")) {
      std::string_view left = line.substr(6);
      std::uint32_t stage = 0;
      if (any) ends.push_back(static_cast<std::uint32_t>(actions.size()));
      any = true;
      // A stage that is missing or out of order would give its list to another.
      if (!detail::take_number(left, pipeline::max_stages - 1, stage) || stage != ends.size())
        return error{errc::malformed, number, 1}.with(line);
      for (std::uint32_t& c : counts) c = 0;
      continue;
    }
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    if (!any || colon == std::string_view::npos) return error{errc::malformed, number, 1}.with(line);
    line = detail::trimmed(line.substr(colon + 1));
    for (std::int64_t cell = 1; !line.empty(); ++cell) {
      const std::string_view token = line.substr(0, line.find(' '));
      line = detail::trimmed(line.substr(token.size()));
      const std::string_view name = token.substr(0, token.find('('));
      const word* found = nullptr;
      for (const word& w : words)
        if (w.name == name) found = &w;
      if (found == nullptr) return error{errc::unknown_token, number, cell}.with(token);
      if (found->kind == action_kind::idle) continue;
      const auto stage = static_cast<std::uint32_t>(ends.size());
      const auto k = static_cast<std::size_t>(found - words);
      std::uint32_t micro_batch = pipeline::stage_action::no_micro_batch;
      if (k < 6) micro_batch = counts[k]++;
      if (k < 6 && micro_batch >= pipeline::max_micro_batches)
        return error{errc::too_large, number, micro_batch, pipeline::max_micro_batches}.with("micro-batches");
      actions.emplace_back(found->kind, stage, micro_batch);
    }
  }
  if (any) ends.push_back(static_cast<std::uint32_t>(actions.size()));
  if (!any) return error{errc::malformed, 1, 1}.with("no stage");
  return pipeline::table_schedule::make(actions, ends, memory);
}

/// Reads the job lists of Paddle's pipeline engines, as get_static_scheduler() prints them: a line per rank,
/// "f0_vp0;f1_vp0;b0_vp1;…", forward or backward, micro-batch, chunk. Errors: errc::unknown_token names line and job;
/// those of table_schedule::make. Complexity: linear in the text.
///
///     const auto table = parse_paddle_jobs("f0_vp0;b0_vp0;\nf0_vp0;b0_vp0;\n");
///     table->ranks() == 2;
[[nodiscard]] inline result<pipeline::table_schedule> parse_paddle_jobs(
    std::string_view text, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  std::pmr::vector<pipeline::stage_action> actions(memory);
  std::pmr::vector<std::uint32_t> ends(memory);
  std::uint32_t ranks = 0;
  for (std::string_view rest = text; !rest.empty();) ranks += detail::take_line(rest).empty() ? 0u : 1u;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    std::string_view line = detail::take_line(text);
    if (line.empty()) continue;
    const auto rank = static_cast<std::uint32_t>(ends.size());
    for (std::int64_t cell = 1; !line.empty(); ++cell) {
      const std::string_view job = line.substr(0, line.find(';'));
      line.remove_prefix(job.size() < line.size() ? job.size() + 1 : job.size());
      std::string_view left = detail::trimmed(job);
      const error bad = error{errc::unknown_token, number, cell}.with(left);
      if (left.empty() || (left.front() != 'f' && left.front() != 'b')) return bad;
      const auto kind = left.front() == 'f' ? pipeline::action_kind::forward : pipeline::action_kind::backward;
      left.remove_prefix(1);
      std::uint32_t micro_batch = 0, chunk = 0;
      if (!detail::take_number(left, static_cast<std::uint32_t>(pipeline::max_micro_batches) - 1, micro_batch) ||
          !left.starts_with("_vp"))
        return bad;
      left.remove_prefix(3);
      if (!detail::take_number(left, static_cast<std::uint32_t>(pipeline::max_chunks) - 1, chunk) || !left.empty())
        return bad;
      const std::uint64_t stage = std::uint64_t{chunk} * ranks + rank;
      if (stage >= static_cast<std::uint64_t>(pipeline::max_stages)) return bad;
      actions.emplace_back(kind, static_cast<std::uint32_t>(stage), micro_batch);
    }
    ends.push_back(static_cast<std::uint32_t>(actions.size()));
  }
  if (ends.empty()) return error{errc::malformed, 1, 1}.with("no job");
  return pipeline::table_schedule::make(actions, ends, memory);
}

/// Writes the lists of a schedule as Paddle's jobs. Precondition: whole backwards, one direction, stages in a loop;
/// other actions are left out. Complexity: linear in the output.
template <pipeline::schedule S>
[[nodiscard]] std::string write_paddle_jobs(const S& plan) {
  std::string out;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    for (std::uint32_t i = 0; i < plan.size(r); ++i) {
      const auto a = pipeline::stage_action_at(plan, r, i);
      if (a.kind() > pipeline::action_kind::backward) continue;
      out += a.kind() == pipeline::action_kind::forward ? 'f' : 'b';
      detail::append_number(out, a.micro_batch());
      out += "_vp";
      detail::append_number(out, plan.placement().chunk_of(a.stage()));
      out += ';';
    }
    out += '\n';
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text
