// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// fp32: every pattern of either half, and random ones, come back as they were.
#include <tests/support/catch.hpp>
#include <tests/support/patterns.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

using formats = bs::type_list<bs::tile_format<bs::fp32, 16, 16>,
                              bs::tile_format<bs::fp32, 1, 256>,
                              bs::tile_format<bs::fp32, 64, 4>,
                              bs::tile_format<bs::fp32, 32, 64>,
                              bs::tile_format<bs::fp32, 4, 1024>>;

}  // namespace

TEST_CASE("host_codec: every high and low half of fp32 comes back alone in a tile", "[format]") {
  for (unsigned const shift : {0u, 16u}) {
    auto const patterns          = bt::every_pattern<std::uint32_t>(16, shift);
    std::uint32_t const position = shift == 0 ? 33 : 255;
    CHECK(bt::round_trip_alone<bs::tile_format<bs::fp32, 16, 16>>(patterns, {position}) == "");
  }
}

TEST_CASE("host_codec: every high and low half of fp32 comes back among others", "[format]") {
  for (unsigned const shift : {0u, 16u}) {
    auto const patterns = bt::every_pattern<std::uint32_t>(16, shift);
    bt::for_each_type(formats{}, [&](auto format) {
      CHECK(bt::round_trip_mixed<decltype(format)>(patterns, {0, 33}) == "");
    });
  }
}

TEST_CASE("host_codec: random fp32 patterns come back", "[format]") {
  auto const patterns = bt::random_values<std::uint32_t>(65536, {}, 32);
  bt::for_each_type(formats{}, [&](auto format) {
    using format_type = decltype(format);
    CHECK(bt::round_trip_mixed<format_type>(patterns, {31}) == "");
    std::vector<std::uint32_t> const few(patterns.begin(), patterns.begin() + 64);
    CHECK(bt::round_trip_alone<format_type>(few, bt::special_positions<format_type>()) == "");
  });
}
