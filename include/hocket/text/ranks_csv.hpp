// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/ranks/program.hpp>
#include <hocket/text/detail/csv_scanner.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

/// How the first line of a ranks CSV begins. It may go on with any of ranks_csv_columns, each once and in any order.
inline constexpr std::string_view ranks_csv_header = "rank,op";
inline constexpr std::string_view ranks_csv_columns[] = {"communicator", "stream", "count",  "type",     "peer",
                                                         "tag",          "event",  "thread", "blocking", "name"};

/// Most ops that a ranks CSV may give to all ranks together: one line may give one to each of a million.
inline constexpr std::uint64_t ranks_csv_most_ops = std::uint64_t{1} << 28;

namespace detail {

/// What a cell says about a rank's peer: a rank, or how far from the own one.
struct peer_cell {
  std::int64_t number = 0;
  bool relative = false;
};

/// Reads the rows of a ranks CSV into a program.
class ranks_reader {
 public:
  ranks_reader(std::string_view csv, std::pmr::memory_resource* memory)
      : in_(csv), memory_(memory), columns_(memory), cells_(memory), ranks_(memory) {}

  [[nodiscard]] result<ranks::program> operator()() {
    if (const auto ok = read_header(); !ok) return ok.error();
    const auto highest = highest_rank();
    if (!highest) return highest.error();
    ranks::program job(*highest + 1, memory_);
    while (!in_.at_end()) {
      const auto row = next_row();
      if (!row) return row.error();
      if (!*row) continue;
      if (const auto ok = cells_[1] == "communicator" ? add_communicator(job) : add_op(job); !ok) return ok.error();
    }
    return job;
  }

 private:
  [[nodiscard]] error bad(errc code, std::size_t column, std::string_view word) const {
    return error{code, in_.line(), static_cast<std::int64_t>(column) + 1}.with(word);
  }
  [[nodiscard]] result<void> read_header() {
    while (!in_.at_end()) {
      const auto row = next_row();
      if (!row) return row.error();
      if (*row) break;
    }
    if (cells_.size() < 2 || cells_[0] != "rank" || cells_[1] != "op")
      return error{errc::malformed, 1, 1}.with(cells_.empty() ? std::string_view{} : cells_[0]);
    for (std::size_t c = 2; c < cells_.size(); ++c) {
      const auto known = std::find(std::begin(ranks_csv_columns), std::end(ranks_csv_columns), cells_[c]);
      if (known == std::end(ranks_csv_columns)) return bad(errc::malformed, c, cells_[c]);
      const auto before = std::find(columns_.begin(), columns_.end(), cells_[c]) - columns_.begin();
      if (before != std::ssize(columns_))
        return error{errc::duplicate_column, in_.line(), static_cast<std::int64_t>(c) + 1, before + 3}.with(cells_[c]);
      columns_.push_back(cells_[c]);
    }
    return {};
  }
  /// The cells of the next line; false for an empty line or a comment.
  [[nodiscard]] result<bool> next_row() {
    if (const auto ok = in_.next_quoted_row(',', cells_); !ok) return ok.error();
    if (cells_.front().starts_with('#') || (cells_.size() == 1 && cells_.front().empty())) return false;
    return true;
  }
  [[nodiscard]] result<std::uint32_t> highest_rank() {
    const csv_scanner body = in_;
    std::uint32_t highest = 0;
    std::uint64_t ops = 0;
    bool any = false;
    while (!in_.at_end()) {
      const auto row = next_row();
      if (!row) return row.error();
      if (!*row) continue;
      if (const auto ok = read_ranks(cells_[0]); !ok) return ok.error();
      any = true;
      highest = (std::max)(highest, *std::max_element(ranks_.begin(), ranks_.end()));
      ops += ranks_.size();
      if (ops > ranks_csv_most_ops)
        return error{errc::too_large, in_.line(), static_cast<std::int64_t>(ops),
                     static_cast<std::int64_t>(ranks_csv_most_ops)}
            .with("ops of all ranks");
    }
    if (!any) return error{errc::malformed, 1, 1}.with("no row");
    in_ = body;
    return highest;
  }

