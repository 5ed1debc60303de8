// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The gpu tests' main function: without a device they are skipped, with CTest's SKIP_RETURN_CODE.
#include <cuda_runtime_api.h>
#include <cstdio>

#include <tests/support/run_tests.hpp>

int main(int argc, char* argv[]) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("skipped: no CUDA device\n");
    return 77;
  }
  return bitsparse_test::run_tests(argc, argv);
}
