// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What layers 2 to 4 find a tile's place in the matrix with.
#pragma once

#include <cstdint>

#include <bitsparse/config.hpp>
#include <bitsparse/format/size.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// Division of numbers below 2^31 by a divisor known at launch: one high multiplication, an
/// addition and a shift. Source: Granlund and Montgomery, Division by Invariant Integers using
/// Multiplication, 1994.
struct fast_divisor {
  std::uint32_t divisor    = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift      = 0;

  constexpr fast_divisor() = default;
  /// @param number 1 .. 2^31 - 1
  explicit constexpr fast_divisor(std::uint32_t number) : divisor(number) {
    while ((std::uint64_t{1} << shift) < number) ++shift;
    multiplier = static_cast<std::uint32_t>(
        (std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - number) / number + 1);
  }

  BITSPARSE_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t number) const {
    return (static_cast<std::uint32_t>(std::uint64_t{number} * multiplier >> 32) + number) >> shift;
  }
};

/// The tiles of a matrix, numbered row-major.
template <class Format>
struct tile_grid {
  fast_divisor tile_cols;
  std::uint32_t last_tile_row;
  std::uint32_t last_valid_rows;
  std::uint32_t last_valid_cols;

  struct tile {
    std::uint32_t tile_row;
    std::uint32_t tile_col;
    std::uint32_t valid_rows;
    std::uint32_t valid_cols;
  };

  /// @param rows, cols of a matrix that has 1 .. 2^31 - 1 tiles
  constexpr tile_grid(std::uint64_t rows, std::uint64_t cols)
      : tile_cols(static_cast<std::uint32_t>(ceil_div<std::uint64_t>(cols, Format::cols))),
        last_tile_row(static_cast<std::uint32_t>((rows - 1) / Format::rows)),
        last_valid_rows(static_cast<std::uint32_t>((rows - 1) % Format::rows + 1)),
        last_valid_cols(static_cast<std::uint32_t>((cols - 1) % Format::cols + 1)) {}

  BITSPARSE_HOST_DEVICE constexpr tile at(std::uint32_t number) const {
    std::uint32_t const row = tile_cols.quotient(number);
    std::uint32_t const col = number - row * tile_cols.divisor;
    return {row,
            col,
            row == last_tile_row ? last_valid_rows : Format::rows,
            col + 1 == tile_cols.divisor ? last_valid_cols : Format::cols};
  }
};

/// Where the tile's first value lies in a matrix.
template <class Format, class Bits>
BITSPARSE_HOST_DEVICE constexpr Bits* tile_corner(Bits* matrix,
                                                  std::uint64_t ld,
                                                  typename tile_grid<Format>::tile const& tile) {
  return matrix + std::uint64_t{tile.tile_row} * (Format::rows * ld) +
         std::uint64_t{tile.tile_col} * Format::cols;
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
