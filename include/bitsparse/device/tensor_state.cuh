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
  none                 = 0,
  lost_tile_read       = 1,  // decompress: a lost tile was read, as NaN
  unsupported_encoding = 2,  // decompress: an encoding without a device decoder was read, as NaN
  corrupt_tile         = 4,  // decompress: a descriptor or chunk that no encoder writes was read
  capacity_exceeded    = 8,  // compress: chunks found no room, their tiles are lost
};

/// The device-resident state of a tensor. All zero is the state of a new one.
struct alignas(64) tensor_state {
  unsigned long long cursor_units;  // taken by the last compress, whether it fitted or not
  unsigned long long needed_units;  // the largest capacity that a compress lacked; 0 if none did
  std::uint32_t conditions;         // device_condition bits
  float skip_step;  // 1 once a condition is raised, else 0: like a gradient scaler's found_inf
};

static_assert(std::is_trivially_copyable_v<tensor_state> && sizeof(tensor_state) == 64);

/// A compressed tensor in a plain device buffer: its one slab.
///
/// Shapes, Units, Alignment, Aliasing: see compressed_view; the pointers are device memory.
/// Alignment: state 64 bytes. It is zeroed before its first use: clear() or cudaMemset.
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

/// The host checks of an operation on a tensor and a dense matrix.
template <class Format>
status check_device_operands(device_tensor_view<Format> const& tensor,
                             const_matrix_view<typename Format::element> matrix) {
  if (tensor.state == nullptr)
    return {status_code::invalid_argument, "compressed tensor: the state is null"};
  if (!is_aligned(tensor.state, alignof(tensor_state))) {
    return {status_code::invalid_argument,
            "compressed tensor: the state is not aligned to 64 bytes"};
  }
  if (status const checked = check_operands(tensor.compressed(), matrix); !checked.ok())
    return checked;
  if (num_tiles<Format>(tensor.rows, tensor.cols) > 0x7fffffffu) {
    return {status_code::unsupported,
            "compressed tensor: it has more than 2^31 - 1 tiles; split it by rows"};
  }
  return {};
}

// ---------------------------------------------------------------------------------------------------------------------
// The tensor's address space
// ---------------------------------------------------------------------------------------------------------------------

/// A plain buffer as an address space of one slab. reserve() is the one place where payload is
/// taken.
struct buffer_space {
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  std::byte* payload;
  std::uint64_t capacity_units;
  tensor_state* state;

#if defined(__CUDACC__)
  /// Takes units, or answers none and raises the status if they do not fit. Threads: one per chunk.
  __device__ __forceinline__ std::uint64_t reserve(std::uint32_t units) const {
    unsigned long long const offset =
        atomicAdd(&state->cursor_units, static_cast<unsigned long long>(units));
    if (offset + units <= capacity_units) return offset;
    atomicMax(&state->needed_units, offset + units);
    raise(device_condition::capacity_exceeded);
    return none;
  }
  /// Whether a chunk lies inside.
  __device__ __forceinline__ bool contains(std::uint64_t offset, std::uint32_t units) const {
    return offset + units <= capacity_units;
  }
  __device__ __forceinline__ std::byte* address(std::uint64_t offset) const {
    return payload + offset * unit_bytes;
  }
  __device__ __forceinline__ void raise(device_condition condition) const {
    atomicOr(&state->conditions, static_cast<std::uint32_t>(condition));
    state->skip_step = 1.0f;
  }
  /// Empties the payload. Threads: one.
  __device__ __forceinline__ void reset() const {
    state->cursor_units = 0;
  }
#endif
};

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
