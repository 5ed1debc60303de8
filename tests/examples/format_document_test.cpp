// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// docs/format.md's hex, tables and sizes are compared with what the code writes, so that neither
/// drifts from the other.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <bitsparse/format/serialized.hpp>
#include <tests/support/catch.hpp>

namespace bs = bitsparse;

namespace {

using format = bs::tile_format<bs::bf16, 16, 32>;
using bytes  = std::vector<unsigned char>;

constexpr std::size_t num_rows = 16;
constexpr std::size_t num_cols = 65;

// The document's example: six non-zero mask bytes, 33 kept values, and a last column of 16 values.
std::vector<std::uint16_t> example_matrix() {
  constexpr std::array<std::array<unsigned, 2>, 6> mask_bytes{
      {{0, 0xff}, {3, 0x7e}, {16, 0xff}, {17, 0x0f}, {34, 0x51}, {63, 0x93}}};
  std::vector<std::uint16_t> matrix(num_rows * num_cols);
  unsigned kept = 0;
  for (auto const& [index, byte] : mask_bytes) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1u) == 0) continue;
      unsigned const value                       = 8 * index + bit;
      matrix[value / 32 * num_cols + value % 32] = static_cast<std::uint16_t>(0x3d40 + 0x25 * kept);
      ++kept;
    }
  }
  for (unsigned row = 0; row < num_rows; ++row) {
    matrix[row * num_cols + 64] = static_cast<std::uint16_t>(0xbf80 + row);
  }
  return matrix;
}

std::vector<std::uint16_t> example_tile() {
  std::vector<std::uint16_t> const matrix = example_matrix();
  std::vector<std::uint16_t> tile(format::values);
  for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = matrix[i / 32 * num_cols + i % 32];
  return tile;
}

// A chunk as a codec would write it that had to take encoding `e`.
bytes forced_chunk(bs::encoding e) {
  std::vector<std::uint16_t> const tile = example_tile();
  std::vector<std::uint16_t> kept;
  std::array<std::uint16_t, format::values> indices{};
  std::array<std::uint32_t, bs::detail::stream_room<format>> stream{};
  for (std::uint32_t i = 0; i < format::values; ++i) {
    if (tile[i] == 0) continue;
    indices[kept.size()] = static_cast<std::uint16_t>(i);
    stream[i / 32] |= std::uint32_t{1} << i % 32;
    kept.push_back(tile[i]);
  }
  auto const num_kept = static_cast<std::uint32_t>(kept.size());
  if (bs::detail::is_elias_fano(e)) {
    bs::detail::make_elias_fano<format>(indices.data(), num_kept, stream.data());
  }
  bs::chunk_layout const layout = bs::detail::layout_of<format>(e, num_kept);
  bytes chunk(layout.units() * bs::unit_bytes);
  bs::detail::write_mask_form<format>(
      e, layout, kept.data(), num_kept, stream.data(), reinterpret_cast<std::byte*>(chunk.data()));
  return chunk;
}

std::string const& document() {
  static std::string const text = [] {
    std::ifstream file("docs/format.md", std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }();
  REQUIRE_FALSE(text.empty());
  return text;
}

bool document_has(std::string const& text) {
  return document().find(text) != std::string::npos;
}

// The bytes as the document shows them: 16 a line, the offset first.
std::string hex_dump(bytes const& data) {
  std::string text;
  char piece[32];
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (i % 16 == 0) {
      std::snprintf(piece, sizeof(piece), "%04zx", i);
      text += piece;
    }
    std::snprintf(piece, sizeof(piece), "%s%02x", i % 8 == 0 ? "  " : " ", unsigned{data[i]});
    text += piece;
    if (i % 16 == 15) text += "\n";
  }
  return text;
}

// The fenced block that the document labels `name`.
std::string hex_block(std::string const& name) {
  std::string const fence = "```hex " + name + "\n";
  std::size_t const start = document().find(fence);
  if (start == std::string::npos) return "no block " + name;
  std::size_t const first = start + fence.size();
  return document().substr(first, document().find("```", first) - first);
}

template <class Codec>
bs::tile_descriptor encode_example() {
  std::vector<std::uint16_t> const tile = example_tile();
  std::array<std::byte, format::tile_bytes> chunk{};
  return bs::detail::encode_tile<format, Codec>(tile.data(), 16, 32, chunk.data());
}

template <class Codec>
std::string descriptor_row() {
  bs::tile_descriptor const coded = encode_example<Codec>();
  char row[96];
  std::snprintf(row,
                sizeof(row),
                "| `%s` | `%s` | %u | `%016llx` |",
                Codec::name,
                bs::name_of(coded.form()),
                coded.chunk_units(),
                static_cast<unsigned long long>(coded.word()));
  return row;
}

}  // namespace

TEST_CASE("format.md: each encoding's hex is what the code writes", "[docs]") {
  for (auto const e : {bs::encoding::flat_raw,
                       bs::encoding::flat_sign,
                       bs::encoding::flat_window3,
                       bs::encoding::flat_window4,
                       bs::encoding::elias_fano_raw,
                       bs::encoding::elias_fano_sign,
                       bs::encoding::elias_fano_window3}) {
    CHECK(hex_block(bs::name_of(e)) == hex_dump(forced_chunk(e)));
  }
}

