// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What all modes do alike: normalisation, loss, update, set-up and comparison.
#include <bench/ffn_training/row_operations.hpp>

#include <algorithm>

#include <bench/ffn_training/random.cuh>
#include <bench/ffn_training/row_math.cuh>
#include <bench/support/device.cuh>

namespace ffn {
namespace {

constexpr int row_threads     = 128;
constexpr unsigned row_blocks = 1u << 20;  // at most; more rows are taken in turns
constexpr unsigned grid_limit = 132 * 16;

void require_launched(char const* what) {
  bench::require_cuda(cudaGetLastError(), what);
}

// -------------------------------------------------------------------------------------------------
// Kernels
// -------------------------------------------------------------------------------------------------

__global__ void rms_norm_kernel(uint4 const* x, uint4* n, std::uint64_t rows, unsigned vectors) {
  for (std::uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    uint4 const* const values = x + row * vectors;
    float const inverse       = inverse_rms(values, vectors);
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) {
      eight result = unpack(values[i]);
#pragma unroll
      for (int j = 0; j < 8; ++j) result.v[j] *= inverse;
      n[row * vectors + i] = pack(result);
    }
  }
}

/// With n = x s, s = 1 / rms(x): the gradient at x is s (dn - n mean(dn n)).
__global__ void rms_norm_backward_kernel(uint4 const* x,
                                         uint4 const* n_gradient,
                                         uint4* gradient,
                                         std::uint64_t rows,
                                         unsigned vectors,
                                         earlier_gradient earlier) {
  for (std::uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    std::uint64_t const at = row * vectors;
    float const inverse    = inverse_rms(x + at, vectors);
    float products         = 0;
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) {
      eight const value = unpack(x[at + i]), slope = unpack(n_gradient[at + i]);
#pragma unroll
      for (int j = 0; j < 8; ++j) products += slope.v[j] * value.v[j] * inverse;
    }
    float const mean = block_sum(products) / (8.0f * static_cast<float>(vectors));
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) {
      eight const value = unpack(x[at + i]), slope = unpack(n_gradient[at + i]);
      eight result{};
      if (earlier == earlier_gradient::kept) result = unpack(gradient[at + i]);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        result.v[j] += inverse * (slope.v[j] - value.v[j] * inverse * mean);
      }
      gradient[at + i] = pack(result);
    }
  }
}

__global__ void distance_loss_kernel(
    uint4 const* x, uint4* gradient, float* row_losses, std::uint64_t rows, unsigned vectors) {
  constexpr std::uint64_t seed = std::uint64_t{77} << 48;
  float const share            = 1.0f / static_cast<float>(rows);
  for (std::uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float squares = 0;
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) {
      std::uint64_t const at = row * vectors + i;
      eight difference       = unpack(x[at]);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        difference.v[j] -= normal(seed + at * 8 + j);
        squares += difference.v[j] * difference.v[j];
        difference.v[j] *= share;
      }
      gradient[at] = pack(difference);
    }
    float const total = block_sum(squares);
    if (threadIdx.x == 0) row_losses[row] = 0.5f * total * share;
  }
}

/// One block.
__global__ void ordered_sum_kernel(float const* values, std::uint64_t count, float* sum) {
  float mine = 0;
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x) mine += values[i];
  float const total = block_sum(mine);
  if (threadIdx.x == 0) *sum = total;
}

__device__ __forceinline__ float as_float(float x) {
  return x;
}
__device__ __forceinline__ float as_float(bf16 x) {
  return __bfloat162float(x);
}

template <class Gradient>
__global__ void descend_kernel(bf16* weights,
                               Gradient const* gradients,
                               float rate,
                               std::uint64_t count) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    weights[i] = __float2bfloat16_rn(__bfloat162float(weights[i]) - rate * as_float(gradients[i]));
  }
}

__global__ void fill_normal_kernel(
    bf16* values, std::uint64_t count, float mean, float deviation, std::uint64_t seed) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    values[i] = __float2bfloat16_rn(mean + deviation * normal((seed << 40) + i));
  }
}

__global__ void checksum_kernel(std::uint32_t const* words,
                                std::uint64_t count,
                                unsigned long long* sum) {
  add_up(
      count, [=](std::uint64_t i) { return mixed(i << 32 ^ words[i]); }, sum);
}

__global__ void differences_kernel(std::uint32_t const* a,
                                   std::uint32_t const* b,
                                   std::uint64_t count,
                                   unsigned long long* differences) {
  add_up(
      count, [=](std::uint64_t i) { return a[i] != b[i]; }, differences);
}

