// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: an arena's memory: fixed-capacity slabs in device and in mapped host memory, and the
/// lists on the device that hand them out.
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

/// The arena's state in device memory. All of it is set by reset().
struct alignas(64) arena_state {
  unsigned long long heads[2];  // free lists, device and host: slab number, and a tag above bit 32
  std::uint32_t in_use[2];      // slabs handed out, device and host
  std::uint32_t peak[2];        // the most of them since clear()
  std::uint32_t demand;         // slabs asked for and not yet released, granted or refused
  std::uint32_t peak_demand;    // the most of them since clear(): what would have sufficed
  std::uint32_t spilled;        // host slabs handed out since clear()
  std::uint32_t refused;        // requests refused since clear()
  std::uint32_t epoch;          // counts reset(): a tensor filled before holds nothing any more
  std::uint32_t conditions;     // device_condition bits
  float skip_step;              // 1 once a condition is raised, else 0
};

static_assert(std::is_trivially_copyable_v<arena_state>);

/// An arena, non-owning. Slabs 0 .. num_device_slabs - 1 lie in device memory, the rest in host
/// memory that the device can address.
struct arena_view {
  static constexpr std::uint32_t no_slab = 0xffffffffu;

  arena_state* state             = nullptr;
  std::uint32_t* next            = nullptr;  // (slabs,) links of the free lists
  std::byte* device_slabs        = nullptr;
  std::byte* host_slabs          = nullptr;
  std::uint32_t num_device_slabs = 0;
  std::uint32_t num_host_slabs   = 0;
  std::uint32_t slab_shift       = 0;  // a slab is 1 << slab_shift units of 16 bytes

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

  /// Takes a slab: of device memory, else of host memory, else none, which raises
  /// capacity_exceeded. Threads: any one; lock-free.
  __device__ inline std::uint32_t take() const {
    atomicMax(&state->peak_demand, atomicAdd(&state->demand, 1u) + 1u);
    for (int kind = 0; kind < 2; ++kind) {
      std::uint32_t const slab = pop(kind);
      if (slab == no_slab) continue;
      atomicMax(&state->peak[kind], atomicAdd(&state->in_use[kind], 1u) + 1u);
      if (kind == 1) atomicAdd(&state->spilled, 1u);
      return slab;
    }
    atomicAdd(&state->refused, 1u);
    raise(device_condition::capacity_exceeded);
    return no_slab;
  }

  /// Puts back a chain of slabs that are linked by next, and forgets a number of requests.
  /// Threads: any one; lock-free.
  __device__ inline void give(int kind,
                              std::uint32_t first,
                              std::uint32_t last,
                              std::uint32_t count) const {
    if (count == 0) return;
    auto* const head       = &state->heads[kind];
    unsigned long long old = *static_cast<unsigned long long volatile*>(head);
    while (true) {
      *static_cast<std::uint32_t volatile*>(next + last) = static_cast<std::uint32_t>(old);
      __threadfence();  // the links, and all that was done with the slabs, before the head
      unsigned long long const seen = atomicCAS(head, old, retagged(old, first));
      if (seen == old) break;
      old = seen;
    }
    atomicSub(&state->in_use[kind], count);
  }

  __device__ __forceinline__ void raise(device_condition condition) const {
    atomicOr(&state->conditions, static_cast<std::uint32_t>(condition));
    state->skip_step = 1.0f;
  }

 private:
  /// A new head: the tag changes with every change, so that a compare-and-swap never mistakes a slab
  /// that went away and came back for one that stayed.
  __device__ static __forceinline__ unsigned long long retagged(unsigned long long old,
                                                                std::uint32_t slab) {
    return ((old >> 32) + 1) << 32 | slab;
  }

  __device__ inline std::uint32_t pop(int kind) const {
    auto* const head       = &state->heads[kind];
    unsigned long long old = *static_cast<unsigned long long volatile*>(head);
    while (true) {
      auto const slab = static_cast<std::uint32_t>(old);
      if (slab == no_slab) return no_slab;
      std::uint32_t const after     = *static_cast<std::uint32_t volatile*>(next + slab);
      unsigned long long const seen = atomicCAS(head, old, retagged(old, after));
      if (seen == old) {
        __threadfence();
        return slab;
      }
      old = seen;
    }
  }
#endif
};

static_assert(std::is_trivially_copyable_v<arena_view>);

}  // namespace v0
}  // namespace bitsparse
