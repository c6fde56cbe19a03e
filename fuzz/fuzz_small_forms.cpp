// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as one of the small forms, which the first byte names: pairs, samples, lists of DeepSpeed, jobs of Paddle.
// Refused with a sentence that a terminal can show, or read so that what is read can be used.
#include "fuzz.hpp"

#include <hocket/curve.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/text.hpp>
#include <hocket/text/edges_csv.hpp>
#include <hocket/text/samples_csv.hpp>
#include <hocket/text/schedule_csv.hpp>
#include <hocket/text/schedule_jobs.hpp>

namespace {

void require_sentence(const hocket::error& e) {
  const std::string sentence = message(e);
  fuzz::require(!sentence.empty() && hocket::is_printable(sentence));
}

void read_pairs(std::string_view text) {
  constexpr std::size_t nodes = 100;
  const auto pairs = hocket::text::parse_pairs_csv(text, nodes);
  if (!pairs) return require_sentence(pairs.error());
  for (const auto& e : *pairs) fuzz::require(e.source < nodes && e.target < nodes);
  const auto again = hocket::text::parse_pairs_csv(hocket::text::write_edges_csv(*pairs), nodes);
  fuzz::require(again && *again == *pairs);
}

void read_samples(std::string_view text) {
  const auto samples = hocket::text::parse_samples_csv(text);
  if (!samples) return require_sentence(samples.error());
  const auto fitted = hocket::curve::fit_isotonic(*samples);
  if (!fitted) return require_sentence(fitted.error());
  double before = 0;
  for (const double size : fitted->curve.view().sizes()) {
    const double us = fitted->curve.time(size);
    fuzz::require(us >= before);
    before = us;
  }
  if (const auto pieces = hocket::curve::fit_segments(*samples, 2); !pieces) require_sentence(pieces.error());
}

void use_schedule(const hocket::result<hocket::pipeline::table_schedule>& table) {
  if (!table) return require_sentence(table.error());
  const auto written = hocket::text::write_schedule_csv(*table);
  const auto again = hocket::text::parse_schedule_csv(written);
  fuzz::require(!again || hocket::text::write_schedule_csv(*again) == written);
  if (const auto checked = hocket::pipeline::check(*table); !checked) require_sentence(checked.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0: read_pairs(text); break;
    case 1: read_samples(text); break;
    case 2: use_schedule(hocket::text::parse_deepspeed_schedule(text)); break;
    default: use_schedule(hocket::text::parse_paddle_jobs(text)); break;
  }
  return 0;
}
