// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/core/int128.hpp>
#include <hocket/timeline/analysis.hpp>
#include <hocket/timeline/detail/rows.hpp>
#include <hocket/timeline/detail/svg_writing.hpp>
#include <hocket/timeline/detail/writing.hpp>
#include <hocket/timeline/evenly_spaced.hpp>
#include <hocket/timeline/time_bins.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI {

/// Foreign text as text in XML, in element content and in quoted attributes: for pictures of one's own. Characters that
/// XML 1.0 cannot hold become '?'. Complexity: O(bytes).
///
///     xml_text("a < b") == "a &lt; b";
[[nodiscard]] inline std::string xml_text(std::string_view text) {
  std::string out;
  detail::put_xml(out, text);
  return out;
}

struct svg_options {
  std::string title{};                 ///< above the picture; escaped
  std::string subtitle{};              ///< below the title; empty: makespan and idle share
  std::uint32_t width = 1400;          ///< of the picture, in pixels
  std::uint32_t lane_height = 30;      ///< of a lane's bars, in pixels
  std::string quantity = "in flight";  ///< what the changes of a lane count
  bool seconds = false;                ///< axis in s, ms, µs or ns by ticks_per_second, instead of ticks
  std::string shade = "chunk";         ///< what the shades of a colour count
  borrowed<std::string> names{};       ///< what ids of spans stand for, shown where the pointer rests
  /// With more spans, every lane is drawn as shares of its time instead of as bars (see to_svg): 30,000 bars are 5 to
  /// 8 MiB, which viewers still open.
  std::size_t most_bars = 30'000;
};

