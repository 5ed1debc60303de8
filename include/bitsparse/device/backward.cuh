// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: a tile on its way out of decompress: the gradient loaded, the op applied in registers, its
/// results stored, row-major, transposed or both.
#pragma once

#include <vector_types.h>
#include <cstdint>
#include <type_traits>

#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/tile_arrangement.cuh>
#include <bitsparse/block/tile_transposer.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/tile_grid.hpp>
#include <bitsparse/device/forward.cuh>
#include <bitsparse/device/op.cuh>
#include <bitsparse/device/operands.cuh>
#include <bitsparse/warp/numeric.cuh>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// One result of a backward op: where it goes, and the shared memory that its transposition takes.
template <class Format, int Threads, class Result>
struct result_pass {
  using traits      = result_traits<Result>;
  using element     = typename traits::element;
  using bits_type   = typename element::bits_type;
  using arrangement = tile_arrangement<Format, Threads>;
  using place       = typename tile_grid<Format>::tile;
  using run         = value_run<element, vector_values<typename Format::bits_type>>;

  struct no_storage {};
  template <bool IsTransposed, class F>
  struct storage_of {
    using type = no_storage;
  };
  template <class F>
  struct storage_of<true, F> {
    using type = typename tile_transposer<F, element, Threads>::temp_storage;
  };
  using temp_storage = typename storage_of<traits::is_transposed, Format>::type;

  tile_window<bits_type> rows;  // of the row-major matrix
  tile_window<bits_type>
      turned;  // of the transposed one: its corner and ld, the tile's own valid rows, columns
  float scale;

  __device__ __forceinline__ result_pass(typename traits::view const& view,
                                         float const* factor,
                                         place at,
                                         std::uint32_t valid_rows)
      : scale(is_scaled<element> ? factor_at(factor) : 1.0f) {
    if constexpr (traits::is_row_major) {
      auto const matrix = traits::row_major(view);
      rows              = {
                       tile_corner<Format>(matrix.data, matrix.ld, at), matrix.ld, valid_rows, at.valid_cols};
    }
    if constexpr (traits::is_transposed) {
      auto const matrix = traits::turned(view);
      turned            = {matrix.data + std::uint64_t{at.tile_col} * Format::cols * matrix.ld +
                               std::uint64_t{at.tile_row} * Format::rows,
                           matrix.ld,
                           valid_rows,
                           at.valid_cols};
    }
  }

  /// One value, at (row, col) of the tile.
  __device__ __forceinline__ void put_value(std::uint32_t row, std::uint32_t col, bits_type bits) {
    if constexpr (traits::is_row_major) rows.corner[row * rows.ld + col] = bits;
    if constexpr (traits::is_transposed) turned.corner[col * turned.ld + row] = bits;
  }
  __device__ __forceinline__ bits_type rounded(float number) const {
    return from_float<element>(scaled<element>(number, scale));
  }
  /// A thread's vector i: to its row, and to the storage where it is to be transposed.
  __device__ __forceinline__ void put_run(thread_group<Threads> group,
                                          std::uint32_t i,
                                          bool interior,
                                          run const& result,
                                          temp_storage& storage) {
    auto const where = arrangement::vector_position(group, i);
    if constexpr (traits::is_row_major) {
      bits_type* const to = arrangement::vector_address(group, rows, i);
      if (interior) {
        result.store(to);
      } else if (where.row < rows.valid_rows) {
#pragma unroll
        for (std::uint32_t j = 0; j < vector_values<typename Format::bits_type>; ++j) {
          if (where.col + j < rows.valid_cols) to[j] = result.value(static_cast<int>(j));
        }
      }
    }
    if constexpr (traits::is_transposed) storage.put(where.row, where.col, result);
  }
  /// When all threads of the group have put their vectors and synchronised.
  __device__ __forceinline__ void finish(thread_group<Threads> group, temp_storage const& storage) {
    if constexpr (traits::is_transposed) {
      tile_transposer<Format, element, Threads>::store(group, storage, turned);
    }
  }
};

/// No result.
template <class Format, int Threads>
struct result_pass<Format, Threads, none> {
  struct temp_storage {};
  struct element {
    static constexpr std::uint32_t value_bits = 0;
  };
  template <class... Arguments>
  __device__ __forceinline__ explicit result_pass(Arguments const&...) {}
};

