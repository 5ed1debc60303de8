// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: window values: 16-bit values without sign bits, as a low byte and a 4-bit nibble each.
#pragma once

#include <vector_types.h>
#include <cstdint>

#include <bitsparse/config.hpp>
#include <bitsparse/warp/mask.cuh>

namespace bitsparse {
inline namespace v0 {

/// The largest and, above 0x8000, the smallest value of a tile that is not zero, two values at a time:
/// what the span of its high bytes follows from. Right if no value has its sign bit set; else largest is
/// 0x8000 or more.
struct window_extremes {
  std::uint32_t largest  = 0;
  std::uint32_t smallest = 0;  // as signed halves: 0 is more than any value + 0x8000

  /// Takes in the 8 values of a vector.
  __device__ __forceinline__ void add(uint4 const& vector) {
    std::uint32_t const words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int w = 0; w < 4; w += 2) {
      std::uint32_t const first = words[w], second = words[w + 1];
      largest  = __vimax3_u16x2(largest, first, second);
      smallest = __vimin3_s16x2(smallest,
                                first + detail::nonzero_flags(first) * 0x8000u,
                                second + detail::nonzero_flags(second) * 0x8000u);
    }
  }
  /// Takes in one value.
  __device__ __forceinline__ void add(std::uint16_t value) {
    largest = max(largest, std::uint32_t{value});
    if (value != 0) smallest = __vmins2(smallest, value | 0x8000u);
  }
  /// What all lanes have seen: the largest in the high half, the smallest, plus 0x8000, in the low half.
  /// Threads: all 32 lanes, converged.
  __device__ __forceinline__ std::uint32_t of_warp() const {
    std::uint32_t const high =
        __reduce_max_sync(0xffffffffu, max(largest >> 16, largest & 0xffffu));
    // As unsigned, with 0 as the largest: minus 1.
    std::uint32_t const low = min(((smallest >> 16) - 1) & 0xffffu, (smallest - 1) & 0xffffu);
    return high << 16 | ((__reduce_min_sync(0xffffffffu, low) + 1) & 0xffffu);
  }
};

/// 8 values in window form.
struct window_group {
  std::uint32_t low[2];   // (8,) low bytes
  std::uint32_t nibbles;  // (8,) high byte - base
};

/// Splits 8 values. Shapes: of the values, the first \p count are kept, the others 0; their high bytes
/// are base to base + 15. Threads: any.
__device__ __forceinline__ window_group split_window(uint4 const& values,
                                                     std::uint32_t base,
                                                     std::uint32_t count) {
  window_group group{};
  std::uint32_t const words[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    std::uint32_t const first = words[2 * half], second = words[2 * half + 1];
    group.low[half]     = __byte_perm(first, second, 0x6420);
    std::uint32_t codes = __byte_perm(first, second, 0x7531) - base * 0x01010101u;
    codes               = (codes | codes >> 4) & 0x00ff00ffu;
    group.nibbles |= ((codes | codes >> 8) & 0xffffu) << 16 * half;
  }
  if (count < 8) group.nibbles &= (1u << 4 * count) - 1;
  return group;
}

/// 4 values from their low bytes and nibbles, which lie in the low half of \p nibbles.
/// @param code_mask 7 or 15, the bits of a nibble that belong to the value, in each byte
/// @param base in each byte
__device__ __forceinline__ uint2 join_window(std::uint32_t low,
                                             std::uint32_t nibbles,
                                             std::uint32_t code_mask,
                                             std::uint32_t base) {
  std::uint32_t codes = (nibbles & 0xffu) | (nibbles & 0xff00u) << 8;
  codes               = (codes | codes << 4) & code_mask;
  codes               = (codes + base) & 0x7f7f7f7fu;
  return {__byte_perm(low, codes, 0x5140), __byte_perm(low, codes, 0x7362)};
}

/// Puts bit j of a byte at the top of nibble j.
__device__ __forceinline__ std::uint32_t spread_nibble_tops(std::uint32_t bits) {
  bits = (bits | bits << 12) & 0x000f000fu;
  bits = (bits | bits << 6) & 0x03030303u;
  return ((bits | bits << 3) & 0x11111111u) << 3;
}

/// The top of nibble j as bit j of a byte.
__device__ __forceinline__ std::uint32_t gather_nibble_tops(std::uint32_t nibbles) {
  std::uint32_t bits = nibbles >> 3 & 0x11111111u;
  bits               = (bits | bits >> 3) & 0x03030303u;
  bits               = (bits | bits >> 6) & 0x000f000fu;
  return (bits | bits >> 12) & 0xffu;
}

}  // namespace v0
}  // namespace bitsparse
