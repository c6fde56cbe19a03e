// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A framework's own backend, judged and measured in its own project. The framework has streams (a queue and a thread)
// and fences; the backend says in a few lines what record and wait mean there. The laws find the mistake of a first
// version, which waits for the fence as it is when the stream gets there, and not as it was when wait was called.
#include <hocket/launch.hpp>
#include <hocket/testing/backend_laws.hpp>
#include <hocket/testing/launch_benchmark.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace framework {

/// A queue and the thread that works it off.
class stream {
 public:
  stream() : thread_([this] { work(); }) {}
  stream(const stream&) = delete;
  ~stream() {
    push(nullptr);
    thread_.join();
  }
  void push(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      if (!task) return;
      busy_ = true;
      lock.unlock();
      task();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;
  std::thread thread_;  // last: it uses the others
};

/// Counts how often it was issued and how often it was reached.
struct fence {
  std::mutex mutex;
  std::condition_variable changed;
  int issued = 0;
  int reached = 0;
};

}  // namespace framework

namespace {

/// What the framework's people write. `Late` is their first version.
template <bool Late>
struct backend {
  using stream_type = framework::stream*;
  using event_type = framework::fence*;
  using status_type = int;

  int record(framework::fence* f, framework::stream* s) noexcept {
    {
      const std::lock_guard lock(f->mutex);
      ++f->issued;
    }
    s->push([f] {
      const std::lock_guard lock(f->mutex);
      ++f->reached;
      f->changed.notify_all();
    });
    return 0;
  }
  int wait(framework::stream* s, framework::fence* f) noexcept {
    int until = 0;
    {
      const std::lock_guard lock(f->mutex);
      until = f->issued;
    }
    s->push([f, until] {
      std::unique_lock lock(f->mutex);
      f->changed.wait(lock, [&] { return f->reached >= (Late ? f->issued : until); });
    });
    return 0;
  }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int status) noexcept { return status == 0 ? "ok" : "failed"; }

  // For the laws and for event_pool.
  int enqueue(framework::stream* s, void (*f)(void*), void* argument) noexcept {
    s->push([f, argument] { f(argument); });
    return 0;
  }
  int synchronize(framework::stream* s) noexcept {
    s->drain();
    return 0;
  }
  int create_event(framework::fence*& out) noexcept {
    out = new framework::fence;
    return 0;
  }
  int destroy_event(framework::fence* f) noexcept {
    delete f;
    return 0;
  }
};

/// The same with threads of its own.
class runtime : public backend<false> {
 public:
  [[nodiscard]] std::span<framework::stream* const> streams() const { return streams_; }

 private:
  framework::stream one_, two_;
  framework::stream* streams_[2] = {&one_, &two_};
};

template <bool Late>
std::string judge() {
  backend<Late> device;
  framework::stream one, two;
  framework::stream* const streams[] = {&one, &two};
  return hocket::testing::broken_law(device, std::span<framework::stream* const>(streams), {},
                                     {.patience = std::chrono::seconds(2)});
}

/// Nanoseconds a command from the list to the framework's queues, through `drive` and by a loop written by hand.
void measure() {
  backend<false> device;
  framework::stream one, two;
  framework::stream* const streams[] = {&one, &two};
  const auto list = hocket::launch::reuse_events(hocket::testing::ring_list(2, 2000));
  hocket::launch::event_pool events(device);
  if (!events.prepare(list)) return;
  const auto launch = [](hocket::node_id, framework::stream* s) {
    s->push([] {});
    return 0;
  };
  const auto time = [&](auto issue) {
    const auto start = std::chrono::steady_clock::now();
    const std::size_t issued =
        issue(device, list, std::span<framework::stream* const>(streams), events.events(), launch);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    for (framework::stream* const s : streams) s->drain();
    return took.count() / static_cast<double>(issued);
  };
  const double driven = time([](auto&&... x) { return hocket::testing::issue_by_drive(x...); });
  const double by_hand = time([](auto&&... x) { return hocket::testing::issue_by_hand(x...); });
  std::printf("a command: %.0f ns by drive, %.0f ns by hand\n", driven, by_hand);
}

}  // namespace

int main() {
  const std::string first = judge<true>();
  const std::string mended = judge<false>();
  std::printf("first version: %s\nmended: %s\n", first.c_str(), mended.empty() ? "no law is broken" : mended.c_str());
  const std::string end = hocket::testing::broken_end_law([] { return std::make_unique<runtime>(); });
  std::printf("destroyed unused, after work and while it works: %s\n", end.empty() ? "no law is broken" : end.c_str());
  measure();
  return first == "a wait waits for a record that was made after it" && mended.empty() && end.empty() ? 0 : 1;
}
