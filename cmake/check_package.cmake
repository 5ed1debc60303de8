# Consumes the library as a user does, in one of several ways, and runs the user's program.
#
#   cmake -DWAY=<way> -DSOURCE=<repository> -DBUILD=<its build folder> -DWORK=<scratch> -DCOMPILER=<c++>
#         -DCUDA_COMPILER=<nvcc, or nothing> -DGENERATOR=<name> -DMAKE_PROGRAM=<path> -DVERSION=<x.y.z> -P check_package.cmake
#
# Ways: find_package, add_subdirectory, fetch_content (host projects); cuda (find_package, CUDA project); include_path,
# nvcc_include_path (a compiler alone); archive (what CPack makes, unpacked, through pkg-config).

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# run(<command>...): sets `output`; anything but exit status 0, or 77 of a program that has no device, is fatal.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0 AND NOT result EQUAL 77)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# compile_and_run(<source> <command>...): in C++17 and in C++20.
function(compile_and_run source)
  foreach(standard 17 20)
    set(macro 201703L)
    if(standard EQUAL 20)
      set(macro 202002L)
    endif()
    run(${ARGN} -std=c++${standard} -DEXPECTED_CPLUSPLUS=${macro} ${SOURCE}/tests/package/${source} -o consumer_${standard})
    run(${WORK}/consumer_${standard})
  endforeach()
endfunction()

if(WAY STREQUAL "include_path")
  compile_and_run(consumer.cpp ${COMPILER} -Wall -Wextra -Werror -I ${SOURCE}/include)
  return()
elseif(WAY STREQUAL "nvcc_include_path")
  compile_and_run(cuda/main.cu ${CUDA_COMPILER} -arch=sm_90 -Werror all-warnings -I ${SOURCE}/include)
  return()
elseif(WAY STREQUAL "archive")
  run(${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -G TGZ -B ${WORK})
  run(${CMAKE_COMMAND} -E tar xzf bitsparse-${VERSION}.tar.gz)
  set(unpacked ${WORK}/bitsparse-${VERSION})
  foreach(file share/doc/bitsparse/LICENSE include/bitsparse/bitsparse.cuh)
    if(NOT EXISTS ${unpacked}/${file})
      message(FATAL_ERROR "the archive has no ${file}")
    endif()
  endforeach()
  set(ENV{PKG_CONFIG_PATH} ${unpacked}/share/pkgconfig)
  run(${PKG_CONFIG} --modversion bitsparse)
  if(NOT output STREQUAL "${VERSION}\n")
    message(FATAL_ERROR "pkg-config says version '${output}', the project is ${VERSION}")
  endif()
  run(${PKG_CONFIG} --cflags bitsparse)
  string(STRIP "${output}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  compile_and_run(consumer.cpp ${COMPILER} -Wall -Wextra -Werror ${flags})
  return()
endif()

set(arguments -DBITSPARSE_SOURCE=${SOURCE})
if(WAY STREQUAL "find_package" OR WAY STREQUAL "cuda")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  set(arguments -DCMAKE_PREFIX_PATH=${WORK}/prefix -DBITSPARSE_VERSION=${VERSION})
endif()
if(WAY STREQUAL "cuda")
  list(APPEND arguments -DCMAKE_CUDA_COMPILER=${CUDA_COMPILER} -DCMAKE_CUDA_ARCHITECTURES=90)
endif()
# The environment's default build type would hide a library that sets one.
unset(ENV{CMAKE_BUILD_TYPE})
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/package/${WAY} -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM} -DCMAKE_CXX_COMPILER=${COMPILER} ${arguments})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build --no-tests=error --output-on-failure)

# A version that this one does not promise to be compatible with is refused.
if(WAY STREQUAL "find_package")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/tests/package/${WAY} -B ${WORK}/refused -G ${GENERATOR}
    -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DBITSPARSE_VERSION=0.99 RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result EQUAL 0 OR NOT output MATCHES "compatible with requested[ \n]+version")
    message(FATAL_ERROR "find_package(bitsparse 0.99) should be refused, got ${result}:\n${output}")
  endif()
endif()
