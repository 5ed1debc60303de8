// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: what a compressed tensor in a plain device buffer knows about itself on the device: how
/// much of its payload is taken and whether anything went wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>
#include <bitsparse/device/operands.cuh>
#include <bitsparse/format/check.hpp>
#include <bitsparse/format/size.hpp>
#include <bitsparse/format/tensor_view.hpp>
#include <bitsparse/format/tile_format.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

/// What can go wrong on the device, as bits. They are sticky: operations add them, clear() removes
/// them.
enum class device_condition : std::uint32_t {
  none              = 0,
  lost_tile_read    = 1,  // decompress: a lost tile was read, as NaN
  corrupt_tile      = 4,  // decompress: a descriptor or chunk that no encoder writes was read
  capacity_exceeded = 8,  // compress: chunks found no room, their tiles are lost
  not_full = 16,  // arena: a tensor that holds nothing was decompressed, as NaN, or released
};

/// The device-resident state of a tensor. All zero is the state of a new one.
struct alignas(64) tensor_state {
  unsigned long long cursor_units;  // taken by the last compress, whether it fitted or not
  unsigned long long needed_units;  // the largest capacity that a compress lacked; 0 if none did
  std::uint32_t conditions;         // device_condition bits
  float skip_step;  // 1 once a condition is raised, else 0: like a gradient scaler's found_inf
  float scale;      // what the stored values were multiplied with, of 8-bit floats; 0 counts as 1
};

static_assert(std::is_trivially_copyable_v<tensor_state> && sizeof(tensor_state) == 64);

/// A compressed tensor in a plain device buffer: its one slab.
///
/// Shapes, Units, Alignment, Aliasing: see compressed_view; the pointers are device memory.
/// Alignment: state 64 bytes. The user zeroes it, with cudaMemset, before its first use.
template <class Format>
struct device_tensor_view {
  std::uint64_t rows          = 0;
  std::uint64_t cols          = 0;
  tile_descriptor* directory  = nullptr;
  std::byte* payload          = nullptr;
  std::uint64_t payload_bytes = 0;
  tensor_state* state         = nullptr;

  constexpr const_compressed_view<Format> compressed() const {
    return {rows, cols, directory, payload, payload_bytes};
  }
};

static_assert(std::is_trivially_copyable_v<device_tensor_view<default_format<bf16>>>);

/// Bytes of one block of device memory for a tensor: state, directory and payload. size_overflow if
/// that does not fit.
template <class Format>
constexpr std::uint64_t device_tensor_bytes(std::uint64_t rows,
                                            std::uint64_t cols,
                                            std::uint64_t payload_bytes) {
  std::uint64_t const tiles = num_tiles<Format>(rows, cols);
  std::uint64_t const directory =
      tiles == size_overflow ? size_overflow
                             : detail::checked_mul(tiles + tiles % 2, sizeof(tile_descriptor));
  return detail::checked_add(detail::checked_add(sizeof(tensor_state), directory), payload_bytes);
}

/// Cuts a block of device memory of device_tensor_bytes<Format>(rows, cols, payload_bytes) into a
/// tensor.
///
/// Alignment: memory 64 bytes (cudaMalloc gives 256); payload_bytes a multiple of 16.
/// Errors: none are reported here: compress and decompress check the view that they are given.
template <class Format>
constexpr device_tensor_view<Format> make_device_tensor(void* memory,
                                                        std::uint64_t rows,
                                                        std::uint64_t cols,
                                                        std::uint64_t payload_bytes) {
  auto* const bytes         = static_cast<std::byte*>(memory);
  std::uint64_t const tiles = num_tiles<Format>(rows, cols);
  auto* const directory     = bytes + sizeof(tensor_state);
  return {rows,
          cols,
          static_cast<tile_descriptor*>(static_cast<void*>(directory)),
          directory + (tiles + tiles % 2) * sizeof(tile_descriptor),
          payload_bytes,
          static_cast<tensor_state*>(memory)};
}

