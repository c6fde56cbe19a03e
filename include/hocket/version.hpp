// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one place where the version is written; CMake, Conan, vcpkg and the docs are checked against it (tools/lint.py).
#pragma once

#define HOCKET_VERSION_MAJOR 0
#define HOCKET_VERSION_MINOR 1
#define HOCKET_VERSION_PATCH 0

/// Version as one comparable number: major * 10000 + minor * 100 + patch.
#define HOCKET_VERSION (HOCKET_VERSION_MAJOR * 10000 + HOCKET_VERSION_MINOR * 100 + HOCKET_VERSION_PATCH)
/// Version as a string literal, "major.minor.patch".
#define HOCKET_VERSION_STRING "0.1.0"
