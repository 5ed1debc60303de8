// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// compress and decompress of fp32, byte-equal to the host codec.
#include <tests/support/device_cases.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

TEMPLATE_TEST_CASE("device fp32: chunks equal the host codec's in every shape",
                   "[device][long]",
                   (bs::tile_format<bs::fp32, 32, 64>),
                   (bs::tile_format<bs::fp32, 64, 64>),
                   (bs::tile_format<bs::fp32, 1, 256>)) {
  check_shapes<TestType>();
}

TEMPLATE_TEST_CASE("device fp32: every bit pattern",
                   "[device][long]",
                   (bs::tile_format<bs::fp32, 32, 64>),
                   (bs::tile_format<bs::fp32, 64, 64>),
                   (bs::tile_format<bs::fp32, 1, 256>)) {
  check_patterns<TestType>(every_pattern<std::uint32_t>(16, 16));
}

TEMPLATE_TEST_CASE("device fp32: every number and place of kept values, and adversarial ones",
                   "[device][long]",
                   (bs::tile_format<bs::fp32, 32, 64>),
                   (bs::tile_format<bs::fp32, 64, 64>),
                   (bs::tile_format<bs::fp32, 1, 256>)) {
  check_counts<TestType>();
  check_single_values<TestType>();
  check_adversarial<TestType>();
}

TEMPLATE_TEST_CASE("device fp32: a sample of shapes and of numbers of kept values",
                   "[device]",
                   (bs::tile_format<bs::fp32, 32, 64>),
                   (bs::tile_format<bs::fp32, 64, 64>),
                   (bs::tile_format<bs::fp32, 1, 256>)) {
  check_sample<TestType>();
}

TEST_CASE("device fp32: every element offset", "[device]") {
  check_offsets<bs::default_format<bs::fp32>>();
}
