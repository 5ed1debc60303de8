// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What one writes by hand today, with CUB: the format is a mask bit per value and the kept values in
/// row-major order.
#include <cuda_runtime_api.h>
#include <cstdint>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <memory>
#include <vector>

#include <bench/peers/peer.cuh>
#include <bench/peers/peers.hpp>

namespace bench {
namespace {

// -------------------------------------------------------------------------------------------------
// Kernels: one warp does one tile of 1024 values, two adjacent values per lane and step
// -------------------------------------------------------------------------------------------------

constexpr std::uint32_t tile_values = 1024, tile_words = 32, tile_pairs = 512, tile_steps = 16;
constexpr std::uint32_t block_threads = 256, block_tiles = block_threads / 32;
constexpr std::uint32_t all_lanes = 0xffffffff;

__device__ std::uint32_t tile_of_warp() {
  return (blockIdx.x * block_threads + threadIdx.x) / 32;
}

/// Mask words 2s and 2s + 1 of a tile: the first and the second values of the 32 pairs of step s.
__global__ void mask_kernel(std::uint32_t const* pairs,
                            std::uint32_t num_tiles,
                            std::uint32_t* mask) {
  std::uint32_t const tile = tile_of_warp(), lane = threadIdx.x % 32;
  if (tile >= num_tiles) return;
  pairs += std::uint64_t{tile} * tile_pairs;
  std::uint32_t word = 0;
#pragma unroll
  for (std::uint32_t step = 0; step < tile_steps; ++step) {
    std::uint32_t const pair   = pairs[step * 32 + lane];
    std::uint32_t const first  = __ballot_sync(all_lanes, (pair & 0xffff) != 0);
    std::uint32_t const second = __ballot_sync(all_lanes, pair >> 16 != 0);
    if (lane == 2 * step) word = first;
    if (lane == 2 * step + 1) word = second;
  }
  mask[tile * tile_words + lane] = word;
}

__global__ void count_kernel(std::uint32_t const* mask,
                             std::uint32_t num_tiles,
                             std::uint32_t* kept) {
  std::uint32_t const tile = tile_of_warp(), lane = threadIdx.x % 32;
  if (tile >= num_tiles) return;
  std::uint32_t const word = mask[tile * tile_words + lane];
  std::uint32_t const sum  = __reduce_add_sync(all_lanes, static_cast<std::uint32_t>(__popc(word)));
  if (lane == 0) kept[tile] = sum;
}

/// No two of the arrays overlap, so that a step's reads need not wait for the writes before.
/// @param starts each tile's first kept value
__global__ void scatter_kernel(std::uint32_t const* __restrict__ mask,
                               std::uint16_t const* __restrict__ values,
                               std::uint32_t const* __restrict__ starts,
                               std::uint32_t num_tiles,
                               std::uint32_t* __restrict__ pairs) {
  std::uint32_t const tile = tile_of_warp(), lane = threadIdx.x % 32;
  if (tile >= num_tiles) return;
  pairs += std::uint64_t{tile} * tile_pairs;
  std::uint32_t const word  = mask[tile * tile_words + lane];
  std::uint32_t const below = (1u << lane) - 1;
  std::uint32_t start       = starts[tile];
#pragma unroll
  for (std::uint32_t step = 0; step < tile_steps; ++step) {
    std::uint32_t const first      = __shfl_sync(all_lanes, word, 2 * step);
    std::uint32_t const second     = __shfl_sync(all_lanes, word, 2 * step + 1);
    std::uint32_t const has_first  = first >> lane & 1;
    std::uint32_t const has_second = second >> lane & 1;
    std::uint32_t const at         = start + __popc(first & below) + __popc(second & below);
    std::uint32_t pair             = 0;
    if (has_first != 0) pair = values[at];
    if (has_second != 0) pair |= std::uint32_t{values[at + has_first]} << 16;
    pairs[step * 32 + lane] = pair;
    start += __popc(first) + __popc(second);
  }
}

// -------------------------------------------------------------------------------------------------
// The peer
// -------------------------------------------------------------------------------------------------

struct is_kept {
  __device__ bool operator()(std::uint16_t bits) const { return bits != 0; }
};

/// The number of kept values stays on the device, as ours does: values has room for all.
class cub_peer : public peer {
 public:
  explicit cub_peer(peer_matrices const& dense)
      : dense_(dense),
        num_values_(static_cast<std::int64_t>(dense.num_values())),
        num_tiles_(static_cast<std::uint32_t>(dense.num_values() / tile_values)),
        starts_(num_tiles_ * sizeof(std::uint32_t)),
        temp_(0) {
    if (dense.num_values() % tile_values != 0 || dense.num_values() >> 32 != 0) {
      throw peer_failure("the values are no whole tiles or too many for 32-bit starts");
    }
    for (int i = 0; i < dense.count(); ++i) {
      mask_.emplace_back(num_tiles_ * tile_words * sizeof(std::uint32_t));
      values_.emplace_back(dense.dense_bytes());
      num_kept_.emplace_back(sizeof(std::int64_t));
    }
    std::size_t select_bytes = 0, scan_bytes = 0;
    select(0, nullptr, select_bytes);
    scan(nullptr, scan_bytes);
    select_bytes_ = select_bytes;
    scan_bytes_   = scan_bytes;
    temp_.reserve(select_bytes > scan_bytes ? select_bytes : scan_bytes);
  }

