// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: ranks: how many kept values of a warp's share of a tile come before each of its vectors
/// or words.
#pragma once

#include <cstdint>

#include <cub/warp/warp_scan.cuh>

#include <bitsparse/config.hpp>
#include <bitsparse/format/bits.hpp>

namespace bitsparse {
inline namespace v0 {

/// Exclusive prefix sums over a warp of `Rows` small counts per lane, in the order row, then lane.
///
/// Shapes: counts (Rows,) per lane; count r of lane l stands for item r * 32 + l.
/// Units: values; a count is at most MaxCount.
/// Threads: all 32 lanes, converged. Storage: none in fact (cub::WarpScan shuffles), `temp_storage`
///   is empty.
/// @tparam Rows counts per lane
/// @tparam MaxCount 1 .. 2^26; the smaller, the more rows one scan covers
template <int Rows, int MaxCount>
class warp_rank {
  using scan = cub::WarpScan<std::uint32_t>;

  static constexpr int field_bits = static_cast<int>(detail::bit_width(32 * MaxCount));
  static constexpr int fields     = 32 / field_bits;  // rows side by side in a word
  static_assert(fields >= 1 && MaxCount >= 1, "bitsparse: a warp's total needs more than 32 bits");

 public:
  using temp_storage = typename scan::TempStorage;

  /// @param[in,out] counts in: the counts; out: the items' ranks
  /// @return the warp's total
  __device__ static __forceinline__ std::uint32_t exclusive(std::uint32_t (&counts)[Rows],
                                                            temp_storage& storage) {
    constexpr std::uint32_t field_mask =
        static_cast<std::uint32_t>((std::uint64_t{1} << field_bits) - 1);
    std::uint32_t before = 0;  // of all rows done
#pragma unroll
    for (int row = 0; row < Rows; row += fields) {
      std::uint32_t own = 0;
#pragma unroll
      for (int f = 0; f < fields && row + f < Rows; ++f) own |= counts[row + f] << f * field_bits;
      std::uint32_t inclusive;
      scan(storage).InclusiveSum(own, inclusive);
      std::uint32_t const totals = __shfl_sync(0xffffffffu, inclusive, 31);
      std::uint32_t const ranks  = inclusive - own;
#pragma unroll
      for (int f = 0; f < fields && row + f < Rows; ++f) {
        counts[row + f] = before + (ranks >> f * field_bits & field_mask);
        before += totals >> f * field_bits & field_mask;
      }
    }
    return before;
  }
};

}  // namespace v0
}  // namespace bitsparse
