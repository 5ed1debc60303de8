// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: a tensor's chunks moved from device slabs to host slabs and back, on the device alone:
/// only compressed bytes cross the link, and the host never learns how many.
#pragma once

#include <cuda_runtime_api.h>
#include <algorithm>
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

/// Blocks of one warp that move a tensor unless the caller says how many.
/// Source: docs/results/h200/offload.json: 8 suffice for a PCIe 5.0 x16 link in either direction.
inline constexpr int default_mover_blocks = 8;

namespace detail {

struct move_params {
  arena_space space;
  slab_move* moves;  // (space.map_slabs,)
  int to;            // the kind of slabs: 0 device, 1 host
};

/// Bytes of a needed slab that chunks may lie in. Threads: any.
__device__ __forceinline__ std::uint64_t used_bytes(arena_space const& space, std::uint32_t slab) {
  std::uint64_t const first = static_cast<std::uint64_t>(slab) << space.arena.slab_shift;
  std::uint64_t const units = space.state->cursor % arena_space::one - first;
  return min(units * unit_bytes, space.arena.slab_bytes());
}

/// Lists the slabs that are not where they should be, in the map's order, and takes one for each. A
/// slab for which there is none stays. One warp, so that it starts beside a product, too.
template <class Params>
__global__ void __maxnreg__(32) plan_moves_kernel(Params const params) {
  allow_next_kernel();
  arena_space const& space = params.space;
  arena_view const& arena  = space.arena;
  bool const is_full       = space.is_full();
  if (!is_full && threadIdx.x == 0) arena.raise(device_condition::not_full);
  std::uint32_t const slabs = is_full ? min(space.needed_slabs(), space.map_slabs) : 0;
  auto const is_elsewhere   = [&](std::uint32_t i) {
    std::uint32_t const entry = i < slabs ? space.slab_map[i] : 0;
    return entry != 0 && entry <= arena.num_slabs() && arena.kind_of(entry - 1) != params.to;
  };
  std::uint32_t wanted = 0;
  for (std::uint32_t i = threadIdx.x; i < slabs; i += 32) wanted += is_elsewhere(i) ? 1 : 0;
  wanted = __reduce_add_sync(0xffffffffu, wanted);
  // All at once, or one by one where there are fewer.
  arena_view::tickets drawn{0, 0};
  if (threadIdx.x == 0 && wanted != 0) drawn = arena.draw(params.to, wanted, 0);
  drawn.first = __shfl_sync(0xffffffffu, drawn.first, 0);
  drawn.count = __shfl_sync(0xffffffffu, drawn.count, 0);

  std::uint32_t num_moves = 0, num_before = 0;
  for (std::uint32_t begin = 0; begin < slabs; begin += 32) {
    std::uint32_t const i      = begin + threadIdx.x;
    bool const is_one          = is_elsewhere(i);
    std::uint32_t const before = (1u << threadIdx.x) - 1;
    std::uint32_t const ones   = __ballot_sync(0xffffffffu, is_one);
    std::uint32_t target       = arena_view::no_slab;
    if (is_one) {
      target = drawn.count != 0
                   ? arena.collect(params.to, drawn.first + num_before + __popc(ones & before))
                   : arena.take(params.to);
      if (target == arena_view::no_slab) arena.count_unmoved();
    }
    num_before += __popc(ones);
    std::uint32_t const moves = __ballot_sync(0xffffffffu, target != arena_view::no_slab);
    if (target != arena_view::no_slab) {
      params.moves[num_moves + __popc(moves & before)] = {i, target};
    }
    num_moves += __popc(moves);
  }
  if (threadIdx.x != 0) return;
  space.state->num_moves = num_moves;
  space.state->done      = 0;
}

/// A block's share of the listed slabs: every gridDim.x-th piece. Only the last slab of a list can be
/// partly used, so the pieces end with it.
class move_pieces {
 public:
  __device__ move_pieces(move_params const& params, std::uint32_t piece_bytes)
      : params_(params),
        piece_bytes_(piece_bytes),
        slab_pieces_(static_cast<std::uint32_t>(
            (params.space.arena.slab_bytes() + piece_bytes - 1) / piece_bytes)),
        num_moves_(params.space.state->num_moves),
        next_(blockIdx.x) {}

  __device__ bool next(copy_piece& piece) {
    bool is_new = next_ == blockIdx.x && move_ == 0;
    while (next_ >= slab_pieces_) {
      next_ -= slab_pieces_;
      ++move_;
      is_new = true;
    }
    if (move_ >= num_moves_) return false;
    if (is_new) open();
    std::uint64_t const offset = std::uint64_t{next_} * piece_bytes_;
    if (offset >= bytes_) return false;
    std::uint64_t const rest = bytes_ - offset;
    piece                    = {target_ + offset,
                                source_ + offset,
                                static_cast<std::uint32_t>(rest < piece_bytes_ ? rest : piece_bytes_)};
    next_ += gridDim.x;
    return true;
  }

