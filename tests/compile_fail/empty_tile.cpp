// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A tile without rows is refused.
// expect: bitsparse: a tile needs at least one row and column
#include <bitsparse/format/tile_format.hpp>

#ifdef BITSPARSE_EXPECT_FAILURE
using format = bitsparse::tile_format<bitsparse::bf16, 0, 64>;
#else
using format = bitsparse::tile_format<bitsparse::bf16, 64, 64>;
#endif

int main() {
  return format::values != 0 ? 0 : 1;
}
