// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: chunks with an Elias-Fano mask, made a dense tile in shared memory.
#pragma once

#include <vector_types.h>
#include <cstddef>
#include <cstdint>

#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/window_decoder.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/warp/bit_list.cuh>
#include <bitsparse/warp/mask.cuh>
#include <bitsparse/warp/rank.cuh>
#include <bitsparse/warp/vector.cuh>
#include <bitsparse/warp/window.cuh>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// The part of block_decoder that reads Elias-Fano chunks: it lists the upper parts of the kept values'
/// indices, and puts the values at their places in zeros.
///
/// Use, by all threads of the group: open(); group.sync(); decode(); group.sync(); the tile is there.
///
/// Shapes: tile (Format::values,) row-major, 16-byte aligned, in shared memory.
/// Threads: all of the group call each member. open() does not synchronise the group; decode() does so
///   `syncs` times if it shares its barrier with others, else as often as it has to.
/// Storage: storage and rank_storage in shared memory, the former 16-byte aligned.
/// Guarantee: as block_decoder's.
template <class Format, int Threads>
class elias_fano_decoder {
  using bits_type                  = typename Format::bits_type;
  static constexpr bool has_window = Format::element::has_window;
  static constexpr std::uint32_t upper_rows =
      ceil_div(upper_words<Format>(max_elias_fano_kept<Format>), 32u);
  using rank_of_upper                       = warp_rank<upper_rows, 32>;
  static constexpr std::uint32_t group_size = 8;  // values that a thread takes at a time
  // Room for chunks: for nearly all of window values, else for most. With more, the blocks of a
  // multiprocessor would take so much from L1 that every tile is slower (docs/tuning.md); larger
  // chunks are read where they lie.
  static constexpr std::uint32_t staged_kept = has_window ? max_elias_fano_kept<Format>
                                               : sizeof(bits_type) == 1 ? Format::values / 128 * 17
                                                                        : Format::values / 64 * 11;
  static constexpr std::uint32_t staged_units =
      layout_of<Format>(has_window ? encoding::elias_fano_window4 : encoding::elias_fano_raw,
                        staged_kept)
          .units();

 public:
  static constexpr int syncs = 3;

  struct storage {
    alignas(16) std::byte chunk[staged_units * unit_bytes];  // as it is
  };
  using rank_storage = typename rank_of_upper::temp_storage;

  __device__ __forceinline__ elias_fano_decoder(storage& staged,
                                                rank_storage& rank,
                                                std::byte* tile,
                                                thread_group<Threads> group)
      : staged_(staged), rank_(rank), tile_(tile), group_(group) {}

  /// Puts a chunk into the storage, as far as it fits, and zeros into the tile.
  /// @tparam Fetched block_decoder's fetched_chunk
  template <class Fetched>
  __device__ __forceinline__ void open(Fetched const& fetched) const {
#pragma unroll
    for (std::uint32_t i = 0; i < ceil_div<std::uint32_t>(Format::tile_units, Threads); ++i) {
      std::uint32_t const unit = i * Threads + group_.rank();
      if (i * Threads < fetched.num_units && unit < min(fetched.num_units, staged_units))
        reinterpret_cast<uint4*>(staged_.chunk)[unit] = fetched.units[i];
      if (unit < Format::tile_units) reinterpret_cast<uint4*>(tile_)[unit] = uint4{0, 0, 0, 0};
    }
  }

  /// Makes a dense tile of the chunk.
  /// @param chunk in global memory, still as it was when open() got it
  /// @return false if the upper part has not as many bits set as values are kept
  [[nodiscard]] __device__ __forceinline__ bool decode(encoding form,
                                                       std::uint32_t kept,
                                                       std::byte const* chunk) const {
    chunk_layout const layout = layout_of<Format>(form, kept);
    bool const is_staged =
        kept <= staged_kept && layout.bytes + bytes_behind <= sizeof(staged_.chunk);
    return is_staged ? decode<true>({form, kept, layout, staged_.chunk})
                     : decode_large(*this, form, kept, chunk);
  }

 private:
  struct source {
    encoding form;
    std::uint32_t kept;
    chunk_layout layout;
    std::byte const* chunk;  // staged, or where it lies
  };
  static constexpr std::uint32_t bytes_behind = 8;  // of a chunk, that place() reads for nothing
  /// The upper part's words of a lane, 32 r + lane, and how many bits are set before each.
  struct upper_part {
    std::uint32_t words[upper_rows], ranks[upper_rows];  // (upper_rows,)
  };

  /// Not inlined: it is rare, and would keep others' code from the instruction cache.
  __device__ __noinline__ static bool decode_large(elias_fano_decoder const decoder,
                                                   encoding form,
                                                   std::uint32_t kept,
                                                   std::byte const* chunk) {
    return decoder.template decode<false>({form, kept, layout_of<Format>(form, kept), chunk});
  }

