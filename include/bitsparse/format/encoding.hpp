// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the encodings of a tile, the codecs that choose among them, and where each stream of a
/// chunk lies. Every other layer, host or device, asks here for sizes and offsets.
#pragma once

#include <cstdint>

#include <bitsparse/config.hpp>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/tile_format.hpp>

namespace bitsparse {
inline namespace v0 {

// -------------------------------------------------------------------------------------------------
// Encodings
// -------------------------------------------------------------------------------------------------

/// How a tile is stored. Numbers 10 to 14 are free; `lost` never appears in a serialised tensor.
enum class encoding : std::uint8_t {
  zero               = 0,  // every value is +0: no chunk
  dense              = 1,  // the valid rows x columns, packed
  flat_raw           = 2,  // kept values as they are, mask
  flat_sign          = 3,  // mask bits ride in the kept values' sign bits
  flat_window3       = 4,  // low bytes, nibbles of 3-bit code + mask bit, mask, base
  flat_window4       = 5,  // low bytes, nibbles of 4-bit code, mask, base
  elias_fano_raw     = 6,  // as above, but the mask as kept values' indices, Elias-Fano coded
  elias_fano_sign    = 7,
  elias_fano_window3 = 8,
  elias_fano_window4 = 9,
  lost = 15,  // the chunk found no room: the values are gone, decompression writes NaN
};

inline constexpr std::uint32_t num_encodings = 16;

/// The encoding's name as docs/format.md and the tools write it, or null for a number that is not
/// assigned.
constexpr char const* name_of(encoding e) {
  switch (e) {
    case encoding::zero:
      return "zero";
    case encoding::dense:
      return "dense";
    case encoding::flat_raw:
      return "flat/raw";
    case encoding::flat_sign:
      return "flat/sign";
    case encoding::flat_window3:
      return "flat/window3";
    case encoding::flat_window4:
      return "flat/window4";
    case encoding::elias_fano_raw:
      return "elias_fano/raw";
    case encoding::elias_fano_sign:
      return "elias_fano/sign";
    case encoding::elias_fano_window3:
      return "elias_fano/window3";
    case encoding::elias_fano_window4:
      return "elias_fano/window4";
    case encoding::lost:
      return "lost";
  }
  return nullptr;
}

namespace detail {

BITSPARSE_HOST_DEVICE constexpr std::uint32_t encoding_bit(encoding e) {
  return std::uint32_t{1} << static_cast<std::uint32_t>(e);
}
/// Whether the encoding's bit is set: one test, where comparisons would be several in a kernel.
BITSPARSE_HOST_DEVICE constexpr bool is_one_of(encoding e, std::uint32_t encodings) {
  return (encodings >> static_cast<std::uint32_t>(e) & 1) != 0;
}
BITSPARSE_HOST_DEVICE constexpr bool has_mask(encoding e) {
  return is_one_of(e, 0x3fc);
}
BITSPARSE_HOST_DEVICE constexpr bool is_elias_fano(encoding e) {
  return is_one_of(e, 0x3c0);
}
BITSPARSE_HOST_DEVICE constexpr bool is_window(encoding e) {
  return is_one_of(e, 0x330);
}
BITSPARSE_HOST_DEVICE constexpr bool is_window3(encoding e) {
  return is_one_of(e, 0x110);
}
/// Values stored at full width with mask bits in their sign bits.
BITSPARSE_HOST_DEVICE constexpr bool is_sign(encoding e) {
  return is_one_of(e, 0x088);
}
/// Kept values carry the head of the mask stream, one bit each.
BITSPARSE_HOST_DEVICE constexpr bool carries_mask(encoding e) {
  return is_one_of(e, 0x198);
}

}  // namespace detail

// -------------------------------------------------------------------------------------------------
// Codecs: the Codec template axis, the set of encodings that a compressor may choose from
// -------------------------------------------------------------------------------------------------

/// The codec's number in the serialised header.
enum class codec_id : std::uint8_t { fast = 1, sign = 2, compact = 3 };

namespace codec {

/// {zero, dense, flat/raw}: the least arithmetic.
struct fast {
  static constexpr codec_id id             = codec_id::fast;
  static constexpr char const* name        = "fast";
  static constexpr std::uint32_t encodings = detail::encoding_bit(encoding::zero) |
                                             detail::encoding_bit(encoding::dense) |
                                             detail::encoding_bit(encoding::flat_raw);
};

/// `fast` and flat/sign: 1 + (b-1)d bits per value of b bits at density d, with values still b-bit
/// aligned. The default.
struct sign {
  static constexpr codec_id id      = codec_id::sign;
  static constexpr char const* name = "sign";
  static constexpr std::uint32_t encodings =
      fast::encodings | detail::encoding_bit(encoding::flat_sign);
};

/// Every encoding: the smallest chunks.
struct compact {
  static constexpr codec_id id             = codec_id::compact;
  static constexpr char const* name        = "compact";
  static constexpr std::uint32_t encodings = (std::uint32_t{1} << 10) - 1;
};

}  // namespace codec

// -------------------------------------------------------------------------------------------------
// Where the streams of a chunk lie
// -------------------------------------------------------------------------------------------------

/// Byte offsets of the streams of a mask form's chunk. Each stream starts at a 4-byte boundary; the
/// values, or their low bytes, start at 0.
struct chunk_layout {
  std::uint32_t nibble_offset;  // window forms: the nibble plane
  std::uint32_t mask_offset;    // what is left of the mask stream
  std::uint32_t stream_words;   // the whole mask stream, in 32-bit words
  std::uint32_t carried_words;  // its head, carried by kept values
  std::uint32_t base_offset;    // window forms: one byte
  std::uint32_t bytes;          // the end, before padding

  BITSPARSE_HOST_DEVICE constexpr std::uint32_t units() const {
    return (bytes + (unit_bytes - 1)) / unit_bytes;
  }
};

namespace detail {

/// The most values that a tile of an elias_fano form keeps: with more, its mask stream would be longer
/// than the mask, and with so many it is in some formats, by a word.
template <class Format>
inline constexpr std::uint32_t max_elias_fano_kept = Format::values / 32 * 7;

/// The bits of a kept value's index that the lower part of an Elias-Fano mask stream holds: the most
/// that leave more different upper parts than values, from 3 to 8.
template <class Format>
BITSPARSE_HOST_DEVICE constexpr std::uint32_t lower_bits(std::uint32_t kept) {
  if constexpr ((Format::values & (Format::values - 1)) == 0) {
    std::uint32_t const most = bit_width(Format::values - 1), least = bit_width(kept);
    return most < least + 3 ? 3 : most > least + 8 ? 8 : most - least;
  } else {
    std::uint32_t bits = 3;
    for (std::uint32_t more = 4; more <= 8; ++more) bits += Format::values >> more > kept ? 1 : 0;
    return bits;
  }
}

/// Words of the upper part of an Elias-Fano mask stream, which comes first: kept value k of index i
/// sets bit k + (i >> lower_bits).
template <class Format>
BITSPARSE_HOST_DEVICE constexpr std::uint32_t upper_words(std::uint32_t kept) {
  return (kept + (Format::values >> lower_bits<Format>(kept)) + 31) / 32;
}

/// The layout of a chunk of encoding `e` (a mask form) with `kept` values.
template <class Format>
BITSPARSE_HOST_DEVICE constexpr chunk_layout layout_of(encoding e, std::uint32_t kept) {
  constexpr std::uint32_t value_bytes = sizeof(typename Format::bits_type);
  chunk_layout layout{};
  layout.nibble_offset = (kept * (is_window(e) ? 1u : value_bytes) + 3) / 4 * 4;
  layout.mask_offset   = layout.nibble_offset + (is_window(e) ? (kept + 7) / 8 * 4 : 0u);
  layout.stream_words =
      is_elias_fano(e) ? upper_words<Format>(kept) + (lower_bits<Format>(kept) * kept + 31) / 32
                       : Format::mask_words;
  std::uint32_t const room = carries_mask(e) ? kept / 32 : 0u;
  layout.carried_words     = room < layout.stream_words ? room : layout.stream_words;
  layout.base_offset       = layout.mask_offset + 4 * (layout.stream_words - layout.carried_words);
  layout.bytes             = layout.base_offset + (is_window(e) ? 1u : 0u);
  return layout;
}

/// The units of a `dense` chunk.
template <class Format>
BITSPARSE_HOST_DEVICE constexpr std::uint32_t dense_units(std::uint32_t valid_values) {
  return (valid_values * static_cast<std::uint32_t>(sizeof(typename Format::bits_type)) +
          (unit_bytes - 1)) /
         unit_bytes;
}

// -------------------------------------------------------------------------------------------------
// Choosing
// -------------------------------------------------------------------------------------------------

/// All that the choice of an encoding depends on.
struct tile_summary {
  std::uint32_t kept;          // values whose bits are not all zero
  std::uint32_t valid_values;  // values inside the matrix
  std::uint32_t high_span;     // window elements, if not any_sign: max - min of high bytes
  bool any_sign;               // a kept value has its sign bit set
};

struct encoding_choice {
  encoding form;
  std::uint32_t units;
};

/// The encodings of a set that a tile can take, as their bits. `dense` is always one.
template <class Format>
BITSPARSE_HOST_DEVICE constexpr std::uint32_t applicable_encodings(std::uint32_t encodings,
                                                                   tile_summary const& tile) {
  constexpr std::uint32_t all_window = 0x330, all_window3 = 0x110, all_sign = 0x088;
  constexpr std::uint32_t all_elias_fano = 0x3c0;
  constexpr bool has_window              = Format::element::has_window;
  if (tile.any_sign) encodings &= ~(all_sign | all_window);
  if (!has_window || tile.high_span >= 16) encodings &= ~all_window;
  if (tile.high_span >= 8) encodings &= ~all_window3;
  if (tile.kept > max_elias_fano_kept<Format>) encodings &= ~all_elias_fano;
  return encodings;
}

/// The units of a tile in an encoding other than zero.
template <class Format>
BITSPARSE_HOST_DEVICE constexpr std::uint32_t units_in(encoding e, tile_summary const& tile) {
  return e == encoding::dense ? dense_units<Format>(tile.valid_values)
                              : layout_of<Format>(e, tile.kept).units();
}

/// Whether an elias_fano chunk is chosen where a flat or dense one takes flat_units: it must save 1/32,
/// because it takes longer to decode on a device.
BITSPARSE_HOST_DEVICE constexpr bool is_worth_it(std::uint32_t elias_fano_units,
                                                 std::uint32_t flat_units) {
  return elias_fano_units * 32 <= flat_units * 31;
}

/// Takes an encoding into account. A template on it, so that nothing of those that are not in the codec
/// is left in a kernel.
template <class Format, class Codec, encoding E>
BITSPARSE_HOST_DEVICE constexpr void consider(std::uint32_t applicable,
                                              tile_summary const& tile,
                                              encoding_choice& flat,
                                              encoding_choice& elias_fano) {
  if constexpr ((Codec::encodings & encoding_bit(E)) != 0) {
    if ((applicable & encoding_bit(E)) == 0) return;
    std::uint32_t const units = units_in<Format>(E, tile);
    encoding_choice& best     = is_elias_fano(E) ? elias_fano : flat;
    if (units < best.units) best = {E, units};
  }
}

/// The smallest encoding of the codec, by chunk units; a tie goes to the lower number.
template <class Format, class Codec>
BITSPARSE_HOST_DEVICE constexpr encoding_choice choose_encoding(tile_summary const& tile) {
  if (tile.kept == 0) return {encoding::zero, 0};
  std::uint32_t const applicable = applicable_encodings<Format>(Codec::encodings, tile);
  encoding_choice flat{encoding::dense, dense_units<Format>(tile.valid_values)};
  encoding_choice elias_fano{encoding::dense, flat.units + 1};
  consider<Format, Codec, encoding::flat_raw>(applicable, tile, flat, elias_fano);
  consider<Format, Codec, encoding::flat_sign>(applicable, tile, flat, elias_fano);
  consider<Format, Codec, encoding::flat_window3>(applicable, tile, flat, elias_fano);
  consider<Format, Codec, encoding::flat_window4>(applicable, tile, flat, elias_fano);
  consider<Format, Codec, encoding::elias_fano_raw>(applicable, tile, flat, elias_fano);
  consider<Format, Codec, encoding::elias_fano_sign>(applicable, tile, flat, elias_fano);
  consider<Format, Codec, encoding::elias_fano_window3>(applicable, tile, flat, elias_fano);
  consider<Format, Codec, encoding::elias_fano_window4>(applicable, tile, flat, elias_fano);
  return is_worth_it(elias_fano.units, flat.units) ? elias_fano : flat;
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
