// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/backend.hpp>
#include <hocket/launch/single_wait_list.hpp>

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
///     if (const auto ready = events.prepare(list); !ready) return ready.error();
///     hocket::launch::drive(device, list, device.streams(), events.events(), launch);
template <class B>
class event_pool {
  static_assert(event_source<B>,
                "hocket: event_pool needs a backend with `status_type create_event(event_type&) noexcept` and "
                "`status_type destroy_event(event_type) noexcept`");

 public:
  /// Borrows the backend.
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

  /// The events that `list` needs, or why the device cannot give them; then the pool is as it was.
  /// Asks first, where the backend can say (`max_events`, `available_events`): on some devices it is not creating an
  /// event that fails but recording it that blocks, for ever.
  /// @return errc::too_many_events; errc::event_not_created with the backend's status
  template <class List>
  [[nodiscard]] result<void> prepare(const List& list) {
    static_assert(
        !wait_resets_event<B> || std::derived_from<List, single_wait_list>,
        "hocket: a wait of this backend uses the record up (wait_resets_event), so each record may serve only "
        "one: give it single_wait_list::make(list)");
    const std::size_t before = events_.size();
    const std::uint64_t needed = list.event_count();
    if (needed <= before) return {};
    std::uint64_t room = max_events<B> == 0 ? ~std::uint64_t{0} : max_events<B>;
    if constexpr (event_limit_backend<B>) {
      // Without an answer the creation itself will tell.
      std::uint64_t free = 0;
      if (B::ok(backend_->available_events(free)) && free < room - before) room = before + free;
    }
    if (needed > room)
      return error{errc::too_many_events, static_cast<std::int64_t>(needed), static_cast<std::int64_t>(room)};
    const auto status = reserve(needed);
    if (B::ok(status)) return {};
    std::int64_t code = 0;
    if constexpr (std::is_enum_v<typename B::status_type> || std::is_integral_v<typename B::status_type>)
      code = static_cast<std::int64_t>(status);
    const error failed{errc::event_not_created, static_cast<std::int64_t>(events_.size()),
                       static_cast<std::int64_t>(needed), code};
    for (; events_.size() > before; events_.pop_back()) static_cast<void>(backend_->destroy_event(events_.back()));
    return failed;
  }

  /// At least `count` events, without asking. Stops at the first failure and returns its status; what was made stays.
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

  [[nodiscard]] std::span<const typename B::event_type> events() const& noexcept { return events_; }
  std::span<const typename B::event_type> events() const&& = delete;
  [[nodiscard]] std::size_t size() const noexcept { return events_.size(); }

  /// Hands the events over to the caller, who destroys them or leaves them to the end of the process.
  [[nodiscard]] std::vector<typename B::event_type> release() noexcept { return std::exchange(events_, {}); }

 private:
  B* backend_;
  std::vector<typename B::event_type> events_;
};

}  // namespace hocket::inline HOCKET_ABI::launch
