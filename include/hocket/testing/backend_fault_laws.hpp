// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a backend must do when something goes wrong in the middle of a step: end, in bounded time, and say what it was.
#pragma once
#include <hocket/launch/drive.hpp>
#include <hocket/launch/single_wait_list.hpp>
#include <hocket/launch/synchronize_within.hpp>
#include <hocket/testing/backend_laws.hpp>
#include <hocket/testing/leave_behind.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

namespace detail {

template <class S>
using backend_of = std::remove_reference_t<decltype(std::declval<S&>().backend())>;

template <class S>
concept has_failing_calls = requires(S& s) { s.fail_next(); };
template <class S>
concept can_be_lost = requires(S& s) { s.lose(); };
template <class S>
concept can_spoil_ops = requires(S& s, typename backend_of<S>::stream_type stream) { s.spoil(stream); };
template <class S>
concept can_cancel = requires(S& s) {
  s.cancel();
  s.recover();
};
template <class S>
inline constexpr bool runs_at_once = [] {
  if constexpr (requires { S::runs_at_once; }) return static_cast<bool>(S::runs_at_once);
  else return false;
}();

/// A device and its streams, for one trial: what `broken_fault_law` asks its caller to make.
template <class S>
concept fault_stage = launch::polled_backend<backend_of<S>> && launch::sync_backend<backend_of<S>> &&
                      requires(S& s, typename backend_of<S>::stream_type stream, void (*f)(void*), void* argument) {
                        { s.streams().begin() };
                        { s.enqueue(stream, f, argument) } -> std::same_as<typename backend_of<S>::status_type>;
                        { s.refusal() } -> std::same_as<typename backend_of<S>::status_type>;
                      };

/// The step that is disturbed, and which ops must come before each of its ops, as bits:
///
///     stream 0:  0 ─ record 0 ───────── 3 ─ wait 1 ─ 4          3 after 0;       4 after 0, 1, 2, 3
///     stream 1:  1 ─ wait 0 ─ 2 ─ record 1 ────────── 5          2 after 0, 1;    5 after 0, 1, 2
struct disturbed_step {
  static constexpr std::size_t ops = 6;
  static constexpr std::array<unsigned, ops> before{0u, 0u, 3u, 1u, 15u, 7u};
  static constexpr std::array<launch::command, 10> commands{
      launch::run_op(0, 0), launch::record_event(0, 0), launch::run_op(1, 1), launch::wait_event(0, 1),
      launch::run_op(2, 1), launch::record_event(1, 1), launch::run_op(3, 0), launch::wait_event(1, 0),
      launch::run_op(4, 0), launch::run_op(5, 1)};

  [[nodiscard]] static constexpr bool is_before(std::size_t op, std::size_t later) {
    return (before[later] >> op & 1u) != 0;
  }
};

/// One stage, driven through the step, and what has become of its ops. Whatever happens, the destructor ends: a stage
/// that does not end is left behind, with what it may still call.
template <class Stage>
class fault_trial {
 public:
  using backend = backend_of<Stage>;
  using status = typename backend::status_type;
  using stream = typename backend::stream_type;
  using event = typename backend::event_type;
  using outcome = launch::outcome<status>;
  static constexpr std::size_t nowhere = ~std::size_t{0};

  fault_trial(std::unique_ptr<Stage> made, const backend_law_options& options)
      : stage_(std::move(made)), options_(options) {
    make_events();
  }
  fault_trial(const fault_trial&) = delete;
  fault_trial& operator=(const fault_trial&) = delete;
  ~fault_trial() {
    if (work_ != nullptr) open();
    static_cast<void>(end());
  }

  [[nodiscard]] Stage& stage() { return *stage_; }

  /// Ends the stage, while what is held up still is. @return whether its destructor came back
  [[nodiscard]] bool end() {
    if (stage_ == nullptr) return true;
    destroy_events();
    const bool ended = detail::ends_within(std::move(stage_), options_.patience);
    if (ended) return true;
    retired_.push_back(std::move(work_));
    for (auto& work : retired_) detail::leave_behind(std::move(work));
    retired_.clear();
    return false;
  }

  /// Events of its own, or their numbers; after a step that was cut off, new ones where a wait uses the record up.
  void make_events() {
    destroy_events();
    for (std::uint32_t e = 0; e < 2; ++e) {
      event made{};
      if constexpr (launch::event_source<backend>) static_cast<void>(stage().backend().create_event(made));
      else made = event{e};
      events_.push_back(made);
    }
  }