template <class Format, int Threads, class Op, class First, class Gradient, class Second>
struct backward_pass {
  using arrangement                  = tile_arrangement<Format, Threads>;
  using element                      = typename Format::element;
  using bits_type                    = typename Format::bits_type;
  using vectors                      = typename arrangement::vectors;
  using values                       = typename arrangement::values;
  using operands                     = decompress_operands<First, Gradient, Second>;
  using place                        = typename tile_grid<Format>::tile;
  using first_pass                   = result_pass<Format, Threads, First>;
  using second_pass                  = result_pass<Format, Threads, Second>;
  static constexpr int run_values    = vector_values<bits_type>;
  static constexpr bool has_second   = is_present<Second>;
  static constexpr bool has_gradient = is_present<Gradient>;
  static constexpr bool is_transposed =
      result_traits<First>::is_transposed || result_traits<Second>::is_transposed;
  static constexpr bool keeps_first   = keeps_bits<Format, typename results_of<Op>::first, First>;
  static constexpr bool keeps_second  = keeps_bits<Format, typename results_of<Op>::second, Second>;
  static constexpr bool is_plain_copy = is_identity<Op> && std::is_same_v<First, element>;
  using gradient_element = std::conditional_t<has_gradient, Gradient, element>;  // one that exists
  using stored_run       = value_run<element, run_values>;
  using gradient_run     = value_run<gradient_element, run_values>;
  using gradient_window  = tile_window<typename gradient_element::bits_type const>;
  // Words of gradients in flight at a time: what the registers have room for.
  static constexpr int batch_words     = sizeof(bits_type) == 1 ? (is_transposed ? 16 : 8)
                                         : has_second           ? 32
                                                                : 16;
  static constexpr std::uint32_t batch = has_gradient && gradient_run::num_words < batch_words
                                             ? batch_words / gradient_run::num_words
                                             : 1;

  // 8-bit values are converted in so much code that it stands in memory once, not once per batch
  // (docs/tuning.md).
  static constexpr int unrolled_batches =
      sizeof(bits_type) == 1 ? 1 : static_cast<int>(arrangement::vectors_per_thread);

  struct temp_storage {
    typename first_pass::temp_storage first;
    typename second_pass::temp_storage second;
  };
  static_assert(
      sizeof(temp_storage) <= 48 * 1024,
      "bitsparse: the transposed results of a tile take more than 48 KiB of shared memory; "
      "take smaller tiles or fewer transposed results");

  /// How many of the tile's rows are wanted.
  __device__ static __forceinline__ std::uint32_t wanted_rows(operands const& with, place at) {
    std::uint64_t const first_row = with.first_row + std::uint64_t{at.tile_row} * Format::rows;
    return rows_of_tile<Format>(with.num_rows, first_row, at.valid_rows);
  }
  /// Has the tile's gradient brought to L2 while its chunk is decoded. Threads: all of the group.
  __device__ static __forceinline__ void prefetch(thread_group<Threads> group,
                                                  operands const& with,
                                                  place at,
                                                  std::uint32_t rows) {
    if constexpr (has_gradient) {
      constexpr std::uint32_t row_bytes =
          Format::cols * sizeof(typename gradient_element::bits_type);
      constexpr std::uint32_t row_lines = ceil_div(row_bytes, 128u);
      auto const* const corner = tile_corner<Format>(with.gradient.data, with.gradient.ld, at);
      for (std::uint32_t q = group.rank(); q < Format::rows * row_lines; q += Threads) {
        std::uint32_t const row = q / row_lines;
        std::uint32_t const col = q % row_lines * (128 / sizeof(*corner));
        if (row < rows && col < at.valid_cols)
          asm volatile("prefetch.global.L2 [%0];" ::"l"(corner + row * with.gradient.ld + col));
      }
    }
  }

  /// Applies the op to a tile and stores its results. A tile that is not good is NaN in all of them,
  /// whatever the op.
  /// Threads: all of the group. With a transposed result it synchronises the group, twice; the storage
  ///   may overlap what was used before.
  /// @param scale what the stored values were multiplied with; 0 counts as 1
  /// @param rows how many are wanted
  template <class Tile>
  __device__ static __forceinline__ void store(thread_group<Threads> group,
                                               Tile const& tile,
                                               bool is_good,
                                               float scale,
                                               operands const& to,
                                               place at,
                                               std::uint32_t rows,
                                               temp_storage& storage) {
    if constexpr (is_plain_copy) {
      arrangement::store(
          group,
          tile,
          {tile_corner<Format>(to.first.data, to.first.ld, at), to.first.ld, rows, at.valid_cols});
    } else {
      first_pass first(to.first, to.first_scale, at, rows);
      second_pass second(to.second, to.second_scale, at, rows);
      if (!is_good) {
        store_nan(group, rows, at.valid_cols, first, second);
        return;
      }
      gradient_window gradient{};
      if constexpr (has_gradient) {
        gradient = {tile_corner<Format>(to.gradient.data, to.gradient.ld, at),
                    to.gradient.ld,
                    rows,
                    at.valid_cols};
      }
      float const factor = is_scaled<element> && scale != 0 ? __frcp_rn(scale) : 1.0f;
      apply_and_store(group, tile, rows, at.valid_cols, factor, gradient, first, second, storage);
    }
  }

 private:
  __device__ static __forceinline__ void store_nan(thread_group<Threads> group,
                                                   std::uint32_t rows,
                                                   std::uint32_t cols,
                                                   first_pass& first,
                                                   second_pass& second) {
    for (std::uint32_t v = group.rank(); v < Format::values; v += Threads) {
      std::uint32_t const row = v / Format::cols, col = v % Format::cols;
      if (row >= rows || col >= cols) continue;
      first.put_value(row, col, first_pass::element::quiet_nan);
      if constexpr (has_second) second.put_value(row, col, second_pass::element::quiet_nan);
    }
  }

