// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: the arena's owner, its set-up in memory of its own or of somebody else's, and its report.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include <bitsparse/arena/arena_view.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/launch.cuh>
#include <bitsparse/device/report.cuh>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

/// What an arena says of itself.
struct arena_report {
  std::uint32_t device_slabs_in_use;
  std::uint32_t host_slabs_in_use;
  std::uint32_t peak_device_slabs;  // since clear()
  std::uint32_t peak_host_slabs;    // since clear()
  std::uint32_t needed_slabs;   // the most that were wanted at once since clear(), refused ones too
  std::uint32_t spilled_slabs;  // host slabs handed out since clear()
  std::uint32_t refused_slabs;  // requests refused since clear()
  std::uint32_t conditions;     // device_condition bits since clear()
};

/// An arena's report. Threads: any one.
__device__ inline arena_report make_report(arena_state const& state) {
  return {state.in_use[0],
          state.in_use[1],
          state.peak[0],
          state.peak[1],
          state.peak_demand,
          state.spilled,
          state.refused,
          state.conditions};
}

// -------------------------------------------------------------------------------------------------
// Set-up in memory that the caller has
// -------------------------------------------------------------------------------------------------

/// The slab size to use unless there is a reason: 256 KiB.
inline constexpr std::uint64_t default_slab_bytes = 256 * 1024;

/// Bytes of device memory for an arena of so many slabs: their state and links, and the device slabs.
constexpr std::uint64_t arena_bytes(std::uint64_t num_device_slabs,
                                    std::uint64_t num_host_slabs,
                                    std::uint64_t slab_bytes) {
  std::uint64_t const links = detail::checked_mul(
      detail::checked_add(num_device_slabs, num_host_slabs), sizeof(std::uint32_t));
  std::uint64_t const front = detail::checked_add(sizeof(arena_state), links);
  return front > size_overflow - 255
             ? size_overflow
             : detail::checked_add(detail::round_up<std::uint64_t>(front, 256),
                                   detail::checked_mul(num_device_slabs, slab_bytes));
}

/// Cuts arena_bytes() of device memory, and num_host_slabs * slab_bytes of mapped host memory, into an
/// arena. reset() makes it usable.
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
  if (num_device_slabs + num_host_slabs >= 0x7fffffffu || num_device_slabs >= 0x7fffffffu) {
    return {invalid, "arena: more than 2^31 - 2 slabs; take larger ones"};
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
  arena.next             = reinterpret_cast<std::uint32_t*>(bytes + sizeof(arena_state));
  arena.device_slabs     = bytes + (arena_bytes(num_device_slabs, num_host_slabs, slab_bytes) -
                                num_device_slabs * slab_bytes);
  arena.host_slabs       = static_cast<std::byte*>(host_memory);
  arena.num_device_slabs = static_cast<std::uint32_t>(num_device_slabs);
  arena.num_host_slabs   = static_cast<std::uint32_t>(num_host_slabs);
  while (arena.slab_bytes() < slab_bytes) ++arena.slab_shift;
  return {};
}

namespace detail {

/// Links all slabs into the free lists. One thread per slab, and at least one.
template <class View>
__global__ void reset_kernel(View const arena) {
  std::uint32_t const slab = blockIdx.x * blockDim.x + threadIdx.x;
  if (slab < arena.num_slabs()) {
    bool const is_last = slab + 1 == arena.num_device_slabs || slab + 1 == arena.num_slabs();
    arena.next[slab]   = is_last ? View::no_slab : slab + 1;
  }
  if (slab != 0) return;
  auto& state = *arena.state;
  for (int kind = 0; kind < 2; ++kind) {
    std::uint32_t const first = kind == 0 ? 0 : arena.num_device_slabs;
    bool const has_slabs      = kind == 0 ? arena.num_device_slabs != 0 : arena.num_host_slabs != 0;
    state.heads[kind]  = (state.heads[kind] >> 32 << 32) | (has_slabs ? first : View::no_slab);
    state.in_use[kind] = 0;
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
}

}  // namespace detail

/// Makes every slab free, whatever tensors hold: after set-up, and to abandon a step. Tensors filled
/// before are empty from then on.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable. No other stream uses
///   the arena meanwhile.
/// Errors: invalid_argument, cuda_error.
inline status reset(arena_view arena, cudaStream_t stream) {
  if (arena.state == nullptr) return {status_code::invalid_argument, "arena: it has no memory"};
  std::uint32_t const blocks =
      detail::ceil_div(arena.num_slabs() == 0 ? 1u : arena.num_slabs(), 256u);
  return detail::launch(detail::reset_kernel<arena_view>, blocks, 256, arena, stream);
}

/// Forgets conditions, peaks and counts; what is in use stays.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
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
    void* memory              = nullptr;
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
