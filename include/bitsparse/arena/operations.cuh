// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: compress, decompress and release of tensors in an arena. None of them allocates, frees
/// or synchronises.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>

#include <bitsparse/arena/arena_space.cuh>
#include <bitsparse/arena/arena_tensor.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/launch.cuh>
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>
#include <bitsparse/format/check.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// The host checks of a tensor in an arena.
template <class Format>
status check_arena_tensor(arena_tensor_view<Format> const& tensor) {
  constexpr auto invalid = status_code::invalid_argument;
  if (tensor.state == nullptr || !is_aligned(tensor.state, alignof(arena_tensor_state))) {
    return {invalid, "arena tensor: the state is null or not aligned to 64 bytes"};
  }
  if (tensor.arena.state == nullptr || tensor.arena.ring == nullptr) {
    return {invalid, "arena tensor: its arena has no memory; make the tensor from an arena's view"};
  }
  std::uint64_t const tiles = num_tiles<Format>(tensor.rows, tensor.cols);
  if (tiles >= size_overflow - tensor.map_slabs || tiles + tensor.map_slabs >= std::uint64_t{1}
                                                                                   << 28) {
    return {status_code::unsupported,
            "arena tensor: it has 2^28 tiles and slabs or more; split it by rows"};
  }
  if (tiles != 0 &&
      (tensor.directory == nullptr || tensor.slab_map == nullptr || tensor.moves == nullptr)) {
    return {invalid, "arena tensor: the directory, the slab map or the list of moves is null"};
  }
  if (tensor.map_slabs < map_slabs<Format>(tensor.rows, tensor.cols, tensor.arena.slab_bytes())) {
    return {invalid, "arena tensor: the slab map is shorter than its shape can need"};
  }
  if (std::uint64_t{tensor.map_slabs} << tensor.arena.slab_shift > max_tensor_units) {
    return {status_code::unsupported,
            "arena tensor: its slabs can make up more than 512 GiB; split it by rows"};
  }
  return {};
}

/// Whether a dense operand shares memory with the tensor's metadata or the arena.
template <class Format>
bool overlaps_tensor(arena_tensor_view<Format> const& tensor, operand_spans const& dense) {
  arena_view const& arena = tensor.arena;
  return dense.any_overlap(tensor.state, sizeof(arena_tensor_state)) ||
         dense.any_overlap(tensor.directory, directory_bytes<Format>(tensor.rows, tensor.cols)) ||
         dense.any_overlap(tensor.slab_map, tensor.map_slabs * sizeof(std::uint32_t)) ||
         dense.any_overlap(tensor.moves, tensor.map_slabs * sizeof(slab_move)) ||
         dense.any_overlap(arena.state, sizeof(arena_state)) ||
         dense.any_overlap(arena.ring,
                           sizeof(arena.ring[0]) *
                               (std::uint64_t{arena_view::ring_places(arena.num_device_slabs)} +
                                arena_view::ring_places(arena.num_host_slabs))) ||
         dense.any_overlap(arena.device_slabs, arena.num_device_slabs * arena.slab_bytes()) ||
         dense.any_overlap(arena.host_slabs, arena.num_host_slabs * arena.slab_bytes());
}

/// One block. Raises not_full for a tensor that holds nothing.
template <class Space>
__global__ void __launch_bounds__(Space::prologue_threads) release_kernel(Space const space) {
  wait_for_previous_kernel();
  if (threadIdx.x == 0 && !space.is_full()) space.raise(device_condition::not_full);
  space.empty(tensor_phase::empty);
}

template <class Format>
status launch_release(arena_tensor_view<Format> const& tensor, cudaStream_t stream) {
  using space        = arena_space;
  auto* const kernel = release_kernel<space>;
  launch_order order;
  if (status const loaded = load(kernel, order); !loaded.ok()) return loaded;
  return launch(kernel, 1, space::prologue_threads, space{tensor}, stream, order);
}

}  // namespace detail

