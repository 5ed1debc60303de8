// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A tile of an element the library has no traits for is refused.
// expect: bitsparse: the element must be bf16, fp16, fp32, fp8_e4m3 or fp8_e5m2 of namespace bitsparse
#include <cstdint>

#include <bitsparse/format/tile_format.hpp>

struct int8_element {
  using bits_type = std::uint8_t;
};

#ifdef BITSPARSE_EXPECT_FAILURE
using element = int8_element;
#else
using element = bitsparse::fp8_e4m3;
#endif

int main() {
  return bitsparse::tile_format<element, 64, 128>::values == 8192 ? 0 : 1;
}
