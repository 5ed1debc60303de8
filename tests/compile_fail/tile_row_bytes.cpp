// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A tile row of 20 values of 2 bytes is refused.
// expect: bitsparse: a row of a tile must be a multiple of 16 bytes
#include <bitsparse/format/tile_format.hpp>

#ifdef BITSPARSE_EXPECT_FAILURE
using format = bitsparse::tile_format<bitsparse::bf16, 64, 20>;
#else
using format = bitsparse::tile_format<bitsparse::bf16, 64, 24>;
#endif

int main() {
  return format::values != 0 ? 0 : 1;
}