 private:
  __device__ void open() {
    arena_space const& space = params_.space;
    slab_move const move     = params_.moves[move_];
    target_                  = space.arena.slab_address(move.target);
    source_                  = space.arena.slab_address(space.slab_map[move.index] - 1);
    bytes_                   = used_bytes(space, move.index);
  }

  move_params const& params_;
  std::uint32_t piece_bytes_;
  std::uint32_t slab_pieces_;
  std::uint32_t num_moves_;
  std::uint32_t move_ = 0;  // in the list
  std::uint32_t next_;      // piece of that slab
  std::byte* target_       = nullptr;
  std::byte const* source_ = nullptr;
  std::uint64_t bytes_     = 0;
};

/// When all is copied: enters the new slabs into the map and gives the old ones back. Threads: a warp.
__device__ inline void finish_moves(move_params const& params) {
  arena_space const& space      = params.space;
  std::uint32_t const num_moves = space.state->num_moves;
  int const from                = 1 - params.to;
  std::uint64_t bytes           = 0;
  unsigned long long first      = 0;
  if (threadIdx.x == 0) {
    first = atomicAdd(&space.arena.state->given[from], static_cast<unsigned long long>(num_moves));
    bytes = (num_moves - 1) * space.arena.slab_bytes() +
            used_bytes(space, params.moves[num_moves - 1].index);
    space.arena.count_moved(params.to, num_moves, bytes);
  }
  first = __shfl_sync(0xffffffffu, first, 0);
  for (std::uint32_t i = threadIdx.x; i < num_moves; i += 32) {
    slab_move const move       = params.moves[i];
    std::uint32_t const old    = space.slab_map[move.index] - 1;
    space.slab_map[move.index] = move.target + 1;
    space.arena.put(from, first + i, old);
  }
  __syncwarp();
  if (threadIdx.x == 0) space.arena.announce(from, num_moves);
}

/// Copies what is listed. One warp per block, with the registers that are left beside a block of 384
/// threads of 168: those of cuBLAS's largest products.
template <far_end Far, class Params>
__global__ void __maxnreg__(32) move_kernel(Params const params) {
  using copier_type = warp_copier<Far>;
  __shared__ typename copier_type::temp_storage storage;
  wait_for_previous_kernel();
  if (params.space.state->num_moves == 0) return;
  copier_type copier(storage);
  move_pieces pieces(params, copier_type::piece_bytes);
  copier.copy(pieces);
  bool is_last = false;
  if (threadIdx.x == 0) {
    __threadfence();  // reads of the old slabs and writes of the new ones come before
    is_last = atomicAdd(&params.space.state->done, 1u) + 1 == gridDim.x;
  }
  if (__any_sync(0xffffffffu, is_last)) finish_moves(params);
}

/// The host checks, and what the two kernels get.
template <class Format>
status make_moves(arena_tensor_view<Format> const& tensor,
                  int to,
                  int num_blocks,
                  move_params& params) {
  if (status const checked = check_arena_tensor(tensor); !checked.ok()) return checked;
  if (num_blocks < 1 || num_blocks > 1024) {
    return {status_code::invalid_argument, "offload, prefetch: num_blocks is not 1 to 1024"};
  }
  params = {arena_space{tensor}, tensor.moves, to};
  return {};
}

BITSPARSE_OWN_COPY inline status launch_plan(move_params const& params, cudaStream_t stream) {
  return launch(plan_moves_kernel<move_params>, 1, 32, params, stream);
}

/// @param order `overlaps` if launch_plan() came just before in the stream
BITSPARSE_OWN_COPY inline status launch_moves(move_params const& params,
                                              int num_blocks,
                                              cudaStream_t stream,
                                              launch_order order) {
  auto* const kernel = params.to == 1 ? move_kernel<far_end::target, move_params>
                                      : move_kernel<far_end::source, move_params>;
  launch_order possible;
  if (status const loaded = load(kernel, possible); !loaded.ok()) return loaded;
  auto const blocks   = static_cast<std::uint32_t>(num_blocks);
  bool const is_newer = possible == launch_order::overlaps;  // code for sm_90 or later
  return launch(kernel,
                blocks,
                32,
                params,
                stream,
                is_newer ? order : launch_order::after,
                is_newer ? std::min(blocks & -blocks, 8u) : 1);
}

template <class Format>
status move(arena_tensor_view<Format> const& tensor, int to, int num_blocks, cudaStream_t stream) {
  move_params params{arena_space{tensor}, nullptr, to};
  if (status const made = make_moves(tensor, to, num_blocks, params); !made.ok()) return made;
  if (status const planned = launch_plan(params, stream); !planned.ok()) return planned;
  return launch_moves(params, num_blocks, stream, launch_order::overlaps);
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
  return detail::move(tensor, 1, num_blocks, stream);
}

/// Moves a full tensor's chunks into device slabs and gives its host slabs back: offload's mirror.
/// What finds no free device slab stays in host memory, from where decompress reads it as well.
template <class Format>
status prefetch(arena_tensor_view<Format> tensor, int num_blocks, cudaStream_t stream) {
  return detail::move(tensor, 0, num_blocks, stream);
}

}  // namespace v0
}  // namespace bitsparse
