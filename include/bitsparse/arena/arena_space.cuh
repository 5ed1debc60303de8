// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: the address space of a tensor in an arena, as compress and decompress use it. Over 300
/// lines: who fills a slab map and who reads it or empties it are to be read together.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cub/block/block_scan.cuh>

#include <bitsparse/arena/arena_tensor.cuh>
#include <bitsparse/arena/arena_view.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/launch.cuh>
#include <bitsparse/device/tensor_state.cuh>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// A tensor's own address space: slab i of it is what slab_map[i] says: the arena's slab + 1; 0 while
/// it is not known; `at_need` if it is to be taken when it is needed; no_slab if there was none.
///
/// Taking a slab costs a few trips to memory, in which a fast tensor fills several more. So slabs are
/// taken `slabs_ahead` before they are needed: the first ones by a block of their own, slab
/// i + slabs_ahead by the tile that covers slab i's first unit. The last block gives back what was too
/// much. While the arena has fewer than `slabs_kept` free slabs nothing is taken ahead, so that no
/// tensor lacks what another one, or itself, has taken for nothing.
struct arena_space {
  static constexpr int leading_blocks        = 1;  // of compress: take_first()
  static constexpr int prologue_threads      = 1024;
  static constexpr unsigned long long one    = 1ull << 36;  // tile or slab, in the cursor
  static constexpr std::uint32_t slabs_ahead = 32;
  static constexpr std::uint32_t at_need     = arena_view::no_slab - 1;
  // More than the chunks that all resident blocks of a device reserve at a time.
  static constexpr std::uint64_t units_in_flight = (32u << 20) / unit_bytes;

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

  /// Whether so many units may be reserved at once: they cover the first unit of one slab at most, so
  /// that a warp begins one at a time.
  constexpr bool admits(std::uint32_t units) const { return units <= 1ull << arena.slab_shift; }

  /// Slabs that are left when one is taken ahead. Of one tensor, at most the slabs in flight and those
  /// up to slabs_ahead after them are needed and not yet taken when a slab beyond them is.
  __device__ __forceinline__ std::uint32_t slabs_kept() const {
    return 2 * slabs_ahead + static_cast<std::uint32_t>(units_in_flight >> arena.slab_shift);
  }

  __device__ __forceinline__ float scale() const { return state->scale; }
  __device__ __forceinline__ bool is_full() const {
    return state->phase == tensor_phase::full && state->epoch == arena.state->epoch;
  }
  /// Slabs that the tensor has needed since it was last emptied, granted or refused.
  __device__ __forceinline__ std::uint32_t needed_slabs() const {
    return needed_slabs(*const_cast<unsigned long long const volatile*>(&state->cursor));
  }

  // -----------------------------------------------------------------------------------------------
  // Filling
  // -----------------------------------------------------------------------------------------------

  /// Gives back the slabs that the tensor still holds and empties it. Threads: one block of
  /// prologue_threads.
  __device__ inline void empty(tensor_phase phase) const {
    // All at once: each is a trip to memory.
    tensor_phase const before  = state->phase;
    std::uint32_t const filled = state->epoch, epoch = arena.state->epoch;
    std::uint32_t const needed = min(needed_slabs(), map_slabs);
    // Where a compress did not end, even those that it had taken ahead.
    std::uint32_t const ahead = before == tensor_phase::writing ? slabs_ahead : 0;
    __syncthreads();  // all have read the state
    if (needed + ahead != 0)
      give_back(
          needed, min(needed + ahead, map_slabs), before != tensor_phase::empty && filled == epoch);
    if (threadIdx.x == 0) {
      state->cursor = 0;
      state->epoch  = epoch;
      state->phase  = phase;
    }
  }
  /// Empties the tensor before it is filled. Threads: one block of prologue_threads.
  /// @param scale what the values to come are multiplied with
  __device__ inline void reset(float scale) const {
    empty(num_tiles == 0 ? tensor_phase::full : tensor_phase::writing);
    if (threadIdx.x == 0) state->scale = scale;
  }
  /// Takes the first slabs while the first tiles are on their way, which is why it is not the
  /// prologue that does. Threads: all of a block that is one of the first to run.
  __device__ __noinline__ static void take_first(arena_space const space) {
    if (threadIdx.x >= slabs_ahead) return;
    std::uint32_t const wanted = min(slabs_ahead, space.map_slabs);
    arena_view::tickets drawn  = space.draw_first(wanted);
    std::uint32_t entry        = at_need;
    if (threadIdx.x < drawn.count) entry = space.arena.collect(0, drawn.first + threadIdx.x) + 1;
    // For the prologue, which empties the map, and may have given back what there was not.
    wait_for_previous_kernel();
    if (drawn.count == 0) {
      drawn = space.draw_first(wanted);
      if (threadIdx.x < drawn.count) entry = space.arena.collect(0, drawn.first + threadIdx.x) + 1;
    }
    if (threadIdx.x < wanted) *space.entry_of(threadIdx.x) = entry;
  }

