// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/read_list.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/text/detail/idle_cells.hpp>
#include <hocket/text/detail/repeated_cells.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

/// The spelling of an op in PyTorch's pipeline CSV dialect; the last six are ours.
[[nodiscard]] constexpr std::string_view token_of(pipeline::action_kind kind) noexcept {
  constexpr std::string_view tokens[] = {"F",       "B",      "I",         "W",       "SEND_F",         "RECV_F",
                                         "SEND_B",  "RECV_B", "UNSHARD",   "RESHARD", "REDUCE_GRAD",    "RECOMPUTE",
                                         "OFFLOAD", "RELOAD", "OPTIMIZER", "IDLE",    "POST_VALIDATION"};
  return tokens[static_cast<std::size_t>(kind)];
}

/// True for ops whose token carries no micro-batch.
[[nodiscard]] constexpr bool stands_alone(pipeline::action_kind kind) noexcept {
  return kind == pipeline::action_kind::unshard || kind == pipeline::action_kind::reshard ||
         kind == pipeline::action_kind::reduce_grad || kind == pipeline::action_kind::optimizer ||
         kind == pipeline::action_kind::idle || kind == pipeline::action_kind::post_validation;
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

/// What is wrong with a cell that is not understood, as far as it shows: several tokens with another separator between
/// them; nothing like a token at all, as in a title row, DeepSpeed's instructions, Paddle's jobs or JSON; or a token of
/// another make, as 0BW1 of older PyTorch.
constexpr errc reason_against(std::string_view cell) noexcept {
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

/// The tokens of all ops in places of one size, so that copying one is two moves.
struct op_tokens {
  static constexpr std::size_t room = 16;
  static constexpr std::size_t count = static_cast<std::size_t>(pipeline::last_action_kind) + 1;
  char text[count][room];
  std::uint8_t size[count];
};
inline constexpr op_tokens tokens = [] {
  op_tokens t{};
  for (std::size_t k = 0; k < op_tokens::count; ++k) {
    const std::string_view word = token_of(static_cast<pipeline::action_kind>(k));
    for (std::size_t i = 0; i < word.size(); ++i) t.text[k][i] = word[i];
    t.size[k] = static_cast<std::uint8_t>(word.size());
  }
  return t;
}();

// Writes from `at` on and returns where it ended; up to 16 bytes behind that may hold anything then.
inline char* write_token(char* at, pipeline::stage_action a, bool sliced) noexcept {
  if (a.direction() != 0) at = write_word(at, "d1:");
  at = write_number(at, a.stage());
  const auto kind = static_cast<std::size_t>(a.kind());
  std::memcpy(at, tokens.text[kind], op_tokens::room);
  at += tokens.size[kind];
  if (stands_alone(a.kind())) return at;
  at = write_number(at, a.micro_batch());
  if (sliced) *at++ = '.', at = write_number(at, a.slice());
  return at;
}

/// A string that grows in blocks: characters are written where they will stay. Filling a block with zeros first costs
/// little, as it brings the memory into the cache that the writing needs.
class growing_text {
 public:
  static constexpr std::size_t cell = 128;  // has at most 87 characters, and what is written behind it
  explicit growing_text(std::size_t expected) { out_.reserve(expected + 2 * block); }
  [[nodiscard]] char* begin() { return grow(nullptr, block); }
  /// A place with room for so many characters: `at`, or where that has moved to.
  [[nodiscard]] char* room(char* at, std::size_t characters = cell) {
    if (static_cast<std::size_t>(end_ - at) >= characters) [[likely]]
      return at;
    return grow(at, characters > block ? characters : block);
  }
  /// The text up to `at`.
  [[nodiscard]] std::string take(const char* at) && {
    out_.resize(static_cast<std::size_t>(at - out_.data()));
    return std::move(out_);
  }

 private:
  static constexpr std::size_t block = 16'384;
  char* grow(const char* at, std::size_t characters) {
    const std::size_t used = at == nullptr ? 0 : static_cast<std::size_t>(at - out_.data());
    out_.resize(used + characters);
    end_ = out_.data() + out_.size();
    return out_.data() + used;
  }
  std::string out_;
  const char* end_ = nullptr;
};

inline void put_number(std::string& out, std::uint32_t value) {
  char digits[32];
  out.append(digits, static_cast<std::size_t>(write_number(digits, value) - digits));
}
inline void put_token(std::string& out, pipeline::stage_action a, bool sliced) {
  char token[growing_text::cell];
  out.append(token, static_cast<std::size_t>(write_token(token, a, sliced) - token));
}

/// Writes so many empty cells; there is room for a block of actions after them.
inline char* write_idle(growing_text& out, char* to, std::uint32_t cells) {
  if (cells == 0) return to;
  to = out.room(to, cells + 130 * growing_text::cell);
  std::memset(to, ',', cells);
  return to + cells;
}

/// Writes the cells of ranks' lists: "3F1", or "(3F1;3B0)OVERLAP_F_B", each between `open` and `close`, and before each
/// as many empty cells as PyTorch has there.
template <class S>
class cell_writer {
 public:
  cell_writer(const S& plan, std::string_view open, std::string_view close)
      : plan_(plan), open_(open), close_(close), place_(plan.placement()), sliced_(pipeline::slices_of(plan) > 1) {}

  /// The list of a rank, from `at` on; returns where it ends.
  char* write(growing_text& out, char* at, std::uint32_t rank, const idle_cells& idle) {
    const std::uint32_t size = plan_.size(rank);
    if constexpr (in_place) {
      if (open_.empty() && close_ == "," && !sliced_) {
        prepare(rank);
        repeated_cells cells(beginnings_.data(), numbers_);
        const auto write_list = [&](std::span<const pipeline::action> list, std::uint32_t from) {
          at = write_plain(out, at, rank, idle, cells, list, from);
        };
        if constexpr (pipeline::repeating_schedule<S>) {
          std::uint32_t step = 0;  // of the first action in the block
          const auto flush = [&] {
            write_list(block_, step);
            step += static_cast<std::uint32_t>(block_.size());
            block_.clear();
          };
          pipeline::for_each_repeat(plan_, rank, [&](auto period, std::uint32_t times, std::uint32_t later) {
            const auto all = static_cast<std::uint32_t>(period.size()) * times;
            if (all >= repeated_cells::worth) {
              flush();
              const bool none_idle = !pair_ && idle.next(step, step + all) == step + all;
              if (times > 1 && none_idle && cells.plain(period, times, later)) {
                at = write_idle(out, at, idle.before(step));
                const std::uint32_t most = used_bits(period) | used_bits(period, (times - 1) * later);
                at = out.room(at, all * longest_cell(most) + growing_text::cell);
                at = cells.write_periods(at, period, times, later);
                step += all;
                return;
              }
              if (times == 1) {
                write_list(period, step);
                step += all;
                return;
              }
            }
            for (std::uint32_t done = 0; done < times; ++done) {
              for (const pipeline::action a : period)
                block_.push_back(pipeline::action::from_bits(a.bits() + done * later));
              if (block_.size() >= block_size) flush();
            }
          });
          flush();
        } else if constexpr (requires { std::span<const pipeline::action>(plan_.rank(rank)); }) {
          write_list(std::span<const pipeline::action>(plan_.rank(rank)), 0);
        } else {
          for (std::uint32_t step = 0; step < size;) {
            const std::size_t count = pipeline::fill(plan_, rank, std::span<pipeline::action>(block_), step);
            write_list(std::span<const pipeline::action>(block_).first(count), step);
            step += static_cast<std::uint32_t>(count);
          }
        }
        return at;
      }
    }
    std::uint32_t step = 0;
    pipeline::for_each_block(plan_, rank, [&](auto block) {
      at = out.room(at, block.size() * growing_text::cell);
      for (const auto a : block) {
        at = write_cell(out, at, in_full(rank, a), idle.before(step), step + 1 == size);
        ++step;
      }
    });
    return at;
  }

 private:
  static constexpr bool in_place = std::is_same_v<decltype(std::declval<const S&>().at(0, 0)), pipeline::action>;

  template <class A>
  pipeline::stage_action in_full(std::uint32_t rank, A a) const {
    if constexpr (std::is_same_v<A, pipeline::stage_action>) return a;
    else return {a.kind(), place_.stage(rank, a.chunk()), a.micro_batch(), 0, 0, a.joined()};
  }
  /// Any action after `idle` empty cells; one of a pair is part of a cell.
  char* write_cell(growing_text& out, char* to, pipeline::stage_action a, std::uint32_t idle, bool last) {
    if (!pair_) to = write_word(write_idle(out, to, idle), open_);
    const bool opens = !pair_ && a.joined() && !last;
    if (opens) *to++ = '(';
    to = write_token(to, a, sliced_);
    if (opens) *to++ = ';';
    if (pair_) to = write_word(to, ")OVERLAP_F_B");
    pair_ = opens;
    return pair_ ? to : write_word(to, close_);
  }
  /// The text before the micro-batch, by the bits before it; empty for what is not a plain computing action.
  void prepare(std::uint32_t rank) {
    if (beginnings_.empty()) {
      beginnings_.resize(repeated_cells::beginnings);
      const std::uint32_t most = plan_.micro_batches() < most_written ? plan_.micro_batches() : most_written;
      if (most > numbers_.size()) {
        written_.resize(most);
        for (std::uint32_t x = 0; x < most; ++x) written_[x] = number_with_comma(x);
        numbers_ = written_;
      }
    }
    if constexpr (pipeline::repeating_schedule<S>) block_.reserve(block_size + 1024);
    else block_.resize(block_size);
    longest_ = 0;
    for (std::uint32_t c = 0; c < plan_.chunks(); ++c) {
      char word[32];
      char* const end = write_number(word, place_.stage(rank, c));
      for (unsigned kind = 0; kind <= static_cast<unsigned>(pipeline::action_kind::weight_grad); ++kind) {
        *end = token_of(static_cast<pipeline::action_kind>(kind))[0];  // tokens of a letter each
        short_text& text = beginnings_[kind << 7 | c];
        std::memcpy(text.text, word, sizeof text.text);
        text.size = static_cast<std::uint8_t>(end - word + 1);
        longest_ = text.size > longest_ ? text.size : longest_;
      }
    }
  }
  /// All bits of some actions together: no number among them has more digits than what they hold.
  static std::uint32_t used_bits(std::span<const pipeline::action> list, std::uint32_t more = 0) noexcept {
    std::uint32_t bits = 7;
    const pipeline::action* const data = list.data();
    for (std::size_t k = 0, count = list.size(); k < count; ++k) bits |= data[k].bits() + more;
    return bits;
  }
  [[nodiscard]] std::size_t longest_cell(std::uint32_t bits) const noexcept {
    char number[32];
    const char* const end = write_number(number, pipeline::action::from_bits(bits).micro_batch());
    return longest_ + static_cast<std::size_t>(end - number) + 1;
  }
  /// The actions of a list from `step` on.
  char* write_plain(growing_text& out, char* at, std::uint32_t rank, const idle_cells& idle, repeated_cells& cells,
                    std::span<const pipeline::action> list, std::uint32_t step) {
    const std::uint32_t used = used_bits(list);
    const std::size_t longest = longest_cell(used);
    const auto count = static_cast<std::uint32_t>(list.size());
    for (std::uint32_t i = 0; i < count;) {
      if (!pair_) {
        if (step + i > idle.single && step + i != idle.step) {  // an empty cell before each
          at = out.room(at, (count - i) * (longest + 1) + growing_text::cell);
          for (; i < count && cells.plain(list[i]); ++i) *at++ = ',', at = cells.write_cell(at, list[i]);
          if (i == count) break;
        }
        at = write_idle(out, at, idle.before(step + i));
        const std::uint32_t end = idle.next(step + i, step + count) - step, from = i;
        at = out.room(at, (end - i) * longest + growing_text::cell);
        at = cells.write(at, list.data(), i, end, pipeline::action::from_bits(used).micro_batch());
        if (i != from) continue;
        if (const pipeline::action a = list[i]; a.joined() && i + 1 < count) {
          const pipeline::action first(a.kind(), a.chunk(), a.micro_batch()), second = list[i + 1];
          if (cells.plain(first) && cells.plain(second)) {
            at = out.room(at);
            *at++ = '(';
            at = cells.write_cell(at, first);
            at[-1] = ';';
            at = write_word(cells.write_cell(at, second) - 1, ")OVERLAP_F_B,");
            i += 2;
            continue;
          }
        }
      }
      at = write_cell(out, out.room(at), in_full(rank, list[i]), 0, step + i + 1 == plan_.size(rank));
      ++i;
    }
    return at;
  }

  static constexpr std::size_t block_size = 2048;
  static constexpr std::uint32_t most_written = 65'536;
  const S& plan_;
  std::string_view open_, close_;
  decltype(std::declval<const S&>().placement()) place_;
  bool sliced_;
  bool pair_ = false;  // the next action is the second of a pair
  std::size_t longest_ = 0;
  std::vector<short_text> beginnings_, written_;
  std::span<const short_text> numbers_{below_1000.plain};  // or written_, where there are more micro-batches
  std::vector<pipeline::action> block_;
};

/// A guess at the length of the text: that of its longest plain cell, for all.
template <class S>
std::size_t expected_text(const S& plan, std::size_t around) {
  char cell[64];
  const std::uint32_t stage = plan.ranks() * plan.chunks() - 1, last = plan.micro_batches() - 1;
  const auto longest = static_cast<std::size_t>(write_number(write_number(cell, stage), last) - cell) + 1 + around;
  std::size_t cells = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) cells += plan.size(r);
  return cells * longest;
}

}  // namespace detail

