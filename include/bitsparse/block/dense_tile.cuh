// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: tiles that are not put together from kept values: dense in shared memory, or of one value.
#pragma once

#include <vector_types.h>
#include <cstdint>

#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/tile_arrangement.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/warp/vector.cuh>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// A tile as a dense chunk holds it: the valid values of its rows, one row after the other.
///
/// Shapes: values (Format::values,), in shared memory; a row has valid_cols of them. Alignment: 16
///   bytes.
/// Threads: load() all of the group; no synchronisation.
template <class Format, int Threads>
struct dense_tile {
  using arrangement = tile_arrangement<Format, Threads>;
  using bits_type   = typename Format::bits_type;

  bits_type const* values;
  std::uint32_t valid_cols;
  bool is_full;  // all rows and columns are valid

  /// Value (row, col) of the tile is number row * Format::cols + col; 0 if it is not valid.
  __device__ __forceinline__ bits_type value(std::uint32_t number) const {
    std::uint32_t const row = number / Format::cols;
    std::uint32_t const col = number % Format::cols;
    std::uint32_t const at  = row * valid_cols + col;
    return col < valid_cols && at < Format::values ? values[at] : bits_type{0};
  }

  __device__ __forceinline__ void load(thread_group<Threads> group,
                                       typename arrangement::vectors& tile) const {
    if (is_full) return arrangement::load_shared(group, values, tile);
    constexpr std::uint32_t per = vector_values<bits_type>;
#pragma unroll
    for (std::uint32_t i = 0; i < arrangement::vectors_per_thread; ++i) {
      std::uint32_t const index = arrangement::vector_index(group, i);
      tile[i]                   = uint4{0, 0, 0, 0};
      if (!arrangement::is_vector(group, i)) continue;
#pragma unroll(sizeof(bits_type) == 1 ? 4 : per)  // all at once would spill
      for (std::uint32_t j = 0; j < per; ++j) or_vector_value(tile[i], j, value(index * per + j));
    }
  }
  __device__ __forceinline__ void load(thread_group<Threads> group,
                                       typename arrangement::values& tile) const {
#pragma unroll
    for (std::uint32_t i = 0; i < arrangement::values_per_thread; ++i) {
      tile[i] = value(arrangement::value_index(group, i));
    }
  }
};

/// Makes every value of a tile the same. Threads: any.
template <class Bits, std::uint32_t Items>
__device__ __forceinline__ void fill_tile(uint4 (&tile)[Items], Bits bits) {
  for (uint4& vector : tile) vector = broadcast_vector(bits);
}
template <class Bits, std::uint32_t Items>
__device__ __forceinline__ void fill_tile(Bits (&tile)[Items], Bits bits) {
  for (Bits& value : tile) value = bits;
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
