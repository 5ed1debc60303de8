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
#include <bitsparse/device/forward.cuh>
#include <bitsparse/device/op.cuh>
#include <bitsparse/device/operands.cuh>
#include <bitsparse/device/tensor_state.cuh>
#include <bitsparse/format/matrix_view.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

// -------------------------------------------------------------------------------------------------
// Kernels
// -------------------------------------------------------------------------------------------------

template <class Format, class Space, class Operands>
struct compress_params {
  Operands operands;
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
    unsigned long long end;       // what Space::finish() is to be called with, unless 0
  };

  __device__ __forceinline__ block_placement(temp_storage& storage,
                                             Space const& space,
                                             std::uint32_t num_tiles)
      : storage_(storage), space_(space), num_tiles_(num_tiles) {}

  /// Takes room for all tiles at once; nothing waits for it yet. When the plans are stored.
  __device__ __forceinline__ void reserve() {
    if (threadIdx.x != 0) return;
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) units_ += storage_.plans[tile].chunk_units;
    reserved_ = space_.reserve(units_, num_tiles_);
  }
  /// Finds each tile's place in what was reserved, and writes its descriptor. The block waits for it,
  /// so what is nearly always so comes first: all chunks follow each other in memory.
  __device__ __forceinline__ void resolve(tile_descriptor* directory) {
    if (threadIdx.x >= 32) return;
    reservation run{0, nullptr};
    bool const is_run =
        threadIdx.x == 0 && (units_ == 0 || space_.find(Space::first_unit(reserved_), units_, run));
    if (!__any_sync(0xffffffffu, is_run)) {
      resolve_each(directory);
      return;
    }
    if (threadIdx.x != 0) return;
    storage_.end = space_.end_of(reserved_, units_, num_tiles_);
#pragma unroll
    for (std::uint32_t tile = 0; tile < Tiles; ++tile) {
      if (tile >= num_tiles_) break;
      tile_plan const plan = storage_.plans[tile];
      bool const has_chunk = plan.chunk_units != 0;
      directory[tile] = {plan.form, plan.kept, plan.chunk_units, has_chunk ? run.offset_units : 0};
      storage_.addresses[tile] = has_chunk ? run.chunk : nullptr;
      run.offset_units += plan.chunk_units;
      run.chunk += plan.chunk_units * unit_bytes;
    }
  }

 private:
  /// resolve(), whatever the chunks' places. Threads: the first warp.
  __device__ __forceinline__ void resolve_each(tile_descriptor* directory) {
    reserved_                = __shfl_sync(0xffffffffu, reserved_, 0);
    unsigned long long first = Space::first_unit(reserved_);
    bool const has_tile      = threadIdx.x < num_tiles_;
    std::uint32_t const slot = has_tile ? threadIdx.x : 0;
    tile_plan const plan     = storage_.plans[slot];
    bool const has_chunk     = has_tile && plan.chunk_units != 0;
#pragma unroll
    for (std::uint32_t tile = 0; tile + 1 < Tiles; ++tile) {
      if (tile < slot) first += storage_.plans[tile].chunk_units;
    }
    unsigned long long end = threadIdx.x == 0 ? space_.end_of(reserved_, units_, num_tiles_) : 0;
    if (threadIdx.x == 0) storage_.end = 0;
    __syncwarp();
    if (has_chunk) first = space_.settle(first, plan.chunk_units, end);
    if (end != 0) storage_.end = end;  // one at most
    __syncwarp();
    if (!has_tile) return;
    reservation const place = has_chunk ? space_.resolve(first) : reservation{0, nullptr};
    bool const is_lost      = has_chunk && place.chunk == nullptr;
    directory[slot] =
        is_lost ? tile_descriptor{encoding::lost, plan.kept, 0, 0}
                : tile_descriptor{plan.form, plan.kept, plan.chunk_units, place.offset_units};
    storage_.addresses[slot] = place.chunk;
  }

  temp_storage& storage_;
  Space const& space_;
  std::uint32_t num_tiles_;
  std::uint32_t units_         = 0;  // of all tiles; the first thread's
  unsigned long long reserved_ = 0;  // the first thread's, in resolve_each() the first warp's
};

template <class Space>
struct prologue_params {
  Space space;
  float const* scale;
};

/// Empties the tensor before the main kernel fills it.
template <class Space>
__global__ void __launch_bounds__(Space::prologue_threads)
    compress_prologue_kernel(prologue_params<Space> const params) {
  wait_for_previous_kernel();
  allow_next_kernel();
  params.space.reset(factor_at(params.scale));
}

