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
#include <bitsparse/warp/mask.cuh>
#include <bitsparse/warp/rank.cuh>
#include <bitsparse/warp/vector.cuh>
#include <bitsparse/warp/window.cuh>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// The part of block_decoder that reads Elias-Fano chunks: each warp finds the values of its share of
/// the tile and puts them at their places in zeros.
///
/// Use, by all threads of the group: open(); group.sync(); decode(); then a warp may read its share.
///
/// Shapes: tile (Format::values,) row-major, 16-byte aligned, in shared memory.
/// Threads: all of the group call each member; none synchronises the group.
/// Storage: storage and rank_storage in shared memory, the former 16-byte aligned.
/// Guarantee: as block_decoder's.
template <class Format, int Threads>
class elias_fano_decoder {
  using bits_type                  = typename Format::bits_type;
  static constexpr bool has_window = Format::element::has_window;
  static constexpr std::uint32_t upper_rows =
      ceil_div(upper_words<Format>(max_elias_fano_kept<Format>), 32u);
  using rank_of_upper = warp_rank<upper_rows, 32>;
  // Room for chunks: for those of window values, or of an eighth of the values, which are most. More
  // would be taken from every tile's L1 (docs/tuning.md); larger ones are read where they lie.
  static constexpr std::uint32_t staged_units =
      has_window
          ? layout_of<Format>(encoding::elias_fano_window4, max_elias_fano_kept<Format>).units()
          : layout_of<Format>(encoding::elias_fano_raw, Format::values / 8).units();

 public:
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
  /// @tparam Share how many values of the tile, one warp's after another's, each warp may read then
  /// @return false if the upper part has not as many bits set as values are kept
  template <std::uint32_t Share>
  [[nodiscard]] __device__ __forceinline__ bool decode(encoding form,
                                                       std::uint32_t kept,
                                                       std::byte const* chunk) const {
    chunk_layout const layout = layout_of<Format>(form, kept);
    return layout.units() <= staged_units ? decode<Share, true>({form, kept, layout, staged_.chunk})
                                          : decode<Share, false>({form, kept, layout, chunk});
  }

 private:
  struct source {
    encoding form;
    std::uint32_t kept;
    chunk_layout layout;
    std::byte const* chunk;  // staged, or where it lies
  };
  /// The upper part's words of a lane, 32 r + lane, and how many bits are set before each.
  struct upper_part {
    std::uint32_t words[upper_rows], ranks[upper_rows];  // (upper_rows,)
  };
  /// Words of the upper part.
  struct word_range {
    std::uint32_t first, end;
  };

  /// @tparam IsStaged whether a word behind the chunk may be read
  template <std::uint32_t Share, bool IsStaged>
  __device__ __forceinline__ bool decode(source const& from) const {
    if (has_window && IsStaged && is_window(from.form)) {
      auto const* const bytes       = reinterpret_cast<std::uint8_t const*>(from.chunk);
      auto const* const nibbles     = bytes + from.layout.nibble_offset;
      std::uint32_t const base      = bytes[from.layout.base_offset];
      std::uint32_t const code_mask = code_bits(from.form);
      return scatter<Share, IsStaged>(from, [=](std::uint32_t k) {
        std::uint32_t const code = nibbles[k / 2] >> k % 2 * 4 & code_mask;
        return static_cast<bits_type>(((base + code) & 0x7fu) << 8 | bytes[k]);
      });
    }
    constexpr std::uint64_t sign = sign_bit<typename Format::element>;
    auto const value_bits        = static_cast<bits_type>(is_sign(from.form) ? ~sign : ~0ull);
    auto const* const kept       = reinterpret_cast<bits_type const*>(from.chunk);
    return scatter<Share, IsStaged>(
        from, [=](std::uint32_t k) { return static_cast<bits_type>(kept[k] & value_bits); });
  }

