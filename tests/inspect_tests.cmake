# bitsparse_inspect, run on the real activations of tests/data and on small files that the script makes.

if(BITSPARSE_BUILD_BENCHMARKS)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    add_test(NAME inspect
      COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/inspect/inspect_test.py
        $<TARGET_FILE:bitsparse_inspect> ${CMAKE_CURRENT_SOURCE_DIR}/data)
    set_tests_properties(inspect PROPERTIES LABELS host TIMEOUT 600 COST 20)
  else()
    message(STATUS "bitsparse: no Python 3 interpreter found; bitsparse_inspect is not tested")
  endif()
endif()
