// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What is said of a file, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include <bench/inspect/backend.hpp>
#include <bench/inspect/statistics.hpp>

namespace inspect {

struct file_report {
  std::string file;
  bitsparse::element_id element;
  bitsparse::codec_id codec;
  tile_shape tile;
  matrix_shape shape;
  backend ran_on;
  value_statistics values;
  tile_statistics tiles;
  std::uint64_t dense_bytes;
  double compress_seconds;
  double decompress_seconds;
  bool is_serialized;
  bool same_serialized;  // only if is_serialized: compressing again gave the file's bytes
  bool same_values;      // every bit came back

  bool exact() const { return same_values && (!is_serialized || same_serialized); }
  double ratio() const {
    return static_cast<double>(dense_bytes) / static_cast<double>(tiles.compressed_bytes);
  }
};

/// Sums over files.
struct total_report {
  std::uint64_t num_files        = 0;
  std::uint64_t num_exact        = 0;
  std::uint64_t dense_bytes      = 0;
  std::uint64_t compressed_bytes = 0;
};

/// Several lines for people.
std::string to_text(file_report const& report);

/// One object on one line, with the newline. Numbers that JSON has no word for are null; bytes of
/// the file's name that are not UTF-8 become U+FFFD.
std::string to_json(file_report const& report);

std::string to_text(total_report const& total);

}  // namespace inspect
