// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/ascend/rank_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// How a rank's clock differs from that of the first rank it is connected with.
struct rank_clock {
  std::size_t reference = 0;  ///< the place of the rank whose clock is taken as right; the rank itself: none before it
  nanoseconds ahead{};        ///< so much later it shows the same moment
  nanoseconds scatter{};      ///< median of what single collectives differ from that
  std::size_t common = 0;     ///< collectives that it was found by; 0: none, or it is the reference
};

/// What the collectives of a rank's groups waited for.
struct rank_arrivals {
  std::size_t common = 0;    ///< collectives that other ranks have, too
  std::size_t last = 0;      ///< of these: reached as the last rank
  nanoseconds waits{};       ///< from its arrival until the last rank arrives
  nanoseconds waited_for{};  ///< by which it was later than the last but one, where it was the last
};

/// The collectives that several ranks have in common, to align their clocks and to see who comes last. Only those
/// count that no rank can leave before all have come (all-reduce, all-gather, reduce-scatter, all-to-all, barrier):
/// they end at one moment everywhere. Equal are those with one name, group and step that are there equally often; the
/// first is the first, and so on. Memory: 24 bytes for each collective of each rank, and each name once.
///
///     hocket::ascend::shared_collectives shared;
///     for (const auto& rank : profiles) shared.add_rank(rank);
///     const auto clocks = shared.clocks();
///     for (const auto& a : shared.arrivals(clocks)) a.waited_for;
class shared_collectives {
 public:
  /// Adds the next rank. Precondition: kernels by start. O(k log n) for n names so far.
  void add_rank(const profile& p) {
    // Names of CANN have three digits of their group; communication.json has the whole.
    std::map<std::string_view, std::string_view> group_of;
    for (const collective_run& c : p.collectives) group_of.try_emplace(c.name, c.group);
    std::vector<run> own;
    for (const kernel& k : p.kernels) {
      if (!is_matched(k, p)) continue;
      const auto told = group_of.find(k.name);
      std::string key = k.name + '\n';
      key += told != group_of.end() ? told->second : std::string_view(k.group);
      key += '\n' + std::to_string(k.step);
      const auto name = static_cast<std::uint32_t>(names_.try_emplace(std::move(key), names_.size()).first->second);
      own.push_back({name, 0, p.clock_base + k.start, k.duration});
    }
    number(own);
    ranks_.push_back(std::move(own));
  }
  [[nodiscard]] std::size_t rank_count() const noexcept { return ranks_.size(); }

