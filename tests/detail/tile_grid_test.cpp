// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Tile numbers to places in the matrix.
#include <cstdint>

#include <bitsparse/detail/tile_grid.hpp>
#include <tests/support/catch.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;

TEST_CASE("fast_divisor: equals division for every divisor's critical numbers", "[detail]") {
  std::uint64_t wrong = 0;
  bitsparse_test::random_bits random{1};
  auto const check = [&](std::uint32_t divisor) {
    bs::detail::fast_divisor const fast{divisor};
    auto const probe = [&](std::uint64_t n) {
      if (n < std::uint64_t{1} << 31) {
        wrong +=
            fast.quotient(static_cast<std::uint32_t>(n)) != static_cast<std::uint32_t>(n) / divisor;
      }
    };
    std::uint64_t const last = 0x7fffffffu / divisor;
    for (std::uint64_t const k : {std::uint64_t{0}, std::uint64_t{1}, last / 2, last - 1, last}) {
      probe(k * divisor);
      probe(k * divisor + divisor - 1);
    }
    probe(0x7fffffffu);
    for (int i = 0; i < 16; ++i) probe(random.next() >> 33);
  };
  for (std::uint32_t divisor = 1; divisor <= 100000; ++divisor) check(divisor);
  for (int i = 0; i < 100000; ++i) check(1 + static_cast<std::uint32_t>(random.next() >> 34));
  check(0x7fffffffu);
  CHECK(wrong == 0);
}

TEST_CASE("tile_grid: numbers the tiles row by row and cuts the edges", "[detail]") {
  using format = bs::tile_format<bs::bf16, 64, 64>;
  bs::detail::tile_grid<format> const grid{130, 200};  // 3 x 4 tiles
  auto const first = grid.at(0), edge = grid.at(3), last = grid.at(11);
  CHECK(first.tile_row == 0);
  CHECK(first.valid_rows == 64);
  CHECK(edge.tile_col == 3);
  CHECK(edge.valid_rows == 64);
  CHECK(edge.valid_cols == 8);
  CHECK(last.tile_row == 2);
  CHECK(last.tile_col == 3);
  CHECK(last.valid_rows == 2);
  CHECK(last.valid_cols == 8);
}
