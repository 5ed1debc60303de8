// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the header of the serialised form, and its checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/size.hpp>
#include <bitsparse/format/tile_format.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

/// The version of the serialised form: raised whenever a byte of it changes its meaning.
inline constexpr std::uint32_t serialized_version = 1;

/// "\x89BSP\r\n\x1a\n" read as a little-endian number. Like PNG's signature, it does not survive a
/// text-mode transfer.
inline constexpr std::uint64_t serialized_magic = 0x0a1a0a0d50534289u;

/// The first 64 bytes of a serialised tensor. The directory follows, zero-padded to 16 bytes, then
/// the chunks.
struct serialized_header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint8_t element;  // element_id
  std::uint8_t codec;    // codec_id
  std::uint16_t reserved;
  std::uint32_t tile_rows;
  std::uint32_t tile_cols;
  std::uint64_t rows;
  std::uint64_t cols;
  std::uint64_t payload_units;     // all chunks, in 16-byte units
  std::uint64_t content_checksum;  // of everything behind the header
  std::uint64_t header_checksum;   // of the 56 bytes before it
};

static_assert(sizeof(serialized_header) == 64 && std::is_trivially_copyable_v<serialized_header>);

/// A checksum over 64-bit little-endian words: the sum, modulo 2^64, of mix(word + (i + 1) *
/// golden) over the words' index i, where mix is a bijection. Every change of a single word changes
/// it, and it can be summed in any order, so a device can compute it with one atomic per block.
///
/// Shapes: data (bytes,). Units: bytes is a multiple of 8.
/// Source: mix and golden are SplitMix64's (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
///   Generators, 2014).
inline std::uint64_t checksum(void const* data, std::uint64_t bytes) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  std::uint64_t sum              = 0;
  auto const* const source       = static_cast<unsigned char const*>(data);
  for (std::uint64_t i = 0; i < bytes / 8; ++i) {
    std::uint64_t mixed = detail::load<std::uint64_t>(source + 8 * i) + (i + 1) * golden;
    mixed               = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed               = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    sum += mixed ^ mixed >> 31;
  }
  return sum;
}

/// What a valid header says.
struct serialized_info {
  element_id element;
  codec_id codec;
  std::uint32_t tile_rows;
  std::uint32_t tile_cols;
  std::uint64_t rows;
  std::uint64_t cols;
  std::uint64_t payload_bytes;
};

/// Bytes of a serialised tensor whose chunks take payload_bytes; size_overflow if they do not fit
/// 64 bits.
template <class Format>
constexpr std::uint64_t serialized_bytes(std::uint64_t rows,
                                         std::uint64_t cols,
                                         std::uint64_t payload_bytes) {
  std::uint64_t const tiles = num_tiles<Format>(rows, cols);
  std::uint64_t const directory =
      tiles == size_overflow ? size_overflow
                             : detail::checked_mul(tiles + tiles % 2, sizeof(tile_descriptor));
  return detail::checked_add(detail::checked_add(sizeof(serialized_header), directory),
                             payload_bytes);
}

}  // namespace v0
}  // namespace bitsparse
