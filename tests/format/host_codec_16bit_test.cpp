// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Every 16-bit pattern, NaN payloads, -0 and subnormals among them, comes back as it was.
#include <tests/support/catch.hpp>
#include <tests/support/patterns.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

template <class Element>
using small_formats =
    bs::type_list<bs::tile_format<Element, 16, 16>, bs::tile_format<Element, 1, 256>>;
template <class Element>
using large_formats = bs::type_list<bs::tile_format<Element, 256, 8>,
                                    bs::tile_format<Element, 32, 128>,
                                    bs::tile_format<Element, 8, 1024>>;

template <class Element>
void check_alone() {
  auto const patterns = bt::every_pattern<std::uint16_t>(16);
  // The smallest tile at several positions, the others' special patterns below.
  CHECK(bt::round_trip_alone<bs::tile_format<Element, 16, 16>>(patterns, {0, 31, 33, 255}) == "");
  CHECK(bt::round_trip_alone<bs::tile_format<Element, 1, 256>>(patterns, {32}) == "");
  std::vector<std::uint16_t> special{0x0001, 0x007f, 0x0080, 0x03ff, 0x0400, 0x7bff, 0x7c00, 0x7c01,
                                     0x7e00, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0, 0x7fff, 0x8000, 0x8001,
                                     0x80ff, 0xfc00, 0xff80, 0xff81, 0xffc0, 0xffff};
  bt::for_each_type(large_formats<Element>{}, [&](auto format) {
    using format_type = decltype(format);
    CHECK(bt::round_trip_alone<format_type>(special, bt::special_positions<format_type>()) == "");
  });
}

template <class Element>
void check_mixed() {
  auto const patterns = bt::every_pattern<std::uint16_t>(16);
  bt::for_each_type(small_formats<Element>{}, [&](auto format) {
    CHECK(bt::round_trip_mixed<decltype(format)>(patterns, {0, 1, 31, 32, 33, 255}) == "");
  });
  bt::for_each_type(large_formats<Element>{}, [&](auto format) {
    CHECK(bt::round_trip_mixed<decltype(format)>(patterns, {0, 1, 31, 33, 4095}) == "");
  });
}

}  // namespace

TEST_CASE("host_codec: every bf16 pattern comes back when it is alone in a tile", "[format]") {
  check_alone<bs::bf16>();
}

TEST_CASE("host_codec: every fp16 pattern comes back when it is alone in a tile", "[format]") {
  check_alone<bs::fp16>();
}

TEST_CASE("host_codec: every bf16 pattern comes back among others", "[format]") {
  check_mixed<bs::bf16>();
}

TEST_CASE("host_codec: every fp16 pattern comes back among others", "[format]") {
  check_mixed<bs::fp16>();
}
