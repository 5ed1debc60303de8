// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The descriptor's fields, at their limits.
#include <bitsparse/format/tile_descriptor.hpp>
#include <tests/support/catch.hpp>

namespace bs = bitsparse;

TEST_CASE("tile_descriptor: every field keeps its largest value beside the others'", "[format]") {
  bs::tile_descriptor const d{
      bs::encoding::elias_fano_window4, 16384, 1024, bs::max_tensor_units - 1};
  CHECK(d.form() == bs::encoding::elias_fano_window4);
  CHECK(d.kept() == 16384);
  CHECK(d.chunk_units() == 1024);
  CHECK(d.offset_units() == bs::max_tensor_units - 1);
}

TEST_CASE("tile_descriptor: the bits are where the format says", "[format]") {
  CHECK(bs::tile_descriptor{bs::encoding::flat_sign, 3, 5, 7}.word() ==
        (std::uint64_t{7} << 29 | std::uint64_t{3} << 25 | std::uint64_t{2} << 11 | 5));
}

TEST_CASE("tile_descriptor: a zero tile is the zero word", "[format]") {
  CHECK(bs::tile_descriptor{bs::encoding::zero, 0, 0, 0}.word() == 0);
  CHECK(bs::tile_descriptor{}.kept() == 0);
}
