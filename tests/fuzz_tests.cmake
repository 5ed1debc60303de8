# Fuzz targets: built by a clang++ that has libFuzzer, whatever compiler the project uses, and run for a minute in all.

add_executable(make_fuzz_corpus EXCLUDE_FROM_ALL fuzz/make_corpus.cpp)  # writes the seeds in fuzz/corpus
target_link_libraries(make_fuzz_corpus PRIVATE bitsparse::bitsparse)
target_include_directories(make_fuzz_corpus PRIVATE ${PROJECT_SOURCE_DIR})

find_program(BITSPARSE_FUZZ_CXX NAMES clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14
             DOC "A clang++ with libFuzzer, for the fuzz targets")
set(fuzz_flags -std=c++17 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
set(BITSPARSE_HAS_FUZZER OFF)
if(BITSPARSE_FUZZ_CXX)
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/fuzz_probe)
  file(WRITE ${probe}.cpp
    "#include <cstddef>\nextern \"C\" int LLVMFuzzerTestOneInput(unsigned char const*, std::size_t) { return 0; }\n")
  execute_process(COMMAND ${BITSPARSE_FUZZ_CXX} ${fuzz_flags} ${probe}.cpp -o ${probe}
    RESULT_VARIABLE probe_result OUTPUT_QUIET ERROR_QUIET)
  if(probe_result EQUAL 0)
    set(BITSPARSE_HAS_FUZZER ON)
  endif()
endif()
if(NOT BITSPARSE_HAS_FUZZER)
  message(STATUS "bitsparse: no clang++ with libFuzzer found; the fuzz targets are not built")
  return()
endif()

foreach(target reader round_trip)
  set(fuzzer ${CMAKE_CURRENT_BINARY_DIR}/${target}_fuzz)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${target}_fuzz.cpp)
  add_custom_command(OUTPUT ${fuzzer}
    COMMAND ${BITSPARSE_FUZZ_CXX} ${fuzz_flags} -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include
            -MD -MT ${fuzzer} -MF ${fuzzer}.d ${source} -o ${fuzzer}
    DEPENDS ${source} DEPFILE ${fuzzer}.d
    COMMENT "Building ${target}_fuzz with ${BITSPARSE_FUZZ_CXX}"
    VERBATIM)
  add_custom_target(fuzz_${target} ALL DEPENDS ${fuzzer})
  add_test(NAME fuzz_${target} COMMAND ${CMAKE_COMMAND}
    -DFUZZER=${fuzzer} -DCORPUS=${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${target}
    -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/fuzz_scratch/${target} -DSECONDS=30
    -P ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run_fuzzer.cmake)
  set_tests_properties(fuzz_${target} PROPERTIES LABELS host TIMEOUT 300 COST 30)
endforeach()
