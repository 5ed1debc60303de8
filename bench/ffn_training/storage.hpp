// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// How activations are kept from the forward pass to the backward pass: the one thing in which
/// modes differ.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <bench/ffn_training/network.hpp>
#include <bitsparse/arena/arena.cuh>
#include <bitsparse/arena/statistics.cuh>

namespace ffn {

/// Keeps the activations of some layers.
/// Stream: asynchronous on `stream`; capturable, once all ranges have been through both passes.
class activation_storage {
 public:
  virtual ~activation_storage() = default;

  /// From the network's norm to the activation, of the network's element; keeps what backward()
  /// needs.
  virtual void const* forward(int layer, row_range const& rows, cudaStream_t stream) = 0;
  /// From the network's gradient (and norm) to what finish_gradients() takes.
  virtual hidden_operands backward(int layer, row_range const& rows, cudaStream_t stream) = 0;

  /// Bytes of device memory that so many layers take from forward() to backward().
  virtual std::uint64_t kept_bytes(int num_layers) const = 0;
  /// How many of the network's hidden scratch matrices are used; in e4m3 always both.
  virtual int num_scratch() const = 0;
  /// Bytes that one layer's element-wise work reads and writes.
  /// @param dense bytes of one layer's dense activation
  /// @param stored bytes of it as it is compressed, descriptors included
  virtual double moved_bytes(double dense, double stored) const = 0;
};

/// Matrices (tokens, hidden), one per layer, of what the dense storages keep. They take turns.
struct dense_matrices {
  dense_matrices(ffn_shape const& shape,
                 element_choice element,
                 int num_layers,
                 device_allocations& memory);
  std::vector<char*> layers;
};

/// Saves r, by one element-wise kernel each way.
std::unique_ptr<activation_storage> make_dense_storage(network& of, dense_matrices& matrices);

/// Saves nothing and multiplies once more.
std::unique_ptr<activation_storage> make_recomputing_storage(network& of);

/// As dense, but r comes out of the multiplication; with `uses_bits` (ReLU alone) the backward
/// multiplication applies a saved bit mask, too, and no element-wise kernel is left.
/// @return null, where cuBLASLt has no algorithm for it
std::unique_ptr<activation_storage> make_epilogue_storage(network& of,
                                                          dense_matrices& matrices,
                                                          bool uses_bits,
                                                          device_allocations& memory,
                                                          cudaStream_t stream);

/// What is known of a compressed storage after a step.
struct layer_content {
  double kept        = 0;  // values that are not 0
  double chunk_bytes = 0;
  double slabs       = 0;
};

/// Saves r in an arena of its own.
class compressed_storage : public activation_storage {
 public:
  /// Makes forward() report what each tensor holds. Stream: set before a step is captured.
  virtual void observe(bool is_observed) = 0;
  /// What was last reported, by layer. Waits for the stream.
  virtual std::vector<layer_content> contents(cudaStream_t stream) = 0;
  /// The arena's report. Waits for the stream.
  virtual bitsparse::arena_report report(cudaStream_t stream) = 0;
  /// Forgets the arena's peaks, counts and conditions.
  virtual void clear(cudaStream_t stream)      = 0;
  virtual std::uint64_t slab_bytes() const     = 0;
  virtual std::uint64_t num_slabs() const      = 0;
  virtual std::uint64_t metadata_bytes() const = 0;  // of all tensors
};

enum class codec_choice { fast, sign, compact };

/// Slabs that suffice for so many layers of about this density, by shape and element alone.
std::uint64_t planned_slabs(ffn_shape const& shape,
                            element_choice element,
                            codec_choice codec,
                            int num_layers,
                            double density);

/// The slabs of an arena: on the device, at least 1, and in pinned host memory.
struct slab_counts {
  std::uint64_t device = 0;
  std::uint64_t host   = 0;
};

std::unique_ptr<compressed_storage> make_compressed_storage(
    network& of, codec_choice codec, int num_layers, slab_counts slabs, device_allocations& memory);

/// A way of training: each layer's storage.
struct mode {
  std::string name;
  std::vector<activation_storage*> layers;
  compressed_storage* compressed = nullptr;  // of the first num_compressed layers
  int num_compressed             = 0;
};

}  // namespace ffn
