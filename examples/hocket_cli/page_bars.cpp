// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "page_bars.hpp"

namespace hocket_cli {
namespace {

/// The list with runs that stand somewhere before written as a length and a distance.
std::vector<std::int64_t> shortened(const std::vector<std::uint32_t>& list) {
  constexpr std::size_t least = 4;  // words in a run
  std::map<std::array<std::uint32_t, least>, std::size_t> seen;
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < list.size();) {
    std::size_t length = 0, back = 0;
    if (i + least <= list.size()) {
      const auto [last, fresh] = seen.try_emplace({list[i], list[i + 1], list[i + 2], list[i + 3]}, i);
      back = i - last->second;
      last->second = i;
      while (!fresh && i + length < list.size() && list[i + length] == list[i + length - back]) ++length;
    }
    if (length == 0) {
      out.push_back(list[i++]);
      continue;
    }
    out.push_back(-static_cast<std::int64_t>(length));
    out.push_back(static_cast<std::int64_t>(back));
    i += length;
  }
  return out;
}

}  // namespace

std::uint32_t bar_writer::number_of(const word& w) {
  const auto [at, fresh] = known_.try_emplace(w, static_cast<std::uint32_t>(words_.size()));
  if (fresh) words_.push_back(w);
  return at->second;
}

void bar_writer::add_lane(std::span<const hocket::timeline::span> spans) {
  std::map<std::array<std::int64_t, 3>, std::int64_t> last_micro_batch;
  hocket::ticks clock = 0;
  for (const hocket::timeline::span& s : spans) {
    const auto kind = static_cast<std::int64_t>(s.kind);
    std::int64_t& last = last_micro_batch.try_emplace({kind, s.chunk, s.id}, -1).first->second;
    list_.push_back(number_of({s.start - clock, s.finish - s.start, kind, s.chunk, s.id, s.micro_batch - last}));
    last = s.micro_batch;
    clock = s.finish;
  }
}

std::vector<std::int64_t> bar_writer::lanes() const { return shortened(list_); }

nlohmann::ordered_json bar_writer::words() const { return words_; }

}  // namespace hocket_cli
