// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the encoder of one tile on the host: the executable specification of docs/format.md and
/// the oracle that every device kernel is compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/host_tile_parts.hpp>
#include <bitsparse/format/tile_descriptor.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// The nibbles of 4 values whose high bytes are base to base + 15.
inline std::uint32_t pack_nibbles(std::uint64_t group, std::uint32_t base) {
  std::uint64_t codes =
      (group >> 8 & 0x00ff00ff00ff00ffu) - base * group_lanes<std::uint16_t>::ones;
  codes |= codes >> 12;
  return static_cast<std::uint32_t>((codes | codes >> 24) & 0xffff);
}

/// Writes the window forms' planes and base over zeroed bytes.
/// Shapes: kept (num_kept,), without sign bits.
inline void write_window(chunk_layout const& layout,
                         std::uint16_t const* kept,
                         std::uint32_t num_kept,
                         std::uint32_t const* stream,
                         std::byte* chunk) {
  std::uint16_t low = 0x7fff;
  for (std::uint32_t k = 0; k < num_kept; ++k) {
    low      = kept[k] < low ? kept[k] : low;
    chunk[k] = static_cast<std::byte>(kept[k]);
  }
  std::uint32_t const base  = low >> 8;
  chunk[layout.base_offset] = static_cast<std::byte>(base);
  for (std::uint32_t k = 0; k < num_kept; k += 8) {
    std::uint16_t group[8];
    std::fill_n(group, 8, static_cast<std::uint16_t>(base << 8));
    if (num_kept - k >= 8) {
      std::memcpy(group, kept + k, sizeof(group));
    } else {
      std::memcpy(group, kept + k, (num_kept - k) * sizeof(group[0]));
    }
    std::uint32_t nibbles = pack_nibbles(load<std::uint64_t>(group), base) |
                            pack_nibbles(load<std::uint64_t>(group + 4), base) << 16;
    if (k / 32 < layout.carried_words) {
      nibbles |= spread_nibble_tops(stream[k / 32] >> k % 32 & 0xff);
    }
    store(chunk + layout.nibble_offset + k / 2, nibbles);
  }
}

/// Writes values at full width, of which the first carry the head of the stream.
/// Shapes: kept (num_kept,).
template <class Bits>
inline void write_values(chunk_layout const& layout,
                         Bits const* kept,
                         std::uint32_t num_kept,
                         std::uint32_t const* stream,
                         std::byte* chunk) {
  std::memcpy(chunk, kept, num_kept * sizeof(Bits));
  for (std::uint32_t k = 0; k < 32 * layout.carried_words; k += group_lanes<Bits>::count) {
    std::uint64_t const carried = spread_tops<Bits>(stream[k / 32] >> k % 32);
    store(chunk + k * sizeof(Bits), load<std::uint64_t>(kept + k) | carried);
  }
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
  constexpr std::uint32_t level1_words = Format::mask_words / 8;
  std::uint32_t two_level[level1_words * 9];  // one bit per mask byte, then the non-zero bytes
  std::uint32_t const* stream = mask;
  if (is_two_level(e)) {
    auto const* const bytes = reinterpret_cast<unsigned char const*>(mask);
    std::memset(two_level, 0, sizeof(two_level));
    make_mask(bytes, level1_words, two_level);
    keep_values(
        bytes, two_level, level1_words, reinterpret_cast<unsigned char*>(two_level + level1_words));
    stream = two_level;
  }
  if (!is_window(e)) {
    write_values(layout, kept, num_kept, stream, chunk);
  } else if constexpr (Format::element::has_window) {
    write_window(layout, kept, num_kept, stream, chunk);
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
  make_mask(tile, Format::mask_words, mask);
  std::uint32_t const num_kept = keep_values(tile, mask, Format::mask_words, kept);

  tile_summary summary{};
  summary.kept         = num_kept;
  summary.valid_values = valid_rows * valid_cols;
  bits_type low = static_cast<bits_type>(~bits_type{0}), high = 0;
  for (std::uint32_t k = 0; k < num_kept; ++k) {
    low  = kept[k] < low ? kept[k] : low;
    high = kept[k] > high ? kept[k] : high;
  }
  summary.any_sign  = high >= sign_bit<typename Format::element>;
  summary.high_span = (high >> 8) - (low >> 8);
  if constexpr ((Codec::encodings & encoding_bit(encoding::two_level_raw)) != 0) {
    std::uint32_t level1[Format::mask_words / 8];
    make_mask(reinterpret_cast<unsigned char const*>(mask), Format::mask_words / 8, level1);
    summary.nonzero_mask_bytes = count_set(level1, Format::mask_words / 8);
  }

  encoding_choice const choice = choose_encoding<Format, Codec>(summary);
  std::memset(chunk, 0, std::size_t{choice.units} * unit_bytes);
  if (choice.form == encoding::dense) {
    copy_rows<Format>(valid_rows, valid_cols, chunk, valid_cols, tile, Format::cols);
  } else if (choice.form != encoding::zero) {
    chunk_layout const layout =
        layout_of<Format>(choice.form, num_kept, summary.nonzero_mask_bytes);
    write_mask_form<Format>(choice.form, layout, kept, num_kept, mask, chunk);
  }
  return {choice.form, num_kept, choice.units, 0};
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
