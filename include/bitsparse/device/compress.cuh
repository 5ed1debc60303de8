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
///   not 16-byte aligned
template <class Format, class Codec, class Tuning, class Tile, class Space>
__global__ void __launch_bounds__(Tuning::threads, min_blocks<Tile>)
    compress_kernel(compress_params<Format, Space> const params) {
  using encoder_type = block_encoder<Format, Codec, Tuning::threads>;
  __shared__ typename encoder_type::temp_storage storage;
  __shared__ std::byte* chunk;
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

  reservation place{};
  if (group.rank() == 0) place = params.space.reserve(plan.chunk_units);
  if (plan.chunk_units != 0) encoder.stage(tile);  // while the reservation is on its way
  if (group.rank() == 0) {
    if (plan.chunk_units != 0) place = params.space.resolve(place);
    bool const is_lost = plan.chunk_units != 0 && place.chunk == nullptr;
    chunk              = place.chunk;
    params.directory[blockIdx.x] =
        is_lost ? tile_descriptor{encoding::lost, plan.kept, 0, 0}
                : tile_descriptor{plan.form, plan.kept, plan.chunk_units, place.offset_units};
  }
  if (plan.chunk_units == 0) return;
  group.sync();
  if (chunk != nullptr) encoder.store(chunk);
}

/// Prologue and main kernel over any address space. The arguments are checked.
template <class Codec, class Tuning, class Format, class Space>
status launch_compress(const_matrix_view<typename Format::element> source,
                       tile_descriptor* directory,
                       Space const& space,
                       cudaStream_t stream) {
  using tuning      = std::conditional_t<std::is_void_v<Tuning>, default_tuning<Format>, Tuning>;
  using arrangement = tile_arrangement<Format, tuning::threads>;
  status const begun =
      launch(compress_prologue_kernel<Space>, 1, Space::prologue_threads, space, stream);
  auto const tiles = static_cast<std::uint32_t>(num_tiles<Format>(source.rows, source.cols));
  if (!begun.ok() || tiles == 0) return begun;
  compress_params<Format, Space> const params{
      source.data, source.ld, {source.rows, source.cols}, directory, space};
  auto* const kernel =
      has_vector_rows(source)
          ? compress_kernel<Format, Codec, tuning, typename arrangement::vectors, Space>
          : compress_kernel<Format, Codec, tuning, typename arrangement::values, Space>;
  return launch(kernel, tiles, tuning::threads, params, stream, launch_order::overlaps);
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
/// @tparam Codec codec::sign or codec::fast
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
