// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the encoder of one tile on the host: the executable specification of docs/format.md and
/// the oracle that every device kernel is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/host_tile_parts.hpp>
#include <bitsparse/format/tile_descriptor.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// Writes the window forms' planes and base over zeroed bytes.
template <class Format>
inline void write_window(encoding e,
                         chunk_layout const& layout,
                         typename Format::bits_type const* kept,
                         std::uint32_t num_kept,
                         std::uint32_t const* stream,
                         unsigned char* bytes) {
  std::uint32_t base = 0x7f;
  for (std::uint32_t k = 0; k < num_kept; ++k) base = kept[k] >> 8 < base ? kept[k] >> 8 : base;
  unsigned char nibbles[Format::values + 1];  // (num_kept,) and a zero
  for (std::uint32_t k = 0; k < num_kept; ++k) {
    bytes[k]   = static_cast<unsigned char>(kept[k]);
    nibbles[k] = static_cast<unsigned char>((kept[k] >> 8) - base);
  }
  nibbles[num_kept] = 0;
  if (is_window3(e)) {
    for (std::uint32_t k = 0; k < 32 * layout.carried_words; ++k) {
      nibbles[k] = static_cast<unsigned char>(nibbles[k] | (stream[k / 32] >> k % 32 & 1u) << 3);
    }
  }
  for (std::uint32_t k = 0; k < num_kept; k += 2) {
    bytes[layout.nibble_offset + k / 2] =
        static_cast<unsigned char>(nibbles[k] | nibbles[k + 1] << 4);
  }
  bytes[layout.base_offset] = static_cast<unsigned char>(base);
}

/// Writes a mask form's chunk over zeroed bytes.
/// Shapes: kept (num_kept,), mask (Format::mask_words,), chunk (layout.units() * 16,).
template <class Format>
inline void write_mask_form(encoding e,
                            chunk_layout const& layout,
                            typename Format::bits_type const* kept,
                            std::uint32_t num_kept,
                            std::uint32_t const* mask,
                            std::byte* chunk) {
  using bits_type = typename Format::bits_type;
  std::uint32_t stream[Format::mask_words / 8 * 9];
  write_mask_stream<Format>(is_two_level(e), mask, stream);
  if (is_window(e)) {
    if constexpr (Format::element::has_window) {
      write_window<Format>(
          e, layout, kept, num_kept, stream, reinterpret_cast<unsigned char*>(chunk));
    }
  } else {
    std::memcpy(chunk, kept, num_kept * sizeof(bits_type));
    for (std::uint32_t k = 0; k < 32 * layout.carried_words; ++k) {
      std::uint32_t const bit = stream[k / 32] >> k % 32 & 1u;
      store(chunk + k * sizeof(bits_type),
            static_cast<bits_type>(kept[k] | bit << (Format::element::value_bits - 1)));
    }
  }
  std::memcpy(chunk + layout.mask_offset,
              stream + layout.carried_words,
              (layout.stream_words - layout.carried_words) * sizeof(std::uint32_t));
}

/// Encodes a tile.
///
/// Shapes: tile (Format::values,) row-major, 0 outside the valid rows x columns; chunk
///   (max_chunk_bytes<Format>(),). Guarantee: the bytes depend on tile, valid shape, element and
///   codec alone. The descriptor's offset is 0.
template <class Format, class Codec>
inline tile_descriptor encode_tile(typename Format::bits_type const* tile,
                                   std::uint32_t valid_rows,
                                   std::uint32_t valid_cols,
                                   std::byte* chunk) {
  using bits_type = typename Format::bits_type;
  std::uint32_t mask[Format::mask_words];
  bits_type kept[Format::values];  // (num_kept,)
  std::uint32_t num_kept = 0;
  for (std::uint32_t word = 0; word < Format::mask_words; ++word) {
    mask[word] = nonzero_mask(tile + 32 * word);
    for (std::uint32_t rest = mask[word]; rest != 0; rest &= rest - 1) {
      kept[num_kept++] = tile[32 * word + count_trailing_zeros(rest)];
    }
  }

  tile_summary summary{};
  summary.kept         = num_kept;
  summary.valid_values = valid_rows * valid_cols;
  bits_type any        = 0;
  for (std::uint32_t k = 0; k < num_kept; ++k) any = static_cast<bits_type>(any | kept[k]);
  summary.any_sign = (any & sign_bit<typename Format::element>) != 0;
  if constexpr ((Codec::encodings & encoding_bit(encoding::two_level_raw)) != 0) {
    auto const* const bytes = reinterpret_cast<unsigned char const*>(mask);
    for (std::uint32_t i = 0; i < Format::mask_bytes; ++i)
      summary.nonzero_mask_bytes += bytes[i] != 0;
    if constexpr (Format::element::has_window) {
      std::uint32_t low = 0x7f, high = 0;
      for (std::uint32_t k = 0; k < num_kept; ++k) {
        std::uint32_t const bits = kept[k] >> 8 & 0x7f;
        low                      = bits < low ? bits : low;
        high                     = bits > high ? bits : high;
      }
      summary.high_span = high - low;
    }
  }

  encoding_choice const choice = choose_encoding<Format, Codec>(summary);
  std::memset(chunk, 0, std::size_t{choice.units} * unit_bytes);
  if (choice.form == encoding::dense) {
    copy_valid<Format>(valid_rows, valid_cols, chunk, valid_cols, tile, Format::cols);
  } else if (choice.form != encoding::zero) {
    chunk_layout const layout =
        layout_of<Format>(choice.form, summary.kept, summary.nonzero_mask_bytes);
    write_mask_form<Format>(choice.form, layout, kept, num_kept, mask, chunk);
  }
  return {choice.form, summary.kept, choice.units, 0};
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
