// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: integer and byte arithmetic that the format is written in. Plain C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

/// What a size query answers when the true size does not fit in 64 bits, or is over the format's
/// limit. Every allocator refuses it.
inline constexpr std::uint64_t size_overflow = ~std::uint64_t{0};

namespace detail {

template <class T>
BITSPARSE_HOST_DEVICE constexpr T ceil_div(T value, T divisor) {
  return static_cast<T>(value / divisor + (value % divisor != 0));
}

/// Rounds up to a multiple; the caller knows that the result fits.
template <class T>
BITSPARSE_HOST_DEVICE constexpr T round_up(T value, T multiple) {
  return ceil_div(value, multiple) * multiple;
}

/// a * b, or size_overflow; size_overflow in either factor is passed on.
constexpr std::uint64_t checked_mul(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == size_overflow || b == size_overflow || a > size_overflow / b) return size_overflow;
  return a * b;
}

/// a + b, or size_overflow; size_overflow in either term is passed on.
constexpr std::uint64_t checked_add(std::uint64_t a, std::uint64_t b) {
  return a > size_overflow - b ? size_overflow : a + b;
}

/// Number of set bits. Not the compiler's builtin: without an instruction for it that is a call.
constexpr std::uint32_t popcount(std::uint32_t word) {
  word = word - (word >> 1 & 0x55555555u);
  word = (word & 0x33333333u) + (word >> 2 & 0x33333333u);
  return ((word + (word >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

/// Bits that a number needs; 0 for 0.
BITSPARSE_HOST_DEVICE constexpr std::uint32_t bit_width(std::uint32_t number) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated())
    return 32 - static_cast<std::uint32_t>(__clz(static_cast<int>(number)));
#endif
  std::uint32_t bits = 0;
  while (bits < 32 && number >> bits != 0) ++bits;
  return bits;
}

/// Index of the lowest set bit. `word` is not 0.
constexpr std::uint32_t count_trailing_zeros(std::uint32_t word) {
#if defined(__GNUC__)
  return static_cast<std::uint32_t>(__builtin_ctz(word));
#else
  return popcount((word & (~word + 1)) - 1);
#endif
}

/// Unaligned little-endian load (the host is little-endian: config.hpp).
template <class T>
inline T load(void const* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

/// Unaligned little-endian store.
template <class T>
inline void store(void* target, T value) {
  std::memcpy(target, &value, sizeof(T));
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
