// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/printable.hpp>
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/program.hpp>
#include <hocket/ranks/repair.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks {

namespace detail {

/// Ranks as people write them: "rank 3", "ranks 0-3, 8".
[[nodiscard]] inline std::string rank_words(std::span<const std::uint32_t> ascending) {
  std::string out = ascending.size() == 1 ? "rank " : "ranks ";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (i > 0) out += ", ";
    if (++shown > 6) return out + "... (" + std::to_string(ascending.size()) + " in all)";
    out += std::to_string(ascending[i]);
    if (last > i) out.append(last == i + 1 ? ", " : "-").append(std::to_string(ascending[last]));
    i = last + 1;
  }
  return out;
}

/// Puts a program's ops, places and answers into words.
class teller {
 public:
  explicit teller(const program& of) : job_(of) {}

  /// "all_reduce of tensor (op 3)", "send to rank 1 (op 0, "p2p")".
  [[nodiscard]] std::string call(std::uint32_t rank, std::uint32_t at) const {
    const op& o = job_.list(rank)[at];
    std::string out(to_string(o.kind));
    if (is_collective(o.kind)) append_printable(out += " of ", job_.groups(o.communicator).name);
    if (o.kind == op_kind::send) out.append(" to rank ").append(std::to_string(o.peer));
    if (o.kind == op_kind::receive) out.append(" from rank ").append(std::to_string(o.peer));
    if (o.kind == op_kind::record || o.kind == op_kind::wait || o.kind == op_kind::synchronize_event)
      out.append(" of event ").append(std::to_string(o.tag));
    out.append(" (op ").append(std::to_string(at));
    if (o.name != 0) append_printable(out += ", ", job_.name(o.name));
    return out + ")";
  }
  [[nodiscard]] std::string where(const place& p) const {
    const op* o = p.op == no_id ? nullptr : &job_.list(p.rank)[p.op];
    std::string out = "rank " + std::to_string(p.rank) + "'s ";
    out += p.host ? "host thread " : "stream ";
    out += std::to_string(p.line);
    return o == nullptr ? out + ", which has done all it was given" : out + " at " + call(p.rank, p.op);
  }

  /// What one link of a cycle says.
  [[nodiscard]] std::string link(const blocked& b) const {
    const std::string who = where(b.who) + " waits for ";
    const std::string whom = where(b.whom);
    switch (b.why) {
      case obstacle::peer: {
        if (b.call == no_id) return who + "rank " + std::to_string(b.whom.rank) + ", which never comes";
        const std::string theirs = call(b.whom.rank, b.call);
        if (b.call == b.whom.op) return who + whom + ", which has not started";
        return who + theirs + " of rank " + std::to_string(b.whom.rank) + ", which comes after " + whom;
      }
      case obstacle::host: return who + whom;
      case obstacle::event: return who + "a record that comes after " + whom;
      case obstacle::communicator: return who + whom + ", an earlier call of its communicator";
      case obstacle::hardware_queue: return who + whom + ", ahead of it in the same hardware queue";
      case obstacle::launch_order: return who + whom + ", launched before it";
      case obstacle::slot: return who + "the slot of " + whom;
      case obstacle::connection: return who + "the first call of rank " + std::to_string(b.whom.rank) + ", at " + whom;
      case obstacle::misfit:
        return where(b.who) + " does not fit with " +
               (b.call == no_id ? "what" : call(b.whom.rank, b.call) + ", which") + " rank " +
               std::to_string(b.whom.rank) + " calls";
      default: return who + "an event that nobody records";
    }
  }

  /// Both sides of calls that do not fit.
  [[nodiscard]] std::string difference(const disagreement& d) const {
    const op mine = d.op != no_id ? job_.list(d.rank)[d.op] : op{};
    const bool transfer = d.op != no_id && !is_collective(mine.kind);
    if (transfer && d.other_op == no_id)
      return "rank " + std::to_string(d.rank) + "'s " + call(d.rank, d.op) + " has no other end: rank " +
             std::to_string(d.other_rank) + " never comes to " + (mine.kind == op_kind::send ? "receive" : "send") +
             " number " + std::to_string(d.number + 1) + " of that pair and tag";
    if (transfer)
      return call(d.rank, d.op) + " of rank " + std::to_string(d.rank) + " gives " + std::to_string(mine.count) +
             " bytes, but " + call(d.other_rank, d.other_op) + " of rank " + std::to_string(d.other_rank) + " takes " +
             std::to_string(job_.list(d.other_rank)[d.other_op].count);
    std::string out = "call " + std::to_string(d.number + 1) + " of ";
    append_printable(out, job_.groups(d.communicator).name);
    return out + ": " + side(d, d.rank, d.op) + ", but " + side(d, d.other_rank, d.other_op);
  }

