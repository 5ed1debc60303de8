// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A tile of 32 KiB is refused.
// expect: bitsparse: a tile must be at most 16 KiB of dense data
#include <bitsparse/format/tile_format.hpp>

#ifdef BITSPARSE_EXPECT_FAILURE
using format = bitsparse::tile_format<bitsparse::fp32, 64, 128>;
#else
using format = bitsparse::tile_format<bitsparse::fp32, 64, 64>;
#endif

int main() {
  return format::values != 0 ? 0 : 1;
}
