// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Entropies and counts.
#include <bench/inspect/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <bench/support/element_fields.hpp>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/tile_format.hpp>

namespace inspect {
namespace {

namespace bs = bitsparse;

/// Bits per symbol. Shapes: counts (num_symbols,), which sum to total.
double entropy(std::uint64_t const* counts, std::size_t num_symbols, std::uint64_t total) {
  double bits = 0;
  for (std::size_t i = 0; i < num_symbols; ++i) {
    if (counts[i] == 0) continue;
    double const share = static_cast<double>(counts[i]) / static_cast<double>(total);
    bits -= share * std::log2(share);
  }
  return bits;
}

template <class Element>
value_statistics measure(std::byte const* dense, std::uint64_t num_values) {
  using bits_type                       = typename Element::bits_type;
  constexpr std::uint32_t mantissa_bits = bench::mantissa_bits<Element>;
  constexpr std::uint32_t num_exponents = 1u << bench::exponent_bits<Element>;
  constexpr double value_bits           = Element::value_bits;

  std::array<std::uint64_t, 2 * num_exponents> fields{};  // by sign and exponent
  std::uint64_t mask[2]{};                                // zeros, kept values
  for (std::uint64_t i = 0; i < num_values; ++i) {
    auto const bits = bs::detail::load<bits_type>(dense + i * sizeof(bits_type));
    ++mask[bits != 0];
    if (bits != 0) ++fields[bits >> mantissa_bits];
  }
  std::array<std::uint64_t, num_exponents> exponents{};
  std::uint64_t signs[2]{};
  for (std::uint32_t i = 0; i < 2 * num_exponents; ++i) {
    exponents[i % num_exponents] += fields[i];
    signs[i / num_exponents] += fields[i];
  }

  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (num_values == 0) return {nan, nan, nan};
  double const density   = static_cast<double>(mask[1]) / static_cast<double>(num_values);
  double const mask_bits = entropy(mask, 2, num_values);
  double const kept_bits = entropy(signs, 2, mask[1]) +
                           entropy(exponents.data(), num_exponents, mask[1]) + mantissa_bits;
  return {density,
          value_bits / (mask_bits + (value_bits - 1) * density),
          value_bits / (mask_bits + kept_bits * density)};
}

}  // namespace

value_statistics measure_values(bs::element_id element,
                                std::byte const* dense,
                                std::uint64_t num_values) {
  value_statistics result{};
  bench::for_each_type(bench::all_elements{}, [&](auto e) {
    if (e.id == element) result = measure<decltype(e)>(dense, num_values);
  });
  return result;
}

tile_statistics measure_tiles(std::vector<bs::tile_descriptor> const& directory,
                              matrix_shape shape,
                              tile_shape tile) {
  tile_statistics result{};
  result.num_tiles                  = directory.size();
  result.compressed_bytes           = directory.size() * sizeof(bs::tile_descriptor);
  std::uint64_t const tiles_per_row = bs::detail::ceil_div<std::uint64_t>(shape.cols, tile.cols);
  for (std::uint64_t i = 0; i < directory.size(); ++i) {
    bs::tile_descriptor const descriptor = directory[i];
    std::uint64_t const row              = i / tiles_per_row * tile.rows;
    std::uint64_t const col              = i % tiles_per_row * tile.cols;
    std::uint64_t const values           = std::min<std::uint64_t>(tile.rows, shape.rows - row) *
                                 std::min<std::uint64_t>(tile.cols, shape.cols - col);
    std::uint64_t const bucket = descriptor.kept() * num_density_buckets / values;
    ++result.per_density[std::min<std::uint64_t>(bucket, num_density_buckets - 1)];
    ++result.per_encoding[static_cast<std::size_t>(descriptor.form())];
    result.compressed_bytes += std::uint64_t{descriptor.chunk_units()} * bs::unit_bytes;
  }
  return result;
}

}  // namespace inspect
