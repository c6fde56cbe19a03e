// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/rank_view.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/text/detail/csv_scanner.hpp>
#include <hocket/text/idle_cells.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

/// The spelling of an action in PyTorch's pipeline CSV dialect; the last six are ours.
[[nodiscard]] constexpr std::string_view token_of(pipeline::action_kind kind) noexcept {
  constexpr std::string_view tokens[] = {"F",       "B",      "I",         "W",       "SEND_F",         "RECV_F",
                                         "SEND_B",  "RECV_B", "UNSHARD",   "RESHARD", "REDUCE_GRAD",    "RECOMPUTE",
                                         "OFFLOAD", "RELOAD", "OPTIMIZER", "IDLE",    "POST_VALIDATION"};
  return tokens[static_cast<std::size_t>(kind)];
}

/// True for actions whose token carries no micro-batch.
[[nodiscard]] constexpr bool stands_alone(pipeline::action_kind kind) noexcept {
  return kind == pipeline::action_kind::unshard || kind == pipeline::action_kind::reshard ||
         kind == pipeline::action_kind::reduce_grad || kind == pipeline::action_kind::optimizer ||
         kind == pipeline::action_kind::idle || kind == pipeline::action_kind::post_validation;
}

namespace detail {

/// Takes a number off the front of `text`; false if there is none or it exceeds `most`.
inline bool take_number(std::string_view& text, std::uint32_t most, std::uint32_t& value) noexcept {
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (why != std::errc{} || value > most) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// One plain token such as 3F12, 3F12.1, d1:0B4 or 5UNSHARD. The whole text must be used up.
inline bool parse_token(std::string_view text, bool joined, pipeline::stage_action& a) noexcept {
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
  for (unsigned k = 0; k <= static_cast<unsigned>(pipeline::last_action_kind); ++k) {
    const auto kind = static_cast<pipeline::action_kind>(k);
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

/// What is wrong with a cell that is not understood, as far as it shows. It may hold several tokens with another
/// separator between them. It may hold nothing like a token, as in a title row, DeepSpeed's instructions, Paddle's jobs
/// or JSON. Or it is a token of another make, as 0BW1 of older PyTorch.
inline errc reason_against(std::string_view cell) noexcept {
  const auto is_token = [](std::string_view text) {
    pipeline::stage_action a;
    return parse_token(trimmed(text), false, a);
  };
  const std::size_t end = cell.find_first_of(";\t|\r :");
  if (end != std::string_view::npos && is_token(cell.substr(0, end))) return errc::other_separator;
  if (cell.front() >= '0' && cell.front() <= '9') return errc::unknown_token;
  for (const char c : cell)
    if ((c >= 'a' && c <= 'z') || c == '{' || c == '[') return errc::other_dialect;
  return errc::unknown_token;
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
  if (middle == std::string_view::npos || !cell.ends_with(pair_word)) return false;
  if (!parse_token(trimmed(cell.substr(1, middle - 1)), true, a)) return false;
  if (!parse_token(trimmed(cell.substr(middle + 1, cell.size() - pair_word.size() - middle - 1)), false, b))
    return false;
  into.push_back(a);
  into.push_back(b);
  return true;
}

}  // namespace detail

/// Reads PyTorch's pipeline CSV: a line per rank, a cell per action, empty cells are idle. Both the compute-only and
/// the lowered form are read; cells may stand in quotes, the text may begin with a byte order mark. Every token must be
/// understood to its last letter. Beyond PyTorch, a sequence slice may follow the micro-batch (0F0.1). What the lists
/// mean is not judged here: see pipeline::check. Errors: errc::unknown_token, other_separator, other_dialect (lists of
/// DeepSpeed and Paddle: schedule_jobs.hpp) and misplaced_action name line and cell, counted from 1; errc::bad_shape;
/// errc::empty_list for a line without actions. Complexity: linear in the text; memory is bounded by it.
///
///     const auto table = hocket::text::parse_schedule_csv("0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n");
///     table->ranks() == 2 && table->micro_batches() == 2;
[[nodiscard]] inline result<pipeline::table_schedule> parse_schedule_csv(
    std::string_view csv, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  std::pmr::vector<pipeline::stage_action> actions(memory);
  std::pmr::vector<std::uint32_t> ends(memory), cells(memory);
  if (csv.starts_with("\xEF\xBB\xBF")) csv.remove_prefix(3);
  if (csv.empty()) return error{errc::empty_list, 1};
  while (!csv.empty()) {
    const std::size_t before = actions.size();
    std::string_view line = csv.substr(0, csv.find('\n'));
    csv.remove_prefix(line.size() < csv.size() ? line.size() + 1 : line.size());
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);  // two, where a program ended CR LF in CR LF
    for (std::uint32_t cell = 1;; ++cell) {
      const std::size_t comma = line.find(',');
      std::string_view text = detail::trimmed(line.substr(0, comma));
      if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = detail::trimmed(text.substr(1, text.size() - 2));
      if (!text.empty() && !detail::parse_cell(text, actions))
        return error{detail::reason_against(text), static_cast<std::int64_t>(ends.size()) + 1, cell}.with(text);
      cells.resize(actions.size(), cell);
      if (comma == std::string_view::npos) break;
      line.remove_prefix(comma + 1);
    }
    ends.push_back(static_cast<std::uint32_t>(actions.size()));
    if (actions.size() == before) return error{errc::empty_list, static_cast<std::int64_t>(ends.size())};
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
  bool idle_cells =
      true;  ///< the empty cells that PyTorch writes for its interleaved, looped and zero-bubble schedules
  bool reduce_grad = false;  ///< a REDUCE_GRAD per rank at the end, as PyTorch's single-stage schedules have
};

namespace detail {

inline void put_token(std::string& out, pipeline::stage_action a, bool sliced) {
  if (a.direction() != 0) out += "d1:";
  append_number(out, a.stage());
  out += token_of(a.kind());
  if (stands_alone(a.kind())) return;
  append_number(out, a.micro_batch());
  if (!sliced) return;
  out += '.';
  append_number(out, a.slice());
}

}  // namespace detail

/// An action as a cell of the table names it: "3F1", in a schedule with slices "3F1.0", of the second direction
/// "d1:3F1".
/// @param sliced  whether the schedule has slices
/// Complexity: O(1).
///
///     text::action_token({pipeline::action_kind::forward, 3, 1}, false) == "3F1";
[[nodiscard]] inline std::string action_token(pipeline::stage_action a, bool sliced) {
  std::string out;
  detail::put_token(out, a, sliced);
  return out;
}

namespace detail {

/// Writes the cells of a rank's list: "3F1", or "(3F1;3B0)OVERLAP_F_B", each between `open` and `close`, and before
/// each as many empty cells as PyTorch has there.
template <class S>
void append_cells(std::string& out, const S& plan, std::uint32_t rank, std::string_view open, std::string_view close,
                  const idle_cells& idle) {
  const bool sliced = pipeline::slices_of(plan) > 1;
  const std::uint32_t size = plan.size(rank);
  std::uint32_t step = 0;
  bool inside = false;  // of a pair
  for (const pipeline::stage_action a : pipeline::stage_list(plan, rank)) {
    if (!inside) {
      if (const std::uint32_t empty = idle.before(step); empty > 0) out.append(empty, ',');
      out += open;
    }
    const bool opens = !inside && a.joined() && step + 1 < size;
    if (opens) out += '(';
    put_token(out, a, sliced);
    if (opens) out += ';';
    if (inside) out += ")OVERLAP_F_B";
    if (!opens) out += close;
    inside = opens;
    ++step;
  }
}

/// A guess at the length of the text: that of its longest plain cell, for all.
template <class S>
std::size_t expected_text(const S& plan, std::size_t around) {
  std::string longest;
  put_token(longest, {pipeline::action_kind::forward, plan.ranks() * plan.chunks() - 1, plan.micro_batches() - 1},
            false);
  std::size_t cells = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) cells += plan.size(r);
  return cells * (longest.size() + around);
}

}  // namespace detail

/// Writes any schedule in PyTorch's pipeline CSV dialect, byte for byte as PyTorch would where it has the schedule.
/// (Zero-bubble schedules of more than 1,024 ranks and fewer micro-batches than keep them busy lack some empty cells.)
/// Complexity: linear in the output.
template <pipeline::schedule S>
[[nodiscard]] std::string write_schedule_csv(const S& plan, const schedule_csv_options& options = {}) {
  std::string out;
  out.reserve(detail::expected_text(plan, 1));
  std::vector<std::vector<std::uint32_t>> counts;
  if constexpr (std::is_same_v<S, pipeline::zero_bubble>)
    if (options.idle_cells && waits_in_between(plan)) counts = counted_idle_cells(plan);
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    auto idle = options.idle_cells ? idle_cells_of(plan, r) : text::idle_cells{};
    if (!counts.empty()) idle.counts = counts[r];
    detail::append_cells(out, plan, r, {}, ",", idle);
    if (options.reduce_grad) {
      for (std::uint32_t c = 0; c < plan.chunks(); ++c) {
        detail::append_number(out, plan.placement().stage(r, c));
        out += token_of(pipeline::action_kind::reduce_grad);
        out += ',';
      }
    }
    if (plan.size(r) > 0 || options.reduce_grad) out.pop_back();  // the last comma
    out += options.carriage_returns ? "\r\n" : "\n";
  }
  return out;
}

/// Writes any schedule as JSON: {"version":1,"ranks":…,"chunks":…,"micro_batches":…,"slices":…,"stage_ranks":[…],
/// "lists":[["0F0",…],…]} with the tokens of the CSV. Complexity: linear in the output.
template <pipeline::schedule S>
[[nodiscard]] std::string write_schedule_json(const S& plan) {
  const std::uint32_t stages = plan.ranks() * plan.chunks();
  std::string out;
  out.reserve(detail::expected_text(plan, 3));
  const auto put = [&](std::string_view before, std::uint32_t value) {
    out += before;
    detail::append_number(out, value);
  };
  put("{\"version\":1,\"ranks\":", plan.ranks());
  put(",\"chunks\":", plan.chunks());
  put(",\"micro_batches\":", plan.micro_batches());
  put(",\"slices\":", pipeline::slices_of(plan));
  out += ",\"stage_ranks\":[";
  for (std::uint32_t s = 0; s < stages; ++s) put(s > 0 ? "," : "", plan.placement().rank_of(s));
  out += "],\"lists\":[";
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    out += r == 0 ? "\n[" : ",\n[";
    detail::append_cells(out, plan, r, "\"", "\",", {});
    if (plan.size(r) > 0) out.pop_back();  // the last comma
    out += ']';
  }
  out += "\n]}\n";
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text