  /// Takes units in a row for the chunks of some tiles, possibly none. find() is to follow for all of
  /// them, or settle() and resolve() for each chunk. Threads: one per block.
  /// @return the cursor before: see first_unit(), end_of()
  __device__ __forceinline__ unsigned long long reserve(std::uint32_t units,
                                                        std::uint32_t tiles) const {
    return atomicAdd(&state->cursor, units + tiles * one);
  }
  __device__ __forceinline__ static unsigned long long first_unit(unsigned long long reserved) {
    return reserved % one;
  }
  /// The cursor that a reservation left, if it was the last: all tiles have reserved, and all slabs
  /// that they need are begun. Else 0.
  __device__ __forceinline__ unsigned long long end_of(unsigned long long reserved,
                                                       std::uint32_t units,
                                                       std::uint32_t tiles) const {
    unsigned long long const cursor = reserved + units + tiles * one;
    return cursor / one == num_tiles + needed_slabs(cursor) ? cursor : 0;
  }

  /// Says where so many reserved units lie, if they follow each other in one slab on the device that is
  /// known, and do not begin it: no settle() and resolve() are needed then. Threads: any.
  __device__ __forceinline__ bool find(unsigned long long first,
                                       std::uint32_t units,
                                       reservation& run) const {
    std::uint32_t const slab_units = 1u << arena.slab_shift;
    std::uint32_t const in_slab    = static_cast<std::uint32_t>(first) & (slab_units - 1);
    std::uint32_t const slab       = slab_of(first);
    if (in_slab == 0 || in_slab + units > slab_units || slab >= map_slabs) return false;
    std::uint32_t const number = known_entry(slab) - 1;  // not a slab's, if the entry is none
    if (number >= arena.num_device_slabs) return false;
    std::uint64_t const unit = std::uint64_t{number} << arena.slab_shift | in_slab;
    run                      = {first, arena.device_slabs + unit * unit_bytes};
    return true;
  }

  /// Makes sure that a reserved chunk lies in one slab, and returns its first unit. A chunk that
  /// straddles two slabs is abandoned and reserved again. The chunk that covers a slab's first unit
  /// takes care of that slab. Threads: one per tile that has a chunk.
  /// @param end set to end_of() a reservation made here, if it was the last
  __device__ __forceinline__ unsigned long long settle(unsigned long long first,
                                                       std::uint32_t units,
                                                       unsigned long long& end) const {
    bool straddles;
    do {
      std::uint32_t const slab = slab_of(first), last = slab_of(first + units - 1);
      straddles = slab != last;
      if (!straddles && first != static_cast<unsigned long long>(slab) << arena.slab_shift) break;
      unsigned long long const again = begin(*this, last, straddles ? units : 0);
      if (unsigned long long const cursor = end_of(again, straddles ? units : 0, 1); cursor != 0)
        end = cursor;
      if (straddles) first = first_unit(again);
    } while (straddles);
    return first;
  }

  /// Says where a settled chunk lies, when its slab is known; null if the slab was refused. Waiting
  /// never goes round in circles: it is for the chunk that begins the slab, which waits at most for
  /// the one that begins slab i - slabs_ahead, and before that takes slab i + slabs_ahead.
  /// Threads: one per tile that has a chunk, when all those of its warp have settled.
  __device__ __forceinline__ reservation resolve(unsigned long long first) const {
    std::uint32_t const slab = slab_of(first);
    if (slab >= map_slabs) return {0, nullptr};
    std::uint32_t entry = known_entry(slab);
    if (entry == 0 || entry == at_need) entry = wait_for(slab, at_need);
    if (entry == arena_view::no_slab) return {0, nullptr};
    std::uint64_t const in_slab = first & ((1ull << arena.slab_shift) - 1);
    return {first, arena.slab_address(entry - 1) + in_slab * unit_bytes};
  }

