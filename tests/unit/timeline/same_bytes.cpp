// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures and traces are the same bytes on every machine. What the bytes of simple timelines mean is checked in
// pictures.cpp; here digests of many that are not simple notice any change, wanted or not. After a wanted one look at
// some of the pictures, then take over what the test prints.
#include <hocket/timeline.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

namespace timeline_same_bytes {
namespace {

using hocket::activity;
using hocket::ticks;
using hocket::timeline;

class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t most) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::uint32_t>((state_ >> 33) % most);
  }

 private:
  std::uint64_t state_;
};

/// Lengths, numbers of lanes and rates are powers of two, so that shares of them are exact in any order of operations.
timeline random_timeline(random_numbers& random, std::uint32_t lanes, ticks length, ticks begin) {
  timeline t;
  t.ticks_per_second = 1 << 20;
  const auto most = static_cast<std::uint32_t>(length);
  constexpr std::string_view names[] = {"rank", "a \"name\" <&>", "\u4e2d\u6587 \x01\x1f",
                                        "one that is much longer than the others are", "\xff"};
  for (std::uint32_t l = 0; l < lanes; ++l) t.add_lane(names[random.below(5)]);
  const bool overlap = random.below(3) == 0, exposed = random.below(2) == 0, narrow = random.below(4) == 0;
  for (std::uint32_t l = 0; l < lanes; ++l) {
    for (std::uint32_t at = random.below(9); at < most;) {
      const std::uint32_t end = (std::min)(most, at + random.below(narrow ? 3 : 1 + most / 4));
      t.add({.start = begin + at,
             .finish = begin + end,
             .lane = l,
             .kind = static_cast<activity>(random.below(hocket::activity_count)),
             .exposed = exposed && random.below(4) == 0,
             .chunk = static_cast<std::uint16_t>(random.below(9)),
             .id = random.below(12),
             .micro_batch = static_cast<std::int32_t>(random.below(130)) - 10});
      const std::uint32_t gap = random.below(narrow ? 3 : 1 + most / 16);
      at = overlap && random.below(2) == 0 ? at + 1 + gap : end + gap + (end == at ? 1 : 0);
    }
  }
  t.add({.start = begin, .finish = begin + 1, .lane = 0});
  t.add({.start = begin + length - 1, .finish = begin + length, .lane = lanes - 1});
  if (random.below(2) == 0)
    for (std::uint32_t i = 0; i < 3 * lanes; ++i)
      t.add_change({begin + random.below(most), random.below(lanes), static_cast<std::int64_t>(random.below(9)) - 3});
  for (std::uint32_t i = random.below(3); i > 0; --i)
    t.add_mark(begin + random.below(most), i == 1 ? "bound" : "a <mark>");
  if (random.below(8) == 0) t.add_mark(begin - 3 * length, "far before");
  return t;
}

class digest {
 public:
  void add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

TEST_CASE("pictures and traces are the same bytes everywhere", "[timeline]") {
  random_numbers random(7);
  digest svg, ascii, trace;
  const std::vector<std::string> names{"matmul", "a \"b\" & <c>", "norm\n", std::string(300, 'x'), "\u00e9", ""};
  for (int round = 0; round < 160; ++round) {
    const std::uint32_t lanes = 1u << random.below(4);
    const ticks length = ticks{32} << random.below(8);
    const timeline t = random_timeline(random, lanes, length, round % 2 == 0 ? 0 : 777);
    CHECK(t.check_invariants());
    hocket::svg_options drawn{.title = round % 3 == 0 ? "" : "round <1>", .width = 500 + random.below(1500)};
    drawn.lane_height = 8 + random.below(40);
    drawn.seconds = round % 2 == 0;
    if (round % 5 == 0) drawn.subtitle = "a subtitle of its own, as long as some are";
    if (round % 7 < 3) drawn.names = names;
    svg.add(hocket::to_svg(t, drawn));
    ascii.add(hocket::to_ascii(t, {.columns = 20 + random.below(150), .curve_rows = random.below(6)}));
    hocket::chrome_trace_options options;
    if (round % 2 == 0) options.names = names;
    trace.add(hocket::to_chrome_trace(t, options));
  }
  std::printf("svg %#llx ascii %#llx trace %#llx\n", static_cast<unsigned long long>(svg.value()),
              static_cast<unsigned long long>(ascii.value()), static_cast<unsigned long long>(trace.value()));
  CHECK(svg.value() == 0x246dfd89f09f5835);
  CHECK(ascii.value() == 0xcb8da7116ddf3e4c);
  CHECK(trace.value() == 0x8cabb6bd74dfcb26);
}

}  // namespace timeline_same_bytes
