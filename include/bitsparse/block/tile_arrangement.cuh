// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: how a tile's values are spread over the registers of a thread group, and loading and
/// storing them so.
#pragma once

#include <vector_types.h>
#include <cstdint>

#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/tile_format.hpp>
#include <bitsparse/warp/vector.cuh>

namespace bitsparse {
inline namespace v0 {

/// The part of a row-major matrix in global memory that one tile covers.
///
/// Shapes: value (r, c) of the tile lies at corner[r * ld + c] for r < valid_rows, c < valid_cols;
///   no other is touched. Alignment: the vector arrangement needs rows (corner and ld) that are
///   16-byte aligned, the value arrangement none.
template <class Bits>
struct tile_window {
  Bits* corner;
  std::uint64_t ld;
  std::uint32_t valid_rows;
  std::uint32_t valid_cols;
};

/// The two arrangements of a tile in registers. Both put each warp's share together, so that ranks
/// follow from one scan per warp.
///
/// *vectors*: thread (warp w, lane l) holds the 16-byte vectors number (w * vectors_per_thread + i)
/// * 32 + l. *values*: it holds the values number (w * values_per_thread + i) * 32 + l: one value
/// per lane and step, for rows that are not 16-byte aligned.
template <class Format, int Threads>
struct tile_arrangement {
  using bits_type = typename Format::bits_type;

  static constexpr std::uint32_t num_vectors     = Format::tile_bytes / 16;
  static constexpr std::uint32_t vectors_per_row = Format::cols / vector_values<bits_type>;
  static constexpr std::uint32_t vectors_per_thread =
      detail::ceil_div<std::uint32_t>(num_vectors, Threads);
  static constexpr std::uint32_t values_per_thread = Format::values / Threads;
  static_assert(
      Format::values % Threads == 0,
      "bitsparse: the tile must be a multiple of the group's threads: take fewer threads");

  using vectors = uint4[vectors_per_thread];
  using values  = bits_type[values_per_thread];

  /// The number of a thread's vector i; at least num_vectors if there are more threads than
  /// vectors.
  __device__ static __forceinline__ std::uint32_t vector_index(thread_group<Threads> group,
                                                               std::uint32_t i) {
    return (group.warp() * vectors_per_thread + i) * 32 + group.lane();
  }
  /// The number of a thread's value i.
  __device__ static __forceinline__ std::uint32_t value_index(thread_group<Threads> group,
                                                              std::uint32_t i) {
    return (group.warp() * values_per_thread + i) * 32 + group.lane();
  }
  /// Whether a thread's vector i exists.
  __device__ static __forceinline__ bool is_vector(thread_group<Threads> group, std::uint32_t i) {
    return num_vectors % Threads == 0 || vector_index(group, i) < num_vectors;
  }

  /// A place in the tile.
  struct position {
    std::uint32_t row;
    std::uint32_t col;
  };
  /// Where the first value of a thread's vector i lies.
  __device__ static __forceinline__ position vector_position(thread_group<Threads> group,
                                                             std::uint32_t i) {
    constexpr std::uint32_t per = vector_values<bits_type>;
    std::uint32_t const step    = group.warp() * vectors_per_thread + i;
    if constexpr (32 % vectors_per_row == 0) {  // a step of the warp covers whole rows
      return {step * (32 / vectors_per_row) + group.lane() / vectors_per_row,
              group.lane() % vectors_per_row * per};
    } else {
      std::uint32_t const index = step * 32 + group.lane();
      return {index / vectors_per_row, index % vectors_per_row * per};
    }
  }

  /// The address of a thread's vector i in a window: the first one's plus a multiple of what all
  /// threads share.
  template <class Bits>
  __device__ static __forceinline__ Bits* vector_address(thread_group<Threads> group,
                                                         tile_window<Bits> const& window,
                                                         std::uint32_t i) {
    if constexpr (32 % vectors_per_row == 0) {
      position const first = vector_position(group, 0);
      return window.corner + first.row * window.ld + first.col +
             i * (32 / vectors_per_row) * window.ld;
    } else {
      position const where = vector_position(group, i);
      return window.corner + where.row * window.ld + where.col;
    }
  }

  /// Loads a tile, values outside the window as 0. With the default cache policy: streaming loads
  /// next to compress's ordinary stores cost 3 to 5 % (docs/tuning.md).
  /// Alignment: 16-byte rows. Threads: all of the group; no synchronisation.
  __device__ static __forceinline__ void load(thread_group<Threads> group,
                                              tile_window<bits_type const> window,
                                              vectors& tile) {
    bool const interior = window.valid_rows == Format::rows && window.valid_cols == Format::cols;
    bits_type const* at[vectors_per_thread];
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      at[i]   = vector_address(group, window, i);
      tile[i] = uint4{0, 0, 0, 0};
    }
    if (interior) {
#pragma unroll
      for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
        if (is_vector(group, i)) tile[i] = load_vector(at[i]);
      }
      return;
    }
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      position const where = vector_position(group, i);
      if (!is_vector(group, i) || where.row >= window.valid_rows) continue;
#pragma unroll
      for (std::uint32_t j = 0; j < vector_values<bits_type>; ++j) {
        if (where.col + j < window.valid_cols) or_vector_value(tile[i], j, at[i][j]);
      }
    }
  }

  /// Loads a tile, values outside the window as 0, one value per lane and step.
  /// Threads: all of the group; no synchronisation.
  __device__ static __forceinline__ void load(thread_group<Threads> group,
                                              tile_window<bits_type const> window,
                                              values& tile) {
#pragma unroll
    for (std::uint32_t i = 0; i < values_per_thread; ++i) {
      std::uint32_t const row = value_index(group, i) / Format::cols;
      std::uint32_t const col = value_index(group, i) % Format::cols;
      bool const valid        = row < window.valid_rows && col < window.valid_cols;
      tile[i]                 = valid ? window.corner[row * window.ld + col] : bits_type{0};
    }
  }

  /// Stores the values inside the window, full tiles with the streaming policy: ordinary stores cost
  /// decompress 3 to 5 % (docs/tuning.md).
  /// Alignment: 16-byte rows. Threads: all of the group; no synchronisation.
  __device__ static __forceinline__ void store(thread_group<Threads> group,
                                               vectors const& tile,
                                               tile_window<bits_type> window) {
    bool const interior = window.valid_rows == Format::rows && window.valid_cols == Format::cols;
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread && interior; ++i) {
      if (is_vector(group, i))
        __stcs(reinterpret_cast<uint4*>(vector_address(group, window, i)), tile[i]);
    }
    if (interior) return;
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      position const where = vector_position(group, i);
      if (!is_vector(group, i) || where.row >= window.valid_rows) continue;
      bits_type* const at = vector_address(group, window, i);
