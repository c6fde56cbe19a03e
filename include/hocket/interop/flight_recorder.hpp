// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/ranks/recorded.hpp>
#include <hocket/ranks/tell.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What PyTorch's Flight Recorder wrote on each rank, as one job.
namespace hocket::inline HOCKET_ABI::interop {

/// The dump of one rank: `torch._C._distributed_c10d._dump_fr_trace_json()`, or a pickle written out as JSON.
struct flight_record {
  std::uint32_t rank = 0;
  nlohmann::json dump;
};

namespace detail {

/// Reads dumps into a job.
class flight_reader {
 public:
  [[nodiscard]] result<ranks::recorded_job> operator()(std::vector<flight_record> records) {
    std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (i > 0 && records[i].rank == records[i - 1].rank)
        return error{errc::invalid_argument, records[i].rank}.with("two flight records of a rank");
      if (const auto ok = begin(records[i]); !ok) return ok.error();
    }
    for (std::size_t at = 0; at < records.size(); ++at)
      for (const nlohmann::json& entry : records[at].dump.at("entries"))
        if (const auto ok = add_entry(entry, at); !ok) return ok.error();
    for (ranks::recorded_group& g : job_.groups) {
      std::sort(g.members.begin(), g.members.end());
      g.members.erase(std::unique(g.members.begin(), g.members.end()), g.members.end());
    }
    tell_groups_apart();
    return std::move(job_);
  }

 private:
  [[nodiscard]] static std::int64_t integer(const nlohmann::json& of, const char* name, std::int64_t otherwise) {
    const auto found = of.find(name);
    return found != of.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
  }
  [[nodiscard]] static std::string text(const nlohmann::json& of, const char* name) {
    const auto found = of.find(name);
    return found != of.end() && found->is_string() ? found->get<std::string>() : std::string();
  }
  [[nodiscard]] static bool flag(const nlohmann::json& of, const char* name) {
    const auto found = of.find(name);
    return found != of.end() && found->is_boolean() && found->get<bool>();
  }
  /// The group of a name and its members, as far as they are written; its description if that says more.
  [[nodiscard]] std::uint32_t group(const std::string& name, const std::string& members, const std::string& said) {
    const auto [at, is_new] = groups_.try_emplace({name, members}, static_cast<std::uint32_t>(job_.groups.size()));
    if (is_new) job_.groups.push_back({said.empty() || said == "undefined" ? "group " + name : said, {}, true});
    return at->second;
  }
  /// Groups of one description, such as those of a mesh's dimension, get their members as part of the name.
  void tell_groups_apart() {
    std::map<std::string, int> times;
    for (const ranks::recorded_group& g : job_.groups) ++times[g.name];
    for (ranks::recorded_group& g : job_.groups)
      if (times[g.name] > 1) g.name += " of " + ranks::detail::rank_words(g.members);
  }
  /// Elements of all tensors of a list of shapes; -1 if there is none, or more than fit.
  [[nodiscard]] static std::int64_t elements(const nlohmann::json& entry, const char* name) {
    const auto shapes = entry.find(name);
    if (shapes == entry.end() || !shapes->is_array() || shapes->empty()) return -1;
    std::int64_t sum = 0;
    for (const nlohmann::json& shape : *shapes) {
      if (!shape.is_array()) return -1;
      std::int64_t product = 1;
      for (const nlohmann::json& size : shape)
        if (!size.is_number_integer() || !checked_multiply(product, size.get<std::int64_t>(), product)) return -1;
      if (!checked_add(sum, product, sum)) return -1;
    }
    return sum;
  }
  /// What all members of a collective must agree on: what goes in, or what comes out where a root deals it out.
  [[nodiscard]] static std::int64_t agreed(std::string_view kind, const nlohmann::json& entry) {
    const auto is = [&](std::string_view part) { return kind.find(part) != kind.npos; };
    if (is("all_to_all") || is("alltoall") || is("barrier") || is("coalesced")) return -1;
    return elements(entry, is("scatter") ? "output_sizes" : "input_sizes");
  }

