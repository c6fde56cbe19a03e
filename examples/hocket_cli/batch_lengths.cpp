// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch_lengths.hpp"

#include <hocket/planner/micro_batches/lengths.hpp>

#include <charconv>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>

#include "json_fields.hpp"

namespace hocket_cli {

namespace planner = hocket::planner;

namespace {

constexpr std::int64_t most_tokens = std::numeric_limits<std::int32_t>::max();

/// "uniform:1024-4096" or "doublings:256-131072"; nothing for a file.
std::optional<planner::length_distribution> distribution_of(const std::string& text, std::uint64_t seed) {
  const std::string_view all = text;
  const bool uniform = all.starts_with("uniform:"), doublings = all.starts_with("doublings:");
  if (!uniform && !doublings) return std::nullopt;
  std::int64_t ends[2] = {0, 0};
  const char *at = all.data() + all.find(':') + 1, *const end = all.data() + all.size();
  for (std::int64_t& x : ends) {
    const auto [next, why] = std::from_chars(at, end, x);
    const bool last = &x == &ends[1];
    if (why != std::errc{} || x < 1 || x > most_tokens || (last ? next != end : next == end || *next != '-'))
      fail("--lengths: " + text + " must be uniform:A-B or doublings:A-B with tokens from 1 to 2147483647");
    at = next + (last ? 0 : 1);
  }
  if (ends[1] < ends[0]) fail("--lengths: " + text + " must end no lower than it begins");
  if (doublings) return planner::doublings(ends[0], ends[1], seed);
  return planner::length_distribution{{{ends[0], ends[1], 1}}, seed};
}

std::vector<std::int64_t> numbers_of(const nlohmann::json& list, const std::string& file) {
  std::vector<std::int64_t> out;
  for (const nlohmann::json& x : list) {
    const auto n = whole(x);
    if (!n || *n < 1 || *n > most_tokens)
      fail(file + ": " + shown(x) + " must be a whole number of tokens from 1 to " + std::to_string(most_tokens));
    out.push_back(*n);
  }
  return out;
}

/// {"ranges": [[128, 2048, 3], [2049, 32768, 1]]}
planner::length_distribution histogram_of(const nlohmann::json& value, const std::string& file, std::uint64_t seed) {
  const json_object in(value, file, "", {"version", "ranges", "notes"});
  const nlohmann::json& ranges = in.at("ranges");
  if (!ranges.is_array()) in.fail_at("ranges", "must be an array of [least, most, weight]");
  planner::length_distribution out{{}, seed};
  for (const nlohmann::json& x : ranges) {
    if (!x.is_array() || x.size() != 3 || !whole(x[0]) || !whole(x[1]) || !whole(x[2]))
      in.fail_at("ranges", "holds " + shown(x) + ", but must hold [least, most, weight]");
    out.ranges.push_back({*whole(x[0]), *whole(x[1]), *whole(x[2])});
  }
  if (const auto ok = planner::check(out); !ok) fail(file, ok.error());
  return out;
}

/// [[1024, 3072], [4096]]: micro-batches; [1024, 3072, 4096]: documents that are packed.
micro_batch_documents listed(const nlohmann::json& value, const std::string& file, std::int64_t tokens) {
  const bool nested = value.front().is_array();
  if (!nested) return value_or_fail(planner::pack_documents(numbers_of(value, file), tokens), file);
  micro_batch_documents out;
  for (const nlohmann::json& x : value) {
    if (!x.is_array() || x.empty())
      fail(file + ": micro-batch " + std::to_string(out.size()) + " is " + shown(x) +
           ", but must be a list of one document or more");
    out.push_back(numbers_of(x, file));
  }
  return out;
}

}  // namespace

std::int64_t tokens_of(const std::vector<std::int64_t>& documents) {
  return std::accumulate(documents.begin(), documents.end(), std::int64_t{0});
}

std::vector<named_time> named_times(const planner::micro_batch_plan& plan, hocket::ticks alike) {
  return {{"dealt out in turn", "listed", plan.listed_total},
          {"chosen assignment and order", "chosen", plan.total},
          {"lower bound of all", "lower_bound", plan.lower_bound},
          {"each as long as the mean", "alike", alike}};
}

void check_documents(const training_input& t, const std::string& file) {
  if (t.step.squared_lengths != 0)
    fail(file + ": \"document_lengths\" and --lengths both say how long documents are: only one of them can be given");
}

std::vector<micro_batch_documents> read_lengths(const length_options& o, std::int64_t tokens, std::int64_t count) {
  const std::int64_t at_most = o.tokens < 0 ? tokens : o.tokens;
  const auto seed = static_cast<std::uint64_t>(o.seed);
  auto from = distribution_of(o.lengths, seed);
  if (!from) {
    const nlohmann::json value = parse_json(read_file(o.lengths), o.lengths);
    if (value.is_array() && !value.empty()) {
      if (o.draws > 1) fail("--draws: " + o.lengths + " is a list, which has no draws");
      if (o.seed != 0) fail("--seed: " + o.lengths + " is a list, which has no draws");
      if (o.tokens >= 0 && value.front().is_array())
        fail("--tokens: " + o.lengths + " says itself which documents a micro-batch has");
      micro_batch_documents all = listed(value, o.lengths, at_most);
      if (static_cast<std::int64_t>(all.size()) != count)
        fail(o.lengths + ": has " + std::to_string(all.size()) +
             " micro-batches, but steps x global_batch / micro_batch is " + std::to_string(count));
      return {std::move(all)};
    }
    if (!value.is_object())
      fail(o.lengths + ": is " + shown(value) +
           ", but must be a list of one document or more, or an object with \"ranges\"");
    from = histogram_of(value, o.lengths, seed);
  }
  std::vector<micro_batch_documents> draws;
  for (std::int64_t d = 0; d < o.draws; ++d) {
    from->seed = seed + static_cast<std::uint64_t>(d);
    draws.push_back(
        value_or_fail(planner::draw_micro_batches(*from, at_most, count),
                      "--lengths " + o.lengths + ", up to " + std::to_string(at_most) + " tokens a micro-batch"));
  }
  return draws;
}

void add_lengths(CLI::App& command, length_options& o) {
  CLI::Option* const lengths =
      command
          .add_option(
              "--lengths", o.lengths,
              "Tokens of documents: uniform:A-B, doublings:A-B (each doubling as likely), or a JSON file: a list for "
              "each micro-batch, a list of documents that are packed in order, or a histogram (docs/file_forms.md)")
          ->type_name("FILE|TEXT");
  command
      .add_option("--tokens", o.tokens,
                  "Tokens of a micro-batch at most, as documents are packed; 0: each document is one (sequence x "
                  "micro_batch)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, most_tokens))
      ->needs(lengths);
  command.add_option("--seed", o.seed, "Of the draws (0)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53))
      ->needs(lengths);
  command.add_option("--steps", o.steps, "Training steps that share the micro-batches (1)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}))
      ->needs(lengths);
  command.add_flag("--keep-steps", o.keep_steps, "Micro-batches are listed step by step, and stay in their step")
      ->needs(lengths);
}

}  // namespace hocket_cli
