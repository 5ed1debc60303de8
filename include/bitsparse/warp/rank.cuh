// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: ranks: how many kept values of a warp's share of a tile come before each of its vectors
/// or words.
#pragma once

#include <cstdint>

#include <cub/warp/warp_scan.cuh>

#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

/// Exclusive prefix sums over a warp of `Rows` small counts per lane, in the order row, then lane.
///
/// Shapes: counts (Rows,) per lane; count r of lane l stands for item r * 32 + l.
/// Units: values; the sum of a row over the warp is below 65,536.
/// Threads: all 32 lanes, converged. Storage: none in fact (cub::WarpScan shuffles), `temp_storage`
///   is empty.
/// @tparam Rows counts per lane
template <int Rows>
class warp_rank {
  using scan = cub::WarpScan<std::uint32_t>;

 public:
  using temp_storage = typename scan::TempStorage;

  /// @param[in,out] counts in: the counts; out: the items' ranks
  /// @return the warp's total
  __device__ static __forceinline__ std::uint32_t exclusive(std::uint32_t (&counts)[Rows],
                                                            temp_storage& storage) {
    std::uint32_t before = 0;  // of all rows done
#pragma unroll
    for (int row = 0; row < Rows; row += 2) {
      // Two rows at a time, in the halves of a word.
      std::uint32_t const own = row + 1 < Rows ? counts[row] | counts[row + 1] << 16 : counts[row];
      std::uint32_t inclusive;
      scan(storage).InclusiveSum(own, inclusive);
      std::uint32_t const totals = __shfl_sync(0xffffffffu, inclusive, 31);
      std::uint32_t const ranks  = inclusive - own;
      counts[row]                = before + (ranks & 0xffffu);
      before += totals & 0xffffu;
      if (row + 1 < Rows) {
        counts[row + 1] = before + (ranks >> 16);
        before += totals >> 16;
      }
    }
    return before;
  }
};

}  // namespace v0
}  // namespace bitsparse
