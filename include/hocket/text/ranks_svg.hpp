// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/printable.hpp>
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/program.hpp>
#include <hocket/ranks/tell.hpp>
#include <hocket/timeline/svg.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A program of ranks as a picture: a row for each stream and host thread, and what waits for what in red.
namespace hocket::inline HOCKET_ABI::text {

/// How much of a program is drawn.
struct ranks_svg_options {
  std::uint32_t most_ranks = 16;    ///< those of the answer's cycle first
  std::uint32_t ops_around = 3;     ///< before and after each op of the cycle
  std::uint32_t most_columns = 40;  ///< of ops
};

namespace detail {

/// A row of the picture: a stream or a host thread of a rank.
struct rank_row {
  std::uint32_t rank = 0;
  bool host = false;
  std::uint32_t line = 0;
  constexpr auto operator<=>(const rank_row&) const = default;
};

/// Draws a program and what was found about it.
///
///              op 0          op 1        …   op 7
///     rank 0
///     stream 0 ┌──────────┐              …   ┌──────────┐
///              │all_reduce│                  │all_reduce│◀─┐  red: what the answer names,
///     stream 1 └──────────┘ ┌──────────┐     └──────────┘  │  and who waits for whom
///                           │send      │───────────────────┘
class ranks_drawing {
 public:
  ranks_drawing(const ranks::program& job, const ranks::answer& found, const ranks_svg_options& how)
      : job_(job), found_(found), how_(how) {
    waits_.assign(found.cycle.begin(), found.cycle.end());
    add_missing_call();
    choose_ranks();
    choose_columns();
    choose_rows();
  }

  [[nodiscard]] std::string operator()() {
    const int width = left + static_cast<int>(columns_.size()) * column_width + right;
    const int height = top + static_cast<int>(rows_.size()) * row_height + 20;
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + std::to_string(width) + ' ' +
           std::to_string(height) + "\" font-family=\"sans-serif\" font-size=\"11\">\n";
    out_ +=
        "<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
        "orient=\"auto\"><path d=\"M0 0L8 4L0 8Z\" fill=\"#c81e1e\"/></marker></defs>\n";
    out_ +=
        "<rect width=\"" + std::to_string(width) + "\" height=\"" + std::to_string(height) + "\" fill=\"#ffffff\"/>\n";
    title();
    for (std::size_t c = 0; c < columns_.size(); ++c) column_head(c);
    for (std::size_t r = 0; r < rows_.size(); ++r) row(r);
    for (const ranks::blocked& b : waits_) arrow(b);
    return std::move(out_) + "</svg>\n";
  }

 private:
  static constexpr int left = 110, right = 90, top = 58, row_height = 54, box_height = 32;
  static constexpr int column_width = 104, box_width = 94;
  static constexpr std::uint32_t gap = no_id;  // a column in the place of those that are left out

  struct point {
    int x, y;
  };

  /// Of a call to which another rank never comes: an arrow from the call to the end of what that rank does.
  void add_missing_call() {
    const ranks::disagreement& d = found_.differs;
    if (found_.says != ranks::verdict::mismatch || d.op == no_id || d.other_op != no_id) return;
    const rank_row row = row_of(d.rank, job_.list(d.rank)[d.op]);
    waits_.push_back({{d.rank, row.line, d.op, row.host}, {d.other_rank, row.line, no_id, row.host}});
  }
  /// Every op that the answer names.
  template <class F>
  void for_each_named(const F& f) const {
    for (const ranks::blocked& b : waits_) {
      f(b.who.rank, b.who.op);
      f(b.whom.rank, b.whom.op);
      if (b.call != no_id && b.why == ranks::obstacle::peer) f(b.whom.rank, b.call);
    }
    for (const ranks::place& p : found_.open) f(p.rank, p.op);
    if (found_.says != ranks::verdict::mismatch) return;
    f(found_.differs.rank, found_.differs.op);
    f(found_.differs.other_rank, found_.differs.other_op);
  }
  void choose_ranks() {
    const auto add = [&](std::uint32_t rank) {
      const bool known = std::find(ranks_.begin(), ranks_.end(), rank) != ranks_.end();
      if (!known && ranks_.size() < how_.most_ranks && rank < job_.ranks()) ranks_.push_back(rank);
    };
    for_each_named([&](std::uint32_t rank, std::uint32_t) { add(rank); });
    if (ranks_.empty())
      for (std::uint32_t r = 0; r < job_.ranks() && r < how_.most_ranks; ++r) ranks_.push_back(r);
    std::sort(ranks_.begin(), ranks_.end());
  }
  [[nodiscard]] bool is_shown(std::uint32_t rank) const {
    return std::binary_search(ranks_.begin(), ranks_.end(), rank);
  }
  void choose_columns() {
    std::vector<std::uint32_t> shown;
    std::uint32_t longest = 0;
    for (const std::uint32_t r : ranks_) longest = (std::max)(longest, static_cast<std::uint32_t>(job_.list(r).size()));
    for_each_named([&](std::uint32_t rank, std::uint32_t op) {
      if (op == no_id || !is_shown(rank)) return;
      const std::uint32_t first = op - (std::min)(op, how_.ops_around);
      for (std::uint32_t at = first; at < longest && at <= op + how_.ops_around; ++at) shown.push_back(at);
    });
    if (shown.empty())
      for (std::uint32_t at = 0; at < longest && at < how_.most_columns; ++at) shown.push_back(at);
    std::sort(shown.begin(), shown.end());
    shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
    if (shown.size() > how_.most_columns) shown.resize(how_.most_columns);
    std::uint32_t next = 0;
    for (const std::uint32_t at : shown) {
      if (at != next) columns_.push_back(gap);
      column_of_[at] = columns_.size();
      columns_.push_back(at);
      next = at + 1;
    }
    if (next < longest) columns_.push_back(gap);
  }
  [[nodiscard]] static rank_row row_of(std::uint32_t rank, const ranks::op& o) {
    const bool host = !ranks::is_enqueued(o.kind);
    return {rank, host, host ? o.thread : o.stream};
  }
  void choose_rows() {
    for (const std::uint32_t rank : ranks_)
      for (const std::uint32_t at : columns_)
        if (at != gap && at < job_.list(rank).size()) rows_.push_back(row_of(rank, job_.list(rank)[at]));
    for (const ranks::blocked& b : waits_)  // a line that has done all, or is blocked ahead of its op
      if (is_shown(b.whom.rank)) rows_.push_back({b.whom.rank, b.whom.host, b.whom.line});
    std::sort(rows_.begin(), rows_.end());
    rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
  }
  [[nodiscard]] int y_of(const rank_row& x) const {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), x) - rows_.begin();
    return top + static_cast<int>(at) * row_height;
  }
  [[nodiscard]] static int x_of(std::size_t column) { return left + static_cast<int>(column) * column_width; }

