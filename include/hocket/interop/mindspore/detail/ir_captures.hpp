// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore::detail {

// What graphs that call each other read and write outside themselves: their own reads and writes, and those of the
// graphs that they mention, until nothing new comes up.
class ir_captures {
 public:
  using set = std::vector<std::uint32_t>;  // ascending

  explicit ir_captures(std::size_t graphs) : reads_(graphs), writes_(graphs), mentions_(graphs) {}

  void add_read(std::uint32_t graph, std::uint32_t variable) { reads_[graph].push_back(variable); }
  void add_write(std::uint32_t graph, std::uint32_t variable) { writes_[graph].push_back(variable); }
  void add_mention(std::uint32_t graph, std::uint32_t other) { mentions_[graph].push_back(other); }

  // Precondition: everything was added. `is_own(graph, variable)`: nothing that its callers see.
  // Errors: errc::limit_exceeded, so that a small text cannot ask for memory without end.
  template <class IsOwn>
  [[nodiscard]] result<void> close(IsOwn&& is_own) {
    for (auto* const sets : {&reads_, &writes_, &mentions_})
      for (set& s : *sets) sort_unique(s);
    std::vector<set> callers(mentions_.size());
    set open;  // graphs to look at: one of those that they mention has grown
    std::size_t all = 0;
    for (std::uint32_t g = 0; g < mentions_.size(); ++g) {
      for (const std::uint32_t other : mentions_[g]) callers[other].push_back(g);
      open.push_back(g);
      all += reads_[g].size() + writes_[g].size();
    }
    std::vector<bool> is_open(mentions_.size(), true);
    while (!open.empty()) {
      const std::uint32_t g = open.back();
      open.pop_back();
      is_open[g] = false;
      const std::size_t added = add_mentioned(g, is_own);
      all += added;
      constexpr std::size_t most = std::size_t{1} << 26;
      if (all > most)
        return error{errc::limit_exceeded, static_cast<std::int64_t>(all), static_cast<std::int64_t>(most)}.with(
            "variables that called graphs capture");
      if (added == 0) continue;
      for (const std::uint32_t caller : callers[g]) {
        if (!is_open[caller]) open.push_back(caller);
        is_open[caller] = true;
      }
    }
    return {};
  }

  [[nodiscard]] const set& reads(std::uint32_t graph) const noexcept { return reads_[graph]; }
  [[nodiscard]] const set& writes(std::uint32_t graph) const noexcept { return writes_[graph]; }

  static void sort_unique(set& s) {
    std::sort(s.begin(), s.end());
    s.erase(std::unique(s.begin(), s.end()), s.end());
  }

 private:
  // How many variables a graph has more by those of the graphs that it mentions.
  template <class IsOwn>
  [[nodiscard]] std::size_t add_mentioned(std::uint32_t g, IsOwn& is_own) {
    const auto own = [&](std::uint32_t v) { return is_own(g, v); };
    std::size_t added = 0;
    for (const std::uint32_t other : mentions_[g])
      added += add(reads_[other], reads_[g], own) + add(writes_[other], writes_[g], own);
    return added;
  }
  // How many of `from` came to `to`.
  template <class IsOwn>
  [[nodiscard]] static std::size_t add(const set& from, set& to, IsOwn&& own) {
    set news;
    std::set_difference(from.begin(), from.end(), to.begin(), to.end(), std::back_inserter(news));
    news.erase(std::remove_if(news.begin(), news.end(), own), news.end());
    if (news.empty()) return 0;
    set both;
    std::merge(news.begin(), news.end(), to.begin(), to.end(), std::back_inserter(both));
    to = std::move(both);
    return news.size();
  }

  std::vector<set> reads_, writes_, mentions_;
};

}  // namespace hocket::inline HOCKET_ABI::mindspore::detail
