// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Formatting of reports.
#include <bench/inspect/report.hpp>

#include <cmath>
#include <cstdio>

#include <bench/inspect/input_file.hpp>
#include <bench/inspect/json.hpp>

namespace inspect {
namespace {

std::string format(char const* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

std::string ratio_text(double ratio) {
  if (std::isnan(ratio)) return "none (no values)";
  return std::isinf(ratio) ? "unbounded (all zero)" : format("%.3f", ratio);
}

std::string speed_text(std::uint64_t bytes, double seconds) {
  return bytes == 0 || !(seconds > 0)
             ? "-"
             : format("%.3f GB/s", static_cast<double>(bytes) / seconds / 1e9);
}

std::string encodings_text(tile_statistics const& tiles) {
  std::string text;
  for (std::uint32_t i = 0; i < bitsparse::num_encodings; ++i) {
    if (tiles.per_encoding[i] == 0) continue;
    char const* const name = bitsparse::name_of(static_cast<bitsparse::encoding>(i));
    append(text,
           std::string{name != nullptr ? name : "unassigned"} + " " +
               std::to_string(tiles.per_encoding[i]));
  }
  return text.empty() ? "none" : text;
}

/// One line per bucket that is not empty, the longest bar 40 characters.
std::string histogram_text(tile_statistics const& tiles) {
  std::uint64_t most = 1;
  for (std::uint64_t const count : tiles.per_density) most = count > most ? count : most;
  std::string text;
  for (std::size_t i = 0; i < num_density_buckets; ++i) {
    std::uint64_t const count = tiles.per_density[i];
    if (count == 0) continue;
    auto const length = static_cast<std::size_t>(
        std::ceil(static_cast<double>(count) / static_cast<double>(most) * 40));
    text += "    " + format("%.1f", static_cast<double>(i) / 10) + " to " +
            format("%.1f", static_cast<double>(i + 1) / 10) + "  " + std::string(length, '#') +
            " " + std::to_string(count) + "\n";
  }
  return text;
}

}  // namespace

std::string to_text(file_report const& report) {
  std::string text = printable(report.file) + "\n";
  text += "  shape        " + std::to_string(report.shape.rows) + " x " +
          std::to_string(report.shape.cols) + " " + name_of(report.element) + "\n";
  text += "  density      " +
          (std::isnan(report.values.density) ? "none (no values)"
                                             : format("%.4f", report.values.density)) +
          "\n";
  text += "  codec        " + std::string{name_of(report.codec)} + ", tiles of " +
          to_string(report.tile) + ", on " + name_of(report.ran_on) + "\n";
  text += "  dense        " + std::to_string(report.dense_bytes) + " bytes\n";
  text += "  compressed   " + std::to_string(report.tiles.compressed_bytes) + " bytes\n";
  text += "  ratio        " + ratio_text(report.ratio()) + "\n";
  text += "  bound        " + ratio_text(report.values.bound_ratio) + " with " +
          std::to_string(value_bits_of(report.element) - 1) + " bits per kept value, " +
          ratio_text(report.values.entropy_ratio) + " with ideal exponents\n";
  text += "  tiles        " + encodings_text(report.tiles) + "\n";
  if (report.tiles.num_tiles != 0) {
    text += "  tiles by density\n" + histogram_text(report.tiles);
  }
  text += "  throughput   compress " + speed_text(report.dense_bytes, report.compress_seconds) +
          ", decompress " + speed_text(report.dense_bytes, report.decompress_seconds) +
          " of dense bytes\n";
  if (report.is_serialized) {
    text += std::string{"  serialised   valid; compressed again it is "} +
            (report.same_serialized ? "the same" : "DIFFERENT") + "\n";
  }
  text += std::string{"  exact        "} + (report.exact() ? "yes" : "NO") + "\n";
  return text;
}

std::string to_json(file_report const& report) {
  json_object tiles;
  for (std::uint32_t i = 0; i < bitsparse::num_encodings; ++i) {
    char const* const name = bitsparse::name_of(static_cast<bitsparse::encoding>(i));
    if (name != nullptr && report.tiles.per_encoding[i] != 0) {
      tiles.add(name, report.tiles.per_encoding[i]);
    }
  }
  json_object object;
  object.add("file", report.file);
  object.add("dtype", std::string{name_of(report.element)});
  object.add("rows", report.shape.rows);
  object.add("cols", report.shape.cols);
  object.add("codec", std::string{name_of(report.codec)});
  object.add("backend", std::string{name_of(report.ran_on)});
  object.add("density", report.values.density);
  object.add("dense_bytes", report.dense_bytes);
  object.add("compressed_bytes", report.tiles.compressed_bytes);
  object.add("ratio", report.ratio());
  object.add("bound_ratio", report.values.bound_ratio);
  object.add("entropy_ratio", report.values.entropy_ratio);
  object.add("exact", report.exact());
  object.add("tiles", tiles);
  return object.text() + "\n";
}

std::string to_text(total_report const& total) {
  return "total: " + std::to_string(total.num_exact) + " of " + std::to_string(total.num_files) +
         " files exact, dense " + std::to_string(total.dense_bytes) + " bytes, compressed " +
         std::to_string(total.compressed_bytes) + " bytes, ratio " +
         ratio_text(static_cast<double>(total.dense_bytes) /
                    static_cast<double>(total.compressed_bytes)) +
         "\n";
}

}  // namespace inspect
