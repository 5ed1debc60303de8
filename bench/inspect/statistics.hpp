// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What can be said of a matrix's values and of a directory's tiles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <bench/inspect/command_line.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/tile_descriptor.hpp>

namespace inspect {

/// Of a matrix's values. A ratio is NaN for an empty matrix and infinite for one of zeros.
struct value_statistics {
  double density;        // kept values / values
  double bound_ratio;    // of an ideal mask and b - 1 bits per kept value
  double entropy_ratio;  // of an ideal mask, sign and exponent, and plain mantissas
};

/// With b bits per value, density d and the binary entropy H:
///
///     bound_ratio   = b / (H(d) + (b - 1) d)
///     entropy_ratio = b / (H(d) + d (Hsign + Hexponent + mantissa bits))
///
/// where Hsign and Hexponent are the empirical entropies of these fields among kept values.
/// Shapes: dense (num_values,).
value_statistics measure_values(bitsparse::element_id element,
                                std::byte const* dense,
                                std::uint64_t num_values);

inline constexpr std::size_t num_density_buckets = 10;

/// Of a compressed tensor.
struct tile_statistics {
  std::array<std::uint64_t, bitsparse::num_encodings> per_encoding{};
  std::array<std::uint64_t, num_density_buckets> per_density{};  // tenths; 1.0 is in the last
  std::uint64_t num_tiles        = 0;
  std::uint64_t compressed_bytes = 0;  // chunks and 8 bytes of descriptor per tile
};

/// Shapes: directory (tiles,), row-major in tiles.
tile_statistics measure_tiles(std::vector<bitsparse::tile_descriptor> const& directory,
                              matrix_shape shape,
                              tile_shape tile);

}  // namespace inspect
