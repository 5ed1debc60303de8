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

/// Makes the Elias-Fano mask stream of rising indices.
/// Shapes: indices (num_kept,), of which those up to a multiple of 8 become 0; stream
///   (stream_room<Format>,).
template <class Format>
inline void make_elias_fano(std::uint16_t* indices, std::uint32_t num_kept, std::uint32_t* stream) {
  std::uint32_t const bits  = lower_bits<Format>(num_kept);
  std::uint32_t const words = upper_words<Format>(num_kept);

  std::uint8_t upper[32 * upper_words<Format>(max_elias_fano_kept<Format>)];  // one per bit
  std::memset(upper, 0, 32 * words);
  for (std::uint32_t k = 0; k < num_kept; ++k) upper[k + (indices[k] >> bits)] = 1;
  make_mask(upper, words, stream);

  // 8 values fill `bits` bytes. The zeros that a store ends with are written over by the next one.
  auto* const lower       = reinterpret_cast<std::byte*>(stream + words);
  std::uint64_t const low = (std::uint64_t{1} << bits) - 1;
  std::fill_n(indices + num_kept, (8 - num_kept % 8) % 8, std::uint16_t{0});
  store(lower + bits * num_kept / 32 * 4, std::uint64_t{0});  // the last word may lie behind them
  for (std::uint32_t k = 0; k < num_kept; k += 8) {
    std::uint64_t group = 0;
    for (std::uint32_t i = 0; i < 8; ++i) group |= (indices[k + i] & low) << bits * i;
    store(lower + bits * k / 8, group);
  }
}

/// Writes a mask form's chunk over zeroed bytes.
/// Shapes: kept (num_kept,), stream (layout.stream_words,), chunk (layout.units() * 16,).
template <class Format>
inline void write_mask_form(encoding e,
                            chunk_layout const& layout,
                            typename Format::bits_type const* kept,
                            std::uint32_t num_kept,
                            std::uint32_t const* stream,
                            std::byte* chunk) {
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
  bits_type kept[Format::values];         // (num_kept,)
  std::uint16_t indices[Format::values];  // (num_kept,)
  make_mask(tile, Format::mask_words, mask);
  std::uint32_t const num_kept = keep_values(tile, mask, Format::mask_words, kept, indices);

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

  encoding_choice const choice = choose_encoding<Format, Codec>(summary);
  // The bound is said for the compiler, which otherwise warns of sizes that no chunk has.
  std::memset(chunk, 0, std::min(choice.units, Format::tile_units) * std::size_t{unit_bytes});
  if (choice.form == encoding::dense) {
    copy_rows<Format>(valid_rows, valid_cols, chunk, valid_cols, tile, Format::cols);
  } else if (choice.form != encoding::zero) {
    std::uint32_t elias_fano[stream_room<Format>];
    if (is_elias_fano(choice.form)) make_elias_fano<Format>(indices, num_kept, elias_fano);
    write_mask_form<Format>(choice.form,
                            layout_of<Format>(choice.form, num_kept),
                            kept,
                            num_kept,
                            is_elias_fano(choice.form) ? elias_fano : mask,
                            chunk);
  }
  return {choice.form, num_kept, choice.units, 0};
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