namespace detail {

/// How a timeline with more spans than options.most_bars is drawn.
struct svg_thinning {
  std::vector<std::uint32_t> lanes;  ///< those that are drawn
  std::size_t steps = 0;             ///< of time, in each lane; 0: spans are drawn as bars
};
/// A lane has about 500 bytes beside its steps, and a step 15 for each colour; a bar with its number 260.
[[nodiscard]] inline svg_thinning thinning_of(const timeline& t, const svg_options& o) {
  constexpr std::size_t lanes_for_bars = 24, steps_per_bar = 16, least_steps = 8;
  if (t.spans().size() <= o.most_bars) return {evenly_spaced(t.lane_count(), t.lane_count() + 1), 0};
  svg_thinning out{evenly_spaced(t.lane_count(), (std::max)(std::size_t{2}, o.most_bars / lanes_for_bars)), 0};
  bool used[activity_count] = {};
  for (const timeline::span& s : t.spans()) used[static_cast<std::size_t>(s.kind)] = true;
  used[static_cast<std::size_t>(activity::wait)] = !t.changes().empty();  // the curve, as many steps as a colour
  const auto colours = static_cast<std::size_t>(std::count(std::begin(used), std::end(used), true));
  const std::size_t each = (std::max)(std::size_t{1}, colours) * out.lanes.size();
  out.steps = (std::max)(least_steps, steps_per_bar * o.most_bars / each);
  out.steps = (std::min)(out.steps, static_cast<std::size_t>((std::max)(o.width, 100u)));
  return out;
}
/// What the picture leaves out; empty where it shows all.
[[nodiscard]] inline std::string left_out_of(const timeline& t, const svg_options& o, const svg_thinning& thin) {
  std::string out;
  if (thin.steps == 0) return out;
  put_all(out, t.spans().size(), " bars on ", t.lane_count(), " lanes are more than ", o.most_bars, ": ");
  if (thin.lanes.size() < t.lane_count()) put_all(out, thin.lanes.size(), " evenly spaced lanes are drawn, each");
  else out += "each lane is drawn";
  put_all(out, " as ", thin.steps, " steps of time, in which the height of a colour is its share.");
  return out;
}

/// Draws one timeline. Coordinates are whole hundredths of a pixel.
class svg_writer {
 public:
  svg_writer(const timeline& t, const svg_options& o)
      : t_(t), o_(o), rows_(rows_of(t)), levels_(levels_of(t)), uses_(lane_uses(t)), thin_(thinning_of(t, o)) {
    begin_ = t.begin();
    end_ = t.end();
    makespan_ = end_ - begin_;
    for (const auto& m : t.marks()) end_ = m.at > end_ ? m.at : end_;
    if (end_ == begin_) end_ = begin_ + 1;
    std::size_t name = 4;
    for (std::uint32_t lane = 0; lane < t.lane_count(); ++lane)
      name = t.lane_name(lane).size() > name ? t.lane_name(lane).size() : name;
    left_ = 100 * (22 + 8 * static_cast<std::int64_t>(name < 36 ? name : 36));
    for (const auto& u : uses_) peak_ = u.peak > peak_ ? u.peak : peak_;
    std::string widest;
    put_all(widest, o.quantity, " ", peak_);
    if (!t.changes().empty() && 640 * static_cast<std::int64_t>(widest.size()) + 1'200 > margin_)
      margin_ = 640 * static_cast<std::int64_t>(widest.size()) + 1'200;
    right_ = 100 * static_cast<std::int64_t>(o.width) - margin_;
    if (right_ < left_ + 10'000) right_ = left_ + 10'000;
    for (const auto& s : t.spans()) {
      used_[static_cast<std::size_t>(s.kind)] = true;
      any_exposed_ |= s.exposed;
      if (s.chunk + 1u > chunks_) chunks_ = s.chunk + 1u;
    }
    subtitle_ = o.subtitle;
    if (subtitle_.empty()) {
      subtitle_ = "makespan ";
      put_time(subtitle_, makespan_);
      put_all(subtitle_, " · idle ");
      put_share(subtitle_, idle_share());
    }
  }

  std::string operator()() {
    out_.reserve(4'096 + (std::min)(rows_.spans.size(), o_.most_bars) * 110);
    const std::int64_t lane = 100 * static_cast<std::int64_t>(o_.lane_height), curve = t_.changes().empty() ? 0 : 2'000;
    const std::int64_t pitch = lane + curve + 1'000;
    const std::int64_t top = 9'200 + legend(false),
                       bottom = top + pitch * static_cast<std::int64_t>(thin_.lanes.size());
    const std::string left_out = left_out_of(t_, o_, thin_);
    head(bottom + 5'600 + (left_out.empty() ? 0 : 2'000));
    if (!left_out.empty()) text(2'000, bottom + 6'000, "class=\"q\"", left_out);
    legend(true);
    axis(top - 600, bottom);
    std::int64_t y = top;
    for (const std::uint32_t l : thin_.lanes) {
      draw_lane(l, y, lane, curve);
      y += pitch;
    }
    marks(top - 600, bottom);
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::int64_t x_of(ticks at) const noexcept {
    const double share = static_cast<double>(at - begin_) / static_cast<double>(end_ - begin_);
    const double seen = share < -1 ? -1 : share > 2 ? 2 : share;  // a mark or a change far outside of all spans
    return left_ + static_cast<std::int64_t>(seen * static_cast<double>(right_ - left_) + 0.5);
  }
  [[nodiscard]] static pixels px(std::int64_t hundredths) noexcept { return {hundredths}; }
  void rect(std::int64_t x, std::int64_t y, std::int64_t w, std::int64_t h, std::string_view style) {
    put_all(out_, "<rect x=\"", px(x), "\" y=\"", px(y), "\" width=\"", px(w), "\" height=\"", px(h), "\" ", style,
            "/>\n");
  }
  void text(std::int64_t x, std::int64_t y, std::string_view style, std::string_view words) {
    put_all(out_, "<text x=\"", px(x), "\" y=\"", px(y), "\" ", style, ">");
    put_xml(out_, words);
    out_ += "</text>\n";
  }
  void line(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2, std::string_view style) {
    put_all(out_, "<line x1=\"", px(x1), "\" y1=\"", px(y1), "\" x2=\"", px(x2), "\" y2=\"", px(y2), "\" ", style,
            "/>\n");
  }

  void head(std::int64_t height) {
    const pixels width = px(right_ + margin_);
    put_all(out_, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", px(height),
            "\" viewBox=\"0 0 ", width, " ", px(height));
    out_ +=
        "\" font-family=\"Inter,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif\" font-size=\"12\">\n<style>"
        ".n{font-size:12px;font-weight:600;fill:#24292f}.q{font-size:10.5px;fill:#6b7480}"
        ".a{font-size:10.5px;fill:#57606a;text-anchor:middle}.m{font-size:11px;font-weight:600;fill:#b3261e}"
        ".g{stroke:#d8dde3;stroke-width:.7}.b{font-size:11px;text-anchor:middle;pointer-events:none}"
        ".c{font-size:8px}"
        ".s{stroke:#fff;stroke-width:.8}</style>\n"
        "<defs><pattern id=\"idle\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#f3f4f6\"/>"
        "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"#dfe3e8\" stroke-width=\"2\"/></pattern>";
    if (any_exposed_)
      out_ +=
          "<pattern id=\"exposed\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(-45)\"><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"5\" stroke=\"#b3261e\" "
          "stroke-width=\"2.6\"/></pattern>";
    out_ += "</defs>\n";
    rect(0, 0, right_ + margin_, height, "fill=\"#fff\"");
    text(2'000, 3'000, "font-size=\"18\" font-weight=\"700\" fill=\"#14202e\"",
         o_.title.empty() ? "Timeline" : o_.title);
    text(2'000, 5'000, "font-size=\"12.5\" fill=\"#57606a\"", subtitle_);
  }
  [[nodiscard]] std::int64_t idle_share() const noexcept {  // in thousandths
    double idle = 0;
    for (const auto& u : uses_) idle += static_cast<double>(u.idle);
    const double all = static_cast<double>(makespan_) * static_cast<double>(uses_.size());
    return all > 0 ? static_cast<std::int64_t>(idle / all * 1'000 + 0.5) : 0;
  }
  static void put_share(std::string& out, std::int64_t thousandths) {
    put_scaled(out, thousandths, 1);
    out += " %";
  }

  // Swatches: per kind in use, its shades from the first chunk to the last. Beside the subtitle, and below it where
  // there is no room. Returns how much lower than one row it ends.
  std::int64_t legend(bool drawn) {
    std::int64_t x = right_, y = 0;
    for (std::size_t k = sizeof used_; k-- > 0;) {
      if (!used_[k]) continue;
      const auto kind = static_cast<activity>(k);
      const std::uint32_t shades = chunks_ < 6 ? chunks_ : 6;
      const std::int64_t swatches = std::int64_t{1'200} * shades;
      const std::int64_t words = 620 * static_cast<std::int64_t>(to_string(kind).size()) + 700;
      const std::int64_t from = y > 0 ? 0 : 2'000 + 660 * static_cast<std::int64_t>(subtitle_.size());
      if (x - words - swatches < from && (x != right_ || y == 0)) {
        x = right_;
        y += 1'800;
      }
      if (!drawn) {
        x -= words + swatches + 1'400;
        continue;
      }
      x -= words;
      text(x + 500, 5'000 + y, "class=\"q\" font-size=\"12\"", to_string(kind));
      for (std::uint32_t c = shades; c-- > 0;) {
        x -= 1'200;
        const std::uint32_t chunk = shades > 1 ? c * (chunks_ - 1) / (shades - 1) : 0;
        put_all(out_, "<rect x=\"", px(x), "\" y=\"", px(4'000 + y), "\" width=\"12\" height=\"12\" fill=\"",
                hex{colour_of(kind, chunk, chunks_)}, "\"/>\n");
      }
      x -= 1'400;
    }
    std::string how = chunks_ > 1 ? "light to deep: first to last " + o_.shade : std::string();
    if (any_exposed_) how += how.empty() ? "hatched: exposed" : "; hatched: exposed";
    if (drawn && !how.empty()) text(right_ - 700, 6'700 + y, "class=\"q\" text-anchor=\"end\"", how);
    return y;
  }

  [[nodiscard]] static std::int64_t nice_step(std::int64_t length) noexcept {
    std::int64_t step = 1;
    for (int i = 0; length / step > 16; ++i) step = step / (i % 3 == 1 ? 2 : 1) * (i % 3 == 1 ? 5 : 2);
    return step;
  }
  // A time with its unit, to three decimals.
  void put_time(std::string& out, ticks time) const {
    if (!o_.seconds) return put_all(out, time, " ticks");
    struct unit {
      std::string_view name;
      double per_second;
    };
    constexpr unit units[] = {{" s", 1}, {" ms", 1e3}, {" µs", 1e6}, {" ns", 1e9}};
    const double seconds = static_cast<double>(time) / static_cast<double>(t_.ticks_per_second);
    const double whole = static_cast<double>(end_ - begin_) / static_cast<double>(t_.ticks_per_second);
    std::size_t u = 0;
    while (u < 3 && whole * units[u].per_second < 2) ++u;
    const double thousandths = seconds * units[u].per_second * 1'000 + 0.5;
    constexpr double max_time = 9e18;  // beyond, a time is shown as that
    const double shown = thousandths < -max_time ? -max_time : thousandths < max_time ? thousandths : max_time;
    put_scaled(out, static_cast<std::int64_t>(shown), 3);
    out += units[u].name;
  }
  void axis(std::int64_t top, std::int64_t bottom) {
    const std::int64_t step = nice_step(end_ - begin_);
    for (ticks at = 0; at <= end_ - begin_; at += step) {
      const std::int64_t x = x_of(begin_ + at);
      line(x, top, x, bottom, "class=\"g\"");
      std::string words;
      if (o_.seconds) put_time(words, at);
      else put(words, at);
      text(x, bottom + 1'500, "class=\"a\"", words);
      if (at > end_ - begin_ - step) break;  // at + step must not overflow
    }
    line(left_, bottom, right_, bottom, "stroke=\"#8c959f\"");
    bool taken = false;  // by the label of a mark; the numbers have their unit
    for (const auto& m : t_.marks()) taken |= o_.seconds && x_of(m.at) < left_ + 4'000;
    if (!taken) text(left_, bottom + 3'600, "class=\"q\"", o_.seconds ? "time" : "time in ticks");
  }

  void draw_lane(std::uint32_t lane, std::int64_t y, std::int64_t height, std::int64_t curve) {
    text(2'000, y + height / 2 + 420, "class=\"n\"", cut_text(t_.lane_name(lane), 36));
    rect(left_, y, right_ - left_, height, "fill=\"url(#idle)\"");
    if (const std::size_t steps = steps_of(lane); steps > 0) draw_shares(lane, y, height, steps);
    else draw_bars(lane, y, height);
    std::string words = "busy ";
    const ticks whole = makespan_;
    put_share(words, whole > 0 ? static_cast<std::int64_t>(
                                     static_cast<double>(uses_[lane].busy) / static_cast<double>(whole) * 1'000 + 0.5)
                               : 0);
    text(right_ + 1'000, y + height / 2 + 420, "class=\"q\"", words);
    if (curve > 0) draw_curve(lane, y + height + 200, curve);
  }
  void draw_bars(std::uint32_t lane, std::int64_t y, std::int64_t height) {
    const std::int64_t row_height = height / rows_.row_count[lane];
    for (const auto& [s, row, added] : spans_of(lane)) {
      const std::int64_t x = x_of(s.start), width = x_of(s.finish) - x;
      bar(s, x, y + row * row_height, (std::max)(width, least_width), row_height);
    }
  }
  // 0: bars. Bars narrower than a third of a pixel are drawn as wide as that; where this would make the lane look
  // busier by more than a hundredth of its length, shares of time tell the truth.
  [[nodiscard]] std::size_t steps_of(std::uint32_t lane) const {
    if (thin_.steps > 0) return thin_.steps;
    if (rows_.row_count[lane] > 1) return 0;
    std::int64_t added = 0;
    for (const auto& p : spans_of(lane))
      added += (std::max)(std::int64_t{0}, least_width - (x_of(p.span.finish) - x_of(p.span.start)));
    return added * 100 > right_ - left_ ? static_cast<std::size_t>((right_ - left_) / 100) : 0;
  }
  // For each activity the area up to its share and those below it, the highest first: what is drawn over it leaves its
  // own share. Idle time is what stays hatched.
  void draw_shares(std::uint32_t lane, std::int64_t y, std::int64_t height, std::size_t steps) {
    steps = static_cast<std::size_t>((std::min)(static_cast<ticks>(steps), end_ - begin_));
    std::vector<time_bin> bins(steps);
    fill_bins(spans_of(lane), begin_, end_, bins);
    const auto edge = [&](std::size_t i) { return bin_edge(begin_, end_, steps, i); };
    for (std::size_t k = activity_count; k-- > 0;) {
      ticks all = 0;
      for (const time_bin& bin : bins) all += bin.spent[k];
      if (all == 0) continue;
      const auto top = [&](std::size_t i) {
        ticks sum = 0;
        for (std::size_t below = 0; below <= k; ++below) sum += bins[i].spent[below];
        const int128 length = edge(i + 1) - edge(i);  // whole numbers: the same bytes on every machine
        return y + height - static_cast<std::int64_t>((int128{2} * height * sum + length) / (2 * length));
      };
      put_steps(out_, steps, [&](std::size_t i) { return x_of(edge(i)); }, top, y + height);
      const auto kind = static_cast<activity>(k);
      put_all(out_, " fill=\"", hex{colour_of(kind, chunks_ - 1, chunks_)}, "\"><title>", to_string(kind), " ");
      put_share(out_,
                static_cast<std::int64_t>(1'000 * static_cast<double>(all) / static_cast<double>(makespan_) + 0.5));
      out_ += " of the time</title></path>\n";
    }
  }
  [[nodiscard]] std::span<const span_rows::placed> spans_of(std::uint32_t lane) const noexcept {
    return std::span(rows_.spans).subspan(rows_.first[lane], rows_.first[lane + 1] - rows_.first[lane]);
  }
  void bar(const timeline::span& s, std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height) {
    const colour fill = colour_of(s.kind, s.chunk, chunks_);
    put_all(out_, "<rect x=\"", px(x), "\" y=\"", px(y), "\" width=\"", px(width), "\" height=\"", px(height),
            "\" fill=\"", hex{fill}, width > 300 ? "\" class=\"s\">" : "\">", "<title>", s.exposed ? "exposed " : "",
            to_string(s.kind), " · ");
    if (s.id < o_.names.size()) put_xml(out_, cut_text(o_.names[s.id], max_title));
    else put(out_, s.id);
    if (s.micro_batch >= 0) put_all(out_, ", micro-batch ", s.micro_batch);
    out_ += " · ";
    put_time(out_, s.start);
    out_ += " to ";
    put_time(out_, s.finish);
    out_ += "</title></rect>\n";
    if (s.exposed) rect(x, y, width, height, "fill=\"url(#exposed)\" pointer-events=\"none\"");
    if (s.micro_batch < 0) return;
    std::string number;
    put(number, s.micro_batch);
    const auto digits = static_cast<std::int64_t>(number.size());
    if (width < 150 + 465 * digits || height < 1'100) return;
    const bool narrow = width < 300 + 640 * digits;
    put_all(out_, narrow ? "<text class=\"b c\" x=\"" : "<text class=\"b\" x=\"", px(x + width / 2), "\" y=\"",
            px(y + height / 2 + (narrow ? 290 : 390)), "\" fill=\"", hex{ink_on(fill)}, "\">", number, "</text>\n");
  }
  // The lane's quantity as steps, on one scale for all lanes so that they can be compared.
  void draw_curve(std::uint32_t lane, std::int64_t y, std::int64_t height) {
    const auto& levels = levels_[lane];
    if (levels.empty() || peak_ <= 0) return;
    const auto y_of = [&](std::int64_t value) {
      return y + height -
             static_cast<std::int64_t>(static_cast<double>(value < 0 ? 0 : value) / static_cast<double>(peak_) *
                                       static_cast<double>(height));
    };
    if (thin_.steps == 0) {
      put_all(out_, "<path d=\"M", px(x_of(levels.front().at)), " ", px(y + height));
      for (const level& l : levels) put_all(out_, "H", px(x_of(l.at)), "V", px(y_of(l.value)));
      put_all(out_, "H", px(right_), "V", px(y + height), "Z\"");
    } else {
      const std::vector<std::int64_t> most = highest_of(levels, thin_.steps);
      const auto x = [&](std::size_t i) { return x_of(bin_edge(begin_, end_, most.size(), i)); };
      put_steps(out_, most.size(), x, [&](std::size_t i) { return y_of(most[i]); }, y + height);
    }
    out_ += " fill=\"#8fa3b8\" fill-opacity=\".38\" stroke=\"#5b7083\" stroke-width=\".9\"/>\n";
    std::string words(o_.quantity);
    put_all(words, " ", uses_[lane].peak);
    text(right_ + 1'000, y + height - 500, "class=\"q\"", words);
  }
  // The most that is held in each of so many steps of time.
  [[nodiscard]] std::vector<std::int64_t> highest_of(const std::pmr::vector<level>& levels, std::size_t steps) const {
    steps = static_cast<std::size_t>((std::min)(static_cast<ticks>(steps), end_ - begin_));
    std::vector<std::int64_t> most(steps);
    std::size_t next = 0;
    std::int64_t held = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      const ticks from = bin_edge(begin_, end_, steps, i), to = bin_edge(begin_, end_, steps, i + 1);
      for (; next < levels.size() && levels[next].at <= from; ++next) held = levels[next].value;
      most[i] = held;
      for (; next < levels.size() && levels[next].at < to; ++next) {
        held = levels[next].value;
        most[i] = (std::max)(most[i], held);
      }
    }
    return most;
  }
  // A label that would cover the one before it is left out.
  void marks(std::int64_t top, std::int64_t bottom) {
    std::int64_t last_from = 0, last_to = 0;
    for (const auto& m : t_.marks()) {
      const std::int64_t x = x_of(m.at);
      line(x, top, x, bottom + 400, "stroke=\"#b3261e\" stroke-width=\"1.6\" stroke-dasharray=\"5 3\"");
      std::string words(m.label);
      words += ' ';
      put_time(words, m.at - begin_);
      const bool outside = x > (left_ + right_) / 2;
      const std::int64_t width = 640 * static_cast<std::int64_t>(words.size());
      const std::int64_t from = outside ? x - width : x, to = from + width;
      if (from < last_to && last_from < to) continue;
      last_from = from;
      last_to = to;
      text(x, bottom + 3'600, outside ? "class=\"m\" text-anchor=\"end\"" : "class=\"m\"", words);
    }
  }

  static constexpr std::size_t max_title = 200;    // of a name, in bytes: full scopes are long
  static constexpr std::int64_t least_width = 33;  // of a bar, in hundredths of a pixel
  const timeline& t_;
  const svg_options& o_;
  span_rows rows_;
  std::pmr::vector<std::pmr::vector<level>> levels_;
  std::pmr::vector<lane_use> uses_;
  svg_thinning thin_;
  std::string out_;
  ticks begin_ = 0, end_ = 1;  // of the axis: marks are in it
  ticks makespan_ = 0;
  std::int64_t left_ = 0, right_ = 0, peak_ = 0;
  std::uint32_t chunks_ = 1;
  std::int64_t margin_ = 9'800;  // right of the bars
  std::string subtitle_;
  bool used_[activity_count] = {};
  bool any_exposed_ = false;
};

}  // namespace detail

/// The timeline as a picture: a lane per row, an axis, and marks as dashed lines. Bars are coloured by activity and
/// shaded by chunk, with the micro-batch in them; idle time is hatched. Under each lane is what it holds, if changes
/// were added.
/// The same timeline gives the same bytes on every machine. Names are escaped.
///
/// A lane whose bars are too narrow to see is drawn as shares of its time: in each step of time the height of a colour
/// is the share of that activity, and what is left is idle. So are all lanes if there are more than `most_bars` spans,
/// in so many steps that the picture is no larger than of that many bars. Of more than most_bars / 24 lanes so many are
/// drawn: the first, the last, and others evenly between them. A sentence below the picture says so.
/// Complexity: O(s log s + lanes · steps).
///
///     hocket::timeline t;
///     hocket::pipeline::simulate(plan, hocket::pipeline::costs{}, {.into = &t});
///     std::string picture = hocket::to_svg(t, {.title = "4 ranks, 2 chunks, 9 micro-batches"});
[[nodiscard]] inline std::string to_svg(const timeline& t, const svg_options& options = {}) {
  return detail::svg_writer(t, options)();
}

/// The sentence that to_svg writes below the picture if it has more than `most_bars` spans; empty otherwise. O(s).
[[nodiscard]] inline std::string left_out_of_svg(const timeline& t, const svg_options& options = {}) {
  return detail::left_out_of(t, options, detail::thinning_of(t, options));
}

}  // namespace hocket::inline HOCKET_ABI
