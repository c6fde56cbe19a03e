// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every backend must obey, checked from outside by work that is held up on purpose: so that a framework can test
// its own backend in its own project, with any test framework.
#pragma once
#include <hocket/launch/backend.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

/// How long the laws wait.
struct backend_law_options {
  /// For what must happen. Work that is held up goes on after this time, so that a backend that blocks is found out.
  std::chrono::milliseconds patience{5000};
  /// For what must not happen: a wait that does nothing is caught if its stream runs within this time.
  std::chrono::milliseconds glance{20};
};

/// A backend that the laws can look into: it makes its own events and can be waited for.
template <class B>
concept testable_backend = launch::event_source<B> && launch::sync_backend<B>;

/// How the laws put work on a stream: `enqueue` of the backend. Pass another callable of this form where work goes
/// another way, or where host functions of two streams do not run at the same time (CUDA leaves that open).
struct host_functions {
  template <launch::host_function_backend B>
  typename B::status_type operator()(B& b, typename B::stream_type stream, void (*f)(void*), void* argument) const {
    return b.enqueue(stream, f, argument);
  }
};

namespace detail {

/// Says which member a backend lacks for the laws.
template <class B>
struct checked_law_backend : launch::detail::checked_backend<B> {
  static_assert(!launch::backend<B> || launch::event_source<B>,
                "hocket: the laws of a backend need `status_type create_event(event_type&) noexcept` and "
                "`status_type destroy_event(event_type) noexcept`");
  static_assert(!launch::backend<B> || launch::sync_backend<B>,
                "hocket: the laws of a backend need `status_type synchronize(stream_type) noexcept`");
};

/// Can the laws put work on its streams? If not, the compiler says what is missing.
template <class B, class Work>
consteval bool takes_work() {
  constexpr bool own = !std::is_same_v<Work, host_functions> || launch::host_function_backend<B>;
  constexpr bool called =
      std::is_invocable_r_v<typename B::status_type, const Work&, B&, typename B::stream_type, void (*)(void*), void*>;
  static_assert(own,
                "hocket: the laws put work on streams by `status_type enqueue(stream_type, void (*)(void*), void*) "
                "noexcept` of the backend. Without it, pass a function that does so after the streams: "
                "enqueue(backend, stream, f, argument)");
  static_assert(!own || called,
                "hocket: enqueue is called as `enqueue(backend, stream, f, argument)` with `void (*f)(void*)`, and "
                "returns the backend's status_type");
  return own && called;
}

/// Is B meant as a backend? It names one of the types that a backend has.
template <class B>
concept meant_as_backend = requires { typename B::event_type; } || requires { typename B::stream_type; };

/// Pieces of work on streams, and what has become of them. A piece writes down its number when it runs, and may be held
/// up until `open`. Deletes itself when it is abandoned and no piece is left that a backend may still call.
class law_work {
 public:
  struct piece {
    law_work* of;
    int number;
    std::chrono::milliseconds hold;  // at most, until its gate opens
    std::size_t gate;
  };
  static void call(void* p) {
    piece& me = *static_cast<piece*>(p);
    me.of->run(me);
  }

  [[nodiscard]] piece* expect(int number, std::chrono::milliseconds hold, std::size_t gate = 0) {
    const std::lock_guard lock(mutex_);
    ++expected_;
    return &pieces_.emplace_back(piece{this, number, hold, gate});
  }
  /// One piece was refused, and will not be called.
  void forget_one() {
    const std::lock_guard lock(mutex_);
    --expected_;
  }
  void open(std::size_t gate) {
    const std::lock_guard lock(mutex_);
    open_[gate] = true;
    changed_.notify_all();
  }
  void abandon() {
    std::unique_lock lock(mutex_);
    abandoned_ = true;
    const bool last = done_.size() >= expected_;
    lock.unlock();
    if (last) delete this;
  }

