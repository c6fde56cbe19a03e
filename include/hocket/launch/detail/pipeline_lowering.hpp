// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/bridges/pipeline_program.hpp>
#include <hocket/launch/detail/pipeline_flow.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch::detail {

/// "No such place", and "not posted yet".
inline constexpr std::uint32_t nowhere = ~std::uint32_t{0};

/// Every transfer of a step, where its receiver finds it:
///
///     all    │ to 0: from 1: tags 0 1 2 │ from 3: tags 0 1 │ to 1: …      by receiver, sender, order of sending
///     place  (receiver, label) -> place in `all`
class arrival_table {
 public:
  struct arrival {
    std::uint32_t from;
    std::uint32_t to;
    std::uint32_t tag;
    std::uint64_t label;
    std::uint32_t request = nowhere;  // its number on the receiver, once posted
  };

  explicit arrival_table(std::pmr::memory_resource* memory) : all_(memory), place_(memory) {}

  void add(const arrival& a) { all_.push_back(a); }
  void sort() {
    std::sort(all_.begin(), all_.end(), [](const arrival& a, const arrival& b) {
      return std::tie(a.to, a.from, a.tag) < std::tie(b.to, b.from, b.tag);
    });
    for (std::uint32_t i = 0; i < all_.size(); ++i) place_.emplace(std::pair(all_[i].to, all_[i].label), i);
  }

  [[nodiscard]] arrival& operator[](std::uint32_t place) noexcept { return all_[place]; }

  /// The place of what `rank` receives under this name, or nowhere.
  [[nodiscard]] std::uint32_t find(std::uint32_t rank, pipeline::stage_action received) const {
    const auto at = place_.find(std::pair(rank, std::uint64_t{received.bits()}));
    return at != place_.end() ? at->second : nowhere;
  }
  /// The first place up to this one whose receive, and all between, have the same sender and are not posted.
  [[nodiscard]] std::uint32_t first_unposted(std::uint32_t place) const noexcept {
    const arrival& last = all_[place];
    const auto waits = [&](const arrival& a) { return a.to == last.to && a.from == last.from && a.request == nowhere; };
    while (place > 0 && waits(all_[place - 1])) --place;
    return place;
  }

 private:
  std::pmr::vector<arrival> all_;
  std::pmr::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> place_;
};

/// Writes the steps of one rank after the other into a program.
class pipeline_step_writer {
 public:
  using action = pipeline::stage_action;
  using action_kind = pipeline::action_kind;

  pipeline_step_writer(pipeline_program& program, arrival_table& arrivals, std::uint32_t sends_in_flight,
                       std::pmr::memory_resource* memory)
      : program_(program), arrivals_(arrivals), most_(sends_in_flight), sends_(memory), next_tag_(memory) {}

  void begin_rank(std::uint32_t ranks) {
    requests_ = 0;
    sends_.clear();
    awaited_ = 0;
    next_tag_.assign(ranks, 0);
  }
  void end_rank() {
    await_sends(0);  // memory of sends is free when the step ends
    program_.ends_.push_back(program_.steps_.size());
    program_.requests_.push_back(requests_);
  }

  void run(action a) {
    if (a.kind() != action_kind::idle) put({}, a);
  }

  void begin_group() { put({.kind = transfer_kind::group_begin}, {}); }
  void end_group() {
    put({.kind = transfer_kind::group_end}, {});
    if (most_ != 0) await_sends(most_);
  }

  void receive(std::uint32_t place) {
    arrival_table::arrival& a = arrivals_[place];
    a.request = requests_++;
    put({a.label, a.from, a.request, a.tag, transfer_kind::recv}, action::from_bits(a.label));
  }
  /// Posts a receive, and those before it from the same rank: they arrive in the order of sending.
  void receive_up_to(std::uint32_t place) {
    for (std::uint32_t i = arrivals_.first_unposted(place); i <= place; ++i)
      if (arrivals_[i].request == nowhere) receive(i);
  }
  void await(std::uint32_t place) {
    const arrival_table::arrival& a = arrivals_[place];
    put({a.label, a.from, a.request, a.tag, transfer_kind::wait}, action::from_bits(a.label));
  }

