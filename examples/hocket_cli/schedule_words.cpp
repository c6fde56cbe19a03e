// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What people and other programs call the schedules.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>

#include "closest.hpp"
#include "guesses.hpp"
#include "schedules.hpp"

namespace hocket_cli {
namespace {

struct other_name {
  std::string_view word, schedule;
};
// Megatron's and DeepSpeed's words, PyTorch's classes, those of the papers.
constexpr other_name other_names[] = {{"pipedream-flush", "1f1b"},
                                      {"one-f-one-b", "1f1b"},
                                      {"vpp", "interleaved"},
                                      {"interleaved-1f1b", "interleaved"},
                                      {"virtual-pipeline", "interleaved"},
                                      {"interleave", "interleaved"},
                                      {"bfs", "looped-bfs"},
                                      {"sequence-1f1b", "seq-1f1b"},
                                      {"zb-1p", "zb-h1"},
                                      {"zb-2p", "zb-h2"},
                                      {"interleaved-zero-bubble", "interleaved-zb"},
                                      {"zbv-zero-bubble", "zbv"},
                                      {"zb-v", "zbv"},
                                      {"fill-drain", "gpipe"}};
// A family, which names no schedule.
constexpr std::string_view zero_bubbles[] = {"zb-h1", "zb-h2", "interleaved-zb", "zbv"};

/// The word as all spell it: small letters and digits, without PyTorch's "Schedule" in front.
std::string bare(std::string_view word) {
  std::string out;
  for (const char c : word)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view front = "schedule";
  return out.starts_with(front) && out.size() > front.size() ? out.substr(front.size()) : out;
}

}  // namespace

std::string schedule_named(std::string word) {
  const std::string meant = bare(word);
  for (const schedule_entry& each : schedule_entries())
    if (bare(each.name) == meant) return std::string(each.name);
  for (const other_name& other : other_names)
    if (bare(other.word) == meant) return std::string(other.schedule);
  return word;
}

std::string schedules_near(const std::string& word) {
  std::vector<std::string> names;
  if (const std::string meant = bare(word); meant == "zerobubble" || meant == "zb")
    names.assign(std::begin(zero_bubbles), std::end(zero_bubbles));
  else {
    for (const schedule_entry& each : schedule_entries()) names.emplace_back(each.name);
    names = closest(word, names);
  }
  return did_you_mean(names);
}

std::string other_names_of(std::string_view schedule) {
  std::string out;
  for (const other_name& other : other_names)
    if (other.schedule == schedule) out += (out.empty() ? "" : ", ") + std::string(other.word);
  return out;
}

}  // namespace hocket_cli
