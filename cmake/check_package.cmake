# Consumes the library as a user does, in one of four ways, and runs the user's program.
#
#   cmake -DWAY=<find_package|add_subdirectory|fetch_content|include_path> -DSOURCE=<repository> -DBUILD=<its build folder>
#         -DWORK=<scratch> -DCOMPILER=<c++> -DGENERATOR=<name> -DMAKE_PROGRAM=<path> -DVERSION=<x.y.z> -P check_package.cmake

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\nended with ${result}:\n${output}")
  endif()
endfunction()

if(WAY STREQUAL "include_path")
  foreach(standard 17 20)
    set(macro 201703L)
    if(standard EQUAL 20)
      set(macro 202002L)
    endif()
    run(${COMPILER} -std=c++${standard} -Wall -Wextra -Werror -DEXPECTED_CPLUSPLUS=${macro} -I ${SOURCE}/include
      ${SOURCE}/tests/package/consumer.cpp -o consumer_${standard})
    run(${WORK}/consumer_${standard})
  endforeach()
  return()
endif()

set(arguments -DBITSPARSE_SOURCE=${SOURCE})
if(WAY STREQUAL "find_package")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  set(arguments -DCMAKE_PREFIX_PATH=${WORK}/prefix -DBITSPARSE_VERSION=${VERSION})
endif()
# The environment's default build type would hide a library that sets one.
unset(ENV{CMAKE_BUILD_TYPE})
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/package/${WAY} -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM} -DCMAKE_CXX_COMPILER=${COMPILER} ${arguments})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build --no-tests=error --output-on-failure)