  void compress(int i) override {
    mask_kernel<<<num_blocks(), block_threads>>>(
        reinterpret_cast<std::uint32_t const*>(dense_.dense(i)), num_tiles_, mask(i));
    require_peer(cudaGetLastError(), "mask_kernel");
    select(i, temp_.as<void>(), select_bytes_);
  }

  void decompress(int i) override {
    count_kernel<<<num_blocks(), block_threads>>>(mask(i), num_tiles_, starts());
    require_peer(cudaGetLastError(), "count_kernel");
    scan(temp_.as<void>(), scan_bytes_);
    scatter_kernel<<<num_blocks(), block_threads>>>(
        mask(i),
        values_[i].as<std::uint16_t>(),
        starts(),
        num_tiles_,
        reinterpret_cast<std::uint32_t*>(dense_.restored(i)));
    require_peer(cudaGetLastError(), "scatter_kernel");
  }

  double stored_bytes() override {
    std::int64_t kept = 0;
    require_peer(
        cudaMemcpy(&kept, num_kept_[0].as<std::int64_t>(), sizeof(kept), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    return static_cast<double>(num_values_) / 8 + 2.0 * static_cast<double>(kept) + sizeof(kept);
  }

 private:
  std::uint32_t num_blocks() const { return (num_tiles_ + block_tiles - 1) / block_tiles; }
  std::uint32_t* mask(int i) const { return mask_[i].as<std::uint32_t>(); }
  std::uint32_t* starts() const { return starts_.as<std::uint32_t>(); }

  void select(int i, void* temp, std::size_t& temp_bytes) const {
    require_peer(cub::DeviceSelect::If(temp,
                                       temp_bytes,
                                       static_cast<std::uint16_t const*>(dense_.dense(i)),
                                       values_[i].as<std::uint16_t>(),
                                       num_kept_[i].as<std::int64_t>(),
                                       num_values_,
                                       is_kept{}),
                 "cub::DeviceSelect::If");
  }
  void scan(void* temp, std::size_t& temp_bytes) const {
    require_peer(cub::DeviceScan::ExclusiveSum(temp, temp_bytes, starts(), starts(), num_tiles_),
                 "cub::DeviceScan::ExclusiveSum");
  }

  peer_matrices const& dense_;
  std::int64_t num_values_;
  std::uint32_t num_tiles_;
  std::vector<peer_memory> mask_, values_, num_kept_;
  peer_memory starts_, temp_;
  std::size_t select_bytes_ = 0, scan_bytes_ = 0;
};

}  // namespace

void add_cub_peer(peer_data const& data) {
  add_peer("cub", data, [](peer_matrices const& dense, peer_data const&) {
    return std::make_unique<cub_peer>(dense);
  });
}

}  // namespace bench