/// Registers of a thread: 64 (docs/tuning.md), and more where it would spill: for codec compact with
/// 1-byte elements on sm_100; where an op emits.
template <class Format, class Codec, class Op, class Source, class Emitted>
constexpr int compress_registers() {
  constexpr bool has_op = !forward_pass<Format, 128, Op, Source, Emitted>::is_plain_copy;
  if (sizeof(typename Format::bits_type) != 1) return is_present<Emitted> ? 72 : 64;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
  if (has_op) return 96;  // 8-bit floats are converted in software
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  if (has_op) return 72;
#endif
  return !has_op && std::is_same_v<Codec, codec::compact> ? 72 : 64;
}

/// A block compresses Tuning::tiles tiles, each by a thread group, and takes room for all of them at
/// once.
/// @tparam Tile how a group holds its tile: tile_arrangement's vectors, or its values where rows are
///   not 16-byte aligned
template <class Format,
          class Codec,
          class Tuning,
          class Tile,
          class Space,
          class Op,
          class Source,
          class Emitted>
__global__ void __launch_bounds__(
    Tuning::block_threads,
    min_compress_blocks<Tuning::block_threads,
                        Tile,
                        compress_registers<Format, Codec, Op, Source, Emitted>()>)
    compress_kernel(
        compress_params<Format, Space, compress_operands<Source, Emitted>> const params) {
  if constexpr (Space::leading_blocks != 0) {
    if (blockIdx.x < Space::leading_blocks) {
      Space::take_first(params.space);
      return;
    }
  }
  using encoder_type = block_encoder<Format, Codec, Tuning::threads>;
  __shared__ typename encoder_type::temp_storage storage[Tuning::tiles];
  using placement_type = block_placement<Tuning::tiles, Space>;
  __shared__ typename placement_type::temp_storage chunks;
  std::uint32_t const slot = threadIdx.x / Tuning::threads;
  thread_group<Tuning::threads> const group(
      threadIdx.x % Tuning::threads, 0, Tuning::block_threads);
  encoder_type encoder(storage[slot], group);

  using pass = forward_pass<Format, Tuning::threads, Op, Source, Emitted>;
  std::uint32_t const first_tile =
      block_number<!pass::is_plain_copy, Space::leading_blocks>() * Tuning::tiles;
  std::uint32_t const num_tiles =
      min(params.num_tiles - first_tile, static_cast<std::uint32_t>(Tuning::tiles));
  auto at = params.grid.at(first_tile + slot);
  if (slot >= num_tiles) at.valid_rows = 0;
  Tile tile;
  pass::load(group, params.operands, at, tile);
  tile_plan const plan = encoder.plan(tile, at.valid_rows, at.valid_cols);
  if (group.rank() == 0) chunks.plans[slot] = plan;
  __syncthreads();

  wait_for_previous_kernel();
  placement_type placement(chunks, params.space, num_tiles);
  placement.reserve();
  encoder.stage(tile);  // while the reservation is on its way
  placement.resolve(params.directory + first_tile);
  __syncthreads();
  if (chunks.plans[slot].chunk_units != 0 && chunks.addresses[slot] != nullptr) {
    encoder.store(chunks.addresses[slot]);
  }
  if (chunks.end != 0) Space::finish(params.space, chunks.end);
}

/// Prologue and main kernel over any address space. The arguments are checked.
/// @param has_runs whether the dense operands allow the vector arrangement
template <class Codec,
          class Op,
          class Tuning,
          class Format,
          class Space,
          class Source,
          class Emitted>
