// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: a compressed tensor whose chunks lie in an arena: metadata at fixed addresses, and the
/// address space that its slabs make up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/arena/arena_view.cuh>
#include <bitsparse/arena/planner.hpp>
#include <bitsparse/config.hpp>
#include <bitsparse/device/tensor_state.cuh>
#include <bitsparse/format/size.hpp>
#include <bitsparse/format/tile_descriptor.hpp>

namespace bitsparse {
inline namespace v0 {

/// What a tensor holds. release() and reset() make it empty, compress writing and then full.
enum class tensor_phase : std::uint32_t { empty = 0, writing = 1, full = 2 };

/// The device-resident state of a tensor in an arena. All zero is the state of a new one.
struct alignas(64) arena_tensor_state {
  // Units in the low 36 bits; in the high 28 tiles that have reserved, and slabs begun.
  unsigned long long cursor;
  tensor_phase phase;
  std::uint32_t epoch;      // the arena's, when it was filled
  float scale;              // what the stored values were multiplied with, of 8-bit floats
  std::uint32_t num_moves;  // slabs that offload() or prefetch() moves
  std::uint32_t done;       // blocks of theirs that have ended
};

static_assert(std::is_trivially_copyable_v<arena_tensor_state>);

/// A slab on its way: of the tensor's own address space, and of the arena.
struct slab_move {
  std::uint32_t index;
  std::uint32_t target;
};

/// A compressed tensor in an arena. Its addresses never change, so a captured graph stays valid.
///
/// Shapes: directory (num_tiles<Format>(rows, cols),), slab_map and moves (map_slabs,).
/// Alignment: state 64 bytes, directory 8, slab_map and moves 4.
template <class Format>
struct arena_tensor_view {
  std::uint64_t rows         = 0;
  std::uint64_t cols         = 0;
  tile_descriptor* directory = nullptr;
  std::uint32_t* slab_map    = nullptr;  // see arena_space
  std::uint32_t map_slabs    = 0;
  slab_move* moves           = nullptr;  // for offload() and prefetch()
  arena_tensor_state* state  = nullptr;
  arena_view arena           = {};
};

static_assert(std::is_trivially_copyable_v<arena_tensor_view<default_format<bf16>>>);

namespace detail {

template <class Format>
constexpr std::uint64_t map_slabs(std::uint64_t rows,
                                  std::uint64_t cols,
                                  std::uint64_t slab_bytes) {
  std::uint64_t const payload = max_payload_bytes<Format>(rows, cols);
  return payload == size_overflow ? size_overflow
                                  : max_slabs(payload, slab_bytes, max_chunk_bytes<Format>());
}

}  // namespace detail

/// Bytes of device memory for a tensor's metadata: state, directory, slab map and list of moves.
template <class Format>
constexpr std::uint64_t arena_tensor_bytes(std::uint64_t rows,
                                           std::uint64_t cols,
                                           std::uint64_t slab_bytes) {
  std::uint64_t const slabs = detail::map_slabs<Format>(rows, cols, slab_bytes);
  std::uint64_t const bytes = detail::checked_add(
      detail::checked_add(sizeof(arena_tensor_state), directory_bytes<Format>(rows, cols)),
      detail::checked_mul(slabs, sizeof(std::uint32_t) + sizeof(slab_move)));
  // Whole sectors: nothing else that a kernel may have read shares one with the map.
  return bytes == size_overflow ? size_overflow : detail::ceil_div<std::uint64_t>(bytes, 64) * 64;
}

/// Cuts a block of arena_tensor_bytes<Format>(rows, cols, arena.slab_bytes()) of device memory,
/// which the caller has zeroed, into a tensor. Alignment: memory 64 bytes.
template <class Format>
arena_tensor_view<Format> make_arena_tensor(void* memory,
                                            std::uint64_t rows,
                                            std::uint64_t cols,
                                            arena_view const& arena) {
  auto* const bytes             = static_cast<std::byte*>(memory);
  auto* const directory         = bytes + sizeof(arena_tensor_state);
  auto* const map               = directory + directory_bytes<Format>(rows, cols);
  std::uint64_t const map_slabs = detail::map_slabs<Format>(rows, cols, arena.slab_bytes());
  return {rows,
          cols,
          reinterpret_cast<tile_descriptor*>(directory),
          reinterpret_cast<std::uint32_t*>(map),
          static_cast<std::uint32_t>(map_slabs),
          reinterpret_cast<slab_move*>(map + map_slabs * sizeof(std::uint32_t)),
          static_cast<arena_tensor_state*>(memory),
          arena};
}

}  // namespace v0
}  // namespace bitsparse
