// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// compress and decompress of e4m3, byte-equal to the host codec.
#include <tests/support/device_cases.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

TEMPLATE_TEST_CASE("device e4m3: chunks equal the host codec's in every shape",
                   "[device][long]",
                   (bs::tile_format<bs::fp8_e4m3, 32, 256>),
                   (bs::tile_format<bs::fp8_e4m3, 128, 128>),
                   (bs::tile_format<bs::fp8_e4m3, 16, 16>)) {
  check_shapes<TestType>();
}

TEMPLATE_TEST_CASE("device e4m3: every bit pattern",
                   "[device][long]",
                   (bs::tile_format<bs::fp8_e4m3, 32, 256>),
                   (bs::tile_format<bs::fp8_e4m3, 128, 128>),
                   (bs::tile_format<bs::fp8_e4m3, 16, 16>)) {
  check_patterns<TestType>(every_pattern<std::uint8_t>(8));
}

TEMPLATE_TEST_CASE("device e4m3: every number and place of kept values, and adversarial ones",
                   "[device][long]",
                   (bs::tile_format<bs::fp8_e4m3, 32, 256>),
                   (bs::tile_format<bs::fp8_e4m3, 128, 128>),
                   (bs::tile_format<bs::fp8_e4m3, 16, 16>)) {
  check_counts<TestType>();
  check_single_values<TestType>();
  check_adversarial<TestType>();
}

TEMPLATE_TEST_CASE("device e4m3: a sample of shapes and of numbers of kept values",
                   "[device]",
                   (bs::tile_format<bs::fp8_e4m3, 32, 256>),
                   (bs::tile_format<bs::fp8_e4m3, 128, 128>),
                   (bs::tile_format<bs::fp8_e4m3, 16, 16>)) {
  check_sample<TestType>();
}

TEST_CASE("device e4m3: every element offset", "[device]") {
  check_offsets<bs::default_format<bs::fp8_e4m3>>();
}
