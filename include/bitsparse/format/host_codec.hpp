// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 0: compress and decompress on the host: the twin of the device operations and the backend
/// without a GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bitsparse/format/check.hpp>
#include <bitsparse/format/host_tile_decoder.hpp>
#include <bitsparse/format/host_tile_encoder.hpp>
#include <bitsparse/format/matrix_view.hpp>
#include <bitsparse/format/size.hpp>
#include <bitsparse/format/tensor_view.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// Calls visit(tile, first_row, first_col, valid_rows, valid_cols) for every tile in directory
/// order, until it returns false.
template <class Format, class Visit>
inline void for_each_tile(std::uint64_t rows, std::uint64_t cols, Visit visit) {
  if (cols == 0) return;
  std::uint64_t tile = 0;
  for (std::uint64_t row = 0; row < rows; row += Format::rows) {
    for (std::uint64_t col = 0; col < cols; col += Format::cols) {
      auto const valid_rows =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(Format::rows, rows - row));
      auto const valid_cols =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(Format::cols, cols - col));
      if (!visit(tile++, row, col, valid_rows, valid_cols)) return;
    }
  }
}

}  // namespace detail

namespace host {

/// Compresses a matrix in host memory, losslessly, bit for bit.
///
/// Shapes: source rows x cols; target of the same shape.
/// Alignment, Aliasing: see compressed_view; source and target do not overlap.
/// Layout: chunks lie in tile order without gaps from the payload's start.
/// Errors: invalid_argument and unsupported before anything is written; capacity_exceeded if the
///   payload is too small: the tiles that found no room are `lost`, all others are good, and
///   needed_bytes says what would have sufficed.
/// Guarantee: nothing is written outside the directory and the payload's first min(needed_bytes,
///   payload_bytes).
/// @param[out] needed_bytes the bytes of all chunks, whether they fitted or not
template <class Format, class Codec>
status compress(const_matrix_view<typename Format::element> source,
                compressed_view<Format> target,
                std::uint64_t& needed_bytes) {
  using bits_type = typename Format::bits_type;
  needed_bytes    = 0;
  if (status const checked = detail::check_operands<Format>(target, source); !checked.ok())
    return checked;
  std::uint64_t const capacity_units = target.payload_bytes / unit_bytes;
  std::uint64_t next_units           = 0;
  bits_type tile[Format::values];
  alignas(unit_bytes) std::byte chunk[max_chunk_bytes<Format>()];
  detail::for_each_tile<Format>(
      source.rows,
      source.cols,
      [&](std::uint64_t index,
          std::uint64_t row,
          std::uint64_t col,
          std::uint32_t rows,
          std::uint32_t cols) {
        bits_type const* const corner = source.data + row * source.ld + col;
        if (rows != Format::rows || cols != Format::cols) std::memset(tile, 0, sizeof(tile));
        detail::copy_rows<Format>(rows, cols, tile, Format::cols, corner, source.ld);
        tile_descriptor const coded = detail::encode_tile<Format, Codec>(tile, rows, cols, chunk);
        std::uint32_t const units   = coded.chunk_units();
        bool const fits             = next_units + units <= capacity_units;
        if (units == 0) {
          target.directory[index] = tile_descriptor{};
        } else if (fits) {
          std::memcpy(
              target.payload + next_units * unit_bytes, chunk, std::size_t{units} * unit_bytes);
          target.directory[index] = tile_descriptor{coded.form(), coded.kept(), units, next_units};
        } else {
          target.directory[index] = tile_descriptor{encoding::lost, coded.kept(), 0, 0};
        }
        next_units += units;
        return true;
      });
  needed_bytes = next_units * unit_bytes;
  if (next_units > capacity_units) {
    return {status_code::capacity_exceeded,
            "compressed tensor: the payload is smaller than the chunks; needed_bytes says what "
            "suffices"};
  }
  return {};
}

/// Restores a matrix in host memory, bit for bit.
///
/// Shapes: source rows x cols; target of the same shape.
/// Errors: invalid_argument and unsupported before anything is written. tile_lost: the lost tiles
///   are NaN, the rest is exact. corrupt: bytes that cannot be decoded
///   (validate() is what checks all); what was decoded before
///   stays.
/// Guarantee: nothing is read outside the source's directory and payload, or written outside the
///   target's values, whatever the source's bytes are.
template <class Format>
status decompress(const_compressed_view<Format> source,
                  matrix_view<typename Format::element> target) {
  using bits_type = typename Format::bits_type;
  if (status const checked = detail::check_operands<Format>(source, target); !checked.ok())
    return checked;
  std::uint64_t const capacity_units = source.payload_bytes / unit_bytes;
  status result;
  bits_type tile[Format::values];
  detail::for_each_tile<Format>(
      source.rows,
      source.cols,
      [&](std::uint64_t index,
          std::uint64_t row,
          std::uint64_t col,
          std::uint32_t rows,
          std::uint32_t cols) {
        tile_descriptor const coded = source.directory[index];
        if (coded.offset_units() + coded.chunk_units() > capacity_units) {
          result = {status_code::corrupt, "directory: a chunk lies outside the payload"};
          return false;
        }
        status const decoded = detail::decode_tile<Format>(
            coded, source.payload + coded.offset_units() * unit_bytes, rows, cols, tile);
        if (!decoded.ok()) result = decoded;
        if (decoded.code() == status_code::corrupt) return false;
        bits_type* const corner = target.data + row * target.ld + col;
        detail::copy_rows<Format>(rows, cols, corner, target.ld, tile, Format::cols);
        return true;
      });
  return result;
}

}  // namespace host
}  // namespace v0
}  // namespace bitsparse
