// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine.hpp"

#include <algorithm>
#include <utility>

namespace fake {

engine& engine::get() {
  static engine instance;
  return instance;
}

void engine::reset(const settings& s) {
  for (;;) {  // joining needs the lock to be free: records and waits take none, but host functions may call back
    stream* one = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (streams_.empty()) break;
      one = *streams_.begin();
    }
    one->capture.reset();
    static_cast<void>(destroy_stream(one));
  }
  const std::lock_guard lock(mutex_);
  for (event* e : events_) delete e;
  for (graph* g : graphs_) delete g;
  events_.clear();
  graphs_.clear();
  settings_ = s;
  calls_ = created_events_ = waits_on_nothing_ = gave_up_ = last_error_reads_ = host_functions_ = stops_ = 0;
  ids_ = 0;
  next_stream_ = 0;
  any_stop_ = false;
  context_error = 0;
}

void engine::settle() {
  const std::lock_guard lock(mutex_);
  for (stream* s : streams_) drain(*s);
}

counters engine::count() {
  const std::lock_guard lock(mutex_);
  counters c;
  c.calls = calls_;
  c.created_events = created_events_;
  c.live_events = events_.size();
  c.live_streams = streams_.size();
  c.live_graphs = graphs_.size();
  c.waits_on_nothing = waits_on_nothing_;
  c.gave_up = gave_up_;
  c.last_error_reads = last_error_reads_;
  c.host_functions = host_functions_;
  c.stops_on_failure = stops_;
  return c;
}

int engine::enter() {
  const std::uint64_t call = calls_++;
  if (call == settings_.fail_at || (settings_.sticky && call > settings_.fail_at)) return settings_.fail_code;
  return context_error;
}

// ---- streams

void engine::push(stream& s, task t) {
  {
    const std::lock_guard lock(s.mutex);
    s.queue.push_back(std::move(t));
  }
  s.changed.notify_all();
}

void engine::work_off(stream& s) {
  std::minstd_rand random(settings_.seed * 7919 + s.number + 1);
  const unsigned max_delay = settings_.max_delay;
  for (;;) {
    task next;
    {
      std::unique_lock lock(s.mutex);
      s.busy = false;
      s.changed.notify_all();
      s.changed.wait(lock, [&] { return s.stopping || !s.queue.empty(); });
      if (s.queue.empty()) return;
      next = std::move(s.queue.front());
      s.queue.pop_front();
      s.busy = true;
    }
    if (max_delay != 0)
      for (std::size_t pause = random() % (max_delay + 1); pause > 0; --pause) std::this_thread::yield();
    next();
  }
}

void engine::drain(stream& s) {
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return s.queue.empty() && !s.busy; });
}

bool engine::dead(const stream& s) const {
  return context_error != 0 || (ascend && s.error != 0 && s.stop_mode) || (ascend && any_stop_);
}

void engine::fail(stream* s, int code) {
  int none = 0;
  if (!ascend) {
    context_error.compare_exchange_strong(none, code);
  } else {
    s->error.compare_exchange_strong(none, code);
    if (s->stop_mode) any_stop_ = true;  // "the other streams of the context stop as well"
  }
}

verdict engine::create_stream(stream*& out) {
  const std::lock_guard lock(mutex_);
  if (streams_.size() >= settings_.max_streams) return verdict::no_streams;
  auto* s = new stream;
  s->number = next_stream_++;
  s->thread = std::thread([this, s] { work_off(*s); });
  streams_.insert(s);
  out = s;
  return verdict::ok;
}

verdict engine::destroy_stream(stream* s) {
  {
    const std::lock_guard lock(mutex_);
    if (streams_.erase(s) == 0) return verdict::bad_handle;
  }
  {
    const std::lock_guard lock(s->mutex);
    s->stopping = true;
  }
  s->changed.notify_all();
  s->thread.join();  // what is queued is finished first
  delete s;
  return verdict::ok;
}

// Whatever a capture forbids also spoils it.
verdict engine::in_capture(stream* s, verdict why) {
  s->capture->invalid = true;
  return why;
}

verdict engine::synchronize(stream* s) {
  {
    const std::lock_guard lock(mutex_);
    if (!known(s)) return verdict::bad_handle;
    if (s->capture) return in_capture(s, verdict::already_capturing);
  }
  drain(*s);
  return verdict::ok;
}

