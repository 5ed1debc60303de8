// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What is said of a file, as text and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
  bool is_serialized;    // the file is the serialised form that this codec makes
  bool same_serialized;  // only if is_serialized: compressing again gave the file's bytes
  bool same_values;      // every bit came back

  bool exact() const { return same_values && (!is_serialized || same_serialized); }
  double ratio() const {
    return static_cast<double>(dense_bytes) / static_cast<double>(tiles.compressed_bytes);
  }
};

/// What the next codec must save to be taken: percent of the bytes of the one taken so far. About
/// what a codec asks of an elias_fano chunk, 1/32, and for the same reason: it takes more time.
inline constexpr std::uint64_t least_saving_percent = 3;

/// The reports of one file, one per codec, and which codec to take: the first, or a later one that
/// stores at least least_saving_percent less than the one taken so far.
struct codec_reports {
  std::vector<file_report> all;  // in the order of all_codecs, or of one codec alone
  std::size_t taken = 0;         // index into `all`

  /// @return whether it is the one to take so far
  bool add(file_report const& report);
  file_report const& chosen() const { return all[taken]; }
  bool exact() const;
};

/// Sums over files.
struct total_report {
  std::uint64_t num_files        = 0;
  std::uint64_t num_exact        = 0;
  std::uint64_t dense_bytes      = 0;
  std::uint64_t compressed_bytes = 0;
};

/// Several lines for people. Of several codecs: what each costs, and the choice.
std::string to_text(codec_reports const& reports);

/// One object on one line per codec, with the newline; of several codecs, one more with the choice.
/// Numbers that JSON has no word for are null; bytes of the file's name that are not UTF-8 become
/// U+FFFD.
std::string to_json(codec_reports const& reports);

std::string to_text(total_report const& total);

}  // namespace inspect