  /// Drives the step. Before command `at`, disturb(stage) is called; op `held` waits for `open`; op `spoiled` is one
  /// that fails on the device; op `refused` is not launched, and ends the step.
  struct plan {
    std::size_t at = nowhere;
    std::size_t held = nowhere;
    std::chrono::milliseconds hold{0};  // at most
    std::size_t spoiled = nowhere;
    std::size_t refused = nowhere;
  };
  template <class Disturb>
  outcome drive(const plan& p, Disturb disturb) {
    const auto list = launch::command_list::make(disturbed_step::commands, 2).value();
    const std::vector<stream> streams = handles();
    const auto put = [&](node_id op, stream s) -> status {
      if (op == p.refused) return stage().refusal();
      if constexpr (can_spoil_ops<Stage>)
        if (op == p.spoiled) return stage().spoil(s);
      const auto hold = op == p.held ? p.hold : std::chrono::milliseconds(0);
      return stage().enqueue(s, &law_work::call, work_->expect(static_cast<int>(op), hold));
    };
    struct disturbing {
      Stage* stage;
      std::size_t at;
      Disturb* disturb;
      void begin(std::size_t index, const launch::command&) noexcept {
        if (index == at) (*disturb)(*stage);
      }
      void end(std::size_t, const launch::command&) noexcept {}
    } trace{&stage(), p.at, &disturb};
    if constexpr (launch::wait_resets_event<backend>)
      return launch::drive(stage().backend(), launch::single_wait_list::make(list).value(), streams, events_, put,
                           trace);
    else return launch::drive(stage().backend(), list, streams, events_, put, trace);
  }
  outcome drive(const plan& p = {}) {
    return drive(p, [](Stage&) {});
  }

  [[nodiscard]] launch::sync_outcome<status> wait(std::chrono::milliseconds limit) {
    return launch::synchronize_within(stage().backend(), handles(), limit);
  }
  [[nodiscard]] launch::sync_outcome<status> wait() { return wait(options_.patience); }
  void open() { work_->open(0); }
  [[nodiscard]] bool runs(int op) { return work_->runs_within(op, options_.patience) && !work_->gave_up(); }
  [[nodiscard]] bool gave_up() { return work_->gave_up(); }
  [[nodiscard]] std::vector<int> done() { return work_->done(); }
  /// Another step with the same stage.
  void forget() {
    retired_.push_back(std::move(work_));
    work_ = std::make_unique<law_work>();
  }

  /// Which law the ops break that must have run (bits), or may have (bits): once, and in their order.
  [[nodiscard]] std::string judge(unsigned must, unsigned may) {
    const std::vector<int> ran = work_->done();
    const auto place = [&ran](std::size_t op) { return std::find(ran.begin(), ran.end(), static_cast<int>(op)); };
    for (std::size_t op = 0; op < disturbed_step::ops; ++op) {
      const std::string name = "op " + std::to_string(op);
      const auto times = std::count(ran.begin(), ran.end(), static_cast<int>(op));
      if (times > 1) return name + " ran " + std::to_string(times) + " times";
      if (times == 0 && (must >> op & 1u) != 0) return name + " was issued and has not run";
      if (times == 1 && (may >> op & 1u) == 0) return name + " ran all the same";
      for (std::size_t other = 0; times == 1 && other < disturbed_step::ops; ++other)
        if (disturbed_step::is_before(other, op) && place(other) != ran.end() && place(other) > place(op))
          return name + " ran before op " + std::to_string(other);
    }
    return {};
  }

 private:
  [[nodiscard]] std::vector<stream> handles() {
    auto&& given = stage().streams();
    return {given.begin(), given.end()};
  }
  void destroy_events() {
    if constexpr (launch::event_source<backend>)
      for (const event& e : events_) static_cast<void>(stage().backend().destroy_event(e));
    events_.clear();
  }

  std::unique_ptr<Stage> stage_;
  backend_law_options options_;
  std::vector<event> events_;
  std::unique_ptr<law_work> work_ = std::make_unique<law_work>();
  std::vector<std::unique_ptr<law_work>> retired_;  // of earlier steps: a late call must find its memory
};

template <class Make>
class backend_fault_laws {
 public:
  using stage = typename std::invoke_result_t<Make&>::element_type;
  using trial = fault_trial<stage>;
  using backend = backend_of<stage>;
  using plan = typename trial::plan;
  static constexpr std::size_t places = disturbed_step::commands.size();
  static constexpr unsigned all_ops = (1u << disturbed_step::ops) - 1;

  backend_fault_laws(Make& make, const backend_law_options& options) : make_(make), options_(options) {}

  [[nodiscard]] std::string undisturbed() {
    trial t(make_(), options_);
    return whole(t);
  }