  /// "3", "0-7", "0-6/2", or several of them with spaces between, into ranks_, ascending.
  [[nodiscard]] result<void> read_ranks(std::string_view cell) {
    ranks_.clear();
    const std::string_view whole = cell;
    while (!cell.empty()) {
      const std::string_view word = cell.substr(0, cell.find(' '));
      cell.remove_prefix((std::min)(cell.size(), word.size() + 1));
      if (word.empty()) continue;
      std::uint64_t first = 0, last = 0, step = 1;
      std::string_view rest = word;
      bool good = take(rest, first);
      last = first;
      if (good && rest.starts_with('-')) good = skip(rest) && take(rest, last);
      if (good && rest.starts_with('/')) good = skip(rest) && take(rest, step);
      if (!good || !rest.empty() || last < first || step == 0) return bad(errc::malformed, 0, word);
      if (last >= ranks::max_ranks)
        return error{errc::too_large, in_.line(), static_cast<std::int64_t>(last), ranks::max_ranks - 1}.with("rank");
      for (std::uint64_t r = first; r <= last; r += step) ranks_.push_back(static_cast<std::uint32_t>(r));
    }
    if (ranks_.empty()) return bad(errc::malformed, 0, whole);
    std::sort(ranks_.begin(), ranks_.end());
    if (std::adjacent_find(ranks_.begin(), ranks_.end()) != ranks_.end()) return bad(errc::malformed, 0, whole);
    return {};
  }
  static bool skip(std::string_view& text) {
    text.remove_prefix(1);
    return true;
  }
  static bool take(std::string_view& text, std::uint64_t& value) {
    const auto [at, why] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (why != std::errc{} || value > (std::uint64_t{1} << 40)) return false;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()));
    return true;
  }

  [[nodiscard]] result<void> add_communicator(ranks::program& job) {
    if (const auto ok = read_ranks(cells_[0]); !ok) return ok.error();
    for (std::size_t c = 2; c < cells_.size(); ++c)
      if (c - 2 < columns_.size() && columns_[c - 2] == "communicator" && !cells_[c].empty() && cells_[c] != "world") {
        job.communicator(cells_[c], ranks_);
        return {};
      }
    return bad(errc::malformed, 1, "communicator without a name of its own");
  }
  [[nodiscard]] result<void> add_op(ranks::program& job) {
    if (const auto ok = read_ranks(cells_[0]); !ok) return ok.error();
    const auto kind = ranks::parse_op_kind(cells_[1]);
    if (!kind) return bad(errc::unknown_op, 1, cells_[1]);
    if (cells_.size() > columns_.size() + 2)
      return error{errc::missing_column, in_.line(), static_cast<std::int64_t>(columns_.size()) + 2,
                   static_cast<std::int64_t>(cells_.size())};
    ranks::op o;
    o.kind = *kind;
    peer_cell peer;
    for (std::size_t c = 2; c < cells_.size(); ++c)
      if (const auto ok = read_cell(job, c, o, peer); !ok) return ok.error();
    if (!peer.relative) {
      o.peer = static_cast<std::uint32_t>(peer.number);
      job.add(ranks_, o);
      return {};
    }
    const auto all = ranks_;
    for (const std::uint32_t r : all) {
      const std::int64_t at = std::int64_t{r} + peer.number;
      if (at < 0 || at >= job.ranks()) return bad(errc::peer_out_of_range, 0, cells_[0]);
      o.peer = static_cast<std::uint32_t>(at);
      job.add(r, o);
    }
    return {};
  }
  [[nodiscard]] result<void> read_cell(ranks::program& job, std::size_t c, ranks::op& o, peer_cell& peer) {
    const std::string_view name = columns_[c - 2], cell = cells_[c];
    if (cell.empty()) return {};
    if (name == "communicator") {
      o.communicator = job.find_communicator(cell);
      return o.communicator == no_id ? result<void>(bad(errc::unknown_communicator, c, cell)) : result<void>{};
    }
    if (name == "type") {
      const auto type = ranks::parse_element_type(cell);
      if (!type) return bad(errc::malformed, c, cell);
      o.type = *type;
      return {};
    }
    if (name == "name") {
      o.name = name_number(job, cell);
      return {};
    }
    if (name == "peer") return read_peer(c, cell, peer);
    if (name == "blocking") {
      if (cell != "0" && cell != "1")
        return error{errc::not_a_flag, in_.line(), static_cast<std::int64_t>(c) + 1}.with(cell);
      o.returns = cell == "1" ? ranks::host_return::when_complete : ranks::host_return::at_once;
      return {};
    }
    return read_number(name, c, cell, o);
  }
  [[nodiscard]] result<void> read_number(std::string_view name, std::size_t c, std::string_view cell, ranks::op& o) {
    const std::uint64_t most = name == "count" ? std::uint64_t{1} << 40 : name == "thread" ? 255 : no_id - 1;
    std::uint64_t value = 0;
    std::string_view rest = cell;
    if (!take(rest, value) || !rest.empty() || value > most) return bad(errc::bad_number, c, cell);
    if (name == "stream" && value >= stream_limit)
      return error{errc::too_large, in_.line(), static_cast<std::int64_t>(value), stream_limit - 1}.with("stream");
    if (name == "count") o.count = value;
    else if (name == "stream") o.stream = static_cast<stream_id>(value);
    else if (name == "thread") o.thread = static_cast<std::uint8_t>(value);
    else if ((name == "event") == is_event(o.kind)) o.tag = static_cast<std::uint32_t>(value);
    return {};
  }
  [[nodiscard]] static bool is_event(ranks::op_kind kind) noexcept {
    return kind == ranks::op_kind::record || kind == ranks::op_kind::wait || kind == ranks::op_kind::synchronize_event;
  }
  [[nodiscard]] result<void> read_peer(std::size_t c, std::string_view cell, peer_cell& peer) const {
    peer.relative = cell.front() == '+' || cell.front() == '-';
    const bool negative = cell.front() == '-';
    std::string_view rest = cell.substr(peer.relative ? 1 : 0);
    std::uint64_t value = 0;
    if (!take(rest, value) || !rest.empty() || value >= ranks::max_ranks) return bad(errc::bad_number, c, cell);
    peer.number = negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
    return {};
  }
  [[nodiscard]] std::uint32_t name_number(ranks::program& job, std::string_view name) {
    if (last_name_ != 0 && job.name(last_name_) == name) return last_name_;
    return last_name_ = job.add_name(name);
  }

  csv_scanner in_;
  std::pmr::memory_resource* memory_;
  std::pmr::vector<std::string_view> columns_, cells_;
  std::pmr::vector<std::uint32_t> ranks_;
  std::uint32_t last_name_ = 0;
};

}  // namespace detail