  /// When all tiles have reserved: gives back what was taken ahead and not needed. Threads: all of
  /// the block whose reservation was the last.
  /// @param end see end_of()
  __device__ __noinline__ static void finish(arena_space const space, unsigned long long end) {
    if (threadIdx.x >= slabs_ahead) return;
    std::uint32_t const slab = space.needed_slabs(end) + threadIdx.x;
    std::uint32_t entry      = at_need;
    if (slab < space.map_slabs) {
      entry                 = space.wait_for(slab, 0);
      *space.entry_of(slab) = 0;
    }
    bool const is_surplus       = entry != at_need;
    std::uint32_t const surplus = __ballot_sync(0xffffffffu, is_surplus);
    unsigned long long first    = 0;
    if (threadIdx.x == 0) {
      std::uint32_t const count = __popc(surplus);
      first = atomicAdd(&space.arena.state->given[0], static_cast<unsigned long long>(count));
      space.arena.announce(0, count);
      space.state->phase = tensor_phase::full;
    }
    first = __shfl_sync(0xffffffffu, first, 0) + __popc(surplus & ((1u << threadIdx.x) - 1));
    if (is_surplus) space.arena.put(0, first, entry - 1);
  }
  static_assert(slabs_ahead == 32, "bitsparse: a warp has a lane for each slab taken ahead");