  /// One call fails, or the launcher refuses: drive says where, what was issued ends, and the next step is whole.
  [[nodiscard]] std::string cut_off(std::size_t at, bool by_launcher) {
    const launch::command& c = disturbed_step::commands[at];
    if (by_launcher && c.kind != launch::command_kind::run) return {};
    trial t(make_(), options_);
    const auto done = t.drive({.at = at, .refused = by_launcher ? c.id : trial::nowhere}, [&](stage& s) {
      if constexpr (has_failing_calls<stage>)
        if (!by_launcher) s.fail_next();
    });
    if (std::string broken = stopped(done, at); !broken.empty()) return broken;
    if (const auto end = t.wait(); !end) return "after a step that was cut off, " + said(end);
    const unsigned issued = issued_before(at);
    if (std::string broken = t.judge(issued, issued); !broken.empty()) return broken;
    t.make_events();
    t.forget();
    std::string broken = whole(t);
    return broken.empty() ? "" : "in the step after one that was cut off, " + broken;
  }

  /// From one call on, everything fails.
  [[nodiscard]] std::string lost(std::size_t at) {
    if constexpr (can_be_lost<stage>) {
      trial t(make_(), options_);
      const auto done = t.drive({.at = at}, [](stage& s) { s.lose(); });
      if (std::string broken = stopped(done, at); !broken.empty()) return broken;
      const auto end = t.wait();
      if (end.state != launch::sync_state::failed) return "the device is lost, and " + said(end);
      if (!has_text(end.status)) return "the device is lost, and the text of the status is empty";
      const auto again = t.drive();
      if (again || again.issued != 0) return "a lost device takes a step";
      if (!t.end()) return "the destructor does not return when the device is lost";
      return t.judge(0, issued_before(at));
    } else {
      return {};
    }
  }

  /// An op fails on the device: nothing that waits for it runs, and whoever asks is told.
  [[nodiscard]] std::string spoiled(std::size_t op) {
    if constexpr (can_spoil_ops<stage>) {
      trial t(make_(), options_);
      const auto done = t.drive({.spoiled = op});
      if (!done && !has_text(done.status)) return "the text of a status that is not ok is empty";
      const auto end = t.wait();
      if (done && end.state == launch::sync_state::idle) return "an op fails, and nobody says so";
      if (end.state == launch::sync_state::running) return "an op fails, and " + said(end);
      if (!end && !has_text(end.status)) return "an op fails, and the text of the status is empty";
      if (!t.end()) return "the destructor does not return when an op has failed";
      unsigned may = all_ops & ~(1u << op);
      for (std::size_t later = 0; later < disturbed_step::ops; ++later)
        if (disturbed_step::is_before(op, later)) may &= ~(1u << later);
      return t.judge(0, may);
    } else {
      return {};
    }
  }

  /// An event does not complete, because the op before it takes long. A wait with a limit ends at the limit and names a
  /// stream; what does not depend on the op runs; and when it ends at last, the step is whole.
  [[nodiscard]] std::string never_completes() {
    if constexpr (runs_at_once<stage>) return {};
    trial t(make_(), options_);
    const auto done = t.drive({.held = 0, .hold = options_.patience});
    if (!done) return "a step is refused while an op takes long";
    const bool others = t.runs(1);
    const auto end = t.wait(options_.glance);
    if (t.gave_up()) return "a wait with a limit does not end while an event does not complete";
    if (end.state != launch::sync_state::running) return "an event does not complete, and " + said(end);
    if (end.waited < options_.glance) return "a wait with a limit ends before its limit";
    const bool named = end.stream < 2;
    t.open();
    if (const auto late = t.wait(); !late) return "after an op that took long, " + said(late);
    if (!others) return "an op that takes long holds up what does not wait for it";
    if (!named) return "the stream that works is not named";
    return t.judge(all_ops, all_ops);
  }

  /// A step is given up while it runs: what waits for the op that runs is skipped, and the next step is whole.
  [[nodiscard]] std::string cancelled() {
    if constexpr (can_cancel<stage> && !runs_at_once<stage>) {
      trial t(make_(), options_);
      if (!t.drive({.held = 0, .hold = options_.patience})) return "a step is refused while an op takes long";
      t.stage().cancel();
      t.open();
      if (t.wait().state == launch::sync_state::running) return "a step that is cancelled does not end";
      if (std::string broken = t.judge(0, 1u | 2u); !broken.empty()) return "of a step that is cancelled, " + broken;
      t.stage().recover();
      t.make_events();
      t.forget();
      std::string broken = whole(t);
      return broken.empty() ? "" : "in the step after one that was cancelled, " + broken;
    } else {
      return {};
    }
  }

