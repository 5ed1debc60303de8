// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: Elias-Fano masks of dense tiles in shared memory.
#pragma once

#include <vector_types.h>
#include <cstdint>

#include <bitsparse/block/mask_storage.cuh>
#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/warp/bit_list.cuh>
#include <bitsparse/warp/rank.cuh>
#include <bitsparse/warp/vector.cuh>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// The part of block_encoder that writes Elias-Fano chunks: it lists the indices of the kept values,
/// from which it builds the mask stream and gathers the values.
///
/// Use, by all threads of the group: clear(); group.sync(); the mask is there; auto words =
/// words_of(); group.sync() if overlays_mask; list(words); group.sync(); build(); group.sync();
/// values() and stream().
///
/// Threads: all of the group call each member but values() and stream(), which any may call; none
///   synchronises the group.
/// Storage: index_list, mask_stream and rank_storage in shared memory.
template <class Format, int Threads>
class elias_fano_encoder {
  using bits_type                           = typename Format::bits_type;
  static constexpr std::uint32_t per_vector = vector_values<bits_type>;
  static constexpr std::uint32_t group_size = 8;  // values that a thread takes at a time

 public:
  /// With 1-byte elements the list lies where the mask was: it is so large that less of the
  /// multiprocessor's memory would be left to L1, which costs more than a barrier (docs/tuning.md).
  static constexpr bool overlays_mask = sizeof(bits_type) == 1;

  struct index_list {
    alignas(16) std::uint16_t
        indices[round_up(max_elias_fano_kept<Format>, 16u)];  // (kept,), then `padding`
  };
  struct mask_stream {
    std::uint32_t words[Format::mask_words + 1];  // (stream_words,)
  };
  using rank_storage = typename warp_rank<1, 32>::temp_storage;

  __device__ __forceinline__ elias_fano_encoder(index_list& list,
                                                mask_stream& stream,
                                                rank_storage& rank,
                                                thread_group<Threads> group)
      : list_(list), stream_(stream), rank_(rank), group_(group) {}

  __device__ __forceinline__ void clear() const {
    for (std::uint32_t word = group_.rank(); word < Format::mask_words + 1; word += Threads)
      stream_.words[word] = 0;
  }

  /// Consecutive words of a mask, of which a thread lists the bits.
  /// @tparam WarpWords of a warp's share of the tile
  template <std::uint32_t WarpWords>
  struct lane_words {
    static constexpr std::uint32_t count = ceil_div(WarpWords, 32u);
    std::uint32_t words[count];
  };
  template <std::uint32_t WarpWords>
  __device__ __forceinline__ lane_words<WarpWords> words_of(
      mask_storage<Format> const& mask) const {
    lane_words<WarpWords> own;
#pragma unroll
    for (std::uint32_t w = 0; w < own.count; ++w) {
      std::uint32_t const in_warp = group_.lane() * own.count + w;
      std::uint32_t const word    = group_.warp() * WarpWords + in_warp;
      own.words[w] = in_warp < WarpWords && word < Format::mask_words ? mask.words[word] : 0;
    }
    return own;
  }

  /// Lists the indices of the kept values.
  /// @param before kept values of the warps before this one
  template <std::uint32_t WarpWords>
  __device__ __forceinline__ void list(lane_words<WarpWords> const& own,
                                       std::uint32_t kept,
                                       std::uint32_t before) const {
    // Indices are read by vectors' values and by groups.
    constexpr std::uint32_t multiple = per_vector > group_size ? per_vector : group_size;
    if (kept + group_.rank() < round_up(kept, multiple))
      list_.indices[kept + group_.rank()] = padding;
    std::uint32_t rank[1] = {0};
#pragma unroll
    for (std::uint32_t w = 0; w < own.count; ++w) rank[0] += __popc(own.words[w]);
    (void)warp_rank<1, 32 * own.count>::exclusive(rank, rank_);
    std::uint16_t* end = list_.indices + before + rank[0];
#pragma unroll
    for (std::uint32_t w = 0; w < own.count; ++w) {
      end += __popc(own.words[w]);
      list_bits<8, 0>(
          own.words[w], 32 * (group_.warp() * WarpWords + group_.lane() * own.count + w), end);
    }
  }

