// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A thread group of a size that has no named barrier is refused.
// expect: bitsparse: a thread group has 32, 64, 128, 256, 512 or 1024 threads
#include <bitsparse/block/thread_group.cuh>

#ifdef BITSPARSE_EXPECT_FAILURE
constexpr int threads = 96;
#else
constexpr int threads = 128;
#endif

__global__ void kernel() {
  bitsparse::thread_group<threads>{}.sync();
}
