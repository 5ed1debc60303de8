// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: the Format template axis: an element and a tile geometry, which together say what the
/// bytes mean.
#pragma once

#include <cstdint>

#include <bitsparse/format/element.hpp>

namespace bitsparse {
inline namespace v0 {

/// Chunk sizes and offsets count in this unit.
inline constexpr std::uint32_t unit_bytes = 16;

/// A tile of `TileRows x TileCols` values of a row-major matrix: the unit of compression.
///
/// Layout: value (r, c) of a tile has index i = r * TileCols + c; bit i % 32 of mask word i / 32
///   belongs to it.
/// @tparam Element one of bf16, fp16, fp32, fp8_e4m3, fp8_e5m2
/// @tparam TileRows, TileCols a row is a multiple of 16 bytes; a tile is a multiple of 256 values,
///   at most 16,384 values and at most 16 KiB of dense data
template <class Element, int TileRows, int TileCols>
struct tile_format {
  static_assert(
      detail::is_element<Element>,
      "bitsparse: the element must be bf16, fp16, fp32, fp8_e4m3 or fp8_e5m2 of namespace "
      "bitsparse; element_of<T> is that of a CUDA type T");
  static_assert(TileRows > 0 && TileCols > 0,
                "bitsparse: a tile needs at least one row and column");

  using element   = Element;
  using bits_type = typename Element::bits_type;

  static constexpr std::uint32_t rows       = TileRows;
  static constexpr std::uint32_t cols       = TileCols;
  static constexpr std::uint32_t values     = rows * cols;
  static constexpr std::uint32_t tile_bytes = values * sizeof(bits_type);
  static constexpr std::uint32_t tile_units = tile_bytes / unit_bytes;
  static constexpr std::uint32_t mask_bytes = values / 8;
  static constexpr std::uint32_t mask_words = values / 32;

  static_assert(
      cols * sizeof(bits_type) % unit_bytes == 0,
      "bitsparse: a row of a tile must be a multiple of 16 bytes: TileCols of 4 fp32, 8 bf16 or "
      "fp16, or 16 fp8 values");
  static_assert(values % 256 == 0,
                "bitsparse: a tile must be a multiple of 256 values: change TileRows or TileCols");
  static_assert(values <= 16384,
                "bitsparse: a tile must have at most 16384 values: take fewer rows");
  static_assert(tile_bytes <= 16384,
                "bitsparse: a tile must be at most 16 KiB of dense data: take fewer rows");
};

/// The tile to use unless there is a reason: 8 KiB of dense data, 32 rows of 256 bytes. Rows of 128
/// bytes decompress more slowly (docs/tuning.md).
template <class Element>
using default_format = tile_format<Element, 32, 256 / sizeof(typename Element::bits_type)>;

}  // namespace v0
}  // namespace bitsparse