/// Writes any schedule in PyTorch's pipeline CSV dialect, byte for byte as PyTorch would where it has the schedule.
/// (Zero-bubble schedules of more than 1,024 ranks and fewer micro-batches than keep them busy lack some empty cells.)
/// Complexity: linear in the output.
template <pipeline::schedule S>
[[nodiscard]] std::string write_schedule_csv(const S& plan, const schedule_csv_options& options = {}) {
  detail::growing_text out(detail::expected_text(plan, 1));
  detail::cell_writer cells(plan, {}, ",");
  char* at = out.begin();
  std::vector<std::vector<std::uint32_t>> counts;
  if constexpr (std::is_same_v<S, pipeline::zero_bubble> || std::is_same_v<S, pipeline::zbv>)
    if (options.idle_cells && detail::waits_in_between(plan)) counts = detail::counted_idle_cells(plan);
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    auto idle = options.idle_cells ? detail::idle_cells_of(plan, r) : detail::idle_cells{};
    if (!counts.empty()) idle.counts = &counts[r];
    at = cells.write(out, at, r, idle);
    if (!counts.empty()) at = detail::write_idle(out, at, counts[r].back());
    if (options.reduce_grad)
      for (std::uint32_t c = 0; c < plan.chunks(); ++c) {
        at = detail::write_token(out.room(at), {pipeline::action_kind::reduce_grad, plan.placement().stage(r, c), 0},
                                 false);
        *at++ = ',';
      }
    at = out.room(at);
    if (plan.size(r) > 0 || options.reduce_grad) --at;  // the last comma
    at = detail::write_word(at, options.carriage_returns ? "\r\n" : "\n");
  }
  return std::move(out).take(at);
}

