// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// encoded_tiles.hpp: the encodings are those that it says.
#include <tests/support/catch.hpp>
#include <tests/support/encoded_tiles.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

template <class Format>
void check_encodings() {
  auto const source = one_tile_of_each<Format>();
  test_tensor<Format> tensor{source.rows(), source.cols()};
  std::uint64_t needed = 0;
  REQUIRE(
      bs::host::compress<Format, bs::codec::compact>(source.view(), tensor.view(), needed).ok());
  for (std::uint64_t tile = 0; tile < num_encoded_tiles<Format>; ++tile)
    CHECK(bs::name_of(tensor.tile(tile).form()) ==
          std::string{bs::name_of(encoding_of_tile<Format>(tile))});
}

}  // namespace

TEST_CASE("encoded tiles: one of each encoding", "[support]") {
  check_encodings<bs::tile_format<bs::bf16, 16, 32>>();
  check_encodings<bs::tile_format<bs::fp8_e4m3, 16, 32>>();
}
