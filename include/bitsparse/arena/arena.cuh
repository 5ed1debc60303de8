// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: the arena's owner, its set-up in memory of its own or of somebody else's, and its
/// report.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include <bitsparse/arena/arena_view.cuh>
#include <bitsparse/arena/planner.hpp>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/launch.cuh>
#include <bitsparse/device/report.cuh>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

/// An arena's report. Threads: any one.
__device__ inline arena_report make_report(arena_state const& state) {
  return {state.in_use[0],
          state.in_use[1],
          max(state.peak[0], state.in_use[0]),
          max(state.peak[1], state.in_use[1]),
          max(state.peak_demand, state.demand),
          state.spilled,
          state.refused,
          state.conditions,
          state.unmoved,
          state.moved_bytes[1],
          state.moved_bytes[0]};
}

// -------------------------------------------------------------------------------------------------
// Set-up in memory that the caller has
// -------------------------------------------------------------------------------------------------

/// Bytes of device memory for an arena of so many slabs: their state and queues, and the device
/// slabs.
/// Units: fewer than 2^30 slabs of either kind; else size_overflow.
constexpr std::uint64_t arena_bytes(std::uint64_t num_device_slabs,
                                    std::uint64_t num_host_slabs,
                                    std::uint64_t slab_bytes) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 30;
  if (num_device_slabs >= limit || num_host_slabs >= limit) return size_overflow;
  std::uint64_t const places =
      std::uint64_t{arena_view::ring_places(static_cast<std::uint32_t>(num_device_slabs))} +
      arena_view::ring_places(static_cast<std::uint32_t>(num_host_slabs));
  std::uint64_t const front =
      detail::round_up<std::uint64_t>(sizeof(arena_state) + places * sizeof(std::uint32_t), 256);
  return detail::checked_add(front, detail::checked_mul(num_device_slabs, slab_bytes));
}

/// Cuts arena_bytes() of device memory, and num_host_slabs * slab_bytes of mapped host memory, into
/// an arena. The caller zeroes the state, the first sizeof(arena_state) bytes; then reset() makes it
/// usable.
///
/// Alignment: device_memory 256 bytes; host_memory, as the device addresses it, 16 bytes.
/// Errors: invalid_argument.
inline status make_arena(void* device_memory,
                         std::uint64_t num_device_slabs,
                         void* host_memory,
                         std::uint64_t num_host_slabs,
                         std::uint64_t slab_bytes,
                         arena_view& arena) {
  constexpr auto invalid = status_code::invalid_argument;
  if (slab_bytes < 32 * 1024 || (slab_bytes & (slab_bytes - 1)) != 0 ||
      slab_bytes > std::uint64_t{1} << 34) {
    return {invalid, "arena: the slab size is not a power of two from 32 KiB to 16 GiB"};
  }
  if (arena_bytes(num_device_slabs, num_host_slabs, slab_bytes) == size_overflow) {
    return {invalid, "arena: 2^30 slabs or more of one kind; take larger ones"};
  }
  if (device_memory == nullptr || !detail::is_aligned(device_memory, 256)) {
    return {invalid, "arena: the device memory is null or not aligned to 256 bytes"};
  }
  if (num_host_slabs != 0 &&
      (host_memory == nullptr || !detail::is_aligned(host_memory, unit_bytes))) {
    return {invalid, "arena: the host memory is null or not aligned to 16 bytes"};
  }
  auto* const bytes      = static_cast<std::byte*>(device_memory);
  arena                  = {};
  arena.state            = static_cast<arena_state*>(device_memory);
  arena.ring             = reinterpret_cast<std::uint32_t*>(bytes + sizeof(arena_state));
  arena.device_slabs     = bytes + (arena_bytes(num_device_slabs, num_host_slabs, slab_bytes) -
                                num_device_slabs * slab_bytes);
  arena.host_slabs       = static_cast<std::byte*>(host_memory);
  arena.num_device_slabs = static_cast<std::uint32_t>(num_device_slabs);
  arena.num_host_slabs   = static_cast<std::uint32_t>(num_host_slabs);
  while (arena.slab_bytes() < slab_bytes) ++arena.slab_shift;
  return {};
}

namespace detail {

/// Puts all slabs into their queues. One thread per place of both rings, and at least one.
template <class View>
__global__ void reset_kernel(View const arena) {
  std::uint32_t const place     = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t const host_ring = View::ring_places(arena.num_device_slabs);
  if (place < host_ring) {
    arena.ring[place] = place < arena.num_device_slabs ? place + 1 : 0;
  } else if (place - host_ring < View::ring_places(arena.num_host_slabs)) {
    std::uint32_t const i = place - host_ring;
    arena.ring[place]     = i < arena.num_host_slabs ? arena.num_device_slabs + i + 1 : 0;
  }
  if (place != 0) return;
  auto& state = *arena.state;
  arena.note_peak();
  for (int kind = 0; kind < 2; ++kind) {
    state.taken[kind]     = 0;
    state.given[kind]     = arena.num_slabs_of(kind);
    state.available[kind] = static_cast<std::int32_t>(arena.num_slabs_of(kind));
    state.in_use[kind]    = 0;
  }
  state.demand = 0;
  ++state.epoch;
}

/// Zeroes what clear() forgets. One thread.
template <class View>
__global__ void clear_kernel(View const arena) {
  auto& state       = *arena.state;
  state.peak[0]     = state.in_use[0];
  state.peak[1]     = state.in_use[1];
  state.peak_demand = state.demand;
  state.spilled     = 0;
  state.refused     = 0;
  state.conditions  = 0;
  state.skip_step   = 0;
  state.unmoved     = 0;
  for (unsigned long long& bytes : state.moved_bytes) bytes = 0;
}

}  // namespace detail

