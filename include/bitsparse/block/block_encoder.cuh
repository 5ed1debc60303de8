// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: encoding one tile by a thread group, from registers through shared memory into a chunk
/// in global memory.
#pragma once

#include <vector_types.h>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/block/elias_fano_encoder.cuh>
#include <bitsparse/block/mask_storage.cuh>
#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/tile_arrangement.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/warp/choose.cuh>
#include <bitsparse/warp/mask.cuh>
#include <bitsparse/warp/pack.cuh>
#include <bitsparse/warp/rank.cuh>
#include <bitsparse/warp/window.cuh>

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
///     // ... take plan.chunk_units * 16 bytes, 16-byte aligned, somewhere ...
///     encoder.stage(tile);
///     group.sync();
///     encoder.store(target);  // unless plan.chunk_units is 0
///
/// Shapes: a tile in either arrangement of tile_arrangement<Format, Threads>, 0 outside the valid
///   rows x columns.
/// Threads: all of the group call each member. plan() synchronises the group once, whatever the tile;
///   stage() does with codec::compact, as often for every tile, and not with the others; store() does
///   not. Before the storage is used again for another tile, or for anything else, the caller
///   synchronises the group.
/// Storage: temp_storage in shared memory, 16-byte aligned.
/// Traffic: store() writes the chunk once; nothing else touches global memory.
/// @tparam Codec codec::fast, codec::sign or codec::compact
template <class Format, class Codec, int Threads>
class block_encoder {
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
  static constexpr std::uint32_t per_vector = vector_values<bits_type>;
  static constexpr std::uint32_t sign_flag  = 0x80000000u;
  static constexpr bits_type sign_bit       = detail::sign_bit<typename Format::element>;

  static constexpr bool may_choose(encoding e) {
    return (Codec::encodings & detail::encoding_bit(e)) != 0;
  }
  static constexpr bool uses_sign       = may_choose(encoding::flat_sign);
  static constexpr bool uses_elias_fano = may_choose(encoding::elias_fano_raw);
  static constexpr bool uses_window =
      may_choose(encoding::flat_window3) && Format::element::has_window;

  using elias_fano = detail::elias_fano_encoder<Format, Threads>;
  struct nothing {};
  template <class Type>
  using if_elias_fano = std::conditional_t<uses_elias_fano, Type, nothing>;
  struct mask_and_list {
    mask_storage<Format> mask;
    if_elias_fano<typename elias_fano::index_list> list;
  };
  union mask_or_list {
    mask_storage<Format> mask;
    if_elias_fano<typename elias_fano::index_list> list;
  };

 public:
  struct temp_storage {
    // The dense tile, and a 0 behind it, or the kept values by rank.
    alignas(16) std::byte chunk[Format::tile_bytes + (uses_elias_fano ? unit_bytes : 0)];
    std::conditional_t<elias_fano::overlays_mask, mask_or_list, mask_and_list> indices;
    if_elias_fano<typename elias_fano::mask_stream> elias_fano_stream;
    tile_plan plan;  // for store(), so that its registers are free while the values are packed
    std::uint32_t warp_totals[thread_group<Threads>::num_warps];    // kept values | sign_flag
    std::uint32_t warp_extremes[thread_group<Threads>::num_warps];  // see window_extremes
    union {
      typename rank_of_vectors::temp_storage vectors;
      typename rank_of_words::temp_storage words;
      typename elias_fano::rank_storage indices;
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
    window_extremes extremes;
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      std::uint32_t const index = arrangement::vector_index(group_, i);
      std::uint32_t const mask  = vector_mask<bits_type>(tile[i]);
      counts[i]                 = __popc(mask);
      if constexpr (uses_window) {
        extremes.add(tile[i]);
      } else if constexpr (uses_sign) {
        any |= tile[i].x | tile[i].y | tile[i].z | tile[i].w;
      }
      storage_.indices.mask.set_vector_bits(index, mask, arrangement::is_vector(group_, i));
    }
    bool const any_sign = uses_sign && (any & broadcast_vector<bits_type>(sign_bit).x) != 0;
    return finish_plan(count<rank_of_vectors>(counts, storage_.rank.vectors),
                       any_sign,
                       extremes,
                       valid_rows,
                       valid_cols);
  }

