// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/backend.hpp>

namespace hocket::inline HOCKET_ABI::launch {

/// A backend and its launcher as three C functions: what can cross a shared library's border, whatever compiler, C++
/// standard or string ABI the other side uses. Each takes the context first and returns 0 for success; streams and
/// events are the plan's numbers, which the host maps to its own handles.
struct backend_table {
  void* context = nullptr;
  int (*launch)(void* context, std::uint32_t op, std::uint32_t phase, std::uint32_t stream) = nullptr;
  int (*record)(void* context, std::uint32_t event, std::uint32_t stream) = nullptr;
  int (*wait)(void* context, std::uint32_t stream, std::uint32_t event) = nullptr;
};

/// A `backend` over a table: one indirect call per command, which is nothing beside a call into a driver.
/// Precondition: no pointer of the table is null, and none of the functions throws.
///
///     hocket::launch::erased_backend b(table);
///     auto done = hocket::launch::drive(b, list, b.launcher());
class erased_backend {
 public:
  using stream_type = stream_id;
  using event_type = event_id;
  using status_type = int;

  constexpr explicit erased_backend(const backend_table& table) noexcept : table_(table) {
    HOCKET_ASSERT(table.launch != nullptr && table.record != nullptr && table.wait != nullptr);
  }
  status_type record(event_type event, stream_type stream) noexcept {
    return table_.record(table_.context, event, stream);
  }
  status_type wait(stream_type stream, event_type event) noexcept { return table_.wait(table_.context, stream, event); }

  struct launch_through {
    const backend_table* table;
    status_type operator()(node_id op, std::uint8_t phase, stream_type stream) const noexcept {
      return table->launch(table->context, op, phase, stream);
    }
  };
  /// Valid as long as this object.
  [[nodiscard]] launch_through launcher() const noexcept { return {&table_}; }

  static constexpr bool ok(status_type s) noexcept { return s == 0; }
  static constexpr const char* text(status_type s) noexcept { return s == 0 ? "ok" : "a status of the host's own"; }

 private:
  backend_table table_;
};

static_assert(backend<erased_backend> && launcher<erased_backend::launch_through, erased_backend>);

}  // namespace hocket::inline HOCKET_ABI::launch
