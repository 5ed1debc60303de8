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

/// Reads the mask stream of a mask form, carried words and rest, and a word of 0 behind it.
/// Shapes: chunk (layout.units() * 16,), stream (layout.stream_words + 1,).
template <class Format>
inline void read_stream(encoding e,
                        chunk_layout const& layout,
                        std::byte const* chunk,
                        std::uint32_t* stream) {
  using bits_type = typename Format::bits_type;
  for (std::uint32_t j = 0; j < layout.carried_words; ++j) {
    stream[j] = is_window3(e) ? word_in_nibbles(chunk + layout.nibble_offset + 16 * j)
                              : word_in_signs<bits_type>(chunk + 32 * j * sizeof(bits_type));
  }
  std::memcpy(stream + layout.carried_words,
              chunk + layout.mask_offset,
              (layout.stream_words - layout.carried_words) * sizeof(std::uint32_t));
  stream[layout.stream_words] = 0;
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

/// Puts kept values into a tile of zeros where the mask has set bits.
/// Shapes: kept (num_kept,), mask (Format::mask_words,). Errors: corrupt if the mask does not have
///   num_kept bits set.
template <class Format>
inline status place_by_mask(typename Format::bits_type const* kept,
                            std::uint32_t num_kept,
                            std::uint32_t const* mask,
                            typename Format::bits_type* tile) {
  if (count_set(mask, Format::mask_words) != num_kept) {
    return {status_code::corrupt, "chunk: its mask does not have as many bits set as values kept"};
  }
  for (std::uint32_t j = 0; j < Format::mask_words; ++j) {
    for (std::uint32_t rest = mask[j]; rest != 0; rest &= rest - 1) {
      tile[32 * j + count_trailing_zeros(rest)] = *kept++;
    }
  }
  return {};
}

/// Puts kept values into a tile of zeros where an Elias-Fano mask stream says.
/// Shapes: kept (num_kept,), stream, its words and one of 0. Errors: corrupt if its upper part does
///   not have num_kept bits set, or if indices do not rise or reach the end of the tile.
template <class Format>
inline status place_by_elias_fano(typename Format::bits_type const* kept,
                                  std::uint32_t num_kept,
                                  std::uint32_t const* stream,
                                  typename Format::bits_type* tile) {
  std::uint32_t const bits  = lower_bits<Format>(num_kept);
  std::uint32_t const words = upper_words<Format>(num_kept);
  std::uint32_t const low   = (1u << bits) - 1;
  auto const* const lower   = reinterpret_cast<std::byte const*>(stream + words);
  if (count_set(stream, words) != num_kept) {
    return {status_code::corrupt, "chunk: its mask does not have as many bits set as values kept"};
  }
  std::uint32_t k = 0, next = 0;
  for (std::uint32_t j = 0; j < words; ++j) {
    for (std::uint32_t rest = stream[j]; rest != 0; rest &= rest - 1, ++k) {
      std::uint32_t const high  = 32 * j + count_trailing_zeros(rest) - k;
      std::uint32_t const start = bits * k;
      std::uint32_t const index =
          high << bits | (load<std::uint32_t>(lower + start / 8) >> start % 8 & low);
      if (index < next || index >= Format::values) {
        return {status_code::corrupt, "chunk: its values' places do not rise, or leave the tile"};
      }
      tile[index] = kept[k];
      next        = index + 1;
    }
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
    copy_rows<Format>(valid_rows, valid_cols, tile, Format::cols, chunk, valid_cols);
    return {};
  }
  if (!has_mask(e) || (is_window(e) && !element::has_window)) {
    return {status_code::corrupt, "directory: an encoding that this element does not have"};
  }

  if (kept > (is_elias_fano(e) ? max_elias_fano_kept<Format> : Format::values)) {
    return {status_code::corrupt, "directory: a tile keeps more values than its encoding can"};
  }
  chunk_layout const layout = layout_of<Format>(e, kept);
  if (layout.units() != descriptor.chunk_units()) {
    return {status_code::corrupt, "chunk: its size is not the one its encoding and values need"};
  }
  std::uint32_t stream[stream_room<Format>];
  bits_type values[Format::values];  // (kept,)
  read_stream<Format>(e, layout, chunk, stream);
  read_kept<Format>(e, layout, chunk, kept, values);
  return is_elias_fano(e) ? place_by_elias_fano<Format>(values, kept, stream, tile)
                          : place_by_mask<Format>(values, kept, stream, tile);
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
