// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What all modes do alike in e4m3.
#include <bench/ffn_training/fp8_operations.hpp>

#include <algorithm>

#include <bench/ffn_training/fp8_values.cuh>
#include <bench/ffn_training/row_math.cuh>
#include <bench/support/device.cuh>

namespace ffn {
namespace {

constexpr int row_threads = 128;

void require_launched(char const* what) {
  bench::require_cuda(cudaGetLastError(), what);
}

// -------------------------------------------------------------------------------------------------
// Kernels
// -------------------------------------------------------------------------------------------------

/// One block per row.
__global__ void rms_norm_e4m3_kernel(
    uint4 const* x, uint2* n, float* inverse_rms_of, float const* factor, unsigned vectors) {
  float const scale      = *factor;
  std::uint64_t const at = std::uint64_t{blockIdx.x} * vectors;
  float const inverse    = inverse_rms(x + at, vectors);
  if (threadIdx.x == 0) inverse_rms_of[blockIdx.x] = inverse;
  for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) {
    eight result = unpack(x[at + i]);
#pragma unroll
    for (int j = 0; j < 8; ++j) result.v[j] = result.v[j] * inverse * scale;
    n[at + i] = pack_eight(result.v);
  }
}

struct quantize_params {
  bf16 const* source;        // (rows, cols)
  float const* row_factors;  // (rows,), or null
  float const* scale;        // (1,)
  both_ways target;
  std::uint64_t rows, cols;
};

/// Rounds 16 values.
__device__ __forceinline__ uint4 quantized(uint4 const (&values)[2], float factor, float scale) {
  float numbers[16];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    eight const part = unpack(values[half]);
#pragma unroll
    for (int j = 0; j < 8; ++j) numbers[8 * half + j] = part.v[j] * factor * scale;
  }
  return pack_sixteen(numbers);
}

/// One block per tile.
__global__ void __launch_bounds__(tile_threads, 4) quantize_kernel(quantize_params const params) {
  constexpr std::uint32_t batch = 2;  // steps in flight
  __shared__ transposing_tile tile;
  tile_place const at = place_of_block(params.rows, params.cols);
  float const scale   = *params.scale;
#pragma unroll
  for (std::uint32_t first = 0; first < tile_steps; first += batch) {
    uint4 values[batch][2];
    float factors[batch];
#pragma unroll
    for (std::uint32_t k = 0; k < batch; ++k) {
      if (!at.holds(first + k)) continue;
      auto const* const from =
          reinterpret_cast<uint4 const*>(params.source + at.index(first + k, params.cols));
      values[k][0] = from[0];
      values[k][1] = from[1];
      factors[k]   = params.row_factors == nullptr
                         ? 1.0f
                         : params.row_factors[at.first_row + at.row(first + k)];
    }
#pragma unroll
    for (std::uint32_t k = 0; k < batch; ++k) {
      if (!at.holds(first + k)) continue;
      uint4 const rounded = quantized(values[k], factors[k], scale);
      tile.put(at.row(first + k), at.col(), rounded);
      if (params.target.row_major == nullptr) continue;
      *reinterpret_cast<uint4*>(params.target.row_major + at.index(first + k, params.cols)) =
          rounded;
    }
  }
  __syncthreads();
  tile.store(params.target.turned, params.rows, at);
}

__global__ void kept_e4m3_kernel(std::uint32_t const* words,
                                 std::uint64_t count,
                                 unsigned long long* kept) {
  add_up(
      count, [=](std::uint64_t i) { return __popc(__vcmpne4(words[i], 0)) / 8; }, kept);
}

}  // namespace

// -------------------------------------------------------------------------------------------------
// Launches
// -------------------------------------------------------------------------------------------------

void rms_norm(bf16 const* x,
              e4m3* n,
              float* inverse_rms,
              float const* scale,
              std::uint64_t rows,
              std::uint64_t width,
              cudaStream_t stream) {
  rms_norm_e4m3_kernel<<<static_cast<unsigned>(rows), row_threads, 0, stream>>>(
      reinterpret_cast<uint4 const*>(x),
      reinterpret_cast<uint2*>(n),
      inverse_rms,
      scale,
      static_cast<unsigned>(width / 8));
  require_launched("rms_norm to e4m3");
}

void quantize(bf16 const* source,
              both_ways const& target,
              float const* row_factors,
              float const* scale,
              std::uint64_t rows,
              std::uint64_t cols,
              cudaStream_t stream) {
  quantize_params const params{source, row_factors, scale, target, rows, cols};
  auto const blocks = static_cast<unsigned>(num_tiles(rows, cols));
  quantize_kernel<<<blocks, tile_threads, 0, stream>>>(params);
  require_launched("quantize");
}

void count_kept(e4m3 const* values,
                std::uint64_t count,
                unsigned long long* kept,
                cudaStream_t stream) {
  auto const blocks =
      static_cast<unsigned>(std::min<std::uint64_t>((count / 4 + 255) / 256, 132 * 16));
  kept_e4m3_kernel<<<blocks, 256, 0, stream>>>(
      reinterpret_cast<std::uint32_t const*>(values), count / 4, kept);
  require_launched("count_kept of e4m3");
}

}  // namespace ffn
