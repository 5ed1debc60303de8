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
/// @tparam Tiles per block of compress: they share one reservation of payload. Threads * Tiles is at
///   most 1024, and their storage, 1.6 times the dense bytes of each and up to 2.1 times in the
///   smallest, at most 48 KiB
template <int Threads, int Tiles = 1>
struct tile_tuning {
  static constexpr int threads       = Threads;
  static constexpr int tiles         = Tiles;
  static constexpr int block_threads = Threads * Tiles;
  static_assert(Tiles >= 1 && Tiles <= 32 && block_threads <= 1024,
                "bitsparse: a block has 1 to 32 tiles and at most 1024 threads");
};

namespace detail {

/// Threads that hold so many 16-byte vectors of a tile each; compress puts them into blocks of 128 or
/// more threads.
template <class Format, int Vectors>
constexpr int threads_of_vectors() {
  int threads = 256;
  while (threads > 32 && threads * Vectors > static_cast<int>(Format::tile_bytes / 16))
    threads /= 2;
  return threads;
}

template <class Format, int Vectors>
using tuning_of_vectors = tile_tuning<
    threads_of_vectors<Format, Vectors>(),
    threads_of_vectors<Format, Vectors>() < 128 ? 128 / threads_of_vectors<Format, Vectors>() : 1>;

/// The second launch bounds. For up to eight vectors per thread: 1,024 threads per multiprocessor and
/// 64 registers each in compress, 1,152 and 56 in decompress (docs/tuning.md). Else none: a thread that
/// holds more, or values, would spill for an occupancy that buys nothing.
template <class Tile>
inline constexpr bool has_few_vectors = sizeof(std::declval<Tile&>()[0]) == 16 &&
                                        sizeof(Tile) <= 128;
/// Warps of a multiprocessor whose threads have so many registers each: of 65,536, given to four
/// schedulers alike.
constexpr int resident_warps(int registers) {
  return 65536 / 32 / registers / 4 * 4;
}
/// @tparam Registers what a thread may have
template <int BlockThreads, class Tile, int Registers>
inline constexpr int min_compress_blocks = has_few_vectors<Tile>&& BlockThreads <=
                                                   resident_warps(Registers) * 32
                                               ? resident_warps(Registers) * 32 / BlockThreads
                                               : 1;
template <int Threads, class Tile, int Registers>
inline constexpr int min_decompress_blocks =
    !has_few_vectors<Tile>
        ? 1
        : (resident_warps(Registers) * 32 / Threads < 32 ? resident_warps(Registers) * 32 / Threads
                                                         : 32);

}  // namespace detail

/// Eight vectors per thread: what a thread does once per tile is shared by many values, and enough
/// loads are in flight. Blocks of 128 threads, so two tiles of 8 KiB: one reservation per tile holds
/// the whole kernel up (docs/tuning.md).
template <class Format>
using default_tuning = detail::tuning_of_vectors<Format, 8>;

/// With a fused op, in decompress and, for other than 2-byte elements, in compress: an op needs
/// registers for each vector, so that four of them and twice the threads are quicker.
template <class Format>
using op_tuning = detail::tuning_of_vectors<Format, 4>;

/// For rows that are not 16-byte aligned, where a register holds one value.
template <class Format>
using value_tuning = detail::tuning_of_vectors<Format, 4>;

}  // namespace v0
}  // namespace bitsparse