  /// Finds mask, counts and encoding of a tile held as values: a ballot gives a mask word per step.
  __device__ __forceinline__ tile_plan plan(values const& tile,
                                            std::uint32_t valid_rows,
                                            std::uint32_t valid_cols) {
    std::uint32_t counts[word_rows];
    bits_type any = 0;
    window_extremes extremes;
#pragma unroll
    for (std::uint32_t i = 0; i < values_per_thread; ++i) {
      std::uint32_t const word = warp_mask_word(tile[i]);
      if constexpr (uses_window) {
        extremes.add(tile[i]);
      } else {
        any |= tile[i];
      }
      if (i % 32 == 0) words_[i / 32] = 0;
      if (group_.lane() == i % 32) words_[i / 32] = word;  // lane l keeps words l, 32 + l, ...
    }
#pragma unroll
    for (std::uint32_t row = 0; row < word_rows; ++row) {
      std::uint32_t const word = 32 * row + group_.lane();
      counts[row]              = __popc(words_[row]);
      if (word < values_per_thread)
        storage_.indices.mask.words[group_.warp() * values_per_thread + word] = words_[row];
    }
    bool const any_sign = uses_sign && (any & sign_bit) != 0;
    return finish_plan(count<rank_of_words>(counts, storage_.rank.words),
                       any_sign,
                       extremes,
                       valid_rows,
                       valid_cols);
  }

