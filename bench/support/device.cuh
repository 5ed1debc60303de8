// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What the device benchmarks share: owned device memory, event timing, and activations made on the
/// device.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <bench/support/activations.hpp>

namespace bench {

/// Ends the program where a CUDA call failed: a benchmark after it would measure nothing.
inline void require_cuda(cudaError_t error, char const* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// An owner of device memory; move-only.
class device_memory {
 public:
  explicit device_memory(std::uint64_t bytes) : bytes_(bytes) {
    require_cuda(cudaMalloc(&data_, bytes == 0 ? 1 : bytes), "cudaMalloc");
  }
  device_memory(device_memory&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
  }
  device_memory& operator=(device_memory&&) = delete;
  ~device_memory() { cudaFree(data_); }

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_;
};

/// Milliseconds of device time between two places in a stream.
class event_timer {
 public:
  event_timer() {
    require_cuda(cudaEventCreate(&start_), "cudaEventCreate");
    require_cuda(cudaEventCreate(&stop_), "cudaEventCreate");
  }
  event_timer(event_timer const&)            = delete;
  event_timer& operator=(event_timer const&) = delete;
  ~event_timer() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  /// Waits for the device.
  template <class Work>
  double milliseconds(Work work, cudaStream_t stream) {
    float elapsed = 0;
    require_cuda(cudaEventRecord(start_, stream), "cudaEventRecord");
    work();
    require_cuda(cudaEventRecord(stop_, stream), "cudaEventRecord");
    require_cuda(cudaEventSynchronize(stop_), "cudaEventSynchronize");
    require_cuda(cudaEventElapsedTime(&elapsed, start_, stop_), "cudaEventElapsedTime");
    return elapsed;
  }

 private:
  cudaEvent_t start_, stop_;
};

inline constexpr std::uint32_t num_magnitudes = 65536;

template <class Bits>
__global__ void fill_activations_kernel(Bits* values,
                                        std::uint64_t count,
                                        Bits const* magnitudes,
                                        std::uint32_t zero_below,
                                        std::uint64_t seed) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += stride) {
    std::uint64_t mixed = (i + seed) * 0x9e3779b97f4a7c15u;  // SplitMix64
    mixed               = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed               = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    mixed ^= mixed >> 31;
    bool const is_zero = static_cast<std::uint32_t>(mixed) < zero_below;
    values[i]          = is_zero ? Bits{0} : magnitudes[mixed >> 48];
  }
}

/// Fills device memory with values that are +0 with probability `zeros` and else magnitudes of
/// standard normal numbers, never rounded to 0.
template <class Element>
void fill_activations(typename Element::bits_type* values,
                      std::uint64_t count,
                      double zeros,
                      std::uint64_t seed) {
  using bits_type = typename Element::bits_type;
  auto magnitudes = make_activations<Element>(num_magnitudes, 0, 1);
  for (auto& bits : magnitudes) bits = bits == 0 ? bits_type{1} : bits;
  device_memory table{num_magnitudes * sizeof(bits_type)};
  require_cuda(
      cudaMemcpy(table.as<bits_type>(), magnitudes.data(), table.bytes(), cudaMemcpyHostToDevice),
      "cudaMemcpy");
  auto const zero_below = static_cast<std::uint32_t>(zeros * 4294967295.0);
  fill_activations_kernel<<<2048, 256>>>(
      values, count, table.as<bits_type>(), zero_below, seed << 40);
  require_cuda(cudaDeviceSynchronize(), "fill_activations");
}

}  // namespace bench