/// Writes any schedule as JSON: {"version":1,"ranks":…,"chunks":…,"micro_batches":…,"slices":…,"stage_ranks":[…],
/// "lists":[["0F0",…],…]} with the tokens of the CSV. Complexity: linear in the output.
template <pipeline::schedule S>
[[nodiscard]] std::string write_schedule_json(const S& plan) {
  const std::uint32_t stages = plan.ranks() * plan.chunks();
  detail::growing_text out(detail::expected_text(plan, 3) + std::size_t{12} * stages);
  detail::cell_writer cells(plan, "\"", "\",");
  char* at = out.begin();
  at = detail::write_number(detail::write_word(at, "{\"version\":1,\"ranks\":"), plan.ranks());
  at = detail::write_number(detail::write_word(at, ",\"chunks\":"), plan.chunks());
  at = detail::write_number(detail::write_word(at, ",\"micro_batches\":"), plan.micro_batches());
  at = out.room(at);
  at = detail::write_number(detail::write_word(at, ",\"slices\":"), pipeline::slices_of(plan));
  at = detail::write_word(at, ",\"stage_ranks\":[");
  for (std::uint32_t s = 0; s < stages; ++s) {
    at = out.room(at);
    if (s > 0) *at++ = ',';
    at = detail::write_number(at, plan.placement().rank_of(s));
  }
  at = detail::write_word(out.room(at), "],\"lists\":[");
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    at = detail::write_word(out.room(at), r == 0 ? "\n[" : ",\n[");
    at = cells.write(out, at, r, {});
    at = out.room(at);
    if (plan.size(r) > 0) --at;  // the last comma
    *at++ = ']';
  }
  at = detail::write_word(out.room(at), "\n]}\n");
  return std::move(out).take(at);
}

}  // namespace hocket::inline HOCKET_ABI::text
