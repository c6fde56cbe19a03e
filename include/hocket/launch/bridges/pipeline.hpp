// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/check_transfers.hpp>
#include <hocket/pipeline/check.hpp>

namespace hocket::inline HOCKET_ABI::launch {

struct from_pipeline_options {
  std::uint32_t lookahead = 1;  ///< receives are posted this many actions before the one that needs them
  /// A rank waits for its oldest send beyond this many, behind a group if it is in one; 0: waits at the end only.
  std::uint32_t sends_in_flight = 0;
  bool pairs_at_once = false;     ///< a joined pair starts when both have their inputs, and sends when both have ended
  bool group_neighbours = false;  ///< listed transfers that follow each other make a group (as joined ones always do)
  bool complete_step = true;      ///< pipeline::check must accept the schedule; false for parts, such as inference
};

namespace detail {
template <pipeline::schedule S>
struct pipeline_lowering;
}

/// What every rank of a pipeline does, step by step, its transfers included. Immutable; run by `pipeline_runner`
/// (from_pipeline_run.hpp).
class pipeline_program {
 public:
  explicit pipeline_program(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : steps_(memory), actions_(memory), ends_(memory), requests_(memory) {}

  [[nodiscard]] std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(ends_.size()); }
  [[nodiscard]] std::span<const transfer_command> steps(std::uint32_t rank) const noexcept {
    return std::span(steps_).subspan(start(rank), ends_[rank] - start(rank));
  }
  /// What each step is about: the action of a `run`; for a transfer, the send or receive as pipelines name it
  /// (send_forward of the sending stage, recv_forward of the receiving one, …); of a `wait`, what it waits for.
  [[nodiscard]] std::span<const pipeline::stage_action> actions(std::uint32_t rank) const noexcept {
    return std::span(actions_).subspan(start(rank), ends_[rank] - start(rank));
  }
  /// Sends and receives of a rank.
  [[nodiscard]] std::uint32_t request_count(std::uint32_t rank) const noexcept { return requests_[rank]; }

 private:
  template <pipeline::schedule S>
  friend struct detail::pipeline_lowering;
  [[nodiscard]] std::size_t start(std::uint32_t rank) const noexcept { return rank == 0 ? 0 : ends_[rank - 1]; }
  std::pmr::vector<transfer_command> steps_;
  std::pmr::vector<pipeline::stage_action> actions_;
  std::pmr::vector<std::size_t> ends_;
  std::pmr::vector<std::uint32_t> requests_;
};

/// Whether the ranks of a program fit together under another model of blocking than the one `from_pipeline` made them
/// for. See the overload for lists of steps.
[[nodiscard]] inline result<void> check_transfers(
    const pipeline_program& program, transfer_model model, std::pmr::vector<blocked_transfer>* witness = nullptr,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  std::pmr::vector<std::span<const transfer_command>> lists(memory);
  for (std::uint32_t r = 0; r < program.ranks(); ++r) lists.push_back(program.steps(r));
  return check_transfers(lists, model, witness, memory);
}

namespace detail {

/// The work behind `from_pipeline`.
template <pipeline::schedule S>
struct pipeline_lowering {
  using action = pipeline::stage_action;
  using action_kind = pipeline::action_kind;
  // One transfer, as the receiver calls it.
  struct incoming {
    std::uint32_t from, to, tag;
    std::uint64_t label;
    std::uint32_t request;
  };
  const S& plan;
  const from_pipeline_options& options;
  pipeline_program program;
  std::pmr::vector<incoming> all;            // by receiver, then sender, then order of sending
  std::pmr::vector<std::uint32_t> by_label;  // into all: by receiver, then label
  std::pmr::vector<std::size_t> first;       // by receiver, into all
  std::uint32_t stages = plan.ranks() * plan.chunks();
  std::uint32_t rank = 0, requests = 0;
  std::pmr::vector<std::uint32_t> sends;     // of this rank: their steps
  std::size_t awaited = 0;                   // of those, from the first
  std::pmr::vector<std::uint32_t> next_tag;  // of this rank: by the other, for sends
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  pipeline_lowering(const S& of, const from_pipeline_options& with, std::pmr::memory_resource* memory)
      : plan(of),
        options(with),
        program(memory),
        all(memory),
        by_label(memory),
        first(memory),
        sends(memory),
        next_tag(memory) {}

