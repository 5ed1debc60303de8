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
  zero              = 0,  // every value is +0: no chunk
  dense             = 1,  // the valid rows x columns, packed
  flat_raw          = 2,  // kept values as they are, mask
  flat_sign         = 3,  // mask bits ride in the kept values' sign bits
  flat_window3      = 4,  // low bytes, nibbles of 3-bit code + mask bit, mask, base
  flat_window4      = 5,  // low bytes, nibbles of 4-bit code, mask, base
  two_level_raw     = 6,  // as above, but only the mask's non-zero bytes
  two_level_sign    = 7,
  two_level_window3 = 8,
  two_level_window4 = 9,
  lost              = 15,  // the chunk found no room: the values are gone, decompression writes NaN
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
    case encoding::two_level_raw:
      return "two_level/raw";
    case encoding::two_level_sign:
      return "two_level/sign";
    case encoding::two_level_window3:
      return "two_level/window3";
    case encoding::two_level_window4:
      return "two_level/window4";
    case encoding::lost:
      return "lost";
  }
  return nullptr;
}

namespace detail {

BITSPARSE_HOST_DEVICE constexpr std::uint32_t encoding_bit(encoding e) {
  return std::uint32_t{1} << static_cast<std::uint32_t>(e);
}
BITSPARSE_HOST_DEVICE constexpr bool has_mask(encoding e) {
  return e >= encoding::flat_raw && e <= encoding::two_level_window4;
}
BITSPARSE_HOST_DEVICE constexpr bool is_two_level(encoding e) {
  return e >= encoding::two_level_raw && e <= encoding::two_level_window4;
}
BITSPARSE_HOST_DEVICE constexpr bool is_window(encoding e) {
  return e == encoding::flat_window3 || e == encoding::flat_window4 ||
         e == encoding::two_level_window3 || e == encoding::two_level_window4;
}
BITSPARSE_HOST_DEVICE constexpr bool is_window3(encoding e) {
  return e == encoding::flat_window3 || e == encoding::two_level_window3;
}
/// Values stored at full width with mask bits in their sign bits.
BITSPARSE_HOST_DEVICE constexpr bool is_sign(encoding e) {
  return e == encoding::flat_sign || e == encoding::two_level_sign;
}
/// Kept values carry the head of the mask stream, one bit each.
BITSPARSE_HOST_DEVICE constexpr bool carries_mask(encoding e) {
  return is_sign(e) || is_window3(e);
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

/// The layout of a chunk of encoding `e` (a mask form) with `kept` values.
/// @param nonzero_mask_bytes read only for two_level forms
template <class Format>
BITSPARSE_HOST_DEVICE constexpr chunk_layout layout_of(encoding e,
                                                       std::uint32_t kept,
                                                       std::uint32_t nonzero_mask_bytes) {
  constexpr std::uint32_t value_bytes = sizeof(typename Format::bits_type);
  chunk_layout layout{};
  layout.nibble_offset = (kept * (is_window(e) ? 1u : value_bytes) + 3) / 4 * 4;
  layout.mask_offset   = layout.nibble_offset + (is_window(e) ? (kept + 7) / 8 * 4 : 0u);
  layout.stream_words =
      is_two_level(e) ? Format::mask_words / 8 + (nonzero_mask_bytes + 3) / 4 : Format::mask_words;
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
  std::uint32_t kept;                // values whose bits are not all zero
  std::uint32_t valid_values;        // values inside the matrix
  std::uint32_t nonzero_mask_bytes;  // read only if the codec has two_level forms
  std::uint32_t high_span;           // window elements, if not any_sign: max - min of high bytes
  bool any_sign;                     // a kept value has its sign bit set
};

struct encoding_choice {
  encoding form;
  std::uint32_t units;
};

/// Whether the tile's values can take the encoding at all.
template <class Format>
BITSPARSE_HOST_DEVICE constexpr bool is_applicable(encoding e, tile_summary const& tile) {
  if (is_window(e)) {
    return Format::element::has_window && !tile.any_sign &&
           tile.high_span < (is_window3(e) ? 8u : 16u);
  }
  return !is_sign(e) || !tile.any_sign;
}

/// The smallest encoding of the codec, by chunk units; a tie goes to the lower number. A two_level
/// form must save at least 1/32 of the chunk it replaces, because it costs the decoder a second
/// scan. Source: docs/results/host/two_level_threshold.json: against no such rule, 1/32 makes real
/// activations at most 0.06 % larger, 1/16 up to 2.1 %.
template <class Format, class Codec>
BITSPARSE_HOST_DEVICE constexpr encoding_choice choose_encoding(tile_summary const& tile) {
  if (tile.kept == 0) return {encoding::zero, 0};
  encoding_choice flat{encoding::dense, dense_units<Format>(tile.valid_values)};
  encoding_choice two_level{encoding::dense, flat.units + 1};
  for (std::uint32_t i = 2; i < 10; ++i) {
    encoding const e = static_cast<encoding>(i);
    if ((Codec::encodings & encoding_bit(e)) == 0 || !is_applicable<Format>(e, tile)) continue;
    std::uint32_t const units = layout_of<Format>(e, tile.kept, tile.nonzero_mask_bytes).units();
    encoding_choice& best     = is_two_level(e) ? two_level : flat;
    if (units < best.units) best = {e, units};
  }
  if constexpr ((Codec::encodings & encoding_bit(encoding::two_level_raw)) == 0) {
    return flat;
  } else {
    return two_level.units * 32 <= flat.units * 31 ? two_level : flat;
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