  /// The rank of a record, and the groups that it names.
  [[nodiscard]] result<void> begin(const flight_record& record) {
    const auto entries = record.dump.find("entries");
    if (entries == record.dump.end() || !entries->is_array())
      return error{errc::missing_field}.with("entries of a flight record");
    std::int64_t first = (std::numeric_limits<std::int64_t>::max)();
    for (const nlohmann::json& entry : *entries) {
      if (!entry.is_object()) return error{errc::invalid_argument, 0}.with("an entry of a flight record");
      first = (std::min)(first, integer(entry, "record_id", 0));
    }
    const bool cut = !entries->empty() && first > 0;
    any_cut_ = any_cut_ || cut;
    job_.ranks.push_back({.rank = record.rank, .calls = {}, .cut = cut});
    own_.emplace_back();
    add_members(record.dump);
    return {};
  }
  /// Members of groups by `pg_config`, where the backend writes it: "[0, 1]".
  void add_members(const nlohmann::json& dump) {
    const auto all = dump.find("pg_config");
    if (all == dump.end() || !all->is_object()) return;
    for (const auto& [name, config] : all->items()) {
      if (!config.is_object()) continue;
      const nlohmann::json list = nlohmann::json::parse(text(config, "ranks"), nullptr, false);
      if (!list.is_array() || list.empty()) continue;
      const auto is_rank = [](const nlohmann::json& x) {
        return x.is_number_unsigned() && x.get<std::uint64_t>() < no_id;
      };
      if (!std::all_of(list.begin(), list.end(), is_rank)) continue;
      const std::uint32_t g = group(name, list.dump(), text(config, "desc"));
      ranks::recorded_group& named = job_.groups[g];
      named.guessed = false;
      for (const nlohmann::json& member : list) named.members.push_back(member.get<std::uint32_t>());
      own_.back().emplace(name, named_group{g, list});
    }
  }
  [[nodiscard]] result<void> add_entry(const nlohmann::json& entry, std::size_t at) {
    const auto names = entry.find("process_group");
    const bool named = names != entry.end() && names->is_array() && names->size() == 2 && (*names)[0].is_string() &&
                       (*names)[1].is_string();
    if (!named) return error{errc::missing_field}.with("process_group of a flight record");
    const auto name = (*names)[0].get<std::string>();
    std::string kind = text(entry, "profiling_name");
    if (const std::size_t colon = kind.find(':'); colon != kind.npos) kind.erase(0, colon + 1);
    ranks::recorded_call call;
    call.kind = kind;
    const auto types = entry.find("input_dtypes");
    if (types != entry.end() && types->is_array() && !types->empty() && (*types)[0].is_string())
      call.type = (*types)[0].get<std::string>();
    call.created = integer(entry, "time_created_ns", 0);
    const std::string state = text(entry, "state");
    call.done = flag(entry, "retired") || state == "completed";
    call.started = call.done || state == "started";
    if (flag(entry, "is_p2p")) {
      add_transfer(at, name, std::move(call));
      return {};
    }
    const auto own = own_[at].find(name);
    call.group = own != own_[at].end() ? own->second.group : group(name, {}, (*names)[1].get<std::string>());
    call.number = integer(entry, "collective_seq_id", 0);
    call.elements = agreed(kind, entry);
    if (call.number < 1) return error{errc::missing_field}.with("collective_seq_id of a flight record");
    job_.groups[call.group].members.push_back(job_.ranks[at].rank);
    job_.ranks[at].calls.push_back(std::move(call));
    return {};
  }
  /// "send 0->1", "recv 0<-1": ranks of the group. The transfers of a pair are a group of two, numbered in the order of
  /// each end; where a record was cut off, they have no numbers.
  void add_transfer(std::size_t at, const std::string& in, ranks::recorded_call call) {
    const std::size_t mine = call.kind.find(' ');
    const std::size_t arrow = call.kind.find_first_of("<-", mine);
    job_.transfers_left_out = job_.transfers_left_out || any_cut_;
    if (any_cut_ || mine == call.kind.npos || arrow == call.kind.npos) return;
    std::uint32_t from = rank_in(at, in, call.kind, mine + 1), to = rank_in(at, in, call.kind, arrow + 2);
    if (call.kind.compare(0, 4, "send") != 0) std::swap(from, to);
    call.kind = "transfer";
    const std::string pair = "ranks " + std::to_string(from) + " to " + std::to_string(to);
    call.group = group(in, pair, pair);
    job_.groups[call.group].members = {from, to};
    job_.groups[call.group].guessed = false;
    call.number = ++transfers_[{call.group, at}];
    job_.ranks[at].calls.push_back(std::move(call));
  }
  /// A member of a group by the number at a place of a text.
  [[nodiscard]] std::uint32_t rank_in(std::size_t at, const std::string& of_group, std::string_view words,
                                      std::size_t from) const {
    std::uint32_t member = 0;
    (void)std::from_chars(words.data() + (std::min)(from, words.size()), words.data() + words.size(), member);
    const auto known = own_[at].find(of_group);
    if (known == own_[at].end() || member >= known->second.members.size()) return member;
    return known->second.members[member].get<std::uint32_t>();
  }

  /// A group as one rank knows it. Ranks may have different groups of one name: the tensor ranks of a mesh.
  struct named_group {
    std::uint32_t group = 0;
    nlohmann::json members;
  };

  ranks::recorded_job job_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> groups_;      // by name and members
  std::vector<std::map<std::string, named_group>> own_;                      // of each rank
  std::map<std::pair<std::uint32_t, std::size_t>, std::int64_t> transfers_;  // of group and rank: how many so far
  bool any_cut_ = false;
};

}  // namespace detail

/// The job that PyTorch's Flight Recorder saw, from a dump of each rank, in any order. Members of a group are those of
/// `pg_config`; Gloo writes none, so they are the ranks that recorded a call of it. Transfers are matched in order, a
/// pair at a time, and left out where a record was cut off at its beginning.
/// Errors: errc::invalid_argument for two records of one rank; errc::missing_field, errc::invalid_argument for what is
/// no flight record. Complexity: O(entries log(entries)). Source: torch/csrc/distributed/c10d/FlightRecorder.hpp of
/// PyTorch 2.13, versions 2.0 to 2.10 of its form.
///
///     auto job = interop::read_flight_records({{0, json0}, {1, json1}});
///     std::puts(ranks::sentence(*job, ranks::find_hang(*job)).c_str());
[[nodiscard]] inline result<ranks::recorded_job> read_flight_records(std::vector<flight_record> records) {
  return detail::flight_reader()(std::move(records));
}

}  // namespace hocket::inline HOCKET_ABI::interop
