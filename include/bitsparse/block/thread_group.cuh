// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 2: the threads that work on one tile together: a whole block, or some of its warps with a
/// barrier of their own.
#pragma once

#include <cstdint>

#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

/// `Threads` consecutive threads of a block that share a named barrier.
///
/// Threads: constructed by each of them; the first one's index in the block is a multiple of 32.
///   Other warps of the block may do something else meanwhile, but must not use the same barrier
///   number, unless they take every step together with this group.
/// @tparam Threads a power of two from 32 to 1024; 32 needs no barrier (it uses __syncwarp)
template <int Threads>
class thread_group {
  static_assert(Threads >= 32 && Threads <= 1024 && (Threads & (Threads - 1)) == 0,
                "bitsparse: a thread group has 32, 64, 128, 256, 512 or 1024 threads");

 public:
  static constexpr std::uint32_t num_threads = Threads;
  static constexpr std::uint32_t num_warps   = Threads / 32;

  /// The first `Threads` threads of a one-dimensional block, on barrier 0 (that of __syncthreads).
  __device__ __forceinline__ thread_group() : thread_group(threadIdx.x, 0) {}
  /// @param rank this thread's index in the group, 0 .. Threads - 1
  /// @param barrier a hardware barrier, 0 .. 15
  /// @param barrier_threads how many threads meet at it: the group's alone, or those of several
  ///   groups that take every step together, each with a tile of its own. A barrier number that is
  ///   not known at compile time costs all 16, of which a multiprocessor has 64.
  __device__ __forceinline__ thread_group(std::uint32_t rank,
                                          std::uint32_t barrier,
                                          std::uint32_t barrier_threads = Threads)
      : rank_(rank), barrier_(barrier), barrier_threads_(barrier_threads) {}

  __device__ __forceinline__ std::uint32_t rank() const { return rank_; }
  __device__ __forceinline__ std::uint32_t lane() const { return rank_ % 32; }
  __device__ __forceinline__ std::uint32_t warp() const { return rank_ / 32; }

  /// Whether other groups meet at this one's barrier: then each has to come as often as the others.
  __device__ __forceinline__ bool shares_barrier() const {
    return Threads != 32 && barrier_threads_ != Threads;
  }

  /// Waits for all threads of the group; their accesses to memory before it are seen by all after
  /// it.
  __device__ __forceinline__ void sync() const {
    if constexpr (Threads == 32) {
      __syncwarp();
    } else {
      asm volatile("barrier.sync %0, %1;" ::"r"(barrier_), "r"(barrier_threads_) : "memory");
    }
  }

 private:
  std::uint32_t rank_;
  std::uint32_t barrier_;
  std::uint32_t barrier_threads_;
};

}  // namespace v0
}  // namespace bitsparse
