// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// compress and decompress of fp16, byte-equal to the host codec.
#include <tests/support/device_cases.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

TEMPLATE_TEST_CASE("device fp16: chunks equal the host codec's in every shape",
                   "[device][long]",
                   (bs::tile_format<bs::fp16, 32, 128>),
                   (bs::tile_format<bs::fp16, 64, 64>),
                   (bs::tile_format<bs::fp16, 24, 96>)) {
  check_shapes<TestType>();
}

TEMPLATE_TEST_CASE("device fp16: every bit pattern",
                   "[device][long]",
                   (bs::tile_format<bs::fp16, 32, 128>),
                   (bs::tile_format<bs::fp16, 64, 64>),
                   (bs::tile_format<bs::fp16, 24, 96>)) {
  check_patterns<TestType>(every_pattern<std::uint16_t>(16));
}

TEMPLATE_TEST_CASE("device fp16: every number and place of kept values, and adversarial ones",
                   "[device][long]",
                   (bs::tile_format<bs::fp16, 32, 128>),
                   (bs::tile_format<bs::fp16, 64, 64>),
                   (bs::tile_format<bs::fp16, 24, 96>)) {
  check_counts<TestType>();
  check_single_values<TestType>();
  check_adversarial<TestType>();
}

TEMPLATE_TEST_CASE("device fp16: a sample of shapes and of numbers of kept values",
                   "[device]",
                   (bs::tile_format<bs::fp16, 32, 128>),
                   (bs::tile_format<bs::fp16, 64, 64>),
                   (bs::tile_format<bs::fp16, 24, 96>)) {
  check_sample<TestType>();
}

TEST_CASE("device fp16: every element offset", "[device]") {
  check_offsets<bs::default_format<bs::fp16>>();
}
