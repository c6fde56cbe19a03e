// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// Why a job hangs, from what its ranks recorded: which rank never came to which call, which calls differ.
namespace hocket::inline HOCKET_ABI::ranks {

/// A collective or transfer as a recorder saw it.
struct recorded_call {
  std::string kind;            ///< as it was recorded, without the library: "all_reduce"
  std::string type;            ///< of its elements; empty: not recorded
  std::uint32_t group = 0;     ///< one of recorded_job::groups
  std::int64_t number = 0;     ///< of the calls of its group on that rank, from 1; coalesced calls may share one
  std::int64_t elements = -1;  ///< those that all members must agree on; -1: they need not, or it was not recorded
  std::int64_t created = 0;    ///< nanoseconds since 1970, UTC, by the clock of its rank
  bool started = false, done = false;
};

/// A communicator of recorded calls.
struct recorded_group {
  std::string name;
  std::vector<std::uint32_t> members;  ///< ascending; ranks without a record may be among them
  bool guessed = false;                ///< `members` are only those that recorded a call of it
};

/// What one rank recorded, oldest call first.
struct recorded_rank {
  std::uint32_t rank = 0;
  std::vector<recorded_call> calls;
  bool cut = false;  ///< older calls were overwritten
};

/// What the ranks of a job recorded. A rank whose record is missing is known only as a member of groups.
struct recorded_job {
  std::vector<recorded_group> groups;
  std::vector<recorded_rank> ranks;  ///< ascending, each once
  bool transfers_left_out =
      false;  ///< there were some, but records that were cut off do not tell which belong together
};

/// Why calls of a recorded job are not done.
enum class hang_reason : std::uint8_t {
  nothing_open,  ///< every recorded call is done
  mismatch,      ///< members of a group made different calls under one number
  never_comes,   ///< ranks that wait for nothing themselves have not come to a call
  cycle,         ///< ranks wait for each other around a cycle of calls
  no_record,     ///< those that have not come have no record, so nobody knows what they do
  all_came       ///< every member came to the call, and it is not done
};

/// A call of a rank: `calls[call]` of `ranks[at]`.
struct recorded_place {
  std::size_t at = 0, call = 0;
  friend bool operator==(const recorded_place&, const recorded_place&) = default;
};

/// Why a recorded job hangs.
struct hang_answer {
  hang_reason why = hang_reason::nothing_open;
  /// mismatch: two calls that differ. cycle: in turn, the call of each rank that the next one has not come to. Else:
  /// the oldest open call.
  std::vector<recorded_place> calls;
  std::vector<std::uint32_t> waiting;  ///< ranks that have come to the first call and are not done
  std::vector<std::uint32_t> absent;   ///< ranks that have not come to it; of never_comes, those that wait for nothing
  std::vector<std::uint32_t> unknown;  ///< members of its group without a record
  std::vector<std::uint32_t> perhaps;  ///< of a group whose members are guessed: others, which wait in no call
  std::int64_t since = 0;              ///< when the first of `waiting` came, as recorded_call::created
};

namespace detail {

/// Whether members cannot have meant the same call. What was not recorded may be anything.
[[nodiscard]] inline bool differ(const recorded_call& a, const recorded_call& b) noexcept {
  if (a.kind != b.kind) return true;
  if (!a.type.empty() && !b.type.empty() && a.type != b.type) return true;
  return a.elements >= 0 && b.elements >= 0 && a.elements != b.elements;
}

/// Finds why a recorded job hangs.
class hang_finder {
 public:
  explicit hang_finder(const recorded_job& job) : job_(job), last_(job.ranks.size()) {
    for (std::size_t at = 0; at < job.ranks.size(); ++at)
      for (std::size_t c = 0; c < job.ranks[at].calls.size(); ++c) {
        const recorded_call& call = job.ranks[at].calls[c];
        std::int64_t& last = last_[at][call.group];
        last = (std::max)(last, call.number);
        meetings_[{call.group, call.number}].push_back({at, c});
      }
    note_open_calls();
  }

  [[nodiscard]] hang_answer operator()() const {
    if (auto found = mismatch()) return *std::move(found);
    if (open_.empty()) return {};
    for (const recorded_place& p : open_) {
      hang_answer a = about(p);
      std::erase_if(a.absent, [&](std::uint32_t rank) { return waits(rank); });
      if (a.absent.empty()) continue;
      a.why = hang_reason::never_comes;
      return a;
    }
    return walk(open_.front());
  }

 private:
  [[nodiscard]] const recorded_call& call(const recorded_place& p) const { return job_.ranks[p.at].calls[p.call]; }
  [[nodiscard]] std::optional<std::size_t> index_of(std::uint32_t rank) const {
    const auto found = std::lower_bound(job_.ranks.begin(), job_.ranks.end(), rank,
                                        [](const recorded_rank& r, std::uint32_t value) { return r.rank < value; });
    if (found == job_.ranks.end() || found->rank != rank) return std::nullopt;
    return static_cast<std::size_t>(found - job_.ranks.begin());
  }
  [[nodiscard]] bool has_come(std::size_t at, const recorded_call& to) const {
    const auto found = last_[at].find(to.group);
    return found != last_[at].end() && found->second >= to.number;
  }
  /// Whether a rank has a call that is not done.
  [[nodiscard]] bool waits(std::uint32_t rank) const {
    const auto at = index_of(rank);
    if (!at) return false;
    const auto& calls = job_.ranks[*at].calls;
    return std::any_of(calls.begin(), calls.end(), [](const recorded_call& c) { return !c.done; });
  }

