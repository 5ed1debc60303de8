// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: an arena's memory: fixed-capacity slabs in device and in mapped host memory, and the
/// queues on the device that hand them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>
#include <bitsparse/device/tensor_state.cuh>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/format/tile_format.hpp>

namespace bitsparse {
inline namespace v0 {

/// The arena's state in device memory. All zero before the first reset().
///
/// Free slabs of either kind, device and host, are a queue: a ring of at least as many places as
/// there are slabs, of which each is empty or holds a slab. A queue rather than a list, because
/// taking from a list is a compare-and-swap that one thread at a time wins.
///
/// Nothing here needs a fence: a slab's number is all that is handed over. What its last owner did
/// with the slab was done before the kernel that gave it back, and the next owner cannot write to it
/// before it knows the number.
struct alignas(64) arena_state {
  unsigned long long taken[2];        // slabs ever taken from each queue: the place of the next one
  unsigned long long given[2];        // slabs ever put into it
  unsigned long long moved_bytes[2];  // moved into slabs of each kind since clear()
  std::int32_t available[2];          // slabs that may be taken
  std::uint32_t in_use[2];            // slabs with chunks in them; those taken ahead are not
  std::uint32_t peak[2];              // the most of them since clear(), noted when there are fewer
  std::uint32_t demand;               // slabs needed and not yet released, granted or refused
  std::uint32_t peak_demand;          // the most of them, likewise: what would have sufficed
  std::uint32_t spilled;              // host slabs used since clear()
  std::uint32_t refused;              // needed slabs that there were not, since clear()
  std::uint32_t unmoved;     // slabs that stayed where they were for want of another, since clear()
  std::uint32_t epoch;       // counts reset(): a tensor filled before holds nothing any more
  std::uint32_t conditions;  // device_condition bits
  float skip_step;           // 1 once a condition is raised, else 0
};

static_assert(std::is_trivially_copyable_v<arena_state>);

/// An arena, non-owning. Slabs 0 .. num_device_slabs - 1 lie in device memory, the rest in host
/// memory that the device can address.
struct arena_view {
  static constexpr std::uint32_t no_slab = 0xffffffffu;

  arena_state* state      = nullptr;
  std::uint32_t* ring     = nullptr;  // the device queue, then the host queue: 0, or a slab + 1
  std::byte* device_slabs = nullptr;
  std::byte* host_slabs   = nullptr;
  std::uint32_t num_device_slabs = 0;
  std::uint32_t num_host_slabs   = 0;
  std::uint32_t slab_shift       = 0;  // a slab is 1 << slab_shift units of 16 bytes

  /// Places of the ring of so many slabs: a power of two.
  BITSPARSE_HOST_DEVICE static constexpr std::uint32_t ring_places(std::uint32_t slabs) {
    if (slabs == 0) return 0;
    std::uint32_t places = slabs - 1;
    for (std::uint32_t shift = 1; shift < 32; shift *= 2) places |= places >> shift;
    return places + 1;
  }
  BITSPARSE_HOST_DEVICE constexpr std::uint64_t slab_bytes() const {
    return std::uint64_t{unit_bytes} << slab_shift;
  }
  BITSPARSE_HOST_DEVICE constexpr std::uint32_t num_slabs() const {
    return num_device_slabs + num_host_slabs;
  }

#if defined(__CUDACC__)
  __device__ __forceinline__ std::byte* slab_address(std::uint32_t slab) const {
    return slab < num_device_slabs
               ? device_slabs + (std::uint64_t{slab} * unit_bytes << slab_shift)
               : host_slabs + (std::uint64_t{slab - num_device_slabs} * unit_bytes << slab_shift);
  }

  BITSPARSE_HOST_DEVICE constexpr std::uint32_t num_slabs_of(int kind) const {
    return kind == 0 ? num_device_slabs : num_host_slabs;
  }
  __device__ __forceinline__ int kind_of(std::uint32_t slab) const {
    return slab < num_device_slabs ? 0 : 1;
  }

  /// Slabs of one kind that may be taken, as tickets: collect() gives the slab of each of the
  /// tickets first .. first + count - 1.
  struct tickets {
    unsigned long long first;
    std::uint32_t count;
  };
  /// Draws \p wanted tickets, or none where fewer than \p kept slabs would be left. Threads: any one.
  __device__ inline tickets draw(int kind, std::uint32_t wanted, std::uint32_t kept) const {
    auto const left  = static_cast<std::int32_t>(kept);
    auto const count = static_cast<std::int32_t>(wanted);
    if (count == 0 || num_slabs_of(kind) <= kept) return {0, 0};
    // The subtraction itself finds out: to look first is one more trip to memory.
    if (atomicSub(&state->available[kind], count) - count < left) {
      atomicAdd(&state->available[kind], count);
      return {0, 0};
    }
    return {atomicAdd(&state->taken[kind], static_cast<unsigned long long>(wanted)), wanted};
  }
  /// A slab for a ticket: what its place holds, or will hold when who gives it has put it there. An
  /// exchange, since two tickets that are a whole ring apart have the same place.
  /// Threads: any; each with a ticket of its own.
  __device__ inline std::uint32_t collect(int kind, unsigned long long ticket) const {
    std::uint32_t* const place = place_of(kind, ticket);
    std::uint32_t entry;
    do {
      entry = atomicExch(place, 0u);
    } while (entry == 0);
    return entry - 1;
  }
  /// Takes a slab of one kind, or none. Threads: any one.
  __device__ inline std::uint32_t take(int kind) const {
    tickets drawn = draw(kind, 1, 0);
    // Slabs may be free all the same: draw() subtracts before it knows, and who gives slabs counts
    // them before it announces them.
    while (drawn.count == 0 && has_free(kind)) {
      if (now(state->available[kind]) > 0) drawn = draw(kind, 1, 0);
    }
    return drawn.count != 0 ? collect(kind, drawn.first) : no_slab;
  }
  /// Takes a slab: of device memory, else of host memory, else none. Threads: any one.
  __device__ inline std::uint32_t take() const {
    std::uint32_t slab = no_slab;
    for (int kind = 0; kind < 2 && slab == no_slab; ++kind) slab = take(kind);
    return slab;
  }

  /// Accounts for a slab that is now needed; raises capacity_exceeded for no_slab. Threads: any one.
  __device__ inline void count_used(std::uint32_t slab) const {
    atomicAdd(&state->demand, 1u);
    if (slab == no_slab) {
      atomicAdd(&state->refused, 1u);
      atomicMax(&state->peak_demand,
                num_slabs() + 1);  // whatever others hold ahead: more are needed
      raise(device_condition::capacity_exceeded);
      return;
    }
    int const kind = kind_of(slab);
    atomicAdd(&state->in_use[kind], 1u);
    if (kind == 1) atomicAdd(&state->spilled, 1u);
  }
  /// Notes what is in use, if it is more than ever before.
  /// Threads: any one.
  __device__ inline void note_peak() const {
    atomicMax(&state->peak[0], now(state->in_use[0]));
    atomicMax(&state->peak[1], now(state->in_use[1]));
    atomicMax(&state->peak_demand, now(state->demand));
  }
  /// Accounts for slabs of one kind that are given back. Threads: any one.
  __device__ inline void count_given(int kind, std::uint32_t count) const {
    if (count != 0) atomicMax(&state->peak[kind], atomicSub(&state->in_use[kind], count));
  }
  /// Accounts for slabs whose chunks have moved to as many of kind \p to. Threads: any one.
  __device__ inline void count_moved(int to, std::uint32_t count, std::uint64_t bytes) const {
    atomicMax(&state->peak[to], atomicAdd(&state->in_use[to], count) + count);
    atomicAdd(&state->moved_bytes[to], static_cast<unsigned long long>(bytes));
    count_given(1 - to, count);
  }
  __device__ inline void count_unmoved() const {
    atomicAdd(&state->unmoved, 1u);
  }
  /// Accounts for needs that have ended, those refused too. Threads: any one.
  __device__ inline void count_ended(std::uint32_t count) const {
    if (count != 0) atomicMax(&state->peak_demand, atomicSub(&state->demand, count));
  }

  /// How many slabs more a queue can hold: at least as many as were taken from it. Threads: any.
  __device__ inline std::uint32_t room(int kind) const {
    unsigned long long const given = now(state->given[kind]);
    __threadfence();  // in this order: others may take meanwhile
    return static_cast<std::uint32_t>(now(state->taken[kind]) + num_slabs_of(kind) - given);
  }
  /// Puts a slab into its queue's place number \p number. announce() lets it be taken: before or after,
  /// since who takes it waits for it.
  /// Threads: any; each with a number of its own, from a range that was added to given.
  __device__ inline void put(int kind, unsigned long long number, std::uint32_t slab) const {
    while (atomicCAS(place_of(kind, number), 0u, slab + 1) !=
           0u) {  // until what was there is taken
    }
  }
  /// Lets so many more slabs be taken. Threads: any one.
  __device__ inline void announce(int kind, std::uint32_t count) const {
    if (count != 0) atomicAdd(&state->available[kind], static_cast<std::int32_t>(count));
  }

  __device__ __forceinline__ void raise(device_condition condition) const {
    atomicOr(&state->conditions, static_cast<std::uint32_t>(condition));
    state->skip_step = 1.0f;
  }

 private:
  template <class Count>
  __device__ static __forceinline__ Count now(Count const& count) {
    return const_cast<Count const volatile&>(count);
  }
  /// Whether more slabs were given than taken; reads the smaller number first.
  __device__ inline bool has_free(int kind) const {
    unsigned long long const taken = now(state->taken[kind]);
    __threadfence();
    return now(state->given[kind]) > taken;
  }
  __device__ __forceinline__ std::uint32_t* place_of(int kind, unsigned long long number) const {
    auto const index = static_cast<std::uint32_t>(number) & (ring_places(num_slabs_of(kind)) - 1);
    return ring + (kind == 0 ? 0 : ring_places(num_device_slabs)) + index;
  }
#endif
};

static_assert(std::is_trivially_copyable_v<arena_view>);

}  // namespace v0
}  // namespace bitsparse
