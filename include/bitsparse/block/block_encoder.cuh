// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: encoding one tile by a thread group, from registers into a chunk in shared memory, and
/// from there to global memory.
#pragma once

#include <vector_types.h>
#include <cstddef>
#include <cstdint>

#include <bitsparse/block/mask_storage.cuh>
#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/tile_arrangement.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/warp/mask.cuh>
#include <bitsparse/warp/pack.cuh>
#include <bitsparse/warp/rank.cuh>

namespace bitsparse {
inline namespace v0 {

/// What plan() decided, the same in every thread of the group.
struct tile_plan {
  encoding form;
  std::uint32_t kept;
  std::uint32_t chunk_units;
};

/// Encodes one tile. The chunk's bytes equal the host codec's.
///
/// Use, by all threads of the group:
///
///     tile_plan const plan = encoder.plan(tile, valid_rows, valid_cols);
///     if (plan.chunk_units != 0) {
///       // ... take plan.chunk_units * 16 bytes, 16-byte aligned, somewhere ...
///       encoder.stage(tile);
///       group.sync();
///       encoder.store(target);
///     }
///
/// Shapes: a tile in either arrangement of tile_arrangement<Format, Threads>, 0 outside the valid
///   rows x columns.
/// Threads: all of the group call each member. plan() synchronises the group once; stage() and
///   store() do not. Before the storage is used again for another tile, or for anything else, the
///   caller synchronises the group.
/// Storage: temp_storage in shared memory, 16-byte aligned.
/// Traffic: store() writes the chunk once in 16-byte vectors; nothing else touches global memory.
/// @tparam Codec codec::fast or codec::sign
template <class Format, class Codec, int Threads>
class block_encoder {
  static_assert(
      (Codec::encodings & ~codec::sign::encodings) == 0,
      "bitsparse: codec compact has no device encoder yet; use codec::sign or codec::fast");

 public:
  using arrangement = tile_arrangement<Format, Threads>;
  using bits_type   = typename Format::bits_type;
  using vectors     = typename arrangement::vectors;
  using values      = typename arrangement::values;

 private:
  static constexpr std::uint32_t vectors_per_thread = arrangement::vectors_per_thread;
  static constexpr std::uint32_t values_per_thread  = arrangement::values_per_thread;
  static constexpr std::uint32_t word_rows          = detail::ceil_div(values_per_thread, 32u);
  using rank_of_vectors = warp_rank<vectors_per_thread, vector_values<bits_type>>;
  using rank_of_words   = warp_rank<word_rows, 32>;
  static constexpr std::uint32_t num_items =
      vectors_per_thread > word_rows ? vectors_per_thread : word_rows;
  static constexpr std::uint32_t sign_flag = 0x80000000u;
  static constexpr bool uses_sign =
      (Codec::encodings & detail::encoding_bit(encoding::flat_sign)) != 0;

 public:
  struct temp_storage {
    alignas(16) std::byte chunk[Format::tile_bytes];
    mask_storage<Format> mask;
    std::uint32_t warp_totals[thread_group<Threads>::num_warps];  // kept values | sign_flag
    union {
      typename rank_of_vectors::temp_storage vectors;
      typename rank_of_words::temp_storage words;
    } rank;
  };

  __device__ __forceinline__ block_encoder(temp_storage& storage, thread_group<Threads> group)
      : storage_(storage), group_(group) {}

  /// Finds mask, counts and encoding of a tile held as vectors.
  __device__ __forceinline__ tile_plan plan(vectors const& tile,
                                            std::uint32_t valid_rows,
                                            std::uint32_t valid_cols) {
    std::uint32_t counts[vectors_per_thread];
    std::uint32_t any = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      std::uint32_t const index = arrangement::vector_index(group_, i);
      std::uint32_t const mask  = vector_mask<bits_type>(tile[i]);
      counts[i]                 = __popc(mask);
      any |= tile[i].x | tile[i].y | tile[i].z | tile[i].w;
      storage_.mask.set_vector_bits(index, mask, arrangement::is_vector(group_, i));
    }
    bool const any_sign = uses_sign && (any & broadcast_vector<bits_type>(sign_bit).x) != 0;
    std::uint32_t const sum =
        rank_of_vectors::exclusive(counts, storage_.rank.vectors);
    return finish_plan(counts, sum, any_sign, valid_rows, valid_cols);
  }

  /// Finds mask, counts and encoding of a tile held as values: a ballot gives a mask word per step.
  __device__ __forceinline__ tile_plan plan(values const& tile,
                                            std::uint32_t valid_rows,
                                            std::uint32_t valid_cols) {
    std::uint32_t counts[word_rows] = {};
    bits_type any                   = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < values_per_thread; ++i) {
      std::uint32_t const word = warp_mask_word(tile[i]);
      any |= tile[i];
      if (i % 32 == 0) words_[i / 32] = 0;
      if (group_.lane() == i % 32) words_[i / 32] = word;  // lane l keeps words l, 32 + l, ...
    }
#pragma unroll
    for (std::uint32_t row = 0; row < word_rows; ++row) {
      std::uint32_t const word = 32 * row + group_.lane();
      counts[row]              = __popc(words_[row]);
      if (word < values_per_thread)
        storage_.mask.words[group_.warp() * values_per_thread + word] = words_[row];
    }
    std::uint32_t const sum = rank_of_words::exclusive(counts, storage_.rank.words);
    return finish_plan(counts, sum, uses_sign && (any & sign_bit) != 0, valid_rows, valid_cols);
  }

