// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: compress: dense matrix to compressed tensor, in one pass over the matrix.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <type_traits>

#include <bitsparse/block/block_encoder.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/launch.cuh>
#include <bitsparse/detail/tile_grid.hpp>
#include <bitsparse/detail/tile_tuning.hpp>
#include <bitsparse/device/op.cuh>
#include <bitsparse/device/tensor_state.cuh>
#include <bitsparse/format/matrix_view.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

// -------------------------------------------------------------------------------------------------
// Kernels
// -------------------------------------------------------------------------------------------------

template <class Format, class Space>
struct compress_params {
  typename Format::bits_type const* source;
  std::uint64_t ld;
  tile_grid<Format> grid;
  std::uint32_t num_tiles;
  tile_descriptor* directory;
  Space space;
};

/// Finds room for the chunks of a block's tiles. Its members are called by all threads of the block;
/// the first warp does the work.
template <int Tiles, class Space>
class block_placement {
 public:
  struct temp_storage {
    tile_plan plans[Tiles];       // (Tiles,) of each group's tile
    std::byte* addresses[Tiles];  // (Tiles,) of its chunk; null if it stores none
    bool is_last;                 // whether Space::finish() is to be called
  };

  __device__ __forceinline__ block_placement(temp_storage& storage,
                                             Space const& space,
                                             std::uint32_t num_tiles)
      : storage_(storage), space_(space), num_tiles_(num_tiles) {}

  /// Takes room for all tiles at once; nothing waits for it yet. When the plans are stored.
  __device__ __forceinline__ void reserve() {
    if (threadIdx.x != 0) return;
    std::uint32_t units = 0;
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) units += storage_.plans[tile].chunk_units;
    reserved_ = space_.reserve(units, num_tiles_);
  }
  /// Finds each tile's place in what was reserved, and writes its descriptor.
  __device__ __forceinline__ void resolve(tile_descriptor* directory) {
    if (threadIdx.x >= 32) return;
    reserved_                = __shfl_sync(0xffffffffu, reserved_, 0);
    unsigned long long first = Space::first_unit(reserved_);
    bool const has_tile      = threadIdx.x < num_tiles_;
    std::uint32_t const slot = has_tile ? threadIdx.x : 0;
    tile_plan const plan     = storage_.plans[slot];
    bool const has_chunk     = has_tile && plan.chunk_units != 0;
    for (std::uint32_t tile = 0; tile < slot; ++tile) first += storage_.plans[tile].chunk_units;
    if (has_chunk) first = space_.settle(first, plan.chunk_units);
    __syncwarp();
    if (threadIdx.x == 0) storage_.is_last = space_.is_last(reserved_, num_tiles_);
    if (!has_tile) return;
    reservation const place = has_chunk ? space_.resolve(first) : reservation{0, nullptr};
    bool const is_lost      = has_chunk && place.chunk == nullptr;
    directory[slot] =
        is_lost ? tile_descriptor{encoding::lost, plan.kept, 0, 0}
                : tile_descriptor{plan.form, plan.kept, plan.chunk_units, place.offset_units};
    storage_.addresses[slot] = place.chunk;
  }

 private:
  temp_storage& storage_;
  Space const& space_;
  std::uint32_t num_tiles_;
  unsigned long long reserved_ = 0;  // the first warp's
};

/// Empties the tensor before the main kernel fills it.
template <class Space>
__global__ void compress_prologue_kernel(Space const space) {
  allow_next_kernel();
  space.reset();
}

/// A block compresses Tuning::tiles tiles, each by a thread group, and takes room for all of them at
/// once.
/// @tparam Tile how a group holds its tile: tile_arrangement's vectors, or its values where rows are
///   not 16-byte aligned
template <class Format, class Codec, class Tuning, class Tile, class Space>
__global__ void __launch_bounds__(Tuning::block_threads,
                                  min_compress_blocks<Tuning::block_threads,
                                                      Tile,
                                                      sizeof(typename Format::bits_type) == 1 &&
                                                          std::is_same_v<Codec, codec::compact>>)
    compress_kernel(compress_params<Format, Space> const params) {
  using encoder_type = block_encoder<Format, Codec, Tuning::threads>;
  __shared__ typename encoder_type::temp_storage storage[Tuning::tiles];
  using placement_type = block_placement<Tuning::tiles, Space>;
  __shared__ typename placement_type::temp_storage chunks;
  std::uint32_t const slot = threadIdx.x / Tuning::threads;
  thread_group<Tuning::threads> const group(
      threadIdx.x % Tuning::threads, 0, Tuning::block_threads);
  encoder_type encoder(storage[slot], group);

  std::uint32_t const first_tile = blockIdx.x * Tuning::tiles;
  std::uint32_t const num_tiles =
      min(params.num_tiles - first_tile, static_cast<std::uint32_t>(Tuning::tiles));
  auto at = params.grid.at(first_tile + slot);
  if (slot >= num_tiles) at.valid_rows = 0;
  Tile tile;
  encoder_type::arrangement::load(
      group,
      {tile_corner<Format>(params.source, params.ld, at), params.ld, at.valid_rows, at.valid_cols},
      tile);
  tile_plan const plan = encoder.plan(tile, at.valid_rows, at.valid_cols);
  if (group.rank() == 0) chunks.plans[slot] = plan;
  __syncthreads();

  wait_for_prologue();
  placement_type placement(chunks, params.space, num_tiles);
  placement.reserve();
  encoder.stage(tile);  // while the reservation is on its way
  placement.resolve(params.directory + first_tile);
  __syncthreads();
  if (chunks.plans[slot].chunk_units != 0 && chunks.addresses[slot] != nullptr) {
    encoder.store(chunks.addresses[slot]);
  }
  if (chunks.is_last) Space::finish(params.space);
}