  /// @tparam IsStaged whether bytes_behind the chunk may be read
  template <bool IsStaged>
  __device__ __forceinline__ bool decode(source const& from) const {
    std::uint32_t const list_units = ceil_div(from.kept, group_size);
    // Behind the chunk if there is room, else where the tile is to be.
    bool const is_apart = IsStaged && from.layout.units() + list_units <= staged_units;
    auto* const list    = reinterpret_cast<std::uint16_t*>(
        is_apart ? staged_.chunk + from.layout.units() * unit_bytes : tile_);
    upper_part upper;
    bool const is_good = load_upper(from, upper) == from.kept;
    if (is_good) list_upper(from.kept, upper, list);
    group_.sync();
    constexpr std::uint32_t max_kept = IsStaged ? staged_kept : max_elias_fano_kept<Format>;
    constexpr std::uint32_t rounds =
        ceil_div<std::uint32_t>(ceil_div(max_kept, group_size), Threads);
    uint4 listed[rounds];
#pragma unroll
    for (std::uint32_t r = 0; r < rounds; ++r) {
      std::uint32_t const q = r * Threads + group_.rank();
      if (q < list_units) listed[r] = reinterpret_cast<uint4 const*>(list)[q];
    }
    if (!is_apart || group_.shares_barrier()) {
      group_.sync();
      std::uint32_t const zeroed_units = is_apart ? 0 : list_units;
#pragma unroll 1
      for (std::uint32_t q = group_.rank(); q < zeroed_units; q += Threads)
        reinterpret_cast<uint4*>(tile_)[q] = uint4{0, 0, 0, 0};
      group_.sync();
    }
    if constexpr (rounds == 1) {
      if (is_good && group_.rank() < list_units) place<IsStaged>(from, group_.rank(), listed[0]);
    } else {
#pragma unroll 1
      for (std::uint32_t q = group_.rank(); is_good && q < list_units; q += Threads) {
        place<IsStaged>(from, q, listed[0]);
#pragma unroll
        for (std::uint32_t r = 1; r < rounds; ++r) listed[r - 1] = listed[r];
      }
    }
    return is_good;
  }

  /// Writes the upper part of kept value k's index to list[k], and what is none behind the last.
  __device__ __forceinline__ void list_upper(std::uint32_t kept,
                                             upper_part const& upper,
                                             std::uint16_t* list) const {
    if (kept + group_.rank() < round_up(kept, group_size)) list[kept + group_.rank()] = 0xffff;
    std::uint32_t const num_upper = upper_words<Format>(kept);
    // As many bits for each thread, so that all have something to do.
    std::uint32_t const bits_per_thread =
        min(ceil_div(num_upper, thread_group<Threads>::num_warps), 32u);
    for (std::uint32_t step = 0; step < 32 * num_upper; step += Threads * bits_per_thread) {
      std::uint32_t const at   = step + group_.rank() * bits_per_thread;
      std::uint32_t const word = at / 32;
      std::uint32_t low = 0, high = 0, k = 0;  // the word, the next one, and the former's rank
#pragma unroll
      for (std::uint32_t r = 0; r < upper_rows; ++r) {
        std::uint32_t const row_low  = __shfl_sync(0xffffffffu, upper.words[r], word % 32);
        std::uint32_t const row_high = __shfl_sync(0xffffffffu, upper.words[r], (word + 1) % 32);
        std::uint32_t const row_rank = __shfl_sync(0xffffffffu, upper.ranks[r], word % 32);
        if (word / 32 == r) low = row_low, k = row_rank;
        if ((word + 1) / 32 == r) high = row_high;
      }
      std::uint32_t const bits =
          __funnelshift_r(low, high, at % 32) & (~0u >> (32 - bits_per_thread));
      k += __popc(low & ((1u << at % 32) - 1)) + __popc(bits);
      list_bits<10, 1>(bits, at - k, list + k);
    }
  }

