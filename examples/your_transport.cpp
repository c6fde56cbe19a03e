// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A framework's own transport, judged and measured in its own project: mailboxes between threads. A send copies its
// bytes into the receiver's box. The laws find the mistake of a first version, which takes whatever message of the peer
// has the right length, and not the next one.
#include <hocket/launch/transport.hpp>
#include <hocket/testing/launch_benchmark.hpp>
#include <hocket/testing/transport_laws.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using bytes = std::vector<unsigned char>;

/// Of messages from one rank to another.
struct mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<bytes> messages;
};

/// One rank's end. Receives complete when they are asked about, in the order in which they were posted. `Hasty` is the
/// first version.
template <bool Hasty>
class mail {
 public:
  using stream_type = hocket::launch::no_stream;
  using status_type = int;  // 0 is ok
  struct request_type {
    mailbox* from = nullptr;  // null: complete
    void* to = nullptr;
    std::size_t size = 0;
    std::uint64_t number = 0;  // of the receives from that rank
  };

  mail(std::vector<mailbox>& boxes, std::uint32_t rank, std::uint32_t ranks)
      : boxes_(&boxes), rank_(rank), ranks_(ranks), posted_(ranks), taken_(ranks), early_(ranks) {}

  int send(const void* from, std::size_t size, std::uint32_t peer, std::uint32_t, stream_type,
           request_type& r) noexcept {
    if (peer >= ranks_) return no_such_rank;
    mailbox& box = (*boxes_)[rank_ * ranks_ + peer];
    const auto* const first = static_cast<const unsigned char*>(from);
    const std::lock_guard lock(box.mutex);
    box.messages.emplace_back(first, first + size);
    box.changed.notify_all();
    r = {};
    return 0;
  }
  int recv(void* to, std::size_t size, std::uint32_t peer, std::uint32_t, stream_type, request_type& r) noexcept {
    if (peer >= ranks_) return no_such_rank;
    r = {&(*boxes_)[peer * ranks_ + rank_], to, size, posted_[peer]++};
    return 0;
  }
  int group_begin() noexcept { return 0; }
  int group_end(stream_type) noexcept { return 0; }
  int progress() noexcept { return 0; }
  void abort() noexcept {}

  int test(request_type& r, bool& done) noexcept { return take(r, done, std::chrono::milliseconds(0)); }
  int wait(request_type& r) noexcept {
    bool done = false;
    const int status = take(r, done, std::chrono::seconds(2));
    return status == 0 && !done ? timed_out : status;
  }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int status) noexcept {
    constexpr const char* texts[] = {"ok", "no such rank", "nothing came for two seconds",
                                     "a message of another length"};
    return texts[status];
  }

 private:
  static constexpr int no_such_rank = 1, timed_out = 2, other_length = 3;

  // Whoever is asked about takes what was sent for those before it, too, and keeps it for them.
  int take(request_type& r, bool& done, std::chrono::milliseconds patience) noexcept {
    done = r.from == nullptr;
    if (done) return 0;
    const auto peer = static_cast<std::uint32_t>(r.from - boxes_->data()) / ranks_;
    bytes message;
    if constexpr (Hasty) {
      std::unique_lock lock(r.from->mutex);
      const auto there = [&] { return !r.from->messages.empty(); };
      if (!r.from->changed.wait_for(lock, patience, there)) return 0;
      message = std::move(r.from->messages.front());
      r.from->messages.pop_front();
    } else {
      std::unique_lock lock(r.from->mutex);
      const auto there = [&] { return taken_[peer] + r.from->messages.size() > r.number; };
      if (!r.from->changed.wait_for(lock, patience, there)) return 0;
      for (; taken_[peer] <= r.number; ++taken_[peer]) {
        early_[peer].push_back(std::move(r.from->messages.front()));
        r.from->messages.pop_front();
      }
      message = std::move(early_[peer][r.number]);
    }
    r.from = nullptr;
    done = true;
    if (message.size() != r.size) return other_length;
    if (r.size != 0) std::memcpy(r.to, message.data(), r.size);
    return 0;
  }

  std::vector<mailbox>* boxes_;  // [from][to]
  std::uint32_t rank_;
  std::uint32_t ranks_;
  std::vector<std::uint64_t> posted_, taken_;  // by peer: receives, and messages taken out of the box
  std::vector<std::vector<bytes>> early_;      // by peer: those, until their receive is asked about
};

/// Every rank is a thread; the first complaint.
template <bool Hasty>
std::string judge(std::uint32_t ranks) {
  std::vector<mailbox> boxes(std::size_t{ranks} * ranks);
  std::vector<std::string> said(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      mail<Hasty> t(boxes, r, ranks);
      said[r] = hocket::testing::broken_law(t, r, ranks, {.patience = std::chrono::milliseconds(200)});
    });
  for (std::thread& t : threads) t.join();
  for (const std::string& s : said)
    if (!s.empty()) return s;
  return {};
}

void measure() {
  constexpr std::size_t round_trips = 200;
  std::vector<mailbox> boxes(4);
  bytes here(65536), there(65536), copy;
  const auto run = [&](std::uint32_t rank, bytes& memory) {
    mail<false> t(boxes, rank, 2);
    return hocket::testing::bounce(t, 1 - rank, rank == 0, memory, round_trips);
  };
  const auto start = std::chrono::steady_clock::now();
  std::thread other([&] { static_cast<void>(run(1, there)); });
  const std::size_t done = run(0, here);
  other.join();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  const auto again = std::chrono::steady_clock::now();
  const unsigned char kept = hocket::testing::copy_bytes(copy, here, round_trips);
  const std::chrono::duration<double, std::micro> floor = std::chrono::steady_clock::now() - again;
  std::printf("%zu round trips of 64 KiB: %.1f us each, copying alone %.1f us (%u)\n", done, took.count() / round_trips,
              floor.count() / round_trips, unsigned{kept});
}

}  // namespace

int main() {
  const std::string first = judge<true>(3);
  const std::string mended = judge<false>(3);
  std::printf("first version: %s\nmended: %s\n", first.c_str(), mended.empty() ? "no law is broken" : mended.c_str());
  measure();
  return !first.empty() && mended.empty() ? 0 : 1;
}