namespace detail {

/// The host checks of a tensor.
template <class Format>
status check_device_tensor(device_tensor_view<Format> const& tensor) {
  if (tensor.state == nullptr)
    return {status_code::invalid_argument,
            "compressed tensor: the state is null; make_device_tensor() says where it lies"};
  if (!is_aligned(tensor.state, alignof(tensor_state))) {
    return {status_code::invalid_argument,
            "compressed tensor: the state is not aligned to 64 bytes, as memory of cudaMalloc is"};
  }
  if (overlaps(tensor.state, sizeof(tensor_state), tensor.payload, tensor.payload_bytes) ||
      overlaps(tensor.state,
               sizeof(tensor_state),
               tensor.directory,
               directory_bytes<Format>(tensor.rows, tensor.cols))) {
    return {status_code::invalid_argument,
            "compressed tensor: the state overlaps its payload or its directory"};
  }
  if (status const checked = check_tensor(tensor.compressed()); !checked.ok()) return checked;
  if (num_tiles<Format>(tensor.rows, tensor.cols) > 0x7fffffffu) {
    return {status_code::unsupported,
            "compressed tensor: it has more than 2^31 - 1 tiles; split it by rows"};
  }
  return {};
}

/// Whether a dense operand shares memory with the tensor.
template <class Format>
bool overlaps_tensor(device_tensor_view<Format> const& tensor, operand_spans const& dense) {
  return dense.any_overlap(tensor.state, sizeof(tensor_state)) ||
         dense.any_overlap(tensor.payload, tensor.payload_bytes) ||
         dense.any_overlap(tensor.directory, directory_bytes<Format>(tensor.rows, tensor.cols));
}

// -------------------------------------------------------------------------------------------------
// The tensor's address space
// -------------------------------------------------------------------------------------------------

/// Where a reservation lies. chunk is null if there was no room, or nothing was asked for.
struct reservation {
  std::uint64_t offset_units;
  std::byte* chunk;
};

/// Where a chunk lies that is to be read, or why it cannot be.
struct located_chunk {
  std::byte const* address;
  device_condition condition;
};

/// A plain buffer as an address space of one slab. reserve() is the one place where payload is
/// taken.
struct buffer_space {
  static constexpr int leading_blocks   = 0;
  static constexpr int prologue_threads = 32;

  std::byte* payload;
  std::uint64_t capacity_units;
  tensor_state* state;

  template <class Format>
  explicit buffer_space(device_tensor_view<Format> const& tensor)
      : payload(tensor.payload),
        capacity_units(tensor.payload_bytes / unit_bytes),
        state(tensor.state) {}

  /// Whether so many units may be reserved at once.
  constexpr bool admits(std::uint32_t /*units*/) const { return true; }

#if defined(__CUDACC__)
  /// Empties the payload. Threads: the prologue's.
  /// @param scale what the values to come are multiplied with
  __device__ __forceinline__ void reset(float scale) const {
    if (threadIdx.x != 0) return;
    state->cursor_units = 0;
    state->scale        = scale;
  }
  __device__ __forceinline__ float scale() const {
    return state->scale;
  }
  /// Takes units in a row for the chunks of some tiles, possibly none. find() is to follow for all of
  /// them, or settle() and resolve() for each chunk. Threads: one per block.
  /// @return where they begin: see first_unit()
  __device__ __forceinline__ unsigned long long reserve(std::uint32_t units,
                                                        std::uint32_t /*tiles*/) const {
    return units == 0 ? 0 : atomicAdd(&state->cursor_units, static_cast<unsigned long long>(units));
  }
  __device__ __forceinline__ static unsigned long long first_unit(unsigned long long reserved) {
    return reserved;
  }
  /// Says where so many reserved units lie, if they all do. Threads: any.
  __device__ __forceinline__ bool find(unsigned long long first,
                                       std::uint32_t units,
                                       reservation& run) const {
    run = {first, payload + first * unit_bytes};
    return first + units <= capacity_units;
  }
  /// Where a chunk begins that was reserved at \p first, or past the end with capacity_exceeded
  /// raised. Threads: one per tile that has a chunk.
  __device__ __forceinline__ unsigned long long settle(unsigned long long first,
                                                       std::uint32_t units,
                                                       unsigned long long& /*end*/) const {
    if (first + units <= capacity_units) return first;
    atomicMax(&state->needed_units, first + units);
    raise(device_condition::capacity_exceeded);
    return capacity_units;
  }
  /// Says where a settled chunk lies. Threads: one per tile that has a chunk.
  __device__ __forceinline__ reservation resolve(unsigned long long first) const {
    return {first, first < capacity_units ? payload + first * unit_bytes : nullptr};
  }
  /// What finish() is to be called with at the block's end, if at all: never.
  __device__ __forceinline__ unsigned long long end_of(unsigned long long /*reserved*/,
                                                       std::uint32_t /*units*/,
                                                       std::uint32_t /*tiles*/) const {
    return 0;
  }
  __device__ __forceinline__ static void finish(buffer_space const& /*space*/,
                                                unsigned long long /*end*/) {}
  /// Finds a tile's chunk. Threads: any.
  __device__ __forceinline__ located_chunk locate(tile_descriptor descriptor) const {
    bool const lies_inside = descriptor.offset_units() + descriptor.chunk_units() <= capacity_units;
    return {payload + descriptor.offset_units() * unit_bytes,
            lies_inside ? device_condition::none : device_condition::corrupt_tile};
  }
  __device__ __forceinline__ void raise(device_condition condition) const {
    atomicOr(&state->conditions, static_cast<std::uint32_t>(condition));
    state->skip_step = 1.0f;
  }
#endif
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