__global__ void kept_kernel(std::uint16_t const* values,
                            std::uint64_t count,
                            unsigned long long* kept) {
  add_up(
      count, [=](std::uint64_t i) { return values[i] != 0; }, kept);
}

// -------------------------------------------------------------------------------------------------
// Launches
// -------------------------------------------------------------------------------------------------

unsigned blocks_for(std::uint64_t count) {
  return static_cast<unsigned>(std::min<std::uint64_t>((count + 255) / 256, grid_limit));
}
unsigned blocks_of_rows(std::uint64_t rows) {
  return static_cast<unsigned>(std::min<std::uint64_t>(rows, row_blocks));
}
uint4 const* vectors_of(bf16 const* values) {
  return reinterpret_cast<uint4 const*>(values);
}
uint4* vectors_of(bf16* values) {
  return reinterpret_cast<uint4*>(values);
}

}  // namespace

void rms_norm(
    bf16 const* x, bf16* n, std::uint64_t rows, std::uint64_t width, cudaStream_t stream) {
  rms_norm_kernel<<<blocks_of_rows(rows), row_threads, 0, stream>>>(
      vectors_of(x), vectors_of(n), rows, static_cast<unsigned>(width / 8));
  require_launched("rms_norm");
}

void rms_norm_backward(bf16 const* x,
                       bf16 const* n_gradient,
                       bf16* gradient,
                       std::uint64_t rows,
                       std::uint64_t width,
                       earlier_gradient earlier,
                       cudaStream_t stream) {
  rms_norm_backward_kernel<<<blocks_of_rows(rows), row_threads, 0, stream>>>(
      vectors_of(x),
      vectors_of(n_gradient),
      vectors_of(gradient),
      rows,
      static_cast<unsigned>(width / 8),
      earlier);
  require_launched("rms_norm_backward");
}

void distance_loss(bf16 const* x,
                   bf16* gradient,
                   float* row_losses,
                   std::uint64_t rows,
                   std::uint64_t width,
                   cudaStream_t stream) {
  distance_loss_kernel<<<blocks_of_rows(rows), row_threads, 0, stream>>>(
      vectors_of(x), vectors_of(gradient), row_losses, rows, static_cast<unsigned>(width / 8));
  require_launched("distance_loss");
}

void ordered_sum(float const* values, std::uint64_t count, float* sum, cudaStream_t stream) {
  ordered_sum_kernel<<<1, 1024, 0, stream>>>(values, count, sum);
  require_launched("ordered_sum");
}

void descend(bf16* weights,
             void const* gradients,
             bool gradients_in_fp32,
             float rate,
             std::uint64_t count,
             cudaStream_t stream) {
  if (gradients_in_fp32) {
    descend_kernel<<<blocks_for(count), 256, 0, stream>>>(
        weights, static_cast<float const*>(gradients), rate, count);
  } else {
    descend_kernel<<<blocks_for(count), 256, 0, stream>>>(
        weights, static_cast<bf16 const*>(gradients), rate, count);
  }
  require_launched("descend");
}

void fill_normal(bf16* values,
                 std::uint64_t count,
                 float mean,
                 float deviation,
                 std::uint64_t seed,
                 cudaStream_t stream) {
  fill_normal_kernel<<<blocks_for(count), 256, 0, stream>>>(values, count, mean, deviation, seed);
  require_launched("fill_normal");
}

void add_checksum(void const* data,
                  std::uint64_t bytes,
                  unsigned long long* sum,
                  cudaStream_t stream) {
  checksum_kernel<<<blocks_for(bytes / 4), 256, 0, stream>>>(
      static_cast<std::uint32_t const*>(data), bytes / 4, sum);
  require_launched("checksum");
}

void count_differences(void const* a,
                       void const* b,
                       std::uint64_t bytes,
                       unsigned long long* differences,
                       cudaStream_t stream) {
  differences_kernel<<<blocks_for(bytes / 4), 256, 0, stream>>>(
      static_cast<std::uint32_t const*>(a),
      static_cast<std::uint32_t const*>(b),
      bytes / 4,
      differences);
  require_launched("count_differences");
}

void count_kept(bf16 const* values,
                std::uint64_t count,
                unsigned long long* kept,
                cudaStream_t stream) {
  kept_kernel<<<blocks_for(count), 256, 0, stream>>>(
      reinterpret_cast<std::uint16_t const*>(values), count, kept);
  require_launched("count_kept");
}

}  // namespace ffn
