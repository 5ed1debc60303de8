// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The kernels of one block of 1,024 threads, for debug_build_test.py.
#include <bitsparse/arena/operations.cuh>
#include <bitsparse/arena/statistics.cuh>

namespace bs = bitsparse;
using bs::detail::arena_space;

static_assert(arena_space::prologue_threads == 1024, "debug_build_test.py counts on it");

template __global__ void bs::detail::compress_prologue_kernel(
    bs::detail::prologue_params<arena_space> const);
template __global__ void bs::detail::release_kernel(arena_space const);
template __global__ void bs::detail::statistics_kernel(
    bs::detail::statistics_params<bs::default_format<bs::bf16>> const);
