// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every macro of the library lives here and in version.hpp. Nothing else may depend on the environment of a build.
#pragma once
#include <hocket/version.hpp>

#if !defined(__cplusplus) || (__cplusplus < 202002L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 202002L))
#error "hocket needs C++20: compile with -std=c++20 or newer"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 2
#error \
    "hocket needs doubles that round as doubles, for the same answer everywhere: on 32-bit x86 add -msse2 -mfpmath=sse"
#endif

// HOCKET_ASSERT(condition): a broken precondition of the caller.
// Define it before the first hocket header to route it into the host's own checks; it must accept one expression.
// Without that it is assert(): on in debug builds, nothing under NDEBUG.
#if defined(HOCKET_ASSERT)
#define HOCKET_DETAIL_ASSERT_TAG 2
#elif defined(NDEBUG)
#define HOCKET_ASSERT(condition) static_cast<void>(0)
#define HOCKET_DETAIL_ASSERT_TAG 0
#else
#include <cassert>
#define HOCKET_ASSERT(condition) assert(condition)
#define HOCKET_DETAIL_ASSERT_TAG 1
#endif

// HOCKET_HAS_EXCEPTIONS: 0 under -fno-exceptions. hocket itself never throws; it only lets a host's exceptions pass.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define HOCKET_HAS_EXCEPTIONS 1
#else
#define HOCKET_HAS_EXCEPTIONS 0
#endif

// HOCKET_STANDARD_CXX: define it to leave out what not every compiler has (__int128, __builtin_…_overflow), as on MSVC
// and on 32-bit targets. Values are the same; the tests compile it on x86-64, too.
#if defined(__SIZEOF_INT128__) && !defined(HOCKET_STANDARD_CXX)
#define HOCKET_HAS_INT128 1
#else
#define HOCKET_HAS_INT128 0
#endif
#if defined(__GNUC__) && !defined(HOCKET_STANDARD_CXX)
#define HOCKET_HAS_OVERFLOW_BUILTINS 1
#else
#define HOCKET_HAS_OVERFLOW_BUILTINS 0
#endif

// HOCKET_HOST_DEVICE marks the few functions a kernel may call; empty outside of nvcc.
#if defined(__CUDACC__)
#define HOCKET_HOST_DEVICE __host__ __device__
#else
#define HOCKET_HOST_DEVICE
#endif

// HOCKET_ABI names the inline namespace: major and minor version, and what differs from a compiler without options: the
// assertion mode, exceptions, 128-bit integers of the compiler. Translation units that differ in one of them get
// different symbols, so the linker can never mix their functions. A patch release changes no name: see
// docs/consuming.md, "What breaks linking".
#if HOCKET_DETAIL_ASSERT_TAG == 0
#define HOCKET_DETAIL_ABI_ASSERTS _ndebug
#elif HOCKET_DETAIL_ASSERT_TAG == 2
#define HOCKET_DETAIL_ABI_ASSERTS _own_assert
#else
#define HOCKET_DETAIL_ABI_ASSERTS
#endif
#if HOCKET_HAS_EXCEPTIONS
#define HOCKET_DETAIL_ABI_EXCEPTIONS
#else
#define HOCKET_DETAIL_ABI_EXCEPTIONS _no_exceptions
#endif
#if HOCKET_HAS_INT128
#define HOCKET_DETAIL_ABI_WIDE
#else
#define HOCKET_DETAIL_ABI_WIDE _no_int128
#endif
#define HOCKET_DETAIL_ABI_PASTE(major, minor, asserts, exceptions, wide) v##major##_##minor##asserts##exceptions##wide
#define HOCKET_DETAIL_ABI(major, minor, asserts, exceptions, wide) \
  HOCKET_DETAIL_ABI_PASTE(major, minor, asserts, exceptions, wide)
#define HOCKET_ABI                                                                         \
  HOCKET_DETAIL_ABI(HOCKET_VERSION_MAJOR, HOCKET_VERSION_MINOR, HOCKET_DETAIL_ABI_ASSERTS, \
                    HOCKET_DETAIL_ABI_EXCEPTIONS, HOCKET_DETAIL_ABI_WIDE)
