// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: decoding one tile by a thread group, from a chunk in global memory through shared
/// memory into registers.
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
#include <bitsparse/format/tile_descriptor.hpp>
#include <bitsparse/warp/mask.cuh>
#include <bitsparse/warp/pack.cuh>
#include <bitsparse/warp/rank.cuh>
#include <bitsparse/warp/window.cuh>

namespace bitsparse {
inline namespace v0 {

/// What a tile turned out to be when it was decoded.
enum class tile_condition : std::uint32_t {
  good    = 0,
  lost    = 1,  // it found no room when it was compressed
  corrupt = 4,  // a descriptor or mask that no encoder writes
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
/// Guarantee: whatever descriptor and chunk are, nothing is read outside chunk[0 ..
///   descriptor.chunk_units() * 16), and nothing is written outside the storage. The caller checks
///   that these bytes lie in its memory. A corrupt chunk may decode to other values unnoticed: its
///   number of mask bits is checked, not their order.
/// Traffic: fetch() reads the chunk once; decode() reads large elias_fano chunks a second time. Until
///   it returns, the chunk must stay as it is.
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
  static constexpr bool has_window    = Format::element::has_window;
  // Of 16 window values each: low bytes are one of fetched_chunk::units, nibbles half of another.
  static constexpr std::uint32_t window_groups =
      detail::ceil_div<std::uint32_t>(Format::values / 16, Threads);
  static constexpr std::uint32_t fetched_units =
      has_window && 2 * window_groups > vectors_per_thread ? 2 * window_groups : vectors_per_thread;
  static constexpr std::uint32_t upper_rows =
      detail::ceil_div(detail::upper_words<Format>(detail::max_elias_fano_kept<Format>), 32u);
  using rank_of_upper = warp_rank<upper_rows, 32>;
  // Room for Elias-Fano chunks: for those of window values, or of an eighth of the values, which are most.
  // More would be taken from every tile's L1 (docs/tuning.md); larger ones are read where they lie.
  static constexpr std::uint32_t staged_units =
      has_window ? detail::layout_of<Format>(encoding::elias_fano_window4,
                                             detail::max_elias_fano_kept<Format>)
                       .units()
                 : detail::layout_of<Format>(encoding::elias_fano_raw, Format::values / 8).units();

 public:
  struct temp_storage {
    alignas(16) std::byte chunk[Format::tile_bytes];  // kept values, or the tile
    union {  // behind the chunk: unpack_vector() reads past its end
      mask_storage<Format> mask;
      alignas(16) std::byte elias_fano[staged_units * unit_bytes];  // a chunk as it is
    };
    unpack_table<bits_type> table;
    std::uint32_t warp_totals[thread_group<Threads>::num_warps];
    union {
      typename rank_of_vectors::temp_storage vectors;
      typename rank_of_words::temp_storage words;
      typename rank_of_upper::temp_storage upper;
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
    fetched.condition  = classify(descriptor, valid_rows * valid_cols);
    if (fetched.condition != tile_condition::good || fetched.form == encoding::zero) return fetched;
    fetched.num_units = descriptor.chunk_units();
    if (is_flat(fetched.form)) {
      fetched.layout             = detail::layout_of<Format>(fetched.form, fetched.kept);
      chunk_layout const& layout = fetched.layout;
      fetched.num_units          = (layout.nibble_offset + (unit_bytes - 1)) / unit_bytes;
      auto const* const from =
          reinterpret_cast<std::uint32_t const*>(chunk + layout.mask_offset) - layout.carried_words;
#pragma unroll
      for (std::uint32_t i = 0; i < rest_words; ++i) {
        std::uint32_t const word = i * Threads + group_.rank();
        if (word >= layout.carried_words && word < Format::mask_words)
          fetched.rest[i] = __ldcs(from + word);
      }
      if (has_window && detail::is_window(fetched.form)) {
        fetch_window(fetched, chunk);
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
    if (detail::is_elias_fano(form_)) return open_elias_fano(fetched);
    std::uint32_t const carried_words = fetched.layout.carried_words;
    if (form_ != encoding::dense) {
      storage_.table.fill(group_.rank());
#pragma unroll
      for (std::uint32_t i = 0; i < rest_words; ++i) {
        std::uint32_t const word = i * Threads + group_.rank();
        if (word >= carried_words && word < Format::mask_words)
          storage_.mask.words[word] = fetched.rest[i];
      }
      if (has_window && detail::is_window(form_)) return open_window(fetched);
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
    decode_elias_fano<32 * sizeof(tile) / sizeof(bits_type)>();
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
    decode_elias_fano<32 * sizeof(tile) / sizeof(bits_type)>();
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
    return condition_ == tile_condition::good && is_flat(form_);
  }
  __device__ static __forceinline__ bool is_flat(encoding form) {
    return form >= encoding::flat_raw && form <= encoding::flat_window4;
  }

  /// Whether this descriptor is one that an encoder writes for a tile of so many values.
  __device__ static __forceinline__ tile_condition classify(tile_descriptor descriptor,
                                                            std::uint32_t valid_values) {
    encoding const form      = descriptor.form();
    std::uint32_t const kept = descriptor.kept();
    if (form == encoding::zero)
      return descriptor.word() == 0 ? tile_condition::good : tile_condition::corrupt;
    if (form == encoding::lost) return tile_condition::lost;
    if (form > encoding::elias_fano_window4 || kept > Format::values ||
        (detail::is_window(form) && !has_window) ||
        (detail::is_elias_fano(form) && kept > detail::max_elias_fano_kept<Format>)) {
      return tile_condition::corrupt;
    }
    std::uint32_t const units = form == encoding::dense
                                    ? detail::dense_units<Format>(valid_values)
                                    : detail::layout_of<Format>(form, kept).units();
    return descriptor.chunk_units() == units ? tile_condition::good : tile_condition::corrupt;
  }

  // -----------------------------------------------------------------------------------------------
  // Window values
  // -----------------------------------------------------------------------------------------------

  /// Loads 16 values at a time: a vector of low bytes, two words of nibbles.
  __device__ __forceinline__ void fetch_window(fetched_chunk& fetched,
                                               std::byte const* chunk) const {
    auto const* const words = reinterpret_cast<std::uint32_t const*>(chunk);
    fetched.base            = __ldcs(words + fetched.layout.base_offset / 4) & 0xffu;
#pragma unroll
    for (std::uint32_t i = 0; i < window_groups; ++i) {
      std::uint32_t const unit = i * Threads + group_.rank();
      std::uint32_t const* at  = words + fetched.layout.nibble_offset / 4 + 2 * unit;
      if (16 * unit < fetched.kept) {
        fetched.units[i]                   = __ldcs(reinterpret_cast<uint4 const*>(words) + unit);
        fetched.units[window_groups + i].x = __ldcs(at);
      }
      if (16 * unit + 8 < fetched.kept) fetched.units[window_groups + i].y = __ldcs(at + 1);
    }
  }
  /// Puts the values together, and takes the carried mask bits out of their nibbles.
  __device__ __forceinline__ void open_window(fetched_chunk const& fetched) {
    if constexpr (has_window) {
      std::uint32_t const base      = fetched.base * 0x01010101u;
      std::uint32_t const code_mask = code_bits(form_) * 0x01010101u;
#pragma unroll
      for (std::uint32_t i = 0; i < window_groups; ++i) {
        std::uint32_t const unit = i * Threads + group_.rank();
        if (16 * unit >= kept_) break;
        uint4 const& low     = fetched.units[i];
        uint4 const& nibbles = fetched.units[window_groups + i];
        auto* const target   = reinterpret_cast<uint4*>(storage_.chunk) + 2 * unit;
        uint2 const first    = join_window(low.x, nibbles.x, code_mask, base);
        uint2 const second   = join_window(low.y, nibbles.x >> 16, code_mask, base);
        uint2 const third    = join_window(low.z, nibbles.y, code_mask, base);
        uint2 const fourth   = join_window(low.w, nibbles.y >> 16, code_mask, base);
        target[0]            = {first.x, first.y, second.x, second.y};
        target[1]            = {third.x, third.y, fourth.x, fourth.y};
        if (unit < 2 * fetched.layout.carried_words) {
          reinterpret_cast<std::uint16_t*>(storage_.mask.words)[unit] = static_cast<std::uint16_t>(
              gather_nibble_tops(nibbles.x) | gather_nibble_tops(nibbles.y) << 8);
        }
      }
    }
  }
  __device__ static __forceinline__ std::uint32_t code_bits(encoding form) {
    return detail::is_window3(form) ? 0x7u : 0xfu;
  }

  // -----------------------------------------------------------------------------------------------
  // Elias-Fano masks: each warp finds the values of its share of the tile and puts them at their places
  // in zeros
  // -----------------------------------------------------------------------------------------------

  __device__ __forceinline__ void open_elias_fano(fetched_chunk const& fetched) {
#pragma unroll
    for (std::uint32_t i = 0; i < vectors_per_thread; ++i) {
      std::uint32_t const unit = i * Threads + group_.rank();
      if (i * Threads < fetched.num_units && unit < min(fetched.num_units, staged_units))
        reinterpret_cast<uint4*>(storage_.elias_fano)[unit] = fetched.units[i];
      if (unit < Format::tile_units)
        reinterpret_cast<uint4*>(storage_.chunk)[unit] = uint4{0, 0, 0, 0};
    }
  }
  /// Makes a dense tile of the chunk, of which each warp may read its own share.
  template <std::uint32_t Share>
  __device__ __forceinline__ void decode_elias_fano() {
    if (condition_ != tile_condition::good || !detail::is_elias_fano(form_)) return;
    chunk_layout const layout = detail::layout_of<Format>(form_, kept_);
    if (layout.units() <= staged_units) {
      decode_elias_fano<Share, true>(layout, storage_.elias_fano);
    } else {
      decode_elias_fano<Share, false>(layout, chunk_);
    }
    is_full_    = true;
    valid_cols_ = Format::cols;
  }
  /// @tparam IsStaged whether a word behind the chunk may be read
  template <std::uint32_t Share, bool IsStaged>
  __device__ __forceinline__ void decode_elias_fano(chunk_layout const& layout,
                                                    std::byte const* chunk) {
    auto const* const bytes = reinterpret_cast<std::uint8_t const*>(chunk);
    if (has_window && IsStaged && detail::is_window(form_)) {
      auto const* const nibbles     = bytes + layout.nibble_offset;
      std::uint32_t const base      = bytes[layout.base_offset];
      std::uint32_t const code_mask = code_bits(form_);
      scatter<Share, IsStaged>(layout, chunk, [=](std::uint32_t k) {
        std::uint32_t const code = nibbles[k / 2] >> k % 2 * 4 & code_mask;
        return static_cast<bits_type>(((base + code) & 0x7fu) << 8 | bytes[k]);
      });
    } else {
      auto const* const kept = reinterpret_cast<bits_type const*>(chunk);
      auto const value_bits  = static_cast<bits_type>(
          detail::is_sign(form_) ? ~std::uint64_t{sign_bit} : ~std::uint64_t{0});
      scatter<Share, IsStaged>(layout, chunk, [=](std::uint32_t k) {
        return static_cast<bits_type>(kept[k] & value_bits);
      });
    }
  }
  /// Puts this warp's share of the values at their places. The tile is corrupt if the upper part has not
  /// as many bits set as values are kept.
  /// @param value_of gives the kept value of a number
  template <std::uint32_t Share, bool IsStaged, class ValueOf>
  __device__ __forceinline__ void scatter(chunk_layout const& layout,
                                          std::byte const* chunk,
                                          ValueOf const& value_of) {
    std::uint32_t const upper_words = detail::upper_words<Format>(kept_);
    std::uint32_t const lower_bits  = detail::lower_bits<Format>(kept_);
    std::uint32_t const first_index = group_.warp() * Share;
    // Of the share; less where the last warps' shares reach beyond the tile.
    constexpr bool is_whole        = Share * thread_group<Threads>::num_warps <= Format::values;
    std::uint32_t const num_values = is_whole ? Share
                                     : first_index < Format::values
                                         ? min(Share, Format::values - first_index)
                                         : 0;
    // The words with bits of this share. The value of a word's first bit has the index begin or more.
    std::uint32_t uppers[upper_rows], ranks[upper_rows];  // of word 32 r + lane
#pragma unroll
    for (std::uint32_t r = 0; r < upper_rows; ++r) {
      uppers[r] = r != 0 && 32 * r >= upper_words
                      ? 0
                      : upper_word(32 * r + group_.lane(), upper_words, layout, chunk);
      ranks[r]  = __popc(uppers[r]);
    }
    if (rank_of_upper::exclusive(ranks, storage_.rank.upper) != kept_) {
      condition_ = tile_condition::corrupt;
      return;
    }
    std::uint32_t first = 0, end = 0;
#pragma unroll
    for (std::uint32_t r = 0; r < upper_rows; ++r) {
      std::uint32_t const word  = 32 * r + group_.lane();
      std::uint32_t const begin = (32 * word - ranks[r]) << lower_bits;
      bool const exists         = word < upper_words;
      first +=
          __popc(__ballot_sync(0xffffffffu, exists && begin + (1u << lower_bits) <= first_index));
      end += __popc(__ballot_sync(0xffffffffu, exists && begin < first_index + Share));
    }
    if (first != 0) --first;

    auto const* const lower = reinterpret_cast<std::uint32_t const*>(
        chunk + layout.mask_offset + 4 * (upper_words - layout.carried_words));
    std::uint32_t const last_lower = layout.stream_words - upper_words - 1;
    auto* const tile               = reinterpret_cast<bits_type*>(storage_.chunk);
    auto const place               = [&](std::uint32_t k, std::uint32_t upper_bit) {
      std::uint32_t const lower_at = k * lower_bits;
      bits_type const value        = value_of(k);
      std::uint32_t const next     = lower_at / 32 + 1;
      std::uint32_t const low      = __funnelshift_r(
          lower[next - 1], lower[IsStaged ? next : min(next, last_lower)], lower_at % 32);
      std::uint32_t const index = (upper_bit - k) << lower_bits | (low & ((1u << lower_bits) - 1));
      if (index - first_index < num_values) tile[index] = value;
    };
    // As many bits per lane as there are words, so that each has something to do.
    std::uint32_t const bits_per_lane = min(end - first, 32u);
    for (std::uint32_t step = 32 * first; step < 32 * end; step += 32 * bits_per_lane) {
      std::uint32_t const at   = step + group_.lane() * bits_per_lane;
      std::uint32_t const word = at / 32;
      std::uint32_t low = 0, high = 0, k = 0;  // the word, the next one, and the former's rank
#pragma unroll
      for (std::uint32_t r = 0; r < upper_rows; ++r) {
        std::uint32_t const row_low  = __shfl_sync(0xffffffffu, uppers[r], word % 32);
        std::uint32_t const row_high = __shfl_sync(0xffffffffu, uppers[r], (word + 1) % 32);
        std::uint32_t const row_rank = __shfl_sync(0xffffffffu, ranks[r], word % 32);
        if (word / 32 == r) low = row_low, k = row_rank;
        if ((word + 1) / 32 == r) high = row_high;
      }
      if (word >= end) low = 0;
      if (word + 1 >= end) high = 0;
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
  /// A word of the upper part. The first are carried by 32 values each.
  __device__ __forceinline__ std::uint32_t upper_word(std::uint32_t word,
                                                      std::uint32_t upper_words,
                                                      chunk_layout const& layout,
                                                      std::byte const* chunk) const {
    auto const* const words = reinterpret_cast<std::uint32_t const*>(chunk);
    if (word >= upper_words) return 0;
    if (word >= layout.carried_words)
      return words[layout.mask_offset / 4 + word - layout.carried_words];
    std::uint32_t bits = 0;
    if (has_window && detail::is_window3(form_)) {
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i) {
        bits |= gather_nibble_tops(words[layout.nibble_offset / 4 + 4 * word + i]) << 8 * i;
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
  std::byte const* chunk_;
  std::uint32_t valid_cols_;
  tile_condition condition_;
  bool is_full_;
};

}  // namespace v0
}  // namespace bitsparse