/// Reads a program of ranks. After the first line, `rank,op` and any of ranks_csv_columns, each line gives an op to one
/// rank or to several (`3`, `0-7`, `0-6/2`, with spaces between), to the end of their lists. Cells at the end may be
/// left out; lines that begin with # are comments.
///
/// * `op`: a name of ranks::op_kind; or `communicator`, which makes one of these ranks with the name in its column.
///   Several lines with one name make several communicators, and each rank uses its own.
/// * `peer`: the rank at the other end, or the root; `+1` and `-1` count from the own rank.
/// * `count`: elements of a collective, bytes of a send or receive. `blocking`: 1 or 0; else the machine decides.
/// @return errc::malformed, bad_number, unknown_op, unknown_communicator, missing_column, not_a_flag, too_large,
///         peer_out_of_range, duplicate_column, each with its line; program::check_lists judges the rest
/// Complexity: linear in the text and in the ops of all ranks.
///
///     text::parse_ranks_csv("rank,op,communicator\n0-3,all_reduce,world\n")->ranks() == 4;
[[nodiscard]] inline result<ranks::program> parse_ranks_csv(
    std::string_view csv, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  return detail::ranks_reader(csv, memory)();
}

namespace detail {

/// Ranks as read_ranks takes them.
inline void append_ranks(std::string& out, std::span<const std::uint32_t> ascending) {
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (i > 0) out += ' ';
    append_number(out, ascending[i]);
    if (last > i) append_number(out += '-', ascending[last]);
    i = last + 1;
  }
}

/// The cells of an op after the first two, in the order of ranks_csv_columns, without the empty ones at the end.
inline void append_op(std::string& out, const ranks::program& job, const ranks::op& o) {
  using ranks::op_kind;
  const bool event = o.kind == op_kind::record || o.kind == op_kind::wait || o.kind == op_kind::synchronize_event;
  const bool talks = is_communication(o.kind);
  const auto cell = [&](bool given, std::uint64_t value) {
    out += ',';
    if (given) append_number(out, value);
  };
  out += ',';
  if (talks) out += job.groups(o.communicator).name;
  cell(ranks::is_enqueued(o.kind) || o.kind == op_kind::synchronize_stream, o.stream);
  cell(o.count != 0, o.count);
  out += ',';
  out += to_string(o.type);
  cell(talks && (!is_collective(o.kind) || has_root(o.kind)), o.peer);
  cell(talks && o.tag != 0, o.tag);
  cell(event, o.tag);
  cell(o.thread != 0, o.thread);
  cell(o.returns != ranks::host_return::by_machine, o.returns == ranks::host_return::when_complete ? 1 : 0);
  out += ',';
  if (o.name != 0) out += job.name(o.name);
  while (out.back() == ',') out.pop_back();
}

}  // namespace detail

/// The CSV form of a program, list after list; parse_ranks_csv reads it back, if no name holds a comma or a quote.
[[nodiscard]] inline std::string write_ranks_csv(const ranks::program& job) {
  std::string out(ranks_csv_header);
  for (const std::string_view c : ranks_csv_columns) out.append(",").append(c);
  out += '\n';
  for (std::size_t c = 1; c < job.communicator_count(); ++c)
    for (const auto& members : job.groups(static_cast<ranks::communicator_id>(c)).groups) {
      std::vector<std::uint32_t> sorted(members.begin(), members.end());
      std::sort(sorted.begin(), sorted.end());
      detail::append_ranks(out, sorted);
      out.append(",communicator,").append(job.groups(static_cast<ranks::communicator_id>(c)).name) += '\n';
    }
  std::vector<std::vector<std::uint32_t>> users(job.list_count());
  for (std::uint32_t r = 0; r < job.ranks(); ++r) users[job.list_number(r)].push_back(r);
  std::string who;
  for (std::uint32_t r = 0; r < job.ranks(); ++r) {
    const std::uint32_t l = job.list_number(r);
    if (users[l].front() != r) continue;
    who.clear();
    detail::append_ranks(who, users[l]);
    for (const ranks::op& o : job.list(r)) {
      out.append(who).append(",").append(to_string(o.kind));
      detail::append_op(out, job, o);
      out += '\n';
    }
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text
