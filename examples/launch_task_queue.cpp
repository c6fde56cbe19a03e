// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A framework that keeps a task queue of its own in front of the device's streams, as torch_npu does. Its kernels, its
// records and its waits go through the queue; a record called on the bare stream overtakes the kernels that are still
// in it. The same plan is driven both ways: through the framework's verbs it is right, around them it is wrong, and
// nothing reports it. That is why a backend of hocket is a policy and not a set of calls on handles.
#include <hocket/launch.hpp>
#include <hocket/launch/backends/host.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace framework {

using stream = hocket::launch::host_stream;  // stands for the device's own handles
using event = hocket::launch::host_event;
using device = hocket::launch::host_backend;

// One host thread issues to the device what the program's threads queue.
class task_queue {
 public:
  explicit task_queue(device& d) : device_(d), thread_([this] { issue(); }) {}
  ~task_queue() {
    push(nullptr);
    thread_.join();
  }
  void launch(stream s, std::function<void()> kernel) {
    kernels_.push_back(std::move(kernel));
    push([this, s, k = &kernels_.back()] { static_cast<void>(device_.enqueue(s, [k] { (*k)(); })); });
  }
  void record(event e, stream s) {
    push([this, e, s] { static_cast<void>(device_.record(e, s)); });
  }
  void wait(stream s, event e) {
    push([this, s, e] { static_cast<void>(device_.wait(s, e)); });
  }
  // A busy host: the queue is behind by whatever is pushed while it is held.
  void hold(bool on) {
    const std::lock_guard lock(mutex_);
    held_ = on;
    changed_.notify_all();
  }
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
  }

 private:
  void push(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void issue() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !tasks_.empty() && !held_; });
      std::function<void()> task = std::move(tasks_.front());
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

  device& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_, kernels_;
  bool busy_ = false, held_ = false;
  std::thread thread_;
};

}  // namespace framework

// What the framework's people write: their verbs.
struct queue_backend {
  using stream_type = framework::stream;
  using event_type = framework::event;
  using status_type = int;
  framework::task_queue* queue;
  int record(framework::event e, framework::stream s) noexcept {
    queue->record(e, s);
    return 0;
  }
  int wait(framework::stream s, framework::event e) noexcept {
    queue->wait(s, e);
    return 0;
  }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return "ok"; }
};

// The mistake: kernels through the queue, records and waits on the device's handles.
struct bare_backend {
  using stream_type = framework::stream;
  using event_type = framework::event;
  using status_type = hocket::launch::host_status;
  framework::device* device;
  status_type record(framework::event e, framework::stream s) noexcept { return device->record(e, s); }
  status_type wait(framework::stream s, framework::event e) noexcept { return device->wait(s, e); }
  static bool ok(status_type status) noexcept { return status == status_type{}; }
  static const char* text(status_type status) noexcept { return to_string(status).data(); }
};

template <class Backend>
int consumer_sees(Backend backend, framework::device& device, framework::task_queue& queue) {
  using namespace hocket::launch;
  // Op 0 on stream 0 makes a value; op 1 on stream 1 waits for it and reads it.
  const auto list =
      command_list::make(std::vector{run_op(0, 0), record_event(0, 0), wait_event(0, 1), run_op(1, 1)}, 2).value();
  event_pool events(device);
  if (!events.prepare(list)) return -1;
  std::atomic<int> value{0}, seen{-1};
  const auto kernel = [&](hocket::node_id op) {
    if (op == 1) {
      seen = value.load();
      return;
    }
    // Slow enough that a consumer that does not wait is there first.
    for (int i = 0; i < 200 && seen == -1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    value = 42;
  };
  queue.hold(true);
  const auto done =
      drive(backend, list, device.streams(), events.events(),
            [&](hocket::node_id op, framework::stream s) { queue.launch(s, [&kernel, op] { kernel(op); }); });
  queue.hold(false);
  queue.drain();
  return done && device.synchronize() ? seen.load() : -1;
}

int main() {
  auto device = hocket::launch::host_backend::start(2).value();
  framework::task_queue queue(device);
  const int right = consumer_sees(queue_backend{&queue}, device, queue);
  const int wrong = consumer_sees(bare_backend{&device}, device, queue);
  std::printf("through the framework's queue the consumer sees %d; around it, %d\n", right, wrong);
  return right == 42 && wrong == 0 ? 0 : 1;
}
