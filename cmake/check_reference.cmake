# Makes the API reference, warnings being errors, and checks that every class and every function of a namespace has a
# description (members may speak for themselves).
#
#   cmake -DDOXYGEN=<doxygen> -DROOT=<repository> -DWORK=<scratch> -DVERSION=<x.y.z> -P check_reference.cmake

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{BITSPARSE_VERSION} ${VERSION})

# run(<more settings>): `output` and `result` of doxygen with docs/Doxyfile and these.
function(run settings)
  file(WRITE ${WORK}/Doxyfile "@INCLUDE = ${ROOT}/docs/Doxyfile\nOUTPUT_DIRECTORY = ${WORK}\n${settings}")
  execute_process(COMMAND ${DOXYGEN} ${WORK}/Doxyfile WORKING_DIRECTORY ${ROOT}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(result ${result} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("")
if(NOT result EQUAL 0 OR NOT EXISTS ${WORK}/html/index.html)
  message(FATAL_ERROR "doxygen ends with ${result}:\n${output}")
endif()

run("WARN_IF_UNDOCUMENTED = YES\nWARN_AS_ERROR = NO\n")
string(REGEX MATCHALL "[^\n]*(Compound [^\n]*|\\(function\\) of namespace [^\n]*) is not documented" missing "${output}")
list(REMOVE_DUPLICATES missing)
list(FILTER missing EXCLUDE REGEX "temp_storage|< std::|Member consume\\(.*matrix_view")  # storage; specialisations; an overload
if(missing)
  list(JOIN missing "\n" text)
  message(FATAL_ERROR "without a description:\n${text}")
endif()
