// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What the memory gives: kernels that move the bytes of compress and decompress, tile by tile, and
/// compute nothing. Their rows are the ceiling of ours.
#pragma once

#include <vector_types.h>
#include <cstdint>

namespace bench {

inline constexpr std::uint32_t pattern_tile_vectors = 512;  // 8 KiB
inline constexpr std::uint32_t pattern_threads      = 128;

/// Tiles of 8 KiB of a matrix whose rows are a multiple of a tile's.
struct tile_pattern {
  std::uint32_t row_vectors;       // 16-byte vectors in a row of the matrix
  std::uint32_t tile_row_vectors;  // and in a row of a tile
  std::uint32_t chunk_vectors;     // vectors of a tile's chunk, at most pattern_tile_vectors

  /// Where vector i of a tile lies in the matrix.
  __device__ std::uint64_t place(std::uint32_t tile, std::uint32_t i) const {
    std::uint32_t const tiles_per_row = row_vectors / tile_row_vectors;
    std::uint64_t const row =
        tile / tiles_per_row * (pattern_tile_vectors / tile_row_vectors) + i / tile_row_vectors;
    return row * row_vectors + tile % tiles_per_row * tile_row_vectors + i % tile_row_vectors;
  }
};

/// Reads a tile and writes a chunk.
__global__ void __launch_bounds__(pattern_threads)
    read_tiles_kernel(tile_pattern const pattern, uint4 const* matrix, uint4* chunks) {
  constexpr std::uint32_t per_thread = pattern_tile_vectors / pattern_threads;
  uint4 vectors[per_thread];
  uint4 mixed{0, 0, 0, 0};
#pragma unroll
  for (std::uint32_t i = 0; i < per_thread; ++i) {
    vectors[i] = matrix[pattern.place(blockIdx.x, i * pattern_threads + threadIdx.x)];
  }
#pragma unroll
  for (std::uint32_t i = 0; i < per_thread; ++i) {
    mixed.x ^= vectors[i].x;
    mixed.y |= vectors[i].y;
    mixed.z += vectors[i].z;
    mixed.w ^= vectors[i].w;
  }
  for (std::uint32_t i = threadIdx.x; i < pattern.chunk_vectors; i += pattern_threads) {
    chunks[std::uint64_t{blockIdx.x} * pattern.chunk_vectors + i] = mixed;
  }
  // Never, but the compiler does not know: without a use in every thread, those that write nothing
  // would read nothing.
  if (mixed.x == 0x9e3779b9u && mixed.y == 0x85ebca6bu && mixed.z == 0xc2b2ae35u) chunks[0] = mixed;
}

/// Reads a chunk and writes a tile.
__global__ void __launch_bounds__(pattern_threads)
    write_tiles_kernel(tile_pattern const pattern, uint4 const* chunks, uint4* matrix) {
  __shared__ uint4 chunk[pattern_tile_vectors];
  for (std::uint32_t i = threadIdx.x; i < pattern.chunk_vectors; i += pattern_threads) {
    chunk[i] = chunks[std::uint64_t{blockIdx.x} * pattern.chunk_vectors + i];
  }
  __syncthreads();
#pragma unroll
  for (std::uint32_t i = threadIdx.x; i < pattern_tile_vectors; i += pattern_threads) {
    matrix[pattern.place(blockIdx.x, i)] = chunk[i % pattern.chunk_vectors];
  }
}

}  // namespace bench
