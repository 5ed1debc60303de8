// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: the address space of a tensor in an arena, as compress and decompress use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <bitsparse/arena/arena_tensor.cuh>
#include <bitsparse/arena/arena_view.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/device/tensor_state.cuh>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// A tensor's own address space: slab i of it is what slab_map[i] says.
struct arena_space {
  static constexpr int prologue_threads        = 256;
  static constexpr unsigned long long one_tile = 1ull << 36;

  arena_view arena;
  arena_tensor_state* state;
  std::uint32_t* slab_map;
  std::uint32_t map_slabs;
  std::uint32_t num_tiles;

  template <class Format>
  explicit arena_space(arena_tensor_view<Format> const& tensor)
      : arena(tensor.arena),
        state(tensor.state),
        slab_map(tensor.slab_map),
        map_slabs(tensor.map_slabs),
        num_tiles(
            static_cast<std::uint32_t>(bitsparse::num_tiles<Format>(tensor.rows, tensor.cols))) {}

  /// Gives back the slabs that the tensor still holds and empties it. Threads: one block of
  /// prologue_threads.
  __device__ inline void empty(tensor_phase phase) const {
    bool const holds_slabs =
        state->phase != tensor_phase::empty && state->epoch == arena.state->epoch;
    unsigned long long const units = state->cursor % one_tile;
    unsigned long long const asked = (units + (1ull << arena.slab_shift) - 1) >> arena.slab_shift;
    auto const count = static_cast<std::uint32_t>(asked < map_slabs ? asked : map_slabs);
    __syncthreads();  // all have read the state
    give_back(count, holds_slabs);
    if (threadIdx.x == 0) {
      state->cursor = 0;
      state->epoch  = arena.state->epoch;
      state->phase  = phase;
    }
  }
  __device__ __forceinline__ void reset() const {
    empty(num_tiles == 0 ? tensor_phase::full : tensor_phase::writing);
  }

  /// Takes units for a tile's chunk. The tile whose reservation covers a slab's first unit takes that
  /// slab before it waits for anything; all others wait for it at most, so waiting never goes round in
  /// circles. A reservation that straddles two slabs is abandoned and taken again.
  /// Threads: one per tile, with 0 units for a tile that has no chunk.
  __device__ inline reservation reserve(std::uint32_t units) const {
    unsigned long long step = units + one_tile;
    while (true) {
      unsigned long long const old = atomicAdd(&state->cursor, step);
      if (step >= one_tile && old / one_tile + 1 == num_tiles) state->phase = tensor_phase::full;
      if (units == 0) return {0, nullptr};
      step                           = units;  // should it be taken again, the tile is counted
      unsigned long long const first = old % one_tile;
      unsigned long long const slab  = first >> arena.slab_shift;
      unsigned long long const last  = (first + units - 1) >> arena.slab_shift;
      bool const starts_slab         = first == slab << arena.slab_shift;
      if (starts_slab || last != slab) publish(last);
      if (last != slab) continue;
      std::uint32_t const entry = wait_for(slab);
      if (entry == arena_view::no_slab) return {0, nullptr};
      return {first,
              arena.slab_address(entry - 1) + (first - (slab << arena.slab_shift)) * unit_bytes};
    }
  }

  /// Finds a tile's chunk. Threads: any.
  __device__ __forceinline__ located_chunk locate(tile_descriptor descriptor) const {
    if (state->phase != tensor_phase::full || state->epoch != arena.state->epoch) {
      return {nullptr, device_condition::not_full};
    }
    if (descriptor.chunk_units() == 0) return {nullptr, device_condition::none};
    std::uint64_t const first = descriptor.offset_units();
    std::uint64_t const slab  = first >> arena.slab_shift;
    std::uint64_t const last  = (first + descriptor.chunk_units() - 1) >> arena.slab_shift;
    std::uint32_t const entry = slab < map_slabs ? slab_map[slab] : 0;
    if (last != slab || entry == 0 || entry > arena.num_slabs()) {
      return {nullptr, device_condition::corrupt_tile};
    }
    return {arena.slab_address(entry - 1) + (first - (slab << arena.slab_shift)) * unit_bytes,
            device_condition::none};
  }

