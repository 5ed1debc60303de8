// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: decoding one tile by a thread group, from a chunk in global memory into registers.
#pragma once

#include <vector_types.h>
#include <cstddef>
#include <cstdint>

#include <bitsparse/block/dense_tile.cuh>
#include <bitsparse/block/elias_fano_decoder.cuh>
#include <bitsparse/block/mask_storage.cuh>
#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/tile_arrangement.cuh>
#include <bitsparse/block/tile_condition.cuh>
#include <bitsparse/block/window_decoder.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/tile_descriptor.hpp>
#include <bitsparse/warp/mask.cuh>
#include <bitsparse/warp/pack.cuh>
#include <bitsparse/warp/rank.cuh>

namespace bitsparse {
inline namespace v0 {

/// Decodes one tile.
///
/// Use, by all threads of the group:
///
///     auto const fetched = decoder.fetch(descriptor, chunk, valid_rows, valid_cols);
///     // ... a good place for other work, such as the tile before this one ...
///     decoder.open(fetched);
///     group.sync();
///     tile_condition const condition = decoder.decode(tile);
///
/// Shapes: a tile in either arrangement of tile_arrangement<Format, Threads>. Values outside the
///   valid rows x columns are unspecified. A tile that is not good is NaN in every value.
/// Threads: all of the group call each member. fetch() touches no storage; open() does not
///   synchronise; decode() synchronises the group, and as often whatever the tile is if the group
///   shares its barrier with others. Before open() is called for another tile, or the storage is used
///   for anything else, the caller synchronises the group.
/// Storage: temp_storage in shared memory, 16-byte aligned.
/// Guarantee: whatever descriptor and chunk are, nothing is read outside chunk[0 ..
///   descriptor.chunk_units() * 16), and nothing is written outside the storage. The caller checks
///   that these bytes lie in its memory. A corrupt chunk may decode to other values unnoticed, and not
///   to the same ones each time if two of its values have one place: its number of mask bits is
///   checked, not their order.
/// Traffic: fetch() reads the chunk once; decode() reads large elias_fano chunks a second time, their
///   mask's upper part once per warp. Until it returns, the chunk must stay as it is.
template <class Format, int Threads>
class block_decoder {
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
  static constexpr std::uint32_t rest_words =
      detail::ceil_div<std::uint32_t>(Format::mask_words, Threads);
  using window     = detail::window_decoder<Format, Threads>;
  using elias_fano = detail::elias_fano_decoder<Format, Threads>;
  static constexpr std::uint32_t fetched_units =
      window::num_units > vectors_per_thread ? window::num_units : vectors_per_thread;

 public:
  struct temp_storage {
    alignas(16) std::byte chunk[Format::tile_bytes];  // kept values, or the tile
    union {  // behind the chunk: unpack_vector() reads past its end
      mask_storage<Format> mask;
      typename elias_fano::storage elias_fano_chunk;
    };
    unpack_table<bits_type> table;
    std::uint32_t warp_totals[thread_group<Threads>::num_warps];
    union {
      typename rank_of_vectors::temp_storage vectors;
      typename rank_of_words::temp_storage words;
      typename elias_fano::rank_storage upper;
    } rank;
  };

  __device__ __forceinline__ block_decoder(temp_storage& storage, thread_group<Threads> group)
      : storage_(storage), group_(group) {}

  /// A chunk on its way: each thread's share of it, in registers that loads are still writing.
  struct fetched_chunk {
    uint4 units[fetched_units];      // (fetched_units,) of a flat form's values, or of the chunk
    std::uint32_t rest[rest_words];  // (rest_words,) of the mask stream behind the carried words
    std::uint32_t base;              // of window values
    std::uint32_t num_units;
    chunk_layout layout;
    std::uint32_t kept;
    std::uint32_t valid_cols;
    std::byte const* chunk;
    encoding form;
    tile_condition condition;
    bool is_full;
  };

  /// Starts reading a chunk.
  /// Alignment: chunk 16 bytes, in global memory.
  [[nodiscard]] __device__ __forceinline__ fetched_chunk fetch(tile_descriptor descriptor,
                                                               std::byte const* chunk,
                                                               std::uint32_t valid_rows,
                                                               std::uint32_t valid_cols) const {
    fetched_chunk fetched{};
    fetched.chunk      = chunk;
    fetched.form       = descriptor.form();
    fetched.kept       = descriptor.kept();
    fetched.valid_cols = valid_cols;
    fetched.is_full    = valid_rows == Format::rows && valid_cols == Format::cols;
    fetched.condition  = detail::condition_of<Format>(descriptor, valid_rows * valid_cols);
    if (fetched.condition != tile_condition::good || fetched.form == encoding::zero) return fetched;
    fetched.num_units = descriptor.chunk_units();
    if (is_flat(fetched.form)) {
      chunk_layout const layout = detail::layout_of<Format>(fetched.form, fetched.kept);
      fetched.layout            = layout;
      fetched.num_units         = (layout.nibble_offset + (unit_bytes - 1)) / unit_bytes;
      auto const* const from =
          reinterpret_cast<std::uint32_t const*>(chunk + layout.mask_offset) - layout.carried_words;
#pragma unroll
      for (std::uint32_t i = 0; i < rest_words; ++i) {
        std::uint32_t const word = i * Threads + group_.rank();
        if (word >= layout.carried_words && word < Format::mask_words)
          fetched.rest[i] = __ldcs(from + word);
      }
      if (window::reads(fetched.form)) {
        window::fetch(group_, fetched);
        return fetched;
      }
    }
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      std::uint32_t const unit = i * Threads + group_.rank();
      if (unit < fetched.num_units)
        fetched.units[i] = __ldcs(reinterpret_cast<uint4 const*>(chunk) + unit);
    }
    return fetched;
  }

  /// Puts a fetched chunk into the storage and takes the carried mask bits out of its values.
  __device__ __forceinline__ void open(fetched_chunk const& fetched) {
    form_       = fetched.form;
    kept_       = fetched.kept;
    valid_cols_ = fetched.valid_cols;
    is_full_    = fetched.is_full;
    condition_  = fetched.condition;
    if (condition_ != tile_condition::good || form_ == encoding::zero) return;
    chunk_ = fetched.chunk;
    if (detail::is_elias_fano(form_)) return elias_fano_part().open(fetched);
    std::uint32_t const carried_words = fetched.layout.carried_words;
    if (form_ != encoding::dense) {
      storage_.table.fill(group_.rank());
#pragma unroll
      for (std::uint32_t i = 0; i < rest_words; ++i) {
        std::uint32_t const word = i * Threads + group_.rank();
        if (word >= carried_words && word < Format::mask_words)
          storage_.mask.words[word] = fetched.rest[i];
      }
      if (window::reads(form_)) return window::open(group_, fetched, storage_.chunk, storage_.mask);
    }
    std::uint32_t const carried = carried_words * (32 / vector_values<bits_type>);
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      if (i * Threads >= fetched.num_units) break;
      std::uint32_t const unit = i * Threads + group_.rank();
      uint4 vector             = fetched.units[i];
      if (i * Threads < carried) {
        uint4 unsigned_vector    = vector;
        std::uint32_t const mask = take_signs<bits_type>(unsigned_vector);
        storage_.mask.set_vector_bits(unit, mask, unit < carried);
        if (unit < carried) vector = unsigned_vector;
      }
      if (unit < fetched.num_units) reinterpret_cast<uint4*>(storage_.chunk)[unit] = vector;
    }
  }

