// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: what encoder and decoder share on the host: groups of values, masks, and row copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/tile_format.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

// -------------------------------------------------------------------------------------------------
// Groups: 64 bits as lanes of one value each, the first lowest
// -------------------------------------------------------------------------------------------------

/// The constants of arithmetic on all lanes at once.
template <class Bits>
struct group_lanes {
  static constexpr std::uint32_t bits  = 8 * sizeof(Bits);
  static constexpr std::uint32_t count = 64 / bits;
  static constexpr std::uint64_t ones  = ~std::uint64_t{0} / static_cast<Bits>(~Bits{0});
  static constexpr std::uint64_t tops  = ones << (bits - 1);
  /// In lane l bit l.
  static constexpr std::uint64_t diagonal = bits == 8    ? 0x8040201008040201u
                                            : bits == 16 ? 0x0008000400020001u
                                                         : 0x0000000200000001u;
  /// Multiplied with it, the top bit of lane l reaches bit 64 - count + l; no others meet there.
  static constexpr std::uint64_t gather = bits == 8    ? 0x0002040810204081u
                                          : bits == 16 ? 0x0000200040008001u
                                                       : 0x0000000080000001u;
};

/// The lanes' top bits, lane l's in bit l.
template <class Bits>
inline std::uint32_t gather_tops(std::uint64_t group) {
  return static_cast<std::uint32_t>((group & group_lanes<Bits>::tops) * group_lanes<Bits>::gather >>
                                    (64 - group_lanes<Bits>::count));
}

/// The reverse: bit l in the top bit of lane l, all else 0. Higher bits are ignored.
template <class Bits>
inline std::uint64_t spread_tops(std::uint32_t bits) {
  bits &= (1u << group_lanes<Bits>::count) - 1;
  std::uint64_t const picked = bits * group_lanes<Bits>::ones & group_lanes<Bits>::diagonal;
  return (picked + ~group_lanes<Bits>::tops) & group_lanes<Bits>::tops;
}

/// Sets the top bit of each lane that is not all zero bits; the other bits are any.
template <class Bits>
inline std::uint64_t mark_nonzero(std::uint64_t group) {
  // Adding all ones but the top bit to a lane's low bits carries into the top bit unless they are 0.
  return ((group & ~group_lanes<Bits>::tops) + ~group_lanes<Bits>::tops) | group;
}

/// Bit 3 of each of 8 nibbles, that of nibble i in bit i.
inline std::uint32_t gather_nibble_tops(std::uint32_t nibbles) {
  std::uint32_t bits = nibbles >> 3 & 0x11111111u;
  bits               = (bits | bits >> 3) & 0x03030303u;
  bits               = (bits | bits >> 6) & 0x000f000fu;
  return (bits | bits >> 12) & 0xffu;
}

/// The reverse, of 8 bits.
inline std::uint32_t spread_nibble_tops(std::uint32_t bits) {
  bits = (bits | bits << 12) & 0x000f000fu;
  bits = (bits | bits << 6) & 0x03030303u;
  return ((bits | bits << 3) & 0x11111111u) << 3;
}

// -------------------------------------------------------------------------------------------------
// Masks: bit i of word j belongs to value 32 j + i
// -------------------------------------------------------------------------------------------------

/// Finds the values that are not all zero bits.
/// Shapes: values (32 * num_words,), mask (num_words,).
template <class Bits>
inline void make_mask(Bits const* values, std::uint32_t num_words, std::uint32_t* mask) {
  for (std::uint32_t j = 0; j < num_words; ++j) {
    std::uint32_t word = 0;
    for (std::uint32_t i = 0; i < 32; i += group_lanes<Bits>::count) {
      word |= gather_tops<Bits>(mark_nonzero<Bits>(load<std::uint64_t>(values + 32 * j + i))) << i;
    }
    mask[j] = word;
  }
}

/// Words for any mask stream, of which an Elias-Fano one is at most one longer than the mask, and two
/// that may be touched behind it.
template <class Format>
inline constexpr std::uint32_t stream_room = Format::mask_words + 3;

/// Packs the values whose mask bit is set, and their indices, in order. @return their number
/// Shapes: values (32 * num_words,), mask (num_words,), kept, indices (as returned,).
template <class Bits>
inline std::uint32_t keep_values(Bits const* values,
                                 std::uint32_t const* mask,
                                 std::uint32_t num_words,
                                 Bits* kept,
                                 std::uint16_t* indices) {
  std::uint32_t num_kept = 0;
  for (std::uint32_t j = 0; j < num_words; ++j) {
    for (std::uint32_t rest = mask[j]; rest != 0; rest &= rest - 1) {
      std::uint32_t const index = 32 * j + count_trailing_zeros(rest);
      indices[num_kept]         = static_cast<std::uint16_t>(index);
      kept[num_kept++]          = values[index];
    }
  }
  return num_kept;
}

/// The set bits of a mask.
inline std::uint32_t count_set(std::uint32_t const* mask, std::uint32_t num_words) {
  std::uint32_t set = 0;
  for (std::uint32_t j = 0; j < num_words; ++j) set += popcount(mask[j]);
  return set;
}

/// Copies rows x cols values of a tile between places with a stride each, in values.
template <class Format, class To, class From>
inline void copy_rows(std::uint32_t rows,
                      std::uint32_t cols,
                      To* to,
                      std::uint64_t to_stride,
                      From const* from,
                      std::uint64_t from_stride) {
  constexpr std::size_t value_bytes = sizeof(typename Format::bits_type);
  for (std::uint32_t row = 0; row < rows; ++row) {
    auto* const target = reinterpret_cast<std::byte*>(to) + row * to_stride * value_bytes;
    auto const* const source =
        reinterpret_cast<std::byte const*>(from) + row * from_stride * value_bytes;
    // A constant size becomes a few vector moves, any other a slow string instruction.
    if (cols == Format::cols) {
      std::memcpy(target, source, Format::cols * value_bytes);
    } else {
      std::memcpy(target, source, cols * value_bytes);
    }
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
