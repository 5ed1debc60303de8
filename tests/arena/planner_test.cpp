// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Capacities from shapes, densities and reports.
#include <bitsparse/arena/codec_choice.hpp>
#include <bitsparse/arena/planner.hpp>
#include <bitsparse/detail/tile_grid.hpp>
#include <bitsparse/format/host_codec.hpp>
#include <tests/support/catch.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

TEST_CASE("planner: the bound on slabs holds for the worst order of chunks", "[arena]") {
  random_bits random{5};
  for (int i = 0; i < 2000; ++i) {
    std::uint64_t const slab      = std::uint64_t{32768} << random.below(3);
    std::uint64_t const max_chunk = 8192;
    std::uint64_t bytes = 0, slabs = 0, room = 0;
    std::uint32_t const count = random.below(200);
    for (std::uint32_t k = 0; k < count; ++k) {
      std::uint64_t const chunk =
          16 * (1 + random.below(static_cast<std::uint32_t>(max_chunk / 16)));
      if (chunk > room) {  // a reservation that straddles is abandoned
        ++slabs;
        room = slab;
      }
      room -= chunk;
      bytes += chunk;
    }
    REQUIRE(slabs <= bs::max_slabs(bytes, slab, max_chunk));
  }
  CHECK(bs::max_slabs(0, 32768, 8192) == 0);
}

TEST_CASE("planner: slabs for an expected density hold a tensor of that density", "[arena]") {
  using format = bs::default_format<bs::bf16>;
  for (double const density : {0.0, 0.03, 0.1, 0.3, 0.5, 0.9, 1.0}) {
    // The same number of kept values in every tile, as the planner assumes.
    test_matrix<bs::bf16> matrix{256, 640};
    matrix.set_zero();
    auto const kept = static_cast<std::uint32_t>(density * format::values);
    bs::detail::for_each_tile<format>(
        256,
        640,
        [&](std::uint64_t, std::uint64_t row, std::uint64_t col, std::uint32_t, std::uint32_t) {
          for (std::uint32_t k = 0; k < kept; ++k)
            matrix.at(row + k / format::cols, col + k % format::cols) = 0x3f80;
          return true;
        });
    test_tensor<format> tensor{256, 640};
    std::uint64_t bytes = 0;
    REQUIRE(bs::host::compress<format, bs::codec::sign>(matrix.view(), tensor.view(), bytes).ok());
    std::uint64_t const planned =
        bs::planned_slabs<format, bs::codec::sign>(256, 640, density, 32768);
    CHECK(planned >= bs::max_slabs(bytes, 32768, bs::max_chunk_bytes<format>()));
    CHECK(planned <= bs::max_slabs(bytes, 32768, bs::max_chunk_bytes<format>()) + 1);
  }
  CHECK(bs::planned_slabs<format, bs::codec::sign>(
            std::uint64_t{1} << 60, std::uint64_t{1} << 60, 0.5) == bs::size_overflow);
}

TEST_CASE("planner: a report's need and headroom", "[arena]") {
  bs::arena_report report{};
  report.needed_slabs = 100;
  CHECK(bs::planned_slabs(report) == 100);
  CHECK(bs::planned_slabs(report, 1.25) == 125);
  CHECK(bs::planned_slabs(report, 1.001) == 101);
}

namespace {

/// Chunk bytes of a matrix by the host codec, and those that units_with() finds from its directory.
template <class Format, class Codec, class Other>
void check_units_with(test_matrix<typename Format::element> const& matrix) {
  test_tensor<Format> tensor{matrix.rows(), matrix.cols()}, other{matrix.rows(), matrix.cols()};
  std::uint64_t bytes = 0, other_bytes = 0, found = 0;
  REQUIRE(bs::host::compress<Format, Codec>(matrix.view(), tensor.view(), bytes).ok());
  REQUIRE(bs::host::compress<Format, Other>(matrix.view(), other.view(), other_bytes).ok());
  bs::detail::tile_grid<Format> const grid{matrix.rows(), matrix.cols()};
  for (std::uint32_t i = 0; i < tensor.num_tiles(); ++i) {
    auto const tile = tensor.tile(i);
    auto const at   = grid.at(i);
    found += 16 * bs::detail::units_with<Format, Other>(
                      tile.form(), tile.kept(), at.valid_rows * at.valid_cols);
  }
  bool const is_exact = std::is_same_v<Other, bs::codec::fast>;
  CHECK(found >= other_bytes);
  CHECK(found <= other_bytes + (is_exact ? 0 : 16 * tensor.num_tiles()));
}

template <class Format>
void check_every_model() {
  using bits_type    = typename Format::bits_type;
  std::uint64_t seed = 3;
  for (auto const range : {value_range::any, value_range::non_negative, value_range::window3}) {
    for (double const fill : {0.0, 0.002, 0.01, 0.1, 0.3, 0.6, 0.95, 1.0}) {
      test_matrix<typename Format::element> matrix{5 * Format::rows + 3, 3 * Format::cols + 9};
      matrix.assign(random_values<bits_type>(matrix.rows() * matrix.cols(), {range, fill}, ++seed));
      check_units_with<Format, bs::codec::compact, bs::codec::fast>(matrix);
      check_units_with<Format, bs::codec::compact, bs::codec::sign>(matrix);
      check_units_with<Format, bs::codec::sign, bs::codec::fast>(matrix);
    }
  }
}

}  // namespace

TEST_CASE("codec choice: a compact directory tells what the other codecs would take", "[arena]") {
  check_every_model<bs::default_format<bs::bf16>>();
  check_every_model<bs::default_format<bs::fp8_e4m3>>();
  check_every_model<bs::default_format<bs::fp32>>();
}

TEST_CASE("codec choice: the smallest chunks that the allowed time buys", "[arena]") {
  auto const compared = bs::compare_codecs(1 << 30, 300 << 20, 290 << 20, 200 << 20, 4.2e9);
  CHECK(compared.costs[0].milliseconds == Approx(1.32 * 1.0737e9 / 4.2e9 * 2.14).epsilon(0.05));
  CHECK(compared.choose(0).codec == bs::codec_id::sign);
  CHECK(compared.choose(10).codec == bs::codec_id::compact);
  auto const dense = bs::compare_codecs(1 << 30, 1 << 30, 1 << 30, 1 << 30, 4.2e9);
  CHECK(dense.choose(10).codec == bs::codec_id::fast);
}