TEST_CASE("format.md: the size of the example in every encoding", "[docs]") {
  for (std::uint32_t i = 2; i < 10; ++i) {
    auto const e                  = static_cast<bs::encoding>(i);
    bs::chunk_layout const layout = bs::detail::layout_of<format>(e, 33);
    std::string const row =
        "| `" + std::string(bs::name_of(e)) + "` | " + std::to_string(layout.stream_words) + " | " +
        std::to_string(layout.carried_words) + " | " + std::to_string(layout.bytes) + " | " +
        std::to_string(layout.units()) + " |";
    INFO(row);
    CHECK(document_has(row));
  }
}

TEST_CASE("format.md: what each codec chooses for the example", "[docs]") {
  for (std::string const& row : {descriptor_row<bs::codec::fast>(),
                                 descriptor_row<bs::codec::sign>(),
                                 descriptor_row<bs::codec::compact>()}) {
    INFO(row);
    CHECK(document_has(row));
  }
}

TEST_CASE("format.md: the serialised example is what the code writes", "[docs]") {
  std::vector<std::uint16_t> const matrix = example_matrix();
  std::array<bs::tile_descriptor, 3> directory{};
  alignas(16) std::array<std::byte, 2112> payload{};
  bs::compressed_view<format> const packed{
      num_rows, num_cols, directory.data(), payload.data(), payload.size()};
  std::uint64_t needed = 0;
  REQUIRE(bs::host::compress<format, bs::codec::compact>(
              {matrix.data(), num_rows, num_cols, num_cols}, packed, needed)
              .ok());
  bytes file(1024);
  std::uint64_t written = 0;
  REQUIRE(bs::host::serialize<format, bs::codec::compact>(packed, file.data(), file.size(), written)
              .ok());
  file.resize(written);
  CHECK(hex_block("serialised") == hex_dump(file));
}

TEST_CASE("format.md: the tables name every field, encoding, element and codec", "[docs]") {
  using header         = bs::serialized_header;
  auto const has_field = [](std::size_t offset, std::size_t size, char const* name) {
    std::string const row =
        "| " + std::to_string(offset) + " | " + std::to_string(size) + " | `" + name + "` |";
    INFO(row);
    CHECK(document_has(row));
  };
  has_field(offsetof(header, magic), sizeof(header::magic), "magic");
  has_field(offsetof(header, version), sizeof(header::version), "version");
  has_field(offsetof(header, element), sizeof(header::element), "element");
  has_field(offsetof(header, codec), sizeof(header::codec), "codec");
  has_field(offsetof(header, reserved), sizeof(header::reserved), "reserved");
  has_field(offsetof(header, tile_rows), sizeof(header::tile_rows), "tile_rows");
  has_field(offsetof(header, tile_cols), sizeof(header::tile_cols), "tile_cols");
  has_field(offsetof(header, rows), sizeof(header::rows), "rows");
  has_field(offsetof(header, cols), sizeof(header::cols), "cols");
  has_field(offsetof(header, payload_units), sizeof(header::payload_units), "payload_units");
  has_field(
      offsetof(header, content_checksum), sizeof(header::content_checksum), "content_checksum");
  has_field(offsetof(header, header_checksum), sizeof(header::header_checksum), "header_checksum");

  for (std::uint32_t i = 0; i < bs::num_encodings; ++i) {
    char const* const name = bs::name_of(static_cast<bs::encoding>(i));
    if (name == nullptr) continue;
    std::string const row = "| " + std::to_string(i) + " | `" + name + "` |";
    INFO(row);
    CHECK(document_has(row));
  }

  auto const has_element = [](auto element) {
    using traits = decltype(element);
    char row[96];
    std::snprintf(row,
                  sizeof(row),
                  "| %u | `%s` | %u | `%0*x` | %s | %u x %u |",
                  static_cast<unsigned>(traits::id),
                  traits::name,
                  unsigned{traits::value_bits},
                  static_cast<int>(traits::value_bits / 4),
                  static_cast<unsigned>(traits::quiet_nan),
                  traits::has_window ? "yes" : "no",
                  unsigned{bs::default_format<traits>::rows},
                  unsigned{bs::default_format<traits>::cols});
    INFO(row);
    CHECK(document_has(row));
  };
  has_element(bs::bf16{});
  has_element(bs::fp16{});
  has_element(bs::fp32{});
  has_element(bs::fp8_e4m3{});
  has_element(bs::fp8_e5m2{});

  auto const has_codec = [](auto codec) {
    using traits = decltype(codec);
    std::string row =
        "| " + std::to_string(static_cast<unsigned>(traits::id)) + " | `" + traits::name + "` | ";
    for (std::uint32_t i = 0; i < bs::num_encodings; ++i) {
      if ((traits::encodings >> i & 1u) == 0) continue;
      row += std::string(i == 0 ? "" : ", ") + std::to_string(i);
    }
    INFO(row);
    CHECK(document_has(row + " |"));
  };
  has_codec(bs::codec::fast{});
  has_codec(bs::codec::sign{});
  has_codec(bs::codec::compact{});
}