  [[nodiscard]] bool runs_within(int number, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return std::find(done_.begin(), done_.end(), number) != done_.end(); });
  }
  /// Whether more than so many pieces have run within this time.
  [[nodiscard]] bool grows_within(std::size_t count, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return done_.size() > count; });
  }
  [[nodiscard]] std::vector<int> done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  /// Whether what was held up went on by itself, because nobody came to open.
  [[nodiscard]] bool gave_up() {
    const std::lock_guard lock(mutex_);
    return gave_up_;
  }

 private:
  void run(const piece& me) {
    std::unique_lock lock(mutex_);
    if (me.hold.count() > 0 && !changed_.wait_for(lock, me.hold, [&] { return open_[me.gate]; })) gave_up_ = true;
    done_.push_back(me.number);
    const bool last = abandoned_ && done_.size() >= expected_;
    if (!last) changed_.notify_all();
    lock.unlock();
    if (last) delete this;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<piece> pieces_;
  std::size_t expected_ = 0;
  std::vector<int> done_;
  bool open_[2] = {};
  bool gave_up_ = false;
  bool abandoned_ = false;
};

/// The stage of one law: events and work of its own. Remembers the first call that was refused. At the end everything
/// runs, and the streams are idle.
template <testable_backend B, class Work>
class law_trial {
 public:
  using stream = typename B::stream_type;
  using event = typename B::event_type;
  using status = typename B::status_type;

  law_trial(B& b, const std::vector<stream>& streams, const Work& enqueue, const backend_law_options& options)
      : b_(b), streams_(streams), enqueue_(enqueue), options_(options) {}
  law_trial(const law_trial&) = delete;
  law_trial& operator=(const law_trial&) = delete;
  ~law_trial() {
    static_cast<void>(finish());
    for (const event& e : events_) static_cast<void>(b_.destroy_event(e));
    work_.abandon();
  }

  /// Puts piece `number` on stream s.
  status put(std::size_t s, int number) { return put(s, number, std::chrono::milliseconds(0)); }
  /// The same, held up until `finish`, or until `open` of its gate.
  status put_held(std::size_t s, int number, std::size_t gate = 0) { return put(s, number, options_.patience, gate); }
  status put(std::size_t s, int number, std::chrono::milliseconds hold, std::size_t gate = 0) {
    const status done = enqueue_(b_, streams_[s], &law_work::call, work_.expect(number, hold, gate));
    if (!note("enqueue", done)) work_.forget_one();
    return done;
  }
  [[nodiscard]] event make_event() {
    event e{};
    if (note("create_event", b_.create_event(e))) events_.push_back(e);
    return e;
  }
  status record(event e, std::size_t s) {
    const status done = b_.record(e, streams_[s]);
    note("record", done);
    return done;
  }
  status wait(std::size_t s, event e) {
    const status done = b_.wait(streams_[s], e);
    note("wait", done);
    return done;
  }
  void open(std::size_t gate) { work_.open(gate); }
  /// Lets everything run. @return the first call that was refused, as a sentence
  [[nodiscard]] std::string finish() {
    open(0);
    open(1);
    for (const stream& s : streams_) note("synchronize", b_.synchronize(s));
    return refused_;
  }

  /// Whether a piece runs, although another is held up.
  [[nodiscard]] bool runs(int number) { return work_.runs_within(number, options_.patience) && !gave_up(); }
  /// Whether a piece runs that must not run yet.
  [[nodiscard]] bool runs_early(int number) { return work_.runs_within(number, options_.glance) && !gave_up(); }
  [[nodiscard]] bool gave_up() { return work_.gave_up(); }
  [[nodiscard]] std::vector<int> done() { return work_.done(); }
  void forgive() { refused_.clear(); }

 private:
  bool note(const char* call, status returned) {
    if (B::ok(returned)) return true;
    if (refused_.empty()) refused_ = std::string(call) + " fails: " + B::text(returned);
    return false;
  }

  B& b_;
  std::vector<stream> streams_;
  const Work& enqueue_;
  backend_law_options options_;
  law_work& work_ = *new law_work;
  std::vector<event> events_;
  std::string refused_;
};

template <testable_backend B, class Work>
class backend_laws {
 public:
  using stream = typename B::stream_type;
  using event = typename B::event_type;
  using trial = law_trial<B, Work>;

  backend_laws(B& b, std::span<const stream> streams, const Work& enqueue, const backend_law_options& options)
      : b_(b), streams_(streams.begin(), streams.end()), enqueue_(enqueue), options_(options) {}

  [[nodiscard]] static std::string statuses() {
    if (!B::ok(typename B::status_type{})) return "the value-initialised status is not ok";
    return B::text(typename B::status_type{}) == nullptr ? "text of success is a null pointer" : "";
  }

