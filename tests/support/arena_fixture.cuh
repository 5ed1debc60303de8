// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// An arena in guarded memory, and kernels that make and compare activations on the device.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <bitsparse/arena/arena.cuh>
#include <bitsparse/arena/compressed_tensor.cuh>
#include <bitsparse/arena/operations.cuh>
#include <tests/support/compare.cuh>
#include <tests/support/device_round_trip.cuh>

namespace bitsparse_test {

/// An arena whose device memory lies between guards; host slabs are pinned.
class guarded_arena {
 public:
  guarded_arena(std::uint64_t device_slabs, std::uint64_t host_slabs, std::uint64_t slab_bytes)
      : memory_(bitsparse::arena_bytes(device_slabs, host_slabs, slab_bytes), 0, 0) {
    void* mapped = nullptr;
    if (host_slabs != 0) {
      require_cuda(cudaHostAlloc(&host_, host_slabs * slab_bytes, cudaHostAllocMapped),
                   "cudaHostAlloc");
      require_cuda(cudaHostGetDevicePointer(&mapped, host_, 0), "cudaHostGetDevicePointer");
    }
    bitsparse::status made =
        bitsparse::make_arena(memory_.data(), device_slabs, mapped, host_slabs, slab_bytes, view_);
    if (made.ok()) made = bitsparse::reset(view_, nullptr);
    if (!made.ok()) throw std::runtime_error(made.text());
  }
  ~guarded_arena() { cudaFreeHost(host_); }
  guarded_arena(guarded_arena const&)            = delete;
  guarded_arena& operator=(guarded_arena const&) = delete;

  bitsparse::arena_view view() const { return view_; }
  bool guards_intact() { return memory_.download().guards_intact(); }
  bitsparse::arena_state state() {
    bitsparse::arena_state content;
    std::memcpy(&content, memory_.download().data(), sizeof(content));
    return content;
  }
  /// Slabs in a queue; none at all if its places and its counters disagree.
  std::uint32_t free_slabs(int kind) {
    auto const content = state();
    auto const* const ring =
        reinterpret_cast<std::uint32_t const*>(memory_.host().data() + sizeof(content));
    std::uint32_t const first = kind == 0 ? 0 : view_.ring_places(view_.num_device_slabs);
    std::uint32_t count       = 0;
    for (std::uint32_t i = 0; i < view_.ring_places(view_.num_slabs_of(kind)); ++i) {
      count += ring[first + i] != 0;
    }
    bool const agree = static_cast<std::int64_t>(count) == content.available[kind] &&
                       content.given[kind] - content.taken[kind] == count;
    return agree ? count : bitsparse::arena_view::no_slab;
  }

 private:
  device_buffer memory_;
  void* host_ = nullptr;
  bitsparse::arena_view view_;
};

/// The slabs that a tensor's map names.
template <class Format>
std::vector<std::uint32_t> slabs_of(bitsparse::arena_tensor_view<Format> const& tensor) {
  std::vector<std::uint32_t> map(tensor.map_slabs), slabs;
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  require_cuda(cudaMemcpy(map.data(), tensor.slab_map, map.size() * 4, cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  for (std::uint32_t const entry : map) {
    if (entry != 0 && entry != bitsparse::arena_view::no_slab) slabs.push_back(entry - 1);
  }
  return slabs;
}

/// Fills a matrix from a seed: zeros percent of its values are +0, the others any non-negative bits.
template <class Bits>
__global__ void make_values_kernel(Bits* values,
                                   std::uint64_t count,
                                   std::uint64_t seed,
                                   unsigned zeros) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += stride) {
    std::uint64_t mixed = (seed * 0x2545f4914f6cdd1du + i + 1) * 0x9e3779b97f4a7c15u;
    mixed               = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed ^= mixed >> 27;
    Bits const bits = static_cast<Bits>(mixed >> 32) >> 1;
    values[i]       = mixed % 100 < zeros ? Bits{0} : bits;
  }
}

/// Device memory of a plain type.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t count) : count_(count) {
    require_cuda(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
    require_cuda(cudaMemset(data_, 0, count * sizeof(T)), "cudaMemset");
  }
  ~device_array() { cudaFree(data_); }
  device_array(device_array const&)            = delete;
  device_array& operator=(device_array const&) = delete;
  T* data() const { return data_; }
  T read(std::size_t i = 0) const {
    T value;
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    require_cuda(cudaMemcpy(&value, data_ + i, sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return value;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

}  // namespace bitsparse_test