verdict engine::query(stream* s) {
  const std::lock_guard lock(mutex_);
  if (!known(s)) return verdict::bad_handle;
  if (s->capture) return in_capture(s, verdict::already_capturing);
  const std::lock_guard inner(s->mutex);
  return s->queue.empty() && !s->busy ? verdict::ok : verdict::timed_out;
}

void engine::stop_on_failure(stream* s) {
  s->stop_mode = true;
  ++stops_;
}

// ---- events

verdict engine::create_event(event*& out, bool classic, bool timed, bool waitable) {
  const std::lock_guard lock(mutex_);
  if (ascend && classic) {  // takes its hardware id at once
    if (ids_ >= settings_.max_events) return verdict::no_events;
    ++ids_;
  }
  auto* e = new event;
  e->classic = classic;
  e->timed = timed;
  e->waitable = waitable;
  e->holds_id = ascend && classic;
  events_.insert(e);
  ++created_events_;
  out = e;
  return verdict::ok;
}

verdict engine::destroy_event(event* e) {
  const std::lock_guard lock(mutex_);
  if (events_.erase(e) == 0) return verdict::bad_handle;
  if (e->holds_id) {
    --ids_;
    released_.notify_all();
  }
  if (e->classic)
    for (stream* s : streams_) drain(*s);  // its flag is in use: "after the waits are through"
  delete e;
  return verdict::ok;
}

std::uint64_t engine::available_events() {
  const std::lock_guard lock(mutex_);
  return settings_.max_events - ids_;
}

verdict engine::record(event* e, stream* s) {
  std::unique_lock lock(mutex_);
  if (!known(e) || !known(s)) return verdict::bad_handle;
  if (s->capture) {
    if (s->capture->invalid) return verdict::capture_invalidated;
    e->capture = s->capture;
    e->frontier = s->frontier;
    e->latest.reset();
    return verdict::ok;
  }
  e->capture.reset();
  if (ascend && !e->classic && !e->holds_id) {
    if (!released_.wait_for(lock, settings_.patience, [&] { return ids_ < settings_.max_events; })) {
      ++gave_up_;
      return verdict::no_events;
    }
    ++ids_;
    e->holds_id = true;
  }
  if (e->classic) {
    push(*s, [e] {
      const std::lock_guard inner(e->mutex);
      e->flag = true;
      e->changed.notify_all();
    });
    e->latest = std::make_shared<version>();  // only to know that it was recorded at all
    return verdict::ok;
  }
  const auto v = e->latest = std::make_shared<version>();
  push(*s, [v] {
    const std::lock_guard inner(v->mutex);
    v->done = true;
    v->at = std::chrono::steady_clock::now();
    v->changed.notify_all();
  });
  return verdict::ok;
}

verdict engine::wait(stream* s, event* e) {
  const std::lock_guard lock(mutex_);
  if (!known(e) || !known(s) || !e->waitable) return verdict::bad_handle;
  if (s->capture && s->capture->invalid) return verdict::capture_invalidated;
  if (e->capture) {
    if (e->capture->invalid) return verdict::capture_invalidated;
    if (s->capture && s->capture != e->capture) return in_capture(s, verdict::capture_merge);
    if (!s->capture) {
      s->capture = e->capture;
      s->frontier.clear();
      s->capture->streams.insert(s);
    }
    for (const std::size_t node : e->frontier)
      if (std::find(s->frontier.begin(), s->frontier.end(), node) == s->frontier.end()) s->frontier.push_back(node);
    return verdict::ok;
  }
  if (s->capture) return in_capture(s, verdict::capture_isolation);
  if (!e->latest) {
    ++waits_on_nothing_;
    if (!e->classic) return verdict::ok;  // passes at once
  }
  const auto patience = settings_.patience;
  if (e->classic) {
    push(*s, [this, e, patience] {
      std::unique_lock inner(e->mutex);
      if (!e->changed.wait_for(inner, patience, [e] { return e->flag; })) ++gave_up_;
    });
    return verdict::ok;
  }
  push(*s, [v = e->latest] {
    std::unique_lock inner(v->mutex);
    v->changed.wait(inner, [&] { return v->done; });
  });
  return verdict::ok;
}

verdict engine::reset_event(event* e, stream* s) {
  const std::lock_guard lock(mutex_);
  if (!known(e) || !known(s) || !e->classic) return verdict::bad_handle;
  if (s->capture) return in_capture(s, verdict::not_allowed_in_capture);
  push(*s, [e] {
    const std::lock_guard inner(e->mutex);
    e->flag = false;
  });
  return verdict::ok;
}

