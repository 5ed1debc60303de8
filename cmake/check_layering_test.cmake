# Tests check_layering.cmake on small trees that each break one rule.
#
#   cmake -DSCRIPT=<check_layering.cmake> -DWORK=<scratch> -P check_layering_test.cmake

cmake_minimum_required(VERSION 3.25)

set(spdx "// SPDX-License-Identifier: Apache-2.0\n// SPDX-FileCopyrightText: 2026 the bitsparse authors\n")

# write(<header> <layer text> <body>): a header that begins as it should.
function(write header layer body)
  file(WRITE ${WORK}/include/bitsparse/${header} "${spdx}/// @file\n/// ${layer}A sentence.\n#pragma once\n${body}")
endfunction()

function(start_tree)
  file(REMOVE_RECURSE ${WORK})
  write(config.hpp "" "#define BITSPARSE_X\n")
  write(format/a.hpp "LAYER 0: " "#include <cstdint>\n#include <bitsparse/config.hpp>\n")
  write(warp/b.cuh "LAYER 1: " "#include <bitsparse/format/a.hpp>\n#include <cub/warp/warp_scan.cuh>\n")
  write(detail/c.cuh "" "#include <bitsparse/warp/b.cuh>\n")
  write(device/d.cuh "LAYER 3: " "#include <bitsparse/detail/c.cuh>\n#include <bitsparse/warp/b.cuh>\n")
  write(bitsparse.cuh "" "#include <bitsparse/device/d.cuh>\n")
endfunction()

# expect(<regex>): the check fails with that text; an empty regex: it passes.
function(expect regex)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${SCRIPT}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(regex STREQUAL "" AND NOT result EQUAL 0)
    message(SEND_ERROR "a tree without a fault is refused: ${output}")
  elseif(NOT regex STREQUAL "" AND (result EQUAL 0 OR NOT output MATCHES "${regex}"))
    message(SEND_ERROR "expected '${regex}', got ${result}: ${output}")
  endif()
endfunction()

start_tree()
expect("")

start_tree()
write(format/a.hpp "LAYER 0: " "#include <bitsparse/format/missing.hpp>\n")
expect("format/a.hpp: includes bitsparse/format/missing.hpp, which does not exist")

start_tree()
write(warp/b.cuh "LAYER 1: " "# include  <bitsparse/device/d.cuh>  // why\n")
expect("warp/b.cuh: includes device/d.cuh, which is a higher layer")

start_tree()
write(warp/b.cuh "LAYER 1: " "#include <bitsparse/detail/c.cuh>\n")
expect("warp/b.cuh: includes detail/c.cuh, but detail serves block, device and arena")

start_tree()
write(detail/c.cuh "" "#include <bitsparse/device/d.cuh>\n")
expect("detail/c.cuh: includes device/d.cuh, but detail may include format and warp only")

start_tree()
write(config.hpp "" "#include <bitsparse/format/a.hpp>\n")
expect("config.hpp: includes format/a.hpp, but lies below all layers")

start_tree()
write(device/d.cuh "LAYER 3: " "#include <bitsparse/bitsparse.cuh>\n")
expect("device/d.cuh: includes the umbrella")

start_tree()
write(format/a.hpp "LAYER 0: " "#include <cuda_runtime.h>\n")
expect("format/a.hpp: includes cuda_runtime.h, but .hpp files compile without CUDA")

start_tree()
write(format/a.hpp "LAYER 0: " "#include <cuda/std/cstdint>\n")
expect("format/a.hpp: includes cuda/std/cstdint, but .hpp files compile without CUDA")

start_tree()
write(device/e.hpp "LAYER 3: " "#include <bitsparse/warp/b.cuh>\n")
expect("device/e.hpp: includes bitsparse/warp/b.cuh, but .hpp files compile without CUDA")

start_tree()
write(device/d.cuh "LAYER 3: " "#include <cub/cub.cuh>\n")
expect("device/d.cuh: includes cub/cub.cuh: include the exact CUB header")

start_tree()
write(format/a.hpp "LAYER 0: " "#include \"a.hpp\"\n")
expect("format/a.hpp: includes with quotes")

start_tree()
write(format/a.hpp "LAYER 0: " "  #  define BITSPARSE_Y 1\n")
expect("format/a.hpp: defines a macro")

start_tree()
write(format/a.cuh "LAYER 0: " "")
expect("format/a.cuh: the format layer is plain C")

start_tree()
write(device/d.cuh "LAYER 2: " "")
expect("device/d.cuh: its '/// @file' sentence does not begin with 'LAYER 3'")

start_tree()
write(util/e.hpp "" "")
expect("util/e.hpp: util is not a layer")

start_tree()
write(extra.hpp "" "")
expect("extra.hpp: only .* lie at the top")

start_tree()
file(WRITE ${WORK}/include/bitsparse/format/a.inl "")
expect("format/a.inl: a header's name ends in .hpp or .cuh")

start_tree()
file(WRITE ${WORK}/include/bitsparse/format/a.hpp "/// @file\n/// LAYER 0: A sentence.\n#pragma once\n")
expect("format/a.hpp: does not begin with the two SPDX lines")

start_tree()
file(WRITE ${WORK}/include/bitsparse/format/a.hpp "${spdx}/// @file\n/// LAYER 0: A sentence.\n#include <cstdint>\n")
expect("format/a.hpp: '/// @file', a sentence and '#pragma once' do not follow")

file(REMOVE_RECURSE ${WORK})
