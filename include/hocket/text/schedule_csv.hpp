// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/gpipe.hpp>
#include <hocket/pipeline/interleaved.hpp>
#include <hocket/pipeline/table.hpp>

#include <charconv>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

/// The spelling of an op in PyTorch's pipeline CSV dialect; the last six are ours.
[[nodiscard]] constexpr std::string_view token_of(pipeline::op kind) noexcept {
  constexpr std::string_view tokens[] = {"F",       "B",      "I",         "W",       "SEND_F",         "RECV_F",
                                         "SEND_B",  "RECV_B", "UNSHARD",   "RESHARD", "REDUCE_GRAD",    "RECOMPUTE",
                                         "OFFLOAD", "RELOAD", "OPTIMIZER", "IDLE",    "POST_VALIDATION"};
  return tokens[static_cast<std::size_t>(kind)];
}

/// True for ops whose token carries no micro-batch.
[[nodiscard]] constexpr bool stands_alone(pipeline::op kind) noexcept {
  return kind == pipeline::op::unshard || kind == pipeline::op::reshard || kind == pipeline::op::reduce_grad ||
         kind == pipeline::op::optimizer || kind == pipeline::op::idle || kind == pipeline::op::post_validation;
}

namespace detail {

/// Takes a number off the front of `text`; false if there is none or it exceeds `most`.
constexpr bool take_number(std::string_view& text, std::uint32_t most, std::uint32_t& value) noexcept {
  std::uint64_t x = 0;
  std::size_t n = 0;
  for (; n < text.size() && text[n] >= '0' && text[n] <= '9'; ++n) {
    x = x * 10 + static_cast<std::uint64_t>(text[n] - '0');
    if (x > most) return false;
  }
  value = static_cast<std::uint32_t>(x);
  text.remove_prefix(n);
  return n > 0;
}

constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// One plain token such as 3F12, 3F12.1, d1:0B4 or 5UNSHARD. The whole text must be used up.
constexpr bool parse_token(std::string_view text, bool joined, pipeline::stage_action& a) noexcept {
  std::uint32_t stage = 0, micro_batch = pipeline::stage_action::no_micro_batch, slice = 0, direction = 0;
  if (text.size() > 3 && text[0] == 'd' && (text[1] == '0' || text[1] == '1') && text[2] == ':') {
    direction = text[1] == '1' ? 1 : 0;
    text.remove_prefix(3);
  }
  if (!take_number(text, static_cast<std::uint32_t>(pipeline::max_stages) - 1, stage)) return false;
  std::size_t letters = 0;
  while (letters < text.size() && ((text[letters] >= 'A' && text[letters] <= 'Z') || text[letters] == '_')) ++letters;
  const std::string_view word = text.substr(0, letters);
  text.remove_prefix(letters);
  for (unsigned k = 0; k <= static_cast<unsigned>(pipeline::last_op); ++k) {
    const auto kind = static_cast<pipeline::op>(k);
    if (word != token_of(kind)) continue;
    if (!stands_alone(kind)) {
      if (!take_number(text, static_cast<std::uint32_t>(pipeline::max_micro_batches) - 1, micro_batch)) return false;
      if (!text.empty() && text[0] == '.') {
        text.remove_prefix(1);
        if (!take_number(text, 65'535, slice)) return false;
      }
    }
    if (!text.empty()) return false;
    a = {kind, stage, micro_batch, slice, direction, joined};
    return true;
  }
  return false;
}

/// A cell: a token, or (token;token)OVERLAP_F_B, which is two joined actions.
inline bool parse_cell(std::string_view cell, std::pmr::vector<pipeline::stage_action>& into) {
  constexpr std::string_view pair_word = ")OVERLAP_F_B";
  pipeline::stage_action a, b;
  if (cell.front() != '(') {
    if (!parse_token(cell, false, a)) return false;
    into.push_back(a);
    return true;
  }
  const std::size_t middle = cell.find(';');
  if (middle == std::string_view::npos || cell.size() < middle + pair_word.size() + 1 || !cell.ends_with(pair_word))
    return false;
  if (!parse_token(trimmed(cell.substr(1, middle - 1)), true, a)) return false;
  if (!parse_token(trimmed(cell.substr(middle + 1, cell.size() - pair_word.size() - middle - 1)), false, b))
    return false;
  into.push_back(a);
  into.push_back(b);
  return true;
}

}  // namespace detail

/// Reads PyTorch's pipeline CSV: a line per rank, a cell per action, empty cells are idle. Both the compute-only and
/// the lowered form are read. Every token must be understood to its last letter. Beyond PyTorch, a sequence slice may
/// follow the micro-batch (0F0.1). What the lists mean is not judged here: see pipeline::check. Errors:
/// errc::unknown_token and misplaced_action name line and cell, counted from 1; errc::bad_shape; errc::malformed for an
/// empty text. Complexity: linear in the text; memory is bounded by it.
///
///     const auto table = hocket::text::parse_schedule_csv("0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n");
///     table->ranks() == 2 && table->micro_batches() == 2;
[[nodiscard]] inline result<pipeline::table_schedule> parse_schedule_csv(
    std::string_view csv, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  std::pmr::vector<pipeline::stage_action> actions(memory);
  std::pmr::vector<std::uint32_t> ends(memory), cells(memory);
  if (csv.empty()) return error{errc::malformed, 1, 1}.with("an empty schedule");
  while (!csv.empty()) {
    std::string_view line = csv.substr(0, csv.find('\n'));
    csv.remove_prefix(line.size() < csv.size() ? line.size() + 1 : line.size());
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    for (std::uint32_t cell = 1;; ++cell) {
      const std::size_t comma = line.find(',');
      const std::string_view text = detail::trimmed(line.substr(0, comma));
      if (!text.empty() && !detail::parse_cell(text, actions))
        return error{errc::unknown_token, static_cast<std::int64_t>(ends.size()) + 1, cell}.with(text);
      cells.resize(actions.size(), cell);
      if (comma == std::string_view::npos) break;
      line.remove_prefix(comma + 1);
    }
    ends.push_back(static_cast<std::uint32_t>(actions.size()));
  }
  auto table = pipeline::table_schedule::make(actions, ends, memory);
  if (!table && table.error().code == errc::misplaced_action) {  // a step of a list; the file has cells
    error e = table.error();
    const auto row = static_cast<std::size_t>(e.values[0]) - 1;
    e.values[3] = cells[(row == 0 ? 0 : ends[row - 1]) + static_cast<std::size_t>(e.values[3]) - 1];
    return e;
  }
  return table;
}

struct schedule_csv_options {
  bool carriage_returns = true;  ///< lines end in CR LF, as Python's csv module writes them
  bool idle_cells = true;        ///< the empty cells that PyTorch writes for its interleaved and looped schedules
  bool reduce_grad = false;      ///< a REDUCE_GRAD per rank at the end, as PyTorch's single-stage schedules have
};

namespace detail {

/// Empty cells that PyTorch's generator writes before a step, so that the columns of its file line up in time.
template <class S>
std::int64_t idle_cells_before([[maybe_unused]] const S& plan, [[maybe_unused]] std::uint32_t rank,
                               [[maybe_unused]] std::uint32_t step) {
  const std::int64_t r = rank, behind = 2 * (std::int64_t{plan.ranks()} - 1 - r);
  if constexpr (std::is_same_v<S, pipeline::interleaved>) {
    if (plan.kappa() != 2 || plan.extra() != 0 || !plan.even_groups()) return 0;  // not a schedule of PyTorch's
    const std::int64_t w = plan.warm_up(rank), n = std::int64_t{plan.chunks()} * plan.micro_batches();
    const std::int64_t until_backward = std::int64_t{plan.chunks()} * plan.ranks() + behind - (w + r);
    std::int64_t cells = step == 0 ? r : 0;
    if (step == w && w > 0 && until_backward > 0) cells += until_backward;
    if (step >= 2 * n - w) ++cells;
    return cells;
  } else if constexpr (std::is_same_v<S, pipeline::gpipe>) {
    if (!plan.reversed()) return 0;
    return step == 0 ? r : step == plan.size(rank) / 2 ? behind : 0;
  } else {
    return 0;
  }
}

inline void put_number(std::string& out, std::uint32_t value) {
  char digits[12];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

inline void put_token(std::string& out, pipeline::stage_action a, bool sliced) {
  if (a.direction() != 0) out += "d1:";
  put_number(out, a.stage());
  out += token_of(a.kind());
  if (stands_alone(a.kind())) return;
  put_number(out, a.micro_batch());
  if (sliced) out += '.', put_number(out, a.slice());
}

/// Calls put(text) for each cell of a rank's list: "3F1", or "(3F1;3B0)OVERLAP_F_B".
template <class S, class Put>
void for_each_cell(const S& plan, std::uint32_t rank, Put&& put) {
  std::string cell;
  const bool sliced = pipeline::slices_of(plan) > 1;
  for (std::uint32_t i = 0, size = plan.size(rank); i < size; ++i) {
    const auto a = pipeline::stage_action_at(plan, rank, i);
    cell.clear();
    const std::uint32_t step = i;
    if (a.joined() && i + 1 < size) {
      cell += '(', put_token(cell, a, sliced), cell += ';';
      put_token(cell, pipeline::stage_action_at(plan, rank, ++i), sliced), cell += ")OVERLAP_F_B";
    } else {
      put_token(cell, a, sliced);
    }
    put(step, std::string_view(cell));
  }
}

}  // namespace detail

/// Writes any schedule in PyTorch's pipeline CSV dialect, byte for byte as PyTorch would where it has the schedule.
/// Complexity: linear in the output.
template <pipeline::schedule S>
[[nodiscard]] std::string write_schedule_csv(const S& plan, const schedule_csv_options& options = {}) {
  std::string out;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    bool first = true;
    detail::for_each_cell(plan, r, [&](std::uint32_t step, std::string_view cell) {
      std::int64_t idle = options.idle_cells ? detail::idle_cells_before(plan, r, step) : 0;
      for (; idle > 0; --idle) out += first ? "" : ",", first = false;
      if (!first) out += ',';
      first = false;
      out += cell;
    });
    if (options.reduce_grad)
      for (std::uint32_t c = 0; c < plan.chunks(); ++c) {
        if (!first) out += ',';
        first = false;
        detail::put_token(out, {pipeline::op::reduce_grad, plan.placement().stage(r, c), 0}, false);
      }
    out += options.carriage_returns ? "\r\n" : "\n";
  }
  return out;
}

/// Writes any schedule as JSON: {"version":1,"ranks":…,"chunks":…,"micro_batches":…,"slices":…,"stage_ranks":[…],
/// "lists":[["0F0",…],…]} with the tokens of the CSV. Complexity: linear in the output.
template <pipeline::schedule S>
[[nodiscard]] std::string write_schedule_json(const S& plan) {
  std::string out = "{\"version\":1,\"ranks\":";
  detail::put_number(out, plan.ranks());
  out += ",\"chunks\":", detail::put_number(out, plan.chunks());
  out += ",\"micro_batches\":", detail::put_number(out, plan.micro_batches());
  out += ",\"slices\":", detail::put_number(out, pipeline::slices_of(plan));
  out += ",\"stage_ranks\":[";
  for (std::uint32_t s = 0; s < plan.ranks() * plan.chunks(); ++s) {
    if (s > 0) out += ',';
    detail::put_number(out, plan.placement().rank_of(s));
  }
  out += "],\"lists\":[";
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    out += r == 0 ? "\n[" : ",\n[";
    bool first = true;
    detail::for_each_cell(plan, r, [&](std::uint32_t, std::string_view cell) {
      out += first ? "\"" : ",\"";
      first = false;
      out += cell;
      out += '"';
    });
    out += ']';
  }
  out += "\n]}\n";
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text