  /// The stage is destroyed while it works on a step.
  [[nodiscard]] std::string destroyed() {
    if constexpr (runs_at_once<stage>) return {};
    trial t(make_(), options_);
    if (!t.drive({.held = 0, .hold = options_.glance})) return "a step is refused while an op takes long";
    if (!t.end()) return "the destructor does not return while a step runs";
    const std::size_t ran = t.done().size();
    std::this_thread::sleep_for(options_.glance);
    if (t.done().size() != ran) return "an op runs when the device is gone";
    return t.judge(0, all_ops);
  }

 private:
  [[nodiscard]] static bool has_text(typename backend::status_type status) {
    const char* const text = backend::text(status);
    return text != nullptr && *text != 0;
  }
  [[nodiscard]] static std::string said(const launch::sync_outcome<typename backend::status_type>& end) {
    return launch::message(end, backend::text(end.status));
  }
  [[nodiscard]] static unsigned issued_before(std::size_t at) {
    unsigned ops = 0;
    for (std::size_t i = 0; i < at; ++i)
      if (disturbed_step::commands[i].kind == launch::command_kind::run) ops |= 1u << disturbed_step::commands[i].id;
    return ops;
  }
  [[nodiscard]] static std::string stopped(const typename trial::outcome& done, std::size_t at) {
    const std::string place = "command " + std::to_string(at);
    const launch::command& c = disturbed_step::commands[at];
    if (done) return place + " fails, and drive does not say so";
    if (done.issued != at) return place + " fails, and drive names command " + std::to_string(done.issued);
    if (done.kind != c.kind || done.stream != c.stream) return place + " fails, and drive names another stream or kind";
    return has_text(done.status) ? "" : place + " fails, and the text of its status is empty";
  }
  [[nodiscard]] std::string whole(trial& t) {
    if (const auto done = t.drive(); !done) return "command " + std::to_string(done.issued) + " fails";
    if (const auto end = t.wait(); !end) return said(end);
    return t.judge(all_ops, all_ops);
  }

  Make& make_;
  backend_law_options options_;
};

}  // namespace detail

/// Whether faults in the middle of a step end within a bound and are told. The step is two streams that wait for each
/// other. At every place of it a call fails, the launcher refuses, or the device is lost; every op fails on the device;
/// an event does not complete; the step is cancelled; the device is destroyed while it works. Then `drive` names the
/// command, `synchronize_within` ends with the state, what must not run does not, nothing runs twice, and where the
/// device is still there the next step is whole.
/// @param make  gives a new stage in a `std::unique_ptr`. A stage is made for one fault and has
///              `backend()`, `streams()` (two, idle), `enqueue(stream, f, argument)`, and `refusal()`, a status that is
///              not ok. When its destructor returns, none of its work runs any more. What it can do beyond that is
///              tried: `fail_next()`: the next call fails, once;  `lose()`: from now on every call fails;
///              `spoil(stream)`: enqueues an op that fails on the device, and returns the status of that call;
///              `cancel()` and `recover()`: gives up what is queued, and is ready again;
///              `static constexpr bool runs_at_once = true`: no op is ever under way, so none takes long
/// @return an empty string, or the first law that is broken
///
///     CHECK(hocket::testing::broken_fault_law([] { return std::make_unique<my_stage>(); }) == "");
template <class Make>
[[nodiscard]] std::string broken_fault_law(Make&& make, const backend_law_options& options = {}) {
  using laws_of = detail::backend_fault_laws<std::remove_reference_t<Make>>;
  using stage = typename laws_of::stage;
  static_assert(detail::fault_stage<stage>,
                "hocket: make() gives a unique_ptr to a stage: backend(), streams(), enqueue(stream, f, argument), "
                "refusal(); its backend has synchronize and is_idle");
  laws_of laws(make, options);
  std::string broken = laws.undisturbed();
  for (std::size_t at = 0; broken.empty() && at < laws_of::places; ++at) {
    broken = laws.cut_off(at, true);
    if constexpr (detail::has_failing_calls<stage>)
      if (broken.empty()) broken = laws.cut_off(at, false);
    if (broken.empty()) broken = laws.lost(at);
  }
  for (std::size_t op = 0; broken.empty() && op < detail::disturbed_step::ops; ++op) broken = laws.spoiled(op);
  if (broken.empty()) broken = laws.never_completes();
  if (broken.empty()) broken = laws.cancelled();
  if (broken.empty()) broken = laws.destroyed();
  return broken;
}

}  // namespace hocket::inline HOCKET_ABI::testing