  /// Puts this warp's share of the values at their places.
  /// @param value_of gives the kept value of a number
  template <std::uint32_t Share, bool IsStaged, class ValueOf>
  __device__ __forceinline__ bool scatter(source const& from, ValueOf const& value_of) const {
    std::uint32_t const num_upper   = upper_words<Format>(from.kept);
    std::uint32_t const low_bits    = lower_bits<Format>(from.kept);
    std::uint32_t const first_index = group_.warp() * Share;
    // Of the share; less where the last warps' shares reach beyond the tile.
    constexpr bool is_whole        = Share * thread_group<Threads>::num_warps <= Format::values;
    std::uint32_t const num_values = is_whole ? Share
                                     : first_index < Format::values
                                         ? min(Share, Format::values - first_index)
                                         : 0;
    upper_part upper;
    if (load_upper(from, upper) != from.kept) return false;
    word_range const words = words_of_share<Share>(from.kept, upper);

    auto const* const lower = reinterpret_cast<std::uint32_t const*>(
        from.chunk + from.layout.mask_offset + 4 * (num_upper - from.layout.carried_words));
    std::uint32_t const last_lower = from.layout.stream_words - num_upper - 1;
    auto* const tile               = reinterpret_cast<bits_type*>(tile_);
    for_each_value(words, upper, [&](std::uint32_t k, std::uint32_t upper_bit) {
      std::uint32_t const lower_at = k * low_bits;
      bits_type const value        = value_of(k);
      std::uint32_t const next     = lower_at / 32 + 1;
      std::uint32_t const low      = __funnelshift_r(
          lower[next - 1], lower[IsStaged ? next : min(next, last_lower)], lower_at % 32);
      std::uint32_t const index = (upper_bit - k) << low_bits | (low & ((1u << low_bits) - 1));
      if (index - first_index < num_values) tile[index] = value;
    });
    return true;
  }

  /// Calls place(k, bit) for each set bit of the upper part that may belong to this warp's share: bit
  /// number `bit`, of kept value k.
  template <class Place>
  __device__ __forceinline__ void for_each_value(word_range const& words,
                                                 upper_part const& upper,
                                                 Place const& place) const {
    // As many bits per lane as there are words, so that each has something to do.
    std::uint32_t const bits_per_lane = min(words.end - words.first, 32u);
    for (std::uint32_t step = 32 * words.first; step < 32 * words.end; step += 32 * bits_per_lane) {
      std::uint32_t const at   = step + group_.lane() * bits_per_lane;
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
      if (word >= words.end) low = 0;
      if (word + 1 >= words.end) high = 0;
      k += __popc(low & ((1u << at % 32) - 1));
      std::uint32_t bits = __funnelshift_r(low, high, at % 32) & (~0u >> (32 - bits_per_lane));
      // From both ends, so that what one waits for overlaps with the other. The last may be both.
      for (std::uint32_t k_end = k + __popc(bits); bits != 0;) {
        std::uint32_t const lowest  = __ffs(static_cast<int>(bits)) - 1;
        std::uint32_t const highest = 31 - __clz(static_cast<int>(bits));
        bits &= ~(1u << highest);
        bits &= bits - 1;
        place(k++, at + lowest);
        place(--k_end, at + highest);
      }
    }
  }

  /// The words with bits of this warp's share. The value of a word's first bit has the index begin or
  /// more.
  template <std::uint32_t Share>
  __device__ __forceinline__ word_range words_of_share(std::uint32_t kept,
                                                       upper_part const& upper) const {
    std::uint32_t const num_upper   = upper_words<Format>(kept);
    std::uint32_t const low_bits    = lower_bits<Format>(kept);
    std::uint32_t const first_index = group_.warp() * Share;
    word_range words{0, 0};
#pragma unroll
    for (std::uint32_t r = 0; r < upper_rows; ++r) {
      std::uint32_t const word  = 32 * r + group_.lane();
      std::uint32_t const begin = (32 * word - upper.ranks[r]) << low_bits;
      bool const exists         = word < num_upper;
      bool const ends_before    = begin + (1u << low_bits) <= first_index;
      words.first += __popc(__ballot_sync(0xffffffffu, exists && ends_before));
      words.end += __popc(__ballot_sync(0xffffffffu, exists && begin < first_index + Share));
    }
    if (words.first != 0) --words.first;
    return words;
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
