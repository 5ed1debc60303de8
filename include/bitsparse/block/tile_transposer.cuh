// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: writing a tile transposed, through shared memory.
#pragma once

#include <vector_types.h>
#include <cstdint>

#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/tile_arrangement.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/warp/numeric.cuh>

namespace bitsparse {
inline namespace v0 {

/// Stores a tile's values so that those of a column follow each other in memory.
///
/// Use, by all threads of the group: storage.put() for each vector; group.sync(); store().
///
/// Shapes: a tile of Format::rows x Format::cols values of any Element.
/// Threads: all of the group call store(), which does not synchronise. Before the storage is used
///   again the caller synchronises the group.
/// Traffic: 16-byte pieces of a column, 32 to 64 consecutive bytes of it by neighbouring threads.
template <class Format, class Element, int Threads>
class tile_transposer {
  using bits_type                            = typename Element::bits_type;
  static constexpr std::uint32_t word_values = 4 / sizeof(bits_type);
  static constexpr std::uint32_t row_words   = Format::cols / word_values;
  static constexpr std::uint32_t piece_rows  = 16 / sizeof(bits_type);  // of 16 bytes of a column
  static constexpr std::uint32_t pieces      = Format::rows / piece_rows;
  static_assert(Format::rows % piece_rows == 0,
                "bitsparse: for transposed results a tile's rows must be a multiple of 16 bytes of "
                "the result's values");

 public:
  struct temp_storage {
    std::uint32_t words[Format::rows][row_words + 1];  // an odd pitch, mostly: few bank conflicts

    /// Puts consecutive values of a row. Alignment: col a multiple of the run's values.
    template <class Run>
    __device__ __forceinline__ void put(std::uint32_t row, std::uint32_t col, Run const& run) {
#pragma unroll
      for (int w = 0; w < Run::num_words; ++w) words[row][col / word_values + w] = run.words[w];
    }
  };

  /// Alignment: the transposed matrix 16 bytes, base and leading dimension.
  /// @param to corner and ld of the transposed matrix; the tile's own valid rows and columns
  __device__ static __forceinline__ void store(thread_group<Threads> group,
                                               temp_storage const& storage,
                                               tile_window<bits_type> to) {
    for (std::uint32_t q = group.rank(); q < row_words * pieces; q += Threads) {
      std::uint32_t const piece = q % pieces, word = q / pieces;
      std::uint32_t const first_row = piece * piece_rows;
      if (word * word_values >= to.valid_cols || first_row >= to.valid_rows) continue;
      std::uint32_t rows[piece_rows];  // (piece_rows,) word_values columns each
#pragma unroll
      for (std::uint32_t k = 0; k < piece_rows; ++k) rows[k] = storage.words[first_row + k][word];
#pragma unroll
      for (std::uint32_t j = 0; j < word_values; ++j) {
        std::uint32_t const col = word * word_values + j;
        if (col >= to.valid_cols) continue;
        value_run<Element, static_cast<int>(piece_rows)> column;
        take_column(rows, j, column.words);
        bits_type* const at = to.corner + col * to.ld + first_row;
        if (first_row + piece_rows <= to.valid_rows) {
          column.store(at);
        } else {
#pragma unroll
          for (std::uint32_t k = 0; k < piece_rows; ++k) {
            if (first_row + k < to.valid_rows) at[k] = column.value(static_cast<int>(k));
          }
        }
      }
    }
  }

 private:
  /// Column j of the rows' words.
  __device__ static __forceinline__ void take_column(std::uint32_t const (&rows)[piece_rows],
                                                     std::uint32_t j,
                                                     std::uint32_t (&column)[4]) {
#pragma unroll
    for (std::uint32_t w = 0; w < 4; ++w) {
      if constexpr (sizeof(bits_type) == 4) {
        column[w] = rows[w];
      } else if constexpr (sizeof(bits_type) == 2) {
        column[w] = __byte_perm(rows[2 * w], rows[2 * w + 1], j == 0 ? 0x5410 : 0x7632);
      } else {
        std::uint32_t const pick = j | (4 + j) << 4;
        std::uint32_t const low  = __byte_perm(rows[4 * w], rows[4 * w + 1], pick);
        std::uint32_t const high = __byte_perm(rows[4 * w + 2], rows[4 * w + 3], pick);
        column[w]                = __byte_perm(low, high, 0x5410);
      }
    }
  }
};

}  // namespace v0
}  // namespace bitsparse