/// Applies an op to a matrix and compresses the result into slabs of the tensor's arena, losslessly.
/// Slabs that the tensor still holds are given back first.
///
/// Shapes, Alignment, Aliasing, Units, Guarantee, Traffic: as compress into a device_tensor_view.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable. The tensor is
///   not used by another stream meanwhile.
/// Errors: invalid_argument, also for a Tuning whose tiles per block can fill more than a slab,
///   unsupported or cuda_error before anything is written, unless a launch itself fails: then the
///   tensor holds nothing. When device slabs run out, host slabs follow; when those do too, tiles are
///   `lost` and the arena gets the condition capacity_exceeded and the slabs that would have sufficed:
///   see report().
template <class Codec, class Op, class Tuning = void, class Source, class Emitted, class Format>
status compress(compress_operands<Source, Emitted> const& operands,
                arena_tensor_view<Format> target,
                cudaStream_t stream) {
  if (status const checked = detail::check_arena_tensor(target); !checked.ok()) return checked;
  return detail::check_and_compress<Codec, Op, Tuning>(
      operands, target, detail::arena_space{target}, stream);
}

/// Compresses a matrix of the tensor's element, losslessly, bit for bit: compress with the source
/// alone.
/// @tparam Op identity, or an op of which only the stored result is wanted
template <class Codec, class Op = identity, class Tuning = void, class Format>
status compress(const_matrix_view<typename Format::element> source,
                arena_tensor_view<Format> target,
                cudaStream_t stream) {
  compress_operands<typename Format::element> operands;
  operands.source = source;
  return compress<Codec, Op, Tuning>(operands, target, stream);
}

/// Restores a matrix, or a range of its rows, and applies an op to it; the tensor keeps its slabs.
///
/// Shapes, Alignment, Aliasing, Units, Guarantee, Traffic: as decompress from a device_tensor_view.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, unsupported or cuda_error before anything is written. A tensor that is
///   not full is NaN in every result and raises not_full.
template <class Op, class Tuning = void, class First, class Gradient, class Second, class Format>
status decompress(arena_tensor_view<Format> source,
                  decompress_operands<First, Gradient, Second> const& operands,
                  cudaStream_t stream) {
  if (status const checked = detail::check_arena_tensor(source); !checked.ok()) return checked;
  return detail::check_and_decompress<Op, Tuning>(
      source, detail::arena_space{source}, operands, stream);
}

/// Restores a matrix of the tensor's element, bit for bit: decompress with the target alone.
/// @tparam Op identity, or an op with one result and no gradient
template <class Op = identity, class Tuning = void, class Format>
status decompress(arena_tensor_view<Format> source,
                  matrix_view<typename Format::element> target,
                  cudaStream_t stream) {
  decompress_operands<typename Format::element> operands;
  operands.first = target;
  if (target.rows != source.rows) {
    return {status_code::invalid_argument, detail::target_shape_text};
  }
  return decompress<Op, Tuning>(source, operands, stream);
}

/// Gives a tensor's slabs back to the arena: in any order, from any stream that comes after the
/// tensor's last reader. Releasing a tensor that is not full raises not_full.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, unsupported, cuda_error.
template <class Format>
status release(arena_tensor_view<Format> tensor, cudaStream_t stream) {
  if (status const checked = detail::check_arena_tensor(tensor); !checked.ok()) return checked;
  return detail::launch_release(tensor, stream);
}

/// decompress of the whole tensor, then release: for the tensor's one reader.
/// Errors: as decompress; invalid_argument for a range of the rows.
template <class Op, class Tuning = void, class First, class Gradient, class Second, class Format>
status consume(arena_tensor_view<Format> source,
               decompress_operands<First, Gradient, Second> const& operands,
               cudaStream_t stream) {
  if (detail::wanted_rows(operands) != source.rows) {
    return {status_code::invalid_argument,
            "consume: only whole tensors are consumed; decompress the row ranges, then release"};
  }
  status const restored = decompress<Op, Tuning>(source, operands, stream);
  return restored.ok() ? detail::launch_release(source, stream) : restored;
}

/// decompress into a matrix of the tensor's element, then release.
/// Errors: as decompress.
/// @tparam Op identity, or an op with one result and no gradient
template <class Op = identity, class Tuning = void, class Format>
status consume(arena_tensor_view<Format> source,
               matrix_view<typename Format::element> target,
               cudaStream_t stream) {
  status const restored = decompress<Op, Tuning>(source, target, stream);
  return restored.ok() ? detail::launch_release(source, stream) : restored;
}

}  // namespace v0
}  // namespace bitsparse