status launch_compress(compress_operands<Source, Emitted> const& operands,
                       bool has_runs,
                       tile_descriptor* directory,
                       Space const& space,
                       cudaStream_t stream) {
  constexpr bool is_default = std::is_void_v<Tuning>;
  // 2-byte elements are as quick either way with sign, and quicker with compact by default.
  constexpr bool wants_threads = !forward_pass<Format, 128, Op, Source, Emitted>::is_plain_copy &&
                                 sizeof(typename Format::bits_type) != 2;
  using quickest   = std::conditional_t<wants_threads, op_tuning<Format>, default_tuning<Format>>;
  using of_vectors = std::conditional_t<is_default, quickest, Tuning>;
  using of_values  = std::conditional_t<is_default, value_tuning<Format>, Tuning>;
  using vectors    = typename tile_arrangement<Format, of_vectors::threads>::vectors;
  using values     = typename tile_arrangement<Format, of_values::threads>::values;
  if (!space.admits(Format::tile_units * (of_vectors::tiles > of_values::tiles
                                              ? of_vectors::tiles
                                              : of_values::tiles))) {
    return {
        status_code::invalid_argument,
        "compress: a slab is smaller than what a block of this tuning can reserve at once; take "
        "fewer tiles per block or larger slabs"};
  }
  std::uint64_t const rows = operands.source.rows, cols = operands.source.cols;
  auto const tiles = static_cast<std::uint32_t>(num_tiles<Format>(rows, cols));
  auto const run   = [&](auto* kernel, auto tuning) {
    launch_order order;
    status result = load(kernel, order);
    if (result.ok()) {
      prologue_params<Space> const prologue{space, operands.scale};
      result = launch(
          compress_prologue_kernel<Space>, 1, Space::prologue_threads, prologue, stream, order);
    }
    if (!result.ok() || tiles == 0) return result;
    compress_params<Format, Space, compress_operands<Source, Emitted>> const params{
        operands, {rows, cols}, tiles, directory, space};
    std::uint32_t const blocks =
        Space::leading_blocks + ceil_div<std::uint32_t>(tiles, tuning.tiles);
    return launch(kernel, blocks, tuning.block_threads, params, stream, order);
  };
  return has_runs
             ? run(compress_kernel<Format, Codec, of_vectors, vectors, Space, Op, Source, Emitted>,
                   of_vectors{})
             : run(compress_kernel<Format, Codec, of_values, values, Space, Op, Source, Emitted>,
                   of_values{});
}

/// Checks the operands against a checked tensor, whose memory \p space is, and launches.
template <class Codec,
          class Op,
          class Tuning,
          class Source,
          class Emitted,
          template <class>
          class View,
          class Format,
          class Space>
status check_and_compress(compress_operands<Source, Emitted> const& operands,
                          View<Format> const& target,
                          Space const& space,
                          cudaStream_t stream) {
  operand_spans spans;
  if (status const checked = check_dense<Format, Op>(operands, target.rows, target.cols, spans);
      !checked.ok())
    return checked;
  if (overlaps_tensor(target, spans)) {
    return {status_code::invalid_argument, tensor_overlap_text};
  }
  return launch_compress<Codec, Op, Tuning, Format>(
      operands, spans.has_runs, target.directory, space, stream);
}

}  // namespace detail

// -------------------------------------------------------------------------------------------------
// Launchers
// -------------------------------------------------------------------------------------------------

/// Applies an op to a matrix and compresses the result on the device, losslessly.
///
/// Shapes, Alignment, Aliasing, Units: see compress_operands and device_tensor_view. The tensor's
///   memory overlaps no dense operand.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, unsupported or cuda_error before anything is written. If the payload
///   is too small, the tiles that find no room are `lost` and the state gets the condition
///   capacity_exceeded and the capacity that would have sufficed: see report().
/// Guarantee: what is stored and emitted equals, bit for bit, what a kernel computes that applies the
///   op to the dense matrix; the chunks equal host::compress's of it, byte for byte; only their
///   offsets depend on the run. Nothing is written outside directory, state, payload and emitted.
/// Traffic: the source once; emitted once; the chunks once; 8 bytes per tile.
/// @tparam Codec codec::sign, codec::fast or codec::compact
/// @tparam Op see op.cuh
/// @tparam Tuning a tile_tuning, or void for the default
template <class Codec, class Op, class Tuning = void, class Source, class Emitted, class Format>
status compress(compress_operands<Source, Emitted> const& operands,
                device_tensor_view<Format> target,
                cudaStream_t stream) {
  if (status const checked = detail::check_device_tensor(target); !checked.ok()) return checked;
  return detail::check_and_compress<Codec, Op, Tuning>(
      operands, target, detail::buffer_space{target}, stream);
}

/// Compresses a matrix of the tensor's element, losslessly, bit for bit: compress with the source
/// alone. The Op makes what is stored of it.
/// @tparam Op identity, or an op of which only the stored result is wanted
template <class Codec, class Op = identity, class Tuning = void, class Format>
status compress(const_matrix_view<typename Format::element> source,
                device_tensor_view<Format> target,
                cudaStream_t stream) {
  compress_operands<typename Format::element> operands;
  operands.source = source;
  return compress<Codec, Op, Tuning>(operands, target, stream);
}

}  // namespace v0
}  // namespace bitsparse
