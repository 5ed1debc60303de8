// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Fuzz target: any bytes as a serialised tensor.
///
/// Layout of an input: byte 0 holds flags (bit 0: make the checksums fit, so that the validator is
/// reached; bit 1: decompress directory and chunks unvalidated), the rest is the tensor.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <bitsparse/format/serialized.hpp>
#include <bitsparse/format/visit_format.hpp>
#include <tests/support/serialized_bytes.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

/// A bound on what one input may make the target allocate and write.
constexpr std::uint64_t max_values = std::uint64_t{1} << 20;

void require(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "reader_fuzz: %s\n", what);
  std::abort();
}

bool is_small(std::uint64_t rows, std::uint64_t cols) {
  return rows == 0 || cols == 0 || (cols <= max_values && rows <= max_values / cols);
}

/// What the validator lets through must decompress, and be the bytes that the values serialise to.
template <class Format>
void check_accepted(bt::byte_string const& bytes,
                    bs::codec_id codec,
                    bs::const_compressed_view<Format> tensor) {
  if (!is_small(tensor.rows, tensor.cols)) return;
  std::vector<typename Format::bits_type> values(tensor.rows * tensor.cols);
  bs::matrix_view<typename Format::element> const matrix{
      values.data(), tensor.rows, tensor.cols, tensor.cols};
  require(bs::host::decompress<Format>(tensor, matrix).ok(), "accepted, not decompressed");
  bs::status const visited = bs::visit_codec(codec, [&](auto c) {
    require(bt::serialize<Format, decltype(c)>(matrix) == bytes, "accepted, not canonical");
    return bs::status{};
  });
  require(visited.ok(), "accepted, codec unknown");
}

/// Directory and chunks as they are, each in an allocation of its exact size.
template <class Format>
void decompress_unvalidated(bt::byte_string const& bytes, bs::serialized_info const& info) {
  if (!is_small(info.rows, info.cols)) return;
  std::uint64_t const tiles = bs::num_tiles<Format>(info.rows, info.cols);
  if (tiles > (bytes.size() - 64) / 8) return;
  std::vector<bs::tile_descriptor> directory(tiles);
  if (tiles != 0) std::memcpy(directory.data(), bytes.data() + 64, tiles * 8);
  bt::byte_string const payload(bytes.begin() + static_cast<std::ptrdiff_t>(64 + tiles * 8),
                                bytes.end());
  std::vector<typename Format::bits_type> values(info.rows * info.cols);
  (void)bs::host::decompress<Format>(
      bs::const_compressed_view<Format>{
          info.rows, info.cols, directory.data(), payload.data(), payload.size()},
      bs::matrix_view<typename Format::element>{values.data(), info.rows, info.cols, info.cols});
}

/// Formats that the header does not name are refused.
template <class... Formats>
unsigned count_opened(bs::type_list<Formats...>, bt::byte_string const& bytes) {
  auto const opens = [&](auto format) -> unsigned {
    bs::const_compressed_view<decltype(format)> tensor;
    return bs::host::open_serialized<decltype(format)>(bytes.data(), bytes.size(), tensor).ok();
  };
  return (opens(Formats{}) + ... + 0u);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  auto const* const first = reinterpret_cast<std::byte const*>(data) + 1;
  bt::byte_string bytes(first, first + (size - 1));
  if ((data[0] & 1) != 0) bt::reseal(bytes);

  bs::serialized_info info{};
  bool const is_read = bs::host::read_header(bytes.data(), bytes.size(), info).ok();
  unsigned opened    = 0;
  if (is_read) {
    bs::status const status = bs::visit_format(
        info.element, info.tile_rows, info.tile_cols, [&](auto format) -> bs::status {
          using format_type = decltype(format);
          bs::const_compressed_view<format_type> tensor;
          bs::status const result =
              bs::host::open_serialized<format_type>(bytes.data(), bytes.size(), tensor);
          if (result.ok()) check_accepted<format_type>(bytes, info.codec, tensor);
          if ((data[0] & 2) != 0) decompress_unvalidated<format_type>(bytes, info);
          return result;
        });
    opened = status.ok();
  }
  require(count_opened(bs::supported_formats{}, bytes) == opened, "opened with another format");
  return 0;
}
