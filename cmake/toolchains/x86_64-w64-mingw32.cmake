# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# 64-bit Windows by Debian's mingw-w64 with POSIX threads; tests run under wine, linked statically: no DLL to find.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
find_program(HOCKET_WINE NAMES wine64 wine PATHS /usr/lib/wine)
set(CMAKE_CROSSCOMPILING_EMULATOR "${HOCKET_WINE}")
include("${CMAKE_CURRENT_LIST_DIR}/host_packages.cmake")
