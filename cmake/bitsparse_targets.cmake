# What tests and benchmarks have in common: the CUDA language, warnings, and functions to set up their targets.

set(BITSPARSE_HAS_CUDA OFF)
if(BITSPARSE_ENABLE_CUDA)
  include(CheckLanguage)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13.0)
      message(STATUS "bitsparse: CUDA ${CMAKE_CUDA_COMPILER_VERSION} is older than 13.0; building the host half only")
    else()
      set(BITSPARSE_HAS_CUDA ON)
    endif()
  else()
    message(STATUS "bitsparse: no CUDA compiler found; building the host half only")
  endif()
endif()

# bitsparse_set_up_target(<name> [OPTIMIZED]): the library, the language and the project's warnings. OPTIMIZED: its device code
# is optimised even with BITSPARSE_FAST_DEVICE_COMPILE.
function(bitsparse_set_up_target name)
  cmake_parse_arguments(PARSE_ARGV 1 of "OPTIMIZED" "" "")
  target_link_libraries(${name} PRIVATE bitsparse::bitsparse)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${name} PROPERTIES
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_RUNTIME_LIBRARY Static)
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
  # Tests also try tiles that no supported format has, whose kernels may spill; those of the supported ones are compiled by
  # device_kernels_*, and their spills counted by device_resources.
  get_target_property(type ${name} TYPE)
  if(BITSPARSE_FAST_DEVICE_COMPILE AND NOT of_OPTIMIZED)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=max>)
  elseif(NOT (type STREQUAL EXECUTABLE AND CMAKE_CURRENT_SOURCE_DIR STREQUAL "${PROJECT_SOURCE_DIR}/tests"))
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=--warn-on-spills>)
  endif()
  if(BITSPARSE_WARNINGS_AS_ERRORS)
    target_compile_options(${name} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Werror>
      $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
  endif()
endfunction()

# bitsparse_add_executable(<name> <source>...): an executable that is so set up.
function(bitsparse_add_executable name)
  add_executable(${name} ${ARGN})
  bitsparse_set_up_target(${name})
endfunction()
