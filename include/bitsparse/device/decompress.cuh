// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: decompress: compressed tensor to dense matrix.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <type_traits>

#include <bitsparse/block/block_decoder.cuh>
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
struct decompress_params {
  typename Format::bits_type* target;
  std::uint64_t ld;
  tile_grid<Format> grid;
  tile_descriptor const* directory;
  Space space;
};

static_assert(static_cast<int>(tile_condition::lost) ==
                      static_cast<int>(device_condition::lost_tile_read) &&
                  static_cast<int>(tile_condition::corrupt) ==
                      static_cast<int>(device_condition::corrupt_tile),
              "bitsparse: a tile's condition is raised as the device condition of the same number");

/// One block per tile.
/// @tparam Tile how the block holds it: tile_arrangement's vectors, or its values where rows are
///   not 16-byte aligned
template <class Format, int Threads, class Tile, class Space>
__global__ void __launch_bounds__(Threads, min_decompress_blocks<Threads, Tile>)
    decompress_kernel(decompress_params<Format, Space> const params) {
  using decoder_type = block_decoder<Format, Threads>;
  __shared__ typename decoder_type::temp_storage storage;
  thread_group<Threads> const group;
  decoder_type decoder(storage, group);

  auto const at              = params.grid.at(blockIdx.x);
  tile_descriptor descriptor = params.directory[blockIdx.x];
  located_chunk const chunk  = params.space.locate(descriptor);
  if (chunk.condition != device_condition::none) {
    descriptor = tile_descriptor{encoding::lost, 1, 0, 0};  // reads as NaN
  }
  decoder.open(decoder.fetch(descriptor, chunk.address, at.valid_rows, at.valid_cols));
  group.sync();
  Tile tile;
  tile_condition const condition = decoder.decode(tile);
  decoder_type::arrangement::store(
      group,
      tile,
      {tile_corner<Format>(params.target, params.ld, at), params.ld, at.valid_rows, at.valid_cols});
  if (condition != tile_condition::good && group.rank() == 0) {
    params.space.raise(chunk.condition != device_condition::none
                           ? chunk.condition
                           : static_cast<device_condition>(condition));
  }
}

/// The kernel over any address space. The arguments are checked.
template <class Tuning, class Format, class Space>
status launch_decompress(tile_descriptor const* directory,
                         Space const& space,
                         matrix_view<typename Format::element> target,
                         cudaStream_t stream) {
  constexpr bool is_default = std::is_void_v<Tuning>;
  using of_vectors = std::conditional_t<is_default, default_tuning<Format>, Tuning>;
  using of_values  = std::conditional_t<is_default, value_tuning<Format>, Tuning>;
  using vectors    = typename tile_arrangement<Format, of_vectors::threads>::vectors;
  using values     = typename tile_arrangement<Format, of_values::threads>::values;
  auto const tiles = static_cast<std::uint32_t>(num_tiles<Format>(target.rows, target.cols));
  if (tiles == 0) return {};
  decompress_params<Format, Space> const params{
      target.data, target.ld, {target.rows, target.cols}, directory, space};
  if (has_vector_rows<typename Format::element>(target)) {
    auto* const kernel = decompress_kernel<Format, of_vectors::threads, vectors, Space>;
    return launch(kernel, tiles, of_vectors::threads, params, stream);
  }
  auto* const kernel = decompress_kernel<Format, of_values::threads, values, Space>;
  return launch(kernel, tiles, of_values::threads, params, stream);
}

}  // namespace detail

// -------------------------------------------------------------------------------------------------
// Launchers
// -------------------------------------------------------------------------------------------------

/// Restores a matrix on the device, bit for bit.
///
/// Shapes: source rows x cols; target of the same shape.
/// Alignment: target to its element (a base and a leading dimension that make every row 16-byte
///   aligned take the faster path); source see device_tensor_view.
/// Aliasing: source and target do not overlap.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, unsupported or cuda_error before anything is written. A tile that is
///   lost or corrupt reads as NaN and raises the state's condition for it.
/// Guarantee: nothing is read outside directory, state and payload, or written outside the target's
///   values.
/// Traffic: 8 bytes per tile and the chunks once; the matrix once.
/// @tparam Op identity
/// @tparam Tuning a tile_tuning, or void for the default
template <class Op = identity, class Tuning = void, class Format>
status decompress(device_tensor_view<Format> source,
                  matrix_view<typename Format::element> target,
                  cudaStream_t stream) {
  static_assert(detail::is_identity<Op>,
                "bitsparse: decompress takes no other op than identity yet");
  if (status const checked = detail::check_device_operands<Format>(source, target); !checked.ok()) {
    return checked;
  }
  return detail::launch_decompress<Tuning, Format>(
      source.directory, detail::buffer_space{source}, target, stream);
}

}  // namespace v0
}  // namespace bitsparse
