// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a byte-level language model needs around the network.
#include <bench/ffn_training/language_operations.hpp>

#include <bench/ffn_training/random.cuh>
#include <bench/support/device.cuh>

namespace ffn {
namespace {

constexpr unsigned block_threads = 256;

void require_launched(char const* what) {
  bench::require_cuda(cudaGetLastError(), what);
}
unsigned blocks_for(std::uint64_t count) {
  return static_cast<unsigned>((count + block_threads - 1) / block_threads);
}
__device__ __forceinline__ std::uint64_t thread_index() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__global__ void choose_positions_kernel(examples const from) {
  std::uint64_t const i = thread_index();
  if (i >= from.tokens) return;
  std::uint64_t const random = mixed((std::uint64_t{*from.step} + 1) << 32 ^ i);
  from.positions[i]          = context_bytes + random % (from.text_bytes - context_bytes);
}

/// The byte in a token's slot.
__device__ __forceinline__ unsigned byte_at(examples const& from,
                                            std::uint64_t token,
                                            std::uint64_t slot) {
  return from.text[from.positions[token] - context_bytes + slot];
}

__global__ void embed_kernel(examples const from,
                             bf16 const* embedding,
                             bf16* x,
                             std::uint64_t dims) {
  std::uint64_t const i     = thread_index();
  std::uint64_t const width = context_bytes * dims;
  if (i >= from.tokens * width) return;
  x[i] = embedding[byte_at(from, i / width, i % width / dims) * dims + i % dims];
}

/// One block per byte value. Each group of dims threads adds up its share of the tokens, in order;
/// then the groups' sums are added up, in order.
__global__ void embed_backward_kernel(examples const from,
                                      bf16 const* x_gradient,
                                      float* embedding_gradient,
                                      std::uint64_t dims) {
  __shared__ float sums[block_threads];  // (groups, dims)
  std::uint64_t const dim = threadIdx.x % dims, group = threadIdx.x / dims;
  std::uint64_t const num_groups = block_threads / dims;
  float sum                      = 0;
  for (std::uint64_t token = group; token < from.tokens; token += num_groups) {
    for (std::uint64_t slot = 0; slot < context_bytes; ++slot) {
      if (byte_at(from, token, slot) != blockIdx.x) continue;
      sum += __bfloat162float(x_gradient[(token * context_bytes + slot) * dims + dim]);
    }
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (group != 0) return;
  for (std::uint64_t other = 1; other < num_groups; ++other) sum += sums[other * dims + dim];
  embedding_gradient[blockIdx.x * dims + dim] = sum;
}

/// One warp per token; lane i has logits i, i + 32, and so on.
__global__ void cross_entropy_kernel(examples const from,
                                     float const* logits,
                                     bf16* gradient,
                                     float* row_losses) {
  constexpr int per_lane    = static_cast<int>(num_bytes / 32);
  std::uint64_t const token = thread_index() / 32;
  unsigned const lane       = threadIdx.x % 32;
  if (token >= from.tokens) return;
  float value[per_lane];
  float largest = -INFINITY, sum = 0;
  for (int i = 0; i < per_lane; ++i) {
    value[i] = logits[token * num_bytes + lane + 32 * i];
    largest  = fmaxf(largest, value[i]);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
  }
  for (int i = 0; i < per_lane; ++i) sum += expf(value[i] - largest);
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  float const share     = 1.0f / static_cast<float>(from.tokens);
  unsigned const target = from.text[from.positions[token]];
  for (int i = 0; i < per_lane; ++i) {
    unsigned const column = lane + 32 * i;
    float const excess    = expf(value[i] - largest) / sum - (column == target ? 1.0f : 0.0f);
    gradient[token * num_bytes + column] = __float2bfloat16_rn(excess * share);
    if (column == target) row_losses[token] = (logf(sum) + largest - value[i]) * share;
  }
}

__global__ void start_kernel(parameter const all) {
  std::uint64_t const i = thread_index();
  if (i >= all.count) return;
  all.master[i]      = __bfloat162float(all.weights[i]);
  all.mean[i]        = 0;
  all.square_mean[i] = 0;
}

__global__ void adam_kernel(parameter const all,
                            float const* gradients,
                            float rate,
                            std::uint32_t const* step) {
  constexpr float decay = 0.9f, square_decay = 0.95f, epsilon = 1e-8f, rising_steps = 20;
  std::uint64_t const i = thread_index();
  if (i >= all.count) return;
  float const number   = static_cast<float>(*step + 1);
  float const g        = gradients[i];
  float const mean     = decay * all.mean[i] + (1 - decay) * g;
  float const square   = square_decay * all.square_mean[i] + (1 - square_decay) * g * g;
  float const unbiased = mean / (1 - powf(decay, number));
  float const spread   = sqrtf(square / (1 - powf(square_decay, number))) + epsilon;
  float const master   = all.master[i] - rate * fminf(1, number / rising_steps) * unbiased / spread;
  all.mean[i]          = mean;
  all.square_mean[i]   = square;
  all.master[i]        = master;
  all.weights[i]       = __float2bfloat16_rn(master);
}

__global__ void next_step_kernel(float const* loss, float* losses, std::uint32_t* step) {
  losses[*step] = *loss;
  ++*step;
}

}  // namespace

void choose_positions(examples const& from, cudaStream_t stream) {
  choose_positions_kernel<<<blocks_for(from.tokens), block_threads, 0, stream>>>(from);
  require_launched("choose_positions");
}

void embed(
    examples const& from, bf16 const* embedding, bf16* x, std::uint64_t dims, cudaStream_t stream) {
  std::uint64_t const values = from.tokens * context_bytes * dims;
  embed_kernel<<<blocks_for(values), block_threads, 0, stream>>>(from, embedding, x, dims);
  require_launched("embed");
}

void embed_backward(examples const& from,
                    bf16 const* x_gradient,
                    float* embedding_gradient,
                    std::uint64_t dims,
                    cudaStream_t stream) {
  embed_backward_kernel<<<static_cast<unsigned>(num_bytes), block_threads, 0, stream>>>(
      from, x_gradient, embedding_gradient, dims);
  require_launched("embed_backward");
}

void cross_entropy(examples const& from,
                   float const* logits,
                   bf16* gradient,
                   float* row_losses,
                   cudaStream_t stream) {
  cross_entropy_kernel<<<blocks_for(from.tokens * 32), block_threads, 0, stream>>>(
      from, logits, gradient, row_losses);
  require_launched("cross_entropy");
}

void start(parameter const& all, cudaStream_t stream) {
  start_kernel<<<blocks_for(all.count), block_threads, 0, stream>>>(all);
  require_launched("start");
}

void adam(parameter const& all,
          float const* gradients,
          float rate,
          std::uint32_t const* step,
          cudaStream_t stream) {
  adam_kernel<<<blocks_for(all.count), block_threads, 0, stream>>>(all, gradients, rate, step);
  require_launched("adam");
}

void next_step(float const* loss, float* losses, std::uint32_t* step, cudaStream_t stream) {
  next_step_kernel<<<1, 1, 0, stream>>>(loss, losses, step);
  require_launched("next_step");
}

}  // namespace ffn
