// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Test support: every bit pattern at every class of position of a tile, through the host codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tests/support/round_trip.hpp>

namespace bitsparse_test {

/// The patterns 0 .. 2^16 - 1 or 2^8 - 1, shifted left.
template <class Bits>
std::vector<Bits> every_pattern(unsigned pattern_bits, unsigned shift = 0) {
  std::vector<Bits> patterns(std::size_t{1} << pattern_bits);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<Bits>(i << shift);
  return patterns;
}

/// Positions in a tile where something can go wrong: ends of the tile, of mask words, of rows.
template <class Format>
std::vector<std::uint32_t> special_positions() {
  std::vector<std::uint32_t> positions{0, 1, 7, 8, 31, 32, 33, 63, 64};
  for (std::uint32_t const p : {Format::cols - 1,
                                Format::cols % Format::values,
                                Format::values - Format::cols,
                                Format::values - 33,
                                Format::values - 32,
                                Format::values - 2,
                                Format::values - 1}) {
    positions.push_back(p);
  }
  return positions;
}

/// Each pattern as the only value of a tile that is not zero, at each of the positions.
template <class Format>
std::string round_trip_alone(std::vector<typename Format::bits_type> const& patterns,
                             std::vector<std::uint32_t> const& positions) {
  constexpr std::size_t tiles_per_matrix = 65536 / Format::values * 4;
  test_matrix<typename Format::element> matrix{Format::rows, Format::cols * tiles_per_matrix};
  for (std::uint32_t const position : positions) {
    for (std::size_t first = 0; first < patterns.size(); first += tiles_per_matrix) {
      matrix.set_zero();
      for (std::size_t i = 0; i < tiles_per_matrix && first + i < patterns.size(); ++i) {
        matrix.at(position / Format::cols, i * Format::cols + position % Format::cols) =
            patterns[first + i];
      }
      std::string const fault = round_trip_every_codec<Format>(matrix);
      if (!fault.empty()) {
        return fault + " (one value per tile, position " + std::to_string(position) + ")";
      }
    }
  }
  return {};
}

/// All patterns in one matrix whose last tiles are ragged: side by side, with zeros between them,
/// and the non-negative ones alone, so that every kind of encoding meets them. Each shift brings a
/// pattern to another place.
template <class Format>
std::string round_trip_mixed(std::vector<typename Format::bits_type> const& patterns,
                             std::vector<std::uint32_t> const& shifts) {
  using bits_type              = typename Format::bits_type;
  constexpr std::uint64_t rows = 2 * Format::rows + Format::rows / 3 + 1;
  constexpr bits_type magnitude =
      static_cast<bits_type>(~bitsparse::detail::sign_bit<typename Format::element>);
  for (std::uint32_t const zeros : {0u, 1u, 4u}) {  // after each value
    for (bool const any_sign : {true, false}) {
      std::uint64_t const cols = patterns.size() * (zeros + 1) / rows + 1;
      test_matrix<typename Format::element> matrix{rows, cols, cols + 3};
      for (std::uint32_t const shift : shifts) {
        for (std::uint64_t i = 0; i < rows * cols; ++i) {
          bits_type const pattern = patterns[(i + shift) / (zeros + 1) % patterns.size()];
          matrix.at(i / cols, i % cols) =
              (i + shift) % (zeros + 1) != 0
                  ? bits_type{0}
                  : static_cast<bits_type>(any_sign ? pattern : pattern & magnitude);
        }
        std::string const fault = round_trip_every_codec<Format>(matrix);
        if (!fault.empty()) return fault + " (mixed, shift " + std::to_string(shift) + ")";
      }
    }
  }
  return {};
}

}  // namespace bitsparse_test
