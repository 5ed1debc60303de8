// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What layer 3 chooses its thread counts by.
#pragma once

#include <cstdint>
#include <utility>

#include <bitsparse/config.hpp>
#include <bitsparse/format/tile_format.hpp>

namespace bitsparse {
inline namespace v0 {

/// The Tuning template axis of compress and decompress: speed only, never a byte.
/// @tparam Threads per tile, a power of two from 32 to 256
template <int Threads>
struct tile_tuning {
  static constexpr int threads = Threads;
};

namespace detail {

/// Four 16-byte vectors per thread: enough independent loads to hide latency, few enough registers
/// for full occupancy.
template <class Format>
constexpr int default_threads() {
  int threads = 256;
  while (threads > 32 && threads * 4 > static_cast<int>(Format::tile_bytes / 16)) threads /= 2;
  return threads;
}

/// The second launch bound of a kernel that holds a tile as `Tile`. None for vectors, which leaves
/// the compiler at 40 registers or fewer; 1 for values, which it would otherwise spill to keep an
/// occupancy that buys nothing.
template <class Tile>
inline constexpr int min_blocks = sizeof(std::declval<Tile&>()[0]) == 16 ? 0 : 1;

}  // namespace detail

template <class Format>
using default_tuning = tile_tuning<detail::default_threads<Format>()>;

}  // namespace v0
}  // namespace bitsparse
