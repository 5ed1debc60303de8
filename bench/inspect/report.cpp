// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Formatting of reports.
#include <bench/inspect/report.hpp>

#include <algorithm>
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

/// What is the same with every codec.
std::string matrix_text(file_report const& report, std::string const& codec) {
  std::string text = printable(report.file) + "\n";
  text += "  shape        " + std::to_string(report.shape.rows) + " x " +
          std::to_string(report.shape.cols) + " " + name_of(report.element) + "\n";
  text += "  density      " +
          (std::isnan(report.values.density) ? "none (no values)"
                                             : format("%.4f", report.values.density)) +
          "\n";
  text += "  codec        " + codec + ", tiles of " + to_string(report.tile) + ", on " +
          name_of(report.ran_on) + "\n";
  text += "  dense        " + std::to_string(report.dense_bytes) + " bytes\n";
  return text;
}

std::string bound_text(file_report const& report) {
  return "  bound        " + ratio_text(report.values.bound_ratio) + " with " +
         std::to_string(value_bits_of(report.element) - 1) + " bits per kept value, " +
         ratio_text(report.values.entropy_ratio) + " with ideal exponents\n";
}

std::string exact_text(bool exact) {
  return std::string{"  exact        "} + (exact ? "yes" : "NO") + "\n";
}

std::string to_text(file_report const& report) {
  std::string text = matrix_text(report, name_of(report.codec));
  text += "  compressed   " + std::to_string(report.tiles.compressed_bytes) + " bytes\n";
  text += "  ratio        " + ratio_text(report.ratio()) + "\n";
  text += bound_text(report);
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
  return text + exact_text(report.exact());
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

// -------------------------------------------------------------------------------------------------
// Several codecs
// -------------------------------------------------------------------------------------------------

/// What the codec to take saves and costs against the first one, `fast`. A ratio to no time at all, which
/// only a tensor without values takes, is 1.
struct cost {
  std::uint64_t bytes_saved;
  double compress_time_ratio;
  double decompress_time_ratio;
};

cost cost_of(codec_reports const& reports) {
  auto const ratio         = [](double seconds, double of) { return of > 0 ? seconds / of : 1.0; };
  file_report const& fast  = reports.all.front();
  file_report const& taken = reports.chosen();
  return {fast.tiles.compressed_bytes - taken.tiles.compressed_bytes,
          ratio(taken.compress_seconds, fast.compress_seconds),
          ratio(taken.decompress_seconds, fast.decompress_seconds)};
}

std::string time_text(std::uint64_t bytes, double seconds) {
  return format("%.3f ms", seconds * 1e3) + " (" + speed_text(bytes, seconds) + ")";
}

/// One line: what the codec stores and how long it takes.
std::string codec_text(file_report const& report) {
  std::string const name = name_of(report.codec);
  return "  " + name + std::string(13 - name.size(), ' ') +
         std::to_string(report.tiles.compressed_bytes) + " bytes, ratio " +
         ratio_text(report.ratio()) + ", compress " +
         time_text(report.dense_bytes, report.compress_seconds) + ", decompress " +
         time_text(report.dense_bytes, report.decompress_seconds) + "\n";
}

std::string choice_text(codec_reports const& reports) {
  cost const c            = cost_of(reports);
  double const fast_bytes = static_cast<double>(reports.all.front().tiles.compressed_bytes);
  std::string const saved =
      reports.taken == 0
          ? "no other saves " + std::to_string(least_saving_percent) + " % of its bytes"
          : format("%.1f", 100 * static_cast<double>(c.bytes_saved) / fast_bytes) +
                " % fewer bytes than fast";
  return std::string{"  choose: "} + name_of(reports.chosen().codec) + ": " + saved +
         "; compress " + format("%.2f", c.compress_time_ratio) + " x, decompress " +
         format("%.2f", c.decompress_time_ratio) + " x its time\n";
}

std::string choice_json(codec_reports const& reports) {
  cost const c = cost_of(reports);
  json_object object;
  object.add("choose", std::string{name_of(reports.chosen().codec)});
  object.add("bytes_saved", c.bytes_saved);
  object.add("compress_time_ratio", c.compress_time_ratio);
  object.add("decompress_time_ratio", c.decompress_time_ratio);
  return object.text() + "\n";
}

}  // namespace

bool codec_reports::add(file_report const& report) {
  all.push_back(report);
  if (all.size() == 1) return true;
  std::uint64_t const bytes  = report.tiles.compressed_bytes;
  std::uint64_t const so_far = chosen().tiles.compressed_bytes;
  bool const saves_enough =
      bytes < so_far && (so_far - bytes) * 100 >= so_far * least_saving_percent;
  if (saves_enough) taken = all.size() - 1;
  return saves_enough;
}

bool codec_reports::exact() const {
  return std::all_of(all.begin(), all.end(), [](file_report const& one) { return one.exact(); });
}

std::string to_text(codec_reports const& reports) {
  if (reports.all.size() == 1) return to_text(reports.chosen());
  std::string text = matrix_text(reports.chosen(), "choose") + bound_text(reports.chosen());
  for (file_report const& report : reports.all) text += codec_text(report);
  return text + exact_text(reports.exact()) + choice_text(reports);
}

std::string to_json(codec_reports const& reports) {
  std::string lines;
  for (file_report const& report : reports.all) lines += to_json(report);
  return reports.all.size() == 1 ? lines : lines + choice_json(reports);
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
