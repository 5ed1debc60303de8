// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A CUDA type is no element; the message says how to get from one to the other.
// expect: fp8_e5m2 of namespace bitsparse; element_of<T> is that of a CUDA type T
#include <cuda_bf16.h>

#include <bitsparse/device/cuda_types.cuh>

namespace bs = bitsparse;

#ifdef BITSPARSE_EXPECT_FAILURE
using format = bs::default_format<__nv_bfloat16>;
#else
using format = bs::default_format<bs::element_of<__nv_bfloat16>>;
#endif

static_assert(format::values != 0);
