// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Test support: a matrix with one tile for each encoding that an element has, with codec compact.
#pragma once

#include <cstdint>
#include <vector>

#include <bitsparse/format/encoding.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bitsparse_test {

/// Elements without window values have no window forms.
template <class Format>
inline constexpr std::uint64_t num_encoded_tiles = Format::element::has_window ? 10 : 6;

template <class Format>
constexpr bitsparse::encoding encoding_of_tile(std::uint64_t tile) {
  using e                       = bitsparse::encoding;
  constexpr e with_window[]     = {e::zero,
                                   e::dense,
                                   e::flat_raw,
                                   e::flat_sign,
                                   e::flat_window3,
                                   e::flat_window4,
                                   e::elias_fano_raw,
                                   e::elias_fano_sign,
                                   e::elias_fano_window3,
                                   e::elias_fano_window4};
  constexpr e without_windows[] = {
      e::zero, e::dense, e::flat_raw, e::flat_sign, e::elias_fano_raw, e::elias_fano_sign};
  return Format::element::has_window ? with_window[tile] : without_windows[tile];
}

/// A row of full tiles: tile i has encoding_of_tile<Format>(i).
template <class Format>
test_matrix<typename Format::element> one_tile_of_each() {
  using bits_type = typename Format::bits_type;
  using e         = bitsparse::encoding;
  test_matrix<typename Format::element> matrix{Format::rows,
                                               Format::cols * num_encoded_tiles<Format>};
  matrix.set_zero();
  for (std::uint64_t tile = 0; tile < num_encoded_tiles<Format>; ++tile) {
    e const form         = encoding_of_tile<Format>(tile);
    std::uint32_t needed = form == e::zero                          ? 0
                           : form == e::dense                       ? Format::values
                           : bitsparse::detail::is_elias_fano(form) ? Format::values / 8
                                                                    : Format::values / 2;
    value_model model;
    if (bitsparse::detail::is_sign(form)) model.range = value_range::non_negative;
    if (bitsparse::detail::is_window(form))
      model.range =
          bitsparse::detail::is_window3(form) ? value_range::window3 : value_range::window4;
    std::vector<bits_type> const values =
        random_values<bits_type>(Format::values, model, 100 + tile);
    random_bits random{tile};
    for (std::uint32_t i = 0; i < Format::values; ++i) {
      if (random.below(Format::values - i) >= needed) continue;
      matrix.at(i / Format::cols, tile * Format::cols + i % Format::cols) = values[i];
      --needed;
    }
  }
  return matrix;
}

}  // namespace bitsparse_test
