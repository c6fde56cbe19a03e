// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/kernel_phase.hpp>
#include <hocket/interop/ascend/profile.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// Where the time of a step went. Every moment between its first start and its last finish counts once: for the phase
/// of the op that computes (of several the one that began first), else for communication, else for data, else as idle.
///
///     computing  |F F F|        |B B B|B B|      O|        span = computing + exposed + copying + idle
///     network          |c c c c c|        |c|              communication = exposed + hidden
///     exposed          |=======|          |=|     idle: the rest
struct step_breakdown {
  std::int64_t step = -1;  ///< its number; -1: not told, or all steps together
  nanoseconds span{};
  nanoseconds computing{};
  nanoseconds communication{};
  nanoseconds exposed{};           ///< communication while nothing computes
  nanoseconds exposed_receives{};  ///< the part of it that waits for another rank to send: a pipeline's bubble
  nanoseconds copying{};           ///< data fetched or copied while nothing else runs
  nanoseconds idle{};              ///< the device waits for the host: scheduling
  std::array<nanoseconds, kernel_phase_count> by_phase{};  ///< of computing
  std::size_t kernel_count = 0;

  [[nodiscard]] constexpr nanoseconds hidden() const noexcept { return communication - exposed; }
  [[nodiscard]] constexpr nanoseconds of(kernel_phase p) const noexcept {
    return by_phase[static_cast<std::size_t>(p)];
  }
};

/// A time in which nothing runs.
struct idle_gap {
  nanoseconds start{}, finish{};
  std::size_t before = 0, behind = 0;  ///< kernels: the last that finished, the next that starts

  [[nodiscard]] constexpr nanoseconds length() const noexcept { return finish - start; }
};

/// A collective that computing did not hide, or not wholly.
struct exposed_collective {
  std::size_t kernel = 0;
  nanoseconds exposed{};
  std::size_t before = no_kernel;  ///< the computing kernel that finished last before the exposed time
  std::size_t behind = no_kernel;  ///< the next that starts
  /// Computing from the end of this collective to the start of the next one: it could hide as much, where it does not
  /// need the result.
  nanoseconds computing_behind{};
  static constexpr std::size_t no_kernel = static_cast<std::size_t>(-1);
};

namespace detail {

using stretch = std::pair<nanoseconds, nanoseconds>;

/// Disjoint stretches in order.
class cover {
 public:
  /// f(start, finish) for what [start, finish) has beyond what was added before; starts must not fall. O(1).
  template <class F>
  void add(nanoseconds start, nanoseconds finish, F&& f) {
    const nanoseconds from = !pieces_.empty() && pieces_.back().second > start ? pieces_.back().second : start;
    if (finish <= from) return;
    f(from, finish);
    if (!pieces_.empty() && pieces_.back().second == from) pieces_.back().second = finish;
    else add_piece(from, finish);
  }
  /// f(start, finish) for each part of [start, finish) that is not covered. O(log + parts).
  template <class F>
  void for_each_hole(nanoseconds start, nanoseconds finish, F&& f) const {
    auto at = std::partition_point(pieces_.begin(), pieces_.end(), [&](const stretch& s) { return s.second <= start; });
    for (; start < finish; ++at) {
      const nanoseconds until = at == pieces_.end() || at->first > finish ? finish : at->first;
      if (until > start) f(start, until);
      if (at == pieces_.end() || at->second >= finish) return;
      start = at->second;
    }
  }
  /// O(1).
  [[nodiscard]] nanoseconds length() const noexcept {
    return pieces_.empty() ? nanoseconds{} : before_.back() + (pieces_.back().second - pieces_.back().first);
  }
  /// How much lies before that moment. O(log).
  [[nodiscard]] nanoseconds length_before(nanoseconds at) const noexcept {
    const auto next =
        std::partition_point(pieces_.begin(), pieces_.end(), [&](const stretch& s) { return s.second < at; });
    if (next == pieces_.end()) return length();
    const nanoseconds whole = before_[static_cast<std::size_t>(next - pieces_.begin())];
    return next->first < at ? whole + (at - next->first) : whole;
  }