  // -----------------------------------------------------------------------------------------------
  // Reading
  // -----------------------------------------------------------------------------------------------

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
  __device__ __forceinline__ std::uint32_t slab_of(unsigned long long unit) const {
    return static_cast<std::uint32_t>(unit >> arena.slab_shift);
  }
  /// An entry of the map. All tiles read the same few: from L1, which knows them, or an older 0.
  __device__ __forceinline__ std::uint32_t known_entry(std::uint32_t slab) const {
    std::uint32_t entry;
    asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(entry) : "l"(slab_map + slab));
    return entry;
  }
  /// An entry of the map, past L1.
  __device__ __forceinline__ std::uint32_t volatile* entry_of(std::uint32_t slab) const {
    return slab_map + slab;
  }
  __device__ __forceinline__ std::uint32_t newest_entry(std::uint32_t slab) const {
    return *entry_of(slab);
  }
  /// Polls an entry until it is neither unknown nor \p other.
  __device__ __forceinline__ std::uint32_t wait_for(std::uint32_t slab, std::uint32_t other) const {
    std::uint32_t entry;
    do {
      entry = newest_entry(slab);
    } while (entry == 0 || entry == other);
    return entry;
  }

  __device__ __forceinline__ std::uint32_t needed_slabs(unsigned long long cursor) const {
    unsigned long long const units = cursor % one;
    return static_cast<std::uint32_t>((units + (1ull << arena.slab_shift) - 1) >> arena.slab_shift);
  }

  /// For the chunk that covers a slab's first unit: takes a slab ahead, and this one if nobody did.
  /// Not inlined: it is rare, and its registers would be taken from every tile.
  /// @param units what to reserve again
  /// @return the cursor before that
  __device__ __noinline__ static unsigned long long begin(arena_space const space,
                                                          std::uint32_t slab,
                                                          std::uint32_t units) {
    // The block waits for this: trips to memory that need not wait for each other come first.
    unsigned long long const again = space.reserve(units, 1);
    std::uint32_t entry            = slab < space.map_slabs ? space.newest_entry(slab) : 0;
    std::uint32_t const ahead      = slab + slabs_ahead;
    if (ahead < space.map_slabs) {
      auto const drawn       = space.arena.draw(0, 1, space.slabs_kept());
      *space.entry_of(ahead) = drawn.count == 0 ? at_need : space.arena.collect(0, drawn.first) + 1;
    }
    if (slab >= space.map_slabs) return again;  // which max_slabs() rules out
    if (entry == 0) entry = space.wait_for(slab, 0);
    if (entry == at_need) {
      std::uint32_t const taken = space.arena.take();
      entry                     = taken == arena_view::no_slab ? taken : taken + 1;
      *space.entry_of(slab)     = entry;
    }
    space.arena.count_used(entry == arena_view::no_slab ? entry : entry - 1);
    return again;
  }

  /// Tickets for the first slabs, or none. Threads: a warp.
  __device__ __forceinline__ arena_view::tickets draw_first(std::uint32_t wanted) const {
    arena_view::tickets drawn{0, 0};
    if (threadIdx.x == 0) drawn = arena.draw(0, wanted, slabs_kept());
    return {__shfl_sync(0xffffffffu, drawn.first, 0), __shfl_sync(0xffffffffu, drawn.count, 0)};
  }

  /// Clears the first \p count entries of the map, of which the first \p needed were in use; if the
  /// slabs are the tensor's, puts them back into their queues. Threads: one block of prologue_threads.
  __device__ inline void give_back(std::uint32_t needed,
                                   std::uint32_t count,
                                   bool holds_slabs) const {
    using block_scan = cub::BlockScan<std::uint32_t, prologue_threads>;
    __shared__ typename block_scan::TempStorage scan_storage;
    __shared__ std::uint32_t sizes[2], used[2], room[2];
    __shared__ unsigned long long first[2];
    if (threadIdx.x < 2) sizes[threadIdx.x] = used[threadIdx.x] = 0;
    // By the last threads, which most often have no slab to count meanwhile.
    int const last = prologue_threads - 1 - static_cast<int>(threadIdx.x);
    if (last < 2) room[last] = arena.room(last);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += prologue_threads) {
      if (!is_granted(slab_map[i], holds_slabs)) continue;
      int const kind = arena.kind_of(slab_map[i] - 1);
      atomicAdd(&sizes[kind], 1u);
      if (i < needed) atomicAdd(&used[kind], 1u);
    }
    __syncthreads();
    bool const is_corrupt = threadIdx.x < 2 && sizes[threadIdx.x] > room[threadIdx.x];
    if (__syncthreads_or(is_corrupt)) {  // the map names what it cannot hold: kept until reset()
      for (std::uint32_t i = threadIdx.x; i < count; i += prologue_threads) slab_map[i] = 0;
      if (threadIdx.x == 0) arena.raise(device_condition::corrupt_tile);
      return;
    }
    if (threadIdx.x < 2) {
      first[threadIdx.x] = atomicAdd(&arena.state->given[threadIdx.x],
                                     static_cast<unsigned long long>(sizes[threadIdx.x]));
    }
    // In the map's order, so that slabs that follow each other in memory still do so in the queue:
    // consecutive chunks that lie close to each other are written faster (docs/tuning.md).
    for (std::uint32_t begin = 0; begin < count; begin += prologue_threads) {
      std::uint32_t const i     = begin + threadIdx.x;
      std::uint32_t const entry = i < count ? slab_map[i] : 0;
      bool const is_one         = is_granted(entry, holds_slabs);
      int const kind            = is_one ? arena.kind_of(entry - 1) : 0;
      std::uint32_t before, all;  // of device slabs in the low half, of host slabs in the high half
      __syncthreads();            // first[] is known, scan_storage free
      block_scan(scan_storage).ExclusiveSum(is_one ? 1u << 16 * kind : 0u, before, all);
      if (i < count) slab_map[i] = 0;
      if (is_one) arena.put(kind, first[kind] + (before >> 16 * kind & 0xffffu), entry - 1);
      __syncthreads();  // first[] has been read
      if (threadIdx.x < 2) first[threadIdx.x] += all >> 16 * threadIdx.x & 0xffffu;
    }
    __syncthreads();
    if (threadIdx.x < 2) {
      arena.count_given(static_cast<int>(threadIdx.x), used[threadIdx.x]);
      arena.announce(static_cast<int>(threadIdx.x), sizes[threadIdx.x]);
    }
    if (threadIdx.x == 0 && holds_slabs) arena.count_ended(needed);
  }

  __device__ __forceinline__ bool is_granted(std::uint32_t entry, bool holds_slabs) const {
    return holds_slabs && entry != 0 && entry <= arena.num_slabs();
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
