// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A tile of 192 values is refused.
// expect: bitsparse: a tile must be a multiple of 256 values
#include <bitsparse/format/tile_format.hpp>

#ifdef BITSPARSE_EXPECT_FAILURE
using format = bitsparse::tile_format<bitsparse::bf16, 6, 32>;
#else
using format = bitsparse::tile_format<bitsparse::bf16, 8, 32>;
#endif

int main() {
  return format::values != 0 ? 0 : 1;
}