  /// The clock of each rank. A rank without a collective in common with an earlier one is its own reference.
  /// O(r^2 c) for r ranks with c collectives each.
  [[nodiscard]] std::vector<rank_clock> clocks() const {
    std::vector<rank_clock> out(ranks_.size());
    std::vector<bool> is_known(ranks_.size());
    for (std::size_t from = 0; from < ranks_.size(); ++from) {
      if (is_known[from]) continue;
      out[from].reference = from;
      is_known[from] = true;
      std::vector<std::size_t> reached = {from};
      for (std::size_t next = 0; next < reached.size(); ++next)
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
          if (is_known[r]) continue;
          rank_clock found = difference(reached[next], r);
          if (found.common == 0) continue;
          found.ahead = (std::clamp)(found.ahead + out[reached[next]].ahead, -latest, latest);
          found.reference = from;
          out[r] = found;
          is_known[r] = true;
          reached.push_back(r);
        }
    }
    return out;
  }

  /// Who came last, by the clocks that clocks() found. O(c log c) for c collectives of all ranks.
  [[nodiscard]] std::vector<rank_arrivals> arrivals(std::span<const rank_clock> clocks) const {
    struct arrival {
      std::uint32_t name, number;
      nanoseconds at;
      std::size_t rank;
    };
    const std::vector<bool> is_told = equally_often();
    std::vector<arrival> all;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (const run& c : ranks_[r])
        if (is_told[c.name]) all.push_back({c.name, c.number, c.start - clocks[r].ahead, r});
    std::sort(all.begin(), all.end(), [](const arrival& a, const arrival& b) {
      return std::tie(a.name, a.number, a.at, a.rank) < std::tie(b.name, b.number, b.at, b.rank);
    });
    std::vector<rank_arrivals> out(ranks_.size());
    for (std::size_t i = 0, end = 0; i < all.size(); i = end) {
      while (end < all.size() && all[end].name == all[i].name && all[end].number == all[i].number) ++end;
      if (end - i < 2) continue;
      const arrival &last = all[end - 1], &before = all[end - 2];
      for (std::size_t j = i; j < end; ++j) {
        ++out[all[j].rank].common;
        rank_arrivals& one = out[all[j].rank];
        one.waits = capped_sum(one.waits, last.at - all[j].at);
      }
      if (last.at == before.at) continue;
      rank_arrivals& one = out[last.rank];
      ++one.last;
      one.waited_for = capped_sum(one.waited_for, last.at - before.at);
    }
    return out;
  }

 private:
  static constexpr nanoseconds latest{std::int64_t{1} << 61};  // in the year 2043; sums of two are in 64 bits

  struct run {
    std::uint32_t name, number;  // the number counts the runs of one name
    nanoseconds start, duration;

    [[nodiscard]] constexpr nanoseconds finish() const noexcept { return start + duration; }
  };

  // Names of CANN have the group in them, kernels of NCCL's name it; Gloo's do neither.
  [[nodiscard]] static bool is_matched(const kernel& k, const profile& p) {
    if (!k.communicates || k.finish() > latest || p.clock_base > latest - k.finish()) return false;
    const bool has_group = !k.group.empty() || k.name.starts_with("hcom_");
    if (!has_group && p.groups.size() > 1) return false;
    std::string word;
    for (const char c : k.type)
      if (c != '_') word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    for (const std::string_view kind : {"allreduce", "allgather", "reducescatter", "alltoall", "barrier"})
      if (word.find(kind) != word.npos) return true;
    return false;
  }
  // By name, and of one name by start; sets the numbers.
  static void number(std::vector<run>& runs) {
    std::sort(runs.begin(), runs.end(), [](const run& a, const run& b) {
      return std::tie(a.name, a.start, a.duration) < std::tie(b.name, b.start, b.duration);
    });
    for (std::size_t i = 1; i < runs.size(); ++i)
      runs[i].number = runs[i].name == runs[i - 1].name ? runs[i - 1].number + 1 : 0;
  }
  // Of each name whether all ranks that have it have it equally often.
  [[nodiscard]] std::vector<bool> equally_often() const {
    std::vector<std::size_t> count(names_.size());
    std::vector<bool> out(names_.size(), true);
    for (const std::vector<run>& runs : ranks_)
      for (std::size_t i = 0, end = 0; i < runs.size(); i = end) {
        end = end_of(runs, i);
        std::size_t& known = count[runs[i].name];
        if (known != 0 && known != end - i) out[runs[i].name] = false;
        known = end - i;
      }
    return out;
  }
  [[nodiscard]] rank_clock difference(std::size_t reference, std::size_t rank) const {
    std::vector<nanoseconds> differences;
    const std::vector<run>&a = ranks_[reference], &b = ranks_[rank];
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (a[i].name != b[j].name) {
        ++(a[i].name < b[j].name ? i : j);
        continue;
      }
      const std::size_t i_end = end_of(a, i), j_end = end_of(b, j);
      for (; i_end - i == j_end - j && i < i_end; ++i, ++j) differences.push_back(b[j].finish() - a[i].finish());
      i = i_end;
      j = j_end;
    }
    rank_clock out;
    out.common = differences.size();
    out.ahead = spread_of(differences).median;
    for (nanoseconds& d : differences) d = d > out.ahead ? d - out.ahead : out.ahead - d;
    out.scatter = spread_of(std::move(differences)).median;
    return out;
  }
  [[nodiscard]] static std::size_t end_of(const std::vector<run>& runs, std::size_t i) noexcept {
    std::size_t end = i;
    while (end < runs.size() && runs[end].name == runs[i].name) ++end;
    return end;
  }

  std::map<std::string, std::size_t, std::less<>> names_;
  std::vector<std::vector<run>> ranks_;
};

}  // namespace hocket::inline HOCKET_ABI::ascend