  void send(const pipeline_transfer& t, bool in_group = false) {
    if (most_ != 0 && !in_group) await_sends(most_ - std::size_t{1});
    const action r = t.received;
    const bool forward = r.kind() == action_kind::recv_forward;
    const action sent{forward ? action_kind::send_forward : action_kind::send_backward,
                      forward ? r.stage() - 1 : r.stage() + 1, r.micro_batch(), r.slice(), r.direction()};
    sends_.push_back(static_cast<std::uint32_t>(program_.steps_.size()));
    put({r.bits(), t.to, requests_++, next_tag_[t.to]++, transfer_kind::send}, sent);
  }

 private:
  void put(const transfer_command& c, action a) {
    program_.steps_.push_back(c);
    program_.actions_.push_back(a);
  }
  /// Waits until no more than this many sends are in flight.
  void await_sends(std::size_t most) {
    while (sends_.size() - awaited_ > most) {
      const std::uint32_t step = sends_[awaited_++];
      transfer_command c = program_.steps_[step];
      c.kind = transfer_kind::wait;
      const action sent = program_.actions_[step];  // a copy: the list grows
      put(c, sent);
    }
  }

  pipeline_program& program_;
  arrival_table& arrivals_;
  std::size_t most_;  // sends in flight; 0: any number
  std::uint32_t requests_ = 0;
  std::pmr::vector<std::uint32_t> sends_;  // of this rank: their steps
  std::size_t awaited_ = 0;                // of those, from the first
  std::pmr::vector<std::uint32_t> next_tag_;
};

/// The work behind `from_pipeline`.
template <pipeline::schedule S, class Options>
class pipeline_lowering {
 public:
  using action = pipeline::stage_action;
  using action_kind = pipeline::action_kind;

  pipeline_lowering(const S& plan, const Options& options, std::pmr::memory_resource* memory)
      : plan_(plan),
        options_(options),
        flow_(plan),
        memory_(memory),
        program_(memory),
        arrivals_(memory),
        write_(program_, arrivals_, options.sends_in_flight, memory) {}

  result<pipeline_program> make(std::pmr::vector<blocked_transfer>* witness) {
    const bool lowered = has_transfers();
    for (rank_ = 0; rank_ < plan_.ranks(); ++rank_)
      if (const auto ok = collect(lowered); !ok) return ok.error();
    arrivals_.sort();
    for (rank_ = 0; rank_ < plan_.ranks(); ++rank_) {
      write_.begin_rank(plan_.ranks());
      if (const auto ok = lowered ? follow() : insert(); !ok) return ok.error();
      write_.end_rank();
    }
    if (const auto ok = check_transfers(program_, transfer_model::posted, witness, memory_); !ok) return ok.error();
    return std::move(program_);
  }

 private:
  [[nodiscard]] action at(std::uint32_t step) const { return stage_action_at(plan_, rank_, step); }
  [[nodiscard]] error bad(std::uint32_t step, std::string_view why) const {
    return error{errc::bad_transfer, rank_, step}.with(why);
  }

  [[nodiscard]] bool has_transfers() {
    for (rank_ = 0; rank_ < plan_.ranks(); ++rank_)
      for (std::uint32_t i = 0; i < plan_.size(rank_); ++i)
        if (pipeline::is_transfer(at(i).kind())) return true;
    return false;
  }