  [[nodiscard]] std::uint32_t rank_of(action a) const { return rank_of(a.stage(), a); }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t stage, action a) const {
    return pipeline::rank_of(plan.placement(), plan.ranks(), stage, a.direction());
  }
  [[nodiscard]] static action receipt(bool forward, std::uint32_t stage, action a) {
    return {forward ? action_kind::recv_forward : action_kind::recv_backward, stage, a.micro_batch(), a.slice(),
            a.direction()};
  }
  /// What a computing action hands to another rank; false if nothing.
  [[nodiscard]] bool output(action a, action& out) const {
    const std::uint32_t s = a.stage();
    if (a.kind() == action_kind::forward && s + 1 < stages) out = receipt(true, s + 1, a);
    else if ((a.kind() == action_kind::backward || a.kind() == action_kind::input_grad) && s > 0)
      out = receipt(false, s - 1, a);
    else return false;
    return rank_of(out) != rank_of(a);
  }
  /// What it needs from another rank.
  [[nodiscard]] bool input(action a, action& in, std::uint32_t& from) const {
    const std::uint32_t s = a.stage();
    if (a.kind() == action_kind::forward && s > 0) in = receipt(true, s, a), from = rank_of(s - 1, a);
    else if ((a.kind() == action_kind::backward || a.kind() == action_kind::input_grad) && s + 1 < stages)
      in = receipt(false, s, a), from = rank_of(s + 1, a);
    else return false;
    return from != rank_of(a);
  }
  /// The two ends of a transfer of a lowered list; false if there can be none.
  [[nodiscard]] static bool is_send(action_kind kind) {
    return kind == action_kind::send_forward || kind == action_kind::send_backward;
  }
  [[nodiscard]] bool ends_of(action a, action& as_received, std::uint32_t& from, std::uint32_t& to) const {
    const bool forward = a.kind() == action_kind::send_forward || a.kind() == action_kind::recv_forward;
    std::uint32_t sender = a.stage(), receiver = a.stage();
    if (is_send(a.kind())) receiver = forward ? sender + 1 : sender - 1;
    else sender = forward ? receiver - 1 : receiver + 1;
    if (sender >= stages || receiver >= stages) return false;
    as_received = receipt(forward, receiver, a);
    from = rank_of(sender, a), to = rank_of(receiver, a);
    return from != to;
  }

  [[nodiscard]] error bad(std::uint32_t step, std::string_view why) const {
    return error{errc::bad_transfer, rank, step}.with(why);
  }

  /// Every transfer, in the order in which its sender sends.
  result<void> collect(bool lowered) {
    for (rank = 0; rank < plan.ranks(); ++rank) {
      next_tag.assign(plan.ranks(), 0);
      for (std::uint32_t i = 0; i < plan.size(rank); ++i) {
        const action a = stage_action_at(plan, rank, i);
        if (a.stage() >= stages) return error{errc::out_of_range, a.stage(), 0, std::int64_t{stages} - 1}.with("stage");
        action received;
        std::uint32_t from = rank, to = 0;
        if (lowered && pipeline::is_transfer(a.kind())) {
          if (!ends_of(a, received, from, to)) return bad(i, "a transfer to no other rank");
          if ((is_send(a.kind()) ? from : to) != rank) return bad(i, "a transfer of another rank's stage");
          if (!is_send(a.kind())) continue;
        } else if (!lowered && output(a, received)) {
          to = rank_of(received);
        } else {
          continue;
        }
        all.push_back({from, to, next_tag[to]++, received.bits(), none});
      }
    }
    std::sort(all.begin(), all.end(), [](const incoming& a, const incoming& b) {
      if (a.to != b.to) return a.to < b.to;
      return a.from != b.from ? a.from < b.from : a.tag < b.tag;
    });
    by_label.resize(all.size());
    for (std::uint32_t i = 0; i < by_label.size(); ++i) by_label[i] = i;
    std::sort(by_label.begin(), by_label.end(), [this](std::uint32_t a, std::uint32_t b) {
      return all[a].to != all[b].to ? all[a].to < all[b].to : all[a].label < all[b].label;
    });
    for (std::uint32_t r = 0, i = 0; r <= plan.ranks(); ++r) {
      while (i < all.size() && all[i].to < r) ++i;
      first.push_back(i);
    }
    return {};
  }
  /// The place in `all` of what this rank receives under a name, or none.
  [[nodiscard]] std::uint32_t find(action received) const {
    const auto begin = by_label.begin() + static_cast<std::ptrdiff_t>(first[rank]),
               end = by_label.begin() + static_cast<std::ptrdiff_t>(first[rank + 1]);
    const auto at = std::lower_bound(begin, end, received.bits(),
                                     [this](std::uint32_t i, std::uint64_t label) { return all[i].label < label; });
    return at != end && all[*at].label == received.bits() ? *at : none;
  }