/// Makes every slab free, whatever tensors hold: after set-up, and to abandon a step. Tensors
/// filled before are empty from then on.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable. No other stream
///   uses the arena meanwhile.
/// Errors: invalid_argument, cuda_error.
inline status reset(arena_view arena, cudaStream_t stream) {
  if (arena.state == nullptr) return {status_code::invalid_argument, "arena: it has no memory"};
  std::uint32_t const places = arena_view::ring_places(arena.num_device_slabs) +
                               arena_view::ring_places(arena.num_host_slabs);
  std::uint32_t const blocks = places / 256 + 1;
  return detail::launch(detail::reset_kernel<arena_view>, blocks, 256, arena, stream);
}

/// Forgets conditions, peaks and counts; what is in use stays.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable. No other stream
///   uses the arena meanwhile: a condition that it raises just then could be forgotten.
/// Errors: invalid_argument, cuda_error.
inline status clear(arena_view arena, cudaStream_t stream) {
  if (arena.state == nullptr) return {status_code::invalid_argument, "arena: it has no memory"};
  return detail::launch(detail::clear_kernel<arena_view>, 1, 1, arena, stream);
}

/// Delivers a report of the arena as it is when the stream gets there; read_report() polls it.
/// Alignment: slot 64 bytes, in pinned host memory.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, cuda_error.
inline status report(arena_view arena, report_slot<arena_report>* slot, cudaStream_t stream) {
  if (arena.state == nullptr) return {status_code::invalid_argument, "arena: it has no memory"};
  if (status const checked = detail::check_slot(slot); !checked.ok()) return checked;
  using params = detail::report_params<arena_state, arena_report>;
  return detail::launch(
      detail::report_kernel<arena_state, arena_report>, 1, 1, params{arena.state, slot}, stream);
}

// -------------------------------------------------------------------------------------------------
// Owner
// -------------------------------------------------------------------------------------------------

/// An arena in memory of its own; move-only. One per device.
///
/// Errors: the constructor throws std::invalid_argument or, where memory cannot be had,
///   std::runtime_error with a text that says which.
/// Stream: the constructor synchronises and allocates; nothing else does.
class arena {
 public:
  /// @param num_host_slabs pinned host memory for when device slabs run out; 0 for none
  explicit arena(std::uint64_t num_device_slabs,
                 std::uint64_t num_host_slabs = 0,
                 std::uint64_t slab_bytes     = default_slab_bytes) {
    std::uint64_t const bytes = arena_bytes(num_device_slabs, num_host_slabs, slab_bytes);
    if (bytes == size_overflow ||
        detail::checked_mul(num_host_slabs, slab_bytes) == size_overflow) {
      throw std::invalid_argument("arena: more slabs than an address space has room for");
    }
    void* memory = nullptr;
    require(cudaMalloc(&memory, bytes), "arena: the device memory for the slabs cannot be had");
    device_.reset(memory);
    require(cudaMemset(memory, 0, sizeof(arena_state)), "arena: the state cannot be set");
    void* mapped = nullptr;
    if (num_host_slabs != 0) {
      void* pinned = nullptr;
      require(
          cudaHostAlloc(
              &pinned, num_host_slabs * slab_bytes, cudaHostAllocMapped | cudaHostAllocPortable),
          "arena: the pinned host memory for the slabs cannot be had");
      host_.reset(pinned);
      require(cudaHostGetDevicePointer(&mapped, pinned, 0),
              "arena: the host memory cannot be mapped");
    }
    status made = make_arena(memory, num_device_slabs, mapped, num_host_slabs, slab_bytes, view_);
    if (made.ok()) made = reset(view_, nullptr);
    if (!made.ok()) throw std::invalid_argument(made.text());
    require(cudaStreamSynchronize(nullptr), "arena: set-up failed on the device");
  }

  arena_view view() const { return view_; }

 private:
  struct free_device {
    void operator()(void* memory) const { cudaFree(memory); }
  };
  struct free_host {
    void operator()(void* memory) const { cudaFreeHost(memory); }
  };
  static void require(cudaError_t error, char const* text) {
    if (error != cudaSuccess) throw std::runtime_error(text);
  }

  std::unique_ptr<void, free_device> device_;
  std::unique_ptr<void, free_host> host_;
  arena_view view_;
};

}  // namespace v0
}  // namespace bitsparse
