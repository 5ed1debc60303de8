// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The bitsparse operations that the PyTorch extension offers, with their template arguments chosen
/// at run time. No bitsparse device header and no PyTorch header is included here, so that neither
/// is compiled with the other.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstddef>
#include <cstdint>

#include <bitsparse/status.hpp>

namespace bitsparse_torch {

enum class element_kind { bf16, fp16, fp32 };
enum class codec_kind { fast, sign, compact };

/// What compress does to a value: see bitsparse/device/op.cuh.
enum class forward_kind { identity, relu, relu_squared, square_of_relu };

/// What decompress does to a stored value, without and with a gradient.
enum class value_kind { identity, square, square_root };
enum class gradient_kind { relu, relu_squared, root };

/// An arena's memory, of which an arena_view is made for every call.
struct arena_memory {
  void* device                   = nullptr;
  std::uint64_t num_device_slabs = 0;
  void* host                     = nullptr;
  std::uint64_t num_host_slabs   = 0;
  std::uint64_t slab_bytes       = 0;
};

/// A compressed tensor: its metadata, of which an arena_tensor_view is made for every call.
struct compressed_matrix {
  element_kind element = element_kind::bf16;
  void* metadata       = nullptr;
  std::uint64_t rows   = 0;
  std::uint64_t cols   = 0;
  arena_memory arena;
};

/// A dense row-major matrix of the compressed tensor's element; no data is no matrix.
struct dense_matrix {
  void* data         = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t ld   = 0;
};

// -------------------------------------------------------------------------------------------------
// Arena
// -------------------------------------------------------------------------------------------------

/// What of the arena's memory is to be zeroed before the first reset, and the offset of the float
/// that is 1 once the arena has a condition.
std::uint64_t arena_state_bytes();
std::uint64_t skip_step_offset();
std::uint64_t arena_bytes(std::uint64_t num_device_slabs,
                          std::uint64_t num_host_slabs,
                          std::uint64_t slab_bytes);
bitsparse::status check_arena(arena_memory const& arena);
bitsparse::status reset(arena_memory const& arena, cudaStream_t stream);
bitsparse::status clear(arena_memory const& arena, cudaStream_t stream);

/// Pinned memory, zeroed, that a report takes; the alignment is 64 bytes.
std::size_t report_slot_bytes();
/// Stream: synchronises.
bitsparse::status report(arena_memory const& arena,
                         void* slot,
                         std::array<std::int64_t, 8>& content,
                         cudaStream_t stream);

/// bitsparse::planned_slabs.
std::uint64_t planned_slabs(element_kind element,
                            codec_kind codec,
                            std::uint64_t rows,
                            std::uint64_t cols,
                            double density,
                            std::uint64_t slab_bytes);

// -------------------------------------------------------------------------------------------------
// Compressed tensors
// -------------------------------------------------------------------------------------------------

std::uint64_t metadata_bytes(element_kind element,
                             std::uint64_t rows,
                             std::uint64_t cols,
                             std::uint64_t slab_bytes);

/// Compresses what the op stores of the source. What it emits is written over the source; identity
/// emits nothing.
bitsparse::status compress(dense_matrix const& source,
                           forward_kind op,
                           codec_kind codec,
                           compressed_matrix const& target,
                           cudaStream_t stream);

/// Restores rows first_row .. first_row + values.rows - 1.
bitsparse::status decompress(compressed_matrix const& source,
                             value_kind op,
                             std::uint64_t first_row,
                             dense_matrix const& values,
                             cudaStream_t stream);

/// Replaces the gradient at the op's output by that at its input. A matrix for the values, if there
/// is one, takes what the forward op emitted.
bitsparse::status decompress(compressed_matrix const& source,
                             gradient_kind op,
                             std::uint64_t first_row,
                             dense_matrix const& gradient,
                             dense_matrix const& values,
                             cudaStream_t stream);

bitsparse::status release(compressed_matrix const& tensor, cudaStream_t stream);

/// Kept values, chunk bytes, slabs, whether the tensor is full, tiles by encoding.
/// Stream: synchronises.
std::size_t statistics_slot_bytes();
bitsparse::status report(compressed_matrix const& tensor,
                         void* slot,
                         std::array<std::int64_t, 20>& content,
                         cudaStream_t stream);

}  // namespace bitsparse_torch