verdict engine::elapsed(event* from, event* to, float& ms) {
  const std::lock_guard lock(mutex_);
  if (!known(from) || !known(to) || !from->timed || !to->timed || !from->latest || !to->latest)
    return verdict::bad_handle;
  const std::lock_guard first(from->latest->mutex);
  std::unique_lock<std::mutex> second;
  if (from->latest != to->latest) second = std::unique_lock(to->latest->mutex);
  if (!from->latest->done || !to->latest->done) return verdict::timed_out;
  ms = std::chrono::duration<float, std::milli>(to->latest->at - from->latest->at).count();
  return verdict::ok;
}

// ---- work

verdict engine::launch(stream* s, task work, bool host_function) {
  const std::lock_guard lock(mutex_);
  if (!known(s)) return verdict::bad_handle;
  if (!s->capture) {
    push(*s, [this, s, host_function, work = std::move(work)] {
      if (dead(*s)) return;
      if (host_function) ++host_functions_;
      work();
    });
    return verdict::ok;
  }
  if (s->capture->invalid) return verdict::capture_invalidated;
  if (ascend && host_function) return in_capture(s, verdict::not_allowed_in_capture);
  s->capture->nodes.push_back({[this, work = std::move(work)] {
                                 if (context_error == 0) work();
                               },
                               std::exchange(s->frontier, {s->capture->nodes.size()})});
  return verdict::ok;
}

verdict engine::begin_capture(stream* s) {
  const std::lock_guard lock(mutex_);
  if (!known(s)) return verdict::default_stream;
  if (s->capture) return in_capture(s, verdict::already_capturing);
  s->capture = std::make_shared<capture_state>();
  s->capture->origin = s;
  s->capture->streams.insert(s);
  s->frontier.clear();
  return verdict::ok;
}

verdict engine::end_capture(stream* s, graph*& out) {
  const std::lock_guard lock(mutex_);
  if (!known(s) || !s->capture) return verdict::not_capturing;
  const auto capture = s->capture;
  if (capture->origin != s) return in_capture(s, verdict::capture_unmatched);
  // Everything must come before the end of the origin.
  std::vector<bool> before(capture->nodes.size());
  std::vector<std::size_t> open = s->frontier;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (before[node]) continue;
    before[node] = true;
    open.insert(open.end(), capture->nodes[node].after.begin(), capture->nodes[node].after.end());
  }
  const bool joined = std::all_of(before.begin(), before.end(), [](bool b) { return b; });
  for (stream* one : capture->streams)
    if (known(one)) {
      one->capture.reset();
      one->frontier.clear();
    }
  for (event* e : events_)
    if (e->capture == capture) {
      e->capture.reset();
      e->frontier.clear();
    }
  if (capture->invalid) return verdict::capture_invalidated;
  if (!joined) return verdict::capture_unjoined;
  out = copy({capture->nodes});
  return verdict::ok;
}

graph* engine::copy(const graph& g) {
  const std::lock_guard lock(mutex_);
  auto* made = new graph{g.nodes};
  graphs_.insert(made);
  return made;
}

void engine::destroy(graph* g) {
  const std::lock_guard lock(mutex_);
  if (graphs_.erase(g) != 0) delete g;
}

verdict engine::launch_graph(graph* g, stream* s) {
  const std::lock_guard lock(mutex_);
  if (graphs_.count(g) == 0 || !known(s) || s->capture) return verdict::bad_handle;
  // Any order that the dependencies allow, another one each time: what was not captured as an order is none.
  push(*s, [nodes = g->nodes, random = std::minstd_rand(settings_.seed + static_cast<unsigned>(calls_) + 1)]() mutable {
    std::vector<std::size_t> missing(nodes.size()), ready;
    std::vector<std::vector<std::size_t>> followers(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      missing[i] = nodes[i].after.size();
      for (const std::size_t a : nodes[i].after) followers[a].push_back(i);
      if (missing[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      std::swap(ready[random() % ready.size()], ready.back());
      const std::size_t node = ready.back();
      ready.pop_back();
      nodes[node].work();
      for (const std::size_t f : followers[node])
        if (--missing[f] == 0) ready.push_back(f);
    }
  });
  return verdict::ok;
}

void reset(const settings& s) { engine::get().reset(s); }
counters count() { return engine::get().count(); }
void fail_next(std::uint64_t others) { engine::get().fail_next(others); }
void lose() { engine::get().lose(); }
void settle() { engine::get().settle(); }

}  // namespace fake
