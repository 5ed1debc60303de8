// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: what a tensor in an arena holds, counted on the device.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <type_traits>

#include <cub/block/block_reduce.cuh>

#include <bitsparse/arena/arena_tensor.cuh>
#include <bitsparse/arena/codec_choice.hpp>
#include <bitsparse/arena/operations.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/launch.cuh>
#include <bitsparse/detail/tile_grid.hpp>
#include <bitsparse/device/report.cuh>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

/// What a tensor holds.
struct tensor_statistics {
  std::uint64_t kept;         // values that are not zero, those of lost tiles included
  std::uint64_t chunk_bytes;  // exact, without the slabs' unused ends
  std::uint64_t fast_bytes;   // what the chunks would take with codec fast
  std::uint64_t sign_bytes;   // with sign, if it was compressed with compact; see codec_choice
  std::uint64_t slabs;        // that it asked the arena for
  std::uint64_t tiles[num_encodings];  // by encoding; index 15: lost
  bool is_full;
};

static_assert(std::is_trivially_copyable_v<tensor_statistics>);

namespace detail {

template <class Format>
struct statistics_params {
  using format = Format;
  arena_space space;
  tile_grid<Format> grid;
  tile_descriptor const* directory;
  report_slot<tensor_statistics>* slot;
};

/// One block of prologue_threads.
template <class Params>
__global__ void __launch_bounds__(arena_space::prologue_threads)
    statistics_kernel(Params const params) {
  using block_reduce = cub::BlockReduce<unsigned long long, arena_space::prologue_threads>;
  __shared__ typename block_reduce::TempStorage reduce_storage[4];
  __shared__ std::uint32_t tiles[num_encodings];
  if (threadIdx.x < num_encodings) tiles[threadIdx.x] = 0;
  __syncthreads();
  using format            = typename Params::format;
  unsigned long long kept = 0, units = 0, fast_units = 0, sign_units = 0;
  for (std::uint32_t i = threadIdx.x; i < params.space.num_tiles; i += blockDim.x) {
    tile_descriptor const tile = params.directory[i];
    kept += tile.kept();
    units += tile.chunk_units();
    auto const at     = params.grid.at(i);
    auto const values = at.valid_rows * at.valid_cols;
    fast_units += units_with<format, codec::fast>(tile.form(), tile.kept(), values);
    sign_units += units_with<format, codec::sign>(tile.form(), tile.kept(), values);
    // One lane counts for all those of its warp that have the same encoding.
    std::uint32_t const alike =
        __match_any_sync(__activemask(), static_cast<std::uint32_t>(tile.form()));
    if ((alike & ((1u << threadIdx.x % 32) - 1)) == 0)
      atomicAdd(&tiles[static_cast<std::uint32_t>(tile.form())], __popc(alike));
  }
  kept       = block_reduce(reduce_storage[0]).Sum(kept);
  units      = block_reduce(reduce_storage[1]).Sum(units);
  fast_units = block_reduce(reduce_storage[2]).Sum(fast_units);
  sign_units = block_reduce(reduce_storage[3]).Sum(sign_units);
  __syncthreads();
  if (threadIdx.x != 0) return;
  tensor_statistics content{kept,
                            units * unit_bytes,
                            fast_units * unit_bytes,
                            sign_units * unit_bytes,
                            params.space.needed_slabs(),
                            {},
                            params.space.is_full()};
  for (std::uint32_t e = 0; e < num_encodings; ++e) content.tiles[e] = tiles[e];
  deliver(content, params.slot);
}

}  // namespace detail

/// What each codec costs for a tensor of so many dense bytes that was compressed with codec::compact.
/// Units: see compare_codecs.
constexpr codec_comparison compare_codecs(tensor_statistics const& statistics,
                                          std::uint64_t dense_bytes,
                                          double copy_bytes_per_ms) {
  return compare_codecs(dense_bytes,
                        statistics.fast_bytes,
                        statistics.sign_bytes,
                        statistics.chunk_bytes,
                        copy_bytes_per_ms);
}

/// Delivers a tensor's statistics as they are when the stream gets there; read_report() polls them.
/// Alignment: slot 64 bytes, in pinned host memory; one stream delivers to it at a time.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, unsupported, cuda_error.
template <class Format>
status report(arena_tensor_view<Format> tensor,
              report_slot<tensor_statistics>* slot,
              cudaStream_t stream) {
  if (status const checked = detail::check_arena_tensor(tensor); !checked.ok()) return checked;
  if (status const checked = detail::check_slot(slot); !checked.ok()) return checked;
  using params = detail::statistics_params<Format>;
  // A tensor without tiles has no grid; none is then looked at.
  std::uint64_t const rows = tensor.rows == 0 || tensor.cols == 0 ? 1 : tensor.rows;
  std::uint64_t const cols = tensor.rows == 0 || tensor.cols == 0 ? 1 : tensor.cols;
  return detail::launch(detail::statistics_kernel<params>,
                        1,
                        detail::arena_space::prologue_threads,
                        params{detail::arena_space{tensor}, {rows, cols}, tensor.directory, slot},
                        stream);
}

}  // namespace v0
}  // namespace bitsparse
