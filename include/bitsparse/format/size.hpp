// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: how much memory a tensor needs, known before a value is seen. All are constexpr, and
/// answer size_overflow instead of wrapping round.
#pragma once

#include <cstdint>

#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/tile_descriptor.hpp>
#include <bitsparse/format/tile_format.hpp>

namespace bitsparse {
inline namespace v0 {

/// Tiles that cover a rows x cols matrix; 0 if it is empty.
template <class Format>
constexpr std::uint64_t num_tiles(std::uint64_t rows, std::uint64_t cols) {
  return detail::checked_mul(detail::ceil_div<std::uint64_t>(rows, Format::rows),
                             detail::ceil_div<std::uint64_t>(cols, Format::cols));
}

/// Bytes of the directory: one 64-bit descriptor per tile, in row-major tile order.
template <class Format>
constexpr std::uint64_t directory_bytes(std::uint64_t rows, std::uint64_t cols) {
  return detail::checked_mul(num_tiles<Format>(rows, cols), sizeof(tile_descriptor));
}

/// The largest chunk any codec makes: the tile's dense bytes.
template <class Format>
constexpr std::uint32_t max_chunk_bytes() {
  return Format::tile_bytes;
}

/// The payload bytes that suffice whatever the values are: no tile's chunk is larger than its valid
/// bytes rounded up to 16. size_overflow also where that is over the 512 GiB which a tensor can
/// address.
template <class Format>
constexpr std::uint64_t max_payload_bytes(std::uint64_t rows, std::uint64_t cols) {
  if (rows == 0 || cols == 0) return 0;
  std::uint64_t const full_rows = rows / Format::rows;
  std::uint64_t const full_cols = cols / Format::cols;
  std::uint32_t const rest_rows = static_cast<std::uint32_t>(rows % Format::rows);
  std::uint32_t const rest_cols = static_cast<std::uint32_t>(cols % Format::cols);
  std::uint64_t const row_of_tiles =
      detail::checked_add(detail::checked_mul(full_cols, Format::tile_units),
                          detail::dense_units<Format>(Format::rows * rest_cols));
  std::uint64_t const last_of_tiles = detail::checked_add(
      detail::checked_mul(full_cols, detail::dense_units<Format>(rest_rows * Format::cols)),
      detail::dense_units<Format>(rest_rows * rest_cols));
  std::uint64_t const units =
      detail::checked_add(detail::checked_mul(full_rows, row_of_tiles), last_of_tiles);
  return units > max_tensor_units ? size_overflow : units * unit_bytes;
}

}  // namespace v0
}  // namespace bitsparse