  __device__ __forceinline__ void raise(device_condition condition) const {
    arena.raise(condition);
  }

 private:
  __device__ inline void publish(unsigned long long slab) const {
    std::uint32_t const taken = arena.take();
    if (slab >= map_slabs) return;  // the bound of max_slabs() excludes it
    __threadfence();
    atomicExch(slab_map + slab, taken == arena_view::no_slab ? taken : taken + 1);
  }

  /// Polls past L1.
  __device__ inline std::uint32_t wait_for(unsigned long long slab) const {
    if (slab >= map_slabs) return arena_view::no_slab;
    std::uint32_t entry;
    do {
      entry = *static_cast<std::uint32_t volatile*>(slab_map + slab);
    } while (entry == 0);
    __threadfence();
    return entry;
  }

  /// Clears the first entries of the map; if the slabs are the tensor's, links those of each kind into
  /// one chain and puts it back. Threads: one block of prologue_threads.
  __device__ inline void give_back(std::uint32_t count, bool holds_slabs) const {
    constexpr std::uint32_t warps = prologue_threads / 32;
    __shared__ std::uint32_t first[2][warps], last[2][warps], sizes[2][warps];
    std::uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    std::uint32_t chain_first[2] = {arena_view::no_slab, arena_view::no_slab};
    std::uint32_t chain_last[2]  = {arena_view::no_slab, arena_view::no_slab};
    std::uint32_t chain_size[2]  = {0, 0};
    for (std::uint32_t base = warp * 32; base < count; base += prologue_threads) {
      std::uint32_t const entry = base + lane < count ? slab_map[base + lane] : 0;
      if (base + lane < count) slab_map[base + lane] = 0;
      std::uint32_t const slab = entry - 1;  // of no meaning unless granted
      bool const granted       = holds_slabs && entry != 0 && entry <= arena.num_slabs();
#pragma unroll
      for (int kind = 0; kind < 2; ++kind) {
        bool const is_kind       = granted && (slab >= arena.num_device_slabs) == (kind == 1);
        std::uint32_t const mask = __ballot_sync(0xffffffffu, is_kind);
        if (mask == 0) continue;
        std::uint32_t const above = lane == 31 ? 0 : mask & (0xfffffffeu << lane);
        std::uint32_t const after =
            __shfl_sync(0xffffffffu, slab, above != 0 ? __ffs(above) - 1 : 0);
        if (is_kind) arena.next[slab] = above != 0 ? after : chain_first[kind];
        if (chain_size[kind] == 0)
          chain_last[kind] = __shfl_sync(0xffffffffu, slab, 31 - __clz(mask));
        chain_first[kind] = __shfl_sync(0xffffffffu, slab, __ffs(mask) - 1);
        chain_size[kind] += __popc(mask);
      }
    }
    if (lane == 0) {
      for (int kind = 0; kind < 2; ++kind) {
        first[kind][warp] = chain_first[kind];
        last[kind][warp]  = chain_last[kind];
        sizes[kind][warp] = chain_size[kind];
      }
    }
    __syncthreads();
    if (threadIdx.x < 2) join_and_give(static_cast<int>(threadIdx.x), first, last, sizes);
    if (threadIdx.x == 0 && holds_slabs) atomicSub(&arena.state->demand, count);
  }

  /// Links the warps' chains of one kind and puts them back at once.
  template <std::size_t Warps>
  __device__ inline void join_and_give(int kind,
                                       std::uint32_t const (&first)[2][Warps],
                                       std::uint32_t const (&last)[2][Warps],
                                       std::uint32_t const (&sizes)[2][Warps]) const {
    std::uint32_t head = arena_view::no_slab, tail = arena_view::no_slab, total = 0;
    for (std::size_t warp = 0; warp < Warps; ++warp) {
      if (sizes[kind][warp] == 0) continue;
      if (total == 0) {
        tail = last[kind][warp];
      } else {
        arena.next[last[kind][warp]] = head;
      }
      head = first[kind][warp];
      total += sizes[kind][warp];
    }
    arena.give(kind, head, tail, total);
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
