// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What kernels over rows share: eight bf16 values at a time, and sums.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cstdint>

namespace ffn {

/// Eight bf16 values as floats.
struct eight {
  float v[8];
};
__device__ __forceinline__ eight unpack(uint4 const& packed) {
  eight result;
  std::uint32_t const words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    result.v[2 * i]     = __uint_as_float(words[i] << 16);
    result.v[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
  return result;
}
__device__ __forceinline__ std::uint32_t pack_pair(float low, float high) {
  return std::uint32_t{__bfloat16_as_ushort(__float2bfloat16_rn(high))} << 16 |
         __bfloat16_as_ushort(__float2bfloat16_rn(low));
}
__device__ __forceinline__ uint4 pack(eight const& x) {
  return {pack_pair(x.v[0], x.v[1]),
          pack_pair(x.v[2], x.v[3]),
          pack_pair(x.v[4], x.v[5]),
          pack_pair(x.v[6], x.v[7])};
}

/// Adds term(i) of all i < count to *sum: integers, so that their order does not matter. Threads: all
/// of a grid of whole warps.
template <class Term>
__device__ __forceinline__ void add_up(std::uint64_t count, Term term, unsigned long long* sum) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  unsigned long long mine    = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    mine += static_cast<unsigned long long>(term(i));
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    mine += __shfl_xor_sync(0xffffffffu, mine, distance);
  }
  if (threadIdx.x % 32 == 0 && mine != 0) atomicAdd(sum, mine);
}

/// The sum of all threads' values, in a fixed order. Threads: all of the block; a multiple of 32,
/// at most 1024.
__device__ __forceinline__ float block_sum(float value) {
  __shared__ float sums[32];
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  __syncthreads();  // sums of the call before have been read
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) total += sums[warp];
  return total;
}

/// 1 / sqrt(mean(x^2) + 1e-6) of a row. Threads: all of the block.
__device__ __forceinline__ float inverse_rms(uint4 const* row, unsigned vectors) {
  float squares = 0;
  for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) {
    eight const x = unpack(row[i]);
#pragma unroll
    for (int j = 0; j < 8; ++j) squares += x.v[j] * x.v[j];
  }
  return rsqrtf(block_sum(squares) / (8.0f * static_cast<float>(vectors)) + 1e-6f);
}

}  // namespace ffn
