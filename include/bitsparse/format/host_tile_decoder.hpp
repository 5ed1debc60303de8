// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the decoder of one tile on the host. It trusts no byte: whatever a chunk holds, nothing
/// outside it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/host_tile_parts.hpp>
#include <bitsparse/format/tile_descriptor.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// Reads the mask of a mask form and checks that every stream lies inside the chunk.
/// Shapes: chunk (descriptor.chunk_units() * 16,), mask (Format::mask_words,).
template <class Format>
inline status read_mask(tile_descriptor descriptor,
                        std::byte const* chunk,
                        chunk_layout& layout,
                        std::uint32_t* mask) {
  using bits_type          = typename Format::bits_type;
  encoding const e         = descriptor.form();
  std::uint32_t const kept = descriptor.kept();
  layout                   = layout_of<Format>(e, kept, 0);
  if (kept > Format::values || layout.units() > descriptor.chunk_units()) {
    return {status_code::corrupt, "chunk: its size does not hold the values it should keep"};
  }
  std::uint32_t const room = carries_mask(e) ? kept / 32 : 0;
  auto const stream_word   = [&](std::uint32_t j) {
    if (j >= room) return load<std::uint32_t>(chunk + layout.mask_offset + 4 * (j - room));
    if (is_window3(e)) return gather_nibble_tops(chunk + layout.nibble_offset + 16 * j);
    return gather_signs<bits_type>(chunk + 32 * j * sizeof(bits_type));
  };

  std::uint32_t set = 0;
  if (!is_two_level(e)) {
    for (std::uint32_t j = 0; j < Format::mask_words; ++j) {
      mask[j] = stream_word(j);
      set += popcount(mask[j]);
    }
  } else {
    constexpr std::uint32_t level1_words = Format::mask_words / 8;
    std::uint32_t level1[level1_words];
    std::uint32_t nonzero_bytes = 0;
    for (std::uint32_t j = 0; j < level1_words; ++j) {
      level1[j] = stream_word(j);
      nonzero_bytes += popcount(level1[j]);
    }
    layout = layout_of<Format>(e, kept, nonzero_bytes);
    if (layout.units() > descriptor.chunk_units()) {
      return {status_code::corrupt, "chunk: its size does not hold the mask bytes it announces"};
    }
    std::uint32_t next = 0;  // of the non-zero mask bytes
    std::memset(mask, 0, Format::mask_bytes);
    for (std::uint32_t i = 0; i < Format::mask_bytes; ++i) {
      if ((level1[i / 32] >> i % 32 & 1u) == 0) continue;
      std::uint32_t const byte = stream_word(level1_words + next / 4) >> next % 4 * 8 & 0xff;
      mask[i / 4] |= byte << i % 4 * 8;
      set += popcount(byte);
      ++next;
    }
  }
  if (layout.units() != descriptor.chunk_units()) {
    return {status_code::corrupt, "chunk: its size is not the one its contents need"};
  }
  if (set != kept) {
    return {status_code::corrupt, "chunk: its mask does not have as many bits set as values kept"};
  }
  return {};
}

/// Decodes a tile.
///
/// Shapes: chunk (descriptor.chunk_units() * 16,); tile (Format::values,) row-major, 0 outside the
///   valid shape. Errors: corrupt, with nothing read outside the chunk, whatever the bytes are; the
///   tile is then unspecified. tile_lost for a lost tile, which becomes NaN.
template <class Format>
inline status decode_tile(tile_descriptor descriptor,
                          std::byte const* chunk,
                          std::uint32_t valid_rows,
                          std::uint32_t valid_cols,
                          typename Format::bits_type* tile) {
  using element            = typename Format::element;
  using bits_type          = typename Format::bits_type;
  encoding const e         = descriptor.form();
  std::uint32_t const kept = descriptor.kept();
  std::memset(tile, 0, Format::tile_bytes);
  if (e == encoding::zero) {
    if (descriptor.word() != 0)
      return {status_code::corrupt, "directory: a zero tile's descriptor is not 0"};
    return {};
  }
  if (e == encoding::lost) {
    for (std::uint32_t row = 0; row < valid_rows; ++row) {
      for (std::uint32_t col = 0; col < valid_cols; ++col) {
        tile[row * Format::cols + col] = element::quiet_nan;
      }
    }
    return {status_code::tile_lost, "a tile found no room when it was compressed; it reads as NaN"};
  }
  if (e == encoding::dense) {
    if (descriptor.chunk_units() != dense_units<Format>(valid_rows * valid_cols)) {
      return {status_code::corrupt, "chunk: a dense tile's size is not that of its valid values"};
    }
    copy_valid<Format>(valid_rows, valid_cols, tile, Format::cols, chunk, valid_cols);
    return {};
  }
  if (!has_mask(e) || (is_window(e) && !element::has_window)) {
    return {status_code::corrupt, "directory: an encoding that this element does not have"};
  }

  chunk_layout layout{};
  std::uint32_t mask[Format::mask_words];
  if (status const read = read_mask<Format>(descriptor, chunk, layout, mask); !read.ok())
    return read;
  bits_type values[Format::values];  // (kept,)
  if (!is_window(e)) {
    std::memcpy(values, chunk, kept * sizeof(bits_type));
    if (is_sign(e)) {
      for (std::uint32_t k = 0; k < kept; ++k) {
        values[k] = static_cast<bits_type>(values[k] & ~sign_bit<element>);
      }
    }
  } else {
    auto const* const bytes         = reinterpret_cast<unsigned char const*>(chunk);
    std::uint32_t const base        = bytes[layout.base_offset];
    std::uint32_t const nibble_mask = is_window3(e) ? 0x7 : 0xf;
    for (std::uint32_t k = 0; k < kept; ++k) {
      std::uint32_t const code = bytes[layout.nibble_offset + k / 2] >> k % 2 * 4 & nibble_mask;
      values[k]                = static_cast<bits_type>(((base + code) & 0x7f) << 8 | bytes[k]);
    }
  }
  bits_type const* next = values;
  for (std::uint32_t word = 0; word < Format::mask_words; ++word) {
    for (std::uint32_t rest = mask[word]; rest != 0; rest &= rest - 1) {
      tile[32 * word + count_trailing_zeros(rest)] = *next++;
    }
  }
  return {};
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
