// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The dense modes' element-wise work: one pass over bf16 matrices, fused as far as it goes. These
/// kernels are the baseline, so they are to move their bytes at the rate of the memory.
///
/// Every op computes what the library's op of that purpose does: in fp32, rounded once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <array>
#include <cstdint>

#include <bench/support/device.cuh>

namespace ffn {

using bf16 = __nv_bfloat16;

// -------------------------------------------------------------------------------------------------
// Ops: `in` values become `out` values
// -------------------------------------------------------------------------------------------------

/// max(x, +0); a NaN stays one.
__device__ __forceinline__ float relu_of(float x) {
  return x > 0 || x != x ? x : 0.0f;
}
__device__ __forceinline__ float where_positive(float r, float gradient) {
  return r <= 0 ? 0.0f : gradient;
}

/// h -> r.
struct relu_forward {
  static constexpr int num_inputs = 1, num_outputs = 1;
  __device__ static void apply(float const (&in)[1], float (&out)[1]) { out[0] = relu_of(in[0]); }
};
/// h, or r -> r * r.
struct squared_forward {
  static constexpr int num_inputs = 1, num_outputs = 1;
  __device__ static void apply(float const (&in)[1], float (&out)[1]) {
    float const r = relu_of(in[0]);
    out[0]        = r * r;
  }
};
/// h -> r, r * r.
struct squared_saving {
  static constexpr int num_inputs = 1, num_outputs = 2;
  __device__ static void apply(float const (&in)[1], float (&out)[2]) {
    out[0] = relu_of(in[0]);
    out[1] = out[0] * out[0];
  }
};
/// r, g -> the gradient at h.
struct relu_backward {
  static constexpr int num_inputs = 2, num_outputs = 1;
  __device__ static void apply(float const (&in)[2], float (&out)[1]) {
    out[0] = where_positive(in[0], in[1]);
  }
};
/// h, g -> r, the gradient at h.
struct relu_recomputed_backward {
  static constexpr int num_inputs = 2, num_outputs = 2;
  __device__ static void apply(float const (&in)[2], float (&out)[2]) {
    out[0] = relu_of(in[0]);
    out[1] = where_positive(out[0], in[1]);
  }
};
/// r, or h; g -> r * r, the gradient at h.
struct squared_backward {
  static constexpr int num_inputs = 2, num_outputs = 2;
  __device__ static void apply(float const (&in)[2], float (&out)[2]) {
    float const r = relu_of(in[0]);
    out[0]        = r * r;
    out[1]        = where_positive(r, 2 * r * in[1]);
  }
};

// -------------------------------------------------------------------------------------------------
// Kernel
// -------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t map_threads = 256;
inline constexpr std::uint32_t map_unroll  = 4;  // vectors in flight per thread and input

/// An output may be an input.
template <class Op>
struct map_params {
  uint4 const* in[Op::num_inputs];
  uint4* out[Op::num_outputs];
  std::uint64_t num_vectors;
};

/// Applies an op to eight values.
template <class Op>
__device__ __forceinline__ void map_vector(uint4 const (&in)[Op::num_inputs],
                                           uint4 (&out)[Op::num_outputs]) {
  alignas(16) __nv_bfloat162 pairs[Op::num_inputs][4];     // (inputs, 4) pairs of values
  alignas(16) __nv_bfloat162 results[Op::num_outputs][4];  // (outputs, 4)
#pragma unroll
  for (int i = 0; i < Op::num_inputs; ++i) *reinterpret_cast<uint4*>(pairs[i]) = in[i];
#pragma unroll
  for (int pair = 0; pair < 4; ++pair) {
    float low[Op::num_inputs], high[Op::num_inputs];
    float low_out[Op::num_outputs], high_out[Op::num_outputs];
#pragma unroll
    for (int i = 0; i < Op::num_inputs; ++i) {
      low[i]  = __low2float(pairs[i][pair]);
      high[i] = __high2float(pairs[i][pair]);
    }
    Op::apply(low, low_out);
    Op::apply(high, high_out);
#pragma unroll
    for (int i = 0; i < Op::num_outputs; ++i) {
      results[i][pair] = __floats2bfloat162_rn(low_out[i], high_out[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < Op::num_outputs; ++i) out[i] = *reinterpret_cast<uint4*>(results[i]);
}

template <class Op>
__device__ __forceinline__ void load_vectors(map_params<Op> const& params,
                                             std::uint64_t at,
                                             uint4 (&in)[Op::num_inputs]) {
#pragma unroll
  for (int i = 0; i < Op::num_inputs; ++i) in[i] = params.in[i][at];
}
template <class Op>
__device__ __forceinline__ void store_results(map_params<Op> const& params,
                                              std::uint64_t at,
                                              uint4 const (&in)[Op::num_inputs]) {
  uint4 out[Op::num_outputs];
  map_vector<Op>(in, out);
#pragma unroll
  for (int i = 0; i < Op::num_outputs; ++i) params.out[i][at] = out[i];
}

template <class Op>
__global__ void __launch_bounds__(map_threads) map_kernel(map_params<Op> const params) {
  constexpr std::uint32_t block = map_threads * map_unroll;
  std::uint64_t const first     = std::uint64_t{blockIdx.x} * block + threadIdx.x;
  if ((std::uint64_t{blockIdx.x} + 1) * block <= params.num_vectors) {
    uint4 in[map_unroll][Op::num_inputs];  // all loads before the first store
#pragma unroll
    for (std::uint32_t u = 0; u < map_unroll; ++u) {
      load_vectors(params, first + u * map_threads, in[u]);
    }
#pragma unroll
    for (std::uint32_t u = 0; u < map_unroll; ++u) {
      store_results(params, first + u * map_threads, in[u]);
    }
    return;
  }
  for (std::uint64_t at = first; at < params.num_vectors; at += map_threads) {
    uint4 in[Op::num_inputs];
    load_vectors(params, at, in);
    store_results(params, at, in);
  }
}

/// Applies an op to matrices of so many values, a multiple of 8; an output may be an input.
/// Alignment: 16 bytes.
/// Stream: asynchronous on `stream`; capturable.
template <class Op>
void map(std::array<bf16 const*, Op::num_inputs> const& in,
         std::array<bf16*, Op::num_outputs> const& out,
         std::uint64_t count,
         cudaStream_t stream) {
  map_params<Op> params{};
  for (int i = 0; i < Op::num_inputs; ++i) params.in[i] = reinterpret_cast<uint4 const*>(in[i]);
  for (int i = 0; i < Op::num_outputs; ++i) params.out[i] = reinterpret_cast<uint4*>(out[i]);
  params.num_vectors            = count / 8;
  constexpr std::uint64_t block = map_threads * map_unroll;
  auto const blocks             = static_cast<unsigned>((params.num_vectors + block - 1) / block);
  map_kernel<Op><<<blocks, map_threads, 0, stream>>>(params);
  bench::require_cuda(cudaGetLastError(), "element-wise kernel");
}

}  // namespace ffn