  /// What is put on a stream runs once, in that order, and before synchronize returns.
  [[nodiscard]] std::string order_within_streams() {
    constexpr int count = 100;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      trial t(b_, streams_, enqueue_, options_);
      for (int i = 0; i < count; ++i) t.put(s, i);
      if (std::string refused = t.finish(); !refused.empty()) return refused;
      const std::vector<int> done = t.done();
      for (int i = 0; i < count; ++i) {
        const std::string work = "work " + std::to_string(i) + " of stream " + std::to_string(s);
        const auto times = std::count(done.begin(), done.end(), i);
        if (times == 0) return work + " has not run when synchronize returns";
        if (times > 1) return work + " ran " + std::to_string(times) + " times";
        if (done[static_cast<std::size_t>(i)] != i) return work + " ran out of order";
      }
    }
    return {};
  }
  [[nodiscard]] std::string synchronizing() {
    trial t(b_, streams_, enqueue_, options_);
    t.put(0, 1, options_.glance);
    static_cast<void>(b_.synchronize(streams_[0]));
    return t.done().empty() ? "synchronize returns while its stream works" : "";
  }
  /// A stream that is held up holds up no other, and no call of the host.
  [[nodiscard]] std::string independence() {
    trial t(b_, streams_, enqueue_, options_);
    t.put_held(0, 1);
    const bool blocked = t.gave_up();
    t.put(1, 2);
    const bool free = t.runs(2);
    if (std::string refused = t.finish(); !refused.empty()) return refused;
    if (blocked) return "enqueue blocks while its stream works";
    return free ? "" : "stream 1 does not run while stream 0 works";
  }
  /// record and wait return while their streams work, and a wait holds its stream until the record is reached.
  [[nodiscard]] std::string waiting(std::size_t from, std::size_t to) {
    trial t(b_, streams_, enqueue_, options_);
    const event e = t.make_event();
    t.put_held(from, 1);
    t.record(e, from);
    if (t.gave_up()) return "record blocks while its stream works";
    t.wait(to, e);
    if (t.gave_up()) return "wait blocks until the record is reached";
    t.put(to, 2);
    const bool early = t.runs_early(2);
    if (std::string refused = t.finish(); !refused.empty()) return refused;
    return early ? "a wait does not hold its stream until the record is reached" : "";
  }
  /// A wait binds to the record that is the latest when it is called: later ones do not hold it up …
  [[nodiscard]] std::string later_record() {
    trial t(b_, streams_, enqueue_, options_);
    const event e = t.make_event();
    t.put_held(1, 0, 1);  // so that stream 1 comes to its wait when both records are made
    t.record(e, 0);
    t.wait(1, e);
    t.put_held(0, 1);
    t.record(e, 0);
    t.put(1, 2);
    t.open(1);
    const bool free = t.runs(2);
    if (std::string refused = t.finish(); !refused.empty()) return refused;
    return free ? "" : "a wait waits for a record that was made after it";
  }
  /// … and earlier ones do not let it through. Every wait for one record is held.
  [[nodiscard]] std::string latest_record() {
    trial t(b_, streams_, enqueue_, options_);
    const event e = t.make_event();
    t.record(e, 0);
    t.put_held(0, 0);
    t.record(e, 0);
    for (std::size_t s = 1; s < streams_.size(); ++s) {
      t.wait(s, e);
      t.put(s, static_cast<int>(s));
    }
    bool early = false;
    for (std::size_t s = 1; s < streams_.size(); ++s) early = t.runs_early(static_cast<int>(s)) || early;
    if (std::string refused = t.finish(); !refused.empty()) return refused;
    return early ? "a wait lets its stream go on after an earlier record of the event" : "";
  }
  /// A stream may wait for its own record, and an event serves again and again.
  [[nodiscard]] std::string reuse() {
    trial t(b_, streams_, enqueue_, options_);
    const event e = t.make_event();
    for (int round = 0; round < 3; ++round) {
      const std::size_t s = round == 1 ? 1 : 0;
      t.record(e, s);
      t.wait(s, e);
      t.put(s, round);
      const bool free = t.runs(round);
      if (std::string refused = t.finish(); !refused.empty()) return refused;
      if (!free) return "a stream that waits for its own record does not go on";
    }
    return {};
  }
  /// What is queued on a stream still runs when the stream is destroyed.
  [[nodiscard]] std::string destruction() {
    stream made{};
    if (const auto s = b_.create_stream(made); !B::ok(s)) return std::string("create_stream fails: ") + B::text(s);
    law_work& work = *new law_work;
    const auto enqueued = enqueue_(b_, made, &law_work::call, work.expect(1, options_.glance));
    const auto destroyed = b_.destroy_stream(made);
    const bool ran = !B::ok(enqueued) || work.runs_within(1, options_.patience);
    if (!B::ok(enqueued)) work.forget_one();
    work.abandon();
    if (!B::ok(enqueued)) return std::string("enqueue fails: ") + B::text(enqueued);
    if (!B::ok(destroyed)) return std::string("destroy_stream fails: ") + B::text(destroyed);
    return ran ? "" : "what is queued on a stream is lost when the stream is destroyed";
  }

  // Of calls that fail. FailNext makes the next call fail, once.

  template <class FailNext>
  [[nodiscard]] std::string failed_enqueue(FailNext& fail_next) {
    trial t(b_, streams_, enqueue_, options_);
    t.put_held(0, 1);
    fail_next();
    const std::string said = complaint("enqueue", t.put(0, 2));
    t.forgive();
    t.put(0, 3);
    if (std::string refused = t.finish(); !refused.empty()) return "after an enqueue that failed, " + refused;
    if (!said.empty()) return said;
    const std::vector<int> done = t.done();
    return std::count(done.begin(), done.end(), 2) == 0 ? "" : "an enqueue that failed was done all the same";
  }
  template <class FailNext>
  [[nodiscard]] std::string failed_record(FailNext& fail_next) {
    trial t(b_, streams_, enqueue_, options_);
    const event e = t.make_event();
    t.record(e, 0);
    t.put_held(0, 1);
    fail_next();
    const std::string said = complaint("record", t.record(e, 0));
    t.forgive();
    t.wait(1, e);
    t.put(1, 2);
    const bool free = t.runs(2);
    if (std::string refused = t.finish(); !refused.empty()) return "after a record that failed, " + refused;
    if (!said.empty()) return said;
    return free ? "" : "a record that failed was done all the same";
  }
  template <class FailNext>
  [[nodiscard]] std::string failed_wait(FailNext& fail_next) {
    trial t(b_, streams_, enqueue_, options_);
    const event e = t.make_event();
    t.put_held(0, 1);
    t.record(e, 0);
    fail_next();
    const std::string said = complaint("wait", t.wait(1, e));
    t.forgive();
    t.put(1, 2);
    const bool free = t.runs(2);
    if (std::string refused = t.finish(); !refused.empty()) return "after a wait that failed, " + refused;
    if (!said.empty()) return said;
    return free ? "" : "a wait that failed was done all the same";
  }

 private:
  [[nodiscard]] static std::string complaint(const char* call, typename B::status_type returned) {
    if (B::ok(returned)) return std::string(call) + " does not report that it failed";
    const char* const text = B::text(returned);
    return text != nullptr && *text != 0 ? "" : std::string(call) + " fails, but the text of its status is empty";
  }

  B& b_;
  std::vector<stream> streams_;
  const Work& enqueue_;
  backend_law_options options_;
};

