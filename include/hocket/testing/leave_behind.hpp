// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What something that did not end may still use.
#pragma once
#include <hocket/config.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing::detail {

/// Keeps what work that did not end may still touch. Nobody knows until when, so it is never given back; and it can be
/// reached, so no sanitizer calls it a leak.
template <class T>
void leave_behind(T kept) {
  static std::mutex mutex;
  static auto& all = *new std::vector<T>;
  const std::lock_guard lock(mutex);
  all.push_back(std::move(kept));
}

}  // namespace hocket::inline HOCKET_ABI::testing::detail