  void put_text(int x, int y, std::string_view words, std::string_view more = {}) {
    out_ += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + '"';
    out_.append(more).append(">").append(xml_text(to_printable(words))).append("</text>\n");
  }
  void title() {
    std::string words(to_string(found_.says));
    if (found_.says != ranks::verdict::mismatch && found_.why != ranks::reason::none)
      words.append(": ").append(to_string(found_.why));
    put_text(10, 20, words, " font-size=\"15\"");
    if (ranks_.size() == job_.ranks()) return;
    put_text(10, 36, ranks::detail::rank_words(ranks_) + " of " + std::to_string(job_.ranks()), " fill=\"#57606a\"");
  }
  void column_head(std::size_t c) {
    const std::string words = columns_[c] == gap ? "…" : "op " + std::to_string(columns_[c]);
    put_text(x_of(c) + box_width / 2, top - 6, words, " text-anchor=\"middle\" fill=\"#57606a\"");
  }
  void row(std::size_t r) {
    const rank_row& x = rows_[r];
    const int y = y_of(x), middle = y + box_height / 2;
    if (r == 0 || rows_[r - 1].rank != x.rank) {
      out_ += "<path d=\"M10 " + std::to_string(y - 3) + "H" + std::to_string(x_of(columns_.size()) + right - 10) +
              "\" stroke=\"#d0d7de\"/>\n";
      put_text(10, middle - 2, "rank " + std::to_string(x.rank), " font-weight=\"bold\"");
    }
    put_text(10, middle + 12, (x.host ? "host thread " : "stream ") + std::to_string(x.line));
    const auto list = job_.list(x.rank);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (columns_[c] != gap && columns_[c] < list.size() && row_of(x.rank, list[columns_[c]]) == x)
        box({x_of(c), y}, x.rank, columns_[c]);
  }
  [[nodiscard]] hocket::detail::colour fill_of(const ranks::op& o) const {
    const auto communicators = static_cast<std::uint32_t>(job_.communicator_count());
    const bool transfers = o.kind == ranks::op_kind::send || o.kind == ranks::op_kind::receive;
    if (transfers) return hocket::detail::colour_of(activity::forward, 0, 2);
    if (is_collective(o.kind)) return hocket::detail::colour_of(activity::communication, o.communicator, communicators);
    return hocket::detail::colour_of(o.kind == ranks::op_kind::compute ? activity::other : activity::wait, 0, 2);
  }
  /// The second line of a box.
  [[nodiscard]] std::string detail_of(const ranks::op& o) const {
    using ranks::op_kind;
    if (is_collective(o.kind)) return std::string(job_.groups(o.communicator).name);
    if (o.kind == op_kind::send) return "to rank " + std::to_string(o.peer);
    if (o.kind == op_kind::receive) return "from rank " + std::to_string(o.peer);
    if (o.kind == op_kind::record || o.kind == op_kind::wait || o.kind == op_kind::synchronize_event)
      return "event " + std::to_string(o.tag);
    return o.name != 0 ? std::string(job_.name(o.name)) : std::string();
  }
  [[nodiscard]] bool is_named(std::uint32_t rank, std::uint32_t op) const {
    bool out = false;
    for_each_named([&](std::uint32_t r, std::uint32_t o) { out = out || (r == rank && o == op); });
    return out;
  }
  void box(point at, std::uint32_t rank, std::uint32_t number) {
    const ranks::op& o = job_.list(rank)[number];
    const hocket::detail::colour fill = fill_of(o);
    std::string colours;
    put_all(colours, " fill=\"", hocket::detail::hex{fill}, "\" stroke=\"",
            is_named(rank, number) ? "#c81e1e\" stroke-width=\"2.5\"" : "#8c959f\"");
    out_ += "<rect x=\"" + std::to_string(at.x) + "\" y=\"" + std::to_string(at.y) + "\" width=\"" +
            std::to_string(box_width) + "\" height=\"" + std::to_string(box_height) + "\" rx=\"3\"" + colours + "/>\n";
    std::string ink;
    put_all(ink, " text-anchor=\"middle\" fill=\"", hocket::detail::hex{hocket::detail::ink_on(fill)}, "\"");
    constexpr std::size_t longest = 15;
    const std::string more = detail_of(o);
    const int middle = at.x + box_width / 2;
    std::string_view kind = to_string(o.kind);
    if (kind.size() > longest) kind = kind.substr(0, longest);
    put_text(middle, at.y + (more.empty() ? 20 : 14), kind, ink);
    if (!more.empty()) put_text(middle, at.y + 27, hocket::detail::cut_text(more, longest), ink);
  }

