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

// ---------------------------------------------------------------------------------------------------------------------
// Kernels
// ---------------------------------------------------------------------------------------------------------------------

template <class Format, class Space>
struct compress_params {
  typename Format::bits_type const* source;
  std::uint64_t ld;
  tile_grid<Format> grid;
  tile_descriptor* directory;
  Space space;
};

/// Empties the tensor before the main kernel fills it.
template <class Space>
__global__ void compress_prologue_kernel(Space const space) {
  allow_next_kernel();
  space.reset();
}

/// One block per tile.
/// @tparam Tile how the block holds it: tile_arrangement's vectors, or its values where rows are
/// not 16-byte aligned
template <class Format, class Codec, class Tuning, class Tile, class Space>
__global__ void __launch_bounds__(Tuning::threads, min_blocks<Tile>)
    compress_kernel(compress_params<Format, Space> const params) {
  using encoder_type = block_encoder<Format, Codec, Tuning::threads>;
  __shared__ typename encoder_type::temp_storage storage;
  __shared__ std::uint64_t chunk_offset;
  thread_group<Tuning::threads> const group;
  encoder_type encoder(storage, group);

  auto const at = params.grid.at(blockIdx.x);
  Tile tile;
  encoder_type::arrangement::load(
      group,
      {tile_corner<Format>(params.source, params.ld, at), params.ld, at.valid_rows, at.valid_cols},
      tile);
  wait_for_prologue();
  tile_plan const plan = encoder.plan(tile, at.valid_rows, at.valid_cols);

  tile_descriptor* const descriptor = params.directory + blockIdx.x;
  if (plan.chunk_units == 0) {
    if (group.rank() == 0) *descriptor = tile_descriptor{};
    return;
  }
  std::uint64_t offset = 0;
  if (group.rank() == 0) offset = params.space.reserve(plan.chunk_units);
  encoder.stage(tile);  // while the reservation is on its way
  if (group.rank() == 0) {
    chunk_offset = offset;
    *descriptor  = offset != Space::none
                       ? tile_descriptor{plan.form, plan.kept, plan.chunk_units, offset}
                       : tile_descriptor{encoding::lost, plan.kept, 0, 0};
  }
  group.sync();
  if (chunk_offset != Space::none) encoder.store(params.space.address(chunk_offset));
}

}  // namespace detail

// ---------------------------------------------------------------------------------------------------------------------
// Launchers
// ---------------------------------------------------------------------------------------------------------------------

/// Compresses a matrix on the device, losslessly, bit for bit.
///
/// Shapes: source rows x cols; target of the same shape.
/// Alignment: source to its element (a base and a leading dimension that make every row 16-byte
/// aligned take the faster
///   path); target see device_tensor_view.
/// Aliasing: source and target do not overlap.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, unsupported or cuda_error before anything is written. If the payload
/// is too small, the tiles
///   that find no room are `lost`, the state's conditions get condition_capacity, and its
///   needed_units say how many 16-byte units would have sufficed: see report().
/// Guarantee: chunks equal host::compress's, byte for byte; only their offsets depend on the run.
/// Nothing is written
///   outside directory, state and payload.
/// Traffic: the matrix once; the chunks once; 8 bytes per tile.
/// @tparam Codec codec::sign or codec::fast
template <class Codec, class Op = identity, class Tuning = void, class Format>
status compress(const_matrix_view<typename Format::element> source,
                device_tensor_view<Format> target,
                cudaStream_t stream) {
  static_assert(detail::is_identity<Op>, "bitsparse: compress takes no other op than identity yet");
  using tuning      = std::conditional_t<std::is_void_v<Tuning>, default_tuning<Format>, Tuning>;
  using arrangement = tile_arrangement<Format, tuning::threads>;
  using space       = detail::buffer_space;
  if (status const checked = detail::check_device_operands(target, source); !checked.ok())
    return checked;

  space const payload{target.payload, target.payload_bytes / unit_bytes, target.state};
  status const begun =
      detail::launch(detail::compress_prologue_kernel<space>, 1, 1, payload, stream);
  auto const tiles = static_cast<std::uint32_t>(num_tiles<Format>(source.rows, source.cols));
  if (!begun.ok() || tiles == 0) return begun;
  detail::compress_params<Format, space> const params{
      source.data, source.ld, {source.rows, source.cols}, target.directory, payload};
  auto* const kernel =
      detail::has_vector_rows(source)
          ? detail::compress_kernel<Format, Codec, tuning, typename arrangement::vectors, space>
          : detail::compress_kernel<Format, Codec, tuning, typename arrangement::values, space>;
  return detail::launch(
      kernel, tiles, tuning::threads, params, stream, detail::launch_order::overlaps);
}

}  // namespace v0
}  // namespace bitsparse