 private:
  /// All members that do the same there, and what.
  [[nodiscard]] std::string side(const disagreement& d, std::uint32_t rank, std::uint32_t at) const {
    std::vector<std::uint32_t> same;
    const auto& named = job_.groups(d.communicator);
    for (const std::uint32_t r : named.groups[job_.group_of(d.communicator, rank)])
      if (do_the_same(r, rank)) same.push_back(r);
    std::sort(same.begin(), same.end());
    const bool one = same.size() == 1;
    if (at == no_id) return rank_words(same) + (one ? " never comes" : " never come");
    const op& o = job_.list(rank)[at];
    std::string out = rank_words(same) + (one ? " calls " : " call ") + call(rank, at);
    if (o.count != 0) out.append(" of ").append(std::to_string(o.count)).append(" elements");
    if (o.type != element_type::not_specified) out.append(" of ").append(to_string(o.type));
    if (has_root(o.kind)) out.append(" with root ").append(std::to_string(o.peer));
    return out;
  }

  [[nodiscard]] bool do_the_same(std::uint32_t a, std::uint32_t b) const {
    if (job_.list_number(a) == job_.list_number(b)) return true;
    const auto x = job_.list(a), y = job_.list(b);
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  }

  const program& job_;
};

[[nodiscard]] constexpr std::string_view because(reason why) noexcept {
  switch (why) {
    case reason::order: return "nothing that it needs is scarce and nobody races, so it runs one way";
    case reason::slots: return "each rank has at most as many calls ready at once as its device surely runs";
    case reason::all_tried: return "every choice that timing has was tried";
    case reason::buffering: return "it hangs if sends are not buffered";
    case reason::few_slots: return "it hangs if the device runs no more calls at once than it surely can";
    case reason::one_timing: return "a timing that hangs was found and run";
    default: return "no timing that hangs was found, and no proof that there is none";
  }
}

}  // namespace detail

/// The answer as people tell it: the verdict, why, and who waits for whom. One line each.
///
///     std::puts(sentence(job, *answer).c_str());
///     // may hang: a timing that hangs was found and run
///     //   rank 0's stream 0 at all_reduce of tensor (op 0) waits for …
[[nodiscard]] inline std::string sentence(const program& job, const answer& a) {
  const detail::teller tell(job);
  std::string out(to_string(a.says));
  out += ": ";
  if (a.says == verdict::mismatch) return out + tell.difference(a.differs) + "\n";
  out.append(detail::because(a.why)).append("\n");
  constexpr std::size_t shown = 12;
  for (std::size_t i = 0; i < a.cycle.size() && i < shown; ++i) out.append("  ").append(tell.link(a.cycle[i])) += '\n';
  if (a.cycle.size() > shown)
    out.append("  ... ").append(std::to_string(a.cycle.size() - shown)).append(" more in this cycle\n");
  for (std::size_t i = 0; i < a.open.size() && i < shown && a.says == verdict::not_proved; ++i)
    out.append("  open: rank ").append(std::to_string(a.open[i].rank)).append("'s ") +=
        tell.call(a.open[i].rank, a.open[i].op) + " and calls of its other streams\n";
  if (a.says != verdict::safe && a.enough_slots > 0)
    out.append("  safe where a device surely runs ").append(std::to_string(a.enough_slots)) += " calls at once\n";
  return out;
}

/// What to change, one line each, in the words of a program of ranks.
[[nodiscard]] inline std::string sentence(const program& job, const repair& fix) {
  if (fix.kind == repair_kind::none) return "nothing to repair: it is safe\n";
  if (fix.kind == repair_kind::not_found) return "no repair found\n";
  std::string out;
  bool moved = false;
  for (const repair_step& s : fix.steps) {
    moved = moved || s.kind == repair_kind::moves;
    const std::uint32_t r = s.ranks.front();
    out += "on " + detail::rank_words(s.ranks) + ": ";
    const auto named = [&](std::uint32_t at) {
      return moved ? "op " + std::to_string(at) : detail::teller(job).call(r, at);
    };
    if (s.kind == repair_kind::moves) {
      out += "move " + detail::teller(job).call(r, s.op) + (s.after < s.op ? " to before " : " to after ") +
             detail::teller(job).call(r, s.after) + "\n";
    } else if (s.kind == repair_kind::waits) {
      out += "before " + named(s.op) + " let its stream wait for that of " + named(s.after) + "\n";
    } else {
      out += "post " + named(s.op) + " to " + named(s.after) + " as one group\n";
    }
  }
  if (moved && fix.steps.back().kind != repair_kind::moves) out += "(numbers of ops after the move)\n";
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ranks
