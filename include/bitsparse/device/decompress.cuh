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
#include <bitsparse/device/backward.cuh>
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
struct decompress_params {
  Operands operands;
  tile_grid<Format> grid;            // of the rows that are wanted
  tile_descriptor const* directory;  // of the first of them
  Space space;
};

static_assert(static_cast<int>(tile_condition::lost) ==
                      static_cast<int>(device_condition::lost_tile_read) &&
                  static_cast<int>(tile_condition::corrupt) ==
                      static_cast<int>(device_condition::corrupt_tile),
              "bitsparse: a tile's condition is raised as the device condition of the same number");

/// Registers of a thread (docs/tuning.md).
template <class Format, class Space, class Op, class First, class Gradient, class Second>
constexpr int decompress_registers() {
  constexpr bool has_op = !backward_pass<Format, 128, Op, First, Gradient, Second>::is_plain_copy;
  // With 56 registers the one of an arena, without an op, spills on sm_90.
  constexpr bool is_arena_copy = Space::leading_blocks != 0 && !has_op;
  return has_op && sizeof(typename Format::bits_type) == 1 ? 80 : is_arena_copy ? 64 : 56;
}

/// One block per tile.
/// @tparam Tile how the block holds it: tile_arrangement's vectors, or its values where rows are
///   not 16-byte aligned
template <class Format,
          int Threads,
          class Tile,
          class Space,
          class Op,
          class First,
          class Gradient,
          class Second>
__global__ void __launch_bounds__(
    Threads,
    min_decompress_blocks<Threads,
                          Tile,
                          decompress_registers<Format, Space, Op, First, Gradient, Second>()>)
    decompress_kernel(
        decompress_params<Format, Space, decompress_operands<First, Gradient, Second>> const
            params) {
  using decoder_type = block_decoder<Format, Threads>;
  using pass         = backward_pass<Format, Threads, Op, First, Gradient, Second>;
  __shared__ union {
    typename decoder_type::temp_storage decoder;
    typename pass::temp_storage pass;
  } storage;
  allow_next_kernel();  // which may be the release that ends consume()
  wait_for_previous_kernel();
  thread_group<Threads> const group;
  decoder_type decoder(storage.decoder, group);

  std::uint32_t const number = block_number<!pass::is_plain_copy>();
  auto const at              = params.grid.at(number);
  tile_descriptor descriptor = params.directory[number];
  std::uint32_t const rows   = pass::wanted_rows(params.operands, at);
  if (rows == 0) return;
  pass::prefetch(group, params.operands, at, rows);
  located_chunk const chunk = params.space.locate(descriptor);
  if (chunk.condition != device_condition::none) {
    descriptor = tile_descriptor{encoding::lost, 1, 0, 0};  // reads as NaN
  }
  decoder.open(decoder.fetch(descriptor, chunk.address, at.valid_rows, at.valid_cols));
  group.sync();
  Tile tile;
  tile_condition const condition = decoder.decode(tile);
  float const scale = is_scaled<typename Format::element> ? params.space.scale() : 1.0f;
  pass::store(group,
              tile,
              condition == tile_condition::good,
              scale,
              params.operands,
              at,
              rows,
              storage.pass);
  if (condition != tile_condition::good && group.rank() == 0) {
    params.space.raise(chunk.condition != device_condition::none
                           ? chunk.condition
                           : static_cast<device_condition>(condition));
  }
}

/// The kernel over any address space. The arguments are checked.
/// @param rows, cols what is wanted
/// @param has_runs whether the dense operands allow the vector arrangement
template <class Op,
          class Tuning,
          class Format,
          class Space,
          class First,
          class Gradient,
          class Second>
