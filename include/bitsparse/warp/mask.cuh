// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: mask bits of values: of a lane's vector, of a warp's 32 values, and riding in sign
/// bits.
#pragma once

#include <vector_types.h>
#include <cstdint>

#include <bitsparse/config.hpp>
#include <bitsparse/warp/vector.cuh>

namespace bitsparse {
inline namespace v0 {

/// One mask word from a value per lane: bit l is set where lane l's value is not all zero bits.
/// Threads: all 32 lanes of a warp, converged.
template <class Bits>
__device__ __forceinline__ std::uint32_t warp_mask_word(Bits value) {
  return __ballot_sync(0xffffffffu, value != 0);
}

namespace detail {

/// 1 in each half of a word that is not 0.
__device__ __forceinline__ std::uint32_t nonzero_flags(std::uint32_t word) {
#if __CUDA_ARCH__ >= 900
  std::uint32_t flags;  // min(half, 1) of both halves in one instruction
  asm("min.u16x2 %0, %1, %2;" : "=r"(flags) : "r"(word), "r"(0x00010001u));
  return flags;
#else
  return ((((word & 0x7fff7fffu) + 0x7fff7fffu) | word) & 0x80008000u) >> 15;
#endif
}

}  // namespace detail

/// The mask bits of a lane's vector: bit j is set where value j is not all zero bits; no bits
/// above. Threads: any.
template <class Bits>
__device__ __forceinline__ std::uint32_t vector_mask(uint4 const& vector) {
  std::uint32_t const words[4] = {vector.x, vector.y, vector.z, vector.w};
  std::uint32_t mask           = 0;
  if constexpr (sizeof(Bits) == 4) {
#pragma unroll
    for (int w = 3; w >= 0; --w) mask = mask * 2 + (words[w] < 1 ? words[w] : 1u);
  } else if constexpr (sizeof(Bits) == 2) {
#pragma unroll
    for (int w = 3; w >= 0; --w) {  // flags of words w: bits 2w and 2w + 16
      mask = mask * 4 + detail::nonzero_flags(words[w]);
    }
    mask = (mask + (mask >> 15)) & 0xffu;
  } else {
    // 128 of every byte that is not 0, times the bit's weight, in one dot product per word.
    std::uint32_t halves[2] = {};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      std::uint32_t const flags =
          (((words[w] & 0x7f7f7f7fu) + 0x7f7f7f7fu) | words[w]) & 0x80808080u;
      halves[w / 2] = __dp4a(flags, w % 2 == 0 ? 0x08040201u : 0x80402010u, halves[w / 2]);
    }
    mask = (halves[0] >> 7) + (halves[1] << 1);
  }
  return mask;
}

/// Sets the sign bits of a vector, which are 0, to mask bits: value j's to bit j.
/// Threads: any.
template <class Bits>
__device__ __forceinline__ uint4 set_signs(uint4 const& vector, std::uint32_t mask) {
  std::uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
  if constexpr (sizeof(Bits) == 2) mask |= mask << 15;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(Bits) == 4) {
      words[w] |= mask << (31 - w) & 0x80000000u;
    } else if constexpr (sizeof(Bits) == 2) {
      words[w] |= mask << (15 - 2 * w) & 0x80008000u;
    } else {
      words[w] |= (mask >> 4 * w & 0xfu) * 0x10204080u & 0x80808080u;
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

/// Reads the sign bits of a vector, bit j from value j, and clears them.
/// Threads: any.
template <class Bits>
__device__ __forceinline__ std::uint32_t take_signs(uint4& vector) {
  std::uint32_t* const words[4] = {&vector.x, &vector.y, &vector.z, &vector.w};
  std::uint32_t mask            = 0;
#pragma unroll
  for (int w = 3; w >= 0; --w) {
    if constexpr (sizeof(Bits) == 4) {
      mask = __funnelshift_l(*words[w], mask, 1);
      *words[w] &= 0x7fffffffu;
    } else if constexpr (sizeof(Bits) == 2) {
      mask |= *words[w] >> (15 - 2 * w) & 0x00010001u << 2 * w;
      *words[w] &= 0x7fff7fffu;
    } else {
      mask = __funnelshift_l((*words[w] & 0x80808080u) * 0x00204081u, mask, 4);
      *words[w] &= 0x7f7f7f7fu;
    }
  }
  if constexpr (sizeof(Bits) == 2) mask = (mask | mask >> 15) & 0xffu;
  return mask;
}

}  // namespace v0
}  // namespace bitsparse
