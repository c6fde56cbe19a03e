# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the CMake projects of the hosts share. hocket comes from this checkout; in your own project it is
# find_package(hocket).
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/../.. hocket EXCLUDE_FROM_ALL)
find_package(Threads REQUIRED)