status launch_decompress(tile_descriptor const* directory,
                         Space const& space,
                         decompress_operands<First, Gradient, Second> const& operands,
                         std::uint64_t rows,
                         std::uint64_t cols,
                         bool has_runs,
                         cudaStream_t stream) {
  constexpr bool is_default = std::is_void_v<Tuning>;
  constexpr bool has_op = !backward_pass<Format, 128, Op, First, Gradient, Second>::is_plain_copy;
  using quickest        = std::conditional_t<has_op, op_tuning<Format>, default_tuning<Format>>;
  using of_vectors      = std::conditional_t<is_default, quickest, Tuning>;
  using of_values       = std::conditional_t<is_default, value_tuning<Format>, Tuning>;
  using vectors         = typename tile_arrangement<Format, of_vectors::threads>::vectors;
  using values          = typename tile_arrangement<Format, of_values::threads>::values;
  auto const tiles      = static_cast<std::uint32_t>(num_tiles<Format>(rows, cols));
  if (tiles == 0) return {};
  std::uint64_t const tile_cols = ceil_div<std::uint64_t>(cols, Format::cols);
  decompress_params<Format, Space, decompress_operands<First, Gradient, Second>> const params{
      operands, {rows, cols}, directory + operands.first_row / Format::rows * tile_cols, space};
  constexpr int registers = decompress_registers<Format, Space, Op, First, Gradient, Second>();
  auto const run          = [&](auto* kernel, int num_threads, int num_blocks) {
    launch_order order;
    status const loaded = load(kernel, order, num_blocks);
    return loaded.ok() ? launch(kernel, tiles, num_threads, params, stream, order) : loaded;
  };
  return has_runs ? run(decompress_kernel<Format,
                                          of_vectors::threads,
                                          vectors,
                                          Space,
                                          Op,
                                          First,
                                          Gradient,
                                          Second>,
                        of_vectors::threads,
                        min_decompress_blocks<of_vectors::threads, vectors, registers>)
                  : run(decompress_kernel<Format,
                                          of_values::threads,
                                          values,
                                          Space,
                                          Op,
                                          First,
                                          Gradient,
                                          Second>,
                        of_values::threads,
                        min_decompress_blocks<of_values::threads, values, registers>);
}

/// Checks the operands against a checked tensor, whose memory \p space is, and launches.
template <class Op,
          class Tuning,
          template <class>
          class View,
          class Format,
          class Space,
          class First,
          class Gradient,
          class Second>
status check_and_decompress(View<Format> const& source,
                            Space const& space,
                            decompress_operands<First, Gradient, Second> const& operands,
                            cudaStream_t stream) {
  operand_spans spans;
  std::uint64_t num_rows = 0;
  if (status const checked =
          check_dense<Format, Op>(operands, source.rows, source.cols, num_rows, spans);
      !checked.ok())
    return checked;
  if (overlaps_tensor(source, spans)) {
    return {status_code::invalid_argument, tensor_overlap_text};
  }
  return launch_decompress<Op, Tuning, Format>(
      source.directory, space, operands, num_rows, source.cols, spans.has_runs, stream);
}

}  // namespace detail

// -------------------------------------------------------------------------------------------------
// Launchers
// -------------------------------------------------------------------------------------------------

/// Restores a matrix on the device, or a range of its rows, and applies an op to it.
///
/// Shapes, Alignment, Aliasing, Units: see decompress_operands and device_tensor_view. The tensor's
///   memory overlaps no dense operand.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable. A kernel that is
///   launched behind it with programmatic stream serialization starts meanwhile, and has to wait for it
///   (cudaGridDependencySynchronize) before it uses the results.
/// Errors: invalid_argument, unsupported or cuda_error before anything is written. A tile that is
///   lost or corrupt is NaN in every result, whatever the op, and raises the state's condition for it.
/// Guarantee: the results equal, bit for bit, what a kernel computes that applies the op to the dense
///   matrix. Nothing is read outside directory, state, payload, gradient and factors, or written
///   outside the results' values.
/// Traffic: 8 bytes per tile, the chunks once; the gradient once; each result once.
/// @tparam Op see op.cuh
/// @tparam Tuning a tile_tuning, or void for the default
template <class Op, class Tuning = void, class First, class Gradient, class Second, class Format>
status decompress(device_tensor_view<Format> source,
                  decompress_operands<First, Gradient, Second> const& operands,
                  cudaStream_t stream) {
  if (status const checked = detail::check_device_tensor(source); !checked.ok()) return checked;
  return detail::check_and_decompress<Op, Tuning>(
      source, detail::buffer_space{source}, operands, stream);
}

/// Restores a matrix of the tensor's element, bit for bit: decompress with the target alone.
/// @tparam Op identity, or an op with one result and no gradient
template <class Op = identity, class Tuning = void, class Format>
status decompress(device_tensor_view<Format> source,
                  matrix_view<typename Format::element> target,
                  cudaStream_t stream) {
  decompress_operands<typename Format::element> operands;
  operands.first = target;
  if (target.rows != source.rows) {
    return {status_code::invalid_argument, detail::target_shape_text};
  }
  return decompress<Op, Tuning>(source, operands, stream);
}

}  // namespace v0
}  // namespace bitsparse
