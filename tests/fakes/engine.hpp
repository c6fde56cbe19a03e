// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fake device: streams are threads with a queue, events have versions. Written from the documents, so it proves the
// order and the meaning of calls as we read them, not what hardware does.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "fake_device.hpp"

namespace fake {

// What went wrong, before a vendor's number is put on it.
enum class verdict {
  ok,
  bad_handle,
  no_events,
  no_streams,
  timed_out,
  not_allowed_in_capture,  // CUDA 900
  already_capturing,       // a stream that takes part is synchronised, or captured once more: 900, too
  default_stream,          // and that one is not captured at all
  capture_invalidated,     // 901
  capture_merge,           // 902
  capture_unmatched,       // 903
  capture_unjoined,        // 904
  capture_isolation,       // 905
  not_capturing,
};

// One record of an event.
struct version {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::chrono::steady_clock::time_point at{};
};

using task = std::function<void()>;

struct capture_state {
  struct node {
    task work;
    std::vector<std::size_t> after;
    std::set<std::size_t> early{};  // those of them that need not have ended: programmatic edges
  };
  struct stream* origin = nullptr;
  std::vector<node> nodes;
  std::set<struct stream*> streams;
  bool invalid = false;
};

struct graph {
  std::vector<capture_state::node> nodes;
  std::deque<std::size_t> handles{};  // of the nodes: the address is the handle, the value the node's number
  [[nodiscard]] std::size_t* handle(std::size_t number) {
    while (handles.size() <= number) handles.push_back(handles.size());
    return &handles[number];
  }
};

struct stream {
  unsigned number = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<task> queue;
  bool stopping = false, busy = false;
  std::atomic<int> error{0};           // AscendCL: the code of a task that failed on this stream
  std::atomic<bool> stop_mode{false};  // AscendCL: ACL_STOP_ON_FAILURE
  std::shared_ptr<capture_state> capture;
  std::vector<std::size_t> frontier;  // in the capture: what the next node follows
  std::thread thread;
};

struct event {
  bool classic = false, timed = false, waitable = true, holds_id = false;
  std::shared_ptr<version> latest;
  std::shared_ptr<capture_state> capture;  // of the latest record, if that was captured
  std::vector<std::size_t> frontier;
  // Classic: one flag, set by a record, waited for, taken back by a reset.
  std::mutex mutex;
  std::condition_variable changed;
  bool flag = false;
};

class engine {
 public:
  static engine& get();

  void reset(const settings& s);
  counters count();
  void settle();
  void fail_next(std::uint64_t others) { settings_.fail_at = calls_ + others; }
  void lose() {
    settings_.fail_at = calls_;
    settings_.sticky = true;
  }
  [[nodiscard]] const settings& now() const { return settings_; }

  /// Every C function begins with this: the code to return, or 0 to go on.
  int enter();
  void read_last_error() { ++last_error_reads_; }

  verdict create_stream(stream*& out);
  verdict destroy_stream(stream* s);
  verdict synchronize(stream* s);
  verdict query(stream* s);  // timed_out: it works
  void stop_on_failure(stream* s);

  verdict create_event(event*& out, bool classic, bool timed, bool waitable);
  verdict destroy_event(event* e);
  verdict record(event* e, stream* s);
  verdict wait(stream* s, event* e);
  verdict reset_event(event* e, stream* s);
  verdict elapsed(event* from, event* to, float& ms);
  std::uint64_t available_events();

  verdict launch(stream* s, task work, bool host_function);

  verdict begin_capture(stream* s);
  verdict end_capture(stream* s, graph*& out);
  verdict launch_graph(graph* g, stream* s);
  graph* copy(const graph& g);
  void destroy(graph* g);
  /// f(*g) under the lock.
  template <class F>
  verdict edit(graph* g, F f) {
    const std::lock_guard lock(mutex_);
    return graphs_.count(g) == 0 ? verdict::bad_handle : f(*g);
  }

  // CUDA: a fault takes the whole context with it, for good.
  std::atomic<int> context_error{0};
  std::atomic<bool> ascend{false};  // whose rules hold: set by the first call of either library
  void fail(stream* s, int code);

 private:
  engine() = default;
  void work_off(stream& s);
  void push(stream& s, task t);
  void drain(stream& s);
  verdict in_capture(stream* s, verdict why);
  bool known(stream* s) const { return streams_.count(s) != 0; }
  bool known(event* e) const { return events_.count(e) != 0; }
  [[nodiscard]] bool dead(const stream& s) const;

  settings settings_;
  std::recursive_mutex mutex_;  // of what the host side sees
  std::condition_variable_any released_;
  std::set<stream*> streams_;
  std::set<event*> events_;
  std::set<graph*> graphs_;
  std::atomic<bool> any_stop_{false};
  std::atomic<std::uint64_t> calls_{0}, created_events_{0}, waits_on_nothing_{0}, gave_up_{0}, last_error_reads_{0},
      host_functions_{0}, stops_{0};
  std::uint64_t ids_ = 0;
  unsigned next_stream_ = 0;
};

}  // namespace fake
