// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: runs of consecutive values as numbers: loading, storing, and conversion to and from
/// float. The one place where the library does arithmetic's rounding.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <vector_types.h>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <bitsparse/config.hpp>
#include <bitsparse/format/element.hpp>
#include <bitsparse/warp/vector.cuh>

namespace bitsparse {
inline namespace v0 {

/// Whether values of the element are stored scaled: 8-bit floats, whose range is narrow.
template <class Element>
inline constexpr bool is_scaled = Element::value_bits == 8;

/// A number as a float; every value of every element is one.
template <class Element>
__device__ __forceinline__ float to_float(typename Element::bits_type bits) {
  if constexpr (std::is_same_v<Element, fp32>) {
    return __uint_as_float(bits);
  } else if constexpr (std::is_same_v<Element, bf16>) {
    return __uint_as_float(std::uint32_t{bits} << 16);
  } else if constexpr (std::is_same_v<Element, fp16>) {
    return __half2float(__ushort_as_half(bits));
  } else {
    constexpr auto kind = std::is_same_v<Element, fp8_e4m3> ? __NV_E4M3 : __NV_E5M2;
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(bits, kind)));
  }
}

/// A float rounded to the nearest value, ties to even. What is too large becomes infinite, in 8-bit
/// floats the largest finite number. A NaN becomes CUDA's canonical one.
template <class Element>
__device__ __forceinline__ typename Element::bits_type from_float(float number) {
  if constexpr (std::is_same_v<Element, fp32>) {
    return __float_as_uint(number);
  } else if constexpr (std::is_same_v<Element, bf16>) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(number));
  } else if constexpr (std::is_same_v<Element, fp16>) {
    return __half_as_ushort(__float2half_rn(number));
  } else {
    constexpr auto kind = std::is_same_v<Element, fp8_e4m3> ? __NV_E4M3 : __NV_E5M2;
    return __nv_cvt_float_to_fp8(number, __NV_SATFINITE, kind);
  }
}

/// `Values` consecutive values in registers.
///
/// Layout: value i is bits i * value_bits ... of the words, lowest first, as in memory.
/// Alignment: in memory, its bytes, at most 16.
/// @tparam Values a multiple of 4: 4 to 64 bytes
template <class Element, int Values>
struct value_run {
  using bits_type                   = typename Element::bits_type;
  static constexpr int num_words    = Values * static_cast<int>(sizeof(bits_type)) / 4;
  static constexpr int access_bytes = num_words >= 4 ? 16 : 4 * num_words;
  static constexpr int word_values  = 4 / static_cast<int>(sizeof(bits_type));
  static_assert(Values % 4 == 0 && num_words <= 16 && (num_words % 4 == 0 || num_words <= 2),
                "bitsparse: a run has 4, 8 or from 16 to 64 bytes");

  std::uint32_t words[num_words];  // (num_words,)

