// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one place where the version is written: CMake, Conan and the tools read it here (tools/lint.py knows the copies).
#pragma once

#define HOCKET_VERSION_MAJOR 0
#define HOCKET_VERSION_MINOR 1
#define HOCKET_VERSION_PATCH 0

/// Version as one comparable number: major * 10000 + minor * 100 + patch.
#define HOCKET_VERSION (HOCKET_VERSION_MAJOR * 10000 + HOCKET_VERSION_MINOR * 100 + HOCKET_VERSION_PATCH)
/// Version as a string literal, "major.minor.patch".
#define HOCKET_VERSION_STRING \
  HOCKET_DETAIL_VERSION_STRING(HOCKET_VERSION_MAJOR, HOCKET_VERSION_MINOR, HOCKET_VERSION_PATCH)
#define HOCKET_DETAIL_VERSION_STRING(a, b, c) HOCKET_DETAIL_VERSION_TEXT(a, b, c)
#define HOCKET_DETAIL_VERSION_TEXT(a, b, c) #a "." #b "." #c