  /// Where an op stands in the picture, by its upper left corner; of a line that has done all, the end of its row.
  [[nodiscard]] bool corner_of(const ranks::place& p, std::uint32_t op, point& out) const {
    if (!is_shown(p.rank)) return false;
    if (op == no_id) {
      out = {x_of(columns_.size()), y_of({p.rank, p.host, p.line})};
      return true;
    }
    const auto column = column_of_.find(op);
    if (column == column_of_.end()) return false;
    out = {x_of(column->second), y_of(row_of(p.rank, job_.list(p.rank)[op]))};
    return true;
  }
  /// From what waits to what it waits for. Down on the right of the middle, up on the left: so two that wait for each
  /// other have two arrows.
  void arrow(const ranks::blocked& b) {
    const bool later = b.why == ranks::obstacle::peer && b.call != no_id;
    point from{}, to{};
    if (!corner_of(b.who, b.who.op, from) || !corner_of(b.whom, later ? b.call : b.whom.op, to)) return;
    const bool never = !later && b.whom.op == no_id;
    if (never) put_text(to.x, to.y + 20, "never comes", " fill=\"#c81e1e\"");
    const bool down = from.y < to.y, level = from.y == to.y;
    const int shift = down ? 14 : -14, middle = box_width / 2;
    const point a =
        level ? point{from.x + middle, from.y} : point{from.x + middle + shift, from.y + (down ? box_height : 0)};
    const point z = never ? point{to.x + 20, to.y + (down ? 8 : 24)}
                  : level ? point{to.x + middle + 10, to.y}
                          : point{to.x + middle + shift, to.y + (down ? 0 : box_height)};
    const int bend = level ? a.y - 22 : (a.y + z.y) / 2;
    out_ += "<path d=\"M" + std::to_string(a.x) + ' ' + std::to_string(a.y) + 'C' + std::to_string(a.x) + ' ' +
            std::to_string(bend) + ' ' + std::to_string(z.x) + ' ' + std::to_string(bend) + ' ' + std::to_string(z.x) +
            ' ' + std::to_string(z.y) +
            "\" fill=\"none\" stroke=\"#c81e1e\" stroke-width=\"1.8\" marker-end=\"url(#to)\"/>\n";
  }

  const ranks::program& job_;
  const ranks::answer& found_;
  const ranks_svg_options& how_;
  std::vector<ranks::blocked> waits_;  // the arrows
  std::vector<std::uint32_t> ranks_, columns_;
  std::map<std::uint32_t, std::size_t> column_of_;  // of an op
  std::vector<rank_row> rows_;
  std::string out_;
};

}  // namespace detail

/// A program of ranks as an SVG picture: a row for each stream and host thread, a box for each op, in the order of the
/// rank's list. What the answer names has a red border, and red arrows lead from what waits to what it waits for. Of a
/// large program the ranks and ops around these are drawn, and the picture says so.
/// @param found  what ranks::check says of the program
/// Precondition: the program passed check_lists(). Complexity: O(ops of the ranks that are drawn).
///
///     const auto found = ranks::check(job, ranks::nccl);
///     write_file("hang.svg", text::to_svg(job, *found));
[[nodiscard]] inline std::string to_svg(const ranks::program& job, const ranks::answer& found,
                                        const ranks_svg_options& how = {}) {
  return detail::ranks_drawing(job, found, how)();
}

}  // namespace hocket::inline HOCKET_ABI::text
