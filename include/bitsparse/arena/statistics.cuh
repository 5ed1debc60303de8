// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: what a tensor in an arena holds, counted on the device.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <type_traits>

#include <bitsparse/arena/arena_tensor.cuh>
#include <bitsparse/arena/operations.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/launch.cuh>
#include <bitsparse/device/report.cuh>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

/// What a tensor holds.
struct tensor_statistics {
  std::uint64_t kept;                  // values that are not zero, those of lost tiles included
  std::uint64_t chunk_bytes;           // exact, without the slabs' unused ends
  std::uint64_t slabs;                 // that it asked the arena for
  std::uint64_t tiles[num_encodings];  // by encoding; index 15: lost
  bool is_full;
};

static_assert(std::is_trivially_copyable_v<tensor_statistics>);

namespace detail {

struct statistics_params {
  arena_space space;
  tile_descriptor const* directory;
  report_slot<tensor_statistics>* slot;
};

/// One block of prologue_threads. A template only because kernels in headers have to be.
template <class Params>
__global__ void statistics_kernel(Params const params) {
  __shared__ unsigned long long kept, units, tiles[num_encodings];
  if (threadIdx.x == 0) kept = units = 0;
  if (threadIdx.x < num_encodings) tiles[threadIdx.x] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < params.space.num_tiles; i += blockDim.x) {
    tile_descriptor const tile = params.directory[i];
    atomicAdd(&kept, static_cast<unsigned long long>(tile.kept()));
    atomicAdd(&units, static_cast<unsigned long long>(tile.chunk_units()));
    atomicAdd(&tiles[static_cast<std::uint32_t>(tile.form())], 1ull);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  tensor_statistics content{
      kept, units * unit_bytes, params.space.needed_slabs(), {}, params.space.is_full()};
  for (std::uint32_t e = 0; e < num_encodings; ++e) content.tiles[e] = tiles[e];
  deliver(content, params.slot);
}

}  // namespace detail

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
  using params = detail::statistics_params;
  return detail::launch(detail::statistics_kernel<params>,
                        1,
                        detail::arena_space::prologue_threads,
                        params{detail::arena_space{tensor}, tensor.directory, slot},
                        stream);
}

}  // namespace v0
}  // namespace bitsparse
