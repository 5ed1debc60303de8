// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: a 16-byte vector of consecutive values, the unit in which tiles are loaded and stored.
#pragma once

#include <vector_types.h>
#include <cstdint>

#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

/// Values in a 16-byte vector.
template <class Bits>
inline constexpr std::uint32_t vector_values = 16 / sizeof(Bits);

/// Loads a vector from global memory. volatile: the compiler must not move a load behind others to
/// where its value is used.
/// Alignment: 16 bytes. Threads: any.
__device__ __forceinline__ uint4 load_vector(void const* from) {
  uint4 vector;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(vector.x), "=r"(vector.y), "=r"(vector.z), "=r"(vector.w)
               : "l"(from));
  return vector;
}

/// Value j of a vector. With j known at compile time this is at most one instruction.
template <class Bits>
__device__ __forceinline__ Bits vector_value(uint4 const& vector, std::uint32_t j) {
  std::uint32_t const words[4] = {vector.x, vector.y, vector.z, vector.w};
  constexpr std::uint32_t per  = 4 / sizeof(Bits);
  return static_cast<Bits>(words[j / per] >> j % per * (8 * sizeof(Bits)));
}

/// Puts value j into a vector whose value j is 0.
template <class Bits>
__device__ __forceinline__ void or_vector_value(uint4& vector, std::uint32_t j, Bits value) {
  constexpr std::uint32_t per = 4 / sizeof(Bits);
  std::uint32_t const word    = static_cast<std::uint32_t>(value) << j % per * (8 * sizeof(Bits));
  switch (j / per) {
    case 0:
      vector.x |= word;
      break;
    case 1:
      vector.y |= word;
      break;
    case 2:
      vector.z |= word;
      break;
    default:
      vector.w |= word;
      break;
  }
}

/// The vector whose values all have the same bits.
template <class Bits>
__device__ __forceinline__ uint4 broadcast_vector(Bits value) {
  std::uint32_t word = value;
  if constexpr (sizeof(Bits) == 1) word *= 0x01010101u;
  if constexpr (sizeof(Bits) == 2) word *= 0x00010001u;
  return {word, word, word, word};
}

}  // namespace v0
}  // namespace bitsparse