  /// What this rank sends, in that order.
  result<void> collect(bool lowered) {
    std::pmr::vector<std::uint32_t> next_tag(plan_.ranks(), 0, memory_);
    for (std::uint32_t i = 0; i < plan_.size(rank_); ++i) {
      const action a = at(i);
      if (a.stage() >= flow_.stages())
        return error{errc::out_of_range, a.stage(), 0, std::int64_t{flow_.stages()} - 1}.with("stage");
      std::optional<pipeline_transfer> sent;
      if (!lowered) {
        sent = flow_.output(a);
      } else if (pipeline::is_transfer(a.kind())) {
        const auto listed = flow_.listed(a);
        if (!listed) return bad(i, "a transfer to no other rank");
        const bool sends = flow_.is_send(a);
        if ((sends ? listed->from : listed->to) != rank_) return bad(i, "a transfer of another rank's stage");
        if (sends) sent = listed;
      }
      if (sent) arrivals_.add({sent->from, sent->to, next_tag[sent->to]++, sent->received.bits()});
    }
    return {};
  }

  /// A list without transfers: they are put where they are needed and where results are ready.
  result<void> insert() {
    const std::uint32_t size = plan_.size(rank_);
    std::uint32_t posted = 0;  // the inputs of actions before this one
    for (std::uint32_t i = 0; i < size;) {
      const std::uint32_t end = i + (options_.pairs_at_once && at(i).joined() && i + 1 < size ? 2 : 1);
      for (; posted < std::uint64_t{end} + options_.lookahead && posted < size; ++posted) {
        const auto in = flow_.input(at(posted));
        if (!in) continue;
        const std::uint32_t place = arrivals_.find(rank_, in->received);
        if (place == nowhere) return bad(posted, "no rank makes the input of this action");
        write_.receive_up_to(place);
      }
      for (std::uint32_t k = i; k < end; ++k)
        if (const auto in = flow_.input(at(k))) write_.await(arrivals_.find(rank_, in->received));
      for (std::uint32_t k = i; k < end; ++k) write_.run(at(k));
      for (std::uint32_t k = i; k < end; ++k)
        if (const auto out = flow_.output(at(k))) write_.send(*out);
      i = end;
    }
    return {};
  }

  /// A list with transfers: kept as it is; the host waits before the action that needs one.
  result<void> follow() {
    bool in_group = false;
    for (std::uint32_t i = 0; i < plan_.size(rank_); ++i) {
      const action a = at(i);
      if (!pipeline::is_transfer(a.kind())) {
        if (const auto ok = follow_work(i, a); !ok) return ok.error();
        continue;
      }
      const bool goes_on = group_goes_on(i, a);
      if (goes_on && !in_group) write_.begin_group();
      in_group = in_group || goes_on;
      if (const auto ok = follow_transfer(i, a, in_group); !ok) return ok.error();
      if (in_group && !goes_on) {
        write_.end_group();
        in_group = false;
      }
    }
    if (in_group) return bad(plan_.size(rank_), "a group that does not end");
    return {};
  }
  [[nodiscard]] bool group_goes_on(std::uint32_t step, action a) const {
    if (a.joined()) return true;
    return options_.group_neighbours && step + 1 < plan_.size(rank_) && pipeline::is_transfer(at(step + 1).kind());
  }
  result<void> follow_transfer(std::uint32_t step, action a, bool in_group) {
    const pipeline_transfer t = *flow_.listed(a);  // collect has seen that it is one
    if (flow_.is_send(a)) {
      write_.send(t, in_group);
      return {};
    }
    const std::uint32_t place = arrivals_.find(rank_, t.received);
    if (place == nowhere || arrivals_[place].request != nowhere)
      return error{errc::unmatched_transfer, rank_, step, t.from}.with("the receive from");
    write_.receive(place);
    return {};
  }
  // Both inputs of a pair come before it in such a list; waiting for each in its turn is enough.
  result<void> follow_work(std::uint32_t step, action a) {
    if (const auto in = flow_.input(a)) {
      const std::uint32_t place = arrivals_.find(rank_, in->received);
      if (place == nowhere || arrivals_[place].request == nowhere)
        return bad(step, "its input is not received before it");
      write_.await(place);
    }
    write_.run(a);
    return {};
  }

  const S& plan_;
  const Options& options_;
  pipeline_flow<S> flow_;
  std::pmr::memory_resource* memory_;
  pipeline_program program_;
  arrival_table arrivals_;
  pipeline_step_writer write_;
  std::uint32_t rank_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::launch::detail