/// Whether the destructor of what is made returns in time. It runs on a thread of its own, which is left behind where
/// it does not.
template <class Made>
[[nodiscard]] bool ends_within(Made&& made, std::chrono::milliseconds patience) {
  struct ending {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  const auto state = std::make_shared<ending>();
  std::thread ender([state, held = std::forward<Made>(made)]() mutable {
    {
      const auto gone = std::move(held);
    }
    const std::lock_guard lock(state->mutex);
    state->done = true;
    state->changed.notify_all();
  });
  bool done = false;
  {
    std::unique_lock lock(state->mutex);
    done = state->changed.wait_for(lock, patience, [&] { return state->done; });
  }
  if (done) ender.join();
  else ender.detach();
  return done;
}

/// Makes backends, and ends them at every point of their lives.
template <class Make, class Work>
class backend_end_laws {
 public:
  backend_end_laws(Make& make, const Work& enqueue, const backend_law_options& options)
      : make_(make), enqueue_(enqueue), options_(options) {}

  /// A backend that nobody has used.
  [[nodiscard]] std::string unused() {
    auto made = make_();
    if (!made) return "make gives no backend";
    return detail::ends_within(std::move(made), options_.patience)
             ? ""
             : "the destructor does not return, though there was no work";
  }
  /// A backend whose work is done, with an event between its streams.
  [[nodiscard]] std::string after_work() {
    auto made = make_();
    if (!made) return "make gives no backend";
    auto& b = *made;
    using backend = std::remove_reference_t<decltype(b)>;
    typename backend::event_type e{};
    law_work& work = *new law_work;
    {
      const std::vector<typename backend::stream_type> streams(b.streams().begin(), b.streams().end());
      put(b, work, streams[0], 1);
      note("create_event", b, b.create_event(e));
      note("record", b, b.record(e, streams[0]));
      note("wait", b, b.wait(streams[1], e));
      put(b, work, streams[1], 2);
      for (const auto& s : streams) note("synchronize", b, b.synchronize(s));
      note("destroy_event", b, b.destroy_event(e));
    }
    return judge(detail::ends_within(std::move(made), options_.patience), work, 2, "after its work is done");
  }
  /// A backend that works: two pieces are held up for a while on each of two streams, and one is queued behind each.
  [[nodiscard]] std::string while_it_works() {
    auto made = make_();
    if (!made) return "make gives no backend";
    auto& b = *made;
    law_work& work = *new law_work;
    {
      using backend = std::remove_reference_t<decltype(b)>;
      const std::vector<typename backend::stream_type> streams(b.streams().begin(), b.streams().end());
      put(b, work, streams[0], 1, options_.glance);
      put(b, work, streams[1], 2, options_.glance);
      put(b, work, streams[0], 3);
      put(b, work, streams[1], 4);
    }
    return judge(detail::ends_within(std::move(made), options_.patience), work, 4, "while it works");
  }

 private:
  template <class B, class Stream>
  void put(B& b, law_work& work, const Stream& s, int number, std::chrono::milliseconds hold = {}) {
    if (!note("enqueue", b, enqueue_(b, s, &law_work::call, work.expect(number, hold)))) work.forget_one();
  }
  template <class B>
  bool note(const char* call, const B&, typename B::status_type returned) {
    if (B::ok(returned)) return true;
    if (refused_.empty()) refused_ = std::string(call) + " fails: " + B::text(returned);
    return false;
  }

  /// All pieces have run once and in order, and none runs when the backend is gone.
  [[nodiscard]] std::string judge(bool ended, law_work& work, int count, const std::string& when) {
    const std::vector<int> done = work.done();
    const bool late = ended && work.grows_within(done.size(), options_.glance + options_.glance);
    work.abandon();
    if (!refused_.empty()) return refused_;
    if (!ended) return "the destructor does not return " + when;
    if (late) return "work runs when the backend is gone, which was destroyed " + when;
    for (int i = 1; i <= count; ++i) {
      const auto times = std::count(done.begin(), done.end(), i);
      if (times == 0) return "what is queued is lost when the backend is destroyed " + when;
      if (times > 1) return "work " + std::to_string(i) + " runs again when the backend is destroyed " + when;
    }
    const auto place = [&done](int i) { return std::find(done.begin(), done.end(), i) - done.begin(); };
    const int step = count / 2;  // pieces i and i + step are on one stream, or on both sides of an event
    for (int i = 1; i + step <= count; ++i)
      if (place(i) > place(i + step)) return "work runs out of order when the backend is destroyed " + when;
    return {};
  }

  Make& make_;
  const Work& enqueue_;
  backend_law_options options_;
  std::string refused_;
};

template <class B, class Work>
[[nodiscard]] std::string broken_backend_law(B& b, std::span<const typename B::stream_type> streams,
                                             const Work& enqueue, const backend_law_options& options) {
  backend_laws<B, Work> laws(b, streams, enqueue, options);
  std::string broken = laws.statuses();
  if (broken.empty()) broken = laws.order_within_streams();
  if (broken.empty()) broken = laws.synchronizing();
  if (broken.empty()) broken = laws.independence();
  if (broken.empty()) broken = laws.waiting(0, 1);
  if (broken.empty()) broken = laws.waiting(1, 0);
  if constexpr (!launch::wait_resets_event<B>) {  // there, nobody records again before the reset is through
    if (broken.empty()) broken = laws.later_record();
    if (broken.empty()) broken = laws.latest_record();
  }
  if (broken.empty()) broken = laws.reuse();
  if constexpr (launch::stream_source<B>)
    if (broken.empty()) broken = laws.destruction();
  return broken;
}

}  // namespace detail

