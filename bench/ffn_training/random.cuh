// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Pseudo-random numbers that are functions of a counter.
#pragma once

#include <cuda_runtime.h>
#include <cstdint>

namespace ffn {

/// Source: SplitMix64.
__device__ __forceinline__ std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// A standard normal number (Box-Muller).
__device__ __forceinline__ float normal(std::uint64_t counter) {
  std::uint64_t const bits = mixed(counter);
  float const u            = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;
  float const angle        = static_cast<float>(bits & 0xffffffu) * 0x1p-24f;
  return sqrtf(-2 * logf(u)) * cospif(2 * angle);
}

}  // namespace ffn
