// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: reading a tensor's state on the host without waiting for the device, and clearing it.
#pragma once

#include <cuda_runtime_api.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// A state's report. The kernel that delivers reports finds the overload for its state.
/// Threads: any one.
__device__ inline tensor_report make_report(tensor_state const& state) {
  return {state.cursor_units * unit_bytes, state.needed_units * unit_bytes, state.conditions};
}

/// Where a report is delivered: pinned host memory that the device can write (cudaHostAlloc), zeroed
/// by the user before the first report. The device counts `begin` up, writes, and then counts `end`
/// up: a reader that sees both equal has not read a torn report.
template <class Report>
struct alignas(64) report_slot {
  std::uint32_t begin;
  std::uint32_t end;
  Report content;
};

static_assert(std::is_trivially_copyable_v<report_slot<tensor_report>>);

namespace detail {

template <class State, class Report>
struct report_params {
  State const* state;
  report_slot<Report>* slot;
};

/// Writes a report into its slot. Threads: one.
template <class Report>
__device__ void deliver(Report const& content, report_slot<Report>* slot) {
  std::uint32_t const sequence             = slot->end + 1;
  *(std::uint32_t volatile*)(&slot->begin) = sequence;
  __threadfence_system();
  slot->content = content;
  __threadfence_system();
  *(std::uint32_t volatile*)(&slot->end) = sequence;
}

/// One thread. A template, as every kernel of a header has to be: inline does not apply to kernels.
template <class State, class Report>
__global__ void report_kernel(report_params<State, Report> const params) {
  deliver(make_report(*params.state), params.slot);
}

inline status check_slot(void const* slot) {
  if (slot != nullptr && is_aligned(slot, 64)) return {};
  return {status_code::invalid_argument, "report: the slot is null or not aligned to 64 bytes"};
}

}  // namespace detail

/// Delivers a report of the tensor's state as it is when the stream gets there.
///
/// Alignment: slot 64 bytes, in pinned host memory.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, cuda_error.
template <class Format>
status report(device_tensor_view<Format> tensor,
              report_slot<tensor_report>* slot,
              cudaStream_t stream) {
  if (tensor.state == nullptr) {
    return {status_code::invalid_argument,
            "compressed tensor: the state is null; make_device_tensor() says where it lies"};
  }
  if (status const checked = detail::check_slot(slot); !checked.ok()) return checked;
  using params = detail::report_params<tensor_state, tensor_report>;
  return detail::launch(
      detail::report_kernel<tensor_state, tensor_report>, 1, 1, params{tensor.state, slot}, stream);
}

/// Reads the newest delivered report, on the host, without waiting.
/// @return false if none has been delivered since the slot was zeroed, or one is being written: ask
///   again later
template <class Report>
bool read_report(report_slot<Report> const* slot, Report& content) {
  auto const counter = [](std::uint32_t const& word) {
    return *const_cast<std::uint32_t const volatile*>(&word);
  };
  std::uint32_t const end = counter(slot->end);
  std::atomic_thread_fence(std::memory_order_acquire);
  std::memcpy(&content, &slot->content, sizeof(content));
  std::atomic_thread_fence(std::memory_order_acquire);
  return end != 0 && counter(slot->begin) == end && counter(slot->end) == end;
}

/// Forgets the conditions and the need of a tensor; its values, and their scale, stay.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, cuda_error.
template <class Format>
status clear(device_tensor_view<Format> tensor, cudaStream_t stream) {
  if (tensor.state == nullptr)
    return {status_code::invalid_argument,
            "compressed tensor: the state is null; make_device_tensor() says where it lies"};
  constexpr std::size_t first = offsetof(tensor_state, needed_units);
  constexpr std::size_t bytes = offsetof(tensor_state, scale) - first;
  return detail::from_cuda(
      cudaMemsetAsync(reinterpret_cast<std::byte*>(tensor.state) + first, 0, bytes, stream),
      "clear: the state could not be set");
}

}  // namespace v0
}  // namespace bitsparse
