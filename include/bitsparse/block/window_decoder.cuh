// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: the window values of a flat chunk, from global memory through registers into shared memory.
#pragma once

#include <vector_types.h>
#include <cstddef>
#include <cstdint>

#include <bitsparse/block/mask_storage.cuh>
#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/warp/window.cuh>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// The bits of a nibble that belong to the value. Threads: any.
__device__ __forceinline__ std::uint32_t code_bits(encoding form) {
  return is_window3(form) ? 0x7u : 0xfu;
}

/// The part of block_decoder that reads the values of flat/window3 and flat/window4, 16 at a time: a
/// vector of low bytes, two words of nibbles.
///
/// Threads: all of the group call each member; none synchronises.
/// @tparam Fetched block_decoder's fetched_chunk
template <class Format, int Threads>
struct window_decoder {
  static constexpr bool has_window = Format::element::has_window;
  /// Groups of 16 values per thread: the low bytes of group i are unit i of what is fetched, its nibbles
  /// half of unit num_groups + i.
  static constexpr std::uint32_t num_groups = ceil_div<std::uint32_t>(Format::values / 16, Threads);
  static constexpr std::uint32_t num_units  = has_window ? 2 * num_groups : 0;

  /// Whether a flat chunk has such values.
  __device__ static __forceinline__ bool reads(encoding form) {
    return has_window && is_window(form);
  }

  /// Starts loading a thread's groups.
  template <class Fetched>
  __device__ static __forceinline__ void fetch(thread_group<Threads> group, Fetched& fetched) {
    auto const* const words = reinterpret_cast<std::uint32_t const*>(fetched.chunk);
    fetched.base            = __ldcs(words + fetched.layout.base_offset / 4) & 0xffu;
#pragma unroll
    for (std::uint32_t i = 0; i < num_groups; ++i) {
      std::uint32_t const unit = i * Threads + group.rank();
      std::uint32_t const* at  = words + fetched.layout.nibble_offset / 4 + 2 * unit;
      if (16 * unit < fetched.kept) {
        fetched.units[i]                = __ldcs(reinterpret_cast<uint4 const*>(words) + unit);
        fetched.units[num_groups + i].x = __ldcs(at);
      }
      if (16 * unit + 8 < fetched.kept) fetched.units[num_groups + i].y = __ldcs(at + 1);
    }
  }

  /// Puts the values together, and takes the carried mask bits out of their nibbles.
  /// Shapes: values (fetched.kept,) rounded up to 16. Alignment: values 16 bytes, in shared memory.
  template <class Fetched>
  __device__ static __forceinline__ void open(thread_group<Threads> group,
                                              Fetched const& fetched,
                                              std::byte* values,
                                              mask_storage<Format>& mask) {
    std::uint32_t const base      = fetched.base * 0x01010101u;
    std::uint32_t const code_mask = code_bits(fetched.form) * 0x01010101u;
#pragma unroll
    for (std::uint32_t i = 0; i < num_groups; ++i) {
      std::uint32_t const unit = i * Threads + group.rank();
      if (16 * unit >= fetched.kept) break;
      uint4 const& low     = fetched.units[i];
      uint4 const& nibbles = fetched.units[num_groups + i];
      auto* const target   = reinterpret_cast<uint4*>(values) + 2 * unit;
      uint2 const first    = bitsparse::join_window(low.x, nibbles.x, code_mask, base);
      uint2 const second   = bitsparse::join_window(low.y, nibbles.x >> 16, code_mask, base);
      uint2 const third    = bitsparse::join_window(low.z, nibbles.y, code_mask, base);
      uint2 const fourth   = bitsparse::join_window(low.w, nibbles.y >> 16, code_mask, base);
      target[0]            = {first.x, first.y, second.x, second.y};
      target[1]            = {third.x, third.y, fourth.x, fourth.y};
      if (unit < 2 * fetched.layout.carried_words) {
        reinterpret_cast<std::uint16_t*>(mask.words)[unit] =
            static_cast<std::uint16_t>(bitsparse::gather_nibble_tops(nibbles.x) |
                                       bitsparse::gather_nibble_tops(nibbles.y) << 8);
      }
    }
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
