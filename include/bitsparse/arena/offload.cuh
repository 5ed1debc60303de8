// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: a tensor's chunks moved from device slabs to host slabs and back, on the device alone:
/// only compressed bytes cross the link, and the host never learns how many.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>

#include <bitsparse/arena/arena_space.cuh>
#include <bitsparse/arena/arena_tensor.cuh>
#include <bitsparse/arena/operations.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/launch.cuh>
#include <bitsparse/status.hpp>
#include <bitsparse/warp/warp_copier.cuh>

namespace bitsparse {
inline namespace v0 {

/// Blocks of one warp and 32 KiB of shared memory that move a tensor unless the caller says how many.
/// Source: docs/results/h200/offload.json: 8 suffice for a PCIe 5.0 x16 link in both directions.
inline constexpr int default_mover_blocks = 8;

namespace detail {

struct move_params {
  arena_space space;
  int to;  // the kind of slabs: 0 device, 1 host
};

/// Bytes of a needed slab that chunks may lie in. Threads: any.
__device__ __forceinline__ std::uint64_t used_bytes(arena_space const& space, std::uint32_t slab) {
  std::uint64_t const first = static_cast<std::uint64_t>(slab) << space.arena.slab_shift;
  std::uint64_t const units = space.state->cursor % arena_space::one_tile - first;
  return min(units * unit_bytes, space.arena.slab_bytes());
}

/// One warp per block; block b moves slabs b, b + gridDim.x, ... of the tensor. A slab that lies where
/// it should stays, and so does one for which there is no other.
template <class Params>
__global__ void __maxnreg__(32) move_kernel(Params const params) {
  using copier_type = warp_copier<>;
  __shared__ typename copier_type::temp_storage storage;
  arena_space const& space = params.space;
  arena_view const& arena  = space.arena;
  if (!space.is_full()) {
    if (blockIdx.x == 0 && threadIdx.x == 0) arena.raise(device_condition::not_full);
    return;
  }
  copier_type copier(storage);
  std::uint32_t const slabs = min(space.needed_slabs(), space.map_slabs);
  for (std::uint32_t i = blockIdx.x; i < slabs; i += gridDim.x) {
    std::uint32_t const entry = space.slab_map[i];
    if (entry == 0 || entry > arena.num_slabs() || arena.kind_of(entry - 1) == params.to) continue;
    std::uint32_t target = 0;
    if (threadIdx.x == 0) target = arena.take(params.to);
    target = __shfl_sync(0xffffffffu, target, 0);
    if (target == arena_view::no_slab) {
      if (threadIdx.x == 0) arena.count_unmoved();
      continue;
    }
    std::uint64_t const bytes = used_bytes(space, i);
    copier.copy(arena.slab_address(target), arena.slab_address(entry - 1), bytes);
    if (threadIdx.x == 0) {
      space.slab_map[i] = target + 1;
      __threadfence();
      arena.replace(entry - 1, target, bytes);
    }
    __syncwarp();
  }
}

template <class Format>
status launch_move(arena_tensor_view<Format> const& tensor,
                   int to,
                   int num_blocks,
                   cudaStream_t stream) {
  if (status const checked = check_arena_tensor(tensor); !checked.ok()) return checked;
  if (num_blocks < 1 || num_blocks > 1024) {
    return {status_code::invalid_argument, "offload, prefetch: num_blocks is not 1 to 1024"};
  }
  move_params const params{arena_space{tensor}, to};
  return launch(
      move_kernel<move_params>, static_cast<std::uint32_t>(num_blocks), 32, params, stream);
}

}  // namespace detail

/// Moves a full tensor's chunks into host slabs and gives its device slabs back. The tensor stays
/// full: decompress, consume and release work as before, decompress at the link's speed. What finds no
/// free host slab stays on the device, and arena_report::unmoved_slabs counts it: not a condition.
///
/// Stream: asynchronous on `stream`, best one of its own and of high priority (see offloader), after
///   compress; does not synchronise or allocate; capturable. Nothing else uses the tensor meanwhile;
///   other tensors of the arena may be used by any stream.
/// Errors: invalid_argument, unsupported, cuda_error. A tensor that is not full raises not_full.
/// Traffic: the chunks once each way, exact up to the unused ends of slabs.
/// Source: Rhu et al., "Compressing DMA Engine" (HPCA 2018), for compression in front of the link.
/// @param num_blocks blocks of one warp, which fit beside a matrix product's
template <class Format>
status offload(arena_tensor_view<Format> tensor, int num_blocks, cudaStream_t stream) {
  return detail::launch_move(tensor, 1, num_blocks, stream);
}

/// Moves a full tensor's chunks into device slabs and gives its host slabs back: offload's mirror.
/// What finds no free device slab stays in host memory, from where decompress reads it as well.
template <class Format>
status prefetch(arena_tensor_view<Format> tensor, int num_blocks, cudaStream_t stream) {
  return detail::launch_move(tensor, 0, num_blocks, stream);
}

}  // namespace v0
}  // namespace bitsparse
