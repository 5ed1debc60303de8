// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The directory and the chunks that came back, against the host codec's: tile by tile, because where a
/// chunk lies may differ from run to run. Plain C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <bitsparse/format/host_codec.hpp>
#include <tests/fuzz/device_fuzz/fuzz_image.hpp>

namespace bitsparse_test {

/// What the host codec makes of a matrix; memory for the largest case, taken once.
class host_chunks {
 public:
  explicit host_chunks(std::size_t max_tiles, std::size_t max_bytes)
      : directory_(max_tiles), chunks_(new std::byte[max_bytes]), max_bytes_(max_bytes) {}

  /// @return the fault, or nothing
  template <class Format, class Codec>
  std::string compress(bitsparse::const_matrix_view<typename Format::element> source) {
    num_tiles_ = bitsparse::num_tiles<Format>(source.rows, source.cols);
    if (num_tiles_ > directory_.size()) return "host_chunks: the case has too many tiles";
    bitsparse::status const done = bitsparse::host::compress<Format, Codec>(
        source,
        bitsparse::compressed_view<Format>{
            source.rows, source.cols, directory_.data(), chunks_.get(), max_bytes_},
        bytes_);
    return done.ok() ? std::string{} : done.text();
  }
  std::uint64_t num_tiles() const { return num_tiles_; }
  std::uint64_t bytes() const { return bytes_; }
  bitsparse::tile_descriptor const* directory() const { return directory_.data(); }
  bitsparse::tile_descriptor tile(std::uint64_t index) const { return directory_[index]; }
  std::byte const* chunk(std::uint64_t index) const {
    return chunks_.get() + directory_[index].offset_units() * bitsparse::unit_bytes;
  }

 private:
  std::vector<bitsparse::tile_descriptor> directory_;
  std::unique_ptr<std::byte[]> chunks_;
  std::uint64_t max_bytes_, num_tiles_ = 0, bytes_ = 0;
};

/// What the comparison of a directory found.
struct tiles_report {
  std::string fault;
  std::uint64_t lost = 0, kept_units = 0;  // units of the tiles that are not lost
  std::vector<bool> is_lost;               // (num_tiles,)
};

/// Whether units [first, first + count) were all free; takes them.
inline bool take_units(std::vector<bool>& taken, std::uint64_t first, std::uint64_t count) {
  if (first > taken.size() || count > taken.size() - first) return false;
  for (std::uint64_t unit = first; unit < first + count; ++unit) {
    if (taken[unit]) return false;
    taken[unit] = true;
  }
  return true;
}

/// @param directory (expected.num_tiles(),) that came back
/// @param space_units the end of the tensor's address space
/// @param chunk_at gives a chunk's bytes as they came back, from the tile's number and descriptor; null
///   if none can lie there
template <class ChunkAt>
tiles_report compare_tiles(host_chunks const& expected,
                           std::byte const* directory,
                           std::uint64_t space_units,
                           ChunkAt chunk_at) {
  using bitsparse::encoding;
  tiles_report report;
  report.is_lost.resize(expected.num_tiles());
  std::vector<bool> taken(space_units);
  for (std::uint64_t i = 0; i < expected.num_tiles(); ++i) {
    bitsparse::tile_descriptor const want = expected.tile(i);
    std::uint64_t word;
    std::memcpy(&word, directory + 8 * i, sizeof(word));
    bitsparse::tile_descriptor const got{word};
    auto const at = [&](char const* text) {
      report.fault =
          "tile " + std::to_string(i) + " (" +
          (bitsparse::name_of(want.form()) == nullptr ? "?" : bitsparse::name_of(want.form())) +
          "): " + text;
    };
    if (want.form() != encoding::zero && got.form() == encoding::lost) {
      if (got.kept() != want.kept() || got.chunk_units() != 0)
        at("lost, and the descriptor says other than that and how many values it had");
      report.is_lost[i] = true;
      ++report.lost;
      continue;
    }
    if (want.form() != got.form() || want.kept() != got.kept() ||
        want.chunk_units() != got.chunk_units()) {
      at("the descriptor is not the host codec's");
      break;
    }
    if (want.form() == encoding::zero) {
      if (word != 0) at("a zero tile's descriptor is not 0");
      continue;
    }
    report.kept_units += got.chunk_units();
    if (!take_units(taken, got.offset_units(), got.chunk_units())) {
      at("the chunk lies outside, or in another one");
      break;
    }
    std::byte const* const chunk = chunk_at(i, got);
    if (chunk == nullptr ||
        std::memcmp(expected.chunk(i),
                    chunk,
                    std::size_t{got.chunk_units()} * bitsparse::unit_bytes) != 0) {
      at("the chunk is not the host codec's");
      break;
    }
  }
  return report;
}

/// Expects NaN in a result's values of the tiles that were lost.
/// @tparam Element of the result
template <class Format, class Element>
void expect_lost(fuzz_image& image,
                 image_matrix const& result,
                 bool is_turned,
                 std::uint64_t valid_rows,
                 std::vector<bool> const& is_lost) {
  std::uint64_t const rows = is_turned ? result.cols : result.rows;
  std::uint64_t const cols = is_turned ? result.rows : result.cols;
  using bits_type          = typename Element::bits_type;
  bitsparse::detail::for_each_tile<Format>(
      rows,
      cols,
      [&](std::uint64_t tile,
          std::uint64_t row,
          std::uint64_t col,
          std::uint32_t tile_rows,
          std::uint32_t tile_cols) {
        if (!is_lost[tile]) return true;
        for (std::uint64_t r = row; r < row + tile_rows && r < valid_rows; ++r) {
          for (std::uint64_t c = col; c < col + tile_cols; ++c) {
            bits_type const nan    = Element::quiet_nan;
            std::uint64_t const at = is_turned ? c * result.ld + r : r * result.ld + c;
            std::memcpy(image.expected(result.at + at * sizeof(bits_type)), &nan, sizeof(nan));
          }
        }
        return true;
      });
}

}  // namespace bitsparse_test
