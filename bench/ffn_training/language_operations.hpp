// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a byte-level language model needs around the network: examples, embedding, loss, update.
/// Everything is deterministic.
///
/// Stream: all functions are asynchronous on `stream`, allocate nothing and are capturable.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>
#include <cstdint>

namespace ffn {

using bf16 = __nv_bfloat16;

inline constexpr std::uint64_t num_bytes     = 256;  // values of a byte: the model's alphabet
inline constexpr std::uint64_t context_bytes = 16;   // that a byte is predicted from

/// What the model reads in a step.
struct examples {
  std::uint8_t const* text  = nullptr;
  std::uint64_t text_bytes  = 0;
  std::uint64_t* positions  = nullptr;  // (tokens,) of the bytes to predict
  std::uint64_t tokens      = 0;
  std::uint32_t const* step = nullptr;  // in device memory: what examples there are depends on it
};

/// Chooses the step's positions.
void choose_positions(examples const& from, cudaStream_t stream);

/// x = the embeddings of the bytes before each position: (tokens, context_bytes * dims).
void embed(
    examples const& from, bf16 const* embedding, bf16* x, std::uint64_t dims, cudaStream_t stream);
/// The embedding's gradient: (num_bytes, dims). dims divides 256.
void embed_backward(examples const& from,
                    bf16 const* x_gradient,
                    float* embedding_gradient,
                    std::uint64_t dims,
                    cudaStream_t stream);

/// Softmax cross entropy, a mean over the tokens: its gradient, and each token's share of it.
void cross_entropy(examples const& from,
                   float const* logits,
                   bf16* gradient,
                   float* row_losses,
                   cudaStream_t stream);

/// Weights with what Adam keeps of them.
struct parameter {
  bf16* weights       = nullptr;
  float* master       = nullptr;
  float* mean         = nullptr;
  float* square_mean  = nullptr;
  std::uint64_t count = 0;
};

/// Begins with the bf16 weights as they are.
void start(parameter const& all, cudaStream_t stream);
/// One step of Adam, number *step. Source: Kingma and Ba, 2015; the rate rises over 20 steps.
void adam(parameter const& all,
          float const* gradients,
          float rate,
          std::uint32_t const* step,
          cudaStream_t stream);

/// losses[*step] = *loss; ++*step.
void next_step(float const* loss, float* losses, std::uint32_t* step, cudaStream_t stream);

}  // namespace ffn
