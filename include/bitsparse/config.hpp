// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What the library asks of the compiler, and the macro by which layer 0 serves both host and
/// device.
#pragma once

#if defined(_MSVC_LANG)
#define BITSPARSE_CPLUSPLUS _MSVC_LANG
#else
#define BITSPARSE_CPLUSPLUS __cplusplus
#endif

#if BITSPARSE_CPLUSPLUS < 201703L
#error "bitsparse needs C++17: compile with -std=c++17 or newer"
#endif

#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ < 13
#error "bitsparse needs CUDA 13.0 or newer (nvcc --version); its .hpp headers need no CUDA at all"
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "bitsparse needs sm_80 or newer: set nvcc -arch=sm_90 or CMAKE_CUDA_ARCHITECTURES"
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bitsparse's formats are little-endian and so must the host be"
#endif

#if defined(__CUDACC__)
#define BITSPARSE_HOST_DEVICE __host__ __device__
#else
#define BITSPARSE_HOST_DEVICE
#endif

// A function that takes a kernel's address on behalf of its caller. Each shared object needs one of its
// own: kernels and a static CUDA runtime are the object's own, too, and know nothing of another's.
#if defined(__GNUC__)
#define BITSPARSE_OWN_COPY __attribute__((visibility("hidden")))
#else
#define BITSPARSE_OWN_COPY
#endif
