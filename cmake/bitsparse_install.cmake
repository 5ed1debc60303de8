# Install and export: find_package(bitsparse) gives bitsparse::bitsparse.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(bitsparse_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/bitsparse)
install(DIRECTORY include/bitsparse DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS bitsparse EXPORT bitsparse_targets)
install(EXPORT bitsparse_targets NAMESPACE bitsparse:: DESTINATION ${bitsparse_config_dir})
configure_package_config_file(cmake/bitsparse-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/bitsparse-config.cmake
  INSTALL_DESTINATION ${bitsparse_config_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/bitsparse-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/bitsparse-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/bitsparse-config-version.cmake
  DESTINATION ${bitsparse_config_dir})
