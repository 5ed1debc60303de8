// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: the positions of a word's set bits, as a list.
#pragma once

#include <cstdint>

#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

namespace detail {

/// A word with one bit set, or 0 for numbers above 31.
__device__ __forceinline__ std::uint32_t bit_or_none(std::uint32_t number) {
  std::uint32_t word;
  asm("shl.b32 %0, 1, %1;" : "=r"(word) : "r"(number));
  return word;
}

}  // namespace detail

/// Lists the set bits of a word in front of \p end: the highest in end[-1], the next in end[-2], and
/// so on. Of bit n in end[-i] the entry is first + n + Step * i.
/// Shapes: room for popc(bits) entries. Threads: any.
/// @tparam Usual bits that are listed without a branch, since that many are set in one lane or
///   another anyway
template <int Usual, std::uint32_t Step>
__device__ __forceinline__ void list_bits(std::uint32_t bits,
                                          std::uint32_t first,
                                          std::uint16_t* end) {
#pragma unroll
  for (int i = 1; i <= Usual; ++i) {
    std::uint32_t const bit = 31 - __clz(static_cast<int>(bits));
    if (bits != 0) end[-i] = static_cast<std::uint16_t>(first + bit + Step * i);
    bits ^= detail::bit_or_none(bit);
  }
  first += Step * Usual;
#pragma unroll 1
  for (std::uint16_t* at = end - Usual; bits != 0;) {
    std::uint32_t const bit = 31 - __clz(static_cast<int>(bits));
    first += Step;
    *--at = static_cast<std::uint16_t>(first + bit);
    bits ^= 1u << bit;
  }
}

}  // namespace v0
}  // namespace bitsparse
