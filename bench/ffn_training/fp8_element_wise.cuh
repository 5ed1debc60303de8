// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The dense mode's element-wise work in e4m3: one pass forward, and one backward that also
/// transposes. These kernels are the baseline, so they are to move their bytes at the rate of the
/// memory.
///
/// Every op computes what the library's op of that purpose does: in fp32, scaled, rounded once.
/// Units: a scale is a factor in device memory; what is written is round(value * *scale),
///   saturating.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <array>
#include <cstdint>

#include <bench/ffn_training/element_wise.cuh>
#include <bench/ffn_training/fp8_operations.hpp>
#include <bench/ffn_training/fp8_values.cuh>
#include <bench/ffn_training/row_math.cuh>

namespace ffn {

// -------------------------------------------------------------------------------------------------
// Forward: h becomes one or two e4m3 matrices
// -------------------------------------------------------------------------------------------------

/// h -> r.
struct storing_r {
  static constexpr int num_outputs = 1;
  __device__ static void apply(float h, float (&out)[1]) { out[0] = relu_of(h); }
};
/// h -> r * r.
struct emitting_square {
  static constexpr int num_outputs = 1;
  __device__ static void apply(float h, float (&out)[1]) {
    float const r = relu_of(h);
    out[0]        = r * r;
  }
};
/// h -> r, r * r: the square of what is not yet rounded.
struct storing_r_emitting_square {
  static constexpr int num_outputs = 2;
  __device__ static void apply(float h, float (&out)[2]) {
    out[0] = relu_of(h);
    out[1] = out[0] * out[0];
  }
};

template <class Op>
struct fp8_map_params {
  uint4 const* h;
  uint2* out[Op::num_outputs];
  float const* scales[Op::num_outputs];
  std::uint64_t num_vectors;  // of eight values
};

template <class Op>
__device__ __forceinline__ void store_forward(fp8_map_params<Op> const& params,
                                              std::uint64_t at,
                                              uint4 const& packed,
                                              float const (&scales)[Op::num_outputs]) {
  eight const h = unpack(packed);
  float results[Op::num_outputs][8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float made[Op::num_outputs];
    Op::apply(h.v[j], made);
#pragma unroll
    for (int i = 0; i < Op::num_outputs; ++i) results[i][j] = made[i] * scales[i];
  }
#pragma unroll
  for (int i = 0; i < Op::num_outputs; ++i) params.out[i][at] = pack_eight(results[i]);
}

template <class Op>
__global__ void __launch_bounds__(map_threads) fp8_map_kernel(fp8_map_params<Op> const params) {
  constexpr std::uint32_t block = map_threads * map_unroll;
  std::uint64_t const first     = std::uint64_t{blockIdx.x} * block + threadIdx.x;
  float scales[Op::num_outputs];
#pragma unroll
  for (int i = 0; i < Op::num_outputs; ++i) scales[i] = *params.scales[i];
  if ((std::uint64_t{blockIdx.x} + 1) * block <= params.num_vectors) {
    uint4 h[map_unroll];  // all loads before the first store
#pragma unroll
    for (std::uint32_t u = 0; u < map_unroll; ++u) h[u] = params.h[first + u * map_threads];
#pragma unroll
    for (std::uint32_t u = 0; u < map_unroll; ++u) {
      store_forward<Op>(params, first + u * map_threads, h[u], scales);
    }
    return;
  }
  for (std::uint64_t at = first; at < params.num_vectors; at += map_threads) {
    store_forward<Op>(params, at, params.h[at], scales);
  }
}

/// Applies a forward op to so many values, a multiple of 8.
/// Alignment: 16 bytes.
/// Stream: asynchronous on `stream`; capturable.
template <class Op>
void fp8_map(bf16 const* h,
             std::array<e4m3*, Op::num_outputs> const& out,
             std::array<float const*, Op::num_outputs> const& scales,
             std::uint64_t count,
             cudaStream_t stream) {
  fp8_map_params<Op> params{};
  params.h = reinterpret_cast<uint4 const*>(h);
  for (std::size_t i = 0; i < out.size(); ++i) {
    params.out[i]    = reinterpret_cast<uint2*>(out[i]);
    params.scales[i] = scales[i];
  }
  params.num_vectors            = count / 8;
  constexpr std::uint64_t block = map_threads * map_unroll;
  auto const blocks             = static_cast<unsigned>((params.num_vectors + block - 1) / block);
  fp8_map_kernel<Op><<<blocks, map_threads, 0, stream>>>(params);
  bench::require_cuda(cudaGetLastError(), "element-wise kernel to e4m3");
}

// -------------------------------------------------------------------------------------------------
// Backward: stored r and the bf16 gradient become the activation, transposed, and the gradient at
// h, both ways
// -------------------------------------------------------------------------------------------------

struct turned_values {
  float activation, gradient;
};
/// r, g -> r, the gradient at h.
struct relu_turned {
  __device__ static turned_values apply(float r, float g) { return {r, where_positive(r, g)}; }
};
/// r, g -> r * r, the gradient at h.
struct squared_turned {
  __device__ static turned_values apply(float r, float g) {
    return {r * r, where_positive(r, 2 * r * g)};
  }
};

/// Shapes: packed (rows, cols), and (cols, rows) of what is turned; rows and cols multiples of 16.
/// Alignment: 16 bytes.
/// Aliasing: gradient_at_h.row_major may be stored.
struct turned_backward_params {
  e4m3 const* stored;
  bf16 const* gradient;
  e4m3* turned_activation;
  both_ways gradient_at_h;
  float const *stored_scale, *activation_scale, *gradient_scale;
  std::uint64_t rows, cols;
};

/// 16 values, rounded.
struct turned_vectors {
  uint4 activation, gradient;
};

template <class Op>
__device__ __forceinline__ turned_vectors turned_of(
    uint4 const& stored, uint4 const (&gradient)[2], float inverse, float first, float second) {
  float r[16], activations[16], gradients[16];
  unpack_sixteen(stored, r);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    eight const g = unpack(gradient[half]);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      int const i              = 8 * half + j;
      turned_values const made = Op::apply(r[i] * inverse, g.v[j]);
      activations[i]           = made.activation * first;
      gradients[i]             = made.gradient * second;
    }
  }
  return {pack_sixteen(activations), pack_sixteen(gradients)};
}