 private:
  void add_piece(nanoseconds start, nanoseconds finish) {
    before_.push_back(length());
    pieces_.emplace_back(start, finish);
  }
  std::vector<stretch> pieces_;
  std::vector<nanoseconds> before_;  // of each piece: the length of all pieces before it
};

[[nodiscard]] constexpr bool is_receive(const kernel& k) noexcept {
  const auto has = [&](std::string_view word) { return k.type.find(word) != std::string::npos; };
  return has("eceive") || has("recv") || has("Recv");
}

[[nodiscard]] inline step_breakdown break_down(std::span<const kernel* const> kernels) {
  step_breakdown out;
  out.kernel_count = kernels.size();
  if (kernels.empty()) return out;
  cover computing, communication, any, busy;
  const auto ignore = [](nanoseconds, nanoseconds) {};
  nanoseconds last = kernels.front()->finish();
  for (const kernel* const k : kernels) {
    const kernel_phase phase = phase_of(*k);
    last = (std::max)(last, k->finish());
    any.add(k->start, k->finish(), ignore);
    if (phase != kernel_phase::data) busy.add(k->start, k->finish(), ignore);
    if (computes(phase))
      computing.add(k->start, k->finish(), [&](nanoseconds from, nanoseconds to) {
        out.by_phase[static_cast<std::size_t>(phase)] += to - from;
      });
  }
  for (const kernel* const k : kernels) {
    if (!k->communicates) continue;
    communication.add(k->start, k->finish(), [&](nanoseconds from, nanoseconds to) {
      computing.for_each_hole(from, to, [&](nanoseconds begin, nanoseconds end) {
        out.exposed += end - begin;
        if (is_receive(*k)) out.exposed_receives += end - begin;
      });
    });
  }
  out.span = last - kernels.front()->start;
  out.computing = computing.length();
  out.communication = communication.length();
  out.copying = any.length() - busy.length();
  out.idle = out.span - any.length();
  return out;
}

}  // namespace detail

/// Takes apart what these kernels spent, whatever their steps. Precondition: in the order of their starts, as
/// parse_profile gives them. O(k log k).
///
///     const auto p = hocket::ascend::parse_profile(text);
///     const auto b = hocket::ascend::break_down(p->kernels);
///     b.computing + b.exposed + b.copying + b.idle == b.span;
[[nodiscard]] inline step_breakdown break_down(std::span<const kernel> kernels) {
  std::vector<const kernel*> all;
  all.reserve(kernels.size());
  for (const kernel& k : kernels) all.push_back(&k);
  return detail::break_down(all);
}

/// The same for each step, in the order of their numbers; one entry without a number if no kernel has one. O(k log k).
[[nodiscard]] inline std::vector<step_breakdown> break_down_steps(std::span<const kernel> kernels) {
  std::vector<std::int64_t> numbers;
  for (const kernel& k : kernels) numbers.push_back(k.step);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::vector<const kernel*>> members(numbers.size());
  for (const kernel& k : kernels) {
    const auto at = std::lower_bound(numbers.begin(), numbers.end(), k.step);
    members[static_cast<std::size_t>(at - numbers.begin())].push_back(&k);
  }
  std::vector<step_breakdown> out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    out.push_back(detail::break_down(members[i]));
    out.back().step = numbers[i];
  }
  return out;
}

/// The times of at least `threshold` in which nothing runs, longest first, of equals the earlier. Precondition: kernels
/// in the order of their starts. O(k log k).
[[nodiscard]] inline std::vector<idle_gap> find_gaps(std::span<const kernel> kernels, nanoseconds threshold) {
  std::vector<idle_gap> out;
  std::size_t last = 0;
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    const nanoseconds until = kernels[last].finish();
    if (kernels[i].start > until && kernels[i].start - until >= threshold)
      out.push_back({until, kernels[i].start, last, i});
    if (kernels[i].finish() >= until) last = i;
  }
  std::sort(out.begin(), out.end(), [](const idle_gap& a, const idle_gap& b) {
    return a.length() != b.length() ? a.length() > b.length() : a.start < b.start;
  });
  return out;
}