#pragma unroll
      for (std::uint32_t j = 0; j < vector_values<bits_type>; ++j) {
        if (where.col + j < window.valid_cols) at[j] = vector_value<bits_type>(tile[i], j);
      }
    }
  }

  /// Stores the values inside the window, one value per lane and step.
  /// Threads: all of the group; no synchronisation.
  __device__ static __forceinline__ void store(thread_group<Threads> group,
                                               values const& tile,
                                               tile_window<bits_type> window) {
#pragma unroll
    for (std::uint32_t i = 0; i < values_per_thread; ++i) {
      std::uint32_t const row = value_index(group, i) / Format::cols;
      std::uint32_t const col = value_index(group, i) % Format::cols;
      if (row < window.valid_rows && col < window.valid_cols)
        window.corner[row * window.ld + col] = tile[i];
    }
  }

  /// Reads a whole tile, packed and row-major, from shared memory.
  /// Shapes: tile (Format::values,). Alignment: 16 bytes. Threads: all of the group; no
  ///   synchronisation.
  __device__ static __forceinline__ void load_shared(thread_group<Threads> group,
                                                     bits_type const* from,
                                                     vectors& tile) {
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      tile[i] = uint4{0, 0, 0, 0};
      if (is_vector(group, i))
        tile[i] = reinterpret_cast<uint4 const*>(from)[vector_index(group, i)];
    }
  }

  /// Writes a whole tile, packed and row-major, to shared memory.
  /// Shapes: tile (Format::values,). Alignment: 16 bytes. Threads: all of the group; no
  ///   synchronisation.
  __device__ static __forceinline__ void store_shared(thread_group<Threads> group,
                                                      vectors const& tile,
                                                      bits_type* to) {
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      if (is_vector(group, i)) reinterpret_cast<uint4*>(to)[vector_index(group, i)] = tile[i];
    }
  }
};

}  // namespace v0
}  // namespace bitsparse
