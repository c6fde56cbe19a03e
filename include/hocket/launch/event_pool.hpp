// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/backend.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

/// Events of the library's own, made once and reused by every replay: no create call in steady state.
/// Grows to the most that any plan needed; destroys them at the end. Give up ownership with `release` where the
/// framework may already have shut the device down.
/// @tparam B  an `event_source`; must outlive the pool
///
///     hocket::launch::event_pool events(device);
///     events.reserve(list.event_count());
///     hocket::launch::drive(device, list, device.streams(), events.events(), launch);
template <event_source B>
class event_pool {
 public:
  explicit event_pool(B& backend) noexcept : backend_(&backend) {}
  event_pool(event_pool&& other) noexcept : backend_(other.backend_), events_(std::exchange(other.events_, {})) {}
  event_pool& operator=(event_pool&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(events_, other.events_);
    return *this;
  }
  ~event_pool() {
    for (const auto& event : events_) static_cast<void>(backend_->destroy_event(event));
  }

  /// At least `count` events. Stops at the first failure and returns its status; what was made stays.
  typename B::status_type reserve(std::size_t count) {
    events_.reserve(count);
    typename B::status_type status{};
    while (events_.size() < count) {
      typename B::event_type event{};
      status = backend_->create_event(event);
      if (!B::ok(status)) break;
      events_.push_back(event);
    }
    return status;
  }

  [[nodiscard]] std::span<const typename B::event_type> events() const noexcept { return events_; }
  [[nodiscard]] std::size_t size() const noexcept { return events_.size(); }

  /// Hands the events over to the caller, who destroys them or leaves them to the end of the process.
  [[nodiscard]] std::vector<typename B::event_type> release() noexcept { return std::exchange(events_, {}); }

 private:
  B* backend_;
  std::vector<typename B::event_type> events_;
};

}  // namespace hocket::inline HOCKET_ABI::launch