  /// Puts kept values 8 q to 8 q + 7 at their places.
  /// @param listed the upper parts of their indices
  template <bool IsStaged>
  __device__ __forceinline__ void place(source const& from,
                                        std::uint32_t q,
                                        uint4 const& listed) const {
    std::uint32_t const low_bits  = lower_bits<Format>(from.kept);
    std::uint32_t const num_upper = upper_words<Format>(from.kept);
    auto const* const lower       = reinterpret_cast<std::uint32_t const*>(
        from.chunk + from.layout.mask_offset + 4 * (num_upper - from.layout.carried_words));
    std::uint32_t const last = from.layout.stream_words - num_upper - 1;
    std::uint32_t const byte = q * low_bits;  // where the lower parts of 8 values begin
    std::uint32_t words[3];
#pragma unroll
    for (std::uint32_t i = 0; i < 3; ++i)
      words[i] = lower[IsStaged ? byte / 4 + i : min(byte / 4 + i, last)];
    std::uint64_t const all = std::uint64_t{__funnelshift_r(words[1], words[2], byte * 8)} << 32 |
                              __funnelshift_r(words[0], words[1], byte * 8);
    bits_type values[group_size];
    load_values(from, q, values);
    std::uint32_t const pairs[4] = {listed.x, listed.y, listed.z, listed.w};
    auto* const tile             = reinterpret_cast<bits_type*>(tile_);
#pragma unroll
    for (std::uint32_t j = 0; j < group_size; ++j) {
      std::uint32_t const upper = j % 2 == 0 ? pairs[j / 2] & 0xffffu : pairs[j / 2] >> 16;
      std::uint32_t const index =
          upper << low_bits |
          (static_cast<std::uint32_t>(all >> j * low_bits) & ((1u << low_bits) - 1));
      if (upper < Format::values >> low_bits) tile[index] = values[j];
    }
  }

  /// Kept values 8 q to 8 q + 7; behind the last, anything: the mask stream, or behind a small chunk
  /// the rest of its room.
  __device__ __forceinline__ void load_values(source const& from,
                                              std::uint32_t q,
                                              bits_type (&values)[group_size]) const {
    constexpr std::uint32_t num_words = group_size * sizeof(bits_type) / 4;
    auto const* const chunk           = reinterpret_cast<std::uint32_t const*>(from.chunk);
    std::uint32_t words[num_words];
    if (has_window && is_window(from.form)) {
      uint2 const low               = reinterpret_cast<uint2 const*>(chunk)[q];
      std::uint32_t const nibbles   = chunk[from.layout.nibble_offset / 4 + q];
      std::uint32_t const base      = (chunk[from.layout.base_offset / 4] & 0xffu) * 0x01010101u;
      std::uint32_t const code_mask = code_bits(from.form) * 0x01010101u;
      uint2 const first             = bitsparse::join_window(low.x, nibbles, code_mask, base);
      uint2 const second            = bitsparse::join_window(low.y, nibbles >> 16, code_mask, base);
      if constexpr (has_window)
        words[0] = first.x, words[1] = first.y, words[2] = second.x, words[3] = second.y;
    } else {
      constexpr auto sign            = static_cast<bits_type>(sign_bit<typename Format::element>);
      std::uint32_t const value_bits = is_sign(from.form) ? ~broadcast_vector(sign).x : ~0u;
#pragma unroll
      for (std::uint32_t i = 0; i < num_words; i += 2) {
        uint2 const pair = reinterpret_cast<uint2 const*>(chunk + q * num_words)[i / 2];
        words[i] = pair.x & value_bits, words[i + 1] = pair.y & value_bits;
      }
    }
#pragma unroll
    for (std::uint32_t j = 0; j < group_size; ++j) {
      values[j] =
          static_cast<bits_type>(words[j * sizeof(bits_type) / 4] >> j * sizeof(bits_type) % 4 * 8);
    }
  }

  /// @return how many bits are set
  __device__ __forceinline__ std::uint32_t load_upper(source const& from, upper_part& upper) const {
    std::uint32_t const num_upper = upper_words<Format>(from.kept);
#pragma unroll
    for (std::uint32_t r = 0; r < upper_rows; ++r) {
      upper.words[r] =
          r != 0 && 32 * r >= num_upper ? 0 : upper_word(32 * r + group_.lane(), num_upper, from);
      upper.ranks[r] = __popc(upper.words[r]);
    }
    return rank_of_upper::exclusive(upper.ranks, rank_);
  }
  /// A word of the upper part. The first are carried by 32 values each.
  __device__ __forceinline__ std::uint32_t upper_word(std::uint32_t word,
                                                      std::uint32_t num_upper,
                                                      source const& from) const {
    auto const* const words = reinterpret_cast<std::uint32_t const*>(from.chunk);
    if (word >= num_upper) return 0;
    if (word >= from.layout.carried_words)
      return words[from.layout.mask_offset / 4 + word - from.layout.carried_words];
    std::uint32_t bits = 0;
    if (has_window && is_window3(from.form)) {
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i) {
        bits |= bitsparse::gather_nibble_tops(words[from.layout.nibble_offset / 4 + 4 * word + i])
                << 8 * i;
      }
    } else {
      constexpr std::uint32_t per = vector_values<bits_type>;
#pragma unroll 2  // all at once would spill
      for (std::uint32_t i = 0; i < 32 / per; ++i) {
        uint4 vector = reinterpret_cast<uint4 const*>(words)[word * (32 / per) + i];
        bits |= take_signs<bits_type>(vector) << i * per;
      }
    }
    return bits;
  }

  storage& staged_;
  rank_storage& rank_;
  std::byte* tile_;
  thread_group<Threads> group_;
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
