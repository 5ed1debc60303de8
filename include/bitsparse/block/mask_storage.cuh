// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: a tile's mask in shared memory, written and read by words and by the bits of one
/// vector.
#pragma once

#include <cstdint>

#include <bitsparse/config.hpp>
#include <bitsparse/format/tile_format.hpp>
#include <bitsparse/warp/vector.cuh>

namespace bitsparse {
inline namespace v0 {

namespace detail {

/// The bits of a vector in a mask or mask stream.
template <class Bits>
__device__ __forceinline__ std::uint32_t vector_bits(std::uint32_t const* words,
                                                     std::uint32_t vector) {
  if constexpr (sizeof(Bits) == 1) {
    return reinterpret_cast<std::uint16_t const*>(words)[vector];
  } else if constexpr (sizeof(Bits) == 2) {
    return reinterpret_cast<std::uint8_t const*>(words)[vector];
  } else {
    return reinterpret_cast<std::uint8_t const*>(words)[vector / 2] >> vector % 2 * 4 & 0xfu;
  }
}

}  // namespace detail

/// A mask of one bit per value. The bits of a vector are 16 (1-byte elements), 8 or
/// 4 (4-byte elements).
template <class Format>
struct mask_storage {
  using bits_type = typename Format::bits_type;

  std::uint32_t words[Format::mask_words];  // (mask_words,) tile row-major

  __device__ __forceinline__ std::uint32_t vector_bits(std::uint32_t vector) const {
    return detail::vector_bits<bits_type>(words, vector);
  }

  /// Threads: 1- and 2-byte elements: any. 4-byte elements: all lanes of a warp, converged, with
  ///   vector = 32 k + lane, because two lanes share a byte.
  __device__ __forceinline__ void set_vector_bits(std::uint32_t vector,
                                                  std::uint32_t bits,
                                                  bool valid) {
    if constexpr (sizeof(bits_type) == 1) {
      if (valid) reinterpret_cast<std::uint16_t*>(words)[vector] = static_cast<std::uint16_t>(bits);
    } else if constexpr (sizeof(bits_type) == 2) {
      if (valid) reinterpret_cast<std::uint8_t*>(words)[vector] = static_cast<std::uint8_t>(bits);
    } else {
      bits |= __shfl_down_sync(0xffffffffu, bits, 1) << 4;
      if (valid && vector % 2 == 0)
        reinterpret_cast<std::uint8_t*>(words)[vector / 2] = static_cast<std::uint8_t>(bits);
    }
  }
};

}  // namespace v0
}  // namespace bitsparse
