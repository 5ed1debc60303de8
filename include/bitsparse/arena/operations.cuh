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
  if (tiles >= std::uint64_t{1} << 28) {
    return {status_code::unsupported, "arena tensor: it has 2^28 tiles or more; split it by rows"};
  }
  if (tiles != 0 && (tensor.directory == nullptr || tensor.slab_map == nullptr)) {
    return {invalid, "arena tensor: the directory or the slab map is null"};
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

template <class Format>
status check_arena_operands(arena_tensor_view<Format> const& tensor,
                            const_matrix_view<typename Format::element> matrix) {
  if (status const checked = check_arena_tensor(tensor); !checked.ok()) return checked;
  const_compressed_view<Format> const metadata{
      tensor.rows, tensor.cols, tensor.directory, nullptr, 0};
  return check_operands(metadata, matrix);
}

/// One block. Raises not_full for a tensor that holds nothing.
template <class Space>
__global__ void release_kernel(Space const space) {
  if (threadIdx.x == 0 && !space.is_full()) space.raise(device_condition::not_full);
  space.empty(tensor_phase::empty);
}

}  // namespace detail

/// Compresses a matrix into slabs of the tensor's arena, losslessly, bit for bit. Slabs that the
/// tensor still holds are given back first.
///
/// Shapes, Alignment, Guarantee, Traffic: as compress into a device_tensor_view.
/// Aliasing: the source does not overlap the arena's slabs or the tensor's metadata.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable. The tensor is
///   not used by another stream meanwhile.
/// Errors: invalid_argument, also for a Tuning whose tiles per block can fill more than a slab,
///   unsupported or cuda_error before anything is written, unless a launch itself fails: then the
///   tensor holds nothing. When device slabs run out, host slabs follow; when those do too, tiles are
///   `lost` and the arena gets the condition capacity_exceeded and the slabs that would have sufficed:
///   see report().
template <class Codec, class Op = identity, class Tuning = void, class Format>
status compress(const_matrix_view<typename Format::element> source,
                arena_tensor_view<Format> target,
                cudaStream_t stream) {
  static_assert(detail::is_identity<Op>, "bitsparse: compress takes no other op than identity yet");
  if (status const checked = detail::check_arena_operands(target, source); !checked.ok())
    return checked;
  return detail::launch_compress<Codec, Tuning, Format>(
      source, target.directory, detail::arena_space{target}, stream);
}

/// Restores a matrix, bit for bit; the tensor keeps its slabs.
///
/// Shapes, Alignment, Guarantee, Traffic: as decompress from a device_tensor_view.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, unsupported or cuda_error before anything is written. A tensor that is
///   not full reads as NaN in every value and raises not_full.
template <class Op = identity, class Tuning = void, class Format>
status decompress(arena_tensor_view<Format> source,
                  matrix_view<typename Format::element> target,
                  cudaStream_t stream) {
  static_assert(detail::is_identity<Op>,
                "bitsparse: decompress takes no other op than identity yet");
  if (status const checked = detail::check_arena_operands<Format>(source, target); !checked.ok())
    return checked;
  return detail::launch_decompress<Tuning, Format>(
      source.directory, detail::arena_space{source}, target, stream);
}

/// Gives a tensor's slabs back to the arena: in any order, from any stream that comes after the
/// tensor's last reader. Releasing a tensor that is not full raises not_full.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: invalid_argument, unsupported, cuda_error.
template <class Format>
status release(arena_tensor_view<Format> tensor, cudaStream_t stream) {
  using space = detail::arena_space;
  if (status const checked = detail::check_arena_tensor(tensor); !checked.ok()) return checked;
  return detail::launch(
      detail::release_kernel<space>, 1, space::prologue_threads, space{tensor}, stream);
}

/// decompress, then release: for the tensor's one reader.
template <class Op = identity, class Tuning = void, class Format>
status consume(arena_tensor_view<Format> source,
               matrix_view<typename Format::element> target,
               cudaStream_t stream) {
  status const restored = decompress<Op, Tuning>(source, target, stream);
  return restored.ok() ? release(source, stream) : restored;
}

}  // namespace v0
}  // namespace bitsparse
