// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: choosing the encoding of a tile among all, a lane for each.
#pragma once

#include <cstdint>

#include <bitsparse/config.hpp>
#include <bitsparse/format/encoding.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// What choose_encoding<Format, codec::compact>(tile) returns.
/// Threads: all 32 lanes of a warp, converged, with the same tile.
template <class Format>
__device__ __forceinline__ encoding_choice warp_choose_encoding(tile_summary const& tile,
                                                                std::uint32_t lane) {
  if (tile.kept == 0) return {encoding::zero, 0};
  constexpr std::uint32_t none = ~0u >> 6;  // 32 times its units still fit
  std::uint32_t const number   = lane % 8 + 2;
  auto const form              = static_cast<encoding>(number);
  std::uint32_t const applicable =
      applicable_encodings<Format>(codec::compact::encodings, tile) >> number & 1;
  // The smallest, then the lowest number.
  std::uint32_t const key  = layout_of<Format>(form, tile.kept).units() << 4 | number;
  std::uint32_t const flat = __reduce_min_sync(
      0xffffffffu,
      applicable != 0 && !is_elias_fano(form) ? key
                                              : dense_units<Format>(tile.valid_values) << 4 |
                                                    static_cast<std::uint32_t>(encoding::dense));
  std::uint32_t const elias_fano =
      __reduce_min_sync(0xffffffffu, applicable != 0 && is_elias_fano(form) ? key : none);
  std::uint32_t const best = is_worth_it(elias_fano >> 4, flat >> 4) ? elias_fano : flat;
  return {static_cast<encoding>(best & 0xfu), best >> 4};
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
