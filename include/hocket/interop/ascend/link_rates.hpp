// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/bytes.hpp>
#include <hocket/interop/ascend/profile.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// What `moved` in `time` is in bytes per second; 0 without a time.
[[nodiscard]] constexpr double bytes_per_second(bytes moved, nanoseconds time) noexcept {
  return time.count() > 0 ? static_cast<double>(moved.count()) / static_cast<double>(time.count()) * 1e9 : 0;
}

/// The links between ranks, each with what all collectives moved over it, longest transit first. Where a file has sums
/// over the runs of a collective (-total), its single runs (-top1, -bottom1) are left out. Links within a device
/// (LOCAL) stay in. Sums stay at what 64 bits hold. O(n log n).
///
///     for (const auto& l : hocket::ascend::sum_links(p.links)) bytes_per_second(l.size, l.transit);
[[nodiscard]] inline std::vector<rank_link> sum_links(std::span<const rank_link> links) {
  const auto is_total = [](const rank_link& l) { return l.name.ends_with("-total"); };
  const bool has_totals = std::any_of(links.begin(), links.end(), is_total);
  std::map<std::tuple<std::int64_t, std::int64_t, std::string_view>, rank_link> sums;
  for (const rank_link& l : links) {
    if (has_totals && !l.point_to_point && !is_total(l)) continue;
    rank_link& sum = sums[{l.from, l.to, l.transport}];
    sum.from = l.from;
    sum.to = l.to;
    sum.transport = l.transport;
    std::int64_t size = 0;
    const bool fits = checked_add(sum.size.count(), l.size.count(), size);
    sum.size = bytes(fits ? size : (std::numeric_limits<std::int64_t>::max)());
    sum.transit = capped_sum(sum.transit, l.transit);
  }
  std::vector<rank_link> out;
  for (auto& [key, sum] : sums) out.push_back(std::move(sum));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    if (a.transit != b.transit) return a.transit > b.transit;
    return std::tie(a.from, a.to, a.transport) < std::tie(b.from, b.to, b.transport);
  });
  return out;
}

/// A link whose rate is far below that of its like.
struct slow_link {
  std::size_t link = 0;  ///< its place in the list
  double rate = 0;       ///< bytes per second
  double median = 0;     ///< of all links of its transport, the lower one of two
};

/// The links that move less than two thirds of the median rate of their transport (HCCS, RDMA, ...), slowest against
/// that first. Of one transport at least three links are needed, or none is told; so are bytes and time.
/// @param links  each once, as sum_links gives them. O(n log n)
[[nodiscard]] inline std::vector<slow_link> find_slow_links(std::span<const rank_link> links) {
  constexpr std::size_t least_links = 3;
  std::map<std::string_view, std::vector<double>> rates;
  const auto counts = [](const rank_link& l) { return l.from != l.to && l.size.count() > 0 && l.transit.count() > 0; };
  for (const rank_link& l : links)
    if (counts(l)) rates[l.transport].push_back(bytes_per_second(l.size, l.transit));
  for (auto& [transport, of] : rates) std::sort(of.begin(), of.end());
  std::vector<slow_link> out;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!counts(links[i])) continue;
    const std::vector<double>& of = rates[links[i].transport];
    const double median = of[(of.size() - 1) / 2], rate = bytes_per_second(links[i].size, links[i].transit);
    if (of.size() >= least_links && rate * 3 < median * 2) out.push_back({i, rate, median});
  }
  std::sort(out.begin(), out.end(), [](const slow_link& a, const slow_link& b) {
    const double x = a.rate / a.median, y = b.rate / b.median;
    return x != y ? x < y : a.link < b.link;
  });
  return out;
}

/// What collectives of like size reached over one transport.
struct size_rate {
  std::string transport;
  std::int64_t from_bytes = 0;  ///< sizes from here to below twice as much; a power of two
  std::size_t runs = 0;
  bytes moved{};
  nanoseconds transit{};
  double least = 0, median = 0, most = 0;  ///< bytes per second of single runs
};

/// Bandwidth by transport and size, so that small messages are told from slow links. The transports are those of the
/// file, in their alphabetical order; sizes rise. O(n log n) for n runs.
[[nodiscard]] inline std::vector<size_rate> rates_by_size(std::span<const collective_run> runs) {
  std::map<std::pair<std::string_view, std::int64_t>, std::vector<const link_use*>> by_size;
  for (const collective_run& run : runs)
    for (const link_use& link : run.links) {
      if (link.size.count() <= 0 || link.transit.count() <= 0) continue;
      const auto floor = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(link.size.count())));
      by_size[{link.transport, floor}].push_back(&link);
    }
  std::vector<size_rate> out;
  for (const auto& [key, uses] : by_size) {
    size_rate one{std::string(key.first), key.second, uses.size(), {}, {}, 0, 0, 0};
    std::vector<double> rates;
    for (const link_use* const use : uses) {
      std::int64_t size = 0;
      const bool fits = checked_add(one.moved.count(), use->size.count(), size);
      one.moved = bytes(fits ? size : (std::numeric_limits<std::int64_t>::max)());
      one.transit = capped_sum(one.transit, use->transit);
      rates.push_back(bytes_per_second(use->size, use->transit));
    }
    std::sort(rates.begin(), rates.end());
    one.least = rates.front();
    one.median = rates[(rates.size() - 1) / 2];
    one.most = rates.back();
    out.push_back(std::move(one));
  }
  return out;
}

/// What several ranks reached at one size over one transport.
struct rank_rates {
  std::string transport;
  std::int64_t from_bytes = 0;
  std::size_t ranks = 0, runs = 0;
  double median = 0;           ///< of the ranks' medians, the lower one of two
  double least = 0;            ///< the lowest of them
  std::size_t least_rank = 0;  ///< whose it is, of equals the first
  /// Whether the lowest is below two thirds of the median, of at least three ranks.
  [[nodiscard]] constexpr bool is_slow() const noexcept { return ranks >= 3 && least * 3 < median * 2; }
};

/// Sets the bandwidths of ranks side by side. @param ranks  what rates_by_size gave for each. O(n log n)
[[nodiscard]] inline std::vector<rank_rates> compare_rates(std::span<const std::vector<size_rate>> ranks) {
  std::map<std::pair<std::string_view, std::int64_t>, std::vector<std::pair<double, std::size_t>>> by_size;
  std::map<std::pair<std::string_view, std::int64_t>, std::size_t> runs;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (const size_rate& s : ranks[r]) {
      by_size[{s.transport, s.from_bytes}].emplace_back(s.median, r);
      runs[{s.transport, s.from_bytes}] += s.runs;
    }
  std::vector<rank_rates> out;
  for (auto& [key, rates] : by_size) {
    std::sort(rates.begin(), rates.end());
    out.push_back({std::string(key.first), key.second, rates.size(), runs[key], rates[(rates.size() - 1) / 2].first,
                   rates.front().first, rates.front().second});
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ascend
