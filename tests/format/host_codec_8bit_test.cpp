// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Every 8-bit pattern comes back as it was, in every class of position.
#include <tests/support/catch.hpp>
#include <tests/support/patterns.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

template <class Element>
using formats = bs::type_list<bs::tile_format<Element, 16, 16>,
                              bs::tile_format<Element, 1, 256>,
                              bs::tile_format<Element, 256, 16>,
                              bs::tile_format<Element, 32, 256>,
                              bs::tile_format<Element, 128, 128>>;

/// All patterns many times over, each run rotated, so that a mixed matrix has more tiles than one.
std::vector<std::uint8_t> repeated_patterns() {
  std::vector<std::uint8_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    patterns[i] = static_cast<std::uint8_t>(i + i / 256 * 37);
  }
  return patterns;
}

template <class Element>
void check_alone() {
  auto const patterns = bt::every_pattern<std::uint8_t>(8);
  bt::for_each_type(formats<Element>{}, [&](auto format) {
    using format_type = decltype(format);
    CHECK(bt::round_trip_alone<format_type>(patterns, bt::special_positions<format_type>()) == "");
  });
}

template <class Element>
void check_mixed() {
  auto const patterns = repeated_patterns();
  bt::for_each_type(formats<Element>{}, [&](auto format) {
    CHECK(bt::round_trip_mixed<decltype(format)>(patterns, {0, 1, 31, 32, 33, 255}) == "");
  });
}

}  // namespace

TEST_CASE("host_codec: every e4m3 pattern comes back when it is alone in a tile", "[format]") {
  check_alone<bs::fp8_e4m3>();
}

TEST_CASE("host_codec: every e5m2 pattern comes back when it is alone in a tile", "[format]") {
  check_alone<bs::fp8_e5m2>();
}

TEST_CASE("host_codec: every e4m3 pattern comes back among others", "[format]") {
  check_mixed<bs::fp8_e4m3>();
}

TEST_CASE("host_codec: every e5m2 pattern comes back among others", "[format]") {
  check_mixed<bs::fp8_e5m2>();
}
