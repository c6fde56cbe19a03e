// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures of programs of ranks: what is in them, counted.
#include <hocket/ranks.hpp>
#include <hocket/text/ranks_svg.hpp>

#include <string>
#include <string_view>

#include "catch.hpp"

namespace ranks = hocket::ranks;

namespace {

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t out = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++out;
  return out;
}
std::size_t boxes(std::string_view svg) { return count(svg, "rx=\"3\""); }
std::size_t red_boxes(std::string_view svg) { return count(svg, "stroke=\"#c81e1e\" stroke-width=\"2.5\""); }
std::size_t arrows(std::string_view svg) { return count(svg, "marker-end"); }

std::string drawn(const ranks::program& job, const hocket::text::ranks_svg_options& how = {}) {
  const auto found = ranks::check(job, ranks::find_machine("nccl")->rules);
  REQUIRE(found);
  return hocket::text::to_svg(job, *found, how);
}

}  // namespace

TEST_CASE("a program that is safe is drawn without red", "[text][ranks]") {
  ranks::program job(2);
  job.all_ranks().all_reduce(ranks::world).on(1).compute();
  const std::string svg = drawn(job);
  CHECK(boxes(svg) == 4);
  CHECK(red_boxes(svg) == 0);
  CHECK(arrows(svg) == 0);
  CHECK(count(svg, ">stream 1<") == 2);
  CHECK(count(svg, ">safe: ") == 1);
  CHECK(count(drawn(ranks::program(1)), "<svg") == 1);  // nothing to draw
}

TEST_CASE("who waits for whom is drawn in red, in the ranks and ops around", "[text][ranks]") {
  // Two ranks send before they receive.
  ranks::program two(2);
  two.rank(0).send(1).receive(1);
  two.rank(1).send(0).receive(0);
  const std::string crossed = drawn(two);
  CHECK(boxes(crossed) == 4);
  CHECK(red_boxes(crossed) == 4);  // the sends, and the receives that they wait for
  CHECK(arrows(crossed) == 2);

  // The same between ranks 40 and 41 of 64, after 100 ops, with 50 after.
  ranks::program many(64);
  for (int n = 0; n < 100; ++n) many.all_ranks().all_reduce(ranks::world);
  many.rank(40).send(41).receive(41);
  many.rank(41).send(40).receive(40);
  for (int n = 0; n < 50; ++n) many.all_ranks().compute();
  const std::string part = drawn(many);
  CHECK(count(part, ">ranks 40, 41 of 64<") == 1);
  CHECK(count(part, ">op 100<") == 1);
  CHECK(count(part, ">op 0<") == 0);
  CHECK(count(part, ">…<") == 2);  // ops left out before and after
  CHECK(red_boxes(part) == 4);
  CHECK(arrows(part) == 2);
  CHECK(boxes(part) == 2 * 8);
  CHECK(boxes(drawn(many, {.ops_around = 0})) == 2 * 2);
}

TEST_CASE("a call that never comes has its place, and names are text", "[text][ranks]") {
  ranks::program job(3);
  const auto odd = job.communicator("<a> & \"b\"", {{0, 1, 2}});
  job.rank(0).all_reduce(odd).barrier(odd);
  job.rank(1).all_reduce(odd).barrier(odd);
  job.rank(2).all_reduce(odd);
  const std::string svg = drawn(job);
  CHECK(count(svg, "<a>") == 0);
  CHECK(count(svg, "&lt;a&gt; &amp; &quot;b&quot;") == 3);  // of ranks 0 and 2
  CHECK(count(svg, ">mismatch<") == 1);
  CHECK(count(svg, ">never comes<") == 1);
  CHECK(red_boxes(svg) == 1);
  CHECK(arrows(svg) == 1);
}

TEST_CASE("a picture of a large program stays small", "[text][ranks]") {
  ranks::program job(1024);
  for (int n = 0; n < 2'000; ++n) job.all_ranks().all_reduce(ranks::world);
  const std::string svg = drawn(job);
  CHECK(boxes(svg) == 16 * 40);
  CHECK(svg.size() < 400'000);
  CHECK(boxes(drawn(job, {.most_ranks = 2, .most_columns = 5})) == 10);
}