  /// Puts the chunk together in the storage, but for the carried mask bits.
  __device__ __forceinline__ void stage(vectors const& tile) {
    auto* const target = reinterpret_cast<bits_type*>(storage_.chunk);
    if (plan_.form == encoding::dense) {
#pragma unroll
      for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
        std::uint32_t const index = arrangement::vector_index(group_, i);
        if (!arrangement::is_vector(group_, i)) continue;
        if (is_full_) {
          reinterpret_cast<uint4*>(target)[index] = tile[i];
        } else {
#pragma unroll
          for (std::uint32_t j = 0; j < vector_values<bits_type>; ++j) {
            stage_dense(index * vector_values<bits_type> + j, vector_value<bits_type>(tile[i], j));
          }
        }
      }
      clear_dense_padding();
      return;
    }
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      if (!arrangement::is_vector(group_, i)) continue;
      // Read back rather than kept: the compiler would compute it a second time to save the
      // register.
      std::uint32_t const mask = storage_.mask.vector_bits(arrangement::vector_index(group_, i));
      pack_vector(tile[i], mask, target + rank_[i]);
    }
    stage_rest();
  }

  /// Puts the chunk together in the storage, but for the carried mask bits.
  __device__ __forceinline__ void stage(values const& tile) {
    auto* const target = reinterpret_cast<bits_type*>(storage_.chunk);
    if (plan_.form == encoding::dense) {
#pragma unroll
      for (std::uint32_t i = 0; i < values_per_thread; ++i) {
        stage_dense(arrangement::value_index(group_, i), tile[i]);
      }
      clear_dense_padding();
      return;
    }
#pragma unroll
    for (std::uint32_t i = 0; i < values_per_thread; ++i) {
      std::uint32_t const word = __shfl_sync(0xffffffffu, words_[i / 32], i % 32);
      std::uint32_t const rank = __shfl_sync(0xffffffffu, rank_[i / 32], i % 32);
      std::uint32_t const bit  = 1u << group_.lane();
      if (word & bit) target[rank + __popc(word & (bit - 1))] = tile[i];
    }
    stage_rest();
  }

  /// Copies the staged chunk to `target`, adding the carried mask bits.
  /// Alignment: target 16 bytes, in global memory.
  __device__ __forceinline__ void store(std::byte* target) const {
    auto const* const chunk = reinterpret_cast<uint4 const*>(storage_.chunk);
    for (std::uint32_t q = group_.rank(); q < plan_.chunk_units; q += Threads) {
      uint4 vector = chunk[q];
      if (uses_sign && q < carried_words_ * (32 / vector_values<bits_type>)) {
        vector = set_signs<bits_type>(vector, storage_.mask.vector_bits(q));
      }
      reinterpret_cast<uint4*>(target)[q] = vector;
    }
  }

 private:
  static constexpr bits_type sign_bit = detail::sign_bit<typename Format::element>;

  template <std::uint32_t Items>
  __device__ __forceinline__ tile_plan finish_plan(std::uint32_t const (&ranks)[Items],
                                                   std::uint32_t sum,
                                                   bool any_sign,
                                                   std::uint32_t valid_rows,
                                                   std::uint32_t valid_cols) {
    if (uses_sign && __any_sync(0xffffffffu, any_sign)) sum |= sign_flag;
    if (group_.lane() == 0) storage_.warp_totals[group_.warp()] = sum;
    group_.sync();
    std::uint32_t before = 0, kept = 0, flags = 0;
#pragma unroll
    for (std::uint32_t warp = 0; warp < thread_group<Threads>::num_warps; ++warp) {
      std::uint32_t const total = storage_.warp_totals[warp];
      flags |= total;
      if (warp == group_.warp()) before = kept;
      kept += total & ~sign_flag;
    }
#pragma unroll
    for (std::uint32_t i = 0; i < Items; ++i) rank_[i] = before + ranks[i];

    detail::tile_summary const summary{
        kept, valid_rows * valid_cols, 0, 0, (flags & sign_flag) != 0};
    detail::encoding_choice const choice = detail::choose_encoding<Format, Codec>(summary);
    valid_cols_                          = valid_cols;
    valid_rows_                          = valid_rows;
    is_full_                             = valid_rows == Format::rows && valid_cols == Format::cols;
    plan_                                = {choice.form, kept, choice.units};
    carried_words_                       = choice.form == encoding::flat_sign ? kept / 32 : 0;
    return plan_;
  }

  /// What is left of the mask, and zeros wherever a stream is padded.
  __device__ __forceinline__ void stage_rest() {
    auto* const words         = reinterpret_cast<std::uint32_t*>(storage_.chunk);
    chunk_layout const layout = detail::layout_of<Format>(plan_.form, plan_.kept, 0);
    for (std::uint32_t j = carried_words_ + group_.rank(); j < Format::mask_words; j += Threads) {
      words[layout.mask_offset / 4 + j - carried_words_] = storage_.mask.words[j];
    }
    clear(plan_.kept * sizeof(bits_type), layout.mask_offset);
    clear(layout.bytes, plan_.chunk_units * unit_bytes);
  }

  __device__ __forceinline__ void stage_dense(std::uint32_t value, bits_type bits) {
    std::uint32_t const row = value / Format::cols;
    std::uint32_t const col = value % Format::cols;
    if (row < valid_rows_ && col < valid_cols_) {
      reinterpret_cast<bits_type*>(storage_.chunk)[row * valid_cols_ + col] = bits;
    }
  }
  __device__ __forceinline__ void clear_dense_padding() {
    clear(valid_rows_ * valid_cols_ * sizeof(bits_type), plan_.chunk_units * unit_bytes);
  }

  /// Zeroes the chunk's bytes [first, last): fewer than 16, whole values.
  __device__ __forceinline__ void clear(std::uint32_t first, std::uint32_t last) {
    std::uint32_t const value = first / sizeof(bits_type) + group_.rank();
    if (value < last / sizeof(bits_type)) reinterpret_cast<bits_type*>(storage_.chunk)[value] = 0;
  }

  temp_storage& storage_;
  thread_group<Threads> group_;
  std::uint32_t words_[word_rows];  // value arrangement: (word_rows,) this lane's mask words
  std::uint32_t
      rank_[num_items];  // (vectors_per_thread,) of the vectors, or (word_rows,) of the words
  tile_plan plan_;
  std::uint32_t carried_words_;
  std::uint32_t valid_rows_;
  std::uint32_t valid_cols_;
  bool is_full_;
};

}  // namespace v0
}  // namespace bitsparse
