// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: reading a tensor's state on the host without waiting for the device, and clearing it.
#pragma once

#include <cuda_runtime_api.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>
#include <bitsparse/detail/cuda_status.cuh>
#include <bitsparse/detail/launch.cuh>
#include <bitsparse/device/tensor_state.cuh>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

/// What a tensor's state said when a report was made.
struct tensor_report {
  std::uint64_t used_bytes;    // of the chunks of the last compress, whether they fitted or not
  std::uint64_t needed_bytes;  // the largest payload that a compress would have needed since
                               // clear(); 0 if all fitted
  std::uint32_t conditions;    // device_condition bits since clear()
};

/// Where a report is delivered: pinned host memory that the device can write (cudaHostAlloc),
/// zeroed by the user before the first report. The device counts `begin` up, writes, and then
/// counts `end` up: a reader that sees both equal has not read a torn report.
struct alignas(64) report_slot {
  std::uint32_t begin;
  std::uint32_t end;
  tensor_report content;
};

static_assert(std::is_trivially_copyable_v<report_slot>);

namespace detail {

template <class State>
struct report_params {
  State const* state;
  report_slot* slot;
};

/// One thread. A template, as every kernel of a header has to be: inline does not apply to kernels.
template <class State>
__global__ void report_kernel(report_params<State> const params) {
  auto volatile* const slot    = params.slot;
  std::uint32_t const sequence = slot->end + 1;
  slot->begin                  = sequence;
  __threadfence_system();
  slot->content.used_bytes   = params.state->cursor_units * unit_bytes;
  slot->content.needed_bytes = params.state->needed_units * unit_bytes;
  slot->content.conditions   = params.state->conditions;
  __threadfence_system();
  slot->end = sequence;
}

}  // namespace detail

/// Delivers a report of the tensor's state as it is when the stream gets there.
///
/// Alignment: slot 64 bytes, in pinned host memory.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, cuda_error.
template <class Format>
status report(device_tensor_view<Format> tensor, report_slot* slot, cudaStream_t stream) {
  if (tensor.state == nullptr)
    return {status_code::invalid_argument, "compressed tensor: the state is null"};
  if (slot == nullptr || !detail::is_aligned(slot, alignof(report_slot))) {
    return {status_code::invalid_argument, "report: the slot is null or not aligned to 64 bytes"};
  }
  return detail::launch(detail::report_kernel<tensor_state>,
                        1,
                        1,
                        detail::report_params<tensor_state>{tensor.state, slot},
                        stream);
}

/// Reads the newest delivered report, on the host, without waiting.
/// @return false if none has been delivered since the slot was zeroed, or one is being written: ask
/// again later
inline bool read_report(report_slot const* slot, tensor_report& content) {
  auto const volatile* const source = slot;
  std::uint32_t const end           = source->end;
  std::atomic_thread_fence(std::memory_order_acquire);
  content.used_bytes   = source->content.used_bytes;
  content.needed_bytes = source->content.needed_bytes;
  content.conditions   = source->content.conditions;
  std::atomic_thread_fence(std::memory_order_acquire);
  return end != 0 && source->begin == end && source->end == end;
}

/// Forgets the conditions and the need of a tensor; its values stay.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, cuda_error.
template <class Format>
status clear(device_tensor_view<Format> tensor, cudaStream_t stream) {
  if (tensor.state == nullptr)
    return {status_code::invalid_argument, "compressed tensor: the state is null"};
  constexpr std::size_t first = offsetof(tensor_state, needed_units);
  return detail::from_cuda(cudaMemsetAsync(reinterpret_cast<std::byte*>(tensor.state) + first,
                                           0,
                                           sizeof(tensor_state) - first,
                                           stream),
                           "clear: the state could not be set");
}

}  // namespace v0
}  // namespace bitsparse
