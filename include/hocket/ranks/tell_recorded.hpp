// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/printable.hpp>
#include <hocket/ranks/recorded.hpp>
#include <hocket/ranks/tell.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks {

[[nodiscard]] constexpr std::string_view to_string(hang_reason why) noexcept {
  switch (why) {
    case hang_reason::nothing_open: return "nothing open";
    case hang_reason::mismatch: return "mismatch";
    case hang_reason::never_comes: return "never comes";
    case hang_reason::cycle: return "cycle";
    case hang_reason::no_record: return "no record";
    default: return "all came";
  }
}

namespace detail {

/// A number of at least so many digits.
[[nodiscard]] inline std::string padded(std::int64_t number, std::size_t digits) {
  std::string out = std::to_string(number);
  if (out.size() < digits) out.insert(0, digits - out.size(), '0');
  return out;
}
/// A time as people read it: "2026-11-28 14:14:15.447 UTC". Precondition: not before 1970. O(years since).
[[nodiscard]] inline std::string utc_words(std::int64_t nanoseconds) {
  constexpr std::int64_t day = 86'400'000;
  const std::int64_t milliseconds = nanoseconds / 1'000'000;
  std::int64_t days = milliseconds / day, year = 1970, month = 0;
  const auto is_leap = [&] { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; };
  for (std::int64_t length = 365; days >= length; length = is_leap() ? 366 : 365) {
    days -= length;
    ++year;
  }
  constexpr std::int64_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const auto length_of = [&](std::int64_t m) { return lengths[m] + (m == 1 && is_leap() ? 1 : 0); };
  for (; days >= length_of(month); ++month) days -= length_of(month);
  const std::int64_t rest = milliseconds % day;
  return std::to_string(year) + "-" + padded(month + 1, 2) + "-" + padded(days + 1, 2) + " " +
         padded(rest / 3'600'000, 2) + ":" + padded(rest / 60'000 % 60, 2) + ":" + padded(rest / 1000 % 60, 2) + "." +
         padded(rest % 1000, 3) + " UTC";
}

/// Puts recorded calls into words.
class recorded_teller {
 public:
  explicit recorded_teller(const recorded_job& of) : job_(of) {}

  /// "all_reduce number 13 of tp".
  [[nodiscard]] std::string call(const recorded_place& p) const {
    const recorded_call& of = job_.ranks[p.at].calls[p.call];
    std::string out;
    append_printable(out, of.kind);
    out.append(" number ").append(std::to_string(of.number)).append(" of ");
    append_printable(out, job_.groups[of.group].name);
    return out;
  }
  /// The call with what members must agree on, and all ranks that recorded the same.
  [[nodiscard]] std::string side(const recorded_place& p) const {
    const recorded_call& of = job_.ranks[p.at].calls[p.call];
    std::vector<std::uint32_t> same;
    for (const recorded_rank& r : job_.ranks)
      for (const recorded_call& c : r.calls)
        if (c.group == of.group && c.number == of.number && !differ(c, of) && (same.empty() || same.back() != r.rank))
          same.push_back(r.rank);
    std::string out = rank_words(same) + (same.size() == 1 ? " calls " : " call ");
    append_printable(out, of.kind);
    if (of.elements >= 0) out.append(" of ").append(std::to_string(of.elements)).append(" elements");
    if (of.type.empty()) return out;
    append_printable(out += " of ", of.type);
    return out;
  }
  [[nodiscard]] std::string mismatch(const hang_answer& a) const {
    const recorded_call& of = job_.ranks[a.calls[0].at].calls[a.calls[0].call];
    std::string out = "call " + std::to_string(of.number) + " of ";
    append_printable(out, job_.groups[of.group].name);
    return out + ": " + side(a.calls[0]) + ", but " + side(a.calls[1]) + ".\n";
  }
  [[nodiscard]] std::string waiting(const hang_answer& a) const {
    return rank_words(a.waiting) + (a.waiting.size() == 1 ? " waits" : " wait") + " there since " + utc_words(a.since) +
           ".\n";
  }
  [[nodiscard]] std::string never_comes(const hang_answer& a) const {
    std::string out = rank_words(a.absent) + (a.absent.size() == 1 ? " has" : " have") + " not come to " +
                      call(a.calls[0]) + ". " + upper(waiting(a));
    for (std::size_t at = 0; at < job_.ranks.size(); ++at) {
      const recorded_rank& r = job_.ranks[at];
      if (!std::binary_search(a.absent.begin(), a.absent.end(), r.rank)) continue;
      out.append("Rank ").append(std::to_string(r.rank));
      if (r.calls.empty()) out += " has recorded no call: look at what its host does.\n";
      else
        out.append(" waits in no call. Its last, ")
            .append(call({at, r.calls.size() - 1}))
            .append(", is done: look at what its host does.\n");
    }
    if (job_.transfers_left_out)
      out += "Sends and receives are left out, since a record was cut off at its beginning.\n";
    return out;
  }
  [[nodiscard]] std::string cycle(const hang_answer& a) const {
    std::string out = "ranks wait for each other around a cycle, since " + utc_words(a.since) + ".\n";
    for (std::size_t i = 0; i < a.calls.size(); ++i) {
      const recorded_place& next = a.calls[(i + 1) % a.calls.size()];
      out.append("Rank ")
          .append(std::to_string(job_.ranks[a.calls[i].at].rank))
          .append(" is in ")
          .append(call(a.calls[i]));
      out.append(", to which rank ").append(std::to_string(job_.ranks[next.at].rank)).append(" has not come.\n");
    }
    return out;
  }
  /// All who have a record came to a call.
  [[nodiscard]] std::string here(const hang_answer& a) const {
    std::vector<std::uint32_t> started;
    for (const recorded_rank& r : job_.ranks)
      for (const recorded_call& c : r.calls)
        if (c.group == group_of(a) && c.number == number_of(a) && c.started &&
            (started.empty() || started.back() != r.rank))
          started.push_back(r.rank);
    std::string out = call(a.calls[0]) + " is not done. " + upper(waiting(a));
    if (!a.unknown.empty())
      return out + upper(rank_words(a.unknown)) + (a.unknown.size() == 1 ? " is a member" : " are members") +
             " without a record: give theirs, too.\n";
    if (!a.perhaps.empty()) {
      append_printable(out += "The members of ", job_.groups[group_of(a)].name);
      return out + " are not recorded. " + upper(rank_words(a.perhaps)) +
             (a.perhaps.size() == 1 ? " waits in no call and may be one" : " wait in no call and may be some") +
             ": look at what its host does.\n";
    }
    out += job_.groups[group_of(a)].guessed ? "All ranks that recorded a call of the group came to it. "
                                            : "All members came to it. ";
    if (started.empty()) return out + "No rank recorded that it started: look at earlier work of its stream.\n";
    if (started.size() == a.waiting.size()) return out + "It started on all: look at the network and the devices.\n";
    return out + "It started on " + rank_words(started) +
           " alone: look at earlier work of the streams of the others.\n";
  }

 private:
  [[nodiscard]] static std::string upper(std::string sentence) {
    sentence.front() = 'R';  // of "rank"
    return sentence;
  }
  [[nodiscard]] std::uint32_t group_of(const hang_answer& a) const {
    return job_.ranks[a.calls[0].at].calls[a.calls[0].call].group;
  }
  [[nodiscard]] std::int64_t number_of(const hang_answer& a) const {
    return job_.ranks[a.calls[0].at].calls[a.calls[0].call].number;
  }
  const recorded_job& job_;
};

}  // namespace detail

/// An answer in words, with the ranks, calls and times that matter. Ends with a newline. O(calls).
/// Precondition: the answer is of this job.
///
///     std::puts(sentence(job, find_hang(job)).c_str());
[[nodiscard]] inline std::string sentence(const recorded_job& job, const hang_answer& a) {
  const detail::recorded_teller tell(job);
  switch (a.why) {
    case hang_reason::nothing_open: return "nothing open: every recorded call is done.\n";
    case hang_reason::mismatch: return "mismatch: " + tell.mismatch(a);
    case hang_reason::never_comes: return "never comes: " + tell.never_comes(a);
    case hang_reason::cycle: return "cycle: " + tell.cycle(a);
    case hang_reason::no_record: return "no record: " + tell.here(a);
    default: return "all came: " + tell.here(a);
  }
}

}  // namespace hocket::inline HOCKET_ABI::ranks