  /// The oldest calls that share group and number, and differ.
  [[nodiscard]] std::optional<hang_answer> mismatch() const {
    std::optional<hang_answer> found;
    for (const auto& [key, places] : meetings_) {
      std::size_t nth = 0;  // of the calls of its rank under this number: those that were coalesced share one
      for (std::size_t i = 0; i < places.size(); ++i) {
        nth = i > 0 && places[i].at == places[i - 1].at ? nth + 1 : 0;
        const recorded_place& other = places[nth];
        if (other.at != places.front().at || !differ(call(other), call(places[i]))) continue;
        hang_answer a = about(other);
        a.why = hang_reason::mismatch;
        a.calls.push_back(places[i]);
        if (!found || a.since < found->since) found = std::move(a);
        break;
      }
    }
    return found;
  }
  /// Notes an open call of each rank and group, oldest first: the first to which some member has not come, else the
  /// first. A call that all came to may be about to end, or done already while the recorder does not know yet.
  void note_open_calls() {
    for (std::size_t at = 0; at < job_.ranks.size(); ++at) {
      std::map<std::uint32_t, recorded_place> of_group;
      for (std::size_t c = 0; c < job_.ranks[at].calls.size(); ++c) {
        if (job_.ranks[at].calls[c].done) continue;
        recorded_place& noted =
            of_group.try_emplace(job_.ranks[at].calls[c].group, recorded_place{at, c}).first->second;
        if (about(noted).absent.empty() && !about({at, c}).absent.empty()) noted = {at, c};
      }
      for (const auto& [group, place] : of_group) open_.push_back(place);
    }
    std::sort(open_.begin(), open_.end(), [&](const recorded_place& a, const recorded_place& b) {
      const auto key = [&](const recorded_place& p) { return std::tuple(call(p).created, p.at, p.call); };
      return key(a) < key(b);
    });
  }
  /// Who has come to a call, and who has not.
  [[nodiscard]] hang_answer about(const recorded_place& p) const {
    hang_answer out;
    out.calls = {p};
    const recorded_call& of = call(p);
    out.since = of.created;
    for (const std::uint32_t rank : job_.groups[of.group].members) {
      const auto at = index_of(rank);
      if (!at) out.unknown.push_back(rank);
      else if (!has_come(*at, of)) out.absent.push_back(rank);
    }
    for (const recorded_place& each : meetings_.at({of.group, of.number})) {
      const std::uint32_t rank = job_.ranks[each.at].rank;
      if (!call(each).done && (out.waiting.empty() || out.waiting.back() != rank)) out.waiting.push_back(rank);
      out.since = (std::min)(out.since, call(each).created);
    }
    return out;
  }
  /// The first open call of a rank that somebody with a record has not come to; nothing if there is none.
  [[nodiscard]] std::optional<recorded_place> held_at(std::size_t at) const {
    const auto found = std::find_if(open_.begin(), open_.end(),
                                    [&](const recorded_place& p) { return p.at == at && !about(p).absent.empty(); });
    if (found == open_.end()) return std::nullopt;
    return *found;
  }
  /// Walks from a call to the first rank that has not come to it, and on from what that one waits for: around a cycle,
  /// or to a call that nobody with a record is missing from.
  [[nodiscard]] hang_answer walk(const recorded_place& from) const {
    std::vector<recorded_place> path;
    std::size_t at = from.at;
    while (const std::optional<recorded_place> here = held_at(at)) {
      const auto before = std::find_if(path.begin(), path.end(), [&](const auto& p) { return p.at == at; });
      if (before != path.end()) {
        path.erase(path.begin(), before);
        hang_answer out = about(path.front());
        out.why = hang_reason::cycle;
        out.calls = std::move(path);
        return out;
      }
      path.push_back(*here);
      const std::optional<std::size_t> next = index_of(about(*here).absent.front());
      if (!next) break;  // those that are absent have a record
      at = *next;
    }
    // Whoever is absent has an open call: those that have none were told before.
    const auto open = std::find_if(open_.begin(), open_.end(), [&](const recorded_place& p) { return p.at == at; });
    const recorded_place end = open != open_.end() ? *open : from;
    hang_answer out = about(end);
    out.why = out.unknown.empty() ? hang_reason::all_came : hang_reason::no_record;
    const recorded_group& group = job_.groups[call(end).group];
    for (const recorded_rank& r : job_.ranks)
      if (group.guessed && !waits(r.rank) && !std::binary_search(group.members.begin(), group.members.end(), r.rank))
        out.perhaps.push_back(r.rank);
    return out;
  }

  const recorded_job& job_;
  std::vector<recorded_place> open_;
  std::vector<std::map<std::uint32_t, std::int64_t>> last_;  // of each rank: the last number of each group
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<recorded_place>> meetings_;
};

}  // namespace detail

/// Why a job hangs, by what its ranks recorded until then. Calls that differ come first. Then a call that ranks wait in
/// for one that waits for nothing itself: what that one does instead is on its host. Then a cycle of calls, each
/// waiting for a rank that is in the next. What is left is a call to which all came: the network, the device or earlier
/// work of a stream holds it. A record that was cut off at its beginning is enough: calls have numbers.
/// @param job  groups of calls are in range; ranks ascend
/// Complexity: O(calls log(calls) + open calls x members). Allocates, so may throw std::bad_alloc.
///
///     const hocket::ranks::hang_answer a = hocket::ranks::find_hang(job);
///     std::puts(hocket::ranks::sentence(job, a).c_str());  // rank 3 has not come to all_reduce number 13 of tp. …
[[nodiscard]] inline hang_answer find_hang(const recorded_job& job) { return detail::hang_finder(job)(); }

}  // namespace hocket::inline HOCKET_ABI::ranks
