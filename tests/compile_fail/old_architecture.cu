// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// An architecture that is too old is refused with what to do.
// expect: bitsparse needs sm_80 or newer: set nvcc -arch=sm_90 or CMAKE_CUDA_ARCHITECTURES
// flags: -arch=sm_75
#include <bitsparse/config.hpp>
