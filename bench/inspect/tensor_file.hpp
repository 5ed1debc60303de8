// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A file of any kind as a dense matrix, and the serialised form of a compressed one.
#pragma once

#include <cstdint>
#include <string>

#include <bench/inspect/backend.hpp>
#include <bench/inspect/command_line.hpp>
#include <bench/support/aligned_buffer.hpp>

namespace inspect {

/// What a file holds, and with which codec and tile it is to be compressed.
struct tensor_file {
  bitsparse::element_id element;
  bitsparse::codec_id codec;
  tile_shape tile;
  matrix_shape shape;
  aligned_buffer dense;       // (shape.rows, shape.cols), without gaps
  aligned_buffer serialized;  // the file itself, if it is in the serialised form
  bool is_serialized = false;
};

/// Reads a file: raw values, .npy, or the serialised form, which is validated in full.
/// Errors: throws file_error with the reason, std::bad_alloc.
tensor_file read_tensor_file(std::string const& path, options const& asked);

/// The serialised form of what a backend made.
/// Errors: throws file_error, std::bad_alloc.
aligned_buffer serialize(round_trip_request const& request, round_trip_result const& result);

}  // namespace inspect