  /// Builds the mask stream, over zeros. A thread for 8 kept values in a row, whose parts are added
  /// at once.
  __device__ __forceinline__ void build(std::uint32_t kept) const {
    std::uint32_t const low_bits = lower_bits<Format>(kept);
    std::uint32_t* const upper   = stream_.words;
    std::uint32_t* const lower   = upper + upper_words<Format>(kept);
    for (std::uint32_t q = group_.rank(); group_size * q < kept; q += Threads) {
      std::uint32_t const count    = min(kept - group_size * q, group_size);
      uint4 const listed           = reinterpret_cast<uint4 const*>(list_.indices)[q];
      std::uint32_t const pairs[4] = {listed.x, listed.y, listed.z, listed.w};
      std::uint32_t indices[group_size];
#pragma unroll
      for (std::uint32_t i = 0; i < group_size; ++i)
        indices[i] = i % 2 == 0 ? pairs[i / 2] & 0xffffu : pairs[i / 2] >> 16;
      std::uint32_t lower_parts[2] = {0, 0};  // of four values each
#pragma unroll
      for (std::uint32_t i = group_size; i-- > 0;) {
        std::uint32_t& part = lower_parts[i / 4];
        part                = (part << low_bits) + (indices[i] & ((1u << low_bits) - 1));
      }
      std::uint64_t all = lower_parts[0] | std::uint64_t{lower_parts[1]} << 4 * low_bits;
      if (count < group_size) all &= (std::uint64_t{1} << count * low_bits) - 1;
      std::uint32_t const at          = group_size * q * low_bits;
      std::uint32_t const first_part  = static_cast<std::uint32_t>(all);
      std::uint32_t const second_part = static_cast<std::uint32_t>(all >> 32);
      atomicOr(&lower[at / 32], first_part << at % 32);
      std::uint32_t const next = __funnelshift_l(first_part, second_part, at % 32);
      if (next != 0) atomicOr(&lower[at / 32 + 1], next);
      if (low_bits > 4) {
        std::uint32_t const last = __funnelshift_l(second_part, 0, at % 32);
        if (last != 0) atomicOr(&lower[at / 32 + 2], last);
      }
      // Upper parts: nearly always all lie in two words. Padding lies far behind them.
      std::uint32_t const first = (group_size * q + (indices[0] >> low_bits)) / 32 * 32;
      std::uint32_t low = 0, high = 0;
#pragma unroll
      for (std::uint32_t i = 0; i < group_size; ++i) {
        std::uint32_t const bit = group_size * q + i + (indices[i] >> low_bits) - first;
        low |= bit_or_none(bit);
        high |= bit_or_none(bit - 32);
      }
      atomicOr(&upper[first / 32], low);
      if (high != 0) atomicOr(&upper[first / 32 + 1], high);
      if (__popc(low) + __popc(high) != count) {
#pragma unroll 1
        for (std::uint32_t k = group_size * q; k < group_size * q + count; ++k) {
          std::uint32_t const bit = k + (list_.indices[k] >> low_bits);
          if (bit - first >= 64) atomicOr(&upper[bit / 32], 1u << bit % 32);
        }
      }
    }
  }

  /// Kept values vector_values q to vector_values (q + 1) - 1; 0 behind the last.
  /// Shapes: tile (Format::values + 1,), in shared memory; the last is 0.
  __device__ __forceinline__ uint4 values(bits_type const* tile, std::uint32_t q) const {
    uint4 vector{0, 0, 0, 0};
#pragma unroll
    for (std::uint32_t j = 0; j < per_vector; ++j) {
      std::uint32_t const index = list_.indices[q * per_vector + j];
      or_vector_value(vector, j, tile[min(index, std::uint32_t{Format::values})]);
    }
    return vector;
  }

  __device__ __forceinline__ std::uint32_t const* stream() const {
    return stream_.words;
  }

 private:
  static constexpr std::uint16_t padding = 0xffff;

  index_list& list_;
  mask_stream& stream_;
  rank_storage& rank_;
  thread_group<Threads> group_;
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
