// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A transport in stream order as one that completes on the host, so that both obey the same laws: a stream for each
// peer and direction, and one for groups.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/launch/synchronize_within.hpp>
#include <hocket/launch/transport.hpp>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace launch_test {

template <class T, hocket::launch::polled_backend B>
class stream_transport {
 public:
  using stream_type = hocket::launch::no_stream;
  struct request_type {
    std::uint32_t stream = hocket::no_id;  // none: complete
  };
  using status_type = std::int64_t;  // the vendor's, or one of these
  static constexpr status_type timed_out = -1;
  static constexpr status_type given_up = -2;

  /// `streams`: two a rank, and one.
  stream_transport(T inner, std::vector<typename B::stream_type> streams, std::chrono::milliseconds limit)
      : inner_(inner), streams_(std::move(streams)), limit_(limit) {}

  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, stream_type,
                   request_type& request) noexcept {
    const std::uint32_t stream = stream_of(2 * peer);
    hocket::launch::no_request none;
    request.stream = stream;
    return inner_.send(from, bytes, peer, tag, streams_[stream], none);
  }
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, stream_type,
                   request_type& request) noexcept {
    const std::uint32_t stream = stream_of(2 * peer + 1);
    hocket::launch::no_request none;
    request.stream = stream;
    return inner_.recv(to, bytes, peer, tag, streams_[stream], none);
  }
  status_type group_begin() noexcept {
    in_group_ = true;
    return inner_.group_begin();
  }
  status_type group_end(stream_type) noexcept {
    in_group_ = false;
    return inner_.group_end(streams_.back());
  }
  status_type progress() noexcept {
    if (gone_) return given_up;
    const auto status = inner_.progress();
    return T::ok(status) ? 0 : static_cast<status_type>(status);
  }
  void abort() noexcept {
    gone_ = true;
    inner_.abort();
  }
  status_type test(request_type& request, bool& done) noexcept {
    done = request.stream == hocket::no_id;
    if (done) return 0;
    if (const status_type behind = progress(); behind != 0) return behind;
    const auto status = backend_.is_idle(streams_[request.stream], done);
    if (done) request.stream = hocket::no_id;
    return B::ok(status) ? 0 : static_cast<status_type>(status);
  }
  /// What a host does that must not hang: looks at the stream and at the communicator, until its time is over.
  status_type wait(request_type& request) noexcept {
    const auto start = std::chrono::steady_clock::now();
    for (bool done = false;;) {
      if (const status_type status = test(request, done); done || status != 0) return status;
      if (std::chrono::steady_clock::now() - start >= limit_) return timed_out;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  static bool ok(status_type s) noexcept { return s == 0; }
  static const char* text(status_type s) noexcept {
    if (s == timed_out) return "the peer did not come within the time limit";
    if (s == given_up) return "this rank gave up";
    return T::text(static_cast<typename T::status_type>(s));
  }

 private:
  [[nodiscard]] std::uint32_t stream_of(std::uint32_t number) const noexcept {
    const auto last = static_cast<std::uint32_t>(streams_.size() - 1);
    return in_group_ || number >= last ? last : number;
  }

  T inner_;
  B backend_{};
  std::vector<typename B::stream_type> streams_;
  std::chrono::milliseconds limit_;
  bool in_group_ = false;
  bool gone_ = false;
};

}  // namespace launch_test