  void put(transfer_command c, action a) {
    program.steps_.push_back(c);
    program.actions_.push_back(a);
  }
  void put_recv(std::uint32_t index) {
    incoming& x = all[index];
    x.request = requests++;
    put({x.label, x.from, x.request, x.tag, transfer_kind::recv}, action::from_bits(x.label));
  }
  /// Posts a receive, and those before it from the same rank: they arrive in the order of sending.
  void post(std::uint32_t index) {
    std::uint32_t i = index;
    while (i > first[rank] && all[i - 1].from == all[index].from && all[i - 1].request == none) --i;
    for (; i <= index; ++i)
      if (all[i].request == none) put_recv(i);
  }
  void put_wait(std::uint32_t index) {
    const incoming& x = all[index];
    put({x.label, x.from, x.request, x.tag, transfer_kind::wait}, action::from_bits(x.label));
  }
  /// Waits until no more than this many sends are in flight.
  void await_sends(std::size_t most) {
    while (sends.size() - awaited > most) put_send_wait(sends[awaited++]);
  }
  void put_send(action received, std::uint32_t to, bool in_group = false) {
    if (options.sends_in_flight != 0 && !in_group) await_sends(options.sends_in_flight - std::size_t{1});
    const action a{
        received.kind() == action_kind::recv_forward ? action_kind::send_forward : action_kind::send_backward,
        received.kind() == action_kind::recv_forward ? received.stage() - 1 : received.stage() + 1,
        received.micro_batch(), received.slice(), received.direction()};
    sends.push_back(static_cast<std::uint32_t>(program.steps_.size()));
    put({received.bits(), to, requests++, next_tag[to]++, transfer_kind::send}, a);
  }
  void put_send_wait(std::uint32_t step) {
    transfer_command c = program.steps_[step];
    c.kind = transfer_kind::wait;
    put(c, program.actions_[step]);
  }

  /// A list without transfers: they are put where they are needed and where results are ready.
  result<void> insert() {
    const std::uint32_t size = plan.size(rank);
    std::uint32_t posted = 0;  // the inputs of actions before this one
    for (std::uint32_t i = 0; i < size;) {
      const action a = stage_action_at(plan, rank, i);
      const std::uint32_t length = options.pairs_at_once && a.joined() && i + 1 < size ? 2 : 1;
      for (const std::uint64_t until = std::uint64_t{i} + length + options.lookahead;
           posted < until && posted < size;) {
        action in;
        std::uint32_t from = 0;
        if (input(stage_action_at(plan, rank, posted), in, from)) {
          const std::uint32_t index = find(in);
          if (index == none) return bad(posted, "no rank makes the input of this action");
          post(index);
        }
        ++posted;
      }
      for (std::uint32_t k = i; k < i + length; ++k) {
        action in;
        std::uint32_t from = 0;
        if (input(stage_action_at(plan, rank, k), in, from)) put_wait(find(in));
      }
      for (std::uint32_t k = i; k < i + length; ++k) put({}, stage_action_at(plan, rank, k));
      for (std::uint32_t k = i; k < i + length; ++k) {
        action out;
        if (output(stage_action_at(plan, rank, k), out)) put_send(out, rank_of(out));
      }
      i += length;
    }
    return {};
  }

