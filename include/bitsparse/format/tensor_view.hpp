// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: non-owning views of a compressed tensor that lies in one plain buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/format/tile_descriptor.hpp>
#include <bitsparse/format/tile_format.hpp>

namespace bitsparse {
inline namespace v0 {

/// A compressed tensor that may be written.
///
/// Shapes: directory (num_tiles<Format>(rows, cols),), row-major in tiles; payload
///   (payload_bytes,). Units: payload_bytes is a capacity in bytes; max_payload_bytes<Format>(rows,
///   cols) always suffices. Alignment: directory 8 bytes, payload 16 bytes. Aliasing: the two do
///   not overlap each other or a dense operand.
template <class Format>
struct compressed_view {
  std::uint64_t rows          = 0;
  std::uint64_t cols          = 0;
  tile_descriptor* directory  = nullptr;
  std::byte* payload          = nullptr;
  std::uint64_t payload_bytes = 0;
};

/// A compressed tensor that is only read; see compressed_view.
template <class Format>
struct const_compressed_view {
  std::uint64_t rows               = 0;
  std::uint64_t cols               = 0;
  tile_descriptor const* directory = nullptr;
  std::byte const* payload         = nullptr;
  std::uint64_t payload_bytes      = 0;

  constexpr const_compressed_view() = default;
  constexpr const_compressed_view(std::uint64_t num_rows,
                                  std::uint64_t num_cols,
                                  tile_descriptor const* descriptors,
                                  std::byte const* chunks,
                                  std::uint64_t chunk_bytes)
      : rows(num_rows),
        cols(num_cols),
        directory(descriptors),
        payload(chunks),
        payload_bytes(chunk_bytes) {}
  constexpr const_compressed_view(
      compressed_view<Format> const& view)  // NOLINT(google-explicit-constructor)
      : const_compressed_view(
            view.rows, view.cols, view.directory, view.payload, view.payload_bytes) {}
};

static_assert(std::is_trivially_copyable_v<compressed_view<default_format<bf16>>>);
static_assert(std::is_trivially_copyable_v<const_compressed_view<default_format<bf16>>>);

}  // namespace v0
}  // namespace bitsparse
