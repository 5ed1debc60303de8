// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The program's one way to take device memory: at set-up, counted by what it is for.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <bench/support/device.cuh>

namespace ffn {

using bench::require_cuda;

enum class category {
  weights,
  residual_stream,
  weight_gradients,
  scratch,
  activations,
  workspace,
  other,
  count
};

inline constexpr std::size_t num_categories = static_cast<std::size_t>(category::count);
inline constexpr std::array<char const*, num_categories> category_names = {"weights",
                                                                           "residual_stream",
                                                                           "weight_gradients",
                                                                           "scratch",
                                                                           "activations",
                                                                           "workspace",
                                                                           "other"};

/// Bytes by category.
struct byte_counts {
  std::array<std::uint64_t, num_categories> bytes{};

  std::uint64_t& operator[](category what) { return bytes[static_cast<std::size_t>(what)]; }
  std::uint64_t operator[](category what) const { return bytes[static_cast<std::size_t>(what)]; }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (std::uint64_t const one : bytes) sum += one;
    return sum;
  }
  byte_counts& operator+=(byte_counts const& more) {
    for (std::size_t i = 0; i < num_categories; ++i) bytes[i] += more.bytes[i];
    return *this;
  }
};

/// Bytes that the device says are free.
inline std::uint64_t free_device_bytes() {
  std::size_t free_bytes = 0, all_bytes = 0;
  require_cuda(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  return free_bytes;
}

/// Owns device memory and counts it. Neither copied nor moved.
class device_allocations {
 public:
  device_allocations()                                     = default;
  device_allocations(device_allocations const&)            = delete;
  device_allocations& operator=(device_allocations const&) = delete;
  ~device_allocations() {
    for (void* const block : blocks_) cudaFree(block);
  }

  /// So many values, all bits 0. Ends the program where there is no memory.
  template <class T>
  T* allocate(category what, std::uint64_t count) {
    std::uint64_t const bytes = count * sizeof(T);
    void* block               = nullptr;
    if (cudaMalloc(&block, bytes == 0 ? 1 : bytes) != cudaSuccess) {
      std::fprintf(stderr,
                   "no device memory for %llu MiB of %s; %llu MiB are free\n",
                   static_cast<unsigned long long>(bytes >> 20),
                   category_names[static_cast<std::size_t>(what)],
                   static_cast<unsigned long long>(free_device_bytes() >> 20));
      std::exit(1);
    }
    blocks_.push_back(block);
    counts_[what] += bytes;
    require_cuda(cudaMemset(block, 0, bytes), "cudaMemset");
    require_cuda(cudaStreamSynchronize(nullptr), "cudaMemset");  // before what other streams do
    return static_cast<T*>(block);
  }
  byte_counts const& counts() const { return counts_; }

 private:
  std::vector<void*> blocks_;
  byte_counts counts_;
};

}  // namespace ffn
