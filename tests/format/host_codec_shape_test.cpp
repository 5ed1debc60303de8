// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Shapes, leading dimensions, alignments and kept counts that are easy to get wrong.
#include <tests/support/catch.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

using formats = bs::type_list<bs::tile_format<bs::bf16, 16, 16>,
                              bs::tile_format<bs::bf16, 32, 128>,
                              bs::tile_format<bs::fp16, 1, 256>,
                              bs::tile_format<bs::fp32, 32, 64>,
                              bs::tile_format<bs::fp8_e4m3, 32, 256>,
                              bs::tile_format<bs::fp8_e5m2, 16, 16>>;

/// A matrix of random values.
template <class Element>
bt::test_matrix<Element> random_matrix(std::uint64_t rows,
                                       std::uint64_t cols,
                                       std::uint64_t ld,
                                       std::uint64_t offset,
                                       bt::value_model const& model,
                                       std::uint64_t seed) {
  bt::test_matrix<Element> matrix{rows, cols, ld, offset};
  matrix.assign(bt::random_values<typename Element::bits_type>(rows * cols, model, seed));
  return matrix;
}

bt::value_model const models[] = {
    {bt::value_range::any, 0.0},
    {bt::value_range::any, 0.4},
    {bt::value_range::any, 1.0},
    {bt::value_range::non_negative, 0.1},
    {bt::value_range::non_negative, 0.6},
    {bt::value_range::window3, 0.3},
    {bt::value_range::window4, 0.9, 8, 0.1},
};

}  // namespace

TEST_CASE("host_codec: ragged, empty and single-value shapes come back", "[format]") {
  bt::for_each_type(formats{}, [&](auto format) {
    using f = decltype(format);
    std::string fault;
    std::uint64_t seed = 0;
    for (std::uint64_t const rows : {0u, 1u, f::rows - 1, f::rows, f::rows + 1, 2 * f::rows + 3}) {
      for (std::uint64_t const cols :
           {0u, 1u, 2u, 31u, 32u, 33u, f::cols - 1, f::cols, f::cols + 1, 2 * f::cols + 5}) {
        for (bt::value_model const& model : models) {
          std::uint64_t const gap = seed % 3 * 5;
          auto const matrix =
              random_matrix<typename f::element>(rows, cols, cols + gap, seed % 16, model, seed);
          std::string const found =
              bt::round_trip_every_codec<f>(matrix, cols + (seed + 1) % 4, (seed + 7) % 16);
          if (!found.empty()) {
            fault = found + " at " + std::to_string(rows) + "x" + std::to_string(cols);
          }
          ++seed;
        }
      }
    }
    CHECK(fault == "");
  });
}

TEST_CASE("host_codec: any element offset of either matrix works", "[format]") {
  bt::for_each_type(formats{}, [&](auto format) {
    using f = decltype(format);
    std::string fault;
    for (std::uint64_t offset = 0; offset < 16; ++offset) {
      for (std::uint64_t const gap : {0u, 1u, 3u}) {
        auto const matrix = random_matrix<typename f::element>(f::rows + 2,
                                                               f::cols + 6,
                                                               f::cols + 6 + gap,
                                                               offset,
                                                               {bt::value_range::any, 0.3},
                                                               offset);
        for (std::uint64_t target = 0; target < 16; ++target) {
          std::string const found =
              bt::round_trip<f, bs::codec::sign>(matrix, f::cols + 6 + gap, target).fault;
          if (!found.empty()) fault = found + " at offset " + std::to_string(offset);
        }
      }
    }
    CHECK(fault == "");
  });
}

TEST_CASE("host_codec: a single kept value comes back from each position of a tile", "[format]") {
  bt::for_each_type(formats{}, [&](auto format) {
    using f         = decltype(format);
    using bits_type = typename f::bits_type;
    std::string fault;
    bt::test_matrix<typename f::element> matrix{f::rows, f::cols};
    matrix.set_zero();
    for (std::uint32_t i = 0; i < f::values; ++i) {
      matrix.at(i / f::cols, i % f::cols) = static_cast<bits_type>(i % 2 == 0 ? 1 : ~0u);
      std::string const found             = bt::round_trip_every_codec<f>(matrix);
      if (!found.empty()) fault = found + " at " + std::to_string(i);
      matrix.at(i / f::cols, i % f::cols) = 0;
    }
    CHECK(fault == "");
  });
}

TEST_CASE("host_codec: a single zero comes back from each position of a dense tile", "[format]") {
  using f = bs::tile_format<bs::bf16, 16, 16>;
  for (bt::value_range const range : {bt::value_range::any, bt::value_range::window3}) {
    std::string fault;
    bt::test_matrix<bs::bf16> matrix{f::rows, f::cols};
    auto const values = bt::random_values<std::uint16_t>(f::values, {range}, 5);
    for (std::uint32_t i = 0; i < f::values; ++i) {
      matrix.assign(values);
      matrix.at(i / f::cols, i % f::cols) = 0;
      std::string const found             = bt::round_trip_every_codec<f>(matrix);
      if (!found.empty()) fault = found + " at " + std::to_string(i);
    }
    CHECK(fault == "");
  }
}