  /// volatile, as load_vector: loads of several runs stay together.
  __device__ __forceinline__ void load(bits_type const* from) {
    if constexpr (num_words == 1) {
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(words[0]) : "l"(from));
    } else if constexpr (num_words == 2) {
      asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(from));
    } else {
#pragma unroll
      for (int w = 0; w < num_words; w += 4) {
        uint4 const vector = load_vector(reinterpret_cast<std::uint32_t const*>(from) + w);
        words[w]           = vector.x;
        words[w + 1]       = vector.y;
        words[w + 2]       = vector.z;
        words[w + 3]       = vector.w;
      }
    }
  }
  /// With the streaming policy, as tile_arrangement::store().
  __device__ __forceinline__ void store(bits_type* to) const {
    if constexpr (num_words == 1) {
      __stcs(reinterpret_cast<std::uint32_t*>(to), words[0]);
    } else if constexpr (num_words == 2) {
      __stcs(reinterpret_cast<uint2*>(to), uint2{words[0], words[1]});
    } else {
#pragma unroll
      for (int w = 0; w < num_words; w += 4) {
        __stcs(reinterpret_cast<uint4*>(to) + w / 4,
               uint4{words[w], words[w + 1], words[w + 2], words[w + 3]});
      }
    }
  }

  __device__ __forceinline__ bits_type value(int i) const {
    return static_cast<bits_type>(words[i / word_values] >>
                                  i % word_values * 8 * static_cast<int>(sizeof(bits_type)));
  }
  /// Puts value i into a run whose value i is 0.
  __device__ __forceinline__ void or_value(int i, bits_type bits) {
    words[i / word_values] |= static_cast<std::uint32_t>(bits)
                              << i % word_values * 8 * static_cast<int>(sizeof(bits_type));
  }
  /// All bits 0.
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int w = 0; w < num_words; ++w) words[w] = 0;
  }
  __device__ __forceinline__ void fill(bits_type bits) {
    std::uint32_t const word = broadcast_vector<bits_type>(bits).x;
#pragma unroll
    for (int w = 0; w < num_words; ++w) words[w] = word;
  }

  __device__ __forceinline__ void to_floats(float (&numbers)[Values]) const {
    if constexpr (std::is_same_v<Element, fp16> || sizeof(bits_type) == 1) {
#pragma unroll
      for (int i = 0; i < Values; i += 2) {
        __half2 pair;
        if constexpr (std::is_same_v<Element, fp16>) {
          memcpy(&pair, &words[i / 2], sizeof(pair));
        } else {
          constexpr auto kind = std::is_same_v<Element, fp8_e4m3> ? __NV_E4M3 : __NV_E5M2;
          auto const bits     = static_cast<__nv_fp8x2_storage_t>(words[i / 4] >> i % 4 * 8);
          pair                = __half2(__nv_cvt_fp8x2_to_halfraw2(bits, kind));
        }
        float2 const both = __half22float2(pair);
        numbers[i]        = both.x;
        numbers[i + 1]    = both.y;
      }
    } else {
#pragma unroll
      for (int i = 0; i < Values; ++i) {
        if constexpr (std::is_same_v<Element, bf16>) {  // a high half is a number as it lies there
          std::uint32_t const word = words[i / 2];
          numbers[i]               = __uint_as_float(i % 2 == 0 ? word << 16 : word & 0xffff0000u);
        } else {
          numbers[i] = __uint_as_float(words[i]);
        }
      }
    }
  }
  /// Rounds as from_float() does.
  __device__ __forceinline__ void from_floats(float const (&numbers)[Values]) {
    if constexpr (std::is_same_v<Element, fp32>) {
#pragma unroll
      for (int i = 0; i < Values; ++i) words[i] = __float_as_uint(numbers[i]);
    } else if constexpr (sizeof(bits_type) == 2) {
#pragma unroll
      for (int i = 0; i < Values; i += 2) {
        if constexpr (std::is_same_v<Element, bf16>) {
          __nv_bfloat162 const pair = __floats2bfloat162_rn(numbers[i], numbers[i + 1]);
          memcpy(&words[i / 2], &pair, sizeof(pair));
        } else {
          __half2 const pair = __floats2half2_rn(numbers[i], numbers[i + 1]);
          memcpy(&words[i / 2], &pair, sizeof(pair));
        }
      }
    } else {
      constexpr auto kind = std::is_same_v<Element, fp8_e4m3> ? __NV_E4M3 : __NV_E5M2;
#pragma unroll
      for (int i = 0; i < Values; i += 4) {
        std::uint32_t const low =
            __nv_cvt_float2_to_fp8x2(float2{numbers[i], numbers[i + 1]}, __NV_SATFINITE, kind);
        std::uint32_t const high =
            __nv_cvt_float2_to_fp8x2(float2{numbers[i + 2], numbers[i + 3]}, __NV_SATFINITE, kind);
        words[i / 4] = low | high << 16;
      }
    }
  }
};

}  // namespace v0
}  // namespace bitsparse