/// Whether a backend may be trusted with plans. Work runs once, in the order of its stream, and before `synchronize`
/// returns. Streams do not hold up each other or the host. A wait holds its stream until the record is reached that was
/// the latest when wait was called. Events serve again. Streams that the backend makes finish what they have queued
/// when they are destroyed. What depends on binding is left out where `wait_resets_event`. A law that is broken may
/// leave work behind.
/// @param streams  at least two, idle, of this backend
/// @param enqueue  see `host_functions`
/// @return an empty string, or the first law that is broken. Takes about a tenth of a second.
///
///     CHECK(hocket::testing::broken_law(device, device.streams()) == "");
template <testable_backend B, class Work = host_functions>
[[nodiscard]] std::string broken_law(B& b, std::span<const typename B::stream_type> streams, const Work& enqueue = {},
                                     const backend_law_options& options = {}) {
  HOCKET_ASSERT(streams.size() >= 2);
  if constexpr (!detail::takes_work<B, Work>()) return "no way to put work on a stream";
  else return detail::broken_backend_law(b, streams, enqueue, options);
}

// Not a backend, or not one that the laws can look into: the member that is missing in place of "no matching function".
template <class B, class Streams, class... Rest>
  requires(!testable_backend<B> && detail::meant_as_backend<B>)
