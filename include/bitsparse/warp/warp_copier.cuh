// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 1: copies from global to global memory by one warp, by way of shared memory: many bytes on
/// their way in few registers, so that the warp fits on a multiprocessor that a matrix product fills.
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cstddef>
#include <cstdint>
#include <cuda/ptx>

#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

/// A piece of a copy. Alignment: 16 bytes, the size too.
struct copy_piece {
  std::byte* target       = nullptr;
  std::byte const* source = nullptr;
  std::uint32_t bytes     = 0;
};

/// Which end of a copy is beyond a link that is slower than the device's memory.
enum class far_end { source, target };

/// A ring of pieces in shared memory. From a far source most are being loaded. To a far target most are
/// being stored, and a place is used again when its piece is written, not already when it is read:
/// otherwise writes queue up in front of the link, where all of the device's traffic waits behind them.
/// Source: docs/tuning.md "Moving slabs" for the numbers. The ring is about what a multiprocessor has
///   left beside a block of cuBLAS's largest products.
template <far_end Far, int NumPieces = 7, int PieceBytes = 2560>
class warp_copier {
  static constexpr int num_storing = Far == far_end::source ? 1 : NumPieces - 2;
  static constexpr int num_loading = NumPieces - num_storing;
  static_assert(num_loading > 0 && PieceBytes % (32 * 16) == 0);

 public:
  static constexpr std::uint32_t piece_bytes = PieceBytes;

  struct alignas(128) temp_storage {
    std::byte pieces[NumPieces][PieceBytes];
    copy_piece moves[NumPieces];       // what they are
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

  /// Copies pieces that no other thread writes meanwhile. When it returns they are written.
  /// Threads: the warp.
  /// @tparam Pieces with `bool next(copy_piece&)`: the next piece, of at most PieceBytes, if there is
  ///   one. Some lanes may leave it to lane 0.
  template <class Pieces>
  __device__ void copy(Pieces& pieces) {
    begin();
    std::uint32_t loaded = 0;
    for (int i = 0; i < num_loading; ++i) loaded += load(pieces);
    for (std::uint32_t stored = 0; stored < loaded; ++stored) {
      store();
      loaded += load(pieces);
    }
    end();
  }

 private:
#if __CUDA_ARCH__ >= 900
  // Lane 0 has the bulk copy engine move whole pieces.

  __device__ void begin() const {
    // What was done before with the targets comes before what is done now.
    cuda::ptx::fence_proxy_async();
  }
  __device__ void wait_for_place() const {
    if constexpr (Far == far_end::target) {
      cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<num_storing>{});
    } else {
      cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<num_storing>{});
    }
  }
  /// Starts to load the next piece, into a place whose last one has been stored.
  /// @return whether there was a piece
  template <class Pieces>
  __device__ std::uint32_t load(Pieces& pieces) {
    copy_piece piece;
    if (lane_ != 0 || !pieces.next(piece)) return 0;
    wait_for_place();
    std::uint64_t* const barrier = &storage_.arrived[load_place_];
    storage_.moves[load_place_]  = piece;
    cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release,
                                         cuda::ptx::scope_cta,
                                         cuda::ptx::space_shared,
                                         barrier,
                                         piece.bytes);
    cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster,
                             cuda::ptx::space_global,
                             storage_.pieces[load_place_],
                             piece.source,
                             piece.bytes,
                             barrier);
    advance(load_place_);
    return 1;
  }
  /// Waits for the oldest piece and starts to store it.
  __device__ void store() {
    while (!cuda::ptx::mbarrier_try_wait_parity(&storage_.arrived[store_place_], round_)) {
    }
    copy_piece const piece = storage_.moves[store_place_];
    cuda::ptx::cp_async_bulk(cuda::ptx::space_global,
                             cuda::ptx::space_shared,
                             piece.target,
                             storage_.pieces[store_place_],
                             piece.bytes);
    cuda::ptx::cp_async_bulk_commit_group();
    advance(store_place_);
    if (store_place_ == 0) round_ ^= 1u;
  }
  __device__ void end() const {
    if (lane_ == 0) cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>{});
    __syncwarp();
  }
#else
  // Every lane copies its own vectors of a piece. A load is a group, empty ones too, so that the one
  // that is waited for is always the same number of groups back.

  __device__ void begin() const {}
  template <class Pieces>
  __device__ std::uint32_t load(Pieces& pieces) {
    copy_piece piece;
    bool const is_one = pieces.next(piece);
    if (is_one) {
      if (lane_ == 0) storage_.moves[load_place_] = piece;
#pragma unroll 1
      for (std::uint32_t i = lane_ * 16; i < piece.bytes; i += 32 * 16) {
        __pipeline_memcpy_async(storage_.pieces[load_place_] + i, piece.source + i, 16);
      }
      advance(load_place_);
    }
    __pipeline_commit();
    return is_one ? 1 : 0;
  }
  __device__ void store() {
    __syncwarp();
    copy_piece const piece = storage_.moves[store_place_];
    __pipeline_wait_prior(num_loading - 1);
#pragma unroll 1
    for (std::uint32_t i = lane_ * 16; i < piece.bytes; i += 32 * 16) {
      *reinterpret_cast<uint4*>(piece.target + i) =
          *reinterpret_cast<uint4 const*>(storage_.pieces[store_place_] + i);
    }
    advance(store_place_);
    __syncwarp();  // before lane 0 writes another move into the place
  }
  __device__ void end() const {
    __threadfence_system();
    __syncwarp();
  }
#endif

  __device__ static void advance(int& place) {
    place = place + 1 == NumPieces ? 0 : place + 1;
  }

  temp_storage& storage_;
  std::uint32_t lane_;
  int load_place_      = 0;
  int store_place_     = 0;
  std::uint32_t round_ = 0;  // the parity of the barrier at store_place_
};

}  // namespace v0
}  // namespace bitsparse
