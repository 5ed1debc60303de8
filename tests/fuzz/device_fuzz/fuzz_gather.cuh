// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Takes the chunks of a tensor in an arena, and its metadata, to where the host finds them, before the
/// tensor is released.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>

#include <bitsparse/arena/arena_tensor.cuh>

namespace bitsparse_test {

struct gather_params {
  bitsparse::tile_descriptor const* directory;
  bitsparse::tile_descriptor const* expected;  // the host codec's: where each chunk is to go
  std::uint32_t num_tiles;
  std::uint32_t const* slab_map;
  std::uint32_t map_slabs;
  bitsparse::arena_tensor_state const* state;
  bitsparse::arena_view arena;
  std::byte* chunks;
  std::uint32_t* map_copy;
  bitsparse::arena_tensor_state* state_copy;
};

/// Enqueues it.
cudaError_t gather_chunks(gather_params const& params, cudaStream_t stream);

}  // namespace bitsparse_test
