// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: a tile on its way into compress: loaded from the source, the op applied in registers, the
/// op's second result stored.
#pragma once

#include <vector_types.h>
#include <cstdint>
#include <type_traits>

#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/tile_arrangement.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/tile_grid.hpp>
#include <bitsparse/device/op.cuh>
#include <bitsparse/device/operands.cuh>
#include <bitsparse/warp/numeric.cuh>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// A factor in device memory; null is 1.
__device__ __forceinline__ float factor_at(float const* factor) {
  return factor == nullptr ? 1.0f : *factor;
}

/// A number times a factor, if numbers of the element are scaled. The product is rounded by itself, so
/// that it does not become part of what an op does.
template <class Element>
__device__ __forceinline__ float scaled(float number, float factor) {
  return is_scaled<Element> ? __fmul_rn(number, factor) : number;
}

/// How many of a tile's rows are valid, given a number of rows in device memory.
template <class Format>
__device__ __forceinline__ std::uint32_t rows_of_tile(std::uint32_t const* num_rows,
                                                      std::uint64_t first_row,
                                                      std::uint32_t valid_rows) {
  if (num_rows == nullptr) return valid_rows;
  std::uint64_t const count = *num_rows;
  if (count <= first_row) return 0;
  return count - first_row < valid_rows ? static_cast<std::uint32_t>(count - first_row)
                                        : valid_rows;
}

template <class Format, int Threads, class Op, class Source, class Emitted>
struct forward_pass {
  using arrangement                   = tile_arrangement<Format, Threads>;
  using element                       = typename Format::element;
  using bits_type                     = typename Format::bits_type;
  using vectors                       = typename arrangement::vectors;
  using values                        = typename arrangement::values;
  using operands                      = compress_operands<Source, Emitted>;
  using place                         = typename tile_grid<Format>::tile;
  static constexpr bool emits         = is_present<Emitted>;
  static constexpr bool keeps_bits    = is_identity<Op> && std::is_same_v<Source, element>;
  static constexpr bool emits_bits    = is_identity<Op> && std::is_same_v<Source, Emitted>;
  static constexpr bool is_plain_copy = keeps_bits && !emits;
  static constexpr int run_values     = vector_values<bits_type>;
  using emitted_element = std::conditional_t<emits, Emitted, element>;  // one that exists
  using source_run      = value_run<Source, run_values>;
  using stored_run      = value_run<element, run_values>;
  using emitted_run     = value_run<emitted_element, run_values>;
  // Sources in flight at a time: what the registers have room for.
  static constexpr std::uint32_t batch = 32 / source_run::num_words;

  /// A tile as compress_kernel holds it, 0 outside the valid rows and columns.
  /// Threads: all of the group; no synchronisation.
  template <class Tile>
  __device__ static __forceinline__ void load(thread_group<Threads> group,
                                              operands const& from,
                                              place at,
                                              Tile& tile) {
    std::uint64_t const first_row = std::uint64_t{at.tile_row} * Format::rows;
    std::uint32_t const rows      = rows_of_tile<Format>(from.num_rows, first_row, at.valid_rows);
    tile_window<typename Source::bits_type const> const source{
        tile_corner<Format>(from.source.data, from.source.ld, at),
        from.source.ld,
        rows,
        at.valid_cols};
    if constexpr (is_plain_copy) {
      arrangement::load(group, source, tile);
    } else {
      tile_window<typename emitted_element::bits_type> emitted{};
      if constexpr (emits) {
        emitted = {tile_corner<Format>(from.emitted.data, from.emitted.ld, at),
                   from.emitted.ld,
                   rows,
                   at.valid_cols};
      }
      float const scale         = is_scaled<element> ? factor_at(from.scale) : 1.0f;
      float const emitted_scale = is_scaled<emitted_element> ? factor_at(from.emitted_scale) : 1.0f;
      load_and_apply(group, source, emitted, scale, emitted_scale, tile);
    }
  }

 private:
  using source_window  = tile_window<typename Source::bits_type const>;
  using emitted_window = tile_window<typename emitted_element::bits_type>;

