# Tests of the project itself: that headers stand alone, layers hold, misuse is refused with a sentence, the installed
# package works, and the documents say what the code does. None needs a GPU.

# bitsparse_add_check(<name> <script> <argument>...): a test that is a CMake script of cmake/.
function(bitsparse_add_check name script)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} ${ARGN} -P ${PROJECT_SOURCE_DIR}/cmake/${script}.cmake)
  set_tests_properties(${name} PROPERTIES LABELS host TIMEOUT 600)
endfunction()

# ---------------------------------------------------------------------------------------------------------------------
# Headers: each compiles alone; all together link from two translation units
# ---------------------------------------------------------------------------------------------------------------------

# bitsparse_add_headers_test(<name> <include extension> <source extension>): one translation unit per header, linked into one
# program. With no such headers there is no test.
function(bitsparse_add_headers_test name header_extension source_extension)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/include/bitsparse/*.${header_extension})
  if(NOT headers)
    return()
  endif()
  set(sources "")
  set(all "")
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "[/.]" "_" unit ${header})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_units/${unit}.${source_extension})
    # Included twice: the second time must be free of effect.
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <${header}>\n#include <${header}>\n")
    list(APPEND sources ${source})
    string(APPEND all "#include <${header}>\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}_units/all_headers.${header_extension} CONTENT "${all}")
  bitsparse_add_executable(${name} link/headers_main.cpp ${sources})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS host)
endfunction()

bitsparse_add_headers_test(headers_alone hpp cpp)
bitsparse_add_executable(headers_linked_twice link/first.cpp link/second.cpp)
target_include_directories(headers_linked_twice PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/headers_alone_units)
add_test(NAME headers_linked_twice COMMAND headers_linked_twice)
set_tests_properties(headers_linked_twice PROPERTIES LABELS host)
if(BITSPARSE_HAS_CUDA)
  bitsparse_add_headers_test(cuda_headers_alone cuh cu)
  if(TARGET cuda_headers_alone)
    # One architecture: other tests compile the code that the headers hold for all of them.
    list(GET CMAKE_CUDA_ARCHITECTURES 0 first_architecture)
    set_target_properties(cuda_headers_alone PROPERTIES CUDA_ARCHITECTURES ${first_architecture})
  endif()
endif()

bitsparse_add_check(layering check_layering -DROOT=${PROJECT_SOURCE_DIR})
bitsparse_add_check(layering_check_finds_faults check_layering_test
  -DSCRIPT=${PROJECT_SOURCE_DIR}/cmake/check_layering.cmake -DWORK=${CMAKE_CURRENT_BINARY_DIR}/layering_trees)

# ---------------------------------------------------------------------------------------------------------------------
# What must not compile
# ---------------------------------------------------------------------------------------------------------------------

file(GLOB compile_fail_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*.cpp)
foreach(source IN LISTS compile_fail_sources)
  get_filename_component(name ${source} NAME_WE)
  bitsparse_add_check(compile_fail_${name} check_compile_fail
    -DCOMPILER=${CMAKE_CXX_COMPILER} -DINCLUDE=${PROJECT_SOURCE_DIR}/include -DSOURCE=${source})
endforeach()

if(BITSPARSE_HAS_CUDA)
  file(GLOB cuda_compile_fail_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*.cu)
  foreach(source IN LISTS cuda_compile_fail_sources)
    get_filename_component(name ${source} NAME_WE)
    bitsparse_add_check(compile_fail_${name} check_compile_fail
      -DCOMPILER=${CMAKE_CUDA_COMPILER} -DINCLUDE=${PROJECT_SOURCE_DIR}/include -DSOURCE=${source})
  endforeach()
endif()

# ---------------------------------------------------------------------------------------------------------------------
# The package, used in every way that docs/integration.md names
# ---------------------------------------------------------------------------------------------------------------------

set(package_ways find_package add_subdirectory fetch_content include_path)
if(BITSPARSE_HAS_CUDA)
  list(APPEND package_ways cuda nvcc_include_path)
endif()
find_program(BITSPARSE_PKG_CONFIG pkg-config)
if(BITSPARSE_PKG_CONFIG AND BITSPARSE_INSTALL AND PROJECT_IS_TOP_LEVEL)
  list(APPEND package_ways archive)
else()
  message(STATUS "bitsparse: no pkg-config; the archive and its pkg-config file are not tested")
endif()
foreach(way IN LISTS package_ways)
  bitsparse_add_check(package_${way} check_package
    -DWAY=${way} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/package/${way} -DCOMPILER=${CMAKE_CXX_COMPILER}
    -DCUDA_COMPILER=${CMAKE_CUDA_COMPILER} -DPKG_CONFIG=${BITSPARSE_PKG_CONFIG}
    -DGENERATOR=${CMAKE_GENERATOR} -DMAKE_PROGRAM=${CMAKE_MAKE_PROGRAM} -DVERSION=${PROJECT_VERSION})
endforeach()

# ---------------------------------------------------------------------------------------------------------------------
# The documents
# ---------------------------------------------------------------------------------------------------------------------

bitsparse_add_test(host examples/format_document_test.cpp)
bitsparse_add_executable(host_example examples/host_example.cpp)
add_test(NAME host_example COMMAND host_example)
set_tests_properties(host_example PROPERTIES LABELS host)

find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND)
  bitsparse_add_executable(format_decoder_writer examples/format_decoder_writer.cpp)
  bitsparse_add_check(format_decoder check_format_decoder
    -DWRITER=$<TARGET_FILE:format_decoder_writer> -DPYTHON=${Python3_EXECUTABLE}
    -DDECODER=${CMAKE_CURRENT_SOURCE_DIR}/examples/format_decoder.py -DWORK=${CMAKE_CURRENT_BINARY_DIR}/format_decoder)
  add_test(NAME documents COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/documents/documents_test.py)
  set_tests_properties(documents PROPERTIES LABELS host TIMEOUT 120)
else()
  message(STATUS "bitsparse: no Python 3; the documents and the decoder of docs/format.md are not tested")
endif()

find_program(BITSPARSE_DOXYGEN doxygen)
if(BITSPARSE_DOXYGEN)
  bitsparse_add_check(reference check_reference -DDOXYGEN=${BITSPARSE_DOXYGEN} -DROOT=${PROJECT_SOURCE_DIR}
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/reference -DVERSION=${PROJECT_VERSION})
else()
  message(STATUS "bitsparse: no doxygen (Debian: apt-get install doxygen); the API reference is not made")
endif()

# ---------------------------------------------------------------------------------------------------------------------
# The benchmarks' report
# ---------------------------------------------------------------------------------------------------------------------

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME bench_report COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/bench/report_test.py)
  add_test(NAME bench_training_report COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/bench/training_test.py)
  set_tests_properties(bench_report bench_training_report PROPERTIES LABELS host TIMEOUT 120)
endif()
