// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Writes the seed corpora of the fuzz targets: `make_fuzz_corpus tests/fuzz/corpus`.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <bitsparse/format/visit_format.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/serialized_bytes.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

struct seed {
  char const* name;
  std::uint8_t rows, cols;
  bt::value_model model;
};

// Small, so that a mutation is likely to hit something that matters.
seed const seeds[] = {
    {"dense", 3, 9, {}},
    {"sparse", 70, 33, {bt::value_range::any, 0.02}},
    {"sign", 20, 65, {bt::value_range::non_negative, 0.25}},
    {"window3", 64, 20, {bt::value_range::window3, 0.2}},
    {"window4", 33, 65, {bt::value_range::window4, 0.9, 8, 0.05}},
    {"empty", 0, 5, {}},
};

void write(std::filesystem::path const& path, bt::byte_string const& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<char const*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s <directory>\n", argv[0]);
    return 2;
  }
  std::filesystem::path const root = argv[1];
  std::uint8_t format_index        = 0;
  bt::for_each_type(bs::supported_formats{}, [&](auto format) {
    using f         = decltype(format);
    using bits_type = typename f::bits_type;
    std::uint8_t n  = 0;
    for (seed const& s : seeds) {
      std::string const name = std::string{f::element::name} + "_" + std::to_string(f::rows) + "x" +
                               std::to_string(f::cols) + "_" + s.name;
      bt::test_matrix<typename f::element> matrix{s.rows, s.cols};
      auto const values = bt::random_values<bits_type>(matrix.rows() * matrix.cols(), s.model, n);
      matrix.assign(values);
      bool const is_compact = n % 2 == 0 || f::element::has_window;
      bt::byte_string bytes = is_compact ? bt::serialize<f, bs::codec::compact>(matrix.view())
                                         : bt::serialize<f, bs::codec::sign>(matrix.view());
      bytes.insert(bytes.begin(), std::byte{3});
      write(root / "reader" / name, bytes);

      // The values as pairs of a count of zeros and a value.
      bytes          = {std::byte{format_index},
                        std::byte{static_cast<unsigned char>(is_compact ? 2 : 1)},
                        std::byte{s.rows},
                        std::byte{s.cols},
                        std::byte{0x23},
                        std::byte{2}};
      unsigned zeros = 0;
      for (bits_type const value : values) {
        if (value == 0 && zeros < 255) {
          ++zeros;
          continue;
        }
        auto const* const value_bytes = reinterpret_cast<std::byte const*>(&value);
        bytes.push_back(std::byte{static_cast<unsigned char>(zeros)});
        bytes.insert(bytes.end(), value_bytes, value_bytes + sizeof(value));
        zeros = 0;
      }
      // Half of the geometries suffice for the kinds of values.
      if (format_index % 2 == n % 2) write(root / "round_trip" / name, bytes);
      ++n;
    }
    ++format_index;
  });
  return 0;
}
