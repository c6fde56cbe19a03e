# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The header-only packages of the build machine, for a compiler that must not see the rest of /usr/include: links to
# their headers and copies of their CMake files, which find the headers beside themselves.
get_filename_component(hocket_host_packages "${CMAKE_CURRENT_LIST_DIR}/../../build/host_packages" ABSOLUTE)
file(MAKE_DIRECTORY "${hocket_host_packages}/include")
foreach(name boost catch2 nlohmann range meta concepts std)
  if(EXISTS "/usr/include/${name}")
    file(CREATE_LINK "/usr/include/${name}" "${hocket_host_packages}/include/${name}" SYMBOLIC)
  endif()
endforeach()
foreach(name Catch2 nlohmann_json range-v3)
  file(GLOB folders "/usr/share/cmake/${name}" "/usr/lib/cmake/${name}" "/usr/lib/*/cmake/${name}")
  foreach(folder ${folders})
    # Without Catch2's library of the build machine: its main is compiled with the tests.
    file(RELATIVE_PATH below_usr /usr "${folder}/..")
    file(COPY "${folder}" DESTINATION "${hocket_host_packages}/${below_usr}" PATTERN "*-none.cmake" EXCLUDE)
  endforeach()
endforeach()
set(BOOST_INCLUDEDIR "${hocket_host_packages}/include")
set(Boost_NO_BOOST_CMAKE ON)
list(APPEND CMAKE_PREFIX_PATH "${hocket_host_packages}")
