// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The network behind the fakes of NCCL and HCCL: transfers meet on the fake device's streams. As on hardware, a
// transfer holds its stream until its peer comes; a rank that gives up ends its own transfers at once, and others only
// hear of it.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace fake {

struct transfer {
  bool sends = false;
  void* data = nullptr;
  std::size_t bytes = 0;
  std::uint32_t peer = 0;
};

class network {
 public:
  explicit network(std::uint32_t ranks) : given_up_(ranks) {}
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(given_up_.size()); }

  /// On a stream's thread: all these transfers of one rank together, until they are complete or the rank gives up.
  void run(std::uint32_t rank, const std::vector<transfer>& all);
  void give_up(std::uint32_t rank);
  /// Whether another rank gave up.
  [[nodiscard]] bool is_broken(std::uint32_t rank);

 private:
  struct entry {
    transfer what;
    std::uint32_t rank = 0;
    bool done = false;
  };
  struct channel {
    std::deque<entry*> sends, receives;
  };
  void meet(channel& c);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, channel> channels_;  // from, to
  std::vector<bool> given_up_;
};

/// What a communicator's handle points at.
struct communicator {
  std::shared_ptr<network> net;
  std::uint32_t rank = 0;
};

/// One communicator a rank. They live until the process ends: a rank that gave up may still be asked about.
std::vector<communicator*> make_communicators(std::uint32_t ranks);

/// Enqueues the transfers of a communicator on a stream of the fake device. @return whether there is such a stream
bool enqueue(communicator* on, std::vector<transfer> all, void* stream);

}  // namespace fake
