// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What all modes do alike: normalisation, loss, update, set-up and comparison. Everything is
/// deterministic: sums are taken in a fixed order, or are sums of integers.
///
/// Stream: all functions are asynchronous on `stream`, allocate nothing and are capturable.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>
#include <cstdint>

namespace ffn {

using bf16 = __nv_bfloat16;

// -------------------------------------------------------------------------------------------------
// The step
// -------------------------------------------------------------------------------------------------

/// n = x / sqrt(mean(x^2) + 1e-6), row by row.
void rms_norm(bf16 const* x, bf16* n, std::uint64_t rows, std::uint64_t width, cudaStream_t stream);

/// What the gradient at x was before: kept, or taken as 0.
enum class earlier_gradient { kept, none };

/// Adds the gradient at x that follows from n's to `gradient`.
void rms_norm_backward(bf16 const* x,
                       bf16 const* n_gradient,
                       bf16* gradient,
                       std::uint64_t rows,
                       std::uint64_t width,
                       earlier_gradient earlier,
                       cudaStream_t stream);

/// Half the squared distance of x from a fixed pseudo-random target, a mean over rows: its
/// gradient, and each row's share of it.
void distance_loss(bf16 const* x,
                   bf16* gradient,
                   float* row_losses,
                   std::uint64_t rows,
                   std::uint64_t width,
                   cudaStream_t stream);

/// *sum = the sum of so many values, in a fixed order.
void ordered_sum(float const* values, std::uint64_t count, float* sum, cudaStream_t stream);

/// weights -= rate * gradients; gradients in fp32 or bf16.
void descend(bf16* weights,
             void const* gradients,
             bool gradients_in_fp32,
             float rate,
             std::uint64_t count,
             cudaStream_t stream);

// -------------------------------------------------------------------------------------------------
// Set-up and comparison
// -------------------------------------------------------------------------------------------------

/// Normally distributed values; the same for the same seed.
void fill_normal(bf16* values,
                 std::uint64_t count,
                 float mean,
                 float deviation,
                 std::uint64_t seed,
                 cudaStream_t stream);

/// Adds a checksum of so many bytes, a multiple of 4, to *sum. It depends on every bit and on where
/// it is.
void add_checksum(void const* data,
                  std::uint64_t bytes,
                  unsigned long long* sum,
                  cudaStream_t stream);

/// Adds the number of 32-bit words that differ to *differences.
void count_differences(void const* a,
                       void const* b,
                       std::uint64_t bytes,
                       unsigned long long* differences,
                       cudaStream_t stream);

/// Adds the number of values whose bits are not all 0 to *kept.
void count_kept(bf16 const* values,
                std::uint64_t count,
                unsigned long long* kept,
                cudaStream_t stream);

}  // namespace ffn
