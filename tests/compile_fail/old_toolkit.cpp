// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A toolkit that is too old is refused with what to do. No such toolkit is needed to see that: the
/// macro with which nvcc names its version is all that is looked at.
// expect: bitsparse needs CUDA 13.0 or newer \(nvcc --version\)
// flags: -D__CUDACC_VER_MAJOR__=12
#include <bitsparse/config.hpp>

int main() {
  return 0;
}