std::string broken_law(B&, const Streams&, const Rest&...) {
  static_cast<void>(detail::checked_law_backend<B>{});
  return {};
}

/// Whether calls that fail say so and change nothing: the work does not run, the event keeps its earlier record, the
/// stream does not wait; and the backend works on.
/// @param fail_next  fail_next() makes the next call of the device fail, once: a fake, or an injected fault
/// @return as `broken_law`
///
///     broken_failure_law(cuda, streams, [] { fake::fail_next(); });
template <class B, class FailNext, class Work = host_functions>
[[nodiscard]] std::string broken_failure_law(B& b,
                                             std::span<const typename detail::checked_law_backend<B>::stream> streams,
                                             FailNext&& fail_next, const Work& enqueue = {},
                                             const backend_law_options& options = {}) {
  static_assert(detail::takes_work<B, Work>());
  HOCKET_ASSERT(streams.size() >= 2);
  detail::backend_laws<B, Work> laws(b, streams, enqueue, options);
  std::string broken = laws.failed_enqueue(fail_next);
  if (broken.empty()) broken = laws.failed_record(fail_next);
  if (broken.empty()) broken = laws.failed_wait(fail_next);
  if (!broken.empty()) return broken;
  broken = laws.order_within_streams();
  return broken.empty() ? "" : "after calls that failed, " + broken;
}

/// Whether a backend that owns its threads ends well: unused, after its work is done, and while it works. The
/// destructor returns; what is queued runs before that, once and in order; nothing runs afterwards.
/// @param make  gives a new backend in something to be dereferenced and moved, such as a result, an optional or a
///              unique_ptr. Its `streams()` are at least two
/// @return as `broken_law`. Takes as long as six glances, and the patience where a destructor does not return
///
///     CHECK(broken_end_law([] { return host_backend::start(2); }) == "");
template <class Make, class Work = host_functions>
[[nodiscard]] std::string broken_end_law(Make&& make, const Work& enqueue = {},
                                         const backend_law_options& options = {}) {
  using backend = std::remove_reference_t<decltype(*make())>;
  static_assert(testable_backend<backend>,
                "hocket: make() gives something that dereferences to a backend with create_event, destroy_event and "
                "synchronize");
  static_assert(
      requires(const backend& b) { b.streams().begin(); }, "hocket: a backend that owns its threads has streams()");
  detail::backend_end_laws<std::remove_reference_t<Make>, Work> laws(make, enqueue, options);
  std::string broken = laws.unused();
  if (broken.empty()) broken = laws.after_work();
  if (broken.empty()) broken = laws.while_it_works();
  return broken;
}

}  // namespace hocket::inline HOCKET_ABI::testing
