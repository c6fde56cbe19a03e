# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What our own tests, examples and benchmarks are compiled with; nothing here reaches a consumer.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(HOCKET_CCACHE ccache)
if(HOCKET_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HOCKET_CCACHE})
endif()

option(HOCKET_WARNINGS_ARE_ERRORS "Stop at a warning; switch off for a compiler newer than the tested ones" ON)
set(HOCKET_SANITIZE "" CACHE STRING "Sanitizers for our own targets, for example address,undefined or thread")
option(HOCKET_EACH_HEADER "Compile every public header alone, too, not only all of them together" ON)
option(HOCKET_DOCUMENTS "Compile and run the blocks of README.md and docs/" ON)
# Catch2 and CLI11 throw: hocket_test() and the tool are left out, static tests, header tests and examples stay.
option(HOCKET_NO_EXCEPTIONS "Compile with -fno-exceptions -fno-rtti what does not itself need exceptions" OFF)

add_library(hocket_development INTERFACE)
target_compile_options(hocket_development INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(hocket_development INTERFACE -Wno-restrict)  # wrong about std::string at -O3: GCC bug 105651
endif()
if(HOCKET_WARNINGS_ARE_ERRORS)
  target_compile_options(hocket_development INTERFACE -Werror)
endif()
if(HOCKET_NO_EXCEPTIONS)
  target_compile_options(hocket_development INTERFACE -fno-exceptions -fno-rtti)
endif()

option(HOCKET_RUNS_LONG "Optimise a little what runs for longer than it compiles; off where it is compiled and not run" ON)
# hocket_runs_long(TARGET…): where nothing is optimised, as that compiles fastest, these are: they run for longer.
function(hocket_runs_long)
  foreach(target ${ARGN})
    if(HOCKET_RUNS_LONG AND TARGET ${target} AND CMAKE_CXX_FLAGS MATCHES "^-O0")
      target_compile_options(${target} PRIVATE -O1)
    endif()
  endforeach()
endfunction()

if(HOCKET_SANITIZE)
  target_compile_options(hocket_development INTERFACE -fsanitize=${HOCKET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(hocket_development INTERFACE -fsanitize=${HOCKET_SANITIZE})
endif()