namespace detail {

// The computing kernels by their finishes and by their starts, and the collectives by their starts.
class neighbours {
 public:
  explicit neighbours(std::span<const kernel> kernels) : kernels_(kernels) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i].communicates) collectives_.push_back(i);
      if (computes(phase_of(kernels[i]))) by_start_.push_back(i);
    }
    by_finish_ = by_start_;
    std::sort(by_finish_.begin(), by_finish_.end(), [&](std::size_t a, std::size_t b) {
      return kernels[a].finish() != kernels[b].finish() ? kernels[a].finish() < kernels[b].finish() : a < b;
    });
  }

  [[nodiscard]] std::size_t computing_before(nanoseconds at) const noexcept {
    const auto next = std::partition_point(by_finish_.begin(), by_finish_.end(),
                                           [&](std::size_t i) { return kernels_[i].finish() <= at; });
    return next == by_finish_.begin() ? exposed_collective::no_kernel : *(next - 1);
  }
  [[nodiscard]] std::size_t computing_behind(nanoseconds at) const noexcept { return first_from(by_start_, at); }
  [[nodiscard]] std::size_t collective_behind(nanoseconds at) const noexcept { return first_from(collectives_, at); }
  /// The last finish of computing.
  [[nodiscard]] nanoseconds end() const noexcept {
    return by_finish_.empty() ? nanoseconds{} : kernels_[by_finish_.back()].finish();
  }

 private:
  [[nodiscard]] std::size_t first_from(const std::vector<std::size_t>& of, nanoseconds at) const noexcept {
    const auto next = std::partition_point(of.begin(), of.end(), [&](std::size_t i) { return kernels_[i].start < at; });
    return next == of.end() ? exposed_collective::no_kernel : *next;
  }
  std::span<const kernel> kernels_;
  std::vector<std::size_t> collectives_, by_start_, by_finish_;
};

}  // namespace detail

/// Each collective with what of it no computing hid, most exposed first; those wholly hidden are left out. Where two
/// collectives run at once, the time is that of the earlier. Precondition: kernels in the order of their starts.
/// O(k log k).
[[nodiscard]] inline std::vector<exposed_collective> find_exposed(std::span<const kernel> kernels) {
  const detail::neighbours near(kernels);
  detail::cover computing, communication;
  for (const kernel& k : kernels)
    if (computes(phase_of(k))) computing.add(k.start, k.finish(), [](nanoseconds, nanoseconds) {});
  std::vector<exposed_collective> out;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const kernel& k = kernels[i];
    if (!k.communicates) continue;
    exposed_collective e;
    e.kernel = i;
    nanoseconds first{};
    communication.add(k.start, k.finish(), [&](nanoseconds from, nanoseconds to) {
      computing.for_each_hole(from, to, [&](nanoseconds begin, nanoseconds end) {
        if (e.exposed.count() == 0) first = begin;
        e.exposed += end - begin;
      });
    });
    if (e.exposed.count() == 0) continue;
    e.before = near.computing_before(first);
    e.behind = near.computing_behind(first);
    const std::size_t next = near.collective_behind(k.finish());
    const nanoseconds until = next != e.no_kernel ? kernels[next].start : (std::max)(k.finish(), near.end());
    e.computing_behind = computing.length_before(until) - computing.length_before(k.finish());
    out.push_back(e);
  }
  std::sort(out.begin(), out.end(), [](const exposed_collective& a, const exposed_collective& b) {
    return a.exposed != b.exposed ? a.exposed > b.exposed : a.kernel < b.kernel;
  });
  return out;
}

/// Gives kernels without step numbers some, from 1, where a run of equal steps shows: every name comes once a step, or
/// equally often, with the same input shapes. Refrains where a step begins before the one before it has begun all it
/// has, and where one op runs at several sizes: that is a measurement of the op, and no step.
/// @return how many steps; 0 if nothing was changed
/// Precondition: in the order of their starts. O(k log k).
[[nodiscard]] inline std::int64_t number_repeated_steps(std::span<kernel> kernels) {
  std::vector<std::size_t> by_name;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].step >= 0) return 0;
    by_name.push_back(i);
  }
  std::sort(by_name.begin(), by_name.end(), [&](std::size_t a, std::size_t b) {
    const int order = kernels[a].name.compare(kernels[b].name);
    return order != 0 ? order < 0 : a < b;
  });
  const auto end_of = [&](std::size_t from) {
    std::size_t to = from;
    while (to < by_name.size() && kernels[by_name[to]].name == kernels[by_name[from]].name) ++to;
    return to;
  };
  std::size_t steps = 0;
  for (std::size_t from = 0; from < by_name.size(); from = end_of(from)) steps = std::gcd(steps, end_of(from) - from);
  if (steps < 2) return 0;
  std::vector<std::int64_t> step_of(kernels.size());
  for (std::size_t from = 0; from < by_name.size();) {
    const std::size_t to = end_of(from), each = (to - from) / steps;
    for (std::size_t i = from; i < to; ++i) {
      if (kernels[by_name[i]].input_shapes != kernels[by_name[from + (i - from) % each]].input_shapes) return 0;
      step_of[by_name[i]] = static_cast<std::int64_t>((i - from) / each) + 1;
    }
    from = to;
  }
  if (!std::is_sorted(step_of.begin(), step_of.end())) return 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i].step = step_of[i];
  return static_cast<std::int64_t>(steps);
}

}  // namespace hocket::inline HOCKET_ABI::ascend
