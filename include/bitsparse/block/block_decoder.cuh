// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: decoding one tile by a thread group, from a chunk in global memory through shared
/// memory into registers.
#pragma once

#include <vector_types.h>
#include <cstddef>
#include <cstdint>

#include <bitsparse/block/mask_storage.cuh>
#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/tile_arrangement.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/tile_descriptor.hpp>
#include <bitsparse/warp/mask.cuh>
#include <bitsparse/warp/pack.cuh>
#include <bitsparse/warp/rank.cuh>

namespace bitsparse {
inline namespace v0 {

/// What a tile turned out to be when it was decoded.
enum class tile_condition : std::uint32_t {
  good        = 0,
  lost        = 1,  // it found no room when it was compressed
  unsupported = 2,  // an encoding that the device does not decode yet
  corrupt     = 4,  // a descriptor or mask that no encoder writes
};

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
///   synchronise; decode() synchronises the group once, whatever the tile is. Before open() is called
///   for another tile, or the storage is used for anything else, the caller synchronises the group.
/// Storage: temp_storage in shared memory, 16-byte aligned.
/// Guarantee: whatever the descriptor is, nothing is read outside chunk[0 ..
///   descriptor.chunk_units() * 16), and nothing is written outside the storage. The caller checks
///   that these bytes lie in its memory.
/// Traffic: fetch() reads the chunk once.
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
  static constexpr bits_type sign_bit = detail::sign_bit<typename Format::element>;

 public:
  struct temp_storage {
    alignas(16) std::byte chunk[Format::tile_bytes];
    mask_storage<Format> mask;  // behind the chunk: unpack_vector() reads past its end
    unpack_table<bits_type> table;
    std::uint32_t warp_totals[thread_group<Threads>::num_warps];
    union {
      typename rank_of_vectors::temp_storage vectors;
      typename rank_of_words::temp_storage words;
    } rank;
  };

  __device__ __forceinline__ block_decoder(temp_storage& storage, thread_group<Threads> group)
      : storage_(storage), group_(group) {}

  /// A chunk on its way: each thread's share of it, in registers that loads are still writing.
  struct fetched_chunk {
    uint4 units[vectors_per_thread];  // (vectors_per_thread,) of the value stream, or of a dense
                                      // chunk
    std::uint32_t rest[rest_words];   // (rest_words,) of the mask stream behind the carried words
    std::uint32_t num_units;
    std::uint32_t carried_words;
    std::uint32_t kept;
    std::uint32_t valid_cols;
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
    fetched.form       = descriptor.form();
    fetched.kept       = descriptor.kept();
    fetched.valid_cols = valid_cols;
    fetched.is_full    = valid_rows == Format::rows && valid_cols == Format::cols;
    fetched.condition  = classify(descriptor, valid_rows * valid_cols);
    if (fetched.condition != tile_condition::good || fetched.form == encoding::zero) return fetched;
    fetched.num_units = descriptor.chunk_units();
    if (fetched.form != encoding::dense) {
      chunk_layout const layout = detail::layout_of<Format>(fetched.form, fetched.kept, 0);
      fetched.num_units         = (layout.mask_offset + (unit_bytes - 1)) / unit_bytes;
      fetched.carried_words     = layout.carried_words;
      auto const* const from =
          reinterpret_cast<std::uint32_t const*>(chunk + layout.mask_offset) - layout.carried_words;
#pragma unroll
      for (std::uint32_t i = 0; i < rest_words; ++i) {
        std::uint32_t const word = i * Threads + group_.rank();
        if (word >= layout.carried_words && word < Format::mask_words)
          fetched.rest[i] = __ldcs(from + word);
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
    if (form_ != encoding::dense) {
      storage_.table.fill(group_.rank());
#pragma unroll
      for (std::uint32_t i = 0; i < rest_words; ++i) {
        std::uint32_t const word = i * Threads + group_.rank();
        if (word >= fetched.carried_words && word < Format::mask_words)
          storage_.mask.words[word] = fetched.rest[i];
      }
    }
    std::uint32_t const carried = fetched.carried_words * (32 / vector_values<bits_type>);
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
    } else if (!fill(tile)) {
#pragma unroll
      for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
        std::uint32_t const index = arrangement::vector_index(group_, i);
        tile[i]                   = uint4{0, 0, 0, 0};
        if (!arrangement::is_vector(group_, i)) continue;
        if (is_full_) {
          tile[i] = reinterpret_cast<uint4 const*>(storage_.chunk)[index];
        } else {
#pragma unroll
          for (std::uint32_t j = 0; j < vector_values<bits_type>; ++j) {
            or_vector_value(tile[i], j, dense_value(index * vector_values<bits_type> + j));
          }
        }
      }
    }
    return condition_;
  }

  /// Expands the fetched chunk into values, one per lane and step.
  __device__ __forceinline__ tile_condition decode(values& tile) {
    std::uint32_t words[word_rows], ranks[word_rows];
    std::uint32_t sum = 0;
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
    } else if (!fill(tile)) {
#pragma unroll
      for (std::uint32_t i = 0; i < values_per_thread; ++i) {
        tile[i] = dense_value(arrangement::value_index(group_, i));
      }
    }
    return condition_;
  }

 private:
  __device__ __forceinline__ bits_type const* kept_values() const {
    return reinterpret_cast<bits_type const*>(storage_.chunk);
  }

  __device__ __forceinline__ bool has_mask() const {
    return condition_ == tile_condition::good && form_ != encoding::zero && form_ != encoding::dense;
  }

  /// Whether this descriptor is one that an encoder writes for a tile of so many values.
  __device__ static __forceinline__ tile_condition classify(tile_descriptor descriptor,
                                                            std::uint32_t valid_values) {
    encoding const form      = descriptor.form();
    std::uint32_t const kept = descriptor.kept();
    if (form == encoding::zero)
      return descriptor.word() == 0 ? tile_condition::good : tile_condition::corrupt;
    if (form == encoding::lost) return tile_condition::lost;
    if (form > encoding::two_level_window4 || kept > Format::values) return tile_condition::corrupt;
    if (form > encoding::flat_sign) return tile_condition::unsupported;
    std::uint32_t const units = form == encoding::dense
                                    ? detail::dense_units<Format>(valid_values)
                                    : detail::layout_of<Format>(form, kept, 0).units();
    return descriptor.chunk_units() == units ? tile_condition::good : tile_condition::corrupt;
  }

  /// Fills a tile that has no chunk: zeros, or NaN.
  template <class Tile>
  __device__ __forceinline__ bool fill(Tile& tile) const {
    bool const is_good = condition_ == tile_condition::good;
    if (is_good && form_ != encoding::zero) return false;
    bits_type const bits = is_good ? bits_type{0} : Format::element::quiet_nan;
    for (auto& item : tile) {
      if constexpr (sizeof(item) == sizeof(uint4)) {
        item = broadcast_vector(bits);
      } else {
        item = bits;
      }
    }
    return true;
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

  __device__ __forceinline__ bits_type dense_value(std::uint32_t value) const {
    std::uint32_t const row = value / Format::cols;
    std::uint32_t const col = value % Format::cols;
    std::uint32_t const at  = row * valid_cols_ + col;
    return col < valid_cols_ && at < Format::values ? kept_values()[at] : bits_type{0};
  }

  temp_storage& storage_;
  thread_group<Threads> group_;
  encoding form_;
  std::uint32_t kept_;
  std::uint32_t valid_cols_;
  tile_condition condition_;
  bool is_full_;
};

}  // namespace v0
}  // namespace bitsparse
