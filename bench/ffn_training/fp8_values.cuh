// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Vectors of e4m3 values, and tiles of them on their way through shared memory to a transposed
/// matrix.
#pragma once

#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <cstdint>

namespace ffn {

using e4m3 = __nv_fp8_e4m3;

// -------------------------------------------------------------------------------------------------
// Conversions: to the nearest, ties to even, saturating
// -------------------------------------------------------------------------------------------------

__device__ __forceinline__ std::uint32_t pack_four(float a, float b, float c, float d) {
  std::uint32_t const low  = __nv_cvt_float2_to_fp8x2(float2{a, b}, __NV_SATFINITE, __NV_E4M3);
  std::uint32_t const high = __nv_cvt_float2_to_fp8x2(float2{c, d}, __NV_SATFINITE, __NV_E4M3);
  return low | high << 16;
}
__device__ __forceinline__ uint2 pack_eight(float const (&v)[8]) {
  return {pack_four(v[0], v[1], v[2], v[3]), pack_four(v[4], v[5], v[6], v[7])};
}
__device__ __forceinline__ uint4 pack_sixteen(float const (&v)[16]) {
  return {pack_four(v[0], v[1], v[2], v[3]),
          pack_four(v[4], v[5], v[6], v[7]),
          pack_four(v[8], v[9], v[10], v[11]),
          pack_four(v[12], v[13], v[14], v[15])};
}
__device__ __forceinline__ void unpack_sixteen(uint4 const& packed, float (&v)[16]) {
  std::uint32_t const words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
  for (int i = 0; i < 16; i += 2) {
    auto const bits   = static_cast<__nv_fp8x2_storage_t>(words[i / 4] >> i % 4 * 8);
    float2 const both = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(bits, __NV_E4M3)));
    v[i]              = both.x;
    v[i + 1]          = both.y;
  }
}

// -------------------------------------------------------------------------------------------------
// Tiles
// -------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t tile_rows    = 128;
inline constexpr std::uint32_t tile_cols    = 128;
inline constexpr std::uint32_t tile_threads = 256;
inline constexpr std::uint32_t step_rows    = tile_threads / (tile_cols / 16);  // loaded at a time
inline constexpr std::uint32_t tile_steps   = tile_rows / step_rows;

/// A block's tile of a matrix, and the thread's vectors in it: in step s, 16 values of row
/// row(s), from column col() on.
struct tile_place {
  std::uint64_t first_row, first_col;
  std::uint32_t valid_rows, valid_cols;

  __device__ __forceinline__ std::uint32_t row(std::uint32_t step) const {
    return step * step_rows + threadIdx.x / (tile_cols / 16);
  }
  __device__ __forceinline__ std::uint32_t col() const {
    return threadIdx.x % (tile_cols / 16) * 16;
  }
  __device__ __forceinline__ bool holds(std::uint32_t step) const {
    return row(step) < valid_rows && col() < valid_cols;
  }
  /// Of the vector in a packed matrix with so many columns.
  __device__ __forceinline__ std::uint64_t index(std::uint32_t step, std::uint64_t cols) const {
    return (first_row + row(step)) * cols + first_col + col();
  }
};

inline std::uint64_t num_tiles(std::uint64_t rows, std::uint64_t cols) {
  return (rows + tile_rows - 1) / tile_rows * ((cols + tile_cols - 1) / tile_cols);
}

/// Neighbouring blocks take eight tiles below each other, and then those to the right of them: so
/// the pieces of a column that they write at about the same time make up 1024 bytes.
__device__ __forceinline__ tile_place place_of_block(std::uint64_t rows, std::uint64_t cols) {
  constexpr std::uint32_t group = 8;
  auto const row_tiles          = static_cast<std::uint32_t>((rows + tile_rows - 1) / tile_rows);
  auto const col_tiles          = static_cast<std::uint32_t>((cols + tile_cols - 1) / tile_cols);
  std::uint32_t const first     = blockIdx.x / (group * col_tiles) * group;
  std::uint32_t const rest      = blockIdx.x % (group * col_tiles);
  std::uint32_t const height    = min(group, row_tiles - first);
  std::uint64_t const row       = std::uint64_t{first + rest % height} * tile_rows;
  std::uint64_t const col       = std::uint64_t{rest / height} * tile_cols;
  auto const left               = [](std::uint64_t all, std::uint64_t from, std::uint32_t size) {
    return all - from < size ? static_cast<std::uint32_t>(all - from) : size;
  };
  return {row, col, left(rows, row, tile_rows), left(cols, col, tile_cols)};
}

/// A tile in shared memory, filled by rows and emptied by columns.
///
/// Layout: word w (columns 4 w to 4 w + 3) of row r lies at [r][(w + r % 16 + r / 16 * 4) % 32]. So
///   neither put(), of eight threads for each of four rows, nor store(), of eight threads for each
///   of four words, has bank conflicts.
/// Threads: tile_threads; the caller synchronises them between put() and store().
class transposing_tile {
 public:
  /// Puts 16 values of a row. @param col a multiple of 16
  __device__ __forceinline__ void put(std::uint32_t row, std::uint32_t col, uint4 const& values) {
    std::uint32_t const first     = col / 4 + turn(row);
    words_[row][first % 32]       = values.x;
    words_[row][(first + 1) % 32] = values.y;
    words_[row][(first + 2) % 32] = values.z;
    words_[row][(first + 3) % 32] = values.w;
  }

  /// Writes the tile's columns, each thread 16 rows of four of them.
  /// Alignment: the matrix 16 bytes; valid rows a multiple of 16, valid columns one of 4.
  /// @param turned a packed matrix (cols, rows)
  __device__ __forceinline__ void store(e4m3* turned,
                                        std::uint64_t rows,
                                        tile_place const& at) const {
    constexpr std::uint32_t pieces = tile_rows / 16;
    std::uint32_t const row        = threadIdx.x % pieces * 16;
    std::uint32_t const word       = threadIdx.x / pieces;
    if (row >= at.valid_rows || 4 * word >= at.valid_cols) return;
    std::uint32_t lines[16];  // (16,) rows of four columns
#pragma unroll
    for (std::uint32_t k = 0; k < 16; ++k) lines[k] = words_[row + k][(word + turn(row + k)) % 32];
#pragma unroll
    for (std::uint32_t j = 0; j < 4; ++j) {
      std::uint64_t const col = at.first_col + 4 * word + j;
      *reinterpret_cast<uint4*>(turned + col * rows + at.first_row + row) = {
          column(lines, 0, j), column(lines, 4, j), column(lines, 8, j), column(lines, 12, j)};
    }
  }

 private:
  __device__ static __forceinline__ std::uint32_t turn(std::uint32_t row) {
    return row % 16 + row / 16 * 4;
  }
  /// Column j of four lines.
  __device__ static __forceinline__ std::uint32_t column(std::uint32_t const (&lines)[16],
                                                         std::uint32_t first,
                                                         std::uint32_t j) {
    std::uint32_t const pick = j | (4 + j) << 4;
    return __byte_perm(__byte_perm(lines[first], lines[first + 1], pick),
                       __byte_perm(lines[first + 2], lines[first + 3], pick),
                       0x5410);
  }

  std::uint32_t words_[tile_rows][tile_cols / 4];
};

}  // namespace ffn
