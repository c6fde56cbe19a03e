# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What hocket must not do to a project that uses it. Stops the configuration with a sentence where it does.

# Everything that the folder `directory` and the folders below it put into this build.
function(collect directory property out)
  get_property(found DIRECTORY "${directory}" PROPERTY ${property})
  get_property(below DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS below)
    collect("${folder}" ${property} more)
    list(APPEND found ${more})
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

collect("${CMAKE_CURRENT_SOURCE_DIR}" TESTS tests)
foreach(test IN LISTS tests)
  if(NOT test MATCHES "^consumer")
    message(FATAL_ERROR "hocket registers the test ${test} in its host")
  endif()
endforeach()

collect("${CMAKE_CURRENT_SOURCE_DIR}" BUILDSYSTEM_TARGETS targets)
foreach(target IN LISTS targets)
  get_target_property(type ${target} TYPE)
  if(NOT target MATCHES "^consumer" AND NOT (target MATCHES "^hocket_" AND type STREQUAL "INTERFACE_LIBRARY"))
    message(FATAL_ERROR "hocket adds the target ${target} (${type}) to its host")
  endif()
endforeach()

set(libraries hocket ${HOCKET_CONSUMER_COMPONENTS})
foreach(library IN LISTS libraries)
  foreach(property IN ITEMS INTERFACE_COMPILE_OPTIONS INTERFACE_COMPILE_DEFINITIONS INTERFACE_LINK_OPTIONS)
    get_target_property(value hocket::${library} ${property})
    if(value)
      message(FATAL_ERROR "hocket::${library} passes ${property} ${value} on to its users")
    endif()
  endforeach()
  get_target_property(features hocket::${library} INTERFACE_COMPILE_FEATURES)
  if(NOT features STREQUAL "cxx_std_20")
    message(FATAL_ERROR "hocket::${library} asks for ${features} instead of cxx_std_20")
  endif()
endforeach()

if(DEFINED CMAKE_CXX_STANDARD OR NOT "${CMAKE_CXX_FLAGS}" STREQUAL "" OR DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  message(FATAL_ERROR "hocket changed a CMAKE_CXX_… variable of its host")
endif()

# Components that nobody asked for look for nothing and give nothing.
foreach(library IN ITEMS cost range_v3 hugging_face boost_graph)
  if(TARGET hocket::${library} AND NOT library IN_LIST HOCKET_CONSUMER_COMPONENTS
     AND NOT (library STREQUAL "cost" AND HOCKET_CONSUMER_COMPONENTS MATCHES "hugging_face|planner"))
    message(FATAL_ERROR "hocket::${library} exists, but only ${libraries} were asked for")
  endif()
endforeach()
if(HOCKET_CONSUMER_COMPONENTS STREQUAL "" AND (Boost_FOUND OR range-v3_FOUND OR nlohmann_json_FOUND))
  message(FATAL_ERROR "hocket::hocket alone looks for packages")
endif()
