// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What the parts of the offload benchmark share: pinned memory, side streams, and the words of a
/// failure.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <bench/ffn_training/json.hpp>
#include <bench/ffn_training/sample.hpp>
#include <bench/support/device.cuh>
#include <bitsparse/bitsparse.cuh>

namespace offload_bench {

namespace bs = bitsparse;
using bench::device_memory;
using bench::event_timer;
using bench::require_cuda;
using ffn::json_object;

/// Ends the program where the library refused something.
inline void require(bs::status const& result, char const* what) {
  if (result.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, result.text());
  std::exit(1);
}

/// Pinned host memory; move-only.
class pinned_memory {
 public:
  explicit pinned_memory(std::uint64_t bytes) {
    require_cuda(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable), "cudaHostAlloc");
  }
  pinned_memory(pinned_memory&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  pinned_memory& operator=(pinned_memory&&) = delete;
  ~pinned_memory() { cudaFreeHost(data_); }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

/// A stream that waits for no other.
class side_stream {
 public:
  explicit side_stream(bool is_urgent = false) {
    int least = 0, greatest = 0;
    require_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priority range");
    require_cuda(
        cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, is_urgent ? greatest : least),
        "cudaStreamCreate");
  }
  side_stream(side_stream const&)            = delete;
  side_stream& operator=(side_stream const&) = delete;
  ~side_stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  cudaStream_t stream_ = nullptr;
};

/// An event without time, to order streams by.
class order_event {
 public:
  order_event() {
    require_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
  }
  order_event(order_event const&)            = delete;
  order_event& operator=(order_event const&) = delete;
  ~order_event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream) const {
    require_cuda(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  void wait(cudaStream_t stream) const {
    require_cuda(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

inline bs::arena_report report_of(bs::arena_view const& arena) {
  static pinned_memory const memory(sizeof(bs::report_slot<bs::arena_report>));
  auto* const slot = reinterpret_cast<bs::report_slot<bs::arena_report>*>(memory.data());
  *slot            = {};
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  require(bs::report(arena, slot, nullptr), "report");
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  bs::arena_report content{};
  if (!bs::read_report(slot, content)) {
    std::fprintf(stderr, "the arena's report did not arrive\n");
    std::exit(1);
  }
  return content;
}

/// Sums values so that one wrong bit, or two that are exchanged, change the sum.
template <class Bits>
__global__ void checksum_kernel(Bits const* values, std::uint64_t count, unsigned long long* sum) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  unsigned long long mine    = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += stride) {
    mine += (static_cast<std::uint64_t>(values[i]) + 1) * (i * 0x9e3779b97f4a7c15u | 1u);
  }
  atomicAdd(sum, mine);
}

struct options {
  std::string json_file = "offload.json";
  std::string part;  // all if empty
  int rounds = 7;
};

/// The parts. Each prints a table and returns its object; `failures` counts results that are wrong.
json_object measure_link(options const& chosen, int& failures);
json_object measure_transfer(options const& chosen, int& failures);
json_object measure_product(options const& chosen, int& failures);
json_object measure_step(options const& chosen, int& failures);

}  // namespace offload_bench