/// One block per tile.
template <class Op>
__global__ void __launch_bounds__(tile_threads, 4)
    turned_backward_kernel(turned_backward_params const params) {
  constexpr std::uint32_t batch = 2;  // steps in flight
  __shared__ transposing_tile activations, gradients;
  tile_place const at     = place_of_block(params.rows, params.cols);
  float const inverse     = __frcp_rn(*params.stored_scale);
  float const first_scale = *params.activation_scale, second_scale = *params.gradient_scale;
#pragma unroll
  for (std::uint32_t first = 0; first < tile_steps; first += batch) {
    uint4 stored[batch], gradient[batch][2];  // loads before the batch's first store
#pragma unroll
    for (std::uint32_t k = 0; k < batch; ++k) {
      if (!at.holds(first + k)) continue;
      std::uint64_t const index = at.index(first + k, params.cols);
      auto const* const from    = reinterpret_cast<uint4 const*>(params.gradient + index);
      stored[k]                 = *reinterpret_cast<uint4 const*>(params.stored + index);
      gradient[k][0]            = from[0];
      gradient[k][1]            = from[1];
    }
#pragma unroll
    for (std::uint32_t k = 0; k < batch; ++k) {
      if (!at.holds(first + k)) continue;
      turned_vectors const made =
          turned_of<Op>(stored[k], gradient[k], inverse, first_scale, second_scale);
      activations.put(at.row(first + k), at.col(), made.activation);
      gradients.put(at.row(first + k), at.col(), made.gradient);
      std::uint64_t const index = at.index(first + k, params.cols);
      *reinterpret_cast<uint4*>(params.gradient_at_h.row_major + index) = made.gradient;
    }
  }
  __syncthreads();
  activations.store(params.turned_activation, params.rows, at);
  gradients.store(params.gradient_at_h.turned, params.rows, at);
}

/// Stream: asynchronous on `stream`; capturable.
template <class Op>
void turned_backward(turned_backward_params const& params, cudaStream_t stream) {
  auto const blocks = static_cast<unsigned>(num_tiles(params.rows, params.cols));
  turned_backward_kernel<Op><<<blocks, tile_threads, 0, stream>>>(params);
  bench::require_cuda(cudaGetLastError(), "transposing kernel");
}

}  // namespace ffn
