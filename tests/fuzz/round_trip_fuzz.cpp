// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Fuzz target: any matrix, through compress, decompress, serialize and open_serialized.
///
/// Layout of an input: byte 0 format, 1 codec, 2 rows (fewer if the matrix would have more than
/// 8192 values: speed), 3 columns, 4 gap between rows (low nibble) and element offset (high
/// nibble), 5 how the rest is read, its low nibble modulo 3: 0 as values, 1 as values repeated over the matrix, 2
/// as pairs of a count of zeros and a value. Of byte 5, bits 7 and 6 count 96 columns each, since no
/// byte counts two of the widest tiles; bit 5 allows 20480 values, which the largest tile does not
/// fill; bit 4 takes a quarter, by byte 4, of the payload that suffices.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <bitsparse/format/serialized.hpp>
#include <bitsparse/format/visit_format.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/serialized_bytes.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

constexpr std::size_t header_bytes = 6;

void require(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "round_trip_fuzz: %s\n", what);
  std::abort();
}

/// rows x cols values, as byte 5 says.
template <class Bits>
std::vector<Bits> read_values(std::uint8_t const* data, std::size_t size, std::size_t count) {
  std::uint8_t const mode       = (data[5] & 15) % 3;
  std::uint8_t const* next      = data + header_bytes;
  std::uint8_t const* const end = data + size;
  std::size_t const step        = sizeof(Bits) + (mode == 2);
  std::vector<Bits> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (static_cast<std::size_t>(end - next) < step) {
      if (mode != 1 || size - header_bytes < step) break;
      next = data + header_bytes;
    }
    if (mode == 2) i += *next++;
    if (i >= count) break;
    std::memcpy(&values[i], next, sizeof(Bits));
    next += sizeof(Bits);
  }
  return values;
}

/// A payload that is too small: says so and how much would do, loses tiles to NaN, and no others.
template <class Format, class Codec>
void check_too_small(bt::test_matrix<typename Format::element> const& matrix,
                     std::uint64_t chunk_bytes,
                     std::uint64_t payload_bytes) {
  bt::test_tensor<Format> tensor{matrix.rows(), matrix.cols(), payload_bytes};
  std::uint64_t needed = 0;
  bs::status const compressed =
      bs::host::compress<Format, Codec>(matrix.view(), tensor.view(), needed);
  require(needed == chunk_bytes, "too small: needed_bytes is not what is needed");
  require(
      (compressed.code() == bs::status_code::capacity_exceeded) == (chunk_bytes > payload_bytes),
      "too small: the status does not fit");
  require(tensor.guards_intact(), "too small: written outside");
  bt::test_matrix<typename Format::element> restored{matrix.rows(), matrix.cols()};
  bs::status const result = bs::host::decompress<Format>(tensor.view(), restored.view());
  require(result.ok() == compressed.ok(), "too small: the loss is not told");
  bs::detail::for_each_tile<Format>(
      matrix.rows(),
      matrix.cols(),
      [&](std::uint64_t tile,
          std::uint64_t row,
          std::uint64_t col,
          std::uint32_t rows,
          std::uint32_t cols) {
        bool const is_lost = tensor.tile(tile).form() == bs::encoding::lost;
        for (std::uint64_t r = row; r < row + rows; ++r) {
          for (std::uint64_t c = col; c < col + cols; ++c) {
            auto const expected = is_lost ? Format::element::quiet_nan : matrix.at(r, c);
            require(restored.at(r, c) == expected, "too small: a value is neither right nor lost");
          }
        }
        return true;
      });
}

template <class Format, class Codec>
void check(std::uint8_t const* data, std::size_t size) {
  using bits_type                = typename Format::bits_type;
  std::uint64_t const cols       = data[3] + 96u * (data[5] >> 6);
  std::uint64_t const max_values = (data[5] & 32) != 0 ? 20480 : 8192;
  std::uint64_t const rows = std::min<std::uint64_t>(data[2], cols == 0 ? 255 : max_values / cols);
  bt::test_matrix<typename Format::element> matrix{
      rows, cols, cols + (data[4] & 15u), std::uint64_t{data[4]} >> 4};
  matrix.assign(read_values<bits_type>(data, size, rows * cols));

  // The chunk bound and every promise of compress and decompress are checked in there.
  bt::round_trip_report const report = bt::round_trip<Format, Codec>(matrix, cols + 1, 3);
  require(report.fault.empty(), report.fault.c_str());

  bt::byte_string const bytes = bt::serialize<Format, Codec>(matrix.view());
  require(!bytes.empty(), "not serialised");
  bs::const_compressed_view<Format> tensor;
  bs::status const opened = bs::host::open_serialized<Format>(bytes.data(), bytes.size(), tensor);
  require(opened.ok(), opened.text());
  require(bs::host::validate<Format, Codec>(tensor).ok(), "the view is not valid");
  require(tensor.payload_bytes == report.chunk_bytes, "the payload has another size");
  bt::test_matrix<typename Format::element> restored{rows, cols};
  require(bs::host::decompress<Format>(tensor, restored.view()).ok(), "the view is not readable");
  require(restored.mismatches(matrix) == 0, "the view has other values");
  if ((data[5] & 16) != 0) {
    check_too_small<Format, Codec>(
        matrix, report.chunk_bytes, report.chunk_bytes / 16 * (data[4] % 4u) / 4 * 16);
  }
}

template <class... Formats>
void visit_nth(bs::type_list<Formats...>, std::uint8_t const* data, std::size_t size) {
  std::size_t index = data[0] % sizeof...(Formats);
  auto const run    = [&](auto format) {
    if (index-- != 0) return;
    using format_type = decltype(format);
    if (data[1] % 3 == 0) check<format_type, bs::codec::fast>(data, size);
    if (data[1] % 3 == 1) check<format_type, bs::codec::sign>(data, size);
    if (data[1] % 3 == 2) check<format_type, bs::codec::compact>(data, size);
  };
  (run(Formats{}), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size >= header_bytes) visit_nth(bs::supported_formats{}, data, size);
  return 0;
}
