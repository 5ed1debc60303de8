// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A tile that a thread group cannot share out evenly is refused.
// expect: bitsparse: the tile must be a multiple of the group's threads: take fewer threads
#include <bitsparse/block/tile_arrangement.cuh>

#ifdef BITSPARSE_EXPECT_FAILURE
constexpr int threads = 512;
#else
constexpr int threads = 256;
#endif

using format = bitsparse::tile_format<bitsparse::bf16, 8, 32>;
static_assert(bitsparse::tile_arrangement<format, threads>::values_per_thread == 1);