  /// Puts together in the storage what the chunk is made of.
  __device__ __forceinline__ void stage(vectors const& tile) {
    clear_padding();
    if (plan_.form == encoding::dense) {
#pragma unroll
      for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
        std::uint32_t const index = arrangement::vector_index(group_, i);
        if (!arrangement::is_vector(group_, i)) continue;
        if (is_full_) {
          reinterpret_cast<uint4*>(storage_.chunk)[index] = tile[i];
        } else {
#pragma unroll
          for (std::uint32_t j = 0; j < per_vector; ++j) {
            stage_dense(index * per_vector + j, vector_value<bits_type>(tile[i], j));
          }
        }
      }
    } else if (is_elias_fano()) {
      arrangement::store_shared(group_, tile, kept_values());
    } else if (plan_.form != encoding::zero) {
      std::uint32_t ranks[vectors_per_thread];
#pragma unroll
      for (std::uint32_t i = 0; i < vectors_per_thread; ++i)
        ranks[i] = uses_elias_fano ? __popc(vector_mask_of(i)) : rank_[i];
      if constexpr (uses_elias_fano) (void)rank_of_vectors::exclusive(ranks, storage_.rank.vectors);
#pragma unroll
      for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
        // The mask is read back rather than kept: the compiler would compute it a second time to save
        // the register.
        pack_vector(tile[i], vector_mask_of(i), kept_values() + before_ + ranks[i]);
      }
    }
    stage_elias_fano<sizeof(tile) / sizeof(bits_type)>();
  }

  /// Puts together in the storage what the chunk is made of.
  __device__ __forceinline__ void stage(values const& tile) {
    clear_padding();
    if (plan_.form == encoding::dense) {
#pragma unroll
      for (std::uint32_t i = 0; i < values_per_thread; ++i) {
        stage_dense(arrangement::value_index(group_, i), tile[i]);
      }
    } else if (is_elias_fano()) {
#pragma unroll
      for (std::uint32_t i = 0; i < values_per_thread; ++i)
        kept_values()[arrangement::value_index(group_, i)] = tile[i];
    } else if (plan_.form != encoding::zero) {
      std::uint32_t ranks[word_rows];
#pragma unroll
      for (std::uint32_t row = 0; row < word_rows; ++row)
        ranks[row] = uses_elias_fano ? __popc(words_[row]) : rank_[row];
      if constexpr (uses_elias_fano) (void)rank_of_words::exclusive(ranks, storage_.rank.words);
#pragma unroll
      for (std::uint32_t i = 0; i < values_per_thread; ++i) {
        std::uint32_t const word = __shfl_sync(0xffffffffu, words_[i / 32], i % 32);
        std::uint32_t const rank = before_ + __shfl_sync(0xffffffffu, ranks[i / 32], i % 32) +
                                   __popc(word & ((1u << group_.lane()) - 1));
        if ((word >> group_.lane() & 1) == 0) continue;
        kept_values()[rank] = tile[i];
      }
    }
    stage_elias_fano<sizeof(tile) / sizeof(bits_type)>();
  }

  /// Writes the chunk to `target`.
  /// Alignment: target 16 bytes, in global memory.
  __device__ __forceinline__ void store(std::byte* target) const {
    tile_plan const plan     = storage_.plan;
    auto const* const staged = reinterpret_cast<uint4 const*>(storage_.chunk);
    auto* const words        = reinterpret_cast<std::uint32_t*>(target);
    if (plan.form == encoding::dense) {
      for (std::uint32_t q = group_.rank(); q < plan.chunk_units; q += Threads) {
        reinterpret_cast<uint4*>(target)[q] = staged[q];
      }
      return;
    }
    chunk_layout const layout         = detail::layout_of<Format>(plan.form, plan.kept);
    std::uint32_t const* const stream = stream_words();
    for (std::uint32_t q = group_.rank(); q * per_vector < plan.kept; q += Threads) {
      bool const carries = q < layout.carried_words * (32 / per_vector);
      uint4 vector       = kept_vector(q);
      if (is_window()) {
        window_group group = split_window(vector, base_, plan.kept - q * per_vector);
        if (carries) group.nibbles |= spread_nibble_tops(detail::vector_bits<bits_type>(stream, q));
        words[layout.nibble_offset / 4 + q] = group.nibbles;
        if (8 * q + 4 < plan.kept) {
          reinterpret_cast<uint2*>(target)[q] = {group.low[0], group.low[1]};
        } else {
          words[2 * q] = group.low[0];
        }
      } else {
        if (uses_sign && carries) {
          vector = set_signs<bits_type>(vector, detail::vector_bits<bits_type>(stream, q));
        }
        if (16 * (q + 1) <= layout.mask_offset) {
          reinterpret_cast<uint4*>(target)[q] = vector;
        } else {
          words[4 * q] = vector.x;
          if (16 * q + 4 < layout.mask_offset) words[4 * q + 1] = vector.y;
          if (16 * q + 8 < layout.mask_offset) words[4 * q + 2] = vector.z;
        }
      }
    }
    std::uint32_t* const rest      = words + layout.mask_offset / 4 - layout.carried_words;
    std::uint32_t const rest_words = plan.chunk_units * 4 - layout.mask_offset / 4;
    for (std::uint32_t j = layout.carried_words + group_.rank();
         j < layout.carried_words + rest_words;
         j += Threads) {
      std::uint32_t word = j < layout.stream_words ? stream[j] : 0;
      if (uses_window && j == layout.stream_words && detail::is_window(plan.form)) word = base_;
      rest[j] = word;
    }
  }

 private:
  /// The warp's kept values, of a lane's counts. Ranks are found here, or where values are packed if
  /// the codec may choose an encoding that needs none.
  template <class Rank, std::uint32_t Items>
  __device__ __forceinline__ std::uint32_t count(std::uint32_t (&counts)[Items],
                                                 typename Rank::temp_storage& storage) {
    std::uint32_t sum = 0;
    if constexpr (uses_elias_fano) {
#pragma unroll
      for (std::uint32_t i = 0; i < Items; ++i) sum += counts[i];
      return __reduce_add_sync(0xffffffffu, sum);
    } else {
      sum = Rank::exclusive(counts, storage);
#pragma unroll
      for (std::uint32_t i = 0; i < Items; ++i) rank_[i] = counts[i];
      return sum;
    }
  }

  /// @param sum the warp's kept values
  __device__ __forceinline__ tile_plan finish_plan(std::uint32_t sum,
                                                   bool any_sign,
                                                   window_extremes const& extremes,
                                                   std::uint32_t valid_rows,
                                                   std::uint32_t valid_cols) {
    if (uses_sign && !uses_window && __any_sync(0xffffffffu, any_sign)) sum |= sign_flag;
    if (group_.lane() == 0) storage_.warp_totals[group_.warp()] = sum;
    if constexpr (uses_window) {
      std::uint32_t const of_warp = extremes.of_warp();
      if (group_.lane() == 0) storage_.warp_extremes[group_.warp()] = of_warp;
    }
    if constexpr (uses_elias_fano) elias_fano_part().clear();
    group_.sync();
    before_            = 0;
    std::uint32_t kept = 0, flags = 0, largest = 0, smallest = 0xffffu;
#pragma unroll
    for (std::uint32_t warp = 0; warp < thread_group<Threads>::num_warps; ++warp) {
      std::uint32_t const total = storage_.warp_totals[warp];
      flags |= total;
      if (warp == group_.warp()) before_ = kept;
      kept += total & ~sign_flag;
      if constexpr (uses_window) {
        std::uint32_t const extremes_of_warp = storage_.warp_extremes[warp];
        largest                              = max(largest, extremes_of_warp >> 16);
        smallest = min(smallest, (extremes_of_warp - 1) & 0xffffu);  // 0 if there is no value
      }
    }
    base_ = ((smallest + 1) & 0x7fffu) >> 8;  // if no sign bit is set
    detail::tile_summary const summary{
        kept,
        valid_rows * valid_cols,
        (largest >> 8) - base_,
        uses_window ? largest >= sign_bit : (flags & sign_flag) != 0};
    detail::encoding_choice const choice =
        uses_elias_fano ? detail::warp_choose_encoding<Format>(summary, group_.lane())
                        : detail::choose_encoding<Format, Codec>(summary);
    valid_cols_ = valid_cols;
    valid_rows_ = valid_rows;
    is_full_    = valid_rows == Format::rows && valid_cols == Format::cols;
    plan_       = {choice.form, kept, choice.units};
    if (group_.rank() == 0) storage_.plan = plan_;
    return plan_;
  }

  /// Zeroes what the dense chunk, the last vector of kept values, or the dense tile is padded with.
  __device__ __forceinline__ void clear_padding() {
    if (plan_.form == encoding::dense) {
      std::uint32_t const value = valid_rows_ * valid_cols_ + group_.rank();
      if (value * sizeof(bits_type) < plan_.chunk_units * unit_bytes) kept_values()[value] = 0;
    } else {
      std::uint32_t const value = is_elias_fano() ? Format::values : plan_.kept;
      std::uint32_t const end =
          is_elias_fano() ? value + 1 : detail::round_up(plan_.kept, per_vector);
      if (value + group_.rank() < end) kept_values()[value + group_.rank()] = 0;
    }
  }

  /// Synchronises the group if the codec may choose an Elias-Fano mask, and builds it if it does.
  /// @tparam WarpWords mask words of a warp's share of the tile
  template <std::uint32_t WarpWords>
  __device__ __forceinline__ void stage_elias_fano() {
    if constexpr (uses_elias_fano) {
      typename elias_fano::template lane_words<WarpWords> words;
      if (is_elias_fano())
        words = elias_fano_part().template words_of<WarpWords>(storage_.indices.mask);
      if (elias_fano::overlays_mask) group_.sync();
      if (is_elias_fano()) elias_fano_part().list(words, plan_.kept, before_);
      group_.sync();
      if (is_elias_fano()) elias_fano_part().build(plan_.kept);
    }
  }

  /// The mask of a thread's vector i.
  __device__ __forceinline__ std::uint32_t vector_mask_of(std::uint32_t i) const {
    return arrangement::is_vector(group_, i)
               ? storage_.indices.mask.vector_bits(arrangement::vector_index(group_, i))
               : 0;
  }
  __device__ __forceinline__ bool is_elias_fano() const {
    return uses_elias_fano && detail::is_elias_fano(plan_.form);
  }
  __device__ __forceinline__ bool is_window() const {
    return uses_window && detail::is_window(plan_.form);
  }
  __device__ __forceinline__ elias_fano elias_fano_part() const {
    return {storage_.indices.list, storage_.elias_fano_stream, storage_.rank.indices, group_};
  }
  __device__ __forceinline__ bits_type* kept_values() const {
    return reinterpret_cast<bits_type*>(storage_.chunk);
  }
  __device__ __forceinline__ std::uint32_t const* stream_words() const {
    if constexpr (uses_elias_fano) {
      if (is_elias_fano()) return elias_fano_part().stream();
    }
    return storage_.indices.mask.words;
  }
  /// Vector q of the kept values.
  __device__ __forceinline__ uint4 kept_vector(std::uint32_t q) const {
    if constexpr (uses_elias_fano) {
      if (is_elias_fano()) return elias_fano_part().values(kept_values(), q);
    }
    return reinterpret_cast<uint4 const*>(storage_.chunk)[q];
  }

  __device__ __forceinline__ void stage_dense(std::uint32_t value, bits_type bits) {
    std::uint32_t const row = value / Format::cols;
    std::uint32_t const col = value % Format::cols;
    if (row < valid_rows_ && col < valid_cols_) kept_values()[row * valid_cols_ + col] = bits;
  }

  temp_storage& storage_;
  thread_group<Threads> group_;
  std::uint32_t words_[word_rows];  // value arrangement: (word_rows,) this lane's mask words
  std::uint32_t rank_[num_items];   // without Elias-Fano: (vectors_per_thread,) or (word_rows,)
  tile_plan plan_;
  std::uint32_t base_;    // of window values
  std::uint32_t before_;  // kept values of the warps before this one
  std::uint32_t valid_rows_;
  std::uint32_t valid_cols_;
  bool is_full_;
};

}  // namespace v0
}  // namespace bitsparse
