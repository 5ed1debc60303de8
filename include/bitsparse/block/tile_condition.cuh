// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: what a tile turns out to be when it is decoded.
#pragma once

#include <cstdint>

#include <bitsparse/config.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/tile_descriptor.hpp>

namespace bitsparse {
inline namespace v0 {

/// What a tile turned out to be when it was decoded.
enum class tile_condition : std::uint32_t {
  good    = 0,
  lost    = 1,  // it found no room when it was compressed
  corrupt = 4,  // a descriptor or mask that no encoder writes
};

namespace detail {

/// Whether this descriptor is one that an encoder writes for a tile of so many values. Threads: any.
template <class Format>
__device__ __forceinline__ tile_condition condition_of(tile_descriptor descriptor,
                                                       std::uint32_t valid_values) {
  encoding const form      = descriptor.form();
  std::uint32_t const kept = descriptor.kept();
  if (form == encoding::zero)
    return descriptor.word() == 0 ? tile_condition::good : tile_condition::corrupt;
  if (form == encoding::lost) return tile_condition::lost;
  if (form > encoding::elias_fano_window4 || kept > Format::values ||
      (is_window(form) && !Format::element::has_window) ||
      (is_elias_fano(form) && kept > max_elias_fano_kept<Format>)) {
    return tile_condition::corrupt;
  }
  std::uint32_t const units = form == encoding::dense ? dense_units<Format>(valid_values)
                                                      : layout_of<Format>(form, kept).units();
  return descriptor.chunk_units() == units ? tile_condition::good : tile_condition::corrupt;
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
