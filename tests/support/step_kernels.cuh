// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a captured step needs to differ from replay to replay: its number and its activations in device
/// memory.
#pragma once

#include <cstdint>

#include <bitsparse/detail/launch.cuh>

namespace bitsparse_test {

/// A layer's activation in one step: zeros move between 0 and 100 % from step to step. Threads: one per
/// value.
template <class Bits>
__global__ void activation_kernel(Bits* values, unsigned const* step, unsigned layer) {
  unsigned const i    = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint64_t mixed = (std::uint64_t{*step * 64 + layer} << 32 | i) * 0x9e3779b97f4a7c15u;
  mixed               = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
  mixed ^= mixed >> 32;
  unsigned const zeros = (*step * 37 + layer * 11) % 101;
  values[i]            = mixed % 100 < zeros ? Bits{0} : static_cast<Bits>(mixed >> 40 & 0x7f7f);
}

/// Lets the next kernel of the stream start, and does its work only some time later: fills a matrix
/// with other values in each step. Threads: one per value.
template <class Bits>
__global__ void late_fill_kernel(Bits* values, unsigned step) {
  bitsparse::detail::allow_next_kernel();
  long long const begin = clock64();
  while (clock64() - begin < 200000) {
  }
  unsigned const i     = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned const mixed = (i + step) * 0x9e3779b9u;
  values[i]            = mixed >> 31 != 0 ? static_cast<Bits>(mixed >> 12 & 0x7fff) : Bits{0};
}

/// One thread.
__global__ inline void advance_kernel(unsigned* step) {
  ++*step;
}

}  // namespace bitsparse_test
