// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The cases that every element's device test runs; a TU per element instantiates them. Those tagged
/// [long] take too long under compute-sanitizer, which runs a sample of them: see tests/sanitize.sh.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <tests/support/catch.hpp>
#include <tests/support/device_round_trip.cuh>
#include <tests/support/patterns.hpp>
#include <tests/support/values.hpp>

namespace bitsparse_test {

/// Calls run() with a matrix for each value model, at several densities.
template <class Element, class Run>
std::string for_each_model(
    std::uint64_t rows, std::uint64_t cols, std::uint64_t ld, std::uint64_t offset, Run run) {
  value_model const models[] = {
      {value_range::any, 0.0},
      {value_range::non_negative, 0.0005},
      {value_range::any, 0.02},
      {value_range::non_negative, 0.1},
      {value_range::non_negative, 0.5},
      {value_range::any, 0.5},
      {value_range::non_negative, 0.93},
      {value_range::non_negative, 1.0},
      {value_range::any, 1.0},
      {value_range::non_negative, 0.8, 64, 0.2},
      {value_range::any, 0.9, 4096, 0.3},
      {value_range::window3, 0.03},
      {value_range::window4, 0.12},
      {value_range::window3, 0.2},
      {value_range::window4, 0.4},
      {value_range::window3, 0.7},
  };
  std::uint64_t seed = rows * 31 + cols * 7 + ld;
  for (value_model const& model : models) {
    test_matrix<Element> matrix{rows, cols, ld, offset};
    matrix.assign(random_values<typename Element::bits_type>(rows * cols, model, ++seed));
    std::string const fault = run(matrix);
    if (!fault.empty()) {
      return fault + " (" + std::to_string(rows) + "x" + std::to_string(cols) + ", ld " +
             std::to_string(ld) + ", offset " + std::to_string(offset) + ", fill " +
             std::to_string(model.fill) + ")";
    }
  }
  return {};
}

/// All codecs.
template <class Format>
std::string device_round_trip_every_codec(test_matrix<typename Format::element> const& source,
                                          std::uint64_t target_ld     = 0,
                                          std::uint64_t target_offset = 0) {
  std::string fault =
      device_round_trip<Format, bitsparse::codec::fast>(source, target_ld, target_offset);
  if (fault.empty())
    fault = device_round_trip<Format, bitsparse::codec::sign>(source, target_ld, target_offset);
  if (fault.empty())
    fault = device_round_trip<Format, bitsparse::codec::compact>(source, target_ld, target_offset);
  return fault;
}

/// Full and ragged tiles, ld > cols, empty and one-value matrices, at all densities.
template <class Format>
void check_shapes() {
  std::uint64_t const rows[] = {1, Format::rows, 2 * Format::rows + 3};
  std::uint64_t const cols[] = {
      1, Format::cols, 3 * Format::cols, 2 * Format::cols + 8, Format::cols + 5};
  for (std::uint64_t const r : rows) {
    for (std::uint64_t const c : cols) {
      for (std::uint64_t const gap :
           {std::uint64_t{0}, std::uint64_t{3}, (16 - c % 16) % 16 + 16}) {
        std::string const fault =
            for_each_model<typename Format::element>(r, c, c + gap, 0, [](auto const& matrix) {
              return device_round_trip_every_codec<Format>(matrix);
            });
        REQUIRE(fault == "");
      }
    }
  }
  for (auto const& shape : {std::pair<std::uint64_t, std::uint64_t>{0, 0}, {0, 5}, {5, 0}}) {
    test_matrix<typename Format::element> const empty{shape.first, shape.second, shape.second + 1};
    CHECK(device_round_trip_every_codec<Format>(empty) == "");
  }
}

/// Base pointers at every element offset from a 16-byte boundary, for source and target.
template <class Format>
void check_offsets() {
  for (std::uint64_t offset = 0; offset < 16; ++offset) {
    std::uint64_t const rows = Format::rows + 2, cols = 2 * Format::cols + 3;
    for (std::uint64_t const ld : {cols, std::uint64_t{2} * Format::cols + 16}) {
      std::string const fault =
          for_each_model<typename Format::element>(rows, cols, ld, offset, [&](auto const& matrix) {
            return device_round_trip_every_codec<Format>(matrix, ld, (offset * 5 + 3) % 16);
          });
      REQUIRE(fault == "");
    }
  }
}

/// Every bit pattern, alone among zeros and mixed, with and without signs.
template <class Format>
void check_patterns(std::vector<typename Format::bits_type> const& patterns) {
  using bits_type          = typename Format::bits_type;
  constexpr auto sign      = bitsparse::detail::sign_bit<typename Format::element>;
  std::uint64_t const cols = 2 * Format::cols;
  for (std::uint32_t const spacing : {1u, 2u, 9u}) {
    for (bool const any_sign : {true, false}) {
      for (std::uint32_t const shift : {0u, 1u, 33u}) {
        // At least two full tiles and a ragged one, each with every density of the spacing.
        std::uint64_t const rows = std::max<std::uint64_t>(
            (patterns.size() * spacing + shift) / cols + 1, 2 * Format::rows + 1);
        test_matrix<typename Format::element> matrix{rows, cols};
        std::vector<bits_type> values(rows * cols);
        for (std::size_t i = 0; i * spacing + shift < values.size(); ++i) {
          bits_type const pattern = patterns[i % patterns.size()];
          values[i * spacing + shift] =
              static_cast<bits_type>(any_sign ? pattern : pattern & ~sign);
        }
        matrix.assign(values);
        REQUIRE(device_round_trip_every_codec<Format>(matrix) == "");
      }
    }
  }
}

/// Numbers of kept values around multiples of 32, and where the lower parts of Elias-Fano masks change
/// their width or the form is not allowed any more.
template <class Format>
std::vector<std::uint32_t> critical_counts() {
  std::vector<std::uint32_t> counts{0, 1, 31, 32, 33, 63, 64, Format::values - 1, Format::values};
  for (std::uint32_t shift = 3; shift <= 8; ++shift) {
    for (std::uint32_t const more : {0u, 1u, 2u})
      counts.push_back((Format::values >> shift) - 1 + more);
  }
  counts.push_back(Format::values / 32 * 7);
  counts.push_back(Format::values / 32 * 7 + 1);
  return counts;
}

enum class place { at_start, at_end, spread };

/// A tile with so many kept values.
template <class Format>
test_matrix<typename Format::element> tile_of(std::uint32_t kept, place where) {
  using bits_type = typename Format::bits_type;
  test_matrix<typename Format::element> matrix{Format::rows, Format::cols};
  std::vector<bits_type> values(Format::values);
  for (std::uint32_t k = 0; k < kept; ++k) {
    std::uint32_t const at = where == place::at_start ? k
                             : where == place::at_end ? Format::values - 1 - k
                                                      : k * (Format::values / kept);
    values[at]             = static_cast<bits_type>(k % 100 + 1);
  }
  matrix.assign(values);
  return matrix;
}

/// Critical numbers of kept values in a tile, at its start, its end, and spread.
template <class Format>
void check_counts() {
  for (std::uint32_t const kept : critical_counts<Format>()) {
    for (place const where : {place::at_start, place::at_end, place::spread})
      REQUIRE(device_round_trip_every_codec<Format>(tile_of<Format>(kept, where)) == "");
  }
}

/// Values that the choice of an encoding hangs on, one in every 1, 5, 8 and 21.
template <class Format>
void check_adversarial() {
  using bits_type         = typename Format::bits_type;
  constexpr auto sign     = bitsparse::detail::sign_bit<typename Format::element>;
  constexpr int high_from = sizeof(bits_type) * 8 - 8;  // of the bits that window forms compare
  auto const value_of     = [](int kind, std::uint32_t k) -> bits_type {
    std::uint32_t const low = sizeof(bits_type) == 1 ? 0 : k * 7 % 251 + 1;
    auto const with_high    = [&](std::uint32_t high) {
      return static_cast<bits_type>(std::uint64_t{high} << high_from | low);
    };
    switch (kind) {
      case 0:  // exponents spread over everything
        return with_high(k % 127 + 1);
      case 1:  // alternating signs
        return static_cast<bits_type>(with_high(60) | (k % 2 == 0 ? 0 : sign));
      case 2:  // one outlier, of the smallest or the largest
        return k == 17 ? bits_type{1} : with_high(60 + k % 3);
      case 3:
        return k == 40 ? with_high(127) : with_high(60 + k % 3);
      default:  // spans at the edges of the windows: 7, 8, 15, 16
        return with_high(50 + k % (kind == 4 ? 8 : kind == 5 ? 9 : kind == 6 ? 16 : 17));
    }
  };
  for (std::uint32_t const spacing : {1u, 5u, 8u, 21u}) {
    for (int kind = 0; kind < 8; ++kind) {
      test_matrix<typename Format::element> matrix{Format::rows + 5, 2 * Format::cols};
      std::vector<bits_type> values(matrix.rows() * matrix.cols());
      for (std::uint32_t k = 0; k * spacing + 3 < values.size(); ++k)
        values[k * spacing + 3] = value_of(kind, k);
      matrix.assign(values);
      CAPTURE(kind, spacing);
      REQUIRE(device_round_trip_every_codec<Format>(matrix) == "");
    }
  }
}

/// One kept value at each position of a tile: a tile per position, in one matrix.
template <class Format>
void check_single_values() {
  test_matrix<typename Format::element> matrix{Format::rows,
                                               std::uint64_t{Format::cols} * Format::values / 4};
  for (std::uint32_t quarter = 0; quarter < 4; ++quarter) {
    matrix.set_zero();
    for (std::uint32_t i = 0; i < Format::values / 4; ++i) {
      std::uint32_t const position                                         = i * 4 + quarter;
      matrix.at(position / Format::cols,
                std::uint64_t{i} * Format::cols + position % Format::cols) = 1;
    }
    REQUIRE(device_round_trip_every_codec<Format>(matrix) == "");
  }
}

/// What there is time for when a checker slows every kernel down: all encodings in full and ragged
/// tiles, with and without 16-byte aligned rows, and critical numbers of kept values with the codec that
/// has most encodings.
template <class Format>
void check_sample() {
  std::uint64_t const rows = Format::rows + 3, cols = 2 * Format::cols + 16;
  for (std::uint64_t const gap : {std::uint64_t{0}, std::uint64_t{3}}) {
    std::string const fault =
        for_each_model<typename Format::element>(rows, cols, cols + gap, 0, [](auto const& matrix) {
          return device_round_trip_every_codec<Format>(matrix);
        });
    REQUIRE(fault == "");
  }
  for (std::uint32_t const kept : critical_counts<Format>()) {
    auto const tile = tile_of<Format>(kept, place::spread);
    REQUIRE(device_round_trip<Format, bitsparse::codec::compact>(tile) == "");
  }
}

}  // namespace bitsparse_test
