// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace hocket::inline HOCKET_ABI {

/// A line of a log that tells the time of a step.
struct logged_step {
  std::int64_t line = 0;
  std::int64_t number = -1;                    ///< of the step; -1: not told
  double seconds = 0;                          ///< of one step
  std::optional<double> tera_flops{};          ///< model FLOP per second of a device, 10^12, as the log counts them
  std::optional<std::int64_t> global_batch{};  ///< sequences of a step
};

/// What a training run printed about itself.
struct training_log {
  std::vector<logged_step> steps;
  std::optional<double> peak_bytes{};  ///< the largest peak of memory that it tells
  std::int64_t peak_line = 0;

  /// Seconds of a step: the median, of the steps behind the first, which compiles and loads. 0: none is told.
  [[nodiscard]] double median_seconds() const {
    std::vector<double> all;
    for (std::size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) all.push_back(steps[i].seconds);
    std::sort(all.begin(), all.end());
    return all.empty() ? 0 : all[all.size() / 2];
  }
};

namespace detail {

// The number behind a key: `per_step_time: 1510ms`. Nothing if the key is not there; not a number: `bad` is the word.
[[nodiscard]] inline std::optional<double> number_behind(std::string_view line, std::string_view key,
                                                         std::string_view& bad) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  std::string_view rest = line.substr(at + key.size());
  rest.remove_prefix((std::min)(rest.find_first_not_of(" :"), rest.size()));
  double value = 0;
  const auto [end, why] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  constexpr double most = 1e15;  // of milliseconds, MiB or samples
  if (why == std::errc{} && value >= 0 && value <= most) return value;
  bad = rest.substr(0, (std::min)(rest.find_first_of(" ,|"), rest.size()));
  if (bad.empty()) bad = key;
  return std::nullopt;
}

// "step:[   12/  100]" or "iteration       12/": -1 if neither is there.
[[nodiscard]] inline std::int64_t step_number(std::string_view line) {
  for (const std::string_view key : {"step:[", "iteration"}) {
    const std::size_t at = line.find(key);
    if (at == line.npos) continue;
    std::string_view rest = line.substr(at + key.size());
    rest.remove_prefix((std::min)(rest.find_first_not_of(' '), rest.size()));
    std::int64_t number = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec == std::errc{}) return number;
  }
  return -1;
}

}  // namespace detail

/// Reads the lines of a log that tell of steps and memory, of MindFormers and MindSpore
///
///     { Epoch:[  1/  2], step:[    2/  100], loss: 10.6, per_step_time: 1510ms, ..., train_throughput_per_npu: 171.6T
///     Used peak memory usage (without fragments): 23716M
///
/// and of Megatron-LM
///
///      iteration      100/  500 | ... | elapsed time per iteration (ms): 2345.6 | throughput per GPU (TFLOP/s/GPU):
///      123.4 |
///     [Rank 0] (after 2 iterations) memory (MB) | allocated: 100.0 | max allocated: 220.5 | ...
///
/// and passes over all others. A mega is 2^20 bytes in both.
/// Errors: errc::bad_number with the line and the word, where such a key has no number; errc::truncated where no line
/// tells anything, or all step times are 0 ms: values[1] is how many are. Complexity: linear in the text.
///
///     const auto log = hocket::parse_training_log(text);
///     log->median_seconds();
[[nodiscard]] inline result<training_log> parse_training_log(std::string_view text) {
  training_log out;
  constexpr double mebibyte = 1048576;
  std::int64_t line_number = 0, zero_count = 0;
  while (!text.empty()) {
    const std::size_t end = (std::min)(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix((std::min)(end + 1, text.size()));
    ++line_number;
    std::string_view bad;
    std::optional<double> ms = detail::number_behind(line, "per_step_time", bad);
    if (!ms) ms = detail::number_behind(line, "elapsed time per iteration (ms)", bad);
    std::optional<double> peak = detail::number_behind(line, "Used peak memory usage (without fragments)", bad);
    if (!peak) peak = detail::number_behind(line, "max allocated", bad);
    logged_step s{.line = line_number, .number = detail::step_number(line), .seconds = ms.value_or(0) / 1e3};
    if (ms) {
      s.tera_flops = detail::number_behind(line, "train_throughput_per_npu", bad);
      if (!s.tera_flops) s.tera_flops = detail::number_behind(line, "throughput per GPU (TFLOP/s/GPU)", bad);
      if (const auto batch = detail::number_behind(line, "global batch size", bad))
        s.global_batch = static_cast<std::int64_t>(*batch);
    }
    if (!bad.empty()) return error{errc::bad_number, line_number, 1 + (bad.data() - line.data())}.with(bad);
    if (ms && *ms > 0) out.steps.push_back(s);
    if (ms && *ms == 0) ++zero_count;
    if (peak && *peak * mebibyte > out.peak_bytes.value_or(-1)) {
      out.peak_bytes = *peak * mebibyte;
      out.peak_line = line_number;
    }
  }
  if (out.steps.empty() && !out.peak_bytes)
    return error{errc::truncated, line_number, zero_count}.with(zero_count > 0 ? "a step time above 0 ms"
                                                                               : "a step time or a peak");
  return out;
}

}  // namespace hocket::inline HOCKET_ABI
