// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Compares device memory on the device.
#pragma once

#include <cstdint>

namespace bitsparse_test {

/// Adds to *mismatches how many values differ. Any number of blocks and threads.
template <class Bits>
__global__ void compare_kernel(Bits const* a,
                               Bits const* b,
                               std::uint64_t count,
                               unsigned long long* mismatches) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  unsigned long long found   = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += stride) {
    found += a[i] != b[i];
  }
  if (found != 0) atomicAdd(mismatches, found);
}

}  // namespace bitsparse_test
