// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: a copy from global to global memory by one warp, by way of shared memory: many bytes on
/// their way in few registers, so that the warp fits on a multiprocessor that a matrix product fills.
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cstddef>
#include <cstdint>
#include <cuda/ptx>

#include <bitsparse/config.hpp>
#include <bitsparse/format/bits.hpp>

namespace bitsparse {
inline namespace v0 {

/// A ring of pieces in shared memory. Most are being loaded, the others being stored: loads from host
/// memory take long, stores to it leave soon.
/// Source: docs/tuning.md "Moving slabs" for the numbers; a larger ring does not fit beside the
///   blocks of cuBLAS's kernels.
template <int NumPieces = 8, int PieceBytes = 4096>
class warp_copier {
  static constexpr int pieces_storing = 2;
  static constexpr int pieces_loading = NumPieces - pieces_storing;
  static_assert(pieces_loading > 0 && PieceBytes % (32 * 16) == 0);

 public:
  struct alignas(128) temp_storage {
    std::byte pieces[NumPieces][PieceBytes];
    std::uint64_t arrived[NumPieces];  // barriers, from sm_90 on
  };

  /// Threads: a warp; the storage is its own as long as the copier lives.
  __device__ explicit warp_copier(temp_storage& storage)
      : storage_(storage), lane_(threadIdx.x % 32) {
#if __CUDA_ARCH__ >= 900
    if (lane_ == 0) {
      for (std::uint64_t& barrier : storage_.arrived) cuda::ptx::mbarrier_init(&barrier, 1u);
      cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
    }
    __syncwarp();
#endif
  }

  /// Copies bytes that no other thread writes meanwhile. When it returns they are written.
  /// Alignment: 16 bytes, the size too. Threads: the warp.
  __device__ void copy(std::byte* target, std::byte const* source, std::uint64_t bytes) {
    auto const pieces     = static_cast<int>(detail::ceil_div<std::uint64_t>(bytes, PieceBytes));
    auto const bytes_from = [&](int piece) {
      std::uint64_t const rest = bytes - std::uint64_t{PieceBytes} * piece;
      return static_cast<std::uint32_t>(rest < PieceBytes ? rest : PieceBytes);
    };
    begin();
    for (int piece = 0; piece < pieces_loading; ++piece) {
      load(piece, source, piece < pieces ? bytes_from(piece) : 0);
    }
    for (int piece = 0; piece < pieces; ++piece) {
      store(piece, target, bytes_from(piece));
      int const next = piece + pieces_loading;
      load(next, source, next < pieces ? bytes_from(next) : 0);
    }
    end(pieces);
  }

 private:
#if __CUDA_ARCH__ >= 900
  // Lane 0 has the bulk copy engine move whole pieces.

  __device__ void begin() const {
    // What other kernels wrote before is written before what is written now.
    cuda::ptx::fence_proxy_async();
  }
  /// Waits for the ring's place, then starts to load a piece; an empty one is none.
  __device__ void load(int piece, std::byte const* source, std::uint32_t bytes) {
    if (lane_ != 0 || bytes == 0) return;
    cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<pieces_storing>{});
    std::uint64_t* const barrier = &storage_.arrived[place_of(piece)];
    cuda::ptx::mbarrier_arrive_expect_tx(
        cuda::ptx::sem_release, cuda::ptx::scope_cta, cuda::ptx::space_shared, barrier, bytes);
    cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster,
                             cuda::ptx::space_global,
                             storage_.pieces[place_of(piece)],
                             source + std::uint64_t{PieceBytes} * piece,
                             bytes,
                             barrier);
  }
  /// Waits for a piece and starts to store it.
  __device__ void store(int piece, std::byte* target, std::uint32_t bytes) {
    if (lane_ != 0) return;
    std::uint64_t* const barrier = &storage_.arrived[place_of(piece)];
    std::uint32_t const round    = (first_ + piece) / NumPieces;
    while (!cuda::ptx::mbarrier_try_wait_parity(barrier, round & 1)) {
    }
    cuda::ptx::cp_async_bulk(cuda::ptx::space_global,
                             cuda::ptx::space_shared,
                             target + std::uint64_t{PieceBytes} * piece,
                             storage_.pieces[place_of(piece)],
                             bytes);
    cuda::ptx::cp_async_bulk_commit_group();
  }
  __device__ void end(int pieces) {
    if (lane_ == 0) cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>{});
    first_ += pieces;
    __syncwarp();
  }
#else
  // Every lane copies its own vectors of a piece. A load is a group, empty ones too, so that the one
  // that is waited for is always the same number of groups back.

  __device__ void begin() const {}
  __device__ void load(int piece, std::byte const* source, std::uint32_t bytes) {
#pragma unroll 1
    for (std::uint32_t i = lane_ * 16; i < bytes; i += 32 * 16) {
      __pipeline_memcpy_async(
          storage_.pieces[place_of(piece)] + i, source + std::uint64_t{PieceBytes} * piece + i, 16);
    }
    __pipeline_commit();
  }
  __device__ void store(int piece, std::byte* target, std::uint32_t bytes) {
    __pipeline_wait_prior(pieces_loading - 1);
#pragma unroll 1
    for (std::uint32_t i = lane_ * 16; i < bytes; i += 32 * 16) {
      *reinterpret_cast<uint4*>(target + std::uint64_t{PieceBytes} * piece + i) =
          *reinterpret_cast<uint4 const*>(storage_.pieces[place_of(piece)] + i);
    }
  }
  __device__ void end(int pieces) {
    first_ += pieces;
    __threadfence_system();
    __syncwarp();
  }
#endif

  __device__ int place_of(int piece) const {
    return static_cast<int>((first_ + piece) % NumPieces);
  }

  temp_storage& storage_;
  std::uint32_t lane_;
  std::uint32_t first_ = 0;  // the number of the next copy's first piece, over all copies
};

}  // namespace v0
}  // namespace bitsparse
