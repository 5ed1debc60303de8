# Compiles one file of tests/compile_fail twice: as it is, which must succeed (the control), and with
# BITSPARSE_EXPECT_FAILURE defined, which must fail with the message that the file announces.
#
#   cmake -DCOMPILER=<c++ or nvcc> -DINCLUDE=<dir> -DSOURCE=<.cpp or .cu file> -P check_compile_fail.cmake
#
# The file says `// expect: <regex>` and, where needed, `// flags: <more flags for the failing compile>`. A .cu file is
# compiled for sm_90 unless those flags name another architecture.

cmake_minimum_required(VERSION 3.25)

file(READ ${SOURCE} text)
if(NOT text MATCHES "\n// expect: ([^\n]+)\n")
  message(FATAL_ERROR "${SOURCE}: no '// expect: <regex>' line")
endif()
set(expected "${CMAKE_MATCH_1}")
set(failing_flags "")
if(text MATCHES "\n// flags: ([^\n]+)\n")
  separate_arguments(failing_flags UNIX_COMMAND "${CMAKE_MATCH_1}")
endif()

if(SOURCE MATCHES "\\.cu$")
  set(command ${COMPILER} -std=c++17 -I ${INCLUDE} -ptx -o /dev/null)
  set(architecture -arch=sm_90)
else()
  set(command ${COMPILER} -std=c++17 -Wall -Wextra -Werror -I ${INCLUDE} -fsyntax-only)
  set(architecture "")
endif()
execute_process(COMMAND ${command} ${architecture} ${SOURCE}
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${SOURCE}: the control does not compile:\n${output}")
endif()

if(failing_flags MATCHES "-arch")
  set(architecture "")
endif()
execute_process(COMMAND ${command} ${architecture} ${failing_flags} -DBITSPARSE_EXPECT_FAILURE ${SOURCE}
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE}: it compiles, but should fail with: ${expected}")
endif()
if(NOT output MATCHES "${expected}")
  message(FATAL_ERROR "${SOURCE}: it fails, but not with: ${expected}\n${output}")
endif()
