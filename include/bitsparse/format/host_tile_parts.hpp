// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: what encoder and decoder share on the host: masks from values, from carried bits and as
/// a stream, and row copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/tile_format.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// The top bits of the 4 16-bit or 8 8-bit lanes of a group, in value order.
template <class Bits>
inline std::uint32_t gather_top_bits(std::uint64_t group) {
  if constexpr (sizeof(Bits) == 1) {
    return static_cast<std::uint32_t>((group >> 7 & 0x0101010101010101u) * 0x0102040810204080u >>
                                      56);
  } else {
    return static_cast<std::uint32_t>((group >> 15 & 0x0001000100010001u) * 0x0001000200040008u >>
                                      48) &
           0xf;
  }
}

/// One mask word: bit i is set where values[i] is not all zero bits.
/// Shapes: values (32,).
template <class Bits>
inline std::uint32_t nonzero_mask(Bits const* values) {
  std::uint32_t word = 0;
  if constexpr (sizeof(Bits) == 4) {
    for (std::uint32_t i = 0; i < 32; ++i) word |= std::uint32_t{values[i] != 0} << i;
  } else {
    // Adding all ones but the top bit to the low bits of a lane carries into its top bit unless
    // they are all 0.
    constexpr std::uint32_t lanes = 8 / sizeof(Bits);
    constexpr std::uint64_t low   = sizeof(Bits) == 1 ? 0x7f7f7f7f7f7f7f7fu : 0x7fff7fff7fff7fffu;
    for (std::uint32_t i = 0; i < 32; i += lanes) {
      std::uint64_t const group = load<std::uint64_t>(values + i);
      word |= gather_top_bits<Bits>(((group & low) + low) | group) << i;
    }
  }
  return word;
}

/// One word of carried mask bits: bit i is the top bit of values[i].
/// Shapes: values (32,), at any address.
template <class Bits>
inline std::uint32_t gather_signs(std::byte const* values) {
  std::uint32_t word = 0;
  if constexpr (sizeof(Bits) == 4) {
    for (std::uint32_t i = 0; i < 32; ++i) word |= (load<std::uint32_t>(values + 4 * i) >> 31) << i;
  } else {
    constexpr std::uint32_t lanes = 8 / sizeof(Bits);
    for (std::uint32_t i = 0; i < 32; i += lanes) {
      word |= gather_top_bits<Bits>(load<std::uint64_t>(values + i * sizeof(Bits))) << i;
    }
  }
  return word;
}

/// One word of carried mask bits: bit i is bit 3 of nibble i.
/// Shapes: nibbles (16 bytes,), at any address.
inline std::uint32_t gather_nibble_tops(std::byte const* nibbles) {
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < 32; i += 8) {
    std::uint32_t bits = load<std::uint32_t>(nibbles + i / 2) >> 3 & 0x11111111u;
    bits               = (bits | bits >> 3) & 0x03030303u;
    bits               = (bits | bits >> 6) & 0x000f000fu;
    word |= ((bits | bits >> 12) & 0xffu) << i;
  }
  return word;
}

/// The mask stream of a mask form: the mask itself, or one bit per mask byte and then the non-zero
/// bytes. Shapes: mask (Format::mask_words,), stream (Format::mask_words / 8 * 9,), at least
/// layout.stream_words are written.
template <class Format>
inline void write_mask_stream(bool two_level, std::uint32_t const* mask, std::uint32_t* stream) {
  if (!two_level) {
    std::memcpy(stream, mask, Format::mask_bytes);
    return;
  }
  constexpr std::uint32_t level1_words = Format::mask_words / 8;
  auto const* const bytes              = reinterpret_cast<unsigned char const*>(mask);
  std::memset(stream, 0, level1_words * 9 * sizeof(std::uint32_t));
  auto* next = reinterpret_cast<unsigned char*>(stream + level1_words);
  for (std::uint32_t i = 0; i < Format::mask_bytes; ++i) {
    if (bytes[i] == 0) continue;
    stream[i / 32] |= std::uint32_t{1} << i % 32;
    *next++ = bytes[i];
  }
}

/// Copies the valid rows x columns of a tile, packed, into a chunk, or back.
template <class Format, class To, class From>
inline void copy_valid(std::uint32_t valid_rows,
                       std::uint32_t valid_cols,
                       To* to,
                       std::uint32_t to_stride,
                       From const* from,
                       std::uint32_t from_stride) {
  constexpr std::uint32_t value_bytes = sizeof(typename Format::bits_type);
  for (std::uint32_t row = 0; row < valid_rows; ++row) {
    std::memcpy(
        reinterpret_cast<std::byte*>(to) + std::size_t{row} * to_stride * value_bytes,
        reinterpret_cast<std::byte const*>(from) + std::size_t{row} * from_stride * value_bytes,
        valid_cols * value_bytes);
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