  __device__ static __forceinline__ void apply_and_store(thread_group<Threads> group,
                                                         vectors const& tile,
                                                         std::uint32_t rows,
                                                         std::uint32_t cols,
                                                         float factor,
                                                         gradient_window const& gradient,
                                                         first_pass& first,
                                                         second_pass& second,
                                                         temp_storage& storage) {
    bool const interior = rows == Format::rows && cols == Format::cols;
    if constexpr (is_transposed) group.sync();  // the tile has been decoded by all
    constexpr std::uint32_t all = arrangement::vectors_per_thread;
    vectors
        rest;  // what is still to be stored comes first, so that a loop needs no index of registers
#pragma unroll
    for (std::uint32_t i = 0; i < all; ++i) rest[i] = tile[i];
#pragma unroll unrolled_batches
    for (std::uint32_t begin = 0; begin < all; begin += batch) {
      gradient_run loaded[batch];
      if constexpr (has_gradient) {
#pragma unroll
        for (std::uint32_t k = 0; k < batch && begin + k < all; ++k) {
          load_gradient(group, gradient, begin + k, interior, loaded[k]);
        }
      }
#pragma unroll
      for (std::uint32_t k = 0; k < batch && begin + k < all; ++k) {
        std::uint32_t const i = begin + k;
        if (!arrangement::is_vector(group, i)) continue;
        stored_run const stored{{rest[k].x, rest[k].y, rest[k].z, rest[k].w}};
        typename first_pass::run first_run;
        float numbers[run_values], gradients[run_values], seconds[run_values];
        stored.to_floats(numbers);
        if constexpr (has_gradient) loaded[k].to_floats(gradients);
#pragma unroll
        for (int j = 0; j < run_values; ++j) {
          backward_values const made =
              Op::apply(scaled<element>(numbers[j], factor), has_gradient ? gradients[j] : 0.0f);
          numbers[j] = scaled<typename first_pass::element>(made.first, first.scale);
          seconds[j] = made.second;
        }
        if constexpr (keeps_first) {
          copy_words(stored, first_run);
        } else {
          first_run.from_floats(numbers);
        }
        first.put_run(group, i, interior, first_run, storage.first);
        if constexpr (has_second) {
          typename second_pass::run second_run;
          if constexpr (keeps_second) {
            copy_words(stored, second_run);
          } else {
#pragma unroll
            for (int j = 0; j < run_values; ++j)
              seconds[j] = scaled<typename second_pass::element>(seconds[j], second.scale);
            second_run.from_floats(seconds);
          }
          second.put_run(group, i, interior, second_run, storage.second);
        }
      }
#pragma unroll
      for (std::uint32_t i = 0; i + batch < all; ++i) rest[i] = rest[i + batch];
    }
    if constexpr (is_transposed) {
      group.sync();
      first.finish(group, storage.first);
      if constexpr (has_second) second.finish(group, storage.second);
    }
  }

  template <class Run>
  __device__ static __forceinline__ void copy_words(stored_run const& from, Run& to) {
#pragma unroll
    for (int w = 0; w < stored_run::num_words; ++w) to.words[w] = from.words[w];
  }

  __device__ static __forceinline__ void load_gradient(thread_group<Threads> group,
                                                       gradient_window const& gradient,
                                                       std::uint32_t i,
                                                       bool interior,
                                                       gradient_run& loaded) {
    loaded.clear();
    if (!arrangement::is_vector(group, i)) return;
    auto const* const from = arrangement::vector_address(group, gradient, i);
    if (interior) {
      loaded.load(from);
      return;
    }
    auto const where = arrangement::vector_position(group, i);
    if (where.row >= gradient.valid_rows) return;
#pragma unroll
    for (int j = 0; j < run_values; ++j) {
      if (where.col + j < gradient.valid_cols) loaded.or_value(j, from[j]);
    }
  }

  __device__ static __forceinline__ void apply_and_store(thread_group<Threads> group,
                                                         values const& tile,
                                                         std::uint32_t rows,
                                                         std::uint32_t cols,
                                                         float factor,
                                                         gradient_window const& gradient,
                                                         first_pass& first,
                                                         second_pass& second,
                                                         temp_storage& /*storage*/) {
#pragma unroll
    for (std::uint32_t i = 0; i < arrangement::values_per_thread; ++i) {
      std::uint32_t const row = arrangement::value_index(group, i) / Format::cols;
      std::uint32_t const col = arrangement::value_index(group, i) % Format::cols;
      if (row >= rows || col >= cols) continue;
      float const stored = to_float<element>(tile[i]);
      float g            = 0;
      if constexpr (has_gradient) {
        g = to_float<gradient_element>(gradient.corner[row * gradient.ld + col]);
      }
      backward_values const made = Op::apply(scaled<element>(stored, factor), g);
      if constexpr (keeps_first) {
        first.put_value(row, col, tile[i]);
      } else {
        first.put_value(row, col, first.rounded(made.first));
      }
      if constexpr (keeps_second) {
        second.put_value(row, col, tile[i]);
      } else if constexpr (has_second) {
        second.put_value(row, col, second.rounded(made.second));
      }
    }
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