/// Prologue and main kernel over any address space. The arguments are checked.
template <class Codec, class Tuning, class Format, class Space>
status launch_compress(const_matrix_view<typename Format::element> source,
                       tile_descriptor* directory,
                       Space const& space,
                       cudaStream_t stream) {
  constexpr bool is_default = std::is_void_v<Tuning>;
  using of_vectors          = std::conditional_t<is_default, default_tuning<Format>, Tuning>;
  using of_values           = std::conditional_t<is_default, value_tuning<Format>, Tuning>;
  using vectors             = typename tile_arrangement<Format, of_vectors::threads>::vectors;
  using values              = typename tile_arrangement<Format, of_values::threads>::values;
  if (!space.admits(Format::tile_units * (of_vectors::tiles > of_values::tiles
                                              ? of_vectors::tiles
                                              : of_values::tiles))) {
    return {
        status_code::invalid_argument,
        "compress: a slab is smaller than what a block of this tuning can reserve at once; take "
        "fewer tiles per block or larger slabs"};
  }
  auto const tiles = static_cast<std::uint32_t>(num_tiles<Format>(source.rows, source.cols));
  auto const run   = [&](auto* kernel, auto tuning) {
    launch_order order;
    status result = load(kernel, order);
    if (result.ok()) {
      result = launch(compress_prologue_kernel<Space>, 1, Space::prologue_threads, space, stream);
    }
    if (!result.ok() || tiles == 0) return result;
    compress_params<Format, Space> const params{
        source.data, source.ld, {source.rows, source.cols}, tiles, directory, space};
    std::uint32_t const blocks = ceil_div<std::uint32_t>(tiles, tuning.tiles);
    return launch(kernel, blocks, tuning.block_threads, params, stream, order);
  };
  return has_vector_rows(source)
             ? run(compress_kernel<Format, Codec, of_vectors, vectors, Space>, of_vectors{})
             : run(compress_kernel<Format, Codec, of_values, values, Space>, of_values{});
}

}  // namespace detail

// -------------------------------------------------------------------------------------------------
// Launchers
// -------------------------------------------------------------------------------------------------

/// Compresses a matrix on the device, losslessly, bit for bit.
///
/// Shapes: source rows x cols; target of the same shape.
/// Alignment: source to its element (a base and a leading dimension that make every row 16-byte
///   aligned take the faster path); target see device_tensor_view.
/// Aliasing: source and target do not overlap.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, unsupported or cuda_error before anything is written. If the payload
///   is too small, the tiles that find no room are `lost` and the state gets the condition
///   capacity_exceeded and the capacity that would have sufficed: see report().
/// Guarantee: chunks equal host::compress's, byte for byte; only their offsets depend on the run.
///   Nothing is written outside directory, state and payload.
/// Traffic: the matrix once; the chunks once; 8 bytes per tile.
/// @tparam Codec codec::sign, codec::fast or codec::compact
/// @tparam Op identity
/// @tparam Tuning a tile_tuning, or void for the default
template <class Codec, class Op = identity, class Tuning = void, class Format>
status compress(const_matrix_view<typename Format::element> source,
                device_tensor_view<Format> target,
                cudaStream_t stream) {
  static_assert(detail::is_identity<Op>, "bitsparse: compress takes no other op than identity yet");
  if (status const checked = detail::check_device_operands(target, source); !checked.ok()) {
    return checked;
  }
  return detail::launch_compress<Codec, Tuning, Format>(
      source, target.directory, detail::buffer_space{target}, stream);
}

}  // namespace v0
}  // namespace bitsparse