  /// Expands the fetched chunk into vectors.
  __device__ __forceinline__ tile_condition decode(vectors& tile) {
    std::uint32_t masks[vectors_per_thread], ranks[vectors_per_thread];
    std::uint32_t sum = 0;
    decode_elias_fano();
    if (has_mask()) {
#pragma unroll
      for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
        std::uint32_t const index = arrangement::vector_index(group_, i);
        masks[i] = arrangement::is_vector(group_, i) ? storage_.mask.vector_bits(index) : 0;
        ranks[i] = __popc(masks[i]);
      }
      sum = rank_of_vectors::exclusive(ranks, storage_.rank.vectors);
    }
    auto const* const from = kept_values() + before_warp(sum);
    if (has_mask()) {
#pragma unroll
      for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
        tile[i] = unpack_vector<bits_type>(masks[i], from + ranks[i], storage_.table);
      }
    } else {
      decode_others(tile);
    }
    return condition_;
  }

  /// Expands the fetched chunk into values, one per lane and step.
  __device__ __forceinline__ tile_condition decode(values& tile) {
    std::uint32_t words[word_rows], ranks[word_rows];
    std::uint32_t sum = 0;
    decode_elias_fano();
    if (has_mask()) {
#pragma unroll
      for (std::uint32_t row = 0; row < word_rows; ++row) {
        std::uint32_t const word = 32 * row + group_.lane();
        words[row]               = word < values_per_thread
                                       ? storage_.mask.words[group_.warp() * values_per_thread + word]
                                       : 0;
        ranks[row]               = __popc(words[row]);
      }
      sum = rank_of_words::exclusive(ranks, storage_.rank.words);
    }
    auto const* const from = kept_values() + before_warp(sum);
    if (has_mask()) {
#pragma unroll
      for (std::uint32_t i = 0; i < values_per_thread; ++i) {
        std::uint32_t const word = __shfl_sync(0xffffffffu, words[i / 32], i % 32);
        std::uint32_t const rank = __shfl_sync(0xffffffffu, ranks[i / 32], i % 32);
        std::uint32_t const bit  = 1u << group_.lane();
        tile[i] = word & bit ? from[rank + __popc(word & (bit - 1))] : bits_type{0};
      }
    } else {
      decode_others(tile);
    }
    return condition_;
  }

 private:
  __device__ __forceinline__ bits_type const* kept_values() const {
    return reinterpret_cast<bits_type const*>(storage_.chunk);
  }
  __device__ __forceinline__ bool has_mask() const {
    return condition_ == tile_condition::good && is_flat(form_);
  }
  __device__ static __forceinline__ bool is_flat(encoding form) {
    return form >= encoding::flat_raw && form <= encoding::flat_window4;
  }
  __device__ __forceinline__ elias_fano elias_fano_part() const {
    return {storage_.elias_fano_chunk, storage_.rank.upper, storage_.chunk, group_};
  }
  /// Makes a dense tile of an Elias-Fano chunk, which may be read after before_warp().
  __device__ __forceinline__ void decode_elias_fano() {
    if (condition_ != tile_condition::good || !detail::is_elias_fano(form_)) {
      for (int i = 0; group_.shares_barrier() && i < elias_fano::syncs; ++i) group_.sync();
      return;
    }
    if (!elias_fano_part().decode(form_, kept_, chunk_)) condition_ = tile_condition::corrupt;
    is_full_    = true;
    valid_cols_ = Format::cols;
  }

  /// Fills a tile without a mask: from the dense tile in the storage, or with zeros or NaN.
  template <class Tile>
  __device__ __forceinline__ void decode_others(Tile& tile) const {
    bool const is_good = condition_ == tile_condition::good;
    if (is_good && form_ != encoding::zero) {
      detail::dense_tile<Format, Threads>{kept_values(), valid_cols_, is_full_}.load(group_, tile);
    } else {
      detail::fill_tile(tile, is_good ? bits_type{0} : Format::element::quiet_nan);
    }
  }

  /// Kept values of the warps before this one. The tile is corrupt if its mask has not as many bits
  /// set as values are kept.
  __device__ __forceinline__ std::uint32_t before_warp(std::uint32_t sum) {
    if (group_.lane() == 0) storage_.warp_totals[group_.warp()] = sum;
    group_.sync();
    std::uint32_t before = 0, all = 0;
#pragma unroll
    for (std::uint32_t warp = 0; warp < thread_group<Threads>::num_warps; ++warp) {
      if (warp == group_.warp()) before = all;
      all += storage_.warp_totals[warp];
    }
    if (has_mask() && all != kept_) condition_ = tile_condition::corrupt;
    return before;
  }

  temp_storage& storage_;
  thread_group<Threads> group_;
  encoding form_;
  std::uint32_t kept_;
  std::byte const* chunk_;
  std::uint32_t valid_cols_;
  tile_condition condition_;
  bool is_full_;
};

}  // namespace v0
}  // namespace bitsparse
