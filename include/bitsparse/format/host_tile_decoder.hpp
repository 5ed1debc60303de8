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

/// One word of the mask stream, carried by the top bits of 32 values.
/// Shapes: values (32,), at any address.
template <class Bits>
inline std::uint32_t word_in_signs(std::byte const* values) {
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < 32; i += group_lanes<Bits>::count) {
    word |= gather_tops<Bits>(load<std::uint64_t>(values + i * sizeof(Bits))) << i;
  }
  return word;
}

/// One word of the mask stream, carried by the top bits of 32 nibbles.
/// Shapes: nibbles (16 bytes,), at any address.
inline std::uint32_t word_in_nibbles(std::byte const* nibbles) {
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < 32; i += 8) {
    word |= gather_nibble_tops(load<std::uint32_t>(nibbles + i / 2)) << i;
  }
  return word;
}

/// Reads the mask of a mask form and checks that every stream lies inside the chunk.
/// Shapes: chunk (descriptor.chunk_units() * 16,), mask (Format::mask_words,).
template <class Format>
inline status read_mask(tile_descriptor descriptor,
                        std::byte const* chunk,
                        chunk_layout& layout,
                        std::uint32_t* mask) {
  using bits_type                      = typename Format::bits_type;
  constexpr std::uint32_t level1_words = Format::mask_words / 8;
  encoding const e                     = descriptor.form();
  std::uint32_t const kept             = descriptor.kept();
  layout                               = layout_of<Format>(e, kept, 0);
  if (kept > Format::values || layout.units() > descriptor.chunk_units()) {
    return {status_code::corrupt, "chunk: its size does not hold the values it should keep"};
  }
  std::uint32_t stream[level1_words * 9];
  auto const read_stream = [&](std::uint32_t first, std::uint32_t end) {
    std::byte const* const rest = chunk + layout.mask_offset;
    for (std::uint32_t j = first; j < end; ++j) {
      if (j >= layout.carried_words) {
        stream[j] = load<std::uint32_t>(rest + 4 * (j - layout.carried_words));
      } else if (is_window3(e)) {
        stream[j] = word_in_nibbles(chunk + layout.nibble_offset + 16 * j);
      } else {
        stream[j] = word_in_signs<bits_type>(chunk + 32 * j * sizeof(bits_type));
      }
    }
  };

  if (!is_two_level(e)) {
    read_stream(0, Format::mask_words);
    std::memcpy(mask, stream, Format::mask_bytes);
  } else {
    read_stream(0, level1_words);
    layout = layout_of<Format>(e, kept, count_set(stream, level1_words));
    if (layout.units() > descriptor.chunk_units()) {
      return {status_code::corrupt, "chunk: its size does not hold the mask bytes it announces"};
    }
    read_stream(level1_words, layout.stream_words);
    place_values(reinterpret_cast<unsigned char const*>(stream + level1_words),
                 stream,
                 level1_words,
                 reinterpret_cast<unsigned char*>(mask));
  }
  if (layout.units() != descriptor.chunk_units()) {
    return {status_code::corrupt, "chunk: its size is not the one its contents need"};
  }
  if (count_set(mask, Format::mask_words) != kept) {
    return {status_code::corrupt, "chunk: its mask does not have as many bits set as values kept"};
  }
  return {};
}

/// 4 values from their low bytes and their nibbles.
inline std::uint64_t join_window(std::uint64_t low,
                                 std::uint64_t nibbles,
                                 std::uint64_t code_mask,
                                 std::uint32_t base) {
  low     = (low | low << 16) & 0x0000ffff0000ffffu;
  low     = (low | low << 8) & 0x00ff00ff00ff00ffu;
  nibbles = (nibbles | nibbles << 24) & 0x000000ff000000ffu;
  nibbles = (nibbles | nibbles << 12) & code_mask * group_lanes<std::uint16_t>::ones;
  return ((nibbles + base * group_lanes<std::uint16_t>::ones) & 0x007f007f007f007fu) << 8 | low;
}

/// Reads the kept values of a mask form, without what they carry.
/// Shapes: values (kept,), of which up to a multiple of 4 are written.
template <class Format>
inline void read_kept(encoding e,
                      chunk_layout const& layout,
                      std::byte const* chunk,
                      std::uint32_t kept,
                      typename Format::bits_type* values) {
  using bits_type = typename Format::bits_type;
  if (!is_window(e)) {
    std::memcpy(values, chunk, kept * sizeof(bits_type));
    if (!is_sign(e)) return;
    for (std::uint32_t k = 0; k < kept; ++k) {
      values[k] = static_cast<bits_type>(values[k] & ~sign_bit<typename Format::element>);
    }
    return;
  }
  auto const base          = load<std::uint8_t>(chunk + layout.base_offset);
  std::uint32_t const code = is_window3(e) ? 0x7 : 0xf;
  for (std::uint32_t k = 0; k < kept; k += 4) {  // the planes are padded to that
    auto const nibbles = load<std::uint16_t>(chunk + layout.nibble_offset + k / 2);
    store(values + k, join_window(load<std::uint32_t>(chunk + k), nibbles, code, base));
  }
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
  if (!has_mask(e)) std::memset(tile, 0, Format::tile_bytes);
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
    copy_rows<Format>(valid_rows, valid_cols, tile, Format::cols, chunk, valid_cols);
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
  read_kept<Format>(e, layout, chunk, kept, values);
  place_values(values, mask, Format::mask_words, tile);
  return {};
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
