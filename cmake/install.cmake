# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs every library that is switched on, each in its own export set, so that find_package loads (and looks for the
# dependencies of) only what the consumer asked for. Nothing installed depends on the machine: all of it is below share/.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(hocket_config_dir "${CMAKE_INSTALL_DATADIR}/hocket")
get_property(hocket_libraries GLOBAL PROPERTY HOCKET_LIBRARIES)
set(hocket_components "")
foreach(library IN LISTS hocket_libraries)
  get_target_property(component ${library} EXPORT_NAME)
  list(APPEND hocket_components ${component})
  install(TARGETS ${library} EXPORT hocket-${component} FILE_SET HEADERS)
  install(EXPORT hocket-${component} NAMESPACE hocket:: DESTINATION "${hocket_config_dir}"
          FILE hocket-${component}-targets.cmake)
endforeach()

configure_package_config_file(cmake/hocketConfig.cmake.in "${PROJECT_BINARY_DIR}/hocketConfig.cmake"
  INSTALL_DESTINATION "${hocket_config_dir}" NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Below 1.0 a minor version may break; the headers are the same on every architecture.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hocketConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(cmake/hocket.pc.in "${PROJECT_BINARY_DIR}/hocket.pc" @ONLY)

install(FILES "${PROJECT_BINARY_DIR}/hocketConfig.cmake" "${PROJECT_BINARY_DIR}/hocketConfigVersion.cmake"
        DESTINATION "${hocket_config_dir}")
install(FILES "${PROJECT_BINARY_DIR}/hocket.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# hocket::hocket as a Common Package Specification, which tools other than CMake read; CMake 4.3 is the first to write it.
# Not the others: CMake 4.4 refuses Boost::headers there, as it is named unlike its package, and records where others lie.
if(CMAKE_VERSION VERSION_GREATER_EQUAL 4.3)
  install(PACKAGE_INFO hocket EXPORT hocket-hocket DESTINATION "${CMAKE_INSTALL_DATADIR}/cps/hocket"
          VERSION ${PROJECT_VERSION} COMPAT_VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}.0
          DEFAULT_TARGETS hocket LICENSE "Apache-2.0 WITH LLVM-exception")
endif()
