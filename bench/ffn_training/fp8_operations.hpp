// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What all modes do alike in e4m3: normalisation, and bf16 matrices rounded to e4m3 both ways.
///
/// Units: a scale is a factor in device memory; what is written is round(value * *scale), to the
///   nearest, ties to even, saturating.
/// Stream: all functions are asynchronous on `stream`, allocate nothing and are capturable.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <cstdint>

namespace ffn {

using bf16 = __nv_bfloat16;
using e4m3 = __nv_fp8_e4m3;

/// n = x / sqrt(mean(x^2) + 1e-6), row by row; and that root's inverse, (rows,).
void rms_norm(bf16 const* x,
              e4m3* n,
              float* inverse_rms,
              float const* scale,
              std::uint64_t rows,
              std::uint64_t width,
              cudaStream_t stream);

/// A matrix in e4m3: (rows, cols) and, transposed, (cols, rows).
struct both_ways {
  e4m3* row_major;  // null where it is not wanted
  e4m3* turned;
};

/// Rounds a packed matrix.
/// Shapes: rows and cols are multiples of 16. Alignment: 16 bytes.
/// @param row_factors (rows,) what each row is multiplied with besides the scale; null: 1
void quantize(bf16 const* source,
              both_ways const& target,
              float const* row_factors,
              float const* scale,
              std::uint64_t rows,
              std::uint64_t cols,
              cudaStream_t stream);

/// Adds the number of values whose bits are not all 0 to *kept.
void count_kept(e4m3 const* values,
                std::uint64_t count,
                unsigned long long* kept,
                cudaStream_t stream);

}  // namespace ffn
