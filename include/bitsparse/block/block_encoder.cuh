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
///   stage() does with codec::compact, also for a tile without a chunk, and not with the others; store()
///   does not. Before the storage is
///   used again for another tile, or for anything else, the caller synchronises the group.
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
  using record          = kept_record<bits_type>;
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

  struct nothing {};
  struct elias_fano_storage {
    std::uint32_t words[Format::mask_words + 1];
  };

 public:
  struct temp_storage {
    alignas(
        16) std::byte chunk[Format::tile_bytes];  // dense, or the kept values or records, by rank
    mask_storage<Format> mask;
    std::conditional_t<uses_elias_fano, elias_fano_storage, nothing> elias_fano;
    tile_plan plan;  // for store(), so that its registers are free while the values are packed
    std::uint32_t warp_totals[thread_group<Threads>::num_warps];    // kept values | sign_flag
    std::uint32_t warp_extremes[thread_group<Threads>::num_warps];  // see window_extremes
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
      storage_.mask.set_vector_bits(index, mask, arrangement::is_vector(group_, i));
    }
    bool const any_sign     = uses_sign && (any & broadcast_vector<bits_type>(sign_bit).x) != 0;
    std::uint32_t const sum = rank_of_vectors::exclusive(counts, storage_.rank.vectors);
    return finish_plan(counts, sum, any_sign, extremes, valid_rows, valid_cols);
  }

  /// Finds mask, counts and encoding of a tile held as values: a ballot gives a mask word per step.
  __device__ __forceinline__ tile_plan plan(values const& tile,
                                            std::uint32_t valid_rows,
                                            std::uint32_t valid_cols) {
    std::uint32_t counts[word_rows] = {};
    bits_type any                   = 0;
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
        storage_.mask.words[group_.warp() * values_per_thread + word] = words_[row];
    }
    std::uint32_t const sum = rank_of_words::exclusive(counts, storage_.rank.words);
    bool const any_sign     = uses_sign && (any & sign_bit) != 0;
    return finish_plan(counts, sum, any_sign, extremes, valid_rows, valid_cols);
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
    } else if (plan_.form != encoding::zero) {
      auto const for_each_vector = [&](auto const& pack) {
#pragma unroll
        for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
          std::uint32_t const index = arrangement::vector_index(group_, i);
          if (!arrangement::is_vector(group_, i)) continue;
          // Read back rather than kept: the compiler would compute it a second time to save the
          // register.
          pack(i, index, storage_.mask.vector_bits(index));
        }
      };
      if (is_elias_fano()) {
        for_each_vector([&](std::uint32_t i, std::uint32_t index, std::uint32_t mask) {
          pack_records(tile[i], mask, index * per_vector, records() + rank_[i]);
        });
      } else {
        for_each_vector([&](std::uint32_t i, std::uint32_t, std::uint32_t mask) {
          pack_vector(tile[i], mask, kept_values() + rank_[i]);
        });
      }
    }
    if constexpr (uses_elias_fano) {
      group_.sync();
      if (is_elias_fano()) build_elias_fano();
    }
  }

  /// Puts together in the storage what the chunk is made of.
  __device__ __forceinline__ void stage(values const& tile) {
    clear_padding();
    if (plan_.form == encoding::dense) {
#pragma unroll
      for (std::uint32_t i = 0; i < values_per_thread; ++i) {
        stage_dense(arrangement::value_index(group_, i), tile[i]);
      }
    } else if (plan_.form != encoding::zero) {
#pragma unroll
      for (std::uint32_t i = 0; i < values_per_thread; ++i) {
        std::uint32_t const word = __shfl_sync(0xffffffffu, words_[i / 32], i % 32);
        std::uint32_t const rank = __shfl_sync(0xffffffffu, rank_[i / 32], i % 32) +
                                   __popc(word & ((1u << group_.lane()) - 1));
        if ((word >> group_.lane() & 1) == 0) continue;
        if (is_elias_fano()) {
          records()[rank] = record::of(tile[i], arrangement::value_index(group_, i));
        } else {
          kept_values()[rank] = tile[i];
        }
      }
    }
    if constexpr (uses_elias_fano) {
      group_.sync();
      if (is_elias_fano()) build_elias_fano();
    }
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
  template <std::uint32_t Items>
  __device__ __forceinline__ tile_plan finish_plan(std::uint32_t const (&ranks)[Items],
                                                   std::uint32_t sum,
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
    if constexpr (uses_elias_fano) {
      for (std::uint32_t j = group_.rank(); j < Format::mask_words + 1; j += Threads) {
        storage_.elias_fano.words[j] = 0;
      }
    }
    group_.sync();
    std::uint32_t before = 0, kept = 0, flags = 0, largest = 0, smallest = 0xffffu;
#pragma unroll
    for (std::uint32_t warp = 0; warp < thread_group<Threads>::num_warps; ++warp) {
      std::uint32_t const total = storage_.warp_totals[warp];
      flags |= total;
      if (warp == group_.warp()) before = kept;
      kept += total & ~sign_flag;
      if constexpr (uses_window) {
        std::uint32_t const extremes_of_warp = storage_.warp_extremes[warp];
        largest                              = max(largest, extremes_of_warp >> 16);
        smallest = min(smallest, (extremes_of_warp - 1) & 0xffffu);  // 0 if there is no value
      }
    }
#pragma unroll
    for (std::uint32_t i = 0; i < Items; ++i) rank_[i] = before + ranks[i];

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

  /// Zeroes what the dense chunk, or the last vector of kept values, is padded with.
  __device__ __forceinline__ void clear_padding() {
    if (plan_.form == encoding::dense) {
      std::uint32_t const value = valid_rows_ * valid_cols_ + group_.rank();
      if (value * sizeof(bits_type) < plan_.chunk_units * unit_bytes) kept_values()[value] = 0;
    } else {
      // Values and records are read by vectors, indices by 8.
      std::uint32_t const value = plan_.kept + group_.rank();
      if (value >= detail::round_up(plan_.kept, per_vector > 8 ? per_vector : 8)) return;
      if (is_elias_fano()) {
        records()[value] = record::of(0, 0xffff);  // see build_elias_fano()
      } else if (value < Format::values) {
        kept_values()[value] = 0;
      }
    }
  }

  /// Builds the mask stream from the records, over zeros; a thread for 8 consecutive values at a time,
  /// whose parts are added at once.
  __device__ __forceinline__ void build_elias_fano() {
    std::uint32_t* const words     = storage_.elias_fano.words;
    std::uint32_t const lower_bits = detail::lower_bits<Format>(plan_.kept);
    std::uint32_t* const lower     = words + detail::upper_words<Format>(plan_.kept);
    for (std::uint32_t q = group_.rank(); 8 * q < plan_.kept; q += Threads) {
      std::uint32_t const count = min(plan_.kept - 8 * q, 8u);
      std::uint32_t indices[8];
      indices_of_records(records() + 8 * q, indices);
      std::uint32_t lower_parts[2] = {0, 0};  // of four values each
#pragma unroll
      for (std::uint32_t i = 8; i-- > 0;) {
        std::uint32_t& part = lower_parts[i / 4];
        part                = (part << lower_bits) + (indices[i] & ((1u << lower_bits) - 1));
      }
      std::uint64_t all = lower_parts[0] | std::uint64_t{lower_parts[1]} << 4 * lower_bits;
      if (count < 8) all &= (std::uint64_t{1} << count * lower_bits) - 1;
      std::uint32_t const at          = 8 * q * lower_bits;
      std::uint32_t const first_part  = static_cast<std::uint32_t>(all);
      std::uint32_t const second_part = static_cast<std::uint32_t>(all >> 32);
      atomicOr(&lower[at / 32], first_part << at % 32);
      std::uint32_t const next = __funnelshift_l(first_part, second_part, at % 32);
      if (next != 0) atomicOr(&lower[at / 32 + 1], next);
      if (lower_bits > 4) {
        std::uint32_t const last = __funnelshift_l(second_part, 0, at % 32);
        if (last != 0) atomicOr(&lower[at / 32 + 2], last);
      }
      // Upper parts: nearly always all 8 lie in two words. Padding lies far behind them.
      std::uint32_t const first = (8 * q + (indices[0] >> lower_bits)) / 32 * 32;
      std::uint32_t low = 0, high = 0;
#pragma unroll
      for (std::uint32_t i = 0; i < 8; ++i) {
        std::uint32_t const bit = 8 * q + i + (indices[i] >> lower_bits) - first;
        low |= detail::bit_or_none(bit);
        high |= detail::bit_or_none(bit - 32);
      }
      atomicOr(&words[first / 32], low);
      if (high != 0) atomicOr(&words[first / 32 + 1], high);
      if (__popc(low) + __popc(high) != count) {
        for (std::uint32_t i = 0; i < count; ++i) {
          std::uint32_t const bit = 8 * q + i + (records()[8 * q + i].index() >> lower_bits);
          if (bit - first >= 64) atomicOr(&words[bit / 32], 1u << bit % 32);
        }
      }
    }
  }

  __device__ __forceinline__ bool is_elias_fano() const {
    return uses_elias_fano && detail::is_elias_fano(plan_.form);
  }
  __device__ __forceinline__ bool is_window() const {
    return uses_window && detail::is_window(plan_.form);
  }
  __device__ __forceinline__ bits_type* kept_values() const {
    return reinterpret_cast<bits_type*>(storage_.chunk);
  }
  __device__ __forceinline__ record* records() const {
    return reinterpret_cast<record*>(storage_.chunk);
  }
  __device__ __forceinline__ std::uint32_t const* stream_words() const {
    if constexpr (uses_elias_fano) {
      if (is_elias_fano()) return storage_.elias_fano.words;
    }
    return storage_.mask.words;
  }
  /// Vector q of the kept values.
  __device__ __forceinline__ uint4 kept_vector(std::uint32_t q) const {
    if (!is_elias_fano()) {
      return reinterpret_cast<uint4 const*>(storage_.chunk)[q];
    }
    return values_of_records(records() + q * per_vector);
  }

  __device__ __forceinline__ void stage_dense(std::uint32_t value, bits_type bits) {
    std::uint32_t const row = value / Format::cols;
    std::uint32_t const col = value % Format::cols;
    if (row < valid_rows_ && col < valid_cols_) kept_values()[row * valid_cols_ + col] = bits;
  }

  temp_storage& storage_;
  thread_group<Threads> group_;
  std::uint32_t words_[word_rows];  // value arrangement: (word_rows,) this lane's mask words
  std::uint32_t
      rank_[num_items];  // (vectors_per_thread,) of the vectors, or (word_rows,) of the words
  tile_plan plan_;
  std::uint32_t base_;  // of window values
  std::uint32_t valid_rows_;
  std::uint32_t valid_cols_;
  bool is_full_;
};

}  // namespace v0
}  // namespace bitsparse
