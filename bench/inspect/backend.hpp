// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Where a matrix is compressed and restored: the host, or a CUDA device. Plain structs and
/// functions, so that main needs no CUDA compiler and a build without one links
/// cuda_backend_absent.cpp instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <bench/support/aligned_buffer.hpp>
#include <bitsparse/format/element.hpp>
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/tile_descriptor.hpp>
#include <bitsparse/status.hpp>

namespace inspect {

using bench::aligned_buffer;

enum class backend { host, cuda };

/// The backend's name as the command line and the reports write it.
constexpr char const* name_of(backend which) {
  return which == backend::cuda ? "cuda" : "host";
}

/// Shapes: dense (rows, cols) without gaps, in host memory. Alignment: dense 16 bytes.
/// Units: tile_rows and tile_cols count values; element and tile are a supported format.
struct round_trip_request {
  bitsparse::element_id element;
  bitsparse::codec_id codec;
  std::uint32_t tile_rows;
  std::uint32_t tile_cols;
  std::uint64_t rows;
  std::uint64_t cols;
  std::byte const* dense;
  std::uint64_t dense_bytes;
};

/// Everything in host memory.
///
/// Shapes: directory (tiles,), whose offsets point into payload; restored (dense_bytes,).
/// Units: seconds are of the operation alone, without copies between host and device.
struct round_trip_result {
  std::vector<bitsparse::tile_descriptor> directory;
  aligned_buffer payload;
  aligned_buffer restored;
  double compress_seconds   = 0;
  double decompress_seconds = 0;
};

/// Compresses and restores on one host thread.
/// Errors: those of host::compress and host::decompress, unsupported for an unknown format; throws
///   std::bad_alloc.
bitsparse::status host_round_trip(round_trip_request const& request, round_trip_result& result);

/// Compresses and restores on the current CUDA device.
/// Errors: those of the device operations, cuda_error with the failed call's text; unsupported in a
///   build without device code; throws std::bad_alloc.
bitsparse::status cuda_round_trip(round_trip_request const& request, round_trip_result& result);

/// Whether cuda_round_trip can work at all.
/// @param[out] why_not if it cannot, a static text with the reason
bool cuda_available(char const** why_not);

}  // namespace inspect