  /// A list with transfers: kept as it is; the host waits before the action that needs one.
  result<void> follow() {
    bool in_group = false;
    for (std::uint32_t i = 0; i < plan.size(rank); ++i) {
      const action a = stage_action_at(plan, rank, i);
      action received;
      std::uint32_t from = 0, to = 0;
      if (pipeline::is_transfer(a.kind())) {
        const bool goes_on = a.joined() || (options.group_neighbours && i + 1 < plan.size(rank) &&
                                            pipeline::is_transfer(stage_action_at(plan, rank, i + 1).kind()));
        if (goes_on && !in_group) put({.kind = transfer_kind::group_begin}, {}), in_group = true;
        (void)ends_of(a, received, from, to);
        if (is_send(a.kind())) {
          put_send(received, to, in_group);
        } else {
          const std::uint32_t index = find(received);
          if (index == none || all[index].request != none)
            return error{errc::unmatched_transfer, rank, i, from}.with("the receive from");
          put_recv(index);
        }
        if (in_group && !goes_on) {
          put({.kind = transfer_kind::group_end}, {}), in_group = false;
          if (options.sends_in_flight != 0) await_sends(options.sends_in_flight);
        }
        continue;
      }
      // Both inputs of a pair come before it in such a list; waiting for each in its turn is enough.
      if (input(a, received, from)) {
        const std::uint32_t index = find(received);
        if (index == none || all[index].request == none) return bad(i, "its input is not received before it");
        put_wait(index);
      }
      if (a.kind() != action_kind::idle) put({}, a);
    }
    return in_group ? result<void>(bad(plan.size(rank), "a group that does not end")) : result<void>();
  }

  result<pipeline_program> make(std::pmr::vector<blocked_transfer>* cycle) {
    bool lowered = false;
    for (std::uint32_t r = 0; r < plan.ranks() && !lowered; ++r)
      for (std::uint32_t i = 0; i < plan.size(r) && !lowered; ++i)
        lowered = pipeline::is_transfer(stage_action_at(plan, r, i).kind());
    if (const auto ok = collect(lowered); !ok) return ok.error();
    for (rank = 0; rank < plan.ranks(); ++rank) {
      requests = 0;
      sends.clear();
      awaited = 0;
      next_tag.assign(plan.ranks(), 0);
      if (const auto ok = lowered ? follow() : insert(); !ok) return ok.error();
      await_sends(0);  // memory of sends is free when the step ends
      program.ends_.push_back(program.steps_.size());
      program.requests_.push_back(requests);
    }
    if (const auto ok = check_transfers(program, transfer_model::posted, cycle); !ok) return ok.error();
    return static_cast<pipeline_program&&>(program);
  }
};

}  // namespace detail

/// The steps of every rank of a pipeline, with the transfers between them, checked as a whole: every send has its
/// receive, in the same order between any two ranks, and no rank waits for ever even if nothing is buffered.
/// A schedule that lists transfers (a lowered one) is followed to the letter; neighbouring transfers that are `joined`
/// make a group. For one that does not, each result is sent when it is there, and receives are posted `lookahead`
/// actions early, in the order in which their sender sends.
/// The order follows from the schedule alone: ranks that have the same schedule (compare `pipeline::fingerprint_of`)
/// have the same programs.
/// @param cycle  after errc::transfer_deadlock: the ranks that would wait for each other
/// Errors: those of pipeline::check and of check_transfers; errc::bad_transfer for transfers that fit no action.
/// Complexity: O(actions · log actions) time and O(actions + ranks²) memory, for all ranks together.
///
///     const auto plan = hocket::pipeline::interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}).value();
///     const auto program = hocket::launch::from_pipeline(plan).value();
///     program.steps(0).size();                                        // run by pipeline_runner, from_pipeline_run.hpp
template <pipeline::schedule S>
[[nodiscard]] result<pipeline_program> from_pipeline(
    const S& plan, const from_pipeline_options& options = {}, std::pmr::vector<blocked_transfer>* cycle = nullptr,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (cycle != nullptr) cycle->clear();
  if (options.complete_step)
    if (const auto ok = pipeline::check(plan, nullptr, memory); !ok) return ok.error();
  return detail::pipeline_lowering<S>(plan, options, memory).make(cycle);
}

}  // namespace hocket::inline HOCKET_ABI::launch
