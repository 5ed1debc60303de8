# Compares the decoder that was written from docs/format.md with the library: the writer makes serialised tensors and their
# dense bytes, the decoder must give back the latter.
#
#   cmake -DWRITER=<program> -DPYTHON=<python3> -DDECODER=<script> -DWORK=<scratch> -P check_format_decoder.cmake

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${WRITER} ${WORK} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB tensors ${WORK}/*.bsp)
list(LENGTH tensors num_tensors)
if(NOT num_tensors EQUAL 20)
  message(FATAL_ERROR "expected 20 serialised tensors, the writer made ${num_tensors}")
endif()
foreach(tensor IN LISTS tensors)
  string(REGEX REPLACE "\\.bsp$" "" name ${tensor})
  execute_process(COMMAND ${PYTHON} ${DECODER} ${tensor} ${name}.decoded
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${tensor}: the decoder fails:\n${output}")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${name}.dense ${name}.decoded RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${tensor}: the decoder's bytes are not the library's")
  endif()
endforeach()
message(STATUS "${num_tensors} serialised tensors decoded alike")