  __device__ static __forceinline__ void load_and_apply(thread_group<Threads> group,
                                                        source_window source,
                                                        emitted_window emitted,
                                                        float scale,
                                                        float emitted_scale,
                                                        vectors& tile) {
    bool const interior = source.valid_rows == Format::rows && source.valid_cols == Format::cols;
#pragma unroll
    for (std::uint32_t first = 0; first < arrangement::vectors_per_thread; first += batch) {
      source_run loaded[batch];
#pragma unroll
      for (std::uint32_t k = 0; k < batch && first + k < arrangement::vectors_per_thread; ++k) {
        std::uint32_t const i = first + k;
        loaded[k].clear();
        if (!arrangement::is_vector(group, i)) continue;
        auto const* const from = arrangement::vector_address(group, source, i);
        if (interior) {
          loaded[k].load(from);
        } else {
          for_each_valid(group, source, i, [&](int j) { loaded[k].or_value(j, from[j]); });
        }
      }
#pragma unroll
      for (std::uint32_t k = 0; k < batch && first + k < arrangement::vectors_per_thread; ++k) {
        std::uint32_t const i = first + k;
        tile[i]               = uint4{0, 0, 0, 0};
        if (!arrangement::is_vector(group, i)) continue;
        stored_run stored;
        emitted_run result;
        apply(loaded[k], scale, emitted_scale, stored, result);
        if (!interior) {  // an op may make something of nothing
          stored_run const all = stored;
          stored.clear();
          for_each_valid(group, source, i, [&](int j) { stored.or_value(j, all.value(j)); });
        }
        tile[i] = uint4{stored.words[0], stored.words[1], stored.words[2], stored.words[3]};
        if constexpr (emits) {
          auto* const to = arrangement::vector_address(group, emitted, i);
          if (interior) {
            result.store(to);
          } else {
            for_each_valid(group, source, i, [&](int j) { to[j] = result.value(j); });
          }
        }
      }
    }
  }

  __device__ static __forceinline__ void load_and_apply(thread_group<Threads> group,
                                                        source_window source,
                                                        emitted_window emitted,
                                                        float scale,
                                                        float emitted_scale,
                                                        values& tile) {
#pragma unroll
    for (std::uint32_t i = 0; i < arrangement::values_per_thread; ++i) {
      std::uint32_t const row = arrangement::value_index(group, i) / Format::cols;
      std::uint32_t const col = arrangement::value_index(group, i) % Format::cols;
      tile[i]                 = 0;
      if (row >= source.valid_rows || col >= source.valid_cols) continue;
      auto const bits           = source.corner[row * source.ld + col];
      forward_values const made = Op::apply(to_float<Source>(bits));
      if constexpr (keeps_bits) {
        tile[i] = bits;
      } else {
        tile[i] = from_float<element>(scaled<element>(made.stored, scale));
      }
      if constexpr (emits) {
        auto& to = emitted.corner[row * emitted.ld + col];
        if constexpr (emits_bits) {
          to = bits;
        } else {
          to = from_float<emitted_element>(scaled<emitted_element>(made.emitted, emitted_scale));
        }
      }
    }
  }

  /// Calls visit(j) for the values of a thread's vector i that are valid.
  template <class Window, class Visit>
  __device__ static __forceinline__ void for_each_valid(thread_group<Threads> group,
                                                        Window const& window,
                                                        std::uint32_t i,
                                                        Visit visit) {
    auto const where = arrangement::vector_position(group, i);
    if (where.row >= window.valid_rows) return;
#pragma unroll
    for (int j = 0; j < run_values; ++j) {
      if (where.col + j < window.valid_cols) visit(j);
    }
  }

  __device__ static __forceinline__ void apply(source_run const& source,
                                               float scale,
                                               float emitted_scale,
                                               stored_run& stored,
                                               emitted_run& emitted) {
    if constexpr (std::is_same_v<Op, relu> && sizeof(bits_type) == 2 &&
                  std::is_same_v<Source, element> && std::is_same_v<emitted_element, element>) {
#pragma unroll
      for (int w = 0; w < stored_run::num_words; ++w) {
        stored.words[w] = emitted.words[w] = relu_of_pair<element>(source.words[w]);
      }
    } else {
      float numbers[run_values], seconds[run_values];
      source.to_floats(numbers);
#pragma unroll
      for (int j = 0; j < run_values; ++j) {
        forward_values const made = Op::apply(numbers[j]);
        numbers[j]                = scaled<element>(made.stored, scale);
        seconds[j]                = scaled<emitted_element>(made.emitted, emitted_scale);
      }
      if constexpr (keeps_bits) {
#pragma unroll
        for (int w = 0; w < stored_run::num_words; ++w) stored.words[w] = source.words[w];
      } else {
        stored.from_floats(numbers);
      }
      if constexpr (emits_bits) {
#pragma unroll
        for (int w = 0; w < emitted_run::num_words; ++w) emitted.words[w] = source.words[w];
      } else if constexpr (emits) {
        emitted.from_floats(seconds);
      }
    }
  }

  /// What relu and the rounding make of two 16-bit numbers, in one instruction.
  template <class Element>
  __device__ static __forceinline__ std::uint32_t relu_of_pair(std::uint32_t pair) {
    std::uint32_t result;
    if constexpr (std::is_same_v<Element, bf16>) {
      asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(pair), "r"(0u));
    } else {
      asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(pair), "r"(0u));
    }
    return result;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
