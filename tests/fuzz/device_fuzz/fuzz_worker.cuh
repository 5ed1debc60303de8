// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a host thread of the device fuzzer has: streams, the device's twin of its image, arenas. All of
/// it is taken once; cases only reuse it.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <bitsparse/arena/arena.cuh>
#include <tests/fuzz/device_fuzz/fuzz_case.hpp>
#include <tests/fuzz/device_fuzz/fuzz_image.hpp>
#include <tests/fuzz/device_fuzz/fuzz_tiles.hpp>
#include <tests/support/device_memory.cuh>

namespace bitsparse_test {

/// Memory that is freed at the end.
struct free_device_memory {
  void operator()(void* memory) const { cudaFree(memory); }
};
struct free_pinned_memory {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
using device_bytes = std::unique_ptr<std::byte, free_device_memory>;
using pinned_bytes = std::unique_ptr<std::byte, free_pinned_memory>;

inline device_bytes take_device(std::size_t bytes) {
  void* memory = nullptr;
  require_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
  return device_bytes{static_cast<std::byte*>(memory)};
}
inline pinned_bytes take_pinned(std::size_t bytes) {
  void* memory = nullptr;
  require_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
               "cudaHostAlloc");
  return pinned_bytes{static_cast<std::byte*>(memory)};
}

/// An arena between guards, whose state and guards come back after each case.
class fuzz_arena {
 public:
  static constexpr std::uint64_t slab_bytes  = 32 * 1024;
  static constexpr std::size_t guard_bytes   = 256;
  static constexpr unsigned char guard_value = 0xa7;

