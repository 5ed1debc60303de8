// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A tile of 16,640 values is refused.
// expect: bitsparse: a tile must have at most 16384 values
#include <bitsparse/format/tile_format.hpp>

#ifdef BITSPARSE_EXPECT_FAILURE
using format = bitsparse::tile_format<bitsparse::fp8_e5m2, 130, 128>;
#else
using format = bitsparse::tile_format<bitsparse::fp8_e5m2, 128, 128>;
#endif

int main() {
  return format::values != 0 ? 0 : 1;
}
