# Install and export: find_package(bitsparse) gives bitsparse::bitsparse, pkg-config the include path; `cpack -G TGZ` in the
# build folder packs the same files into an archive that can be unpacked anywhere.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(bitsparse_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/bitsparse)
install(DIRECTORY include/bitsparse DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
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

set(bitsparse_pc_dir ${CMAKE_INSTALL_DATAROOTDIR}/pkgconfig)  # share/: nothing here depends on the machine
file(RELATIVE_PATH bitsparse_pc_to_prefix ${CMAKE_INSTALL_PREFIX}/${bitsparse_pc_dir} ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/bitsparse.pc.in ${CMAKE_CURRENT_BINARY_DIR}/bitsparse.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/bitsparse.pc DESTINATION ${bitsparse_pc_dir})

# Only where bitsparse is the project that is packed: not in a user's own package.
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR TGZ)
  set(CPACK_PACKAGE_NAME ${PROJECT_NAME})
  set(CPACK_PACKAGE_VENDOR "the bitsparse authors")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
  set(CPACK_PACKAGE_FILE_NAME ${PROJECT_NAME}-${PROJECT_VERSION})  # headers: for any system
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_VERBATIM_VARIABLES ON)
  include(CPack)
endif()
