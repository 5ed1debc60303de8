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

  __device__ __forceinline__ bool is_full() const {
    return state->phase == tensor_phase::full && state->epoch == arena.state->epoch;
  }
  /// Slabs that the tensor has asked for since it was last emptied, granted or refused.
  __device__ __forceinline__ std::uint32_t asked_slabs() const {
    unsigned long long const units = state->cursor % one_tile;
    unsigned long long const asked = (units + (1ull << arena.slab_shift) - 1) >> arena.slab_shift;
    return static_cast<std::uint32_t>(asked < map_slabs ? asked : map_slabs);
  }

  /// Gives back the slabs that the tensor still holds and empties it. Threads: one block of
  /// prologue_threads.
  __device__ inline void empty(tensor_phase phase) const {
    bool const holds_slabs =
        state->phase != tensor_phase::empty && state->epoch == arena.state->epoch;
    std::uint32_t const count = asked_slabs();
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

  /// Takes units for a tile's chunk; resolve() is to follow. The tile whose reservation covers a
  /// slab's first unit takes that slab before it waits for anything; all others wait for it at
  /// most, so waiting never goes round in circles. A reservation that straddles two slabs is
  /// abandoned and taken again.
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
      if (first == slab << arena.slab_shift || last != slab) {
        publish(arena, last < map_slabs ? slab_map + last : nullptr);
      }
      if (last == slab) return {first, nullptr};
    }
  }

  /// Waits for a reservation's slab, and says where in it the chunk lies.
  __device__ inline reservation resolve(reservation place) const {
    unsigned long long const slab = place.offset_units >> arena.slab_shift;
    std::uint32_t const entry     = slab < map_slabs ? wait_for(slab) : arena_view::no_slab;
    if (entry == arena_view::no_slab) return {0, nullptr};
    std::uint64_t const in_slab = place.offset_units - (slab << arena.slab_shift);
    return {place.offset_units, arena.slab_address(entry - 1) + in_slab * unit_bytes};
  }

  /// Finds a tile's chunk. Threads: any.
  __device__ __forceinline__ located_chunk locate(tile_descriptor descriptor) const {
    if (!is_full()) return {nullptr, device_condition::not_full};
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
  /// Takes a slab and says so in an entry of the map; null where the map ends, which max_slabs() rules
  /// out. Not inlined: it is rare, and its registers would be taken from every tile.
  __device__ __noinline__ static void publish(arena_view const arena, std::uint32_t* entry) {
    std::uint32_t const taken = arena.take();
    if (entry != nullptr) {
      __threadfence();
      atomicExch(entry, taken == arena_view::no_slab ? taken : taken + 1);
    }
    arena.count_taken(taken);
  }

  /// Polls past L1.
  __device__ inline std::uint32_t wait_for(unsigned long long slab) const {
    std::uint32_t entry;
    do {
      entry = *static_cast<std::uint32_t volatile*>(slab_map + slab);
    } while (entry == 0);
    __threadfence();
    return entry;
  }

  /// Clears the first entries of the map; if the slabs are the tensor's, puts them back into their
  /// queues. Threads: one block of prologue_threads.
  __device__ inline void give_back(std::uint32_t count, bool holds_slabs) const {
    __shared__ std::uint32_t sizes[2], ranks[2];
    __shared__ unsigned long long first[2];
    if (threadIdx.x < 2) sizes[threadIdx.x] = ranks[threadIdx.x] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += prologue_threads) {
      if (is_granted(slab_map[i], holds_slabs))
        atomicAdd(&sizes[arena.kind_of(slab_map[i] - 1)], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 2) {
      first[threadIdx.x] = atomicAdd(&arena.state->given[threadIdx.x],
                                     static_cast<unsigned long long>(sizes[threadIdx.x]));
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += prologue_threads) {
      std::uint32_t const entry = slab_map[i];
      slab_map[i]               = 0;
      if (!is_granted(entry, holds_slabs)) continue;
      int const kind = arena.kind_of(entry - 1);
      arena.put(kind, first[kind] + atomicAdd(&ranks[kind], 1u), entry - 1);
    }
    __threadfence();  // the places, and all that was done with the slabs, before they can be taken
    __syncthreads();
    if (threadIdx.x < 2) arena.announce(static_cast<int>(threadIdx.x), sizes[threadIdx.x]);
    if (threadIdx.x == 0 && holds_slabs) atomicSub(&arena.state->demand, count);
  }

  __device__ __forceinline__ bool is_granted(std::uint32_t entry, bool holds_slabs) const {
    return holds_slabs && entry != 0 && entry <= arena.num_slabs();
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
