// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `import hocket;` gives what <hocket/hocket.hpp> gives, the file forms, the fits of curves, and threads as a device.
// Macros (HOCKET_ASSERT, HOCKET_VERSION) come from <hocket/config.hpp> as before. The names stay those of the headers:
// one program may import and include.
module;

// All that the headers include of the standard library (tools/lint.py checks it): it must not become part of the module.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <compare>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <queue>
#include <ratio>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

export module hocket;

#ifdef __clang__
#pragma clang diagnostic ignored "-Winclude-angled-in-module-purview"
#endif
export extern "C++" {
#include <hocket/hocket.hpp>

#include <hocket/curve.hpp>
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/bridges/pipeline.hpp>
#include <hocket/launch/bridges/tiling.hpp>
#include <hocket/pipeline/buffers.hpp>
#include <hocket/pipeline/prefill.hpp>
#include <hocket/ranks.hpp>
#include <hocket/ranks/tell_recorded.hpp>
#include <hocket/text.hpp>
#include <hocket/text/ranks_svg.hpp>
}
