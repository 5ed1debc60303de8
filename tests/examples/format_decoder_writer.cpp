// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Writes, for every element and codec, a serialised tensor and its dense bytes, for a decoder that
/// was written from docs/format.md to be compared with.
///
///     format_decoder_writer FOLDER
///
/// The tensors' tiles differ in density, in signs and in exponents, so that each codec uses each of
/// its encodings; the program fails if one is missing.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <bitsparse/format/serialized.hpp>

namespace bs = bitsparse;

namespace {

// One tile's manner: how many values are zero, how zeros cluster, and what values look like.
struct manner {
  double density;   // of the bytes of the mask that may be non-zero, the share of set bits
  double clusters;  // the share of mask bytes that may be non-zero
  unsigned spread;  // values of the high byte above its base
  bool signs;
};

template <class Bits>
Bits make_value(manner const& m, std::mt19937& random) {
  auto const low     = static_cast<std::uint32_t>(random());
  auto const high    = static_cast<std::uint32_t>(0x38 + random() % (m.spread + 1));
  std::uint64_t bits = 0;
  if constexpr (sizeof(Bits) == 1) {
    bits = 1 + low % 0x7f;
  } else if constexpr (sizeof(Bits) == 2) {
    bits = high << 8 | (low & 0xff);
  } else {
    bits = high << 24 | (low & 0xffffff);
  }
  if (m.signs && random() % 2 == 0) bits |= std::uint64_t{1} << (8 * sizeof(Bits) - 1);
  return static_cast<Bits>(bits);
}

bool write_file(std::string const& name, void const* data, std::size_t bytes) {
  std::ofstream file(name, std::ios::binary);
  file.write(static_cast<char const*>(data), static_cast<std::streamsize>(bytes));
  return file.good();
}

template <class Format, class Codec>
bool write_example(std::string const& folder, std::uint64_t rows, std::uint64_t cols) {
  using bits_type                     = typename Format::bits_type;
  static constexpr manner manners[]   = {{0.0, 0.0, 0, false},
                                         {1.0, 1.0, 40, true},
                                         {0.5, 1.0, 40, true},
                                         {0.5, 1.0, 40, false},
                                         {0.5, 1.0, 7, false},
                                         {0.5, 1.0, 15, false},
                                         {0.4, 0.05, 40, true},
                                         {0.9, 0.15, 40, false},
                                         {0.4, 0.05, 7, false},
                                         {0.4, 0.05, 15, false},
                                         {0.9, 0.10, 7, false},
                                         {0.002, 1.0, 40, true},
                                         {1.0, 1.0, 7, false}};
  constexpr std::uint64_t num_manners = sizeof(manners) / sizeof(manners[0]);
  std::vector<bits_type> dense(rows * cols);
  std::mt19937 random(20260101);
  std::uint64_t const tiles_across = bs::num_tiles<Format>(1, cols);
  for (std::uint64_t row = 0; row < rows; ++row) {
    bool open = false;
    for (std::uint64_t col = 0; col < cols; ++col) {
      std::uint64_t const tile = row / Format::rows * tiles_across + col / Format::cols;
      manner const& m          = manners[tile % num_manners];
      if (col % 8 == 0) open = static_cast<double>(random()) < m.clusters * 4294967296.0;
      if (open && static_cast<double>(random()) < m.density * 4294967296.0) {
        dense[row * cols + col] = make_value<bits_type>(m, random);
      }
    }
  }

  std::uint64_t const capacity = bs::max_payload_bytes<Format>(rows, cols);
  struct alignas(16) unit {
    std::byte bytes[16];
  };
  std::vector<unit> payload(capacity / sizeof(unit));
  std::vector<bs::tile_descriptor> directory(bs::num_tiles<Format>(rows, cols));
  bs::compressed_view<Format> const packed{
      rows, cols, directory.data(), reinterpret_cast<std::byte*>(payload.data()), capacity};
  std::uint64_t needed = 0, written = 0;
  if (!bs::host::compress<Format, Codec>({dense.data(), rows, cols, cols}, packed, needed).ok())
    return false;
  std::vector<std::byte> serialized(bs::serialized_bytes<Format>(rows, cols, needed));
  if (!bs::host::serialize<Format, Codec>(packed, serialized.data(), serialized.size(), written)
           .ok())
    return false;

  std::uint32_t wanted = Codec::encodings;
  if (!Format::element::has_window) {
    for (std::uint32_t i = 0; i < bs::num_encodings; ++i) {
      if (bs::detail::is_window(static_cast<bs::encoding>(i))) wanted &= ~(std::uint32_t{1} << i);
    }
  }
  std::uint32_t seen = 0;
  for (bs::tile_descriptor const d : directory) seen |= bs::detail::encoding_bit(d.form());
  std::string const name = std::string(Format::element::name) + "_" + Codec::name;
  if (!dense.empty() && seen != wanted) {
    std::fprintf(stderr, "%s: encodings %x, wanted %x\n", name.c_str(), seen, wanted);
    return false;
  }
  std::string const path = folder + "/" + name + (dense.empty() ? "_empty" : "");
  return write_file(path + ".bsp", serialized.data(), written) &&
         write_file(path + ".dense", dense.data(), dense.size() * sizeof(bits_type));
}

template <class Format>
bool write_codecs(std::string const& folder) {
  // 15 tiles, ragged on both edges.
  std::uint64_t const rows = 2 * Format::rows + Format::rows / 2 + 1;
  std::uint64_t const cols = 4 * Format::cols + Format::cols - 3;
  return write_example<Format, bs::codec::fast>(folder, rows, cols) &&
         write_example<Format, bs::codec::sign>(folder, rows, cols) &&
         write_example<Format, bs::codec::compact>(folder, rows, cols) &&
         write_example<Format, bs::codec::compact>(folder, rows, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string const folder = argv[1];
  bool const done          = write_codecs<bs::default_format<bs::bf16>>(folder) &&
                    write_codecs<bs::default_format<bs::fp16>>(folder) &&
                    write_codecs<bs::tile_format<bs::fp32, 32, 32>>(folder) &&
                    write_codecs<bs::tile_format<bs::fp8_e4m3, 64, 64>>(folder) &&
                    write_codecs<bs::tile_format<bs::fp8_e5m2, 128, 128>>(folder);
  return done ? 0 : 1;
}