  fuzz_arena(std::uint64_t device_slabs, std::uint64_t host_slabs)
      : max_slabs_(device_slabs),
        memory_(take_device(2 * guard_bytes +
                            bitsparse::arena_bytes(device_slabs, host_slabs, slab_bytes))),
        copied_(take_pinned(copied_bytes)) {
    if (host_slabs != 0) host_memory_ = take_pinned(host_slabs * slab_bytes);
    make(device_slabs, host_slabs, nullptr);
    require_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  /// Makes it anew, of fewer slabs.
  void make(std::uint64_t device_slabs, std::uint64_t host_slabs, cudaStream_t stream) {
    if (device_slabs > max_slabs_) throw std::length_error("fuzz_arena: too many slabs");
    void* mapped = nullptr;
    if (host_slabs != 0)
      require_cuda(cudaHostGetDevicePointer(&mapped, host_memory_.get(), 0),
                   "cudaHostGetDevicePointer");
    std::byte* const first = memory_.get() + guard_bytes;
    end_                   = first + bitsparse::arena_bytes(device_slabs, host_slabs, slab_bytes);
    require_cuda(cudaMemsetAsync(memory_.get(), guard_value, guard_bytes, stream), "guard");
    require_cuda(cudaMemsetAsync(end_, guard_value, guard_bytes, stream), "guard");
    require_cuda(cudaMemsetAsync(first, 0, sizeof(bitsparse::arena_state), stream), "state");
    bitsparse::status made =
        bitsparse::make_arena(first, device_slabs, mapped, host_slabs, slab_bytes, view_);
    if (made.ok()) made = bitsparse::reset(view_, stream);
    if (!made.ok()) throw std::runtime_error(made.text());
  }
  bitsparse::arena_view const& view() const { return view_; }

  /// Enqueues the copies that fault() and state() look at.
  void download(cudaStream_t stream) {
    require_cuda(
        cudaMemcpyAsync(copied_.get(), memory_.get(), front_bytes, cudaMemcpyDeviceToHost, stream),
        "arena");
    require_cuda(
        cudaMemcpyAsync(
            copied_.get() + front_bytes, end_, guard_bytes, cudaMemcpyDeviceToHost, stream),
        "arena");
  }
  bitsparse::arena_state state() const {
    bitsparse::arena_state content;
    std::memcpy(&content, copied_.get() + guard_bytes, sizeof(content));
    return content;
  }
  bool guards_intact() const {
    for (std::size_t i = 0; i < copied_bytes; ++i) {
      bool const is_state = i >= guard_bytes && i < front_bytes;
      if (!is_state && copied_.get()[i] != std::byte{guard_value}) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t front_bytes  = guard_bytes + sizeof(bitsparse::arena_state);
  static constexpr std::size_t copied_bytes = front_bytes + guard_bytes;

  std::uint64_t max_slabs_;
  device_bytes memory_;
  pinned_bytes copied_, host_memory_;
  std::byte* end_ = nullptr;
  bitsparse::arena_view view_;
};

/// A thread's own memory, streams and arenas.
class fuzz_worker {
 public:
  static constexpr std::size_t image_bytes = std::size_t{12} << 20;
  static constexpr std::uint64_t few_slabs = 64, ahead_slabs = 1200, host_slabs = 64;

  /// @param arena_of_all one that other threads use, too
  explicit fuzz_worker(fuzz_arena& arena_of_all)
      : uploaded_(take_pinned(image_bytes)),
        downloaded_(take_pinned(image_bytes)),
        device_(take_device(image_bytes)),
        stored_(new std::byte[fuzz_max_dense_bytes]),
        shared(arena_of_all),
        image(uploaded_.get(), downloaded_.get(), image_bytes),
        chunks(1 << 17, fuzz_max_dense_bytes + (1 << 20)) {
    int least = 0, greatest = 0;
    require_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities");
    int const priorities[fuzz_streams] = {least, greatest, least};
    for (std::uint32_t i = 0; i < fuzz_streams; ++i) {
      require_cuda(cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking, priorities[i]),
                   "cudaStreamCreate");
    }
    require_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  }
  ~fuzz_worker() {
    for (cudaStream_t const stream : streams) cudaStreamDestroy(stream);
    cudaEventDestroy(event);
  }
  fuzz_worker(fuzz_worker const&)            = delete;
  fuzz_worker& operator=(fuzz_worker const&) = delete;

  std::byte* device(std::size_t at) const { return device_.get() + at; }
  /// Room for the values of the largest case, packed.
  template <class Bits>
  Bits* stored() const {
    return reinterpret_cast<Bits*>(stored_.get());
  }
  fuzz_arena& arena_of(fuzz_place place) {
    switch (place) {
      case fuzz_place::arena_ahead:
        return ahead_;
      case fuzz_place::arena_host:
        return spilling_;
      case fuzz_place::arena_short:
        return short_;
      case fuzz_place::arena_of_all:
        return shared;
      default:
        return few_;
    }
  }

 private:
  pinned_bytes uploaded_, downloaded_;
  device_bytes device_;
  std::unique_ptr<std::byte[]> stored_;
  fuzz_arena few_{few_slabs, 0}, ahead_{ahead_slabs, 0}, spilling_{2, host_slabs},
      short_{few_slabs, 0};

 public:
  fuzz_arena& shared;
  fuzz_image image;
  host_chunks chunks;
  cudaStream_t streams[fuzz_streams];
  cudaEvent_t event;
};

// -------------------------------------------------------------------------------------------------
// What the files of this folder define
// -------------------------------------------------------------------------------------------------

/// Each runs a case of its formats and ops.
/// @return the fault, or nothing
std::string run_bf16_32x128(fuzz_worker& worker, fuzz_case const& c);
std::string run_bf16_forward(fuzz_worker& worker, fuzz_case const& c);
std::string run_bf16_backward(fuzz_worker& worker, fuzz_case const& c);
std::string run_fp16_32x128(fuzz_worker& worker, fuzz_case const& c);
std::string run_fp32_32x64(fuzz_worker& worker, fuzz_case const& c);
std::string run_e4m3_32x256(fuzz_worker& worker, fuzz_case const& c);
std::string run_e4m3_forward(fuzz_worker& worker, fuzz_case const& c);
std::string run_e5m2_32x256(fuzz_worker& worker, fuzz_case const& c);
std::string run_bf16_64x64(fuzz_worker& worker, fuzz_case const& c);
std::string run_e4m3_64x128(fuzz_worker& worker, fuzz_case const& c);
/// For any thread; one case at a time. An empty text, too, where the device lacks the memory.
std::string run_large(fuzz_case const& c, bool& is_skipped);

}  // namespace bitsparse_test
